//! The door of the crate: an agent's files behind one async call. Files are
//! looked at and read on tokio's blocking threads; everything else is sync.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use parking_lot::RwLock;
use recto_context::{ContentHash, IncludeMode, ItemKind};
use recto_fs::blocking;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::options::{Override, Reload, WorkspaceOptions};
use crate::read::{self, ReadJob, ReadResult};
use crate::snapshot::WorkspaceSnapshot;
use crate::state::WorkspaceState;

/// With fewer files than this for each, more threads cost more than they save.
const FILES_A_THREAD: usize = 8;

/// The files of one agent, and what is known of them.
#[derive(Debug)]
pub struct Workspace {
    /// Replaced as a whole when settings change.
    options: RwLock<Arc<WorkspaceOptions>>,
    /// Held by the call that is under way.
    state: Arc<Mutex<WorkspaceState>>,
    /// How many looks at the files have begun.
    looks: AtomicU64,
}

impl Workspace {
    /// A workspace of which nothing has been read yet.
    pub fn new(options: WorkspaceOptions) -> Self {
        let (state, looks) = (Arc::default(), AtomicU64::new(0));
        Workspace { options: RwLock::new(Arc::new(options)), state, looks }
    }

    /// Replaces the settings that are made for items from outside. The next catalog has them.
    pub fn replace_overrides(
        &self,
        overrides: BTreeMap<(ItemKind, String), Override>,
        kind_includes: BTreeMap<ItemKind, IncludeMode>,
    ) {
        let mut options = self.options.write();
        if options.overrides != overrides || options.kind_includes != kind_includes {
            let before = WorkspaceOptions::clone(&options);
            *options = Arc::new(WorkspaceOptions { overrides, kind_includes, ..before });
        }
    }

    /// Whether the settings from outside say of an item, by this name, when it is included.
    pub fn sets_include(&self, kind: ItemKind, name: &str) -> bool {
        self.options.read().overrides(kind, name).include.is_some()
    }

    /// Replaces what is known of which folder each skill's name belongs to. Says whether that is
    /// another than before: the next catalog has it.
    pub fn replace_skill_owners(&self, skill_owners: BTreeMap<String, ContentHash>) -> bool {
        let mut options = self.options.write();
        let is_new = options.skill_owners != skill_owners;
        if is_new {
            let before = WorkspaceOptions::clone(&options);
            *options = Arc::new(WorkspaceOptions { skill_owners, ..before });
        }
        is_new
    }

    /// The agent's catalog as the files are now. The same `Arc` as before when
    /// nothing changed. Calls that overlap wait for each other, and share a look that began after
    /// both of them: it shows each what its own would.
    ///
    /// Must be called within a tokio runtime.
    pub async fn catalog(&self) -> Arc<WorkspaceSnapshot> {
        let before = self.looks.load(Ordering::SeqCst);
        let mut state = self.state.clone().lock_owned().await;
        let options = self.options.read().clone();
        let is_startup = options.reload == Reload::Startup && state.has_read();
        if is_startup || state.last_look() > before {
            return state.settle(Vec::new(), &options);
        }
        let look = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        // One job for all looks: a stat is so short that handing out hundreds of
        // them would cost more than it saves, above all on a busy machine.
        let survey_options = options.clone();
        let (mut state, jobs) = blocking(move || {
            let jobs = state.survey(&survey_options);
            (state, jobs)
        })
        .await;
        let results = read_all(jobs, &options).await;
        state.finish_look(look);
        state.settle(results, &options)
    }
}

impl Workspace {
    /// The text of a file that the catalog was read from, as it is now. `None` for every other
    /// file, whatever its path, and for one that can't be read.
    pub async fn source_text(&self, path: &Path) -> Option<String> {
        self.catalog().await;
        let file = self.state.lock().await.source_file(path)?;
        let options = self.options.read().clone();
        blocking(move || read::read_source(&file, &options)).await
    }
}

/// Reads files side by side, an equal share on each thread.
async fn read_all(mut jobs: Vec<ReadJob>, options: &Arc<WorkspaceOptions>) -> Vec<ReadResult> {
    if jobs.is_empty() {
        return Vec::new();
    }
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
