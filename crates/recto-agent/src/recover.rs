//! What a process that was killed left behind.
//!
//! A turn whose tools may have run is closed: each of its calls gets a result
//! that says so, and the person an explanation. A turn that only waited, for its
//! beginning or for a model, is handed back, to be finished. One that waits for a
//! person's word goes on waiting, and what stands behind it with it.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{Message, MessageBody, MessageId, Text};
use recto_store::{
    Moment, NewMessage, SessionId, Store, StoreError, StoredTurn, TurnCommit, TurnEnding, TurnId,
    TurnOutcome, TurnOwner,
};

use crate::error::{AgentError, AgentResult};
use crate::step::{StepEffect, StepInput, TurnClosing, TurnState};
use crate::tally::tally_stored_turn;
use crate::turn::open_calls;

/// Closes what can't be finished, whichever agent's it is, and gives the turns that can, oldest
/// first. Needs no model, so that every command can do it before it looks.
pub async fn settle_open_turns(store: &Store) -> AgentResult<Vec<StoredTurn>> {
    let open = open_turns(store).await?;
    settle_turns(store, open).await
}

/// The same for the turns of one agent: those of others are theirs.
pub(crate) async fn settle_own_turns(store: &Store, agent: &str) -> AgentResult<Vec<StoredTurn>> {
    let mut own = Vec::new();
    for turn in open_turns(store).await? {
        if store.session(turn.session).await?.is_some_and(|session| session.agent == agent) {
            own.push(turn);
        }
    }
    settle_turns(store, own).await
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

async fn settle_turns(store: &Store, open: Vec<StoredTurn>) -> AgentResult<Vec<StoredTurn>> {
    let mut unfinished = Vec::new();
    let asked = open_questions(store).await?;
    let waits =
        |turn: &&StoredTurn| turn.owner == Some(TurnOwner::Elsewhere) || asked.contains(&turn.id);
    let waiting: HashSet<SessionId> = open.iter().filter(waits).map(|turn| turn.session).collect();
    for turn in open {
        // What waits in a session where another process is at work, or a person has
        // to be asked, is taken up when that is done, by whoever talks there next.
        if turn.owner != Some(TurnOwner::Gone) || waiting.contains(&turn.session) {
            continue;
        }
        match interrupted(store, &turn).await {
            Ok(Some(commit)) => close(store, turn.id, commit).await?,
            Ok(None) => unfinished.push(turn),
            Err(AgentError::Store(error @ StoreError::Damaged { .. })) => {
                close_damaged(store, turn.id, &error).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(unfinished)
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

async fn close(store: &Store, turn: TurnId, commit: TurnCommit) -> AgentResult {
    match store.take_over(turn).await {
        Ok(_) => store.advance(turn, commit).await.map(drop)?,
        // Somebody else was faster.
        Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// How to close a turn, if it can't be finished.
async fn interrupted(store: &Store, turn: &StoredTurn) -> AgentResult<Option<TurnCommit>> {
    let (Some(stored), Some(first)) = (&turn.state, turn.first_message) else { return Ok(None) };
    let messages = store.messages(turn.session, Some(first)).await?;
    let messages: Vec<_> = messages.into_iter().map(|stored| stored.message).collect();
    let calls = open_calls(&messages);
    let effect = match TurnState::read(stored) {
        Some(mut state) => state.step(StepInput::Resume),
        None if calls.is_empty() => return Ok(None),
        None => StepEffect::End(TurnClosing::interrupted(calls)),
    };
    let StepEffect::End(closing) = effect else { return Ok(None) };
    let last = messages.last().map_or(first, |message| message.id);
    let tally = tally_stored_turn(store, turn).await.into_tally();
    Ok(Some(TurnCommit { tally: Some(tally), ..interrupted_commit(&closing, last) }))
}

/// The commit that closes a turn that was interrupted.
fn interrupted_commit(closing: &TurnClosing, last: MessageId) -> TurnCommit {
    let results = closing.unanswered.iter().map(|call| call.closing_result(closing.outcome));
    let notice = closing.outcome.notice();
    let error = notice.iter().map(|notice| MessageBody::Error(Text::from(notice.as_str())));
    closing_commit(results.chain(error), last, TurnEnding::Interrupted, notice.clone())
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
