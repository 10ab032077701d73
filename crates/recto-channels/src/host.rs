//! What all channels share: the agents, which of them answers where, and the store.

use recto_agent::{Agent, AgentBinding, BindingQuery, find_bound_agent};
use recto_context::Remedy;
use recto_store::{ChannelAccount, SessionId, Store, StoreResult};

/// What channels are given to work with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ChannelHost {
    /// The agents that answer, the default first.
    pub agents: Vec<Agent>,
    /// Which agent answers where.
    pub bindings: Vec<AgentBinding>,
    /// The store that all of them share.
    pub store: Store,
    /// How people are told what can be done about a problem.
    pub remedy_words: fn(&Remedy) -> String,
}

impl ChannelHost {
    /// The agent that answers in a conversation.
    pub(crate) fn agent_for(&self, account: &ChannelAccount, conversation: &str) -> Option<&Agent> {
        let default = self.agents.first()?;
        let place =
            BindingQuery { surface: &account.channel, account: &account.account, conversation };
        let bound = find_bound_agent(&self.bindings, default.name(), place);
        self.agent(bound.agent)
    }

    /// The agent whose session it is.
    pub(crate) async fn agent_of(&self, session: SessionId) -> StoreResult<Option<&Agent>> {
        let session = self.store.session(session).await?;
        Ok(session.and_then(|session| self.agent(&session.agent)))
    }

    fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name() == name)
    }

    /// Whether the program is about to end: nothing new is begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.agents.iter().any(Agent::is_shut_down)
    }
}
