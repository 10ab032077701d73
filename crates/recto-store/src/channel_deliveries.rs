//! What bots of chat services have to send, and what of it was sent: the outbox.
//!
//! A delivery says what is to stand in a conversation. The ids of the messages that were made for
//! it are kept as soon as the service has told them, so that whoever goes on with it changes those
//! and makes no others.

use crate::sql::{SqlConnection, SqlRow, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel_updates::ChannelAccount;
use crate::error::{DbError, StoreResult};
use crate::ids::{ChannelDeliveryId, Moment, TurnId};
use crate::leases;
use crate::owner::{OwnerId, TurnOwner};
use crate::rows::{self, DbResult};
use crate::store::Store;

/// Something to be delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewChannelDelivery {
    /// What it is for: there is one for each key.
    pub key: String,
    /// What it is delivered in the order of, such as a conversation.
    pub conversation: String,
    /// The turn whose reply it is.
    pub turn: Option<TurnId>,
    /// Where it goes, as JSON that the store does not read.
    pub target: Value,
    /// What it says, as far as that is known.
    pub content: Option<Value>,
}

/// Something that is to be delivered, or was.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelDelivery {
    /// Its number; later ones were made later.
    pub id: ChannelDeliveryId,
    /// What it is for.
    pub key: String,
    /// What it is delivered in the order of, such as a conversation.
    pub conversation: String,
    /// The turn whose reply it is.
    pub turn: Option<TurnId>,
    /// Where it goes, as JSON that the store does not read.
    pub target: Value,
    /// What it says; nothing while that is not known, and once it has been delivered.
    pub content: Option<Value>,
    /// The service's ids of the messages that were made for it, in order.
    pub sent: Vec<String>,
    /// Whether nothing is left to do for it.
    pub is_ended: bool,
}

/// How a delivery ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEnding {
    /// It stands where it should.
    Delivered,
    /// The service does not take it, for this reason.
    Refused(String),
}

/// What somebody said in a group without meaning the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct OverheardMessage {
    pub speaker: String,
    pub text: String,
}

/// What became of something that a bot was to post of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostState {
    /// It waits for its bot.
    Waiting,
    /// It stands where it should.
    Posted,
    /// It does not, for this reason.
    Refused(String),
}

/// How the bot of a chat service is, as the process that runs it last said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelHealth {
    /// The service, such as `telegram`.
    pub channel: String,
    /// What it was in a word.
    pub state: ChannelHealthState,
    /// The same for people.
    pub detail: String,
    /// When it was said.
    pub at: Moment,
    /// Whether the process that said it still runs: else it says nothing about now.
    pub is_current: bool,
}

/// How the bot of a chat service is, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants say it")]
pub enum ChannelHealthState {
    Starting,
    Running,
    Failing,
}

impl ChannelHealthState {
    const ALL: [ChannelHealthState; 3] =
        [ChannelHealthState::Starting, ChannelHealthState::Running, ChannelHealthState::Failing];

