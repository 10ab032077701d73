//! `recto show`, `recto diff`, `recto replay`, `recto why`: what was sent, as it was recorded.

pub(crate) mod diff;
pub(crate) mod replay;
pub(crate) mod show;
mod text;
pub(crate) mod why;

use recto_agent::RequestPurpose;
use recto_store::{RequestId, RequestRecord, Store, StoredTurn};

use crate::failure::{CliFailure, CliResult};
use crate::output::{tame, tame_lines};

/// Finds the turn that was asked for: a number, or `last`.
async fn find(store: &Store, name: &str) -> CliResult<StoredTurn> {
    let found = match name {
        "last" => store.last_turn(None).await?,
        number => {
            let id = number.parse().map_err(|_| no_such_turn(name))?;
            store.turn(id).await?
        }
    };
    found.ok_or_else(|| match name {
        "last" => CliFailure::new("there is no turn yet").hint("`recto chat` begins one"),
        _ => no_such_turn(name),
    })
}

fn no_such_turn(name: &str) -> CliFailure {
    CliFailure::new(format!("there is no turn `{}`", tame(name)))
        .hint("a turn is named by its number, or `last`; `recto sessions show NAME` lists them")
}

/// Finds one of a turn's requests: the one that is asked for, or else its last page.
async fn request_of(
    store: &Store,
    turn: &StoredTurn,
    number: Option<u32>,
) -> CliResult<RequestRecord> {
    let requests = store.request_ids(turn.id).await?;
    let Some(number) = number else {
        let newest_first = requests.iter().rev().map(|(_, id)| *id);
        return match find_page(store, newest_first).await? {
            Some(page) => Ok(page),
            None if requests.is_empty() => Err(sent_nothing_at_all(store, turn).await?),
            None => Err(sent_no_page(turn, requests.len())),
        };
    };
    let missing = || sent_no_such(turn, number, requests.len());
    let (_, id) = requests.iter().find(|(found, _)| *found == number).ok_or_else(missing)?;
    store.request(*id).await?.ok_or_else(missing)
}

/// Finds the first of these requests that is a page of the conversation.
async fn find_page(
    store: &Store,
    requests: impl Iterator<Item = RequestId>,
) -> CliResult<Option<RequestRecord>> {
    for id in requests {
        let request = store.request(id).await?;
        let is_page =
            |request: &RequestRecord| RequestPurpose::from_record(request) == RequestPurpose::Page;
        if let Some(page) = request.filter(is_page) {
            return Ok(Some(page));
        }
    }
    Ok(None)
}

/// The failure of a turn whose `count` requests, if any, are no pages.
fn sent_no_page(turn: &StoredTurn, count: usize) -> CliFailure {
    if count == 0 {
        return sent_nothing(turn);
    }
    let what = format!("turn {} only asked for a summary: it sent no page", turn.id);
    CliFailure::new(what).hint(format!("`recto show {} --request {count}` shows that", turn.id))
}

/// The failure of a request that a turn with `count` requests has not made.
fn sent_no_such(turn: &StoredTurn, number: u32, count: usize) -> CliFailure {
    if count == 0 {
        return sent_nothing(turn);
    }
    CliFailure::new(format!("turn {} has no request {number}", turn.id))
        .hint(format!("its requests are numbered from 1 to {count}"))
}

fn sent_nothing(turn: &StoredTurn) -> CliFailure {
    CliFailure::new(format!("turn {} sent nothing", turn.id)).hint(why_nothing(turn))
}

/// The failure of a turn that made no request, with the last turn that did.
async fn sent_nothing_at_all(store: &Store, turn: &StoredTurn) -> CliResult<CliFailure> {
    let failure = CliFailure::new(format!("turn {} sent nothing", turn.id));
    let why = why_nothing(turn);
    Ok(failure.hint(match store.last_turn_with_request().await? {
        Some(sent) => format!("{why}\n`recto show {}` shows the last turn that did", sent.id),
        None => why,
    }))
}

fn why_nothing(turn: &StoredTurn) -> String {
    match &turn.detail {
        Some(detail) => format!("it ended with: {}", tame_lines(detail)),
        None => format!("it is {}", turn.status),
    }
}
