//! Turns: accepted, run, ended, and never two of one session at once.
//!
//! Who may run a turn is decided inside the transaction that writes: a turn
//! begins or is claimed only when no older one of its session is open, and is
//! written only by the owner that runs it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{ContentPart, Message, MessageBody, MessageId, TurnNumber, UserMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec;
use crate::commit::{
    self, PackedCommit, SessionBasis, StartedTurn, TurnCommit, TurnOutcome, TurnRow,
};
use crate::compactions;
use crate::deliveries::{self, DeliveryKey};
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{Moment, RequestId, SessionId, TurnId};
use crate::owner::{OwnerId, OwnerRegistry, TurnOwner};
use crate::retractions::{self, NewRetraction};
use crate::rows::{self, DbResult};
use crate::sessions::{self, SettingsMap};
use crate::store::Store;
use crate::transcript;

/// A message that came in and wants a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// The session that it was said in.
    pub session: SessionId,
    /// When the message came in.
    pub at: Moment,
    /// What the message holds.
    pub content: Vec<ContentPart>,
    /// Who said it: JSON that the store does not read.
    pub actor: Value,
    /// What holds for this turn alone: a JSON object.
    pub settings: SettingsMap,
    /// The message as its surface knows it. One that was taken in before is refused as
    /// [`StoreError::Delivered`]; `None` can't be known again.
    pub delivery: Option<DeliveryKey>,
    /// What the client brought along, as JSON.
    pub client: Option<Value>,
    /// The exchange in whose place the message is said, which must be the session's last.
    pub retraction: Option<NewRetraction>,
}

/// A turn as it is stored: one message that came in, and all that was done for it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTurn {
    /// Its number, counted over all sessions.
    pub id: TurnId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its number within the session, from 1.
    pub number: TurnNumber,
    /// How far it is.
    pub status: TurnStatus,
    /// Who runs it or is to run it; nobody once it has ended.
    pub owner: Option<TurnOwner>,
    /// Who asked for it: JSON that the store does not read.
    pub actor: Value,
    /// What holds for this turn alone: a JSON object.
    pub settings: SettingsMap,
    /// What was received, until it stands in the transcript as the turn's first
    /// message.
    pub inbound: Option<Vec<ContentPart>>,
    /// What the client brought along, as long as the inbound is kept.
    pub client: Option<Value>,
    /// The turn that it goes on with, where a client has run calls of that one.
    pub continues: Option<TurnId>,
    /// When it was accepted.
    pub accepted: Moment,
    /// When it began to run.
    pub started: Option<Moment>,
    /// When it ended, in whichever way.
    pub ended: Option<Moment>,
    /// The first message that it added to the transcript.
    pub first_message: Option<MessageId>,
    /// The state of the running turn, as it was last written; and of one that handed calls
    /// out, until another goes on with it.
    pub state: Option<Value>,
    /// More about its end, for people.
    pub detail: Option<String>,
    /// How often it was begun.
    pub attempts: TurnAttempts,
    /// Who has asked to stop it: JSON that the store does not read.
    pub stop_by: Option<Value>,
}

/// How often a turn was begun, by one process or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnAttempts {
    /// All of its begins.
    pub begins: u32,
    /// Those that their process gave back and lived on: the store did not take what came of
    /// them, which says nothing of the turn.
    pub releases: u32,
}

impl TurnAttempts {
    /// How many of the begins ended with their process, or go on.
    pub fn cuts(self) -> u32 {
        self.begins.saturating_sub(self.releases)
    }
}

/// The turns that are queued or running.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenTurns {
    /// Those that can be read, oldest first.
    pub turns: Vec<StoredTurn>,
    /// Those that can't, each with what is wrong with it.
    pub damaged: Vec<(TurnId, StoreError)>,
}

