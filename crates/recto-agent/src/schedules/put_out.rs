//! Puts somebody of a chat out: they are let in no longer, and what is scheduled to be answered
//! there is removed, since nobody would look whether they still are.

use recto_store::{Moment, PairingId, Store, StoredPairing, StoredSchedule};
use serde::Deserialize;

use super::DeliveryTarget;
use super::target::split_chat_name;
use crate::actor::Actor;
use crate::error::AgentResult;
use crate::rights::Right;

/// Somebody who was put out, and what went with them.
#[derive(Debug, Clone, PartialEq)]
pub struct PutOutReport {
    /// The one who was put out, or whose wish was refused.
    pub pairing: StoredPairing,
    /// The schedules whose answers went there, of all agents. They are removed.
    pub removed: Vec<StoredSchedule>,
}

/// Lets somebody in no longer, or refuses who waits.
pub async fn put_out(store: &Store, actor: &Actor, id: PairingId) -> AgentResult<PutOutReport> {
    actor.must_have(Right::ChangeRights)?;
    // First, so that nobody there makes another schedule meanwhile.
    let pairing = store.revoke_pairing(id, Moment::now()).await?;
    let mut removed = Vec::new();
    for schedule in store.schedules().await? {
        if is_answered_to(&schedule, &pairing) {
            let (agent, name) = (&schedule.agent, &schedule.name);
            removed.extend(store.remove_schedule(agent, name, Moment::now()).await?);
        }
    }
    Ok(PutOutReport { pairing, removed })
}

/// Whether the answers of a schedule go to the chat of a person or a group.
fn is_answered_to(schedule: &StoredSchedule, pairing: &StoredPairing) -> bool {
    let Ok(DeliveryTarget::Chat(chat)) = DeliveryTarget::deserialize(&schedule.target) else {
        return false;
    };
    let is_of_bot = chat.surface == pairing.channel && chat.account == pairing.account;
    // In private some services have one id for a person and their chat, and others have two.
    let (id, _) = split_chat_name(&chat.name);
    let is_there = id == pairing.subject || pairing.conversation.as_ref() == Some(&chat.name);
    is_of_bot && is_there
}
