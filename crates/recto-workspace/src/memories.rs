//! What an agent remembers, in files that people can read and edit.
//!
//! ```text
//! memory/MEMORY.md                          the owner's
//! memory/2026-03-01.md                      a daily note, the owner's, too
//! memory/people/anna.md                     one person's
//! memory/conversations/telegram@bot-4711.md one conversation's
//! agents/ops/memory.md                      one agent's
//! memory/archive/…                          what was forgotten
//! ```
//!
//! Reading is tolerant ([`parse`]): everything that can be a memory is one, and what is
//! broken is reported and left out. [`MemoryFiles::read`] gives each audience what it
//! may see, and nothing else.
//!
//! # An editor and Recto can both write
//!
//! Processes of Recto take turns by a lock ([`lock`]). Editors know nothing of it, so:
//!
//! - Additions are appended in one call. An editor that saves later has seen them.
//! - Other changes are made in a copy that is swapped for the file in one step. What
//!   was swapped out is looked at: if it is not what the change was made from, an editor
//!   saved in between; its version is put back, and the change is made to that ([`write`]).
//!   What a kill in the middle leaves beside the file is removed by the next who writes,
//!   unless it may be an editor's ([`leftover`]).
//! - An editor that had read the file *before* an addition and saves a moment after it
//!   writes over it without knowing. So each addition is noted in a journal first
//!   ([`journal`]), and so is each edit once it is made. Whoever next takes the lock, or
//!   finds that a file has changed, looks whether what is noted is there ([`repair`]). If it
//!   is missing, and the file was last written within five seconds of the addition, it is
//!   put back; the same goes for an addition whose process was killed before it could be
//!   made. If the file was written later than that, somebody took it out on purpose, and
//!   the journal forgets it.
//!
//! Not promised: an editor that is told by its user to write over a file that changed
//! more than five seconds ago does so, and one that still has what was forgotten, or how
//! a text was before an edit, brings that back.

mod archive;
mod cache;
mod change;
mod check;
mod compose;
mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod journal;
mod lasting;
mod layout;
mod leftover;
mod load;
mod lock;
mod open;
mod parse;
mod read_all;
mod repair;
mod revise;
mod secrets;
mod write;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use recto_context::{Audience, Memory, MemoryMarks, TypedMemory, may_remember, nearest_name};
use recto_fs::blocking;
use tokio::sync::Mutex;

use cache::SharedCache;
use change::MemoryWriter;
use journal::{Journal, WINDOW};
use layout::MemoryLayout;
use lock::MemoryLock;
use repair::repair_files;
use write::Durability;

use crate::folder::Refresh;

pub use cache::{Horizon, MemoryView};
pub use change::{AddedMemory, ForgottenMemory, NewMemory, TextMarks};
pub use check::{FindingKind, MemoryFinding};
pub use error::{MemoryError, MemoryResult};
pub use lasting::is_lasting_statement;
pub use parse::shares_itself;
pub use read_all::AllMemories;
pub use secrets::{SecretMatch, find_secret};

/// How soon the journal is looked after again when another has the lock.
const RETRY: Duration = Duration::from_secs(1);

/// The files of memories of one workspace. Clones share what they know.
///
/// Its methods must be called within a tokio runtime that has its timer enabled.
#[derive(Debug, Clone)]
pub struct MemoryFiles(Arc<MemoryFilesState>);

/// What the clones of [`MemoryFiles`] share.
#[derive(Debug)]
struct MemoryFilesState {
    layout: MemoryLayout,
    durable: Durability,
    cache: Arc<SharedCache>,
    /// Held by who writes, so that the writers of one process queue in order.
    writing: Mutex<()>,
    /// Somebody will look after the last additions.
    is_watched: AtomicBool,
}

