//! What of an update of Telegram's matters, in the form that all services share. Pure.

use recto_context::SpeakerName;
use serde::Deserialize;
use serde_json::Value;
use teloxide_core::types::{
    CallbackQuery, Chat, ChatMemberUpdated, MediaKind, Message, MessageEntity, MessageEntityKind,
    MessageKind, MessageOrigin, Update, UpdateKind, User,
};

use super::BotIdentity;
use super::partial::read_partially;
use super::service::TelegramMessageId;
use crate::access::ChannelSender;
use crate::incoming::{
    IncomingEvent, IncomingFile, IncomingMessage, IncomingPlace, IncomingPress, Legibility,
    MOST_QUOTED, QuotedMessage,
};
use crate::lines::quoted;

/// What of an update matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TelegramUpdate {
    /// Something that is stored until it has been dealt with.
    Event(Box<IncomingEvent>),
    /// A group has another id from now on.
    Moved {
        /// The id that it had.
        from: i64,
        /// The id that it has.
        to: i64,
    },
    /// Something that means nothing to the bot.
    Ignored,
}

/// An update as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadUpdate {
    pub(super) what: TelegramUpdate,
    /// The kind of what in it does not look as it is known here.
    pub(super) unread: Option<String>,
}

/// What of an update matters, whatever it looks like.
pub(super) fn read_update(update: &Value, me: &BotIdentity) -> ReadUpdate {
    let mut update = update.clone();
    let message = update.get_mut("message");
    let quoted = message.and_then(|message| {
        fill_media_types(message);
        take_external_quote(message)
    });
    let mut read = read_filled(&update, me);
    if let TelegramUpdate::Event(event) = &mut read.what
        && let IncomingEvent::Message(message) = event.as_mut()
        && quoted.is_some()
    {
        message.quoted = quoted;
    }
    read
}

/// Says of files that have no type that they have none: Telegram leaves it out, and it has to stand
/// there to be read.
fn fill_media_types(message: &mut Value) {
    for kind in ["voice", "audio", "video", "animation", "document"] {
        if let Some(media) = message.get_mut(kind).and_then(Value::as_object_mut) {
            media.entry("mime_type").or_insert(Value::Null);
        }
    }
    if let Some(answered) = message.get_mut("reply_to_message") {
        fill_media_types(answered);
    }
}

/// Takes out what a message refers to in another chat, of which only a quotation says something.
fn take_external_quote(message: &mut Value) -> Option<QuotedMessage> {
    let fields = message.as_object_mut()?;
    let elsewhere = fields.remove("external_reply")?;
    read_external_quote(&elsewhere, &fields.remove("quote")?)
}

/// The words of another chat that a message quotes, and whose they are.
fn read_external_quote(elsewhere: &Value, quote: &Value) -> Option<QuotedMessage> {
    let text = quote["text"].as_str()?.chars().take(MOST_QUOTED).collect();
    let origin = &elsewhere["origin"];
    let user = &origin["sender_user"];
    let full: Vec<&str> =
        ["first_name", "last_name"].iter().filter_map(|part| user[part].as_str()).collect();
    let others =
        [&origin["sender_user_name"], &origin["sender_chat"]["title"], &origin["chat"]["title"]];
    let speaker = match full.is_empty() {
        false => full.join(" "),
        true => others.into_iter().find_map(Value::as_str).unwrap_or("someone").to_owned(),
    };
    Some(QuotedMessage { speaker, text })
}

fn read_filled(update: &Value, me: &BotIdentity) -> ReadUpdate {
    let known = Update::deserialize(update).ok().filter(|update| match &update.kind {
        UpdateKind::Message(message) => !matches!(message.kind, MessageKind::Empty {}),
        UpdateKind::Error(_) => false,
        _ => true,
    });
    match known {
        Some(known) => ReadUpdate { what: read_known(&known, me), unread: None },
        None => read_partially(update, me),
    }
}

fn read_known(update: &Update, me: &BotIdentity) -> TelegramUpdate {
    let read = match &update.kind {
        UpdateKind::Message(message) => read_message(message, me),
        UpdateKind::CallbackQuery(query) => {
            read_press(query).map(|press| event(IncomingEvent::Press(press)))
        }
        UpdateKind::MyChatMember(change) => read_membership(change),
        _ => None,
    };
    read.unwrap_or(TelegramUpdate::Ignored)
}

