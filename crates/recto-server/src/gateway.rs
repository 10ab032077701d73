//! What all handlers share: the agents, their store, and the program around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use recto_agent::{
    Actor, Agent, AgentError, Conversation, SOLE_ACCOUNT, SessionSettings, may_reach,
};
use recto_context::{AudienceKind, Remedy};
use recto_store::{RowId, SessionId, Store, StoreError, StoredSession};

use crate::access::AccessControl;
use crate::health::{ReadinessCheck, ServiceReport};
use crate::host::HostHandle;
use crate::metrics::ServerMetrics;
use crate::problem::{ApiProblem, ApiResult};
use crate::session_feed::SessionFeed;

/// The surface of those who talk in the web pages or through the API.
pub(crate) const WEB: &str = "web";

/// All that a gateway is made of.
#[derive(Debug)]
pub struct GatewayParts {
    /// The agents that answer, the default first.
    pub agents: Vec<Agent>,
    /// The store that all of them share.
    pub store: Store,
    /// The person on whose machine it runs, as callers on loopback are known.
    pub owner: Actor,
    /// Who is let in, and how much is taken from each.
    pub access: AccessControl,
    /// The program around it, for what only that can do.
    pub host: HostHandle,
    /// How people are told what can be done about a problem.
    pub remedy_words: fn(&Remedy) -> String,
    /// How that is which runs beside the server.
    pub services: ServiceReport,
}

/// The state of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Gateway(Arc<GatewayParts>, Arc<ServerState>);

/// What the server itself keeps while it runs.
#[derive(Debug, Default)]
struct ServerState {
    feed: SessionFeed,
    metrics: ServerMetrics,
    /// Held by the one who changes an include mode.
    include_changes: tokio::sync::Mutex<()>,
    readiness: ReadinessCheck,
    is_ending: AtomicBool,
}

impl Gateway {
    /// A gateway to these agents.
    pub fn new(parts: GatewayParts) -> Self {
        Gateway(Arc::new(parts), Arc::default())
    }

    /// The agents, the default first.
    pub(crate) fn agents(&self) -> &[Agent] {
        &self.0.agents
    }

    /// The agent of that name.
    pub(crate) fn agent(&self, name: &str) -> Option<&Agent> {
        self.0.agents.iter().find(|agent| agent.name() == name)
    }

    /// The agent that answers those who name none.
    pub(crate) fn default_agent(&self) -> Result<&Agent, AgentError> {
        self.0.agents.first().ok_or(AgentError::NoModel)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn owner(&self) -> &Actor {
        &self.0.owner
    }

    pub(crate) fn access(&self) -> &AccessControl {
        &self.0.access
    }

    pub(crate) fn host(&self) -> &HostHandle {
        &self.0.host
    }

    /// How that is which runs beside the server.
    pub(crate) fn services(&self) -> &ServiceReport {
        &self.0.services
    }

    /// What changes in the list of sessions.
    pub(crate) fn feed(&self) -> &SessionFeed {
        &self.1.feed
    }

    /// Whose turn it is to change an include mode.
    pub(crate) fn include_changes(&self) -> &tokio::sync::Mutex<()> {
        &self.1.include_changes
    }

    /// What the server counts of its own work.
    pub(crate) fn metrics(&self) -> &ServerMetrics {
        &self.1.metrics
    }

    /// The last look at whether it can answer.
    pub(crate) fn readiness(&self) -> &ReadinessCheck {
        &self.1.readiness
    }

    /// Whether the server is about to end: nothing new is begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.1.is_ending.load(Ordering::Relaxed)
    }

    /// Says that the server is about to end.
    pub(crate) fn begin_ending(&self) {
        self.1.is_ending.store(true, Ordering::Relaxed);
    }

    /// The agent of that name, or the one that answers those who name none.
    pub(crate) fn agent_or_default(&self, name: Option<&str>) -> ApiResult<&Agent> {
        let Some(name) = name else { return Ok(self.default_agent()?) };
        self.agent(name).ok_or_else(|| {
            let names: Vec<&str> = self.agents().iter().map(Agent::name).collect();
            ApiProblem::new(
                StatusCode::NOT_FOUND,
                "no_such_agent",
                format!("there is no agent `{name}`"),
            )
            .hint(format!("the agents are: {}", names.join(", ")))
        })
    }

    /// What can be done about a problem, in words.
    pub(crate) fn describe_remedy(&self, remedy: &Remedy) -> String {
        (self.0.remedy_words)(remedy)
    }

    /// How people are told what can be done about a problem.
    pub(crate) fn remedy_words(&self) -> fn(&Remedy) -> String {
        self.0.remedy_words
    }

    /// A session that the actor may know of, with its agent. One of somebody else is not there.
    pub(crate) async fn find_session(
        &self,
        actor: &Actor,
        id: SessionId,
    ) -> Result<(&Agent, StoredSession), AgentError> {
        let stored = self.store().session(id).await?;
        let reached = stored.filter(|session| can_reach(actor, session));
        let session = reached.ok_or(StoreError::NotFound(RowId::Session(id)))?;
        match self.agent(&session.agent) {
            Some(agent) => Ok((agent, session)),
            None => Err(AgentError::OtherAgent { session: id, agent: session.agent }),
        }
    }
}

/// Whether a session is one of the actor's.
pub(crate) fn can_reach(actor: &Actor, session: &StoredSession) -> bool {
    may_reach(actor, &SessionSettings::from_store(&session.settings).holders())
}

/// The conversation that somebody holds in the web pages under this name. Each guest has theirs
/// apart, memories included.
pub(crate) fn web_conversation(actor: &Actor, name: &str) -> Conversation {
    let conversation = Conversation::in_private(WEB, SOLE_ACCOUNT, name, actor);
    let is_owners = conversation.who == AudienceKind::Owner;
    let user = (!is_owners).then(|| actor.id.to_string());
    Conversation { user, ..conversation }
}
