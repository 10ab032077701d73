//! Which sessions sub-agents work in, and the calls that gave them their tasks.

use crate::sql::{SqlConnection, SqlRow, params};
use serde::Serialize;

use crate::error::StoreResult;
use crate::holder::SessionHolder;
use crate::ids::{SessionId, TurnId};
use crate::rows::DbResult;
use crate::sessions::{self, NewSession, StoredSession};
use crate::store::Store;

/// A task that is to be given to a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelegation {
    /// The sub-agent, by its id.
    pub agent: String,
    /// The call that gives the task; none where a person does.
    pub parent: Option<ParentCall>,
    /// How many tasks a turn may give. Nothing is begun beyond it.
    pub most: u32,
}

/// The call of a turn that gave a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParentCall {
    /// The turn that made the call.
    pub turn: TurnId,
    /// The call's id in that turn.
    pub call: String,
}

/// A task that was given to a sub-agent, with where it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredDelegation {
    /// The sub-agent, by its id.
    pub agent: String,
    /// The call that gave the task; none where a person did.
    pub parent: Option<ParentCall>,
    /// The session in which it is done.
    pub session: SessionId,
    /// The turn that does it, once it is stored.
    pub turn: Option<TurnId>,
}

impl Store {
    /// Begins a session for a sub-agent's task. `None` where the turn has given as many tasks as
    /// it may; that is decided here, so that calls side by side can't all be the last.
    pub async fn begin_delegation(
        &self,
        new: NewDelegation,
        session: NewSession,
        holder: SessionHolder,
    ) -> StoreResult<Option<StoredSession>> {
        self.write(move |db| {
            let NewDelegation { agent, parent, most } = &new;
            if let Some(ParentCall { turn, .. }) = parent {
                let sql = "SELECT count(*) FROM delegations WHERE parent = ?1";
                let given: i64 = db.only(sql, [turn.0])?;
                if given >= i64::from(*most) {
                    return Ok(None);
                }
            }
            let began = sessions::insert(db, &holder, &session)?;
            let sql = "INSERT INTO delegations (session, parent, call, agent)
                       VALUES (?1, ?2, ?3, ?4)";
            let (turn, call) = (
                parent.as_ref().map(|parent| parent.turn.0),
                parent.as_ref().map(|parent| parent.call.as_str()),
            );
            db.execute(sql, params![began.id.0, turn, call, agent])?;
            Ok(Some(began))
        })
        .await
    }

    /// The tasks that a turn has given, in order.
    pub async fn delegations_of(&self, turn: TurnId) -> StoreResult<Vec<StoredDelegation>> {
        self.read(move |db| {
            let sql = format!("{SELECT} WHERE parent = ?1 ORDER BY session");
            db.all(&sql, [turn.0], read)
        })
        .await
    }

    /// The task that is done in a session, if it is such a session.
    pub async fn delegation_in(&self, session: SessionId) -> StoreResult<Option<StoredDelegation>> {
        self.read(move |db| {
            let sql = format!("{SELECT} WHERE session = ?1");
            db.first(&sql, [session.0], read)
        })
        .await
    }
}

const SELECT: &str = "SELECT session, parent, call, agent,
                             (SELECT min(id) FROM turns WHERE turns.session = delegations.session)
                                 AS turn
                      FROM delegations";

fn read(row: &SqlRow<'_>) -> DbResult<StoredDelegation> {
    let parent: Option<i64> = row.get("parent")?;
    let call: Option<String> = row.get("call")?;
    Ok(StoredDelegation {
        agent: row.get("agent")?,
        parent: parent
            .map(|turn| ParentCall { turn: TurnId(turn), call: call.unwrap_or_default() }),
        session: SessionId(row.get("session")?),
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
    })
}

/// The sessions whose tasks were given in a session, and those of their tasks in turn: the
/// innermost first.
pub(crate) fn descendants(db: &SqlConnection, session: SessionId) -> DbResult<Vec<SessionId>> {
    let sql = "WITH RECURSIVE below (session) AS (
                   SELECT delegations.session FROM delegations
                   JOIN turns ON turns.id = delegations.parent WHERE turns.session = ?1
                   UNION
                   SELECT delegations.session FROM delegations
                   JOIN turns ON turns.id = delegations.parent
                   JOIN below ON turns.session = below.session
               )
               SELECT session FROM below ORDER BY session DESC";
    db.all(sql, [session.0], |row| Ok(SessionId(row.get("session")?)))
}
