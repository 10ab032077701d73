//! What has to hold of memory files whatever bytes come.

use std::path::Path;

use recto_context::{MemoryMarks, MemoryScope};

use super::cache::memory_of;
use super::compose::{Wording, addition, block, entry_of};
use super::layout::MemoryFile;
use super::parse::{MemoryEntry, read_entries};
use super::revise::{edit_memory, remove_memory};

/// The most entries of an input that are changed one by one.
const MOST_CHANGES: usize = 6;

/// Memory files: entries follow each other, each is what its bytes say, and one that is changed
/// leaves the others and every other byte alone. What is remembered is read back as it was.
pub fn check_memories(data: &[u8]) {
    let content = String::from_utf8_lossy(data);
    let entries = read_entries(&content, None);
    check_places(&content, &entries);
    for entry in entries.iter().take(MOST_CHANGES) {
        check_changes(&content, entry, &entries);
    }
    check_addition(&content);
}

fn check_places(content: &str, entries: &[MemoryEntry]) {
    let mut end = 0;
    for entry in entries {
        assert!(end <= entry.range.start && entry.range.start < entry.range.end, "{entry:?}");
        end = entry.range.end;
        let lines = content.get(entry.range.clone());
        assert!(lines.is_some(), "{entry:?} is cut within a character");
        assert!(!entry.text.trim().is_empty(), "{entry:?} is empty");
        let inside = |comment: &std::ops::Range<usize>| {
            entry.range.start <= comment.start && comment.end <= entry.range.end
        };
        assert!(entry.comments.iter().all(inside), "{entry:?}");
    }
    assert!(end <= content.len());
}

fn check_changes(content: &str, entry: &MemoryEntry, all: &[MemoryEntry]) {
    let file = file();
    let memory = memory_of(&file, entry);
    let kept = around(content, entry, all);
    let others = |entries: &[MemoryEntry], text: &str| -> Vec<(String, MemoryMarks)> {
        let others = entries.iter().filter(|other| other.text != text);
        others.map(|other| (other.text.clone(), other.marks)).collect()
    };
    let stay = others(all, &entry.text);
    if let Some(rest) = remove_memory(content, &memory, &file) {
        assert!(keeps(&rest, &kept), "{content:?} without {:?}: {rest:?}", entry.text);
        assert_eq!(others(&read_entries(&rest, None), &entry.text), stay, "{content:?}");
    }
    let Ok(wording) = Wording::new("another text") else { panic!("it can be remembered") };
    if let Some((new, _)) = edit_memory(content, &memory, Some(&wording), &|old| old, &file) {
        assert!(keeps(&new, &kept), "{content:?} with another {:?}: {new:?}", entry.text);
        let told = read_entries(&new, None);
        assert!(told.iter().any(|told| told.text == "another text"), "{content:?}: {new:?}");
    }
    let toggled = |old: MemoryMarks| MemoryMarks { shared: !old.shared, ..old };
    if let Some((new, changed)) = edit_memory(content, &memory, None, &toggled, &file) {
        assert!(keeps(&new, &kept), "{content:?} with other marks of {:?}: {new:?}", entry.text);
        assert_eq!(others(&read_entries(&new, None), &entry.text), stay, "{content:?}: {new:?}");
        // The newest of equal texts says which marks hold.
        assert_eq!(changed.text, entry.text);
    }
}

/// What is around the entries of a text, and the comments within them.
fn around<'a>(content: &'a str, entry: &MemoryEntry, all: &[MemoryEntry]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut at = 0;
    for same in all.iter().filter(|other| other.text == entry.text) {
        kept.push(&content[at..same.range.start]);
        kept.extend(same.comments.iter().map(|range| &content[range.clone()]));
        at = same.range.end;
    }
    kept.push(&content[at..]);
    kept
}

/// Whether all of it stands in a text, in this order, and the ends at its ends.
fn keeps(changed: &str, kept: &[&str]) -> bool {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return false };
    let mut rest = changed;
    let mut takes = |part: &&str| {
        let found = rest.find(part);
        rest = found.map_or("", |at| &rest[at + part.len()..]);
        found.is_some()
    };
    changed.starts_with(first) && changed.ends_with(last) && kept.iter().all(&mut takes)
}

/// What is remembered in a file of any content, and the same text, is read back.
fn check_addition(content: &str) {
    let Ok(wording) = Wording::new(content) else { return };
    let time = "2026-03-01T09:30:00+01:00";
    let written = block("- ", wording.marks, &wording.text, Some(time));
    let Ok(entry) = entry_of(&written, None) else { panic!("{written:?} is no entry") };
    assert_eq!((&entry.text, entry.marks), (&wording.text, wording.marks), "{written:?}");
    assert_eq!(entry.time.as_deref(), Some(time), "{written:?}");
    let added = addition(content.as_bytes(), "2026-03-01", &written);
    let added = content.to_owned() + &String::from_utf8_lossy(&added);
    let told = read_entries(&added, None);
    assert!(told.iter().any(|told| told.text == wording.text), "{added:?}");
}

fn file() -> MemoryFile {
    let path = Path::new("MEMORY.md").into();
    MemoryFile { label: "MEMORY.md".into(), path, scope: MemoryScope::Global, day: None }
}
