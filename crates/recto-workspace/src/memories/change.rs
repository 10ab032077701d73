//! What can be done with memories, each under the lock: add, edit, forget.

use std::path::{Path, PathBuf};

use jiff::Zoned;
use jiff::civil::Date;
use recto_context::{Marks, Memory, Scope};

use super::compose::{Wording, addition, block, entry_of, marks_text, time, with_line_ends_of};
use super::error::MemoryError;
use super::journal::{Journal, LONG, Note, now};
use super::layout::{Layout, Place, note_day};
use super::load::{Content, Loaded, Reach, load, load_when_quiet, text};
use super::lock::{Lock, make_folder};
use super::mend::mend;
use super::parse::{Entry, read_entries};
use super::shelf::memory_of;
use super::write::{Durable, Landed, TRIES, append, busy, replace};
use crate::stamp::{Seen, look};

/// Something to remember.
#[derive(Debug, Clone)]
pub struct NewMemory {
    /// What.
    pub text: String,
    /// What `[important]` and `[shared]` at the beginning of the text mean.
    pub marks_in_text: TextMarks,
    /// To whom it belongs. Whoever adds it has asked before whether that may be.
    pub scope: Scope,
    /// What is said of it beside its text.
    pub marks: Marks,
    /// When.
    pub at: Zoned,
}

/// What marks at the beginning of a text mean. They are never a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMarks {
    /// They count, as those beside the text do.
    Taken,
    /// They are taken off and don't count.
    Ignored,
}

/// What became of something to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The memory as it stands in its file.
    pub memory: Memory,
    /// It stood there already, and nothing was written but marks that it did not have.
    pub was_there: bool,
}

/// Something that is remembered no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// What it was.
    pub memory: Memory,
    /// The file that has it now.
    pub archive: PathBuf,
}

/// The files, by somebody who wants to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pen<'a> {
    pub layout: &'a Layout,
    pub durable: Durable,
}

