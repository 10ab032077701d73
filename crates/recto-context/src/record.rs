//! The record of a request: every part's place and reason, the texts taken out.
//!
//! A session's requests repeat each other for the most part. So a record names
//! texts and messages by their hashes, and a store keeps each of them once. The
//! record itself is made to resemble the one before it: rows that stay the same
//! while the part does, with the token counts in lists of their own, because a
//! calibration moves them all at once.
//!
//! [`ContextRecord::restore`] makes the same request from a record and the contents it
//! names. It never looks at a workspace, a catalog or a setting of today, and
//! every content is held against its hash: what was changed since is an error.
//!
//! Not here: where records are kept, and the body that went over the wire.

mod json_lines;
mod outline;
mod restore;
mod rows;
mod write;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::budget::{Budget, Window};
use crate::carry::Carry;
use crate::catalog::FileNotice;
use crate::context::ToolChoice;
use crate::counter::CountKind;
use crate::item::{IncludeMode, ItemId};
use crate::layout::ToolCalls;
use crate::message::{Message, MessageId};
use crate::mode::ModeDecision;
use crate::standing::AlikeItem;
use crate::text::{ContentHash, Text};

pub use outline::RecordOutline;
use rows::{CandidateRow, ContentRow, DroppedRow, PartRow, RowCounts, SentRow, TextRef, ToolRow};

/// The form of today's records. A change that older versions could not read, or
/// that could not be read from older records, needs the next number and a reader
/// for this one.
const VERSION: u32 = 1;

/// About how many bytes a row takes, and how many rows all that is not in rows.
const TYPICAL_ROW: usize = 160;
const TYPICAL_REST: usize = 16;

/// What is kept of a request: every part's place and reason, the texts only by hash.
///
/// It is written by [`ContextRecord::to_json`] and read by [`ContextRecord::from_json`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    version: u32,
    model: Arc<str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    day: Arc<str>,
    tool_calls: ToolCalls,
    // What stays from turn to turn stands in front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notices: Vec<FileNotice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    available: Vec<(ItemId, IncludeMode)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<ItemId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolRow>,
    parts: Vec<PartRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<DroppedRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<CandidateRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<CandidateRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alike: Vec<AlikeItem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    descriptions: Vec<(ItemId, TextRef)>,
    mode: ModeDecision,
    tool_choice: ToolChoice,
    sent: SentRow,
    carry: Carry,
    window: Window,
    counted: CountKind,
    budget: Budget,
    tokens: RowCounts,
}

/// A record, together with all texts and messages that it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordBundle {
    /// The record itself, without texts.
    pub record: ContextRecord,
    /// The texts that it refers to, each once.
    pub texts: Vec<Text>,
    /// The messages that it refers to, each once. One that stands on the page as
    /// the session has it has the hash of the session's message; one that was
    /// shortened, or whose calls are written out, has a hash of its own.
    pub messages: Vec<Arc<Message>>,
}

/// A reference to a message in one of its forms, by number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(MessageId, MessageHash)", into = "(MessageId, MessageHash)")]
pub struct MessageRef {
    /// The number of the message.
    pub id: MessageId,
    /// What it says.
    pub hash: MessageHash,
}

impl MessageRef {
    /// The reference to `message`.
    pub fn to_message(message: &Message) -> Self {
        MessageRef { id: message.id, hash: MessageHash::from_hash(message.hash()) }
    }
}

impl From<(MessageId, MessageHash)> for MessageRef {
    fn from((id, hash): (MessageId, MessageHash)) -> Self {
        MessageRef { id, hash }
    }
}

impl From<MessageRef> for (MessageId, MessageHash) {
    fn from(reference: MessageRef) -> Self {
        (reference.id, reference.hash)
    }
}

/// Half of a message's hash ([`Message::hash`]), which is plenty to tell what was said apart: digits of
/// hashes are most of what a record of short messages costs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageHash([u8; 16]);

impl MessageHash {
    /// The half that is kept of a whole hash.
    pub fn from_hash(hash: ContentHash) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        MessageHash(half)
    }
}

impl fmt::Display for MessageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Records name every message by its hash: digit by digit, formatting took longer than
        // hashing.
        let mut whole = [0; 32];
        whole[..16].copy_from_slice(&self.0);
        f.write_str(&blake3::Hash::from_bytes(whole).to_hex()[..32])
    }
}

