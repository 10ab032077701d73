//! `recto diff`: the first byte in which two turns' requests differ, what caused
//! it, and what has to be read again for it.

use std::cmp::Ordering;

use recto_agent::restore_request;
use recto_context::{
    ChangeExcerpt, Comparison, ItemId, PromptChange, Tokens, compare_requests, grouped_digits,
};
use recto_store::{RequestRecord, Store, StoredTurn};
use serde_json::json;

use super::{find, find_page, request_of, sent_no_page};
use crate::cli::DiffArgs;
use crate::draw::{PageWidth, labelled};
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
            || describe(&before, &after, &comparison, PageWidth::of_stdout()),
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
    match first {
        Some(first) => Ok((before, first)),
        None => Err(sent_no_page(store, &after, of_turn.len()).await?),
    }
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

fn describe(
    before: &RequestRecord,
    after: &RequestRecord,
    comparison: &Comparison,
    width: PageWidth,
) -> String {
    let Comparison { agreed_tokens, fresh_tokens, reread_tokens, change, .. } = comparison;
    let reread = match *reread_tokens {
        Tokens::ZERO => String::new(),
        reread => format!(" ({reread} of them read before)"),
    };
    let difference = match change {
        Some(change) => change_place(change),
        None if *fresh_tokens == Tokens::ZERO => "none, the requests are the same".to_owned(),
        None => "none, the later request goes on where the earlier one ended".to_owned(),
    };
    let mut out = format!(
        "turn {}, request {}  →  turn {}, request {}\n\n",
        before.turn, before.number, after.turn, after.number,
    );
    let line = format!(
        "same beginning: {agreed_tokens} tokens; new: {fresh_tokens}{reread}; first difference: \
         {difference}\n"
    );
    out.push_str(&line);
    if let Some(change) = change {
        out.push_str(&describe_change(change, width));
    }
    for (what, items) in [
        ("added", &comparison.added),
        ("removed", &comparison.removed),
        ("changed", &comparison.changed),
    ] {
        if !items.is_empty() {
            out.push_str(&labelled(what, &named(items), width));
        }
    }
    out
}

/// Where two requests part.
fn change_place(change: &PromptChange) -> String {
    let byte = grouped_digits(change.byte as u64);
    match change.message {
        Some(message) => format!("message {}, byte {byte}", message + 1),
        None => format!("the tools, byte {byte}"),
    }
}

fn describe_change(change: &PromptChange, width: PageWidth) -> String {
    let mut lines = vec![("layer", change.layer.to_string())];
    lines.extend(change.item.as_ref().map(|item| ("item", tame(&item.to_string()))));
    lines.extend(change.source.as_ref().map(|source| ("source", tame(&source.to_string()))));
    lines.push(("cause", change.cause.describe().to_owned()));
    let ChangeExcerpt { agreed, before, after } = &change.excerpt;
    lines.extend([("both", agreed), ("before", before), ("now", after)].map(|(what, text)| {
        let text = if text.is_empty() { "nothing".to_owned() } else { quoted(text) };
        (what, text)
    }));
    lines.iter().map(|(label, text)| labelled(label, text, width)).collect()
}

/// A text in one line, with all that can't be seen in it.
fn quoted(text: &str) -> String {
    tame(&format!("{text:?}"))
}

fn named(items: &[ItemId]) -> String {
    let names: Vec<String> = items.iter().map(|item| tame(&item.to_string())).collect();
    names.join(", ")
}
