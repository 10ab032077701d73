//! Looks whether a database is whole, and copies out of a damaged one what can still be read.
//!
//! The damaged file is only read. One whose first page is broken is read by a copy of it, which gets
//! another: see [`first_page`]. Tables are gone through from both ends, and row by row
//! where neither end gets on, so that one bad page takes no more with it than what is on it.
//! What belongs to something that is lost (the record of a turn that is gone) is left out, so
//! that the copy is a store like any other; messages of a session that is lost get a session
//! without a name.

mod damaged;
mod first_page;
mod orphans;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use crate::codec::Unpacker;
use crate::error::{DbError, StoreError, StoreResult, cannot_open};
use crate::rows::DbResult;
use crate::sql::{ConnectionMode, SqlRow};
use crate::sqlite::files;
use crate::sqlite::schema;
use crate::transcript;
use damaged::DamagedDatabase;
use orphans::leave_out_orphans;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most problems that are told one by one.
const MOST_PROBLEMS: usize = 20;

/// The most rows between two ends of a table that are looked for one by one.
const MOST_LOOKUPS: i64 = 1_000_000;

/// How far behind the last row that could be read others are looked for, where the end of the
/// table can't be found.
const LOOK_AHEAD: i64 = 10_000;

/// What was copied out of a damaged database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvageReport {
    /// The new database.
    pub path: PathBuf,
    /// What became of each table that had something or lost something.
    pub tables: Vec<SalvagedTable>,
}

/// What became of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SalvagedTable {
    /// Its name.
    pub name: String,
    /// Rows of which the copy has all.
    pub copied: u64,
    /// Rows that are there and can't be read; more may be lost where `is_cut`.
    pub unreadable: u64,
    /// Whether a part of the table can't even be counted.
    pub is_cut: bool,
    /// Rows that could be read, and belong to something that is lost.
    pub left_out: u64,
    /// Rows that could be read, and that contradict one that was copied before, or what always
    /// holds of the table.
    pub conflicting: u64,
}

impl SalvagedTable {
    /// Whether something of it is missing in the copy.
    pub fn has_losses(&self) -> bool {
        self.unreadable > 0 || self.is_cut || self.left_out > 0 || self.conflicting > 0
    }
}

/// Looks at every page of the database at `path`. What is wrong is told, some of it one by one;
/// nothing where the database is whole. A database that is not there is.
pub fn check_store(path: &Path) -> StoreResult<Vec<String>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let check = || {
        let db = damaged::open(path)?;
        let mut problems = integrity_problems(&db)?;
        let mut orphans = db.prepare("SELECT \"table\", rowid FROM pragma_foreign_key_check")?;
        let orphans = orphans.query_map([], |row| {
            let (table, row): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(format!("a row of {table} ({row:?}) belongs to nothing"))
        })?;
        problems.extend(orphans.take(MOST_PROBLEMS).collect::<Result<Vec<_>, _>>()?);
        problems.truncate(MOST_PROBLEMS);
        Ok(problems)
    };
    match check() {
        Err(error) if DbError::is_damage(&error) => Ok(vec![error.at_path(path).to_string()]),
        // Whatever it begins with, it goes on as a database of Recto does.
        Err(error) if damaged::is_no_database(&error) && damaged::can_be_mended(path) => {
            Ok(vec!["the first page can't be read".to_owned()])
        }
        checked => checked.map_err(|error| error.at_path(path)),
    }
}

/// Copies what can be read of the database at `path` to a new one at `to`. The database is not
/// changed, nor is a file that is there already.
pub fn salvage_store(path: &Path, to: &Path) -> StoreResult<SalvageReport> {
    if to.exists() {
        let why = "it is there already".to_owned();
        return Err(StoreError::CannotOpen { path: to.to_owned(), why });
    }
    let from = DamagedDatabase::open(path, to)?;
    files::private_database(to).map_err(|error| cannot_open(to, &error))?;
    let copied = copy_all(from.connection(), to).map_err(|error| error.at_path(to));
    let is_empty =
        copied.as_ref().is_ok_and(|report| report.tables.iter().all(|it| it.copied == 0));
    if copied.is_err() || is_empty {
        // Half a copy, or one of nothing, would only be taken for a store.
        remove_database(to);
    }
    if is_empty {
        let what =
            format!("nothing of `{}` can be read, not even its list of tables", path.display());
        return Err(StoreError::Damaged { what });
    }
    copied
}

/// Removes a database with its companions, if they are there.
fn remove_database(path: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let _ = fs::remove_file(name);
    }
}

