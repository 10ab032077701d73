//! Who may do what. This is the only place that decides it: surfaces say who somebody is,
//! the agent's doors say what they want to do, and both ask here.
//!
//! What may be remembered and recalled, and before whom, is another question; see
//! `recto_context`'s `may_see` and `may_recall`.

use recto_context::{Audience, AudienceKind};
use recto_store::ApprovalAnswer;
use serde::Serialize;

use crate::actor::{Actor, ActorRole, TokenAccess, TokenHolder, TokenRights};
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;

/// Something that an actor may be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, strum::Display, strum::EnumIter)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Say something to the model.
    #[strum(serialize = "talk")]
    Talk,
    /// Stop a turn, and deny what it asks.
    #[strum(serialize = "stop turns")]
    Stop,
    /// Take back what was said last, to say it again or otherwise.
    #[strum(serialize = "take back exchanges")]
    TakeBack,
    /// Put a session into the archive and begin another.
    #[strum(serialize = "begin new sessions")]
    BeginSession,
    /// Take a session away for good.
    #[strum(serialize = "delete sessions")]
    DeleteSession,
    /// Look at what was sent, why, and with which settings.
    #[strum(serialize = "look at what was sent")]
    Inspect,
    /// Reach sessions of others.
    #[strum(serialize = "see sessions of others")]
    SeeSessions,
    /// Change settings that only say how the model answers.
    #[strum(serialize = "change settings")]
    ChangeSettings,
    /// Change settings that decide what tools may do unasked.
    #[strum(serialize = "change rights")]
    ChangeRights,
    /// Bring along a conversation, a system text or tools that are not the session's own, as
    /// clients of the front doors do.
    #[strum(serialize = "bring a conversation of their own")]
    BringContext,
    /// Put items into a session, or take them out.
    #[strum(serialize = "add or remove items")]
    ChangeItems,
    /// Allow a tool to run.
    #[strum(serialize = "approve tools")]
    Approve,
    /// Have something remembered.
    #[strum(serialize = "have things remembered")]
    Remember,
    /// Say of a memory who else may see it.
    #[strum(serialize = "share memories")]
    ShareMemories,
    /// Send a recorded request again.
    #[strum(serialize = "replay turns")]
    Replay,
    /// Look at the agent's files, items and memories, whoever's they are.
    #[strum(serialize = "see the workspace")]
    SeeWorkspace,
    /// Change when items are included, and what is remembered of anybody.
    #[strum(serialize = "change the workspace")]
    ChangeWorkspace,
}

impl Right {
    /// Whether it widens what tools may do, or who may see something.
    pub fn widens(self) -> bool {
        matches!(self, Right::ChangeRights | Right::Approve | Right::ShareMemories)
    }

    /// The right to give an answer: who may stop a turn may also keep a tool from running.
    pub fn for_answer(answer: ApprovalAnswer) -> Self {
        match answer {
            ApprovalAnswer::Once | ApprovalAnswer::Session => Right::Approve,
            ApprovalAnswer::Denied | ApprovalAnswer::Expired | ApprovalAnswer::Withdrawn => {
                Right::Stop
            }
        }
    }
}

/// Whether somebody of this role may do this.
pub fn is_allowed(role: ActorRole, right: Right) -> bool {
    match role {
        ActorRole::Owner => true,
        ActorRole::Paired => is_for_guests(right),
        ActorRole::Member => matches!(right, Right::Talk | Right::Stop | Right::Remember),
        ActorRole::Token(TokenRights { holder, access }) => match (holder, access) {
            (TokenHolder::Owner, TokenAccess::Write) => true,
            (TokenHolder::Owner, TokenAccess::Read) => {
                matches!(right, Right::Inspect | Right::SeeSessions | Right::SeeWorkspace)
            }
            (TokenHolder::Guest, TokenAccess::Write) => {
                is_for_guests(right) || right == Right::BringContext
            }
            (TokenHolder::Guest, TokenAccess::Read) => right == Right::Inspect,
        },
        ActorRole::Schedule => right == Right::Talk,
    }
}

