//! The page: an ordered list of parts, and the messages they make.
//!
//! Every byte that a model reads belongs to a part, apart from the line breaks
//! that join them. So [`render_messages`] is a fold that knows nothing of layers, modes
//! or presets: those have done their work when the parts are there, and the
//! messages can be made again from a recorded list of parts alone.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::item::{ContentSource, IncludeMode, ItemId, Priority, Scores};
use crate::layer::Layer;
use crate::memory::PinReason;
use crate::message::{
    CallId, ContentPart, Image, Message, MessageBody, MessageId, ToolCall, TurnNumber,
};
use crate::summary::SummaryBy;
use crate::text::{ContentHash, Text};
use crate::tokens::{Tokens, byte_words};

/// A piece of the page, with where it comes from and why it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The layer that it stands in.
    pub layer: Layer,
    /// The role of the message that it is in.
    pub role: ChatRole,
    /// How it follows the part before it.
    pub join: PartJoin,
    /// What Recto puts in front of the content: a heading, a stamp.
    pub lead: Text,
    /// The text or message that it shows.
    pub content: PartContent,
    /// What it costs, lead and the message's overhead included.
    pub tokens: Tokens,
    /// Where the content comes from.
    pub source: ContentSource,
    /// The item it shows, if it shows one.
    pub item: Option<ItemUse>,
    /// Why it is there.
    pub reason: PartReason,
}

impl Part {
    /// Whether only the name of its item stands there: in the list of skills, or in the one of
    /// what may fit. All of an item has its heading in front.
    pub fn is_list_entry(&self) -> bool {
        let is_line = self.item.is_some() && self.lead.is_empty();
        match (self.layer, &self.reason) {
            (_, PartReason::Possible) => true,
            (Layer::Skills, _) | (Layer::History, PartReason::KeptSince(_)) => is_line,
            _ => false,
        }
    }
}

/// The content of a part: a text, or a message of the session.
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// A text of Recto's, of a file or of an item.
    Text(Text),
    /// A message of the session.
    Message(Arc<Message>),
}

/// How a part follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartJoin {
    /// Begins a message of its own.
    NewMessage,
    /// Goes on in the same message after an empty line.
    Paragraph,
    /// Goes on in the same message on the next line.
    Line,
}

impl PartJoin {
    fn text(self) -> &'static str {
        match self {
            PartJoin::NewMessage => "",
            PartJoin::Paragraph => "\n\n",
            PartJoin::Line => "\n",
        }
    }
}

/// The item that a part shows, and how it came onto the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemUse {
    /// The identity of the item.
    #[serde(flatten)]
    pub id: ItemId,
    /// How it came in: by itself, by a person's hand, or by search. The item's own setting may
    /// be another.
    pub include: IncludeMode,
    /// Its place among others, for rules and references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// What search said, if search brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
}

