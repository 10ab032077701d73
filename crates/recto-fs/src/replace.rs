//! A file written as a whole: whoever reads it sees the old content or the new one, never half of
//! it, also when the process ends in between.
//!
//! The new content is written beside the file, under a hidden name of its own, and then takes the
//! file's name. A process that is killed before leaves that hidden file; nobody reads it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::private::private_options;

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner.
    Owner,
    /// Whoever may read other files of this process.
    Usual,
}

/// A file that has no name of its own yet. Unless it gets one, it is removed.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// A file of this content in the folder of `path`, whose name it is to take.
    pub fn beside(path: &Path, content: &[u8], access: Access) -> io::Result<Self> {
        let mut options = match access {
            Access::Owner => private_options(),
            Access::Usual => File::options(),
        };
        options.write(true).create_new(true);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // Its name is not made of the file's own, which may be as long as a name can be.
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".recto-").suffix(".new");
        let file = builder.make_in(folder, |new| options.open(new))?;
        file.as_file().write_all(content)?;
        Ok(NewFile { file, path: path.to_owned() })
    }

    /// Takes the name, in place of what has it.
    pub fn take_name(self) -> io::Result<File> {
        Ok(self.file.persist(self.path)?)
    }

    /// Takes the name unless another file has it.
    pub fn take_free_name(self) -> io::Result<File> {
        match self.file.persist_noclobber(&self.path) {
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
            // Not every file system can tell.
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => {
                Err(io::ErrorKind::AlreadyExists.into())
            }
            Err(error) => Ok(error.file.persist(self.path)?),
            taken => Ok(taken?),
        }
    }

    /// Waits until the disk has it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_file().sync_all()
    }

    /// Gives it the owner and the permissions of another.
    fn take_over(&self, old: &fs::Metadata) -> io::Result<()> {
        let file = self.file.as_file();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Only root may give files away; for anyone else they are his own already.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(kept_permissions(old))
    }
}

/// The permissions that a file's new content gets: those of the old one, without running as its
/// owner or its group, which was meant for what the file was.
fn kept_permissions(old: &fs::Metadata) -> fs::Permissions {
    let permissions = old.permissions();
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(permissions.mode() & 0o1777)
    };
    permissions
}

/// Writes a file that can be made anew: it is whole, but a power cut may take it away. A link in
/// its place is replaced.
pub fn write_whole(path: &Path, content: &[u8], access: Access) -> io::Result<()> {
    NewFile::beside(path, content, access)?.take_name().map(drop)
}

/// Gives a person's file this content, or leaves it as it was.
///
/// Its owner and its permissions stay; a new file is for its owner alone. A link stays a link: the
/// file that it leads to is replaced. Nothing is merged; who calls holds a [`FolderClaim`](crate::FolderClaim) while
/// it reads, changes and writes.
pub fn replace(path: &Path, content: &str) -> io::Result<()> {
    let path = target(path)?;
    let old = match fs::metadata(&path) {
        Ok(found) if found.permissions().readonly() => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let new = NewFile::beside(&path, content.as_bytes(), Access::Owner)?;
    old.map_or(Ok(()), |old| new.take_over(&old))?;
    new.sync()?;
    new.take_name().map(drop)
}

/// Makes the names in a folder outlive a power cut, where the system can.
pub fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// The file itself, whatever links lead to it.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        found => found,
    }
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
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["link", "real"]);
    }

    #[test]
    fn new_content_does_not_run_as_the_owner_of_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
        replace(&file, "new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o755);
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
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(replace(&file, "new").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert!(replace(&folder.path().join("no/such/folder"), "new").is_err());
        assert_eq!(names(folder.path()), ["config.toml"]);
    }

    #[test]
    fn a_name_that_is_taken_stays_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let new = |content| NewFile::beside(&file, content, Access::Owner).unwrap();
        new(b"one").take_free_name().unwrap();
        let taken = new(b"two").take_free_name().unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        drop(new(b"three"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn others_may_read_what_is_not_private() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let found = fs::metadata(folder.path().join(name)).unwrap();
            found.permissions().mode() & 0o777
        };
        fs::write(folder.path().join("plain"), "").unwrap();
        write_whole(&folder.path().join("usual"), b"x", Access::Usual).unwrap();
        write_whole(&folder.path().join("private"), b"x", Access::Owner).unwrap();
        assert_eq!((mode("usual"), mode("private")), (mode("plain"), 0o600));
    }
}
