//! `schedule`, for models: makes, lists and removes schedules, once a person has allowed it.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use jiff::Timestamp;
use recto_context::{ItemId, ItemKind, ToolSpec};
use recto_tools::{
    CallArguments, CallContext, Consent, Tool, ToolAction, ToolClass, ToolError, ToolOutput,
};
use serde_json::json;

use super::{DeliveryTarget, SchedulePlan, ScheduleRequest, ScheduleSettings, ScheduleView};
use crate::actor::Actor;
use crate::agent::Agent;
use crate::calling_turn::{CallingTurn, tool_error};
use crate::delegation::AgentLink;
use crate::error::{AgentError, AgentResult};
use crate::rights::Right;

/// The name by which models call it.
pub const SCHEDULE_TOOL: &str = "schedule";

/// The tool as models are told of it.
pub fn schedule_tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["add", "list", "remove"]},
            "name": {"type": "string", "description": "A short name without spaces."},
            "task": {
                "type": "string",
                "description": "What to do then, in full: the run sees nothing of this conversation."
            },
            "cron": {
                "type": "string",
                "description": "When, again and again: minute hour day month weekday."
            },
            "at": {"type": "string", "description": "When, once: 2027-01-31 09:00."},
            "zone": {"type": "string", "description": "The time zone, such as Europe/Berlin."}
        },
        "required": ["action"]
    });
    let description = "Do something later or regularly: remind, report, check every day, every \
                       week or at a set time. The answer comes into this conversation.";
    ToolSpec::new(ItemId::new(ItemKind::Tool, SCHEDULE_TOOL), description, parameters)
}

/// The tool, to be called.
pub(crate) struct ScheduleTool {
    id: ItemId,
    agent: Arc<AgentLink>,
}

impl ScheduleTool {
    pub(crate) fn new(agent: &Arc<AgentLink>) -> Self {
        let id = ItemId::new(ItemKind::Tool, SCHEDULE_TOOL);
        ScheduleTool { id, agent: agent.clone() }
    }
}

impl Tool for ScheduleTool {
    fn id(&self) -> &ItemId {
        &self.id
    }

    fn class(&self) -> ToolClass {
        ToolClass::Schedules
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        async move {
            if arguments.text("action") == Some("add") {
                // What could never run is not asked about.
                read_plan(arguments)?;
            }
            Ok(ToolAction::from_arguments(SCHEDULE_TOOL, arguments))
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        async move {
            let Some(agent) = self.agent.get() else {
                return Err(ToolError::new("there is no agent whose schedules they could be"));
            };
            match arguments.text("action").unwrap_or_default() {
                "add" => add(&agent, &arguments, context).await,
                "remove" => remove(&agent, &arguments, context).await,
                _ => {
                    let all = visible_schedules(&agent, context).await;
                    Ok(list(&all.map_err(|error| tool_error(&error))?))
                }
            }
        }
        .boxed()
    }
}

/// The schedules that whoever asks may know of: all for those who may change the workspace, for
/// others what they have asked for themselves.
async fn visible_schedules(agent: &Agent, context: &CallContext) -> AgentResult<Vec<ScheduleView>> {
    let CallingTurn { actor, .. } = CallingTurn::find(agent, context).await?;
    let mut all = agent.schedules_unchecked().await?;
    if actor.must_have(Right::ChangeWorkspace).is_err() {
        all.retain(|view| Actor::from_store(&view.stored.actor).is_same_person(&actor));
    }
    Ok(all)
}

async fn remove(agent: &Agent, arguments: &CallArguments, context: &CallContext) -> ToolOutput {
    let typed = arguments.text("name").unwrap_or_default();
    let caller = CallingTurn::find(agent, context).await.map_err(|error| tool_error(&error))?;
    let visible = visible_schedules(agent, context).await.map_err(|error| tool_error(&error))?;
    let known: Vec<String> = visible.into_iter().map(|view| view.stored.name).collect();
    let own = own_name(&caller.actor, typed);
    let Some(name) = known.iter().find(|name| *name == typed || **name == own) else {
        return Err(tool_error(&AgentError::NoSuchSchedule { name: typed.to_owned(), known }));
    };
    let removed =
        agent.remove_schedule_unchecked(name).await.map_err(|error| tool_error(&error))?;
    Ok(format!("removed: {}", removed.stored.name))
}

async fn add(agent: &Agent, arguments: &CallArguments, context: &CallContext) -> ToolOutput {
    let plan = read_plan(arguments)?;
    let caller = CallingTurn::find(agent, context).await.map_err(|error| tool_error(&error))?;
    let target = DeliveryTarget::of_session(agent, &caller.session).await;
    let target = target.map_err(|error| tool_error(&error))?;
    let request = ScheduleRequest {
        name: own_name(&caller.actor, arguments.text("name").unwrap_or_default()),
        plan,
        task: arguments.text("task").unwrap_or_default().to_owned(),
        settings: ScheduleSettings::default(),
        target,
    };
    let kept = agent.add_schedule_unchecked(&caller.actor, request).await;
    let kept = kept.map_err(|error| tool_error(&error))?;
    let (name, next) = (&kept.stored.name, kept.describe_next());
    Ok(format!("scheduled `{name}`: {}; next run {next}", kept.describe_plan()))
}

/// The name under which somebody's schedule is kept. Who may not know of others' has names to
/// themself, so that none that is taken tells of one.
fn own_name(actor: &Actor, name: &str) -> String {
    let (name, own) = (name.trim(), format!("{}-", actor.id));
    let is_plain = actor.must_have(Right::ChangeWorkspace).is_ok() || name.is_empty();
    match is_plain || name.starts_with(&own) {
        true => name.to_owned(),
        false => format!("{own}{name}"),
    }
}

fn read_plan(arguments: &CallArguments) -> Result<SchedulePlan, ToolError> {
    let [cron, at, zone] = ["cron", "at", "zone"].map(|key| arguments.text(key));
    SchedulePlan::typed(cron, at, zone, Timestamp::now())
        .map_err(|error| ToolError::new(format!("{error} (hint: {})", error.hint())))
}

fn list(all: &[ScheduleView]) -> String {
    if all.is_empty() {
        return "nothing is scheduled".to_owned();
    }
    let mut out = String::new();
    for view in all {
        let next = view.describe_next();
        let (name, task) = (&view.stored.name, &view.stored.task);
        let _ = writeln!(out, "- {name}: {}; next run {next}; {task}", view.describe_plan());
    }
    out
}
