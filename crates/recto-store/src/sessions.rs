//! Sessions: their names, their settings, and which conversation is bound to
//! which. A session is archived; what deletes one for good is in `deletion`.

use crate::sql::{SqlConnection, SqlRow, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::commit::{NewMessage, PackedMessage};
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::holder::SessionHolder;
use crate::ids::{Moment, SessionId};
use crate::items::{self, ItemsRevision};
use crate::names::{SessionName, SessionNameError};
use crate::retractions::{self, NewRetraction};
use crate::rows::{self, DbResult};
use crate::store::Store;
use crate::transcript::{self, MessagePlace};

/// A session's own settings, over those of its agent: a JSON object.
pub type SettingsMap = Map<String, Value>;

/// A conversation as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredSession {
    /// The number that people can name it by.
    pub id: SessionId,
    /// Its name, if somebody gave it one.
    pub name: Option<SessionName>,
    /// Whose conversation it is.
    pub agent: String,
    /// Where it began: `terminal`, `telegram`, ….
    pub surface: String,
    /// When the conversation began.
    pub created: Moment,
    /// Since when it is archived.
    pub archived: Option<Moment>,
    /// Its own settings, over those of its agent.
    pub settings: SettingsMap,
}

impl StoredSession {
    /// What people call it: its name, or else its number.
    pub fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| self.id.to_string(), ToString::to_string)
    }
}

/// A session to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Whose conversation it is.
    pub agent: String,
    /// Its name; one without is called by its number.
    pub name: Option<SessionName>,
    /// Where it begins: `terminal`, `telegram`, ….
    pub surface: String,
    /// When the conversation begins.
    pub at: Moment,
    /// Its own settings, over those of its agent.
    pub settings: SettingsMap,
}

/// The place where a conversation is held. The parts are kept apart, so that
/// `a:b` in one of them is not taken for two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BindingKey {
    /// Which agent is spoken to.
    pub agent: String,
    /// Where: `terminal`, `telegram`, ….
    pub surface: String,
    /// Through which bot or token.
    pub account: String,
    /// In which conversation there.
    pub conversation: String,
    /// By whom, where everybody has a session of their own.
    pub user: Option<String>,
    /// Before whom it is held: in one place, these may come to be others.
    #[serde(default)]
    pub holder: SessionHolder,
}

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionFilter {
    /// Those that are not archived, and in which no sub-agent does a task.
    #[default]
    Open,
    /// Those in which sub-agents do tasks, archived or not.
    Tasks,
    /// All of them.
    All,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    /// The session that is listed.
    pub session: StoredSession,
    /// How many messages it has.
    pub messages: u64,
    /// How many turns it has had.
    pub turns: u64,
    /// When something was last said; when it began if nothing was.
    pub last: Moment,
    /// The first words of its first message, if that can be read.
    pub opening: Option<String>,
    /// Which state its items are in; a number that says nothing by itself.
    #[serde(skip)]
    pub items: ItemsRevision,
}

/// What was said elsewhere, and what of it was taken back there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewTranscript {
    /// The messages, with growing numbers.
    pub messages: Vec<NewMessage>,
    /// Exchanges among them that no page is to have.
    pub retractions: Vec<NewRetraction>,
}

impl From<Vec<NewMessage>> for NewTranscript {
    fn from(messages: Vec<NewMessage>) -> Self {
        NewTranscript { messages, retractions: Vec::new() }
    }
}

impl Store {
    /// The open session bound to `key`, or a new one bound to it.
    pub async fn bind(&self, key: BindingKey, new: NewSession) -> StoreResult<StoredSession> {
        self.write(move |db| match bound(db, &key)? {
            Some(session) => Ok(session),
            None => bind_new(db, &key, &new),
        })
        .await
    }

    /// A session by its number.
    pub async fn session(&self, id: SessionId) -> StoreResult<Option<StoredSession>> {
        self.read(move |db| find(db, id)).await
    }

    /// A session of an agent that is held before somebody, by its name: open ones first, then
    /// the one archived last; or else any agent's, before whomever, by its number.
    pub async fn find_session(
        &self,
        agent: &str,
        holder: &SessionHolder,
        name: &str,
    ) -> StoreResult<Option<StoredSession>> {
        let (agent, holder, name) = (agent.to_owned(), holder.clone(), name.trim().to_owned());
        self.read(move |db| match by_name(db, &agent, &holder, &name)? {
            Some(session) => Ok(Some(session)),
            None => name.parse().ok().map_or(Ok(None), |id| find(db, id)),
        })
        .await
    }