    /// A word for programs.
    pub fn name(self) -> &'static str {
        match self {
            ChannelHealthState::Starting => "starting",
            ChannelHealthState::Running => "running",
            ChannelHealthState::Failing => "failing",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl Store {
    /// Keeps something that is to be delivered; where its key is known, gives what is known.
    pub async fn add_delivery(
        &self,
        account: &ChannelAccount,
        new: NewChannelDelivery,
        at: Moment,
    ) -> StoreResult<ChannelDelivery> {
        let account = account.clone();
        self.write(move |db| insert(db, &account, &new, at)).await
    }

    /// What a bot has to deliver yet, oldest first.
    pub async fn open_deliveries(
        &self,
        account: &ChannelAccount,
    ) -> StoreResult<Vec<ChannelDelivery>> {
        let ChannelAccount { channel, account } = account.clone();
        self.read(move |db| {
            let sql = "SELECT * FROM channel_deliveries
                       WHERE channel = ?1 AND account = ?2 AND ended IS NULL ORDER BY id";
            let read = |row: &SqlRow<'_>| rows::unless_damaged(read(row).map(Some));
            let all = db.all(sql, [&channel, &account], read)?;
            Ok(all.into_iter().flatten().collect())
        })
        .await
    }

    /// The delivery that a bot has for a key.
    pub async fn find_delivery(
        &self,
        account: &ChannelAccount,
        key: &str,
    ) -> StoreResult<Option<ChannelDelivery>> {
        let (account, key) = (account.clone(), key.to_owned());
        self.read(move |db| find(db, &account, &key)).await
    }

    /// Notes the ids of all messages that were made for a delivery.
    pub async fn note_sent(&self, id: ChannelDeliveryId, sent: &[String]) -> StoreResult<()> {
        let (sent, owners) = (rows::to_json(&sent)?, self.owners());
        self.write(move |db| {
            let sql = "SELECT channel, account FROM channel_deliveries WHERE id = ?1";
            let account = db.first(sql, [id.0], |row| {
                Ok(ChannelAccount { channel: row.get("channel")?, account: row.get("account")? })
            })?;
            if let Some(account) = account {
                leases::must_not_be_lost(db, &owners, &account.lease_name())?;
            }
            let sql = "UPDATE channel_deliveries SET sent = ?2 WHERE id = ?1";
            db.execute(sql, params![id.0, sent]).map(drop)
        })
        .await
    }

    /// Says what a delivery is to say from now on; one that had ended is open again.
    pub async fn set_delivery_content(
        &self,
        id: ChannelDeliveryId,
        content: &Value,
    ) -> StoreResult<()> {
        let content = rows::to_json(content)?;
        self.write(move |db| {
            let sql = "UPDATE channel_deliveries
                       SET content = ?2, ended = NULL, problem = NULL WHERE id = ?1";
            db.execute(sql, params![id.0, content]).map(drop)
        })
        .await
    }

    /// Ends a delivery that was to say this, unless it is to say something else by now. What it
    /// said is not kept here.
    pub async fn end_delivery(
        &self,
        id: ChannelDeliveryId,
        said: Option<&Value>,
        ending: DeliveryEnding,
        at: Moment,
    ) -> StoreResult<()> {
        let said = said.map(rows::to_json).transpose()?;
        self.write(move |db| {
            let problem = match &ending {
                DeliveryEnding::Delivered => None,
                DeliveryEnding::Refused(problem) => Some(problem),
            };
            let sql = "UPDATE channel_deliveries SET ended = ?2, problem = ?3, content = NULL
                       WHERE id = ?1 AND content IS NOT DISTINCT FROM ?4";
            db.execute(sql, params![id.0, at.microseconds(), problem, said]).map(drop)
        })
        .await
    }

    /// Forgets what has ended before a moment. Of updates, services remember less long.
    pub async fn prune_channels(&self, before: Moment) -> StoreResult<()> {
        self.write(move |db| {
            let before = [before.microseconds()];
            db.execute("DELETE FROM channel_updates WHERE ended < ?1", before)?;
            db.execute("DELETE FROM channel_deliveries WHERE ended < ?1", before)?;
            db.execute("DELETE FROM channel_overheard WHERE at < ?1", before).map(drop)
        })
        .await
    }

    /// Keeps what was said in a group without meaning the agent: the newest `most` of it.
    pub async fn overhear(
        &self,
        account: &ChannelAccount,
        conversation: &str,
        said: OverheardMessage,
        most: u32,
        at: Moment,
    ) -> StoreResult<()> {
        let (account, conversation) = (account.clone(), conversation.to_owned());
        self.write(move |db| {
            let ChannelAccount { channel, account } = &account;
            let sql = "INSERT INTO channel_overheard
                       (channel, account, conversation, at, speaker, text)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let OverheardMessage { speaker, text } = &said;
            let values = params![channel, account, conversation, at.microseconds(), speaker, text];
            db.execute(sql, values)?;
            let sql = "DELETE FROM channel_overheard
                       WHERE channel = ?1 AND account = ?2 AND conversation = ?3 AND id NOT IN (
                           SELECT id FROM channel_overheard
                           WHERE channel = ?1 AND account = ?2 AND conversation = ?3
                           ORDER BY id DESC LIMIT ?4)";
            db.execute(sql, params![channel, account, conversation, most]).map(drop)
        })
        .await
    }

    /// What was said in a group since the agent was last meant, oldest first.
    pub async fn overheard(
        &self,
        account: &ChannelAccount,
        conversation: &str,
    ) -> StoreResult<Vec<OverheardMessage>> {
        let ChannelAccount { channel, account } = account.clone();
        let conversation = conversation.to_owned();
        self.read(move |db| {
            let sql = "SELECT speaker, text FROM channel_overheard
                       WHERE channel = ?1 AND account = ?2 AND conversation = ?3 ORDER BY id";
            db.all(sql, [&channel, &account, &conversation], |row| {
                Ok(OverheardMessage { speaker: row.get("speaker")?, text: row.get("text")? })
            })
        })
        .await
    }

    /// Forgets what was said in a group: a message of the agent's has it now.
    pub async fn forget_overheard(
        &self,
        account: &ChannelAccount,
        conversation: &str,
    ) -> StoreResult<()> {
        let (account, conversation) = (account.clone(), conversation.to_owned());
        self.write(move |db| {
            let sql = "DELETE FROM channel_overheard
                       WHERE channel = ?1 AND account = ?2 AND conversation = ?3";
            db.execute(sql, [&account.channel, &account.account, &conversation]).map(drop)
        })
        .await
    }

    /// Notes how the bot of a chat service is, as this process says it.
    pub async fn set_channel_health(
        &self,
        channel: &str,
        state: ChannelHealthState,
        detail: &str,
        at: Moment,
    ) -> StoreResult<()> {
        let (channel, detail, owner) = (channel.to_owned(), detail.to_owned(), self.owners().own());
        self.write(move |db| {
            let sql = "INSERT INTO channel_health (channel, state, detail, at, owner)
                       VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (channel) DO UPDATE
                       SET state = excluded.state, detail = excluded.detail, at = excluded.at,
                           owner = excluded.owner";
            let values = params![channel, state.name(), detail, at.microseconds(), owner.0];
            db.execute(sql, values).map(drop)
        })
        .await
    }

    /// How the bots of all chat services are, as was last said.
    pub async fn channel_health(&self) -> StoreResult<Vec<ChannelHealth>> {
        let owners = self.owners();
        self.read(move |db| {
            db.all("SELECT * FROM channel_health ORDER BY channel", [], |row| {
                let state: String = row.get("state")?;
                let state = ChannelHealthState::from_name(&state)
                    .ok_or_else(|| DbError::damaged(format!("channel state `{state}`")))?;
                let owner = row.get::<_, Option<i64>>("owner")?.map(OwnerId);
                let owner = owner.map(|owner| owners.look_up(db, owner)).transpose()?;
                Ok(ChannelHealth {
                    channel: row.get("channel")?,
                    state,
                    detail: row.get("detail")?,
                    at: rows::moment(row, "at")?,
                    is_current: owner.is_some_and(|owner| owner != TurnOwner::Gone),
                })
            })
        })
        .await
    }
}

/// What became of the deliveries of a key, which one bot has; nothing once that is forgotten.
pub(crate) fn post_state(db: &SqlConnection, key: &str) -> DbResult<Option<PostState>> {
    let sql = "SELECT ended, problem FROM channel_deliveries WHERE key = ?1";
    db.first(sql, [key], |row| {
        let problem: Option<String> = row.get("problem")?;
        Ok(match (rows::optional_moment(row, "ended")?, problem) {
            (None, _) => PostState::Waiting,
            (Some(_), None) => PostState::Posted,
            (Some(_), Some(problem)) => PostState::Refused(problem),
        })
    })
}

/// The place that a delivery goes to, which need not be what it is kept in order with: a reply waits
/// for others of its session.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DeliveryPlace {
    chat: String,
    thread: Option<String>,
}

impl DeliveryPlace {
    /// The name of the conversation.
    fn name(self) -> String {
        match self.thread {
            Some(thread) => format!("{}/{thread}", self.chat),
            None => self.chat,
        }
    }
}

/// Ends what a bot has still to say in conversations that nobody is to read it in any more.
pub(crate) fn withdraw(
    db: &SqlConnection,
    account: &ChannelAccount,
    at: Moment,
    is_meant: impl Fn(&str) -> bool,
) -> DbResult<()> {
    let sql = "SELECT id, conversation, target FROM channel_deliveries
               WHERE channel = ?1 AND account = ?2 AND ended IS NULL";
    let read = |row: &SqlRow<'_>| {
        let place: DeliveryPlace = rows::json(row, "target").unwrap_or_default();
        Ok((row.get("id")?, [row.get("conversation")?, place.name()]))
    };
    let open: Vec<(i64, [String; 2])> = db.all(sql, [&account.channel, &account.account], read)?;
    for (id, _) in open.iter().filter(|(_, names)| names.iter().any(|name| is_meant(name))) {
        let sql = "UPDATE channel_deliveries
                   SET ended = ?2, problem = 'they were put out', content = NULL WHERE id = ?1";
        db.execute(sql, [*id, at.microseconds()])?;
    }
    Ok(())
}

