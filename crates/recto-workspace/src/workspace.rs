//! The door of the crate: an agent's files behind one async call. Files are
//! looked at and read on tokio's blocking threads; everything else is sync.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{Mutex, RwLock};
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use crate::folder::News;
use crate::options::{Options, Reload};
use crate::read::{self, Errand, Reading};
use crate::snapshot::Snapshot;
use crate::state::{Layout, State};

/// With fewer files than this for each, more threads cost more than they save.
const FILES_A_JOB: usize = 8;

/// The files of one agent, and what is known of them.
#[derive(Debug)]
pub struct Workspace {
    options: Arc<Options>,
    state: Arc<RwLock<State>>,
    /// Held by the call that is under way.
    turn: Mutex<()>,
}

impl Workspace {
    /// Reads nothing yet.
    pub fn new(options: Options) -> Self {
        let state = Arc::new(RwLock::new(State::new(&options)));
        Workspace { options: Arc::new(options), state, turn: Mutex::new(()) }
    }

    /// The agent's catalog as the files are now. The same `Arc` as before when
    /// nothing changed. Calls that overlap wait for each other.
    ///
    /// Must be called within a tokio runtime.
    pub async fn catalog(&self) -> Arc<Snapshot> {
        let _turn = self.turn.lock().await;
        if self.options.reload == Reload::Startup
            && let Some(snapshot) = self.state.read().await.snapshot()
        {
            return snapshot;
        }
        let (layout, mut errands) = self.look().await;
        if !layout.is_empty()
            && self.state.write().await.arrange(layout, &self.options) == News::Changed
        {
            errands = self.in_background(|state, _| state.look_at_files(0, 1)).await;
        }
        let readings = read_all(errands, &self.options).await;
        self.state.write().await.settle(readings, &self.options)
    }

    /// Looks at all folders and files, on two threads: a stat is a short call,
    /// but there are hundreds of them in every turn.
    async fn look(&self) -> (Layout, Vec<Errand>) {
        let half = self.in_background(|state, _| state.look_at_files(0, 2));
        let other = self.in_background(|state, options| {
            (state.look_at_folders(options), state.look_at_files(1, 2))
        });
        let (mut errands, (layout, more)) = tokio::join!(half, other);
        errands.extend(more);
        (layout, errands)
    }

    async fn in_background<T: Send + 'static>(
        &self,
        job: impl FnOnce(&State, &Options) -> T + Send + 'static,
    ) -> T {
        let (state, options) = (self.state.clone(), self.options.clone());
        let job = spawn_blocking(move || job(&state.blocking_read(), &options));
        job.await.unwrap_or_else(give_up)
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
    let mut readings = Vec::new();
    while let Some(done) = jobs.join_next().await {
        readings.extend(done.unwrap_or_else(give_up));
    }
    readings
}

/// A job ends early only by a panic, which goes on here.
fn give_up<T>(error: JoinError) -> T {
    resume_unwind(error.into_panic())
}
