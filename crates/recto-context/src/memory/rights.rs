//! Who may see what is remembered. This is the only place that decides it, for files
//! and for past sessions alike.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The owner of a memory: whoever it was written down for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The agent's owner: MEMORY.md and the daily notes.
    Global,
    /// A single person, by their id.
    Person(Arc<str>),
    /// A conversation, by its surface and name: `telegram-4711`.
    Conversation(Arc<str>),
    /// A single agent, by its name.
    Agent(Arc<str>),
}

/// For whom a page is made: all who can read the replies to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Audience {
    /// What they are to the agent.
    pub who: Who,
    /// The person, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<Arc<str>>,
    /// The conversation, as its file is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Arc<str>>,
    /// The agent that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
}

impl Audience {
    /// The id of the owner among people.
    pub const OWNER: &str = "owner";

    /// An agent's owner, in private and in no conversation.
    pub fn owner(agent: impl Into<Arc<str>>) -> Self {
        Audience {
            who: Who::Owner,
            person: Some(Audience::OWNER.into()),
            conversation: None,
            agent: Some(agent.into()),
        }
    }
}

/// What somebody is to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Its owner, in private.
    Owner,
    /// Another person, in private.
    Guest,
    /// Several people, or nobody knows who. What nothing else is said of counts as
    /// this.
    #[default]
    Group,
    /// Another agent, which gives it a task.
    SubAgent,
}

/// Whether an audience may see a memory of this scope; `shared` says that its owner
/// marked it as meant for others, too.
pub fn may_see(audience: &Audience, scope: &Scope, shared: bool) -> bool {
    match (audience.who, scope) {
        (Who::Owner, Scope::Global) => true,
        (Who::Guest | Who::Group, Scope::Global) => shared,
        (Who::Owner | Who::Guest, Scope::Person(person)) => is(&audience.person, person),
        (Who::Owner | Who::Guest | Who::Group, Scope::Conversation(conversation)) => {
            is(&audience.conversation, conversation)
        }
        (Who::Owner | Who::SubAgent, Scope::Agent(agent)) => is(&audience.agent, agent),
        (Who::Guest | Who::Group, Scope::Agent(agent)) => shared && is(&audience.agent, agent),
        (Who::Group | Who::SubAgent, Scope::Person(_))
        | (Who::SubAgent, Scope::Global | Scope::Conversation(_)) => false,
    }
}

/// Whether an audience may add to a scope and take from it: where it may see
/// everything.
pub fn may_remember(audience: &Audience, scope: &Scope) -> bool {
    may_see(audience, scope, false)
}

/// Whether one audience may recall what was said before another: as with files, what
/// the owner said in private is the owner's, a guest's is the guest's, and what was
/// said in a conversation stays there.
pub fn may_recall(audience: &Audience, of: &Audience) -> bool {
    let same_conversation =
        || of.conversation.as_ref().is_some_and(|name| is(&audience.conversation, name));
    let same_person = || of.person.as_ref().is_some_and(|person| is(&audience.person, person));
    match (audience.who, of.who) {
        (Who::SubAgent, _) | (_, Who::SubAgent) => false,
        (Who::Owner, Who::Owner) => true,
        // Where both are known, it is the person that counts: others may use the same
        // name for their conversation.
        (Who::Guest, Who::Guest) if audience.person.is_some() && of.person.is_some() => {
            same_person()
        }
        // Whoever reads along may not have been there in private.
        (Who::Guest | Who::Group, Who::Owner) | (Who::Group, Who::Guest) => false,
        (Who::Owner | Who::Guest | Who::Group, _) => same_conversation(),
    }
}

