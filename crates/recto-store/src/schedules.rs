//! What an agent does at set times, and the runs of it.
//!
//! Which process runs a time that has come is decided here, in one transaction: it moves the
//! schedule on to its next time and makes the run, which belongs to its process from then on. A
//! run whose process has ended can be taken over, like a turn.

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{AudienceKind, Message, MessageBody, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel_deliveries::{self, NewChannelDelivery, PostState};
use crate::channel_updates::ChannelAccount;
use crate::commit::{NewMessage, PackedMessage};
use crate::error::{RowId, StoreError, StoreResult};
use crate::ids::{Moment, RunId, ScheduleId, SessionId, TurnId};
use crate::owner::{OwnerId, OwnerRegistry, TurnOwner};
use crate::pairings;
use crate::rows::{self, DbResult};
use crate::sessions;
use crate::store::Store;
use crate::transcript::{self, MessagePlace};
use crate::turns::{TurnEnding, must_be_idle};

/// A schedule to be kept. What is JSON in it the store does not read.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchedule {
    /// Whose schedule it is.
    pub agent: String,
    /// What people call it; no two of an agent have one name.
    pub name: String,
    /// When it runs.
    pub plan: Value,
    /// What holds for its runs.
    pub settings: Value,
    /// Where the answer goes.
    pub target: Value,
    /// Who made it.
    pub actor: Value,
    /// What is to be done.
    pub task: String,
    /// When it is made.
    pub at: Moment,
    /// The first run.
    pub due: Option<Moment>,
}

/// A schedule as it is stored.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields say it, as those of a new one")]
pub struct StoredSchedule {
    pub id: ScheduleId,
    pub agent: String,
    pub name: String,
    pub plan: Value,
    pub settings: Value,
    pub target: Value,
    pub actor: Value,
    pub task: String,
    pub created: Moment,
    /// The next run; none when none is to come.
    pub due: Option<Moment>,
    /// Since when it is no more.
    pub removed: Option<Moment>,
}

/// A run of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredRun {
    /// The number of the run, counted over all schedules.
    pub id: RunId,
    /// The schedule that it is of.
    pub schedule: ScheduleId,
    /// When it was to run; none where somebody ran it by hand.
    pub due: Option<Moment>,
    /// How many later times passed unseen.
    pub missed: u32,
    /// When it was begun.
    pub begun: Moment,
    /// The session in which it is held, once there is one.
    pub session: Option<SessionId>,
    /// Its turn, once there is one.
    pub turn: Option<TurnId>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// How it ended.
    pub outcome: Option<TurnEnding>,
    /// More about that, for people.
    pub detail: Option<String>,
    /// What became of the answer where it was to go elsewhere.
    pub delivery: Option<AnswerDelivery>,
}

/// What became of a run's answer that was to go elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AnswerDelivery {
    /// It is there, or in the outbox of the bot that brings it there.
    Delivered {
        /// The place, in words.
        to: String,
    },
    /// It is not there.
    Failed {
        /// Why, in words.
        problem: String,
    },
}

/// What became of a wish to run a schedule now.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStart {
    /// A run has begun, and is this process's.
    Begun(StoredRun),
    /// A run that another process left is this process's now.
    TakenOver(StoredRun),
    /// A run is under way in a process that lives.
    UnderWay(StoredRun),
}

/// A place that a run's answer is put into as the run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPlace {
    /// The session.
    pub session: SessionId,
    /// What is to stand in it.
    pub bodies: Vec<MessageBody>,
    /// What the bot of a chat is to say, where the session is held in one.
    pub post: Option<AnswerPost>,
}

/// What the bot of a chat is to say of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPost {
    /// The bot.
    pub account: ChannelAccount,
    /// What it is to say.
    pub delivery: NewChannelDelivery,
    /// For whom the answer was made.
    pub readers: AudienceKind,
}

