//! One step of a turn, written in one transaction or not at all.

use std::sync::Arc;

use crate::sql::{SqlConnection, params};
use recto_context::{Carry, ContentPart, ItemId, Message, MessageBody, MessageId, TurnNumber};
use serde_json::Value;

use crate::approvals::{self, NewApproval};
use crate::codec;
use crate::compactions::{self, NewCompaction};
use crate::documents::{NewRequest, PackedRequest};
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{CompactionId, Moment, RequestId, RetractionId, SessionId, TurnId};
use crate::item_uses;
use crate::items::{self, ItemState};
use crate::opening::first_words;
use crate::records::RequestAnswer;
use crate::rows::{self, DbResult};
use crate::transcript::{self, MessagePlace};
use crate::turns::TurnEnding;
use crate::usage::{self, TurnTally};

/// What one step of a turn adds. What is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub struct TurnCommit {
    /// Appended to the transcript. Their numbers are the caller's choice and
    /// must lie above the session's last.
    pub messages: Vec<NewMessage>,
    /// Appended in front of the messages, as belonging to no turn: what the client of this one
    /// said elsewhere.
    pub brought: Vec<NewMessage>,
    /// The turn that this one goes on with, whose kept state is this one's from now on.
    pub continues: Option<TurnId>,
    /// The state of the running turn, to take it up again after a crash. Forgotten when the
    /// turn ends, unless it comes with the outcome.
    pub state: Option<Value>,
    /// What came back for a request.
    pub answer: Option<RequestAnswer>,
    /// The request that is about to be sent.
    pub request: Option<NewRequest>,
    /// How the turn ended; without it, the turn goes on.
    pub outcome: Option<TurnOutcome>,
    /// What the request hands to the next.
    pub carry: Option<Carry>,
    /// A summary that the request shows for the first time, in place of messages
    /// and of the summary before it.
    pub compaction: Option<NewCompaction>,
    /// Which begin of its turn the step belongs to. Where the turn was begun again since, it is refused as
    /// [`StoreError::BegunAgain`]; `None` checks nothing.
    pub begun: Option<u32>,
    /// What the session was when it was read. A turn that begins on anything else
    /// is refused as [`StoreError::Changed`]; `None` checks nothing.
    pub basis: Option<SessionBasis>,
    /// Items whose place in the session changes.
    pub items: Vec<(ItemId, ItemState)>,
    /// Questions that the turn now waits for.
    pub approvals: Vec<NewApproval>,
    /// What was learned about a model's tokens: the model entry and its state.
    pub calibration: Option<(String, Value)>,
    /// What the turn used. It is counted with the outcome, and not before.
    pub tally: Option<TurnTally>,
}

/// The end of a session's transcript, the summary that stood in it and what was taken back, as somebody
/// read them who wants to begin a turn on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBasis {
    /// The last message, or 0 where there was none.
    pub last_message: MessageId,
    /// The summary that stood for messages that have left the page.
    pub summary: Option<CompactionId>,
    /// The last thing that was taken back.
    pub retraction: Option<RetractionId>,
}

/// A message to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The message, with a number that the caller chose.
    pub message: Arc<Message>,
    /// When it was said.
    pub at: Moment,
}

/// The end of a turn: how, why and when.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    /// Which of the ways to end it was.
    pub ending: TurnEnding,
    /// More about it, for people.
    pub detail: Option<String>,
    /// When the turn ended.
    pub at: Moment,
}

/// A turn that has begun, with the numbers that the store gave to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedTurn {
    /// The turn's number, counted over all sessions.
    pub turn: TurnId,
    /// Its number within the session.
    pub number: TurnNumber,
    /// Its first request, if the commit had one.
    pub request: Option<RequestId>,
}

impl TurnCommit {
    /// About how many bytes are to be packed.
    pub(crate) fn size(&self) -> usize {
        let messages = self.brought.iter().chain(&self.messages).flat_map(|new| {
            let calls = new.message.calls().iter().map(|call| call.arguments.len());
            new.message.content().iter().map(content_size).chain(calls)
        });
        let request = self.request.iter().flat_map(|request| {
            let contents = request.contents.iter().map(|text| text.len());
            contents.chain([request.body.as_str().len(), request.context.len()])
        });
        let compaction = self.compaction.iter().map(|compaction| compaction.summary.text.len());
        messages.chain(request).chain(compaction).sum()
    }
}

fn content_size(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text(text) => text.len(),
        ContentPart::Image(image) => image.data.len(),
        ContentPart::File(file) => file.text().len(),
        ContentPart::Opaque(opaque) => opaque.json.len(),
    }
}

