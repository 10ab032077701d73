//! The agent's doors ask here before they do anything: whether the actor may, and whether
//! the session is one of theirs.
//!
//! What may be done is decided in `rights.rs`; this only looks up whom a session is for.

use recto_store::{RowId, SessionId, StoreError, StoredSession};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::AgentResult;
use crate::options::SessionSettings;
use crate::rights::{Right, is_allowed, may_reach};

impl Agent {
    /// Passes an actor who may do this in a session.
    pub(crate) async fn must_be_allowed(
        &self,
        actor: &Actor,
        right: Right,
        session: SessionId,
    ) -> AgentResult {
        actor.must_have(right)?;
        self.must_reach(actor, session).await
    }

    /// Passes an actor whose session it is. For anybody else it is not there: not even
    /// that is told.
    pub(crate) async fn must_reach(&self, actor: &Actor, session: SessionId) -> AgentResult {
        if is_allowed(actor.role, Right::SeeSessions) {
            return Ok(());
        }
        let stored = self.store().session(session).await?;
        match stored.is_some_and(|stored| can_reach(actor, &stored)) {
            true => Ok(()),
            false => Err(StoreError::NotFound(RowId::Session(session)).into()),
        }
    }
}

/// Whether a session is one of the actor's.
pub(crate) fn can_reach(actor: &Actor, session: &StoredSession) -> bool {
    may_reach(actor, &SessionSettings::from_store(&session.settings).audience())
}
