//! The second stage: layers of settings become [`Settings`].
//!
//! The structs in [`settings`](super::settings) read their own keys through
//! [`SettingsResolver::read`]; here is what can't be said key by key. What is read
//! is taken out, so that a key that nobody reads shows up as left over.

mod agents;
mod items;
mod paths;
mod servers;

pub(super) use agents::resolve;

use std::collections::BTreeMap;

use recto_context::nearest_name;

use super::choices::{ChannelMode, ItemGroup, Provider};
use super::keys::{self, KeyFallback, KeyKind};
use super::problem::{ConfigProblem, SettingOrigin, ValueMismatch, listed, quoted};
use super::raw::NamedTable;
use super::setting::{KeyPath, LayerSetting};
use super::settings::{
    AgentSettings, ContextSettings, DelegateSettings, DiscordSettings, EncoderChoice,
    GatewaySettings, HistorySettings, LogSettings, MemorySettings, ModelSettings, PlacedValue,
    SearchGroupSettings, SearchKeys, SearchSettings, SessionKeys, Settings, SkillSettings,
    StoreSettings, TelegramSettings, TelemetrySettings, ToolSettings, TopLevelKeys,
    TranscriptSettings, WindowKeys,
};
use super::tables::SettingType;
use super::value::{self, SettingValue};
use super::{ConfigSources, ModelVerdict, SettingRow};

/// The folder of pulled model files in Recto's home.
const MODEL_FILES: &str = "models";

/// The folder of sessions as Markdown there.
const SESSION_FILES: &str = "sessions";

/// Why a model entry of the file is there.
const CONFIGURED: &str = "configured";

/// The keys of a model that `recto config show` prints behind those of its mode.
const BEHIND_MODE: &[&str] = &["minimal_history", "system_messages", "pick_messages", "tool_calls"];

/// The layers, and what has been found out about them so far.
pub(super) struct SettingsResolver<'a> {
    sources: &'a ConfigSources,
    settings: BTreeMap<KeyPath, LayerSetting>,
    tables: &'a [NamedTable],
    /// Where each of the tables begins.
    places: BTreeMap<&'a [String], &'a SettingOrigin>,
    pub(super) rows: Vec<SettingRow>,
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) warnings: Vec<ConfigProblem>,
}

