//! Minimal or full: how much of the page a turn gets.
//!
//! Small local models call tools reliably only when the prompt is short and
//! points at the tools; the same prompt makes them poor company. So the mode is
//! decided once a turn, from settings first, then from what the message says.
//! The decision carries its reason and the words that matched: a person who
//! wonders about it can read both. No model is asked.

mod source;
pub mod words;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::ToolSpec;
use crate::item::{ItemId, ItemKind, Pick};

pub use source::{ModeMark, ModeSource};

/// What a turn's page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The page with all of its layers.
    Full,
    /// The system text, rules, the tools at hand, and the message.
    Minimal,
    /// All layers but History.
    FullWithoutHistory,
    /// Minimal's layers, and History.
    MinimalWithHistory,
}

impl Mode {
    /// The name that records use.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Full => "full",
            Mode::Minimal => "minimal",
            Mode::FullWithoutHistory => "full_without_history",
            Mode::MinimalWithHistory => "minimal_with_history",
        }
    }

    /// Whether the page is cut down to what tool calls need.
    pub fn is_minimal(self) -> bool {
        matches!(self, Mode::Minimal | Mode::MinimalWithHistory)
    }

    /// Whether the session's history is sent.
    pub fn sends_history(self) -> bool {
        matches!(self, Mode::Full | Mode::MinimalWithHistory)
    }
}

/// The values of the setting `context_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// Full, whatever the message is.
    Full,
    /// Minimal whenever there are tools.
    Minimal,
    /// Decided by each message.
    Auto,
}

impl ContextMode {
    /// The name that the config uses.
    pub fn name(self) -> &'static str {
        match self {
            ContextMode::Full => "full",
            ContextMode::Minimal => "minimal",
            ContextMode::Auto => "auto",
        }
    }

    /// The mode that it asks for, unless each message decides.
    fn fixed(self) -> Option<Mode> {
        match self {
            ContextMode::Full => Some(Mode::Full),
            ContextMode::Minimal => Some(Mode::Minimal),
            ContextMode::Auto => None,
        }
    }
}

/// What *auto* does when the message does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncertainMode {
    /// A short page, so that tools stay reliable.
    #[default]
    Minimal,
    /// The whole page, so that talk stays rich.
    Full,
}

/// The values of the older setting `toolTurnContext`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolTurnContext {
    /// The whole conversation is sent.
    Full,
    /// Only the latest message is sent.
    Minimal,
}

/// The older pair of settings; either may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OlderPair {
    /// The setting `toolTurnContext`: how much of the conversation is sent.
    pub tool_turn_context: Option<ToolTurnContext>,
    /// The setting `ollamaMinimalSystem`: whether the system text is cut down.
    pub minimal_system: Option<bool>,
}

impl OlderPair {
    /// What the pair asks for when there are tools; `None` when neither is set.
    fn mode(self) -> Option<Mode> {
        if self == OlderPair::default() {
            return None;
        }
        let minimal_turn = self.tool_turn_context == Some(ToolTurnContext::Minimal);
        let minimal_system = self.minimal_system == Some(true);
        Some(match (minimal_turn, minimal_system) {
            (true, true) => Mode::Minimal,
            (true, false) => Mode::FullWithoutHistory,
            (false, true) => Mode::MinimalWithHistory,
            (false, false) => Mode::Full,
        })
    }
}

/// A model's mode settings, checked against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModeSetting {
    /// Nothing is set: full.
    #[default]
    Unset,
    /// Always this mode when there are tools.
    Fixed(Mode),
    /// The same, as the older pair alone says it.
    Pair(Mode),
    /// Decided by each message.
    Auto,
}

/// Settings that hold, and what a person should know about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedMode {
    /// The setting that holds from now on.
    pub setting: ModeSetting,
    /// `context_mode = "auto"` stands beside an explicit pair, which wins.
    pub pair_wins_over_auto: bool,
}

/// `context_mode` and the older pair ask for different modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`context_mode = \"{}\"` contradicts `toolTurnContext` and `ollamaMinimalSystem`, which mean {}",
    asked.name(), pair.name()
)]
pub struct ModeContradiction {
    /// What `context_mode` asks for.
    pub asked: Mode,
    /// What the pair asks for.
    pub pair: Mode,
}

/// Settles what `context_mode` and the older pair say together.
pub fn resolve(
    context_mode: Option<ContextMode>,
    pair: OlderPair,
) -> Result<ResolvedMode, ModeContradiction> {
    let is_auto = context_mode == Some(ContextMode::Auto);
    let asked = context_mode.and_then(ContextMode::fixed);
    let setting = match (asked, pair.mode()) {
        (Some(asked), Some(pair)) if asked != pair => {
            return Err(ModeContradiction { asked, pair });
        }
        (Some(mode), _) => ModeSetting::Fixed(mode),
        (None, Some(mode)) => ModeSetting::Pair(mode),
        (None, None) if is_auto => ModeSetting::Auto,
        (None, None) => ModeSetting::Unset,
    };
    Ok(ResolvedMode { setting, pair_wins_over_auto: is_auto && setting != ModeSetting::Auto })
}

