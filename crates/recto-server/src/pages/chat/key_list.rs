//! The keys of the chat, in a list that `?` opens.

use maud::{Markup, html};

/// Each key of the chat with what it does.
const KEYS: [(&str, &str); 11] = [
    ("j", "the next turn, or what it asks"),
    ("k", "the turn before"),
    ("c", "View context of the turn"),
    ("a", "allow what is asked, once: on a question that was gone to"),
    ("s", "allow it for this session"),
    ("d", "deny it"),
    ("Esc", "stop the turn that runs, also from the message field"),
    ("Esc", "leave a field; the message field for what is asked"),
    ("/", "write a message"),
    (".", "go to what is in the session; in a narrow window, open it"),
    ("?", "this list"),
];

/// Each key of *View context*.
const CONTEXT_KEYS: [(&str, &str); 4] = [
    ("1 … 0", "open a layer, in their order"),
    ("f", "unfold all parts, or fold them"),
    ("y", "copy the body"),
    ("[ ]", "the turn before, the next turn"),
];

/// The list of the keys, closed.
pub(crate) fn key_list() -> Markup {
    html! {
        div.keys #keys popover role="dialog" aria-label="Keys" {
            h2 { "Keys, outside of fields" }
            (keys(&KEYS))
            h2 { "In View context" }
            (keys(&CONTEXT_KEYS))
        }
    }
}

fn keys(keys: &[(&str, &str)]) -> Markup {
    html! {
        dl.facts {
            @for (key, words) in keys { dt { kbd { (key) } } dd { (words) } }
        }
    }
}
