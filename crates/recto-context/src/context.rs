//! The request context: all that goes into a request, why each part is there,
//! and what was left out and why.
//!
//! What was dropped is data, not an error: the command line, the web page and
//! the tests all read the same list.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, OverBudget, Window};
use crate::carry::Carry;
use crate::catalog::{FileNotice, OffReason, ToolSpec};
use crate::counter::CountKind;
use crate::description::ItemDescription;
use crate::item::{IncludeMode, ItemId, Pick};
use crate::layer::Layer;
use crate::layout::ToolCalls;
use crate::message::Message;
use crate::mode::ModeDecision;
use crate::page::{ChatMessage, ItemUse, Part, PartPlace, PartReason, locate_parts};
use crate::standing::AlikeItem;
use crate::tokens::Tokens;

/// All that goes into a request, and what was left out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestContext {
    /// The model entry that it was made for.
    pub model: Arc<str>,
    /// The day on which the session began, for chat templates that tell it.
    pub day: Arc<str>,
    /// Minimal or full, and why.
    pub mode: ModeDecision,
    /// The model's window, and where its size is known from.
    pub window: Window,
    /// How the window is shared out.
    pub budget: Budget,
    /// Whether counts are exact or estimates.
    pub counted: CountKind,
    /// The page, part by part, in the order in which the model reads it.
    pub parts: Vec<Part>,
    /// The same as messages.
    pub messages: Vec<ChatMessage>,
    /// The tools offered, in a fixed order.
    pub tools: Vec<OfferedTool>,
    /// Whether the tools are sent as schemas or stand on the page as text.
    pub tool_calls: ToolCalls,
    /// Whether the model must call one of them.
    pub tool_choice: ToolChoice,
    /// What was left out, and why.
    pub dropped: Vec<DroppedEntry>,
    /// What the agent has and the session has not, with its include mode.
    pub available: Vec<(ItemId, IncludeMode)>,
    /// What a person took out of the session: search does not bring it back.
    pub removed: Vec<ItemId>,
    /// What search took for the message, best first, whatever became of it.
    pub found: Vec<Pick>,
    /// What search looked at and did not take.
    pub candidates: Vec<Pick>,
    /// What search left, because it says what a better one says.
    pub alike: Vec<AlikeItem>,
    /// What the items on the page and those that search ranked say of themselves.
    pub descriptions: Vec<ItemDescription>,
    /// Files that could not be used.
    pub notices: Vec<FileNotice>,
    /// What the next request needs to know of this one.
    pub carry: Carry,
    /// The message as it was sent, to be stored with the session.
    pub sent: Arc<Message>,
}

impl RequestContext {
    /// What a layer costs. The schemas of the offered tools count to Tools.
    pub fn layer_tokens(&self, layer: Layer) -> Tokens {
        let parts: Tokens = self.layer(layer).map(|part| part.tokens).sum();
        match layer {
            Layer::Tools => parts + self.budget.tools,
            _ => parts,
        }
    }

    /// The parts of a layer, in order.
    pub fn layer(&self, layer: Layer) -> impl DoubleEndedIterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.layer == layer)
    }

    /// Where each part stands in the messages, in the order of the parts.
    pub fn part_places(&self) -> Vec<PartPlace> {
        locate_parts(&self.parts, &self.messages)
    }

    /// The page as one that does not fit: for whoever counts it as a whole, and
    /// finds it to be more than its parts.
    pub fn over_budget(&self) -> OverBudget {
        let layers = Layer::ALL.iter().map(|layer| (*layer, self.layer_tokens(*layer)));
        let files = attached_files(&self.parts);
        OverBudget { budget: self.budget, layers: layers.collect(), files }
    }

    /// What the prompt costs: messages and tool schemas.
    pub fn prompt_tokens(&self) -> Tokens {
        self.budget.used + self.budget.tools
    }
}

/// What each file costs that came along with the message.
pub(crate) fn attached_files(parts: &[Part]) -> Vec<(String, Tokens)> {
    let of_message = parts.iter().filter(|part| part.layer == Layer::Message);
    let files = of_message.filter(|part| matches!(part.reason, PartReason::Attached { .. }));
    files.map(|part| (part.name(), part.tokens)).collect()
}

/// A tool that is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The declaration of the tool.
    pub spec: ToolSpec,
    /// The item that it is, and how it came in.
    pub item: ItemUse,
    /// What its schema costs; for the first tool also what templates say about tools at all.
    pub tokens: Tokens,
    /// Why it is offered.
    pub reason: PartReason,
}

/// What a wire can demand of a reply, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallDemand {
    /// Nothing: the model may always answer in words.
    Nothing,
    /// A call, of whichever tool.
    AnyTool,
    /// A call of one tool.
    NamedTool,
}

/// Whether the model must call a tool, as the wire carries it: what is told of a request is what
/// the model was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model may call a tool or answer.
    Auto,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool, by the name that models call it by.
    Named(Arc<str>),
}

impl ToolChoice {
    /// What is left of the choice on a wire that can demand this much.
    pub(crate) fn within(self, demand: CallDemand) -> Self {
        match (self, demand) {
            (_, CallDemand::Nothing) => ToolChoice::Auto,
            (ToolChoice::Named(_), CallDemand::AnyTool) => ToolChoice::Required,
            (choice, _) => choice,
        }
    }

    /// What the model has to call, in words; nothing where it may answer without.
    pub fn describe(&self) -> Option<String> {
        match self {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("one of the tools has to be called".to_owned()),
            ToolChoice::Named(tool) => Some(format!("`{tool}` has to be called, and no other")),
        }
    }
}

