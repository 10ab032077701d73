//! SQLite: one file, of which any number of connections read while one writes.
//!
//! Statements are kept as they were prepared, and values are bound without a copy.

pub(crate) mod checkpoint;
pub(crate) mod files;
pub(crate) mod salvage;
pub(crate) mod schema;

use rusqlite::Connection;

use crate::rows::DbResult;
use crate::sql::{ConnectionMode, SqlParam, SqlRow};

/// A connection to a file.
pub(crate) struct SqliteConnection(Connection);

impl SqliteConnection {
    /// Of a connection that is set up.
    pub(crate) fn new(db: Connection) -> Self {
        SqliteConnection(db)
    }

    /// The connection itself, for what only SQLite has.
    pub(crate) fn raw(&self) -> &Connection {
        &self.0
    }

    pub(crate) fn execute(&self, sql: &str, values: &[&dyn SqlParam]) -> DbResult<usize> {
        Ok(self.0.prepare_cached(sql)?.execute(bound(values))?)
    }

    pub(crate) fn insert(&self, sql: &str, values: &[&dyn SqlParam]) -> DbResult<Option<i64>> {
        let added = self.execute(sql, values)?;
        Ok((added > 0).then(|| self.0.last_insert_rowid()))
    }

    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: &[&dyn SqlParam],
        read: impl FnOnce(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Option<T>> {
        let mut select = self.0.prepare_cached(sql)?;
        let mut rows = select.query(bound(values))?;
        rows.next()?.map(|row| read(&SqlRow::Sqlite(row))).transpose()
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn SqlParam],
        mut read: impl FnMut(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Vec<T>> {
        let mut select = self.0.prepare_cached(sql)?;
        let mut rows = select.query(bound(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&SqlRow::Sqlite(row))?);
        }
        Ok(found)
    }

    /// Begins a transaction; the one that writes has the file to itself.
    pub(crate) fn begin(&self, mode: ConnectionMode) -> DbResult<()> {
        self.step(match mode {
            ConnectionMode::Reading => "BEGIN DEFERRED",
            ConnectionMode::Writing => "BEGIN IMMEDIATE",
        })
    }

    /// A statement without values and rows. It is kept as well: to parse it anew took longer than
    /// a short read.
    pub(crate) fn step(&self, sql: &str) -> DbResult<()> {
        self.0.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

fn bound(values: &[&dyn SqlParam]) -> impl rusqlite::Params {
    rusqlite::params_from_iter(values.iter().map(|value| value.to_value()))
}
