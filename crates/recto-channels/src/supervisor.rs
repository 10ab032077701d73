//! Keeps channels running: one that fails is started again, after ever longer pauses, and never
//! takes the others or the server down. Each says how it is on a board.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use parking_lot::Mutex;
use recto_store::{ChannelHealthState, Moment, Store};
use tokio::task::JoinHandle;

use crate::discord::{self, DiscordOptions};
use crate::host::ChannelHost;
use crate::telegram::{self, TelegramOptions};

/// The pause after a first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause where trying again may help by itself.
const LONG_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause where a person has to do something first.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How long a channel has to run until its failures are forgotten.
const STEADY: Duration = Duration::from_secs(120);

/// Which channels there are.
#[derive(Debug, Clone, Default)]
pub struct ChannelOptions {
    /// Telegram, where it is set up.
    pub telegram: Option<TelegramOptions>,
    /// Discord, where it is set up.
    pub discord: Option<DiscordOptions>,
}

/// How a channel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelState {
    /// It connects for the first time.
    Starting,
    /// People can be talked with, by this bot.
    Running {
        /// The bot's name at its service.
        account: String,
        /// What does not go well all the same.
        trouble: Option<String>,
    },
    /// Another process reads what this bot is sent; this one does when that one has ended.
    Standby {
        /// The bot's name at its service.
        account: String,
    },
    /// It can't be used, and is tried again.
    Failing(ChannelProblem),
}

/// Why a channel can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ChannelProblem {
    /// What happened.
    pub what: String,
    /// What a person can do about it.
    pub hint: Option<String>,
    /// Whether it goes on only after a person did something.
    pub needs_person: bool,
}

impl ChannelProblem {
    /// Something that may pass by itself.
    pub(crate) fn passing(what: impl Into<String>) -> Self {
        ChannelProblem { what: what.into(), hint: None, needs_person: false }
    }

    /// Something that a person has to put right.
    pub(crate) fn lasting(what: impl Into<String>, hint: impl Into<String>) -> Self {
        ChannelProblem { what: what.into(), hint: Some(hint.into()), needs_person: true }
    }
}

impl ChannelState {
    /// The same in a word.
    fn health(&self) -> ChannelHealthState {
        match self {
            ChannelState::Starting => ChannelHealthState::Starting,
            ChannelState::Running { .. } | ChannelState::Standby { .. } => {
                ChannelHealthState::Running
            }
            ChannelState::Failing(_) => ChannelHealthState::Failing,
        }
    }

    /// The same for people.
    pub fn describe(&self) -> String {
        match self {
            ChannelState::Starting => "connecting".to_owned(),
            ChannelState::Running { account, trouble: None } => format!("running as @{account}"),
            ChannelState::Running { account, trouble: Some(trouble) } => {
                format!("running as @{account}; {trouble}")
            }
            ChannelState::Standby { account } => {
                format!("standing by: another process answers as @{account}")
            }
            ChannelState::Failing(problem) => match &problem.hint {
                Some(hint) => format!("not connected: {problem} ({hint})"),
                None => format!("not connected: {problem}; it is tried again"),
            },
        }
    }
}

/// How all channels are, for whoever asks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ChannelBoard {
    states: Arc<Mutex<BTreeMap<&'static str, ChannelState>>>,
    store: Store,
}

impl ChannelBoard {
    fn new(store: Store) -> Self {
        ChannelBoard { states: Arc::default(), store }
    }

    /// How each channel is now.
    pub fn states(&self) -> Vec<(&'static str, ChannelState)> {
        self.states.lock().iter().map(|(name, state)| (*name, state.clone())).collect()
    }

    /// Says how a channel is. What is the same as before is not said again.
    pub(crate) async fn set(&self, channel: &'static str, state: ChannelState) {
        let before = self.states.lock().insert(channel, state.clone());
        if before.as_ref() == Some(&state) {
            return;
        }
        if matches!(state, ChannelState::Standby { .. }) {
            tracing::info!(channel, "{}", state.describe());
            // What others are told of the bot, the process says that has it.
            return;
        }
        match &state {
            ChannelState::Failing(_) | ChannelState::Running { trouble: Some(_), .. } => {
                tracing::warn!(channel, "{}", state.describe());
            }
            _ => tracing::info!(channel, "{}", state.describe()),
        }
        // The board itself knows it; the store has it for other processes.
        let (health, detail) = (state.health(), state.describe());
        let _ = self.store.set_channel_health(channel, health, &detail, Moment::now()).await;
    }
}

/// The channels that run. They end when it is dropped.
#[derive(Debug)]
pub struct RunningChannels {
    board: ChannelBoard,
    tasks: Vec<JoinHandle<()>>,
}

impl RunningChannels {
    /// Starts all channels that are set up, each once over all processes that use the store
    /// (`election.rs`). Must be called within a tokio runtime.
    pub fn start(options: ChannelOptions, host: &ChannelHost) -> Self {
        let board = ChannelBoard::new(host.store.clone());
        let mut tasks = Vec::new();
        if let Some(telegram) = options.telegram {
            let (host, own_board) = (host.clone(), board.clone());
            let run = move || telegram::run(telegram.clone(), host.clone(), own_board.clone());
            tasks.push(tokio::spawn(supervise(telegram::CHANNEL, board.clone(), run)));
        }
        if let Some(discord) = options.discord {
            let (host, own_board) = (host.clone(), board.clone());
            let run = move || discord::run(discord.clone(), host.clone(), own_board.clone());
            tasks.push(tokio::spawn(supervise(discord::CHANNEL, board.clone(), run)));
        }
        RunningChannels { board, tasks }
    }

    /// How all channels are.
    pub fn board(&self) -> &ChannelBoard {
        &self.board
    }
}

impl Drop for RunningChannels {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Runs a channel for ever.
async fn supervise<F>(channel: &'static str, board: ChannelBoard, run: impl Fn() -> F)
where
    F: Future<Output = ChannelProblem>,
{
    board.set(channel, ChannelState::Starting).await;
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let broke = || ChannelProblem::passing("something in it broke; the log says what");
        let problem = AssertUnwindSafe(run()).catch_unwind().await.unwrap_or_else(|_| broke());
        if began.elapsed() > STEADY {
            pause = FIRST_PAUSE;
        }
        let longest = if problem.needs_person { LONGEST_PAUSE } else { LONG_PAUSE };
        board.set(channel, ChannelState::Failing(problem)).await;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
