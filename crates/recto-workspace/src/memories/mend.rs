//! Puts back what an editor wrote over, as the journal has it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::compose::{addition, entry_of};
use super::error::MemoryError;
use super::journal::{Journal, Note, millis, now};
use super::layout::Layout;
use super::load::{Content, Reach, load_when_quiet, text};
use super::lock::Lock;
use super::parse::read_entries;
use super::write::{Durable, Landed, TRIES, append};
use crate::stamp::Seen;

/// Checks all that the journal has, puts back what is missing, and takes out what is
/// old. What cannot be written now stays in the journal as long as it is new.
pub(crate) fn mend(layout: &Layout, lock: &mut Lock, durable: Durable) -> Result<(), MemoryError> {
    let journal = Journal::of(layout);
    let notes = journal.read();
    let mut by_file: BTreeMap<&str, Vec<&Note>> = BTreeMap::new();
    for note in &notes {
        by_file.entry(&note.file).or_default().push(note);
    }
    let mut kept = Vec::new();
    for (label, notes) in by_file {
        let Some(path) = layout.path_of(label) else { continue };
        let mended = mend_file(&path, label, &notes, lock, durable);
        kept.extend(mended.unwrap_or_else(|_| notes.into_iter().cloned().collect()));
    }
    let moment = now();
    kept.retain(|note| !note.is_old(moment));
    if kept == notes { Ok(()) } else { journal.rewrite(&kept) }
}

/// The notes of one file that stay in the journal. On the way, the file gets back what
/// it lost.
fn mend_file(
    path: &Path,
    label: &str,
    notes: &[&Note],
    lock: &mut Lock,
    durable: Durable,
) -> Result<Vec<Note>, MemoryError> {
    for _ in 0..TRIES {
        let loaded = load_when_quiet(path, Reach::End, |stamp| lock.is_left(label, stamp));
        let bytes = match loaded.content {
            Content::Bytes { bytes, .. } => bytes,
            Content::Missing => Vec::new(),
            Content::Unusable(_) => break,
        };
        // A file that is gone was taken away a moment ago, as far as anybody knows.
        let written = match &loaded.seen {
            Seen::Present(stamp) => stamp.modified().map_or(0, millis),
            _ => now(),
        };
        let missing = missing(&bytes, notes);
        let (mut end, mut added) = (bytes, Vec::new());
        let (mut kept, mut texts) = (Vec::new(), HashSet::new());
        for (note, is_missing) in notes.iter().zip(missing) {
            let mut note = Note::clone(note);
            if is_missing {
                // Of two that say the same, one is enough.
                let text = entry_of(&note.block, None).map(|entry| entry.text).ok();
                if note.is_old(written) || !texts.insert(text) {
                    continue;
                }
                let more = addition(&end, &note.day, &note.block);
                end.extend_from_slice(&more);
                added.extend(more);
                note.at = now();
            }
            kept.push(note);
        }
        if added.is_empty() {
            match &loaded.seen {
                Seen::Present(stamp) => lock.leave(label, stamp),
                _ => lock.doubt(label),
            }
            return Ok(kept);
        }
        match append(path, &loaded.seen, &added, durable)? {
            Landed::Clean(stamp) => lock.leave(label, &stamp),
            Landed::Disturbed => lock.doubt(label),
            Landed::NotYet => continue,
        }
        return Ok(kept);
    }
    lock.doubt(label);
    Ok(notes.iter().copied().cloned().collect())
}

/// Which notes are not in the content: neither as they were written, nor as the same
/// text in another form.
fn missing(content: &[u8], notes: &[&Note]) -> Vec<bool> {
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').map(bare).collect();
    let blocks: Vec<Vec<&[u8]>> = notes
        .iter()
        .map(|note| note.block.trim_end().split('\n').map(|l| bare(l.as_bytes())).collect())
        .collect();
    let mut by_first: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (index, block) in blocks.iter().enumerate() {
        by_first.entry(block[0]).or_default().push(index);
    }
    let mut missing = vec![true; notes.len()];
    for at in 0..lines.len() {
        for index in by_first.get(lines[at]).into_iter().flatten() {
            if lines[at..].starts_with(&blocks[*index]) {
                missing[*index] = false;
            }
        }
    }
    if missing.contains(&true)
        && let Ok(content) = text(content)
    {
        let entries = read_entries(content, None);
        let texts: HashSet<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        for (note, missing) in notes.iter().zip(&mut missing) {
            let entry = entry_of(&note.block, None);
            *missing &= entry.is_ok_and(|entry| !texts.contains(entry.text.as_str()));
        }
    }
    missing
}

/// A line without blanks around it and without its bullet, which programs that format
/// Markdown may change.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    match line {
        [b'-' | b'*' | b'+', b' ', rest @ ..] => rest.trim_ascii(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: [bool; 2]) {
        let note = |block: &str| Note {
            file: "MEMORY.md".to_owned(),
            day: "2026-03-01".to_owned(),
            block: block.to_owned(),
            at: 0,
        };
        let notes = [
            note("- a (added at 2026-03-01T00:00:00Z)\n"),
            note("- b\\\n  c (added at 2026-03-01T00:00:00Z)\n"),
        ];
        assert_eq!(missing(content.as_bytes(), &[&notes[0], &notes[1]]), expected);
    }

    #[test]
    fn lines_are_found_also_in_another_form() {
        check("", [true, true]);
        check("- a (added at 2026-03-01T00:00:00Z)\n", [false, true]);
        check(
            "* a (added at 2026-03-01T00:00:00Z)\r\n- b\\\r\n  c (added at 2026-03-01T00:00:00Z)",
            [false, false],
        );
        check("- b\\\n  d (added at 2026-03-01T00:00:00Z)\n- A\n", [true, true]);
        check("- [important] a (added at 2026-03-09)\n+ b\\\n    c\n", [false, true]);
    }
}
