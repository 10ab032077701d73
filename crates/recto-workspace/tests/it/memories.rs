//! Memories on a real disk: who sees what, what is written and how, and what goes on
//! when files are broken or others write them at the same time.

mod broken;
mod changes;
mod editors;
mod rights;
mod stress;

use std::fs;
use std::sync::Arc;

use jiff::Zoned;
use jiff::civil::date;
use recto_context::{Audience, AudienceKind, MemoryMarks, MemoryScope};
use recto_workspace::{
    AddedMemory, Horizon, MemoryError, MemoryFiles, MemoryView, NewMemory, TextMarks,
};

use crate::WorkspaceHome;

impl WorkspaceHome {
    fn memories(&self) -> MemoryFiles {
        MemoryFiles::new(self.path("workspace"))
    }

    /// Remembers something of the owner's on the first of March.
    async fn remember(&self, text: &str) -> Result<AddedMemory, MemoryError> {
        self.memories().add(new(text, MemoryScope::Global)).await
    }

    /// What the owner may see.
    async fn recall(&self) -> Arc<MemoryView> {
        self.memories().read(&owner(), Horizon::All).await
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}

const MEMORY: &str = "workspace/memory/MEMORY.md";

fn new(text: &str, scope: MemoryScope) -> NewMemory {
    NewMemory {
        text: text.to_owned(),
        marks_in_text: TextMarks::Taken,
        scope,
        marks: MemoryMarks::default(),
        at: moment(),
    }
}

fn moment() -> Zoned {
    date(2026, 3, 1).at(9, 30, 0, 123).in_tz("UTC").unwrap()
}

fn owner() -> Audience {
    audience(AudienceKind::Owner)
}

/// Anna, in a conversation of her own, with the agent `ops`.
fn audience(who: AudienceKind) -> Audience {
    Audience {
        who,
        person: Some("anna".into()),
        conversation: Some("telegram-4711".into()),
        agent: Some("ops".into()),
    }
}

/// The texts of a view, in its order.
fn texts(view: &MemoryView) -> Vec<&str> {
    view.memories.iter().map(|memory| memory.text.as_str()).collect()
}

/// The problems of a view, with paths from the home on.
fn problems(home: &WorkspaceHome, view: &MemoryView) -> Vec<String> {
    view.problems.iter().map(|problem| home.shorten(&problem.to_string())).collect()
}
