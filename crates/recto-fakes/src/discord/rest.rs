//! The routes of the REST API that a bot needs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::FakeDiscord;
use super::check::{
    check_callback, check_commands, check_components, check_content, check_fields, check_nonce,
};
use super::limits::LimitVerdict;
use super::world::{
    DiscordInteractionAnswer, DiscordWorld, FakeChannel, bot, bot_json, roles_json,
};

/// How long an interaction waits for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// For how long the same message is not sent twice.
const NONCE_MEMORY: Duration = Duration::from_secs(180);

/// A call that was refused.
#[derive(Debug)]
pub(super) struct RestError {
    pub(super) status: u16,
    pub(super) code: u32,
    pub(super) message: String,
    /// Whether no bot should have made it.
    pub(super) is_mistake: bool,
    pub(super) retry_after: Option<(Duration, bool)>,
}

impl RestError {
    pub(super) fn new(status: u16, code: u32, message: impl Into<String>) -> Self {
        let message = message.into();
        RestError { status, code, message, is_mistake: false, retry_after: None }
    }

    pub(super) fn mistake(code: u32, message: impl Into<String>) -> Self {
        RestError { is_mistake: true, ..RestError::new(400, code, message) }
    }

    /// A body that Discord does not take.
    pub(super) fn form(mut why: String) -> Self {
        why.insert_str(0, "Invalid Form Body: ");
        RestError::mistake(50_035, why)
    }
}

/// What a call is answered with: a status, a body, and what is left of its limit.
#[derive(Debug)]
pub(super) struct RestAnswer {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) left: Option<(u32, Duration)>,
}

fn ok(body: Value) -> Result<RestAnswer, RestError> {
    Ok(RestAnswer { status: 200, body, left: None })
}

fn no_content() -> Result<RestAnswer, RestError> {
    Ok(RestAnswer { status: 204, body: Value::Null, left: None })
}

/// A call, by the route that it is of.
#[derive(Debug)]
pub(super) struct RestCall<'a> {
    pub(super) route: &'static str,
    pub(super) ids: Vec<&'a str>,
    pub(super) query: &'a str,
    pub(super) body: Value,
}

/// The name of a route that the fake knows, with the ids in it.
pub(super) fn find_route<'a>(method: &str, path: &'a str) -> Option<(&'static str, Vec<&'a str>)> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    Some(match (method, parts.as_slice()) {
        ("GET", ["gateway", "bot"]) => ("gateway", vec![]),
        ("GET", ["users", "@me"]) => ("me", vec![]),
        ("GET", ["applications", "@me"]) => ("application", vec![]),
        ("PUT", ["applications", id, "commands"]) => ("commands", vec![id]),
        ("GET", ["channels", id]) => ("channel", vec![id]),
        ("GET", ["guilds", id, "roles"]) => ("roles", vec![id]),
        ("GET", ["channels", id, "messages"]) => ("messages", vec![id]),
        ("POST", ["channels", id, "messages"]) => ("createMessage", vec![id]),
        ("PATCH", ["channels", id, "messages", message]) => ("editMessage", vec![id, message]),
        ("DELETE", ["channels", id, "messages", message]) => ("deleteMessage", vec![id, message]),
        ("POST", ["channels", id, "typing"]) => ("typing", vec![id]),
        ("POST", ["interactions", id, token, "callback"]) => ("callback", vec![id, token]),
        ("PATCH", ["webhooks", id, token, "messages", "@original"]) => {
            ("original", vec![id, token])
        }
        _ => return None,
    })
}

impl DiscordWorld {
    /// What a call leads to.
    pub(super) fn call(&mut self, call: &RestCall<'_>, url: &str) -> Result<RestAnswer, RestError> {
        match call.route {
            "gateway" => ok(json!({
                "url": url, "shards": 1,
                "session_start_limit": {"total": 1000, "remaining": 999, "reset_after": 1000,
                    "max_concurrency": 1},
            })),
            "me" => ok(bot_json()),
            "application" => {
                let flags = if self.allowed_intents == u64::MAX { 1 << 19 } else { 0 };
                let id = FakeDiscord::APPLICATION.to_string();
                ok(json!({"id": id, "name": "Recto", "flags": flags}))
            }
            "roles" if call.ids == [FakeDiscord::GUILD.to_string()] => ok(roles_json()),
            "roles" => Err(RestError::new(404, 10_004, "Unknown Guild")),
            "commands" => self.set_commands(call),
            "callback" => self.answer_interaction(call),
            "original" => self.edit_original(call),
            _ => self.call_about_channel(call),
        }
    }

