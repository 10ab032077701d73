//! The chats, the people in them and the updates that wait for the bot.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use super::FakeTelegram;
use super::methods::{PollRequest, Polled};

/// The bot's own id.
pub(super) const BOT_ID: i64 = 4242;

/// A time that messages are from: nothing here has a clock.
const DATE: i64 = 1_790_000_000;

/// Somebody who writes to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct TelegramPerson {
    pub id: i64,
    pub first_name: String,
}

impl TelegramPerson {
    /// Somebody of this id and name.
    pub fn new(id: i64, first_name: &str) -> Self {
        TelegramPerson { id, first_name: first_name.to_owned() }
    }

    pub(super) fn json(&self) -> Value {
        json!({"id": self.id, "is_bot": false, "first_name": self.first_name})
    }
}

/// A message that stands in a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct TelegramChatMessage {
    /// Its id within the chat.
    pub id: i32,
    /// Whether the bot wrote it.
    pub is_from_bot: bool,
    /// What it says now.
    pub text: String,
    /// The styles in it.
    pub entities: Value,
    /// What it said before, each time that it was changed.
    pub before: Vec<String>,
    /// The message that it shows as what it answers.
    pub answers: Option<i32>,
    /// What is written on the buttons below it.
    pub buttons: Vec<String>,
    pub(super) keyboard: Value,
    pub(super) is_frozen: bool,
}

/// A chat and what became of it.
#[derive(Debug, Default)]
pub(super) struct FakeChat {
    pub(super) messages: BTreeMap<i32, TelegramChatMessage>,
    pub(super) is_blocked: bool,
    pub(super) limited_until: Option<Instant>,
    pub(super) moved_to: Option<i64>,
    /// Whether no message of it can be taken back.
    pub(super) is_undeletable: bool,
    /// What people sent, with all that is in it.
    pub(super) sent: BTreeMap<i32, Value>,
    /// Messages are counted within their chat.
    last_message: i32,
}

impl FakeChat {
    fn next_message(&mut self) -> i32 {
        self.last_message += 1;
        self.last_message
    }
}

#[derive(Debug)]
pub(super) struct TelegramWorld {
    pub(super) chats: BTreeMap<i64, FakeChat>,
    /// What waits to be confirmed.
    waiting: BTreeMap<u32, Value>,
    confirmed: BTreeMap<u32, Value>,
    next_update: u32,
    poll_generation: u64,
    files: BTreeMap<String, Vec<u8>>,
    pub(super) open_presses: BTreeSet<String>,
    pub(super) press_answers: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) rejections: Vec<String>,
    pub(super) calls: Vec<String>,
    pub(super) is_token_valid: bool,
    /// Where updates are sent instead; nothing where they are asked for.
    pub(super) webhook: String,
    pub(super) faults: Vec<(String, u16, usize)>,
}

impl Default for TelegramWorld {
    fn default() -> Self {
        TelegramWorld {
            chats: BTreeMap::new(),
            waiting: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            next_update: 100_000,
            poll_generation: 0,
            files: BTreeMap::new(),
            open_presses: BTreeSet::new(),
            press_answers: Vec::new(),
            commands: Vec::new(),
            rejections: Vec::new(),
            calls: Vec::new(),
            is_token_valid: true,
            webhook: String::new(),
            faults: Vec::new(),
        }
    }
}

impl TelegramWorld {
    pub(super) fn chat(&mut self, id: i64) -> &mut FakeChat {
        self.chats.entry(id).or_default()
    }

    pub(super) fn messages(&self, chat: i64) -> Vec<TelegramChatMessage> {
        self.chats
            .get(&chat)
            .map_or_else(Vec::new, |chat| chat.messages.values().cloned().collect())
    }

    /// Somebody writes something; what else is in the message is given as its fields.
    pub(super) fn say(
        &mut self,
        person: &TelegramPerson,
        chat: i64,
        text: &str,
        more: &Value,
    ) -> i32 {
        let mut fields = more.clone();
        if !text.is_empty() {
            fields["text"] = json!(text);
            let entities = written_entities(text);
            if !entities.is_empty() {
                fields["entities"] = json!(entities);
            }
        }
        fields["from"] = person.json();
        let id = self.add_message(chat, false, text, None);
        self.push_message(chat, id, fields);
        id
    }

    pub(super) fn add_message(
        &mut self,
        chat: i64,
        is_from_bot: bool,
        text: &str,
        answers: Option<i32>,
    ) -> i32 {
        let id = self.chat(chat).next_message();
        let message = TelegramChatMessage {
            id,
            is_from_bot,
            text: text.to_owned(),
            entities: json!([]),
            before: Vec::new(),
            answers,
            buttons: Vec::new(),
            keyboard: Value::Null,
            is_frozen: false,
        };
        self.chat(chat).messages.insert(id, message);
        id
    }

    /// An update about a message with these fields.
    fn push_message(&mut self, chat: i64, id: i32, mut fields: Value) {
        fields["message_id"] = json!(id);
        fields["date"] = json!(DATE);
        fields["chat"] = chat_json(chat, fields.get("from"));
        self.chat(chat).sent.insert(id, fields.clone());
        self.push_update("message", &fields);
    }

