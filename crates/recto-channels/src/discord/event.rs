//! What of Discord's events matters, in the form that all services share. Pure.
//!
//! Only the fields that are needed are read, so that what Discord adds to its events changes
//! nothing.

use std::collections::HashMap;

use serde::Deserialize;

use super::{ChannelMode, ChannelModes, DiscordIdentity};
use crate::access::ChannelSender;
use crate::incoming::{
    IncomingEvent, IncomingFile, IncomingMessage, IncomingPlace, IncomingPress, Legibility,
    MOST_QUOTED, QuotedMessage,
};

/// The kinds of messages that people write: plain ones, and answers.
const WRITTEN: [u8; 2] = [0, 19];

/// The private conversations of several people, in which no bot is: as kinds of channels and of
/// contexts.
const GROUP_MESSAGES: u8 = 3;
const PRIVATE_CHANNEL: u8 = 2;

/// The kinds of channels that are threads.
const THREADS: [u8; 3] = [10, 11, 12];

/// A payload of the gateway.
#[derive(Debug, Deserialize)]
pub(super) struct GatewayPayload {
    pub(super) op: u8,
    #[serde(rename = "t")]
    pub(super) name: Option<String>,
    #[serde(rename = "d", default)]
    pub(super) data: serde_json::Value,
}

/// What a session is told when it begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReadyEvent {
    pub(super) guilds: Vec<GuildEvent>,
}

/// A server with its channels, as a session is told of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GuildEvent {
    pub(super) id: String,
    pub(super) channels: Vec<ChannelEvent>,
    pub(super) threads: Vec<ChannelEvent>,
    pub(super) roles: Vec<RoleEvent>,
}

/// A role of a server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RoleEvent {
    id: String,
    tags: RoleTags,
}

/// Whose a role is that nobody can be given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RoleTags {
    bot_id: Option<String>,
}

/// A channel or a thread.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelEvent {
    pub(super) id: String,
    #[serde(rename = "type")]
    kind: u8,
    name: Option<String>,
    parent_id: Option<String>,
    pub(super) last_message_id: Option<String>,
}

