//! A file of this machine, read and copied.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::ProgressSender;
use super::part::PartFile;
use crate::checksum::{BLOCK, Checksum, FileDigest};
use crate::entry::{LibraryEntry, io_error};
use crate::error::ModelsError;
use crate::progress::PullProgress;

/// The size of a file that can be copied. Anything else, such as a pipe, may
/// never end.
pub(super) fn size_of(path: &Path) -> Result<u64, ModelsError> {
    let bad = |problem: String| ModelsError::BadFile { path: path.to_owned(), problem };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(found) if found.is_dir() => {
            Err(bad("it is a folder, and none of an encoder: name the file in it".to_owned()))
        }
        Ok(_) => Err(bad("it is no file".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(bad("there is no such file".to_owned()))
        }
        Err(error) => Err(io_error("read", path.to_owned())(error)),
    }
}

/// The size and checksum of a file, read to its end.
pub(super) fn sum_of(path: &Path) -> Result<FileDigest, ModelsError> {
    Checksum::of_file(path).map_err(io_error("read", path.to_owned()))
}

/// The size and checksum of a file in the library, without reading it where that is noted.
pub(super) fn sum_at(entry: &LibraryEntry) -> Result<FileDigest, ModelsError> {
    let found = fs::metadata(entry.path()).map_err(io_error("read", entry.path()))?;
    Ok(FileDigest { size: found.len(), sha256: entry.checksum()? })
}

/// Copies a file to the part at a place.
pub(super) fn copy(
    from: &Path,
    entry: &LibraryEntry,
    progress: &ProgressSender,
) -> Result<FileDigest, ModelsError> {
    let unreadable = || io_error("read", from.to_owned());
    let mut file = File::open(from).map_err(unreadable())?;
    let total = file.metadata().map_err(unreadable())?.len();
    copy_all(&mut file, entry, Some(total), progress, unreadable())
}

/// Writes all that a reader gives to the part at a place. When it fails, nothing
/// is left there.
pub(super) fn copy_all<E: From<ModelsError>>(
    reader: &mut impl Read,
    entry: &LibraryEntry,
    total: Option<u64>,
    progress: &ProgressSender,
    unreadable: impl FnOnce(io::Error) -> E,
) -> Result<FileDigest, E> {
    let mut part = PartFile::open(entry, 0)?;
    part.expect(total);
    let mut block = vec![0; BLOCK];
    let broken = loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(part.finish()?),
            Ok(count) => part.write(&block[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break error,
        }
        let file = entry.file().to_owned();
        if progress.send(PullProgress::Bytes { file, done: part.size(), total }).is_err() {
            break io::Error::from(io::ErrorKind::Interrupted);
        }
    };
    entry.discard_part();
    entry.discard_empty_folder();
    Err(unreadable(broken))
}
