//! A file replaced as a whole: whoever reads it sees the old text or the new
//! one, never half of it, also when the process ends in between.
//!
//! Permissions stay as they were. A link stays a link: the file that it leads to
//! is replaced. Nothing is merged; who calls holds a [`Claim`] while it reads,
//! changes and writes.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The right to change a file, for one process at a time.
pub(crate) struct Claim {
    /// Held for as long as this lives. `None` where folders can't be locked.
    _folder: Option<File>,
}

impl Claim {
    /// Waits until nobody else changes files of the folder that this one is in.
    pub(crate) fn take(path: &Path) -> Self {
        let target = target(path).unwrap_or_else(|_| path.to_path_buf());
        let folder = target.parent().and_then(|folder| File::open(folder).ok());
        Claim { _folder: folder.filter(|folder| folder.lock().is_ok()) }
    }
}

/// Gives the file this content, or leaves it as it was.
pub(crate) fn replace(path: &Path, content: &str) -> io::Result<()> {
    let path = target(path)?;
    let old = match fs::metadata(&path) {
        Ok(found) if found.permissions().readonly() => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (new, mut file) = beside(&path)?;
    let written = file
        .write_all(content.as_bytes())
        .and_then(|()| old.as_ref().map_or(Ok(()), |old| take_over(&file, old)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// The file itself, whatever links lead to it.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        found => found,
    }
}

/// A new file in the same folder, which only its owner can read.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut number = 0;
    loop {
        let new = path.with_file_name(format!(".{name}.{}-{number}.new", std::process::id()));
        match options.open(&new) {
            // One that a process of the same number left behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                number += 1;
            }
            opened => return opened.map(|file| (new, file)),
        }
    }
}

/// Gives a new file the owner and the permissions of the old one.
fn take_over(file: &File, old: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only root may give files away; for anyone else they are his own already.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    let permissions: Permissions = old.permissions();
    file.set_permissions(permissions)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn permissions_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        let claim = Claim::take(&link);
        replace(&link, "new").unwrap();
        drop(claim);
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["link", "real"]);
    }

    #[test]
    fn a_new_file_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        replace(&file, "new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_replaced_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        assert_eq!(replace(&file, "new").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert!(replace(&folder.path().join("no/such/folder"), "new").is_err());
        assert_eq!(names(folder.path()), ["config.toml"]);
    }
}