/// A commit with what of it is packed. Made by the caller's task, so that the
/// one thread that writes has nothing to compress.
pub(crate) struct PackedCommit {
    pub(crate) commit: Arc<TurnCommit>,
    messages: Vec<PackedMessage>,
    brought: Vec<PackedMessage>,
    state: Option<Vec<u8>>,
    /// The result of the answer.
    result: Option<Vec<u8>>,
    pub(crate) request: Option<PackedRequest>,
    carry: Option<String>,
    /// The text of the compaction.
    summary: Option<Vec<u8>>,
}

/// A message in the form in which it is written.
pub(crate) struct PackedMessage {
    pub(crate) id: MessageId,
    pub(crate) at: Moment,
    pub(crate) body: Vec<u8>,
    /// Whether it is what a turn begins with.
    pub(crate) is_inbound: bool,
    /// Its first words, for a session that begins with it.
    pub(crate) opening: Option<String>,
}

impl PackedMessage {
    pub(crate) fn new(new: &NewMessage) -> StoreResult<Self> {
        let NewMessage { message, at } = new;
        let body = codec::pack(&rows::to_json(message)?);
        Ok(PackedMessage {
            id: message.id,
            at: *at,
            body,
            is_inbound: is_inbound(message),
            opening: first_words(message),
        })
    }
}

/// Whether a turn begins with such a message: a person's, or a result that a client brings.
pub(crate) fn is_inbound(message: &Message) -> bool {
    message.is_user() || matches!(message.body, MessageBody::Tool { .. })
}

impl PackedCommit {
    /// Packs all of a commit; its request comes packed already.
    pub(crate) fn new(
        commit: &Arc<TurnCommit>,
        request: Option<PackedRequest>,
    ) -> StoreResult<Self> {
        let pack = |value: &Value| rows::to_json(value).map(|json| codec::pack(&json));
        let compaction = commit.compaction.as_ref();
        Ok(PackedCommit {
            commit: commit.clone(),
            messages: commit.messages.iter().map(PackedMessage::new).collect::<Result<_, _>>()?,
            brought: commit.brought.iter().map(PackedMessage::new).collect::<Result<_, _>>()?,
            state: commit.state.as_ref().map(pack).transpose()?,
            result: commit.answer.as_ref().map(|answer| pack(&answer.result)).transpose()?,
            request,
            carry: commit.carry.as_ref().map(rows::to_json).transpose()?,
            summary: compaction.map(|compaction| codec::pack(&compaction.summary.text)),
        })
    }

    /// The first message of a turn that begins with this step.
    pub(crate) fn first_message(&self) -> Option<MessageId> {
        self.messages.first().map(|first| first.id)
    }

    /// The state of a turn that begins with this step and goes on behind it.
    pub(crate) fn open_state(&self) -> Option<&[u8]> {
        self.state.as_deref().filter(|_| self.commit.outcome.is_none())
    }
}

/// What the row of a turn has of the step that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnRow {
    /// Nothing: it is of an earlier step.
    Earlier,
    /// What [`PackedCommit::first_message`] and [`PackedCommit::open_state`] give: it was added with
    /// them.
    WithStep,
}

/// Writes a step of `turn`, which the caller has found to be running and ours.
pub(crate) fn apply(
    db: &SqlConnection,
    session: SessionId,
    turn: TurnId,
    row: TurnRow,
    packed: &PackedCommit,
) -> DbResult<Option<RequestId>> {
    let commit = &packed.commit;
    if let Some(before) = commit.continues {
        continue_turn(db, turn, before)?;
    }
    transcript::append(db, session, MessagePlace::BroughtBy(turn), &packed.brought)?;
    transcript::append(db, session, MessagePlace::Turn(turn), &packed.messages)?;
    if row == TurnRow::Earlier {
        note_first_message(db, turn, &packed.messages)?;
    }
    if let Some(answer) = &commit.answer {
        record_answer(db, turn, answer, packed.result.as_deref())?;
    }
    let request = packed.request.as_ref().map(|request| request.insert(db, turn)).transpose()?;
    // It keeps something of the carry that is replaced after it.
    if let Some(compaction) = &commit.compaction {
        compactions::insert(db, session, compaction, packed.summary.as_deref())?;
    }
    if let Some(carry) = &packed.carry {
        transcript::set_carry(db, session, carry)?;
    }
    items::set_items(db, session, &commit.items)?;
    approvals::insert_questions(db, session, turn, &commit.approvals)?;
    if let Some((model, state)) = &commit.calibration {
        let sql = "INSERT INTO calibrations (model, state) VALUES (?1, ?2)
                   ON CONFLICT (model) DO UPDATE SET state = excluded.state";
        db.execute(sql, params![model, rows::to_json(state)?])?;
    }
    match (&commit.outcome, &packed.state) {
        (Some(outcome), state) => {
            end_turn(db, turn, outcome, commit.tally.as_ref())?;
            if let Some(state) = state {
                keep_state(db, turn, state)?;
            }
        }
        (None, Some(state)) if row == TurnRow::Earlier => keep_state(db, turn, state)?,
        (None, _) => {}
    }
    Ok(request)
}

