//! Copies a store into another one, whichever databases they are in, and compares the two.
//!
//! All of it is written in one transaction, and read as of one instant. Then every table is read
//! once more on both sides: what was copied has the same number of rows, and the same sum of their
//! hashes, or it was not copied.

use recto_context::ContentHash;

use crate::error::{StoreError, StoreResult};
use crate::rows::DbResult;
use crate::sql::{ConnectionMode, FromSqlValue, SqlConnection, SqlParam, SqlValue};
use crate::sqlite::schema;
use crate::store::{Store, StoreOptions};

/// So many rows are held at a time.
const AT_ONCE: i64 = 200;

/// All tables, each behind those that it refers to, with the column that numbers its rows or
/// those that its rows are known by.
const TABLES: [(&str, TableOrder); 32] = [
    ("sessions", TableOrder::Number("id")),
    ("bindings", TableOrder::Key("key")),
    ("session_items", TableOrder::Number("id")),
    ("turns", TableOrder::Number("id")),
    ("messages", TableOrder::Number("position")),
    ("parts", TableOrder::Number("id")),
    ("requests", TableOrder::Number("id")),
    ("calibrations", TableOrder::Key("model")),
    ("trusted", TableOrder::Key("agent, folder")),
    ("compactions", TableOrder::Number("id")),
    ("embeddings", TableOrder::Key("shelf, model, text")),
    ("inbound_messages", TableOrder::Key("conversation, message")),
    ("usage_days", TableOrder::Number("id")),
    ("retractions", TableOrder::Number("id")),
    ("tokens", TableOrder::Number("id")),
    ("channel_updates", TableOrder::Number("id")),
    ("channel_cursors", TableOrder::Key("channel, account")),
    ("channel_deliveries", TableOrder::Number("id")),
    ("channel_moves", TableOrder::Key("channel, account, origin")),
    ("channel_overheard", TableOrder::Number("id")),
    ("channel_health", TableOrder::Key("channel")),
    ("pairings", TableOrder::Number("id")),
    ("pairing_guesses", TableOrder::Key("at")),
    ("delegations", TableOrder::Key("session")),
    ("schedules", TableOrder::Number("id")),
    ("schedule_runs", TableOrder::Number("id")),
    ("approvals", TableOrder::Number("id")),
    ("leases", TableOrder::Key("name")),
    ("turn_followers", TableOrder::Key("turn, owner")),
    ("turn_snapshots", TableOrder::Key("turn")),
    ("redactions", TableOrder::Number("id")),
    ("item_uses", TableOrder::Key("turn, item")),
];

/// What the rows of a table are ordered by.
#[derive(Debug, Clone, Copy)]
enum TableOrder {
    /// A number that the database gave to each.
    Number(&'static str),
    /// Columns that tell rows apart, as SQL lists them.
    Key(&'static str),
}

/// A table that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// The sum of their hashes, which is the same on both sides.
    pub digest: String,
}

/// Copies all of one store into another, which has to be empty, and compares the two. Refused
/// while another process has one of them open. Blocks until it is done.
pub async fn copy_store(from: &StoreOptions, to: &StoreOptions) -> StoreResult<Vec<CopiedTable>> {
    let (source, target) = (Store::open(from)?, Store::open(to)?);
    let ours = [source.owners().own(), target.owners().own()];
    for store in [&source, &target] {
        let owners = store.owners();
        if !store.read(move |db| owners.is_alone_with(db, &ours)).await? {
            return Err(StoreError::InUse { path: store.path().to_owned() });
        }
    }
    let tables = all_tables().map_err(|error| error.at_path(source.path()))?;
    let (place, to_copy) = (target.path().to_owned(), tables.clone());
    let origin = source.source();
    let copy = target.write(move |db| {
        if to_copy.iter().map(|table| table.count(db)).sum::<DbResult<i64>>()? > 0 {
            return Err(StoreError::NotEmpty { path: place.clone() }.into());
        }
        let from = origin.connect(ConnectionMode::Reading)?;
        from.begin(ConnectionMode::Reading)?;
        for table in &to_copy {
            table.copy(&from, db)?;
        }
        from.roll_back()
    });
    copy.await?;
    let sides = (summarise(&source, &tables).await?, summarise(&target, &tables).await?);
    let differs = sides.0.iter().zip(&sides.1).find(|(one, other)| one != other);
    match differs {
        Some((table, _)) => {
            let what = format!("the copy of `{}` is not what was copied", table.name);
            Err(StoreError::Damaged { what })
        }
        None => Ok(sides.0.into_iter().filter(|table| table.rows > 0).collect()),
    }
}

async fn summarise(store: &Store, tables: &[TableForm]) -> StoreResult<Vec<CopiedTable>> {
    let tables = tables.to_vec();
    store.read(move |db| tables.iter().map(|table| table.summarise(db)).collect()).await
}

/// A table, and how its rows are read and written.
#[derive(Debug, Clone)]
struct TableForm {
    name: &'static str,
    order: TableOrder,
    columns: Vec<String>,
}

fn all_tables() -> DbResult<Vec<TableForm>> {
    let columns = schema::present_columns()?;
    let forms = TABLES.into_iter().map(|(name, order)| {
        let own = columns.iter().filter(|(table, _)| table == name);
        TableForm { name, order, columns: own.map(|(_, column)| column.clone()).collect() }
    });
    Ok(forms.collect())
}

impl TableForm {
    fn count(&self, db: &SqlConnection) -> DbResult<i64> {
        db.only(&format!("SELECT count(*) FROM {}", self.name), [])
    }