    fn set_commands(&mut self, call: &RestCall<'_>) -> Result<RestAnswer, RestError> {
        if call.ids != [FakeDiscord::APPLICATION.to_string()] {
            return Err(RestError::mistake(
                20_012,
                "You are not authorized to perform this action",
            ));
        }
        self.commands = check_commands(&call.body)?;
        ok(call.body.clone())
    }

    fn call_about_channel(&mut self, call: &RestCall<'_>) -> Result<RestAnswer, RestError> {
        let id = read_id(call.ids.first())?;
        let left = match self.limits.count(call.route, id) {
            LimitVerdict::Taken { left, reset_after } => (left, reset_after),
            LimitVerdict::Refused { retry_after, is_global, was_told } => {
                return Err(RestError {
                    is_mistake: was_told,
                    retry_after: Some((retry_after, is_global)),
                    ..RestError::new(429, 0, "You are being rate limited.")
                });
            }
        };
        let channel = self.channels.get(&id);
        let Some(channel) = channel else {
            return Err(RestError::new(404, 10_003, "Unknown Channel"));
        };
        if let Some((status, code, words)) = &channel.refusal {
            return Err(RestError::new(*status, *code, words.as_str()));
        }
        let answer = match call.route {
            "channel" => ok(self.channel_json(id).unwrap_or_default()),
            "messages" => self.list_messages(id, call.query),
            "createMessage" => self.create_message(id, &call.body),
            "editMessage" => self.edit_message(id, read_id(call.ids.get(1))?, &call.body),
            "deleteMessage" => self.delete_message(id, read_id(call.ids.get(1))?),
            _ => no_content(),
        };
        answer.map(|answer| RestAnswer { left: Some(left), ..answer })
    }

    fn list_messages(&self, channel: u64, query: &str) -> Result<RestAnswer, RestError> {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let limit = value("limit").unwrap_or(50);
        if !(1..=100).contains(&limit) {
            return Err(RestError::form("limit: from 1 to 100".to_owned()));
        }
        let Some(known) = self.channels.get(&channel) else { return ok(json!([])) };
        let after = known.messages.range(value("after").map_or(0, |after| after + 1)..);
        // Those right behind the id, the newest first.
        let mut ids: Vec<u64> = match value("after") {
            Some(_) => after.take(limit as usize).map(|(id, _)| *id).collect(),
            None => after.rev().take(limit as usize).map(|(id, _)| *id).collect(),
        };
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ok(ids.iter().filter_map(|id| self.message_json(channel, *id)).collect())
    }

    fn create_message(&mut self, channel: u64, body: &Value) -> Result<RestAnswer, RestError> {
        check_fields(
            body,
            &[
                "content",
                "nonce",
                "enforce_nonce",
                "allowed_mentions",
                "message_reference",
                "components",
                "flags",
            ],
        )?;
        let text = check_content(body)?;
        let nonce = check_nonce(body)?;
        let buttons = check_components(&body["components"])?;
        let known = &self.channels[&channel];
        if let Some(nonce) = nonce.as_ref().filter(|_| body["enforce_nonce"] == true)
            && let Some(earlier) = find_nonce(known, nonce)
        {
            return ok(self.message_json(channel, earlier).unwrap_or_default());
        }
        let answers = check_reference(known, channel, &body["message_reference"])?;
        let mut message = self.blank_message(bot(), &text);
        message.answers = answers;
        message.buttons = buttons;
        message.components = body.get("components").cloned().unwrap_or_else(|| json!([]));
        message.nonce = nonce.map(|nonce| (nonce, Instant::now()));
        let id = message.id;
        self.put_message(channel, message);
        ok(self.message_json(channel, id).unwrap_or_default())
    }