impl Pen<'_> {
    /// Appends a memory to its file, unless it is there.
    pub(crate) fn add(self, new: &NewMemory) -> Result<Added, MemoryError> {
        let wording = Wording::new(&new.text)?;
        let marks = match new.marks_in_text {
            TextMarks::Taken => both(new.marks, wording.marks),
            TextMarks::Ignored => new.marks,
        };
        let wording = Wording { marks, ..wording };
        let place = self.layout.place(&new.scope);
        let note = Note {
            file: place.label.to_string(),
            day: new.at.date().to_string(),
            block: block("- ", marks, &wording.text, Some(&time(&new.at))),
            at: 0,
        };
        self.locked(&place, |lock| self.add_note(&place, &wording, note, lock))
    }

    fn add_note(
        self,
        place: &Place,
        wanted: &Wording,
        mut note: Note,
        lock: &mut Lock,
    ) -> Result<Added, MemoryError> {
        make_folder(place.path.parent().unwrap_or(&place.path))?;
        let journal = Journal::of(self.layout);
        let mut journal_before = None;
        for _ in 0..TRIES {
            let loaded = self.load(place, Reach::End, lock);
            let end = match loaded.content {
                Content::Bytes { bytes, .. } => bytes,
                Content::Missing => Vec::new(),
                Content::Unusable(what) => return Err(unusable(&place.path, what)),
            };
            // What nobody could read there is not written there.
            let content = text(&end).map_err(|what| unusable(&place.path, what))?;
            if let Some(entry) = find(content, &wanted.text, place) {
                let entry = self.mark(place, entry, wanted, lock)?;
                return Ok(Added { memory: memory_of(place, &entry), was_there: true });
            }
            // First, so that a kill behind it leaves somebody to finish this.
            let before = match journal_before {
                Some(before) => before,
                None => {
                    // Now, and not before the lock was waited for.
                    note.at = now();
                    *journal_before.insert(journal.add(&note)?)
                }
            };
            let is_checked =
                matches!(&loaded.seen, Seen::Present(stamp) if lock.is_left(&place.label, stamp));
            let more = addition(&end, &note.day, &note.block);
            match append(&place.path, &loaded.seen, &more, self.durable) {
                Ok(Landed::NotYet) => continue,
                Ok(Landed::Clean(stamp)) if is_checked => lock.leave(&place.label, &stamp),
                Ok(Landed::Clean(_) | Landed::Disturbed) => lock.doubt(&place.label),
                Err(error) => {
                    journal.take_back(before);
                    return Err(error);
                }
            }
            let entry = entry_of(&note.block, None)?;
            return Ok(Added { memory: memory_of(place, &entry), was_there: false });
        }
        journal_before.into_iter().for_each(|before| journal.take_back(before));
        Err(busy(&place.path))
    }

    /// Gives an entry the marks that it has not got yet. All else of it stays.
    fn mark(
        self,
        place: &Place,
        entry: Entry,
        wanted: &Wording,
        lock: &mut Lock,
    ) -> Result<Entry, MemoryError> {
        if both(entry.marks, wanted.marks) == entry.marks {
            return Ok(entry);
        }
        lock.doubt(&place.label);
        let mut marked = None;
        self.replace(place, |content| {
            let (content, entry) = marked_entry(content, wanted, place)?;
            marked = Some(entry);
            Some(content)
        })?;
        Ok(marked.unwrap_or(entry))
    }

    /// Writes another text in the place of a memory's.
    pub(crate) fn edit(self, memory: &Memory, text: &str) -> Result<Memory, MemoryError> {
        let wording = Wording::new(text)?;
        let place = self.place_of(memory);
        self.locked(&place, |lock| {
            let content = self.content(&place, memory, lock)?;
            if edited(&content, memory, &wording, &place).is_none() {
                return Err(unknown(memory));
            }
            // First, so that a kill leaves nobody to put the old text back.
            let dropped = self.drop_from_journal(&place, memory, lock)?;
            let mut new = None;
            let is_changed = self.replace(&place, |content| {
                let (content, entry) = edited(content, memory, &wording, &place)?;
                new = Some(entry);
                Some(content)
            })?;
            let entry = new.filter(|_| is_changed).ok_or_else(|| unknown(memory))?;
            // Who had not seen the old text has not seen the new one either.
            if let Some(note) = dropped {
                let block = block("- ", entry.marks, &entry.text, entry.time.as_deref());
                // The edit is made, whether it can be noted or not.
                let _ = Journal::of(self.layout).add(&Note { block, at: now(), ..note });
            }
            Ok(memory_of(&place, &entry))
        })
    }

    /// Moves a memory to the archive.
    pub(crate) fn forget(self, memory: &Memory) -> Result<Forgotten, MemoryError> {
        let place = self.place_of(memory);
        let archive = self.layout.archive(&place.label);
        self.locked(&place, |lock| {
            let content = self.content(&place, memory, lock)?;
            let blocks = forgotten_blocks(&content, memory, &place);
            if blocks.is_empty() {
                return Err(unknown(memory));
            }
            // First there, then gone from here: in between it is in both places.
            self.append_to(&archive, &blocks)?;
            // Before it is cut, so that a kill leaves nobody to put it back.
            self.drop_from_journal(&place, memory, lock)?;
            self.replace(&place, |content| without(content, memory, &place))?;
            Ok(Forgotten { memory: memory.clone(), archive: archive.clone() })
        })
    }

    /// Does something with the lock, after the file was mended.
    fn locked<T>(
        self,
        place: &Place,
        work: impl FnOnce(&mut Lock) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let mut lock = Lock::take(self.layout)?;
        let journal = Journal::of(self.layout);
        let length = journal.length();
        if length > LONG || !lock.is_as_left(&place.label, &look(&place.path), length) {
            mend(self.layout, &mut lock, self.durable)?;
        }
        let done = work(&mut lock);
        lock.release(journal.length());
        done
    }

    /// What is in a file, once nobody is in the middle of writing it.
    fn load(self, place: &Place, reach: Reach, lock: &Lock) -> Loaded {
        load_when_quiet(&place.path, reach, |stamp| lock.is_left(&place.label, stamp))
    }

    /// The text of the file that a memory is in.
    fn content(self, place: &Place, memory: &Memory, lock: &Lock) -> Result<String, MemoryError> {
        match self.load(place, Reach::Whole, lock).content {
            Content::Bytes { bytes, .. } => String::from_utf8(bytes).map_err(|_| unknown(memory)),
            Content::Missing | Content::Unusable(_) => Err(unknown(memory)),
        }
    }

    fn place_of(self, memory: &Memory) -> Place {
        let label = memory.name.rsplit_once('#').map_or(&*memory.name, |(label, _)| label);
        self.layout.labelled(label.to_owned(), memory.scope.clone(), note_day(label))
    }

    /// Changes a file's text; one that is none stays as it is.
    fn replace(
        self,
        place: &Place,
        mut change: impl FnMut(&str) -> Option<String>,
    ) -> Result<bool, MemoryError> {
        let change = |bytes: &[u8]| change(text(bytes).ok()?).map(String::into_bytes);
        replace(&place.path, self.durable, change)
    }

    fn append_to(self, path: &Path, blocks: &str) -> Result<(), MemoryError> {
        make_folder(path.parent().unwrap_or(path))?;
        let day = Zoned::now().date().to_string();
        for _ in 0..TRIES {
            let loaded = load(path, Reach::End);
            let end = match loaded.content {
                Content::Bytes { bytes, .. } => bytes,
                Content::Missing => Vec::new(),
                Content::Unusable(what) => return Err(unusable(path, what)),
            };
            let more = addition(&end, &day, blocks);
            if !matches!(append(path, &loaded.seen, &more, self.durable)?, Landed::NotYet) {
                return Ok(());
            }
        }
        Err(busy(path))
    }

    /// What is changed on purpose is not put back. Gives what was noted of it last.
    fn drop_from_journal(
        self,
        place: &Place,
        memory: &Memory,
        lock: &mut Lock,
    ) -> Result<Option<Note>, MemoryError> {
        lock.doubt(&place.label);
        let journal = Journal::of(self.layout);
        let is_it = |note: &Note| {
            *note.file == *place.label
                && entry_of(&note.block, None).is_ok_and(|entry| entry.text == *memory.text)
        };
        let (mut dropped, kept): (Vec<Note>, Vec<Note>) =
            journal.read().into_iter().partition(is_it);
        if !dropped.is_empty() {
            journal.rewrite(&kept)?;
        }
        Ok(dropped.pop())
    }
}

