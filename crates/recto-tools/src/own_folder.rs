//! The folder of its own that a program has while it runs: its home, and all that it may always
//! write.
//!
//! It goes away with the call, whatever the program made in it. Should Recto end before that, the
//! keeper does the rest; what nobody could remove, because the machine went down, the next Recto that
//! starts does. So that this one can tell what still belongs to somebody, each folder is locked while
//! it is used. The program works in a folder inside, so it can't lock it itself.

mod leftovers;
mod removal;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use recto_fs::{create_private_folder, create_temporary_folder};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;
use tokio::runtime::Handle;

pub(crate) use leftovers::remove_leftovers;
pub(crate) use removal::remove_folder;

use crate::process::Keeper;

/// Where else temporary files are kept.
const ON_DISK: &str = "/var/tmp";

/// The folder inside that the program has.
const HOME: &str = "home";

/// New folders that are tried where somebody takes them for left behind before they are locked.
const TRIES: usize = 16;

/// Whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderOwner {
    /// A single call of a program.
    Call,
    /// An MCP server.
    Server,
}

impl FolderOwner {
    const ALL: [FolderOwner; 2] = [FolderOwner::Call, FolderOwner::Server];

    /// What the names of such folders begin with.
    fn prefix(self) -> &'static str {
        match self {
            FolderOwner::Call => "recto-call-",
            FolderOwner::Server => "recto-mcp-",
        }
    }
}

/// A folder that is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    /// The one that is locked, around the one that the program has.
    outer: PathBuf,
    home: PathBuf,
    keeper: Keeper,
    /// Where the file system knows locks.
    _lock: Option<OwnedFd>,
}

impl OwnFolder {
    /// Makes an empty folder, which the keeper removes should Recto end first.
    pub(crate) fn create(owner: FolderOwner, keeper: &Keeper) -> io::Result<Self> {
        let above = above_own_folders();
        for _ in 0..TRIES {
            let outer = create_temporary_folder(&above, owner.prefix())?.keep();
            if let FolderLock::Taken(lock) = lock_folder(&outer) {
                let (home, keeper) = (outer.join(HOME), keeper.clone());
                keeper.entrust_folder(&outer);
                let folder = OwnFolder { outer, home, keeper, _lock: lock };
                create_private_folder(&folder.home)?;
                return Ok(folder);
            }
        }
        Err(io::Error::other("somebody removes every folder as soon as it is made"))
    }

    /// The folder that the program has.
    pub(crate) fn path(&self) -> &Path {
        &self.home
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What can't be removed stays the keeper's concern.
        if remove_folder(&self.outer).is_ok() {
            self.keeper.release_folder(&self.outer);
        }
    }
}

/// Something that is dropped by a thread that may wait for the disk.
#[derive(Debug)]
pub(crate) struct DropLater<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> DropLater<T> {
    pub(crate) fn new(value: T) -> Self {
        DropLater(Some(value))
    }
}

impl<T: Send + 'static> Drop for DropLater<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        match Handle::try_current() {
            // A runtime that is ending drops the work, and the value with it.
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(value))),
            Err(_) => drop(value),
        }
    }
}

/// Where folders of programs are made: not where files take up memory, which nobody would count,
/// if there is another place.
fn above_own_folders() -> PathBuf {
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

/// What came of an attempt to lock a folder.
#[derive(Debug)]
enum FolderLock {
    /// It is this process's, by a lock where the file system knows any.
    Taken(Option<OwnedFd>),
    /// It belongs to somebody else, or is gone.
    Refused,
}

/// Locks a folder that this user owns, for as long as what is given back is open.
fn lock_folder(path: &Path) -> FolderLock {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(opened) = openat(CWD, path, flags, Mode::empty()) else { return FolderLock::Refused };
    let locked = flock(&opened, FlockOperation::NonBlockingLockExclusive);
    let is_still_there = fs::symlink_metadata(path).is_ok_and(|found| {
        let own = rustix::process::geteuid().as_raw();
        fstat(&opened).is_ok_and(|opened| opened.st_ino == found.ino()) && found.uid() == own
    });
    match locked {
        _ if !is_still_there => FolderLock::Refused,
        Err(Errno::WOULDBLOCK) => FolderLock::Refused,
        Err(_) => FolderLock::Taken(None),
        Ok(()) => FolderLock::Taken(Some(opened)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner() {
        let folder = OwnFolder::create(FolderOwner::Call, &Keeper::new(None)).unwrap();
        let (outer, home) = (folder.outer.clone(), folder.path().to_owned());
        assert!(home.is_dir() && home.starts_with(&outer));
        assert!(matches!(lock_folder(&outer), FolderLock::Refused), "it is somebody's");
        fs::create_dir_all(home.join("a/b")).unwrap();
        drop(folder);
        assert!(!outer.exists());
        assert!(matches!(lock_folder(&outer), FolderLock::Refused), "it is gone");
    }
}
