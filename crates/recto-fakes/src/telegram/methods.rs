//! What the methods of the Bot API do, and what they refuse.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::{check_entities, check_fields, check_keyboard, check_text};
use super::world::{BOT_ID, TelegramWorld, bot_json, chat_json};

/// A call that is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BotApiError {
    pub(super) status: u16,
    pub(super) description: String,
    pub(super) parameters: Option<Value>,
    /// Whether no bot should have made the call.
    pub(super) is_mistake: bool,
}

impl BotApiError {
    /// Something that happens to every bot.
    pub(super) fn new(status: u16, description: &str) -> Self {
        let description = description.to_owned();
        BotApiError { status, description, parameters: None, is_mistake: false }
    }

    /// Something that no bot should do.
    pub(super) fn mistake(description: impl Into<String>) -> Self {
        let description = format!("Bad Request: {}", description.into());
        BotApiError { status: 400, description, parameters: None, is_mistake: true }
    }

    fn with(mut self, parameters: Value) -> Self {
        self.parameters = Some(parameters);
        self
    }
}

type Answer = Result<Value, BotApiError>;

/// A call for updates.
#[derive(Debug, Clone)]
pub(super) struct PollRequest {
    pub(super) offset: Option<u32>,
    pub(super) limit: usize,
    pub(super) timeout: Duration,
    pub(super) allowed: Option<Vec<String>>,
}

/// What there is for a call for updates.
pub(super) enum Polled {
    Updates(Vec<Value>),
    Nothing,
    Terminated,
}

pub(super) fn read_poll(fields: &Value) -> Result<PollRequest, BotApiError> {
    check_fields(fields, &["offset", "limit", "timeout", "allowed_updates"])?;
    let number = |name: &str| match fields.get(name) {
        None => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| BotApiError::mistake(name)),
    };
    let limit = number("limit")?.unwrap_or(100);
    if !(1..=100).contains(&limit) {
        return Err(BotApiError::mistake("limit must be from 1 to 100"));
    }
    let allowed = match fields.get("allowed_updates") {
        None => None,
        Some(list) => Some(
            serde_json::from_value(list.clone())
                .map_err(|_| BotApiError::mistake("allowed_updates must be a list of names"))?,
        ),
    };
    let offset = number("offset")?.filter(|offset| *offset != 0);
    Ok(PollRequest {
        offset: offset
            .map(|offset| u32::try_from(offset).map_err(|_| BotApiError::mistake("offset")))
            .transpose()?,
        limit: limit as usize,
        timeout: Duration::from_secs(number("timeout")?.unwrap_or(0).clamp(0, 50) as u64),
        allowed,
    })
}

impl TelegramWorld {
    /// Any method but the one for updates.
    pub(super) fn call(&mut self, method: &str, fields: &Value) -> Answer {
        match method {
            "getMe" => Ok(me()),
            "getWebhookInfo" => Ok(json!({
                "url": self.webhook,
                "has_custom_certificate": false,
                "pending_update_count": self.waiting_updates(),
            })),
            "sendMessage" => self.send_message(fields),
            "editMessageText" => self.edit_message(fields),
            "deleteMessage" => self.delete_message(fields),
            "sendChatAction" => self.send_action(fields),
            "answerCallbackQuery" => self.answer_press(fields),
            "setMyCommands" => self.set_commands(fields),
            "getFile" => self.get_file(fields),
            other => Err(BotApiError::mistake(format!("no method `{other}` here"))),
        }
    }

