//! `recto agents`: which agents the config has, what each of them has, and whether it
//! can answer.

mod check;
mod run;
mod show;
mod sub_agent_flaws;
mod sub_agents;

use std::process::ExitCode;

use recto_agent::{AgentBinding, NamePattern};
use recto_store::{SessionFilter, SessionSummary};
use serde_json::{Value, json};

use crate::cli::AgentCommand;
use crate::commands::context::existing_store;
use crate::config::{LoadedConfig, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{list_json, print, print_json};
use crate::setup;

pub(crate) fn run(home: &RectoHome, command: &AgentCommand) -> CliResult<ExitCode> {
    let config = setup::load_config(home, Vec::new())?;
    match command {
        AgentCommand::List(format) => list(&config, format.json)?,
        AgentCommand::Show { name, json } => show::run(home, &config, name, json.json)?,
        AgentCommand::Check(format) => return check::run(home, &config, format.json),
        AgentCommand::Run(args) => return run::run(home, &config, args),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(config: &LoadedConfig, as_json: bool) -> CliResult {
    let sessions = open_sessions(config)?;
    if as_json {
        let mut rows = Vec::new();
        for settings in config.agents() {
            let mut row = summary_json(config, settings, &sessions);
            row["sub_agents"] = sub_agents::list_json_of(settings)?;
            rows.push(row);
        }
        return print_json(&list_json("agents", rows));
    }
    let mut table = TextTable::new(["", "name", "workspace", "model", "sessions"]);
    table.align_right(4);
    for settings in config.agents() {
        table.row([
            if is_default(config, settings) { "*" } else { "" }.to_owned(),
            settings.agent.name.clone(),
            settings.agent.workspace.display().to_string(),
            settings.model.clone().unwrap_or_else(|| "the one that is found".to_owned()),
            count(settings, &sessions).to_string(),
        ]);
    }
    let mut out = table.draw(PageWidth::of_stdout());
    for settings in config.agents() {
        out.push_str(&sub_agents::draw_list(settings)?);
    }
    print(&out)
}

/// What a list tells of an agent, for programs.
fn summary_json(config: &LoadedConfig, settings: &Settings, sessions: &[SessionSummary]) -> Value {
    json!({
        "name": settings.agent.name,
        "default": is_default(config, settings),
        "workspace": settings.agent.workspace,
        "model": settings.model,
        "sessions": count(settings, sessions),
    })
}

fn is_default(config: &LoadedConfig, settings: &Settings) -> bool {
    settings.agent.name == config.settings.agent.name
}

/// The sessions of all agents that are not archived. Looking makes no store.
fn open_sessions(config: &LoadedConfig) -> CliResult<Vec<SessionSummary>> {
    let Some(store) = existing_store(&config.settings) else { return Ok(Vec::new()) };
    Ok(setup::runtime()?.block_on(store.sessions(SessionFilter::Open))?)
}

fn count(settings: &Settings, sessions: &[SessionSummary]) -> usize {
    let is_own = |summary: &&SessionSummary| summary.session.agent == settings.agent.name;
    sessions.iter().filter(is_own).count()
}

/// Says in words where a binding holds.
fn binding_text(binding: &AgentBinding) -> String {
    let part = |what: &str, pattern: &NamePattern| match pattern.is_any() {
        true => format!("any {what}"),
        false => format!("{what} `{pattern}`"),
    };
    let AgentBinding { surface, account, conversation, .. } = binding;
    let parts = [("surface", surface), ("account", account), ("conversation", conversation)];
    parts.map(|(what, pattern)| part(what, pattern)).join(", ")
}

fn binding_json(number: usize, binding: &AgentBinding) -> Value {
    json!({
        "number": number,
        "surface": binding.surface.to_string(),
        "account": binding.account.to_string(),
        "conversation": binding.conversation.to_string(),
        "agent": binding.agent,
    })
}