fn copy_all(from: &Connection, to: &Path) -> DbResult<SalvageReport> {
    let new = schema::connect(to, ConnectionMode::Writing, PATIENCE)?;
    schema::make_like(&new, from)?;
    new.pragma_update(None, "foreign_keys", false)?;
    let mut tables = BTreeMap::new();
    for name in table_names(&new)? {
        let transaction = new.unchecked_transaction()?;
        let table = TableCopy::new(from, &new, &name)?.run()?;
        transaction.commit()?;
        tables.insert(name, table);
    }
    let transaction = new.unchecked_transaction()?;
    leave_out_broken_messages(&new, &mut tables)?;
    adopt_messages(&new)?;
    leave_out_orphans(&new, &mut tables)?;
    transaction.commit()?;
    schema::migrate(&new, to, PATIENCE)?;
    let problems = integrity_problems(&new)?;
    if let Some(problem) = problems.first() {
        return Err(DbError::damaged(format!("the copy ({problem})")));
    }
    let tables = tables.into_values().filter(|table| table.copied > 0 || table.has_losses());
    Ok(SalvageReport { path: to.to_owned(), tables: tables.collect() })
}

fn integrity_problems(db: &Connection) -> DbResult<Vec<String>> {
    // As a function of a query it would take the number for a table's name.
    let sql = format!("PRAGMA integrity_check({MOST_PROBLEMS})");
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems = Vec::new();
    for row in rows {
        // A row may hold several, below a headline.
        let row = row?;
        let told = row.lines().filter(|line| *line != "ok" && !line.starts_with("*** in database"));
        problems.extend(told.map(str::to_owned));
    }
    Ok(problems)
}

fn table_names(db: &Connection) -> DbResult<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = db.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Which way a table is gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanOrder {
    Forwards,
    Backwards,
}

/// A table on its way to the new database.
struct TableCopy<'a> {
    from: &'a Connection,
    to: &'a Connection,
    name: &'a str,
    columns: String,
    insert: String,
    /// What its rows are ordered by: the number of a row, or its key.
    key: String,
    is_numbered: bool,
    report: SalvagedTable,
}

