//! How a path looks from outside: there or not, of which kind, and with which
//! size and times. Two equal stamps mean the same content, with one exception
//! that [`PathState::is_racy`] knows. Nothing is opened here.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A write this close before a read may share its time stamp with a later one:
/// file systems count time in steps of up to two seconds.
const RACY: Duration = Duration::from_secs(2);

/// What a look at a path found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathState {
    /// There is nothing at the path.
    Missing,
    /// A symbolic link that leads nowhere.
    DeadLink,
    /// Something that cannot be looked at, such as a loop of links.
    Unreachable(IoFailure),
    /// A file, folder or device.
    Present(FileStamp),
}

/// The size, times and identity of what a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub kind: PathKind,
    pub size: u64,
    modified: Option<SystemTime>,
    unix: Unix,
}

/// What a path leads to, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Folder,
    /// A pipe, socket or device: opening one may block or act.
    Special,
}

/// What only Unix tells: the inode and the time of its last change, which,
/// unlike the time of modification, nobody can set back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Unix {
    device: u64,
    inode: u64,
    changed: Option<(i64, i64)>,
}

impl PathKind {
    /// What is wrong with what should be a file.
    pub(crate) fn why_no_file(self) -> Option<&'static str> {
        match self {
            PathKind::File => None,
            PathKind::Folder => Some("is a folder where a file is expected"),
            PathKind::Special => Some("is a pipe, socket or device where a file is expected"),
        }
    }
}

/// An I/O error that can be compared and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IoFailure {
    kind: io::ErrorKind,
    code: Option<i32>,
}

/// Looks at `path`, following links.
pub(crate) fn stat_path(path: &Path) -> PathState {
    match fs::metadata(path) {
        Ok(metadata) => PathState::Present(FileStamp::from_metadata(&metadata)),
        Err(error) if is_missing(&error) => match fs::symlink_metadata(path) {
            Ok(_) => PathState::DeadLink,
            Err(_) => PathState::Missing,
        },
        Err(error) => PathState::Unreachable(IoFailure::from_error(&error)),
    }
}

/// True when the error says that there is no such file or folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl PathState {
    /// What is there, if anything is; why it can't be used, if that is so.
    pub(crate) fn stamp(&self) -> Result<Option<&FileStamp>, String> {
        match self {
            PathState::Missing => Ok(None),
            PathState::DeadLink => Err("is a link to nothing".to_owned()),
            PathState::Unreachable(failure) => Err(format!("cannot be read: {failure}")),
            PathState::Present(stamp) => Ok(Some(stamp)),
        }
    }

    /// How large it is, if it is there.
    pub(crate) fn size(&self) -> Option<u64> {
        self.stamp().ok()?.map(|stamp| stamp.size)
    }

    /// True when the content may have changed again, after it was read at
    /// `read_at`, without leaving a trace in the stamp.
    pub(crate) fn is_racy(&self, read_at: SystemTime) -> bool {
        let PathState::Present(stamp) = self else { return false };
        let end = stamp.last_change().and_then(|at| at.checked_add(RACY));
        end.is_none_or(|end| end > read_at)
    }
}

impl FileStamp {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_file() => PathKind::File,
            kind if kind.is_dir() => PathKind::Folder,
            _ => PathKind::Special,
        };
        let modified = metadata.modified().ok();
        FileStamp { kind, size: metadata.len(), modified, unix: Unix::from_metadata(metadata) }
    }

    /// When the content was last written, as far as known.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// The stamp as a text that can be kept and compared.
    pub(crate) fn mark(&self) -> String {
        let Unix { device, inode, .. } = self.unix;
        let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let changed = self.last_change().map_or(0, |at| since(at).as_nanos());
        format!("{device}:{inode}:{}:{changed}", self.size)
    }

    /// The time of the last change that nobody can forge, or the next best.
    fn last_change(&self) -> Option<SystemTime> {
        match self.unix.changed {
            Some((seconds, nanos)) => {
                let since = Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?);
                SystemTime::UNIX_EPOCH.checked_add(since)
            }
            None => self.modified,
        }
    }
}

impl Unix {
    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let changed = Some((metadata.ctime(), metadata.ctime_nsec()));
        Unix { device: metadata.dev(), inode: metadata.ino(), changed }
    }

    #[cfg(not(unix))]
    fn from_metadata(_: &Metadata) -> Self {
        Unix::default()
    }
}

impl IoFailure {
    pub(crate) fn from_error(error: &io::Error) -> Self {
        IoFailure { kind: error.kind(), code: error.raw_os_error() }
    }
}

impl std::fmt::Display for IoFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => io::Error::from_raw_os_error(code).fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_is_racy_until_two_seconds_have_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "a").unwrap();
        let seen = stat_path(&path);
        let now = SystemTime::now();
        assert!(seen.is_racy(now));
        assert!(!seen.is_racy(now + Duration::from_secs(3)));
    }

    #[test]
    fn what_is_not_there_is_missing_also_below_a_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        assert_eq!(stat_path(&folder.path().join("b")), PathState::Missing);
        assert_eq!(stat_path(&folder.path().join("a/SKILL.md")), PathState::Missing);
    }
}
