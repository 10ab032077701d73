//! Clears away what a call leaves on the disk: when the call has ended, and also when
//! nobody waited for its end.

use std::io::{self, Write as _};
use std::path::Path;

use recto_fs::private_options;

use crate::files::{CreatedFile, create_empty};
use crate::own_folder::{DropLater, FolderOwner, OwnFolder};
use crate::process::Keeper;

/// The settings of git that a program has in its home.
const GIT_SETTINGS: &str = ".gitconfig";

/// Lets git tidy up while the call lasts. Else it would leave that to a process in a session of its
/// own, which there is none here, and complain.
const TIDY_AT_ONCE: &str = "[gc]\n\tautoDetach = false\n[maintenance]\n\tautoDetach = false\n";

/// The files that a call leaves behind; cleared away when dropped.
#[derive(Debug)]
pub(super) struct CallCleanup {
    /// The program's own folder, which removes itself.
    temp: OwnFolder,
    /// Files that were made for the program to write into.
    made: Vec<CreatedFile>,
}

impl CallCleanup {
    pub(super) fn new(keeper: &Keeper) -> io::Result<Self> {
        let temp = OwnFolder::create(FolderOwner::Call, keeper)?;
        let settings = temp.path().join(GIT_SETTINGS);
        let mut settings = private_options().write(true).create_new(true).open(settings)?;
        settings.write_all(TIDY_AT_ONCE.as_bytes())?;
        Ok(CallCleanup { temp, made: Vec::new() })
    }

    pub(super) fn temp(&self) -> &Path {
        self.temp.path()
    }

    /// Makes a file for the program to write into, unless it is there.
    pub(super) fn create_file(&mut self, workspace: &Path, path: &Path) -> io::Result<()> {
        self.made.extend(create_empty(workspace, path)?);
        Ok(())
    }

    /// Wraps it, to be dropped where nobody may wait for the disk.
    pub(super) fn deferred(self) -> DropLater<Self> {
        DropLater::new(self)
    }
}

impl Drop for CallCleanup {
    fn drop(&mut self) {
        self.made.iter().for_each(CreatedFile::remove_if_empty);
    }
}
