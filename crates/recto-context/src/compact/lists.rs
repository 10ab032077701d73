//! The word lists behind [`super`]. The words, and what each list is for, stand in `lists.txt`.

use std::sync::OnceLock;

use crate::word_list::{ListBlock, WordList, declare_lists};

declare_lists! {
    "lists.txt" as LISTS {
        CueList: ASSENTS CHOICES DECISIONS DECISIONS_UNPARTED HEDGES OPEN_POINTS OPEN_POINTS_UNPARTED
            PROPOSALS;
        WordList: ABBREVIATIONS CHATTER DAYS JOINTS LABELS MONTHS NAME_PARTICLES NAMING NO_NAMES TITLES
            UNCOUNTED;
    }
}

/// A list of phrases that are looked for in texts of small letters.
pub(super) struct CueList {
    block: ListBlock,
    phrases: OnceLock<Vec<&'static str>>,
}

impl CueList {
    const fn new(block: ListBlock) -> Self {
        Self { block, phrases: OnceLock::new() }
    }

    #[cfg(test)]
    fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.phrases().iter().copied()
    }

    pub(super) fn phrases(&self) -> &[&'static str] {
        self.phrases.get_or_init(|| self.block.phrases().collect())
    }

    /// Whether one of the phrases stands in the text, as whole words.
    pub(super) fn has_any_in(&self, small: &str) -> bool {
        self.phrases().iter().any(|phrase| has_phrase(small, phrase))
    }

    /// Whether one of the phrases stands in the text, even within a word.
    pub(super) fn has_any_within(&self, small: &str) -> bool {
        self.phrases().iter().any(|phrase| small.contains(phrase))
    }
}

fn has_phrase(small: &str, phrase: &str) -> bool {
    small.match_indices(phrase).any(|(at, _)| {
        let before = small[..at].chars().next_back();
        let after = small[at + phrase.len()..].chars().next();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let ends_in_letter = phrase.ends_with(char::is_alphanumeric);
        !(is_part(before) || (ends_in_letter && is_part(after)))
    })
}
