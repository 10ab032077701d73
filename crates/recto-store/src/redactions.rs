//! Takes a text out of everything that is stored, and leaves a mark.
//!
//! What a request means is not known here: the caller makes of each that has the text one that has
//! it not, and this puts it in its place, with the hash of its new body. Everything else that is
//! text stands in `FREE_TEXTS`. It is for a store that no other process has open, because others
//! remember what they have read.

use std::collections::HashMap;

use recto_context::{Message, Redaction};

use crate::codec;
use crate::documents::{self, NewRequest};
use crate::error::{StoreError, StoreResult};
use crate::garbage::requests_of;
use crate::ids::{Moment, RequestId, SessionId};
use crate::rows::{self, DbResult};
use crate::sessions;
use crate::sql::{SqlConnection, SqlRow, params};
use crate::store::Store;
use crate::turns::must_be_idle;

/// What is written anew in a session.
#[derive(Debug, Clone, Default)]
pub struct RedactedSession {
    /// Messages in their new form, by their numbers.
    pub messages: Vec<Message>,
    /// Requests in their new form.
    pub requests: HashMap<RequestId, NewRequest>,
}

/// How much a redaction changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RedactionCounts {
    /// Messages that had the text.
    pub messages: u64,
    /// Requests whose page or record had it.
    pub requests: u64,
    /// What else had it: questions, summaries, what chats said.
    pub others: u64,
}

/// How a column holds a text.
#[derive(Debug, Clone, Copy)]
enum FreeTextForm {
    /// As it is.
    Plain,
    /// Within JSON.
    Json,
    /// As it is, packed.
    Packed,
    /// Within JSON, packed.
    PackedJson,
    /// A message, packed.
    PackedMessage,
}

/// Every column in which people, models, tools or files may have said something, but for messages
/// and documents. Each belongs to a table whose rows have a number in `id`.
const FREE_TEXTS: [(&str, &str, FreeTextForm); 17] = [
    ("sessions", "opening", FreeTextForm::Plain),
    ("turns", "inbound", FreeTextForm::PackedMessage),
    ("turns", "client", FreeTextForm::PackedJson),
    ("turns", "state", FreeTextForm::PackedJson),
    ("turns", "detail", FreeTextForm::Plain),
    ("requests", "result", FreeTextForm::PackedJson),
    ("compactions", "text", FreeTextForm::Packed),
    ("approvals", "title", FreeTextForm::Plain),
    ("approvals", "detail", FreeTextForm::Packed),
    ("approvals", "fields", FreeTextForm::PackedJson),
    ("channel_updates", "payload", FreeTextForm::Json),
    ("channel_deliveries", "content", FreeTextForm::Json),
    ("channel_overheard", "text", FreeTextForm::Plain),
    ("pairings", "welcome", FreeTextForm::Json),
    ("schedules", "task", FreeTextForm::Plain),
    ("schedule_runs", "detail", FreeTextForm::Plain),
    ("schedule_runs", "delivery", FreeTextForm::Plain),
];

impl Store {
    /// Passes a store that no other process has open.
    pub async fn must_be_alone(&self) -> StoreResult<()> {
        match self.is_alone().await? {
            true => Ok(()),
            false => Err(StoreError::InUse { path: self.path().to_owned() }),
        }
    }

    /// All sessions that were not deleted.
    pub async fn session_ids(&self) -> StoreResult<Vec<SessionId>> {
        self.read(|db| {
            let sql = "SELECT id FROM sessions WHERE deleted IS NULL ORDER BY id";
            db.all(sql, [], |row| Ok(SessionId(row.get("id")?)))
        })
        .await
    }

    /// The requests of a session that have records, in order.
    pub async fn session_requests(&self, session: SessionId) -> StoreResult<Vec<RequestId>> {
        self.read(move |db| requests_of(db, session)).await
    }

