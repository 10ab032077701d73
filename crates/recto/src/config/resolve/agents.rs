//! The agents of the config. What holds for one is what the config says for all, with
//! the agent's own tables laid over it, so that the settings of each are resolved in
//! the same way, and every key means for one agent what it means for all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use recto_context::nearest_name;

use super::super::problem::{ConfigProblem, SettingOrigin, ValueMismatch, listed, quoted};
use super::super::raw::NamedTable;
use super::super::setting::{KeyPath, LayerSetting};
use super::super::settings::{AgentSettings, BindingSettings, PlacedValue, Settings};
use super::super::{ConfigSources, SettingRow};
use super::SettingsResolver;

/// The agent that is there when the file names none.
const DEFAULT_AGENT: &str = "main";

/// The table of agents.
const AGENTS: &str = "agents";

/// The list of bindings.
const BINDINGS: &str = "bindings";

/// The longest name of an agent: it stands in keys, and API clients call it a model.
const MAX_NAME: usize = 32;

/// All layers of a config, one over the other.
type MergedLayers = BTreeMap<KeyPath, LayerSetting>;

/// A config that is resolved, and what was found out on the way. Settings are missing
/// only where there are problems.
#[derive(Default)]
pub(in crate::config) struct ResolvedConfig {
    /// What holds for each agent, in the order of the file.
    pub(in crate::config) agents: Vec<Option<Settings>>,
    pub(in crate::config) bindings: Vec<BindingSettings>,
    pub(in crate::config) rows: Vec<SettingRow>,
    pub(in crate::config) problems: Vec<ConfigProblem>,
    pub(in crate::config) warnings: Vec<ConfigProblem>,
}

/// Resolves the config for each of its agents; later layers win. `tables` are the
/// named tables of the file, in order.
pub(in crate::config) fn resolve(
    layers: [Vec<LayerSetting>; 3],
    tables: &[NamedTable],
    sources: &ConfigSources,
) -> ResolvedConfig {
    let settings = layers.into_iter().flatten();
    let settings: MergedLayers = settings.map(|setting| (setting.path.clone(), setting)).collect();
    let of_agents = tables.iter().filter(|table| is_agent(table));
    let mut names: Vec<&str> = of_agents.map(NamedTable::name).collect();
    if names.is_empty() {
        names.push(DEFAULT_AGENT);
    }
    let mut resolved = ResolvedConfig::default();
    for (index, name) in names.iter().enumerate() {
        let own = AgentLayers::new(name, &settings, tables);
        if index == 0 {
            resolved.read_for_all(&own, &settings, &names, sources);
        }
        resolved.read_agent(&own, index, sources);
    }
    resolved.separate_workspaces();
    resolved
}

fn is_agent(table: &NamedTable) -> bool {
    matches!(table.path.parts(), [first, _] if first == AGENTS)
}

impl ResolvedConfig {
    /// Reads what the config says for all agents, as `recto config show` prints it,
    /// and the bindings.
    fn read_for_all(
        &mut self,
        first: &AgentLayers<'_>,
        settings: &MergedLayers,
        names: &[&str],
        sources: &ConfigSources,
    ) {
        let is_for_all = |setting: &&LayerSetting| first.place(setting) == LayerPlace::ForAll;
        let is_own_key = |setting: &&LayerSetting| first.place(setting) == LayerPlace::AgentKey;
        let is_binding = |path: &KeyPath| path.parts().first().is_some_and(|it| it == BINDINGS);
        let for_all = settings.values().filter(|it| is_for_all(it) || is_own_key(it));
        let bindings = settings.values().filter(|setting| is_binding(&setting.path));
        let all = for_all.chain(bindings).map(|it| (it.path.clone(), it.clone())).collect();
        let mut resolver = SettingsResolver::new(all, &first.tables_for_all, sources);
        self.bindings = resolver.bindings(names);
        let of_bindings = std::mem::take(&mut resolver.rows);
        resolver.settings(first.name);
        self.rows = std::mem::take(&mut resolver.rows);
        self.rows.extend(of_bindings);
        self.take_findings(resolver);
    }

