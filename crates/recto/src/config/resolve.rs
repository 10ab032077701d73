//! The second stage: layers of settings become [`Settings`].
//!
//! Every key is asked for by its path in the table of keys, which also has its
//! default. What is asked for is taken out, so that a key that nobody asks for
//! shows up as left over.

mod items;
mod servers;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use recto_context::nearest;

use super::choices::{Group, Named, Provider};
use super::keys::{self, Fallback};
use super::problem::{Mismatch, Place, Problem, listed, quoted};
use super::raw::NamedTable;
use super::setting::{KeyPath, Setting};
use super::settings::{
    AgentSettings, ContextSettings, FoundSettings, HistorySettings, MemorySettings, ModeSettings,
    ModelSettings, Placed, SearchSettings, Settings, SkillSettings, StoreSettings, ToolSettings,
    TranscriptSettings,
};
use super::value::{self, Value};
use super::{Row, Sources, Verdict};

/// The agent that is there when the file names none.
const DEFAULT_AGENT: &str = "main";

/// The folder of pulled model files in Recto's home.
const MODEL_FILES: &str = "models";

/// The folder of sessions as Markdown there.
const SESSION_FILES: &str = "sessions";

/// Why a model entry of the file is there.
const CONFIGURED: &str = "configured";

/// What the second stage makes of the layers.
#[derive(Debug)]
pub(super) struct Resolved {
    /// `None` only when there are problems, here or in the first stage.
    pub(super) settings: Option<Settings>,
    pub(super) rows: Vec<Row>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

/// Lays later layers over earlier ones and resolves what comes out. `tables` are
/// the named tables of the file, in order.
pub(super) fn resolve(
    layers: [Vec<Setting>; 3],
    tables: &[NamedTable],
    sources: &Sources,
) -> Resolved {
    let settings =
        layers.into_iter().flatten().map(|setting| (setting.path.clone(), setting)).collect();
    let mut resolver = Resolver {
        sources,
        settings,
        tables,
        places: tables.iter().map(|table| (table.path.parts(), &table.place)).collect(),
        rows: Vec::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    let settings = resolver.settings();
    debug_assert!(resolver.settings.is_empty(), "never asked for: {:?}", resolver.settings);
    let Resolver { rows, problems, warnings, .. } = resolver;
    Resolved { settings, rows, problems, warnings }
}

struct Resolver<'a> {
    sources: &'a Sources,
    settings: BTreeMap<KeyPath, Setting>,
    tables: &'a [NamedTable],
    /// Where each of the tables begins.
    places: BTreeMap<&'a [String], &'a Place>,
    rows: Vec<Row>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

/// A value with what is known about where it comes from.
struct Found {
    path: KeyPath,
    value: Value,
    /// The place, and the key as spelled there; `None` for a default.
    origin: Option<(Place, KeyPath)>,
}

/// The parts of the config. Each asks for all of its keys before it gives up, so
/// that all problems are found.
impl Resolver<'_> {
    fn settings(&mut self) -> Option<Settings> {
        let reload = self.get("reload", &[]);
        let (agent, model) = self.agent_and_model();
        let context = self.context();
        let history = self.history();
        let memory = self.memory();
        let sessions = self.sessions();
        let skills = self.skills();
        let tools = self.tools();
        let search = self.search();
        let store = self.store();
        let window_cap = self.get("window.cap", &[]);
        let models = self.models();
        let items = self.items();
        let servers = self.servers();
        Some(Settings {
            model,
            reload: reload?,
            agent: agent?,
            context: context?,
            history: history?,
            memory: memory?,
            sessions: sessions?,
            skills: skills?,
            tools: tools?,
            search: search?,
            store: store?,
            window_cap: window_cap?,
            models: models?,
            model_files: self.sources.home.join(MODEL_FILES),
            items,
            servers: servers?,
        })
    }

    /// The first agent, and the model that answers. The model of a flag or a
    /// variable wins over the agent's, which wins over the file's.
    fn agent_and_model(&mut self) -> (Option<AgentSettings>, Option<String>) {
        let model = self.find("model", &[]).and_then(|found| self.model_reference(found));
        let (agent, agents_model) = self.agents();
        let from_outside =
            model.as_ref().is_some_and(|model| !matches!(model.place, Place::File { .. }));
        let chosen = if from_outside { model } else { agents_model.or(model) };
        let (name, origin) = match chosen {
            Some(chosen) => (Some(chosen.value), Some(chosen.place)),
            None => (self.names("models").first().map(|name| (*name).to_owned()), None),
        };
        if let Some(name) = &name {
            let value = Value::Text(name.clone()).to_string();
            self.rows.insert(0, Row { key: "model".to_owned(), value, origin });
        }
        (agent, name)
    }

    /// The agent that is used, with its model as given. The others are checked
    /// all the same.
    fn agents(&mut self) -> (Option<AgentSettings>, Option<Placed<String>>) {
        let mut names = self.names("agents");
        if names.is_empty() {
            names.push(DEFAULT_AGENT);
        }
        let mut agents = names.iter().map(|name| self.agent(name)).collect::<Vec<_>>().into_iter();
        let used = agents.next();
        let unused: Vec<&NamedTable> = self.tables_of("agents").skip(1).collect();
        for table in unused {
            let what = format!("{} is not used: the first agent is", quoted(&table.path));
            self.warnings.push(Problem::new(table.place.clone(), what));
        }
        used.unwrap_or_default()
    }

    fn agent(&mut self, name: &str) -> (Option<AgentSettings>, Option<Placed<String>>) {
        let workspace = self.path("agents.<name>.workspace", &[name]);
        let model = self.find("agents.<name>.model", &[name]).and_then(|found| {
            self.show(&found, &found.value);
            self.model_reference(found)
        });
        let agent = workspace.map(|workspace| AgentSettings {
            name: name.to_owned(),
            workspace,
            model: model.as_ref().map(|model| model.value.clone()),
        });
        (agent, model)
    }

    fn context(&mut self) -> Option<ContextSettings> {
        let preset = self.get("context.preset", &[]);
        let picks = self.get("context.picks", &[]);
        let target_tokens = self.get("context.target_tokens", &[]);
        Some(ContextSettings { preset: preset?, picks, target_tokens })
    }

    fn history(&mut self) -> Option<HistorySettings> {
        let max_messages = self.get("history.max_messages", &[]);
        let max_tokens = self.get("history.max_tokens", &[]);
        let channel_max_messages = self.get("history.channel_max_messages", &[]);
        let compaction = self.get("history.compaction", &[]);
        let summary_tokens = self.get("history.summary_tokens", &[]);
        Some(HistorySettings {
            max_messages: max_messages?,
            max_tokens: max_tokens?,
            channel_max_messages: channel_max_messages?,
            compaction: compaction?,
            summary_tokens: summary_tokens?,
        })
    }

    fn memory(&mut self) -> Option<MemorySettings> {
        let max_entries = self.get("memory.max_entries", &[]);
        let max_tokens = self.get("memory.max_tokens", &[]);
        Some(MemorySettings { max_entries: max_entries?, max_tokens: max_tokens? })
    }

    fn sessions(&mut self) -> Option<TranscriptSettings> {
        let is_on: bool = self.get("sessions.markdown", &[])?;
        let folder = || self.sources.home.join(SESSION_FILES);
        Some(TranscriptSettings { markdown: is_on.then(folder) })
    }

    fn skills(&mut self) -> Option<SkillSettings> {
        let directory = self.path("skills.directory", &[]);
        let extra_dirs = self.paths("skills.extra_dirs", &[]);
        let disabled = self.get("skills.disabled", &[]);
        let render = self.get("skills.render", &[]);
        let allow_scripts = self.get("skills.allow_scripts", &[]);
        Some(SkillSettings {
            directory: directory?,
            extra_dirs: extra_dirs?,
            disabled: disabled?,
            render,
            allow_scripts: allow_scripts?,
        })
    }

    fn tools(&mut self) -> Option<ToolSettings> {
        let approval = self.get("tools.approval", &[]);
        let approval_expires = self.seconds("tools.approval_expires", &[]);
        let sandbox = self.get("tools.sandbox", &[]);
        let max_rounds = self.get("tools.max_rounds", &[]);
        let max_output_bytes = self.get("tools.max_output_bytes", &[]);
        let time_limit = self.seconds("tools.time_limit", &[]);
        let disabled = self.get("tools.disabled", &[]);
        Some(ToolSettings {
            approval: approval?,
            approval_expires: approval_expires?,
            sandbox: sandbox?,
            max_rounds: max_rounds?,
            max_output_bytes: max_output_bytes?,
            time_limit: time_limit?,
            disabled: disabled?,
        })
    }

    fn search(&mut self) -> Option<SearchSettings> {
        let enabled = self.get("search.enabled", &[]);
        let preset = self.get("search.preset", &[]);
        let all = FoundSettings {
            top_k: self.get("search.top_k", &[]),
            top_n: self.get("search.top_n", &[]),
            include_score: self.get("search.include_score", &[]),
            floor: self.get("search.floor", &[]),
        };
        let groups = Group::ALL.map(|group| (group, self.found(group))).to_vec();
        Some(SearchSettings { enabled: enabled?, preset: preset?, all, groups })
    }

    fn found(&mut self, group: Group) -> FoundSettings {
        let names = &[group.name()];
        FoundSettings {
            top_k: self.get("search.<group>.top_k", names),
            top_n: self.get("search.<group>.top_n", names),
            include_score: self.get("search.<group>.include_score", names),
            floor: self.get("search.<group>.floor", names),
        }
    }

    fn store(&mut self) -> Option<StoreSettings> {
        let path = self.path("store.path", &[]);
        Some(StoreSettings { path: path? })
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
        let provider = self.get("models.<name>.provider", names);
        self.refuse_unread(name, provider);
        let model = self.model_name(name, provider);
        let base_url = self.get("models.<name>.base_url", names);
        let api_key_env = self.get("models.<name>.api_key_env", names);
        let script = self.path("models.<name>.script", names);
        let time_limit = self.seconds("models.<name>.time_limit", names);
        let window = self.get("models.<name>.window", names);
        let max_output_tokens = self.get("models.<name>.max_output_tokens", names);
        let temperature = self.get("models.<name>.temperature", names);
        let top_p = self.get("models.<name>.top_p", names);
        let mode = self.mode(names);
        let minimal_history = self.get("models.<name>.minimal_history", names);
        let system_messages = self.get("models.<name>.system_messages", names);
        let pick_messages = self.get("models.<name>.pick_messages", names);
        let tool_calls = self.get("models.<name>.tool_calls", names);
        let (model, file) = model?;
        Some(ModelSettings {
            name: name.to_owned(),
            chosen: CONFIGURED.into(),
            provider: provider?,
            model,
            file,
            base_url,
            api_key_env,
            script,
            time_limit: time_limit?,
            window,
            max_output_tokens: max_output_tokens?,
            temperature,
            top_p,
            mode: mode?,
            minimal_history: minimal_history?,
            system_messages,
            pick_messages,
            tool_calls,
        })
    }

    /// A key that nobody would read is refused: whoever sets it expects something
    /// of it.
    fn refuse_unread(&mut self, name: &str, provider: Option<Provider>) {
        let Some(provider) = provider else { return };
        let leave = |other: &str| format!("leave it out, or set `provider = \"{other}\"`");
        let mut refuse = |key: &str, why: &str, hint: String| {
            self.refuse(&KeyPath::of(key, &[name]), why, hint);
        };
        if provider == Provider::Embedded {
            for key in ["models.<name>.base_url", "models.<name>.api_key_env"] {
                let why = "is for servers, and an embedded model has none";
                refuse(key, why, leave(Provider::OpenAi.name()));
            }
        }
        if provider != Provider::Scripted {
            let why = "is read by no model but a scripted one";
            refuse("models.<name>.script", why, leave(Provider::Scripted.name()));
        }
    }

    /// The model's name on its server, and the file of an embedded one where it is
    /// named by its path. A script has no server to tell a name to.
    fn model_name(
        &mut self,
        name: &str,
        provider: Option<Provider>,
    ) -> Option<(String, Option<PathBuf>)> {
        let path = KeyPath::of("models.<name>.model", &[name]);
        if self.settings.contains_key(&path) {
            let found = self.find("models.<name>.model", &[name])?;
            let model = String::from_value(found.value.clone())?;
            if provider == Some(Provider::Embedded) && is_path(&model) {
                return self.model_file(&found, &model);
            }
            self.show(&found, &found.value);
            return Some((model, None));
        }
        if provider != Some(Provider::Scripted) {
            self.missing(&path);
            return None;
        }
        let found = Found { path, value: Value::Text(name.to_owned()), origin: None };
        self.show(&found, &found.value);
        Some((name.to_owned(), None))
    }

    /// A model file goes by its name without folder and ending.
    fn model_file(&mut self, found: &Found, text: &str) -> Option<(String, Option<PathBuf>)> {
        let file = self.expanded(found, text)?;
        self.show(found, &Value::Text(file.to_string_lossy().into_owned()));
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Some((name, Some(file)))
    }

    fn mode(&mut self, names: &[&str]) -> Option<ModeSettings> {
        let context_mode = self.placed("models.<name>.context_mode", names);
        let auto_uncertain = self.get("models.<name>.auto_uncertain", names);
        let tool_turn_context = self.placed("models.<name>.tool_turn_context", names);
        let minimal_system = self.placed("models.<name>.minimal_system", names);
        Some(ModeSettings {
            context_mode,
            auto_uncertain: auto_uncertain?,
            tool_turn_context,
            minimal_system,
        })
    }

    fn check_model(&mut self, model: &ModelSettings) {
        let (found, what) = match (self.sources.check_model)(model) {
            Verdict::Fine => return,
            Verdict::Warn(what) => (&mut self.warnings, what),
            Verdict::Refuse(what) => (&mut self.problems, what),
        };
        let what = format!("model {}: {what}", quoted(&model.name));
        let problem = model.mode.problem(what.as_str());
        found.push(problem.unwrap_or_else(|| self.sources.file_problem(what)));
    }
}

/// How the parts ask.
impl<'a> Resolver<'a> {
    /// The named tables directly below a table.
    fn tables_of(&self, table: &str) -> impl Iterator<Item = &'a NamedTable> + use<'a> {
        let table = table.to_owned();
        self.tables.iter().filter(move |named| named.path.parts().first() == Some(&table))
    }