    /// The sessions of a name that are held before somebody, at most one of each agent: the open
    /// one, or else the one archived last.
    pub async fn sessions_named(
        &self,
        holder: &SessionHolder,
        name: &str,
    ) -> StoreResult<Vec<StoredSession>> {
        let (holder, name) = (holder.clone(), name.trim().to_owned());
        self.read(move |db| {
            let sql = "SELECT DISTINCT agent FROM sessions WHERE name = ?1 ORDER BY agent";
            let agents: Vec<String> = db.all(sql, [&name], |row| row.get("agent"))?;
            let found = agents.iter().map(|agent| by_name(db, agent, &holder, &name));
            Ok(found.collect::<DbResult<Vec<_>>>()?.into_iter().flatten().collect())
        })
        .await
    }

    /// Sessions, the one spoken in last first.
    pub async fn sessions(&self, filter: SessionFilter) -> StoreResult<Vec<SessionSummary>> {
        self.read(move |db| list(db, filter)).await
    }

    /// The conversation that a session is bound to, if it is to one.
    pub async fn conversation_of(&self, session: SessionId) -> StoreResult<Option<BindingKey>> {
        self.read(move |db| {
            let sql = "SELECT key FROM bindings WHERE session = ?1 LIMIT 1";
            db.first(sql, [session.0], |row| rows::json(row, "key"))
        })
        .await
    }

    /// The conversations of an agent on a surface, with their sessions, those of the newest
    /// sessions first.
    pub async fn conversations(
        &self,
        agent: &str,
        surface: &str,
    ) -> StoreResult<Vec<(BindingKey, StoredSession)>> {
        let place = key_prefix(agent, surface)?;
        self.read(move |db| {
            let sql = "SELECT bindings.key, sessions.* FROM bindings
                       JOIN sessions ON sessions.id = bindings.session
                       WHERE substr(bindings.key, 1, length(?1)) = ?1 AND deleted IS NULL
                       ORDER BY sessions.id DESC";
            db.all(sql, [&place], |row| Ok((rows::json(row, "key")?, read(row)?)))
        })
        .await
    }

    /// A session with what a list shows of it.
    pub async fn session_summary(&self, id: SessionId) -> StoreResult<SessionSummary> {
        self.read(move |db| {
            let sql = format!("{LISTED} WHERE id = ?1 AND deleted IS NULL");
            let summary = db.first(&sql, [id.0], |row| summarise(db, row))?;
            summary.ok_or_else(|| StoreError::NotFound(RowId::Session(id)).into())
        })
        .await
    }

    /// All sessions, oldest first, without what a list shows of each. One that is
    /// damaged is left out.
    pub async fn sessions_brief(&self) -> StoreResult<Vec<StoredSession>> {
        self.read(|db| {
            let sql = format!("{LISTED} WHERE deleted IS NULL ORDER BY id");
            let read = |row: &SqlRow<'_>| rows::unless_damaged(read(row).map(Some));
            Ok(db.all(&sql, [], read)?.into_iter().flatten().collect())
        })
        .await
    }

    /// Gives a session another name. A conversation that is called by the old one
    /// goes by the new one: the old name is free for another session.
    pub async fn rename(&self, id: SessionId, name: SessionName) -> StoreResult<StoredSession> {
        self.write(move |db| {
            if let Some(old) = must_exist(db, id)?.name {
                move_binding(db, id, &old, &name)?;
            }
            let sql = "UPDATE sessions SET name = ?2 WHERE id = ?1";
            db.execute(sql, params![id.0, name.as_str()])
                .map_err(|error| name_taken(error, Some(&name)))?;
            must_exist(db, id)
        })
        .await
    }

    /// Puts a session away. The next message of its conversation begins another.
    pub async fn archive(&self, id: SessionId, at: Moment) -> StoreResult<StoredSession> {
        self.write(move |db| set_archived(db, id, Some(at))).await
    }

    /// Opens an archived session again.
    pub async fn unarchive(&self, id: SessionId) -> StoreResult<StoredSession> {
        self.write(move |db| set_archived(db, id, None)).await
    }

    /// Replaces a session's own settings.
    pub async fn set_settings(
        &self,
        id: SessionId,
        settings: SettingsMap,
    ) -> StoreResult<StoredSession> {
        let settings = rows::to_json(&settings)?;
        self.write(move |db| {
            let sql = "UPDATE sessions SET settings = ?2 WHERE id = ?1";
            db.execute(sql, params![id.0, settings])?;
            must_exist(db, id)
        })
        .await
    }

