//! Who runs a turn, and whether they still live.
//!
//! Every open store is an owner with a random number. While it lives it holds
//! an exclusive lock on a file of that name; the kernel frees the lock however
//! the process ends. So an owner whose lock can be had is dead, and since no
//! number is ever used twice, it stays dead.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use recto_fs::{create_private_folder, private_options};

/// Who has a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOwner {
    /// This store.
    Here,
    /// Another process, which lives.
    Elsewhere,
    /// A process that has ended: its turns can be taken over.
    Gone,
}

impl fmt::Display for TurnOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TurnOwner::Here => "in this process",
            TurnOwner::Elsewhere => "in another process",
            TurnOwner::Gone => "its process has ended",
        })
    }
}

/// An owner's number, as turns keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnerId(pub(crate) i64);

impl OwnerId {
    /// A number that no owner has, and none will: whatever has it has nobody.
    pub(crate) fn nobody() -> Self {
        Self::random()
    }

    fn random() -> Self {
        let seed = (std::process::id(), SystemTime::now());
        OwnerId(RandomState::new().hash_one(seed).cast_signed())
    }

    fn file_name(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// This owner and the folder where it can be looked up.
#[derive(Debug)]
pub(crate) struct OwnerRegistry {
    folder: PathBuf,
    own: OwnerId,
    /// Locked as long as it is open.
    _lock: File,
}

impl OwnerRegistry {
    /// Becomes an owner, and clears away those that ended.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        create_private_folder(&folder)?;
        remove_dead(&folder);
        let own = OwnerId::random();
        let lock = lock_own_file(&folder, own)?;
        Ok(OwnerRegistry { folder, own, _lock: lock })
    }

    /// This owner's number.
    pub(crate) fn own(&self) -> OwnerId {
        self.own
    }

    /// Whether no other owner lives, but for those who are known.
    pub(crate) fn is_alone_with(&self, known: &[OwnerId]) -> bool {
        let Ok(entries) = fs::read_dir(&self.folder) else { return false };
        let known: Vec<String> = known.iter().chain([&self.own]).map(|id| id.file_name()).collect();
        let is_known = |name: &OsStr| known.iter().any(|known| name == known.as_str());
        let mut others = entries.flatten().filter(|entry| !is_known(&entry.file_name()));
        others.all(|entry| is_dead(&entry.path()))
    }

    /// Finds out whether an owner lives.
    pub(crate) fn look_up(&self, id: OwnerId) -> TurnOwner {
        match id {
            id if id == self.own => TurnOwner::Here,
            id if is_dead(&self.folder.join(id.file_name())) => TurnOwner::Gone,
            _ => TurnOwner::Elsewhere,
        }
    }
}

impl Drop for OwnerRegistry {
    fn drop(&mut self) {
        // What can't be removed is swept by the next owner.
        let _ = fs::remove_file(self.folder.join(self.own.file_name()));
    }
}

/// Makes and locks the file under another name first: under its own name
/// nobody ever sees it unlocked while its owner lives.
fn lock_own_file(folder: &Path, own: OwnerId) -> io::Result<File> {
    let name = folder.join(own.file_name());
    let unlocked = name.with_extension("new");
    loop {
        let file = private_options().write(true).create(true).truncate(false).open(&unlocked)?;
        file.lock()?;
        match fs::rename(&unlocked, &name) {
            // Swept by another process before it was locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => return renamed.map(|()| file),
        }
    }
}

/// Whether an owner has certainly ended: its file is gone, or its lock could be
/// had. A file that can't be opened (too many are open, the disk fails) says
/// nothing about its owner, who then counts as alive: a turn that waits too long
/// does less harm than one that two processes run.
fn is_dead(path: &Path) -> bool {
    match lock_dead(path) {
        Ok(locked) => locked.is_some(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The file, locked, unless an owner holds it. Shared, so that two who look at
/// once don't take each other for the owner.
fn lock_dead(path: &Path) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn remove_dead(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        // Locked until it is removed, so that nobody can become its owner.
        if let Ok(Some(_locked)) = lock_dead(&path) {
            // Another process may have been faster.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let ours = OwnerRegistry::join(folder.path().join("owners")).unwrap();
        let other = OwnerRegistry::join(folder.path().join("owners")).unwrap();
        assert_eq!(ours.look_up(ours.own()), TurnOwner::Here);
        assert_eq!(ours.look_up(other.own()), TurnOwner::Elsewhere);
        assert_eq!(other.look_up(ours.own()), TurnOwner::Elsewhere);
        let gone = other.own();
        drop(other);
        assert_eq!(ours.look_up(gone), TurnOwner::Gone);
    }

    #[test]
    fn files_that_nobody_holds_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let stale = [folder.path().join("00000000000000aa"), folder.path().join("b.new")];
        for path in &stale {
            fs::write(path, "").unwrap();
        }
        let owners = OwnerRegistry::join(folder.path().to_path_buf()).unwrap();
        assert!(stale.iter().all(|path| !path.exists()));
        assert_eq!(owners.look_up(OwnerId(0xaa)), TurnOwner::Gone);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn an_owner_whose_file_can_t_be_opened_counts_as_alive() {
        let folder = tempfile::tempdir().unwrap();
        // A link to itself: opening it fails, for root, too.
        let unreadable = folder.path().join(OwnerId(0xaa).file_name());
        std::os::unix::fs::symlink(&unreadable, &unreadable).unwrap();
        let owners = OwnerRegistry::join(folder.path().to_path_buf()).unwrap();
        assert!(fs::symlink_metadata(&unreadable).is_ok(), "it was swept");
        assert_eq!(owners.look_up(OwnerId(0xaa)), TurnOwner::Elsewhere);
        fs::remove_file(&unreadable).unwrap();
        assert_eq!(owners.look_up(OwnerId(0xaa)), TurnOwner::Gone);
    }
}