    /// The names in a table, in the order of the file.
    fn names(&self, table: &str) -> Vec<&'a str> {
        self.tables_of(table)
            .filter_map(|named| named.path.parts().last().map(String::as_str))
            .collect()
    }

    /// The value of a key, given or by default. `None` where there is neither,
    /// which for a required key, or one with a default, is a known problem.
    fn get<T: FromValue>(&mut self, template: &str, names: &[&str]) -> Option<T> {
        let found = self.find(template, names)?;
        self.show(&found, &found.value);
        T::from_value(found.value)
    }

    fn seconds(&mut self, template: &str, names: &[&str]) -> Option<Duration> {
        self.get(template, names).map(|seconds: u32| Duration::from_secs(seconds.into()))
    }

    /// As [`get`](Self::get), with where it was set.
    fn placed<T: FromValue>(&mut self, template: &str, names: &[&str]) -> Option<Placed<T>> {
        let found = self.find(template, names)?;
        self.show(&found, &found.value);
        let (place, spelled) = found.origin?;
        Some(Placed { value: T::from_value(found.value)?, place, spelled: spelled.to_string() })
    }

    /// The name of a model, which must be there. Where the file has none at all,
    /// it names one that is to be found, and whoever looks for it tells.
    fn model_reference(&mut self, found: Found) -> Option<Placed<String>> {
        let (place, spelled) = found.origin?;
        let name = String::from_value(found.value)?;
        let models = self.names("models");
        if !models.is_empty() && !models.contains(&name.as_str()) {
            let problem = self.no_such_model(&name, &spelled, &place);
            self.problems.push(problem);
        }
        Some(Placed { value: name, place, spelled: spelled.to_string() })
    }

