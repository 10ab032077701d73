//! Discord: a bot that reads from the gateway and answers in channels, threads and in private.
//!
//! ```text
//! gateway   events in their order ─► event: what of them matters ─► stored, then the next one
//! catch_up  what was missed while no session was left to go on with, by REST
//! service   what is said: messages, changes, typing, answers to buttons
//! ```

mod catch_up;
mod event;
mod gateway;
mod markdown;
mod rest;
mod service;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use recto_agent::{COMMANDS, CommandHelp};
use recto_store::{ChannelAccount, StoreError};
use serde_json::{Value, json};

use self::gateway::DiscordReader;
use self::rest::{DiscordRest, RestFailure};
use self::service::DiscordService;
use crate::chat_channel::{ChannelPolicy, RunningChat};
use crate::election::{await_turn, while_elected};
use crate::host::ChannelHost;
use crate::supervisor::{ChannelBoard, ChannelProblem};

/// The name of the surface.
pub(crate) const CHANNEL: &str = "discord";

/// The marks of an application that may read what people write, wherever it is not named.
const READS_CONTENT: u64 = 1 << 18 | 1 << 19;

/// The most characters of what a command says of itself.
const MOST_ABOUT: usize = 100;

/// How the bot of Discord is set up.
#[derive(Clone)]
pub struct DiscordOptions {
    /// The bot's token; nothing where the variable that should have it is not set.
    pub token: Option<String>,
    /// The variable that has the token.
    pub token_env: String,
    /// Where the REST API is, with its version.
    pub api_url: String,
    /// When it answers in which channel.
    pub modes: ChannelModes,
    /// What is set for bots of all services.
    pub policy: ChannelPolicy,
}

/// When the bot answers in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelMode {
    /// When it is named, or one of its messages is answered.
    #[default]
    MentionOnly,
    /// To everything that people say.
    AllMessages,
    /// Never; nothing that is said there is read.
    Off,
}

/// When the bot answers, for each channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelModes {
    /// In channels that have no mode of their own.
    pub default: ChannelMode,
    /// In these, by their ids.
    pub channels: HashMap<String, ChannelMode>,
}

impl ChannelModes {
    /// The mode of a channel, or of a thread in it. A thread has its channel's, unless it has one
    /// of its own.
    fn mode_of(&self, channel: &str, thread: Option<&str>) -> ChannelMode {
        let own = thread.and_then(|thread| self.channels.get(thread));
        own.or_else(|| self.channels.get(channel)).copied().unwrap_or(self.default)
    }

    fn has_all_messages(&self) -> bool {
        let mut all = self.channels.values().chain([&self.default]);
        all.any(|mode| *mode == ChannelMode::AllMessages)
    }
}

impl std::fmt::Debug for DiscordOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the token.
        f.debug_struct("DiscordOptions").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

impl DiscordOptions {
    /// Whether the bot has to read what is said without naming it.
    fn reads_content(&self) -> bool {
        self.modes.has_all_messages() || self.policy.context > 0
    }
}

/// Who the bot is at Discord.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiscordIdentity {
    id: String,
    username: String,
    /// The id of its application.
    application: String,
}

/// What a check of the bot's token and of what it may read found: its name.
pub async fn check_discord(options: &DiscordOptions) -> Result<String, ChannelProblem> {
    let rest = connect(options)?;
    let (me, application) = find_identity(&rest).await?;
    let flags = application["flags"].as_u64().unwrap_or_default();
    if options.reads_content() && flags & READS_CONTENT == 0 {
        return Err(content_problem());
    }
    Ok(me.username)
}

/// Runs the bot until it can't go on, and says why.
pub(crate) async fn run(
    options: DiscordOptions,
    host: ChannelHost,
    board: ChannelBoard,
) -> ChannelProblem {
    let store = host.store.clone();
    match start(options, host, board).await {
        Ok(reader) => {
            let account = reader.channel.account.clone();
            while_elected(&store, &account, reader.read_events()).await
        }
        Err(problem) => problem,
    }
}

/// Connects, says which commands there are, and goes on with what an earlier process left.
async fn start(
    options: DiscordOptions,
    host: ChannelHost,
    board: ChannelBoard,
) -> Result<DiscordReader, ChannelProblem> {
    let rest = Arc::new(connect(&options)?);
    let (me, _) = find_identity(&rest).await?;
    register_commands(&rest, &me).await;
    // Its id, which stays when it is given another name.
    let account = ChannelAccount { channel: CHANNEL.to_owned(), account: me.id.clone() };
    await_turn(&host.store, &account, &me.username, &board, CHANNEL).await?;
    let service = DiscordService::new(rest.clone(), me.clone());
    let channel = RunningChat::start(service, account, options.policy.clone(), host).await;
    let store_problem = |error: StoreError| ChannelProblem::passing(error.to_string());
    let channel = channel.map_err(store_problem)?;
    DiscordReader::new(rest, me, options, channel, board).await
}

