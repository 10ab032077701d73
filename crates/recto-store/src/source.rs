//! Where connections come from, and what concerns the database as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::postgres::{self, PostgresServer};
use crate::rows::DbResult;
use crate::sql::{ConnectionMode, SqlConnection};
use crate::sqlite;
use crate::sqlite::files::DatabaseAccess;
use crate::sqlite::schema;

/// Between the first two tries to reach a server; each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The database that a store is kept in.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionSource {
    /// A file, how it can be used, and how long to wait for whoever writes to it.
    Sqlite { path: PathBuf, access: DatabaseAccess, busy: Duration },
    /// A database on a server.
    Postgres(Arc<PostgresServer>),
}

impl ConnectionSource {
    /// Opens a connection to a database that is there.
    pub(crate) fn connect(&self, mode: ConnectionMode) -> DbResult<SqlConnection> {
        match self {
            ConnectionSource::Sqlite { path, access, busy } => {
                let db = match access {
                    DatabaseAccess::Writable => schema::connect(path, mode, *busy)?,
                    // What is written all the same fails, and says why.
                    DatabaseAccess::ReadableWithLog => {
                        schema::connect(path, ConnectionMode::Reading, *busy)?
                    }
                    DatabaseAccess::ReadableAlone => schema::connect_alone(path, *busy)?,
                };
                Ok(SqlConnection::Sqlite(sqlite::SqliteConnection::new(db)))
            }
            ConnectionSource::Postgres(server) => {
                Ok(SqlConnection::Postgres(Box::new(server.connect(mode)?)))
            }
        }
    }

    /// How long to wait for somebody else who writes, or for a server.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            ConnectionSource::Sqlite { busy, .. } => *busy,
            ConnectionSource::Postgres(server) => server.patience(),
        }
    }

    /// Hints that something was written, where there are any.
    pub(crate) fn hints(&self) -> Option<watch::Receiver<u64>> {
        match self {
            ConnectionSource::Sqlite { .. } => None,
            ConnectionSource::Postgres(server) => postgres::hints::listen(server),
        }
    }

    /// How errors name it.
    pub(crate) fn place(&self) -> &Path {
        match self {
            ConnectionSource::Sqlite { path, .. } => path,
            ConnectionSource::Postgres(server) => server.place(),
        }
    }

    /// The bytes that are free for it, where that can be told from here.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        match self {
            ConnectionSource::Sqlite { path, .. } => sqlite::files::free_bytes(path),
            ConnectionSource::Postgres(_) => None,
        }
    }

    /// Takes the bytes of what was deleted out of the files, and says whether none are left. Waits
    /// a while for others who read.
    pub(crate) fn wipe(&self) -> bool {
        match self {
            ConnectionSource::Sqlite { path, .. } => sqlite::files::wipe(path),
            // When its files are written anew is for the server to say, and so are its logs.
            ConnectionSource::Postgres(_) => false,
        }
    }
}

/// Pauses between tries, each longer than the one before, for as long as there is patience.
pub(crate) struct Pauses {
    next: Duration,
    end: Instant,
}

impl Pauses {
    pub(crate) fn within(patience: Duration) -> Self {
        Pauses { next: FIRST_PAUSE, end: Instant::now() + patience }
    }

    /// Waits for the next try; false where there is to be none.
    pub(crate) fn wait(&mut self) -> bool {
        if Instant::now() + self.next > self.end {
            return false;
        }
        thread::sleep(self.next);
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        true
    }
}
