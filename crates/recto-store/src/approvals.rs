//! Questions whether a tool may run, and what people said.
//!
//! A question is written with the step of the turn that waits for it, so that
//! neither is ever there without the other, and whoever answers need not be the
//! one who asked.

use recto_context::{ContentHash, ItemId};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use crate::codec;
use crate::error::{Fault, StoreError, Thing};
use crate::ids::{ApprovalId, Moment, SessionId, TurnId};
use crate::rows::{self, Outcome};
use crate::store::Store;

/// A question to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The round of calls within its turn.
    pub round: u32,
    /// The call's place in the round, from 0.
    pub place: u32,
    /// The tool.
    pub tool: ItemId,
    /// What would be done, in a line.
    pub title: String,
    /// All that the person is shown.
    pub detail: String,
    /// The hash of what would be done.
    pub action: ContentHash,
    /// The hash of what the tool is.
    pub identity: ContentHash,
    /// For how much the person can speak.
    pub extent: Extent,
    /// When it is asked.
    pub asked: Moment,
    /// When nobody need answer any more.
    pub expires: Moment,
}

/// For how much a person can speak who allows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For this call alone.
    Call,
    /// For this call, or for all calls of the tool in the session.
    Tool,
}

/// A question that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Its number.
    pub id: ApprovalId,
    /// The session.
    pub session: SessionId,
    /// The turn that waits.
    pub turn: TurnId,
    /// What was asked.
    pub question: NewApproval,
    /// What was said, and when.
    pub answer: Option<(Answer, Moment)>,
}

/// What was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This call may run.
    Once,
    /// The tool may run whenever this session calls it.
    Session,
    /// It may not run.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// The turn ended first.
    Withdrawn,
}

impl Answer {
    const ALL: [Answer; 5] =
        [Answer::Once, Answer::Session, Answer::Denied, Answer::Expired, Answer::Withdrawn];

    /// The name that records and people use.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Once => "once",
            Answer::Session => "session",
            Answer::Denied => "denied",
            Answer::Expired => "expired",
            Answer::Withdrawn => "withdrawn",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.name() == name)
    }
}

impl Store {
    /// All questions that nobody has answered, oldest first.
    pub async fn open_approvals(&self) -> Result<Vec<Approval>, StoreError> {
        self.read(|db| {
            let sql = "SELECT * FROM approvals INDEXED BY open_approvals
                       WHERE answer IS NULL ORDER BY id";
            rows::all(&mut db.prepare_cached(sql)?.query([])?, read)
        })
        .await
    }

    /// The questions of a turn, in the order in which they were asked.
    pub async fn approvals_of(&self, turn: TurnId) -> Result<Vec<Approval>, StoreError> {
        self.read(move |db| {
            let sql = "SELECT * FROM approvals WHERE turn = ?1 ORDER BY round, place";
            rows::all(&mut db.prepare_cached(sql)?.query([turn.0])?, read)
        })
        .await
    }

    /// A question by its number.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreError> {
        self.read(move |db| find(db, id)).await
    }

    /// Tools that people have allowed for a whole session, with what they were then,
    /// oldest first.
    pub async fn allowed_in(
        &self,
        session: SessionId,
    ) -> Result<Vec<(ItemId, ContentHash)>, StoreError> {
        self.read(move |db| {
            let sql = "SELECT tool, identity FROM approvals
                       WHERE session = ?1 AND answer = 'session' ORDER BY id";
            rows::all(&mut db.prepare_cached(sql)?.query([session.0])?, |row| {
                Ok((rows::json(row, "tool")?, ContentHash::from_bytes(row.get("identity")?)))
            })
        })
        .await
    }

    /// Answers a question. The first answer holds; one that comes after the
    /// question's time counts as none, and one that allows more than can be asked
    /// for allows this call.
    pub async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: Answer,
        at: Moment,
    ) -> Result<Approval, StoreError> {
        self.write(move |db| {
            let approval = find(db, id)?.ok_or(StoreError::NotFound(Thing::Approval(id)))?;
            if let Some((answer, _)) = approval.answer {
                return Err(StoreError::Decided { approval: id, answer }.into());
            }
            let answer = match answer {
                Answer::Withdrawn => answer,
                _ if at > approval.question.expires => Answer::Expired,
                Answer::Session if approval.question.extent == Extent::Call => Answer::Once,
                _ => answer,
            };
            db.prepare_cached("UPDATE approvals SET answer = ?2, answered = ?3 WHERE id = ?1")?
                .execute(params![id.0, answer.name(), at.microseconds()])?;
            Ok(Approval { answer: Some((answer, at)), ..approval })
        })
        .await
    }
}

/// Writes the questions of a step.
pub(crate) fn ask(
    db: &Connection,
    session: SessionId,
    turn: TurnId,
    questions: &[NewApproval],
) -> Outcome<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO approvals
             (session, turn, round, place, tool, title, detail, action, identity, single,
              asked, expires)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    for question in questions {
        insert.execute(params![
            session.0,
            turn.0,
            question.round,
            question.place,
            rows::to_json(&question.tool)?,
            question.title,
            codec::pack(&question.detail),
            question.action.as_bytes(),
            question.identity.as_bytes(),
            question.extent == Extent::Call,
            question.asked.microseconds(),
            question.expires.microseconds(),
        ])?;
    }
    Ok(())
}

/// Takes back what a turn that ends has asked.
pub(crate) fn withdraw(db: &Connection, turn: TurnId, at: Moment) -> Outcome<()> {
    db.prepare_cached(
        "UPDATE approvals SET answer = 'withdrawn', answered = ?2
         WHERE turn = ?1 AND answer IS NULL",
    )?
    .execute(params![turn.0, at.microseconds()])?;
    Ok(())
}

fn find(db: &Connection, id: ApprovalId) -> Outcome<Option<Approval>> {
    let mut select = db.prepare_cached("SELECT * FROM approvals WHERE id = ?1")?;
    rows::first(&mut select.query([id.0])?, read)
}

fn read(row: &Row<'_>) -> Outcome<Approval> {
    let id = ApprovalId(row.get("id")?);
    let damaged = || Fault::damaged(format!("approval {id}"));
    let answer = match row.get::<_, Option<String>>("answer")? {
        Some(name) => Some(Answer::from_name(&name).ok_or_else(damaged)?),
        None => None,
    };
    let answered = rows::optional_moment(row, "answered")?;
    let detail: Vec<u8> = row.get("detail")?;
    Ok(Approval {
        id,
        session: SessionId(row.get("session")?),
        turn: TurnId(row.get("turn")?),
        question: NewApproval {
            round: row.get("round")?,
            place: row.get("place")?,
            tool: rows::json(row, "tool")?,
            title: row.get("title")?,
            detail: codec::unpack(&detail).map_err(|_| damaged())?,
            action: ContentHash::from_bytes(row.get("action")?),
            identity: ContentHash::from_bytes(row.get("identity")?),
            extent: if row.get("single")? { Extent::Call } else { Extent::Tool },
            asked: rows::moment(row, "asked")?,
            expires: rows::moment(row, "expires")?,
        },
        answer: answer.zip(answered),
    })
}
