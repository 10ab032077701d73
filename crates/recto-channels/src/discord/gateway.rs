//! Reads what happens from the gateway. The next event is asked for only when the one before is
//! stored; a session that is gone on with after a reconnect or a restart sends what was missed, and
//! what comes twice is known by its id.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use recto_store::{ChannelCursor, Moment};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twilight_gateway::error::ReceiveMessageError;
use twilight_gateway::{ConfigBuilder, Intents, Message, Session, Shard, ShardId};

use super::event::{
    ChannelDirectory, ChannelEvent, DiscordEventReader, GatewayPayload, GuildEvent,
    InteractionEvent, MessageEvent, OwnRoles, ReadInteraction, ReadyEvent, RoleEvent,
    find_own_role,
};
use super::rest::{DiscordRest, RestFailure};
use super::service::DiscordService;
use super::{CHANNEL, DiscordIdentity, DiscordOptions, closing_problem, connection_problem, grown};
use crate::chat_channel::{ReceivedEvent, RunningChat};
use crate::incoming::IncomingEvent;
use crate::supervisor::{ChannelBoard, ChannelProblem, ChannelState};

/// The first and the longest pause while the gateway can't be reached, or the store takes nothing.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A connection that lasted so long was a good one.
const STEADY: Duration = Duration::from_secs(30);

/// How often at most it is written down where a session stands. What came since is sent again
/// after a restart, and known.
const KEEP_PAUSE: Duration = Duration::from_secs(2);

/// The gateway asks for another connection.
const RECONNECT: u8 = 7;

/// The gateway has no such session any more.
const INVALID_SESSION: u8 = 9;

/// How long the servers of a new session are waited for. One that is down tells nothing.
const GUILDS_COME: Duration = Duration::from_secs(60);

/// A connection that ended without a word.
const ABNORMAL_CLOSE: u16 = 1006;

/// With fewer sessions left for the day, none is begun: Discord takes the token from a bot that
/// begins too many.
const FEWEST_SESSIONS: u64 = 10;

/// How often in a row a session may be refused until it is left for later.
const MOST_REFUSALS: u32 = 5;

/// How often something is asked for that the gateway has not told.
const LOOK_UP_TRIES: usize = 3;

/// Reads what the bot is sent.
pub(super) struct DiscordReader {
    pub(super) rest: Arc<DiscordRest>,
    me: DiscordIdentity,
    options: DiscordOptions,
    pub(super) channel: RunningChat<DiscordService>,
    board: ChannelBoard,
    gateway_url: String,
    pub(super) directory: ChannelDirectory,
    roles: OwnRoles,
    /// The newest message that came.
    newest: u64,
    /// Everything up to this message is stored; what is behind it may have been missed.
    pub(super) boundary: u64,
    /// The servers of a new session that have not told of their channels yet, and when it began.
    awaited_guilds: (HashSet<String>, Instant),
    /// Until it is told otherwise, events are those that an earlier process missed.
    replays: bool,
    /// Where the session stands, as far as everything before is stored.
    session: Option<KeptSession>,
    /// When that was last written down without anything else, and what.
    kept: Option<(Instant, u64)>,
    /// How often in a row the gateway could not be reached.
    failures: u32,
    /// How often in a row it had no session for the bot.
    refusals: u32,
    /// Whether the gateway has asked for another connection, so that this one closes.
    is_asked_to_reconnect: bool,
    /// What came while something else was read, in its order.
    pub(super) set_aside: VecDeque<GatewayItem>,
    /// Channels of servers that may hold what was missed.
    pub(super) to_catch_up: Vec<MissedChannel>,
}

/// What a connection gives; nothing when it has ended for good.
pub(super) type GatewayItem = Option<Result<Message, ReceiveMessageError>>;

/// A channel that may hold what was missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissedChannel {
    pub(super) id: String,
    /// The server that it belongs to; nothing in private.
    pub(super) guild: Option<String>,
    /// Its newest message.
    pub(super) newest: u64,
}

/// A session of the gateway, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptSession {
    id: String,
    sequence: u64,
    resume_url: String,
    intents: u64,
}

