//! Messages: what was said, by whom, and as it was sent.
//!
//! A message's content is a list of parts, because models see images and some
//! providers want opaque parts back verbatim (signed reasoning). A stored
//! message also keeps what surrounded it when it was sent (its stamp, the mode
//! of its turn, picks that stay with it): a later request repeats those bytes,
//! so that the prompt's prefix agrees with the one before.

mod attached;
mod hash;
mod json;
mod markdown;
mod overheard;
mod speaker;
mod stamp;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::item::ItemId;
use crate::layer::Layer;
use crate::text::Text;
use crate::tokens::TextProfile;

pub use attached::AttachedFile;
pub use json::{HistoryProblem, read_jsonl};
pub(crate) use json::{call_json, part_json};
pub use markdown::{
    MarkdownHeader, MarkdownMessage, MarkdownRetraction, MarkdownSession, TimedMessage,
    from_markdown, more_markdown, to_markdown,
};
pub use overheard::{add_overheard, sender_words};
pub use speaker::SpeakerName;
pub use stamp::{LeadingStamp, MessageStamp};

/// A message's number. It grows within a session.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageId(pub u64);

/// The number of a turn within its session, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnNumber(pub u32);

impl fmt::Display for TurnNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its number within the session.
    pub id: MessageId,
    /// Who said it, and what was said.
    pub body: MessageBody,
}

/// The body of a message, by who said it. The last two kinds are for people; models never see them.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageBody {
    /// A message that a person wrote.
    User(UserMessage),
    /// A model's reply, with the calls it asks for.
    Assistant {
        /// The parts of what it said.
        content: Vec<ContentPart>,
        /// The calls that it wants run.
        calls: Vec<ToolCall>,
    },
    /// The result of one call.
    Tool {
        /// The call that it answers.
        call: CallId,
        /// The tool's name, for wires that match by name.
        name: Arc<str>,
        /// The parts of what came back.
        content: Vec<ContentPart>,
    },
    /// A turn that failed, as told to the person.
    Error(Text),
    /// A question whether a tool may run, with its answer.
    Approval(Text),
}

/// A person's message, with what surrounded it when it was sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserMessage {
    /// What the person wrote, byte for byte.
    pub content: Vec<ContentPart>,
    /// Date and time in front of it. Stored with the message and never changed.
    pub stamp: Option<MessageStamp>,
    /// Who wrote it, where several people talk: as they were called then.
    pub speaker: Option<SpeakerName>,
    /// Whether it was sent behind the instruction to call tools.
    pub framing: Framing,
    /// Picks that stay in front of it (`context.picks = "kept"`).
    pub picks: Vec<KeptPick>,
}

impl UserMessage {
    /// A text with nothing around it.
    pub(crate) fn text(text: impl Into<Text>) -> Self {
        UserMessage { content: vec![ContentPart::Text(text.into())], ..UserMessage::default() }
    }
}

/// How a user message was put to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// As the person wrote it.
    #[default]
    Plain,
    /// Behind the instruction of minimal mode to call tools.
    CallTools,
    /// Not at all: it did not fit into the window, and never will. Models don't
    /// see it later either, or it would drive out everything else.
    Unsent,
}

impl Framing {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Framing::Plain
    }
}

/// A pick that stays with its message.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPick {
    /// The item that was brought.
    pub item: ItemId,
    /// The turn since which it is on the page.
    pub since: TurnNumber,
    /// What the model was shown: the item, its name, or a note that it stands above.
    pub shown: PickDisplay,
}

/// What the model was shown of a kept pick.
#[derive(Debug, Clone, PartialEq)]
pub enum PickDisplay {
    /// The item's text as it was sent.
    Text(Text),
    /// Its line in the list of what may fit.
    Line(Text),
    /// Only that the item stands further up.
    Above,
}

impl PickDisplay {
    /// The item's text, unless it stands further up.
    pub(crate) fn text(&self) -> Option<&Text> {
        match self {
            PickDisplay::Text(text) => Some(text),
            PickDisplay::Line(_) | PickDisplay::Above => None,
        }
    }

    /// Its line, where it was only listed.
    pub(crate) fn line(&self) -> Option<&Text> {
        match self {
            PickDisplay::Line(line) => Some(line),
            PickDisplay::Text(_) | PickDisplay::Above => None,
        }
    }

    /// What was shown, of which at most one is there.
    pub(crate) fn from_parts(text: Option<Text>, line: Option<Text>) -> Self {
        let shown = text.map(PickDisplay::Text).or(line.map(PickDisplay::Line));
        shown.unwrap_or(PickDisplay::Above)
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentPart {
    /// A text, as it was written.
    Text(Text),
    /// An image, encoded in base64.
    Image(Image),
    /// A text that came along. It stands on the page as a part of its own.
    File(AttachedFile),
    /// Something that its provider wants back verbatim.
    Opaque(Opaque),
}

/// An image, encoded in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub media_type: Arc<str>,
    /// Its bytes in base64.
    pub data: Text,
    /// The path under which it came, where it came from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
}

impl Image {
    /// The media type of an image that models take, by its first bytes.
    pub fn find_media_type(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            _ => None,
        }
    }

    /// How many bytes the image has, not encoded.
    pub fn size(&self) -> usize {
        let padding = self.data.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.data.len() / 4 * 3).saturating_sub(padding)
    }
}

/// A part that only its provider understands, such as signed reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// Who made it and may have it back.
    pub provider: Arc<str>,
    /// The JSON as it came.
    pub json: Text,
    /// What it is to the model.
    pub kind: OpaqueKind,
}

