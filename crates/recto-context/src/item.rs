//! Items: what can be put on the page, how it came there, and with what scores.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::earlier_use::EarlierUse;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A short instruction that holds where it is included.
    Rule,
    /// A document to look things up in.
    Reference,
    /// A capability: a folder with a SKILL.md and perhaps tools.
    Skill,
    /// Something the model can call.
    Tool,
    /// Something that was remembered.
    Memory,
}

impl ItemKind {
    /// All kinds, in their order.
    pub const ALL: [ItemKind; 5] =
        [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool, ItemKind::Memory];

    /// The name that people, records and the config use.
    pub fn name(self) -> &'static str {
        match self {
            ItemKind::Rule => "rule",
            ItemKind::Reference => "reference",
            ItemKind::Skill => "skill",
            ItemKind::Tool => "tool",
            ItemKind::Memory => "memory",
        }
    }

    /// Whether search counts items of the two kinds together.
    pub(crate) fn is_ranked_with(self, other: ItemKind) -> bool {
        let is_document = |kind| matches!(kind, ItemKind::Rule | ItemKind::Reference);
        self == other || (is_document(self) && is_document(other))
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An item's identity. Sessions store these, never copies of items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemId {
    /// The kind of the item.
    pub kind: ItemKind,
    /// Its name, unique within the kind (and the server).
    pub name: Arc<str>,
    /// The MCP server or skill that a tool comes from; `client` for a client's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Arc<str>>,
}

impl ItemId {
    /// The identity of an item that no server brings.
    pub fn new(kind: ItemKind, name: impl Into<Arc<str>>) -> Self {
        ItemId { kind, name: name.into(), server: None }
    }

    /// The identity of a tool, with the skill or MCP server it comes from.
    pub fn tool(server: Option<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        ItemId { kind: ItemKind::Tool, name: name.into(), server }
    }

    /// The name that people and the config use: that of a tool with what brings it.
    pub fn key(&self) -> String {
        match &self.server {
            Some(server) => format!("{server}.{}", self.name),
            None => self.name.to_string(),
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key())
    }
}

/// The include mode of an item: when it is on the page. The one that brings it soonest is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncludeMode {
    /// Joins every session by itself.
    Always,
    /// Comes for one turn when search finds that it fits.
    Agent,
    /// Joins a session when a person adds it.
    Manual,
}

impl IncludeMode {
    /// The name that frontmatter, records and the config use.
    pub fn name(self) -> &'static str {
        match self {
            IncludeMode::Always => "always",
            IncludeMode::Manual => "manual",
            IncludeMode::Agent => "agent",
        }
    }
}

impl fmt::Display for IncludeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The place of an item among others of its kind: 0 comes first, 999 last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Priority(u16);

impl Priority {
    /// The priority that comes last.
    pub const LAST: Priority = Priority(999);

    /// Makes a priority; `None` when `value` is over 999.
    pub fn new(value: u16) -> Option<Self> {
        (value <= Self::LAST.0).then_some(Priority(value))
    }

    /// The number, 0 to 999.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for Priority {
    type Error = &'static str;

    fn try_from(value: u16) -> Result<Self, Self::Error> {
        Priority::new(value).ok_or("a priority is at most 999")
    }
}

impl From<Priority> for u16 {
    fn from(priority: Priority) -> u16 {
        priority.get()
    }
}

impl Default for Priority {
    fn default() -> Self {
        Priority(500)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03}", self.0)
    }
}

/// The origin of a text: a file, Recto, the session, a server or a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentSource {
    /// A file of the workspace or of Recto's home.
    File(Arc<Path>),
    /// Recto itself: defaults, headings, generated docs.
    BuiltIn,
    /// The conversation of the session.
    Session,
    /// An MCP server, by its name.
    Server(Arc<str>),
    /// The client that sent the message.
    Client,
    /// A file that came along with a message, or what was piped in, under its name.
    Attachment(Arc<str>),
}

impl ContentSource {
    /// The source for a file at this path.
    pub fn file(path: impl AsRef<Path>) -> Self {
        ContentSource::File(Arc::from(path.as_ref()))
    }

