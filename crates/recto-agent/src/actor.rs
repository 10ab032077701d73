//! Who does something: the sender of a message, a command or an answer.
//!
//! Surfaces say who it is; what somebody may do is decided in `rights.rs` alone.

use std::fmt;
use std::sync::Arc;

use recto_context::{Audience, AudienceKind, SpeakerName};
use recto_store::{SessionHolder, StoredToken};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Conversation;

/// A person or a program that uses the agent. Kept with every turn and every answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// An id that stays, whatever the name becomes.
    pub id: Arc<str>,
    /// The name that is shown, as it is now.
    pub name: SpeakerName,
    /// What they are to the agent, where they are now: in a group, everybody but the
    /// owner is a member.
    pub role: ActorRole,
    /// The conversation in which they are that: of a member their group, of a schedule where
    /// its runs are held. Nobody else is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Arc<str>>,
    /// Which of those it is who go by the same name in a group, where it is not the first: the
    /// model reads it behind the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namesake: Option<u32>,
}

/// What a name in a group can't have: what stands between these is Recto's own word on who it is.
const PARENTHESES: &str = "()（）﹙﹚⁽⁾₍₎❨❩❪❫⟮⟯⦅⦆｟｠⸨⸩﴾﴿";

/// The most characters of a name that has a word behind it.
const LONGEST_MARKED: usize = 48;

/// What somebody is to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorRole {
    /// The person whose agent it is.
    Owner,
    /// A person whom the owner has let in, in private.
    Paired,
    /// Somebody in a group.
    Member,
    /// A program with a token.
    Token(TokenRights),
    /// Nobody: a run at a set time.
    Schedule,
}

/// The rights that a token was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenRights {
    /// For whom it speaks.
    pub holder: TokenHolder,
    /// Whether it may do anything but look.
    pub access: TokenAccess,
}

/// For whom a token speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenHolder {
    /// The agent's owner.
    Owner,
    /// Somebody else, who goes by the token's own id.
    Guest,
}

/// Whether a token may do anything but look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenAccess {
    /// It may look.
    Read,
    /// It may do what its holder may.
    Write,
}

impl TokenRights {
    /// The rights as the store has kept them. Those that can't be read any more are the least.
    pub fn from_store(stored: &Value) -> Self {
        let least = TokenRights { holder: TokenHolder::Guest, access: TokenAccess::Read };
        TokenRights::deserialize(stored).unwrap_or(least)
    }

    /// The rights as the store keeps them.
    pub fn to_store(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Actor {
    /// Somebody with this id, name and role.
    pub fn new(id: &str, name: &str, role: ActorRole) -> Self {
        let (id, name) = (id.into(), SpeakerName::new(name));
        Actor { id, name, role, conversation: None, namesake: None }
    }

    /// Somebody in the group that holds this conversation.
    pub fn member(id: &str, name: &str, conversation: &Conversation) -> Self {
        let conversation = Some(conversation.scope().into());
        Actor { conversation, ..Actor::new(id, name, ActorRole::Member) }
    }

    /// The agent's owner, under this name.
    pub fn owner(name: &str) -> Self {
        Actor::new(Audience::OWNER, name, ActorRole::Owner)
    }

    /// Whoever has this token. A guest goes by the id that is made of its number, which no other
    /// token ever has.
    pub fn with_token(token: &StoredToken) -> Self {
        let rights = TokenRights::from_store(&token.rights);
        Actor::new(&format!("token-{}", token.id), &token.name, ActorRole::Token(rights))
    }

    /// The schedule whose runs are held in this conversation.
    pub fn schedule(name: &str, conversation: &Conversation) -> Self {
        let scope = conversation.scope();
        let schedule = Actor::new(&scope, name, ActorRole::Schedule);
        Actor { conversation: Some(scope.into()), ..schedule }
    }

    /// The actor as the store has kept it. One that can't be read any more has the least
    /// rights of all who can talk.
    pub fn from_store(stored: &Value) -> Self {
        Actor::deserialize(stored)
            .unwrap_or_else(|_| Actor::new("unknown", "unknown", ActorRole::Member))
    }

    /// The actor as the store keeps it.
    pub fn to_store(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// What those are to the agent who talk with it in private as this actor does, and the
    /// person.
    pub(crate) fn as_audience(&self) -> (AudienceKind, Option<Arc<str>>) {
        match self.role {
            ActorRole::Owner | ActorRole::Token(TokenRights { holder: TokenHolder::Owner, .. }) => {
                (AudienceKind::Owner, Some(Audience::OWNER.into()))
            }
            ActorRole::Paired
            | ActorRole::Token(TokenRights { holder: TokenHolder::Guest, .. }) => {
                (AudienceKind::Guest, Some(self.id.clone()))
            }
            ActorRole::Member | ActorRole::Schedule => (AudienceKind::Group, None),
        }
    }

    /// Those whose names for sessions the actor uses.
    pub(crate) fn as_holder(&self) -> SessionHolder {
        let ((who, person), conversation) = (self.as_audience(), self.conversation.clone());
        SessionHolder::of_audience(&Audience { who, person, conversation, agent: None })
    }

    /// Whether another one is the same person: the owner is, by whichever token, and everybody
    /// else who has the same id in the same part.
    pub(crate) fn is_same_person(&self, other: &Actor) -> bool {
        match (self.as_audience().0, other.as_audience().0) {
            (AudienceKind::Owner, AudienceKind::Owner) => true,
            (AudienceKind::Owner, _) | (_, AudienceKind::Owner) => false,
            _ => {
                let part = |actor: &Actor| (actor.role, actor.conversation.clone());
                self.id == other.id && part(self) == part(other)
            }
        }
    }

    /// The name that the model reads before what they say to these people: nothing in
    /// private, where nobody else could have said it.
    pub(crate) fn speaker(&self, to: &Audience) -> Option<SpeakerName> {
        (to.who == AudienceKind::Group).then(|| self.name_in_group())
    }

    /// The name that the model reads in a group. Names are chosen by those who have them, so who is
    /// the owner, and which of several of one name it is, stands behind it, where nobody can write
    /// it themself.
    pub fn name_in_group(&self) -> SpeakerName {
        let bare = |c: char| if PARENTHESES.contains(c) { ' ' } else { c };
        let name: String = self.name.as_str().chars().map(bare).collect();
        let short: String = name.trim().chars().take(LONGEST_MARKED).collect();
        match (self.role, self.namesake) {
            (ActorRole::Owner, _) => SpeakerName::new(&format!("{short} (owner)")),
            (_, Some(number)) => {
                let name = SpeakerName::new(&short).among_people();
                SpeakerName::new(&format!("{name} ({number})"))
            }
            (_, None) => SpeakerName::new(&name).among_people(),
        }
    }
}

impl fmt::Display for ActorRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ActorRole::Owner => "the owner",
            ActorRole::Paired => "a paired person",
            ActorRole::Member => "a member of a group",
            ActorRole::Token(TokenRights { holder, access }) => match (holder, access) {
                (TokenHolder::Owner, TokenAccess::Write) => "a token of the owner's",
                (TokenHolder::Owner, TokenAccess::Read) => "a read-only token of the owner's",
                (TokenHolder::Guest, TokenAccess::Write) => "a guest's token",
                (TokenHolder::Guest, TokenAccess::Read) => "a guest's read-only token",
            },
            ActorRole::Schedule => "a schedule",
        })
    }
}

