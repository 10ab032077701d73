//! The channels beside the server: from the config to what they are given.

use std::env;

use recto_agent::{Agent, ScheduleHealth};
use recto_channels::{
    AccessLists, ChannelHost, ChannelModes, ChannelOptions, ChannelPolicy, ChannelState,
    DiscordOptions, RunningChannels, TelegramOptions,
};
use recto_server::{ServiceKind, ServiceReport, ServiceStatus};
use recto_store::Store;

use crate::config::{LoadedConfig, Settings, TelegramSettings};
use crate::remedy_words;
use crate::setup;

/// Starts the channels that the config has.
pub(super) fn start(config: &LoadedConfig, agents: &[Agent], store: &Store) -> RunningChannels {
    let settings = &config.settings;
    let telegram = &settings.telegram;
    let options = ChannelOptions {
        telegram: telegram.enabled.then(|| telegram_options(telegram)),
        discord: settings.discord.enabled.then(|| discord_options(settings)),
    };
    let host = ChannelHost {
        agents: agents.to_vec(),
        bindings: setup::bindings(config),
        store: store.clone(),
        remedy_words: remedy_words::command,
    };
    RunningChannels::start(options, &host)
}

/// The bot of Telegram as its crate takes it.
pub(crate) fn telegram_options(settings: &TelegramSettings) -> TelegramOptions {
    TelegramOptions {
        token: env::var(&settings.token_env).ok(),
        token_env: settings.token_env.clone(),
        api_url: settings.api_url.clone(),
        policy: ChannelPolicy {
            access: AccessLists {
                owners: settings.owners.clone(),
                allow: settings.allow.clone(),
                strangers: settings.strangers,
            },
            context: settings.context,
            max_file_bytes: settings.max_file_bytes,
            per_user: false,
        },
    }
}

/// The bot of Discord as its crate takes it.
pub(crate) fn discord_options(settings: &Settings) -> DiscordOptions {
    let discord = &settings.discord;
    DiscordOptions {
        token: env::var(&discord.token_env).ok(),
        token_env: discord.token_env.clone(),
        api_url: discord.api_url.clone(),
        modes: ChannelModes {
            default: discord.mode,
            channels: settings.discord_modes.iter().cloned().collect(),
        },
        policy: ChannelPolicy {
            access: AccessLists {
                owners: discord.owners.clone(),
                allow: discord.allow.clone(),
                strangers: discord.strangers,
            },
            context: discord.context,
            max_file_bytes: discord.max_file_bytes,
            per_user: discord.per_user,
        },
    }
}

/// How the channels and the schedules are, for the server.
pub(super) fn service_report(channels: &RunningChannels, agents: &[Agent]) -> ServiceReport {
    let board = channels.board().clone();
    let agents = agents.to_vec();
    ServiceReport::new(move || {
        let status = |(name, state): (&'static str, ChannelState)| ServiceStatus {
            name: name.to_owned(),
            kind: ServiceKind::Channel,
            is_up: matches!(state, ChannelState::Running { .. } | ChannelState::Standby { .. }),
            detail: state.describe(),
        };
        let mut all: Vec<ServiceStatus> = board.states().into_iter().map(status).collect();
        all.push(schedule_status(agents.iter().map(Agent::schedule_health)));
        all
    })
}

/// How the schedules of all agents are: as those of the one that is worst off.
fn schedule_status(mut health: impl Iterator<Item = ScheduleHealth>) -> ServiceStatus {
    let problem = health.find_map(|health| match health {
        ScheduleHealth::Running => None,
        ScheduleHealth::Off => Some("nobody looks for times that have come".to_owned()),
        ScheduleHealth::Failing { problem } => Some(format!("{problem}; it is tried again")),
    });
    ServiceStatus {
        name: "schedules".to_owned(),
        kind: ServiceKind::Schedules,
        is_up: problem.is_none(),
        detail: problem.unwrap_or_else(|| "running".to_owned()),
    }
}
