//! Why somebody can't say anything in a session from here, told before they type, with what to do.

use std::path::PathBuf;

use maud::{Markup, html};
use recto_agent::{Actor, Agent, Delegation, Right, SessionSettings, is_allowed};
use recto_context::Remedy;
use recto_store::{StoredSession, TurnId};

use crate::gateway::Gateway;
use crate::pages::layout::with_code;
use crate::pages::visible_text::show_controls;

/// What stands where the composer would.
#[derive(Debug, Clone)]
pub(crate) enum TalkObstacle {
    /// Whoever looks at it may do no more than that.
    OnlyLooks,
    /// It is a sub-agent's for one task, which it has.
    Task { agent: String, parent: Option<TurnId> },
    /// Tools would work in the server's folder, and the session is about another one.
    OtherFolder { session: String, folder: Option<PathBuf> },
}

impl TalkObstacle {
    /// What keeps somebody from talking anywhere.
    pub(crate) fn find_for(actor: &Actor) -> Option<Self> {
        (!is_allowed(actor.role, Right::Talk)).then_some(TalkObstacle::OnlyLooks)
    }

    /// What keeps somebody from talking in a session.
    pub(crate) fn find(actor: &Actor, agent: &Agent, session: &StoredSession) -> Option<Self> {
        TalkObstacle::find_for(actor).or_else(|| {
            let SessionSettings { folder, delegation, .. } =
                SessionSettings::from_store(&session.settings);
            if let Some(Delegation { agent, parent, .. }) = delegation {
                return Some(TalkObstacle::Task { agent, parent });
            }
            let folder = folder.map(|folder| folder.path().to_owned());
            (!agent.works_in_folder_of(session))
                .then(|| TalkObstacle::OtherFolder { session: session.label(), folder })
        })
    }

    /// The words, in the place of the composer.
    pub(crate) fn render(&self, gateway: &Gateway) -> Markup {
        html! {
            section.composer aria-label="Why nothing can be said here" {
                div.box.closed {
                    @match self {
                        TalkObstacle::OnlyLooks => p {
                            b { "You can read here." } " Your token may look, and say nothing."
                        },
                        TalkObstacle::Task { agent, parent } => (task(agent, *parent)),
                        TalkObstacle::OtherFolder { session, folder } => {
                            (other_folder(gateway, session, folder.as_ref()))
                        },
                    }
                }
            }
        }
    }
}

fn task(agent: &str, parent: Option<TurnId>) -> Markup {
    html! {
        p {
            b { "This is a task of the sub-agent " (show_controls(agent)) "." }
            " It has one message, and ends with its answer."
        }
        div.acts {
            @match parent {
                Some(turn) => a.btn href={ "/turns/" (turn) } { "Turn " (turn) ", which gave it" },
                None => span.q { "A person gave it by hand." },
            }
        }
    }
}

fn other_folder(gateway: &Gateway, session: &str, folder: Option<&PathBuf>) -> Markup {
    let open = gateway.describe_remedy(&Remedy::OpenSession { name: session.to_owned() });
    html! {
        p {
            b { "This session is about another folder" }
            @if let Some(folder) = folder { ": " code { (folder.display()) } }
            ". Here its tools would work in the server's own workspace, so it is only shown; what is \
             said in it elsewhere moves here, too."
        }
        div.acts {
            span { "Go on with it in a terminal: " (with_code(&open)) }
            a.btn href="/new" { "New session here" }
        }
    }
}