/// Something that somebody wrote.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageEvent {
    pub(super) id: String,
    pub(super) channel_id: String,
    pub(super) guild_id: Option<String>,
    #[serde(rename = "type")]
    kind: u8,
    author: UserEvent,
    member: Option<MemberEvent>,
    webhook_id: Option<String>,
    content: String,
    mentions: Vec<UserEvent>,
    pub(super) mention_roles: Vec<String>,
    attachments: Vec<AttachmentEvent>,
    sticker_items: Vec<StickerEvent>,
    referenced_message: Option<Box<MessageEvent>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct UserEvent {
    id: String,
    username: String,
    global_name: Option<String>,
    bot: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MemberEvent {
    nick: Option<String>,
    user: Option<UserEvent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AttachmentEvent {
    filename: String,
    content_type: Option<String>,
    size: u64,
    url: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StickerEvent {
    name: String,
}

/// A command that somebody used, or a button that they pressed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionEvent {
    pub(super) id: String,
    pub(super) token: String,
    #[serde(rename = "type")]
    kind: u8,
    data: InteractionData,
    pub(super) guild_id: Option<String>,
    pub(super) channel_id: String,
    channel: ChannelEvent,
    /// Where it was done: a server, the direct messages with the bot, or a private conversation of
    /// others.
    context: Option<u8>,
    member: Option<MemberEvent>,
    user: Option<UserEvent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InteractionData {
    name: String,
    custom_id: String,
    options: Vec<InteractionOption>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InteractionOption {
    value: serde_json::Value,
}

impl InteractionEvent {
    /// Whether it was done where neither a server is nor the bot alone.
    fn is_among_others(&self) -> bool {
        self.guild_id.is_none()
            && (self.context == Some(PRIVATE_CHANNEL) || self.channel.kind == GROUP_MESSAGES)
    }
}

/// What is known of a channel of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct KnownChannel {
    pub(super) name: Option<String>,
    /// The channel that a thread belongs to.
    pub(super) parent: Option<String>,
}

/// The channels of servers that the bot has heard of, by their ids.
pub(super) type ChannelDirectory = HashMap<String, KnownChannel>;

/// The bot's own role in each server, as far as it is known: Discord makes one of the bot's name
/// when it is invited, and people pick it for the bot itself.
pub(super) type OwnRoles = HashMap<String, Option<String>>;

/// The role that is the bot's own, of all roles of a server.
pub(super) fn find_own_role(roles: Vec<RoleEvent>, me: &DiscordIdentity) -> Option<String> {
    let mut roles = roles.into_iter();
    roles.find(|role| role.tags.bot_id.as_ref() == Some(&me.id)).map(|role| role.id)
}

impl ChannelEvent {
    /// What is kept of it. Categories, the parents of channels, mean nothing here.
    pub(super) fn known(&self) -> KnownChannel {
        let is_thread = THREADS.contains(&self.kind);
        let parent = self.parent_id.clone().filter(|_| is_thread);
        KnownChannel { name: self.name.clone(), parent }
    }

    /// Whether people write there.
    pub(super) fn has_messages(&self) -> bool {
        // Texts and news, and what is said beside voices.
        [0, 2, 5].contains(&self.kind) || THREADS.contains(&self.kind)
    }
}

/// Reads events for a bot.
pub(super) struct DiscordEventReader<'a> {
    pub(super) me: &'a DiscordIdentity,
    pub(super) modes: &'a ChannelModes,
    pub(super) directory: &'a ChannelDirectory,
    pub(super) roles: &'a OwnRoles,
}

/// What an interaction asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadInteraction {
    /// A command, with what is shown of it.
    Command { event: IncomingEvent, shown: String },
    /// A button.
    Press(IncomingEvent),
    /// Something in a channel where the bot is switched off.
    Off,
    /// Something in a private conversation of several people, who would all read the answer.
    AmongOthers,
}

impl DiscordEventReader<'_> {
    /// What somebody wrote, if it matters.
    pub(super) fn read_message(&self, message: &MessageEvent) -> Option<IncomingEvent> {
        // Two bots that answer each other would never end.
        let is_person = !message.author.bot && message.webhook_id.is_none();
        if !is_person || !WRITTEN.contains(&message.kind) {
            return None;
        }
        let place = self.place(&message.channel_id, message.guild_id.as_deref());
        let mode = self.mode(&place);
        if mode == ChannelMode::Off {
            return None;
        }
        let files = read_files(message);
        let is_named_by_role = self.own_role(message).is_some();
        let is_empty = message.content.trim().is_empty() && files.is_empty();
        if is_empty && !is_named_by_role {
            return None;
        }
        let answered = message.referenced_message.as_deref();
        let is_answer = answered.is_some_and(|other| other.author.id == self.me.id);
        let is_named =
            is_named_by_role || message.mentions.iter().any(|user| user.id == self.me.id);
        let is_addressed = mode == ChannelMode::AllMessages || is_answer || is_named;
        let quoted = answered.filter(|other| other.author.id != self.me.id);
        Some(IncomingEvent::Message(IncomingMessage {
            place,
            id: message.id.clone(),
            sender: sender(&message.author, message.member.as_ref()),
            text: self.readable(message),
            files,
            is_addressed,
            // Discord shows it to those alone whom it names themselves.
            legibility: if is_empty { Legibility::Hidden } else { Legibility::Readable },
            quoted: quoted.filter(|other| !other.content.trim().is_empty()).map(|other| {
                let text = self.readable(other).chars().take(MOST_QUOTED).collect();
                QuotedMessage { speaker: sender(&other.author, None).name, text }
            }),
        }))
    }

    /// What somebody did with a command or a button, if it is one of ours.
    pub(super) fn read_interaction(&self, it: &InteractionEvent) -> Option<ReadInteraction> {
        let user = it.user.as_ref().or(it.member.as_ref().and_then(|member| member.user.as_ref()));
        let sender = sender(user?, it.member.as_ref());
        if it.is_among_others() {
            return Some(ReadInteraction::AmongOthers);
        }
        let place = self.place(&it.channel_id, it.guild_id.as_deref());
        if self.mode(&place) == ChannelMode::Off {
            return Some(ReadInteraction::Off);
        }
        match it.kind {
            2 => {
                let value = it.data.options.first().and_then(|option| option.value.as_str());
                let text = format!("/{} {}", it.data.name, value.unwrap_or_default());
                let text = text.trim_end().to_owned();
                let event = IncomingEvent::Message(IncomingMessage {
                    place,
                    // No message stands there that could be answered.
                    id: format!("interaction-{}", it.id),
                    sender,
                    text: text.clone(),
                    files: Vec::new(),
                    is_addressed: true,
                    legibility: Legibility::Readable,
                    quoted: None,
                });
                Some(ReadInteraction::Command { event, shown: text })
            }
            3 => Some(ReadInteraction::Press(IncomingEvent::Press(IncomingPress {
                id: format!("{}:{}", it.id, it.token),
                place,
                sender,
                data: it.data.custom_id.clone(),
            }))),
            _ => None,
        }
    }

    fn place(&self, channel: &str, guild: Option<&str>) -> IncomingPlace {
        let Some(guild) = guild else {
            return IncomingPlace { chat: channel.to_owned(), ..IncomingPlace::default() };
        };
        let known = self.directory.get(channel).cloned().unwrap_or_default();
        let group = known.name.map_or_else(|| "a channel".to_owned(), |name| format!("#{name}"));
        let (chat, thread) = match known.parent {
            Some(parent) => (parent, Some(channel.to_owned())),
            None => (channel.to_owned(), None),
        };
        IncomingPlace { chat, thread, group: Some(group), within: vec![guild.to_owned()] }
    }

    /// When the bot answers in a place. In private it always does.
    fn mode(&self, place: &IncomingPlace) -> ChannelMode {
        match place.group {
            Some(_) => self.modes.mode_of(&place.chat, place.thread.as_deref()),
            None => ChannelMode::AllMessages,
        }
    }

    /// The bot's own role, where a message names it.
    fn own_role(&self, message: &MessageEvent) -> Option<&str> {
        let role = self.roles.get(message.guild_id.as_ref()?)?.as_deref()?;
        message.mention_roles.iter().any(|named| named == role).then_some(role)
    }

    /// A text as people read it: names in place of ids, and without the bot's own at its beginning.
    fn readable(&self, message: &MessageEvent) -> String {
        let mut own = vec![format!("<@{}>", self.me.id), format!("<@!{}>", self.me.id)];
        own.extend(self.own_role(message).map(|role| format!("<@&{role}>")));
        let mut text = message.content.trim();
        while let Some(rest) = own.iter().find_map(|own| text.strip_prefix(own.as_str())) {
            text = rest.trim_start();
        }
        let mut readable = String::with_capacity(text.len());
        while let Some(at) = text.find('<') {
            readable.push_str(&text[..at]);
            let rest = &text[at..];
            let end = rest.find('>').map(|end| end + 1);
            let named = end.and_then(|end| Some((end, self.name_of(&rest[..end], message)?)));
            let (end, name) = named.unwrap_or_else(|| (1, "<".to_owned()));
            readable.push_str(&name);
            text = &rest[end..];
        }
        readable.push_str(text);
        readable
    }

    /// The name that stands for an id, such as `<@123>`, `<#123>` or `<:smile:123>`.
    fn name_of(&self, mark: &str, message: &MessageEvent) -> Option<String> {
        let inner = mark.strip_prefix('<')?.strip_suffix('>')?;
        if let Some(id) = inner.strip_prefix("@&") {
            let is_own = self.own_role(message) == Some(id);
            return is_own.then(|| format!("@{}", self.me.username));
        }
        if let Some(id) = inner.strip_prefix('@') {
            let id = id.trim_start_matches('!');
            if id == self.me.id {
                return Some(format!("@{}", self.me.username));
            }
            let user = message.mentions.iter().find(|user| user.id == id)?;
            return Some(format!("@{}", sender(user, None).name));
        }
        if let Some(id) = inner.strip_prefix('#') {
            let name = self.directory.get(id)?.name.as_ref()?;
            return Some(format!("#{name}"));
        }
        let emoji = inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?;
        let (name, id) = emoji.split_once(':')?;
        id.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!(":{name}:"))
    }
}

