//! Tasks for sub-agents: who may be given one, what it sees, and what it may do.
//!
//! A task is done in a session of its own, which has one turn and stays for good. What that turn
//! sees is the texts of the sub-agent and the task; nothing of the conversation that it comes
//! from. What it may do is never more than whoever gave the task: its tools are those that its
//! `agent.toml` names and its caller could call, without any that a person would have to allow.

mod begin;
mod page;
mod task;
mod tool;

use std::time::Duration;

use recto_context::{Audience, AudienceKind};
use recto_store::TurnId;
use serde::{Deserialize, Serialize};

pub(crate) use begin::TASK_SURFACE;
pub use begin::callable_tools;
pub(crate) use page::sub_agent_layout;
pub use task::TaskOutcome;
pub(crate) use tool::{AgentLink, DelegateTool, complete_delegate_tool};
pub use tool::{DELEGATE_TOOL, delegate_tool};

/// The limits of what is given to sub-agents, and what they see of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegationLimits {
    /// What a sub-agent sees of the conversation that its task comes from.
    pub context: DelegationContext,
    /// How deep tasks may be handed on: with 1, sub-agents have none of their own.
    pub max_depth: u32,
    /// How many tasks a turn may give.
    pub max_tasks: u32,
    /// How long a task may take.
    pub time_limit: Duration,
}

impl Default for DelegationLimits {
    fn default() -> Self {
        DelegationLimits {
            context: DelegationContext::None,
            max_depth: 2,
            max_tasks: 8,
            time_limit: Duration::from_secs(300),
        }
    }
}

/// What a sub-agent sees of the conversation that its task comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelegationContext {
    /// Nothing.
    #[default]
    None,
    /// The message that the calling turn answers, behind the task.
    LastMessage,
}

/// What makes a session that of a sub-agent's task. It is set when the session begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    /// The sub-agent, by its id.
    pub agent: String,
    /// The turn that gave the task; none where a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
    /// The sub-agents that the task came through before, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// The tools that it may call, by their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Those for whom the task is done: whoever reaches their sessions reaches this one.
    pub on_behalf_of: Audience,
}

impl Delegation {
    /// Whether the task is done for the owner, who alone sees what a sub-agent remembers.
    pub(crate) fn is_owners(&self) -> bool {
        self.on_behalf_of.who == AudienceKind::Owner
    }

    /// How deep the task was handed on, from 1.
    pub(crate) fn depth(&self) -> u32 {
        u32::try_from(self.chain.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The sub-agents that the task came through, the one that does it last.
    pub(crate) fn whole_chain(&self) -> Vec<String> {
        self.chain.iter().chain([&self.agent]).cloned().collect()
    }

    /// Whether the task may be handed on to a sub-agent without going round in a circle.
    pub(crate) fn may_go_to(&self, id: &str) -> bool {
        self.agent != id && self.chain.iter().all(|before| before != id)
    }
}
