//! Reads all that was said and recorded once, to see whether it still is what was written. What a
//! file of SQLite is made of is looked at in another way (`sqlite::salvage`).

use crate::codec::Unpacker;
use crate::error::{DbError, StoreResult};
use crate::ids::RequestId;
use crate::records;
use crate::rows::DbResult;
use crate::sql::SqlConnection;
use crate::store::Store;
use crate::transcript;

/// The most problems that are told one by one.
const MOST_PROBLEMS: usize = 20;

/// So many messages are asked for with one query.
const AT_ONCE: i64 = 64;

impl Store {
    /// Looks at every message and at every request, and says what can't be read, some of it one by
    /// one; nothing where all can.
    pub async fn check_records(&self) -> StoreResult<Vec<String>> {
        let place = self.path().to_owned();
        self.read(move |db| {
            let found = damaged_messages(db)?.into_iter().chain(damaged_requests(db)?);
            let told = found.map(|error| error.at_path(&place).to_string());
            Ok(told.take(MOST_PROBLEMS).collect())
        })
        .await
    }
}

fn damaged_messages(db: &SqlConnection) -> DbResult<Vec<DbError>> {
    // What is left of a deleted session says nothing.
    let sql = "SELECT messages.position, messages.id, messages.body FROM messages
               JOIN sessions ON sessions.id = messages.session
               WHERE sessions.deleted IS NULL AND messages.position > ?1
               ORDER BY messages.position LIMIT ?2";
    let (mut unpacker, mut damaged, mut end) = (Unpacker::default(), Vec::new(), i64::MIN);
    loop {
        let page = db.all(sql, [end, AT_ONCE], |row| {
            match transcript::read_message(row, &mut unpacker) {
                Err(error) if error.is_damage() => damaged.push(error),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            row.get::<_, i64>("position")
        })?;
        match page.last() {
            Some(last) if damaged.len() < MOST_PROBLEMS => end = *last,
            _ => return Ok(damaged),
        }
    }
}

fn damaged_requests(db: &SqlConnection) -> DbResult<Vec<DbError>> {
    let sql = "SELECT id FROM requests WHERE length(document) > 0 ORDER BY id";
    let requests = db.all(sql, [], |row| row.get("id"))?;
    let mut damaged = Vec::new();
    for id in requests.into_iter().map(RequestId) {
        match records::body(db, id) {
            Err(error) if error.is_damage() => damaged.push(error),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        if damaged.len() == MOST_PROBLEMS {
            break;
        }
    }
    Ok(damaged)
}
