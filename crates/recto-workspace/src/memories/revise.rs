//! The text of a file after a change to one of its memories: other marks, another
//! wording, or none of it any more. Every other memory says what it said, and every
//! byte that is not the changed one's stays as it was. Pure.

use std::cmp::Reverse;

use jiff::civil::Date;
use recto_context::{Memory, MemoryMarks};

use super::compose::{Wording, block, entry_of, marks_text, with_line_ends_of};
use super::layout::MemoryFile;
use super::parse::{MemoryEntry, ends_line, read_entries, take_marks};

/// All marks that one or the other has.
pub(crate) fn union_marks(one: MemoryMarks, other: MemoryMarks) -> MemoryMarks {
    MemoryMarks { important: one.important || other.important, shared: one.shared || other.shared }
}

/// The newest entry of this text, if the file has it.
pub(crate) fn find_entry(content: &str, wanted: &str, file: &MemoryFile) -> Option<MemoryEntry> {
    // Most files are larger than the answer: nothing is parsed that has no such word.
    let first = wanted.split_whitespace().next()?;
    if !content.contains(first) {
        return None;
    }
    let entries = read_entries(content, file.day).into_iter();
    entries.filter(|entry| entry.text == wanted).max_by_key(|entry| (entry.added(), entry.line))
}

/// Whether a memory stands in a file of this text.
pub(crate) fn contains_memory(content: &str, memory: &Memory, file: &MemoryFile) -> bool {
    !entries_of(content, memory, file).is_empty()
}

/// A file's text with more marks before the entries of this text.
pub(crate) fn add_marks(
    content: &str,
    wanted: &Wording,
    file: &MemoryFile,
) -> Option<(String, MemoryEntry)> {
    let entry = find_entry(content, &wanted.text, file)?;
    let marks = union_marks(entry.marks, wanted.marks);
    if marks == entry.marks {
        return None;
    }
    let mut entries = read_entries(content, file.day);
    entries.retain(|other| other.text == entry.text);
    Some((set_marks(content, &entries, marks, file)?, MemoryEntry { marks, ..entry }))
}

/// A file's text with another wording of a memory, other marks, or both; `marks` makes
/// them of those that it would have otherwise.
pub(crate) fn edit_memory(
    content: &str,
    memory: &Memory,
    wording: Option<&Wording>,
    marks: &dyn Fn(MemoryMarks) -> MemoryMarks,
    file: &MemoryFile,
) -> Option<(String, MemoryEntry)> {
    let entries = entries_of(content, memory, file);
    let newest = entries.iter().max_by_key(|entry| (entry.added(), entry.line))?;
    match wording {
        Some(Wording { text, marks: given }) => {
            let given = if *given == MemoryMarks::default() { newest.marks } else { *given };
            reword_memory(content, &entries, newest, (text, marks(given)), file)
        }
        None => {
            let marks = marks(newest.marks);
            let content = set_marks(content, &entries, marks, file)?;
            Some((content, MemoryEntry { marks, ..newest.clone() }))
        }
    }
}

/// With another wording in the place of the newest of a memory's entries, and without
/// the older ones.
fn reword_memory(
    content: &str,
    entries: &[MemoryEntry],
    newest: &MemoryEntry,
    (text, marks): (&str, MemoryMarks),
    file: &MemoryFile,
) -> Option<(String, MemoryEntry)> {
    let lead = if newest.lead.is_empty() { "- " } else { &newest.lead };
    let new = block(lead, marks, text, newest.time.as_deref());
    let entry = entry_of(&new, newest.day).ok()?;
    let new = in_place_of(newest, new, content);
    let stays = others(content, &newest.text, file);
    let with = |apart: &str| {
        let new_of = |other: &MemoryEntry| match other.line == newest.line {
            true => new.clone() + &behind(&new, apart, content),
            false => cut(other, apart, content),
        };
        replaced(content, entries, new_of)
    };
    let keeps_others = |content: &String| {
        let after = read_entries(content, file.day);
        let (after, stays) = (claims(&after), claims(&stays));
        // The same may stand there twice now; either can be the new one.
        let is_new = |at: &usize| after[*at].0 == entry.text;
        let is_kept = |at: usize| after[..at] == stays[..at] && after[at + 1..] == stays[at..];
        after.len() == stays.len() + 1 && (0..after.len()).filter(is_new).any(is_kept)
    };
    let content = APART.into_iter().map(with).find(keeps_others)?;
    Some((content, entry))
}

/// With these marks before all entries of a memory, so that an older one does not say
/// otherwise. Their texts stay as they are written, where that can be.
fn set_marks(
    content: &str,
    entries: &[MemoryEntry],
    marks: MemoryMarks,
    file: &MemoryFile,
) -> Option<String> {
    let mut wanted = read_entries(content, file.day);
    for entry in wanted.iter_mut().filter(|entry| entries.contains(entry)) {
        entry.marks = marks;
    }
    let as_written = |entry: &MemoryEntry| {
        let old = &content[entry.range.clone()];
        let rest = old[entry.lead.len()..].trim_start();
        let lead = &old[..old.len() - rest.len()];
        if union_marks(entry.marks, marks) == marks {
            let new = MemoryMarks {
                important: marks.important && !entry.marks.important,
                shared: marks.shared && !entry.marks.shared,
            };
            return format!("{lead}{}{rest}", marks_text(new));
        }
        format!("{lead}{}{}", marks_text(marks), take_marks(rest).1)
    };
    let anew = |apart: &str| {
        let new_of = |entry: &MemoryEntry| {
            let lead = if entry.lead.is_empty() { "- " } else { &entry.lead };
            let new = block(lead, marks, &entry.text, entry.time.as_deref());
            let new = in_place_of(entry, new, content);
            let apart = behind(&new, apart, content);
            new + &apart
        };
        replaced(content, entries, new_of)
    };
    let is_right = |content: &String| claims(&read_entries(content, file.day)) == claims(&wanted);
    let stays_written = Some(replaced(content, entries, as_written)).filter(is_right);
    stays_written.or_else(|| APART.into_iter().map(anew).find(is_right))
}