/// What people other than the owner may do in private.
fn is_for_guests(right: Right) -> bool {
    matches!(
        right,
        Right::Talk
            | Right::Stop
            | Right::TakeBack
            | Right::BeginSession
            | Right::Inspect
            | Right::ChangeSettings
            | Right::Remember
    )
}

/// Whether somebody may do anything at all in a session that is held before these people:
/// whoever may not see those of others has the ones that were begun for them.
pub fn may_reach(actor: &Actor, audience: &Audience) -> bool {
    if is_allowed(actor.role, Right::SeeSessions) {
        return true;
    }
    match actor.role {
        // A session of which nobody knows where it is held is nobody's.
        ActorRole::Member | ActorRole::Schedule => {
            let is_place =
                actor.conversation.is_some() && audience.conversation == actor.conversation;
            is_place && (actor.role == ActorRole::Schedule || audience.who == AudienceKind::Group)
        }
        ActorRole::Owner | ActorRole::Paired | ActorRole::Token(_) => {
            // Nobody else goes by the owner's id.
            let (who, person) = actor.as_audience();
            audience.who == who && person.is_some() && audience.person == person
        }
    }
}

impl Actor {
    /// Passes an actor who may do this.
    pub fn must_have(&self, right: Right) -> AgentResult {
        if is_allowed(self.role, right) {
            return Ok(());
        }
        Err(AgentError::NotAllowed { name: self.name.clone(), role: self.role, right })
    }
}

/// The rights that the settings of a single turn need. What a schedule sets, its owner has
/// set for it.
pub(crate) fn turn_settings_rights(role: ActorRole, settings: &SessionSettings) -> Vec<Right> {
    let of_manner =
        SessionSettings { approval: None, unattended: false, delegation: None, ..settings.clone() };
    let changes_manner = is_attended(role) && of_manner != SessionSettings::default();
    let changes_rights = settings.approval.is_some();
    let changes = [(changes_manner, Right::ChangeSettings), (changes_rights, Right::ChangeRights)];
    changes.into_iter().filter_map(|(changes, right)| changes.then_some(right)).collect()
}

/// Whether somebody is there who can be asked, and can mean what they type as a command. In
/// a run at a set time, a line that looks like one is text.
pub(crate) fn is_attended(role: ActorRole) -> bool {
    role != ActorRole::Schedule
}

