//! The file of the database, which only its owner can read: what people wrote to their agent is in
//! it.

use std::fs;
use std::io;
use std::path::Path;

use recto_fs::private_options;

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
