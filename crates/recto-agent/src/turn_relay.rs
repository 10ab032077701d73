//! The turn that runs here, as far as others want something of it by the store: that it stops, or
//! to read along in another process.
//!
//! What others follow is a snapshot of the turn, kept anew a few times a second while something
//! happens in it. That costs a write each time, and nothing where nobody follows.

use recto_store::{SessionId, TurnId};

use crate::actor::Actor;
use crate::event::EventNumber;
use crate::event_stream::EventStream;
use crate::shared::AgentShared;
use crate::stop::StopSignal;

/// The relay of a turn to those who follow it in other processes.
#[derive(Debug, Default)]
pub(crate) struct TurnRelay {
    followed: Option<TurnId>,
    /// Up to which event it was told.
    told: EventNumber,
}

impl TurnRelay {
    /// Whether somebody follows the turn elsewhere.
    pub(crate) fn is_followed(&self) -> bool {
        self.followed.is_some()
    }

    /// Stops what runs where somebody has asked for it by the store, and notes who follows it.
    pub(crate) async fn look_for_wishes(
        &mut self,
        shared: &AgentShared,
        session: SessionId,
        stop: &StopSignal,
    ) {
        // What the store does not give now, it may give the next time.
        let Ok(wishes) = shared.parts.store.turn_wishes(session).await else { return };
        if let Some(by) = wishes.stop_by {
            stop.request_by(&Actor::from_store(&by));
        }
        self.followed = wishes.followed;
    }

    /// Keeps how the turn stands for those who follow it, if something has happened since.
    pub(crate) async fn write(&mut self, shared: &AgentShared, events: &EventStream) {
        let (last, running, state) = events.running_turn();
        let followed = self.followed.filter(|turn| running == Some(*turn) && self.told < last);
        let (Some(turn), Ok(state)) = (followed, serde_json::to_value(state)) else { return };
        // One that could not be kept is made up for by the next.
        if shared.parts.store.relay_snapshot(turn, state).await.is_ok() {
            self.told = last;
        }
    }
}