/// Keeps something that is to be delivered; where its key is known, gives what is known.
pub(crate) fn insert(
    db: &SqlConnection,
    account: &ChannelAccount,
    new: &NewChannelDelivery,
    at: Moment,
) -> DbResult<ChannelDelivery> {
    let NewChannelDelivery { key, conversation, turn, target, content } = new;
    let sql = "INSERT INTO channel_deliveries
               (channel, account, key, conversation, turn, created, target, content)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING";
    let content = content.as_ref().map(rows::to_json).transpose()?;
    let values = params![
        account.channel,
        account.account,
        key,
        conversation,
        turn.map(|turn| turn.0),
        at.microseconds(),
        rows::to_json(target)?,
        content
    ];
    db.execute(sql, values)?;
    find(db, account, key)?.ok_or_else(|| DbError::damaged(format!("delivery `{key}`")))
}

fn find(
    db: &SqlConnection,
    account: &ChannelAccount,
    key: &str,
) -> DbResult<Option<ChannelDelivery>> {
    let sql = "SELECT * FROM channel_deliveries WHERE channel = ?1 AND account = ?2 AND key = ?3";
    db.first(sql, [account.channel.as_str(), account.account.as_str(), key], read)
}

fn read(row: &SqlRow<'_>) -> DbResult<ChannelDelivery> {
    Ok(ChannelDelivery {
        id: ChannelDeliveryId(row.get("id")?),
        key: row.get("key")?,
        conversation: row.get("conversation")?,
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        target: rows::json(row, "target")?,
        content: rows::optional_json(row, "content")?,
        sent: rows::json(row, "sent")?,
        is_ended: rows::optional_moment(row, "ended")?.is_some(),
    })
}
