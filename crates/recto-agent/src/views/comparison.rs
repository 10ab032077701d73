//! Two turns' requests beside each other: where they part, and what has to be read again for it.

use std::cmp::Ordering;

use recto_context::{Comparison, compare_requests};
use recto_store::RequestRecord;
use serde_json::{Value, json};

use super::reader::RecordReader;
use super::turn_record::TurnRecord;
use crate::error::{AgentError, AgentResult};
use crate::record::restore_request;

/// Two requests to be compared: the last page of the earlier turn, and the first of the later. That
/// is where a server's cache could go on.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct RequestPair {
    pub before: RequestRecord,
    pub after: RequestRecord,
}

/// Two requests, and what they share.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct TurnComparison {
    pub requests: RequestPair,
    pub comparison: Comparison,
}

impl<'a> RecordReader<'a> {
    /// Compares two turns, in the order in which they were, or one with the turn before it.
    pub async fn compare_turns(
        &self,
        first: TurnRecord<'a>,
        second: Option<TurnRecord<'a>>,
    ) -> AgentResult<TurnComparison> {
        let (before, after) = match second {
            Some(second) => put_in_order(first, second)?,
            None => (first.turn_before().await?, first),
        };
        let requests =
            RequestPair { before: before.last_page().await?, after: after.first_page().await? };
        let old = restore_request(self.store, &requests.before).await?;
        let new = restore_request(self.store, &requests.after).await?;
        Ok(TurnComparison { requests, comparison: compare_requests(&old, &new) })
    }
}

/// Two turns, the earlier one first, however they were named.
fn put_in_order<'a>(
    first: TurnRecord<'a>,
    second: TurnRecord<'a>,
) -> AgentResult<(TurnRecord<'a>, TurnRecord<'a>)> {
    match first.id().cmp(&second.id()) {
        Ordering::Less => Ok((first, second)),
        Ordering::Greater => Ok((second, first)),
        Ordering::Equal => Err(AgentError::SameTurn { turn: first.id() }),
    }
}

impl TurnComparison {
    /// All of it as JSON.
    pub fn json(&self) -> Value {
        let place =
            |request: &RequestRecord| json!({"turn": request.turn, "request": request.number});
        let RequestPair { before, after } = &self.requests;
        json!({"before": place(before), "after": place(after), "comparison": self.comparison})
    }
}