fn event(event: IncomingEvent) -> TelegramUpdate {
    TelegramUpdate::Event(Box::new(event))
}

fn read_message(message: &Message, me: &BotIdentity) -> Option<TelegramUpdate> {
    if let Some(to) = message.migrate_to_chat_id() {
        return Some(TelegramUpdate::Moved { from: message.chat.id.0, to: to.0 });
    }
    if let Some(from) = message.migrate_from_chat_id() {
        return Some(TelegramUpdate::Moved { from: from.0, to: message.chat.id.0 });
    }
    let files = match &message.kind {
        MessageKind::Common(common) => read_files(&common.media_kind),
        MessageKind::Dice(thrown) => {
            let emoji = serde_json::to_value(thrown.dice.emoji).unwrap_or_default();
            let (emoji, value) = (emoji.as_str().unwrap_or_default(), thrown.dice.value);
            vec![IncomingFile::named(format!("a throw of {emoji} that gave {value}"))]
        }
        _ => return None,
    };
    read_said(message, MessageContent { files, legibility: Legibility::Readable }, me)
}

/// What a message has beside its text.
pub(super) struct MessageContent {
    pub(super) files: Vec<IncomingFile>,
    pub(super) legibility: Legibility,
}

/// What somebody said, with what came along.
pub(super) fn read_said(
    message: &Message,
    content: MessageContent,
    me: &BotIdentity,
) -> Option<TelegramUpdate> {
    let MessageContent { files, legibility } = content;
    let sender = read_sender(message)?;
    let is_private = message.chat.is_private();
    let typed = message.text().or(message.caption()).unwrap_or_default();
    let entities = message.entities().or(message.caption_entities());
    let named = find_naming(typed, entities.unwrap_or_default(), me);
    if named == Naming::OtherBot {
        return None;
    }
    let answered = message.reply_to_message();
    let is_answer = answered.is_some_and(|other| is_from(other, me));
    if typed.trim().is_empty() && files.is_empty() && legibility == Legibility::Readable {
        return None;
    }
    let message = IncomingMessage {
        place: read_place(&message.chat, Some(message)),
        id: TelegramMessageId { chat: message.chat.id.0, message: message.id.0 }.to_string(),
        sender,
        text: match find_author(message) {
            None => without_name(typed, me),
            Some(author) => attributed(&author, typed),
        },
        files,
        is_addressed: is_private || is_answer || named == Naming::Us,
        legibility,
        quoted: answered.filter(|other| !is_from(other, me)).and_then(|other| {
            let said = message.quote().map(|quote| quote.text.as_str());
            let said = said.or(other.text()).or(other.caption())?;
            let speaker = read_sender(other).map_or_else(|| "someone".to_owned(), |it| it.name);
            Some(QuotedMessage { speaker, text: said.chars().take(MOST_QUOTED).collect() })
        }),
    };
    Some(event(IncomingEvent::Message(message)))
}

fn read_place(chat: &Chat, message: Option<&Message>) -> IncomingPlace {
    let thread = message.filter(|it| it.is_topic_message).and_then(|it| it.thread_id);
    IncomingPlace {
        chat: chat.id.0.to_string(),
        thread: thread.map(|thread| thread.0.0.to_string()),
        group: (!chat.is_private()).then(|| chat.title().unwrap_or("a group").to_owned()),
        within: Vec::new(),
    }
}

/// Who said it. Other bots are not listened to: two that answer each other would never end.
fn read_sender(message: &Message) -> Option<ChannelSender> {
    if let Some(chat) = &message.sender_chat {
        // Somebody who speaks for the group, or for a channel.
        let name = chat.title().unwrap_or_default().to_owned();
        return Some(ChannelSender { id: chat.id.0.to_string(), name });
    }
    message.from.as_ref().filter(|user| !user.is_bot).and_then(read_user)
}

fn read_user(user: &User) -> Option<ChannelSender> {
    let full = user.full_name();
    let name = match (full.trim(), &user.username) {
        ("", Some(username)) => username.clone(),
        ("", None) => String::new(),
        (full, _) => full.to_owned(),
    };
    Some(ChannelSender { id: user.id.0.to_string(), name })
}