/// A turn that is queued or running, and who has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnedTurn {
    /// Its number, counted over all sessions.
    pub turn: TurnId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Who runs it or is to run it.
    pub owner: TurnOwner,
}

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnStatus {
    /// Stored, and waiting for its turn.
    Queued,
    /// A process is working on it.
    Running,
    /// It is over, in this way.
    Ended(TurnEnding),
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnding {
    /// With a reply of the model.
    Done,
    /// With an error that people were shown.
    Failed,
    /// Because a person said so.
    Stopped,
    /// Its process ended first.
    Interrupted,
    /// With calls that are its client's to run.
    HandedOut,
}

impl TurnEnding {
    const ALL: [TurnEnding; 5] = [
        TurnEnding::Done,
        TurnEnding::Failed,
        TurnEnding::Stopped,
        TurnEnding::Interrupted,
        TurnEnding::HandedOut,
    ];

    /// The name that records and people use.
    pub fn name(self) -> &'static str {
        match self {
            TurnEnding::Done => "done",
            TurnEnding::Failed => "failed",
            TurnEnding::Stopped => "stopped",
            TurnEnding::Interrupted => "interrupted",
            TurnEnding::HandedOut => "handed_out",
        }
    }

    /// The ending of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        TurnEnding::ALL.into_iter().find(|ending| ending.name() == name)
    }
}

impl TurnStatus {
    /// The name that records and people use.
    pub fn name(self) -> &'static str {
        match self {
            TurnStatus::Queued => "queued",
            TurnStatus::Running => "running",
            TurnStatus::Ended(ending) => ending.name(),
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let ended = TurnEnding::ALL.map(TurnStatus::Ended);
        let mut all = [TurnStatus::Queued, TurnStatus::Running].into_iter().chain(ended);
        all.find(|status| status.name() == name)
    }
}

impl fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for TurnStatus {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Store {
    /// Stores what came in, to be run later by this process.
    pub async fn accept(&self, inbound: NewTurn) -> StoreResult<StoredTurn> {
        let owners = self.owners();
        let packed = PackedInbound::new(&inbound)?;
        self.write(move |db| {
            deliveries::must_be_new(db, inbound.delivery.as_ref())?;
            if inbound.retraction.is_some() {
                must_be_idle(db, &owners, inbound.session)?;
            }
            let not_begun = None;
            let (id, _) = insert(db, owners.own(), &inbound, &packed, not_begun)?;
            retract_for(db, &owners, &inbound, id)?;
            must_exist(db, &owners, id)
        })
        .await
    }

    /// Stores what came in together with the turn's first step. Refused as
    /// [`StoreError::Busy`] while another turn of the session is open; then the
    /// inbound can be [accepted](Store::accept).
    pub async fn begin(
        &self,
        inbound: NewTurn,
        commit: impl Into<Arc<TurnCommit>>,
    ) -> StoreResult<StartedTurn> {
        let commit = commit.into();
        // Where the commit has the message itself, it need not be stored twice.
        let packed = match commit.messages.first().map(|new| commit::is_inbound(&new.message)) {
            Some(true) => PackedInbound::default(),
            _ => PackedInbound::new(&inbound)?,
        };
        let owners = self.owners();
        self.commit(Some(inbound.session), commit, move |db, commit| {
            let started = begin(db, &owners, &inbound, &packed, commit)?;
            Ok((started, started.request))
        })
        .await
    }

    /// Starts to run a queued turn of this process. Refused as
    /// [`StoreError::Busy`] while an older turn of the session is open.
    pub async fn claim(&self, turn: TurnId, at: Moment) -> StoreResult<StoredTurn> {
        let owners = self.owners();
        self.write(move |db| claim(db, &owners, turn, at)).await
    }

    /// Writes the next step of a running turn of this process.
    pub async fn advance(
        &self,
        turn: TurnId,
        step: impl Into<Arc<TurnCommit>>,
    ) -> StoreResult<Option<RequestId>> {
        let step = step.into();
        let owners = self.owners();
        // Only a request needs to know its session before the transaction.
        let session = match step.request {
            Some(_) => Some(self.read(move |db| standing(db, turn)).await?.session),
            None => None,
        };
        self.commit(session, step, move |db, packed| {
            let standing = standing(db, turn)?;
            must_be_ours(db, &owners, turn, standing, TurnStatus::Running)?;
            must_be_at_begin(turn, standing, packed.commit.begun)?;
            let row = TurnRow::Earlier;
            let request = commit::apply(db, standing.session, turn, row, packed)?;
            Ok((request, request))
        })
        .await
    }

