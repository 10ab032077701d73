//! Telegram: a bot that reads by long polling and answers in the chats it is in.
//!
//! ```text
//! poll      getUpdates ─► update: what of it matters ─► stored ─► confirmed by the next call
//! partial   … and what of it still can be read where it looks like nothing that is known
//! service   what is said: sendMessage, editMessageText, deleteMessage, …
//! api       how a call is made, and what its answer means
//! ```

mod api;
mod moves;
mod partial;
mod poll;
mod service;
mod text;
mod update;

use std::time::Duration;

use parking_lot::Mutex;
use recto_agent::COMMANDS;
use recto_store::{ChannelAccount, StoreError};
use teloxide_core::prelude::*;
use teloxide_core::types::BotCommand;
use teloxide_core::{ApiError, Bot, RequestError};

use self::api::{CALL_LIMIT, send, send_within};
use self::poll::TelegramReader;
use self::service::TelegramService;
use crate::chat_channel::{ChannelPolicy, RunningChat};
use crate::election::{await_turn, while_elected};
use crate::host::ChannelHost;
use crate::supervisor::{ChannelBoard, ChannelProblem};

/// The name of the surface.
pub(crate) const CHANNEL: &str = "telegram";

/// How long Telegram may hold a call for updates back until there are some.
const POLL_SECONDS: u32 = 50;

/// How long a file may take to come. Calls have limits of their own.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// How the bot of Telegram is set up.
#[derive(Clone)]
pub struct TelegramOptions {
    /// The bot's token; nothing where the variable that should have it is not set.
    pub token: Option<String>,
    /// The variable that has the token.
    pub token_env: String,
    /// Where the Bot API is.
    pub api_url: String,
    /// What is set for bots of all services.
    pub policy: ChannelPolicy,
}

impl std::fmt::Debug for TelegramOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the token.
        f.debug_struct("TelegramOptions").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

/// Who the bot is at Telegram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BotIdentity {
    pub(crate) id: u64,
    /// Without `@`.
    pub(crate) username: String,
}

/// What a check of the bot's token found.
pub async fn check_telegram(options: &TelegramOptions) -> Result<String, ChannelProblem> {
    let bot = connect(options)?;
    Ok(find_identity(&bot, &options.token_env).await?.username)
}

/// Runs the bot until it can't go on, and says why.
pub(crate) async fn run(
    options: TelegramOptions,
    host: ChannelHost,
    board: ChannelBoard,
) -> ChannelProblem {
    let store = host.store.clone();
    match start(options, host, board).await {
        Ok(reader) => {
            let account = reader.channel.account.clone();
            while_elected(&store, &account, reader.read_updates()).await
        }
        Err(problem) => problem,
    }
}

/// Connects, says which commands there are, and goes on with what an earlier process left.
async fn start(
    options: TelegramOptions,
    host: ChannelHost,
    board: ChannelBoard,
) -> Result<TelegramReader, ChannelProblem> {
    let bot = connect(&options)?;
    let me = find_identity(&bot, &options.token_env).await?;
    let account = ChannelAccount { channel: CHANNEL.to_owned(), account: me.username.clone() };
    await_turn(&host.store, &account, &me.username, &board, CHANNEL).await?;
    let store_problem = |error: StoreError| ChannelProblem::passing(error.to_string());
    let service =
        TelegramService::new(bot.clone(), &account, &host).await.map_err(store_problem)?;
    register_commands(&bot).await;
    let channel = RunningChat::start(service, account, options.policy, host).await;
    Ok(TelegramReader {
        bot,
        me,
        channel: channel.map_err(store_problem)?,
        board,
        token_env: options.token_env,
        unread: Mutex::default(),
    })
}

/// Tells Telegram which commands there are. The bot can be used without.
async fn register_commands(bot: &Bot) {
    let command = |help: &recto_agent::CommandHelp| {
        BotCommand::new(help.name.trim_start_matches('/'), help.about)
    };
    if let Err(error) = send(bot, bot.set_my_commands(COMMANDS.iter().map(command))).await {
        tracing::warn!(channel = CHANNEL, %error, "the commands are not listed in Telegram");
    }
}

