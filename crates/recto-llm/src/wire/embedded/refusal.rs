//! Why a chat template gave no prompt.

use recto_context::first_chars;
use serde::{Deserialize, Serialize};

/// How long a complaint may be, in characters.
const LONGEST: usize = 200;

/// Why a chat template gave no prompt. It continues "the model's chat template does not take
/// the conversation:".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(super) enum TemplateRefusal {
    /// It is no template.
    #[error("it cannot be read: {problem}")]
    Unreadable { problem: String },
    /// It is longer than any real one.
    #[error("it has more than {0} bytes")]
    TooLarge(usize),
    /// It says so itself.
    #[error("{0}")]
    Raised(String),
    /// It does what can't be done.
    #[error("it fails: {problem}")]
    Failed { problem: String },
    /// It came to no end.
    #[error("it does not come to an end")]
    Endless,
    /// It wrote more than any model reads.
    #[error("it writes more than any model could read")]
    TooLong,
    /// It cuts texts into pieces.
    #[error("it takes texts apart")]
    TakenApart,
    /// It does not show what the model has to know.
    #[error("it leaves out {0}")]
    LeftOut(OmittedPart),
    /// It took more memory than any prompt needs.
    #[error("it takes more memory than any prompt needs")]
    TooGreedy,
    /// There is no process to render it.
    #[error("the process that renders it can't be started ({0})")]
    NoProcess(String),
    /// It met a fault in what renders it.
    #[error("it cannot be rendered")]
    Broken,
}

/// What a template left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
pub(super) enum OmittedPart {
    #[strum(to_string = "what the system says")]
    System,
    #[strum(to_string = "the last message")]
    LastMessage,
}

/// A complaint in one short line. What a template says may be long, and hold anything, also
/// characters that are none.
pub(super) fn short(complaint: &str) -> String {
    let is_none = |c: char| c.is_control() || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    let words = complaint.split(|c: char| c.is_whitespace() || is_none(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    first_chars(&words.join(" "), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_short_lines() {
        assert_eq!(short(" a\n\n b\u{1b}[31m "), "a b [31m");
        assert_eq!(short("role \u{fdd0}7\u{fdd1}!"), "role 7 !");
        assert_eq!(short(""), "");
        let long = short(&"é".repeat(1_000));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
