//! What was forgotten: it stands in files of its own, and can be brought back from there.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use recto_context::{Memory, MemoryScope};
use recto_fs::blocking;

use super::MemoryFiles;
use super::cache::read_memories;
use super::change::AddedMemory;
use super::error::MemoryResult;
use super::layout::{MemoryFile, MemoryLayout, decoded, note_day};
use super::load::{LoadReach, load};
use super::read_all::AllMemories;

impl MemoryFiles {
    /// All that was forgotten, of everybody, newest first within a file. Names are those that
    /// the memories had.
    pub async fn read_forgotten(&self) -> AllMemories {
        let inner = self.0.clone();
        blocking(move || read_archive(&inner.layout)).await
    }

    /// Brings back what was forgotten, as it was.
    pub async fn restore(&self, forgotten: &Memory) -> MemoryResult<AddedMemory> {
        let memory = forgotten.clone();
        self.write(move |writer| writer.restore(&memory)).await
    }
}

fn read_archive(layout: &MemoryLayout) -> AllMemories {
    let (mut memories, mut has_gaps) = (Vec::new(), false);
    for file in archive_files(layout) {
        let found = read_memories(&file, load(&file.path, LoadReach::Whole).content);
        has_gaps |= !found.findings.is_empty();
        memories.extend(found.memories);
    }
    AllMemories { memories: memories.into(), has_gaps }
}

/// The files of the archive, each under the name of the one that its entries came from.
fn archive_files(layout: &MemoryLayout) -> Vec<MemoryFile> {
    let archive = layout.archive("");
    let mut labels = names_in(&archive);
    labels.retain(|name| name.ends_with(".md"));
    for folder in ["people", "conversations"] {
        labels
            .extend(names_in(&archive.join(folder)).iter().map(|name| format!("{folder}/{name}")));
    }
    let agents = names_in(&archive.join("agents"));
    let agents = agents.iter().filter_map(|name| name.strip_suffix(".md"));
    labels.extend(agents.map(|agent| format!("agents/{agent}/memory.md")));
    labels.sort();
    labels.into_iter().filter_map(|label| archive_file(layout, label)).collect()
}

/// The file that holds what was forgotten of the file of this name; `None` where the name
/// does not say whose it is.
fn archive_file(layout: &MemoryLayout, label: String) -> Option<MemoryFile> {
    let id = |name: &str| decoded(name).map(Arc::from);
    let scope = match label.strip_suffix(".md")?.split_once('/') {
        None => MemoryScope::Global,
        Some(("people", name)) => MemoryScope::Person(id(name)?),
        Some(("conversations", name)) => MemoryScope::Conversation(id(name)?),
        Some((_, name)) => MemoryScope::Agent(id(name.strip_suffix("/memory")?)?),
    };
    let day = note_day(&label);
    Some(layout.file(label, scope, day).in_archive(layout))
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
