//! The server, its channels, the people who write there, and the events that sessions are sent.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::FakeDiscord;
use super::limits::RateLimits;

/// The first second of Discord's clock, in milliseconds.
const EPOCH: u64 = 1_420_070_400_000;

/// A time that messages are from, as Discord writes it.
const TIMESTAMP: &str = "2026-11-17T10:00:00.000000+00:00";

/// Kinds of channels.
pub(super) const TEXT_CHANNEL: u8 = 0;
pub(super) const DIRECT_MESSAGE: u8 = 1;
pub(super) const PUBLIC_THREAD: u8 = 11;

/// Somebody who writes to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct DiscordPerson {
    pub id: u64,
    pub name: String,
    pub is_bot: bool,
}

impl DiscordPerson {
    /// A person of this id and name.
    pub fn new(id: u64, name: &str) -> Self {
        DiscordPerson { id, name: name.to_owned(), is_bot: false }
    }

    /// The channel in which they write to the bot in private.
    pub fn direct(&self) -> u64 {
        900_000_000 + self.id
    }

    fn json(&self) -> Value {
        let name = (!self.name.is_empty()).then_some(&self.name);
        let mut user = json!({
            "id": self.id.to_string(), "username": format!("user{}", self.id),
            "global_name": name, "discriminator": "0", "avatar": null,
        });
        if self.is_bot {
            user["bot"] = json!(true);
        }
        user
    }
}

/// A message that stands in a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscordChatMessage {
    /// Its id.
    pub id: u64,
    /// Whether the bot wrote it.
    pub is_from_bot: bool,
    /// What it says now, in Discord's Markdown.
    pub text: String,
    /// What it said before, each time that it was changed.
    pub before: Vec<String>,
    /// The message that it shows as what it answers.
    pub answers: Option<u64>,
    /// What is written on the buttons below it.
    pub buttons: Vec<String>,
    /// Whether it answers a command at once, as Discord shows it below that command.
    pub is_echo: bool,
    pub(super) author: DiscordPerson,
    pub(super) components: Value,
    pub(super) nonce: Option<(String, Instant)>,
    pub(super) attachments: Value,
}

/// A channel and what became of it.
#[derive(Debug)]
pub(super) struct FakeChannel {
    pub(super) kind: u8,
    pub(super) name: String,
    pub(super) parent: Option<u64>,
    pub(super) messages: BTreeMap<u64, DiscordChatMessage>,
    /// Why nothing can be done here: status, code and words.
    pub(super) refusal: Option<(u16, u32, String)>,
}

/// Something that somebody did with a command or a button.
#[derive(Debug)]
pub(super) struct FakeInteraction {
    pub(super) token: String,
    pub(super) channel: u64,
    pub(super) begun: Instant,
    /// How it was answered: the number of the answer in the list.
    pub(super) answer: Option<usize>,
    pub(super) is_button: bool,
}

/// What somebody was told who used a command or pressed a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscordInteractionAnswer {
    /// What they read; nothing while they are told to wait.
    pub text: String,
    /// Whether nobody else sees it.
    pub is_ephemeral: bool,
}

/// What a session was sent, whether anybody is connected or not.
#[derive(Debug)]
pub(super) struct FakeSession {
    pub(super) intents: u64,
    pub(super) events: Vec<Value>,
    pub(super) is_valid: bool,
}

/// What a connection is told to do beside events.
#[derive(Debug, Clone, Copy)]
pub(super) enum GatewayOrder {
    Reconnect,
    Invalidate,
    Close(u16),
    Cut,
}