/// What an opaque part is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpaqueKind {
    /// Something it reads again within its turn, such as what it thought.
    #[default]
    Thought,
    /// What the message says, in another form, such as the tokens that were
    /// generated. It stands for the text and costs nothing beside it.
    Echo,
}

/// The identity of a call, given by the model's server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its identity, which its result repeats.
    pub id: CallId,
    /// The name of the tool.
    pub name: Arc<str>,
    /// The arguments as the model wrote them: JSON, byte for byte.
    pub arguments: Text,
}

impl Message {
    /// A plain user message.
    pub fn user(id: u64, text: impl Into<Text>) -> Self {
        Message { id: MessageId(id), body: MessageBody::User(UserMessage::text(text)) }
    }

    /// A reply without calls.
    pub fn assistant(id: u64, text: impl Into<Text>) -> Self {
        let content = vec![ContentPart::Text(text.into())];
        Message { id: MessageId(id), body: MessageBody::Assistant { content, calls: Vec::new() } }
    }

    /// Whether a model may see it.
    pub fn is_for_models(&self) -> bool {
        match &self.body {
            MessageBody::User(user) => user.framing != Framing::Unsent,
            MessageBody::Error(_) | MessageBody::Approval(_) => false,
            MessageBody::Assistant { .. } | MessageBody::Tool { .. } => true,
        }
    }

    /// Whether it begins an exchange.
    pub fn is_user(&self) -> bool {
        self.as_user().is_some()
    }

    /// What a person said, where it is a person's message.
    pub fn as_user(&self) -> Option<&UserMessage> {
        match &self.body {
            MessageBody::User(user) => Some(user),
            _ => None,
        }
    }

    /// Its content; empty for the kinds that models don't see.
    pub fn content(&self) -> &[ContentPart] {
        self.body.content()
    }

    /// What its content, its calls and the name of its tool are made of, as far as they cost
    /// anything in `layer`; not the overhead of the message itself, which it may share with what
    /// stands in front of it.
    pub fn profile(&self, layer: Layer) -> TextProfile {
        let files = self.files().map(|file| *file.shown().profile());
        self.profile_without_files(layer) + files.sum()
    }

    /// The same without the files that came along, which are parts of their own on the page.
    pub(crate) fn profile_without_files(&self, layer: Layer) -> TextProfile {
        let content = self.content_in(layer).map(ContentPart::profile);
        let calls = self.calls().iter().map(ToolCall::profile);
        let name = match &self.body {
            MessageBody::Tool { name, .. } => Some(TextProfile::from_text(name)),
            _ => None,
        };
        content.chain(calls).chain(name).sum()
    }

    /// The images in it.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.content().iter().filter_map(|part| match part {
            ContentPart::Image(image) => Some(image),
            _ => None,
        })
    }

    /// The files that came along with it.
    pub fn files(&self) -> impl Iterator<Item = &AttachedFile> {
        self.content().iter().filter_map(|part| match part {
            ContentPart::File(file) => Some(file),
            _ => None,
        })
    }

    /// The parts of its content that cost something in `layer`, but for files. Whatever counts a
    /// message counts these.
    pub(crate) fn content_in(&self, layer: Layer) -> impl Iterator<Item = &ContentPart> {
        self.content().iter().filter(move |part| part.costs_in(layer))
    }

    /// The calls it asks for.
    pub fn calls(&self) -> &[ToolCall] {
        self.body.calls()
    }

    /// The call that it answers, if it is a result.
    pub fn answered_call(&self) -> Option<&CallId> {
        self.body.answered_call()
    }
}

impl MessageBody {
    /// The content; empty for the kinds that models don't see.
    pub fn content(&self) -> &[ContentPart] {
        match self {
            MessageBody::User(user) => &user.content,
            MessageBody::Assistant { content, .. } | MessageBody::Tool { content, .. } => content,
            MessageBody::Error(_) | MessageBody::Approval(_) => &[],
        }
    }

    /// The calls that a reply asks for.
    pub fn calls(&self) -> &[ToolCall] {
        match self {
            MessageBody::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }

    /// The call that a result answers; `None` for what is no result.
    pub fn answered_call(&self) -> Option<&CallId> {
        match self {
            MessageBody::Tool { call, .. } => Some(call),
            _ => None,
        }
    }
}

impl ToolCall {
    /// What it is made of: name, arguments, and the frame that templates put around them, which
    /// is much like a message's.
    pub fn profile(&self) -> TextProfile {
        let frame = TextProfile::default().with_messages(1);
        TextProfile::from_text(&self.name) + *self.arguments.profile() + frame
    }
}

/// The texts of a content, as a person reads them.
pub fn visible_text(content: &[ContentPart]) -> String {
    content.iter().filter_map(ContentPart::as_text).map(Text::as_str).collect()
}

impl ContentPart {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            ContentPart::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it costs anything in `layer` as a piece of its message. Reasoning is read within its own turn alone: chat
    /// templates and providers leave it out of earlier ones, and a wire does not even send what is
    /// another provider's.
    fn costs_in(&self, layer: Layer) -> bool {
        match self {
            ContentPart::Text(_) | ContentPart::Image(_) => true,
            ContentPart::File(_) => false,
            ContentPart::Opaque(opaque) => {
                opaque.kind == OpaqueKind::Thought && layer != Layer::History
            }
        }
    }

    /// What it is made of. An image costs by the piece, not by its bytes.
    pub fn profile(&self) -> TextProfile {
        match self {
            ContentPart::Text(text) => *text.profile(),
            ContentPart::Image(_) => TextProfile::default().with_images(1),
            ContentPart::File(file) => *file.shown().profile(),
            ContentPart::Opaque(opaque) => *opaque.json.profile(),
        }
    }
}
