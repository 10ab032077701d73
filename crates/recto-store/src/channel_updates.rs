//! What bots of chat services were sent. It is stored before the service hears that it came, in
//! one commit with how far the bot has read, and stays open until it has become something that
//! lasts: a turn, an answer, nothing at all.

use crate::sql::{SqlConnection, SqlRow, params};
use serde_json::Value;

use crate::channel_deliveries::{self, ChannelDelivery, NewChannelDelivery};
use crate::error::StoreResult;
use crate::ids::{ChannelUpdateId, Moment};
use crate::leases;
use crate::rows::{self, DbResult};
use crate::store::Store;

/// A bot of a chat service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelAccount {
    /// The service, such as `telegram`.
    pub channel: String,
    /// The bot's name there.
    pub account: String,
}

impl ChannelAccount {
    /// The lease of whoever reads what the bot is sent, and speaks for it.
    pub fn lease_name(&self) -> String {
        format!("{}:{}", self.channel, self.account)
    }
}

/// How far a bot has read.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelCursor {
    /// The service's number of the last update that is stored.
    pub position: i64,
    /// What the service needs beside the number to go on from there, as JSON that the store does
    /// not read.
    pub resume: Option<Value>,
    /// When that came.
    pub at: Moment,
}

/// An update to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChannelUpdate {
    /// The service's own name of it: the same one is the same update.
    pub key: String,
    /// The conversation in whose order it is dealt with.
    pub conversation: String,
    /// What came, as JSON that the store does not read.
    pub payload: Value,
}

/// An update that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelUpdate {
    /// Its number; later ones came later.
    pub id: ChannelUpdateId,
    /// The service's own name of it.
    pub key: String,
    /// The conversation in whose order it is dealt with.
    pub conversation: String,
    /// What came, as JSON that the store does not read.
    pub payload: Value,
    /// When it came.
    pub received: Moment,
    /// Whether something was begun for it that must not be done twice.
    pub is_begun: bool,
}

impl Store {
    /// Keeps updates and how far the bot has read, in one commit. Gives those that had not come
    /// before, in their order.
    pub async fn receive_updates(
        &self,
        account: &ChannelAccount,
        updates: Vec<NewChannelUpdate>,
        cursor: ChannelCursor,
    ) -> StoreResult<Vec<ChannelUpdate>> {
        let (account, owners) = (account.clone(), self.owners());
        self.write(move |db| {
            leases::must_not_be_lost(db, &owners, &account.lease_name())?;
            let mut new = Vec::new();
            for update in &updates {
                new.extend(insert(db, &account, update, cursor.at)?);
            }
            let sql = "INSERT INTO channel_cursors (channel, account, position, resume, at)
                       VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (channel, account) DO UPDATE
                       SET position = excluded.position, resume = excluded.resume,
                           at = excluded.at";
            let ChannelAccount { channel, account } = &account;
            let ChannelCursor { position, resume, at } = &cursor;
            let resume = resume.as_ref().map(rows::to_json).transpose()?;
            let values = params![channel, account, position, resume, at.microseconds()];
            db.execute(sql, values)?;
            Ok(new)
        })
        .await
    }

    /// How far a bot has read, if it ever has.
    pub async fn channel_cursor(
        &self,
        account: &ChannelAccount,
    ) -> StoreResult<Option<ChannelCursor>> {
        let ChannelAccount { channel, account } = account.clone();
        self.read(move |db| {
            let sql = "SELECT * FROM channel_cursors WHERE channel = ?1 AND account = ?2";
            db.first(sql, [&channel, &account], |row| {
                Ok(ChannelCursor {
                    position: row.get("position")?,
                    resume: rows::optional_json(row, "resume")?,
                    at: rows::moment(row, "at")?,
                })
            })
        })
        .await
    }

    /// The updates of a bot that have not ended, in the order in which they came.
    pub async fn open_updates(&self, account: &ChannelAccount) -> StoreResult<Vec<ChannelUpdate>> {
        let ChannelAccount { channel, account } = account.clone();
        self.read(move |db| {
            let sql = "SELECT * FROM channel_updates
                       WHERE channel = ?1 AND account = ?2 AND ended IS NULL ORDER BY id";
            let read = |row: &SqlRow<'_>| rows::unless_damaged(read(row).map(Some));
            let all = db.all(sql, [&channel, &account], read)?;
            Ok(all.into_iter().flatten().collect())
        })
        .await
    }

