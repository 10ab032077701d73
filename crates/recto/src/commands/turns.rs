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
            None => Err(sent_no_page(store, turn, requests.len()).await?),
        };
    };
    let found = match requests.iter().find(|(found, _)| *found == number) {
        Some((_, id)) => store.request(*id).await?,
        None => None,
    };
    match found {
        Some(request) => Ok(request),
        None => Err(sent_no_such(store, turn, number, requests.len()).await?),
    }
}

/// Finds the first of these requests that is a page of the conversation.
async fn find_page(
    store: &Store,
    requests: impl Iterator<Item = RequestId>,
) -> CliResult<Option<RequestRecord>> {
    for id in requests {
        let request = store.request(id).await?;
        if let Some(page) = request.filter(is_page) {
            return Ok(Some(page));
        }
    }
    Ok(None)
}

/// Whether a request is a page of the conversation.
fn is_page(request: &RequestRecord) -> bool {
    RequestPurpose::from_record(request) == RequestPurpose::Page
}

/// The failure of a turn whose `count` requests, if any, are no pages.
async fn sent_no_page(store: &Store, turn: &StoredTurn, count: usize) -> CliResult<CliFailure> {
    if count == 0 {
        return sent_nothing(store, turn).await;
    }
    let what = format!("turn {} only asked for a summary: it sent no page", turn.id);
    let hint = format!("`recto show {} --request {count}` shows that", turn.id);
    Ok(CliFailure::new(what).hint(hint))
}

/// The failure of a request that a turn with `count` requests has not made.
async fn sent_no_such(
    store: &Store,
    turn: &StoredTurn,
    number: u32,
    count: usize,
) -> CliResult<CliFailure> {
    if count == 0 {
        return sent_nothing(store, turn).await;
    }
    Ok(CliFailure::new(format!("turn {} has no request {number}", turn.id))
        .hint(format!("its requests are numbered from 1 to {count}")))
}

/// The failure of a turn that made no request, with the last turn that did.
async fn sent_nothing(store: &Store, turn: &StoredTurn) -> CliResult<CliFailure> {
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
