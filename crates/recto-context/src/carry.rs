//! What one request hands to the next.
//!
//! The core keeps no state, and yet a prefix only stays put if each request
//! knows where the last one began. So that knowledge goes out of one assembly
//! as a value and comes into the next; the store keeps it with the session.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::item::{ItemId, Scores};
use crate::memory::MemorySnapshot;
use crate::message::{MessageId, TurnNumber};
use crate::tokens::Tokens;

/// The state that one request hands to the next. The default is a fresh session's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Carry {
    /// The message that the last request was for.
    pub message: Option<MessageId>,
    /// The model that it was for.
    pub made_for: Option<TargetModel>,
    /// How often something had to leave to make room.
    pub trims: u32,
    /// The first message that is still sent; everything before it has left.
    pub history_from: Option<MessageId>,
    /// What has left so far.
    pub trimmed: TrimTotals,
    /// The last message that a person took back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<MessageId>,
    /// Picks kept with messages before this one have left.
    pub picks_from: Option<MessageId>,
    /// Tools that were found and that stay offered, in the order they came.
    pub found_tools: Vec<FoundTool>,
    /// The memories that stand on the page; absent until some are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<MemorySnapshot>,
    /// Memories and skill bodies that did not fit. They stay out until the next
    /// trim, when the prefix breaks anyway.
    pub shed: BTreeSet<ItemId>,
    /// Picks and found tools of this turn that did not fit; they stay out for the
    /// rest of it.
    pub cut_picks: BTreeSet<ItemId>,
    /// Picks of this turn that would not fit if nothing else had been brought; they are out for the
    /// rest of it, and stand in the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_long: Vec<TooLongPick>,
    /// Exchanges, by their first message, that are shown without their calls and
    /// results: together with those they did not fit.
    pub condensed: BTreeSet<MessageId>,
    /// Results that are shown shortened.
    pub shortened: BTreeSet<MessageId>,
}

/// A tool that search or the model found and that stays offered until the next trim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundTool {
    /// The identity of the tool.
    #[serde(flatten)]
    pub item: ItemId,
    /// The turn in which it was found last; absent where an older version found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNumber>,
    /// What search said of it then; absent if it came with its skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
    /// Who found it.
    #[serde(default, skip_serializing_if = "FinderOfTool::is_search")]
    pub by: FinderOfTool,
}

/// A pick that takes more than all the room that picks have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TooLongPick {
    /// The identity of the item.
    #[serde(flatten)]
    pub item: ItemId,
    /// The room that there was for it.
    pub room: Tokens,
}

/// Who found a tool that stays offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinderOfTool {
    /// Search, for the message.
    #[default]
    Search,
    /// The model, which asked for it by name.
    Model,
}

impl FinderOfTool {
    fn is_search(&self) -> bool {
        *self == FinderOfTool::Search
    }
}

/// The model that a request was made for, with its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetModel {
    /// The name of the model entry.
    pub model: Arc<str>,
    /// The size of its window then.
    pub window: Tokens,
}

/// The sum of the messages that left the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrimTotals {
    /// How many messages left.
    pub messages: usize,
    /// What those messages cost together.
    pub tokens: Tokens,
}
