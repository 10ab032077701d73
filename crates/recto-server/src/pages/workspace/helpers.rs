//! Who else works for an agent: its sub-agents.

use maud::{Markup, html};
use recto_workspace::SubAgent;

use crate::pages::visible_text::show_controls;

/// The sub-agents of an agent; nothing where it has none.
pub(super) fn sub_agent_section(agents: &[SubAgent]) -> Markup {
    if agents.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="sub-agents-title" {
            h2 id="sub-agents-title" { "Sub-agents" }
            ul.problems {
                @for agent in agents {
                    li {
                        code { (show_controls(&agent.id)) } " "
                        @match (&agent.fault, agent.config.enabled) {
                            (Some(fault), _) => span.no-ok { "takes no tasks: " (show_controls(fault)) },
                            (None, false) => span.q { "off" },
                            (None, true) => span.ok { "takes tasks" },
                        }
                        @if let Some(description) = &agent.config.description {
                            " " (show_controls(description))
                        }
                    }
                }
            }
        }
    }
}