    /// Makes an open turn whose owner is gone one of this process. It stays
    /// queued or running as it was. Where this process has it already, and had begun it, that
    /// begin is given back.
    pub async fn take_over(&self, turn: TurnId) -> StoreResult<StoredTurn> {
        let owners = self.owners();
        self.write(move |db| take_over(db, &owners, turn)).await
    }

    /// Counts that a running turn of this process is begun once more, from where another
    /// process left it.
    pub async fn begin_again(&self, turn: TurnId) -> StoreResult<StoredTurn> {
        let owners = self.owners();
        self.write(move |db| {
            must_be_ours(db, &owners, turn, standing(db, turn)?, TurnStatus::Running)?;
            let sql = "UPDATE turns SET begins = begins + 1, begun_by = ?2 WHERE id = ?1";
            db.execute(sql, [turn.0, owners.own().0])?;
            must_exist(db, &owners, turn)
        })
        .await
    }

    /// Gives up the open turns that this process has of an agent, as if it had ended: whoever
    /// comes next can take them over. What is still written for them is refused from then on.
    pub async fn release_turns(&self, agent: &str) -> StoreResult<()> {
        let (owners, agent) = (self.owners(), agent.to_owned());
        self.write(move |db| {
            let sql = "UPDATE turns SET owner = ?3, begun_by = NULL
                       WHERE owner = ?1 AND ended IS NULL
                       AND session IN (SELECT id FROM sessions WHERE agent = ?2)";
            let nobody = OwnerId::nobody();
            db.execute(sql, params![owners.own().0, agent, nobody.0]).map(drop)
        })
        .await
    }

