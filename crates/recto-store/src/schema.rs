//! The form of the database, and how a connection is set up. Migrations run at
//! open, forward only, each in one transaction.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::error::StoreError;
use crate::rows::DbResult;

/// One after the other; the database's version is how many have run.
const MIGRATIONS: [&str; 13] = [
    include_str!("../migrations/001.sql"),
    include_str!("../migrations/002.sql"),
    include_str!("../migrations/003.sql"),
    include_str!("../migrations/004.sql"),
    include_str!("../migrations/005.sql"),
    include_str!("../migrations/006.sql"),
    include_str!("../migrations/007.sql"),
    include_str!("../migrations/008.sql"),
    include_str!("../migrations/009.sql"),
    include_str!("../migrations/010.sql"),
    include_str!("../migrations/011.sql"),
    include_str!("../migrations/012.sql"),
    include_str!("../migrations/013.sql"),
];

/// The version of a database on which all of them have run.
const VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks a database as Recto's: `RCTO` in ASCII.
const APPLICATION: i64 = 0x5243_544f;

/// How many prepared statements a connection keeps; all of this crate's fit.
const STATEMENTS: usize = 128;

/// After a large WAL has been worked off, its file is cut back to this.
const WAL_FILE_LIMIT: i64 = 64 << 20;

/// Between two tries to get at a database that another process makes.
const MOMENT: Duration = Duration::from_millis(5);

/// Whether a connection reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionMode {
    Reading,
    Writing,
}

/// Opens a connection to a database that is there, and sets it up.
pub(crate) fn connect(path: &Path, mode: ConnectionMode, busy: Duration) -> DbResult<Connection> {
    let access = match mode {
        ConnectionMode::Reading => OpenFlags::SQLITE_OPEN_READ_ONLY,
        ConnectionMode::Writing => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // Each connection is used by one thread at a time.
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(busy)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "foreign_keys", true)?;
    // Nothing of a conversation goes to a folder for temporary files.
    db.pragma_update(None, "temp_store", "MEMORY")?;
    if mode == ConnectionMode::Writing {
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "journal_size_limit", WAL_FILE_LIMIT)?;
    }
    Ok(db)
}

/// Brings the database to the present version.
pub(crate) fn migrate(db: &Connection, path: &Path, busy: Duration) -> DbResult<()> {
    if db.is_readonly("main")? {
        return Err(StoreError::ReadOnly { path: path.to_path_buf() }.into());
    }
    let version = checked_version(db, path)?;
    enable_wal(db, path, busy)?;
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    // Read again: another process may have been faster.
    for migration in &MIGRATIONS[checked_version(db, path)?..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// How many migrations have run.
fn checked_version(db: &Connection, path: &Path) -> DbResult<usize> {
    // In one statement, so that a database which another process is just making
    // is seen either before or after.
    let (application, version, tables): (i64, i64, i64) = db.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let path = path.to_path_buf();
    if application != APPLICATION && (tables > 0 || version != 0) {
        return Err(StoreError::Foreign { path }.into());
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(StoreError::Newer { path, version, known: VERSION }.into()),
    }
}

/// Write-ahead logging, which lets readers read while somebody writes.
fn enable_wal(db: &Connection, path: &Path, busy: Duration) -> DbResult<()> {
    let deadline = Instant::now() + busy;
    let mode: String = loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)) {
            // Two that make the same database at once: SQLite does not wait here.
            Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(MOMENT),
            mode => break mode?,
        }
    };
    if mode == "wal" {
        return Ok(());
    }
    let why = format!("its file system can't do write-ahead logging (journal mode `{mode}`)");
    Err(StoreError::CannotOpen { path: path.to_path_buf(), why }.into())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