/// The roles that may do this, for people.
pub(crate) fn who_may(right: Right) -> String {
    let allowed = ActorRole::ALL.into_iter().filter(|role| is_allowed(*role, right));
    let names: Vec<String> = allowed.map(|role| role.to_string()).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "nobody".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use strum::IntoEnumIterator;

    use super::*;

    /// Promise: `rights-are-one-table`
    #[test]
    fn the_whole_table() {
        let mut table = format!("{:<23}", "");
        let heads =
            ["owner", "paired", "member", "own-rw", "own-r", "guest-rw", "guest-r", "sched"];
        heads.iter().for_each(|head| table.push_str(&format!(" {head:<8}")));
        for right in Right::iter() {
            table.push_str(&format!("\n{right:<23}"));
            for role in ActorRole::ALL {
                let cell = if is_allowed(role, right) { "yes" } else { "-" };
                table.push_str(&format!(" {cell:<8}"));
            }
        }
        let table: Vec<&str> = table.lines().map(str::trim_end).collect();
        expect![[r#"
                                    owner    paired   member   own-rw   own-r    guest-rw guest-r  sched
            talk                    yes      yes      yes      yes      -        yes      -        yes
            stop turns              yes      yes      yes      yes      -        yes      -        -
            take back exchanges     yes      yes      -        yes      -        yes      -        -
            begin new sessions      yes      yes      -        yes      -        yes      -        -
            delete sessions         yes      -        -        yes      -        -        -        -
            look at what was sent   yes      yes      -        yes      yes      yes      yes      -
            see sessions of others  yes      -        -        yes      yes      -        -        -
            change settings         yes      yes      -        yes      -        yes      -        -
            change rights           yes      -        -        yes      -        -        -        -
            bring a conversation of their own yes      -        -        yes      -        yes      -        -
            add or remove items     yes      -        -        yes      -        -        -        -
            approve tools           yes      -        -        yes      -        -        -        -
            have things remembered  yes      yes      yes      yes      -        yes      -        -
            share memories          yes      -        -        yes      -        -        -        -
            replay turns            yes      -        -        yes      -        -        -        -
            see the workspace       yes      -        -        yes      yes      -        -        -
            change the workspace    yes      -        -        yes      -        -        -        -"#]].assert_eq(&table.join("\n"));
    }

    fn audience(who: AudienceKind, person: Option<&str>, conversation: &str) -> Audience {
        Audience {
            who,
            person: person.map(Into::into),
            conversation: Some(conversation.into()),
            agent: Some("main".into()),
        }
    }

    #[test]
    fn whoever_may_not_see_all_sessions_reaches_their_own() {
        let sessions = [
            ("owner's", audience(AudienceKind::Owner, Some("owner"), "terminal-main")),
            ("anna's", audience(AudienceKind::Guest, Some("anna"), "telegram-1")),
            ("ben's", audience(AudienceKind::Guest, Some("ben"), "telegram-2")),
            ("stranger's", audience(AudienceKind::Guest, None, "telegram-3")),
            ("group's", audience(AudienceKind::Group, None, "telegram-4")),
            ("other group's", audience(AudienceKind::Group, None, "telegram-5")),
            ("schedule's", audience(AudienceKind::Owner, Some("owner"), "schedule-daily")),
            ("nobody's", Audience::default()),
        ];
        let mut table = String::new();
        for (id, role) in ActorRole::ALL.into_iter().flat_map(|role| {
            let ids = match role {
                ActorRole::Schedule => vec!["schedule-daily"],
                // Also one who calls themselves the owner.
                _ => vec!["anna", "owner"],
            };
            ids.into_iter().map(move |id| (id, role))
        }) {
            let conversation = match role {
                ActorRole::Schedule => Some(id.into()),
                ActorRole::Member => Some("telegram-4".into()),
                _ => None,
            };
            let actor = Actor { conversation, ..Actor::new(id, "Anna", role) };
            let reached = sessions.iter().filter(|(_, audience)| may_reach(&actor, audience));
            let reached: String = reached.map(|(name, _)| format!(" {name}")).collect();
            table.push_str(&format!("{role} ({id}):{reached}\n"));
        }
        expect![[r#"
            the owner (anna): owner's anna's ben's stranger's group's other group's schedule's nobody's
            the owner (owner): owner's anna's ben's stranger's group's other group's schedule's nobody's
            a paired person (anna): anna's
            a paired person (owner):
            a member of a group (anna): group's
            a member of a group (owner): group's
            a token of the owner's (anna): owner's anna's ben's stranger's group's other group's schedule's nobody's
            a token of the owner's (owner): owner's anna's ben's stranger's group's other group's schedule's nobody's
            a read-only token of the owner's (anna): owner's anna's ben's stranger's group's other group's schedule's nobody's
            a read-only token of the owner's (owner): owner's anna's ben's stranger's group's other group's schedule's nobody's
            a guest's token (anna): anna's
            a guest's token (owner):
            a guest's read-only token (anna): anna's
            a guest's read-only token (owner):
            a schedule (schedule-daily): schedule's
        "#]].assert_eq(&table);
    }

    #[test]
    fn who_may_is_told_in_words() {
        expect!["the owner and a token of the owner's"].assert_eq(&who_may(Right::Approve));
    }
}
