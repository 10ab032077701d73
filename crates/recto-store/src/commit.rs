//! One step of a turn, written in one transaction or not at all.

use std::sync::Arc;

use recto_context::{Carry, ContentPart, ItemId, Message, MessageId, TurnNumber};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::approvals::{self, NewApproval};
use crate::codec;
use crate::compactions::{self, NewCompaction, PackedCompaction};
use crate::documents::{NewRequest, PackedRequest};
use crate::error::{Fault, StoreError, Thing};
use crate::ids::{CompactionId, Moment, RequestId, SessionId, TurnId};
use crate::items::{self, ItemState};
use crate::records::RequestAnswer;
use crate::rows::{self, Outcome as Done};
use crate::transcript;
use crate::turns::Ending;

/// What one step of a turn adds. What is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub struct TurnCommit {
    /// Appended to the transcript. Their numbers are the caller's choice and
    /// must lie above the session's last.
    pub messages: Vec<NewMessage>,
    /// The state of the running turn, to take it up again after a crash.
    /// Forgotten when the turn ends.
    pub state: Option<Value>,
    /// What came back for a request.
    pub answer: Option<RequestAnswer>,
    /// The request that is about to be sent.
    pub request: Option<NewRequest>,
    /// Ends the turn.
    pub outcome: Option<Outcome>,
    /// What the request hands to the next.
    pub carry: Option<Carry>,
    /// A summary that the request shows for the first time, in place of messages
    /// and of the summary before it.
    pub compaction: Option<NewCompaction>,
    /// The summary that stood when the session was read. A turn that begins on
    /// another one is refused as [`StoreError::Changed`].
    pub found: FoundSummary,
    /// Items whose place in the session changes.
    pub items: Vec<(ItemId, ItemState)>,
    /// Questions that the turn now waits for.
    pub approvals: Vec<NewApproval>,
    /// What was learned about a model's tokens: the model entry and its state.
    pub calibration: Option<(String, Value)>,
}

/// The summary that stood in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoundSummary {
    /// Nobody looked.
    #[default]
    Unknown,
    /// None did.
    None,
    /// This one.
    Some(CompactionId),
}

/// A message to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// What was said.
    pub message: Arc<Message>,
    /// When.
    pub at: Moment,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// In which way.
    pub ending: Ending,
    /// More about it, for people.
    pub detail: Option<String>,
    /// When.
    pub at: Moment,
}

/// A turn that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// The turn.
    pub turn: TurnId,
    /// Its number within the session.
    pub number: TurnNumber,
    /// Its first request, if the commit had one.
    pub request: Option<RequestId>,
}

impl TurnCommit {
    /// About how many bytes are to be packed.
    pub(crate) fn size(&self) -> usize {
        let messages = self.messages.iter().flat_map(|new| {
            let calls = new.message.calls().iter().map(|call| call.arguments.len());
            new.message.content().iter().map(content_size).chain(calls)
        });
        let request = self.request.iter().flat_map(|request| {
            let contents = request.contents.iter().map(|text| text.len());
            request.body.iter().map(String::len).chain(contents).chain([request.context.len()])
        });
        let compaction = self.compaction.iter().map(|compaction| compaction.summary.text.len());
        messages.chain(request).chain(compaction).sum()
    }
}

fn content_size(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text(text) => text.len(),
        ContentPart::Image(image) => image.data.len(),
        ContentPart::Opaque(opaque) => opaque.json.len(),
    }
}

/// What the work on a commit gives.
pub(crate) trait Written: Send + 'static {
    /// The request that was written.
    fn request(&self) -> Option<RequestId>;
}

impl Written for Begun {
    fn request(&self) -> Option<RequestId> {
        self.request
    }
}

impl Written for Option<RequestId> {
    fn request(&self) -> Option<RequestId> {
        *self
    }
}