    pub(super) fn push_update(&mut self, kind: &str, content: &Value) {
        let id = self.next_update;
        self.next_update += 1;
        self.waiting.insert(id, json!({"update_id": id, kind: content}));
    }

    /// How many updates wait to be asked for.
    pub(super) fn waiting_updates(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn deliver_again(&mut self) {
        let again = std::mem::take(&mut self.confirmed);
        self.waiting.extend(again);
    }

    pub(super) fn press(&mut self, person: &TelegramPerson, chat: i64, message: i32, label: &str) {
        let below = &self.chats[&chat].messages[&message];
        let buttons = below.keyboard["inline_keyboard"].as_array().into_iter().flatten();
        let mut buttons = buttons.filter_map(Value::as_array).flatten();
        let button = buttons.find(|button| button["text"] == label);
        let data = button.unwrap_or_else(|| panic!("no button `{label}` below {below:?}"))
            ["callback_data"]
            .clone();
        self.press_data(person, chat, message, &data);
    }

    /// A press of a button that was given this.
    pub(super) fn press_data(
        &mut self,
        person: &TelegramPerson,
        chat: i64,
        message: i32,
        data: &Value,
    ) {
        let below = &self.chats[&chat].messages[&message];
        let id = format!("press{}", self.next_update);
        let shown = json!({
            "message_id": message,
            "date": DATE,
            "text": below.text,
            "from": bot_json(),
            "chat": chat_json(chat, Some(&person.json())),
        });
        self.open_presses.insert(id.clone());
        let query = json!({
            "id": id, "from": person.json(), "message": shown, "chat_instance": "1", "data": data,
        });
        self.push_update("callback_query", &query);
    }

    pub(super) fn freeze(&mut self, chat: i64) {
        self.chat(chat).messages.values_mut().for_each(|message| message.is_frozen = true);
    }

    pub(super) fn migrate(&mut self, from: i64, to: i64) {
        self.chat(from).moved_to = Some(to);
        self.chat(to);
        let group = json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group",
            "username": "GroupAnonymousBot"});
        let (old, new) = (self.chat(from).next_message(), self.chat(to).next_message());
        self.push_message(from, old, json!({"from": group, "migrate_to_chat_id": to}));
        self.push_message(to, new, json!({"from": group, "migrate_from_chat_id": from}));
    }

    pub(super) fn add_file(&mut self, id: &str, bytes: &[u8]) {
        self.files.insert(id.to_owned(), bytes.to_vec());
    }

    /// A file by the path that `getFile` gives, which has its id in it.
    pub(super) fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path.strip_prefix("documents/")?).cloned()
    }

    pub(super) fn file_size(&self, id: &str) -> Option<usize> {
        self.files.get(id).map(Vec::len)
    }

    /// The status with which this call fails, if the test wants that.
    pub(super) fn take_fault(&mut self, method: &str) -> Option<u16> {
        let fault = self.faults.iter_mut().find(|(of, _, left)| of == method && *left > 0)?;
        fault.2 -= 1;
        Some(fault.1)
    }

    /// Confirms what is confirmed by this call, and ends every other one.
    pub(super) fn begin_poll(&mut self, request: &PollRequest) -> u64 {
        if let Some(offset) = request.offset {
            let rest = self.waiting.split_off(&offset);
            self.confirmed.extend(std::mem::replace(&mut self.waiting, rest));
        }
        self.poll_generation += 1;
        self.poll_generation
    }

    pub(super) fn look_for_updates(&self, generation: u64, request: &PollRequest) -> Polled {
        if generation != self.poll_generation {
            return Polled::Terminated;
        }
        let wanted = |update: &&Value| match &request.allowed {
            Some(allowed) => allowed.iter().any(|kind| update.get(kind).is_some()),
            None => true,
        };
        let updates: Vec<Value> =
            self.waiting.values().filter(wanted).take(request.limit).cloned().collect();
        if updates.is_empty() { Polled::Nothing } else { Polled::Updates(updates) }
    }
}

pub(super) fn bot_json() -> Value {
    json!({
        "id": BOT_ID, "is_bot": true, "first_name": "Recto", "username": FakeTelegram::USERNAME,
    })
}

/// A chat as messages have it: ids below zero are groups, and long ones supergroups.
pub(super) fn chat_json(id: i64, person: Option<&Value>) -> Value {
    match id {
        1.. => {
            let name = person.and_then(|person| person.get("first_name")).cloned();
            json!({"id": id, "type": "private", "first_name": name.unwrap_or_default()})
        }
        -999_999_999_999..1 => json!({"id": id, "type": "group", "title": "A group"}),
        _ => json!({"id": id, "type": "supergroup", "title": "A group"}),
    }
}

/// The entities that Telegram finds by itself: mentions, and commands at the beginning.
fn written_entities(text: &str) -> Vec<Value> {
    let mut entities = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let length = word.trim_end().encode_utf16().count();
        let kind = match word.chars().next() {
            Some('@') if length > 1 => Some("mention"),
            Some('/') if length > 1 => Some("bot_command"),
            _ => None,
        };
        if let Some(kind) = kind {
            entities.push(json!({"type": kind, "offset": offset, "length": length}));
        }
        offset += word.encode_utf16().count();
    }
    entities
}