    /// Ends a turn of this process that has not begun.
    pub async fn withdraw(&self, turn: TurnId, outcome: TurnOutcome) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            must_be_ours(db, &owners, turn, standing(db, turn)?, TurnStatus::Queued)?;
            let nothing_used = None;
            commit::end_turn(db, turn, &outcome, nothing_used)
        })
        .await
    }

    /// Ends an open turn of a process that is gone, without reading what it holds:
    /// for one that is damaged.
    pub async fn end_unread(&self, turn: TurnId, outcome: TurnOutcome) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            // Not even its status may be readable.
            let owner: Option<i64> = db.only("SELECT owner FROM turns WHERE id = ?1", [turn.0])?;
            match owner.map(|id| owners.look_up(db, OwnerId(id))).transpose()? {
                Some(TurnOwner::Gone) => {
                    let unknown = None;
                    commit::end_turn(db, turn, &outcome, unknown)
                }
                Some(owner) => Err(StoreError::NotOurs { turn, owner }.into()),
                None => Err(StoreError::NotFound(RowId::Turn(turn)).into()),
            }
        })
        .await
    }

    /// A turn by its number.
    pub async fn turn(&self, id: TurnId) -> StoreResult<Option<StoredTurn>> {
        let owners = self.owners();
        self.read(move |db| find(db, &owners, id)).await
    }

    /// The turn that has a number within its session.
    pub async fn turn_at(
        &self,
        session: SessionId,
        number: TurnNumber,
    ) -> StoreResult<Option<TurnId>> {
        self.read(move |db| {
            let sql = "SELECT id FROM turns WHERE session = ?1 AND number = ?2";
            let of_number = params![session.0, number.0];
            db.first(sql, of_number, |row| Ok(TurnId(row.get("id")?)))
        })
        .await
    }

    /// The last turns of a session, or the last before one of them, oldest first.
    pub async fn last_turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        most: u32,
    ) -> StoreResult<Vec<StoredTurn>> {
        let owners = self.owners();
        let before = before.map_or(i64::MAX, TurnId::get);
        self.read(move |db| {
            let sql = "SELECT * FROM turns WHERE session = ?1 AND id < ?2
                       ORDER BY number DESC LIMIT ?3";
            let asked = params![session.0, before, most];
            let mut turns = db.all(sql, asked, |row| read(db, row, &owners))?;
            turns.reverse();
            Ok(turns)
        })
        .await
    }

    /// A session's turns, oldest first.
    pub async fn turns(&self, session: SessionId) -> StoreResult<Vec<StoredTurn>> {
        let owners = self.owners();
        self.read(move |db| {
            let sql = "SELECT * FROM turns WHERE session = ?1 ORDER BY number";
            db.all(sql, [session.0], |row| read(db, row, &owners))
        })
        .await
    }

    /// The last turn of a session, or of all.
    pub async fn last_turn(&self, session: Option<SessionId>) -> StoreResult<Option<StoredTurn>> {
        let owners = self.owners();
        self.read(move |db| match session {
            Some(session) => {
                let sql = "SELECT * FROM turns WHERE session = ?1 ORDER BY number DESC LIMIT 1";
                db.first(sql, [session.0], |row| read(db, row, &owners))
            }
            None => {
                // Those of sub-agents are found by the turn that gave them their tasks.
                let sql = "SELECT * FROM turns
                           WHERE session IN (SELECT id FROM sessions WHERE deleted IS NULL)
                               AND NOT EXISTS
                                   (SELECT 1 FROM delegations
                                    WHERE delegations.session = turns.session
                                        AND parent IS NOT NULL)
                           ORDER BY id DESC LIMIT 1";
                db.first(sql, [], |row| read(db, row, &owners))
            }
        })
        .await
    }

    /// The last turn of all that made a request.
    pub async fn last_turn_with_request(&self) -> StoreResult<Option<StoredTurn>> {
        let owners = self.owners();
        self.read(move |db| {
            let sql = "SELECT * FROM turns WHERE id = (SELECT max(turn) FROM requests)";
            db.first(sql, [], |row| read(db, row, &owners))
        })
        .await
    }

    /// The turns that are queued or running, with who has them and nothing else: for those who
    /// look again and again.
    pub async fn open_turn_owners(&self) -> StoreResult<Vec<OwnedTurn>> {
        let owners = self.owners();
        self.read(move |db| open_turn_owners(db, &owners)).await
    }

    /// The turn that was stored last, of whichever session.
    pub async fn newest_turn(&self) -> StoreResult<Option<TurnId>> {
        self.read(move |db| {
            let sql = "SELECT id FROM turns ORDER BY id DESC LIMIT 1";
            db.first(sql, [], |row| Ok(TurnId(row.get("id")?)))
        })
        .await
    }

    /// The turns behind one, or all, in the order in which they were stored, with their sessions.
    pub async fn turns_after(&self, turn: Option<TurnId>) -> StoreResult<Vec<(TurnId, SessionId)>> {
        let after = turn.map_or(0, TurnId::get);
        self.read(move |db| {
            let sql = "SELECT id, session FROM turns WHERE id > ?1 ORDER BY id";
            db.all(sql, [after], |row| Ok((TurnId(row.get("id")?), SessionId(row.get("session")?))))
        })
        .await
    }

    /// All turns that are queued or running. One that is damaged does not keep
    /// the others from being read.
    pub async fn open_turns(&self) -> StoreResult<OpenTurns> {
        let (owners, path) = (self.owners(), self.path().to_path_buf());
        self.read(move |db| open_turns(db, &owners, &path)).await
    }
}

fn begin(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    inbound: &NewTurn,
    packed: &PackedInbound,
    commit: &PackedCommit,
) -> DbResult<StartedTurn> {
    let session = inbound.session;
    deliveries::must_be_new(db, inbound.delivery.as_ref())?;
    must_be_idle(db, owners, session)?;
    must_be_unchanged(db, session, commit.commit.basis)?;
    let (turn, number) = insert(db, owners.own(), inbound, packed, Some(commit))?;
    retract_for(db, owners, inbound, turn)?;
    let request = commit::apply(db, session, turn, TurnRow::WithStep, commit)?;
    Ok(StartedTurn { turn, number, request })
}

