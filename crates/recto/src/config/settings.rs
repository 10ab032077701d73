//! What the rest of Recto gets to see of the config: typed, complete, checked.
//!
//! Each part is handed to the crate that it concerns; none gets the whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::choices::{
    Approval, AutoUncertain, Compaction, ContextMode, Group, Include, ItemKind, Permission,
    PickMessages, PickPlacement, Preset, Provider, Reload, Sandbox, SearchPreset, SkillRender,
    SystemMessages, ToolCalls, ToolTurnContext,
};
use super::problem::{Place, Problem, quoted};

/// The config, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The name of the model entry that answers. [`models`](Self::models) has it,
    /// unless there are none: then it is the name of one to be found, if any.
    pub model: Option<String>,
    /// When changed files are read again.
    pub reload: Reload,
    /// The agent that is used: the first of the file.
    pub agent: AgentSettings,
    /// The page.
    pub context: ContextSettings,
    /// Limits of the history.
    pub history: HistorySettings,
    /// Limits of the memories on the page.
    pub memory: MemorySettings,
    /// How sessions are kept beside the store.
    pub sessions: TranscriptSettings,
    /// Where skills are and how they are shown.
    pub skills: SkillSettings,
    /// What tools may do in a turn.
    pub tools: ToolSettings,
    /// What search brings for a message.
    pub search: SearchSettings,
    /// Where sessions and records are kept.
    pub store: StoreSettings,
    /// The most tokens that are used of what a model was trained for, when
    /// neither the person nor the server says how large its window is.
    pub window_cap: u32,
    /// The model entries, in the order of the file.
    pub models: Vec<ModelSettings>,
    /// The folder of pulled model files.
    pub model_files: PathBuf,
    /// What the config says about single items, in the order of the file.
    pub items: Vec<ItemSettings>,
    /// The MCP servers, those that are off included, in the order of the file.
    pub servers: Vec<ServerSettings>,
}

impl Settings {
    /// The model entry that answers.
    pub fn chosen_model(&self) -> Option<&ModelSettings> {
        self.models.iter().find(|model| Some(&model.name) == self.model.as_ref())
    }
}

/// `[agents.<name>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// Its name; `main` when the file has no agents.
    pub name: String,
    /// The folder with its files.
    pub workspace: PathBuf,
    /// Its own model entry.
    pub model: Option<String>,
}

/// `[context]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextSettings {
    /// The form of the page.
    pub preset: Preset,
    /// Where picks stand; the preset decides when it is not set.
    pub picks: Option<PickPlacement>,
    /// Tokens to stay within, below the window.
    pub target_tokens: Option<u32>,
}

/// `[history]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySettings {
    /// The most messages.
    pub max_messages: u32,
    /// The most tokens.
    pub max_tokens: u32,
    /// The most messages where several people talk.
    pub channel_max_messages: u32,
    /// Who makes summaries of messages that leave, if anybody does.
    pub compaction: Compaction,
    /// The most tokens of a summary.
    pub summary_tokens: u32,
}

/// `[memory]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// The most memories on the page.
    pub max_entries: u32,
    /// The most tokens of them.
    pub max_tokens: u32,
}

/// `[sessions]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSettings {
    /// The folder where each is kept as Markdown, if it is.
    pub markdown: Option<PathBuf>,
}

/// `[skills]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// The first folder.
    pub directory: PathBuf,
    /// The folders behind the workspace's own.
    pub extra_dirs: Vec<PathBuf>,
    /// Names of skills that are left out.
    pub disabled: Vec<String>,
    /// How skills are shown; the preset decides when it is not set.
    pub render: Option<SkillRender>,
    /// Whether their tools may run scripts of theirs.
    pub allow_scripts: bool,
}

/// `[tools]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// When a person is asked.
    pub approval: Approval,
    /// How long a person has to answer.
    pub approval_expires: Duration,
    /// Whether programs run where not all guards hold.
    pub sandbox: Sandbox,
    /// The most requests of one turn that may follow calls.
    pub max_rounds: u32,
    /// The most that a model is shown of what one call gave.
    pub max_output_bytes: u32,
    /// How long one call may take.
    pub time_limit: Duration,
    /// Tools that are left out: `tool` for a built-in one, `server.tool` for one
    /// of an MCP server.
    pub disabled: Vec<String>,
}

/// `[search]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    /// Whether turns search.
    pub enabled: bool,
    /// What holds where nothing else is set.
    pub preset: SearchPreset,
    /// What is set for all groups.
    pub all: FoundSettings,
    /// What is set for single groups, one entry for each.
    pub groups: Vec<(Group, FoundSettings)>,
}

/// What decides how many items search brings, as far as it is set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FoundSettings {
    /// How many candidates are looked at.
    pub top_k: Option<u32>,
    /// The most that are taken.
    pub top_n: Option<u32>,
    /// The cosine that suffices by itself.
    pub include_score: Option<f64>,
    /// The least probability.
    pub floor: Option<f64>,
}

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The database file.
    pub path: PathBuf,
}

