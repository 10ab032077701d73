//! Questions whether a tool may run, and what people said.
//!
//! A question is written with the step of the turn that waits for it, so that
//! neither is ever there without the other, and whoever answers need not be the
//! one who asked.

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::{ContentHash, ItemId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec;
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{ApprovalId, Moment, SessionId, TurnId};
use crate::rows::{self, DbResult};
use crate::store::Store;

/// A question whether a tool may run, to be stored with the step that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The round of calls within its turn.
    pub round: u32,
    /// The call's place in the round, from 0.
    pub place: u32,
    /// The tool that would run.
    pub tool: ItemId,
    /// What would be done, in a line.
    pub title: String,
    /// All that the person is shown.
    pub detail: String,
    /// The same as fields. A question of a Recto that kept none has none.
    pub fields: Option<Value>,
    /// The hash of what would be done.
    pub action: ContentHash,
    /// The hash of what the tool is.
    pub identity: ContentHash,
    /// How much the person can allow.
    pub extent: ApprovalExtent,
    /// When it is asked.
    pub asked: Moment,
    /// When nobody need answer any more.
    pub expires: Moment,
}

/// How much a person can allow with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalExtent {
    /// For this call alone.
    Call,
    /// For this call, or for all calls of the tool in the session.
    Tool,
}

/// A question whether a tool may run, with its answer if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredApproval {
    /// The number that people answer it by.
    pub id: ApprovalId,
    /// The session whose model made the call.
    pub session: SessionId,
    /// The turn that waits.
    pub turn: TurnId,
    /// What was asked, as it was shown.
    pub question: NewApproval,
    /// What was said, or became of it.
    pub answer: Option<ApprovalDecision>,
}

/// The answer to a question, with who gave it and when.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDecision {
    /// What was said.
    pub answer: ApprovalAnswer,
    /// When it was said.
    pub at: Moment,
    /// Who said it: JSON that the store does not read. `None` where nobody did.
    pub by: Option<Value>,
}

/// A tool that a person has allowed for a whole session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionApproval {
    /// The tool that may run.
    pub tool: ItemId,
    /// The hash of what it was then.
    pub identity: ContentHash,
    /// In whose turn it was asked for: JSON that the store does not read.
    pub actor: Value,
}

/// What was said to a question, or became of it without anybody saying something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
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

impl ApprovalAnswer {
    const ALL: [ApprovalAnswer; 5] = [
        ApprovalAnswer::Once,
        ApprovalAnswer::Session,
        ApprovalAnswer::Denied,
        ApprovalAnswer::Expired,
        ApprovalAnswer::Withdrawn,
    ];

    /// The name that records use.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalAnswer::Once => "once",
            ApprovalAnswer::Session => "session",
            ApprovalAnswer::Denied => "denied",
            ApprovalAnswer::Expired => "expired",
            ApprovalAnswer::Withdrawn => "withdrawn",
        }
    }

    /// The answer in the words in which it is given.
    pub fn describe(self) -> &'static str {
        match self {
            ApprovalAnswer::Once => "allowed",
            ApprovalAnswer::Session => "allowed for this session",
            ApprovalAnswer::Denied => "denied",
            ApprovalAnswer::Expired => "not answered in time",
            ApprovalAnswer::Withdrawn => "stopped",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.name() == name)
    }
}

impl Store {
    /// All questions that somebody may still answer, oldest first.
    pub async fn open_approvals(&self, now: Moment) -> StoreResult<Vec<StoredApproval>> {
        self.read(move |db| {
            let sql = "SELECT * FROM approvals INDEXED BY open_approvals
                       WHERE answer IS NULL AND expires >= ?1 ORDER BY id";
            db.all(sql, [now.microseconds()], read)
        })
        .await
    }

    /// The questions of a turn, in the order in which they were asked.
    pub async fn approvals_of(&self, turn: TurnId) -> StoreResult<Vec<StoredApproval>> {
        self.read(move |db| {
            let sql = "SELECT * FROM approvals WHERE turn = ?1 ORDER BY round, place";
            db.all(sql, [turn.0], read)
        })
        .await
    }

    /// A question by its number.
    pub async fn approval(&self, id: ApprovalId) -> StoreResult<Option<StoredApproval>> {
        self.read(move |db| find(db, id)).await
    }

