//! The form of the database, and how a connection is set up. Migrations run at
//! open, forward only, each in one transaction.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::codec::Unpacker;
use crate::error::StoreError;
use crate::opening;
use crate::rows::{self, DbResult};
use crate::sql::{ConnectionMode, SqlRow};
use crate::transcript;

/// One after the other; the database's version is how many have run.
const MIGRATIONS: [&str; 21] = [
    include_str!("../../migrations/001.sql"),
    include_str!("../../migrations/002.sql"),
    include_str!("../../migrations/003.sql"),
    include_str!("../../migrations/004.sql"),
    include_str!("../../migrations/005.sql"),
    include_str!("../../migrations/006.sql"),
    include_str!("../../migrations/007.sql"),
    include_str!("../../migrations/008.sql"),
    include_str!("../../migrations/009.sql"),
    include_str!("../../migrations/010.sql"),
    include_str!("../../migrations/011.sql"),
    include_str!("../../migrations/012.sql"),
    include_str!("../../migrations/013.sql"),
    include_str!("../../migrations/014.sql"),
    include_str!("../../migrations/015.sql"),
    include_str!("../../migrations/016.sql"),
    include_str!("../../migrations/017.sql"),
    include_str!("../../migrations/018.sql"),
    include_str!("../../migrations/020.sql"),
    include_str!("../../migrations/030.sql"),
    include_str!("../../migrations/040.sql"),
];

/// The first version that keeps the first words of a session with it.
const KEEPS_OPENINGS: usize = 14;

/// The version of a database on which all of them have run.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks a database as Recto's: `RCTO` in ASCII.
pub(crate) const APPLICATION: u32 = 0x5243_544f;

/// How many prepared statements a connection keeps; all of this crate's fit.
const STATEMENTS: usize = 128;

/// After a large WAL has been worked off, its file is cut back to this.
const WAL_FILE_LIMIT: i64 = 64 << 20;

/// Between two tries to get at a database that another process makes.
const MOMENT: Duration = Duration::from_millis(5);

/// Opens a connection to a database that is there, and sets it up.
pub(crate) fn connect(path: &Path, mode: ConnectionMode, busy: Duration) -> DbResult<Connection> {
    let access = match mode {
        ConnectionMode::Reading => OpenFlags::SQLITE_OPEN_READ_ONLY,
        ConnectionMode::Writing => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // Each connection is used by one thread at a time.
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    set_up(&db, busy)?;
    if mode == ConnectionMode::Writing {
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "journal_size_limit", WAL_FILE_LIMIT)?;
    }
    Ok(db)
}

/// Opens a connection to a file that can't be written, without its log: SQLite would have to make
/// a file beside it, and must be told that nobody writes.
pub(crate) fn connect_alone(path: &Path, busy: Duration) -> DbResult<Connection> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", escape_uri(path));
    let db = Connection::open_with_flags(uri, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    set_up(&db, busy)?;
    Ok(db)
}

/// A path as a URI has it: nothing in it means anything but itself.
fn escape_uri(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let write = |byte: &u8| match is_plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(write).collect()
}

/// What every connection has.
fn set_up(db: &Connection, busy: Duration) -> DbResult<()> {
    db.busy_timeout(busy)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise a statement is planned anew whenever another value is bound to it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // Nothing of a conversation goes to a folder for temporary files.
    Ok(db.pragma_update(None, "temp_store", "MEMORY")?)
}

/// Passes a database of the present version, which can be read as it is.
pub(crate) fn must_be_present(db: &Connection, path: &Path) -> DbResult<()> {
    match checked_version(db, path)? {
        version if version == MIGRATIONS.len() => Ok(()),
        _ => {
            let why = "it is of an older Recto, and has to be brought up to date first";
            Err(StoreError::NotReadable { path: path.to_path_buf(), why }.into())
        }
    }
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
    let version = checked_version(db, path)?;
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    if version < KEEPS_OPENINGS {
        // Messages are packed, which SQL can't undo.
        fill_openings(db)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Keeps the first words of all sessions that were begun before any were kept.
fn fill_openings(db: &Connection) -> DbResult<()> {
    let mut select = db.prepare("SELECT id FROM sessions WHERE deleted IS NULL ORDER BY id")?;
    let sessions = select.query_map([], |row| row.get::<_, i64>(0))?;
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    let mut first = db.prepare(transcript::FIRST_MESSAGE)?;
    for session in sessions {
        let mut found = first.query([session])?;
        // One that can't be read has none.
        let message = found
            .next()?
            .map(|row| transcript::read_message(&SqlRow::Sqlite(row), &mut Unpacker::default()));
        let words = rows::unless_damaged(message.transpose())?;
        let words = words.as_ref().and_then(opening::first_words);
        db.execute("UPDATE sessions SET opening = ?2 WHERE id = ?1", (session, words))?;
    }
    Ok(())
}

/// Makes an empty database of the version that `damaged` has, as it says or as its tables do; of
/// the present one where neither can be read.
pub(crate) fn make_like(db: &Connection, damaged: &Connection) -> DbResult<()> {
    let told = damaged.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let told = told.ok().and_then(|version| usize::try_from(version).ok());
    let told = told.filter(|version| (1..=MIGRATIONS.len()).contains(version));
    let version = match told {
        Some(version) => version,
        None => version_of_tables(damaged)?.unwrap_or(MIGRATIONS.len()),
    };
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    for migration in &MIGRATIONS[..version] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", version as i64)?;
    transaction.commit()?;
    Ok(())
}

/// The last version whose tables and columns are those that a database has.
fn version_of_tables(db: &Connection) -> DbResult<Option<usize>> {
    // What can't be read differs from all.
    let Ok(columns) = all_columns(db) else { return Ok(None) };
    let model = Connection::open_in_memory()?;
    let mut last = None;
    for (version, migration) in (1..).zip(MIGRATIONS) {
        model.execute_batch(migration)?;
        if all_columns(&model)? == columns {
            last = Some(version);
        }
    }
    Ok(last)
}

/// The tables of the present version with their columns.
pub(crate) fn present_columns() -> DbResult<Vec<(String, String)>> {
    let model = Connection::open_in_memory()?;
    MIGRATIONS.iter().try_for_each(|migration| model.execute_batch(migration))?;
    all_columns(&model)
}

fn all_columns(db: &Connection) -> DbResult<Vec<(String, String)>> {
    let sql = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid";
    let mut statement = db.prepare(sql)?;
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(columns.collect::<Result<_, _>>()?)
}

/// Fails for a database of another program or of a newer Recto, as far as its header tells.
pub(crate) fn is_own(db: &Connection, path: &Path) -> DbResult<()> {
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let path = path.to_path_buf();
    match (application == i64::from(APPLICATION), version > VERSION) {
        (false, _) => Err(StoreError::Foreign { path }.into()),
        (true, true) => Err(StoreError::Newer { path, version, known: VERSION }.into()),
        (true, false) => Ok(()),
    }
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
    if application != i64::from(APPLICATION) && (tables > 0 || version != 0) {
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
