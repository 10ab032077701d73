//! The turn in which a tool of Recto's own is called, and how its errors are told to a model.

use recto_store::{RowId, StoreError, StoredSession, StoredTurn};
use recto_tools::{CallContext, ToolError};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;

/// The turn that a call belongs to, with who asks in it and what holds for it.
pub(crate) struct CallingTurn {
    pub(crate) turn: StoredTurn,
    pub(crate) session: StoredSession,
    /// Those of the turn, and where it has none those of its session.
    pub(crate) settings: SessionSettings,
    pub(crate) actor: Actor,
}

impl CallingTurn {
    /// Finds the turn that a call belongs to.
    pub(crate) async fn find(agent: &Agent, context: &CallContext) -> AgentResult<Self> {
        let number = context.caller.turn.map(|turn| turn.to_string().parse());
        let Some(Ok(id)) = number else { return Err(AgentError::NoCallingTurn) };
        let turn = agent.store().turn(id).await?.ok_or(StoreError::NotFound(RowId::Turn(id)))?;
        let session = agent.store().session(turn.session).await?;
        let session = session.ok_or(StoreError::NotFound(RowId::Session(turn.session)))?;
        let of_session = SessionSettings::from_store(&session.settings);
        let settings = of_session.overridden_by(&SessionSettings::from_store(&turn.settings));
        let actor = Actor::from_store(&turn.actor);
        Ok(CallingTurn { turn, session, settings, actor })
    }
}

/// An error as a model reads it, with what to do about it.
pub(crate) fn tool_error(error: &AgentError) -> ToolError {
    ToolError::new(match error.hint() {
        Some(hint) => format!("{error} (hint: {hint})"),
        None => error.to_string(),
    })
}
