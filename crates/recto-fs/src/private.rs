//! Files and folders that only their owner can read, from the moment they are made.

use std::fs::{DirBuilder, OpenOptions};
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
    fn nobody_else_enters_a_temporary_folder() {
        let above = tempfile::tempdir().unwrap();
        let folder = create_temporary_folder(above.path(), "recto-").unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
