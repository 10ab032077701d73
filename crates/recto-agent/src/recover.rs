//! What a process that was killed left behind.
//!
//! A turn whose tools may have run is closed: each of its calls gets a result
//! that says so, and the person an explanation. A turn that only waited, for its
//! beginning or for a model, is handed back, to be finished, unless somebody has asked to
//! stop it or it was begun often enough. One that waits for a person's word goes on
//! waiting, and what stands behind it with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{Audience, Message, MessageBody, MessageId, Text, UserMessage};
use recto_store::{
    Moment, NewMessage, RowId, SessionId, Store, StoreError, StoredTurn, TurnCommit, TurnEnding,
    TurnId, TurnOutcome, TurnOwner, TurnStatus,
};

use crate::actor::Actor;
use crate::error::{AgentError, AgentResult};
use crate::event::TurnError;
use crate::options::SessionSettings;
use crate::step::{EndReason, STOPPED_UNALLOWED, StepEffect, StepInput, TurnClosing, TurnState};
use crate::tally::tally_stored_turn;
use crate::turn::{open_calls, stamp};

/// How often a turn is begun without a person. It is begun and taken up once, however its process
/// ended: somebody who restarts Recto to be rid of a turn would otherwise get it back each time. A
/// begin of which the store did not take what came does not count.
const MOST_BEGINS: u32 = 2;

/// The turns that processes left which are gone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettledTurns {
    /// Those that can be finished, oldest first.
    pub unfinished: Vec<StoredTurn>,
    /// Those that were closed, because they can't be, or are not to be.
    pub closed: Vec<ClosedTurn>,
}

/// A turn that was closed instead of being taken up.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedTurn {
    /// The turn, as it was before.
    pub turn: StoredTurn,
    /// Why nobody goes on with it.
    pub reason: EndReason,
}

/// Closes what can't be finished, whichever agent's it is, and gives the turns that can, oldest
/// first. Needs no model, so that every command can do it before it looks.
pub async fn settle_open_turns(store: &Store) -> AgentResult<SettledTurns> {
    let open = open_turns(store).await?;
    settle_turns(store, open).await
}

/// The same for the turns of one agent: those of others are theirs.
pub(crate) async fn settle_own_turns(store: &Store, agent: &str) -> AgentResult<SettledTurns> {
    let mut own = Vec::new();
    for turn in open_turns(store).await? {
        if store.session(turn.session).await?.is_some_and(|session| session.agent == agent) {
            own.push(turn);
        }
    }
    settle_turns(store, own).await
}

/// Why a turn of this process is to be closed instead of being begun, if it is.
pub(crate) fn reason_to_close(turn: &StoredTurn) -> Option<EndReason> {
    if turn.stop_by.is_some() {
        return Some(EndReason::Stopped);
    }
    is_worn_out(turn).then_some(EndReason::GivenUp)
}

/// Closes a turn of this process instead of beginning it. Gives how it ended, and what people
/// are told of it.
pub(crate) async fn close_unbegun(
    store: &Store,
    turn: &StoredTurn,
    reason: EndReason,
) -> AgentResult<(TurnEnding, TurnError)> {
    let unanswered = open_calls(&messages_of(store, turn).await?);
    let closing = TurnClosing { outcome: reason, unanswered };
    write_closing(store, turn, &closing).await?;
    let (message, remedy) = (notice(turn, reason), reason.remedy());
    let code = Cow::Borrowed(reason.into());
    let error = TurnError { code, message, hint: None, remedy, retry_after: None };
    Ok((reason.status(), error))
}

/// The turns that are open. Those that can't be read are closed: of them nobody can say whose
/// they are.
async fn open_turns(store: &Store) -> AgentResult<Vec<StoredTurn>> {
    let open = store.open_turns().await?;
    for (turn, error) in open.damaged {
        close_damaged(store, turn, &error).await?;
    }
    Ok(open.turns)
}