/// Why a part is on the page. Records keep the names of the variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartReason {
    /// The workspace has this file.
    WorkspaceFile,
    /// The project that the agent works in has this file, and a person said yes to it.
    ProjectFile,
    /// The workspace has no such file, or it is blank or can't be read.
    DefaultForMissing(Arc<str>),
    /// Recto writes it for every turn.
    Generated,
    /// A heading for what follows.
    Heading,
    /// Its include mode is *always*.
    Always,
    /// Its include mode is *always*, and it joined an open session.
    JoinedLate,
    /// A person added it to the session.
    AddedByHand,
    /// A person named it in a message.
    Mentioned,
    /// Only its name and description: its include mode keeps the body out.
    Listed,
    /// Only its name and description: the body did not fit.
    ListedForRoom,
    /// Only its name and description: search finds that it may fit the message.
    Possible,
    /// Only its name and description: `skills.render` shows no bodies.
    ListedByRender,
    /// Only its name and description: minimal mode shows no bodies.
    ListedInMinimal,
    /// It belongs to the skill of this name, which is on the page.
    OfSkill(Arc<str>),
    /// All tools are offered in minimal mode while they are few.
    FewTools,
    /// It is in the session's snapshot of memories.
    Snapshot,
    /// It is in the session's snapshot of memories, chosen for this reason.
    Pinned(PinReason),
    /// The client sent it along with its message.
    FromClient,
    /// It is a file that came along with a message.
    Attached {
        /// How many bytes the file has.
        bytes: u64,
        /// The hash of those bytes.
        hash: ContentHash,
    },
    /// An earlier message, within the limits.
    Recent,
    /// An earlier message of the history that the client sent, within the limits.
    ClientHistory,
    /// A summary of messages that have left.
    Summary {
        /// The first of those messages.
        first: MessageId,
        /// The last of those messages.
        last: MessageId,
        /// Who made the summary.
        how: SummaryBy,
    },
    /// It came with an earlier message and stays until the next trim.
    KeptSince(TurnNumber),
    /// It was found again, and stands further up since that turn.
    StandsAbove(TurnNumber),
    /// Search found that it fits the message.
    Found,
    /// Search found it in that turn; tools stay until the next trim.
    FoundInTurn(TurnNumber),
    /// The same, where the record does not say in which turn.
    FoundEarlier,
    /// The model asked for it by name.
    AskedFor,
    /// The model asked for it in that turn; tools stay until the next trim.
    AskedForInTurn(TurnNumber),
    /// The message of this turn.
    Current,
    /// A call or result of this turn.
    Round,
    /// A result whose middle was left out to make room.
    Shortened,
}

impl PartReason {
    /// The turn since which it has been there, where that is another than this one.
    pub fn since(&self) -> Option<TurnNumber> {
        match self {
            PartReason::KeptSince(turn)
            | PartReason::StandsAbove(turn)
            | PartReason::FoundInTurn(turn)
            | PartReason::AskedForInTurn(turn) => Some(*turn),
            _ => None,
        }
    }

    /// The reason in words.
    pub fn describe(&self) -> String {
        match self {
            PartReason::WorkspaceFile => "file in the workspace".to_owned(),
            PartReason::ProjectFile => "file of the project".to_owned(),
            PartReason::DefaultForMissing(file) => {
                format!("built-in default: {file} is missing, blank or unreadable")
            }
            PartReason::Generated => "written by Recto".to_owned(),
            PartReason::Heading => "heading".to_owned(),
            PartReason::Always => "always included".to_owned(),
            PartReason::JoinedLate => {
                "always included, joined while the session was open".to_owned()
            }
            PartReason::AddedByHand => "added by hand".to_owned(),
            PartReason::Mentioned => "named in a message".to_owned(),
            PartReason::Listed => {
                "listed by name; its body comes when it fits the message".to_owned()
            }
            PartReason::ListedForRoom => "listed by name; its body did not fit".to_owned(),
            PartReason::Possible => "listed by name; search finds that it may fit".to_owned(),
            PartReason::ListedByRender => {
                "listed by name; skills.render shows no bodies".to_owned()
            }
            PartReason::ListedInMinimal => {
                "listed by name; minimal mode shows no bodies".to_owned()
            }
            PartReason::OfSkill(skill) => format!("comes with skill {skill}"),
            PartReason::FewTools => "minimal mode offers all tools while they are few".to_owned(),
            PartReason::Snapshot => "in the session's memory snapshot".to_owned(),
            PartReason::Pinned(why) => {
                format!("in the session's memory snapshot: {}", why.describe())
            }
            PartReason::FromClient => "sent along by the client".to_owned(),
            PartReason::Attached { bytes, hash } => {
                format!("sent along: {}, hash {}", byte_words(*bytes), hash.short())
            }
            PartReason::Recent => "recent message".to_owned(),
            PartReason::ClientHistory => "in the history that the client sent".to_owned(),
            PartReason::Summary { first, last, how } => {
                let by = match how {
                    SummaryBy::Extract => "by extraction",
                    SummaryBy::Summary => "by a model",
                };
                format!("summary {by} of messages {} to {}", first.0, last.0)
            }
            PartReason::KeptSince(turn) => {
                format!("kept from the session's {} until the next trim", turn_words(*turn))
            }
            PartReason::StandsAbove(turn) => {
                format!("found again; stands above since the session's {}", turn_words(*turn))
            }
            PartReason::Found => "found by search".to_owned(),
            PartReason::FoundInTurn(turn) => {
                let turn = turn_words(*turn);
                format!("found by search in the session's {turn}, offered until the next trim")
            }
            PartReason::FoundEarlier => "found by search in an earlier turn".to_owned(),
            PartReason::AskedFor => "the model asked for it".to_owned(),
            PartReason::AskedForInTurn(turn) => {
                let turn = turn_words(*turn);
                format!(
                    "the model asked for it in the session's {turn}, offered until the next trim"
                )
            }
            PartReason::Current => "the message".to_owned(),
            PartReason::Round => "this turn".to_owned(),
            PartReason::Shortened => "shortened in the middle to make room".to_owned(),
        }
    }
}

