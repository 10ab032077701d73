//! The door of the crate: an agent's files behind one async call. Files are
//! looked at and read on tokio's blocking threads; everything else is sync.

use std::sync::Arc;
use std::thread::available_parallelism;

use recto_fs::blocking;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::options::{Options, Reload};
use crate::read::{self, Errand, Reading};
use crate::snapshot::Snapshot;
use crate::state::State;

/// With fewer files than this for each, more threads cost more than they save.
const FILES_A_JOB: usize = 8;

/// The files of one agent, and what is known of them.
#[derive(Debug)]
pub struct Workspace {
    options: Arc<Options>,
    /// Held by the call that is under way.
    state: Arc<Mutex<State>>,
}

impl Workspace {
    /// A workspace of which nothing has been read yet.
    pub fn new(options: Options) -> Self {
        Workspace { options: Arc::new(options), state: Arc::default() }
    }

    /// The agent's catalog as the files are now. The same `Arc` as before when
    /// nothing changed. Calls that overlap wait for each other.
    ///
    /// Must be called within a tokio runtime.
    pub async fn catalog(&self) -> Arc<Snapshot> {
        let mut state = self.state.clone().lock_owned().await;
        if self.options.reload == Reload::Startup
            && let Some(snapshot) = state.snapshot()
        {
            return snapshot;
        }
        // One job for all looks: a stat is so short that handing out hundreds of
        // them would cost more than it saves, above all on a busy machine.
        let options = self.options.clone();
        let (mut state, errands) = blocking(move || {
            let errands = state.survey(&options);
            (state, errands)
        })
        .await;
        let readings = read_all(errands, &self.options).await;
        state.settle(readings, &self.options)
    }
}

/// Reads files side by side, an equal share on each thread.
async fn read_all(mut errands: Vec<Errand>, options: &Arc<Options>) -> Vec<Reading> {
    let threads = available_parallelism().map_or(1, usize::from);
    let share = errands.len().div_ceil(threads).max(FILES_A_JOB);
    let mut jobs = JoinSet::new();
    while !errands.is_empty() {
        let rest = errands.split_off(share.min(errands.len()));
        let mine = std::mem::replace(&mut errands, rest);
        let options = options.clone();
        jobs.spawn_blocking(move || {
            mine.iter().map(|errand| read::run(errand, &options)).collect::<Vec<_>>()
        });
    }
    // A panic of one goes on here.
    jobs.join_all().await.into_iter().flatten().collect()
}
