//! A session's name and its place among the open ones, as people change them.

use recto_store::{Moment, SessionId, SessionName, StoredSession};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::AgentResult;
use crate::rights::Right;

impl Agent {
    /// Gives a session another name.
    pub async fn rename_session(
        &self,
        actor: &Actor,
        session: SessionId,
        name: SessionName,
    ) -> AgentResult<StoredSession> {
        self.must_be_allowed(actor, Right::ChangeSettings, session).await?;
        Ok(self.store().rename(session, name).await?)
    }

    /// Puts a session into the archive, without beginning another.
    pub async fn archive_session(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<StoredSession> {
        self.must_be_allowed(actor, Right::BeginSession, session).await?;
        Ok(self.store().archive(session, Moment::now()).await?)
    }
}