/// A turn by its place in its session, as `5th turn`: "turn 5" is one of all sessions.
fn turn_words(TurnNumber(number): TurnNumber) -> String {
    let ending = match number % 10 {
        _ if (11..=13).contains(&(number % 100)) => "th",
        1 => "st",
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    format!("{number}{ending} turn")
}

/// The speaker of a message as a model gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// Recto, on behalf of the agent's owner.
    System,
    /// The person who talks to the agent.
    User,
    /// The model that answers.
    Assistant,
    /// A tool that gives its result.
    Tool,
}

impl ChatRole {
    /// The name that wires use.
    pub fn name(self) -> &'static str {
        match self {
            ChatRole::System => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
            ChatRole::Tool => "tool",
        }
    }
}

/// A message as a model gets it, before any vendor's wire format.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// The role that speaks.
    pub role: ChatRole,
    /// Text, images and opaque parts, in order.
    pub content: Vec<ContentPiece>,
    /// The calls of an assistant message.
    pub calls: Vec<ToolCall>,
    /// The call that a tool message answers, and the tool's name.
    pub answers: Option<(CallId, Arc<str>)>,
    /// Which part each stretch of the first text comes from.
    pub spans: Vec<PartSpan>,
}

/// A piece of a rendered message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentPiece {
    /// Text, put together from one part or several.
    Text(String),
    /// Anything else, as the message had it.
    Other(ContentPart),
}

/// A stretch of a message's first text, and the part that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSpan {
    /// The index of the part on the page.
    pub part: usize,
    /// The bytes, joining line breaks included.
    pub bytes: Range<usize>,
}

/// The place of a part in the messages of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlace {
    /// The index of the message.
    pub message: usize,
    /// The bytes of the message's first text that are the part's: its lead and its text, without
    /// the line breaks that join it to the part before. Images and what else a message holds
    /// stand behind that text, in pieces of their own.
    pub bytes: Range<usize>,
}

/// Finds each of the parts in the messages that were rendered from them.
pub(crate) fn locate_parts(parts: &[Part], messages: &[ChatMessage]) -> Vec<PartPlace> {
    let mut places = Vec::with_capacity(parts.len());
    for (index, message) in messages.iter().enumerate() {
        for (at, span) in message.spans.iter().enumerate() {
            let join = match parts.get(span.part) {
                Some(part) if at > 0 => part.join.text().len(),
                _ => 0,
            };
            let bytes = span.bytes.start + join..span.bytes.end;
            places.push(PartPlace { message: index, bytes });
        }
    }
    places
}

impl Part {
    /// The hash of the content: of a text its own, of a message all its parts'.
    pub fn hash(&self) -> ContentHash {
        match &self.content {
            PartContent::Text(text) => text.hash(),
            PartContent::Message(message) => message.hash(),
        }
    }

