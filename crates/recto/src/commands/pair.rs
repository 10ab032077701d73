//! `recto pair`: who is let in from chats.
//!
//! Whoever writes to a bot and is not known gets a code. Who has the code is let in here; the list
//! does not show codes, so that nobody is let in for another. The number in the list serves, too,
//! for an owner who knows who it is.

use std::collections::BTreeMap;

use recto_agent::{AgentError, PutOutReport, put_out};
use recto_channels::PAIRING_CODE_LENGTH;
use recto_store::{
    MOST_WAITING_PAIRINGS, Moment, PairingGrant, PairingId, PairingSubject, Store, StoreError,
    StoredPairing,
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
    let is_waiting = |it: &&StoredPairing| it.approved.is_none() && it.revoked.is_none();
    let mut waiting: BTreeMap<String, usize> = BTreeMap::new();
    for pairing in pairings.iter().filter(is_waiting) {
        *waiting.entry(bot(pairing)).or_default() += 1;
    }
    for (bot, _) in waiting.iter().filter(|(_, waiting)| **waiting >= MOST_WAITING_PAIRINGS) {
        tell(&format_args!(
            "as many wait at {} as may: nobody else gets a code until one of them is let in, is \
             refused, or has waited for ten minutes",
            tame(bot)
        ));
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
    let pairing = match number {
        Some(number) => {
            let approved = store.approve_pairing_by_number(number, grant, Moment::now()).await;
            approved.map_err(with_hint)?
        }
        None => store.approve_pairing(&args.code, grant, Moment::now()).await?,
    };
    let draw = || format!("{} is let in as {}\n", who(&pairing), tame(&pairing.describe()));
    print_as(args.json.json, || pairing_json(&pairing), draw)
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
    let put_out = put_out(store, &setup::actor(), id).await.map_err(|error| match error {
        AgentError::Store(error) => with_hint(error),
        error => error.into(),
    });
    let PutOutReport { pairing, removed } = put_out?;
    let draw = || match pairing.standing {
        Some(_) => format!("{} is not let in any more\n", who(&pairing)),
        None => format!("{} is refused, and gets no other code for a day\n", who(&pairing)),
    };
    print_as(as_json, || pairing_json(&pairing), draw)?;
    for schedule in removed {
        let name = tame(&schedule.name);
        tell(&format_args!("schedule `{name}` was answered there, and is removed"));
    }
    Ok(())
}

/// The failure of a command about a number.
fn with_hint(error: StoreError) -> CliFailure {
    let is_unknown = matches!(error, StoreError::NotFound(_));
    let failure = CliFailure::from(error);
    if is_unknown { failure.hint(NUMBERS) } else { failure }
}

/// The bot that somebody wrote to: by its name, or by its number where it is known by that.
fn bot(pairing: &StoredPairing) -> String {
    let StoredPairing { channel, account, .. } = pairing;
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
            bot(pairing),
            pairing.subject.clone(),
            pairing.describe(),
            local_with_zone(since(pairing)),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}
