//! Sub-agents in lists and alone.

use std::fmt::Write as _;

use recto_context::WorkspaceFile;
use recto_workspace::SubAgent;
use serde_json::{Value, json};

use super::sub_agent_flaws::{SubAgentFlaw, find_flaws};
use crate::config::{LoadedConfig, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print_as, tame, tame_lines};
use crate::setup;

/// The sub-agent of that id, with the agent in whose workspace it is: the first that has one.
pub(super) fn find<'a>(
    config: &'a LoadedConfig,
    id: &str,
) -> CliResult<Option<(&'a Settings, SubAgent)>> {
    for settings in config.agents() {
        let all = read_all(settings)?;
        if let Some(found) = all.into_iter().find(|agent| *agent.id == *id) {
            return Ok(Some((settings, found)));
        }
    }
    Ok(None)
}

/// The sub-agents of an agent, for programs.
pub(super) fn list_json_of(settings: &Settings) -> CliResult<Value> {
    Ok(read_all(settings)?.iter().map(summary).collect())
}

/// The sub-agents of an agent as a table; nothing where it has none.
pub(super) fn draw_list(settings: &Settings) -> CliResult<String> {
    let all = read_all(settings)?;
    if all.is_empty() {
        return Ok(String::new());
    }
    let mut table = TextTable::new(["id", "model", "tools", "stands", "description"]);
    for agent in &all {
        table.row([
            agent.id.to_string(),
            agent.config.model.clone().unwrap_or_else(|| "its caller's".to_owned()),
            agent.config.tools.len().to_string(),
            standing(agent).to_owned(),
            agent.config.description.clone().unwrap_or_default(),
        ]);
    }
    let name = tame(&settings.agent.name);
    Ok(format!("\nsub-agents of {name}\n{}", table.draw(PageWidth::of_stdout())))
}

/// Shows one, with the text that its model reads.
pub(super) fn show(
    home: &RectoHome,
    settings: &Settings,
    agent: &SubAgent,
    as_json: bool,
) -> CliResult {
    let text = system_text(agent);
    let mut flaws = find_flaws(home, settings)?;
    flaws.retain(|flaw| flaw.agent == agent.id);
    print_as(
        as_json,
        || {
            let mut shown = summary(agent);
            shown["of"] = json!(settings.agent.name);
            shown["tools"] = json!(agent.config.tools);
            shown["files"] = files(agent).map(|(name, _)| name).collect();
            shown["flaws"] = flaws.iter().map(SubAgentFlaw::json).collect();
            shown["system"] = json!(text);
            shown
        },
        || draw(settings, agent, &flaws, &text),
    )
}

fn draw(settings: &Settings, agent: &SubAgent, flaws: &[SubAgentFlaw], text: &str) -> String {
    let bold = anstyle::Style::new().bold();
    let files: Vec<&str> = files(agent).map(|(name, _)| name).collect();
    let mut out = format!(
        "{bold}{}{bold:#}\nsub-agent of: {}\nfolder: {}\nstands: {}\n",
        tame(agent.name()),
        tame(&settings.agent.name),
        tame(&agent.folder.display().to_string()),
        standing(agent),
    );
    if let Some(fault) = &agent.fault {
        let _ = writeln!(out, "because: {}", tame(fault));
    }
    if let Some(description) = &agent.config.description {
        let _ = writeln!(out, "description: {}", tame(description));
    }
    let model = agent.config.model.as_deref().unwrap_or("its caller's");
    let tools = match &agent.config.tools[..] {
        [] => "none".to_owned(),
        tools => tools.join(", "),
    };
    let _ = writeln!(out, "model: {}\ntools: {}", tame(model), tame(&tools));
    let _ = writeln!(out, "files: {}", files.join(", "));
    for SubAgentFlaw { what, hint, .. } in flaws {
        let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let _ = writeln!(out, "note: it {}{}", tame(what), tame(&hint));
    }
    let _ =
        writeln!(out, "\n{bold}what its model reads before the task{bold:#}\n{}", tame_lines(text));
    out
}

fn read_all(settings: &Settings) -> CliResult<Vec<SubAgent>> {
    Ok(setup::read_workspace(settings)?.sub_agents.clone())
}

fn summary(agent: &SubAgent) -> Value {
    json!({
        "id": &*agent.id,
        "name": agent.name(),
        "description": agent.config.description,
        "model": agent.config.model,
        "enabled": agent.config.enabled,
        "takes_tasks": agent.takes_tasks(),
        "problem": agent.fault,
    })
}

fn standing(agent: &SubAgent) -> &'static str {
    match (&agent.fault, agent.config.enabled) {
        (Some(_), _) => "broken",
        (None, true) => "takes tasks",
        (None, false) => "off",
    }
}

/// The texts of a sub-agent that are there, by the names of their files.
fn files(agent: &SubAgent) -> impl Iterator<Item = (&'static str, &WorkspaceFile)> {
    let SubAgent { soul, mood, memory, skill, .. } = agent;
    let files = [("soul.md", soul), ("mood.md", mood), ("memory.md", memory), ("skill.md", skill)];
    files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?)))
}

/// The system text as its model reads it.
fn system_text(agent: &SubAgent) -> String {
    let texts: Vec<&str> = agent.texts().map(|file| file.text.as_str()).collect();
    texts.join("\n\n")
}
