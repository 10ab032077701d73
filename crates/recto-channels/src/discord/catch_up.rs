//! What was missed while there was no session to go on with: read by REST, from all channels that
//! have something newer than what is stored.
//!
//! A new session begins at its first event, and Discord sends nothing of before. So the messages of
//! known channels are asked for that are newer than the newest one here. That looks back a little
//! further than it has to, because messages of several channels need not come in their order; what
//! is known is known by its id.

use std::time::Duration;

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::Value;
use twilight_gateway::{Message, Shard};

use super::CHANNEL;
use super::event::MessageEvent;
use super::gateway::{DiscordReader, GatewayItem, MissedChannel};
use super::rest::{DiscordRest, RestFailure};

/// How far it looks back behind what is known to be stored, in milliseconds.
const OVERLAP: u64 = 60_000;

/// What is older than this is not answered any more, in milliseconds.
const OLDEST: u64 = 24 * 3_600_000;

/// The most messages that Discord gives at once.
const PAGE: usize = 100;

/// How many such pages of a channel are read at most.
const MOST_PAGES: usize = 3;

/// In how many conversations in private it is looked for something at most.
const MOST_DIRECT: u32 = 100;

/// How often a call is tried.
const TRIES: usize = 5;

/// How many events wait at most until what was missed is read.
const MOST_WAITING: usize = 10_000;

/// The bits of an id behind its time.
const TIME_SHIFT: u32 = 22;

/// The first millisecond of Discord's clock.
const EPOCH: u64 = 1_420_070_400_000;

impl DiscordReader {
    /// Reads what was missed in private. Which conversations there are, only we know.
    pub(super) async fn catch_up_in_private(&mut self, shard: &mut Shard) {
        let store = &self.channel.host.store;
        let known = store.recent_conversations(&self.channel.account, MOST_DIRECT).await;
        let known = known.unwrap_or_default().into_iter();
        let known = known.filter(|name| name.parse::<u64>().is_ok()).collect();
        let rest = self.rest.clone();
        let direct = self.while_connected(shard, find_direct(&rest, known)).await;
        self.to_catch_up.extend(direct);
        self.catch_up(shard).await;
    }

    /// Reads what was missed in channels that may hold something, before anything else is dealt
    /// with, for the sake of the order.
    pub(super) async fn catch_up(&mut self, shard: &mut Shard) {
        let after = oldest_wanted(self.boundary);
        let mut channels = std::mem::take(&mut self.to_catch_up);
        channels.retain(|channel| channel.newest > after);
        if channels.is_empty() {
            return;
        }
        let rest = self.rest.clone();
        let reading = async {
            let mut missed = Vec::new();
            for channel in &channels {
                missed.extend(read_missed(&rest, channel, after).await);
            }
            missed
        };
        let mut missed = self.while_connected(shard, reading).await;
        missed.sort_by_key(|message| message.id.parse::<u64>().unwrap_or_default());
        for message in &missed {
            self.take_message(message).await;
        }
        tracing::info!(
            channel = CHANNEL,
            messages = missed.len(),
            "what was missed was looked for"
        );
    }

    /// Does something while the connection is kept alive. What comes over it is set aside.
    async fn while_connected<T>(&mut self, shard: &mut Shard, work: impl Future<Output = T>) -> T {
        let is_text = |item: &GatewayItem| matches!(item, Some(Ok(Message::Text(_))));
        tokio::pin!(work);
        loop {
            // What closes a connection is dealt with by whoever reads it.
            let is_open = self.set_aside.iter().all(is_text) && self.set_aside.len() < MOST_WAITING;
            tokio::select! {
                done = &mut work => return done,
                item = shard.next(), if is_open => self.set_aside.push_back(item),
            }
        }
    }
}

/// The id behind which messages are wanted.
fn oldest_wanted(boundary: u64) -> u64 {
    let now = recto_store::Moment::now().timestamp().as_millisecond();
    let oldest = u64::try_from(now).unwrap_or_default().saturating_sub(EPOCH + OLDEST);
    boundary.saturating_sub(OVERLAP << TIME_SHIFT).max(oldest << TIME_SHIFT)
}

/// Those of some channels that are private, with their newest messages.
async fn find_direct(rest: &DiscordRest, channels: Vec<String>) -> Vec<MissedChannel> {
    let mut direct = Vec::new();
    for id in channels {
        let Some(channel) = ask(rest, &format!("/channels/{id}")).await else { continue };
        let newest = channel["last_message_id"].as_str().and_then(|id| id.parse().ok());
        if let Some(newest) = newest.filter(|_| channel["type"] == DIRECT_MESSAGE) {
            direct.push(MissedChannel { id, guild: None, newest });
        }
    }
    direct
}

/// The kind of a channel between the bot and one person.
const DIRECT_MESSAGE: u8 = 1;

/// The messages of a channel behind an id.
async fn read_missed(rest: &DiscordRest, channel: &MissedChannel, after: u64) -> Vec<MessageEvent> {
    let (mut missed, mut after) = (Vec::new(), after);
    for _ in 0..MOST_PAGES {
        let path = format!("/channels/{}/messages?after={after}&limit={PAGE}", channel.id);
        let Some(Value::Array(page)) = ask(rest, &path).await else { break };
        for message in &page {
            let Ok(mut message) = MessageEvent::deserialize(message) else { continue };
            after = after.max(message.id.parse().unwrap_or_default());
            // It stands in events alone.
            message.guild_id = channel.guild.clone();
            missed.push(message);
        }
        if page.len() < PAGE {
            break;
        }
    }
    missed
}

async fn ask(rest: &DiscordRest, path: &str) -> Option<Value> {
    let mut pause = Duration::from_millis(500);
    for _ in 0..TRIES {
        match rest.get(path).await {
            Ok(answer) => return Some(answer),
            // It is gone, or closed to the bot.
            Err(RestFailure::Refused { status: 400..500, .. }) => return None,
            Err(RestFailure::Limited(wait)) => tokio::time::sleep(wait).await,
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause *= 2;
    }
    None
}
