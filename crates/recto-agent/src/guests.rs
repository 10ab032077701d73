//! With whom a session is held, where that is not the agent's owner: by the name under which the
//! owner let them in, or under which they last spoke in a group. For those who look at sessions of
//! others; it decides nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use recto_context::{Audience, AudienceKind, Reveal, reveal};
use recto_store::{Moment, SessionId, Store, StoreResult, StoredSession};

use crate::actor::Actor;
use crate::conversation::is_of_user;
use crate::options::SessionSettings;

/// Everybody whom the owner has let in, by the ids under which sessions are held with them.
#[derive(Debug, Clone, Default)]
pub struct GuestBook {
    guests: HashMap<Arc<str>, SessionGuest>,
    /// The members of groups who have sessions of their own there.
    members: HashMap<SessionId, String>,
}

/// Somebody else than the owner, with whom a session is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionGuest {
    /// What they are called, as it can stand in a line.
    pub name: String,
    /// Whether they can still see what is said.
    pub standing: GuestStanding,
}

/// Whether somebody is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestStanding {
    /// They are, or nothing else is known.
    LetIn,
    /// Their token was revoked or has ended, or they are paired no longer.
    Revoked,
}

impl GuestBook {
    /// Reads who is let in, and who once was.
    pub async fn load(store: &Store) -> StoreResult<Self> {
        let now = Moment::now();
        let mut guests = HashMap::new();
        for token in store.tokens().await? {
            let Actor { id, name, .. } = Actor::with_token(&token);
            let standing = GuestStanding::revoked_unless(token.is_valid(now));
            guests.insert(id, SessionGuest::new(name.as_str(), standing));
        }
        for pairing in store.pairings(now).await? {
            let Some(person) = pairing.person else { continue };
            let standing = GuestStanding::revoked_unless(pairing.revoked.is_none());
            let guest = SessionGuest::new(&pairing.name, standing);
            let known = guests.entry(person.into()).or_insert_with(|| guest.clone());
            // A person may be let in at several places, and one of them is enough.
            if standing == GuestStanding::LetIn {
                *known = guest;
            }
        }
        Ok(GuestBook { guests, members: HashMap::new() })
    }

    /// The same with the names of members of groups who have one of these sessions to themselves.
    pub async fn with_members<'s>(
        mut self,
        store: &Store,
        sessions: impl IntoIterator<Item = &'s StoredSession>,
    ) -> StoreResult<Self> {
        for session in sessions.into_iter().filter(|session| is_of_member(session)) {
            if let Some(turn) = store.last_turn(Some(session.id)).await? {
                let Actor { name, .. } = Actor::from_store(&turn.actor);
                self.members.insert(session.id, reveal(name.as_str(), Reveal::Line));
            }
        }
        Ok(self)
    }

    /// The name of the member of a group who has the session to themself, if it is one.
    pub fn find_member(&self, session: &StoredSession) -> Option<&str> {
        self.members.get(&session.id).map(String::as_str)
    }

    /// The guest with whom a session is held, if it is one.
    pub fn find(&self, session: &StoredSession) -> Option<SessionGuest> {
        let Audience { who, person, .. } = SessionSettings::from_store(&session.settings).holders();
        if who != AudienceKind::Guest {
            return None;
        }
        let Some(person) = person else {
            return Some(SessionGuest::new("somebody", GuestStanding::LetIn));
        };
        let known = self.guests.get(&person).cloned();
        Some(known.unwrap_or_else(|| SessionGuest::new(&person, GuestStanding::LetIn)))
    }

    /// The guest who did something, if it was one.
    pub fn find_actor(&self, actor: &Actor) -> Option<SessionGuest> {
        let (who, person) = actor.as_audience();
        let person = person.filter(|_| who == AudienceKind::Guest)?;
        let known = self.guests.get(&person);
        let standing = known.map_or(GuestStanding::LetIn, |known| known.standing);
        Some(SessionGuest::new(actor.name.as_str(), standing))
    }
}

/// Whether a session is that of one member of a group.
fn is_of_member(session: &StoredSession) -> bool {
    let Audience { who, conversation, .. } =
        SessionSettings::from_store(&session.settings).holders();
    who == AudienceKind::Group && conversation.is_some_and(|scope| is_of_user(&scope))
}

impl SessionGuest {
    fn new(name: &str, standing: GuestStanding) -> Self {
        SessionGuest { name: reveal(name, Reveal::Line), standing }
    }
}

impl GuestStanding {
    fn revoked_unless(is_let_in: bool) -> Self {
        if is_let_in { GuestStanding::LetIn } else { GuestStanding::Revoked }
    }
}

impl fmt::Display for SessionGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.standing {
            GuestStanding::LetIn => write!(f, "{} (guest)", self.name),
            GuestStanding::Revoked => write!(f, "{} (guest, let in no longer)", self.name),
        }
    }
}