/// Takes back the exchange in whose place a turn's message is said.
fn retract_for(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    inbound: &NewTurn,
    turn: TurnId,
) -> DbResult<()> {
    let Some(retraction) = &inbound.retraction else { return Ok(()) };
    retractions::retract(db, owners, inbound.session, retraction, Some(turn)).map(drop)
}

/// Passes a session that is as it was when it was read.
fn must_be_unchanged(
    db: &SqlConnection,
    session: SessionId,
    basis: Option<SessionBasis>,
) -> DbResult<()> {
    let Some(basis) = basis else { return Ok(()) };
    let last = transcript::last_message(db, session)?.unwrap_or_default();
    let summary = compactions::standing_id(db, session)?;
    let retraction = retractions::last_id(db, session)?;
    match (SessionBasis { last_message: last, summary, retraction }) == basis {
        true => Ok(()),
        false => Err(StoreError::Changed { session }.into()),
    }
}

/// Passes a session that has no open turn.
pub(crate) fn must_be_idle(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    session: SessionId,
) -> DbResult<()> {
    must_be_first(db, owners, session, None)
}

/// Passes a session whose oldest open turn is this one, or that has none.
fn must_be_first(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    session: SessionId,
    turn: Option<TurnId>,
) -> DbResult<()> {
    let sql =
        "SELECT id, owner FROM turns WHERE session = ?1 AND ended IS NULL ORDER BY id LIMIT 1";
    let oldest = db.first(sql, [session.0], |row| {
        let owner: Option<i64> = row.get("owner")?;
        Ok((TurnId(row.get("id")?), owner.map(OwnerId)))
    })?;
    let Some((turn, owner)) = oldest.filter(|(oldest, _)| turn != Some(*oldest)) else {
        return Ok(());
    };
    // An open turn always has an owner.
    let owner = owner.map_or(Ok(TurnOwner::Gone), |id| owners.look_up(db, id))?;
    Err(StoreError::Busy { turn, owner }.into())
}

fn claim(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    id: TurnId,
    at: Moment,
) -> DbResult<StoredTurn> {
    let standing = standing(db, id)?;
    must_be_ours(db, owners, id, standing, TurnStatus::Queued)?;
    must_be_first(db, owners, standing.session, Some(id))?;
    let sql = "UPDATE turns SET status = ?2, started = ?3, begins = begins + 1, begun_by = ?4
               WHERE id = ?1";
    let own = owners.own().0;
    db.execute(sql, params![id.0, TurnStatus::Running.name(), at.microseconds(), own])?;
    must_exist(db, owners, id)
}

fn take_over(db: &SqlConnection, owners: &OwnerRegistry, id: TurnId) -> DbResult<StoredTurn> {
    let TurnStanding { status, owner, .. } = standing(db, id)?;
    match owner.map(|id| owners.look_up(db, id)).transpose()? {
        Some(TurnOwner::Here) => {
            let sql = "UPDATE turns SET releases = releases + 1, begun_by = NULL
                       WHERE id = ?1 AND begun_by = ?2";
            db.execute(sql, [id.0, owners.own().0])?;
        }
        Some(TurnOwner::Gone) => {
            let sql = "UPDATE turns SET owner = ?2 WHERE id = ?1";
            db.execute(sql, [id.0, owners.own().0])?;
        }
        Some(owner) => return Err(StoreError::NotOurs { turn: id, owner }.into()),
        None => return Err(StoreError::WrongStatus { turn: id, status }.into()),
    }
    must_exist(db, owners, id)
}

/// What decides who may do something with a turn.
#[derive(Debug, Clone, Copy)]
struct TurnStanding {
    session: SessionId,
    status: TurnStatus,
    owner: Option<OwnerId>,
    begins: u32,
}

fn standing(db: &SqlConnection, id: TurnId) -> DbResult<TurnStanding> {
    let sql = "SELECT session, status, owner, begins FROM turns WHERE id = ?1";
    let standing = db.first(sql, [id.0], |row| {
        Ok(TurnStanding {
            session: SessionId(row.get("session")?),
            status: read_status(row, id)?,
            owner: row.get::<_, Option<i64>>("owner")?.map(OwnerId),
            begins: row.get("begins")?,
        })
    })?;
    standing.ok_or_else(|| StoreError::NotFound(RowId::Turn(id)).into())
}