/// A time that has come, to be made a run by whoever is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTime {
    /// The time that was read with the schedule. Whoever read another is too late.
    pub due: Moment,
    /// The next one behind it.
    pub next: Option<Moment>,
    /// How many times lie between the two and have passed.
    pub missed: u32,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnding {
    /// How it ended.
    pub outcome: TurnEnding,
    /// More about that, for people.
    pub detail: Option<String>,
    /// What became of the answer where it was to go elsewhere.
    pub delivery: Option<AnswerDelivery>,
    /// When it ended.
    pub at: Moment,
}

impl Store {
    /// Keeps a new schedule.
    pub async fn add_schedule(&self, new: NewSchedule) -> StoreResult<StoredSchedule> {
        self.write(move |db| insert(db, &new)).await
    }

    /// The schedules of all agents that are not removed, by agent and name.
    pub async fn schedules(&self) -> StoreResult<Vec<StoredSchedule>> {
        self.read(|db| {
            let sql = "SELECT * FROM schedules WHERE removed IS NULL ORDER BY agent, name";
            db.all(sql, [], read)
        })
        .await
    }

    /// The schedule of that name, unless it is removed.
    pub async fn find_schedule(
        &self,
        agent: &str,
        name: &str,
    ) -> StoreResult<Option<StoredSchedule>> {
        let (agent, name) = (agent.to_owned(), name.to_owned());
        self.read(move |db| find_named(db, &agent, &name)).await
    }

    /// A schedule by its number, whether it is removed or not.
    pub async fn schedule(&self, id: ScheduleId) -> StoreResult<Option<StoredSchedule>> {
        self.read(move |db| find(db, id)).await
    }

    /// Removes a schedule. Its runs stay on record, and one that is under way goes on.
    pub async fn remove_schedule(
        &self,
        agent: &str,
        name: &str,
        at: Moment,
    ) -> StoreResult<Option<StoredSchedule>> {
        let (agent, name) = (agent.to_owned(), name.to_owned());
        self.write(move |db| {
            let Some(found) = find_named(db, &agent, &name)? else { return Ok(None) };
            let sql = "UPDATE schedules SET removed = ?2, due = NULL WHERE id = ?1";
            db.execute(sql, [found.id.0, at.microseconds()])?;
            Ok(Some(found))
        })
        .await
    }

    /// The schedules of an agent whose time has come, and of which no run is under way.
    pub async fn due_schedules(
        &self,
        agent: &str,
        now: Moment,
    ) -> StoreResult<Vec<StoredSchedule>> {
        let agent = agent.to_owned();
        self.read(move |db| {
            let sql = "SELECT * FROM schedules
                       WHERE due <= ?2 AND due IS NOT NULL AND removed IS NULL AND agent = ?1
                           AND NOT EXISTS (SELECT 1 FROM schedule_runs
                                           WHERE schedule = schedules.id AND ended IS NULL)
                       ORDER BY due, id";
            db.all(sql, params![agent, now.microseconds()], read)
        })
        .await
    }

    /// Begins the run of a time that has come. `None` where somebody else was faster, the
    /// schedule is no more, or a run of it is under way.
    pub async fn begin_due_run(
        &self,
        schedule: ScheduleId,
        time: DueTime,
        at: Moment,
    ) -> StoreResult<Option<StoredRun>> {
        let owners = self.owners();
        self.write(move |db| {
            let DueTime { due, next, missed } = time;
            let sql = "UPDATE schedules SET due = ?3
                       WHERE id = ?1 AND due = ?2 AND removed IS NULL
                           AND NOT EXISTS (SELECT 1 FROM schedule_runs
                                           WHERE schedule = ?1 AND ended IS NULL)";
            let next = next.map(Moment::microseconds);
            if db.execute(sql, params![schedule.0, due.microseconds(), next])? == 0 {
                return Ok(None);
            }
            insert_run(db, owners.own(), schedule, Some(due), missed, at).map(Some)
        })
        .await
    }

