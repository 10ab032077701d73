//! Tells people apart who go by one name in a group: from the second on, each has a number there,
//! which stays theirs. The turns of the group's sessions have the numbers that were given; of
//! whom only was overheard they are known as long as the process runs.

use std::collections::HashMap;

use recto_agent::{Actor, ActorRole, Agent};
use recto_store::StoreResult;

use super::ChatChannel;
use crate::access::ChannelPlace;
use crate::service::ChatService;

/// The most names that are remembered of a group beyond what its turns have.
const MOST_NAMES: usize = 10_000;

/// The numbers of people in groups, by the groups' names.
pub(super) type SpeakerNumbers = HashMap<String, GroupNumbers>;

/// The numbers of the people of a group, by the name that they go by and their ids.
#[derive(Debug, Default)]
pub(super) struct GroupNumbers(HashMap<String, HashMap<String, u32>>);

impl<S: ChatService> ChatChannel<S> {
    /// Somebody in a group, with the number that tells them from others of their name.
    pub(super) async fn tell_apart(
        &self,
        agent: &Agent,
        place: &ChannelPlace,
        actor: Actor,
    ) -> StoreResult<Actor> {
        if place.group.is_none() || actor.role != ActorRole::Member {
            return Ok(actor);
        }
        let mut groups = self.speakers.lock().await;
        if groups.get(&place.name).is_none_or(|group| group.0.len() > MOST_NAMES) {
            let given = self.read_numbers(agent, place).await?;
            groups.insert(place.name.clone(), given);
        }
        let namesake = groups.get_mut(&place.name).and_then(|group| group.number(&actor));
        Ok(Actor { namesake, ..actor })
    }

    /// The numbers that were given in a group.
    async fn read_numbers(&self, agent: &Agent, place: &ChannelPlace) -> StoreResult<GroupNumbers> {
        let store = &self.host.store;
        let mut numbers = GroupNumbers::default();
        for (key, session) in store.conversations(agent.name(), &self.account.channel).await? {
            if key.account != self.account.account || key.conversation != place.name {
                continue;
            }
            for turn in store.turns(session.id).await? {
                numbers.keep(&Actor::from_store(&turn.actor));
            }
        }
        Ok(numbers)
    }
}

impl GroupNumbers {
    /// Somebody's number, which is given to them now if they have none. The first of a name goes
    /// without.
    fn number(&mut self, actor: &Actor) -> Option<u32> {
        let of_name = self.0.entry(name_key(actor)).or_default();
        let next = of_name.values().max().map_or(1, |last| last.saturating_add(1));
        let number = *of_name.entry(actor.id.to_string()).or_insert(next);
        (number > 1).then_some(number)
    }

    /// Keeps the number that somebody was given.
    fn keep(&mut self, actor: &Actor) {
        if actor.role == ActorRole::Member {
            let of_name = self.0.entry(name_key(actor)).or_default();
            of_name.entry(actor.id.to_string()).or_insert(actor.namesake.unwrap_or(1));
        }
    }
}

/// What two names have in common that look the same to a model.
fn name_key(actor: &Actor) -> String {
    let unnumbered = Actor { namesake: None, ..actor.clone() };
    unnumbered.name_in_group().as_str().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_those_who_have_them() {
        let member = |id: &str, name: &str| Actor::new(id, name, ActorRole::Member);
        let mut numbers = GroupNumbers::default();
        numbers.keep(&Actor { namesake: Some(3), ..member("c", "U1") });
        numbers.keep(&member("a", "U1"));
        assert_eq!(numbers.number(&member("a", "U1")), None);
        assert_eq!(numbers.number(&member("c", "u1")), Some(3));
        assert_eq!(numbers.number(&member("d", "(U1)")), Some(4));
        assert_eq!(numbers.number(&member("d", "U1")), Some(4));
        assert_eq!(numbers.number(&member("d", "Ben")), None);
    }
}