/// A file's text without a memory.
pub(crate) fn remove_memory(content: &str, memory: &Memory, file: &MemoryFile) -> Option<String> {
    let entries = entries_of(content, memory, file);
    if entries.is_empty() {
        return None;
    }
    let stays = others(content, &memory.text, file);
    let with = |apart: &str| replaced(content, &entries, |entry| cut(entry, apart, content));
    let keeps_others = |rest: &String| claims(&read_entries(rest, file.day)) == claims(&stays);
    APART.into_iter().map(with).find(keeps_others)
}

/// What may have to stand in the place of what was cut, so that its neighbours don't
/// become one: what is shared would otherwise take in what is not. The last also
/// keeps what has no end, a comment or front matter, from getting one.
const APART: [&str; 4] = ["", "\n", "\n---\n\n", "<!-- -->\n"];

/// The lines of a memory for the archive: as they were, and with their day where only
/// the heading had it.
pub(crate) fn forgotten_blocks(content: &str, memory: &Memory, file: &MemoryFile) -> String {
    let mut blocks = String::new();
    for entry in entries_of(content, memory, file) {
        let day = entry.day.map(|day| day.to_string());
        if entry.lead.is_empty() {
            let time = entry.time.or(day);
            blocks.push_str(&block("- ", entry.marks, &entry.text, time.as_deref()));
            continue;
        }
        let lines = own_lines(&entry, content).replace("\r\n", "\n").replace('\r', "\n");
        blocks.push_str(lines.trim_end());
        if let (None, Some(day)) = (entry.time, day) {
            blocks.push_str(&format!(" (added at {day})"));
        }
        blocks.push('\n');
    }
    blocks
}

/// The entries that a memory stands for: equal texts of one file are one memory.
fn entries_of(content: &str, memory: &Memory, file: &MemoryFile) -> Vec<MemoryEntry> {
    let mut entries = read_entries(content, file.day);
    entries.retain(|entry| entry.text == *memory.text);
    entries
}

/// All entries but those of this text.
fn others(content: &str, text: &str, file: &MemoryFile) -> Vec<MemoryEntry> {
    let mut entries = read_entries(content, file.day);
    entries.retain(|entry| entry.text != text);
    entries
}

/// What entries claim, wherever they stand.
fn claims(entries: &[MemoryEntry]) -> Vec<(&str, MemoryMarks, Option<Date>, Option<&str>)> {
    entries
        .iter()
        .map(|MemoryEntry { text, marks, day, time, .. }| (&**text, *marks, *day, time.as_deref()))
        .collect()
}

/// A file's text with something else in the place of entries.
fn replaced(
    content: &str,
    entries: &[MemoryEntry],
    new_of: impl Fn(&MemoryEntry) -> String,
) -> String {
    let mut entries: Vec<&MemoryEntry> = entries.iter().collect();
    // From the end on, so that what is before keeps its place.
    entries.sort_by_key(|entry| Reverse(entry.range.start));
    let mut content = content.to_owned();
    for entry in entries {
        content.replace_range(entry.range.clone(), &new_of(entry));
    }
    content
}

/// What stands in the place of an entry that is written anew: its lines, ended as the
/// file ends them, and the comments that stood among the old ones.
fn in_place_of(entry: &MemoryEntry, mut block: String, content: &str) -> String {
    let comments = comments(entry, content);
    if comments.is_empty() && !ends_line(content[entry.range.clone()].as_bytes()) {
        block.pop();
    }
    with_line_ends_of(content.as_bytes(), block) + &comments
}

/// What stands in the place of an entry that is gone: what keeps its neighbours apart,
/// and the comments that stood among its lines.
fn cut(entry: &MemoryEntry, apart: &str, content: &str) -> String {
    with_line_ends_of(content.as_bytes(), apart.to_owned()) + &comments(entry, content)
}

/// What keeps an entry that is written anew apart from the next, if there is one.
fn behind(new: &str, apart: &str, content: &str) -> String {
    let apart = if ends_line(new.as_bytes()) { apart } else { "" };
    with_line_ends_of(content.as_bytes(), apart.to_owned())
}

fn comments(entry: &MemoryEntry, content: &str) -> String {
    entry.comments.iter().map(|range| &content[range.clone()]).collect()
}

/// The lines of an entry without the comments among them.
fn own_lines(entry: &MemoryEntry, content: &str) -> String {
    let mut own = String::new();
    let mut at = entry.range.start;
    for comment in &entry.comments {
        own.push_str(&content[at..comment.start]);
        at = comment.end;
    }
    own.push_str(&content[at..entry.range.end]);
    own
}

#[cfg(test)]
mod tests;
