//! `delegate`, for models: gives a task to a sub-agent and waits for what it says.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock, Weak};

use futures_util::future::{BoxFuture, FutureExt};
use recto_context::{ItemId, ItemKind, ToolSpec};
use recto_store::ParentCall;
use recto_tools::{
    CallArguments, CallContext, Consent, Tool, ToolAction, ToolClass, ToolError, ToolOutput,
};
use recto_workspace::SubAgent;
use serde_json::json;
use tokio::time::timeout;

use super::DelegationContext;
use super::begin::{DelegationParts, callable_tools};
use super::task::{DelegatedTask, TaskOutcome, read_outcome};
use crate::agent::Agent;
use crate::calling_turn::{CallingTurn, tool_error};
use crate::error::{AgentError, AgentResult};
use crate::mailboxes::MailboxRegistry;
use crate::shared::AgentShared;

/// The name by which models call it.
pub const DELEGATE_TOOL: &str = "delegate";

/// The longest task that a model may give, in characters.
const LONGEST_TASK: usize = 20_000;

/// The tool, before it is known which sub-agents there are.
pub fn delegate_tool() -> ToolSpec {
    let description = "Give a task to a sub-agent.";
    ToolSpec::new(ItemId::new(ItemKind::Tool, DELEGATE_TOOL), description, json!({}))
}

/// The tool as models are told of it, with those of the sub-agents that can be given a task;
/// nothing where there is nobody.
pub(crate) fn complete_delegate_tool<'a>(
    tool: &ToolSpec,
    agents: impl Iterator<Item = &'a SubAgent>,
) -> Option<ToolSpec> {
    let agents: Vec<&SubAgent> = agents.filter(|agent| agent.takes_tasks()).collect();
    if agents.is_empty() {
        return None;
    }
    let mut description = String::from(
        "Give a task to a specialist and get its answer. It sees nothing but the task, so say \
         everything that it needs to know. The specialists:",
    );
    for agent in &agents {
        let about = agent.config.description.as_deref().unwrap_or(agent.name());
        let _ = write!(description, "\n- {}: {about}", agent.id);
    }
    let ids: Vec<&str> = agents.iter().map(|agent| &*agent.id).collect();
    let parameters = json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "enum": ids},
            "task": {"type": "string", "maxLength": LONGEST_TASK}
        },
        "required": ["agent", "task"]
    });
    let spec = ToolSpec::new(tool.id.clone(), description, parameters);
    Some(ToolSpec { include: tool.include, source: tool.source.clone(), ..spec })
}

/// The way from the tool to the agent that has it, which is there once both are made.
#[derive(Debug, Default)]
pub(crate) struct AgentLink(OnceLock<(Weak<AgentShared>, Weak<MailboxRegistry>)>);

impl AgentLink {
    /// Says which agent has the tool.
    pub(crate) fn set(&self, agent: &Agent) {
        let link = (Arc::downgrade(&agent.shared), Arc::downgrade(&agent.mailboxes));
        // There is one agent, which sets it once.
        let _ = self.0.set(link);
    }

    /// The agent, while there is one.
    pub(crate) fn get(&self) -> Option<Agent> {
        let (shared, mailboxes) = self.0.get()?;
        Some(Agent { shared: shared.upgrade()?, mailboxes: mailboxes.upgrade()? })
    }
}

/// The tool, to be called.
pub(crate) struct DelegateTool {
    spec: ToolSpec,
    agent: Arc<AgentLink>,
}

impl DelegateTool {
    pub(crate) fn new(agent: &Arc<AgentLink>) -> Self {
        DelegateTool { spec: delegate_tool(), agent: agent.clone() }
    }
}

impl Tool for DelegateTool {
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn class(&self) -> ToolClass {
        ToolClass::Delegates
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        async { Ok(ToolAction::from_arguments(DELEGATE_TOOL, arguments)) }.boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        async move {
            let id = arguments.text("agent").unwrap_or_default();
            let task = arguments.text("task").unwrap_or_default();
            if task.trim().is_empty() {
                return Err(ToolError::new("the task is empty; say what is to be done"));
            }
            let Some(agent) = self.agent.get() else {
                return Err(ToolError::new("there is no agent whose turn could give a task"));
            };
            let given = TaskGiver::find(&agent, context).await;
            let giver = given.map_err(|error| tool_error(&error))?;
            giver.delegate(id, task, context).await
        }
        .boxed()
    }
}

/// The turn that gives a task, and the call that gives it.
struct TaskGiver<'a> {
    agent: &'a Agent,
    caller: CallingTurn,
    parent: ParentCall,
}

impl<'a> TaskGiver<'a> {
    async fn find(agent: &'a Agent, context: &CallContext) -> AgentResult<Self> {
        let caller = CallingTurn::find(agent, context).await?;
        let call = context.call.as_ref().ok_or(AgentError::NoCallingTurn)?.0.to_string();
        let parent = ParentCall { turn: caller.turn.id, call };
        Ok(TaskGiver { agent, caller, parent })
    }

    async fn delegate(&self, id: &str, task: &str, context: &CallContext) -> ToolOutput {
        let begun = self.begin(id, context).await;
        let delegated = begun.map_err(|error| tool_error(&error))?;
        let task = self.with_context(task).await.map_err(|error| tool_error(&error))?;
        let limit = self.agent.shared.parts.options.delegation.time_limit;
        match timeout(limit, delegated.run(&task)).await {
            Ok(Ok(TaskOutcome { finished, .. })) => {
                read_outcome(id, finished).map_err(ToolError::new)
            }
            Ok(Err(error)) => Err(tool_error(&error)),
            // It was stopped when it was dropped.
            Err(_) => {
                let seconds = limit.as_secs();
                let text =
                    format!("the sub-agent `{id}` took longer than {seconds} s and was stopped");
                Err(ToolError::new(text))
            }
        }
    }

    async fn begin(&self, id: &str, context: &CallContext) -> AgentResult<DelegatedTask> {
        let CallingTurn { turn, settings, actor, .. } = &self.caller;
        let items = self.agent.store().items(turn.session).await?;
        let parts = DelegationParts {
            agent: id,
            parent: Some(self.parent.clone()),
            caller: settings,
            on_behalf_of: settings.audience(),
            tools: callable_tools(&context.catalog, &items),
        };
        let session = self.agent.begin_delegation(parts).await?;
        Ok(DelegatedTask::new(self.agent, &session, actor))
    }

    /// The task, with what its sub-agent may see of the conversation.
    async fn with_context(&self, task: &str) -> AgentResult<String> {
        match self.agent.shared.parts.options.delegation.context {
            DelegationContext::None => Ok(task.to_owned()),
            DelegationContext::LastMessage => {
                let messages = self.agent.store().messages_of_turn(&self.caller.turn).await?;
                let said = messages.iter().find(|stored| stored.message.is_user());
                let said = said.map(|stored| recto_context::visible_text(stored.message.content()));
                Ok(match said.filter(|said| !said.trim().is_empty()) {
                    Some(said) => format!("{task}\nContext: {said}"),
                    None => task.to_owned(),
                })
            }
        }
    }
}
