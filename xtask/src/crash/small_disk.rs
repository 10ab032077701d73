//! A disk that can be filled up: a file system in memory of a set size, which only root can make.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// What stands in the way while it is full.
const BALLAST: &str = "ballast";

/// A small disk, which ends with it.
pub(super) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Makes one of so many megabytes at a folder that is there.
    pub(super) fn mount(folder: &Path, megabytes: u32) -> Result<Self> {
        let size = format!("size={megabytes}m");
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder)
            .output()?;
        match made.status.success() {
            true => Ok(SmallDisk { folder: folder.to_owned() }),
            false => {
                let why = String::from_utf8_lossy(&made.stderr);
                Err(format!("a small disk can't be made (only root can): {}", why.trim()).into())
            }
        }
    }

    /// Leaves no byte free.
    pub(super) fn fill(&self) -> Result<()> {
        let mut ballast = File::create(self.folder.join(BALLAST))?;
        for size in [1 << 20, 4_096, 1] {
            let piece = vec![0; size];
            loop {
                match ballast.write_all(&piece) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Makes room again.
    pub(super) fn clear(&self) -> Result<()> {
        Ok(fs::remove_file(self.folder.join(BALLAST))?)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Whoever still has a file there keeps it until it ends.
        let _ = Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
