//! Clears away what a call leaves on the disk: when the call has ended, and also when
//! nobody waited for its end.

use std::fs;
use std::path::{Path, PathBuf};

use recto_fs::create_temporary_folder;
use tempfile::TempDir;
use tokio::runtime::Handle;

use crate::files::{CreatedFile, create_empty};

/// Where else temporary files are kept.
const ON_DISK: &str = "/var/tmp";

/// The settings of git that a program has in its home.
const GIT_SETTINGS: &str = ".gitconfig";

/// Lets git tidy up while the call lasts. Else it would leave that to a process in a session of its
/// own, which there is none here, and complain.
const TIDY_AT_ONCE: &str = "[gc]\n\tautoDetach = false\n[maintenance]\n\tautoDetach = false\n";

/// Where the folders of calls are made: not where files take up memory, which nobody would count,
/// if there is another place.
fn folder_of_calls() -> PathBuf {
    let usual = std::env::temp_dir();
    let disk = Path::new(ON_DISK);
    match is_in_memory(&usual) && disk.is_dir() && !is_in_memory(disk) {
        true => disk.to_owned(),
        false => usual,
    }
}

/// Whether the files of a folder are kept in memory.
fn is_in_memory(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        const TMPFS: i128 = 0x0102_1994;
        const RAMFS: i128 = 0x8584_58f6;
        let kind = rustix::fs::statfs(folder).map(|found| i128::from(found.f_type));
        kind.is_ok_and(|kind| kind == TMPFS || kind == RAMFS)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}

/// The files that a call leaves behind; cleared away when dropped.
#[derive(Debug)]
pub(super) struct CallCleanup {
    /// The program's own folder, which removes itself.
    temp: TempDir,
    /// Files that were made for the program to write into.
    made: Vec<CreatedFile>,
}

impl CallCleanup {
    pub(super) fn new() -> std::io::Result<Self> {
        let temp = create_temporary_folder(&folder_of_calls(), "recto-")?;
        fs::write(temp.path().join(GIT_SETTINGS), TIDY_AT_ONCE)?;
        Ok(CallCleanup { temp, made: Vec::new() })
    }

    pub(super) fn temp(&self) -> &Path {
        self.temp.path()
    }

    /// Makes a file for the program to write into, unless it is there.
    pub(super) fn create_file(&mut self, workspace: &Path, path: &Path) -> std::io::Result<()> {
        self.made.extend(create_empty(workspace, path)?);
        Ok(())
    }

    /// Wraps it, to be dropped where nobody may wait for the disk.
    pub(super) fn deferred(self) -> DeferredCleanup {
        DeferredCleanup(Some(self))
    }
}

impl Drop for CallCleanup {
    fn drop(&mut self) {
        self.made.iter().for_each(CreatedFile::remove_if_empty);
    }
}

/// A cleanup that is done by a thread that may wait for the disk.
#[derive(Debug)]
pub(super) struct DeferredCleanup(Option<CallCleanup>);

impl Drop for DeferredCleanup {
    fn drop(&mut self) {
        let Some(cleanup) = self.0.take() else { return };
        match Handle::try_current() {
            // A runtime that is ending drops the work, and the cleanup with it.
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(cleanup))),
            Err(_) => drop(cleanup),
        }
    }
}
