//! `recto agents show`: the files, settings and items of one agent, and where it
//! answers.

use std::fmt::Write as _;

use recto_agent::{AgentBinding, ListedItem, list_items};
use recto_context::{Catalog, ItemKind};
use serde_json::{Value, json};

use super::{binding_json, binding_text, open_sessions, sub_agents, summary_json};
use crate::commands::config::origin;
use crate::config::{LoadedConfig, SettingRow, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

/// The kinds of items that an agent has, in the order in which they are shown.
const KINDS: [ItemKind; 4] = [ItemKind::Skill, ItemKind::Rule, ItemKind::Reference, ItemKind::Tool];

pub(super) fn run(home: &RectoHome, config: &LoadedConfig, name: &str, as_json: bool) -> CliResult {
    let is_agent = config.agents().any(|settings| settings.agent.name == name);
    if !is_agent && let Some((settings, agent)) = sub_agents::find(config, name)? {
        return sub_agents::show(home, settings, &agent, as_json);
    }
    let settings = setup::named_settings(config, name)?;
    let snapshot = setup::read_workspace(settings)?;
    setup::tell_problems(&snapshot.problems);
    let catalog = setup::whole_catalog(home, settings, &snapshot);
    let bindings = setup::bindings(config);
    let is_own = |(_, binding): &(usize, &AgentBinding)| binding.agent == name;
    let view = AgentView {
        config,
        settings,
        files: system_files(&catalog),
        own: config.own_rows(name),
        bindings: (1..).zip(&bindings).filter(is_own).collect(),
        items: KINDS.iter().flat_map(|kind| list_items(&catalog, *kind)).collect(),
    };
    let mut summary = summary_json(config, settings, &open_sessions(config)?);
    print_as(
        as_json,
        || {
            view.add_to(&mut summary);
            summary
        },
        || view.drawn(),
    )
}

/// The names of the files that say who the agent is, as far as they are there.
fn system_files(catalog: &Catalog) -> Vec<&'static str> {
    let system = &catalog.system;
    let files = [
        ("SOUL.md", system.soul.is_some()),
        ("IDENTITY.md", system.identity.is_some()),
        ("AGENTS.md", system.agents.is_some()),
        ("USER.md", system.user.is_some()),
    ];
    files.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// One agent, with all that is shown of it.
struct AgentView<'a> {
    config: &'a LoadedConfig,
    settings: &'a Settings,
    files: Vec<&'static str>,
    /// What the config says for this agent alone.
    own: Vec<SettingRow>,
    /// The bindings that lead to it, by their numbers.
    bindings: Vec<(usize, &'a AgentBinding)>,
    items: Vec<ListedItem<'a>>,
}

impl AgentView<'_> {
    fn add_to(&self, summary: &mut Value) {
        let setting =
            |row: &SettingRow| json!({"key": row.key, "value": row.value, "origin": origin(row)});
        let item = |item: &ListedItem<'_>| {
            let mut json = item.json();
            json["kind"] = json!(item.id.kind);
            json["include_from"] = self.include_from(item).into();
            json
        };
        summary["files"] = json!(self.files);
        summary["settings"] = self.own.iter().map(setting).collect();
        summary["bindings"] =
            self.bindings.iter().map(|(number, binding)| binding_json(*number, binding)).collect();
        summary["items"] = self.items.iter().map(item).collect();
    }

    fn drawn(&self) -> String {
        let bold = anstyle::Style::new().bold();
        let agent = &self.settings.agent;
        let model = self.settings.model.as_deref().unwrap_or("the one that is found");
        let files = match &self.files[..] {
            [] => "none; built-in texts stand for them".to_owned(),
            files => files.join(", "),
        };
        let mut out = format!(
            "{bold}{}{bold:#}\nworkspace: {}\nmodel: {}\nfiles: {files}\n",
            tame(&agent.name),
            tame(&agent.workspace.display().to_string()),
            tame(model),
        );
        if agent.name == self.config.settings.agent.name {
            out.push_str("answers wherever no binding leads to another agent\n");
        }
        for (number, binding) in &self.bindings {
            let _ = writeln!(out, "binding {number}: {}", tame(&binding_text(binding)));
        }
        if !self.own.is_empty() {
            let mut table = TextTable::new(["setting", "value", "set in"]);
            for row in &self.own {
                table.row([row.key.clone(), row.value.clone(), origin(row)]);
            }
            let _ = write!(out, "\n{}", table.draw(PageWidth::of_stdout()));
        }
        if !self.items.is_empty() {
            let mut table = TextTable::new(["kind", "name", "include", "set in", "source"]);
            for item in &self.items {
                table.row([
                    item.id.kind.to_string(),
                    item.key(),
                    item.include.to_string(),
                    self.include_from(item),
                    item.source.to_string(),
                ]);
            }
            let _ = write!(out, "\n{}", table.draw(PageWidth::of_stdout()));
        }
        out
    }

    /// Where it is said how an item comes into a session.
    fn include_from(&self, item: &ListedItem<'_>) -> String {
        let set =
            |name: &str| self.config.include_origin(&self.settings.agent.name, item.id.kind, name);
        let set = set(&item.key()).or_else(|| set(&item.id.name));
        set.map_or_else(|| "itself".to_owned(), ToString::to_string)
    }
}
