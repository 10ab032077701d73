//! Opens files, and nothing else than files: a pipe would wait for somebody at its other
//! end, and a device may act. So a path is looked at first, is opened without waiting, and
//! what came of it is looked at again, because it may be another by then.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use super::error::{MemoryError, MemoryResult, failed};
use crate::stamp::{FileStamp, PathKind, PathState, stat_path};

/// Opens a file; `what` is what it is wanted for: `write`.
pub(crate) fn open(path: &Path, options: &OpenOptions, what: &'static str) -> MemoryResult<File> {
    let check = |kind: PathKind| match kind.why_no_file() {
        Some(what) => Err(MemoryError::Unusable { path: path.to_owned(), what: what.to_owned() }),
        None => Ok(()),
    };
    if let PathState::Present(stamp) = stat_path(path) {
        check(stamp.kind)?;
    }
    let file = without_waiting(options).open(path).map_err(failed(what, path))?;
    let found = file.metadata().map_err(failed(what, path))?;
    check(FileStamp::from_metadata(&found).kind)?;
    Ok(file)
}

/// Opens a file that is Recto's own. It is never a link: what that leads to is somebody
/// else's, and would be written over.
pub(crate) fn open_own(
    path: &Path,
    options: &OpenOptions,
    what: &'static str,
) -> MemoryResult<File> {
    if is_link(path) {
        let what = LINK.to_owned();
        return Err(MemoryError::Unusable { path: path.to_owned(), what });
    }
    open(path, options, what)
}

/// What is wrong with a link in the place of Recto's own files.
pub(crate) const LINK: &str = "is a link where a file of Recto's own is expected";

/// Whether there is a link here.
pub(crate) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// The same way to open a file, but without waiting for who is at the other end of a pipe.
pub(crate) fn without_waiting(options: &OpenOptions) -> OpenOptions {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flag = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flag);
    }
    options
}
