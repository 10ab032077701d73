//! The form of the database. Migrations run at open, forward only and all in one transaction,
//! under a lock on the row that has the version: of several processes that start at once, one
//! does the work, and the others find it done.

use postgres::error::SqlState;

use super::{PostgresConnection, PostgresServer};
use crate::error::{DbError, StoreError};
use crate::rows::DbResult;
use crate::source::Pauses;
use crate::sqlite;

/// Each with the version that it makes. The versions are those of SQLite's migrations; a database
/// is made in the form of the first that was known here.
const MIGRATIONS: [(i64, &str); 4] = [
    (18, include_str!("../../migrations/postgres/018.sql")),
    (19, include_str!("../../migrations/postgres/020.sql")),
    (20, include_str!("../../migrations/postgres/030.sql")),
    (21, include_str!("../../migrations/postgres/040.sql")),
];

/// The row that everything else begins with: which version the tables have, and how often something
/// was written.
const STATE: &str = "CREATE TABLE IF NOT EXISTS recto_store (
    one      BIGINT PRIMARY KEY CHECK (one = 1),
    version  BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
INSERT INTO recto_store (one, version, revision) VALUES (1, 0, 0) ON CONFLICT DO NOTHING";

/// Takes away which home had the database, of when only one could. Not in a transaction: who changes
/// the table waits for all who wait for its row, and must not have that row.
const DROP_HOLD: &str = "ALTER TABLE recto_store DROP COLUMN IF EXISTS home,
    DROP COLUMN IF EXISTS host, DROP COLUMN IF EXISTS expires";

/// Brings the database to the present version.
pub(crate) fn migrate(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let mut pauses = Pauses::within(server.patience());
    loop {
        match make_state(db, server).and_then(|()| run_migrations(db, server)) {
            // Two that make the same table at once: one of them is told that it is there.
            Err(error) if (is_race(&error) || error.is_transient()) && pauses.wait() => {}
            done => return done,
        }
    }
}

/// Makes the row that everything else begins with, unless it is there. Nothing is made in a
/// database that has tables of another program.
fn make_state(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let sql = "SELECT table_name FROM information_schema.tables
               WHERE table_schema = current_schema()";
    let tables: Vec<String> = db.all(sql, &[], |row| row.get(0))?;
    let is_there = tables.iter().any(|name| name == "recto_store");
    match (is_there, tables.is_empty()) {
        (true, _) if has_hold(db)? => db.batch(DROP_HOLD),
        (true, _) => Ok(()),
        (false, true) => db.batch(STATE),
        (false, false) => Err(StoreError::Foreign { path: server.place().to_owned() }.into()),
    }
}

fn has_hold(db: &PostgresConnection) -> DbResult<bool> {
    let sql = "SELECT column_name FROM information_schema.columns
               WHERE table_schema = current_schema() AND table_name = 'recto_store'
                   AND column_name = 'home'";
    Ok(db.first(sql, &[], |row| row.get::<_, String>("column_name"))?.is_some())
}

fn run_migrations(db: &PostgresConnection, server: &PostgresServer) -> DbResult<()> {
    let known = sqlite::schema::VERSION;
    let select = "SELECT version FROM recto_store WHERE one = 1";
    let version = db.first(select, &[], |row| row.get::<_, i64>("version"))?;
    if version == Some(known) {
        return Ok(());
    }
    db.batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
    let done = run_pending(db, server, known);
    match done {
        Ok(()) => db.batch("COMMIT"),
        Err(error) => {
            // What it failed with says more than that it can't be rolled back.
            let _ = db.batch("ROLLBACK");
            Err(error)
        }
    }
}

fn run_pending(db: &PostgresConnection, server: &PostgresServer, known: i64) -> DbResult<()> {
    let select = "SELECT version FROM recto_store WHERE one = 1 FOR UPDATE";
    // Read again: another process may have been faster.
    let version = db.first(select, &[], |row| row.get::<_, i64>("version"))?;
    let version = version.ok_or_else(|| DbError::damaged("the row of `recto_store`"))?;
    if version > known {
        let path = server.place().to_owned();
        return Err(StoreError::Newer { path, version, known }.into());
    }
    for (made, migration) in MIGRATIONS {
        if made > version {
            db.batch(migration)?;
        }
    }
    db.execute("UPDATE recto_store SET version = ?1 WHERE one = 1", &[&known])?;
    Ok(())
}

/// Whether somebody else has just made the same.
fn is_race(error: &DbError) -> bool {
    let DbError::Postgres(error) = error else { return false };
    let codes =
        [&SqlState::UNIQUE_VIOLATION, &SqlState::DUPLICATE_TABLE, &SqlState::DUPLICATE_OBJECT];
    error.code().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_databases_are_at_the_same_version() {
        assert_eq!(MIGRATIONS.last().map(|(version, _)| *version), Some(sqlite::schema::VERSION));
        assert!(MIGRATIONS.is_sorted_by_key(|(version, _)| *version));
    }
}
