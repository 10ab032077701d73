//! The right to change the files of a folder, for one process at a time: whoever reads a file,
//! changes it and writes it holds it meanwhile.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::lock::{LockHolder, lock_within};
use crate::replace::target;

/// The right to change the files of a folder, for one process at a time.
#[derive(Debug)]
pub struct FolderClaim {
    /// Locked as long as it is open. `None` where folders can't be locked.
    _folder: Option<File>,
}

/// A folder that another process has locked for longer than any change takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderLocked {
    /// The folder.
    pub folder: PathBuf,
    /// How long it was waited for.
    pub waited: Duration,
    /// Who has it, where the system says so.
    pub holder: Option<LockHolder>,
}

/// How long a folder is waited for. Whoever changes a file has done it long before.
const CLAIM_LIMIT: Duration = Duration::from_secs(10);

/// How often a folder that another has claimed is asked for.
const CLAIM_PAUSE: Duration = Duration::from_millis(5);

impl FolderClaim {
    /// Waits until nobody else changes files of the folder that this one is in. Fails where
    /// another process has it for longer than any change takes.
    pub fn take(path: &Path) -> Result<Self, FolderLocked> {
        Self::take_within(path, CLAIM_LIMIT)
    }

    fn take_within(path: &Path, limit: Duration) -> Result<Self, FolderLocked> {
        let target = target(path).unwrap_or_else(|_| path.to_path_buf());
        let Some((folder, opened)) =
            target.parent().and_then(|folder| Some((folder, File::open(folder).ok()?)))
        else {
            return Ok(FolderClaim { _folder: None });
        };
        match lock_within(&opened, limit, CLAIM_PAUSE) {
            Ok(true) => Ok(FolderClaim { _folder: Some(opened) }),
            Ok(false) => {
                let (folder, holder) = (folder.to_path_buf(), LockHolder::find(&opened));
                Err(FolderLocked { folder, waited: limit, holder })
            }
            Err(_) => Ok(FolderClaim { _folder: None }),
        }
    }
}

impl fmt::Display for FolderLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FolderLocked { folder, waited, holder } = self;
        match holder {
            Some(holder) => write!(f, "{holder}")?,
            None => write!(f, "another process")?,
        }
        write!(f, " has locked the folder {} for over {} s", folder.display(), waited.as_secs())
    }
}

impl Error for FolderLocked {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let claim = FolderClaim::take(&file).unwrap();
        let refused = FolderClaim::take_within(&file, Duration::from_millis(20)).unwrap_err();
        assert_eq!(refused.folder, folder.path());
        let told = refused.to_string();
        assert!(told.ends_with(&format!("{} for over 0 s", folder.path().display())), "{told}");
        drop(claim);
        assert!(FolderClaim::take_within(&file, Duration::ZERO).is_ok());
    }
}