    /// A new session bound to `key`, with messages from elsewhere. Their numbers
    /// must grow.
    pub async fn import(
        &self,
        key: BindingKey,
        new: NewSession,
        transcript: impl Into<NewTranscript>,
    ) -> StoreResult<StoredSession> {
        let NewTranscript { messages, retractions } = transcript.into();
        let pack = move || messages.iter().map(PackedMessage::new).collect::<Result<Vec<_>, _>>();
        let messages = recto_fs::blocking(pack).await?;
        self.write(move |db| {
            let session = bind_new(db, &key, &new)?;
            transcript::append(db, session.id, MessagePlace::NoTurn, &messages)?;
            for retraction in &retractions {
                let by_nothing = None;
                retractions::insert(db, session.id, retraction, by_nothing)?;
            }
            Ok(session)
        })
        .await
    }
}

/// The key as it is stored. That of the owner's conversations says nothing of whom they are held
/// with.
pub(crate) fn key_column(key: &BindingKey) -> StoreResult<String> {
    let BindingKey { agent, surface, account, conversation, user, holder } = key;
    match holder.is_owner() {
        true => rows::to_json(&(agent, surface, account, conversation, user)),
        false => rows::to_json(&(agent, surface, account, conversation, user, holder)),
    }
}

/// What the keys of all conversations of an agent on a surface begin with.
fn key_prefix(agent: &str, surface: &str) -> StoreResult<String> {
    let list = rows::to_json(&(agent, surface))?;
    Ok(list.strip_suffix(']').unwrap_or(&list).to_owned() + ",")
}

fn bound(db: &SqlConnection, key: &BindingKey) -> DbResult<Option<StoredSession>> {
    let sql = "SELECT sessions.* FROM bindings JOIN sessions ON sessions.id = bindings.session
               WHERE bindings.key = ?1 AND sessions.archived IS NULL";
    db.first(sql, [key_column(key)?], read)
}

fn bind_new(db: &SqlConnection, key: &BindingKey, new: &NewSession) -> DbResult<StoredSession> {
    let session = insert(db, &key.holder, new)?;
    let sql = "INSERT INTO bindings (key, session) VALUES (?1, ?2)
               ON CONFLICT (key) DO UPDATE SET session = excluded.session";
    db.execute(sql, params![key_column(key)?, session.id.0])?;
    Ok(session)
}

/// Replaces the conversation in the key of a binding, where it is the old name.
fn move_binding(
    db: &SqlConnection,
    session: SessionId,
    old: &SessionName,
    new: &SessionName,
) -> DbResult<()> {
    let sql = "SELECT key FROM bindings WHERE session = ?1";
    let keys: Vec<String> = db.all(sql, [session.0], |row| row.get("key"))?;
    for key in keys {
        let parts: BindingKey = rows::from_json(&key, "key")?;
        if parts.conversation != old.as_str() || old == new {
            continue;
        }
        let moved = key_column(&BindingKey { conversation: new.as_str().to_owned(), ..parts })?;
        // What another session left under the new key is of an archived one.
        db.execute("DELETE FROM bindings WHERE key = ?1", [&moved])?;
        db.execute("UPDATE bindings SET key = ?2 WHERE key = ?1", [&key, &moved])?;
    }
    Ok(())
}

/// Makes a session.
pub(crate) fn insert(
    db: &SqlConnection,
    holder: &SessionHolder,
    new: &NewSession,
) -> DbResult<StoredSession> {
    let name = new.name.as_ref().map(SessionName::as_str);
    let settings = rows::to_json(&new.settings)?;
    let sql = "INSERT INTO sessions (name, agent, holder, surface, created, settings)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values =
        params![name, new.agent, holder.as_str(), new.surface, new.at.microseconds(), settings];
    let id = db.insert(sql, values).map_err(|error| name_taken(error, new.name.as_ref()))?;
    let NewSession { agent, name, surface, at: created, settings } = new.clone();
    Ok(StoredSession { id: SessionId(id), name, agent, surface, created, archived: None, settings })
}

/// Says which name it was that another open session has.
fn name_taken(error: DbError, name: Option<&SessionName>) -> DbError {
    match name {
        Some(name) if error.is_duplicate() => {
            StoreError::NameTaken { name: name.as_str().to_owned() }.into()
        }
        _ => error,
    }
}

