//! What a chat service has to be able to do so that agents can talk there: [`ChatService`].
//!
//! Everything else of a channel is the same for all services, and stands in `chat_channel.rs`. A
//! service never decides whether something is tried again, who may do what, or what is said.

use std::future::Future;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::content::AnswerButton;
use crate::incoming::{IncomingFile, IncomingPress};
use crate::rich_text::RichText;

/// A chat service, spoken to as one bot.
///
/// All ids are strings that only the service reads. The id of a message is unique within the bot's
/// account: where a service counts anew in each chat, it holds the chat as well.
pub(crate) trait ChatService: Send + Sync + Sized + 'static {
    /// The name of the channel, such as `telegram`.
    const CHANNEL: &'static str;

    /// The service's name as people write it.
    const TITLE: &'static str;

    /// How long a message may be, in whatever [`ChatService::text_length`] counts.
    const MOST_TEXT: usize;

    /// The most characters of the answer to a press.
    const MOST_PRESS_WORDS: usize;

    /// For how long the service shows that somebody types.
    const TYPING_LASTS: Duration;

    /// How long a text is as the service counts it, with all marks that its styles need there.
    fn text_length(text: &RichText) -> usize;

    /// The pause between two changes of a message while it grows.
    fn edit_pause(&self, target: &ReplyTarget) -> Duration;

    /// The id that a chat had at first, by the one that it has now.
    fn original_chat(&self, chat: &str) -> String {
        chat.to_owned()
    }

    /// Every id under which a chat is or was known, by the one that it had at first.
    fn chat_ids(&self, original: &str) -> Vec<String> {
        vec![original.to_owned()]
    }

    /// Makes a message, in such a way that a process which is killed right behind it leaves no
    /// second one that says the same: either it says nothing yet ([`MadeMessage::says_it`] is
    /// false), or the service itself knows the draft's key again and gives the message of then.
    fn make_message(
        &self,
        target: &ReplyTarget,
        draft: &OutgoingMessage<'_>,
    ) -> impl Future<Output = Result<MadeMessage, ChatServiceError>> + Send;

    /// Lets a message say something else. That it says so already is no error.
    fn change_message(
        &self,
        target: &ReplyTarget,
        id: &str,
        piece: &MessagePiece,
    ) -> impl Future<Output = Result<(), ChatServiceError>> + Send;

    /// Takes a message back. That it is gone already is no error.
    fn delete_message(
        &self,
        target: &ReplyTarget,
        id: &str,
    ) -> impl Future<Output = Result<(), ChatServiceError>> + Send;

    /// Has it shown that somebody types, and does not wait for it: whether it is seen does not
    /// matter.
    fn show_typing(&self, target: &ReplyTarget);

    /// Tells somebody what their press did. One that comes too late is not shown any more.
    fn answer_press(&self, press: &IncomingPress, words: &str) -> impl Future<Output = ()> + Send;

    /// Fetches a file that came along with a message, of at most so many bytes.
    fn fetch_file(
        &self,
        file: &IncomingFile,
        most_bytes: usize,
    ) -> impl Future<Output = Result<Vec<u8>, FetchFailure>> + Send;
}

/// Where something is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplyTarget {
    /// The chat, by the id that it had at first.
    pub(crate) chat: String,
    /// The part of the chat, such as a topic of a forum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<String>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answers: Option<String>,
    /// Whether it shows what it answers, because it could be taken for another's answer.
    #[serde(default)]
    pub(crate) quotes: bool,
    /// Whether several people read there.
    #[serde(default)]
    pub(crate) is_group: bool,
}

impl ReplyTarget {
    /// A chat with one person, in which nothing is answered.
    pub(crate) fn in_private(chat: &str) -> Self {
        let chat = chat.to_owned();
        ReplyTarget { chat, thread: None, answers: None, quotes: false, is_group: false }
    }
}

/// What one message says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MessagePiece {
    pub(crate) text: RichText,
    pub(crate) buttons: Vec<AnswerButton>,
}

/// A message that is to be made.
#[derive(Debug)]
pub(crate) struct OutgoingMessage<'a> {
    /// What it is to say.
    pub(crate) piece: &'a MessagePiece,
    /// What it is for, over all processes: a draft of the same key is the same message.
    pub(crate) key: &'a str,
    /// The message that it shows as what it answers.
    pub(crate) quotes: Option<&'a str>,
}

/// A message that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MadeMessage {
    pub(crate) id: String,
    /// Whether it says what it is to say. Else its id is kept, and then it is changed.
    pub(crate) says_it: bool,
}

/// Why a service did not do something, by what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChatServiceError {
    /// It asks to wait for so long.
    #[error("it asks to wait {} s", .0.as_secs())]
    RateLimited(Duration),
    /// It can't be reached, or fails: worth trying for as long as it takes.
    #[error("{0}")]
    Unavailable(String),
    /// Nobody knows what its answer means: worth trying some times.
    #[error("{0}")]
    Unclear(String),
    /// The message can't be changed, because it is too old or gone: another has to be made.
    #[error("{0}")]
    Unchangeable(String),
    /// It does not take it, and never will.
    #[error("{0}")]
    Refused(String),
}

/// Why a file was not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchFailure {
    TooLarge,
    Failed,
}