    /// The chat that a call is about, where the bot may say something.
    fn writable_chat(&mut self, fields: &Value) -> Result<i64, BotApiError> {
        let id = fields["chat_id"].as_i64();
        let id = id.ok_or_else(|| BotApiError::mistake("chat_id must be a number"))?;
        let Some(chat) = self.chats.get_mut(&id) else {
            return Err(BotApiError::new(400, "Bad Request: chat not found"));
        };
        if let Some(to) = chat.moved_to {
            let what = "Bad Request: group chat was upgraded to a supergroup chat";
            return Err(BotApiError::new(400, what).with(json!({"migrate_to_chat_id": to})));
        }
        if chat.is_blocked {
            return Err(BotApiError::new(403, "Forbidden: bot was blocked by the user"));
        }
        let left =
            chat.limited_until.and_then(|until| until.checked_duration_since(Instant::now()));
        if let Some(left) = left {
            let seconds = left.as_secs() + 1;
            let what = format!("Too Many Requests: retry after {seconds}");
            return Err(BotApiError::new(429, &what).with(json!({"retry_after": seconds})));
        }
        Ok(id)
    }

    fn send_message(&mut self, fields: &Value) -> Answer {
        check_fields(
            fields,
            &[
                "chat_id",
                "text",
                "entities",
                "message_thread_id",
                "reply_parameters",
                "reply_markup",
                "link_preview_options",
            ],
        )?;
        let chat = self.writable_chat(fields)?;
        let text = check_text(fields)?;
        check_entities(&text, &fields["entities"])?;
        let buttons = check_keyboard(&fields["reply_markup"])?;
        let answers = self.find_answered(chat, &fields["reply_parameters"])?;
        let id = self.add_message(chat, true, &text, answers);
        if let Some(message) = self.chat(chat).messages.get_mut(&id) {
            message.entities = list(&fields["entities"]);
            message.keyboard = fields["reply_markup"].clone();
            message.buttons = buttons;
        }
        Ok(self.message_json(chat, id))
    }

    fn find_answered(&self, chat: i64, reply: &Value) -> Result<Option<i32>, BotApiError> {
        if reply.is_null() {
            return Ok(None);
        }
        let id = reply["message_id"].as_i64().and_then(|id| i32::try_from(id).ok());
        let id = id.ok_or_else(|| BotApiError::mistake("reply_parameters.message_id"))?;
        let is_there = self.chats.get(&chat).is_some_and(|chat| chat.messages.contains_key(&id));
        match (is_there, reply["allow_sending_without_reply"] == json!(true)) {
            (true, _) => Ok(Some(id)),
            (false, true) => Ok(None),
            (false, false) => {
                Err(BotApiError::new(400, "Bad Request: message to be replied not found"))
            }
        }
    }

    fn edit_message(&mut self, fields: &Value) -> Answer {
        check_fields(
            fields,
            &["chat_id", "message_id", "text", "entities", "reply_markup", "link_preview_options"],
        )?;
        let chat = self.writable_chat(fields)?;
        let text = check_text(fields)?;
        check_entities(&text, &fields["entities"])?;
        let buttons = check_keyboard(&fields["reply_markup"])?;
        let id = fields["message_id"].as_i64().and_then(|id| i32::try_from(id).ok());
        let Some(message) = id.and_then(|id| self.chat(chat).messages.get_mut(&id)) else {
            return Err(BotApiError::new(400, "Bad Request: message to edit not found"));
        };
        if message.is_frozen {
            return Err(BotApiError::new(400, "Bad Request: message can't be edited"));
        }
        if !message.is_from_bot {
            return Err(BotApiError::mistake("message can't be edited"));
        }
        let entities = list(&fields["entities"]);
        let is_same = message.text == text
            && message.entities == entities
            && message.keyboard == fields["reply_markup"];
        if is_same {
            return Err(BotApiError::new(
                400,
                "Bad Request: message is not modified: specified new message content and reply \
                 markup are exactly the same as a current content and reply markup of the message",
            ));
        }
        message.before.push(std::mem::replace(&mut message.text, text));
        message.entities = entities;
        message.keyboard = fields["reply_markup"].clone();
        message.buttons = buttons;
        let id = message.id;
        Ok(self.message_json(chat, id))
    }

