//! Before whom a session is held. Names of sessions are theirs: what somebody else calls theirs is
//! neither found nor in the way.

use recto_context::{Audience, AudienceKind};
use serde::{Deserialize, Serialize};

/// Those before whom a session is held, as the store tells them apart: the owner, one guest, or
/// whoever is in one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionHolder(String);

impl SessionHolder {
    /// The agent's owner.
    pub fn owner() -> Self {
        SessionHolder("owner".to_owned())
    }

    /// Those who can read what is said before this audience. A guest of whom nobody knows who it
    /// is has the names of the place.
    pub fn of_audience(audience: &Audience) -> Self {
        match (audience.who, &audience.person) {
            (AudienceKind::Owner, _) => SessionHolder::owner(),
            (AudienceKind::Guest, Some(person)) => SessionHolder(format!("guest:{person}")),
            (AudienceKind::Guest, None) | (AudienceKind::Group | AudienceKind::SubAgent, _) => {
                let place = audience.conversation.as_deref().unwrap_or_default();
                SessionHolder(format!("place:{place}"))
            }
        }
    }

    /// Whether it is the owner.
    pub fn is_owner(&self) -> bool {
        *self == SessionHolder::owner()
    }

    /// The holder whose stored form this is.
    pub(crate) fn from_column(stored: String) -> Self {
        SessionHolder(stored)
    }

    /// The form in which it is stored.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SessionHolder {
    fn default() -> Self {
        SessionHolder::owner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_one_form() {
        let audience = |who, person: Option<&str>, place: &str| Audience {
            who,
            person: person.map(Into::into),
            conversation: Some(place.into()),
            agent: None,
        };
        let owner = audience(AudienceKind::Owner, Some("owner"), "web-a");
        assert!(SessionHolder::of_audience(&owner).is_owner());
        let others = [
            audience(AudienceKind::Guest, Some("owner"), "web-a"),
            audience(AudienceKind::Guest, Some("web-a"), "web-a"),
            audience(AudienceKind::Guest, None, "web-a"),
            audience(AudienceKind::Group, None, "owner"),
            audience(AudienceKind::Group, Some("owner"), ""),
        ];
        let forms: std::collections::BTreeSet<_> =
            others.iter().map(SessionHolder::of_audience).collect();
        assert_eq!(forms.len(), others.len());
        assert!(!forms.contains(&SessionHolder::owner()));
    }
}
