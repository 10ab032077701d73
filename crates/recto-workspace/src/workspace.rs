//! The door of the crate: an agent's files behind one async call. Files are
//! looked at and read on tokio's blocking threads; everything else is sync.

use std::sync::Arc;
use std::thread::available_parallelism;

use recto_fs::blocking;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::options::{Reload, WorkspaceOptions};
use crate::read::{self, ReadJob, ReadResult};
use crate::snapshot::WorkspaceSnapshot;
use crate::state::WorkspaceState;

/// With fewer files than this for each, more threads cost more than they save.
const FILES_A_THREAD: usize = 8;

/// The files of one agent, and what is known of them.
#[derive(Debug)]
pub struct Workspace {
    options: Arc<WorkspaceOptions>,
    /// Held by the call that is under way.
    state: Arc<Mutex<WorkspaceState>>,
}

impl Workspace {
    /// A workspace of which nothing has been read yet.
    pub fn new(options: WorkspaceOptions) -> Self {
        Workspace { options: Arc::new(options), state: Arc::default() }
    }

    /// The agent's catalog as the files are now. The same `Arc` as before when
    /// nothing changed. Calls that overlap wait for each other.
    ///
    /// Must be called within a tokio runtime.
    pub async fn catalog(&self) -> Arc<WorkspaceSnapshot> {
        let mut state = self.state.clone().lock_owned().await;
        if self.options.reload == Reload::Startup
            && let Some(snapshot) = state.snapshot()
        {
            return snapshot;
        }
        // One job for all looks: a stat is so short that handing out hundreds of
        // them would cost more than it saves, above all on a busy machine.
        let options = self.options.clone();
        let (mut state, jobs) = blocking(move || {
            let jobs = state.survey(&options);
            (state, jobs)
        })
        .await;
        let results = read_all(jobs, &self.options).await;
        state.settle(results, &self.options)
    }
}

/// Reads files side by side, an equal share on each thread.
async fn read_all(mut jobs: Vec<ReadJob>, options: &Arc<WorkspaceOptions>) -> Vec<ReadResult> {
    let threads = available_parallelism().map_or(1, usize::from);
    let share = jobs.len().div_ceil(threads).max(FILES_A_THREAD);
    let mut reads = JoinSet::new();
    while !jobs.is_empty() {
        let rest = jobs.split_off(share.min(jobs.len()));
        let mine = std::mem::replace(&mut jobs, rest);
        let options = options.clone();
        reads.spawn_blocking(move || {
            mine.iter().map(|job| read::read_file(job, &options)).collect::<Vec<_>>()
        });
    }
    // A panic of one goes on here.
    reads.join_all().await.into_iter().flatten().collect()
}