    /// Begins a run that somebody wants now, or takes over the one that another process left.
    pub async fn begin_run(&self, schedule: ScheduleId, at: Moment) -> StoreResult<RunStart> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "SELECT * FROM schedule_runs WHERE schedule = ?1 AND ended IS NULL LIMIT 1";
            match db.first(sql, [schedule.0], read_owned_run)? {
                Some((run, owner)) if is_gone(db, &owners, owner)? => {
                    set_run_owner(db, run.id, owners.own())?;
                    Ok(RunStart::TakenOver(run))
                }
                Some((run, _)) => Ok(RunStart::UnderWay(run)),
                None => {
                    let run = insert_run(db, owners.own(), schedule, None, 0, at)?;
                    Ok(RunStart::Begun(run))
                }
            }
        })
        .await
    }

    /// A run by its number.
    pub async fn schedule_run(&self, run: RunId) -> StoreResult<Option<StoredRun>> {
        self.read(move |db| {
            db.first("SELECT * FROM schedule_runs WHERE id = ?1", [run.0], read_run)
        })
        .await
    }

    /// Makes the runs of an agent's schedules whose processes are gone this process's, and gives
    /// them.
    pub async fn take_over_runs(&self, agent: &str) -> StoreResult<Vec<StoredRun>> {
        let (owners, agent) = (self.owners(), agent.to_owned());
        let open = "SELECT schedule_runs.* FROM schedule_runs
                    JOIN schedules ON schedules.id = schedule
                    WHERE ended IS NULL AND agent = ?1 ORDER BY schedule_runs.id";
        // Nothing is written while nothing is there to be taken.
        let looked = agent.clone();
        let is_any = self.read(move |db| {
            let ids = db.all(open, [&looked], |row| row.get::<_, i64>("id"))?;
            Ok(!ids.is_empty())
        });
        if !is_any.await? {
            return Ok(Vec::new());
        }
        self.write(move |db| {
            let runs = db.all(open, [&agent], read_owned_run)?;
            let mut gone = Vec::new();
            for (run, owner) in runs {
                if is_gone(db, &owners, owner)? {
                    set_run_owner(db, run.id, owners.own())?;
                    gone.push(run);
                }
            }
            Ok(gone)
        })
        .await
    }

    /// Gives up the runs that this process has of an agent's schedules, as it ends.
    pub async fn release_runs(&self, agent: &str) -> StoreResult<()> {
        let (owners, agent) = (self.owners(), agent.to_owned());
        self.write(move |db| {
            let sql = "UPDATE schedule_runs SET owner = ?3
                       WHERE owner = ?1 AND ended IS NULL
                           AND schedule IN (SELECT id FROM schedules WHERE agent = ?2)";
            let nobody = OwnerId::nobody();
            db.execute(sql, params![owners.own().0, agent, nobody.0]).map(drop)
        })
        .await
    }

    /// Gives up a run of this process: whoever comes next can take it over.
    pub async fn release_run(&self, run: RunId) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "UPDATE schedule_runs SET owner = ?3
                       WHERE id = ?1 AND owner = ?2 AND ended IS NULL";
            let nobody = OwnerId::nobody();
            db.execute(sql, [run.0, owners.own().0, nobody.0]).map(drop)
        })
        .await
    }

    /// Notes where a run of this process is held.
    pub async fn set_run_turn(
        &self,
        run: RunId,
        session: SessionId,
        turn: Option<TurnId>,
    ) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| {
            let sql = "UPDATE schedule_runs SET session = ?2, turn = coalesce(?3, turn)
                       WHERE id = ?1 AND owner = ?4";
            let values = params![run.0, session.0, turn.map(|turn| turn.0), owners.own().0];
            match db.execute(sql, values)? {
                1 => Ok(()),
                _ => Err(StoreError::RunNotOurs { run }.into()),
            }
        })
        .await
    }

    /// Ends a run of this process.
    pub async fn end_run(&self, run: RunId, ending: RunEnding) -> StoreResult<()> {
        let owners = self.owners();
        self.write(move |db| end_run(db, owners.own(), run, &ending)).await
    }

    /// Ends a run of this process and puts its answer into another session, and into the outbox
    /// of its chat: all of it or nothing. Gives the number of the first message. Refused as
    /// [`StoreError::Busy`] while a turn of that session is open, and as [`StoreError::PutOut`] or
    /// [`StoreError::NotOwner`] where those who would read it are let in no longer, or not as those
    /// for whom it was made.
    pub async fn end_run_into(
        &self,
        run: RunId,
        ending: RunEnding,
        place: AnswerPlace,
    ) -> StoreResult<MessageId> {
        let owners = self.owners();
        self.write(move |db| {
            let AnswerPlace { session, bodies, post } = &place;
            let session = *session;
            sessions::must_exist(db, session)?;
            must_be_idle(db, &owners, session)?;
            let last = transcript::last_message(db, session)?.unwrap_or_default();
            let packed = (1..).zip(bodies).map(|(index, body)| {
                let id = MessageId(last.0 + index);
                let message = Message { id, body: body.clone() }.into();
                PackedMessage::new(&NewMessage { message, at: ending.at })
            });
            let packed = packed.collect::<StoreResult<Vec<_>>>()?;
            end_run(db, owners.own(), run, &ending)?;
            if let Some(AnswerPost { account, delivery, readers }) = post {
                pairings::check_readers(db, account, &delivery.conversation, *readers)?;
                channel_deliveries::insert(db, account, delivery, ending.at)?;
            }
            transcript::append(db, session, MessagePlace::NoTurn, &packed)?;
            Ok(MessageId(last.0 + 1))
        })
        .await
    }

    /// What became of a run's answer in the chat that it is for; nothing where it is for none, or
    /// where that is forgotten.
    pub async fn run_post(&self, run: RunId) -> StoreResult<Option<PostState>> {
        self.read(move |db| channel_deliveries::post_state(db, &run_post_key(run))).await
    }

    /// The last runs of an agent's schedules, those that are removed included, the newest first.
    pub async fn runs_of_agent(&self, agent: &str, most: u32) -> StoreResult<Vec<StoredRun>> {
        let agent = agent.to_owned();
        self.read(move |db| {
            let sql = "SELECT schedule_runs.* FROM schedule_runs
                       JOIN schedules ON schedules.id = schedule
                       WHERE agent = ?1 ORDER BY schedule_runs.id DESC LIMIT ?2";
            db.all(sql, params![agent, most], read_run)
        })
        .await
    }

    /// The last runs of a schedule, or of all, the newest first.
    pub async fn schedule_runs(
        &self,
        schedule: Option<ScheduleId>,
        most: u32,
    ) -> StoreResult<Vec<StoredRun>> {
        self.read(move |db| match schedule {
            Some(schedule) => {
                let sql = "SELECT * FROM schedule_runs WHERE schedule = ?1
                           ORDER BY id DESC LIMIT ?2";
                db.all(sql, params![schedule.0, most], read_run)
            }
            None => {
                let sql = "SELECT * FROM schedule_runs ORDER BY id DESC LIMIT ?1";
                db.all(sql, [most], read_run)
            }
        })
        .await
    }
}

