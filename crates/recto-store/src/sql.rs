//! The line between what the store means and the database that keeps it.
//!
//! Above it are the operations: one file for each concern, in plain SQL with numbered places
//! (`?1`), over a [`SqlConnection`] that is within a transaction. Below it is what each database does
//! in its own way: `sqlite` and `postgres`. An operation can't tell which one it runs on.
//!
//! A value is a number of 64 bits, a text, bytes or nothing ([`SqlValue`]): all that the tables
//! have. Values are lent to a statement and by a row, so that nothing is copied on the way.
//!
//! An operation waits for the database. It runs on a thread that may: the one that writes, or one
//! for reading.

mod value;

use crate::composition::RelationSize;
use crate::error::DbError;
use crate::postgres::PostgresConnection;
use crate::rows::DbResult;
use crate::sqlite::SqliteConnection;

pub(crate) use value::{FromSqlValue, SqlParam, SqlParams, SqlRow, SqlValue, params};

/// A connection, whichever database it leads to.
pub(crate) enum SqlConnection {
    Sqlite(SqliteConnection),
    Postgres(Box<PostgresConnection>),
}

/// Whether a connection reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionMode {
    Reading,
    Writing,
}

impl SqlConnection {
    /// Runs a statement that changes rows, and says how many.
    pub(crate) fn execute(&self, sql: &str, values: impl SqlParams) -> DbResult<usize> {
        values.lend(|values| match self {
            SqlConnection::Sqlite(db) => db.execute(sql, values),
            SqlConnection::Postgres(db) => db.execute(sql, values),
        })
    }

    /// Adds a row, and gives the number that it got: that of its column `id`.
    pub(crate) fn insert(&self, sql: &str, values: impl SqlParams) -> DbResult<i64> {
        let added = self.insert_new(sql, values)?;
        added.ok_or_else(|| DbError::damaged("a row that was added is not there"))
    }

    /// The same with a statement that may find the row to be there already, and then adds none.
    pub(crate) fn insert_new(&self, sql: &str, values: impl SqlParams) -> DbResult<Option<i64>> {
        values.lend(|values| match self {
            SqlConnection::Sqlite(db) => db.insert(sql, values),
            SqlConnection::Postgres(db) => db.insert(sql, values),
        })
    }

    /// The value of the first row that a query finds, if it finds one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: impl SqlParams,
        read: impl FnOnce(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Option<T>> {
        values.lend(|values| match self {
            SqlConnection::Sqlite(db) => db.first(sql, values, read),
            SqlConnection::Postgres(db) => db.first(sql, values, read),
        })
    }

    /// The values of all rows that a query finds, in their order.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: impl SqlParams,
        read: impl FnMut(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Vec<T>> {
        values.lend(|values| match self {
            SqlConnection::Sqlite(db) => db.all(sql, values, read),
            SqlConnection::Postgres(db) => db.all(sql, values, read),
        })
    }

    /// The value in the first column of the first row, which the caller takes to be there.
    pub(crate) fn only<T: FromSqlValue>(&self, sql: &str, values: impl SqlParams) -> DbResult<T> {
        let found = self.first(sql, values, |row| row.get(0))?;
        found.ok_or_else(|| DbError::damaged("a row that should be there is not"))
    }

    /// Whether a query finds a row.
    pub(crate) fn exists(&self, sql: &str, values: impl SqlParams) -> DbResult<bool> {
        Ok(self.first(sql, values, |_| Ok(()))?.is_some())
    }

    /// Begins a transaction: to read as of one instant, or to write while nobody else does.
    pub(crate) fn begin(&self, mode: ConnectionMode) -> DbResult<()> {
        match self {
            SqlConnection::Sqlite(db) => db.begin(mode),
            SqlConnection::Postgres(db) => db.begin(mode),
        }
    }

    /// Makes what was written since the beginning last.
    pub(crate) fn commit(&self) -> DbResult<()> {
        match self {
            SqlConnection::Sqlite(db) => db.step("COMMIT"),
            SqlConnection::Postgres(db) => db.commit(),
        }
    }

    /// Ends the transaction as if nothing had been written.
    pub(crate) fn roll_back(&self) -> DbResult<()> {
        match self {
            SqlConnection::Sqlite(db) => db.step("ROLLBACK"),
            SqlConnection::Postgres(db) => db.end("ROLLBACK"),
        }
    }

    /// Does a piece of work within the transaction, of which nothing is left where it fails. Fails
    /// itself only when all of the transaction is lost.
    pub(crate) fn within_savepoint(
        &self,
        work: impl FnOnce() -> Result<(), WorkFailed>,
    ) -> DbResult<()> {
        self.step("SAVEPOINT job")?;
        match work() {
            Ok(()) => {}
            // Fails when SQLite has rolled back everything already.
            Err(WorkFailed::Alone) => self.step("ROLLBACK TO job")?,
            Err(WorkFailed::WithTransaction(error)) => return Err(error),
        }
        self.step("RELEASE job")
    }

    fn step(&self, sql: &str) -> DbResult<()> {
        match self {
            SqlConnection::Sqlite(db) => db.step(sql),
            SqlConnection::Postgres(db) => db.batch(sql),
        }
    }

    /// Whether nothing can be had from it any more.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            SqlConnection::Sqlite(_) => false,
            SqlConnection::Postgres(db) => db.is_closed(),
        }
    }

