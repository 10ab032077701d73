//! The config: `config.toml`, `RECTO_*` variables and flags, as typed settings.
//!
//! Each key is declared once, as a field of a struct in `settings.rs`; the checks,
//! the variables and the reference page come from there ([`keys::KEYS`]).
//!
//! The config is read in two stages. The first turns each layer into a flat list
//! of settings, every one with its place, and checks it against the keys: unknown
//! names, wrong types, numbers out of range. The second lays flags over variables
//! over the file and resolves the result into [`Settings`]: defaults, paths,
//! required keys, names that refer to each other.
//!
//! A person who made five mistakes reads about five, each with its line and, where
//! there is one, the name that was probably meant. One exception: while the file
//! has syntax errors, nothing is said about how its parts fit together, because
//! some of them may be missing only on account of the errors.
//!
//! The config holds no secrets. Keys of servers come from environment variables
//! that the config only names; a key that stands in the file is refused, and
//! neither an error nor [`LoadedConfig::rows`] shows it.
//!
//! Nothing here reads the process's environment, its working directory or its
//! clock, and nothing is global: [`ConfigSources`] bring in all there is to know. The
//! config file is the only file that is read; whether the paths in it exist is
//! for those who use them.

mod choices;
mod edit;
mod env;
pub mod keys;
mod problem;
mod raw;
pub mod reference;
mod resolve;
mod setting;
mod settings;
mod tables;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

pub use choices::{
    ApprovalMode, ChannelMode, ContextMode, HistoryCompaction, IncludeMode, ItemGroup, ItemKind,
    LayoutPreset, LogFormat, LogLevel, PickMessages, PickPlacement, Provider, Reload,
    SandboxPolicy, SearchPreset, SkillRender, StrangerPolicy, SystemMessages, ToolCalls,
    ToolPermission, ToolTurnContext, UncertainMode,
};
pub use edit::{IncludeScope, IncludeTable, set_include};
pub use env::ConfigFlag;
pub use problem::{ConfigProblem, ConfigProblems, SettingOrigin};
pub use settings::{
    AgentSettings, BindingSettings, ContextSettings, DelegateSettings, DiscordSettings,
    EncoderChoice, GatewaySettings, GrantSettings, HistorySettings, ItemSettings, LogSettings,
    MemorySettings, ModelSettings, PlacedValue, SearchGroupSettings, SearchSettings,
    ServerSandboxSettings, ServerSettings, Settings, SkillSettings, StoreSettings,
    TelegramSettings, TelemetrySettings, ToolSettings, TranscriptSettings, TransportSettings,
};

use keys::KeyKind;
use raw::ParsedConfig;
use setting::{KeyPath, LayerSetting};
use value::SettingValue;

/// The largest config file that is read. Far more than a person writes, and
/// little enough to hold in memory.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads the config from all of its sources. A missing file is an empty one.
pub fn load(sources: &ConfigSources) -> Result<LoadedConfig, ConfigProblems> {
    let text = read_config_file(sources)?;
    load_text(&text, sources)
}

/// Reads the config like [`load`], with the text of the file at hand.
pub fn load_text(text: &str, sources: &ConfigSources) -> Result<LoadedConfig, ConfigProblems> {
    let ParsedConfig { settings, tables, mut problems, has_syntax_errors } =
        raw::read(&sources.file_name(), text);
    let variables = env::variables(&sources.environment, &named_variables(&settings));
    let flags = env::flags(&sources.flags);
    problems.extend(variables.problems);
    problems.extend(flags.problems);
    if has_syntax_errors {
        return Err(ConfigProblems::collect(problems).unwrap_or_else(|| sources.unexplained()));
    }
    // Later layers win.
    let layers = [settings, variables.settings, flags.settings];
    let resolved = resolve::resolve(layers, &tables, sources);
    problems.extend(resolved.problems);
    if let Some(problems) = ConfigProblems::collect(problems) {
        return Err(problems);
    }
    let mut agents = resolved.agents.into_iter().flatten();
    let settings = agents.next().ok_or_else(|| sources.unexplained())?;
    let warnings = variables.warnings.into_iter().chain(resolved.warnings).collect();
    let (others, bindings) = (agents.collect(), resolved.bindings);
    Ok(LoadedConfig { settings, others, bindings, warnings, rows: resolved.rows })
}

/// A model entry that no file names, with all defaults. `None` for what no file
/// could name either.
pub fn plain_model(name: &str, provider: Provider, model: &str) -> Option<ModelSettings> {
    let [name, provider, model] = [name, provider.name(), model].map(value::basic_string);
    let text = format!("[models.{name}]\nprovider = {provider}\nmodel = {model}\n");
    load_text(&text, &ConfigSources::new("")).ok()?.settings.models.pop()
}

/// All that a config is made of. No `Debug`: the environment holds secrets.
#[derive(Clone)]
pub struct ConfigSources {
    /// The config file, whether or not it is there.
    pub file: PathBuf,
    /// Recto's home, where relative paths start.
    pub home: PathBuf,
    /// The person's home, which `~` stands for; `None` when nobody knows it.
    pub user_home: Option<PathBuf>,
    /// The environment, as `std::env::vars_os` gives it.
    pub environment: Vec<(OsString, OsString)>,
    /// The flags that set keys.
    pub flags: Vec<ConfigFlag>,
    /// What else a model's settings must satisfy.
    pub check_model: ModelCheck,
}

