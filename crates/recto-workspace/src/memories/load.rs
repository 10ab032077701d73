//! The bytes of a file of memories. It is looked at before it is opened, because a
//! pipe would block; of one that is too large, the end is read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::open::without_waiting;
use crate::stamp::{self, FileStamp, IoFailure, PathState, stat_path};

/// How much of a file is read.
pub(crate) const LIMIT: u64 = 4 << 20;

/// An editor that writes in place empties the file first: one that was touched this
/// shortly before may be half written.
pub(crate) const QUIET: Duration = Duration::from_millis(20);

/// The same for a file that is empty, which few are on purpose.
const EMPTY: Duration = Duration::from_millis(250);

/// How long a file is waited for to be quiet.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether all of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadReach {
    /// Its last [`LIMIT`] bytes, from the beginning of a line on.
    End,
    /// All of it, to write it again.
    Whole,
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    /// How it looked before it was read.
    pub seen: PathState,
    pub content: LoadedContent,
}

#[derive(Debug)]
pub(crate) enum LoadedContent {
    Missing,
    /// It cannot be read, for this reason.
    Unusable(String),
    Bytes {
        bytes: Vec<u8>,
        /// How many bytes before them were left out.
        skipped: u64,
    },
}

/// Reads what is at `path`.
pub(crate) fn load(path: &Path, reach: LoadReach) -> LoadedFile {
    let seen = stat_path(path);
    let content = match seen.stamp() {
        Ok(None) => LoadedContent::Missing,
        Err(what) => LoadedContent::Unusable(what),
        Ok(Some(stamp)) => match stamp.kind.why_no_file() {
            Some(what) => LoadedContent::Unusable(what.to_owned()),
            None => match read(path, reach) {
                Ok((stamp, content)) => {
                    return LoadedFile { seen: PathState::Present(stamp), content };
                }
                Err(error) if stamp::is_missing(&error) => LoadedContent::Missing,
                Err(error) => LoadedContent::Unusable(format!(
                    "cannot be read: {}",
                    IoFailure::from_error(&error)
                )),
            },
        },
    };
    LoadedFile { seen, content }
}

impl LoadedContent {
    /// The bytes to write behind: none where there is no file yet, and what is wrong
    /// with one that can't be used.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, String> {
        match self {
            LoadedContent::Bytes { bytes, .. } => Ok(bytes),
            LoadedContent::Missing => Ok(Vec::new()),
            LoadedContent::Unusable(what) => Err(what),
        }
    }
}

/// Reads what is at `path`, once nobody is in the middle of writing it. What `is_known`
/// was written by ourselves, and needs no waiting.
pub(crate) fn load_when_quiet(
    path: &Path,
    reach: LoadReach,
    is_known: impl Fn(&FileStamp) -> bool,
) -> LoadedFile {
    let end = Instant::now() + PATIENCE;
    loop {
        // Judged by what was read, and not by a look before: in between is time enough.
        let loaded = load(path, reach);
        let PathState::Present(stamp) = &loaded.seen else { return loaded };
        let quiet = if stamp.size == 0 { EMPTY } else { QUIET };
        let age = stamp.modified().and_then(|at| SystemTime::now().duration_since(at).ok());
        match age.filter(|age| *age < quiet) {
            Some(age) if !is_known(stamp) && Instant::now() < end => sleep(quiet - age),
            _ => return loaded,
        }
    }
}

/// The text of a file; what is not one, and why.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = str::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8: byte {} does not fit", error.valid_up_to()))?;
    match text.find('\0') {
        Some(at) => Err(format!("is not a text: byte {at} is zero")),
        None => Ok(text),
    }
}

fn read(path: &Path, reach: LoadReach) -> io::Result<(FileStamp, LoadedContent)> {
    let mut file = without_waiting(File::options().read(true)).open(path)?;
    let stamp = FileStamp::from_metadata(&file.metadata()?);
    // It may be another than the one that was looked at.
    if let Some(what) = stamp.kind.why_no_file() {
        return Ok((stamp, LoadedContent::Unusable(what.to_owned())));
    }
    let mut bytes = Vec::new();
    if reach == LoadReach::Whole || stamp.size <= LIMIT {
        file.read_to_end(&mut bytes)?;
        return Ok((stamp, LoadedContent::Bytes { bytes, skipped: 0 }));
    }
    file.seek(SeekFrom::Start(stamp.size - LIMIT))?;
    file.take(LIMIT).read_to_end(&mut bytes)?;
    let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
        let what = format!("has a line of more than {} MB", LIMIT >> 20);
        return Ok((stamp, LoadedContent::Unusable(what)));
    };
    bytes.drain(..=end);
    let skipped = stamp.size.saturating_sub(bytes.len() as u64);
    Ok((stamp, LoadedContent::Bytes { bytes, skipped }))
}
