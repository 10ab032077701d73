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
use recto_context::{Audience, Marks, Scope, Who};
use recto_workspace::{Added, Horizon, MemoryError, MemoryFiles, NewMemory, TextMarks, View};

use crate::Home;

impl Home {
    fn memories(&self) -> MemoryFiles {
        MemoryFiles::new(self.path("workspace"))
    }

    /// Remembers something of the owner's on the first of March.
    async fn remember(&self, text: &str) -> Result<Added, MemoryError> {
        self.memories().add(new(text, Scope::Global)).await
    }

    /// What the owner may see.
    async fn recall(&self) -> Arc<View> {
        self.memories().read(&owner(), Horizon::All).await
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}

const MEMORY: &str = "workspace/memory/MEMORY.md";

fn new(text: &str, scope: Scope) -> NewMemory {
    NewMemory {
        text: text.to_owned(),
        marks_in_text: TextMarks::Taken,
        scope,
        marks: Marks::default(),
        at: moment(),
    }
}

fn moment() -> Zoned {
    date(2026, 3, 1).at(9, 30, 0, 123).in_tz("UTC").unwrap()
}

fn owner() -> Audience {
    audience(Who::Owner)
}

/// Anna, in a conversation of her own, with the agent `ops`.
fn audience(who: Who) -> Audience {
    Audience {
        who,
        person: Some("anna".into()),
        conversation: Some("telegram-4711".into()),
        agent: Some("ops".into()),
    }
}

/// The texts of a view, in its order.
fn texts(view: &View) -> Vec<&str> {
    view.memories.iter().map(|memory| memory.text.as_str()).collect()
}

/// The problems of a view, with paths from the home on.
fn problems(home: &Home, view: &View) -> Vec<String> {
    view.problems.iter().map(|problem| home.shorten(&problem.to_string())).collect()
}