impl DiscordReader {
    pub(super) async fn new(
        rest: Arc<DiscordRest>,
        me: DiscordIdentity,
        options: DiscordOptions,
        channel: RunningChat<DiscordService>,
        board: ChannelBoard,
    ) -> Result<Self, ChannelProblem> {
        let gateway = rest.get("/gateway/bot").await;
        let gateway = gateway.map_err(|failure| connection_problem(&failure))?;
        let gateway_url = gateway["url"].as_str().unwrap_or_default().trim_end_matches('/');
        if !is_socket(gateway_url) {
            return Err(ChannelProblem::passing("Discord does not say where its gateway is"));
        }
        let left = gateway["session_start_limit"]["remaining"].as_u64();
        if left.is_some_and(|left| left < FEWEST_SESSIONS) {
            let what = "the bot has begun as many sessions as Discord allows in a day";
            return Err(ChannelProblem::passing(what));
        }
        let cursor = channel.host.store.channel_cursor(&channel.account).await;
        let cursor = cursor.map_err(|error| ChannelProblem::passing(error.to_string()))?;
        let (position, resume) = cursor.map(|it| (it.position, it.resume)).unwrap_or_default();
        let boundary = u64::try_from(position).unwrap_or_default();
        let session = resume.and_then(|resume| KeptSession::deserialize(&resume).ok());
        Ok(DiscordReader {
            gateway_url: gateway_url.to_owned(),
            newest: boundary,
            boundary,
            awaited_guilds: (HashSet::new(), Instant::now()),
            rest,
            me,
            options,
            channel,
            board,
            directory: ChannelDirectory::new(),
            roles: OwnRoles::new(),
            replays: false,
            session,
            kept: None,
            failures: 0,
            refusals: 0,
            is_asked_to_reconnect: false,
            set_aside: VecDeque::new(),
            to_catch_up: Vec::new(),
        })
    }

    /// Reads until it can't go on without a person, and says why.
    pub(super) async fn read_events(mut self) -> ChannelProblem {
        let mut pause = PAUSES.0;
        let mut shard = self.open_shard();
        let mut began = Instant::now();
        loop {
            let item = match self.set_aside.pop_front() {
                Some(item) => item,
                None => shard.next().await,
            };
            let problem = match item {
                Some(Ok(Message::Text(text))) => {
                    self.handle_payload(&mut shard, &text).await;
                    if self.refusals > MOST_REFUSALS {
                        return ChannelProblem::passing("Discord's gateway begins no session");
                    }
                    continue;
                }
                Some(Ok(Message::Close(frame))) => {
                    let code = frame.map_or(ABNORMAL_CLOSE, |frame| frame.code);
                    if let Some(problem) = closing_problem(code) {
                        return problem;
                    }
                    // The gateway lets go of connections now and then: that is no problem.
                    let is_usual = std::mem::take(&mut self.is_asked_to_reconnect);
                    if is_usual || began.elapsed() > STEADY {
                        pause = PAUSES.0;
                        began = Instant::now();
                        continue;
                    }
                    let what = format!("Discord's gateway closed the connection ({code})");
                    ChannelProblem::passing(what)
                }
                Some(Err(error)) => {
                    tracing::debug!(channel = CHANNEL, %error, "the gateway");
                    self.failures = self.failures.saturating_add(1);
                    // Its own pauses grow without end.
                    shard = self.open_shard();
                    ChannelProblem::passing("Discord's gateway can't be reached")
                }
                None => return ChannelProblem::passing("Discord's gateway closed for good"),
            };
            self.board.set(CHANNEL, ChannelState::Failing(problem)).await;
            tokio::time::sleep(pause).await;
            pause = grown(pause, PAUSES.1);
            began = Instant::now();
        }
    }

    /// What the bot asks to be told of. What people write without naming it only where it needs
    /// that: Discord gives it on request alone.
    fn intents(&self) -> Intents {
        let always = Intents::GUILDS | Intents::GUILD_MESSAGES | Intents::DIRECT_MESSAGES;
        match self.options.reads_content() {
            true => always | Intents::MESSAGE_CONTENT,
            false => always,
        }
    }

    /// A connection that goes on with the session of before, if there is one.
    fn open_shard(&mut self) -> Shard {
        let token = self.options.token.clone().unwrap_or_default();
        let token = token.trim().trim_start_matches("Bot ").trim().to_owned();
        let config = ConfigBuilder::new(token, self.intents()).proxy_url(self.gateway_url.clone());
        let intents = self.intents().bits();
        let kept = self
            .session
            .clone()
            .filter(|kept| kept.intents == intents && is_socket(&kept.resume_url));
        self.replays = kept.is_some();
        let config = match kept {
            Some(kept) => {
                let config = config.session(Session::new(kept.sequence, kept.id));
                match self.failures {
                    0 => config.resume_url(kept.resume_url).build(),
                    // Where it stood, nobody answers any more.
                    _ => config.build(),
                }
            }
            None => config.build(),
        };
        Shard::with_config(ShardId::ONE, config)
    }