/// Somebody, by the name that they go by there.
fn sender(user: &UserEvent, member: Option<&MemberEvent>) -> ChannelSender {
    let nick = member.and_then(|member| member.nick.clone());
    let name = nick.or_else(|| user.global_name.clone()).filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| user.username.clone());
    ChannelSender { id: user.id.clone(), name }
}

fn read_files(message: &MessageEvent) -> Vec<IncomingFile> {
    let attached = message.attachments.iter().map(|file| IncomingFile {
        handle: Some(file.url.clone()),
        name: file.filename.clone(),
        media_type: file
            .content_type
            .as_ref()
            .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_owned()),
        bytes: u32::try_from(file.size).unwrap_or(u32::MAX),
    });
    let stickers = message
        .sticker_items
        .iter()
        .map(|it| IncomingFile::named(format!("a sticker: {}", it.name)));
    attached.chain(stickers).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_with(modes: &ChannelModes, message: Value) -> Option<IncomingMessage> {
        let known = |name: &str, parent: Option<&str>| KnownChannel {
            name: Some(name.to_owned()),
            parent: parent.map(str::to_owned),
        };
        let directory = ChannelDirectory::from([
            ("7".to_owned(), known("general", None)),
            ("8".to_owned(), known("a thread", Some("7"))),
        ]);
        let me =
            DiscordIdentity { id: "42".into(), username: "recto".into(), application: "43".into() };
        let roles = OwnRoles::from([("1".to_owned(), Some("420".to_owned()))]);
        let reader = DiscordEventReader { me: &me, modes, directory: &directory, roles: &roles };
        match reader.read_message(&serde_json::from_value(message).unwrap())? {
            IncomingEvent::Message(message) => Some(message),
            other => panic!("{other:?}"),
        }
    }

    fn read(message: Value) -> Option<IncomingMessage> {
        read_with(&ChannelModes::default(), message)
    }

    #[allow(clippy::needless_pass_by_value, reason = "what is made for it is given away")]
    fn said(content: &str, mentions: Value) -> Value {
        json!({
            "id": "100", "channel_id": "7", "guild_id": "1", "type": 0, "content": content,
            "author": {"id": "5", "username": "ada_l", "global_name": "Ada"},
            "member": {"nick": null}, "mentions": mentions, "attachments": [], "unknown": {},
        })
    }

    fn bot_mention() -> Value {
        json!([{"id": "42", "username": "recto", "bot": true}])
    }

    #[test]
    fn only_what_names_the_bot_is_meant_for_it_unless_all_is() {
        let named = read(said("<@42> hello", bot_mention())).unwrap();
        assert_eq!((named.is_addressed, named.text.as_str()), (true, "hello"));
        let inside = read(said("hello <@!42>!", bot_mention())).unwrap();
        assert_eq!((inside.is_addressed, inside.text.as_str()), (true, "hello @recto!"));
        assert!(!read(said("hello", json!([]))).unwrap().is_addressed);
        let modes = |mode: ChannelMode| ChannelModes {
            default: ChannelMode::MentionOnly,
            channels: [("7".to_owned(), mode)].into(),
        };
        let all = read_with(&modes(ChannelMode::AllMessages), said("hello", json!([]))).unwrap();
        assert!(all.is_addressed);
        assert_eq!(read_with(&modes(ChannelMode::Off), said("<@42> hi", bot_mention())), None);
        let mut answer = said("yes", json!([]));
        answer["type"] = json!(19);
        answer["referenced_message"] =
            json!({"id": "3", "content": "Really?", "author": {"id": "42", "bot": true}});
        let answer = read(answer).unwrap();
        assert!(answer.is_addressed && answer.quoted.is_none());
    }

    #[test]
    fn the_bots_own_role_names_it_and_no_other_role_does() {
        let by_role = |content: &str, role: &str| {
            let mut message = said(content, json!([]));
            message["mention_roles"] = json!([role]);
            message
        };
        let named = read(by_role("<@&420> hello", "420")).unwrap();
        assert_eq!((named.is_addressed, named.text.as_str()), (true, "hello"));
        let inside = read(by_role("you, <@&420>?", "420")).unwrap();
        assert_eq!((inside.is_addressed, inside.text.as_str()), (true, "you, @recto?"));
        let others = read(by_role("<@&421> hello", "421")).unwrap();
        assert_eq!((others.is_addressed, others.text.as_str()), (false, "<@&421> hello"));
        // Without the intent Discord does not show what was said by that name.
        let hidden = read(by_role("", "420")).unwrap();
        assert!(hidden.is_addressed && hidden.legibility == Legibility::Hidden);
        assert_eq!(read(by_role("", "421")), None);
        // Another server's roles are others.
        let mut elsewhere = by_role("<@&420> hello", "420");
        elsewhere["guild_id"] = json!("2");
        assert!(!read(elsewhere).unwrap().is_addressed);
    }

    #[test]
    fn roles_are_told_apart_by_whose_they_are() {
        let roles = json!([
            {"id": "1", "name": "@everyone"},
            {"id": "9", "name": "recto", "tags": {"bot_id": "41"}},
            {"id": "420", "name": "recto", "managed": true, "tags": {"bot_id": "42"}},
            {"id": "7", "tags": {"premium_subscriber": null}},
        ]);
        let me =
            DiscordIdentity { id: "42".into(), username: "recto".into(), application: "43".into() };
        let roles: Vec<RoleEvent> = serde_json::from_value(roles).unwrap();
        assert_eq!(find_own_role(roles, &me).as_deref(), Some("420"));
        assert_eq!(find_own_role(Vec::new(), &me), None);
    }

    #[test]
    fn threads_are_parts_of_their_channels_and_direct_messages_are_private() {
        let mut threaded = said("<@42> hi", bot_mention());
        threaded["channel_id"] = json!("8");
        let place = read(threaded).unwrap().place;
        assert_eq!((place.chat.as_str(), place.thread.as_deref()), ("7", Some("8")));
        assert_eq!(place.within, ["1"]);
        let mut direct = said("hi", json!([]));
        direct.as_object_mut().unwrap().remove("guild_id");
        let direct = read(direct).unwrap();
        assert!(direct.is_addressed && direct.place.group.is_none());
    }

    #[test]
    fn names_stand_for_ids_and_stray_marks_stay() {
        let mentions = json!([{"id": "9", "username": "ben", "global_name": "Ben"}]);
        let text = "ask <@9> in <#7> <:wave:123> <t:1:R> a < b <@10> 👍<";
        let message = read(said(text, mentions)).unwrap();
        assert_eq!(message.text, "ask @Ben in #general :wave: <t:1:R> a < b <@10> 👍<");
    }

    #[test]
    fn bots_webhooks_and_notices_are_not_listened_to() {
        let mut bot = said("hi", json!([]));
        bot["author"]["bot"] = json!(true);
        assert_eq!(read(bot), None);
        let mut webhook = said("hi", json!([]));
        webhook["webhook_id"] = json!("3");
        assert_eq!(read(webhook), None);
        let mut notice = said("", json!([]));
        notice["type"] = json!(7);
        assert_eq!(read(notice), None);
        assert_eq!(read(said("  ", json!([]))), None);
    }

    #[test]
    fn files_come_along_and_what_is_quoted() {
        let mut message = said("<@42> this?", bot_mention());
        message["attachments"] = json!([{"id": "1", "filename": "a.txt", "size": 5,
            "content_type": "text/plain; charset=utf-8", "url": "https://cdn.discordapp.com/a"}]);
        message["referenced_message"] = json!({"id": "3", "content": "noon",
            "author": {"id": "6", "username": "ben"}});
        let message = read(message).unwrap();
        assert_eq!(message.files[0].media_type.as_deref(), Some("text/plain"));
        let quoted = QuotedMessage { speaker: "ben".into(), text: "noon".into() };
        assert_eq!(message.quoted, Some(quoted));
    }
}
