//! Turns of the session that this chat did not ask for: another process or surface did, or one
//! that was cut short was taken up.
//!
//! They are looked for in the store, which alone knows of all of them.

use std::collections::HashSet;

use recto_context::{MessageBody, TurnNumber, visible_text};
use recto_store::{SessionId, Store, StoreResult, StoredMessage, StoredTurn, TurnId, TurnStatus};

use super::Chat;
use crate::failure::CliResult;
use crate::output::{one_line, tell};

/// The most characters that are shown of a message from elsewhere.
const MOST_MESSAGE: usize = 200;

/// The turns of a session that came from elsewhere and are not shown yet.
#[derive(Debug)]
pub(super) struct TurnsElsewhere {
    session: SessionId,
    /// The newest turn that was looked at; none before the first look.
    seen: TurnNumber,
    /// Turns that this chat asked for or has shown.
    own: HashSet<TurnId>,
    /// Turns that had not ended at the last look.
    open: Vec<TurnId>,
}

impl TurnsElsewhere {
    /// Those of a session that has no turn yet.
    pub(super) fn new(session: SessionId) -> Self {
        TurnsElsewhere { session, seen: TurnNumber(0), own: HashSet::new(), open: Vec::new() }
    }

    /// Takes what has happened so far as known, but for what is still to end.
    pub(super) async fn begin(&mut self, store: &Store) -> StoreResult<()> {
        let last = store.last_turn(Some(self.session)).await?;
        self.seen = last.map_or(TurnNumber(0), |turn| turn.number);
        let open = store.open_turns().await?.turns;
        let is_here = |turn: &StoredTurn| turn.session == self.session;
        self.open = open.into_iter().filter(is_here).map(|turn| turn.id).collect();
        Ok(())
    }

    /// A turn that is shown by other means.
    pub(super) fn add_own(&mut self, turn: TurnId) {
        self.own.insert(turn);
    }

    /// The turns that have ended since the last look, oldest first.
    pub(super) async fn look(&mut self, store: &Store) -> StoreResult<Vec<StoredTurn>> {
        let last = store.last_turn(Some(self.session)).await?;
        if last.is_some_and(|turn| turn.number > self.seen) {
            for turn in store.turns(self.session).await? {
                if turn.number > self.seen {
                    self.seen = turn.number;
                    self.open.push(turn.id);
                }
            }
        }
        let mut ended = Vec::new();
        for id in std::mem::take(&mut self.open) {
            match store.turn(id).await? {
                _ if self.own.contains(&id) => {}
                Some(turn) if matches!(turn.status, TurnStatus::Ended(_)) => ended.push(turn),
                Some(_) => self.open.push(id),
                None => {}
            }
        }
        Ok(ended)
    }
}

impl Chat {
    /// Shows a turn that has ended: what was asked, and what the model or Recto said last.
    pub(super) async fn show_past(&mut self, turn: &StoredTurn) -> CliResult {
        if turn.first_message.is_none() {
            return Ok(());
        }
        let messages = self.agent.store().messages_of_turn(turn).await?;
        let asked = messages.iter().find(|stored| stored.message.is_user());
        let asked = asked.map_or_else(String::new, |stored| visible_text(stored.message.content()));
        let TurnStatus::Ended(ending) = turn.status else { return Ok(()) };
        let asked = one_line(&asked, MOST_MESSAGE);
        tell(&format_args!("turn {}, from elsewhere, is {}: {asked}", turn.id, ending.name()));
        match last_said(&messages) {
            Some(MessageBody::Error(text)) => tell(&text.as_str()),
            Some(body) => self.printer.past_reply(&visible_text(body.content()))?,
            None => {}
        }
        Ok(())
    }
}

/// What the model or Recto said last in a turn.
pub(super) fn last_said(messages: &[StoredMessage]) -> Option<&MessageBody> {
    let mut latest = messages.iter().rev().map(|stored| &stored.message.body);
    latest.find(|body| matches!(body, MessageBody::Assistant { .. } | MessageBody::Error(_)))
}
