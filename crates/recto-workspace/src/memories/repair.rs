//! Puts back what an editor wrote over, as the journal has it.
//!
//! An editor that is held up in the middle of a save in place leaves a file that looks
//! short and quiet. What is put back then comes behind what the editor still writes, and
//! stands there twice; so what the journal has is also cut where it is doubled.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::compose::{addition, entry_of};
use super::error::MemoryResult;
use super::journal::{Journal, JournalEntry, millis, now};
use super::layout::MemoryLayout;
use super::load::{LoadReach, load_when_quiet, text};
use super::lock::MemoryLock;
use super::parse::{MemoryEntry, read_entries};
use super::write::{AppendOutcome, Durability, TRIES, append, replace};
use crate::stamp::PathState;

/// Checks all that the journal has, puts back what is missing, and takes out what is
/// old. What cannot be written now stays in the journal as long as it is new.
pub(crate) fn repair_files(
    layout: &MemoryLayout,
    lock: &mut MemoryLock,
    durable: Durability,
) -> MemoryResult<()> {
    let journal = Journal::in_layout(layout);
    let notes = journal.read();
    let mut by_file: BTreeMap<&str, Vec<&JournalEntry>> = BTreeMap::new();
    for note in &notes {
        by_file.entry(&note.file).or_default().push(note);
    }
    let mut kept = Vec::new();
    for (label, notes) in by_file {
        let Some(path) = layout.path_of(label) else { continue };
        let repaired = repair_file(&path, label, &notes, lock, durable);
        kept.extend(repaired.unwrap_or_else(|_| notes.into_iter().cloned().collect()));
    }
    let moment = now();
    kept.retain(|note| !note.is_old(moment));
    if kept == notes { Ok(()) } else { journal.rewrite(&kept) }
}

/// The notes of one file that stay in the journal. On the way, the file gets back what
/// it lost.
fn repair_file(
    path: &Path,
    label: &str,
    notes: &[&JournalEntry],
    lock: &mut MemoryLock,
    durable: Durability,
) -> MemoryResult<Vec<JournalEntry>> {
    for _ in 0..TRIES {
        let loaded = load_when_quiet(path, LoadReach::End, |stamp| lock.has_stamp(label, stamp));
        let Ok(bytes) = loaded.content.into_bytes() else { break };
        // A file that is gone was taken away a moment ago, as far as anybody knows.
        let written = match &loaded.seen {
            PathState::Present(stamp) => stamp.modified().map_or(0, millis),
            _ => now(),
        };
        let fresh: Vec<&JournalEntry> =
            notes.iter().copied().filter(|note| !note.is_old(written) && has_time(note)).collect();
        if without_doubles(&bytes, &fresh).is_some() {
            lock.forget(label);
            replace(path, durable, |bytes| without_doubles(bytes, &fresh))?;
            continue;
        }
        let (kept, lost) = without_lost(bytes, notes, written);
        let outcome = match loaded.seen {
            PathState::Present(stamp) if lost.is_empty() => AppendOutcome::Clean(stamp),
            _ if lost.is_empty() => AppendOutcome::Disturbed,
            seen => append(path, &seen, &lost, durable)?,
        };
        match outcome {
            AppendOutcome::Clean(stamp) => lock.note_stamp(label, &stamp),
            AppendOutcome::Disturbed => lock.forget(label),
            AppendOutcome::NotYet => continue,
        }
        return Ok(kept);
    }
    lock.forget(label);
    Ok(notes.iter().copied().cloned().collect())
}

/// The notes that stay in the journal of a file that was last `written` then, and the
/// bytes to append so that it has all of them.
fn without_lost(
    mut content: Vec<u8>,
    notes: &[&JournalEntry],
    written: i64,
) -> (Vec<JournalEntry>, Vec<u8>) {
    let (mut kept, mut texts) = (Vec::new(), HashSet::new());
    let (missing, length) = (missing(&content, notes), content.len());
    for (note, is_missing) in notes.iter().zip(missing) {
        let mut note = JournalEntry::clone(note);
        if is_missing {
            // Of two that say the same, one is enough.
            let text = entry_of(&note.block, None).map(|entry| entry.text).ok();
            if note.is_old(written) || !texts.insert(text) {
                continue;
            }
            content.extend(addition(&content, &note.day, &note.block));
            note.at = now();
        }
        kept.push(note);
    }
    (kept, content.split_off(length))
}

/// Whether nobody else can have written it: two entries of one text may both be meant,
/// but not if they were added in the same second.
fn has_time(note: &JournalEntry) -> bool {
    entry_of(&note.block, None).is_ok_and(|entry| entry.time.is_some())
}