    fn edit_message(
        &mut self,
        channel: u64,
        id: u64,
        body: &Value,
    ) -> Result<RestAnswer, RestError> {
        check_fields(body, &["content", "allowed_mentions", "components", "flags"])?;
        let text = check_content(body)?;
        let buttons = check_components(&body["components"])?;
        let message = self.channels.get_mut(&channel).and_then(|it| it.messages.get_mut(&id));
        let Some(message) = message else {
            return Err(RestError::new(404, 10_008, "Unknown Message"));
        };
        if !message.is_from_bot {
            return Err(RestError::mistake(
                50_005,
                "Cannot edit a message authored by another user",
            ));
        }
        message.before.push(std::mem::replace(&mut message.text, text));
        message.buttons = buttons;
        message.components = body.get("components").cloned().unwrap_or_else(|| json!([]));
        if let Some(event) = self.message_event(channel, id) {
            self.dispatch("MESSAGE_UPDATE", event);
        }
        ok(self.message_json(channel, id).unwrap_or_default())
    }

    fn delete_message(&mut self, channel: u64, id: u64) -> Result<RestAnswer, RestError> {
        let messages = self.channels.get_mut(&channel).map(|it| &mut it.messages);
        match messages.and_then(|messages| messages.remove(&id)) {
            Some(message) if message.is_from_bot => no_content(),
            Some(_) => Err(RestError::mistake(50_013, "Missing Permissions")),
            None => Err(RestError::new(404, 10_008, "Unknown Message")),
        }
    }

    fn answer_interaction(&mut self, call: &RestCall<'_>) -> Result<RestAnswer, RestError> {
        let id = read_id(call.ids.first())?;
        let next = self.answers.len();
        let known = self.interactions.get_mut(&id);
        let Some(known) = known.filter(|known| Some(&known.token.as_str()) == call.ids.get(1))
        else {
            return Err(RestError::new(404, 10_062, "Unknown interaction"));
        };
        if known.begun.elapsed() > FIRST_ANSWER {
            return Err(RestError::new(404, 10_062, "Unknown interaction"));
        }
        if known.answer.is_some() {
            let words = "Interaction has already been acknowledged.";
            return Err(RestError::mistake(40_060, words));
        }
        let (kind, text, is_ephemeral) = check_callback(&call.body, known.is_button)?;
        known.answer = Some(next);
        let channel = known.channel;
        self.answers.push(DiscordInteractionAnswer { text: text.clone(), is_ephemeral });
        if kind == 4 && !is_ephemeral {
            let mut echo = self.blank_message(bot(), &text);
            echo.is_echo = true;
            self.put_message(channel, echo);
        }
        no_content()
    }

    fn edit_original(&mut self, call: &RestCall<'_>) -> Result<RestAnswer, RestError> {
        check_fields(&call.body, &["content", "allowed_mentions"])?;
        let text = check_content(&call.body)?;
        let token = call.ids.get(1).copied().unwrap_or_default();
        let known = self.interactions.values().find(|known| known.token == token);
        let answer = known.and_then(|known| known.answer);
        let Some(answer) = answer.and_then(|answer| self.answers.get_mut(answer)) else {
            return Err(RestError::new(404, 10_015, "Unknown Webhook"));
        };
        answer.text = text;
        ok(json!({"id": "1"}))
    }
}

fn read_id(id: Option<&&str>) -> Result<u64, RestError> {
    let id = id.and_then(|id| id.parse().ok());
    id.ok_or_else(|| RestError::form("an id is no number".to_owned()))
}

fn find_nonce(channel: &FakeChannel, nonce: &str) -> Option<u64> {
    let is_it = |known: &Option<(String, Instant)>| {
        known.as_ref().is_some_and(|(known, at)| known == nonce && at.elapsed() < NONCE_MEMORY)
    };
    channel.messages.values().find(|message| is_it(&message.nonce)).map(|message| message.id)
}

/// The message that another one answers.
fn check_reference(
    channel: &FakeChannel,
    id: u64,
    reference: &Value,
) -> Result<Option<u64>, RestError> {
    if reference.is_null() {
        return Ok(None);
    }
    check_fields(reference, &["message_id", "channel_id", "fail_if_not_exists"])?;
    let answered: Option<u64> = reference["message_id"].as_str().and_then(|id| id.parse().ok());
    let is_here = reference["channel_id"].as_str().is_none_or(|here| here == id.to_string());
    match answered {
        Some(answered) if is_here && channel.messages.contains_key(&answered) => Ok(Some(answered)),
        Some(_) if reference["fail_if_not_exists"] == false => Ok(None),
        _ => Err(RestError::form("message_reference: Unknown message".to_owned())),
    }
}
