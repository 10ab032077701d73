//! `memory/.journal`: what was added in the last seconds, in case that an editor
//! writes over it. One line of JSON for each; a line that cannot be read is none.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use recto_fs::private_options;
use serde::{Deserialize, Serialize};

use super::error::{MemoryError, MemoryResult, failed};
use super::layout::MemoryLayout;
use super::lock::length;
use super::open::open_own;

/// How long after an addition a file may have been written by somebody who had not
/// seen it. What goes missing later than that was taken out on purpose.
pub(crate) const WINDOW: Duration = Duration::from_secs(5);

/// From this length on the journal is looked through at every addition, so that what
/// is too old leaves it.
pub(crate) const LONG: u64 = 1 << 20;

/// The journal of a workspace. Only who holds the lock writes into it.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// Something that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    /// The file, by its label.
    pub file: String,
    /// The heading that it stands under.
    pub day: String,
    /// Its lines, as written.
    pub block: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

impl JournalEntry {
    /// Whether nobody can have overlooked it who wrote at `moment`.
    pub(crate) fn is_old(&self, moment: i64) -> bool {
        let window = i64::try_from(WINDOW.as_millis()).unwrap_or(i64::MAX);
        moment > self.at.saturating_add(window)
    }
}

impl Journal {
    pub(crate) fn in_layout(layout: &MemoryLayout) -> Self {
        Journal { path: layout.memory().join(".journal") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long it is.
    pub(crate) fn length(&self) -> u64 {
        length(&self.path)
    }

    /// What is in it.
    pub(crate) fn read(&self) -> Vec<JournalEntry> {
        let mut bytes = Vec::new();
        // What cannot be read cannot be put back either.
        if let Ok(mut file) = open_own(&self.path, File::options().read(true), "read") {
            let _ = file.read_to_end(&mut bytes);
        }
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Writes down what is about to be added, and gives the length from before.
    pub(crate) fn add(&self, note: &JournalEntry) -> MemoryResult<u64> {
        let before = self.length();
        // Behind a line that was torn by a kill, it begins one of its own.
        let mut line = if before > 0 { b"\n".to_vec() } else { Vec::new() };
        serde_json::to_writer(&mut line, note).map_err(io::Error::from).map_err(self.failed())?;
        let mut file = open_own(&self.path, private_options().append(true).create(true), "write")?;
        file.write_all(&line).map_err(self.failed())?;
        Ok(before)
    }

    /// Takes back what was added last, because it did not come to pass.
    pub(crate) fn take_back(&self, before: u64) {
        if let Ok(file) = open_own(&self.path, File::options().write(true), "write") {
            let _ = file.set_len(before);
        }
    }

    /// Writes it anew. A kill leaves the old or the new one.
    pub(crate) fn rewrite(&self, notes: &[JournalEntry]) -> MemoryResult<()> {
        let lines: Result<Vec<String>, _> = notes.iter().map(serde_json::to_string).collect();
        let text = lines.map_err(io::Error::from).map_err(self.failed())?.join("\n");
        let new = self.path.with_file_name(".journal.new");
        // Always the same name, unlike `recto_fs::write_whole`: only one writes under the lock,
        // and what a kill left is written over.
        let mut options = private_options();
        let mut file = open_own(&new, options.write(true).create(true).truncate(true), "write")?;
        file.write_all(text.as_bytes())
            .and_then(|()| fs::rename(&new, &self.path))
            .map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> MemoryError {
        failed("write", &self.path)
    }
}

/// Now, as the journal counts time.
pub(crate) fn now() -> i64 {
    millis(SystemTime::now())
}

/// A moment in milliseconds since 1970.
pub(crate) fn millis(moment: SystemTime) -> i64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
