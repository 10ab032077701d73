//! The parts, options and settings of an agent. Settings come in typed; nothing here reads a config.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{
    Audience, AudienceKind, CallDemand, ContentPart, ContextLimits, ContextMode, PageLayout,
    SummaryBy, Tokens, ToolSpec,
};
use recto_llm::{CallOptions, FeatureSupport, ModelClient, ReplyRules};
use recto_store::{SettingsMap, Store};
use recto_tools::{ApprovalMode, Toolbox};
use recto_workspace::{MemoryFiles, Workspace};
use serde::{Deserialize, Serialize};

use crate::delegation::{Delegation, DelegationLimits};
use crate::error::{AgentError, AgentResult};
use crate::search::SearchParts;
use crate::selection::SearchSetting;
use crate::unknown_items::ConfiguredItems;

/// All that an agent is made of.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct AgentParts {
    pub options: AgentOptions,
    /// The models that can answer. The first is taken where nothing else is chosen.
    pub models: Vec<ModelEntry>,
    pub workspace: Workspace,
    pub memory: MemoryFiles,
    pub tools: Toolbox,
    pub search: SearchParts,
    pub store: Store,
}

/// The names and limits of an agent.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct AgentOptions {
    pub name: Arc<str>,
    /// Recto's version, as the page tells it.
    pub version: Arc<str>,
    /// The workspace folder, as the page tells it.
    pub workspace: Arc<str>,
    /// The folder that it works in, where that is not its own workspace. Its sessions belong to
    /// that folder.
    pub folder: Option<SessionFolder>,
    /// The most rounds of tool calls in one turn.
    pub max_rounds: u32,
    /// The most that is used of what a model was trained for, where nobody says
    /// what its server has.
    pub window_cap: Tokens,
    /// The built-in tools that it has.
    pub built_in: Vec<ToolSpec>,
    /// Tools of skills that are left out, as `SKILL.TOOL` or by their names.
    pub disabled_tools: Vec<String>,
    /// Items that somebody made settings for: one that is not there is told of.
    pub configured_items: ConfiguredItems,
    /// How long a question whether a tool may run waits for its answer.
    pub approval_expires: Duration,
    /// How long somebody who can't be asked waits for such an answer from elsewhere.
    pub approval_wait: Duration,
    /// How messages that leave the page are summarised, if they are.
    pub compaction: Option<SummaryBy>,
    /// Where sessions are also kept as Markdown, if they are.
    pub session_files: Option<PathBuf>,
    /// How often it is looked for what other processes left unfinished.
    pub recovery_interval: Duration,
    /// Surfaces whose conversations are held elsewhere: what is to be read there is put into the
    /// outbox of their bot.
    pub chat_surfaces: Vec<&'static str>,
    /// The limits of what is given to sub-agents.
    pub delegation: DelegationLimits,
}

impl AgentOptions {
    /// Often enough for a person who waits for a turn of a process that died. A look costs next
    /// to nothing while there is none.
    pub const RECOVERY_INTERVAL: Duration = Duration::from_millis(500);
}

/// A model that can answer, and how it wants to be asked.
#[derive(Debug, Clone)]
pub struct ModelEntry {
    /// The name by which sessions and people choose it.
    pub name: Arc<str>,
    /// Why it is this one that answers, for people and for the record.
    pub chosen: Arc<str>,
    /// The way to its server.
    pub client: ModelClient,
    /// What is said in each call.
    pub call: CallOptions,
    /// Its window, where a person set it.
    pub window: Option<Tokens>,
    /// Whether its turns are minimal or full, or each message decides.
    pub mode: ModeSetting,
    /// What *auto* does when nothing decides.
    pub uncertain: UncertainMode,
    /// The form of the page.
    pub layout: PageLayout,
    /// What a request may hold.
    pub limits: ContextLimits,
    /// Whether it looks at images, where a person set it. Otherwise its server is asked.
    pub images: FeatureSupport,
}

impl ModelEntry {
    /// Refuses content with an image in it where the model is known to look at none.
    pub async fn check_images(&self, content: &[ContentPart]) -> AgentResult {
        let image = content.iter().find_map(|part| match part {
            ContentPart::Image(image) => Some(image),
            _ => None,
        });
        let Some(image) = image else { return Ok(()) };
        match self.image_support().await {
            FeatureSupport::No => Err(AgentError::NoImages {
                model: self.name.to_string(),
                image: image.name.as_deref().unwrap_or("image").to_owned(),
            }),
            FeatureSupport::Yes | FeatureSupport::Unknown => Ok(()),
        }
    }

    /// What its wire can demand of a reply.
    pub fn call_demand(&self) -> CallDemand {
        self.client.wire().call_demand(self.layout.tool_calls)
    }

    /// Refuses rules for its replies that it can't keep to.
    pub(crate) fn check_rules(&self) -> AgentResult {
        let checked = self.client.check_rules(&self.call.reply);
        checked.map_err(|error| AgentError::model(self, error))
    }

    /// Whether it looks at images, as far as anybody says.
    pub async fn image_support(&self) -> FeatureSupport {
        match self.images {
            FeatureSupport::Unknown => self.client.supports_images(&self.call.model).await,
            known => known,
        }
    }

    /// What its server's counts are kept under: entries that ask the same model
    /// of the same server learn together. Servers with a single model may call it
    /// anything, so the address belongs to it.
    pub(crate) fn counted_as(&self) -> String {
        format!("{} {} {}", self.client.provider().name(), self.client.url(), self.call.model)
    }
}