/// An entry of the list of what was left out or shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedEntry {
    /// What it was, for people: `rule tone`, `12 messages`.
    pub what: String,
    /// The item that was left out, or whose body was, where it is one.
    pub item: Option<ItemId>,
    /// Where it would have stood.
    pub layer: Layer,
    /// What it cost before.
    pub before: Tokens,
    /// What is left of it on the page.
    pub after: Tokens,
    /// Why it was left out.
    pub reason: DropReason,
}

impl DroppedEntry {
    /// Makes an entry for something that is wholly gone, and is no item.
    pub fn whole(what: String, layer: Layer, tokens: Tokens, reason: DropReason) -> Self {
        DroppedEntry { what, item: None, layer, before: tokens, after: Tokens::ZERO, reason }
    }

    /// Makes an entry for an item that is wholly gone.
    pub fn item(item: &ItemId, layer: Layer, tokens: Tokens, reason: DropReason) -> Self {
        let entry = DroppedEntry::whole(item.to_string(), layer, tokens, reason);
        DroppedEntry { item: Some(item.clone()), ..entry }
    }

    /// The tokens that were saved by it.
    pub fn tokens(&self) -> Tokens {
        self.before - self.after
    }
}

/// Why something was left out. Records keep the names of the variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// More messages than `history.max_messages`.
    HistoryMessages {
        /// The value of `history.max_messages`.
        limit: usize,
    },
    /// More tokens than `history.max_tokens`.
    HistoryTokens {
        /// The value of `history.max_tokens`.
        limit: Tokens,
    },
    /// It left in an earlier turn.
    TrimmedEarlier,
    /// A person took it back.
    TakenBack,
    /// There was no room in the window.
    NoRoom,
    /// By itself it takes more than the room that there was for what search brings.
    TooLong {
        /// What it takes.
        tokens: Tokens,
        /// What there was for it.
        room: Tokens,
    },
    /// There was no room for all tools of an MCP server, and others fit better.
    ServerTools {
        /// The name of the server.
        server: Arc<str>,
    },
    /// The list of what may fit has as many items as it may have, and they come before it.
    ListLines {
        /// The most items that the list may have.
        limit: usize,
    },
    /// The list of what may fit has no room for it.
    ListTokens {
        /// The most tokens that the list may take.
        limit: Tokens,
    },
    /// More than the memory snapshot may hold.
    MemoryLimit,
    /// The session's memory snapshot was made without it.
    NotInSnapshot,
    /// The mode of the turn leaves it out.
    Mode,
    /// The preset has no place for it.
    Preset(Arc<str>),
    /// The session has it, but it is gone from the workspace.
    Vanished,
    /// It is switched off.
    Off(OffReason),
    /// Another tool of this name is offered.
    NameTaken,
    /// A result whose call is not in the history.
    ResultWithoutCall,
    /// A call whose result is not in the history.
    CallWithoutResult,
    /// The result stands shortened on the page.
    Shortened,
    /// An image for a model that looks at none: a line of text stands in its place.
    ImageAsText,
    /// It is the owner's, and the turn is somebody else's.
    Withheld,
}

impl DropReason {
    /// Whether an item is not listed by name because the list itself is full: search has left it
    /// before, and nothing is missing from the page that was meant to stand there in full.
    pub fn is_full_list(&self) -> bool {
        matches!(self, DropReason::ListLines { .. } | DropReason::ListTokens { .. })
    }

    /// The reason in words.
    pub fn describe(&self) -> String {
        match self {
            DropReason::HistoryMessages { limit } => {
                format!("more than history.max_messages = {limit}, so cut to 75% of it")
            }
            DropReason::HistoryTokens { limit } => {
                format!("more than history.max_tokens = {}, so cut to 75% of it", limit.get())
            }
            DropReason::TrimmedEarlier => "trimmed in an earlier turn".to_owned(),
            DropReason::TakenBack => "taken back".to_owned(),
            DropReason::NoRoom => "no room in the window".to_owned(),
            DropReason::TooLong { tokens, room } => {
                format!("it takes {tokens} tokens, and the window had {room} for it")
            }
            DropReason::ServerTools { server } => {
                format!("no room in the window for all tools of MCP server `{server}`")
            }
            DropReason::ListLines { limit: 1 } => {
                "the list of what may fit has room for 1 item, and another comes first".to_owned()
            }
            DropReason::ListLines { limit } => {
                format!(
                    "the list of what may fit has room for {limit} items, and others come first"
                )
            }
            DropReason::ListTokens { limit } => {
                format!("the list of what may fit has room for {} tokens", limit.get())
            }
            DropReason::MemoryLimit => "more than the memory snapshot may hold".to_owned(),
            DropReason::NotInSnapshot => "not in the session's memory snapshot".to_owned(),
            DropReason::Mode => "left out in this mode".to_owned(),
            DropReason::Preset(name) => format!("preset `{name}` has no place for it"),
            DropReason::Vanished => "in the session, but gone from the workspace".to_owned(),
            DropReason::Off(why) => why.describe().to_owned(),
            DropReason::NameTaken => "another tool of this name is offered".to_owned(),
            DropReason::ResultWithoutCall => "its call is not in the history".to_owned(),
            DropReason::CallWithoutResult => "its result is not in the history".to_owned(),
            DropReason::Shortened => "shortened in the middle to make room".to_owned(),
            DropReason::Withheld => "only for what the owner asks for".to_owned(),
            DropReason::ImageAsText => {
                "the model takes no images; a line of text stands in place".to_owned()
            }
        }
    }
}
