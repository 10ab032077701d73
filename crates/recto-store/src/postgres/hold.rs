//! Which home has the database. One does at a time: whether a turn's process lives is told by files
//! in the home, which no other machine can see.
//!
//! The row of `recto_store` names the home, and until when it has the database. Every process of
//! the home puts that off while it lives; the last one that ends gives it back. Another home is
//! refused until then, and takes the database once nobody has put it off in time. From then on
//! the first can't write any more, however late it wakes up: each of its transactions looks at the
//! row first, and keeps it locked.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use recto_context::ContentHash;
use recto_fs::private_options;

use super::{PostgresConnection, PostgresServer};
use crate::error::StoreError;
use crate::owner::OwnerRegistry;
use crate::rows::DbResult;
use crate::sql::ConnectionMode;

/// How long a home has the database without putting that off.
const LEASE: Duration = Duration::from_secs(30);

/// How often it is put off.
const RENEWAL: Duration = Duration::from_secs(8);

/// The server's clock, in milliseconds: those of two machines may differ.
const CLOCK: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

/// Who a home is, for other homes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HomeId {
    id: Arc<str>,
    host: Arc<str>,
}

impl HomeId {
    /// The home with this folder. A copy of the folder elsewhere is another one.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let file = folder.join("node");
        if !file.exists() {
            make_number(&file)?;
        }
        let host = host_name();
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let place = fs::canonicalize(folder)?;
        let known =
            format!("{}\n{host}\n{machine}\n{}", fs::read_to_string(file)?, place.display());
        let id = ContentHash::of_bytes(known.as_bytes()).to_string();
        Ok(HomeId { id: id.into(), host: host.into() })
    }
}

/// Gives a home its number. Under its name the file is whole, and the first one stays.
fn make_number(file: &Path) -> io::Result<()> {
    let number = RandomState::new().hash_one((std::process::id(), SystemTime::now()));
    let unfinished = file.with_extension(format!("{number:016x}"));
    let mut made = private_options().write(true).create_new(true).open(&unfinished)?;
    made.write_all(format!("{number:016x}").as_bytes())?;
    made.sync_all()?;
    let linked = fs::hard_link(&unfinished, file);
    fs::remove_file(unfinished)?;
    match linked {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

fn host_name() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| std::env::var("HOSTNAME").ok());
    let told = told.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    told.unwrap_or_else(|| "another machine".to_owned())
}

/// Takes the database for a home, or puts off when it ends.
fn take(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let HomeId { id, host } = server.home();
    let until = LEASE.as_millis() as i64;
    let sql = format!(
        "UPDATE recto_store SET home = ?1, host = ?2, expires = {CLOCK} + ?3
         WHERE one = 1 AND (home IS NULL OR home = ?1 OR expires <= {CLOCK})"
    );
    if db.execute(&sql, &[id, host, &until])? == 1 {
        return Ok(());
    }
    let sql = format!("SELECT host, expires - {CLOCK} AS rest FROM recto_store WHERE one = 1");
    let held = db.first(&sql, &[], |row| {
        Ok((row.get::<_, Option<String>>("host")?, row.get::<_, Option<i64>>("rest")?))
    })?;
    let (host, rest) = held.unwrap_or_default();
    let seconds = u64::try_from(rest.unwrap_or(0)).unwrap_or(0).div_ceil(1_000);
    let (url, host) = (server.place().display().to_string(), host.unwrap_or_default());
    Err(StoreError::HeldElsewhere { url, host, seconds }.into())
}

/// Locks the row for a transaction that writes, which counts as a change.
pub(super) fn lock(db: &PostgresConnection, home: &HomeId) -> DbResult<()> {
    let sql = "UPDATE recto_store SET revision = revision + 1 WHERE one = 1 AND home = ?1";
    match db.execute(sql, &[&home.id])? {
        1 => Ok(()),
        _ => Err(StoreError::LostHold.into()),
    }
}

/// A home's hold on the database, put off by a thread of its own.
pub(crate) struct StoreHold {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreHold {
    /// Takes the database and keeps it until this is dropped. It is given back then if no other
    /// process of the home is at work.
    pub(crate) fn start(
        db: PostgresConnection,
        server: Arc<PostgresServer>,
        owners: Arc<OwnerRegistry>,
    ) -> DbResult<Self> {
        take(&db, &server)?;
        let (stop, stopped) = channel::<()>();
        let work = move || {
            let mut link = Some(db);
            while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                link = link.filter(|db| !db.is_closed());
                if link.is_none() {
                    link = server.connect(ConnectionMode::Writing).ok();
                }
                // What fails is tried again; who has lost the database learns it when it writes.
                let renewed = link.as_ref().map(|db| renew(db, &server));
                drop(renewed);
            }
            if let Some(db) = link.filter(|_| owners.is_alone_with(&[])) {
                let _ = give_back(&db, &server);
            }
        };
        let thread = thread::Builder::new().name("recto-hold".into()).spawn(work).ok();
        Ok(StoreHold { stop: Some(stop), thread })
    }
}

impl Drop for StoreHold {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn renew(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let sql = format!("UPDATE recto_store SET expires = {CLOCK} + ?2 WHERE one = 1 AND home = ?1");
    db.execute(&sql, &[&server.home().id, &(LEASE.as_millis() as i64)]).map(drop)
}

fn give_back(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let sql = "UPDATE recto_store SET expires = 0 WHERE one = 1 AND home = ?1";
    db.execute(sql, &[&server.home().id]).map(drop)
}
