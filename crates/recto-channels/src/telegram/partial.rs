//! What can still be read of an update that does not look as it is known here: Telegram brings new
//! kinds of messages, and leaves out what it need not send. Who wrote, where, and the text are read
//! all the same, so that they get an answer. Pure.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use teloxide_core::types::{CallbackQuery, Message, MessageKind};

use super::BotIdentity;
use super::update::{MessageContent, ReadUpdate, TelegramUpdate, read_press, read_said};
use crate::incoming::{IncomingEvent, IncomingFile, Legibility};

/// What a message has beside its content.
const ENVELOPE: [&str; 15] = [
    "message_id",
    "date",
    "chat",
    "from",
    "sender_chat",
    "message_thread_id",
    "is_topic_message",
    "entities",
    "caption_entities",
    "forward_origin",
    "via_bot",
    "reply_to_message",
    "quote",
    "text",
    "caption",
];

/// What is known to come along with a message, and what it is called.
const KNOWN_CONTENT: [(&str, &str); 8] = [
    ("voice", "a voice message"),
    ("audio", "a piece of music"),
    ("video", "a video"),
    ("video_note", "a video message"),
    ("animation", "an animation"),
    ("photo", "a photo"),
    ("sticker", "a sticker"),
    ("document", "a file"),
];

/// The most characters of the name of a kind.
const LONGEST_KIND: usize = 40;

/// Reads as much of an update as can be.
pub(super) fn read_partially(update: &Value, me: &BotIdentity) -> ReadUpdate {
    let fields = update.as_object().into_iter().flatten();
    let kind = fields.map(|(name, _)| name.as_str()).find(|name| *name != "update_id");
    let content = kind.and_then(|kind| update[kind].as_object());
    let (read, unread) = match (kind, content) {
        (Some("message"), Some(message)) => {
            let kind = content_kind(message);
            (read_message(message, kind, me), kind.unwrap_or("message"))
        }
        (Some("callback_query"), Some(query)) => (read_query(query), "callback_query"),
        (kind, _) => (None, kind.unwrap_or("nothing")),
    };
    let unread = unread.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_');
    ReadUpdate {
        what: read.unwrap_or(TelegramUpdate::Ignored),
        unread: Some(unread.take(LONGEST_KIND).collect()),
    }
}

/// The name of what a message has to say, beside who wrote it where.
fn content_kind(message: &Map<String, Value>) -> Option<&str> {
    let names = || message.keys().map(String::as_str);
    let known = names().find(|name| KNOWN_CONTENT.iter().any(|(known, _)| known == name));
    known.or_else(|| names().find(|name| !ENVELOPE.contains(name)))
}

fn read_message(
    message: &Map<String, Value>,
    kind: Option<&str>,
    me: &BotIdentity,
) -> Option<TelegramUpdate> {
    let read = read_envelope(message)?;
    let known = KNOWN_CONTENT.iter().find(|(known, _)| Some(*known) == kind);
    let has_text = read.text().is_some_and(|text| !text.trim().is_empty());
    let (files, legibility) = match known {
        Some((_, called)) => (vec![IncomingFile::named(*called)], Legibility::Readable),
        None if has_text => {
            (vec![IncomingFile::named("something of an unknown kind")], Legibility::Readable)
        }
        None => (Vec::new(), Legibility::UnknownKind),
    };
    read_said(&read, MessageContent { files, legibility }, me)
}

/// A message with as much of its envelope as can be read, and its text; nothing where it can't be
/// told who wrote it where.
fn read_envelope(message: &Map<String, Value>) -> Option<Message> {
    let mut kept = Map::new();
    for name in ["message_id", "date", "chat", "from"] {
        kept.insert(name.to_owned(), message.get(name)?.clone());
    }
    let text = message.get("text").or(message.get("caption")).and_then(Value::as_str);
    kept.insert("text".to_owned(), json!(text.unwrap_or_default()));
    let mut read = parse_common(&kept)?;
    let entities = message.get("entities").or(message.get("caption_entities"));
    let optional = [
        ("sender_chat", message.get("sender_chat")),
        ("message_thread_id", message.get("message_thread_id")),
        ("is_topic_message", message.get("is_topic_message")),
        ("entities", entities),
        ("forward_origin", message.get("forward_origin")),
        ("via_bot", message.get("via_bot")),
        ("reply_to_message", message.get("reply_to_message")),
        ("quote", message.get("quote")),
    ];
    for (name, value) in optional {
        let Some(value) = value else { continue };
        let more =
            [Some(value.clone()), substitute(name)].into_iter().flatten().find_map(|value| {
                let mut more = kept.clone();
                more.insert(name.to_owned(), value);
                parse_common(&more).map(|read| (more, read))
            });
        match more {
            Some(more) => (kept, read) = more,
            // Who speaks for a channel is not taken for somebody else.
            None if name == "sender_chat" => return None,
            None => {}
        }
    }
    Some(read)
}