#[derive(Debug)]
pub(super) struct DiscordWorld {
    pub(super) channels: BTreeMap<u64, FakeChannel>,
    pub(super) sessions: BTreeMap<String, FakeSession>,
    pub(super) connections: BTreeMap<u64, VecDeque<GatewayOrder>>,
    pub(super) next_number: u64,
    last_id: u64,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) interactions: BTreeMap<u64, FakeInteraction>,
    pub(super) answers: Vec<DiscordInteractionAnswer>,
    pub(super) commands: Vec<Value>,
    pub(super) rejections: Vec<String>,
    pub(super) calls: Vec<String>,
    pub(super) identifies: Vec<Instant>,
    pub(super) resumes: usize,
    pub(super) heartbeats: usize,
    pub(super) is_token_valid: bool,
    pub(super) allowed_intents: u64,
    pub(super) acknowledges: bool,
    pub(super) heartbeat: Duration,
    /// Events that are held back, in order.
    pub(super) held: Option<Vec<(String, Value)>>,
    pub(super) faults: Vec<(String, u16, usize)>,
    pub(super) limits: RateLimits,
}

impl Default for DiscordWorld {
    fn default() -> Self {
        DiscordWorld {
            channels: BTreeMap::new(),
            sessions: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_number: 1,
            last_id: 0,
            files: BTreeMap::new(),
            interactions: BTreeMap::new(),
            answers: Vec::new(),
            commands: Vec::new(),
            rejections: Vec::new(),
            calls: Vec::new(),
            identifies: Vec::new(),
            resumes: 0,
            heartbeats: 0,
            is_token_valid: true,
            allowed_intents: u64::MAX,
            acknowledges: true,
            heartbeat: Duration::from_millis(41_250),
            held: None,
            faults: Vec::new(),
            limits: RateLimits::default(),
        }
    }
}