    /// Tools that people have allowed for a whole session, oldest first.
    pub async fn allowed_in(&self, session: SessionId) -> StoreResult<Vec<SessionApproval>> {
        self.read(move |db| {
            let sql = "SELECT approvals.tool, approvals.identity, turns.actor
                       FROM approvals JOIN turns ON turns.id = approvals.turn
                       WHERE approvals.session = ?1 AND approvals.answer = 'session'
                       ORDER BY approvals.id";
            db.all(sql, [session.0], |row| {
                Ok(SessionApproval {
                    tool: rows::json(row, "tool")?,
                    identity: ContentHash::from_bytes(row.get("identity")?),
                    actor: rows::unless_damaged(rows::optional_json(row, "actor"))?
                        .unwrap_or_default(),
                })
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
        decision: ApprovalDecision,
    ) -> StoreResult<StoredApproval> {
        self.write(move |db| {
            let approval = find(db, id)?.ok_or(StoreError::NotFound(RowId::Approval(id)))?;
            if let Some(ApprovalDecision { answer, .. }) = approval.answer {
                return Err(StoreError::Decided { approval: id, answer }.into());
            }
            let ApprovalDecision { answer, at, by } = decision.clone();
            let answer = match answer {
                ApprovalAnswer::Withdrawn => answer,
                _ if at > approval.question.expires => ApprovalAnswer::Expired,
                ApprovalAnswer::Session if approval.question.extent == ApprovalExtent::Call => {
                    ApprovalAnswer::Once
                }
                _ => answer,
            };
            // What came too late was nobody's answer.
            let by = by.filter(|_| answer != ApprovalAnswer::Expired);
            let person = by.as_ref().map(rows::to_json).transpose()?;
            let sql = "UPDATE approvals SET answer = ?2, answered = ?3, answered_by = ?4
                       WHERE id = ?1";
            db.execute(sql, params![id.0, answer.name(), at.microseconds(), person])?;
            Ok(StoredApproval { answer: Some(ApprovalDecision { answer, at, by }), ..approval })
        })
        .await
    }
}

/// Writes the questions of a step.
pub(crate) fn insert_questions(
    db: &SqlConnection,
    session: SessionId,
    turn: TurnId,
    questions: &[NewApproval],
) -> DbResult<()> {
    let sql = "INSERT INTO approvals
                   (session, turn, round, place, tool, title, detail, action, identity, single,
                    asked, expires, fields)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    for question in questions {
        let values = params![
            session.0,
            turn.0,
            question.round,
            question.place,
            rows::to_json(&question.tool)?,
            question.title,
            codec::pack(&question.detail),
            question.action.as_bytes(),
            question.identity.as_bytes(),
            question.extent == ApprovalExtent::Call,
            question.asked.microseconds(),
            question.expires.microseconds(),
            question.fields.as_ref().map(|fields| codec::pack(&fields.to_string())),
        ];
        db.execute(sql, values)?;
    }
    Ok(())
}

/// Takes back what a turn that ends has asked.
pub(crate) fn withdraw(db: &SqlConnection, turn: TurnId, at: Moment) -> DbResult<()> {
    let sql = "UPDATE approvals SET answer = 'withdrawn', answered = ?2
               WHERE turn = ?1 AND answer IS NULL";
    db.execute(sql, params![turn.0, at.microseconds()]).map(drop)
}

fn find(db: &SqlConnection, id: ApprovalId) -> DbResult<Option<StoredApproval>> {
    db.first("SELECT * FROM approvals WHERE id = ?1", [id.0], read)
}

fn read(row: &SqlRow<'_>) -> DbResult<StoredApproval> {
    let id = ApprovalId(row.get("id")?);
    let damaged = || DbError::damaged(format!("approval {id}"));
    let answer: Option<String> = row.get("answer")?;
    let answer =
        answer.map(|name| ApprovalAnswer::from_name(&name).ok_or_else(damaged)).transpose()?;
    let answered = rows::optional_moment(row, "answered")?;
    let by = rows::optional_json(row, "answered_by")?;
    let text = |packed: Vec<u8>| codec::unpack(&packed).map_err(|_| damaged());
    let fields: Option<Vec<u8>> = row.get("fields")?;
    let fields = fields.map(text).transpose()?;
    let fields = fields.map(|text| serde_json::from_str(&text).map_err(|_| damaged()));
    Ok(StoredApproval {
        id,
        session: SessionId(row.get("session")?),
        turn: TurnId(row.get("turn")?),
        question: NewApproval {
            round: row.get("round")?,
            place: row.get("place")?,
            tool: rows::json(row, "tool")?,
            title: row.get("title")?,
            detail: text(row.get("detail")?)?,
            fields: fields.transpose()?,
            action: ContentHash::from_bytes(row.get("action")?),
            identity: ContentHash::from_bytes(row.get("identity")?),
            extent: if row.get("single")? { ApprovalExtent::Call } else { ApprovalExtent::Tool },
            asked: rows::moment(row, "asked")?,
            expires: rows::moment(row, "expires")?,
        },
        answer: answer.zip(answered).map(|(answer, at)| ApprovalDecision { answer, at, by }),
    })
}