    /// Reads what holds for one agent.
    fn read_agent(&mut self, agent: &AgentLayers<'_>, index: usize, sources: &ConfigSources) {
        let mut resolver = SettingsResolver::new(agent.settings.clone(), &agent.tables, sources);
        if let (Some(table), true) = (agent.table, index > 0) {
            resolver.require_workspace(table);
        }
        if let Some(table) = agent.table {
            resolver.check_agent_name(table);
        }
        self.agents.push(resolver.settings(agent.name));
        let own_table = KeyPath::fill("agents.<name>", &[agent.name]);
        for row in std::mem::take(&mut resolver.rows) {
            let is_key = row.key.starts_with(&format!("{own_table}."));
            if is_key && index > 0 {
                self.rows.push(row);
            } else if agent.overlaid.contains(&row.key) {
                self.rows.push(SettingRow { key: format!("{own_table}.{}", row.key), ..row });
            }
        }
        self.take_findings(resolver);
    }

    /// Keeps each finding once: what is wrong for all is found with every agent.
    fn take_findings(&mut self, resolver: SettingsResolver<'_>) {
        for problem in resolver.problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        for warning in resolver.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Tells each agent of the others' folders.
    fn separate_workspaces(&mut self) {
        let workspace = |settings: &Settings| settings.agent.workspace.clone();
        let all: Vec<PathBuf> = self.agents.iter().flatten().map(workspace).collect();
        for settings in self.agents.iter_mut().flatten() {
            let others = all.iter().filter(|other| **other != settings.agent.workspace);
            settings.other_workspaces = others.cloned().collect();
        }
    }
}

/// What holds for one agent, before it is resolved.
struct AgentLayers<'a> {
    name: &'a str,
    /// Where the file names it, if it does.
    table: Option<&'a NamedTable>,
    settings: MergedLayers,
    /// The named tables that hold for all, and the agent's own.
    tables_for_all: Vec<NamedTable>,
    /// These, with the tables that the agent has for itself.
    tables: Vec<NamedTable>,
    /// The keys, as they are spelled for all, that the agent has for itself.
    overlaid: BTreeSet<String>,
}

/// Where a setting stands, as one agent sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerPlace {
    /// It holds for all agents.
    ForAll,
    /// A key of the agent itself, such as its workspace.
    AgentKey,
    /// What the agent has in the place of what holds for all.
    Overlay,
    /// It is another agent's, or no agent's.
    Elsewhere,
}

impl<'a> AgentLayers<'a> {
    fn new(name: &'a str, settings: &MergedLayers, tables: &'a [NamedTable]) -> Self {
        let mut layers = AgentLayers {
            name,
            table: tables.iter().find(|table| is_agent(table) && table.name() == name),
            settings: MergedLayers::new(),
            tables_for_all: Vec::new(),
            tables: Vec::new(),
            overlaid: BTreeSet::new(),
        };
        layers.add_settings(settings);
        layers.add_tables(tables);
        layers
    }

    fn add_settings(&mut self, settings: &MergedLayers) {
        for setting in settings.values() {
            if matches!(self.place(setting), LayerPlace::ForAll | LayerPlace::AgentKey) {
                self.settings.insert(setting.path.clone(), setting.clone());
            }
        }
        for setting in settings.values() {
            if self.place(setting) != LayerPlace::Overlay {
                continue;
            }
            let path = setting.path.below(2);
            let for_all = self.settings.get(&path).and_then(|setting| setting.origin.as_ref());
            let is_outside = |origin: &SettingOrigin| !matches!(origin, SettingOrigin::File { .. });
            if !for_all.is_some_and(is_outside) {
                self.overlaid.insert(path.to_string());
                self.settings.insert(path.clone(), LayerSetting { path, ..setting.clone() });
            }
        }
    }