    /// Deals with a payload, as often as it takes the store.
    async fn handle_payload(&mut self, shard: &mut Shard, text: &str) {
        let Ok(payload) = serde_json::from_str::<GatewayPayload>(text) else { return };
        if [RECONNECT, INVALID_SESSION].contains(&payload.op) {
            self.is_asked_to_reconnect = true;
            self.refusals += u32::from(payload.op == INVALID_SESSION);
        }
        let (0, Some(name)) = (payload.op, payload.name.as_deref()) else { return };
        match name {
            "READY" => {
                self.set_running().await;
                self.replays = false;
                self.kept = None;
                let ready = ReadyEvent::deserialize(&payload.data).unwrap_or_default();
                let guilds = ready.guilds.into_iter().map(|guild| guild.id).collect();
                self.awaited_guilds = (guilds, Instant::now());
                if self.boundary > 0 {
                    self.catch_up_in_private(shard).await;
                }
            }
            "RESUMED" => {
                self.set_running().await;
                self.replays = false;
            }
            "GUILD_CREATE" => {
                let guild = GuildEvent::deserialize(&payload.data).unwrap_or_default();
                let id = guild.id.clone();
                self.note_guild(guild);
                self.catch_up(shard).await;
                self.awaited_guilds.0.remove(&id);
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
                if let Ok(channel) = ChannelEvent::deserialize(&payload.data) {
                    self.directory.insert(channel.id.clone(), channel.known());
                }
            }
            "MESSAGE_CREATE" => {
                if let Ok(message) = MessageEvent::deserialize(&payload.data) {
                    self.note_session(shard);
                    self.take_message(&message).await;
                }
            }
            "INTERACTION_CREATE" => {
                if let Ok(interaction) = InteractionEvent::deserialize(&payload.data) {
                    self.note_session(shard);
                    self.take_interaction(&interaction).await;
                }
            }
            _ => {}
        }
        self.note_session(shard);
        self.keep_session().await;
    }

    async fn set_running(&mut self) {
        (self.failures, self.refusals) = (0, 0);
        let account = self.me.username.clone();
        self.board.set(CHANNEL, ChannelState::Running { account, trouble: None }).await;
    }

    /// Whether a new session may still hold something that was missed.
    fn is_catching_up(&self) -> bool {
        let (guilds, since) = &self.awaited_guilds;
        !guilds.is_empty() && since.elapsed() < GUILDS_COME
    }

    fn note_guild(&mut self, guild: GuildEvent) {
        // Every server has roles: where none come along, it is down, and tells nothing.
        if !guild.roles.is_empty() {
            self.roles.insert(guild.id.clone(), find_own_role(guild.roles, &self.me));
        }
        let is_awaited = self.boundary > 0 && self.awaited_guilds.0.contains(&guild.id);
        for channel in guild.channels.into_iter().chain(guild.threads) {
            let newest = channel.last_message_id.as_ref().and_then(|id| id.parse().ok());
            if let Some(newest) = newest.filter(|_| channel.has_messages() && is_awaited) {
                let (id, guild) = (channel.id.clone(), Some(guild.id.clone()));
                self.to_catch_up.push(MissedChannel { id, guild, newest });
            }
            self.directory.insert(channel.id.clone(), channel.known());
        }
    }

    /// Stores what somebody wrote.
    pub(super) async fn take_message(&mut self, message: &MessageEvent) {
        self.find_channel(&message.channel_id, message.guild_id.as_deref()).await;
        self.find_role(message).await;
        let id: u64 = message.id.parse().unwrap_or_default();
        self.newest = self.newest.max(id);
        // As long as something older may come, whoever comes next has to look for it, too.
        if !self.is_catching_up() {
            self.boundary = self.newest;
        }
        let event = self.event_reader().read_message(message);
        if let Some(event) = event.filter(|event| self.matters(event)) {
            self.store_event(format!("message:{id}"), event).await;
        }
    }

    /// Whether something is worth keeping: what is not meant for the bot only where it is wanted.
    fn matters(&self, event: &IncomingEvent) -> bool {
        let is_addressed = !matches!(event, IncomingEvent::Message(it) if !it.is_addressed);
        is_addressed || self.options.policy.context > 0
    }

    /// Stores what somebody did with a command or a button, and tells them at once that it came.
    async fn take_interaction(&mut self, interaction: &InteractionEvent) {
        self.find_channel(&interaction.channel_id, interaction.guild_id.as_deref()).await;
        let Some(read) = self.event_reader().read_interaction(interaction) else { return };
        // One that is sent again is too old to be answered.
        let is_new = !self.replays;
        let service = self.channel.service.clone();
        let (id, token) = (interaction.id.clone(), interaction.token.clone());
        let key = format!("interaction:{id}");
        match read {
            ReadInteraction::Off => {
                let words = "The agent is switched off in this channel.";
                tokio::spawn(async move { service.tell_one(&id, &token, words).await });
            }
            ReadInteraction::AmongOthers => {
                let words = "I answer in servers and in direct messages with me alone, not here.";
                tokio::spawn(async move { service.tell_one(&id, &token, words).await });
            }
            ReadInteraction::Command { event, shown } => {
                self.store_event(key, event).await;
                if is_new {
                    tokio::spawn(async move {
                        service.show_command(&id, &token, &shown).await;
                    });
                }
            }
            ReadInteraction::Press(event) => {
                // It is told to wait before its answer can come.
                if is_new {
                    service.defer_press(&id, &token).await;
                }
                self.store_event(key, event).await;
            }
        }
    }