/// The key under which the answer of a run is in an outbox.
pub fn run_post_key(run: RunId) -> String {
    format!("schedule-run:{run}")
}

fn insert(db: &SqlConnection, new: &NewSchedule) -> DbResult<StoredSchedule> {
    let NewSchedule { agent, name, plan, settings, target, actor, task, at, due } = new;
    let sql = "INSERT INTO schedules (agent, name, plan, settings, target, actor, task, created,
                                      due)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        agent,
        name,
        rows::to_json(plan)?,
        rows::to_json(settings)?,
        rows::to_json(target)?,
        rows::to_json(actor)?,
        task,
        at.microseconds(),
        due.map(Moment::microseconds)
    ];
    let id = db.insert(sql, values).map_err(|error| match error.is_duplicate() {
        true => StoreError::ScheduleNameTaken { name: name.clone() }.into(),
        false => error,
    })?;
    let id = ScheduleId(id);
    find(db, id)?.ok_or_else(|| StoreError::NotFound(RowId::Schedule(id)).into())
}

fn find(db: &SqlConnection, id: ScheduleId) -> DbResult<Option<StoredSchedule>> {
    db.first("SELECT * FROM schedules WHERE id = ?1", [id.0], read)
}

fn find_named(db: &SqlConnection, agent: &str, name: &str) -> DbResult<Option<StoredSchedule>> {
    let sql = "SELECT * FROM schedules WHERE agent = ?1 AND name = ?2 AND removed IS NULL";
    db.first(sql, [agent, name], read)
}