    fn add_tables(&mut self, tables: &[NamedTable]) {
        for table in tables {
            match place_of(table.path.parts(), self.name) {
                LayerPlace::ForAll | LayerPlace::AgentKey => {
                    self.tables_for_all.push(table.clone());
                }
                LayerPlace::Elsewhere if table.path.parts()[0] == BINDINGS => {
                    self.tables_for_all.push(table.clone());
                }
                LayerPlace::Overlay | LayerPlace::Elsewhere => {}
            }
        }
        self.tables.clone_from(&self.tables_for_all);
        let own = tables
            .iter()
            .filter(|table| place_of(table.path.parts(), self.name) == LayerPlace::Overlay);
        for table in own {
            let path = table.path.below(2);
            if self.tables.iter().all(|known| known.path != path) {
                self.tables.push(NamedTable { path, place: table.place.clone() });
            }
        }
    }

    fn place(&self, setting: &LayerSetting) -> LayerPlace {
        match place_of(setting.path.parts(), self.name) {
            LayerPlace::Overlay if setting.path.parts().len() == 3 => LayerPlace::AgentKey,
            place => place,
        }
    }
}

/// Where a table stands, as one agent sees it.
fn place_of(parts: &[String], agent: &str) -> LayerPlace {
    match parts {
        [first, ..] if first == BINDINGS => LayerPlace::Elsewhere,
        [first, name] if first == AGENTS && name == agent => LayerPlace::AgentKey,
        [first, name, ..] if first == AGENTS && name == agent => LayerPlace::Overlay,
        [first, ..] if first == AGENTS => LayerPlace::Elsewhere,
        _ => LayerPlace::ForAll,
    }
}

impl SettingsResolver<'_> {
    /// An agent with its model as given.
    pub(super) fn agent(
        &mut self,
        name: &str,
    ) -> (Option<AgentSettings>, Option<PlacedValue<String>>) {
        let model = self.peek("agents.<name>.model", &[name]);
        let agent = AgentSettings::read(self, &[name], name.to_owned());
        self.check_reference(model.as_ref());
        (agent, model)
    }

    /// Two agents must not come to share their files because nobody said where they
    /// are. With the first it is clear, as it may be the only one.
    fn require_workspace(&mut self, table: &NamedTable) {
        let path = table.path.join("workspace");
        if !self.settings.contains_key(&path) {
            let what =
                format!("{} is missing: each agent but the first names its own", quoted(&path));
            let hint = format!("add `workspace = \"workspaces/{}\"`", table.name());
            self.problems.push(ConfigProblem::new(table.place.clone(), what).hint(hint));
        }
    }

    fn check_agent_name(&mut self, table: &NamedTable) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if table.name().len() > MAX_NAME || !table.name().chars().all(is_plain) {
            let hint = format!("use at most {MAX_NAME} letters, digits, `_` and `-`");
            let mismatch = ValueMismatch::new("is no name for an agent").hint(hint);
            self.problems.push(mismatch.at_key(&table.path, table.place.clone()));
        }
    }

    /// The bindings that can be used, in the order of the file.
    fn bindings(&mut self, agents: &[&str]) -> Vec<BindingSettings> {
        let mut bindings = Vec::new();
        for number in self.names(BINDINGS) {
            if let Some(agent) = self.peek("bindings.<number>.agent", &[number]) {
                self.check_agent(&agent, agents);
            }
            bindings.extend(BindingSettings::read(self, &[number]));
        }
        bindings
    }

    fn check_agent(&mut self, reference: &PlacedValue<String>, agents: &[&str]) {
        let PlacedValue { value: name, place, spelled } = reference;
        if agents.contains(&name.as_str()) {
            return;
        }
        let known = format!("known agents: {}", listed(agents.iter().copied()));
        let hint = match nearest_name(name, agents.iter().copied()) {
            Some(meant) => format!("did you mean {}? ({known})", quoted(&meant)),
            None => known,
        };
        let what = format!("names an agent that is not there: {}", quoted(name));
        self.problems.push(ValueMismatch::new(what).hint(hint).at_key(spelled, place.clone()));
    }
}