impl MemoryFiles {
    /// The files of the workspace in this folder. Nothing is read yet.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        MemoryFiles::with_durability(workspace.into(), Durability::Yes)
    }

    /// Does not wait for the disk. For tests that write thousands of times.
    #[doc(hidden)]
    pub fn without_sync(workspace: impl Into<PathBuf>) -> Self {
        MemoryFiles::with_durability(workspace.into(), Durability::No)
    }

    fn with_durability(workspace: PathBuf, durable: Durability) -> Self {
        MemoryFiles(Arc::new(MemoryFilesState {
            layout: MemoryLayout::new(workspace),
            durable,
            cache: Arc::default(),
            writing: Mutex::default(),
            is_watched: AtomicBool::new(false),
        }))
    }

    /// What an audience may see, as the files are now. The same `Arc` as before when
    /// nothing changed, neither for it nor in [`MemoryView::everything`].
    pub async fn read(&self, audience: &Audience, horizon: Horizon) -> Arc<MemoryView> {
        let (outcome, view) = self.refresh(audience, horizon).await;
        if outcome == Refresh::Same {
            return view;
        }
        // The cache is free meanwhile: others who read don't wait for this.
        let inner = self.0.clone();
        match blocking(move || inner.repair_if_free()).await {
            true => self.refresh(audience, horizon).await.1,
            false => view,
        }
    }

    async fn refresh(&self, audience: &Audience, horizon: Horizon) -> (Refresh, Arc<MemoryView>) {
        SharedCache::look(&self.0.cache, &self.0.layout, audience, horizon).await
    }

    /// Writes something down. Whether its scope is the caller's to write to has to be
    /// asked before ([`may_remember`]).
    pub async fn add(&self, new: NewMemory) -> MemoryResult<AddedMemory> {
        let added = self.write(move |writer| writer.add(&new)).await?;
        self.watch();
        Ok(added)
    }

    /// Gives a memory another text, other marks, or both. Its time stays.
    ///
    /// With `text`, its marks stay unless the text begins with some; without, every byte
    /// of its text stays. Then `marks` is given the marks that it would have, and says
    /// which it gets. Where nothing would change, nothing is written.
    ///
    /// `name` is its name, the hash in it, or the beginning of that.
    pub async fn edit(
        &self,
        name: &str,
        text: Option<&str>,
        marks: impl Fn(MemoryMarks) -> MemoryMarks + Send + 'static,
        audience: &Audience,
    ) -> MemoryResult<Memory> {
        let memory = self.find(name, audience).await?;
        let text = text.map(str::to_owned);
        let edited =
            self.write(move |writer| writer.edit(&memory, text.as_deref(), &marks)).await?;
        self.watch();
        Ok(edited)
    }

    /// Moves a memory to the archive; `name` is as for [`MemoryFiles::edit`].
    pub async fn forget(&self, name: &str, audience: &Audience) -> MemoryResult<ForgottenMemory> {
        let memory = self.find(name, audience).await?;
        self.write(move |writer| writer.forget(&memory)).await
    }

    /// All that a person should know of the files, whoever they belong to.
    pub async fn check(&self) -> Vec<MemoryFinding> {
        let inner = self.0.clone();
        blocking(move || check::check(&inner.layout)).await
    }

    /// The memory of this name, if the audience may change it.
    pub async fn find(&self, name: &str, audience: &Audience) -> MemoryResult<Memory> {
        let view = self.read(audience, Horizon::All).await;
        let memory = pick(name, &view.memories)?;
        if may_remember(audience, &memory.scope) {
            Ok(memory.clone())
        } else {
            Err(MemoryError::NotAllowed { name: memory.name.clone() })
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(MemoryWriter<'_>) -> MemoryResult<T> + Send + 'static,
    ) -> MemoryResult<T> {
        let _alone = self.0.writing.lock().await;
        let inner = self.0.clone();
        blocking(move || work(inner.writer())).await
    }

    /// Looks after what was added once more when the time is over in which an editor may
    /// have overlooked it, until nothing is noted any more. Otherwise one that saves
    /// twice, the second time much later, would leave nothing to tell its saves apart by.
    fn watch(&self) {
        if self.0.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let weak = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let mut pause = WINDOW;
            loop {
                tokio::time::sleep(pause).await;
                let Some(inner) = Weak::upgrade(&weak) else { return };
                match blocking(move || inner.watch_once()).await {
                    Some(next) => pause = next,
                    None => return,
                }
            }
        });
    }
}

impl MemoryFilesState {
    fn writer(&self) -> MemoryWriter<'_> {
        MemoryWriter { layout: &self.layout, durable: self.durable }
    }

    /// Looks after the journal, and says when to do so again; `None` when it is empty
    /// or somebody else does.
    fn watch_once(&self) -> Option<Duration> {
        let pause = if self.repair_if_free() { WINDOW } else { RETRY };
        // In this order, because who adds something notes it first and then asks.
        self.is_watched.store(false, Ordering::SeqCst);
        let is_done = Journal::in_layout(&self.layout).length() == 0;
        (!is_done && !self.is_watched.swap(true, Ordering::SeqCst)).then_some(pause)
    }

    /// Puts back what is missing, if anything is noted and nobody else is at it. Who
    /// has the lock does the same.
    fn repair_if_free(&self) -> bool {
        let journal = Journal::in_layout(&self.layout);
        if journal.length() == 0 {
            return false;
        }
        let Some(mut lock) = MemoryLock::try_acquire(&self.layout) else { return false };
        let done = repair_files(&self.layout, &mut lock, self.durable);
        lock.release(journal.length());
        done.is_ok()
    }
}

/// The one memory that a name means.
fn pick<'a>(name: &str, memories: &'a [Memory]) -> MemoryResult<&'a Memory> {
    let found = TypedMemory::new(name).among(memories);
    match *found {
        [memory] => Ok(memory),
        [] => {
            let names = memories.iter().map(|memory| &*memory.name);
            let nearest = nearest_name(name, names).map(Arc::from);
            Err(MemoryError::Unknown { name: name.to_owned(), nearest })
        }
        _ => Err(MemoryError::Ambiguous {
            name: name.to_owned(),
            candidates: found.iter().map(|memory| memory.name.clone()).collect(),
        }),
    }
}