/// Archives a session, or opens it again. Doing it twice changes nothing.
fn set_archived(db: &SqlConnection, id: SessionId, at: Option<Moment>) -> DbResult<StoredSession> {
    let session = must_exist(db, id)?;
    if session.archived.is_some() == at.is_some() {
        return Ok(session);
    }
    let sql = "UPDATE sessions SET archived = ?2 WHERE id = ?1";
    db.execute(sql, params![id.0, at.map(Moment::microseconds)])
        .map_err(|error| name_taken(error, session.name.as_ref()))?;
    must_exist(db, id)
}

/// The session, which the caller takes to be there.
pub(crate) fn must_exist(db: &SqlConnection, id: SessionId) -> DbResult<StoredSession> {
    find(db, id)?.ok_or_else(|| StoreError::NotFound(RowId::Session(id)).into())
}

pub(crate) fn find(db: &SqlConnection, id: SessionId) -> DbResult<Option<StoredSession>> {
    db.first("SELECT * FROM sessions WHERE id = ?1 AND deleted IS NULL", [id.0], read)
}

fn by_name(
    db: &SqlConnection,
    agent: &str,
    holder: &SessionHolder,
    name: &str,
) -> DbResult<Option<StoredSession>> {
    let named = [name, agent, holder.as_str()];
    let open = "SELECT * FROM sessions
                WHERE name = ?1 AND agent = ?2 AND holder = ?3 AND archived IS NULL";
    if let Some(session) = db.first(open, named, read)? {
        return Ok(Some(session));
    }
    let archived = "SELECT * FROM sessions
                    WHERE name = ?1 AND agent = ?2 AND holder = ?3 AND archived IS NOT NULL
                    ORDER BY archived DESC, id DESC LIMIT 1";
    db.first(archived, named, read)
}

/// Reads a session from its row.
pub(crate) fn read(row: &SqlRow<'_>) -> DbResult<StoredSession> {
    let name = match row.get::<_, Option<String>>("name")?.map(SessionName::try_from) {
        // An older Recto took names of which nothing is to be seen.
        Some(Err(SessionNameError::Empty)) => Ok(None),
        name => name.transpose(),
    };
    Ok(StoredSession {
        id: SessionId(row.get("id")?),
        name: name.map_err(|error| DbError::damaged(format!("a session's name ({error})")))?,
        agent: row.get("agent")?,
        surface: row.get("surface")?,
        created: rows::moment(row, "created")?,
        archived: rows::optional_moment(row, "archived")?,
        settings: rows::json(row, "settings")?,
    })
}

/// What lists need of a session. What a request handed on can be long, and is not read.
const LISTED: &str =
    "SELECT id, name, agent, surface, created, archived, settings, opening, items FROM sessions";

fn list(db: &SqlConnection, filter: SessionFilter) -> DbResult<Vec<SessionSummary>> {
    let sql = match filter {
        // What a sub-agent does belongs to whoever gave it the task.
        SessionFilter::Open => format!(
            "{LISTED} WHERE archived IS NULL AND id NOT IN (SELECT session FROM delegations)"
        ),
        SessionFilter::Tasks => {
            format!("{LISTED} WHERE deleted IS NULL AND id IN (SELECT session FROM delegations)")
        }
        SessionFilter::All => format!("{LISTED} WHERE deleted IS NULL"),
    };
    let mut summaries = db.all(&sql, [], |row| summarise(db, row))?;
    summaries.sort_by_key(|summary| std::cmp::Reverse((summary.last, summary.session.id)));
    Ok(summaries)
}

/// Reads a session with what a list shows of it.
fn summarise(db: &SqlConnection, row: &SqlRow<'_>) -> DbResult<SessionSummary> {
    let session = read(row)?;
    let id = session.id.0;
    let count = |sql| db.only::<i64>(sql, [id]);
    let messages = count("SELECT count(*) FROM messages WHERE session = ?1")?;
    let turns = count("SELECT count(*) FROM turns WHERE session = ?1")?;
    let sql = "SELECT at FROM messages WHERE session = ?1 ORDER BY id DESC LIMIT 1";
    // A list of all sessions is what people need most when one of them is damaged.
    let last = rows::unless_damaged(db.first(sql, [id], |row| row.get("at")))?;
    let opening = row.get::<_, Option<String>>("opening");
    Ok(SessionSummary {
        messages: messages.unsigned_abs(),
        turns: turns.unsigned_abs(),
        last: last.and_then(Moment::from_microseconds).unwrap_or(session.created),
        opening: rows::unless_damaged(opening)?,
        items: items::read_revision(row)?,
        session,
    })
}
