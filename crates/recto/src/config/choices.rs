//! Settings that take one of a few words: which word means what.
//!
//! The types belong to the crates that act on them; only their words are here.
//! Keys of such a type take their lists from here too: a word can't be accepted
//! without a meaning, nor the other way round.

pub(super) use recto_agent::DelegationContext;
pub use recto_channels::{ChannelMode, StrangerPolicy};
use recto_context::SummaryBy;
pub use recto_context::mode::{ToolTurnContext, UncertainMode};
pub use recto_context::{
    ContextMode, IncludeMode, ItemKind, LayoutPreset, PickMessages, PickPlacement, SkillRender,
    SystemMessages, ToolCalls,
};
pub use recto_llm::Provider;
pub use recto_search::{ItemGroup, SearchPreset};
pub use recto_tools::{ApprovalMode, SandboxPolicy, ToolPermission};
pub use recto_workspace::Reload;

use super::keys::KeyKind;
use super::setting::LayerSetting;
use super::tables::SettingType;

/// A type whose values have names in the config.
pub(super) trait NamedChoice: Sized {
    /// The names that the config accepts.
    const NAMES: &'static [&'static str];

    /// The value of that name.
    fn from_name(name: &str) -> Option<Self>;
}

/// How much is written to logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say it")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// For whom logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Who makes a summary of messages that leave; nobody, where it is off.
pub type HistoryCompaction = Option<SummaryBy>;

/// Not a [`NamedChoice`]: there, "off" would be a name of the type inside.
impl SettingType for HistoryCompaction {
    const KIND: KeyKind = KeyKind::Choice(&["off", "extract", "summary"]);

    fn from_setting(setting: LayerSetting) -> Option<Self> {
        match String::from_setting(setting)?.as_str() {
            "off" => Some(None),
            "extract" => Some(Some(SummaryBy::Extract)),
            "summary" => Some(Some(SummaryBy::Summary)),
            _ => None,
        }
    }
}

/// Gives the variants of enums their names.
macro_rules! names {
    ($($name:ident { $($text:literal => $variant:ident,)+ })+) => {$(
        impl NamedChoice for $name {
            const NAMES: &'static [&'static str] = &[$($text),+];

            fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

names! {
    Reload { "turn" => Turn, "startup" => Startup, }
    LayoutPreset { "recto" => Recto, "plain" => Plain, "attached" => Attached, "layered" => Layered, }
    PickPlacement { "turn_only" => TurnOnly, "kept" => Kept, "in_layer" => InLayer, }
    SkillRender {
        "full" => Full,
        "read_on_demand" => ReadOnDemand,
        "description" => Description,
    }
    Provider {
        "ollama" => Ollama,
        "openai" => OpenAi,
        "anthropic" => Anthropic,
        "embedded" => Embedded,
        "scripted" => Scripted,
    }
    ContextMode { "full" => Full, "minimal" => Minimal, "auto" => Auto, }
    UncertainMode { "minimal" => Minimal, "full" => Full, }
    ToolTurnContext { "full" => Full, "minimal" => Minimal, }
    SystemMessages { "single" => Single, "per_layer" => PerLayer, }
    PickMessages { "merged" => Merged, "separate" => Separate, }
    ToolCalls { "native" => Native, "text" => Text, }
    ItemKind { "rule" => Rule, "reference" => Reference, "skill" => Skill, "tool" => Tool, }
    ApprovalMode { "per_tool" => PerTool, "always" => Always, "never" => Never, }
    ToolPermission { "ask" => Ask, "allow" => Allow, }
    SandboxPolicy { "best_effort" => BestEffort, "required" => Required, }
    IncludeMode { "always" => Always, "manual" => Manual, "agent" => Agent, }
    DelegationContext { "none" => None, "last_message" => LastMessage, }
    LogLevel {
        "off" => Off,
        "error" => Error,
        "warn" => Warn,
        "info" => Info,
        "debug" => Debug,
    }
    LogFormat { "text" => Text, "json" => Json, }
    StrangerPolicy { "pair" => Pair, "ignore" => Ignore, }
    ChannelMode {
        "mention_only" => MentionOnly,
        "all_messages" => AllMessages,
        "off" => Off,
    }
    SearchPreset {
        "conservative" => Conservative,
        "normal" => Normal,
        "aggressive" => Aggressive,
    }
    ItemGroup {
        "documents" => Documents,
        "skills" => Skills,
        "tools" => Tools,
        "memories" => Memories,
    }
}

/// The kind of items that a table `[items.<kind>]` is for; the plural counts too.
pub(super) fn item_kind(table: &str) -> Option<ItemKind> {
    ItemKind::from_name(table.strip_suffix('s').unwrap_or(table))
}
