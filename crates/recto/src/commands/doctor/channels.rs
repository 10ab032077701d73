//! What there is to say about the bots of chat services: whether each can be used, and how the
//! server that runs it last said it is.

use std::future::Future;
use std::time::Duration;

use recto_channels::{ChannelProblem, check_discord, check_telegram};
use recto_store::{
    ChannelHealth, ChannelHealthState, Moment, StoredPairing, describe_pairing_room, full_bots,
};
use serde_json::json;

use super::{DoctorFinding, FindingState};
use crate::commands::serve::channels::{discord_options, telegram_options};
use crate::commands::sessions::local_with_zone;
use crate::config::Settings;
use crate::output::counted;
use crate::setup;

/// How long a bot's service may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The findings about all channels that are set up.
pub(super) async fn findings(settings: &Settings) -> Vec<DoctorFinding> {
    let (telegram, discord) = (&settings.telegram, &settings.discord);
    let mut findings = Vec::new();
    if telegram.enabled {
        let options = telegram_options(telegram);
        let check = check_telegram(&options);
        findings.push(finding("telegram", &telegram.api_url, settings, check).await);
    }
    if discord.enabled {
        let options = discord_options(settings);
        let check = check_discord(&options);
        findings.push(finding("discord", &discord.api_url, settings, check).await);
    }
    if !findings.is_empty() {
        let is_set_up = |known: &ChannelHealth| {
            (known.channel == "telegram" && telegram.enabled)
                || (known.channel == "discord" && discord.enabled)
        };
        let known = last_health(settings).await.into_iter().filter(is_set_up);
        findings.extend(known.map(|known| health(&known)));
    }
    findings
}

/// Whether a bot can be used.
async fn finding(
    channel: &str,
    api_url: &str,
    settings: &Settings,
    check: impl Future<Output = Result<String, ChannelProblem>>,
) -> DoctorFinding {
    match tokio::time::timeout(PATIENCE, check).await {
        Ok(Ok(account)) => {
            let known = pairings(settings, channel).await;
            let (state, hint) = match full_bots(&known).is_empty() {
                false => (FindingState::Warning, Some(describe_pairing_room())),
                true => (FindingState::Fine, None),
            };
            let text = format!("@{account} answers{}", people(&known));
            DoctorFinding::new(channel, state, text).hint(hint).data(json!({"account": account}))
        }
        Ok(Err(problem)) => {
            DoctorFinding::new(channel, FindingState::Warning, problem.what).hint(problem.hint)
        }
        Err(_) => {
            let text = format!("{api_url} does not answer");
            DoctorFinding::new(channel, FindingState::Warning, text)
        }
    }
}

/// Who is let in at a channel, and who waits.
async fn pairings(settings: &Settings, channel: &str) -> Vec<StoredPairing> {
    let known = async { setup::store(settings).ok()?.pairings(Moment::now()).await.ok() };
    let mut known = match setup::has_store(settings) {
        true => known.await.unwrap_or_default(),
        false => Vec::new(),
    };
    known.retain(|pairing| pairing.channel == channel && pairing.revoked.is_none());
    known
}

/// How many people and groups are let in at a channel, and how many wait.
fn people(pairings: &[StoredPairing]) -> String {
    let let_in = pairings.iter().filter(|pairing| pairing.approved.is_some()).count();
    match (let_in, pairings.len() - let_in) {
        (let_in, 0) => format!("; {let_in} let in by a code"),
        (let_in, waiting) => format!(
            "; {let_in} let in by a code, {} to be let in (`recto pair list`)",
            counted(waiting, "request")
        ),
    }
}

async fn last_health(settings: &Settings) -> Vec<ChannelHealth> {
    if !setup::has_store(settings) {
        return Vec::new();
    }
    match setup::store(settings) {
        Ok(store) => store.channel_health().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn health(health: &ChannelHealth) -> DoctorFinding {
    let ChannelHealth { channel, state, detail, at, is_current } = health;
    let at_time = local_with_zone(*at);
    let (standing, text) = match (is_current, state) {
        (false, _) => {
            (FindingState::Warning, format!("no server runs it; {at_time} one said: {detail}"))
        }
        (true, ChannelHealthState::Running) => {
            (FindingState::Fine, format!("in the server since {at_time}: {detail}"))
        }
        (true, ChannelHealthState::Starting | ChannelHealthState::Failing) => {
            (FindingState::Warning, format!("in the server since {at_time}: {detail}"))
        }
    };
    let finding = DoctorFinding::new(channel.as_str(), standing, text);
    let hint = (!is_current).then(|| "`recto serve` runs it".to_owned());
    finding
        .hint(hint)
        .data(json!({"state": state, "detail": detail, "at": at, "server_runs": is_current}))
}