impl DiscordWorld {
    /// A new id: later ones are larger, and each has the time in it.
    pub(super) fn new_id(&mut self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(EPOCH).saturating_sub(EPOCH);
        self.last_id = (self.last_id + 1).max(now << 22);
        self.last_id
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn add_channel(&mut self, id: u64, kind: u8, name: &str, parent: Option<u64>) {
        self.channels.entry(id).or_insert_with(|| FakeChannel {
            kind,
            name: name.to_owned(),
            parent,
            messages: BTreeMap::new(),
            refusal: None,
        });
    }

    pub(super) fn messages(&self, channel: u64) -> Vec<DiscordChatMessage> {
        self.channels
            .get(&channel)
            .map_or_else(Vec::new, |channel| channel.messages.values().cloned().collect())
    }

    /// Somebody writes something; what else is in the message is given as its fields.
    pub(super) fn say(
        &mut self,
        person: &DiscordPerson,
        channel: u64,
        text: &str,
        more: &Value,
    ) -> u64 {
        let kind = if channel == person.direct() { DIRECT_MESSAGE } else { TEXT_CHANNEL };
        self.add_channel(channel, kind, "general", None);
        let mut message = self.blank_message(person.clone(), text);
        message.answers = more["answers"].as_u64();
        message.attachments = more.get("attachments").cloned().unwrap_or_else(|| json!([]));
        let id = message.id;
        self.put_message(channel, message);
        id
    }

    pub(super) fn blank_message(
        &mut self,
        author: DiscordPerson,
        text: &str,
    ) -> DiscordChatMessage {
        DiscordChatMessage {
            id: self.new_id(),
            is_from_bot: author == bot(),
            text: text.to_owned(),
            before: Vec::new(),
            answers: None,
            buttons: Vec::new(),
            is_echo: false,
            author,
            components: json!([]),
            nonce: None,
            attachments: json!([]),
        }
    }

    /// Puts a message into a channel, and tells the sessions.
    pub(super) fn put_message(&mut self, channel: u64, message: DiscordChatMessage) {
        let id = message.id;
        if let Some(channel) = self.channels.get_mut(&channel) {
            channel.messages.insert(id, message);
        }
        if let Some(event) = self.message_event(channel, id) {
            self.dispatch("MESSAGE_CREATE", event);
        }
    }

    /// A message as the gateway sends it.
    pub(super) fn message_event(&self, channel: u64, id: u64) -> Option<Value> {
        let mut event = self.message_json(channel, id)?;
        if self.channels.get(&channel)?.kind != DIRECT_MESSAGE {
            event["guild_id"] = json!(FakeDiscord::GUILD.to_string());
            event["member"] = json!({"nick": null, "roles": [], "joined_at": TIMESTAMP,
                "deaf": false, "mute": false, "flags": 0});
        }
        Some(event)
    }

    /// A message as Discord writes it.
    pub(super) fn message_json(&self, channel: u64, id: u64) -> Option<Value> {
        let message = self.channels.get(&channel)?.messages.get(&id)?;
        let mut json = plain_message(channel, message);
        if let Some(answered) = message.answers {
            json["type"] = json!(19);
            json["message_reference"] = json!({
                "type": 0, "channel_id": channel.to_string(), "message_id": answered.to_string(),
            });
            let answered = self.channels.get(&channel)?.messages.get(&answered);
            json["referenced_message"] =
                answered.map_or(Value::Null, |it| plain_message(channel, it));
            // Who answers somebody names them.
            if let (Some(it), Some(mentions)) = (answered, json["mentions"].as_array_mut()) {
                mentions.push(it.author.json());
            }
        }
        if let Some((nonce, _)) = &message.nonce {
            json["nonce"] = json!(nonce);
        }
        Some(json)
    }

    /// Somebody presses a button below a message, by what is written on it.
    pub(super) fn press(
        &mut self,
        person: &DiscordPerson,
        channel: u64,
        message: u64,
        label: &str,
    ) {
        let below = &self.channels[&channel].messages[&message];
        let rows = below.components.as_array().into_iter().flatten();
        let mut buttons = rows.filter_map(|row| row["components"].as_array()).flatten();
        let button = buttons.find(|button| button["label"] == label);
        let custom_id =
            button.unwrap_or_else(|| panic!("no button `{label}` below {below:?}"))["custom_id"]
                .clone();
        let shown = self.message_json(channel, message);
        let data = json!({"custom_id": custom_id, "component_type": 2});
        let more = json!({"type": 3, "data": data, "message": shown});
        self.interact(person, channel, more);
    }

    /// Somebody uses a command of the bot.
    pub(super) fn command(&mut self, person: &DiscordPerson, channel: u64, name: &str, text: &str) {
        let kind = if channel == person.direct() { DIRECT_MESSAGE } else { TEXT_CHANNEL };
        self.add_channel(channel, kind, "general", None);
        let known = self.commands.iter().find(|command| command["name"] == name);
        let known = known.unwrap_or_else(|| panic!("no command `{name}`")).clone();
        let option = known["options"].as_array().and_then(|options| options.first());
        let options = match (option, text) {
            (_, "") => json!([]),
            (Some(option), text) => json!([{"name": option["name"], "type": 3, "value": text}]),
            (None, _) => panic!("`{name}` takes nothing"),
        };
        let data = json!({"id": "1", "name": name, "type": 1, "options": options});
        self.interact(person, channel, json!({"type": 2, "data": data}));
    }

    /// Somebody who has the bot wherever they are uses a command among others. Whether Discord
    /// offers it there does not matter: it may have been registered otherwise before.
    pub(super) fn command_among_others(&mut self, person: &DiscordPerson, name: &str) {
        let channel = person.direct() + 1;
        self.add_channel(channel, DIRECT_MESSAGE, "others", None);
        let data = json!({"id": "1", "name": name, "type": 1, "options": []});
        let place = json!({"type": 2, "data": data, "context": 2});
        self.interact(person, channel, place);
    }

    fn interact(&mut self, person: &DiscordPerson, channel: u64, mut event: Value) {
        let id = self.new_id();
        let token = format!("token-of-{id}");
        let kind = self.channels[&channel].kind;
        event["id"] = json!(id.to_string());
        event["application_id"] = json!(FakeDiscord::APPLICATION.to_string());
        event["token"] = json!(token);
        event["version"] = json!(1);
        event["channel_id"] = json!(channel.to_string());
        event["channel"] = self.channel_json(channel).unwrap_or_default();
        if kind == DIRECT_MESSAGE {
            event["user"] = person.json();
        } else {
            event["guild_id"] = json!(FakeDiscord::GUILD.to_string());
            event["member"] = json!({"user": person.json(), "nick": null, "roles": []});
        }
        let is_button = event["type"] == 3;
        let begun = Instant::now();
        let interaction = FakeInteraction { token, channel, begun, answer: None, is_button };
        self.interactions.insert(id, interaction);
        self.dispatch("INTERACTION_CREATE", event);
    }

    pub(super) fn channel_json(&self, id: u64) -> Option<Value> {
        let channel = self.channels.get(&id)?;
        let last = channel.messages.keys().next_back().map(u64::to_string);
        let mut json = json!({"id": id.to_string(), "type": channel.kind, "last_message_id": last});
        if channel.kind == DIRECT_MESSAGE {
            json["recipients"] = json!([]);
        } else {
            json["name"] = json!(channel.name);
            json["guild_id"] = json!(FakeDiscord::GUILD.to_string());
            json["parent_id"] = json!(channel.parent.map(|parent| parent.to_string()));
        }
        Some(json)
    }

    /// The server with its channels, as a session is told when it begins.
    pub(super) fn guild_json(&self) -> Value {
        let of_kind = |kind: u8| -> Vec<Value> {
            let ids = self.channels.iter().filter(|(_, channel)| channel.kind == kind);
            ids.filter_map(|(id, _)| self.channel_json(*id)).collect()
        };
        json!({
            "id": FakeDiscord::GUILD.to_string(), "name": "A server",
            "channels": of_kind(TEXT_CHANNEL), "threads": of_kind(PUBLIC_THREAD),
            "roles": roles_json(),
        })
    }

    /// Tells every session that wants it.
    pub(super) fn dispatch(&mut self, name: &str, event: Value) {
        if let Some(held) = &mut self.held {
            return held.push((name.to_owned(), event));
        }
        for session in self.sessions.values_mut().filter(|session| session.is_valid) {
            session.dispatch(name, event.clone());
        }
    }

    /// Sends what was held back, the last first.
    pub(super) fn release_reversed(&mut self) {
        let held = self.held.take().unwrap_or_default();
        for (name, event) in held.into_iter().rev() {
            self.dispatch(&name, event);
        }
    }

    /// Tells of every message of people again, as a server does that lost track.
    pub(super) fn deliver_again(&mut self) {
        let all: Vec<(u64, u64)> = self
            .channels
            .iter()
            .flat_map(|(channel, it)| it.messages.keys().map(move |id| (*channel, *id)))
            .collect();
        for (channel, id) in all {
            if let Some(event) = self.message_event(channel, id) {
                self.dispatch("MESSAGE_CREATE", event);
            }
        }
    }

    /// The status with which this call fails, if the test wants that.
    pub(super) fn take_fault(&mut self, route: &str) -> Option<u16> {
        let fault = self.faults.iter_mut().find(|(of, _, left)| of == route && *left > 0)?;
        fault.2 -= 1;
        Some(fault.1)
    }

    pub(super) fn order(&mut self, order: GatewayOrder) {
        self.connections.values_mut().for_each(|orders| orders.push_back(order));
    }
}

/// What sessions have to ask for to be told of something.
mod intents {
    pub(super) const GUILDS: u64 = 1;
    pub(super) const GUILD_MESSAGES: u64 = 1 << 9;
    pub(super) const DIRECT_MESSAGES: u64 = 1 << 12;
    pub(super) const MESSAGE_CONTENT: u64 = 1 << 15;
}

impl FakeSession {
    /// Adds an event, if the session asked for its kind, with what it may see of it.
    pub(super) fn dispatch(&mut self, name: &str, mut event: Value) {
        let is_direct = event.get("guild_id").is_none();
        let wanted = match name {
            "MESSAGE_CREATE" | "MESSAGE_UPDATE" if is_direct => intents::DIRECT_MESSAGES,
            "MESSAGE_CREATE" | "MESSAGE_UPDATE" => intents::GUILD_MESSAGES,
            "GUILD_CREATE" => intents::GUILDS,
            _ => 0,
        };
        if self.intents & wanted != wanted {
            return;
        }
        if name.starts_with("MESSAGE_") && !is_direct && !self.may_read(&event) {
            event["content"] = json!("");
            event["attachments"] = json!([]);
            event["components"] = json!([]);
        }
        let sequence = self.events.len() + 1;
        self.events.push(json!({"op": 0, "t": name, "s": sequence, "d": event}));
    }

