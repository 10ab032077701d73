//! `recto config`: which settings hold, and what is wrong with them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use recto_agent::{ConfiguredItem, ItemSetting, UnknownItem};
use recto_workspace::Severity;
use serde_json::{Value, json};

use crate::check_report::{CheckProblem, CheckReport};
use crate::cli::ConfigCommand;
use crate::config::{self, ConfigProblem, EncoderChoice, LoadedConfig, SettingOrigin, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{counted, list_json, print, print_json, tell};
use crate::setup;

pub(crate) fn run(home: &RectoHome, command: &ConfigCommand) -> CliResult<ExitCode> {
    match command {
        ConfigCommand::Show(format) => show(home, format.json).map(|()| ExitCode::SUCCESS),
        ConfigCommand::Check(format) => check(home, format.json),
    }
}

fn show(home: &RectoHome, as_json: bool) -> CliResult {
    let loaded = setup::load_all(home, Vec::new())?;
    for warning in &loaded.warnings {
        tell(&format_args!("warning: {warning}"));
    }
    if as_json {
        let row = |row: &config::SettingRow| json!({"key": row.key, "value": value_json(&row.value), "origin": origin(row)});
        return print_json(&list_json("settings", loaded.rows().iter().map(row)));
    }
    let mut table = TextTable::new(["key", "value", "set in"]);
    for row in loaded.rows() {
        table.row([row.key.clone(), row.value.clone(), origin(row)]);
    }
    print(&table.draw(PageWidth::of_stdout()))
}

/// A value in TOML as the same value in JSON.
pub(super) fn value_json(toml: &str) -> Value {
    let table: Option<toml::Table> = toml::from_str(&format!("value = {toml}")).ok();
    let value = table.as_ref().and_then(|table| table.get("value"));
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_else(|| toml.into())
}

pub(crate) fn origin(row: &config::SettingRow) -> String {
    row.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string)
}

fn check(home: &RectoHome, as_json: bool) -> CliResult<ExitCode> {
    let file = home.path().join("config.toml");
    let (problems, warnings): (Vec<_>, _) = match config::load(&setup::sources(home, Vec::new())) {
        Ok(LoadedConfig { mut warnings, settings, others, .. }) => {
            let agents: Vec<&Settings> = [&settings].into_iter().chain(&others).collect();
            warnings.extend(unknown_items(home, &agents)?);
            warnings.extend(script_problems(home, &agents));
            warnings.extend(missing_encoders(home, &agents));
            (Vec::new(), warnings)
        }
        Err(problems) => (problems.iter().cloned().collect(), Vec::new()),
    };
    let found =
        |severity| move |problem: &ConfigProblem| CheckProblem::of_config(severity, problem);
    let problems = problems.iter().map(found(Severity::Error));
    let problems: Vec<_> = problems.chain(warnings.iter().map(found(Severity::Warning))).collect();
    let verdict = verdict(problems.len(), file.exists(), &file.display().to_string());
    CheckReport::new(problems, verdict).print(as_json)
}

/// Files of answers that can't be played. Only a model that is asked has to have one, so that
/// none of them keeps a config from being used.
fn script_problems(home: &RectoHome, agents: &[&Settings]) -> Vec<ConfigProblem> {
    let file: Arc<str> = home.path().join("config.toml").to_string_lossy().into();
    let problems = agents.iter().flat_map(|agent| setup::script_problems(agent));
    let mut found: Vec<ConfigProblem> = Vec::new();
    for (model, failure) in problems {
        let place = SettingOrigin::File { name: file.clone(), line: None };
        let (text, hint) = failure.parts();
        let problem = ConfigProblem {
            hint,
            ..ConfigProblem::new(place, format!("[models.{model}]: {text}"))
        };
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    found
}

/// Encoders whose folder is not there. Words decide without one, so that none of them keeps a
/// config from being used.
fn missing_encoders(home: &RectoHome, agents: &[&Settings]) -> Vec<ConfigProblem> {
    let file: Arc<str> = home.path().join("config.toml").to_string_lossy().into();
    let missing = agents.iter().filter_map(|agent| match &agent.search.encoder {
        Some(EncoderChoice::Folder(folder)) => Some(folder).filter(|folder| !folder.is_dir()),
        Some(EncoderChoice::Model(_)) | None => None,
    });
    let folders: BTreeSet<&PathBuf> = missing.collect();
    let problem = |folder: &PathBuf| {
        let place = SettingOrigin::File { name: file.clone(), line: None };
        let folder = folder.display();
        ConfigProblem::new(place, format!("`search.encoder`: there is no folder {folder}"))
            .hint("without it, items are searched by words alone")
    };
    folders.into_iter().map(problem).collect()
}

/// What is set for items that no agent has.
fn unknown_items(home: &RectoHome, agents: &[&Settings]) -> CliResult<Vec<ConfigProblem>> {
    let unknown = setup::unknown_items(home, agents)?.into_iter();
    let file = home.path().join("config.toml").to_string_lossy().into();
    let place = SettingOrigin::File { name: file, line: None };
    let problem = |item: UnknownItem| {
        ConfigProblem::new(place.clone(), unknown_item_words(&item)).hint(item.hint())
    };
    Ok(unknown.map(problem).collect())
}

/// What is wrong with what is said of an item that is not there, by where that stands.
pub(super) fn unknown_item_words(unknown: &UnknownItem) -> String {
    let ConfiguredItem { kind, name, setting } = &unknown.item;
    match setting {
        ItemSetting::Own => format!("[items.{kind}.{name}] is for a {kind} that is not there"),
        ItemSetting::Disabled => {
            format!("`{kind}s.disabled` names `{name}`, a {kind} that is not there")
        }
    }
}

/// Says how many problems were found, warnings among them.
fn verdict(problems: usize, exists: bool, file: &str) -> String {
    match (problems, exists) {
        (0, true) => format!("{file}: no problems"),
        (0, false) => format!("{file}: not there; all defaults hold"),
        (count, _) => format!("{file}: {}", counted(count, "problem")),
    }
}