impl ActorRole {
    /// Every role that there is.
    pub const ALL: [ActorRole; 8] = [
        ActorRole::Owner,
        ActorRole::Paired,
        ActorRole::Member,
        ActorRole::Token(TokenRights { holder: TokenHolder::Owner, access: TokenAccess::Write }),
        ActorRole::Token(TokenRights { holder: TokenHolder::Owner, access: TokenAccess::Read }),
        ActorRole::Token(TokenRights { holder: TokenHolder::Guest, access: TokenAccess::Write }),
        ActorRole::Token(TokenRights { holder: TokenHolder::Guest, access: TokenAccess::Read }),
        ActorRole::Schedule,
    ];
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn actors_are_kept_and_what_cannot_be_read_has_few_rights() {
        for role in ActorRole::ALL {
            let actor = Actor::new("7", "Ada", role);
            assert_eq!(Actor::from_store(&actor.to_store()), actor);
        }
        let stored = json!({"id": "owner", "name": "owner", "role": "owner"});
        assert_eq!(Actor::from_store(&stored), Actor::owner("owner"));
        for damaged in [json!(null), json!({"id": "x", "name": "x", "role": "emperor"})] {
            assert_eq!(Actor::from_store(&damaged).role, ActorRole::Member);
        }
    }

    #[test]
    fn rights_of_tokens_are_kept_and_what_cannot_be_read_may_only_look() {
        for holder in [TokenHolder::Owner, TokenHolder::Guest] {
            for access in [TokenAccess::Read, TokenAccess::Write] {
                let rights = TokenRights { holder, access };
                assert_eq!(TokenRights::from_store(&rights.to_store()), rights);
            }
        }
        let least = TokenRights { holder: TokenHolder::Guest, access: TokenAccess::Read };
        assert_eq!(TokenRights::from_store(&json!({"holder": "emperor"})), least);
    }

    #[test]
    fn the_speaker_is_named_in_groups_alone() {
        let group = Audience { who: AudienceKind::Group, ..Audience::default() };
        let ada = Actor::new("7", "Ada", ActorRole::Member);
        assert_eq!(ada.speaker(&group), Some(SpeakerName::new("Ada")));
        assert_eq!(ada.speaker(&Audience::owner("main")), None);
        let eve = Actor::new("8", "Owner", ActorRole::Member);
        assert_eq!(eve.speaker(&group).unwrap().as_str(), "Owner (a person)");
        assert_eq!(Actor::owner("Ana").speaker(&group).unwrap().as_str(), "Ana (owner)");
    }

    /// Promise: `names-cannot-spoof`
    #[test]
    fn nobody_in_a_group_has_the_name_of_another_or_of_the_owner() {
        let named = |name: &str, namesake| {
            let member = Actor { namesake, ..Actor::new("7", name, ActorRole::Member) };
            member.name_in_group().to_string()
        };
        assert_eq!(named("Ana", None), "Ana");
        assert_eq!(named("Ana", Some(2)), "Ana (2)");
        assert_eq!(named("Ana (owner)", None), "Ana owner");
        assert_eq!(named("Ana（2）", None), "Ana 2");
        assert_eq!(named("(owner)", None), "owner (a person)");
        assert_eq!(named("()", None), "someone");
        // However long a name is, what stands behind it stays.
        let long = "x".repeat(100);
        assert!(named(&long, Some(12)).ends_with("x (12)"), "{}", named(&long, Some(12)));
        assert!(Actor::owner(&long).name_in_group().as_str().ends_with("x (owner)"));
        let stored = Actor { namesake: Some(3), ..Actor::new("7", "Ana", ActorRole::Member) };
        assert_eq!(Actor::from_store(&stored.to_store()), stored);
    }
}
