//! How the page is laid out: presets, and the settings that a model can change.
//!
//! Layers never change their order. A preset decides what it shows of them, and
//! which layer an item is placed in; see [`LayoutPreset`].

use serde::{Deserialize, Serialize};

/// A named form of the page, from which a layout starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutPreset {
    /// Everything that Recto has to offer.
    #[default]
    Recto,
    /// AGENTS.md and skills in merged order; nothing that isn't in a file.
    Plain,
    /// Rules and references as user messages behind the history.
    Attached,
    /// Seven layers, a system message each, picks in their layers, a clock in front of them:
    /// each minute in which something is said costs the whole prompt once more.
    Layered,
}

impl LayoutPreset {
    /// The name that the config uses.
    pub fn name(self) -> &'static str {
        match self {
            LayoutPreset::Recto => "recto",
            LayoutPreset::Plain => "plain",
            LayoutPreset::Attached => "attached",
            LayoutPreset::Layered => "layered",
        }
    }

    /// The layout that the preset starts from.
    pub fn layout(self) -> PageLayout {
        let recto = PageLayout {
            preset: self,
            system_messages: SystemMessages::Single,
            pick_messages: PickMessages::Merged,
            picks: PickPlacement::TurnOnly,
            skills: SkillRender::Full,
            tool_calls: ToolCalls::Native,
            images: ImageRender::Native,
        };
        match self {
            LayoutPreset::Recto | LayoutPreset::Plain => recto,
            LayoutPreset::Attached => PageLayout { pick_messages: PickMessages::Separate, ..recto },
            LayoutPreset::Layered => PageLayout {
                system_messages: SystemMessages::PerLayer,
                picks: PickPlacement::InLayer,
                skills: SkillRender::Description,
                ..recto
            },
        }
    }

    /// Whether built-in texts stand in for missing SOUL.md and AGENTS.md.
    pub(crate) fn has_defaults(self) -> bool {
        matches!(self, LayoutPreset::Recto | LayoutPreset::Layered)
    }

    /// Whether the page says where the agent runs.
    pub(crate) fn has_bootstrap(self) -> bool {
        matches!(self, LayoutPreset::Recto | LayoutPreset::Layered)
    }

    /// Whether the page says what time it is, instead of the messages.
    pub(crate) fn has_clock(self) -> bool {
        self == LayoutPreset::Layered
    }

    /// Whether messages are stamped with their time.
    pub fn has_stamps(self) -> bool {
        self == LayoutPreset::Recto
    }

    /// Whether only AGENTS.md and skills are shown.
    pub(crate) fn is_plain(self) -> bool {
        self == LayoutPreset::Plain
    }

    /// Whether the session's rules and references stand behind the history.
    pub(crate) fn attaches_items(self) -> bool {
        self == LayoutPreset::Attached
    }
}

/// A preset with the settings of a model applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLayout {
    /// The form it starts from.
    pub preset: LayoutPreset,
    /// One system message, or one a layer.
    pub system_messages: SystemMessages,
    /// Picks in front of the message, or in a message of their own.
    pub pick_messages: PickMessages,
    /// Where picks stand, and how long they stay.
    pub picks: PickPlacement,
    /// How skills are shown.
    pub skills: SkillRender,
    /// Whether the model's server takes tools natively.
    pub tool_calls: ToolCalls,
    /// Whether the model looks at images.
    pub images: ImageRender,
}

impl Default for PageLayout {
    fn default() -> Self {
        LayoutPreset::default().layout()
    }
}

impl PageLayout {
    /// Whether skills that come when they fit are named within a budget, and can be read by
    /// name. Other layouts list every skill.
    pub(crate) fn budgets_skill_list(&self) -> bool {
        self.preset == LayoutPreset::Recto && self.skills != SkillRender::Description
    }

    /// Whether items that may fit are listed by name, for the model to load: where it can call
    /// tools, and where no other system's form is promised.
    pub(crate) fn lists_possible(&self) -> bool {
        self.preset == LayoutPreset::Recto
            && self.picks != PickPlacement::InLayer
            && self.tool_calls == ToolCalls::Native
    }
}

/// How many system messages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemMessages {
    /// One: many chat templates refuse a second.
    Single,
    /// A system message for each layer.
    PerLayer,
}

/// How picks are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PickMessages {
    /// In front of the message, in the same user message.
    Merged,
    /// In user messages of their own.
    Separate,
}

/// Where picks stand, and how long they stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PickPlacement {
    /// Behind the history, for this turn.
    TurnOnly,
    /// Behind the history, and then in front of their message until the next trim.
    Kept,
    /// In the layers of their kinds.
    InLayer,
}

/// How skills are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillRender {
    /// In full, with their bodies.
    Full,
    /// As a list, with a tool that reads one.
    ReadOnDemand,
    /// As a list of names and descriptions alone.
    Description,
    /// Not at all: they are there for their tools.
    Hidden,
}

/// How images of earlier messages reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageRender {
    /// As images.
    Native,
    /// As a line of text that names each: the model looks at none.
    Text,
}

/// How tools reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// As schemas in the request.
    Native,
    /// As text on the page: the server knows no tools.
    Text,
}