/// A commit in the form in which it is written. Made by the caller's task, so
/// that the one thread that writes has nothing to compress.
pub(crate) struct PackedCommit {
    pub(crate) messages: Vec<PackedMessage>,
    pub(crate) state: Option<Vec<u8>>,
    answer: Option<PackedAnswer>,
    pub(crate) request: Option<PackedRequest>,
    pub(crate) outcome: Option<Outcome>,
    carry: Option<String>,
    compaction: Option<PackedCompaction>,
    pub(crate) found: FoundSummary,
    items: Vec<(ItemId, ItemState)>,
    approvals: Vec<NewApproval>,
    calibration: Option<(String, String)>,
}

/// A message in the form in which it is written.
pub(crate) struct PackedMessage {
    pub(crate) id: MessageId,
    pub(crate) at: Moment,
    pub(crate) body: Vec<u8>,
    pub(crate) is_user: bool,
}

struct PackedAnswer {
    answer: RequestAnswer,
    result: Vec<u8>,
}

impl PackedMessage {
    pub(crate) fn new(new: &NewMessage) -> Result<Self, StoreError> {
        let NewMessage { message, at } = new;
        let body = codec::pack(&rows::to_json(message)?);
        Ok(PackedMessage { id: message.id, at: *at, body, is_user: message.is_user() })
    }
}

impl PackedCommit {
    /// Packs all of a commit; its request comes packed already.
    pub(crate) fn new(
        commit: &TurnCommit,
        request: Option<PackedRequest>,
    ) -> Result<Self, StoreError> {
        let messages = commit.messages.iter().map(PackedMessage::new);
        let pack = |value: &Value| rows::to_json(value).map(|json| codec::pack(&json));
        let answer = commit.answer.as_ref().map(|answer| {
            Ok(PackedAnswer { answer: answer.clone(), result: pack(&answer.result)? })
        });
        let calibration = commit
            .calibration
            .as_ref()
            .map(|(model, state)| Ok((model.clone(), rows::to_json(state)?)));
        Ok(PackedCommit {
            messages: messages.collect::<Result<_, _>>()?,
            state: commit.state.as_ref().map(pack).transpose()?,
            answer: answer.transpose()?,
            request,
            outcome: commit.outcome.clone(),
            carry: commit.carry.as_ref().map(rows::to_json).transpose()?,
            compaction: commit.compaction.as_ref().map(PackedCompaction::new),
            found: commit.found,
            items: commit.items.clone(),
            approvals: commit.approvals.clone(),
            calibration: calibration.transpose()?,
        })
    }
}

/// Writes a step of `turn`, which the caller has found to be running and ours.
pub(crate) fn apply(
    db: &Connection,
    session: SessionId,
    turn: TurnId,
    commit: &PackedCommit,
) -> Done<Option<RequestId>> {
    append_messages(db, session, turn, &commit.messages)?;
    if let Some(answer) = &commit.answer {
        put_answer(db, turn, answer)?;
    }
    let request = commit.request.as_ref().map(|request| request.insert(db, turn)).transpose()?;
    // It keeps something of the carry that is replaced after it.
    if let Some(compaction) = &commit.compaction {
        compactions::insert(db, session, compaction)?;
    }
    if let Some(carry) = &commit.carry {
        transcript::put_carry(db, session, carry)?;
    }
    items::put(db, session, &commit.items)?;
    approvals::ask(db, session, turn, &commit.approvals)?;
    if let Some((model, state)) = &commit.calibration {
        db.prepare_cached("INSERT OR REPLACE INTO calibrations (model, state) VALUES (?1, ?2)")?
            .execute(params![model, state])?;
    }
    match &commit.outcome {
        Some(outcome) => end(db, turn, outcome)?,
        None => put_state(db, turn, commit.state.as_deref())?,
    }
    Ok(request)
}

