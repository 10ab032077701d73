//! Files and folders that only their owner can read, from the moment they are made.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

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