fn is_from(message: &Message, me: &BotIdentity) -> bool {
    message.from.as_ref().is_some_and(|user| user.id.0 == me.id)
}

/// Whom a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    Us,
    OtherBot,
    Nobody,
}

fn find_naming(text: &str, entities: &[MessageEntity], me: &BotIdentity) -> Naming {
    let is_me = |name: &str| name.eq_ignore_ascii_case(&me.username);
    let mut naming = Naming::Nobody;
    for entity in entities {
        let marked = marked_text(text, entity);
        match &entity.kind {
            MessageEntityKind::Mention if is_me(marked.trim_start_matches('@')) => {
                return Naming::Us;
            }
            MessageEntityKind::TextMention { user } if user.id.0 == me.id => return Naming::Us,
            MessageEntityKind::BotCommand => match marked.split_once('@') {
                Some((_, bot)) if is_me(bot) => return Naming::Us,
                Some(_) if entity.offset == 0 => naming = Naming::OtherBot,
                _ => {}
            },
            _ => {}
        }
    }
    naming
}

/// What an entity marks, whatever it says of itself: places are counted in UTF-16, and may be none.
fn marked_text(text: &str, entity: &MessageEntity) -> String {
    let units = text.encode_utf16().skip(entity.offset).take(entity.length);
    char::decode_utf16(units)
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Whose words a message has, where they are not those of whoever sent it.
fn find_author(message: &Message) -> Option<String> {
    let person = |user: &User| read_user(user).map_or_else(String::new, |sender| sender.name);
    let title = |chat: &Chat| chat.title().unwrap_or_default().to_owned();
    let origin = message.forward_origin().map(|origin| match origin {
        MessageOrigin::User { sender_user, .. } => person(sender_user),
        MessageOrigin::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        MessageOrigin::Chat { sender_chat: chat, .. } | MessageOrigin::Channel { chat, .. } => {
            title(chat)
        }
    });
    origin.or_else(|| message.via_bot.as_ref().map(person))
}

/// The words of somebody else, as a quotation: no command, and not taken for the sender's own.
fn attributed(author: &str, text: &str) -> String {
    let author = SpeakerName::new(author).among_people().to_string();
    format!("Forwarded, said by {author}:\n{}", quoted(text))
}

/// A text without the bot's name at its beginning, or behind a command there.
fn without_name(text: &str, me: &BotIdentity) -> String {
    let mention = format!("@{}", me.username);
    let (first, rest) = match text.find(char::is_whitespace) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    if first.eq_ignore_ascii_case(&mention) {
        return rest.trim_start().to_owned();
    }
    let is_command = first.starts_with('/');
    match first.split_at_checked(first.len().saturating_sub(mention.len())) {
        Some((command, name)) if is_command && name.eq_ignore_ascii_case(&mention) => {
            format!("{command}{rest}")
        }
        _ => text.to_owned(),
    }
}

pub(super) fn read_press(query: &CallbackQuery) -> Option<IncomingPress> {
    let message = query.message.as_ref()?;
    Some(IncomingPress {
        id: query.id.0.clone(),
        place: read_place(message.chat(), message.regular_message()),
        sender: read_user(&query.from)?,
        data: query.data.clone()?,
    })
}

fn read_membership(change: &ChatMemberUpdated) -> Option<TelegramUpdate> {
    let is_gone = !change.new_chat_member.is_present();
    let chat = change.chat.id.0.to_string();
    is_gone.then(|| event(IncomingEvent::ShutOut { chat }))
}

fn read_files(media: &MediaKind) -> Vec<IncomingFile> {
    let other = |name: &str| IncomingFile::named(name);
    let file = match media {
        MediaKind::Photo(media) => {
            // The largest is the picture itself.
            let Some(photo) =
                media.photo.iter().max_by_key(|it| u64::from(it.width) * u64::from(it.height))
            else {
                return Vec::new();
            };
            IncomingFile {
                handle: Some(photo.file.id.0.clone()),
                name: "photo.jpg".to_owned(),
                media_type: Some("image/jpeg".to_owned()),
                bytes: photo.file.size,
            }
        }
        MediaKind::Document(media) => IncomingFile {
            handle: Some(media.document.file.id.0.clone()),
            name: media.document.file_name.clone().unwrap_or_else(|| "a file".to_owned()),
            media_type: media.document.mime_type.as_ref().map(ToString::to_string),
            bytes: media.document.file.size,
        },
        MediaKind::Audio(_) => other("a piece of music"),
        MediaKind::Voice(_) => other("a voice message"),
        MediaKind::Video(_) => other("a video"),
        MediaKind::VideoNote(_) => other("a video message"),
        MediaKind::Animation(_) => other("an animation"),
        MediaKind::Sticker(media) => {
            let emoji = media.sticker.emoji.as_deref().unwrap_or_default();
            other(format!("a sticker {emoji}").trim_end())
        }
        MediaKind::Location(media) => {
            let location = &media.location;
            other(&format!("a location ({}, {})", location.latitude, location.longitude))
        }
        MediaKind::Venue(media) => other(&format!("a place: {}", media.venue.title)),
        MediaKind::Contact(media) => other(&format!("a contact: {}", media.contact.first_name)),
        MediaKind::Poll(media) => other(&format!("a poll: {}", media.poll.question)),
        MediaKind::Game(media) => other(&format!("a game: {}", media.game.title)),
        MediaKind::Checklist(media) => other(&format!("a checklist: {}", media.checklist.title)),
        MediaKind::Story(_) => other("a story"),
        MediaKind::PaidMedia(_) => other("pictures or videos that cost something"),
        MediaKind::Text(_) | MediaKind::Migration(_) => return Vec::new(),
    };
    vec![file]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "what is made for it is given away")]
    fn read(message: Value) -> TelegramUpdate {
        let update = json!({"update_id": 1, "message": message});
        let read = read_update(&update, &BotIdentity { id: 42, username: "recto_bot".into() });
        assert_eq!(read.unread, None, "{read:?}");
        read.what
    }

    fn read_said(message: Value) -> Option<IncomingMessage> {
        match read(message) {
            TelegramUpdate::Event(event) => match *event {
                IncomingEvent::Message(message) => Some(message),
                _ => None,
            },
            _ => None,
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "what is made for it is given away")]
    fn group_message(text: &str, entities: Value) -> Value {
        json!({
            "message_id": 7, "date": 1_700_000_000, "text": text, "entities": entities,
            "from": {"id": 5, "is_bot": false, "first_name": "Ada"},
            "chat": {"id": -10, "type": "group", "title": "Team"},
        })
    }

    #[test]
    fn files_without_a_type_are_read() {
        let sent = |kind: &str, content: Value| {
            read_said(json!({"message_id": 7, "date": 0, kind: content,
                "chat": {"id": 5, "type": "private", "first_name": "Ada"},
                "from": {"id": 5, "is_bot": false, "first_name": "Ada"}}))
        };
        let voice = json!({"file_id": "v", "file_unique_id": "v", "duration": 3});
        assert_eq!(sent("voice", voice).unwrap().files[0].name, "a voice message");
        let document = json!({"file_id": "d", "file_unique_id": "d", "file_name": "tide"});
        assert_eq!(sent("document", document).unwrap().files[0].handle.as_deref(), Some("d"));
    }

    #[test]
    fn what_is_quoted_from_another_chat_is_a_quotation() {
        let mut message = json!({"message_id": 7, "date": 0, "text": "is this so?",
            "chat": {"id": 5, "type": "private", "first_name": "Ada"},
            "from": {"id": 5, "is_bot": false, "first_name": "Ada"},
            "external_reply": {"origin": {"type": "user", "date": 0,
                "sender_user": {"id": 6, "is_bot": false, "first_name": "Ben", "last_name": "B"}}},
            "quote": {"text": "high at noon", "position": 0, "is_manual": true}});
        let quoted = |message: &Value| read_said(message.clone()).unwrap().quoted;
        let by_ben = QuotedMessage { speaker: "Ben B".into(), text: "high at noon".into() };
        assert_eq!(quoted(&message), Some(by_ben));
        message["external_reply"]["origin"] =
            json!({"type": "channel", "date": 0, "message_id": 3, "chat": {"title": "Tides"}});
        assert_eq!(quoted(&message).unwrap().speaker, "Tides");
        message.as_object_mut().unwrap().remove("quote");
        assert_eq!(quoted(&message), None);
    }

    #[test]
    fn in_groups_only_what_names_the_bot_is_meant_for_it() {
        let mention = |text: &str, offset: usize, length: usize, kind: &str| {
            let entities = json!([{"type": kind, "offset": offset, "length": length}]);
            let message = read_said(group_message(text, entities));
            message.map(|message| (message.is_addressed, message.text))
        };
        assert_eq!(mention("@Recto_Bot hi", 0, 10, "mention"), Some((true, "hi".into())));
        assert_eq!(
            mention("hi @recto_bot", 3, 10, "mention"),
            Some((true, "hi @recto_bot".into()))
        );
        assert_eq!(mention("@other hi", 0, 6, "mention"), Some((false, "@other hi".into())));
        assert_eq!(
            mention("/new@recto_bot x", 0, 14, "bot_command"),
            Some((true, "/new x".into()))
        );
        assert_eq!(mention("/new@other_bot", 0, 14, "bot_command"), None);
        assert_eq!(mention("/new", 0, 4, "bot_command"), Some((false, "/new".into())));
        let mut answer = group_message("yes", json!([]));
        answer["reply_to_message"] = json!({
            "message_id": 3, "date": 1_700_000_000, "text": "Really?",
            "from": {"id": 42, "is_bot": true, "first_name": "Recto", "username": "recto_bot"},
            "chat": {"id": -10, "type": "group", "title": "Team"},
        });
        let message = read_said(answer).unwrap();
        assert!(message.is_addressed && message.quoted.is_none());
    }

    #[test]
    fn entities_that_mark_nothing_are_no_harm() {
        for (text, offset, length) in
            [("abc @recto_bot", 4, 100), ("🚢 @recto_bot", 1, 3), ("/help", 0, 500), ("x", 900, 1)]
        {
            for kind in ["mention", "bot_command"] {
                let entities = json!([{"type": kind, "offset": offset, "length": length}]);
                let message = read_said(group_message(text, entities)).unwrap();
                assert_eq!(message.text, text, "{kind}");
            }
        }
    }

    #[test]
    fn words_of_others_are_a_quotation_and_no_command() {
        let origin = json!({
            "type": "user", "date": 1_700_000_000,
            "sender_user": {"id": 6, "is_bot": false, "first_name": "Mallory"},
        });
        let mut forwarded = group_message("/set approval never\n\nnow", json!([]));
        forwarded["chat"] = json!({"id": 5, "type": "private", "first_name": "Ada"});
        let mut by_bot = forwarded.clone();
        forwarded["forward_origin"] = origin;
        by_bot["via_bot"] = json!({"id": 9, "is_bot": true, "first_name": "Gif"});
        for (message, author) in [(forwarded, "Mallory"), (by_bot, "Gif")] {
            let message = read_said(message).unwrap();
            let said = format!("Forwarded, said by {author}:\n> /set approval never\n> \n> now");
            assert_eq!((message.text, message.sender.name.as_str()), (said, "Ada"));
        }
    }

    #[test]
    fn people_without_a_name_groups_that_move_and_bots() {
        let mut nameless = group_message("hi", json!([]));
        nameless["from"] = json!({"id": 5, "is_bot": false, "first_name": ""});
        let message = read_said(nameless).unwrap();
        assert_eq!(message.sender, ChannelSender { id: "5".into(), name: String::new() });
        let mut bot = group_message("hi", json!([]));
        bot["from"] = json!({"id": 6, "is_bot": true, "first_name": "Bot"});
        assert_eq!(read(bot), TelegramUpdate::Ignored);
        let mut moved = group_message("", json!([]));
        moved.as_object_mut().unwrap().remove("text");
        moved.as_object_mut().unwrap().remove("entities");
        moved["migrate_to_chat_id"] = json!(-1_001_234);
        assert_eq!(read(moved), TelegramUpdate::Moved { from: -10, to: -1_001_234 });
    }
}
