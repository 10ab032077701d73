//! What is remembered of everybody, for the owner who looks after it.
//!
//! Whose files there are is read off their names; what is in them is read as for
//! whoever they belong to.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use recto_context::{Audience, ContentSource, Memory};
use recto_fs::blocking;

use super::layout::{MemoryLayout, decoded};
use super::load::{LoadReach, LoadedContent, load};
use super::{Horizon, MemoryFiles};

/// All memories of all scopes, for the owner who looks after them.
#[derive(Debug)]
pub struct AllMemories {
    /// In a fixed order.
    pub memories: Arc<[Memory]>,
    /// Something can't be read, so that there may be more.
    pub has_gaps: bool,
}

/// The people, conversations and agents that have a file or a folder.
#[derive(Debug, Default)]
struct ScopeIds {
    people: Vec<Arc<str>>,
    conversations: Vec<Arc<str>>,
    agents: Vec<Arc<str>>,
    has_gaps: bool,
}

impl MemoryFiles {
    /// All that is remembered, in the files of everybody. Those of ids that are too long
    /// to be spelled out in a name are left out: nobody can tell whose they are.
    pub async fn read_everything(&self, owner: &Audience) -> AllMemories {
        let inner = self.0.clone();
        let mut ids = blocking(move || ScopeIds::read(&inner.layout)).await;
        let mut has_gaps = ids.has_gaps;
        // One of each kind at once.
        while let Some(audience) = ids.next(owner) {
            // The daily notes are nobody else's, and come last.
            has_gaps |= self.read(&audience, Horizon::Recent(Date::MAX)).await.has_gaps();
        }
        let view = self.read(owner, Horizon::All).await;
        AllMemories { memories: view.everything.clone(), has_gaps: has_gaps || view.has_gaps() }
    }

    /// The text of a file that memories were read from, as it is now. `None` for every other
    /// file, whatever its path, and for one that can't be read.
    pub async fn source_text(&self, path: &Path, owner: &Audience) -> Option<String> {
        let source = ContentSource::file(path);
        let all = self.read_everything(owner).await;
        all.memories.iter().find(|memory| memory.source == source)?;
        let path = path.to_owned();
        match blocking(move || load(&path, LoadReach::Whole).content).await {
            LoadedContent::Bytes { bytes, .. } => String::from_utf8(bytes).ok(),
            LoadedContent::Missing | LoadedContent::Unusable(_) => None,
        }
    }
}

impl ScopeIds {
    fn read(layout: &MemoryLayout) -> Self {
        let mut ids = ScopeIds::default();
        let of_file = |name: &str| name.strip_suffix(".md").and_then(decoded);
        ids.people = ids.in_folder(&layout.memory().join("people"), of_file);
        ids.conversations = ids.in_folder(&layout.memory().join("conversations"), of_file);
        ids.agents = ids.in_folder(&layout.workspace().join("agents"), decoded);
        ids
    }

    /// A name that no id has leads to a file that is not there, and so to nothing.
    fn in_folder(&mut self, folder: &Path, id: impl Fn(&str) -> Option<String>) -> Vec<Arc<str>> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                self.has_gaps |= error.kind() != io::ErrorKind::NotFound;
                return Vec::new();
            }
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| id(&name).map(Arc::from)).collect()
    }

    /// The owner beside the next of each kind.
    fn next(&mut self, owner: &Audience) -> Option<Audience> {
        let (person, conversation) = (self.people.pop(), self.conversations.pop());
        let agent = self.agents.pop();
        let is_any = person.is_some() || conversation.is_some() || agent.is_some();
        is_any.then_some(Audience { who: owner.who, person, conversation, agent })
    }
}