/// The way to Discord.
fn connect(options: &DiscordOptions) -> Result<DiscordRest, ChannelProblem> {
    let DiscordOptions { token, token_env, api_url, .. } = options;
    let token = token.as_deref().map(|token| token.trim().trim_start_matches("Bot ").trim());
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        let what = format!("the variable `{token_env}` has no token");
        let hint = "set it to the token on the page Bot of your application at \
                    https://discord.com/developers/applications";
        return Err(ChannelProblem::lasting(what, hint));
    };
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(token_problem());
    }
    DiscordRest::new(api_url, token)
        .map_err(|error| ChannelProblem::passing(format!("cannot set up connections: {error}")))
}

async fn find_identity(rest: &DiscordRest) -> Result<(DiscordIdentity, Value), ChannelProblem> {
    let me = rest.get("/users/@me").await.map_err(|failure| connection_problem(&failure))?;
    let application =
        rest.get("/applications/@me").await.map_err(|failure| connection_problem(&failure))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let identity = || {
        Some(DiscordIdentity {
            id: text(&me["id"])?,
            username: text(&me["username"])?,
            application: text(&application["id"])?,
        })
    };
    let unreadable = || ChannelProblem::passing("Discord does not say who the bot is");
    Ok((identity().ok_or_else(unreadable)?, application))
}

/// Tells Discord which commands there are, in all servers and in private. The bot can be used
/// without.
async fn register_commands(rest: &DiscordRest, me: &DiscordIdentity) {
    let commands: Vec<Value> = COMMANDS.iter().map(command).collect();
    let path = format!("/applications/{}/commands", me.application);
    if let Err(error) = rest.put(&path, &json!(commands)).await {
        tracing::warn!(channel = CHANNEL, %error, "the commands are not listed in Discord");
    }
}

fn command(help: &CommandHelp) -> Value {
    let short = |text: &str| text.chars().take(MOST_ABOUT).collect::<String>();
    // In servers and in direct messages with the bot; not in private conversations of others, and
    // not by somebody who has the bot wherever they are.
    let mut command = json!({
        "name": help.name.trim_start_matches('/'),
        "description": short(help.about),
        "type": 1,
        "contexts": [0, 1],
        "integration_types": [0],
    });
    if !help.arguments.is_empty() {
        let option = json!({"name": "text", "description": short(help.arguments), "type": 3});
        command["options"] = json!([option]);
    }
    command
}

/// Why the bot can't be used, from what Discord answered.
fn connection_problem(failure: &RestFailure) -> ChannelProblem {
    match failure {
        RestFailure::Refused { status: 401, .. } => token_problem(),
        failure => ChannelProblem::passing(failure.to_string()),
    }
}

fn token_problem() -> ChannelProblem {
    ChannelProblem::lasting(
        "Discord refuses the bot's token",
        "reset it on the page Bot of your application at \
         https://discord.com/developers/applications, put it in place and start again",
    )
}

fn content_problem() -> ChannelProblem {
    ChannelProblem::lasting(
        "Discord does not let the bot read what people write",
        "switch on Message Content Intent on the page Bot of your application at \
         https://discord.com/developers/applications, or leave out `all_messages` and `context`",
    )
}

/// Why the gateway closed a connection for good; nothing where it is worth another try.
fn closing_problem(code: u16) -> Option<ChannelProblem> {
    Some(match code {
        4004 => token_problem(),
        4014 => content_problem(),
        4010 | 4011 => ChannelProblem::lasting(
            "the bot is in more servers than one connection can serve",
            "take it out of some of them",
        ),
        4012 | 4013 => ChannelProblem::lasting(
            format!("Discord's gateway does not take this version of Recto any more ({code})"),
            "update Recto",
        ),
        _ => return None,
    })
}

/// The pause before something is tried again, which grows.
fn grown(pause: Duration, longest: Duration) -> Duration {
    (pause * 2).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_channels_mode_unless_it_has_its_own() {
        let modes = ChannelModes {
            default: ChannelMode::MentionOnly,
            channels: [
                ("7".to_owned(), ChannelMode::Off),
                ("8".to_owned(), ChannelMode::AllMessages),
            ]
            .into(),
        };
        assert_eq!(modes.mode_of("7", None), ChannelMode::Off);
        assert_eq!(modes.mode_of("7", Some("8")), ChannelMode::AllMessages);
        assert_eq!(modes.mode_of("7", Some("9")), ChannelMode::Off);
        assert_eq!(modes.mode_of("1", Some("9")), ChannelMode::MentionOnly);
        assert!(modes.has_all_messages());
    }

    #[test]
    fn commands_have_the_form_that_discord_takes() {
        for help in COMMANDS {
            let command = command(help);
            let name = command["name"].as_str().unwrap();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            assert_eq!(command["contexts"], json!([0, 1]));
            assert_eq!(command["integration_types"], json!([0]));
            assert!((1..=100).contains(&command["description"].as_str().unwrap().chars().count()));
        }
    }
}
