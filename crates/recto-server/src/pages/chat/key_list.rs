//! The keys of the chat, in a list that `?` opens.

use maud::{Markup, html};

/// Each key with what it does.
const KEYS: [(&str, &str); 10] = [
    ("j", "the next turn, or what it asks"),
    ("k", "the turn before"),
    ("c", "View context of the turn"),
    ("a", "allow what is asked, once: on a question that was gone to"),
    ("s", "allow it for this session"),
    ("d", "deny it"),
    ("Esc", "stop the turn that runs, or else leave the field"),
    ("/", "write a message"),
    (".", "open what is in the session, in a narrow window"),
    ("?", "this list"),
];

/// The list of the keys, closed.
pub(crate) fn key_list() -> Markup {
    html! {
        div.keys #keys popover role="dialog" aria-label="Keys" {
            h2 { "Keys, outside of fields" }
            dl.facts {
                @for (key, words) in KEYS { dt { kbd { (key) } } dd { (words) } }
            }
        }
    }
}