    fn message_json(&self, chat: i64, id: i32) -> Value {
        let within = self.chats.get(&chat);
        let message = within.and_then(|chat| chat.messages.get(&id));
        let mut told = json!({
            "message_id": id,
            "date": 1_790_000_000,
            "from": bot_json(),
            "chat": chat_json(chat, None),
            "text": message.map_or("", |message| &message.text),
        });
        // What it answers is told with all that is in it.
        let answered = message.and_then(|message| message.answers);
        if let Some(answered) = answered.and_then(|id| within?.sent.get(&id)) {
            told["reply_to_message"] = answered.clone();
        }
        told
    }

    fn delete_message(&mut self, fields: &Value) -> Answer {
        check_fields(fields, &["chat_id", "message_id"])?;
        let chat = self.writable_chat(fields)?;
        let id = fields["message_id"].as_i64().and_then(|id| i32::try_from(id).ok());
        if self.chat(chat).is_undeletable {
            return Err(BotApiError::new(400, "Bad Request: message can't be deleted"));
        }
        match id.and_then(|id| self.chat(chat).messages.remove(&id)) {
            Some(_) => Ok(json!(true)),
            None => Err(BotApiError::new(400, "Bad Request: message to delete not found")),
        }
    }

    fn send_action(&mut self, fields: &Value) -> Answer {
        check_fields(fields, &["chat_id", "action", "message_thread_id"])?;
        self.writable_chat(fields)?;
        match fields["action"] == "typing" {
            true => Ok(json!(true)),
            false => Err(BotApiError::mistake("wrong parameter action in request")),
        }
    }

    fn answer_press(&mut self, fields: &Value) -> Answer {
        check_fields(fields, &["callback_query_id", "text", "show_alert"])?;
        let id = fields["callback_query_id"].as_str().unwrap_or_default();
        let text = fields["text"].as_str().unwrap_or_default();
        if text.encode_utf16().count() > 200 {
            return Err(BotApiError::mistake("MESSAGE_TOO_LONG"));
        }
        if !self.open_presses.remove(id) {
            return Err(BotApiError::new(
                400,
                "Bad Request: query is too old and response timeout expired or query id is invalid",
            ));
        }
        self.press_answers.push(text.to_owned());
        Ok(json!(true))
    }

    fn set_commands(&mut self, fields: &Value) -> Answer {
        check_fields(fields, &["commands", "scope", "language_code"])?;
        let commands = fields["commands"].as_array().cloned().unwrap_or_default();
        if commands.len() > 100 {
            return Err(BotApiError::mistake("BOT_COMMANDS_TOO_MUCH"));
        }
        for command in &commands {
            let name = command["command"].as_str().unwrap_or_default();
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let about = command["description"].as_str().unwrap_or_default().chars().count();
            if !(1..=32).contains(&name.len()) || !name.chars().all(is_name) {
                return Err(BotApiError::mistake("BOT_COMMAND_INVALID"));
            }
            if !(1..=256).contains(&about) {
                return Err(BotApiError::mistake("BOT_COMMAND_DESCRIPTION_INVALID"));
            }
        }
        let names = commands.iter().filter_map(|command| command["command"].as_str());
        self.commands = names.map(str::to_owned).collect();
        Ok(json!(true))
    }

    fn get_file(&mut self, fields: &Value) -> Answer {
        check_fields(fields, &["file_id"])?;
        let id = fields["file_id"].as_str().unwrap_or_default();
        match self.file_size(id) {
            Some(size) => Ok(json!({
                "file_id": id, "file_unique_id": id, "file_size": size,
                "file_path": format!("documents/{id}"),
            })),
            None => Err(BotApiError::new(400, "Bad Request: invalid file id")),
        }
    }
}

/// The bot, as a server says that is older than the newest fields.
fn me() -> Value {
    let mut me = bot_json();
    me["id"] = json!(BOT_ID);
    for field in ["can_join_groups", "can_read_all_group_messages", "supports_inline_queries"] {
        me[field] = json!(field == "can_join_groups");
    }
    me
}

fn list(value: &Value) -> Value {
    if value.is_array() { value.clone() } else { json!([]) }
}