/// All that the decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct ModeQuestion<'a> {
    /// What the model's settings say together.
    pub setting: ModeSetting,
    /// What *auto* does when nothing else decides.
    pub uncertain: UncertainMode,
    /// What a person marked this turn or session with.
    pub mark: Option<ModeMark>,
    /// Whether there is any tool to offer.
    pub has_tools: bool,
    /// The tool or skill that search finds probable, if there is one.
    pub found: Option<&'a Pick>,
    /// The person's message that the turn answers.
    pub message: &'a str,
}

/// A mode, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeDecision {
    /// The mode of the turn.
    pub chosen: Mode,
    /// What decided for it.
    pub reason: ModeReason,
    /// The words of the message that decided, if words did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// The setting that held. Older records don't have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ModeSource>,
    /// The call that the message plainly asks for, in whatever mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_call: Option<WantedCall>,
    /// The tool that search is sure of: the first request of the turn lets the model call
    /// nothing else, where the wire can say so. A small model would often take another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sure_tool: Option<ItemId>,
}

/// A call that a message plainly asks for: the first request of its turn lets the model call
/// nothing else, where the tool is offered and the wire can say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedCall {
    /// The name of the built-in tool.
    pub tool: Arc<str>,
    /// The words that ask for it, as they were typed.
    pub matched: Vec<String>,
    /// What is to be remembered, in the person's own words.
    #[serde(default)]
    pub fact: Arc<str>,
    /// Whether the call can say nothing but the fact: the person has said all of it. One who only
    /// names something ("my token") has not. Older records left it to the model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dictated: bool,
    /// What further wishes of the message are about. Records have these in the message.
    #[serde(skip)]
    pub more: Vec<Arc<str>>,
    /// What else the message says, but for greetings and thanks.
    #[serde(skip)]
    pub beside: Arc<str>,
    /// What of that tells something: it could be remembered, too.
    #[serde(skip)]
    pub told: Arc<str>,
}

impl WantedCall {
    /// The name of the tool that keeps things in mind.
    pub const REMEMBER: &'static str = "remember";

    /// The most characters of a fact that a call says. What is longer is the model's to sum up.
    pub const LONGEST_FACT: usize = 300;

    /// The call that `message` asks for, if it asks for one plainly.
    pub fn from_message(message: &str) -> Option<Self> {
        let words::MemoryWish { matched, fact, is_name, more, beside, told } =
            words::find_memory_wish(message)?;
        Some(WantedCall {
            tool: Self::REMEMBER.into(),
            matched,
            fact: fact.into(),
            is_dictated: !is_name && fact.chars().count() <= Self::LONGEST_FACT,
            more: more.into_iter().map(Arc::from).collect(),
            beside: beside.into(),
            told: told.into(),
        })
    }

    /// The arguments of the call that keeps the person's words.
    pub fn arguments(&self) -> Value {
        json!({ "text": &*self.fact })
    }

    /// What the model may write where it has to make this call: nothing but the person's words.
    /// Nothing else follows from what it would write, and a small model writes on and on.
    pub fn dictated_schema(&self, tool: &ToolSpec) -> Option<Value> {
        if tool.is_client_tool() || *tool.id.name != *self.tool || !self.is_dictated {
            return None;
        }
        let text = json!({ "const": &*self.fact });
        Some(json!({ "type": "object", "properties": { "text": text }, "required": ["text"] }))
    }
}

/// Why a mode was chosen. Records keep the names of the variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeReason {
    /// There is no tool to call.
    NoTools,
    /// A person marked the turn or session.
    Marked,
    /// No setting and no mark says otherwise.
    Default,
    /// The model's settings say so.
    Configured,
    /// A sub-agent does its task, with all that it has.
    SubAgent,
    /// Search found this tool or skill.
    Found(String),
    /// The words of the message say so.
    Words(words::MessageSign),
    /// Nothing decided: `auto_uncertain` did.
    Uncertain,
}

impl ModeReason {
    /// The reason in words.
    pub fn describe(&self) -> String {
        match self {
            ModeReason::NoTools => "no tools are offered".to_owned(),
            ModeReason::Marked => "asked for by the person".to_owned(),
            ModeReason::Default => "the default".to_owned(),
            ModeReason::Configured => "as the model is set".to_owned(),
            ModeReason::SubAgent => "as always for a sub-agent's task".to_owned(),
            ModeReason::Found(item) => format!("search found {item}"),
            ModeReason::Words(sign) => sign.describe().to_owned(),
            ModeReason::Uncertain => {
                "no word of the message decides, and the model is set so for that".to_owned()
            }
        }
    }
}

impl ModeDecision {
    /// A mode for a reason, whatever is set.
    pub fn new(chosen: Mode, reason: ModeReason) -> Self {
        ModeDecision {
            chosen,
            reason,
            matched: Vec::new(),
            source: None,
            wanted_call: None,
            sure_tool: None,
        }
    }