    /// The message that it shows, if it shows one.
    pub fn message(&self) -> Option<&Message> {
        match &self.content {
            PartContent::Text(_) => None,
            PartContent::Message(message) => Some(message),
        }
    }

    /// The images that its message brought along.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.message().into_iter().flat_map(|message| message.images())
    }

    /// The content's text, the way a person would read it.
    pub fn text(&self) -> &str {
        match &self.content {
            PartContent::Text(text) => text,
            PartContent::Message(message) => {
                message.content().iter().find_map(ContentPart::as_text).map_or("", |text| text)
            }
        }
    }
}

impl ChatMessage {
    /// The message's text, its pieces run together.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(ContentPiece::as_text).collect()
    }
}

impl ContentPiece {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ContentPiece::Text(text) => Some(text),
            ContentPiece::Other(_) => None,
        }
    }
}

/// Renders the parts of a page into the messages that they make.
pub fn render_messages(parts: &[Part]) -> Vec<ChatMessage> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut rest = parts;
    while let Some(first) = rest.first() {
        let length = 1 + rest[1..].iter().take_while(|part| continues(first, part)).count();
        let (group, after) = rest.split_at(length);
        messages.push(render_message(group, parts.len() - rest.len()));
        rest = after;
    }
    messages
}

fn continues(first: &Part, part: &Part) -> bool {
    part.join != PartJoin::NewMessage && part.role == first.role
}

/// One message from its parts, which stand at `offset` on the page.
fn render_message(group: &[Part], offset: usize) -> ChatMessage {
    let mut message = ChatMessage {
        role: group[0].role,
        content: Vec::new(),
        calls: Vec::new(),
        answers: None,
        spans: Vec::with_capacity(group.len()),
    };
    let mut text = String::with_capacity(group.iter().map(text_length).sum());
    let mut others = Vec::new();
    for (index, part) in group.iter().enumerate() {
        let start = text.len();
        text.push_str(if index == 0 { "" } else { part.join.text() });
        text.push_str(&part.lead);
        match &part.content {
            PartContent::Text(content) => text.push_str(content),
            PartContent::Message(content) => {
                describe_message(&mut message, content);
                others.extend(push_leading_text(&mut text, content.content()));
            }
        }
        message.spans.push(PartSpan { part: offset + index, bytes: start..text.len() });
    }
    flush(&mut message.content, &mut text);
    message.content.extend(others.into_iter().filter_map(piece));
    message
}

fn text_length(part: &Part) -> usize {
    let content = match &part.content {
        PartContent::Text(text) => text.len(),
        PartContent::Message(message) => {
            message.content().first().and_then(ContentPart::as_text).map_or(0, |text| text.len())
        }
    };
    part.join.text().len() + part.lead.len() + content
}

/// A leading text goes on where the lead ended; everything after it stays apart.
fn push_leading_text<'a>(text: &mut String, content: &'a [ContentPart]) -> &'a [ContentPart] {
    match content {
        [ContentPart::Text(first), rest @ ..] => {
            text.push_str(first);
            rest
        }
        all => all,
    }
}

fn describe_message(message: &mut ChatMessage, content: &Message) {
    message.calls.extend_from_slice(content.calls());
    if let MessageBody::Tool { call, name, .. } = &content.body {
        message.answers = Some((call.clone(), name.clone()));
    }
}

fn flush(content: &mut Vec<ContentPiece>, text: &mut String) {
    if !text.is_empty() {
        content.push(ContentPiece::Text(std::mem::take(text)));
    }
}

/// A file is none: it is a part of the page by itself.
fn piece(part: &ContentPart) -> Option<ContentPiece> {
    match part {
        ContentPart::Text(text) => Some(ContentPiece::Text(text.to_string())),
        ContentPart::File(_) => None,
        other => Some(ContentPiece::Other(other.clone())),
    }
}
