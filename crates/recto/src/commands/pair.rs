//! `recto pair`: who is let in from chats.
//!
//! Whoever writes to a bot and is not known gets a code. Who has the code is let in here; the list
//! does not show codes, so that nobody is let in for another. The number in the list serves, too,
//! for an owner who knows who it is.

use recto_agent::{AgentError, StandingReport, change_standing, put_out};
use recto_channels::PAIRING_CODE_LENGTH;
use recto_store::{
    ChannelAccount, Moment, PairingGrant, PairingId, PairingSubject, Store, StoreError,
    StoredPairing, StoredSchedule, describe_pairing_room, full_bots,
};
use serde_json::{Value, json};

use super::sessions::local_with_zone;
use crate::cli::{PairApproveArgs, PairCommand};
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, print_list, tame, tell};
use crate::setup;

/// Where the numbers are told.
const NUMBERS: &str = "`recto pair list` has their numbers";

pub(crate) fn run(home: &RectoHome, command: &PairCommand) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    let store = setup::store(&config.settings)?;
    setup::runtime()?.block_on(async {
        match command {
            PairCommand::List { all, json } => list(&store, *all, json.json).await,
            PairCommand::Approve(args) => approve(&store, args).await,
            PairCommand::Revoke { number, json } => revoke(&store, number, json.json).await,
        }
    })
}

async fn list(store: &Store, all: bool, as_json: bool) -> CliResult {
    let mut pairings = store.pairings(Moment::now()).await?;
    pairings.retain(|pairing| all || pairing.revoked.is_none());
    let nothing = "nobody waits to be let in, and nobody is";
    print_list(as_json, "pairings", &pairings, pairing_json, || draw(&pairings), &nothing)?;
    for bot in full_bots(&pairings) {
        let (bot, room) = (bot_words(&bot), describe_pairing_room());
        tell(&format_args!("as many wait at {} as may: {room}", tame(&bot)));
    }
    Ok(())
}

async fn approve(store: &Store, args: &PairApproveArgs) -> CliResult {
    let grant = match args.owner {
        true => PairingGrant::Owner,
        false => PairingGrant::Guest(args.person.clone()),
    };
    // Codes are longer than any number of a pairing will be.
    let number = args.code.trim();
    let number = number.parse::<PairingId>().ok().filter(|_| number.len() < PAIRING_CODE_LENGTH);
    must_fit_group(store, args, number).await?;
    let StandingReport { pairing, removed } = match number {
        Some(number) => {
            let changed = change_standing(store, &setup::actor(), number, grant).await;
            changed.map_err(with_hint)?
        }
        None => {
            let pairing = store.approve_pairing(&args.code, grant, Moment::now()).await?;
            StandingReport { pairing, removed: Vec::new() }
        }
    };
    let draw = || format!("{} is let in as {}\n", who(&pairing), tame(&pairing.describe()));
    print_as(args.json.json, || pairing_json(&pairing), draw)?;
    tell_removed(&removed);
    Ok(())
}

/// Refuses to let in a group as what only a person can be.
async fn must_fit_group(
    store: &Store,
    args: &PairApproveArgs,
    number: Option<PairingId>,
) -> CliResult {
    let flag = match (args.owner, &args.person) {
        (true, _) => "--owner",
        (false, Some(_)) => "--person",
        (false, None) => return Ok(()),
    };
    let code = args.code.trim().to_uppercase();
    let is_meant = |it: &StoredPairing| match number {
        Some(number) => it.id == number,
        None => it.code.as_deref() == Some(code.as_str()),
    };
    let all = store.pairings(Moment::now()).await?;
    match all.into_iter().find(|it| is_meant(it) && it.kind == PairingSubject::Group) {
        None => Ok(()),
        Some(group) => Err(CliFailure::new(format!("{} is a group, and no person", who(&group)))
            .hint(format!("leave out `{flag}`: in a group everybody is who they are by themself"))),
    }
}

async fn revoke(store: &Store, number: &str, as_json: bool) -> CliResult {
    let id = number.trim().parse().map_err(|error| {
        CliFailure::new(format!("`{}` is no number of a pairing", tame(number)))
            .because(&error)
            .hint(NUMBERS)
    })?;
    let put_out = put_out(store, &setup::actor(), id).await;
    let StandingReport { pairing, removed } = put_out.map_err(with_hint)?;
    let draw = || match pairing.standing {
        Some(_) => format!("{} is not let in any more\n", who(&pairing)),
        None => format!("{} is refused, and gets no other code for a day\n", who(&pairing)),
    };
    print_as(as_json, || pairing_json(&pairing), draw)?;
    tell_removed(&removed);
    Ok(())
}

/// Tells which schedules went with what somebody was.
fn tell_removed(removed: &[StoredSchedule]) {
    for schedule in removed {
        let name = tame(&schedule.name);
        tell(&format_args!("schedule `{name}` was answered there, and is removed"));
    }
}

/// The failure of a command about a number.
fn with_hint(error: AgentError) -> CliFailure {
    let is_unknown = matches!(error, AgentError::Store(StoreError::NotFound(_)));
    let failure = CliFailure::from(error);
    if is_unknown { failure.hint(NUMBERS) } else { failure }
}

/// The bot that somebody wrote to: by its name, or by its number where it is known by that.
fn bot_words(bot: &ChannelAccount) -> String {
    let ChannelAccount { channel, account } = bot;
    let mark = if account.bytes().all(|byte| byte.is_ascii_digit()) { "bot " } else { "@" };
    format!("{channel} {mark}{account}")
}

/// Who it is: `Ada (telegram 4711)`.
fn who(pairing: &StoredPairing) -> String {
    let StoredPairing { channel, subject, name, .. } = pairing;
    format!("{} ({channel} {})", tame(name), tame(subject))
}

/// Since when they are what they are.
fn since(pairing: &StoredPairing) -> Moment {
    pairing.revoked.or(pairing.approved).unwrap_or(pairing.requested)
}

fn pairing_json(pairing: &StoredPairing) -> Value {
    json!(pairing)
}

fn draw(pairings: &[StoredPairing]) -> String {
    let mut table = TextTable::new(["number", "name", "where", "id", "what they are", "since"]);
    table.align_right(0);
    table.set_key(1);
    for pairing in pairings {
        table.row([
            pairing.id.to_string(),
            pairing.name.clone(),
            bot_words(&pairing.bot()),
            pairing.subject.clone(),
            pairing.describe(),
            local_with_zone(since(pairing)),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}
