//! The nodes at work on a database: which of them live, told by leases.
//!
//! A node is an open store on a server: a `recto serve`, a chat, a command, on any machine and with
//! any home. Each has a row of `nodes` with its own random number, which is an owner's number
//! (`owner.rs`), and until when it counts as alive. While it lives, a thread puts that off; when it
//! ends in order, it takes its row away. A node whose time is up counts as dead. All times are the
//! server's: the clocks of two machines may differ.
//!
//! What belongs to a node names it: a turn and with it its session's mailbox, the run of a
//! schedule, the reading of a bot's messages (`leases.rs`). So there is one lease for each node to put off, however
//! much it has, and none for each session:
//!
//! - The mailbox of a session belongs to the node of its oldest open turn. What comes in on
//!   another node is stored there behind it, and is that node's when its time comes.
//! - What belongs to a dead node may be taken over: a transaction looks at the row of the node,
//!   and writes the new owner. Of two that try, one finds the other's number there.
//! - A node that was only slow (its machine slept, its line to the server was cut) may find its
//!   things taken when it comes back. Every step of a turn is written in a transaction that looks whether the
//!   turn is still its node's, and still at the begin that the node knows of
//!   (`turns.begins` is the fencing number): whoever has gone on with it meanwhile has counted it up. What was
//!   not taken goes on as if nothing had been.
//!
//! Transactions that write come one after the other (`postgres.rs`), so that none of them can be
//! overtaken between its look and its commit. Nothing here needs locks of the server's own
//! making beyond those of rows, nor functions beyond its clock.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{PostgresConnection, PostgresServer};
use crate::owner::OwnerId;
use crate::rows::DbResult;
use crate::sql::ConnectionMode;

/// How many times a lease is put off while it lasts: some of these may fail.
const RENEWALS: u32 = 4;

/// The server's clock, in milliseconds.
const CLOCK: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

/// After so many milliseconds the row of a dead node is removed by the next one that starts.
const FORGOTTEN: i64 = 24 * 3_600 * 1_000;

/// The lease of this node, put off by a thread of its own.
#[derive(Debug)]
pub(crate) struct NodeLease {
    own: OwnerId,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NodeLease {
    /// Makes this process a node, until it is dropped.
    pub(crate) fn start(
        db: PostgresConnection,
        server: Arc<PostgresServer>,
        own: OwnerId,
        folder: &Path,
    ) -> DbResult<Self> {
        let row = NodeRow::new(own, server.lease(), folder);
        let sql = format!("DELETE FROM nodes WHERE expires < {CLOCK} - ?1");
        db.execute(&sql, &[&FORGOTTEN])?;
        row.renew(&db)?;
        let (stop, stopped) = channel::<()>();
        let work = move || {
            let mut link = Some(db);
            let pause = server.lease() / RENEWALS;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                link = link.filter(|db| !db.is_closed());
                if link.is_none() {
                    link = server.connect(ConnectionMode::Writing).ok();
                }
                // What fails is tried again; whoever finds this node dead meanwhile may take
                // what it has.
                let renewed = link.as_ref().map(|db| row.renew(db));
                drop(renewed);
            }
            // Where this fails, its time is up soon.
            let ended =
                link.as_ref().map(|db| db.execute("DELETE FROM nodes WHERE id = ?1", &[&row.id]));
            drop(ended);
        };
        let thread = thread::Builder::new().name("recto-lease".into()).spawn(work).ok();
        Ok(NodeLease { own, stop: Some(stop), thread })
    }

    /// This node's number.
    pub(crate) fn own(&self) -> OwnerId {
        self.own
    }
}

impl Drop for NodeLease {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What stands in the row of a node.
struct NodeRow {
    id: i64,
    host: String,
    home: String,
    process: i64,
    lease: i64,
}

impl NodeRow {
    fn new(own: OwnerId, lease: Duration, folder: &Path) -> Self {
        let home = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        NodeRow {
            id: own.0,
            host: host_name(),
            home: home.display().to_string(),
            process: i64::from(std::process::id()),
            lease: i64::try_from(lease.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Puts off when the node counts as dead. One whose row was removed gets it back: what was
    /// taken from it stays taken.
    fn renew(&self, db: &PostgresConnection) -> DbResult<()> {
        let sql = format!(
            "INSERT INTO nodes (id, host, home, process, expires)
             VALUES (?1, ?2, ?3, ?4, {CLOCK} + ?5)
             ON CONFLICT (id) DO UPDATE SET expires = excluded.expires"
        );
        let NodeRow { id, host, home, process, lease } = self;
        db.execute(&sql, &[id, host, home, process, lease]).map(drop)
    }
}

/// Whether a node lives.
pub(crate) fn is_alive(db: &PostgresConnection, node: OwnerId) -> DbResult<bool> {
    let sql = format!("SELECT id FROM nodes WHERE id = ?1 AND expires > {CLOCK}");
    Ok(db.first(&sql, &[&node.0], |_| Ok(()))?.is_some())
}

/// The nodes that live.
pub(crate) fn list_alive(db: &PostgresConnection) -> DbResult<Vec<OwnerId>> {
    let sql = format!("SELECT id FROM nodes WHERE expires > {CLOCK}");
    db.all(&sql, &[], |row| Ok(OwnerId(row.get("id")?)))
}

/// Locks the row of the database for a transaction that writes, which counts as a change.
pub(super) fn lock_for_writing(db: &PostgresConnection) -> DbResult<()> {
    let sql = "UPDATE recto_store SET revision = revision + 1 WHERE one = 1";
    db.execute(sql, &[]).map(drop)
}

/// The name of this machine, for people.
fn host_name() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| std::env::var("HOSTNAME").ok());
    let told = told.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    told.unwrap_or_else(|| "another machine".to_owned())
}