fn both(one: Marks, other: Marks) -> Marks {
    Marks { important: one.important || other.important, shared: one.shared || other.shared }
}

fn unusable(path: &Path, what: String) -> MemoryError {
    MemoryError::Unusable { path: path.to_owned(), what }
}

fn unknown(memory: &Memory) -> MemoryError {
    MemoryError::Unknown { name: memory.name.to_string(), nearest: None }
}

/// The newest entry of this text, if the file has it.
fn find(content: &str, wanted: &str, place: &Place) -> Option<Entry> {
    // Most files are larger than the answer: nothing is parsed that has no such words.
    let first = wanted.lines().next()?;
    if !content.contains(first) {
        return None;
    }
    let entries = read_entries(content, place.day).into_iter();
    entries.filter(|entry| entry.text == wanted).max_by_key(|entry| (entry.added(), entry.line))
}

/// A file's text with more marks before the newest entry of this text.
fn marked_entry(content: &str, wanted: &Wording, place: &Place) -> Option<(String, Entry)> {
    let entry = find(content, &wanted.text, place)?;
    let marks = both(entry.marks, wanted.marks);
    if marks == entry.marks {
        return None;
    }
    let mut marked = content.to_owned();
    if entry.lead.ends_with(char::is_whitespace) {
        let new = Marks {
            important: marks.important && !entry.marks.important,
            shared: marks.shared && !entry.marks.shared,
        };
        marked.insert_str(entry.range.start + entry.lead.len(), &marks_text(new));
    } else {
        // It is not a bullet, or begins below one, where marks would be something else.
        let mut new = block("- ", marks, &entry.text, entry.time.as_deref());
        if !content[entry.range.clone()].ends_with('\n') {
            new.pop();
        }
        let new = with_line_ends_of(content.as_bytes(), new);
        marked.replace_range(entry.range.clone(), &new);
    }
    Some((marked, Entry { marks, ..entry }))
}

