//! Puts somebody of a chat out, or makes less of them: they are let in no longer, or not as whom they
//! were. What they had asked for is stopped, and what is scheduled to be answered there is removed,
//! since nobody would look whether they still are.

use recto_store::{Moment, PairingGrant, PairingId, Store, StoredPairing, StoredSchedule};
use serde::Deserialize;

use super::DeliveryTarget;
use crate::actor::Actor;
use crate::error::AgentResult;
use crate::rights::Right;

/// Somebody whose standing was changed, and what went with it.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingReport {
    /// The one who was let in, was put out, or whose wish was refused.
    pub pairing: StoredPairing,
    /// The schedules whose answers went there, of all agents. They are removed.
    pub removed: Vec<StoredSchedule>,
}

/// Lets somebody in no longer, or refuses who waits.
pub async fn put_out(store: &Store, actor: &Actor, id: PairingId) -> AgentResult<StandingReport> {
    actor.must_have(Right::ChangeRights)?;
    // First, so that nobody there makes another schedule meanwhile.
    let pairing = store.revoke_pairing(id, Moment::now()).await?;
    end_what_was_begun(store, actor, pairing).await
}

/// Lets in who waits under this number, or makes something else of who is let in.
pub async fn change_standing(
    store: &Store,
    actor: &Actor,
    id: PairingId,
    grant: PairingGrant,
) -> AgentResult<StandingReport> {
    actor.must_have(Right::ChangeRights)?;
    let change = store.approve_pairing_by_number(id, grant, Moment::now()).await?;
    match change.is_lowered() {
        true => end_what_was_begun(store, actor, change.now).await,
        false => Ok(StandingReport { pairing: change.now, removed: Vec::new() }),
    }
}

/// Removes the schedules that are answered to somebody, and stops their turns.
async fn end_what_was_begun(
    store: &Store,
    actor: &Actor,
    pairing: StoredPairing,
) -> AgentResult<StandingReport> {
    let mut removed = Vec::new();
    for schedule in store.schedules().await? {
        if is_answered_to(&schedule, &pairing) {
            let (agent, name) = (&schedule.agent, &schedule.name);
            removed.extend(store.remove_schedule(agent, name, Moment::now()).await?);
        }
    }
    stop_turns(store, actor, &pairing).await?;
    Ok(StandingReport { pairing, removed })
}

/// Asks to stop what is still to be answered to them, questions to their owner included.
async fn stop_turns(store: &Store, actor: &Actor, pairing: &StoredPairing) -> AgentResult {
    for turn in store.open_turns().await?.turns {
        let place = store.conversation_of(turn.session).await?;
        let is_theirs = place.is_some_and(|place| {
            place.surface == pairing.channel
                && place.account == pairing.account
                && pairing.has_conversation(&place.conversation)
        });
        if is_theirs {
            store.request_stop(turn.id, actor.to_store()).await?;
        }
    }
    Ok(())
}

/// Whether the answers of a schedule go to the chat of a person or a group.
fn is_answered_to(schedule: &StoredSchedule, pairing: &StoredPairing) -> bool {
    let Ok(DeliveryTarget::Chat(chat)) = DeliveryTarget::deserialize(&schedule.target) else {
        return false;
    };
    let is_of_bot = chat.surface == pairing.channel && chat.account == pairing.account;
    is_of_bot && pairing.has_conversation(&chat.name)
}
