//! Files and folders that only their owner can read, from the moment they are
//! made. What people wrote to their agent is in them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder, and those above it, for the owner alone. One that is there
/// already is left as it is: it may not be ours.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing, making it if need be, for the owner alone.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    private_options().create(true).open(path)
}

/// Sees to it that the database is there, if only as an empty file, and that
/// nobody else can read it. SQLite gives its companions the same rights.
///
/// A database that is there already is never opened: closing it again would
/// free the locks that SQLite holds on it elsewhere in this process.
pub(crate) fn private_database(path: &Path) -> io::Result<()> {
    match private_options().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(path),
        made => made.map(drop),
    }
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
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