    fn no_such_model(&self, name: &str, spelled: &KeyPath, place: &Place) -> Problem {
        let what =
            format!("{} names a model that is not there: {}", quoted(spelled), quoted(&name));
        let models = self.names("models");
        let known = format!("known models: {}", listed(models.iter().copied()));
        let hint = match nearest(name, models.iter().copied()) {
            Some(meant) => format!("did you mean {}? ({known})", quoted(&meant)),
            None => known,
        };
        Problem::new(place.clone(), what).hint(hint)
    }

    fn path(&mut self, template: &str, names: &[&str]) -> Option<PathBuf> {
        let found = self.find(template, names)?;
        let text = String::from_value(found.value.clone())?;
        let path = self.expanded(&found, &text)?;
        self.show(&found, &Value::Text(path.to_string_lossy().into_owned()));
        Some(path)
    }

    fn paths(&mut self, template: &str, names: &[&str]) -> Option<Vec<PathBuf>> {
        let found = self.find(template, names)?;
        let texts = Vec::<String>::from_value(found.value.clone())?;
        let paths: Vec<Option<PathBuf>> =
            texts.iter().map(|text| self.expanded(&found, text)).collect();
        let paths: Vec<PathBuf> = paths.into_iter().collect::<Option<_>>()?;
        let shown = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        self.show(&found, &Value::List(shown));
        Some(paths)
    }

