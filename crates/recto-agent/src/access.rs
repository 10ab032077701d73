//! The agent's doors ask here before they do anything: whether the actor may, and whether
//! the session is one of theirs and of this agent.
//!
//! What may be done is decided in `rights.rs`; this only looks up whom a session is for.

use recto_store::{RowId, SessionId, StoreError, StoredSession};

use crate::actor::{Actor, ActorRole};
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::inbound::ArrivedMessage;
use crate::options::SessionSettings;
use crate::rights::{Right, is_allowed, may_reach};
use crate::shared::AgentShared;

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

    /// Passes an actor whose session it is, where it is this agent's. For anybody else it
    /// is not there: not even that is told.
    pub(crate) async fn must_reach(&self, actor: &Actor, session: SessionId) -> AgentResult {
        must_reach(&self.shared, actor, session).await
    }

    /// Whether a session is about the folder that the agent works in. In any other nothing can be
    /// said by way of this agent.
    pub fn works_in_folder_of(&self, session: &StoredSession) -> bool {
        works_in_folder_of(&self.shared, session)
    }
}

/// Passes a message of an actor whose session it is in, unless it was delivered before. The
/// session's own task asks, in the order in which the messages came.
pub(crate) async fn admit_message(shared: &AgentShared, message: &ArrivedMessage) -> AgentResult {
    let actor = &message.inbound.actor;
    // Whether a session is this agent's shows when it is read for the turn.
    if !is_allowed(actor.role, Right::SeeSessions) {
        must_reach(shared, actor, message.session).await?;
    }
    if let Some(delivery) = &message.delivery
        && let Some(turn) = shared.parts.store.delivered(delivery).await?
    {
        return Err(StoreError::Delivered { turn }.into());
    }
    reopen_for_people(shared, message).await
}

/// Takes a session out of the archive in which a person says something: it is seen in the lists,
/// whichever surface it was said on. Where another has its name by now, the message is refused, so
/// that nobody looks for what was said under the wrong one. Where the message will be refused,
/// because the session is another agent's or about another folder, it stays where it is.
async fn reopen_for_people(shared: &AgentShared, message: &ArrivedMessage) -> AgentResult {
    if message.inbound.actor.role == ActorRole::Schedule {
        return Ok(());
    }
    let store = &shared.parts.store;
    let is_put_away = |stored: &StoredSession| {
        let is_task = SessionSettings::from_store(&stored.settings).delegation.is_some();
        let is_ours = stored.agent == *shared.parts.options.name;
        stored.archived.is_some() && !is_task && is_ours && works_in_folder_of(shared, stored)
    };
    if store.session(message.session).await?.as_ref().is_some_and(is_put_away) {
        store.unarchive(message.session).await?;
    }
    Ok(())
}

async fn must_reach(shared: &AgentShared, actor: &Actor, session: SessionId) -> AgentResult {
    let stored = shared.parts.store.session(session).await?;
    match stored.filter(|stored| can_reach(actor, stored)) {
        None => Err(StoreError::NotFound(RowId::Session(session)).into()),
        Some(stored) if stored.agent != *shared.parts.options.name => {
            Err(AgentError::other_agent(&stored))
        }
        Some(_) => Ok(()),
    }
}

/// Passes a session of the folder that the agent works in: its tools would write elsewhere than
/// where the session is about.
pub(crate) fn must_work_in_its_folder(
    shared: &AgentShared,
    session: &StoredSession,
) -> AgentResult {
    match works_in_folder_of(shared, session) {
        true => Ok(()),
        false => Err(AgentError::OtherFolder { session: session.id }),
    }
}

fn works_in_folder_of(shared: &AgentShared, session: &StoredSession) -> bool {
    SessionSettings::from_store(&session.settings).folder == shared.parts.options.folder
}

/// Whether a session is one of the actor's.
pub(crate) fn can_reach(actor: &Actor, session: &StoredSession) -> bool {
    may_reach(actor, &SessionSettings::from_store(&session.settings).holders())
}
