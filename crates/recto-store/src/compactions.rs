//! Summaries that stand on the page for messages which have left it.
//!
//! Each replaces the one before it and covers more. The messages are never
//! touched, so all of them can be undone: then the page begins again where it
//! began before the first. How a summary is made, and whether it is worth its
//! place, is not known here; nor is one part of a transcript.

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{HistorySummary, MessageId, SummaryBy, Text, Tokens, TrimTotals};

use crate::codec;
use crate::error::{DbError, StoreResult};
use crate::ids::{CompactionId, Moment, SessionId};
use crate::owner::OwnerRegistry;
use crate::rows::{self, DbResult};
use crate::sessions;
use crate::store::Store;
use crate::transcript;
use crate::turns;

/// A summary to be stored with the request that shows it first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCompaction {
    /// What stands for which messages.
    pub summary: HistorySummary,
    /// The model entry that wrote it, if one did.
    pub model: Option<String>,
    /// What the page took with all that the summary stands for.
    pub tokens_before: Tokens,
    /// What it takes with the summary.
    pub tokens_after: Tokens,
    /// When it was made.
    pub made: Moment,
}

/// A summary that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCompaction {
    /// Its number, counted over all sessions.
    pub id: CompactionId,
    /// The session in which it stands or stood.
    pub session: SessionId,
    /// The one that it replaced.
    pub parent: Option<CompactionId>,
    /// What stands for which messages.
    pub summary: HistorySummary,
    /// The model entry that wrote it, if one did.
    pub model: Option<String>,
    /// What the page took with all that the summary stands for.
    pub tokens_before: Tokens,
    /// What it took with the summary.
    pub tokens_after: Tokens,
    /// When it was made.
    pub made: Moment,
    /// Since when its messages are back.
    pub undone: Option<Moment>,
}

impl Store {
    /// All summaries of a session, oldest first, also those that were replaced or
    /// undone.
    pub async fn compactions(&self, session: SessionId) -> StoreResult<Vec<StoredCompaction>> {
        self.read(move |db| {
            sessions::must_exist(db, session)?;
            let sql = "SELECT * FROM compactions WHERE session = ?1 ORDER BY id";
            db.all(sql, [session.0], read)
        })
        .await
    }

    /// Undoes the summary that stands in a session with all that it replaced, so
    /// that their messages are on the page again, and gives it back; its text is
    /// empty where that is damaged. Nothing happens where none stands. Refused as
    /// [`Busy`](crate::StoreError::Busy) while a turn of the session is open: that would put
    /// back what it found.
    pub async fn expand(&self, id: SessionId, at: Moment) -> StoreResult<Option<StoredCompaction>> {
        let owners = self.owners();
        self.write(move |db| expand(db, &owners, id, at)).await
    }
}

