//! `recto agents check`: whether each agent can answer, and whether each binding can
//! ever decide. Asks no server that the config names; `recto models check` does.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use recto_agent::find_shadowing;
use recto_store::SessionSummary;
use recto_workspace::Severity;
use serde_json::json;

use super::sub_agent_flaws::{SubAgentFlaw, find_flaws};
use super::{binding_text, open_sessions};
use crate::check_report::{CheckProblem, CheckReport};
use crate::config::{LoadedConfig, Settings};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::counted;
use crate::remedy_words::hint_with_command;
use crate::setup;

pub(super) fn run(home: &RectoHome, config: &LoadedConfig, as_json: bool) -> CliResult<ExitCode> {
    let mut findings = Vec::new();
    for settings in config.agents() {
        findings.extend(check_agent(config, settings)?);
        findings.extend(check_sub_agents(home, settings)?);
    }
    findings.extend(check_bindings(config));
    findings.extend(check_sessions(config, &open_sessions(config)?));
    let names: Vec<&str> = config.agents().map(|it| it.agent.name.as_str()).collect();
    let agents = counted(names.len(), "agent");
    let verdict = format!("{agents}, {}", counted(findings.len(), "problem"));
    let problems = findings.iter().map(AgentFinding::problem).collect();
    let beside = json!({"agents": names});
    CheckReport { beside, ..CheckReport::new(problems, verdict) }.print(as_json)
}

/// Something that a person should know about an agent, or about all of them.
struct AgentFinding {
    severity: Severity,
    agent: Option<String>,
    what: String,
    hint: Option<String>,
}

impl AgentFinding {
    fn for_agent(settings: &Settings, severity: Severity, what: impl Into<String>) -> Self {
        let agent = Some(settings.agent.name.clone());
        AgentFinding { severity, agent, what: what.into(), hint: None }
    }

    fn warning(what: impl Into<String>) -> Self {
        AgentFinding { severity: Severity::Warning, agent: None, what: what.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        AgentFinding { hint: Some(hint.into()), ..self }
    }

    fn problem(&self) -> CheckProblem {
        let AgentFinding { severity, agent, what, hint } = self;
        CheckProblem::of_agent(*severity, agent.as_deref(), what, hint.as_deref())
    }
}

fn check_agent(config: &LoadedConfig, settings: &Settings) -> CliResult<Vec<AgentFinding>> {
    let mut findings = check_workspace(settings)?;
    findings.extend(check_model(settings)?);
    let others = config.agents().take_while(|other| other.agent.name != settings.agent.name);
    let mut same = others.filter(|other| other.agent.workspace == settings.agent.workspace);
    findings.extend(same.next().map(|other| {
        let what = format!(
            "has the workspace of the agent `{}`: they share files and memories",
            other.agent.name
        );
        AgentFinding::for_agent(settings, Severity::Warning, what)
            .hint("give each agent a folder of its own, unless that is meant")
    }));
    Ok(findings)
}

fn check_workspace(settings: &Settings) -> CliResult<Vec<AgentFinding>> {
    let path = &settings.agent.workspace;
    if let Err(error) = fs::read_dir(path) {
        let what = format!("its workspace `{}` can't be read: {error}", path.display());
        let hint = format!("create the folder, or set `agents.{}.workspace`", settings.agent.name);
        return Ok(vec![AgentFinding::for_agent(settings, Severity::Error, what).hint(hint)]);
    }
    let snapshot = setup::read_workspace(settings)?;
    let finding = |problem: &recto_workspace::WorkspaceProblem| AgentFinding {
        hint: hint_with_command(problem.hint.clone(), problem.remedy.as_ref()),
        ..AgentFinding::for_agent(
            settings,
            problem.severity,
            format!("{}: {}", problem.path.display(), problem.what),
        )
    };
    Ok(snapshot.problems.iter().map(finding).collect())
}

/// Looks at what the sub-agents of an agent ask for. What is wrong with their files is told with
/// those of the workspace.
fn check_sub_agents(home: &RectoHome, settings: &Settings) -> CliResult<Vec<AgentFinding>> {
    let finding = |flaw: SubAgentFlaw| {
        let what = format!("its sub-agent `{}` {}", flaw.agent, flaw.what);
        let hint = flaw.hint;
        AgentFinding { hint, ..AgentFinding::for_agent(settings, flaw.severity, what) }
    };
    Ok(find_flaws(home, settings)?.into_iter().map(finding).collect())
}

/// Looks for the model that answers. Names of the config were checked when it was read.
fn check_model(settings: &Settings) -> CliResult<Option<AgentFinding>> {
    let asked = settings.model.clone();
    let mut settings = settings.clone();
    let choice = setup::runtime()?.block_on(setup::find(&mut settings, None));
    if choice.entry.is_some() {
        return Ok(None);
    }
    let (what, hint) = choice.failure(asked.as_deref(), &settings).parts();
    let finding = AgentFinding::for_agent(&settings, Severity::Error, what);
    Ok(Some(AgentFinding { hint, ..finding }))
}

/// Looks for bindings that earlier ones keep from ever deciding anything.
fn check_bindings(config: &LoadedConfig) -> Vec<AgentFinding> {
    let bindings = setup::bindings(config);
    let shadowed = |index: usize| {
        let by = find_shadowing(&bindings, index)?;
        let (number, place) = (index + 1, binding_text(&bindings[index]));
        let what = format!(
            "binding {number} ({place}) never decides: binding {} before it fits wherever it does",
            by + 1
        );
        Some(AgentFinding::warning(what).hint("put it before the other one, or take it out"))
    };
    (0..bindings.len()).filter_map(shadowed).collect()
}

/// Looks for sessions that no agent goes on with.
fn check_sessions(config: &LoadedConfig, sessions: &[SessionSummary]) -> Vec<AgentFinding> {
    let mut orphans: BTreeMap<&str, usize> = BTreeMap::new();
    for summary in sessions {
        let agent = summary.session.agent.as_str();
        if config.agents().all(|settings| settings.agent.name != agent) {
            *orphans.entry(agent).or_default() += 1;
        }
    }
    let finding = |(agent, count): (&str, usize)| {
        let sessions = counted(count, "open session");
        let what = format!("{sessions} of the agent `{agent}`, which the config does not have");
        AgentFinding::warning(what).hint(format!("add `[agents.{agent}]` to go on with them"))
    };
    orphans.into_iter().map(finding).collect()
}