    fn event_reader(&self) -> DiscordEventReader<'_> {
        DiscordEventReader {
            me: &self.me,
            modes: &self.options.modes,
            directory: &self.directory,
            roles: &self.roles,
        }
    }

    /// Stores something, for as long as it takes: it is not sent again.
    async fn store_event(&self, key: String, event: IncomingEvent) {
        let received = ReceivedEvent { key, event };
        let mut pause = PAUSES.0;
        loop {
            match self.channel.receive(vec![received.clone()], self.cursor()).await {
                Ok(()) => return,
                Err(error) if self.channel.host.is_ending() => {
                    tracing::debug!(channel = CHANNEL, %error, "the program ends");
                    return std::future::pending().await;
                }
                Err(error) => {
                    let problem = ChannelProblem::passing(error.to_string());
                    self.board.set(CHANNEL, ChannelState::Failing(problem)).await;
                    tokio::time::sleep(pause).await;
                    pause = grown(pause, PAUSES.1);
                }
            }
        }
    }

    /// Finds out what a channel of a server is, where the gateway has not told: it tells when a
    /// session begins, and not when one goes on.
    async fn find_channel(&mut self, id: &str, guild: Option<&str>) {
        if guild.is_none() || self.directory.contains_key(id) || id.parse::<u64>().is_err() {
            return;
        }
        let channel = self.look_up(&format!("/channels/{id}")).await;
        let channel = channel.and_then(|channel| ChannelEvent::deserialize(&channel).ok());
        self.directory.insert(id.to_owned(), channel.unwrap_or_default().known());
    }

    /// Finds out which role of a server is the bot's own, where a message names roles and the
    /// gateway has not told.
    async fn find_role(&mut self, message: &MessageEvent) {
        let Some(guild) = &message.guild_id else { return };
        let is_known = message.mention_roles.is_empty() || self.roles.contains_key(guild);
        if is_known || guild.parse::<u64>().is_err() {
            return;
        }
        let roles = self.look_up(&format!("/guilds/{guild}/roles")).await;
        // What Discord did not tell now is asked for again with the next message.
        if let Some(roles) = roles.and_then(|it| Vec::<RoleEvent>::deserialize(&it).ok()) {
            self.roles.insert(guild.clone(), find_own_role(roles, &self.me));
        }
    }

    /// Asks for something that the gateway has not told; nothing where Discord does not tell.
    async fn look_up(&self, path: &str) -> Option<Value> {
        let mut pause = PAUSES.0;
        for _ in 0..LOOK_UP_TRIES {
            match self.rest.get(path).await {
                Ok(found) => return Some(found),
                Err(RestFailure::Refused { status: 400..500, .. }) => return None,
                Err(RestFailure::Limited(wait)) => tokio::time::sleep(wait).await,
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = grown(pause, PAUSES.1);
        }
        None
    }

    /// Notes where the session stands, unless something before is not stored yet: what was set
    /// aside, or what is still looked for. The event at hand is stored together with it.
    fn note_session(&mut self, shard: &Shard) {
        let (Some(session), Some(resume_url)) = (shard.session(), shard.resume_url()) else {
            return;
        };
        if self.set_aside.is_empty() && !self.is_catching_up() {
            self.session = Some(KeptSession {
                id: session.id().to_owned(),
                sequence: session.sequence(),
                resume_url: resume_url.to_owned(),
                intents: self.intents().bits(),
            });
        }
    }

    /// How far everything is stored.
    fn cursor(&self) -> ChannelCursor {
        let resume = self.session.as_ref().and_then(|session| serde_json::to_value(session).ok());
        let position = i64::try_from(self.boundary).unwrap_or(i64::MAX);
        ChannelCursor { position, resume, at: Moment::now() }
    }

    /// Writes down where the session stands, now and then: most events are not stored.
    async fn keep_session(&mut self) {
        let Some(sequence) = self.session.as_ref().map(|session| session.sequence) else { return };
        let is_due =
            self.kept.is_none_or(|(at, kept)| at.elapsed() >= KEEP_PAUSE && kept != sequence);
        // Without it, more is sent again.
        if is_due && self.channel.receive(Vec::new(), self.cursor()).await.is_ok() {
            self.kept = Some((Instant::now(), sequence));
        }
    }
}

/// Whether an address is one of a gateway.
fn is_socket(url: &str) -> bool {
    let url = url.parse::<reqwest::Url>();
    url.is_ok_and(|url| ["ws", "wss"].contains(&url.scheme()) && url.has_host())
}
