//! What an agent remembers: single entries, each with its scope, its age and its
//! marks. Where they are written down is not known here.

mod rights;
mod snapshot;
mod typed;

use std::sync::Arc;

use crate::item::{ContentSource, ItemId, ItemKind};
use crate::text::{ContentHash, Text};

pub use rights::{Audience, AudienceKind, MemoryScope, may_recall, may_remember, may_see};
pub use snapshot::{
    MemoryPool, MemorySnapshot, PinReason, PinnedMemory, choose_snapshot, memories_fit,
    memory_fingerprint,
};
pub use typed::TypedMemory;

/// An entry of what an agent remembers, as it was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Its name: the file it stands in and the beginning of its text's hash, so that
    /// it stays the same while others come and go around it.
    pub name: Arc<str>,
    /// What is remembered, without marks and time.
    pub text: Text,
    /// To whom it belongs.
    pub scope: MemoryScope,
    /// What a person says of it beside its text.
    pub marks: MemoryMarks,
    /// When it was added, in seconds since 1970; the beginning of its day where only
    /// that is known.
    pub added: Option<i64>,
    /// What stands before the text on the page.
    pub lead: Text,
    /// Where it was read.
    pub source: ContentSource,
}

/// What a person says of a memory beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryMarks {
    /// `[important]`: it is on the page of every session that may see it.
    pub important: bool,
    /// `[shared]`: guests and groups may see it, too.
    pub shared: bool,
}

impl Memory {
    /// Something remembered in a file, perhaps on a known day (`YYYY-MM-DD`).
    pub fn new(file: &str, text: impl Into<Text>, day: Option<&str>) -> Self {
        let text = text.into();
        let hash = ContentHash::of_bytes(text.as_bytes()).to_string();
        let lead = day.map_or_else(|| "- ".to_owned(), |day| format!("- [{day}] "));
        Memory {
            name: format!("{file}#{}", &hash[..8]).into(),
            text,
            scope: MemoryScope::Global,
            marks: MemoryMarks::default(),
            added: None,
            lead: lead.into(),
            source: ContentSource::BuiltIn,
        }
    }

    /// What is remembered, as a page shows it: its further lines are indented, so that
    /// none can pose as another entry or as a heading.
    pub fn shown(&self) -> Text {
        let is_odd = |c: char| c.is_control();
        if !self.text.contains(is_odd) {
            return self.text.clone();
        }
        let lines = self.text.lines().map(|line| line.replace(is_odd, " "));
        lines.collect::<Vec<_>>().join("\n  ").into()
    }

    /// Which item it is.
    pub fn id(&self) -> ItemId {
        ItemId::new(ItemKind::Memory, self.name.clone())
    }
}

/// After how many seconds a memory counts half.
const HALF_LIFE: f64 = 30.0 * 24.0 * 60.0 * 60.0;

/// What age leaves of a memory's probability at least: old things stay true.
const LEAST: f32 = 0.5;

/// How much a memory counts by its age. One without a date may be of any age.
pub fn recency_weight(added: Option<i64>, now: i64) -> f32 {
    let Some(added) = added else { return LEAST };
    let age = now.saturating_sub(added).max(0) as f64;
    (0.5_f64.powf(age / HALF_LIFE) as f32).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    #[test]
    fn a_month_halves_what_a_memory_counts_and_nothing_takes_more() {
        let now = 1_000 * DAY;
        assert!((recency_weight(Some(now), now) - 1.0).abs() < 1e-6);
        assert!((recency_weight(Some(now - 15 * DAY), now) - 0.707).abs() < 1e-3);
        assert!((recency_weight(Some(now - 30 * DAY), now) - 0.5).abs() < 1e-6);
        assert!((recency_weight(Some(0), now) - 0.5).abs() < 1e-6);
        assert!((recency_weight(None, now) - 0.5).abs() < 1e-6);
        // A clock that was wrong makes nothing newer than new.
        assert!((recency_weight(Some(now + DAY), now) - 1.0).abs() < 1e-6);
        assert!((recency_weight(Some(i64::MIN), i64::MAX) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn a_name_depends_on_the_text_alone() {
        let memory = Memory::new("MEMORY.md", "Likes tea.", Some("2026-03-01"));
        assert_eq!(memory.name, Memory::new("MEMORY.md", "Likes tea.", None).name);
        assert_ne!(memory.name, Memory::new("MEMORY.md", "Likes coffee.", None).name);
        assert_ne!(memory.name, Memory::new("people/anna.md", "Likes tea.", None).name);
    }
}