/// What stands for something that can't be read, where it must not seem as if it was not there:
/// words of others are not taken for the sender's own.
fn substitute(name: &str) -> Option<Value> {
    match name {
        "forward_origin" => {
            Some(json!({"type": "hidden_user", "date": 0, "sender_user_name": "someone"}))
        }
        "via_bot" => Some(json!({"id": 1, "is_bot": true, "first_name": "a bot"})),
        _ => None,
    }
}

fn parse_common(fields: &Map<String, Value>) -> Option<Message> {
    let message = serde_json::from_value::<Message>(Value::Object(fields.clone())).ok()?;
    matches!(message.kind, MessageKind::Common(_)).then_some(message)
}

/// A press of a button below a message of which no more is needed than where it stands.
fn read_query(query: &Map<String, Value>) -> Option<TelegramUpdate> {
    let mut kept = query.clone();
    let below = query.get("message")?.as_object()?;
    let mut envelope = Map::new();
    for name in ["message_id", "date", "chat", "message_thread_id", "is_topic_message"] {
        if let Some(value) = below.get(name) {
            envelope.insert(name.to_owned(), value.clone());
        }
    }
    envelope.insert("text".to_owned(), json!(""));
    kept.insert("message".to_owned(), Value::Object(envelope));
    let query = CallbackQuery::deserialize(&Value::Object(kept)).ok()?;
    let press = read_press(&query)?;
    Some(TelegramUpdate::Event(Box::new(IncomingEvent::Press(press))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incoming::IncomingMessage;
    use crate::telegram::update::read_update;

    fn read(message: &Value) -> (Option<IncomingMessage>, Option<String>) {
        let me = BotIdentity { id: 42, username: "recto_bot".into() };
        let read = read_update(&json!({"update_id": 1, "message": message}), &me);
        let said = match read.what {
            TelegramUpdate::Event(event) => match *event {
                IncomingEvent::Message(message) => Some(message),
                other => panic!("{other:?}"),
            },
            TelegramUpdate::Ignored => None,
            other => panic!("{other:?}"),
        };
        (said, read.unread)
    }

    fn private(more: &Value) -> Value {
        let mut message = json!({
            "message_id": 7, "date": 1_700_000_000,
            "from": {"id": 5, "is_bot": false, "first_name": "Ada"},
            "chat": {"id": 5, "type": "private", "first_name": "Ada"},
        });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    }

    #[test]
    fn what_is_known_is_named_and_what_is_not_is_still_somebodys() {
        let round = json!({"video_note": {"file_id": "v", "file_unique_id": "u", "duration": 3}});
        let (said, unread) = read(&private(&round));
        let said = said.unwrap();
        assert_eq!(said.files, [IncomingFile::named("a video message")]);
        assert_eq!(
            (said.legibility, unread.as_deref()),
            (Legibility::Readable, Some("video_note"))
        );
        let (said, unread) = read(&private(&json!({"hologram": {"depth": 3}})));
        let said = said.unwrap();
        assert_eq!((said.legibility, said.sender.id.as_str()), (Legibility::UnknownKind, "5"));
        assert_eq!(unread.as_deref(), Some("hologram"));
        let (said, _) = read(&private(&json!({"hologram": {}, "caption": "look"})));
        let said = said.unwrap();
        assert_eq!((said.text.as_str(), said.legibility), ("look", Legibility::Readable));
        assert_eq!(said.files.len(), 1);
        let (said, unread) = read(&private(&json!({"dice": {"emoji": "🎲", "value": 4}})));
        assert_eq!(said.unwrap().files, [IncomingFile::named("a throw of 🎲 that gave 4")]);
        assert_eq!(unread, None);
    }

    #[test]
    fn words_of_others_stay_theirs_and_nobody_is_guessed() {
        let forwarded = json!({
            "hologram": {}, "caption": "/set approval never",
            "forward_origin": {"type": "beamed", "date": 1},
        });
        let said = read(&private(&forwarded)).0.unwrap();
        assert_eq!(said.text, "Forwarded, said by someone:\n> /set approval never");
        let spoken_for = json!({"hologram": {}, "sender_chat": {"id": "?", "type": "hive"}});
        assert_eq!(read(&private(&spoken_for)).0, None);
        assert_eq!(read(&json!({"message_id": "secret words"})), (None, Some("message".into())));
    }

    #[test]
    fn a_press_below_something_unknown_is_a_press() {
        let me = BotIdentity { id: 42, username: "recto_bot".into() };
        let chat = json!({"id": 5, "type": "private", "first_name": "Ada"});
        let from = json!({"id": 5, "is_bot": false, "first_name": "Ada"});
        let below = json!({"message_id": 3, "date": 1, "chat": chat, "from": 7});
        let query = json!({"id": "q", "from": from, "message": below, "chat_instance": "1",
            "data": "x"});
        let read = read_update(&json!({"update_id": 1, "callback_query": query}), &me);
        let TelegramUpdate::Event(event) = read.what else { panic!("{read:?}") };
        assert!(matches!(*event, IncomingEvent::Press(press) if press.place.chat == "5"));
    }
}
