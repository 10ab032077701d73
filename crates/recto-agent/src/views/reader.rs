//! The record as one actor may see it: sessions and turns that are theirs to look at.

use recto_store::{
    MessageHit, Moment, RowId, SessionFilter, SessionId, SessionSummary, Store, StoreError,
    StoredApproval, StoredSession, StoredTurn, TurnId,
};

use super::turn_record::TurnRecord;
use crate::access::can_reach;
use crate::actor::Actor;
use crate::error::{AgentError, AgentResult};
use crate::rights::{Right, is_allowed};

/// A reader of the record for one actor. What is not theirs to see is not there for them: not
/// even that is told.
#[derive(Debug, Clone, Copy)]
pub struct RecordReader<'a> {
    pub(super) store: &'a Store,
    pub(super) actor: &'a Actor,
}

impl<'a> RecordReader<'a> {
    /// A reader of a store for this actor.
    pub fn new(store: &'a Store, actor: &'a Actor) -> Self {
        RecordReader { store, actor }
    }

    /// A session, and not what was sent in it.
    pub async fn session(&self, id: SessionId) -> AgentResult<StoredSession> {
        let stored = self.store.session(id).await?;
        let reached = stored.filter(|session| can_reach(self.actor, session));
        Ok(reached.ok_or(StoreError::NotFound(RowId::Session(id)))?)
    }

    /// Sessions, the one spoken in last first.
    pub async fn sessions(&self, filter: SessionFilter) -> AgentResult<Vec<SessionSummary>> {
        let mut sessions = self.store.sessions(filter).await?;
        sessions.retain(|summary| can_reach(self.actor, &summary.session));
        Ok(sessions)
    }

    /// The question of that number, whether it is answered or not, with its session.
    pub async fn approval(
        &self,
        approval: recto_store::ApprovalId,
    ) -> AgentResult<(StoredApproval, StoredSession)> {
        let not_found = || StoreError::NotFound(RowId::Approval(approval));
        let found = self.store.approval(approval).await?.ok_or_else(not_found)?;
        let session = self.store.session(found.session).await?;
        let reached = session.filter(|session| can_reach(self.actor, session));
        Ok((found, reached.ok_or_else(not_found)?))
    }

    /// The questions that wait for an answer, oldest first, each with its session.
    pub async fn open_approvals(&self) -> AgentResult<Vec<(StoredApproval, StoredSession)>> {
        let mut open = Vec::new();
        for approval in self.store.open_approvals(Moment::now()).await? {
            let session = self.store.session(approval.session).await?;
            let reached = session.filter(|session| can_reach(self.actor, session));
            open.extend(reached.map(|session| (approval, session)));
        }
        Ok(open)
    }

    /// Messages that have all of these words, those stored last first.
    pub async fn search_messages(&self, query: &str, limit: usize) -> AgentResult<Vec<MessageHit>> {
        self.actor.must_have(Right::Inspect)?;
        if is_allowed(self.actor.role, Right::SeeSessions) {
            return Ok(self.store.search(query, limit).await?);
        }
        let sessions = self.store.sessions_brief().await?;
        let reached = sessions.iter().filter(|session| can_reach(self.actor, session));
        let reached = reached.map(|session| session.id).collect();
        Ok(self.store.search_within(reached, query, limit).await?)
    }

    /// The turn that is asked for by its number, or as `last`.
    pub async fn find_turn(&self, name: &str) -> AgentResult<TurnRecord<'a>> {
        match name.trim() {
            "last" => self.last_turn().await,
            number => match number.parse() {
                Ok(id) => self.turn(id).await,
                Err(_) => Err(AgentError::NoSuchTurn { name: name.to_owned() }),
            },
        }
    }

    /// The turn of that number.
    pub async fn turn(&self, id: TurnId) -> AgentResult<TurnRecord<'a>> {
        self.actor.must_have(Right::Inspect)?;
        let found = match self.store.turn(id).await? {
            Some(turn) if self.reaches(turn.session).await? => Some(turn),
            _ => None,
        };
        let turn = found.ok_or_else(|| AgentError::NoSuchTurn { name: id.to_string() })?;
        Ok(TurnRecord { reader: *self, turn })
    }

    /// The last turn of all.
    pub async fn last_turn(&self) -> AgentResult<TurnRecord<'a>> {
        self.actor.must_have(Right::Inspect)?;
        let last = match is_allowed(self.actor.role, Right::SeeSessions) {
            true => self.store.last_turn(None).await?,
            false => self.last_of_own().await?,
        };
        let turn = last.ok_or(AgentError::NoTurnYet)?;
        Ok(TurnRecord { reader: *self, turn })
    }

    /// The last turn of those sessions that the actor may see.
    async fn last_of_own(&self) -> AgentResult<Option<StoredTurn>> {
        let mut last: Option<StoredTurn> = None;
        for session in self.store.sessions_brief().await? {
            if can_reach(self.actor, &session) {
                let turn = self.store.last_turn(Some(session.id)).await?;
                last = last.into_iter().chain(turn).max_by_key(|turn| turn.id);
            }
        }
        Ok(last)
    }

    /// All turns, in the order in which they were accepted.
    pub async fn every_turn(&self) -> AgentResult<Vec<TurnRecord<'a>>> {
        let mut turns = Vec::new();
        for summary in self.sessions(SessionFilter::All).await? {
            turns.extend(self.turns_of(summary.session.id).await?);
        }
        turns.sort_by_key(|record| record.turn.id);
        Ok(turns)
    }

    /// The turns of a session, in order.
    async fn turns_of(&self, session: SessionId) -> AgentResult<Vec<TurnRecord<'a>>> {
        self.actor.must_have(Right::Inspect)?;
        self.session(session).await?;
        let turns = self.store.turns(session).await?;
        Ok(turns.into_iter().map(|turn| TurnRecord { reader: *self, turn }).collect())
    }

    /// The newest turns of a session before one of them, or of all, the newest first.
    pub async fn newest_turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        most: u32,
    ) -> AgentResult<Vec<TurnRecord<'a>>> {
        self.actor.must_have(Right::Inspect)?;
        self.session(session).await?;
        let turns = self.store.last_turns(session, before, most).await?;
        Ok(turns.into_iter().rev().map(|turn| TurnRecord { reader: *self, turn }).collect())
    }

    async fn reaches(&self, session: SessionId) -> AgentResult<bool> {
        let stored = self.store.session(session).await?;
        Ok(stored.is_some_and(|session| can_reach(self.actor, &session)))
    }
}