/// Without a name, nobody is anybody.
fn is(own: &Option<Arc<str>>, other: &Arc<str>) -> bool {
    own.as_ref() == Some(other)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn audience(who: Who) -> Audience {
        Audience {
            who,
            person: Some("anna".into()),
            conversation: Some("telegram-1".into()),
            agent: Some("recto".into()),
        }
    }

    const ALL: [(&str, Who); 4] = [
        ("owner", Who::Owner),
        ("guest", Who::Guest),
        ("group", Who::Group),
        ("sub-agent", Who::SubAgent),
    ];

    #[track_caller]
    fn check(of: impl Fn(&Audience) -> Vec<&'static str>, expected: &Expect) {
        let lines = ALL.map(|(name, who)| format!("{name}: {}\n", of(&audience(who)).join(" ")));
        expected.assert_eq(&lines.concat());
    }

    /// DESIGN's table: what each audience sees of each scope, its own and another's,
    /// plain and shared.
    /// Promise: `private-memory-stays-private`
    #[test]
    fn the_truth_table_of_memories() {
        let scopes = || {
            [
                ("global", Scope::Global),
                ("own-person", Scope::Person("anna".into())),
                ("other-person", Scope::Person("ben".into())),
                ("this-conversation", Scope::Conversation("telegram-1".into())),
                ("other-conversation", Scope::Conversation("telegram-2".into())),
                ("own-agent", Scope::Agent("recto".into())),
                ("other-agent", Scope::Agent("other".into())),
            ]
        };
        let seen = |audience: &Audience, shared| {
            let seen = scopes().into_iter().filter(|(_, scope)| may_see(audience, scope, shared));
            seen.map(|(name, _)| name).collect()
        };
        check(
            |audience| seen(audience, false),
            &expect![[r#"
                owner: global own-person this-conversation own-agent
                guest: own-person this-conversation
                group: this-conversation
                sub-agent: own-agent
            "#]],
        );
        check(
            |audience| seen(audience, true),
            &expect![[r#"
                owner: global own-person this-conversation own-agent
                guest: global own-person this-conversation own-agent
                group: global this-conversation own-agent
                sub-agent: own-agent
            "#]],
        );
        let may_write = |audience: &Audience| {
            let may = scopes().into_iter().filter(|(_, scope)| may_remember(audience, scope));
            may.map(|(name, _)| name).collect()
        };
        check(
            may_write,
            &expect![[r#"
                owner: global own-person this-conversation own-agent
                guest: own-person this-conversation
                group: this-conversation
                sub-agent: own-agent
            "#]],
        );
    }

    #[test]
    fn the_truth_table_of_past_sessions() {
        let of = |who, person: &str, conversation: &str| Audience {
            who,
            person: Some(person.into()),
            conversation: Some(conversation.into()),
            agent: None,
        };
        let sessions = || {
            [
                ("owner-elsewhere", of(Who::Owner, "owner", "terminal-main")),
                ("owner-here", of(Who::Owner, "owner", "telegram-1")),
                ("self-elsewhere", of(Who::Guest, "anna", "telegram-7")),
                ("other-guest", of(Who::Guest, "ben", "telegram-8")),
                ("this-group", of(Who::Group, "", "telegram-1")),
                ("other-group", of(Who::Group, "", "telegram-2")),
                ("sub-agent", of(Who::SubAgent, "anna", "telegram-1")),
            ]
        };
        check(
            |audience| {
                let may = sessions().into_iter().filter(|(_, of)| may_recall(audience, of));
                may.map(|(name, _)| name).collect()
            },
            &expect![[r#"
                owner: owner-elsewhere owner-here this-group
                guest: self-elsewhere this-group
                group: this-group
                sub-agent: 
            "#]],
        );
    }

    #[test]
    fn without_a_name_nobody_is_anybody() {
        let nobody = Audience { who: Who::Guest, ..Audience::default() };
        assert!(!may_see(&nobody, &Scope::Person("".into()), true));
        assert!(!may_recall(&nobody, &nobody));
        assert!(!may_see(&Audience::default(), &Scope::Global, false));
        let kept = serde_json::to_string(&Audience::default()).unwrap();
        assert_eq!(serde_json::from_str::<Audience>(&kept).unwrap(), Audience::default());
        assert_eq!(serde_json::from_str::<Audience>("{}").unwrap().who, Who::Group);
    }
}
