//! Clears away what a call leaves on the disk: when the call has ended, and also when
//! nobody waited for its end.

use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::Handle;

use crate::files::{CreatedFile, create_empty};

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
        let temp = tempfile::Builder::new().prefix("recto-").tempdir()?;
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
