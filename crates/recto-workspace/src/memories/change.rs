//! What can be done with memories, each under the lock: add, edit, forget, restore.

use std::path::{Path, PathBuf};

use jiff::Zoned;
use recto_context::{Memory, MemoryMarks, MemoryScope};

use super::cache::memory_of;
use super::compose::{Wording, addition, block, entry_of, time};
use super::error::{MemoryError, MemoryResult};
use super::journal::{Journal, JournalEntry, LONG, now};
use super::layout::{MemoryFile, MemoryLayout, note_day};
use super::leftover::remove_leftovers;
use super::load::{LoadReach, LoadedContent, LoadedFile, load, load_when_quiet, text};
use super::lock::{MemoryLock, make_folder};
use super::parse::{MemoryEntry, day_at_start};
use super::repair::repair_files;
use super::revise::{
    add_marks, contains_memory, edit_memory, find_entry, forgotten_blocks, remove_memory,
    union_marks,
};
use super::secrets::find_secret;
use super::write::{AppendOutcome, Durability, TRIES, append, busy, replace};
use crate::stamp::{PathState, stat_path};

/// A memory that is to be written down.
#[derive(Debug, Clone)]
pub struct NewMemory {
    /// What is to be remembered, with or without marks at its beginning.
    pub text: String,
    /// What `[important]` and `[shared]` at the beginning of the text mean.
    pub marks_in_text: TextMarks,
    /// To whom it belongs. Whoever adds it has asked before whether that may be.
    pub scope: MemoryScope,
    /// What is said of it beside its text.
    pub marks: MemoryMarks,
    /// When it came up: the day that it is filed under, and the time behind it.
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

/// A memory that was added, or stood there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedMemory {
    /// The memory as it stands in its file.
    pub memory: Memory,
    /// It stood there already, and nothing was written but marks that it did not have.
    pub was_there: bool,
}

/// A memory that was moved to the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenMemory {
    /// The memory as it was.
    pub memory: Memory,
    /// The file that has it now.
    pub archive: PathBuf,
}

/// Adds, edits, forgets and restores memories in their files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryWriter<'a> {
    pub layout: &'a MemoryLayout,
    pub durable: Durability,
}