    /// Why it was chosen, in words: the reason, the words that decided, and the setting that
    /// held where the reason does not say it already.
    pub fn describe(&self) -> String {
        let matched = match &self.matched[..] {
            [] => String::new(),
            words => format!(" ({})", words.join(", ")),
        };
        let setting = match (&self.reason, self.source) {
            (_, None)
            | (ModeReason::Default, _)
            | (ModeReason::Configured, Some(ModeSource::Model(_))) => String::new(),
            (_, Some(source)) => format!("; {}", source.describe()),
        };
        format!("{}{matched}{setting}", self.reason.describe())
    }

    /// Whether the model has to call something, whatever it is. A person or the config can ask for
    /// that, and so does a message that orders work. Where *auto* has only a question or a guess
    /// to go by, the tools are there and nothing is forced: no tool may fit "what's the weather
    /// like?", and a call that is forced all the same answers nobody.
    pub(crate) fn demands_call(&self) -> bool {
        let is_about_memory = |word: &String| ABOUT_MEMORY.contains(&&*word.to_lowercase());
        let is_guess = match self.reason {
            ModeReason::Uncertain | ModeReason::Words(words::MessageSign::StateQuestion) => true,
            // "can you remember things?": a plain wish is known by more than the verb.
            ModeReason::Words(words::MessageSign::Imperative) => {
                self.matched.iter().any(is_about_memory)
            }
            _ => false,
        };
        self.chosen.is_minimal() && !is_guess
    }

    /// Full, because nothing can be called.
    pub fn without_tools() -> Self {
        ModeDecision::new(Mode::Full, ModeReason::NoTools)
    }
}

/// Decides the mode of a turn.
pub fn decide(question: &ModeQuestion<'_>) -> ModeDecision {
    let source = question.source();
    let decision = match source {
        _ if !question.has_tools => ModeDecision::without_tools(),
        ModeSource::Default => ModeDecision::new(Mode::Full, ModeReason::Default),
        ModeSource::Pair(mode) => ModeDecision::new(mode, ModeReason::Configured),
        ModeSource::Model(asked) => match asked.fixed() {
            Some(mode) => ModeDecision::new(mode, ModeReason::Configured),
            None => decide_by_evidence(question),
        },
        ModeSource::Session(asked) | ModeSource::Turn(asked) => match asked.fixed() {
            Some(mode) => ModeDecision::new(mode, ModeReason::Marked),
            None => decide_by_evidence(question),
        },
    };
    let wanted_call = WantedCall::from_message(question.message);
    ModeDecision { source: Some(source), wanted_call, ..decision }
}

/// Words that are certain come first, then what search found, then words that
/// are only likely.
fn decide_by_evidence(question: &ModeQuestion<'_>) -> ModeDecision {
    if let Some(words::MemoryWish { matched, .. }) = words::find_memory_wish(question.message) {
        let reason = ModeReason::Words(words::MessageSign::Remember);
        return ModeDecision { matched, ..ModeDecision::new(Mode::Minimal, reason) };
    }
    if let Some(reading) = words::find_path(question.message) {
        return by_words(Mode::Minimal, reading);
    }
    if let Some(found) = question.found {
        let decision = ModeDecision::new(Mode::Minimal, ModeReason::Found(found.item.to_string()));
        return ModeDecision { sure_tool: find_sure_tool(found), ..decision };
    }
    if let Some(reading) = words::find_talk(question.message) {
        return by_words(Mode::Full, reading);
    }
    if let Some(reading) = words::find_imperative(question.message) {
        return by_words(Mode::Minimal, reading);
    }
    let chosen = match question.uncertain {
        UncertainMode::Minimal => Mode::Minimal,
        UncertainMode::Full => Mode::Full,
    };
    ModeDecision::new(chosen, ModeReason::Uncertain)
}

/// How probable a tool has to be for the model to have no other choice.
const SURE: f32 = 0.9;

/// Tools whose names are in much that only talks about memory ("can you remember things?"). A plain
/// wish ([`WantedCall`]) decides that one is called, and neither likeness nor the verb alone.
const ABOUT_MEMORY: [&str; 2] = [WantedCall::REMEMBER, "forget"];

/// Whether an item that search finds speaks for a page with tools: see [`ModeQuestion::found`].
pub fn speaks_for_tools(item: &ItemId) -> bool {
    match item.kind {
        ItemKind::Tool => !ABOUT_MEMORY.contains(&&*item.name),
        ItemKind::Skill => true,
        ItemKind::Rule | ItemKind::Reference | ItemKind::Memory => false,
    }
}

/// The tool that search found, if there is hardly a doubt that it is meant.
fn find_sure_tool(found: &Pick) -> Option<ItemId> {
    let is_sure = found.scores.probability.is_some_and(|probability| probability >= SURE);
    (is_sure && found.item.kind == ItemKind::Tool).then(|| found.item.clone())
}

fn by_words(chosen: Mode, reading: words::MessageReading) -> ModeDecision {
    let reason = ModeReason::Words(reading.sign);
    ModeDecision { matched: reading.matched, ..ModeDecision::new(chosen, reason) }
}