fn keep_state(db: &SqlConnection, turn: TurnId, state: &[u8]) -> DbResult<()> {
    let sql = "UPDATE turns SET state = ?2 WHERE id = ?1";
    db.execute(sql, params![turn.0, state]).map(drop)
}

/// Writes which turn this one goes on with. What that one kept for it is of no more use.
fn continue_turn(db: &SqlConnection, turn: TurnId, before: TurnId) -> DbResult<()> {
    db.execute("UPDATE turns SET continues = ?2 WHERE id = ?1", [turn.0, before.0])?;
    db.execute("UPDATE turns SET state = NULL WHERE id = ?1", [before.0]).map(drop)
}

/// Notes where the turn's messages begin. The inbound is forgotten once its message is in
/// the transcript: it would stand there twice.
fn note_first_message(
    db: &SqlConnection,
    turn: TurnId,
    messages: &[PackedMessage],
) -> DbResult<()> {
    let Some(first) = messages.first() else { return Ok(()) };
    let sql = "UPDATE turns SET inbound = CASE WHEN ?3 THEN NULL ELSE inbound END,
                   client = CASE WHEN ?3 THEN NULL ELSE client END,
                   first_message = ?2
               WHERE id = ?1 AND first_message IS NULL";
    let values = params![turn.0, rows::message_column(first.id)?, first.is_inbound];
    db.execute(sql, values).map(drop)
}

fn record_answer(
    db: &SqlConnection,
    turn: TurnId,
    answer: &RequestAnswer,
    result: Option<&[u8]>,
) -> DbResult<()> {
    let sql = "UPDATE requests SET ended = ?3, reply = ?4, prompt = ?5, cached = ?6,
                   completion = ?7, result = ?8
               WHERE id = ?1 AND turn = ?2 AND ended IS NULL";
    let values = params![
        answer.request.0,
        turn.0,
        answer.at.microseconds(),
        answer.reply.map(rows::message_column).transpose()?,
        answer.usage.prompt,
        answer.usage.cached,
        answer.usage.completion,
        result,
    ];
    let changed = db.execute(sql, values)?;
    if changed == 1 { Ok(()) } else { Err(answer_error(db, turn, answer.request)?) }
}

fn answer_error(db: &SqlConnection, turn: TurnId, request: RequestId) -> DbResult<DbError> {
    let sql = "SELECT id FROM requests WHERE id = ?1 AND turn = ?2";
    let is_there = db.exists(sql, [request.0, turn.0])?;
    let error = if is_there {
        StoreError::Answered { request }
    } else {
        StoreError::NotFound(RowId::Request(request))
    };
    Ok(error.into())
}

/// Writes how a turn ended, counts it, and takes back what it asked.
pub(crate) fn end_turn(
    db: &SqlConnection,
    turn: TurnId,
    outcome: &TurnOutcome,
    tally: Option<&TurnTally>,
) -> DbResult<()> {
    let TurnOutcome { ending, detail, at } = outcome;
    let sql = "UPDATE turns SET status = ?2, detail = ?3, ended = ?4, owner = NULL, state = NULL
               WHERE id = ?1";
    db.execute(sql, params![turn.0, ending.name(), detail, at.microseconds()])?;
    usage::count_turn(db, turn, outcome, tally)?;
    if let Some(tally) = tally {
        item_uses::record(db, turn, &tally.uses)?;
    }
    approvals::withdraw(db, turn, *at)
}

#[cfg(test)]
mod tests {
    use recto_context::{HistorySummary, SummaryBy, Tokens};

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
            body: ["b".repeat(20), "b".repeat(300)].into_iter().collect(),
            notes: Value::Null,
        };
        let message = NewMessage { message: Arc::new(Message::user(1, "m")), at: moment };
        let summary = HistorySummary {
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