impl<'a> TableCopy<'a> {
    fn new(from: &'a Connection, to: &'a Connection, name: &'a str) -> DbResult<Self> {
        let mut statement = to.prepare("SELECT name, pk FROM pragma_table_info(?1)")?;
        let columns = statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, i64)> = columns.collect::<Result<_, _>>()?;
        let listed = |columns: Vec<&str>| columns.join(", ");
        let all = listed(columns.iter().map(|(column, _)| column.as_str()).collect());
        let places = vec!["?"; columns.len()].join(", ");
        let sql = "SELECT wr FROM pragma_table_list(?1)";
        let is_numbered = !to.query_row(sql, [name], |row| row.get::<_, bool>(0))?;
        let mut key: Vec<&(String, i64)> = columns.iter().filter(|(_, place)| *place > 0).collect();
        key.sort_by_key(|(_, place)| *place);
        let key = listed(key.iter().map(|(column, _)| column.as_str()).collect());
        Ok(TableCopy {
            from,
            to,
            name,
            insert: format!("INSERT OR IGNORE INTO {name} ({all}) VALUES ({places})"),
            columns: all,
            key: if is_numbered { "rowid".to_owned() } else { key },
            is_numbered,
            report: SalvagedTable { name: name.to_owned(), ..SalvagedTable::default() },
        })
    }

    fn run(mut self) -> DbResult<SalvagedTable> {
        let (first_end, is_whole) = self.scan(ScanOrder::Forwards, None)?;
        if is_whole {
            return Ok(self.report);
        }
        let (last_end, _) = self.scan(ScanOrder::Backwards, first_end)?;
        if self.is_numbered {
            self.look_between(first_end.unwrap_or(0), last_end)?;
        } else {
            self.report.is_cut = true;
        }
        Ok(self.report)
    }

    /// Copies rows from one end on, until something can't be read or is beyond `until`. Gives
    /// the number of the last row, and whether all of the table was there.
    fn scan(&mut self, order: ScanOrder, until: Option<i64>) -> DbResult<(Option<i64>, bool)> {
        let (direction, number) = match order {
            ScanOrder::Forwards => ("ASC", if self.is_numbered { "rowid" } else { "0" }),
            ScanOrder::Backwards => ("DESC", if self.is_numbered { "rowid" } else { "0" }),
        };
        let key = self.key.replace(", ", &format!(" {direction}, "));
        let sql = format!(
            "SELECT {number}, {} FROM {} NOT INDEXED ORDER BY {key} {direction}",
            self.columns, self.name
        );
        let Ok(mut statement) = self.from.prepare(&sql) else { return Ok((None, false)) };
        let Ok(mut rows) = statement.query([]) else { return Ok((None, false)) };
        let mut last: Option<i64> = None;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok((last, true)),
                Err(_) => return Ok((last, false)),
            };
            let Ok(number) = row.get::<_, i64>(0) else { return Ok((last, false)) };
            let goes_on = last.is_none_or(|last| match order {
                ScanOrder::Forwards => number > last,
                ScanOrder::Backwards => number < last,
            });
            // Pages that lead to themselves would never end.
            if self.is_numbered && (!goes_on || until.is_some_and(|until| number <= until)) {
                return Ok((last, false));
            }
            let values = read_row(row);
            last = Some(number);
            self.insert(values)?;
        }
    }

    /// Looks for the rows between two ends one by one.
    fn look_between(&mut self, first_end: i64, last_end: Option<i64>) -> DbResult<()> {
        let end = last_end
            .unwrap_or_else(|| self.farthest_row().max(first_end).saturating_add(LOOK_AHEAD));
        let most = first_end.saturating_add(MOST_LOOKUPS);
        self.report.is_cut = last_end.is_none() || end > most;
        let sql = format!("SELECT 0, {} FROM {} WHERE rowid = ?1", self.columns, self.name);
        let Ok(mut statement) = self.from.prepare(&sql) else { return Ok(()) };
        for number in first_end.saturating_add(1)..end.min(most) {
            match statement.query_row([number], |row| Ok(read_row(row))).optional() {
                Ok(Some(values)) => self.insert(values)?,
                Ok(None) => {}
                Err(_) if last_end.is_some() => self.report.unreadable += 1,
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The farthest row that is met by leaps which grow: where the end of a table is lost, a part
    /// of it may still be led to.
    fn farthest_row(&self) -> i64 {
        let sql = format!(
            "SELECT rowid FROM {} NOT INDEXED WHERE rowid >= ?1 ORDER BY rowid LIMIT 1",
            self.name
        );
        let Ok(mut statement) = self.from.prepare(&sql) else { return 0 };
        let leaps = (0..i64::BITS - 1).map(|power| 1_i64 << power);
        let met = leaps.filter_map(|leap| statement.query_row([leap], |row| row.get(0)).ok());
        met.max().unwrap_or(0)
    }

    /// A row that the new database does not take is not what was written.
    fn insert(&mut self, values: Option<Vec<Value>>) -> DbResult<()> {
        let Some(values) = values else {
            self.report.unreadable += 1;
            return Ok(());
        };
        match self.to.prepare_cached(&self.insert)?.execute(params_from_iter(&values)) {
            // Pages that are led to twice have the same rows twice.
            Ok(0) if self.is_copied(&values)? => {}
            Ok(0) => self.report.conflicting += 1,
            Ok(_) => self.report.copied += 1,
            Err(error) if is_refusal(&error) => self.report.unreadable += 1,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether the new database has this very row.
    fn is_copied(&self, values: &[Value]) -> DbResult<bool> {
        let same = self.columns.split(", ").map(|column| format!("{column} IS ?"));
        let same: Vec<String> = same.collect();
        let sql = format!("SELECT 1 FROM {} WHERE {}", self.name, same.join(" AND "));
        Ok(self.to.prepare_cached(&sql)?.exists(params_from_iter(values))?)
    }
}

/// The values of a row behind its number; `None` if one can't be read.
fn read_row(row: &Row<'_>) -> Option<Vec<Value>> {
    let count = row.as_ref().column_count();
    (1..count).map(|column| row.get::<_, Value>(column).ok()).collect()
}

/// Whether a value is of another type than its column, or breaks a rule of its table.
fn is_refusal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, TypeMismatch};
    matches!(error.sqlite_error_code(), Some(ConstraintViolation | TypeMismatch))
}

/// Takes out messages whose text is not what was written: one of them would keep all of its
/// session from being read.
fn leave_out_broken_messages(
    db: &Connection,
    tables: &mut BTreeMap<String, SalvagedTable>,
) -> DbResult<()> {
    let mut broken = Vec::new();
    let mut unpacker = Unpacker::default();
    let mut statement = db.prepare("SELECT position, id, body FROM messages")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if transcript::read_message(&SqlRow::Sqlite(row), &mut unpacker).is_err() {
            broken.push(row.get::<_, i64>("position")?);
        }
    }
    for position in &broken {
        db.execute("DELETE FROM messages WHERE position = ?1", [position])?;
    }
    if let Some(report) = tables.get_mut("messages") {
        report.unreadable += broken.len() as u64;
        report.copied = report.copied.saturating_sub(broken.len() as u64);
    }
    Ok(())
}

/// Gives messages whose session is lost one without a name, of the agent that has most.
fn adopt_messages(db: &Connection) -> DbResult<()> {
    let most = "SELECT agent FROM sessions GROUP BY agent ORDER BY count(*) DESC LIMIT 1";
    let agent: Option<String> = db.query_row(most, [], |row| row.get(0)).optional()?;
    db.execute(
        "INSERT INTO sessions (id, agent, surface, created, settings)
         SELECT session, ?1, 'salvaged', min(at), '{}' FROM messages
         WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session",
        [agent.as_deref().unwrap_or("main")],
    )?;
    Ok(())
}
