//! What people send to a bot, in the form in which it is stored until it has been dealt with. The
//! same for all services.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::ChannelSender;

/// The most characters of a message that somebody refers to.
pub(crate) const MOST_QUOTED: usize = 1_000;

/// Something that a bot was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum IncomingEvent {
    /// Somebody said something.
    Message(IncomingMessage),
    /// Somebody pressed a button.
    Press(IncomingPress),
    /// Somebody blocked the bot, or put it out of a group.
    ShutOut {
        /// The chat that is closed to the bot.
        chat: String,
    },
}

/// The place where something was said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct IncomingPlace {
    /// The chat, by the id that it had when this came.
    pub(crate) chat: String,
    /// The part of the chat that is a conversation of its own, such as a topic of a forum.
    pub(crate) thread: Option<String>,
    /// What the chat is called, where it is a group; nothing in private.
    pub(crate) group: Option<String>,
    /// The ids of what the chat is a part of: who lets those in lets in the chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) within: Vec<String>,
}

/// Something that somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IncomingMessage {
    pub(crate) place: IncomingPlace,
    /// The message's id, unique within the bot's account.
    pub(crate) id: String,
    pub(crate) sender: ChannelSender,
    /// Without the bot's name, where that only says whom it is meant for.
    pub(crate) text: String,
    pub(crate) files: Vec<IncomingFile>,
    /// Whether it is meant for the bot: in private always, in a group if it names it.
    pub(crate) is_addressed: bool,
    /// Whether the bot can read what it says.
    #[serde(default)]
    pub(crate) legibility: Legibility,
    /// What somebody else said that it refers to.
    pub(crate) quoted: Option<QuotedMessage>,
}

/// Whether a bot can read what a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Legibility {
    /// It can.
    #[default]
    Readable,
    /// Its service keeps it from the bot.
    Hidden,
    /// It is of a kind that is not known here.
    UnknownKind,
}

/// What somebody said that a message refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields say it")]
pub(crate) struct QuotedMessage {
    pub(crate) speaker: String,
    pub(crate) text: String,
}

/// A button that somebody pressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IncomingPress {
    /// What the service needs to know so that the press can be answered.
    pub(crate) id: String,
    pub(crate) place: IncomingPlace,
    pub(crate) sender: ChannelSender,
    /// What the button was given when it was made.
    pub(crate) data: String,
}

/// Something that came along with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IncomingFile {
    /// What it is fetched by; nothing for what is named only.
    pub(crate) handle: Option<String>,
    pub(crate) name: String,
    pub(crate) media_type: Option<String>,
    pub(crate) bytes: u32,
}

impl IncomingEvent {
    /// The chat and the part of it that this is about.
    pub(crate) fn chat_and_thread(&self) -> (&str, Option<&str>) {
        match self {
            IncomingEvent::Message(IncomingMessage { place, .. })
            | IncomingEvent::Press(IncomingPress { place, .. }) => {
                (&place.chat, place.thread.as_deref())
            }
            IncomingEvent::ShutOut { chat } => (chat, None),
        }
    }
}

impl IncomingFile {
    /// Something that is named and not looked into.
    pub(crate) fn named(name: impl Into<String>) -> Self {
        IncomingFile { handle: None, name: name.into(), media_type: None, bytes: 0 }
    }
}

/// Whether an event, as it is stored, is a button that somebody pressed.
pub(crate) fn is_press(stored: &Value) -> bool {
    stored["kind"] == "press"
}

/// The name of a conversation: its chat's, and that of a part of it.
pub(crate) fn conversation_name(chat: &str, thread: Option<&str>) -> String {
    match thread {
        Some(thread) => format!("{chat}/{thread}"),
        None => chat.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_chats_are_conversations() {
        assert_eq!(conversation_name("-1001", Some("7")), "-1001/7");
        assert_eq!(conversation_name("4711", None), "4711");
    }

    #[test]
    fn what_is_stored_can_be_read_again() {
        let event = IncomingEvent::Press(IncomingPress {
            id: "1".into(),
            place: IncomingPlace { chat: "-10".into(), ..IncomingPlace::default() },
            sender: ChannelSender { id: "5".into(), name: "Ada".into() },
            data: "x".into(),
        });
        let stored = serde_json::to_value(&event).unwrap();
        assert!(is_press(&stored));
        let shut = IncomingEvent::ShutOut { chat: "-10".into() };
        assert!(!is_press(&serde_json::to_value(shut).unwrap()));
        assert_eq!(serde_json::from_value::<IncomingEvent>(stored).unwrap(), event);
    }
}
