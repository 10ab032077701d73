//! `recto show`, `recto diff`, `recto replay`, `recto why`: what was sent, as it was recorded.

pub(crate) mod diff;
pub(crate) mod replay;
pub(crate) mod show;
pub(crate) mod why;

use recto_store::{RequestRecord, Store, StoredTurn};

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

/// Finds one of a turn's requests, the last unless another is asked for.
async fn request_of(
    store: &Store,
    turn: &StoredTurn,
    number: Option<u32>,
) -> CliResult<RequestRecord> {
    let requests = store.request_ids(turn.id).await?;
    let asked = match number {
        Some(number) => requests.iter().find(|(found, _)| *found == number),
        None => requests.last(),
    };
    let Some((_, id)) = asked else { return Err(sent_no_such(turn, number, requests.len())) };
    let request = store.request(*id).await?;
    request.ok_or_else(|| sent_no_such(turn, number, requests.len()))
}

/// The failure of a request that a turn with `count` requests has not made.
fn sent_no_such(turn: &StoredTurn, number: Option<u32>, count: usize) -> CliFailure {
    if count == 0 {
        let failure = CliFailure::new(format!("turn {} sent nothing", turn.id));
        return match &turn.detail {
            Some(detail) => failure.hint(format!("it ended with: {}", tame_lines(detail))),
            None => failure,
        };
    }
    CliFailure::new(format!("turn {} has no request {}", turn.id, number.unwrap_or(0)))
        .hint(format!("its requests are numbered from 1 to {count}"))
}
