//! Who asks a model first: turns of sessions in which somebody waits for an answer go before
//! those that are only finished because another process left them. Of these, one that was left just
//! now and asked for a short time ago has somebody who waits, too, and counts as asked
//! (`TakeUpScope::MissedNow`).
//!
//! It orders calls of models and nothing else: tools that run are never held up or cut off, and
//! the order of the turns within a session is the mailbox's.

use std::collections::HashMap;

use recto_store::SessionId;
use tokio::sync::watch;

use crate::stop::StopSignal;

/// The gate in front of the models of an agent.
#[derive(Debug, Default)]
pub(crate) struct TurnGate(watch::Sender<GateState>);

#[derive(Debug, Default)]
struct GateState {
    /// How many messages wait or are answered, by session.
    asked: HashMap<SessionId, usize>,
    /// How many turns wait for a person's word, by session: nobody waits for these.
    resting: HashMap<SessionId, usize>,
}

/// The outcome of a wait at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatePass {
    /// The way is free.
    Free,
    /// The turn was stopped first.
    Stopped,
}

impl TurnGate {
    /// Counts a message of a session, until [`TurnGate::settle`].
    pub(crate) fn ask(&self, session: SessionId) {
        self.0.send_modify(|state| add(&mut state.asked, session));
    }

    /// Takes back what [`TurnGate::ask`] counted.
    pub(crate) fn settle(&self, session: SessionId) {
        self.0.send_modify(|state| subtract(&mut state.asked, session));
    }

    /// Counts a turn of a session that waits for a person's word, until [`TurnGate::wake`].
    pub(crate) fn rest(&self, session: SessionId) {
        self.0.send_modify(|state| add(&mut state.resting, session));
    }

    /// Takes back what [`TurnGate::rest`] counted.
    pub(crate) fn wake(&self, session: SessionId) {
        self.0.send_modify(|state| subtract(&mut state.resting, session));
    }

    /// Waits until a turn of this session may ask a model.
    pub(crate) async fn pass(&self, session: SessionId, stop: &StopSignal) -> GatePass {
        let mut state = self.0.subscribe();
        tokio::select! {
            biased;
            () = stop.requested() => GatePass::Stopped,
            // The sender lives as long as this does.
            _ = state.wait_for(|state| !state.is_closed_for(session)) => GatePass::Free,
        }
    }

    /// Waits until a turn of this session has to make way.
    pub(crate) async fn closed(&self, session: SessionId) {
        let _ = self.0.subscribe().wait_for(|state| state.is_closed_for(session)).await;
    }
}

impl GateState {
    fn is_closed_for(&self, session: SessionId) -> bool {
        let is_awake = |asked: &SessionId| !self.resting.contains_key(asked);
        !self.asked.contains_key(&session) && self.asked.keys().any(is_awake)
    }
}

fn add(counts: &mut HashMap<SessionId, usize>, session: SessionId) {
    *counts.entry(session).or_default() += 1;
}

fn subtract(counts: &mut HashMap<SessionId, usize>, session: SessionId) {
    if let Some(count) = counts.get_mut(&session) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_free(gate: &TurnGate, session: SessionId) -> bool {
        let passed = gate.pass(session, &StopSignal::default()).now_or_never();
        let is_closed = gate.closed(session).now_or_never().is_some();
        assert_eq!(passed.is_some(), !is_closed);
        passed == Some(GatePass::Free)
    }

    #[test]
    fn sessions_in_which_somebody_waits_go_first() {
        let [asked, also_asked, left] = ["1", "2", "3"].map(|id| id.parse().unwrap());
        let gate = TurnGate::default();
        assert!(is_free(&gate, left));
        gate.ask(asked);
        gate.ask(asked);
        gate.ask(also_asked);
        assert!(is_free(&gate, asked) && is_free(&gate, also_asked) && !is_free(&gate, left));
        gate.settle(asked);
        gate.settle(also_asked);
        assert!(!is_free(&gate, left));
        // While the turn itself waits for a person, nobody waits for the model.
        gate.rest(asked);
        assert!(is_free(&gate, left));
        gate.wake(asked);
        assert!(!is_free(&gate, left));
        // Whoever talks in its session waits for it.
        gate.ask(left);
        assert!(is_free(&gate, left));
        gate.settle(left);
        gate.settle(asked);
        assert!(is_free(&gate, left));
    }

    #[test]
    fn a_turn_that_is_stopped_does_not_wait() {
        let [asked, left] = ["1", "2"].map(|id| id.parse().unwrap());
        let (gate, stop) = (TurnGate::default(), StopSignal::default());
        gate.ask(asked);
        stop.request();
        assert_eq!(gate.pass(left, &stop).now_or_never(), Some(GatePass::Stopped));
    }
}