    /// The name without what leads to it: of a file its last part.
    pub fn name(&self) -> String {
        match self {
            ContentSource::File(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ContentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentSource::File(path) => write!(f, "{}", path.display()),
            ContentSource::BuiltIn => f.write_str("built-in"),
            ContentSource::Session => f.write_str("session"),
            ContentSource::Server(name) => write!(f, "server {name}"),
            ContentSource::Client => f.write_str("client"),
            ContentSource::Attachment(name) => f.write_str(name),
        }
    }
}

/// Writes a score as the shortest decimal that it is, and not with the digits that it has as a
/// wider number: 0.4 stays 0.4.
fn shortest<S: Serializer>(score: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    let short = |score: f32| {
        let written: Option<f64> = score.to_string().parse().ok();
        written.filter(|wide| *wide as f32 == score).unwrap_or(f64::from(score))
    };
    score.map(short).serialize(serializer)
}

/// How well search found that an item fits the message. What was not measured
/// is absent; no score is ever made up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Scores {
    /// Cosine similarity of the embeddings.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub cosine: Option<f32>,
    /// BM25 over stemmed words.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub lexical: Option<f32>,
    /// Both, standardised over the candidates and added.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub fused: Option<f32>,
    /// The calibrated probability that the item fits.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub probability: Option<f32>,
    /// What a memory's age leaves of its probability where memories are put in order; the
    /// probability itself does not have it in it.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub recency: Option<f32>,
    /// The place among the candidates, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The least probability with which it would have been taken, where it has less.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "shortest")]
    pub floor: Option<f32>,
    /// Whether the message was searched for together with one before, because it can't stand by
    /// itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_before: bool,
    /// Where that one stands among what the same person said before, where it is not the last
    /// message: 2 is the one before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_place: Option<u32>,
    /// Whether it was searched for with misspelt words put right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub respelled: bool,
    /// That the person used it before in messages like this one; the probability has it in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_use: Option<EarlierUse>,
}

impl Scores {
    /// How the message was searched for, where not as it is, in words.
    pub fn describe_query(&self) -> Option<String> {
        let before = match self.before_place {
            _ if !self.with_before => None,
            None => Some("with the message before".to_owned()),
            Some(place) => Some(format!("with the message {place} before")),
        };
        let respelled = self.respelled.then(|| "with misspelt words put right".to_owned());
        match (before, respelled) {
            (Some(before), Some(respelled)) => Some(format!("{before}, and {respelled}")),
            (before, respelled) => before.or(respelled),
        }
    }

    /// What the person's own record says for the item, in words.
    pub fn describe_use(&self) -> Option<String> {
        self.earlier_use.map(|earlier| earlier.describe())
    }
}

/// An item that search brought for this message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// The item that was brought.
    pub item: ItemId,
    /// How well search found that it fits.
    pub scores: Scores,
    /// The piece of its text that fitted best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_chunk: Option<Arc<str>>,
    /// Which words of the message were put right for it.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub put_right: Arc<[RespelledWord]>,
}

/// A misspelt word of a message, and what it was read as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RespelledWord {
    /// The word as it was typed.
    pub typed: Arc<str>,
    /// The word of an item that it was searched for as.
    pub read: Arc<str>,
}

impl RespelledWord {
    /// Both in words: `"Spian" as "Spain"`.
    pub fn describe(&self) -> String {
        format!("\"{}\" as \"{}\"", self.typed, self.read)
    }
}

impl Pick {
    /// An item that was found, without the piece of its text.
    pub fn new(item: ItemId, scores: Scores) -> Pick {
        Pick { item, scores, best_chunk: None, put_right: Arc::default() }
    }

    /// How the message was searched for, where not as it is, in words.
    pub fn describe_query(&self) -> Option<String> {
        let query = self.scores.describe_query()?;
        let words = self.put_right.iter().map(RespelledWord::describe).collect::<Vec<_>>();
        Some(if words.is_empty() { query } else { format!("{query} ({})", words.join(", ")) })
    }

    /// Why search did not take it, in words.
    pub fn describe_refusal(&self) -> String {
        match (self.scores.probability, self.scores.floor) {
            (Some(probability), Some(floor)) => {
                // Enough digits to see that it is so.
                let is_near = format!("{probability:.2}") == format!("{floor:.2}");
                let digits = if is_near { 4 } else { 2 };
                format!("probability {probability:.digits$} is below the floor of {floor:.2}")
            }
            (_, None) => "others fit better".to_owned(),
            (None, Some(floor)) => format!("below the floor of {floor:.2}"),
        }
    }
}

/// An item of the session context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionItem {
    /// The item that the session has.
    pub item: ItemId,
    /// How it came in.
    pub joined: ItemOrigin,
}

/// How an item came into the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOrigin {
    /// Its include mode is *always*, and it was there when the session began.
    AtStart,
    /// Its include mode is *always*, and it appeared while the session was open.
    Late,
    /// A person added it.
    ByHand,
    /// A person named it in a message, as in `@rule:name`.
    Mentioned,
}

impl ItemOrigin {
    /// The include mode that a record shows for it.
    pub fn include(self) -> IncludeMode {
        match self {
            ItemOrigin::AtStart | ItemOrigin::Late => IncludeMode::Always,
            ItemOrigin::ByHand | ItemOrigin::Mentioned => IncludeMode::Manual,
        }
    }

    /// Whether a person brought it, and not its include mode.
    pub fn is_manual(self) -> bool {
        self.include() == IncludeMode::Manual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_written_short_and_read_back_as_they_were() {
        let written = serde_json::json!(Scores { floor: Some(0.4), ..Scores::default() });
        assert_eq!(written.to_string(), r#"{"floor":0.4}"#);
        for step in 0..10_000u16 {
            let probability = Some(f32::from(step) / 9_999.0);
            let scores = Scores { probability, ..Scores::default() };
            let read = serde_json::from_value(serde_json::json!(scores)).ok();
            assert_eq!(read, Some(scores));
        }
    }
}