async fn settle_turns(store: &Store, open: Vec<StoredTurn>) -> AgentResult<SettledTurns> {
    let mut settled = SettledTurns::default();
    let asked = open_questions(store).await?;
    let is_stopped =
        |turn: &StoredTurn| turn.owner == Some(TurnOwner::Gone) && turn.stop_by.is_some();
    let waits = |turn: &&StoredTurn| {
        let is_asking = asked.contains(&turn.id) && !is_stopped(turn);
        turn.owner == Some(TurnOwner::Elsewhere) || is_asking
    };
    let waiting: HashSet<SessionId> = open.iter().filter(waits).map(|turn| turn.session).collect();
    for turn in open {
        // What waits in a session where another process is at work, or a person has
        // to be asked, is taken up when that is done, by whoever talks there next.
        let has_to_wait = waiting.contains(&turn.session) && !is_stopped(&turn);
        if turn.owner != Some(TurnOwner::Gone) || has_to_wait {
            continue;
        }
        match find_closing(store, &turn).await {
            Ok(Some(closing)) => {
                if take_and_close(store, &turn, &closing).await? {
                    settled.closed.push(ClosedTurn { turn, reason: closing.outcome });
                }
            }
            Ok(None) => settled.unfinished.push(turn),
            Err(AgentError::Store(error @ StoreError::Damaged { .. })) => {
                close_damaged(store, turn.id, &error).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(settled)
}

/// Turns with questions that somebody may still answer.
async fn open_questions(store: &Store) -> AgentResult<HashSet<TurnId>> {
    let open = store.open_approvals(Moment::now()).await?;
    Ok(open.iter().map(|approval| approval.turn).collect())
}

/// Closes a turn that can't be read any more: it would stand in the way of its
/// session for ever, and of every other command.
async fn close_damaged(store: &Store, turn: TurnId, error: &StoreError) -> AgentResult {
    let detail = Some(format!("it can't be read any more: {error}"));
    let outcome = TurnOutcome { ending: TurnEnding::Interrupted, detail, at: Moment::now() };
    match store.end_unread(turn, outcome).await {
        // Its process lives and will find out by itself, or somebody was faster.
        Err(StoreError::NotOurs { .. } | StoreError::NotFound(_)) => Ok(()),
        ended => Ok(ended?),
    }
}

/// Closes a turn whose process is gone. Says whether nobody was faster.
async fn take_and_close(
    store: &Store,
    turn: &StoredTurn,
    closing: &TurnClosing,
) -> AgentResult<bool> {
    match store.take_over(turn.id).await {
        Ok(_) => write_closing(store, turn, closing).await.map(|()| true),
        Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How to close a turn whose process is gone, if it can't or shall not be finished.
async fn find_closing(store: &Store, turn: &StoredTurn) -> AgentResult<Option<TurnClosing>> {
    let calls = open_calls(&messages_of(store, turn).await?);
    let reason = reason_to_close(turn);
    if reason == Some(EndReason::Stopped) {
        return Ok(Some(TurnClosing { outcome: EndReason::Stopped, unanswered: calls }));
    }
    if is_given_by_turn(store, turn).await? {
        // The call that waited for it has been answered as interrupted, or will be.
        return Ok(Some(TurnClosing::interrupted(calls)));
    }
    let resumed = match (&turn.state, turn.first_message) {
        (Some(stored), Some(_)) => match TurnState::read(stored) {
            Some(mut state) => Some(state.step(StepInput::Resume)),
            None if calls.is_empty() => None,
            None => Some(StepEffect::End(TurnClosing::interrupted(calls))),
        },
        _ => None,
    };
    Ok(match resumed {
        Some(StepEffect::End(closing)) => Some(closing),
        _ => reason.map(|outcome| TurnClosing { outcome, unanswered: Vec::new() }),
    })
}

/// Whether a turn does a task that another turn gave.
async fn is_given_by_turn(store: &Store, turn: &StoredTurn) -> AgentResult<bool> {
    let delegation = store.delegation_in(turn.session).await?;
    Ok(delegation.is_some_and(|delegation| delegation.parent.is_some()))
}

/// Whether a turn was begun as often as it may be without a person. One that waits for a
/// person's word goes on when it has that.
fn is_worn_out(turn: &StoredTurn) -> bool {
    let is_often = turn.attempts.cuts() >= MOST_BEGINS;
    turn.status == TurnStatus::Running && is_often && !is_asking(turn)
}

/// Whether a turn waits for a person's word: then none of its calls has run.
fn is_asking(turn: &StoredTurn) -> bool {
    turn.state.as_ref().and_then(TurnState::read).is_some_and(|state| state.is_asking())
}

/// What a turn has said so far.
async fn messages_of(store: &Store, turn: &StoredTurn) -> AgentResult<Vec<Arc<Message>>> {
    let Some(first) = turn.first_message else { return Ok(Vec::new()) };
    let messages = store.messages(turn.session, Some(first)).await?;
    Ok(messages.into_iter().map(|stored| stored.message).collect())
}

/// The message of a turn that was begun, and not so far that it stands in the transcript. Results
/// that a client brought alone stay with their turn.
pub(crate) fn unstored_message(turn: &StoredTurn, audience: &Audience) -> Option<MessageBody> {
    let content = turn.inbound.clone().filter(|content| !content.is_empty());
    let content = content.filter(|_| turn.first_message.is_none())?;
    Some(MessageBody::User(UserMessage {
        speaker: Actor::from_store(&turn.actor).speaker(audience),
        content,
        stamp: Some(stamp(turn.accepted)),
        ..Default::default()
    }))
}

/// Ends a turn of this process, which does not run. The message of one that has not begun stays
/// with it.
async fn write_closing(store: &Store, turn: &StoredTurn, closing: &TurnClosing) -> AgentResult {
    let reason = closing.outcome;
    let (ending, detail) = (reason.status(), Some(notice(turn, reason)));
    if turn.status == TurnStatus::Queued {
        let outcome = TurnOutcome { ending, detail, at: Moment::now() };
        return Ok(store.withdraw(turn.id, outcome).await?);
    }
    let session = store.session(turn.session).await?;
    let session = session.ok_or(StoreError::NotFound(RowId::Session(turn.session)))?;
    let audience = SessionSettings::from_store(&session.settings).audience();
    let said = store.messages(turn.session, turn.first_message).await?;
    let last = said.last().map(|stored| stored.message.id).unwrap_or_default();
    let results = closing.unanswered.iter().map(|call| match reason {
        EndReason::Stopped if is_asking(turn) => call.result(STOPPED_UNALLOWED.into()),
        _ => call.closing_result(reason),
    });
    let error = detail.iter().map(|notice| MessageBody::Error(Text::from(notice.as_str())));
    let unstored = unstored_message(turn, &audience);
    let bodies: Vec<_> = unstored.into_iter().chain(results).chain(error).collect();
    let commit = closing_commit(bodies.into_iter(), last, ending, detail);
    let tally = tally_stored_turn(store, turn).await.into_tally();
    let begun = Some(turn.attempts.begins);
    store.advance(turn.id, TurnCommit { tally: Some(tally), begun, ..commit }).await?;
    Ok(())
}

/// What people are told of a turn that is closed.
fn notice(turn: &StoredTurn, reason: EndReason) -> String {
    let notice = reason.notice().unwrap_or_default();
    match turn.status {
        TurnStatus::Queued => format!("{notice}; the message was not sent"),
        _ => notice,
    }
}

/// The last commit of a turn: what is still to be said behind `last`, and how it
/// ended.
pub(crate) fn closing_commit(
    bodies: impl Iterator<Item = MessageBody>,
    last: MessageId,
    ending: TurnEnding,
    detail: Option<String>,
) -> TurnCommit {
    let now = Moment::now();
    let message = |(index, body): (u64, MessageBody)| NewMessage {
        message: Arc::new(Message { id: MessageId(last.0 + index), body }),
        at: now,
    };
    TurnCommit {
        messages: (1..).zip(bodies).map(message).collect(),
        outcome: Some(TurnOutcome { ending, detail, at: now }),
        ..TurnCommit::default()
    }
}