/// Writes a summary, its text packed, in place of the one that stands. Done before the carry of the
/// same step is written: of the one before it the summary keeps what had left.
pub(crate) fn insert(
    db: &SqlConnection,
    session: SessionId,
    compaction: &NewCompaction,
    text: Option<&[u8]>,
) -> DbResult<()> {
    let NewCompaction { summary, model, tokens_before, tokens_after, made } = compaction;
    let trimmed = trimmed_before(db, session, summary.first)?;
    let sql = "INSERT INTO compactions
                   (session, parent, first, last, messages, how, model, text, tokens_before,
                    tokens_after, trimmed_messages, trimmed_tokens, made)
               VALUES (?1,
                   (SELECT id FROM compactions WHERE session = ?1 AND undone IS NULL
                    ORDER BY id DESC LIMIT 1),
                   ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let values = params![
        session.0,
        rows::message_column(summary.first)?,
        rows::message_column(summary.last)?,
        count_column(summary.messages),
        summary.how.name(),
        model,
        text,
        tokens_before.get(),
        tokens_after.get(),
        count_column(trimmed.messages),
        trimmed.tokens.get(),
        made.microseconds(),
    ];
    db.execute(sql, values).map(drop)
}

/// What had left when the page still began at `first`.
fn trimmed_before(
    db: &SqlConnection,
    session: SessionId,
    first: MessageId,
) -> DbResult<TrimTotals> {
    let carry = transcript::carry(db, session)?;
    let is_before = carry.history_from.is_none_or(|from| from <= first);
    Ok(if is_before { carry.trimmed } else { TrimTotals::default() })
}

/// No session has so many messages that the number has no place.
fn count_column(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The summary that stands: the newest that is not undone.
pub(crate) fn standing(
    db: &SqlConnection,
    session: SessionId,
) -> DbResult<Option<StoredCompaction>> {
    db.first(STANDING, [session.0], read)
}

/// The number of the summary that stands.
pub(crate) fn standing_id(
    db: &SqlConnection,
    session: SessionId,
) -> DbResult<Option<CompactionId>> {
    db.first(STANDING, [session.0], |row| Ok(CompactionId(row.get("id")?)))
}

const STANDING: &str = "SELECT * FROM compactions WHERE session = ?1 AND undone IS NULL
                        ORDER BY id DESC LIMIT 1";

fn expand(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    session: SessionId,
    at: Moment,
) -> DbResult<Option<StoredCompaction>> {
    sessions::must_exist(db, session)?;
    turns::must_be_idle(db, owners, session)?;
    let standing = db.first(STANDING, [session.0], |row| {
        // To be rid of a damaged one is a good reason to undo it.
        let text = rows::unless_damaged(read_text(row).map(Some))?;
        read_with(row, text.unwrap_or_default())
    })?;
    let Some(standing) = standing else { return Ok(None) };
    begin_page_again(db, session)?;
    let sql = "UPDATE compactions SET undone = ?2 WHERE session = ?1 AND undone IS NULL";
    db.execute(sql, params![session.0, at.microseconds()])?;
    Ok(Some(StoredCompaction { undone: Some(at), ..standing }))
}

/// Lets the page begin where the oldest of the summaries that stand began.
fn begin_page_again(db: &SqlConnection, session: SessionId) -> DbResult<()> {
    let sql = "SELECT first, trimmed_messages, trimmed_tokens FROM compactions
               WHERE session = ?1 AND undone IS NULL ORDER BY id LIMIT 1";
    let oldest = db.first(sql, [session.0], |row| {
        let messages = rows::unsigned(row, "trimmed_messages")?.unwrap_or_default();
        let tokens = rows::unsigned(row, "trimmed_tokens")?.map(Tokens::new).unwrap_or_default();
        Ok((message(row, "first")?, TrimTotals { messages, tokens }))
    })?;
    let mut carry = transcript::carry(db, session)?;
    // A carry that was lost hides nothing.
    let (Some((first, trimmed)), Some(from)) = (oldest, carry.history_from) else { return Ok(()) };
    if first < from {
        carry.history_from = Some(first);
        carry.trimmed = trimmed;
        // Whoever compares requests sees that the history was changed on purpose.
        carry.trims = carry.trims.saturating_add(1);
        transcript::set_carry(db, session, &rows::to_json(&carry)?)?;
    }
    Ok(())
}

/// Reads a whole row of `compactions`.
fn read(row: &SqlRow<'_>) -> DbResult<StoredCompaction> {
    read_with(row, read_text(row)?)
}

fn read_text(row: &SqlRow<'_>) -> DbResult<Text> {
    let packed = row.value("text")?.as_blob().ok_or_else(|| damaged(row))?;
    codec::unpack(packed).map(Text::from).map_err(|_| damaged(row))
}

/// Reads all but the text.
fn read_with(row: &SqlRow<'_>, text: Text) -> DbResult<StoredCompaction> {
    let how = row.value("how")?.as_str().and_then(by_name);
    let summary = HistorySummary {
        text,
        first: message(row, "first")?,
        last: message(row, "last")?,
        messages: rows::unsigned(row, "messages")?.ok_or_else(|| damaged(row))?,
        how: how.ok_or_else(|| damaged(row))?,
    };
    let tokens = |column| -> DbResult<Tokens> {
        rows::unsigned(row, column)?.map(Tokens::new).ok_or_else(|| damaged(row))
    };
    Ok(StoredCompaction {
        id: CompactionId(row.get("id")?),
        session: SessionId(row.get("session")?),
        parent: row.get::<_, Option<i64>>("parent")?.map(CompactionId),
        summary,
        model: row.get("model")?,
        tokens_before: tokens("tokens_before")?,
        tokens_after: tokens("tokens_after")?,
        made: rows::moment(row, "made")?,
        undone: rows::optional_moment(row, "undone")?,
    })
}

fn message(row: &SqlRow<'_>, column: &str) -> DbResult<MessageId> {
    rows::message_id(row, column)?
        .ok_or_else(|| DbError::damaged(format!("a message in `{column}`")))
}

fn by_name(name: &str) -> Option<SummaryBy> {
    [SummaryBy::Extract, SummaryBy::Summary].into_iter().find(|how| how.name() == name)
}

fn damaged(row: &SqlRow<'_>) -> DbError {
    let id: i64 = row.get("id").unwrap_or_default();
    DbError::damaged(format!("the summary {id} of a session"))
}