/// The entries that a memory stands for: equal texts of one file are one memory.
fn entries_of(content: &str, memory: &Memory, place: &Place) -> Vec<Entry> {
    let mut entries = read_entries(content, place.day);
    entries.retain(|entry| entry.text == *memory.text);
    entries
}

/// A file's text with another wording in the place of the newest of a memory's
/// entries, and without the older ones.
fn edited(
    content: &str,
    memory: &Memory,
    wording: &Wording,
    place: &Place,
) -> Option<(String, Entry)> {
    let mut entries = entries_of(content, memory, place);
    let newest = entries.iter().enumerate().max_by_key(|(_, entry)| (entry.added(), entry.line));
    let at = newest.map(|(at, _)| at)?;
    let old = entries[at].clone();
    let marks = if wording.marks == Marks::default() { old.marks } else { wording.marks };
    let lead = if old.lead.is_empty() { "- " } else { &old.lead };
    let new = block(lead, marks, &wording.text, old.time.as_deref());
    let entry = entry_of(&new, old.day).ok()?;
    let ends = content[old.range.clone()].ends_with('\n');
    let new = if ends { &*new } else { new.trim_end_matches('\n') };
    let new = with_line_ends_of(content.as_bytes(), new.to_owned());
    // From the end on, so that what is before keeps its place.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.line));
    let stays = others(content, memory, place);
    let with = |apart: &str| {
        let mut content = content.to_owned();
        for other in &entries {
            let with = if other.line == old.line { &*new } else { apart };
            content.replace_range(other.range.clone(), with);
        }
        content
    };
    let keeps_others = |content: &String| {
        let mut after = read_entries(content, place.day);
        let at = after.iter().position(|after| after.text == entry.text);
        at.map(|at| after.remove(at));
        said(&after) == said(&stays)
    };
    let content = APART.into_iter().map(with).find(keeps_others)?;
    Some((content, entry))
}

/// A file's text without a memory.
fn without(content: &str, memory: &Memory, place: &Place) -> Option<String> {
    let entries = entries_of(content, memory, place);
    if entries.is_empty() {
        return None;
    }
    let stays = others(content, memory, place);
    let with = |apart: &str| {
        let mut rest = content.to_owned();
        for entry in entries.iter().rev() {
            rest.replace_range(entry.range.clone(), apart);
        }
        rest
    };
    let keeps_others = |rest: &String| said(&read_entries(rest, place.day)) == said(&stays);
    APART.into_iter().map(with).find(keeps_others)
}

/// What may have to stand in the place of what was cut, so that its neighbours don't
/// become one: what is shared would otherwise take in what is not.
const APART: [&str; 3] = ["", "\n", "\n---\n\n"];

/// All entries but those that a memory stands for.
fn others(content: &str, memory: &Memory, place: &Place) -> Vec<Entry> {
    let mut entries = read_entries(content, place.day);
    entries.retain(|entry| entry.text != *memory.text);
    entries
}

/// What entries say, wherever they stand.
fn said(entries: &[Entry]) -> Vec<(&str, Marks, Option<Date>, Option<&str>)> {
    entries
        .iter()
        .map(|Entry { text, marks, day, time, .. }| (&**text, *marks, *day, time.as_deref()))
        .collect()
}

/// The lines of a memory for the archive: as they were, and with their day where only
/// the heading had it.
fn forgotten_blocks(content: &str, memory: &Memory, place: &Place) -> String {
    let mut blocks = String::new();
    for entry in entries_of(content, memory, place) {
        let day = entry.day.map(|day| day.to_string());
        if entry.lead.is_empty() {
            let time = entry.time.or(day);
            blocks.push_str(&block("- ", entry.marks, &entry.text, time.as_deref()));
            continue;
        }
        blocks.push_str(content[entry.range].replace("\r\n", "\n").trim_end());
        if let (None, Some(day)) = (entry.time, day) {
            blocks.push_str(&format!(" (added at {day})"));
        }
        blocks.push('\n');
    }
    blocks
}
