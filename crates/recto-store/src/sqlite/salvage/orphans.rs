//! Takes out of a copy what belongs to something that is lost.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{SalvagedTable, table_names};
use crate::error::DbError;
use crate::rows::DbResult;

/// The table whose rows can't be read without the ones that they refer to.
const RECORDS: &str = "requests";

/// Takes out what belongs to something that is lost, and what belongs to that; where a row does
/// without, only the reference goes. A record without the one before it can't be read.
pub(super) fn leave_out_orphans(
    db: &Connection,
    tables: &mut BTreeMap<String, SalvagedTable>,
) -> DbResult<()> {
    let mut references = Vec::new();
    for table in table_names(db)? {
        references.extend(Reference::all_of(db, &table)?);
    }
    // What is taken out may have been referred to itself.
    loop {
        let mut changed = 0;
        for reference in &references {
            let orphans = reference.clear(db)? as u64;
            changed += orphans;
            if let (false, Some(report)) =
                (reference.is_dropped(), tables.get_mut(&reference.table))
            {
                report.left_out += orphans;
                report.copied = report.copied.saturating_sub(orphans);
            }
        }
        if changed == 0 {
            break;
        }
    }
    let sql = "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1";
    match db.query_row(sql, [], |row| row.get::<_, String>(0)).optional()? {
        None => Ok(()),
        Some(table) => Err(DbError::damaged(format!("the copy of {table}"))),
    }
}

/// A column of a table that refers to the numbers of another one.
struct Reference {
    table: String,
    column: String,
    parent: String,
    may_be_null: bool,
}

impl Reference {
    fn all_of(db: &Connection, table: &str) -> DbResult<Vec<Self>> {
        let sql = "SELECT k.\"from\", k.\"table\", i.\"notnull\" = 0 AND i.pk = 0
             FROM pragma_foreign_key_list(?1) k, pragma_table_info(?1) i WHERE i.name = k.\"from\"";
        let read = |row: &Row<'_>| {
            Ok(Reference {
                table: table.to_owned(),
                column: row.get(0)?,
                parent: row.get(1)?,
                may_be_null: row.get(2)?,
            })
        };
        let mut statement = db.prepare(sql)?;
        let references = statement.query_map([table], read)?;
        Ok(references.collect::<Result<_, _>>()?)
    }

    /// Whether a row goes on without it.
    fn is_dropped(&self) -> bool {
        self.may_be_null && self.table != RECORDS
    }

    /// Takes out all rows that refer to nothing, or what they refer by. Gives how many there were.
    fn clear(&self, db: &Connection) -> DbResult<usize> {
        let Reference { table, column, parent, .. } = self;
        let what = match self.is_dropped() {
            true => format!("UPDATE {table} SET {column} = NULL"),
            false => format!("DELETE FROM {table}"),
        };
        let orphans = format!("{column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {parent})");
        Ok(db.execute(&format!("{what} WHERE {orphans}"), [])?)
    }
}