    fn expanded(&mut self, found: &Found, text: &str) -> Option<PathBuf> {
        match expand(text, self.sources) {
            Ok(path) => Some(path),
            Err(mismatch) => {
                let (place, spelled) = found.origin.clone()?;
                self.problems.push(mismatch.of(&spelled, place));
                None
            }
        }
    }

    fn show(&mut self, found: &Found, value: &Value) {
        let origin = found.origin.as_ref().map(|(place, _)| place.clone());
        self.rows.push(Row { key: found.path.to_string(), value: value.to_string(), origin });
    }

    /// Takes the setting of a key out of the layers, or its default.
    fn find(&mut self, template: &str, names: &[&str]) -> Option<Found> {
        let key = keys::find(template);
        debug_assert!(key.is_some(), "not in the table of keys: {template}");
        let key = key?;
        let path = KeyPath::of(template, names);
        if let Some(setting) = self.settings.remove(&path) {
            let origin = Some((setting.place, setting.spelled));
            return Some(Found { path, value: setting.value?, origin });
        }
        match key.fallback {
            Fallback::Value(text) => {
                let value = value::from_text(key.kind, text).ok()?;
                Some(Found { path, value, origin: None })
            }
            Fallback::Prose(_) => None,
            Fallback::Required => {
                self.missing(&path);
                None
            }
        }
    }

