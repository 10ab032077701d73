//! Who has a turn, and whether they still live.
//!
//! Every open store is an owner with a random number, which no other has or will have. Whether one
//! lives is told in one of two ways, and nothing above this file knows in which ([`OwnerRegistry`]):
//!
//! - Beside a file, by a lock: while it lives, an owner holds an exclusive lock on a file of its
//!   number; the kernel frees the lock however the process ends. So an owner whose lock can be had
//!   is dead, at once and for good.
//! - On a server, by a lease: a row that the owner puts off while it lives (`postgres/nodes.rs`). One that
//!   was silent for too long counts as dead, and may yet come back. So whoever takes something over
//!   from it writes down that it did, and whoever comes back looks before it writes.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use recto_fs::{create_private_folder, private_options};

use crate::postgres::nodes::{self, NodeLease};
use crate::rows::DbResult;
use crate::sql::SqlConnection;

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

    /// A number that nobody else has.
    pub(crate) fn random() -> Self {
        let seed = (std::process::id(), SystemTime::now());
        OwnerId(RandomState::new().hash_one(seed).cast_signed())
    }

    fn file_name(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// This owner, and how it finds out about others.
#[derive(Debug)]
pub(crate) enum OwnerRegistry {
    /// By locks on files.
    Files(OwnerFiles),
    /// By rows with a time.
    Leases(NodeLease),
}

impl OwnerRegistry {
    /// This owner's number.
    pub(crate) fn own(&self) -> OwnerId {
        match self {
            OwnerRegistry::Files(files) => files.own,
            OwnerRegistry::Leases(lease) => lease.own(),
        }
    }

    /// Finds out whether an owner lives. `db` is within a transaction on the store that it owns
    /// something in.
    pub(crate) fn look_up(&self, db: &SqlConnection, id: OwnerId) -> DbResult<TurnOwner> {
        if id == self.own() {
            return Ok(TurnOwner::Here);
        }
        let is_alive = match (self, db) {
            (OwnerRegistry::Leases(_), SqlConnection::Postgres(db)) => nodes::is_alive(db, id)?,
            (OwnerRegistry::Files(files), _) => !is_dead(&files.folder.join(id.file_name())),
            // A server's owners are in the server.
            (OwnerRegistry::Leases(_), SqlConnection::Sqlite(_)) => false,
        };
        Ok(if is_alive { TurnOwner::Elsewhere } else { TurnOwner::Gone })
    }

    /// Whether no other owner lives, but for those who are known.
    pub(crate) fn is_alone_with(&self, db: &SqlConnection, known: &[OwnerId]) -> DbResult<bool> {
        match (self, db) {
            (OwnerRegistry::Leases(lease), SqlConnection::Postgres(db)) => {
                let is_known = |id: &OwnerId| *id == lease.own() || known.contains(id);
                Ok(nodes::list_alive(db)?.iter().all(is_known))
            }
            (OwnerRegistry::Files(files), _) => Ok(files.are_alone_with(known)),
            (OwnerRegistry::Leases(_), SqlConnection::Sqlite(_)) => Ok(true),
        }
    }
}

/// The lock of this owner, and the folder in which those of others are.
#[derive(Debug)]
pub(crate) struct OwnerFiles {
    folder: PathBuf,
    own: OwnerId,
    /// Locked as long as it is open. Whoever only looks has none, and owns nothing.
    lock: Option<File>,
}

impl OwnerFiles {
    /// Becomes an owner, and clears away those that ended.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        create_private_folder(&folder)?;
        remove_dead(&folder);
        let own = OwnerId::random();
        let lock = lock_own_file(&folder, own)?;
        Ok(OwnerFiles { folder, own, lock: Some(lock) })
    }

    /// Looks at the owners of a store that can't be written.
    pub(crate) fn observe(folder: PathBuf) -> Self {
        OwnerFiles { folder, own: OwnerId::nobody(), lock: None }
    }

    fn are_alone_with(&self, known: &[OwnerId]) -> bool {
        let Ok(entries) = fs::read_dir(&self.folder) else { return false };
        let known: Vec<String> = known.iter().chain([&self.own]).map(|id| id.file_name()).collect();
        let is_known = |name: &OsStr| known.iter().any(|known| name == known.as_str());
        let mut others = entries.flatten().filter(|entry| !is_known(&entry.file_name()));
        others.all(|entry| is_dead(&entry.path()))
    }
}

impl Drop for OwnerFiles {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What can't be removed is swept by the next owner.
            let _ = fs::remove_file(self.folder.join(self.own.file_name()));
        }
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
    use crate::sqlite::SqliteConnection;

    /// What another owner is to this one. Files say it, whatever the database is.
    fn look_up(registry: &OwnerRegistry, id: OwnerId) -> TurnOwner {
        let nothing = rusqlite::Connection::open_in_memory().unwrap();
        let db = SqlConnection::Sqlite(SqliteConnection::new(nothing));
        registry.look_up(&db, id).unwrap()
    }

    fn join(folder: &Path) -> OwnerRegistry {
        OwnerRegistry::Files(OwnerFiles::join(folder.to_owned()).unwrap())
    }

    #[test]
    fn an_owner_lives_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (join(&folder.path().join("a")), join(&folder.path().join("a")));
        assert_eq!(look_up(&ours, ours.own()), TurnOwner::Here);
        assert_eq!(look_up(&ours, other.own()), TurnOwner::Elsewhere);
        assert_eq!(look_up(&other, ours.own()), TurnOwner::Elsewhere);
        let gone = other.own();
        drop(other);
        assert_eq!(look_up(&ours, gone), TurnOwner::Gone);
    }

    #[test]
    fn files_that_nobody_holds_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let stale = [folder.path().join("00000000000000aa"), folder.path().join("b.new")];
        for path in &stale {
            fs::write(path, "").unwrap();
        }
        let owners = join(folder.path());
        assert!(stale.iter().all(|path| !path.exists()));
        assert_eq!(look_up(&owners, OwnerId(0xaa)), TurnOwner::Gone);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn an_owner_whose_file_can_t_be_opened_counts_as_alive() {
        let folder = tempfile::tempdir().unwrap();
        // A link to itself: opening it fails, for root, too.
        let unreadable = folder.path().join(OwnerId(0xaa).file_name());
        std::os::unix::fs::symlink(&unreadable, &unreadable).unwrap();
        let owners = join(folder.path());
        assert!(fs::symlink_metadata(&unreadable).is_ok(), "it was swept");
        assert_eq!(look_up(&owners, OwnerId(0xaa)), TurnOwner::Elsewhere);
        fs::remove_file(&unreadable).unwrap();
        assert_eq!(look_up(&owners, OwnerId(0xaa)), TurnOwner::Gone);
    }
}