    fn copy(&self, from: &SqlConnection, to: &SqlConnection) -> DbResult<()> {
        let places: Vec<String> = (1..=self.columns.len()).map(|n| format!("?{n}")).collect();
        let (columns, places) = (self.columns.join(", "), places.join(", "));
        let sql = format!("INSERT INTO {} ({columns}) VALUES ({places})", self.name);
        self.for_each_row(from, |row| {
            let values: Vec<&dyn SqlParam> =
                row.iter().map(|value| value as &dyn SqlParam).collect();
            to.execute(&sql, values.as_slice()).map(drop)
        })?;
        match self.order {
            TableOrder::Number(column) => to.continue_numbers(self.name, column),
            TableOrder::Key(_) => Ok(()),
        }
    }

    fn summarise(&self, db: &SqlConnection) -> DbResult<CopiedTable> {
        let (mut rows, mut sum) = (0, HashSum::default());
        self.for_each_row(db, |row| {
            rows += 1;
            sum.add(row);
            Ok(())
        })?;
        Ok(CopiedTable { name: self.name.to_owned(), rows, digest: sum.digest() })
    }

    /// Reads the table a page at a time.
    fn for_each_row(
        &self,
        db: &SqlConnection,
        mut each: impl FnMut(&[OwnedValue]) -> DbResult<()>,
    ) -> DbResult<()> {
        let columns = self.columns.join(", ");
        let sql = match self.order {
            TableOrder::Number(number) => format!(
                "SELECT {columns}, {number} FROM {} WHERE {number} > ?1
                 ORDER BY {number} LIMIT ?2",
                self.name
            ),
            TableOrder::Key(key) => {
                format!("SELECT {columns} FROM {} ORDER BY {key} LIMIT ?2 OFFSET ?1", self.name)
            }
        };
        let mut place = match self.order {
            TableOrder::Number(_) => i64::MIN,
            TableOrder::Key(_) => 0,
        };
        loop {
            let page = db.all(&sql, [place, AT_ONCE], |row| {
                let values = (0..self.columns.len()).map(|column| row.get(column));
                let values = values.collect::<DbResult<Vec<OwnedValue>>>()?;
                let number = match self.order {
                    // Behind the columns; one of them may have any name.
                    TableOrder::Number(_) => row.get(self.columns.len())?,
                    TableOrder::Key(_) => 0,
                };
                Ok((number, values))
            })?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            place = match self.order {
                TableOrder::Number(_) => *last,
                TableOrder::Key(_) => place + i64::try_from(page.len()).unwrap_or(AT_ONCE),
            };
            page.iter().try_for_each(|(_, row)| each(row))?;
        }
    }
}

/// A value that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnedValue {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl FromSqlValue for OwnedValue {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        Some(match value {
            SqlValue::Null => OwnedValue::Null,
            SqlValue::Integer(number) => OwnedValue::Integer(number),
            SqlValue::Text(text) => OwnedValue::Text(text.to_owned()),
            SqlValue::Blob(bytes) => OwnedValue::Blob(bytes.to_vec()),
        })
    }
}

impl SqlParam for OwnedValue {
    fn to_value(&self) -> SqlValue<'_> {
        match self {
            OwnedValue::Null => SqlValue::Null,
            OwnedValue::Integer(number) => SqlValue::Integer(*number),
            OwnedValue::Text(text) => SqlValue::Text(text),
            OwnedValue::Blob(bytes) => SqlValue::Blob(bytes),
        }
    }
}

/// A sum of the hashes of rows, in whatever order they come.
#[derive(Default)]
struct HashSum([u64; 4]);

impl HashSum {
    fn add(&mut self, row: &[OwnedValue]) {
        let mut bytes = Vec::new();
        for value in row {
            let (kind, data) = match value {
                OwnedValue::Null => (0, Vec::new()),
                OwnedValue::Integer(number) => (1, number.to_be_bytes().to_vec()),
                // What PostgreSQL can't keep has another character in its place there.
                OwnedValue::Text(text) => (2, text.replace('\0', "\u{FFFD}").into_bytes()),
                OwnedValue::Blob(bytes) => (3, bytes.clone()),
            };
            bytes.push(kind);
            bytes.extend_from_slice(&(data.len() as u64).to_be_bytes());
            bytes.extend_from_slice(&data);
        }
        let hash = ContentHash::of_bytes(&bytes);
        for (sum, part) in self.0.iter_mut().zip(hash.as_bytes().chunks_exact(8)) {
            let part = part.try_into().map_or(0, u64::from_be_bytes);
            *sum = sum.wrapping_add(part);
        }
    }

    fn digest(&self) -> String {
        self.0.iter().map(|part| format!("{part:016x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_table_and_no_column_is_left_out() {
        let columns = schema::present_columns().unwrap();
        let tables: BTreeSet<&str> = columns.iter().map(|(table, _)| table.as_str()).collect();
        let forms = all_tables().unwrap();
        let copied: BTreeSet<&str> = forms.iter().map(|form| form.name).collect();
        assert_eq!(copied, tables);
        assert_eq!(forms.iter().map(|form| form.columns.len()).sum::<usize>(), columns.len());
    }

    #[test]
    fn a_sum_knows_rows_apart_and_not_their_order() {
        let row =
            |number, text: &str| vec![OwnedValue::Integer(number), OwnedValue::Text(text.into())];
        let sum = |rows: &[Vec<OwnedValue>]| {
            let mut sum = HashSum::default();
            rows.iter().for_each(|row| sum.add(row));
            sum.digest()
        };
        let (one, two) = (row(1, "a"), row(2, "b"));
        assert_eq!(sum(&[one.clone(), two.clone()]), sum(&[two.clone(), one.clone()]));
        assert_ne!(sum(&[one.clone(), two]), sum(&[one.clone(), row(2, "c")]));
        assert_ne!(sum(std::slice::from_ref(&one)), sum(&[one.clone(), one]));
    }
}