    /// A number that is another one after every commit, by whomever.
    pub(crate) fn change_counter(&self) -> DbResult<i64> {
        match self {
            // Others' commits alone: so it is always the same connection that asks, and never
            // the one that writes.
            SqlConnection::Sqlite(db) => {
                Ok(db.raw().query_row("PRAGMA data_version", [], |row| row.get(0))?)
            }
            SqlConnection::Postgres(_) => {
                self.only("SELECT revision FROM recto_store WHERE one = 1", [])
            }
        }
    }

    /// Writes what stands there already, to see whether anything can be written.
    pub(crate) fn touch(&self) -> DbResult<()> {
        match self {
            SqlConnection::Sqlite(db) => {
                let db = db.raw();
                let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
                Ok(db.pragma_update(None, "user_version", version)?)
            }
            // A transaction that writes has written by its beginning.
            SqlConnection::Postgres(_) => Ok(()),
        }
    }

    /// Has a table go on with numbers behind those that its rows were given elsewhere.
    pub(crate) fn continue_numbers(&self, table: &str, column: &str) -> DbResult<()> {
        match self {
            // It goes by the numbers that are there.
            SqlConnection::Sqlite(_) => Ok(()),
            SqlConnection::Postgres(_) => {
                let sql = format!(
                    "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column}))
                     FROM {table} HAVING max({column}) IS NOT NULL"
                );
                self.first(&sql, [], |_| Ok(())).map(drop)
            }
        }
    }

    /// The bytes that each table and index has on the disk, without what is free in its pages
    /// where that is known.
    pub(crate) fn relation_sizes(&self) -> DbResult<Vec<RelationSize>> {
        let sql = match self {
            SqlConnection::Sqlite(_) => {
                "SELECT pages.name, coalesce(known.type, 'table') = 'index' AS is_index,
                     pages.pgsize - pages.unused AS bytes
                 FROM dbstat AS pages LEFT JOIN sqlite_schema AS known ON known.name = pages.name
                 WHERE pages.aggregate = TRUE"
            }
            SqlConnection::Postgres(_) => {
                "SELECT relname::text AS name, CASE relkind WHEN 'i' THEN 1::bigint ELSE 0 END AS is_index,
                     pg_table_size(oid) AS bytes
                 FROM pg_class
                 WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')"
            }
        };
        self.all(sql, [], |row| {
            Ok(RelationSize {
                name: row.get("name")?,
                is_index: row.get::<_, i64>("is_index")? != 0,
                bytes: row.get("bytes")?,
            })
        })
    }

    /// The bytes of a file in which nothing stands; a server does not tell.
    pub(crate) fn unused_bytes(&self) -> DbResult<Option<i64>> {
        match self {
            SqlConnection::Sqlite(_) => {
                let sql = "SELECT (SELECT sum(unused) FROM dbstat WHERE aggregate = TRUE)
                               + (SELECT freelist_count FROM pragma_freelist_count)
                                   * (SELECT page_size FROM pragma_page_size)";
                self.only(sql, []).map(Some)
            }
            SqlConnection::Postgres(_) => Ok(None),
        }
    }

    /// Whether it is in no transaction, so that somebody else can use it.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            SqlConnection::Sqlite(db) => db.raw().is_autocommit(),
            SqlConnection::Postgres(db) => db.is_idle(),
        }
    }
}

/// How a piece of work within a transaction failed.
#[derive(Debug)]
pub(crate) enum WorkFailed {
    /// For a reason of its own, which is kept elsewhere.
    Alone,
    /// Because the whole transaction is lost, and may be tried again.
    WithTransaction(DbError),
}
