//! `recto diff`: the first byte in which two turns' requests differ, what caused
//! it, and what has to be read again for it.

use std::cmp::Ordering;
use std::fmt::Write as _;

use recto_agent::restore_request;
use recto_context::{ChangeExcerpt, Comparison, ItemId, PromptChange, Tokens, compare_requests};
use recto_store::{RequestRecord, Store, StoredTurn};
use serde_json::json;

use super::{find, find_page, request_of, sent_no_page};
use crate::cli::DiffArgs;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &DiffArgs) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store(&settings).await?;
        let (before, after) = requests(&store, args).await?;
        let (old, new) =
            (restore_request(&store, &before).await?, restore_request(&store, &after).await?);
        let comparison = compare_requests(&old, &new);
        let place =
            |request: &RequestRecord| json!({"turn": request.turn, "request": request.number});
        print_as(
            args.json,
            || json!({"before": place(&before), "after": place(&after), "comparison": comparison}),
            || describe(&before, &after, &comparison),
        )
    })
}

/// The last page of the earlier turn, and the first of the later: that is
/// where a server's cache could go on.
async fn requests(store: &Store, args: &DiffArgs) -> CliResult<(RequestRecord, RequestRecord)> {
    let first = find(store, &args.first).await?;
    let (before, after) = match &args.second {
        Some(second) => in_order(first, find(store, second).await?)?,
        None => (turn_before(store, &first).await?, first),
    };
    let before = request_of(store, &before, None).await?;
    let of_turn = store.request_ids(after.id).await?;
    let first = find_page(store, of_turn.iter().map(|(_, id)| *id)).await?;
    Ok((before, first.ok_or_else(|| sent_no_page(&after, of_turn.len()))?))
}

/// Two turns, the earlier one first, however they were named.
fn in_order(first: StoredTurn, second: StoredTurn) -> CliResult<(StoredTurn, StoredTurn)> {
    match first.id.cmp(&second.id) {
        Ordering::Less => Ok((first, second)),
        Ordering::Greater => Ok((second, first)),
        Ordering::Equal => Err(CliFailure::new(format!("turn {} was named twice", first.id))
            .hint("name two turns, or one to compare it with the turn before it")),
    }
}

async fn turn_before(store: &Store, turn: &StoredTurn) -> CliResult<StoredTurn> {
    let turns = store.turns(turn.session).await?;
    for earlier in turns.into_iter().rev().filter(|earlier| earlier.number < turn.number) {
        let requests = store.request_ids(earlier.id).await?;
        if find_page(store, requests.iter().rev().map(|(_, id)| *id)).await?.is_some() {
            return Ok(earlier);
        }
    }
    Err(CliFailure::new(format!(
        "turn {} is the first of its session that sent something",
        turn.id
    ))
    .hint("name two turns to compare: recto diff TURN TURN"))
}

fn describe(before: &RequestRecord, after: &RequestRecord, comparison: &Comparison) -> String {
    let mut out = format!(
        "turn {}, request {}  →  turn {}, request {}\n\n\
         agree   {} bytes, {} tokens\n\
         fresh   {} tokens to read, {} of them read before\n",
        before.turn,
        before.number,
        after.turn,
        after.number,
        comparison.agreed_bytes,
        comparison.agreed_tokens,
        comparison.fresh_tokens,
        comparison.reread_tokens,
    );
    out.push_str(&match &comparison.change {
        Some(change) => describe_change(change),
        None if comparison.fresh_tokens == Tokens::ZERO => {
            "part    nowhere: the requests are the same\n".to_owned()
        }
        None => {
            "part    nowhere: the later request goes on where the earlier one ended\n".to_owned()
        }
    });
    for (what, items) in [
        ("added", &comparison.added),
        ("removed", &comparison.removed),
        ("changed", &comparison.changed),
    ] {
        if !items.is_empty() {
            let _ = writeln!(out, "{what:<7} {}", named(items));
        }
    }
    out
}

fn describe_change(change: &PromptChange) -> String {
    let place = match change.message {
        Some(message) => format!("message {}, byte {}", message + 1, change.byte),
        None => format!("the tools, byte {}", change.byte),
    };
    let mut out = format!("part    in {place}\nlayer   {}\n", change.layer);
    if let Some(item) = &change.item {
        let _ = writeln!(out, "item    {}", tame(&item.to_string()));
    }
    if let Some(source) = &change.source {
        let _ = writeln!(out, "source  {}", tame(&source.to_string()));
    }
    let _ = writeln!(out, "cause   {}", change.cause.describe());
    let ChangeExcerpt { agreed, before, after } = &change.excerpt;
    for (what, text) in [("both", agreed), ("before", before), ("now", after)] {
        let _ = writeln!(out, "{what:<7} {}", quoted(text));
    }
    out
}

/// A text in one line, with all that can't be seen in it.
fn quoted(text: &str) -> String {
    tame(&format!("{text:?}"))
}

fn named(items: &[ItemId]) -> String {
    let names: Vec<String> = items.iter().map(|item| tame(&item.to_string())).collect();
    names.join(", ")
}
