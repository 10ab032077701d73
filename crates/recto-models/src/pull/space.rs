//! Room on disk: asked for beforehand where the size is known, and told when
//! there is none.

use std::io;
use std::path::Path;

use crate::entry::LibraryEntry;
use crate::error::ModelsError;

/// Fails when the disk of `folder` has no room for so many bytes. A system that
/// does not say is not asked again: the writing will tell.
pub(super) fn check(folder: &Path, needed: u64) -> Result<(), ModelsError> {
    match free(folder) {
        Some(free) if free < needed => Err(ModelsError::NoSpace {
            folder: folder.to_owned(),
            needed: Some(needed),
            free: Some(free),
        }),
        _ => Ok(()),
    }
}

/// The bytes that are free for us on the disk of a folder.
#[cfg(unix)]
pub(super) fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
pub(super) fn free(_folder: &Path) -> Option<u64> {
    None
}

/// A write to the part at a place that failed: for want of room, or for another
/// reason.
pub(super) fn write_failed(
    entry: &LibraryEntry,
    needed: Option<u64>,
    error: io::Error,
) -> ModelsError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ModelsError::NoSpace {
            folder: entry.library().to_owned(),
            needed,
            free: free(entry.library()),
        },
        _ => ModelsError::Io { doing: "write", path: entry.part(), source: error },
    }
}