/// Appends the turn's messages. The inbound is forgotten once its message is in
/// the transcript: it would stand there twice.
fn append_messages(
    db: &Connection,
    session: SessionId,
    turn: TurnId,
    messages: &[PackedMessage],
) -> Done<()> {
    let Some(first) = messages.first() else { return Ok(()) };
    transcript::append(db, session, Some(turn), messages)?;
    db.prepare_cached(
        "UPDATE turns SET inbound = CASE WHEN ?3 THEN NULL ELSE inbound END, first_message = ?2
         WHERE id = ?1 AND first_message IS NULL",
    )?
    .execute(params![turn.0, rows::message_column(first.id)?, first.is_user])?;
    Ok(())
}

fn put_answer(db: &Connection, turn: TurnId, packed: &PackedAnswer) -> Done<()> {
    let PackedAnswer { answer, result } = packed;
    let reply = answer.reply.map(rows::message_column).transpose()?;
    let changed = db
        .prepare_cached(
            "UPDATE requests SET ended = ?3, reply = ?4, prompt = ?5, cached = ?6,
                 completion = ?7, result = ?8
             WHERE id = ?1 AND turn = ?2 AND ended IS NULL",
        )?
        .execute(params![
            answer.request.0,
            turn.0,
            answer.at.microseconds(),
            reply,
            answer.usage.prompt,
            answer.usage.cached,
            answer.usage.completion,
            result,
        ])?;
    if changed == 1 { Ok(()) } else { Err(unanswerable(db, turn, answer.request)?) }
}

fn unanswerable(db: &Connection, turn: TurnId, request: RequestId) -> Done<Fault> {
    let is_there = db
        .prepare_cached("SELECT 1 FROM requests WHERE id = ?1 AND turn = ?2")?
        .exists([request.0, turn.0])?;
    let error = if is_there {
        StoreError::Answered { request }
    } else {
        StoreError::NotFound(Thing::Request(request))
    };
    Ok(error.into())
}

pub(crate) fn end(db: &Connection, turn: TurnId, outcome: &Outcome) -> Done<()> {
    db.prepare_cached(
        "UPDATE turns SET status = ?2, detail = ?3, ended = ?4, owner = NULL, state = NULL
         WHERE id = ?1",
    )?
    .execute(params![
        turn.0,
        outcome.ending.name(),
        outcome.detail,
        outcome.at.microseconds()
    ])?;
    approvals::withdraw(db, turn, outcome.at)
}

fn put_state(db: &Connection, turn: TurnId, state: Option<&[u8]>) -> Done<()> {
    if let Some(state) = state {
        db.prepare_cached("UPDATE turns SET state = ?2 WHERE id = ?1")?
            .execute(params![turn.0, state])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use recto_context::{Summary, SummaryBy, Tokens};

    use super::*;
    use crate::documents::Fidelity;

    #[test]
    fn everything_that_can_be_long_counts_for_the_size() {
        let moment = Moment::new(jiff::Timestamp::UNIX_EPOCH);
        let request = NewRequest {
            number: 1,
            at: moment,
            model: String::new(),
            wire: String::new(),
            options: Value::Null,
            fidelity: Fidelity::Wire,
            context: "c".repeat(1_000),
            contents: vec!["text".into()],
            body: vec!["b".repeat(20), "b".repeat(300)],
            notes: Value::Null,
        };
        let message = NewMessage { message: Arc::new(Message::user(1, "m")), at: moment };
        let summary = Summary {
            text: "s".repeat(5_000).into(),
            first: MessageId(1),
            last: MessageId(2),
            messages: 2,
            how: SummaryBy::Extract,
        };
        let compaction = NewCompaction {
            summary,
            model: None,
            tokens_before: Tokens::new(2_000),
            tokens_after: Tokens::new(1_000),
            made: moment,
        };
        let commit = TurnCommit {
            messages: vec![message],
            request: Some(request),
            compaction: Some(compaction),
            ..TurnCommit::default()
        };
        assert_eq!(commit.size(), 5_000 + 1_000 + 4 + 20 + 300 + 1);
    }
}