    /// Whether it may see what people wrote in a message: its own, and those that name it.
    fn may_read(&self, message: &Value) -> bool {
        let own = json!(FakeDiscord::BOT.to_string());
        let mut mentions = message["mentions"].as_array().into_iter().flatten();
        self.intents & intents::MESSAGE_CONTENT != 0
            || message["author"]["id"] == own
            || mentions.any(|user| user["id"] == own)
    }
}

/// The bot itself.
pub(super) fn bot() -> DiscordPerson {
    DiscordPerson { id: FakeDiscord::BOT, name: "Recto".to_owned(), is_bot: true }
}

pub(super) fn bot_json() -> Value {
    let mut user = bot().json();
    user["username"] = json!(FakeDiscord::USERNAME);
    user
}

fn plain_message(channel: u64, message: &DiscordChatMessage) -> Value {
    let edited = (!message.before.is_empty()).then_some(TIMESTAMP);
    json!({
        "id": message.id.to_string(), "channel_id": channel.to_string(), "type": 0,
        "author": message.author.json(), "content": message.text, "timestamp": TIMESTAMP,
        "edited_timestamp": edited, "tts": false, "mention_everyone": false,
        "mentions": mentioned(&message.text), "mention_roles": mentioned_roles(&message.text),
        "embeds": [],
        "attachments": message.attachments, "components": message.components,
        "pinned": false, "flags": 0,
    })
}

/// The roles of the server: everybody's, the bot's own, and one that people can be given.
pub(super) fn roles_json() -> Value {
    let role = |id: u64, name: &str, tags: Option<Value>| {
        let mut role = json!({"id": id.to_string(), "name": name, "managed": tags.is_some(),
            "mentionable": false, "permissions": "0", "position": 0});
        if let Some(tags) = tags {
            role["tags"] = tags;
        }
        role
    };
    let own = json!({"bot_id": FakeDiscord::BOT.to_string()});
    json!([
        role(FakeDiscord::GUILD, "@everyone", None),
        role(FakeDiscord::ROLE, FakeDiscord::USERNAME, Some(own)),
        role(FakeDiscord::ROLE + 1, "helpers", None),
    ])
}

/// The roles that a text names by their ids.
fn mentioned_roles(text: &str) -> Vec<String> {
    let named = text.split("<@&").skip(1).filter_map(|rest| rest.split_once('>'));
    named.filter_map(|(id, _)| id.parse::<u64>().ok()).map(|id| id.to_string()).collect()
}

/// The people whom a text names by their ids.
fn mentioned(text: &str) -> Vec<Value> {
    let named = text.split("<@").skip(1).filter_map(|rest| rest.split_once('>'));
    let ids = named.filter_map(|(id, _)| id.trim_start_matches('!').parse::<u64>().ok());
    let user = |id: u64| if id == FakeDiscord::BOT { bot() } else { DiscordPerson::new(id, "") };
    ids.map(|id| user(id).json()).collect()
}
