//! Files and folders that only their owner can read, from the moment they are made.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// Options that open a file; one that they make is readable by its owner only.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file to be written behind what it has; one that it makes is its owner's only. A link in
/// place of the file is refused: whoever can write there could have let it lead to a file of somebody
/// else's. Those of the system that lead to a terminal or a pipe of the process (`/dev/stderr`) are
/// followed.
pub fn append_private(path: &Path) -> io::Result<File> {
    let mut options = private_options();
    options.append(true).create(true);
    #[cfg(unix)]
    if !["/dev", "/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|folder| path.parent() == Some(folder.as_ref()))
    {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options.open(path)
}

/// Makes a folder, and those above it, for the owner alone. One that is there already is left as
/// it is: it may not be ours.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a folder below another one that only its owner can enter, whatever the umask, and that
/// removes itself. Its name begins with `prefix`.
pub fn create_temporary_folder(above: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(above)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_appended_to_is_no_link_but_for_those_of_the_system() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        append_private(&file).unwrap().write_all(b"one").unwrap();
        append_private(&file).unwrap().write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"onetwo");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(append_private(&link).is_err());
        append_private(Path::new("/dev/null")).unwrap();
        // A link to a pipe of this process, as `/dev/stderr` is one.
        let (_reader, writer) = io::pipe().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&writer);
        append_private(Path::new(&format!("/dev/fd/{number}"))).unwrap();
    }

    #[test]
    fn nobody_else_enters_a_temporary_folder() {
        let above = tempfile::tempdir().unwrap();
        let folder = create_temporary_folder(above.path(), "recto-").unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
