//! Gives back pages of the program that starting or turns have brought into memory, once nobody
//! talks.

use std::time::Duration;

use recto_agent::{Agent, TurnCounters};
use tokio::time::sleep;

use crate::resident_memory::ProgramPages;

/// From the start, until everything is there that stands by.
const SETTLED: Duration = Duration::from_secs(1);
/// For how long no turn may have begun or ended.
const QUIET: Duration = Duration::from_secs(60);

/// Gives them back when starting is over, and after each quiet minute behind turns. Never ends.
pub(super) async fn release_pages(pages: ProgramPages, agents: Vec<Agent>) {
    sleep(SETTLED).await;
    let mut seen = count_turns(&agents);
    pages.release();
    let mut released = seen.clone();
    loop {
        sleep(QUIET).await;
        let now = count_turns(&agents);
        if now == seen && now != released {
            pages.release();
            released = now.clone();
        }
        seen = now;
    }
}

fn count_turns(agents: &[Agent]) -> Vec<TurnCounters> {
    agents.iter().map(Agent::turn_counters).collect()
}