impl MemoryWriter<'_> {
    /// Appends a memory to its file, unless it is there.
    pub(crate) fn add(self, new: &NewMemory) -> MemoryResult<AddedMemory> {
        let wording = Wording::new(&new.text)?;
        let marks = match new.marks_in_text {
            TextMarks::Taken => union_marks(new.marks, wording.marks),
            TextMarks::Ignored => new.marks,
        };
        let wording = Wording { marks, ..wording };
        let file = self.layout.scope_file(&new.scope);
        let note = JournalEntry {
            file: file.label.to_string(),
            day: new.at.date().to_string(),
            block: block("- ", marks, &wording.text, Some(&time(&new.at))),
            at: 0,
        };
        self.locked(&file, |lock| self.add_note(&file, &wording, note, lock))
    }

    fn add_note(
        self,
        file: &MemoryFile,
        wanted: &Wording,
        mut note: JournalEntry,
        lock: &mut MemoryLock,
    ) -> MemoryResult<AddedMemory> {
        make_folder(file.path.parent().unwrap_or(&file.path))?;
        let journal = Journal::in_layout(self.layout);
        let mut journal_before = None;
        for _ in 0..TRIES {
            let loaded = self.load(file, LoadReach::End, lock);
            let end = loaded.content.into_bytes().map_err(|what| unusable(&file.path, what))?;
            // What nobody could read there is not written there.
            let content = text(&end).map_err(|what| unusable(&file.path, what))?;
            if let Some(entry) = find_entry(content, &wanted.text, file) {
                let entry = self.mark(file, entry, wanted, lock)?;
                return Ok(AddedMemory { memory: memory_of(file, &entry), was_there: true });
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
            let is_ours = matches!(&loaded.seen, PathState::Present(stamp) if lock.has_stamp(&file.label, stamp));
            let more = addition(&end, &note.day, &note.block);
            match append(&file.path, &loaded.seen, &more, self.durable) {
                Ok(AppendOutcome::NotYet) => continue,
                Ok(AppendOutcome::Clean(stamp)) if is_ours => lock.note_stamp(&file.label, &stamp),
                Ok(AppendOutcome::Clean(_) | AppendOutcome::Disturbed) => lock.forget(&file.label),
                Err(error) => {
                    journal.take_back(before);
                    return Err(error);
                }
            }
            let entry = entry_of(&note.block, None)?;
            return Ok(AddedMemory { memory: memory_of(file, &entry), was_there: false });
        }
        journal_before.into_iter().for_each(|before| journal.take_back(before));
        Err(busy(&file.path))
    }

    /// Gives an entry the marks that it has not got yet. All else of it stays.
    fn mark(
        self,
        file: &MemoryFile,
        entry: MemoryEntry,
        wanted: &Wording,
        lock: &mut MemoryLock,
    ) -> MemoryResult<MemoryEntry> {
        if union_marks(entry.marks, wanted.marks) == entry.marks {
            return Ok(entry);
        }
        let dropped = self.drop_from_journal(file, &entry.text, lock)?;
        let mut new = None;
        self.replace(file, |content| {
            let (content, entry) = add_marks(content, wanted, file)?;
            new = Some(entry);
            Some(content)
        })?;
        let entry = new.unwrap_or(entry);
        self.note(file, &entry, dropped);
        Ok(entry)
    }

    /// Writes another text in the place of a memory's if there is one, and gives it the
    /// marks that `marks` makes of those that it would have.
    pub(crate) fn edit(
        self,
        memory: &Memory,
        text: Option<&str>,
        marks: &dyn Fn(MemoryMarks) -> MemoryMarks,
    ) -> MemoryResult<Memory> {
        let wording = text.map(Wording::new).transpose()?;
        let file = self.file_of(memory);
        let change = |content: &str| edit_memory(content, memory, wording.as_ref(), marks, &file);
        self.locked(&file, |lock| {
            let content = self.read(&file, memory, lock)?;
            let (new, entry) = change(&content).ok_or_else(|| why_not(&content, memory, &file))?;
            if new == content {
                return Ok(memory_of(&file, &entry));
            }
            // A person may have written it down by hand; others don't get to see it.
            let shares = entry.marks.shared && !memory.marks.shared;
            if let Some(secret) = find_secret(&entry.text).filter(|_| shares) {
                return Err(MemoryError::Secret { what: secret.what });
            }
            // First, so that a kill leaves nobody to put the old text back.
            let dropped = self.drop_from_journal(&file, &memory.text, lock)?;
            let mut new = None;
            let is_changed = self.replace(&file, |content| {
                let (content, entry) = change(content)?;
                new = Some(entry);
                Some(content)
            })?;
            let entry = new.filter(|_| is_changed).ok_or_else(|| unknown(memory))?;
            self.note(&file, &entry, dropped);
            Ok(memory_of(&file, &entry))
        })
    }

    /// Moves a memory to the archive.
    pub(crate) fn forget(self, memory: &Memory) -> MemoryResult<ForgottenMemory> {
        let file = self.file_of(memory);
        let archive = self.layout.archive(&file.label);
        self.locked(&file, |lock| {
            let content = self.read(&file, memory, lock)?;
            if remove_memory(&content, memory, &file).is_none() {
                return Err(why_not(&content, memory, &file));
            }
            let blocks = forgotten_blocks(&content, memory, &file);
            // First there, then gone from here: in between it is in both places.
            self.append_to(&archive, &blocks)?;
            // Before it is cut, so that a kill leaves nobody to put it back.
            self.drop_from_journal(&file, &memory.text, lock)?;
            let mut stuck = None;
            self.replace(&file, |content| {
                let rest = remove_memory(content, memory, &file);
                stuck = rest.is_none().then(|| why_not(content, memory, &file));
                rest
            })?;
            // If it is gone, an editor took it out meanwhile, which is as good.
            if let Some(error @ MemoryError::Entangled { .. }) = stuck {
                return Err(error);
            }
            Ok(ForgottenMemory { memory: memory.clone(), archive: archive.clone() })
        })
    }

    /// Moves what was forgotten back from the archive.
    pub(crate) fn restore(self, memory: &Memory) -> MemoryResult<AddedMemory> {
        let file = self.file_of(memory);
        let archive = file.clone().in_archive(self.layout);
        self.locked(&file, |lock| {
            let content = self.read(&archive, memory, lock)?;
            let entry = find_entry(&content, &memory.text, &archive);
            let entry = entry.ok_or_else(|| unknown(memory))?;
            // The archive is a file like others: somebody may have written in it.
            if let Some(secret) = find_secret(&entry.text) {
                return Err(MemoryError::Secret { what: secret.what });
            }
            let day = entry.time.as_deref().and_then(day_at_start).or(entry.day);
            let note = JournalEntry {
                file: file.label.to_string(),
                day: day.unwrap_or_else(|| Zoned::now().date()).to_string(),
                block: block("- ", entry.marks, &entry.text, entry.time.as_deref()),
                at: 0,
            };
            let wording = Wording { text: entry.text, marks: entry.marks };
            // First there, then gone from here: in between it is in both places.
            let added = self.add_note(&file, &wording, note, lock)?;
            self.replace(&archive, |content| remove_memory(content, memory, &archive))?;
            Ok(added)
        })
    }

    /// Does something with the lock, after the file was mended.
    fn locked<T>(
        self,
        file: &MemoryFile,
        work: impl FnOnce(&mut MemoryLock) -> MemoryResult<T>,
    ) -> MemoryResult<T> {
        let mut lock = MemoryLock::acquire(self.layout)?;
        let journal = Journal::in_layout(self.layout);
        let length = journal.length();
        if length > LONG || !lock.is_untouched(&file.label, &stat_path(&file.path), length) {
            repair_files(self.layout, &mut lock, self.durable)?;
        }
        remove_leftovers(&file.path);
        let done = work(&mut lock);
        lock.release(journal.length());
        done
    }

    /// What is in a file, once nobody is in the middle of writing it.
    fn load(self, file: &MemoryFile, reach: LoadReach, lock: &MemoryLock) -> LoadedFile {
        load_when_quiet(&file.path, reach, |stamp| lock.has_stamp(&file.label, stamp))
    }

    /// The text of the file that a memory is in.
    fn read(self, file: &MemoryFile, memory: &Memory, lock: &MemoryLock) -> MemoryResult<String> {
        match self.load(file, LoadReach::Whole, lock).content {
            LoadedContent::Bytes { bytes, .. } => {
                String::from_utf8(bytes).map_err(|_| unknown(memory))
            }
            LoadedContent::Missing | LoadedContent::Unusable(_) => Err(unknown(memory)),
        }
    }

    fn file_of(self, memory: &Memory) -> MemoryFile {
        let label = memory.name.rsplit_once('#').map_or(&*memory.name, |(label, _)| label);
        self.layout.file(label.to_owned(), memory.scope.clone(), note_day(label))
    }

    /// Changes a file's text; one that is none stays as it is.
    fn replace(
        self,
        file: &MemoryFile,
        mut change: impl FnMut(&str) -> Option<String>,
    ) -> MemoryResult<bool> {
        let change = |bytes: &[u8]| change(text(bytes).ok()?).map(String::into_bytes);
        replace(&file.path, self.durable, change)
    }

    fn append_to(self, path: &Path, blocks: &str) -> MemoryResult<()> {
        make_folder(path.parent().unwrap_or(path))?;
        let day = Zoned::now().date().to_string();
        for _ in 0..TRIES {
            let loaded = load(path, LoadReach::End);
            let end = loaded.content.into_bytes().map_err(|what| unusable(path, what))?;
            let more = addition(&end, &day, blocks);
            if !matches!(append(path, &loaded.seen, &more, self.durable)?, AppendOutcome::NotYet) {
                return Ok(());
            }
        }
        Err(busy(path))
    }

    /// What is changed on purpose is not put back. Gives what was noted of it last.
    fn drop_from_journal(
        self,
        file: &MemoryFile,
        text: &str,
        lock: &mut MemoryLock,
    ) -> MemoryResult<Option<JournalEntry>> {
        lock.forget(&file.label);
        let journal = Journal::in_layout(self.layout);
        let is_it = |note: &JournalEntry| {
            *note.file == *file.label
                && entry_of(&note.block, None).is_ok_and(|entry| entry.text == text)
        };
        let (mut dropped, kept): (Vec<JournalEntry>, Vec<JournalEntry>) =
            journal.read().into_iter().partition(is_it);
        if !dropped.is_empty() {
            journal.rewrite(&kept)?;
        }
        Ok(dropped.pop())
    }

    /// Notes what became of an entry: an editor that has not seen it may be about to save
    /// what was there before. The change is made, whether it can be noted or not.
    fn note(self, file: &MemoryFile, entry: &MemoryEntry, before: Option<JournalEntry>) {
        let today = || Zoned::now().date();
        let day =
            before.map_or_else(|| entry.day.unwrap_or_else(today).to_string(), |note| note.day);
        let _ = Journal::in_layout(self.layout).add(&JournalEntry {
            file: file.label.to_string(),
            day,
            block: block("- ", entry.marks, &entry.text, entry.time.as_deref()),
            at: now(),
        });
    }
}

fn unusable(path: &Path, what: String) -> MemoryError {
    MemoryError::Unusable { path: path.to_owned(), what }
}

/// Why a memory cannot be changed in a file of this text.
fn why_not(content: &str, memory: &Memory, file: &MemoryFile) -> MemoryError {
    if !contains_memory(content, memory, file) {
        return unknown(memory);
    }
    MemoryError::Entangled { name: memory.name.clone(), path: file.path.to_path_buf() }
}

fn unknown(memory: &Memory) -> MemoryError {
    MemoryError::Unknown { name: memory.name.to_string(), nearest: None }
}
