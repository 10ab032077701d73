//! How turns are stopped, wherever they are: by a signal in this process, and by a request in the
//! store that the process finds that has them, or whoever takes them up.

use recto_store::{
    RowId, SessionId, Store, StoreError, StoredSession, StoredTurn, TurnId, TurnOwner,
};
use serde::Serialize;

use crate::access::can_reach;
use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::MailboxItem;
use crate::recover::settle_open_turns;
use crate::rights::Right;
use crate::shutdown::TakeUpScope;

/// What became of the wish to stop what is open in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopReport {
    /// The session, by its name or number.
    pub session: String,
    /// What happens to its turns.
    pub outcome: StopOutcome,
}

/// What happens to a turn that is to be stopped; of several, the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopOutcome {
    /// It is being stopped.
    Now,
    /// It runs in another process, which was asked to stop it.
    Elsewhere,
    /// No process had it any more, and it is closed.
    Closed,
    /// Nothing runs in the session.
    NothingRuns,
}

/// Stops everything that is open in a session, without the agent whose session it is. What a
/// process has is stopped by that process.
pub async fn stop_session(
    store: &Store,
    actor: &Actor,
    session: &StoredSession,
) -> AgentResult<StopReport> {
    actor.must_have(Right::Stop)?;
    if !can_reach(actor, session) {
        return Err(StoreError::NotFound(RowId::Session(session.id)).into());
    }
    let outcome = request_stops(store, actor, session.id, StopExtent::Session).await?;
    settle_open_turns(store).await?;
    Ok(StopReport { session: session.label(), outcome })
}

impl Agent {
    /// Stops what this process is at in a session, be it that it runs or that it waits for a turn
    /// of another process, and says whether there was anything. Should this process end first,
    /// nobody goes on with it.
    pub async fn stop(&self, actor: &Actor, session: SessionId) -> AgentResult<bool> {
        self.must_be_allowed(actor, Right::Stop, session).await?;
        if !self.mailboxes.has_running(session) {
            return Ok(false);
        }
        // Before the signal: behind it another turn may run. Where the store does not take it,
        // the turn is stopped all the same.
        let _ = self.store().request_stop_of_own(session, actor.to_store()).await;
        Ok(self.mailboxes.stop(session, actor))
    }

    /// Stops one turn, whether it runs or waits, here or in another process. Those before and
    /// behind it in the session go on.
    pub async fn stop_turn(
        &self,
        actor: &Actor,
        session: SessionId,
        turn: TurnId,
    ) -> AgentResult<bool> {
        self.must_be_allowed(actor, Right::Stop, session).await?;
        if self.store().turn(turn).await?.is_none_or(|turn| turn.session != session) {
            return Err(StoreError::NotFound(RowId::Turn(turn)).into());
        }
        self.request_turn_stop(actor, session, turn).await
    }

    /// The same for a turn that the agent itself has begun for somebody, whatever their rights
    /// are.
    pub(crate) async fn request_turn_stop(
        &self,
        actor: &Actor,
        session: SessionId,
        turn: TurnId,
    ) -> AgentResult<bool> {
        let was_open = self.store().request_stop(turn, actor.to_store()).await?;
        if was_open {
            // Whoever has it looks for it in time; where that is this process, at once.
            self.post(session, MailboxItem::LookForStop)?;
        }
        Ok(was_open)
    }

    /// Stops the turn that runs in a session, wherever that is.
    pub(crate) async fn stop_running(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<StopOutcome> {
        self.must_be_allowed(actor, Right::Stop, session).await?;
        // What is at work here may only wait for the turn that runs, and is not to be stopped then.
        if !self.is_at_work_elsewhere(session).await? && self.stop(actor, session).await? {
            return Ok(StopOutcome::Now);
        }
        let asked = request_stops(self.store(), actor, session, StopExtent::OldestTurn).await?;
        if asked == StopOutcome::Closed {
            // What waited behind it goes on.
            self.take_up(TakeUpScope::Session(session)).await?;
        }
        Ok(asked)
    }

    /// Whether the turn that runs in a session, or is next, is another process's.
    async fn is_at_work_elsewhere(&self, session: SessionId) -> AgentResult<bool> {
        let open = self.store().open_turn_owners().await?.into_iter();
        let oldest = open.filter(|turn| turn.session == session).min_by_key(|turn| turn.turn);
        Ok(oldest.is_some_and(|turn| turn.owner == TurnOwner::Elsewhere))
    }

    /// Stops everything that is open in the session of that name or number.
    pub(crate) async fn stop_named(&self, actor: &Actor, name: &str) -> AgentResult<StopReport> {
        let named = self.store().find_session(self.name(), &actor.as_holder(), name).await?;
        let session = named.filter(|session| can_reach(actor, session));
        let session = session.ok_or_else(|| AgentError::NoSuchSession { name: name.to_owned() })?;
        self.must_be_allowed(actor, Right::Stop, session.id).await?;
        let mut report = stop_session(self.store(), actor, &session).await?;
        if self.mailboxes.stop(session.id, actor) {
            report.outcome = StopOutcome::Now;
        }
        Ok(report)
    }
}

/// How much of a session is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopExtent {
    /// The turn that runs, or is next.
    OldestTurn,
    /// What waits behind it, too.
    Session,
}

/// Writes the requests to stop. What nobody has any more is to be closed by the caller.
async fn request_stops(
    store: &Store,
    actor: &Actor,
    session: SessionId,
    extent: StopExtent,
) -> AgentResult<StopOutcome> {
    let open = store.open_turns().await?.turns.into_iter();
    let of_session = open.filter(|turn: &StoredTurn| turn.session == session);
    let most = if extent == StopExtent::OldestTurn { 1 } else { usize::MAX };
    let mut outcome = StopOutcome::NothingRuns;
    for turn in of_session.take(most) {
        if store.request_stop(turn.id, actor.to_store()).await? {
            outcome = outcome.min(match turn.owner {
                Some(TurnOwner::Here) => StopOutcome::Now,
                Some(TurnOwner::Elsewhere) => StopOutcome::Elsewhere,
                Some(TurnOwner::Gone) | None => StopOutcome::Closed,
            });
        }
    }
    Ok(outcome)
}