/// Passes a turn that nobody has gone on with since it was begun as the writer knows it. A node that
/// lost it and has it again may still have somebody at work who knows nothing of what others did.
fn must_be_at_begin(turn: TurnId, standing: TurnStanding, begun: Option<u32>) -> DbResult<()> {
    match begun.is_none_or(|begun| begun == standing.begins) {
        true => Ok(()),
        false => Err(StoreError::BegunAgain { turn }.into()),
    }
}

/// Passes a turn that this process has, at the status that it should have.
fn must_be_ours(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    turn: TurnId,
    standing: TurnStanding,
    status: TurnStatus,
) -> DbResult<()> {
    match standing.owner.map(|id| owners.look_up(db, id)).transpose()? {
        Some(owner) if owner != TurnOwner::Here => Err(StoreError::NotOurs { turn, owner }.into()),
        _ if standing.status != status => {
            Err(StoreError::WrongStatus { turn, status: standing.status }.into())
        }
        _ => Ok(()),
    }
}

/// Adds a turn: one that waits, or one that begins with this step.
fn insert(
    db: &SqlConnection,
    owner: OwnerId,
    inbound: &NewTurn,
    packed: &PackedInbound,
    step: Option<&PackedCommit>,
) -> DbResult<(TurnId, TurnNumber)> {
    sessions::must_exist(db, inbound.session)?;
    let last = last_number(db, inbound.session)?.map_or(0, |last| last.0);
    let number = TurnNumber(last.saturating_add(1));
    let at = inbound.at.microseconds();
    let own = (!inbound.settings.is_empty()).then_some(&inbound.settings);
    let settings = own.map(rows::to_json).transpose()?;
    let is_begun = step.is_some();
    let status = if is_begun { TurnStatus::Running } else { TurnStatus::Queued };
    let first_message = step.and_then(PackedCommit::first_message);
    let started = is_begun.then_some(at);
    let sql = "INSERT INTO turns
                   (session, number, status, owner, actor, inbound, accepted, started, settings,
                    client, begins, begun_by, first_message, state)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    let values = params![
        inbound.session.0,
        number.0,
        status.name(),
        owner.0,
        rows::to_json(&inbound.actor)?,
        packed.content,
        at,
        started,
        settings,
        packed.client,
        u32::from(is_begun),
        is_begun.then_some(owner.0),
        first_message.map(rows::message_column).transpose()?,
        step.and_then(PackedCommit::open_state),
    ];
    let turn = TurnId(db.insert(sql, values)?);
    if let Some(delivery) = &inbound.delivery {
        deliveries::insert(db, delivery, turn)?;
    }
    Ok((turn, number))
}

/// What came in, in the form in which it is written; nothing where the transcript has it.
#[derive(Default)]
struct PackedInbound {
    content: Option<Vec<u8>>,
    client: Option<Vec<u8>>,
}

impl PackedInbound {
    /// Packs the content in the form of a user's message, which is what it becomes.
    fn new(inbound: &NewTurn) -> StoreResult<Self> {
        let user = UserMessage { content: inbound.content.clone(), ..UserMessage::default() };
        let message = Message { id: MessageId::default(), body: MessageBody::User(user) };
        let client = inbound.client.as_ref();
        let pack = |json: String| codec::pack(&json);
        Ok(PackedInbound {
            content: Some(pack(rows::to_json(&message)?)),
            client: client.map(|client| rows::to_json(client).map(pack)).transpose()?,
        })
    }
}

/// The number of the session's last turn.
pub(crate) fn last_number(db: &SqlConnection, session: SessionId) -> DbResult<Option<TurnNumber>> {
    let sql = "SELECT number FROM turns WHERE session = ?1 ORDER BY number DESC LIMIT 1";
    db.first(sql, [session.0], |row| rows::turn_number(row, "number"))
}