    /// Puts messages and requests of a session in place of what they were. Refused while a turn of
    /// it is open.
    pub async fn redact_session(
        &self,
        session: SessionId,
        redacted: RedactedSession,
        at: Moment,
    ) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            sessions::must_exist(db, session)?;
            must_be_idle(db, &owners, session)?;
            let sql = "UPDATE messages SET body = ?3 WHERE session = ?1 AND id = ?2";
            for message in &redacted.messages {
                let body = codec::pack(&rows::to_json(message)?);
                db.execute(sql, params![session.0, rows::message_column(message.id)?, body])?;
            }
            documents::rewrite(db, &requests_of(db, session)?, &redacted.requests, at)
        })
        .await?;
        self.forget_document(session);
        Ok(())
    }

    /// Takes a text out of all that is neither a message nor a request, and says how much had it.
    pub async fn redact_free_texts(&self, redaction: Redaction) -> StoreResult<u64> {
        self.write(move |db| {
            // Only processes that are not there any more have followed anything.
            db.execute("DELETE FROM turn_snapshots", [])?;
            let texts = FREE_TEXTS.iter();
            texts.map(|(table, column, form)| form.redact(db, table, column, &redaction)).sum()
        })
        .await
    }

    /// Notes that a text is about to be taken out: should that be cut short, whoever looks next
    /// takes the bytes of what is gone out of the files.
    pub async fn begin_redaction(&self, at: Moment) -> StoreResult<()> {
        self.write(move |db| {
            let sql = "INSERT INTO redactions (at) VALUES (?1)";
            db.insert(sql, [at.microseconds()]).map(drop)
        })
        .await
    }

    /// Notes how much was changed, and takes the bytes of the text out of the files. Says whether
    /// they are gone: they are not where the disk has no room to write the rest anew, and of a
    /// server nobody here can tell.
    pub async fn finish_redaction(&self, counts: RedactionCounts, at: Moment) -> StoreResult<bool> {
        self.write(move |db| {
            let sql = "UPDATE redactions SET messages = ?2, requests = ?3 WHERE at = ?1";
            let column = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            let [messages, requests] = [counts.messages, counts.requests].map(column);
            db.execute(sql, [at.microseconds(), messages, requests]).map(drop)
        })
        .await?;
        self.wipe_deleted().await
    }
}

impl FreeTextForm {
    /// Takes a text out of a column, and says how many rows had it.
    fn redact(
        self,
        db: &SqlConnection,
        table: &str,
        column: &str,
        redaction: &Redaction,
    ) -> DbResult<u64> {
        let sql = format!("SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL");
        let changed = db.all(&sql, [], |row| {
            let id: i64 = row.get("id")?;
            Ok(self.redacted(row, column, redaction)?.map(|new| (id, new)))
        })?;
        let sql = format!("UPDATE {table} SET {column} = ?2 WHERE id = ?1");
        let mut count = 0;
        for (id, new) in changed.into_iter().flatten() {
            match new {
                ColumnValue::Text(text) => db.execute(&sql, params![id, text])?,
                ColumnValue::Bytes(bytes) => db.execute(&sql, params![id, bytes])?,
            };
            count += 1;
        }
        Ok(count)
    }

    /// A column without the text; nothing where it is not there, or can't be read.
    fn redacted(
        self,
        row: &SqlRow<'_>,
        column: &str,
        redaction: &Redaction,
    ) -> DbResult<Option<ColumnValue>> {
        let json = |text: &str| {
            let value = serde_json::from_str(text).ok();
            value.and_then(|value| redaction.json(&value)).map(|value| value.to_string())
        };
        let unpack = || -> DbResult<String> {
            Ok(codec::unpack(&row.get::<_, Vec<u8>>(column)?).unwrap_or_default())
        };
        let pack = |text: String| ColumnValue::Bytes(codec::pack(&text));
        Ok(match self {
            FreeTextForm::Plain => {
                redaction.text(&row.get::<_, String>(column)?).map(ColumnValue::Text)
            }
            FreeTextForm::Json => json(&row.get::<_, String>(column)?).map(ColumnValue::Text),
            FreeTextForm::Packed => redaction.text(&unpack()?).map(pack),
            FreeTextForm::PackedJson => json(&unpack()?).map(pack),
            FreeTextForm::PackedMessage => {
                let message: Option<Message> = serde_json::from_str(&unpack()?).ok();
                let message = message.and_then(|message| redaction.message(&message));
                message.map(|message| rows::to_json(&message).map(pack)).transpose()?
            }
        })
    }
}

/// A column's new value.
enum ColumnValue {
    Text(String),
    Bytes(Vec<u8>),
}