/// The way to Telegram.
fn connect(options: &TelegramOptions) -> Result<Bot, ChannelProblem> {
    let TelegramOptions { token, token_env, api_url, .. } = options;
    let Some(token) = token.as_deref().map(str::trim).filter(|token| !token.is_empty()) else {
        let what = format!("the variable `{token_env}` has no token");
        return Err(ChannelProblem::lasting(what, "set it to the token that @BotFather gave you"));
    };
    let mut client = teloxide_core::net::default_reqwest_settings().timeout(FETCH_LIMIT);
    if !api_url.starts_with("https:") {
        // A server of one's own.
        client = client.no_proxy();
    }
    let client = client.build().map_err(|error| ChannelProblem::passing(error.to_string()))?;
    let url = api_url.parse().map_err(|_| {
        ChannelProblem::lasting(format!("`{api_url}` is no address"), "correct `api_url`")
    })?;
    Ok(Bot::with_client(token, client).set_api_url(url))
}

/// Who the bot is, where it can be used. Of what Telegram says of it no more is asked for than is
/// needed: servers of one's own may be older, and say less.
async fn find_identity(bot: &Bot, token_env: &str) -> Result<BotIdentity, ChannelProblem> {
    let problem = |error: RequestError| connection_problem(&error);
    let me = send_within(bot, bot.get_me(), CALL_LIMIT).await.map_err(problem)?;
    let Some(id) = me["id"].as_u64() else {
        return Err(ChannelProblem::passing("Telegram does not say who the bot is"));
    };
    let username = me["username"].as_str().map_or_else(|| id.to_string(), str::to_owned);
    match find_webhook(bot, token_env).await.map_err(problem)? {
        Some(webhook) => Err(webhook),
        None => Ok(BotIdentity { id, username }),
    }
}

/// Why the bot's messages can't be read here, where Telegram sends them to an address instead. It
/// is not taken away from whoever has set it.
async fn find_webhook(bot: &Bot, token_env: &str) -> Result<Option<ChannelProblem>, RequestError> {
    let webhook = send_within(bot, bot.get_webhook_info(), CALL_LIMIT).await?;
    let url = webhook["url"].as_str().filter(|url| !url.is_empty());
    Ok(url.map(|url| {
        // The rest of the address may be what nobody else is to know.
        let host = url.parse::<reqwest::Url>().ok();
        let host = host.as_ref().and_then(reqwest::Url::host_str).unwrap_or("another program");
        let api = bot.api_url();
        let api = api.as_str().trim_end_matches('/');
        ChannelProblem::lasting(
            format!("the bot has a webhook: Telegram sends its messages to {host} alone"),
            format!(
                "use another bot, or, if nothing needs the webhook any more, delete it: \
                 `curl {api}/bot${token_env}/deleteWebhook`"
            ),
        )
    }))
}

/// Why the bot can't be used, from what Telegram answered.
fn connection_problem(error: &RequestError) -> ChannelProblem {
    match error {
        RequestError::Api(ApiError::InvalidToken) => ChannelProblem::lasting(
            "Telegram refuses the bot's token",
            "ask @BotFather for the token, put it in place and start again",
        ),
        RequestError::Api(ApiError::TerminatedByOtherGetUpdates) => ChannelProblem::lasting(
            "another program reads the bot's messages",
            "end that program, or give it another bot",
        ),
        RequestError::Network(_) => ChannelProblem::passing("Telegram can't be reached"),
        RequestError::Io(failure) => {
            ChannelProblem::passing(format!("Telegram has trouble of its own ({failure})"))
        }
        RequestError::RetryAfter(_) => ChannelProblem::passing("Telegram asks to wait"),
        error => ChannelProblem::passing(format!("Telegram answered: {error}")),
    }
}