/// The folder that a session works in, where that is not the agent's own workspace. Whoever goes
/// on with the session works there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFolder {
    /// A project. What its skills run, a person has to trust first.
    Project(String),
    /// Another workspace than the config's.
    Workspace(String),
}

impl SessionFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            SessionFolder::Project(path) | SessionFolder::Workspace(path) => Path::new(path),
        }
    }

    /// Where it is, if it is a project.
    pub(crate) fn project(&self) -> Option<&Path> {
        match self {
            SessionFolder::Project(path) => Some(Path::new(path)),
            SessionFolder::Workspace(_) => None,
        }
    }
}

/// The settings of a session, over those of its agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// The name of the model entry that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How freely the model chooses its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How much of the probable words it chooses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// What a client asks of the replies of its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyRules>,
    /// The most rounds of tool calls in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Whether turns are minimal or full, or each message decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_mode: Option<ContextMode>,
    /// Whether search brings items, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSetting>,
    /// How many candidates search looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// How many of each group it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_n: Option<u32>,
    /// The cosine from which on it takes an item whatever else holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_score: Option<f64>,
    /// The least probability of what search takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// When a person is asked before a tool runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSetting>,
    /// How messages that leave the page are summarised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionSetting>,
    /// For whom its pages are made. It is set when the session begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Audience>,
    /// The folder that it works in. It is set when the session begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<SessionFolder>,
    /// Whether nobody is there who could be asked: then tools that need somebody are not
    /// offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The task of a sub-agent, where the session is there for one. It is set when the session
    /// begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
}

/// How messages that leave the page are summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionSetting {
    /// They leave without a summary.
    Off,
    /// Sentences of theirs stand for them, as they were said.
    Extract,
    /// The model says in its own words what they were about.
    Summary,
}

impl From<CompactionSetting> for Option<SummaryBy> {
    fn from(setting: CompactionSetting) -> Self {
        match setting {
            CompactionSetting::Off => None,
            CompactionSetting::Extract => Some(SummaryBy::Extract),
            CompactionSetting::Summary => Some(SummaryBy::Summary),
        }
    }
}

/// When a person is asked before a tool runs, in the form of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSetting {
    /// Before every call of any tool.
    Always,
    /// Before no call.
    Never,
    /// Before the calls of tools that ask for it.
    #[serde(alias = "tool")]
    PerTool,
}

impl From<ApprovalSetting> for ApprovalMode {
    fn from(setting: ApprovalSetting) -> Self {
        match setting {
            ApprovalSetting::Always => ApprovalMode::Always,
            ApprovalSetting::Never => ApprovalMode::Never,
            ApprovalSetting::PerTool => ApprovalMode::PerTool,
        }
    }
}

impl SessionSettings {
    /// The settings that the store has kept. What can't be read any more counts as
    /// unset, because a setting must not keep a session from going on.
    pub fn from_store(settings: &SettingsMap) -> Self {
        if let Ok(settings) = Self::deserialize(settings) {
            return settings;
        }
        // One that can't be read takes none of the others along.
        let one = |key: &String, value: &serde_json::Value| {
            let alone = SettingsMap::from_iter([(key.clone(), value.clone())]);
            Self::deserialize(&alone).is_ok()
        };
        let readable = settings.iter().filter(|(key, value)| one(key, value));
        let readable: SettingsMap =
            readable.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self::deserialize(&readable).unwrap_or_default()
    }

    /// The settings as the store keeps them.
    pub(crate) fn to_store(&self) -> SettingsMap {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(settings)) => settings,
            _ => SettingsMap::default(),
        }
    }

    /// These settings, with what another one says otherwise.
    pub(crate) fn overridden_by(&self, other: &SessionSettings) -> Self {
        let mut settings = self.to_store();
        settings.extend(other.to_store());
        // Who reads along, and where it works, is a matter of the session, whatever a turn says.
        SessionSettings {
            audience: self.audience.clone(),
            folder: self.folder.clone(),
            delegation: self.delegation.clone(),
            ..Self::from_store(&settings)
        }
    }

    /// Those whose session it is: they may look at it and stop what runs there. Of a sub-agent's
    /// task it is those for whom the task is done.
    pub fn holders(&self) -> Audience {
        let delegation = self.delegation.as_ref();
        delegation.map_or_else(|| self.audience(), |task| task.on_behalf_of.clone())
    }

    /// For whom its pages are made. A session of which nobody says it may be read by
    /// anybody.
    pub(crate) fn audience(&self) -> Audience {
        self.audience.clone().unwrap_or_default()
    }

    /// The model entry with what the session says otherwise.
    pub(crate) fn apply(&self, entry: &ModelEntry) -> ModelEntry {
        let mut entry = entry.clone();
        entry.call.temperature = self.temperature.or(entry.call.temperature);
        entry.call.top_p = self.top_p.or(entry.call.top_p);
        if let Some(rules) = &self.reply {
            entry.call.reply.clone_from(rules);
        }
        if let Some(tokens) = self.max_output_tokens {
            entry.limits.reply = Tokens::new(tokens);
        }
        if self.audience().who == AudienceKind::Group {
            entry.limits = entry.limits.in_channel();
        }
        entry
    }
}
