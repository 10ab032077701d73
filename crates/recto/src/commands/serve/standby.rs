//! Gives back pages of the program that starting or turns have brought into memory, once nobody
//! talks.

use std::sync::Arc;
use std::time::Duration;

use recto_agent::{Agent, TurnCounters};
use recto_fs::blocking;
use tokio::time::sleep;

use crate::resident_memory::ProgramPages;

/// From the start, until everything is there that stands by.
const SETTLED: Duration = Duration::from_secs(1);
/// For how long no turn may have begun or ended.
const QUIET: Duration = Duration::from_secs(60);

/// Gives them back when starting is over, and after each quiet minute behind turns. Never ends.
pub(super) async fn release_pages(pages: ProgramPages, agents: Vec<Agent>) {
    let pages = Arc::new(pages);
    sleep(SETTLED).await;
    let mut seen = count_turns(&agents);
    release(&pages).await;
    let mut released = seen.clone();
    loop {
        sleep(QUIET).await;
        let now = count_turns(&agents);
        if now == seen && now != released {
            release(&pages).await;
            released = now.clone();
        }
        seen = now;
    }
}

/// What is mapped is listed page by page, which takes long where a large model is.
async fn release(pages: &Arc<ProgramPages>) {
    let pages = pages.clone();
    blocking(move || pages.release()).await;
}

fn count_turns(agents: &[Agent]) -> Vec<TurnCounters> {
    agents.iter().map(Agent::turn_counters).collect()
}
