//! What sub-agents ask for and never get: models that are not there, and tools that are not there or
//! that nobody hands on.

use std::sync::Arc;

use recto_agent::{DELEGATE_TOOL, SCHEDULE_TOOL, callable_tools, other_agents};
use recto_context::{Catalog, ToolSpec, nearest_name};
use recto_tools::{CallContext, ToolClass, Toolbox};
use recto_workspace::{Severity, SubAgent};
use serde_json::{Value, json};

use crate::check_report::severity_name;
use crate::commands::tools::skills::{declaring, trusted};
use crate::config::Settings;
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::setup;

/// Something that a sub-agent asks for and does not get.
pub(super) struct SubAgentFlaw {
    /// The sub-agent, by its id.
    pub(super) agent: Arc<str>,
    pub(super) severity: Severity,
    /// What it does, as a sentence goes on that begins with it.
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

impl SubAgentFlaw {
    pub(super) fn json(&self) -> Value {
        json!({
            "severity": severity_name(self.severity),
            "message": self.what,
            "hint": self.hint,
        })
    }
}

/// What the sub-agents of an agent ask for and do not get, each with what to do about it.
pub(super) fn find_flaws(home: &RectoHome, settings: &Settings) -> CliResult<Vec<SubAgentFlaw>> {
    let snapshot = setup::read_workspace(settings)?;
    if snapshot.sub_agents.is_empty() {
        return Ok(Vec::new());
    }
    let catalog = setup::whole_catalog(home, settings, &snapshot);
    let runtime = setup::runtime()?;
    let skills = runtime.block_on(declaring(settings, &catalog))?;
    let context = CallContext {
        catalog: Arc::new(catalog.clone()),
        trusted: Arc::new(trusted(&skills)),
        ..CallContext::default()
    };
    let mut found = settings.clone();
    // Without entries in the config, the models are those that are found.
    runtime.block_on(setup::find(&mut found, None));
    let inspection = SubAgentInspection {
        settings: &found,
        tools: setup::toolbox(home, settings),
        handed_on: callable_tools(&catalog, &[]),
        takers: other_agents(&snapshot.sub_agents, &settings.agent.name)
            .into_iter()
            .filter(|agent| agent.takes_tasks())
            .map(|agent| agent.id.clone())
            .collect(),
        catalog,
        context,
    };
    Ok(snapshot.sub_agents.iter().flat_map(|agent| inspection.look_at(agent)).collect())
}

/// All that is needed to say what a sub-agent gets.
struct SubAgentInspection<'a> {
    settings: &'a Settings,
    catalog: Catalog,
    tools: Toolbox,
    context: CallContext,
    /// The tools that a session without items of its own could call.
    handed_on: Vec<ToolSpec>,
    /// The sub-agents that take tasks.
    takers: Vec<Arc<str>>,
}

impl SubAgentInspection<'_> {
    fn look_at(&self, agent: &SubAgent) -> Vec<SubAgentFlaw> {
        let flaw =
            |severity, (what, hint)| SubAgentFlaw { agent: agent.id.clone(), severity, what, hint };
        let name = (*agent.id == *self.settings.agent.name).then(|| {
            let what = "has the agent's own name, and so takes no tasks".to_owned();
            flaw(Severity::Error, (what, Some("rename its folder".to_owned())))
        });
        let model = agent.config.model.as_deref().and_then(|model| self.missing_model(model));
        let model = model.map(|told| flaw(Severity::Error, told));
        let tools = agent.config.tools.iter().filter_map(|tool| {
            let (severity, told) = self.missing_tool(agent, tool)?;
            Some(flaw(severity, told))
        });
        name.into_iter().chain(model).chain(tools).collect()
    }

    /// Whether a person is asked before a tool runs.
    fn asks(&self, spec: &ToolSpec) -> bool {
        let approval = self.tools.approval();
        match &*spec.id.name {
            // The tool itself is only in a running agent.
            SCHEDULE_TOOL => self.tools.asks_as(spec, ToolClass::Schedules, approval),
            _ => self.tools.asks(spec, &self.context, approval),
        }
    }

    fn missing_model(&self, asked: &str) -> Option<(String, Option<String>)> {
        let models: Vec<&str> = self.settings.models.iter().map(|it| it.name.as_str()).collect();
        if models.contains(&asked) {
            return None;
        }
        let hint = match nearest_name(asked, models.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if models.is_empty() => "there is no model at all".to_owned(),
            None => format!("there are: {}", models.join(", ")),
        };
        Some((format!("names the model `{asked}`, which is not there"), Some(hint)))
    }

    /// Why a tool is never a sub-agent's, if it is not.
    fn missing_tool(
        &self,
        agent: &SubAgent,
        key: &str,
    ) -> Option<(Severity, (String, Option<String>))> {
        let named = |why: &str| format!("names the tool `{key}`, {why}");
        let Some(spec) = self.catalog.all_tools().find(|spec| spec.id.key() == key) else {
            let known: Vec<String> = self.catalog.all_tools().map(|spec| spec.id.key()).collect();
            let near = nearest_name(key, known.iter().map(String::as_str));
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            return Some((Severity::Error, (named("which the agent does not have"), hint)));
        };
        let (why, hint) = if self.asks(spec) {
            let why =
                "which it does not get: a person is asked before it runs, and nobody is there";
            let table = format!("`[items.tool.\"{key}\"]`");
            (why, format!("set `permission = \"allow\"` in {table}, or leave it out"))
        } else if *spec.id.name == *DELEGATE_TOOL && self.settings.delegate.max_depth < 2 {
            let why = "which it never gets: `delegate.max_depth` is 1";
            (why, "raise it, or leave the tool out".to_owned())
        } else if *spec.id.name == *DELEGATE_TOOL && !self.takers.iter().any(|it| *it != agent.id) {
            let why = "which it never gets: there is nobody else who takes tasks";
            (why, "add another sub-agent, or leave the tool out".to_owned())
        } else if !self.handed_on.iter().any(|tool| tool.id == spec.id) {
            let why = "which comes by hand alone (`manual`): it gets it from a session to which a \
                       person has added it";
            (why, "set its `include`, or add it to the session".to_owned())
        } else {
            return None;
        };
        Some((Severity::Warning, (named(why), Some(hint))))
    }
}
