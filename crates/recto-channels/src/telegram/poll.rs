//! Reads what the bot is sent. An update is confirmed by the call for the next ones, and that is
//! made only when it is stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::{ChannelCursor, Moment, StoreError};
use serde::Deserialize;
use serde_json::Value;
use teloxide_core::prelude::*;
use teloxide_core::types::{AllowedUpdate, Update, UpdateKind};
use teloxide_core::{Bot, RequestError};

use super::api::send_within;
use super::service::TelegramService;
use super::update::{TelegramUpdate, read_update};
use super::{BotIdentity, CHANNEL, POLL_SECONDS, connection_problem};
use crate::chat_channel::{ReceivedEvent, RunningChat};
use crate::supervisor::{ChannelBoard, ChannelProblem, ChannelState};

/// How many updates are taken at once: as many as Telegram gives.
const BATCH: u8 = 100;

/// How much longer a call for updates may take than Telegram holds it back.
const POLL_MARGIN: Duration = Duration::from_secs(15);

/// For how long Telegram counts on from a number. Later ones may be lower, and to name the old one
/// would confirm them unread.
const NUMBERS_HOLD: Duration = Duration::from_secs(5 * 24 * 3600);

/// For how long Telegram may fail until that is said.
const BLIP: Duration = Duration::from_secs(3);

/// The first and the longest pause while Telegram can't be reached.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Reads what the bot is sent.
pub(super) struct TelegramReader {
    pub(super) bot: Bot,
    pub(super) me: BotIdentity,
    pub(super) channel: RunningChat<TelegramService>,
    pub(super) board: ChannelBoard,
}

impl TelegramReader {
    /// Reads until it can't go on without a person, and says why.
    pub(super) async fn read_updates(&self) -> ChannelProblem {
        let (mut pause, mut failing_since) = (PAUSES.0, None);
        // Whether it works is known soon, and not only when somebody writes.
        let mut wait = 0;
        loop {
            let problem = match self.poll_once(wait).await {
                Ok(()) => {
                    (pause, failing_since, wait) = (PAUSES.0, None, POLL_SECONDS);
                    let account = self.me.username.clone();
                    self.board.set(CHANNEL, ChannelState::Running { account }).await;
                    continue;
                }
                Err(PollError::Store(error)) => ChannelProblem::passing(error.to_string()),
                Err(PollError::Telegram(RequestError::RetryAfter(wait))) => {
                    tokio::time::sleep(wait.duration()).await;
                    continue;
                }
                Err(PollError::Telegram(error)) => connection_problem(&error),
            };
            if problem.needs_person {
                return problem;
            }
            wait = 0;
            let since: &mut Instant = failing_since.get_or_insert_with(Instant::now);
            // What is over at once is not worth a word.
            if since.elapsed() >= BLIP {
                self.board.set(CHANNEL, ChannelState::Failing(problem)).await;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Asks once, for so many seconds.
    async fn poll_once(&self, wait: u32) -> Result<(), PollError> {
        let store = &self.channel.host.store;
        let cursor = store.channel_cursor(&self.channel.account).await?;
        let wanted =
            [AllowedUpdate::Message, AllowedUpdate::CallbackQuery, AllowedUpdate::MyChatMember];
        let mut call = self.bot.get_updates().limit(BATCH).timeout(wait).allowed_updates(wanted);
        call.offset = cursor.as_ref().and_then(next_offset);
        let limit = Duration::from_secs(u64::from(wait)) + POLL_MARGIN;
        let updates = read_batch(send_within(&self.bot, call, limit).await?)?;
        if updates.is_empty() {
            return Ok(());
        }
        self.receive(&updates).await
    }

    /// Has updates stored with how far was read.
    async fn receive(&self, updates: &[Update]) -> Result<(), PollError> {
        let Some(last) = updates.iter().map(|update| update.id.0).max() else { return Ok(()) };
        let position = i64::from(last);
        let cursor = ChannelCursor { position, resume: None, at: Moment::now() };
        let (mut events, mut moves) = (Vec::new(), Vec::new());
        for update in updates {
            match read_update(update, &self.me) {
                TelegramUpdate::Event(event) => {
                    let key = update.id.0.to_string();
                    events.push(ReceivedEvent { key, event: *event });
                }
                TelegramUpdate::Moved { from, to } => moves.push((from, to)),
                TelegramUpdate::Ignored => {}
                TelegramUpdate::NotUnderstood(kind) => {
                    let id = update.id.0;
                    tracing::warn!(
                        channel = CHANNEL,
                        id,
                        kind,
                        "an update of Telegram's can't be understood; it is left out"
                    );
                }
            }
        }
        // Known before anything is dealt with that may have been said under the new id.
        for (from, to) in moves {
            self.channel.service.moves.note(from, to).await?;
        }
        Ok(self.channel.receive(events, cursor).await?)
    }
}

/// The updates of an answer. One that can't be understood keeps what it looks like.
fn read_batch(answer: Value) -> Result<Vec<Update>, RequestError> {
    let Value::Array(all) = answer else { return Ok(Vec::new()) };
    let read = |item: Value| {
        let mut update = Update::deserialize(&item).map_err(|error| RequestError::InvalidJson {
            source: Arc::new(error),
            raw: "an update".into(),
        })?;
        if let UpdateKind::Error(content) = &mut update.kind {
            *content = item;
        }
        Ok(update)
    };
    all.into_iter().map(read).collect()
}

/// The number from which on updates are asked for, as long as it can be told.
fn next_offset(cursor: &ChannelCursor) -> Option<i32> {
    let age = Moment::now().timestamp().duration_since(cursor.at.timestamp());
    let is_fresh = Duration::try_from(age).is_ok_and(|age| age < NUMBERS_HOLD);
    i32::try_from(cursor.position.checked_add(1)?).ok().filter(|_| is_fresh)
}

/// Why updates could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum PollError {
    Telegram(#[from] RequestError),
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_number_is_not_named() {
        let now = Moment::now();
        let cursor = |at| ChannelCursor { position: 41, resume: None, at };
        assert_eq!(next_offset(&cursor(now)), Some(42));
        let old = now.timestamp().checked_sub(Duration::from_secs(6 * 24 * 3600)).unwrap();
        assert_eq!(next_offset(&cursor(Moment::new(old))), None);
    }
}