/// `[models.<name>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The entry's name.
    pub name: String,
    /// Why there is such an entry: it is configured, or how it was found.
    pub chosen: Arc<str>,
    /// Who answers.
    pub provider: Provider,
    /// The model's name as its server knows it; a script goes by the entry's, and
    /// a model file by its own.
    pub model: String,
    /// The file of an embedded model that is named by a path.
    pub file: Option<PathBuf>,
    /// Where the server listens, without a slash at the end.
    pub base_url: Option<String>,
    /// The variable that holds the key; never the key.
    pub api_key_env: Option<String>,
    /// The file of answers, for a script alone.
    pub script: Option<PathBuf>,
    /// How long the server may be silent before a call is given up.
    pub time_limit: Duration,
    /// The window in tokens, when the person set it.
    pub window: Option<u32>,
    /// The room for the reply.
    pub max_output_tokens: u32,
    /// From 0 to 2.
    pub temperature: Option<f64>,
    /// From 0 to 1.
    pub top_p: Option<f64>,
    /// Minimal, full or auto, with the older settings that mean the same.
    pub mode: ModeSettings,
    /// How many exchanges minimal mode sends.
    pub minimal_history: u32,
    /// One system message or many; the preset decides when it is not set.
    pub system_messages: Option<SystemMessages>,
    /// How picks are sent; the preset decides when it is not set.
    pub pick_messages: Option<PickMessages>,
    /// How tools are sent; the model's chat template decides when it is not set,
    /// where Recto knows it.
    pub tool_calls: Option<ToolCalls>,
}

/// The settings of a model that decide its context mode, as given: whether they
/// agree is for the code that knows what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeSettings {
    /// `context_mode`.
    pub context_mode: Option<Placed<ContextMode>>,
    /// `auto_uncertain`.
    pub auto_uncertain: AutoUncertain,
    /// The older `tool_turn_context`.
    pub tool_turn_context: Option<Placed<ToolTurnContext>>,
    /// The older `minimal_system`.
    pub minimal_system: Option<Placed<bool>>,
}

/// A value and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub place: Place,
    /// The key as the person spelled it.
    pub spelled: String,
}

impl ModeSettings {
    /// A problem, or a warning, about these settings together: it stands where
    /// the first of them is set and names every one with its place.
    pub fn problem(&self, what: impl Into<String>) -> Option<Problem> {
        let places = self.places();
        let (_, first) = places.first()?;
        let named = |(spelled, place): &(&str, &Place)| format!("{} at {place}", quoted(spelled));
        let named: Vec<String> = places.iter().map(named).collect();
        let hint = format!("keep those that you mean: {}", named.join(", "));
        Some(Problem::new((*first).clone(), what).hint(hint))
    }

    fn places(&self) -> Vec<(&str, &Place)> {
        fn of<T>(setting: Option<&Placed<T>>) -> Option<(&str, &Place)> {
            setting.map(|setting| (setting.spelled.as_str(), &setting.place))
        }
        let places = [
            of(self.context_mode.as_ref()),
            of(self.tool_turn_context.as_ref()),
            of(self.minimal_system.as_ref()),
        ];
        places.into_iter().flatten().collect()
    }
}

/// `[items.<kind>.<name>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemSettings {
    /// The item's kind.
    pub kind: ItemKind,
    /// The item's name.
    pub name: String,
    /// How it comes into a session.
    pub include: Option<Include>,
    /// From 0 to 999.
    pub priority: Option<u32>,
    /// Whether a person is asked, for a tool or the tools of a skill.
    pub permission: Option<Permission>,
    /// What the programs of a skill get.
    pub grants: GrantSettings,
}

/// What the programs of a skill get beyond the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantSettings {
    /// Whether they get the network, when the skill asks for it.
    pub network: bool,
    /// Paths to read.
    pub read: Vec<PathBuf>,
    /// Paths to read and write.
    pub write: Vec<PathBuf>,
    /// Names of variables that are passed on.
    pub env: Vec<String>,
}

/// `[mcp.<name>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: TransportSettings,
    /// How its tools come into a session.
    pub include: Include,
    /// Whether a person is asked before they run.
    pub permission: Option<Permission>,
    /// Whether it is there at all.
    pub enabled: bool,
    /// How long it may take to start.
    pub start_limit: Duration,
    /// How long a call may take.
    pub time_limit: Duration,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportSettings {
    /// Recto starts it.
    Program {
        /// A name, or an absolute path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables with their values, in the order of their names.
        env: Vec<(String, String)>,
        /// Names of variables that are passed on.
        pass_env: Vec<String>,
        /// The folder that it starts in.
        working_dir: Option<PathBuf>,
    },
    /// It runs by itself.
    Address {
        /// Where it listens.
        url: String,
        /// The variable that holds the key; never the key.
        api_key_env: Option<String>,
    },
}
