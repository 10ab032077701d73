//! A damaged database, open for reading: by itself, or by a copy whose first page was made anew.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use recto_fs::private_options;
use rusqlite::{Connection, ErrorCode};

use super::first_page::{PAGE, rebuild_first_page};
use super::{PATIENCE, remove_database, table_names};
use crate::error::{DbError, StoreResult, cannot_open};
use crate::rows::DbResult;
use crate::sql::ConnectionMode;
use crate::sqlite::schema;

/// A connection that reads on where others give up.
pub(super) fn open(path: &Path) -> DbResult<Connection> {
    let db = schema::connect(path, ConnectionMode::Reading, PATIENCE)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    // A table whose description is damaged does not hide the others, nor does a file that is
    // shorter than it says. Nothing is written.
    db.pragma_update(None, "writable_schema", true)?;
    // What stands in the file's header is looked at before anything else is.
    schema::is_own(&db, path)?;
    Ok(db)
}

/// Whether SQLite says that it is something else.
pub(super) fn is_no_database(error: &DbError) -> bool {
    let DbError::Sqlite(error) = error else { return false };
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}

/// Whether the first page can be made anew.
pub(super) fn can_be_mended(path: &Path) -> bool {
    matches!(rebuild_first_page(path, schema::APPLICATION), Ok(Some(_)))
}

/// A damaged database, and the copy that stands for it, if there is one.
pub(super) struct DamagedDatabase {
    // Closed before its file goes.
    db: Connection,
    _copy: Option<MendedCopy>,
}

impl DamagedDatabase {
    /// Opens the database at `path`. A copy of it, if one is needed, is made beside `to`.
    pub(super) fn open(path: &Path, to: &Path) -> StoreResult<Self> {
        let opened = open(path);
        let needs_mending = match &opened {
            Ok(db) => table_names(db).map_or(true, |names| names.is_empty()),
            Err(error) => error.is_damage() || is_no_database(error),
        };
        let first = match needs_mending {
            true => rebuild_first_page(path, schema::APPLICATION),
            false => Ok(None),
        };
        let length = fs::metadata(path).map(|found| found.len());
        let (first, length) = first
            .and_then(|first| Ok((first, length?)))
            .map_err(|error| cannot_open(path, &error))?;
        // Half a page would be read as if the other half were zeros.
        let is_cut = !length.is_multiple_of(PAGE as u64);
        match (opened, first) {
            (_, Some(first)) => Self::copied(path, to, &first),
            (Ok(_), None) if is_cut => Self::copied(path, to, &[]),
            (Ok(db), None) => Ok(DamagedDatabase { db, _copy: None }),
            (Err(error), None) => Err(error.at_path(path)),
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.db
    }

    /// By a copy of all whole pages, with another beginning.
    fn copied(path: &Path, to: &Path, beginning: &[u8]) -> StoreResult<Self> {
        let copy = MendedCopy(with_ending(to, ".pages"));
        copy.write(path, beginning).map_err(|error| cannot_open(&copy.0, &error))?;
        let db = open(&copy.0).map_err(|error| error.at_path(path))?;
        Ok(DamagedDatabase { db, _copy: Some(copy) })
    }
}

/// A copy of a database that can be read where the database itself can't; removed with this.
struct MendedCopy(PathBuf);

impl MendedCopy {
    /// What was not yet worked into the database comes along.
    fn write(&self, path: &Path, beginning: &[u8]) -> io::Result<()> {
        let wal = with_ending(path, "-wal");
        if wal.exists() {
            let length = fs::metadata(&wal)?.len();
            copy_private(&wal, &with_ending(&self.0, "-wal"), &[], length)?;
        }
        let length = fs::metadata(path)?.len();
        copy_private(path, &self.0, beginning, length - length % PAGE as u64)
    }
}

impl Drop for MendedCopy {
    fn drop(&mut self) {
        remove_database(&self.0);
    }
}

/// Copies so much of a file that nobody else may read, with other bytes at its beginning.
fn copy_private(from: &Path, to: &Path, beginning: &[u8], length: u64) -> io::Result<()> {
    let mut from = File::open(from)?;
    // Of one that was left half there is nothing to keep.
    _ = fs::remove_file(to);
    let mut to = private_options().write(true).create_new(true).open(to)?;
    to.write_all(beginning)?;
    let begun = beginning.len() as u64;
    from.seek(SeekFrom::Start(begun))?;
    io::copy(&mut from.take(length.saturating_sub(begun)), &mut to).map(drop)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
