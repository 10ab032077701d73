//! Tells decisions, open questions and mere chatter by the words in them. The lists know the
//! languages that they are written in; other texts go by their form.

use super::lists;

pub(super) fn is_question(small: &str) -> bool {
    small.ends_with(['?', '？'])
}

pub(super) fn is_decision(small: &str) -> bool {
    lists::DECISIONS.has_any_in(small) || lists::DECISIONS_UNPARTED.has_any_within(small)
}

pub(super) fn is_open(small: &str) -> bool {
    lists::OPEN_POINTS.has_any_in(small) || lists::OPEN_POINTS_UNPARTED.has_any_within(small)
}

pub(super) fn is_proposal(small: &str) -> bool {
    is_question(small) || lists::PROPOSALS.has_any_in(small)
}

/// Whether a message agrees with the one before it.
pub(super) fn is_assent(small: &str) -> bool {
    lists::ASSENTS.phrases().iter().any(|word| {
        let rest = small.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// Whether a sentence only keeps the talk going.
pub(super) fn is_chatter(small: &str) -> bool {
    let mut words = small.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.all(|word| word.is_empty() || lists::CHATTER.has(word))
}

/// As people compare: small letters, and one kind of apostrophe.
pub(super) fn small(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}
