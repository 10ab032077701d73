//! The rows of a record, as they are written down.
//!
//! Their names are part of the form: they stay as they are. A field that may be
//! missing stands for what is most frequent, so that most rows are short.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MessageRef;
use crate::context::DropReason;
use crate::item::{ContentSource, IncludeMode, ItemId, RespelledWord, Scores};
use crate::layer::Layer;
use crate::message::{Framing, MessageStamp, SpeakerName, TurnNumber};
use crate::page::{ChatRole, ItemUse, PartJoin, PartReason};
use crate::text::{ContentHash, Text};
use crate::tokens::Tokens;

/// A text: itself, if it is short, or its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum TextRef {
    Inline(Text),
    Hash { hash: ContentHash },
}

impl TextRef {
    pub(super) fn hash(&self) -> Option<ContentHash> {
        match self {
            TextRef::Inline(_) => None,
            TextRef::Hash { hash } => Some(*hash),
        }
    }
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ContentRow {
    Text(TextRef),
    Message { message: MessageRef },
}

/// A part of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PartRow {
    pub(super) at: Layer,
    pub(super) by: ChatRole,
    pub(super) join: PartJoin,
    /// Missing when the lead is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lead: Option<TextRef>,
    pub(super) what: ContentRow,
    /// Missing when it is Recto itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<ContentSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) item: Option<ItemUse>,
    pub(super) why: PartReason,
}

impl PartRow {
    /// The texts of the row.
    pub(super) fn texts(&self) -> impl Iterator<Item = &TextRef> {
        let content = match &self.what {
            ContentRow::Text(text) => Some(text),
            ContentRow::Message { .. } => None,
        };
        self.lead.iter().chain(content)
    }
}

/// A tool that was offered. Description and parameters are in its schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolRow {
    pub(super) item: ItemUse,
    pub(super) schema: TextRef,
    /// Its own include mode, where that is not how it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) include: Option<IncludeMode>,
    /// Missing when it is Recto itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<ContentSource>,
    pub(super) why: PartReason,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DroppedRow {
    pub(super) what: String,
    /// Missing when it is no item, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) item: Option<ItemId>,
    pub(super) at: Layer,
    pub(super) why: DropReason,
}

/// Something that search looked at and did not take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CandidateRow {
    pub(super) item: ItemId,
    pub(super) scores: Scores,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chunk: Option<TextRef>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(super) put_right: Arc<[RespelledWord]>,
}

/// The message of the turn, with what surrounded it. That is kept here and not
/// taken from the stored message, which may not have it yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SentRow {
    pub(super) message: MessageRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stamp: Option<MessageStamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) speaker: Option<SpeakerName>,
    #[serde(default, skip_serializing_if = "Framing::is_plain")]
    pub(super) framing: Framing,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) picks: Vec<PickRow>,
}

/// A pick that stays with its message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PickRow {
    pub(super) item: ItemId,
    pub(super) since: TurnNumber,
    /// Missing when only a note says that it stands above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<TextRef>,
    /// Its line, where it was only listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<TextRef>,
}

/// What everything costs, in the order of the rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct RowCounts {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Tokens>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tokens>,
    /// What each cost before, and what is left of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) dropped: Vec<(Tokens, Tokens)>,
}