    /// Refuses a setting that nobody would read.
    fn refuse(&mut self, path: &KeyPath, why: &str, hint: impl Into<String>) {
        if let Some(setting) = self.settings.get(path) {
            let what = format!("{} {why}", quoted(path));
            self.problems.push(Problem::new(setting.place.clone(), what).hint(hint));
        }
    }

    fn missing(&mut self, path: &KeyPath) {
        let what = format!("{} is missing", quoted(path));
        let problem = match self.places.get(path.table()) {
            Some(place) => Problem::new((*place).clone(), what),
            None => self.sources.file_problem(what),
        };
        self.problems.push(problem);
    }
}

/// Whether a model is named by a file rather than by a name of its own.
fn is_path(model: &str) -> bool {
    let path = Path::new(model);
    let is_gguf = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    is_gguf || model.starts_with('~') || path.components().count() > 1
}

/// A path as the config means it: `~` is the person's home, and what is relative
/// starts at Recto's home, wherever Recto was started.
fn expand(text: &str, sources: &Sources) -> Result<PathBuf, Mismatch> {
    let path = Path::new(text);
    let mut parts = path.components();
    let first = match parts.next() {
        Some(Component::Normal(first)) => first.to_string_lossy(),
        _ => "".into(),
    };
    if !first.starts_with('~') {
        return Ok(tidy(&sources.home.join(path)));
    }
    let refused = |why: &str| {
        let what = format!("has the path {}, but {why}", quoted(&text));
        Mismatch::new(what).hint("write the whole path, or `./~` for a name that begins so")
    };
    match &sources.user_home {
        _ if first != "~" => Err(refused("`~` with a name behind it is not supported")),
        Some(home) => Ok(tidy(&home.join(parts.as_path()))),
        None => Err(refused("there is no home directory that `~` could stand for")),
    }
}

/// The path without `.` parts and doubled slashes. `..` stays: what it means
/// depends on links.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Types that a value can be.
trait FromValue: Sized {
    fn from_value(value: Value) -> Option<Self>;
}

impl<T: Named> FromValue for T {
    fn from_value(value: Value) -> Option<Self> {
        T::from_name(&String::from_value(value)?)
    }
}

/// Implements [`FromValue`] for the type inside a variant.
macro_rules! from_value {
    ($($variant:ident => $type:ty,)+) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+};
}

from_value! {
    Text => String,
    Bool => bool,
    Integer => u32,
    Float => f64,
    List => Vec<String>,
}