/// The content without what is noted and stands there a second time, exactly as it was
/// written; `None` when nothing does.
fn without_doubles(content: &[u8], notes: &[&JournalEntry]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let mut by_first: HashMap<&[u8], HashSet<&str>> = HashMap::new();
    for block in notes.iter().map(|note| note.block.as_str()) {
        by_first.entry(lines_of(block).next()?).or_default().insert(block);
    }
    let mut seen = HashSet::new();
    let mut kept = Vec::with_capacity(content.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let blocks = by_first.get(line.trim_ascii_end()).into_iter().flatten();
        let is_here = |block: &&&str| {
            let rest = lines[at..].iter().map(|line| line.trim_ascii_end());
            lines_of(block).eq(rest.take(lines_of(block).count()))
        };
        match blocks.filter(is_here).max_by_key(|block| block.len()) {
            Some(block) if !seen.insert(*block) => at += lines_of(block).count(),
            _ => {
                kept.extend_from_slice(line);
                at += 1;
            }
        }
    }
    (kept.len() < content.len()).then_some(kept)
}

/// The lines of a block, without their ends.
fn lines_of(block: &str) -> impl Iterator<Item = &[u8]> {
    block.trim_end().split('\n').map(|line| line.as_bytes().trim_ascii_end())
}

/// Which notes are not in the content: neither as they were written, nor as the same
/// text in another form.
fn missing(content: &[u8], notes: &[&JournalEntry]) -> Vec<bool> {
    // Blocks have no empty lines, so none of the file's matter.
    let lines = content.split(|byte| matches!(byte, b'\n' | b'\r'));
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).map(bare).collect();
    let blocks: Vec<Vec<&[u8]>> =
        notes.iter().map(|note| lines_of(&note.block).map(bare).collect()).collect();
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
        let texts = |shared: bool| -> HashSet<&str> {
            let those = entries.iter().filter(|entry| entry.marks.shared == shared);
            those.map(|entry| entry.text.as_str()).collect()
        };
        let (private, shared) = (texts(false), texts(true));
        for (note, missing) in notes.iter().zip(&mut missing) {
            // What was private when it was noted is not there if only others may see it:
            // an editor may have brought back the mark that was just taken off.
            let is_there = |entry: &MemoryEntry| {
                let text = entry.text.as_str();
                private.contains(text) || entry.marks.shared && shared.contains(text)
            };
            *missing &= entry_of(&note.block, None).is_ok_and(|entry| !is_there(&entry));
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
        let note = |block: &str| JournalEntry {
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
    fn what_is_doubled_is_cut_where_it_comes_again() {
        let note = |block: &str| JournalEntry {
            file: "MEMORY.md".to_owned(),
            day: "2026-03-01".to_owned(),
            block: block.to_owned(),
            at: 0,
        };
        let notes = [note("- a (added at 1)\n"), note("- b\\\n  c (added at 1)\n")];
        let cut = |content: &str| {
            let rest = without_doubles(content.as_bytes(), &[&notes[0], &notes[1], &notes[0]]);
            rest.map(|rest| String::from_utf8(rest).unwrap())
        };
        let (a, b) = ("- a (added at 1)\r\n", "- b\\\n  c (added at 1)\n");
        assert_eq!(cut(&format!("{a}{b}- x\n- x\n")), None);
        assert_eq!(cut("- a (added at 2)\n- a\n- a (added at 1)\n- a"), None);
        // What stands within another entry is that one's.
        assert_eq!(cut("- a (added at 1)\n- x\n  - a (added at 1)\n"), None);
        assert_eq!(cut(&format!("{a}{b}- x\n{b}{a}- y")), Some(format!("{a}{b}- x\n- y")));
        assert_eq!(cut("- b\\\n  d\n- b\\\n  c (added at 2)\n"), None);
        assert_eq!(without_doubles(b"- x\n- x\n", &[]), None);
    }

    #[test]
    fn lines_are_found_also_in_another_form() {
        check("", [true, true]);
        check("- a (added at 2026-03-01T00:00:00Z)\n", [false, true]);
        check(
            "* a (added at 2026-03-01T00:00:00Z)\r\n- b\\\r\n  c (added at 2026-03-01T00:00:00Z)",
            [false, false],
        );
        check(
            "## x\r- a (added at 2026-03-01T00:00:00Z)\r- b\\\r  c (added at 2026-03-01T00:00:00Z)\r",
            [false, false],
        );
        check("- b\\\n  d (added at 2026-03-01T00:00:00Z)\n- A\n", [true, true]);
        check("- [important] a (added at 2026-03-09)\n+ b\\\n    c\n", [false, true]);
        check("- [shared] a\n", [true, true]);
        check("- [shared] a\n- a\n", [false, true]);
    }
}