/// The parts of the config. Each reads all of its keys before it gives up, so
/// that all problems are found.
impl<'a> SettingsResolver<'a> {
    /// Takes settings of which the layers are one already. `tables` are the named
    /// tables of the file, in order.
    fn new(
        settings: BTreeMap<KeyPath, LayerSetting>,
        tables: &'a [NamedTable],
        sources: &'a ConfigSources,
    ) -> Self {
        SettingsResolver {
            sources,
            settings,
            tables,
            places: tables.iter().map(|table| (table.path.parts(), &table.place)).collect(),
            rows: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// All settings of an agent; `None` only when there are problems, here or in the
    /// first stage.
    fn settings(&mut self, agent: &str) -> Option<Settings> {
        let top = TopLevelKeys::read(self, &[])?;
        let (agent, model) = self.agent_and_model(agent, top.model);
        let context = ContextSettings::read(self, &[]);
        let history = HistorySettings::read(self, &[]);
        let memory = MemorySettings::read(self, &[]);
        let delegate = DelegateSettings::read(self, &[]);
        let sessions = SessionKeys::read(self, &[]);
        let skills = SkillSettings::read(self, &[]);
        let tools = ToolSettings::read(self, &[]);
        let search = self.search();
        let store = StoreSettings::read(self, &[]);
        let server = GatewaySettings::read(self, &[]);
        let telegram = self.telegram();
        let (discord, discord_modes) = (self.discord(), self.discord_modes());
        let log = LogSettings::read(self, &[]);
        let telemetry = TelemetrySettings::read(self, &[]);
        let window = WindowKeys::read(self, &[]);
        let models = self.models();
        let item_kinds = self.item_kinds();
        let items = self.items();
        let servers = self.servers();
        debug_assert!(self.settings.is_empty(), "never read: {:?}", self.settings);
        let session_files = || self.sources.home.join(SESSION_FILES);
        Some(Settings {
            model,
            reload: top.reload?,
            agent: agent?,
            other_workspaces: Vec::new(),
            project: None,
            has_given_workspace: false,
            context: context?,
            history: history?,
            memory: memory?,
            delegate: delegate?,
            sessions: TranscriptSettings { markdown: sessions?.markdown.then(session_files) },
            skills: skills?,
            tools: tools?,
            search: search?,
            store: store?,
            server: server?,
            telegram: telegram?,
            discord: discord?,
            discord_modes,
            log: log?,
            telemetry: telemetry?,
            window_cap: window?.cap,
            models: models?,
            model_files: self.sources.home.join(MODEL_FILES),
            item_kinds,
            items,
            servers: servers?,
        })
    }

    /// The agent, and the model that answers. The model of a flag or a variable wins
    /// over the agent's, which wins over the file's.
    fn agent_and_model(
        &mut self,
        agent: &str,
        model: Option<PlacedValue<String>>,
    ) -> (Option<AgentSettings>, Option<String>) {
        self.check_reference(model.as_ref());
        let (agent, agents_model) = self.agent(agent);
        let from_outside =
            model.as_ref().is_some_and(|model| !matches!(model.place, SettingOrigin::File { .. }));
        let chosen = if from_outside { model } else { agents_model.or(model) };
        let (name, origin) = match chosen {
            Some(chosen) => (Some(chosen.value), Some(chosen.place)),
            None => (self.names("models").first().map(|name| (*name).to_owned()), None),
        };
        self.rows.retain(|row| row.key != "model");
        if let Some(name) = &name {
            let value = SettingValue::Text(name.clone()).to_string();
            self.rows.insert(0, SettingRow { key: "model".to_owned(), value, origin });
        }
        (agent, name)
    }

    /// Checks that the model of that name is there. Where the file has none at all,
    /// it names one that is to be found, and whoever looks for it tells.
    fn check_reference(&mut self, reference: Option<&PlacedValue<String>>) {
        let Some(PlacedValue { value: name, place, spelled }) = reference else { return };
        let models = self.names("models");
        if models.is_empty() || models.contains(&name.as_str()) {
            return;
        }
        let known = format!("known models: {}", listed(models.iter().copied()));
        let hint = match nearest_name(name, models.iter().copied()) {
            Some(meant) => format!("did you mean {}? ({known})", quoted(&meant)),
            None => known,
        };
        let what = format!("names a model that is not there: {}", quoted(name));
        self.problems.push(ValueMismatch::new(what).hint(hint).at_key(spelled, place.clone()));
    }

    fn search(&mut self) -> Option<SearchSettings> {
        let folder = self.encoder_folder();
        let keys = SearchKeys::read(self, &[])?;
        let SearchKeys { enabled, preset, top_k, top_n, include_score, floor, .. } = keys;
        let groups =
            ItemGroup::ALL.map(|group| (group, SearchGroupSettings::read(self, &[group.name()])));
        Some(SearchSettings {
            enabled,
            encoder: folder.or(keys.encoder.map(EncoderChoice::Model)),
            preset: preset?,
            all: SearchGroupSettings { top_k, top_n, include_score, floor },
            groups: groups.map(|(group, found)| (group, found.unwrap_or_default())).to_vec(),
            list_lines: keys.list_lines,
            list_tokens: keys.list_tokens,
            own_use: keys.own_use,
        })
    }

    /// The folder of the encoder, where it is named by one.
    fn encoder_folder(&mut self) -> Option<EncoderChoice> {
        let path = KeyPath::fill("search.encoder", &[]);
        let setting = self.settings.get_mut(&path)?;
        match &setting.value {
            Some(SettingValue::Text(text)) if paths::has_folder(text) => {
                let folder = paths::expand(text, self.sources).ok();
                setting.kind = KeyKind::Path;
                folder.map(EncoderChoice::Folder)
            }
            _ => None,
        }
    }

    /// The bot of Telegram. Whom it lets in is said by ids alone: there is no word for everybody.
    fn telegram(&mut self) -> Option<TelegramSettings> {
        self.check_ids(["channels.telegram.owners", "channels.telegram.allow"], "Telegram");
        TelegramSettings::read(self, &[])
    }

    /// The bot of Discord. Whom it lets in is said by ids alone, too.
    fn discord(&mut self) -> Option<DiscordSettings> {
        self.check_ids(["channels.discord.owners", "channels.discord.allow"], "Discord");
        DiscordSettings::read(self, &[])
    }

    fn check_ids(&mut self, keys: [&str; 2], service: &str) {
        for key in keys {
            let ids: Option<Vec<String>> = self.peek(key, &[]);
            if ids.iter().flatten().any(|id| id.parse::<i64>().is_err()) {
                let hint = format!(
                    "name each by the number that {service} has for it; `recto pair list` shows \
                     those of people who wrote to the bot"
                );
                self.refuse(&KeyPath::fill(key, &[]), "takes ids, which are numbers", hint);
            }
        }
    }

    /// When the bot of Discord answers in single channels.
    fn discord_modes(&mut self) -> Vec<(String, ChannelMode)> {
        let table = ["channels", "discord", "modes"];
        let is_mode = |path: &&KeyPath| path.table() == table;
        let paths: Vec<KeyPath> = self.settings.keys().filter(is_mode).cloned().collect();
        paths.iter().filter_map(|path| self.discord_mode(path)).collect()
    }

    fn discord_mode(&mut self, path: &KeyPath) -> Option<(String, ChannelMode)> {
        let setting = self.settings.remove(path)?;
        let channel = path.parts().last()?.clone();
        if channel.parse::<u64>().is_err() {
            let mismatch = ValueMismatch::new("is no id of a channel, which is a number");
            let mismatch = mismatch.hint("copy the channel's id in Discord, in its developer mode");
            self.problems.push(mismatch.at_key(&setting.spelled, setting.origin?));
            return None;
        }
        if let Some(value) = &setting.value {
            self.show(&setting, value);
        }
        Some((channel, ChannelMode::from_setting(setting)?))
    }

    /// All models, or `None` when one of them can't be used.
    fn models(&mut self) -> Option<Vec<ModelSettings>> {
        let models: Vec<Option<ModelSettings>> =
            self.names("models").iter().map(|name| self.model(name)).collect();
        for model in models.iter().flatten() {
            self.check_model(model);
        }
        models.into_iter().collect()
    }

    fn model(&mut self, name: &str) -> Option<ModelSettings> {
        let names = &[name];
        let provider = self.peek("models.<name>.provider", names);
        self.refuse_unread(name, provider);
        let path = KeyPath::fill("models.<name>.model", names);
        let mut file = None;
        match (provider, self.settings.get_mut(&path)) {
            // A script has no server to tell a name to.
            (Some(Provider::Scripted), None) => {
                let value = Some(SettingValue::Text(name.to_owned()));
                let unset = LayerSetting::new(KeyKind::Text, path.clone(), value, None);
                self.settings.insert(path, unset);
            }
            (Some(Provider::Embedded), Some(setting)) => {
                if let Some(SettingValue::Text(model)) = &setting.value
                    && paths::is_model_file(model)
                {
                    file = paths::expand(model, self.sources).ok();
                    setting.kind = KeyKind::Path;
                }
            }
            _ => {}
        }
        let first_row = self.rows.len();
        let model = ModelSettings::read(self, names, name.to_owned(), CONFIGURED.into(), file);
        let is_behind = |row: &SettingRow| BEHIND_MODE.iter().any(|name| row.key.ends_with(name));
        self.rows[first_row..].sort_by_key(is_behind);
        let mut model = model?;
        if let Some(file) = &model.file {
            let name = file.file_stem().unwrap_or(file.as_os_str());
            model.model = name.to_string_lossy().into_owned();
        }
        Some(model)
    }

    /// A key that nobody would read is refused: whoever sets it expects something
    /// of it.
    fn refuse_unread(&mut self, name: &str, provider: Option<Provider>) {
        let Some(provider) = provider else { return };
        let leave =
            |other: Provider| format!("leave it out, or set `provider = \"{}\"`", other.name());
        let mut refuse = |key: &str, why: &str, hint: String| {
            self.refuse(&KeyPath::fill(key, &[name]), why, hint);
        };
        if provider == Provider::Embedded {
            for key in ["models.<name>.base_url", "models.<name>.api_key_env"] {
                let why = "is for servers, and an embedded model has none";
                refuse(key, why, leave(Provider::OpenAi));
            }
        }
        if provider != Provider::Scripted {
            let why = "is read by no model but a scripted one";
            refuse("models.<name>.script", why, leave(Provider::Scripted));
        }
    }

    fn check_model(&mut self, model: &ModelSettings) {
        let (found, what) = match (self.sources.check_model)(model) {
            ModelVerdict::Fine => return,
            ModelVerdict::Warn(what) => (&mut self.warnings, what),
            ModelVerdict::Refuse(what) => (&mut self.problems, what),
        };
        let what = format!("model {}: {what}", quoted(&model.name));
        let problem = model.mode_problem(what.as_str());
        found.push(problem.unwrap_or_else(|| self.sources.file_problem(what)));
    }
}

/// How the parts read.
impl<'a> SettingsResolver<'a> {
    /// Reads the key of that path, its placeholders filled with `names`: the value
    /// that was given, or what holds without one. `None` is a known problem.
    pub(super) fn read<T: SettingType>(&mut self, template: &str, names: &[&str]) -> Option<T> {
        self.take(template, names).map_or(T::UNSET, T::from_setting)
    }

    /// The value of a key as it was given, which stays to be read.
    fn peek<T: SettingType>(&self, template: &str, names: &[&str]) -> Option<T> {
        T::from_setting(self.settings.get(&KeyPath::fill(template, names))?.clone())
    }

    /// Takes the setting of a key out of the layers, or its default, with its paths
    /// expanded, and has it shown.
    fn take(&mut self, template: &str, names: &[&str]) -> Option<LayerSetting> {
        let key = keys::find_key(template)?;
        let path = KeyPath::fill(template, names);
        let mut setting = match (self.settings.remove(&path), key.fallback) {
            (Some(setting), _) => setting,
            (None, KeyFallback::Value(text)) => {
                LayerSetting::new(key.kind, path, value::from_text(key.kind, text).ok(), None)
            }
            (None, KeyFallback::Prose(_)) => return None,
            (None, KeyFallback::Required(_)) => {
                self.report_missing(&path);
                return None;
            }
        };
        match paths::expand_value(setting.kind, setting.value.take()?, self.sources) {
            Ok(value) => {
                self.show(&setting, &value);
                setting.value = Some(value);
                Some(setting)
            }
            Err(mismatches) => {
                let place = setting.origin?;
                let mismatches = mismatches.into_iter();
                self.problems
                    .extend(mismatches.map(|wrong| wrong.at_key(&setting.spelled, place.clone())));
                None
            }
        }
    }

    fn show(&mut self, setting: &LayerSetting, value: &SettingValue) {
        let (key, value) = (setting.path.to_string(), value.to_string());
        self.rows.push(SettingRow { key, value, origin: setting.origin.clone() });
    }

    /// The tables with names somewhere below a table of the top level.
    fn tables_in(&self, table: &str) -> impl Iterator<Item = &'a NamedTable> + use<'a> {
        let table = table.to_owned();
        self.tables.iter().filter(move |named| named.path.parts().first() == Some(&table))
    }

    /// The names in a table, in the order of the file.
    fn names(&self, table: &str) -> Vec<&'a str> {
        self.tables_in(table).map(NamedTable::name).collect()
    }

    /// Refuses a setting that nobody would read.
    fn refuse(&mut self, path: &KeyPath, why: &str, hint: impl Into<String>) {
        let Some(setting) = self.settings.get(path) else { return };
        if let Some(place) = &setting.origin {
            let mismatch = ValueMismatch::new(why).hint(hint);
            self.problems.push(mismatch.at_key(&setting.spelled, place.clone()));
        }
    }

    fn report_missing(&mut self, path: &KeyPath) {
        let what = format!("{} is missing", quoted(path));
        let problem = match self.places.get(path.table()) {
            Some(place) => ConfigProblem::new((*place).clone(), what),
            None => self.sources.file_problem(what),
        };
        self.problems.push(problem);
    }
}