    /// The conversations that a bot was last sent something in, as far as updates are remembered,
    /// the latest first.
    pub async fn recent_conversations(
        &self,
        account: &ChannelAccount,
        most: u32,
    ) -> StoreResult<Vec<String>> {
        let ChannelAccount { channel, account } = account.clone();
        self.read(move |db| {
            let sql = "SELECT conversation, max(id) AS latest FROM channel_updates
                       WHERE channel = ?1 AND account = ?2
                       GROUP BY conversation ORDER BY latest DESC LIMIT ?3";
            db.all(sql, params![channel, account, most], |row| row.get("conversation"))
        })
        .await
    }

    /// Notes that something is begun for an update that must not be done twice.
    pub async fn begin_update(&self, id: ChannelUpdateId, at: Moment) -> StoreResult<()> {
        self.write(move |db| {
            let sql = "UPDATE channel_updates SET begun = coalesce(begun, ?2) WHERE id = ?1";
            db.execute(sql, [id.0, at.microseconds()]).map(drop)
        })
        .await
    }

    /// Ends an update, together with all that is to be delivered for it.
    pub async fn finish_update(
        &self,
        account: &ChannelAccount,
        id: ChannelUpdateId,
        deliveries: Vec<NewChannelDelivery>,
        at: Moment,
    ) -> StoreResult<Vec<ChannelDelivery>> {
        let (account, owners) = (account.clone(), self.owners());
        self.write(move |db| {
            leases::must_not_be_lost(db, &owners, &account.lease_name())?;
            let sql = "UPDATE channel_updates SET ended = ?2, payload = NULL WHERE id = ?1";
            db.execute(sql, [id.0, at.microseconds()])?;
            let insert = |new| channel_deliveries::insert(db, &account, new, at);
            deliveries.iter().map(insert).collect()
        })
        .await
    }

    /// The conversations that have another id now: the first one, and the one of now.
    pub async fn channel_moves(
        &self,
        account: &ChannelAccount,
    ) -> StoreResult<Vec<(String, String)>> {
        let ChannelAccount { channel, account } = account.clone();
        self.read(move |db| {
            let sql = "SELECT * FROM channel_moves WHERE channel = ?1 AND account = ?2";
            let read = |row: &SqlRow<'_>| Ok((row.get("origin")?, row.get("current")?));
            db.all(sql, [&channel, &account], read)
        })
        .await
    }

    /// Notes that the service has given a conversation another id.
    pub async fn note_channel_move(
        &self,
        account: &ChannelAccount,
        from: &str,
        to: &str,
    ) -> StoreResult<()> {
        let (account, from, to) = (account.clone(), from.to_owned(), to.to_owned());
        self.write(move |db| {
            let ChannelAccount { channel, account } = &account;
            let sql = "SELECT origin FROM channel_moves
                       WHERE channel = ?1 AND account = ?2 AND current = ?3";
            let origin =
                db.first(sql, [channel, account, &from], |row| row.get::<_, String>("origin"))?;
            let sql = "INSERT INTO channel_moves (channel, account, origin, current)
                       VALUES (?1, ?2, ?3, ?4) ON CONFLICT (channel, account, origin)
                       DO UPDATE SET current = excluded.current";
            db.execute(sql, [channel, account, &origin.unwrap_or(from.clone()), &to]).map(drop)
        })
        .await
    }
}

/// Keeps an update, unless it came before.
fn insert(
    db: &SqlConnection,
    account: &ChannelAccount,
    update: &NewChannelUpdate,
    at: Moment,
) -> DbResult<Option<ChannelUpdate>> {
    let NewChannelUpdate { key, conversation, payload } = update;
    let sql = "INSERT INTO channel_updates (channel, account, key, conversation, received, payload)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
    let values = params![
        account.channel,
        account.account,
        key,
        conversation,
        at.microseconds(),
        rows::to_json(payload)?
    ];
    Ok(db.insert_new(sql, values)?.map(|id| ChannelUpdate {
        id: ChannelUpdateId(id),
        key: key.clone(),
        conversation: conversation.clone(),
        payload: payload.clone(),
        received: at,
        is_begun: false,
    }))
}

fn read(row: &SqlRow<'_>) -> DbResult<ChannelUpdate> {
    Ok(ChannelUpdate {
        id: ChannelUpdateId(row.get("id")?),
        key: row.get("key")?,
        conversation: row.get("conversation")?,
        payload: rows::json(row, "payload")?,
        received: rows::moment(row, "received")?,
        is_begun: rows::optional_moment(row, "begun")?.is_some(),
    })
}
