//! Reads what the bot is sent. An update is confirmed by the call for the next ones, and that is
//! made only when it is stored.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recto_store::{ChannelCursor, Moment, StoreError};
use serde_json::Value;
use teloxide_core::prelude::*;
use teloxide_core::types::AllowedUpdate;
use teloxide_core::{ApiError, Bot, RequestError};

use super::api::send_within;
use super::service::TelegramService;
use super::update::{TelegramUpdate, read_update};
use super::{BotIdentity, CHANNEL, POLL_SECONDS, connection_problem, find_webhook};
use crate::chat_channel::{ReceivedEvent, RunningChat};
use crate::supervisor::{ChannelBoard, ChannelProblem, ChannelState};

/// How many updates are taken at once: as many as Telegram gives.
const BATCH: u8 = 100;

/// How much longer a call for updates may take than Telegram holds it back.
const POLL_MARGIN: Duration = Duration::from_secs(15);

/// For how long Telegram counts on from a number. Later ones may be lower, and to name the old one
/// would confirm them unread.
const NUMBERS_HOLD: Duration = Duration::from_secs(5 * 24 * 3600);

/// How many kinds of what can't be read are named.
const MOST_UNREAD: usize = 20;

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
    /// The variable that has the token.
    pub(super) token_env: String,
    /// The kinds of what came and could not be read.
    pub(super) unread: Mutex<BTreeSet<String>>,
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
                    self.board.set(CHANNEL, self.running()).await;
                    continue;
                }
                Err(PollError::Store(error)) => ChannelProblem::passing(error.to_string()),
                Err(PollError::Telegram(RequestError::RetryAfter(wait))) => {
                    tokio::time::sleep(wait.duration()).await;
                    continue;
                }
                Err(PollError::Telegram(error)) => self.find_problem(&error).await,
                Err(PollError::NoNumbers) => {
                    ChannelProblem::passing("Telegram sent nothing that can be understood")
                }
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

    fn running(&self) -> ChannelState {
        let kinds: Vec<String> = self.unread.lock().iter().cloned().collect();
        let trouble = (!kinds.is_empty()).then(|| {
            format!("some of what it is sent can't be understood here ({})", kinds.join(", "))
        });
        ChannelState::Running { account: self.me.username.clone(), trouble }
    }

    /// Why updates can't be had. A webhook is asked for where Telegram's answer has no other
    /// meaning: the library does not know it by its words.
    async fn find_problem(&self, error: &RequestError) -> ChannelProblem {
        if let RequestError::Api(ApiError::Unknown(_) | ApiError::CantGetUpdates) = error
            && let Ok(Some(problem)) = find_webhook(&self.bot, &self.token_env).await
        {
            return problem;
        }
        connection_problem(error)
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
        match send_within(&self.bot, call, limit).await? {
            Value::Array(updates) if !updates.is_empty() => self.receive(&updates).await,
            _ => Ok(()),
        }
    }

    /// Has updates stored with how far was read. One that can't be read is told of, and confirmed
    /// like all others: it would come again for ever.
    async fn receive(&self, updates: &[Value]) -> Result<(), PollError> {
        let number = |update: &Value| update["update_id"].as_i64();
        let position = updates.iter().filter_map(number).max().ok_or(PollError::NoNumbers)?;
        let cursor = ChannelCursor { position, resume: None, at: Moment::now() };
        let (mut events, mut moves) = (Vec::new(), Vec::new());
        for update in updates {
            let read = read_update(update, &self.me);
            self.note_unread(read.unread);
            let Some(number) = number(update) else { continue };
            match read.what {
                TelegramUpdate::Event(event) => {
                    events.push(ReceivedEvent { key: number.to_string(), event: *event });
                }
                TelegramUpdate::Moved { from, to } => moves.push((from, to)),
                TelegramUpdate::Ignored => {}
            }
        }
        // Known before anything is dealt with that may have been said under the new id.
        for (from, to) in moves {
            self.channel.service.moves.note(from, to).await?;
        }
        Ok(self.channel.receive(events, cursor).await?)
    }

    /// Notes a kind of what can't be read, to tell of it once.
    fn note_unread(&self, kind: Option<String>) {
        let mut known = self.unread.lock();
        if known.len() < MOST_UNREAD {
            known.extend(kind);
        }
    }
}

/// The number from which on updates are asked for, as long as it can be told.
fn next_offset(cursor: &ChannelCursor) -> Option<i32> {
    let age = Moment::now().timestamp().duration_since(cursor.at.timestamp());
    let is_fresh = Duration::try_from(age).is_ok_and(|age| age < NUMBERS_HOLD);
    i32::try_from(cursor.position.checked_add(1)?).ok().filter(|_| is_fresh)
}

/// Why updates could not be read.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error(transparent)]
    Telegram(#[from] RequestError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("what came has no numbers")]
    NoNumbers,
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