/// Reads all open turns, every row by itself: a query over all of them ends at the
/// first that SQLite can't read.
fn open_turns(db: &SqlConnection, owners: &OwnerRegistry, path: &Path) -> DbResult<OpenTurns> {
    let sql = "SELECT id FROM turns INDEXED BY open_turns WHERE ended IS NULL ORDER BY id";
    let ids = db.all(sql, [], |row| Ok(TurnId(row.get("id")?)))?;
    let mut open = OpenTurns::default();
    for id in ids {
        match must_exist(db, owners, id) {
            Ok(turn) => open.turns.push(turn),
            Err(error) if error.is_damage() => open.damaged.push((id, error.at_path(path))),
            Err(error) => return Err(error),
        }
    }
    Ok(open)
}

/// Lists open turns, and looks up each of their owners once.
fn open_turn_owners(db: &SqlConnection, owners: &OwnerRegistry) -> DbResult<Vec<OwnedTurn>> {
    let sql = "SELECT id, session, owner FROM turns INDEXED BY open_turns WHERE ended IS NULL ORDER BY id";
    let open: Vec<(TurnId, SessionId, Option<i64>)> = db.all(sql, [], |row| {
        Ok((TurnId(row.get("id")?), SessionId(row.get("session")?), row.get("owner")?))
    })?;
    let mut known: HashMap<i64, TurnOwner> = HashMap::new();
    let mut owned = Vec::with_capacity(open.len());
    for (turn, session, id) in open {
        // An open turn always has an owner.
        let Some(id) = id else { continue };
        let owner = match known.get(&id) {
            Some(owner) => *owner,
            None => owners.look_up(db, OwnerId(id))?,
        };
        known.insert(id, owner);
        owned.push(OwnedTurn { turn, session, owner });
    }
    Ok(owned)
}

fn must_exist(db: &SqlConnection, owners: &OwnerRegistry, id: TurnId) -> DbResult<StoredTurn> {
    find(db, owners, id)?.ok_or_else(|| StoreError::NotFound(RowId::Turn(id)).into())
}

fn find(db: &SqlConnection, owners: &OwnerRegistry, id: TurnId) -> DbResult<Option<StoredTurn>> {
    let sql = "SELECT turns.* FROM turns JOIN sessions ON sessions.id = turns.session
               WHERE turns.id = ?1 AND sessions.deleted IS NULL";
    db.first(sql, [id.0], |row| read(db, row, owners))
}

/// Reads a whole row of `turns`.
fn read(db: &SqlConnection, row: &SqlRow<'_>, owners: &OwnerRegistry) -> DbResult<StoredTurn> {
    let id = TurnId(row.get("id")?);
    let inbound: Option<Message> = rows::packed_json(row, "inbound")?;
    let owner: Option<i64> = row.get("owner")?;
    Ok(StoredTurn {
        id,
        session: SessionId(row.get("session")?),
        number: rows::turn_number(row, "number")?,
        status: read_status(row, id)?,
        owner: owner.map(|id| owners.look_up(db, OwnerId(id))).transpose()?,
        actor: rows::json(row, "actor")?,
        settings: rows::optional_json(row, "settings")?.unwrap_or_default(),
        inbound: inbound.map(|message| message.content().to_vec()),
        client: rows::packed_json(row, "client")?,
        continues: row.get::<_, Option<i64>>("continues")?.map(TurnId),
        accepted: rows::moment(row, "accepted")?,
        started: rows::optional_moment(row, "started")?,
        ended: rows::optional_moment(row, "ended")?,
        first_message: rows::message_id(row, "first_message")?,
        state: rows::packed_json(row, "state")?,
        detail: row.get("detail")?,
        attempts: TurnAttempts { begins: row.get("begins")?, releases: row.get("releases")? },
        stop_by: rows::optional_json(row, "stop_by")?,
    })
}

fn read_status(row: &SqlRow<'_>, id: TurnId) -> DbResult<TurnStatus> {
    let status = row.value("status")?.as_str().and_then(TurnStatus::from_name);
    status.ok_or_else(|| DbError::damaged(format!("turn {id}")))
}
