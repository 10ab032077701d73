//! The file of the database, which only its owner can read: what people wrote to their agent is in
//! it. And what can be done with the file as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use recto_fs::private_options;
#[cfg(unix)]
use rustix::fs::{Access, access};
#[cfg(unix)]
use rustix::io::Errno;

use crate::sql::ConnectionMode;
use crate::sqlite::schema;

/// How often, and after what pauses, the files are wiped while others are at work.
const WIPE_TRIES: usize = 20;
const WIPE_PAUSE: Duration = Duration::from_millis(100);

/// Sees to it that the database is there, if only as an empty file, and that
/// nobody else can read it. SQLite gives its companions the same rights.
///
/// A database that is there already is never opened: closing it again would
/// free the locks that SQLite holds on it elsewhere in this process.
pub(crate) fn private_database(path: &Path) -> io::Result<()> {
    match private_options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(path),
        made => made.map(drop),
    }
}

/// How the file of a database can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseAccess {
    /// It can be written.
    Writable,
    /// It can only be read, and what is newer than it stands in its log.
    ReadableWithLog,
    /// It can only be read, and all of it is in the file. Nothing beside it is looked at, because
    /// it could not be made.
    ReadableAlone,
}

impl DatabaseAccess {
    /// How a database can be read that can't be written.
    pub(crate) fn to_read(path: &Path) -> Self {
        match fs::metadata(log_of(path)) {
            Ok(log) if log.len() > 0 => DatabaseAccess::ReadableWithLog,
            _ => DatabaseAccess::ReadableAlone,
        }
    }
}

/// Whether the system lets this process write a database and its folder.
#[cfg(unix)]
pub(crate) fn is_writable(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let refuses = |path: &Path| {
        matches!(access(path, Access::WRITE_OK), Err(Errno::ROFS | Errno::ACCESS | Errno::PERM))
    };
    !refuses(path) && !refuses(folder.unwrap_or(Path::new(".")))
}

#[cfg(not(unix))]
pub(crate) fn is_writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| !file.permissions().readonly())
}

/// The file in which SQLite keeps what it has not yet worked into the database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Takes the rights away that a file from elsewhere, such as a copy, may give.
#[cfg(unix)]
fn close_to_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path)?;
    let mode = metadata.permissions().mode();
    if !metadata.is_file() || mode & 0o077 == 0 {
        return Ok(());
    }
    match fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)) {
        // Somebody else's file: SQLite will say whether it can be used.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

#[cfg(not(unix))]
fn close_to_others(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(drop)
}

/// Writes the database anew without the bytes of what was deleted, and empties its log.
pub(crate) fn wipe(path: &Path) -> bool {
    let Ok(db) = schema::connect(path, ConnectionMode::Writing, Duration::from_secs(5)) else {
        return false;
    };
    if db.execute_batch("VACUUM").is_err() {
        return false;
    }
    (0..WIPE_TRIES).any(|_| {
        let busy = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        let is_done = matches!(busy, Ok(0));
        if !is_done {
            sleep(WIPE_PAUSE);
        }
        is_done
    })
}

/// The bytes that are free for us on the disk of a file.
#[cfg(unix)]
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_path: &Path) -> Option<u64> {
    None
}