impl fmt::Debug for MessageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for MessageHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        // Records of before have all of the hash.
        let half = digits.get(..32).filter(|_| matches!(digits.len(), 32 | 64));
        let number = half.and_then(|half| u128::from_str_radix(half, 16).ok());
        let wrong = || serde::de::Error::custom("the hash of a message is 32 hexadecimal digits");
        number.map(|number| MessageHash(number.to_be_bytes())).ok_or_else(wrong)
    }
}

/// What a record refers to, as it was found: under the hash that the record
/// names, whether it still has that hash or not.
#[derive(Debug, Clone, Default)]
pub struct RecordContents {
    /// Texts, by the hash that the record names.
    pub texts: HashMap<ContentHash, Text>,
    /// Messages. Their stamps, framing and kept picks don't matter.
    pub messages: HashMap<MessageRef, Arc<Message>>,
}

/// A reference of a record to a text or a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentRef {
    /// A text, by its hash.
    Text(ContentHash),
    /// A message, by number and hash.
    Message(MessageRef),
}

impl fmt::Display for ContentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentRef::Text(hash) => write!(f, "text {hash}"),
            ContentRef::Message(MessageRef { id, hash }) => write!(f, "message {} ({hash})", id.0),
        }
    }
}

/// The reason why a record does not give its request back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Another version of Recto wrote it, in a form that this one does not know.
    #[error("the record has form {found}; this version of Recto reads form {VERSION}")]
    Version {
        /// The form that the record has.
        found: u32,
    },
    /// It is no record, or damaged.
    #[error("the record can't be read: {problem}")]
    Unreadable {
        /// What is wrong with it.
        problem: String,
    },
    /// Something that it refers to is not there.
    #[error("{what} is missing")]
    Missing {
        /// The text or message that is missing.
        what: ContentRef,
    },
    /// Something that it refers to is not what it was.
    #[error("{expected} was changed: it is {found} now")]
    Changed {
        /// What the record refers to.
        expected: ContentRef,
        /// What is there instead.
        found: ContentRef,
    },
}

impl ContextRecord {
    /// The record as JSON with a line for each row, so that a store can keep it as its difference
    /// from the one before, line by line.
    pub fn to_json(&self) -> String {
        let rows = self.parts.len() + self.tools.len() + self.available.len();
        json_lines::to_lines(self, (rows + TYPICAL_REST) * TYPICAL_ROW)
    }

    /// Reads a record. Its form is looked at first, so that one of another form is told from one
    /// that is damaged.
    pub fn from_json(json: &[u8]) -> Result<Self, RestoreError> {
        #[derive(Deserialize)]
        struct RecordVersion {
            version: u32,
        }
        let RecordVersion { version } = serde_json::from_slice(json).map_err(unreadable)?;
        check_version(version)?;
        serde_json::from_slice(json).map_err(unreadable)
    }

    /// The texts that it refers to.
    pub fn text_hashes(&self) -> BTreeSet<ContentHash> {
        let parts = self.parts.iter().flat_map(PartRow::texts);
        let schemas = self.tools.iter().map(|tool| &tool.schema);
        let ranked = self.found.iter().chain(&self.candidates);
        let chunks = ranked.filter_map(|candidate| candidate.chunk.as_ref());
        let picks = self.sent.picks.iter().flat_map(|pick| pick.text.iter().chain(&pick.line));
        let described = self.descriptions.iter().map(|(_, text)| text);
        let texts = parts.chain(schemas).chain(chunks).chain(picks).chain(described);
        texts.filter_map(TextRef::hash).collect()
    }

    /// The messages that it refers to.
    pub fn message_refs(&self) -> BTreeSet<MessageRef> {
        let message = |row: &PartRow| match row.what {
            ContentRow::Message { message } => Some(message),
            ContentRow::Text(_) => None,
        };
        self.parts.iter().filter_map(message).chain([self.sent.message]).collect()
    }
}

fn check_version(found: u32) -> Result<(), RestoreError> {
    if found == VERSION { Ok(()) } else { Err(RestoreError::Version { found }) }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: serde_json::Error) -> RestoreError {
    RestoreError::Unreadable { problem: error.to_string() }
}
