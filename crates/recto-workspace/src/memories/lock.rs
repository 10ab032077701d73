//! One writer at a time, over all processes of this machine.
//!
//! The lock is on `memory/.lock`; the kernel frees it however its process ends. The
//! file also says how the last writer left the others: a file that looks as it was
//! left was touched by nobody since, so nothing in it needs to be checked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use recto_fs::{create_private_folder, lock_within, private_options, try_lock};
use serde::{Deserialize, Serialize};

use super::error::{MemoryError, MemoryResult, failed};
use super::layout::MemoryLayout;
use super::open::open_own;
use crate::stamp::{FileStamp, PathState};

/// How long somebody waits for the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a lock that another has is asked for.
const PAUSE: Duration = Duration::from_millis(1);

/// Of how many files it is known how they were left.
const FILES: usize = 64;

/// The lock, held.
#[derive(Debug)]
pub(crate) struct MemoryLock {
    file: File,
    record: LockRecord,
}

/// How the last writer left the files.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LockRecord {
    /// The length of the journal.
    journal: u64,
    /// The stamps of files that were written, by their labels.
    files: BTreeMap<String, String>,
}

impl MemoryLock {
    /// Waits for the lock, and makes the folder for it if need be.
    pub(crate) fn acquire(layout: &MemoryLayout) -> MemoryResult<Self> {
        if !layout.workspace().is_dir() {
            return Err(MemoryError::NoWorkspace { path: layout.workspace().to_owned() });
        }
        make_folder(layout.memory())?;
        let path = path(layout);
        let file = open_lock(&path)?;
        // Where there are no locks two writers may meet, and the journal has to do.
        match lock_within(&file, PATIENCE, PAUSE).map_err(failed("lock", &path))? {
            true => Ok(MemoryLock::held(file)),
            false => Err(MemoryError::Locked { path }),
        }
    }

    /// The lock, unless another has it or there is none.
    pub(crate) fn try_acquire(layout: &MemoryLayout) -> Option<Self> {
        let file = open_lock(&path(layout)).ok()?;
        try_lock(&file).ok()?.then(|| MemoryLock::held(file))
    }

    fn held(mut file: File) -> Self {
        let mut text = String::new();
        // What cannot be read says nothing of any file, so all are checked.
        let _ = file.read_to_string(&mut text);
        MemoryLock { file, record: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// Whether nobody wrote into a file since it was left, and nobody was killed
    /// before he could.
    pub(crate) fn is_untouched(&self, label: &str, seen: &PathState, journal: u64) -> bool {
        let PathState::Present(stamp) = seen else { return false };
        self.record.journal == journal && self.has_stamp(label, stamp)
    }

    /// Whether a file looks as it was left.
    pub(crate) fn has_stamp(&self, label: &str, stamp: &FileStamp) -> bool {
        self.record.files.get(label) == Some(&stamp.mark())
    }

    /// Notes how a file is left.
    pub(crate) fn note_stamp(&mut self, label: &str, stamp: &FileStamp) {
        self.record.files.insert(label.to_owned(), stamp.mark());
    }

    /// Notes that a file may have been touched by another.
    pub(crate) fn forget(&mut self, label: &str) {
        self.record.files.remove(label);
    }

    /// Writes down how the files are left, and lets go.
    pub(crate) fn release(mut self, journal: u64) {
        self.record.journal = journal;
        if self.record.files.len() > FILES {
            self.record.files.clear();
        }
        // When this fails, the next one checks more than it has to.
        let _ = self.write();
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record)?;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)
    }
}

/// Makes a folder that only its owner can look into.
pub(crate) fn make_folder(path: &Path) -> MemoryResult<()> {
    create_private_folder(path).map_err(failed("make the folder", path))
}

/// Where the lock is.
pub(crate) fn path(layout: &MemoryLayout) -> PathBuf {
    layout.memory().join(".lock")
}

fn open_lock(path: &Path) -> MemoryResult<File> {
    open_own(path, private_options().read(true).write(true).create(true).truncate(false), "lock")
}

/// The length of a file; 0 for none, and for what is no file.
pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map_or(0, |found| found.len())
}
