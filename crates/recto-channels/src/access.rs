//! Who somebody in a chat is to the agent: its owner, a person who was let in, a member of a group
//! that was, or a stranger. What each may do is decided by the agent's table of rights alone.

use recto_agent::{Actor, ActorRole, Conversation};
use recto_store::{
    ChannelAccount, Moment, NewChannelDelivery, NewPairing, PairedStanding, PairingRequest,
    PairingSubject, Store, StoreResult, StoredPairing,
};
use serde::{Deserialize, Serialize};

/// What becomes of those who are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StrangerPolicy {
    /// They get a code that the owner can confirm.
    #[default]
    Pair,
    /// They get no answer.
    Ignore,
}

/// Who is let in by the config, beside those whom the owner has confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessLists {
    /// The ids of the owner's own accounts.
    pub owners: Vec<String>,
    /// The ids of people and groups who are let in.
    pub allow: Vec<String>,
    /// What becomes of everybody else.
    pub strangers: StrangerPolicy,
}

/// Somebody who said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChannelSender {
    /// The service's own id of the person.
    pub(crate) id: String,
    /// The name that they go by there.
    pub(crate) name: String,
}

/// The place where something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelPlace {
    /// The service's own id of the conversation, as it was at first.
    pub(crate) id: String,
    /// Every id under which it is let in: its own ones, and those of what it is a part of.
    pub(crate) ids: Vec<String>,
    /// The conversation's name in the session: its id, and that of a topic in it.
    pub(crate) name: String,
    /// What it is called, where it is a group.
    pub(crate) group: Option<String>,
    /// Whether each person has a session of their own there, where it is a group.
    pub(crate) is_per_user: bool,
}

/// Whether somebody is let in.
#[derive(Debug)]
pub(crate) enum Admission {
    /// They are, as this actor in this conversation.
    LetIn(Box<(Actor, Conversation)>),
    /// They wait for the owner, and are told this code.
    Pairing(PairingSubject, String),
    /// They wait for the owner, and are told so.
    StillWaiting,
    /// They can't wait for the owner, because too many do.
    TooManyWait,
    /// They get no answer.
    Ignored,
}

/// The letters of codes: none that could be taken for another.
const CODE_LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// How many letters a code has.
pub const PAIRING_CODE_LENGTH: usize = 8;

/// Somebody who wants something, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visitor<'a> {
    pub(crate) sender: &'a ChannelSender,
    pub(crate) place: &'a ChannelPlace,
    /// What they are told once they are let in, should they have to wait for that; its key is that
    /// of what they asked with. Nothing where a stranger is not told of that.
    pub(crate) welcome: Option<&'a NewChannelDelivery>,
}

/// Finds out who somebody is, where they are.
pub(crate) async fn admit(
    store: &Store,
    account: &ChannelAccount,
    lists: &AccessLists,
    visitor: Visitor<'_>,
) -> StoreResult<Admission> {
    let Visitor { sender, place, .. } = visitor;
    let person = store.find_paired(account, &sender.id).await?;
    let is_owner = lists.owners.contains(&sender.id)
        || person.as_ref().is_some_and(|it| it.standing == Some(PairedStanding::Owner));
    let ChannelAccount { channel, account: bot } = account;
    if place.group.is_some() {
        if !is_group_known(store, account, lists, place).await? {
            let kind = PairingSubject::Group;
            return ask_to_pair(store, account, lists, kind, visitor).await;
        }
        let user = place.is_per_user.then(|| sender.id.clone());
        let conversation =
            Conversation { user, ..Conversation::in_group(channel, bot, &place.name) };
        let actor = match is_owner {
            true => Actor::owner(&sender.name),
            false => Actor::member(&own_id(channel, sender), &sender.name, &conversation),
        };
        return Ok(Admission::LetIn(Box::new((actor, conversation))));
    }
    let actor = match (is_owner, person) {
        (true, _) => Actor::owner(&sender.name),
        (false, Some(StoredPairing { person, .. })) => {
            let id = person.unwrap_or_else(|| own_id(channel, sender));
            Actor::new(&id, &sender.name, ActorRole::Paired)
        }
        (false, None) if lists.allow.contains(&sender.id) => {
            Actor::new(&own_id(channel, sender), &sender.name, ActorRole::Paired)
        }
        (false, None) => {
            let kind = PairingSubject::Person;
            return ask_to_pair(store, account, lists, kind, visitor).await;
        }
    };
    let conversation = Conversation::in_private(channel, bot, &place.name, &actor);
    Ok(Admission::LetIn(Box::new((actor, conversation))))
}

/// Whether a group is let in, by any of its ids.
async fn is_group_known(
    store: &Store,
    account: &ChannelAccount,
    lists: &AccessLists,
    place: &ChannelPlace,
) -> StoreResult<bool> {
    if place.ids.iter().any(|id| lists.allow.contains(id)) {
        return Ok(true);
    }
    for id in &place.ids {
        if store.find_paired(account, id).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The id of a person of whom nothing else is known.
fn own_id(channel: &str, sender: &ChannelSender) -> String {
    format!("{channel}-{}", sender.id)
}

/// Gives a stranger a code, once; who waits already hears once that they do.
async fn ask_to_pair(
    store: &Store,
    account: &ChannelAccount,
    lists: &AccessLists,
    kind: PairingSubject,
    visitor: Visitor<'_>,
) -> StoreResult<Admission> {
    let Visitor { sender, place, welcome } = visitor;
    let welcome = welcome.filter(|_| lists.strangers == StrangerPolicy::Pair);
    let (Some(welcome), Some(code)) = (welcome, random_code()) else {
        return Ok(Admission::Ignored);
    };
    let (subject, name) = match (kind, &place.group) {
        (PairingSubject::Group, Some(title)) => (&place.id, title),
        _ => (&sender.id, &sender.name),
    };
    let (subject, name) = (subject.clone(), recto_context::SpeakerName::new(name).to_string());
    let (request, welcome) = (welcome.key.clone(), welcome.clone());
    let new = NewPairing { kind, subject, name, code, request, welcome, at: Moment::now() };
    Ok(match store.request_pairing(account, new).await? {
        PairingRequest::Begun(StoredPairing { code: Some(code), .. }) => {
            Admission::Pairing(kind, code)
        }
        PairingRequest::Reminded(_) => Admission::StillWaiting,
        PairingRequest::Full => Admission::TooManyWait,
        // Nobody is written to again and again for nothing; nor do strangers learn who else waits.
        _ => Admission::Ignored,
    })
}

/// A code that nobody can guess; nothing where the system gives no random numbers.
fn random_code() -> Option<String> {
    let mut bytes = [0_u8; PAIRING_CODE_LENGTH];
    getrandom::fill(&mut bytes).ok()?;
    // The letters are 32, so that each is as likely as the others.
    Some(bytes.iter().map(|byte| char::from(CODE_LETTERS[usize::from(byte % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_long_and_plain() {
        assert_eq!(CODE_LETTERS.len(), 32);
        let codes: std::collections::HashSet<String> =
            (0..100).filter_map(|_| random_code()).collect();
        assert_eq!(codes.len(), 100);
        assert!(codes.iter().all(|code| code.len() == PAIRING_CODE_LENGTH));
    }
}