fn insert_run(
    db: &SqlConnection,
    owner: OwnerId,
    schedule: ScheduleId,
    due: Option<Moment>,
    missed: u32,
    at: Moment,
) -> DbResult<StoredRun> {
    let sql = "INSERT INTO schedule_runs (schedule, due, missed, begun, owner)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let due = due.map(Moment::microseconds);
    let values = params![schedule.0, due, missed, at.microseconds(), owner.0];
    let id = db.insert(sql, values)?;
    let sql = "SELECT * FROM schedule_runs WHERE id = ?1";
    let run = db.first(sql, [id], read_run)?;
    run.ok_or_else(|| StoreError::NotFound(RowId::Schedule(schedule)).into())
}

/// Ends a run, unless another process has it by now.
fn end_run(db: &SqlConnection, owner: OwnerId, run: RunId, ending: &RunEnding) -> DbResult<()> {
    let RunEnding { outcome, detail, delivery, at } = ending;
    let sql = "UPDATE schedule_runs
               SET ended = ?3, outcome = ?4, detail = ?5, delivery = ?6, owner = NULL
               WHERE id = ?1 AND owner = ?2 AND ended IS NULL";
    let delivery = delivery.as_ref().map(rows::to_json).transpose()?;
    let values = params![run.0, owner.0, at.microseconds(), outcome.name(), detail, delivery];
    match db.execute(sql, values)? {
        1 => Ok(()),
        _ => Err(StoreError::RunNotOurs { run }.into()),
    }
}

fn read_owned_run(row: &SqlRow<'_>) -> DbResult<(StoredRun, Option<i64>)> {
    Ok((read_run(row)?, row.get("owner")?))
}

fn set_run_owner(db: &SqlConnection, run: RunId, owner: OwnerId) -> DbResult<()> {
    let sql = "UPDATE schedule_runs SET owner = ?2 WHERE id = ?1";
    db.execute(sql, [run.0, owner.0]).map(drop)
}

fn is_gone(db: &SqlConnection, owners: &OwnerRegistry, owner: Option<i64>) -> DbResult<bool> {
    match owner {
        Some(id) => Ok(owners.look_up(db, OwnerId(id))? == TurnOwner::Gone),
        None => Ok(true),
    }
}

fn read(row: &SqlRow<'_>) -> DbResult<StoredSchedule> {
    Ok(StoredSchedule {
        id: ScheduleId(row.get("id")?),
        agent: row.get("agent")?,
        name: row.get("name")?,
        plan: rows::json(row, "plan")?,
        settings: rows::json(row, "settings")?,
        target: rows::json(row, "target")?,
        actor: rows::json(row, "actor")?,
        task: row.get("task")?,
        created: rows::moment(row, "created")?,
        due: rows::optional_moment(row, "due")?,
        removed: rows::optional_moment(row, "removed")?,
    })
}

fn read_run(row: &SqlRow<'_>) -> DbResult<StoredRun> {
    Ok(StoredRun {
        id: RunId(row.get("id")?),
        schedule: ScheduleId(row.get("schedule")?),
        due: rows::optional_moment(row, "due")?,
        missed: row.get("missed")?,
        begun: rows::moment(row, "begun")?,
        session: row.get::<_, Option<i64>>("session")?.map(SessionId),
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        ended: rows::optional_moment(row, "ended")?,
        outcome: row.get::<_, Option<String>>("outcome")?.as_deref().and_then(TurnEnding::find),
        detail: row.get("detail")?,
        delivery: read_delivery(row.get("delivery")?),
    })
}

/// What became of an answer. A text that is no JSON is of before it was.
fn read_delivery(stored: Option<String>) -> Option<AnswerDelivery> {
    let stored = stored?;
    let to = || stored.strip_prefix("delivered to ").map(str::to_owned);
    serde_json::from_str(&stored).ok().or_else(|| to().map(|to| AnswerDelivery::Delivered { to }))
}
