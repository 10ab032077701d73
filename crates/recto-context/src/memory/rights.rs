//! Who may see what is remembered. This is the only place that decides it, for files
//! and for past sessions alike.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The owner of a memory: whoever it was written down for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryScope {
    /// The agent's owner: MEMORY.md and the daily notes.
    Global,
    /// A single person, by their id.
    Person(Arc<str>),
    /// A conversation, by its surface, account and name: `telegram@bot-4711`.
    Conversation(Arc<str>),
    /// A single agent, by its name.
    Agent(Arc<str>),
}

/// The people for whom a page is made: all who can read the replies to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Audience {
    /// What they are to the agent.
    pub who: AudienceKind,
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
            who: AudienceKind::Owner,
            person: Some(Audience::OWNER.into()),
            conversation: None,
            agent: Some(agent.into()),
        }
    }
}

/// What somebody is to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudienceKind {
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
pub fn may_see(audience: &Audience, scope: &MemoryScope, shared: bool) -> bool {
    match (audience.who, scope) {
        (AudienceKind::Owner, MemoryScope::Global) => true,
        (AudienceKind::Guest | AudienceKind::Group, MemoryScope::Global) => shared,
        (AudienceKind::Owner | AudienceKind::Guest, MemoryScope::Person(person)) => {
            is(&audience.person, person)
        }
        (
            AudienceKind::Owner | AudienceKind::Guest | AudienceKind::Group,
            MemoryScope::Conversation(conversation),
        ) => is(&audience.conversation, conversation),
        (AudienceKind::Owner | AudienceKind::SubAgent, MemoryScope::Agent(agent)) => {
            is(&audience.agent, agent)
        }
        (AudienceKind::Guest | AudienceKind::Group, MemoryScope::Agent(agent)) => {
            shared && is(&audience.agent, agent)
        }
        (AudienceKind::Group | AudienceKind::SubAgent, MemoryScope::Person(_))
        | (AudienceKind::SubAgent, MemoryScope::Global | MemoryScope::Conversation(_)) => false,
    }
}

/// Whether an audience may add to a scope and take from it: where it may see
/// everything.
pub fn may_remember(audience: &Audience, scope: &MemoryScope) -> bool {
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
        (AudienceKind::SubAgent, _) | (_, AudienceKind::SubAgent) => false,
        (AudienceKind::Owner, AudienceKind::Owner) => true,
        // Where both are known, it is the person that counts: others may use the same
        // name for their conversation.
        (AudienceKind::Guest, AudienceKind::Guest)
            if audience.person.is_some() && of.person.is_some() =>
        {
            same_person()
        }
        // Whoever reads along may not have been there in private.
        (AudienceKind::Guest | AudienceKind::Group, AudienceKind::Owner)
        | (AudienceKind::Group, AudienceKind::Guest) => false,
        (AudienceKind::Owner | AudienceKind::Guest | AudienceKind::Group, _) => same_conversation(),
    }
}

/// Whether two names are the same; nobody without a name is anybody.
fn is(own: &Option<Arc<str>>, other: &Arc<str>) -> bool {
    own.as_ref() == Some(other)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn audience(who: AudienceKind) -> Audience {
        Audience {
            who,
            person: Some("anna".into()),
            conversation: Some("telegram-1".into()),
            agent: Some("recto".into()),
        }
    }

    const ALL: [(&str, AudienceKind); 4] = [
        ("owner", AudienceKind::Owner),
        ("guest", AudienceKind::Guest),
        ("group", AudienceKind::Group),
        ("sub-agent", AudienceKind::SubAgent),
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
                ("global", MemoryScope::Global),
                ("own-person", MemoryScope::Person("anna".into())),
                ("other-person", MemoryScope::Person("ben".into())),
                ("this-conversation", MemoryScope::Conversation("telegram-1".into())),
                ("other-conversation", MemoryScope::Conversation("telegram-2".into())),
                ("own-agent", MemoryScope::Agent("recto".into())),
                ("other-agent", MemoryScope::Agent("other".into())),
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
                ("owner-elsewhere", of(AudienceKind::Owner, "owner", "terminal-main")),
                ("owner-here", of(AudienceKind::Owner, "owner", "telegram-1")),
                ("self-elsewhere", of(AudienceKind::Guest, "anna", "telegram-7")),
                ("other-guest", of(AudienceKind::Guest, "ben", "telegram-8")),
                ("this-group", of(AudienceKind::Group, "", "telegram-1")),
                ("other-group", of(AudienceKind::Group, "", "telegram-2")),
                ("sub-agent", of(AudienceKind::SubAgent, "anna", "telegram-1")),
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
        let nobody = Audience { who: AudienceKind::Guest, ..Audience::default() };
        assert!(!may_see(&nobody, &MemoryScope::Person("".into()), true));
        assert!(!may_recall(&nobody, &nobody));
        assert!(!may_see(&Audience::default(), &MemoryScope::Global, false));
        let kept = serde_json::to_string(&Audience::default()).unwrap();
        assert_eq!(serde_json::from_str::<Audience>(&kept).unwrap(), Audience::default());
        assert_eq!(serde_json::from_str::<Audience>("{}").unwrap().who, AudienceKind::Group);
    }
}