impl ConfigSources {
    /// `config.toml` in Recto's home, and nothing else.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        ConfigSources {
            file: home.join("config.toml"),
            home,
            user_home: None,
            environment: Vec::new(),
            flags: Vec::new(),
            check_model: |_| ModelVerdict::Fine,
        }
    }

    /// The file's name, which is enough in front of a line number.
    fn file_name(&self) -> String {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// A problem of the file as a whole.
    fn file_problem(&self, what: impl Into<String>) -> ConfigProblem {
        ConfigProblem::new(SettingOrigin::File { name: self.file_name().into(), line: None }, what)
    }

    /// Stands in where a failure came without its problem, which is a mistake
    /// in this module: better a poor message than a panic.
    fn unexplained(&self) -> ConfigProblems {
        self.file_problem("can't be used").into()
    }
}

/// A check of a model's settings by code that knows more about them.
pub type ModelCheck = fn(&ModelSettings) -> ModelVerdict;

/// What a [`ModelCheck`] finds. The texts need not say where the settings stand:
/// that is added, as [`ModelSettings::mode_problem`] does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelVerdict {
    /// The settings hold, and there is nothing to say about them.
    Fine,
    /// The settings hold, but a person should know this.
    Warn(String),
    /// The settings can't be used.
    Refuse(String),
}

/// A config that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedConfig {
    /// All layers together, with defaults, as they hold for the first agent.
    pub settings: Settings,
    /// The same for each of the other agents, in the order of the file.
    pub others: Vec<Settings>,
    /// Which agent answers where, the first that fits.
    pub bindings: Vec<BindingSettings>,
    /// What a person should know all the same.
    pub warnings: Vec<ConfigProblem>,
    rows: Vec<SettingRow>,
}

impl LoadedConfig {
    /// What holds for each agent, the default first.
    pub fn agents(&self) -> impl Iterator<Item = &Settings> {
        std::iter::once(&self.settings).chain(&self.others)
    }

    /// The same, to be changed by what a run was told beside the config.
    pub(crate) fn agents_mut(&mut self) -> impl Iterator<Item = &mut Settings> {
        std::iter::once(&mut self.settings).chain(&mut self.others)
    }

    /// The settings that an agent has for itself, with keys as if they were for all.
    pub fn own_rows(&self, agent: &str) -> Vec<SettingRow> {
        let table = format!("{}.", KeyPath::fill(keys::AGENT, &[agent]));
        let own = |row: &SettingRow| {
            let key = row.key.strip_prefix(&table)?.to_owned();
            Some(SettingRow { key, ..row.clone() }).filter(|row| row.origin.is_some())
        };
        self.rows.iter().filter_map(own).collect()
    }

    /// Where it is set how an item comes into an agent's sessions, if the config does.
    pub fn include_origin(
        &self,
        agent: &str,
        kind: ItemKind,
        name: &str,
    ) -> Option<&SettingOrigin> {
        let names = [agent, kind.name(), name];
        let own = KeyPath::fill("agents.<name>.items.<kind>.<name>.include", &names).to_string();
        let for_all = KeyPath::fill("items.<kind>.<name>.include", &names[1..]).to_string();
        let set = |key: String| self.rows.iter().find(|row| row.key == key)?.origin.as_ref();
        set(own).or_else(|| set(for_all))
    }

    /// Every setting that has a value, defaults included, with where it comes
    /// from: what `recto config show` prints.
    pub fn rows(&self) -> &[SettingRow] {
        &self.rows
    }
}

/// One line of `recto config show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// The key's path, as TOML spells it.
    pub key: String,
    /// The value in TOML; paths are expanded.
    pub value: String,
    /// Where it is set; `None` for a default.
    pub origin: Option<SettingOrigin>,
}

/// The variables that the file names for others: they may begin with `RECTO_` and
/// are no settings.
fn named_variables(settings: &[LayerSetting]) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for setting in settings {
        match (setting.kind, &setting.value) {
            (KeyKind::Variable, Some(SettingValue::Text(name))) => named.extend([name.clone()]),
            (KeyKind::Variables, Some(SettingValue::List(names))) => named.extend(names.clone()),
            _ => {}
        }
    }
    named
}

/// The text of the file; empty for a missing one.
pub fn read_config_file(sources: &ConfigSources) -> Result<String, ConfigProblems> {
    let bytes = match read_bytes(sources) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link that leads nowhere was meant to lead somewhere.
            if fs::symlink_metadata(&sources.file).is_ok() {
                return Err(sources.file_problem("is a link to nothing").into());
            }
            return Ok(String::new());
        }
        Err(error) => {
            let problem = sources.file_problem(format!("can't be read: {error}"));
            return Err(problem.hint(format!("look at {}", sources.file.display())).into());
        }
    };
    if bytes.len() as u64 > MAX_FILE {
        return Err(sources.file_problem("is larger than 1 MiB").into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let newlines = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count();
        let place =
            SettingOrigin::File { name: sources.file_name().into(), line: Some(newlines + 1) };
        let problem = ConfigProblem::new(place, "is not text in UTF-8");
        problem.hint("save the file in the encoding UTF-8").into()
    })
}

/// Reads at most one byte more than is allowed, so that a huge file costs
/// nothing. Only plain files are opened: a pipe would wait for a writer.
fn read_bytes(sources: &ConfigSources) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(&sources.file)?;
    if metadata.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a plain file"));
    }
    let mut bytes = Vec::new();
    File::open(&sources.file)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
