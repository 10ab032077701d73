//! The word lists behind [`super`]: one purpose each, sorted, nothing but words.
//!
//! They are kinds of words, not messages: a list says "these are verbs of doing", and the rules in
//! [`super`] say what a verb of doing at the head of a sentence means. Nouns stand in the singular;
//! the rules take care of plurals. Accents are expected as they are usually typed.

mod grammar;
mod openers;
mod spelling;
mod things;
mod verbs;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::lex::{Gap, Token};

pub(super) use grammar::{
    AUXILIARIES, CONDITION_HEADS, DETERMINERS, FUNCTION_WORDS, POSSESSIVES, QUESTION_WORDS,
    SOFT_OBJECTS, STATEMENT_HEADS,
};
pub(super) use openers::{
    ACKNOWLEDGEMENTS, ACKNOWLEDGEMENTS_WHEN_ALONE, BARE_CHOICES, GREETINGS, REPORT_FRAMES,
    REQUEST_FRAMES, TENTATIVE_FRAMES, THANKS,
};
pub(super) use spelling::{
    ABBREVIATIONS, DIRECTORIES, DOT_FILES, EXTENSIONS, PRODUCTS_SPELLED_LIKE_FILES, PROGRAMS,
    PROGRAMS_THAT_ARE_WORDS, RUN_VERBS, SUBCOMMANDS, TOP_LEVEL_DOMAINS,
};
pub(super) use things::{
    ABOUT_THE_WORLD, EXISTENCE, LIVE_FACTS, PERSONAL_THINGS, STATUS_WORDS, THING_HEADS_IN_A_LIST,
    THINGS, TROUBLE_WORDS, WORLD_WORDS,
};
pub(super) use verbs::{
    ACTION_VERBS, CONVERSATION_VERBS, CREATIVE_NOUNS, CREATIVE_VERBS, DELIVERY_VERBS,
    EXPLAIN_VERBS, LOOK_PARTICLES, MAKER_VERBS, MANNERS, REFINEMENTS, TALK_NOUNS, TALK_PHRASES,
    TEXT_VERBS, WEAK_ACTION_VERBS,
};

/// A set of words, written as text so that a list of hundreds stays readable.
pub(super) struct WordList {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    const fn new(text: &'static str) -> Self {
        Self { text, set: OnceLock::new() }
    }

    /// Whether the list has this very word, in lower case.
    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.text.split_whitespace().collect()).contains(word)
    }

    /// As [`WordList::has`], for an English noun that may be a plural or a possessive.
    pub(super) fn has_noun(&self, word: &str) -> bool {
        let word = word.strip_suffix("'s").unwrap_or(word);
        let singular = word.strip_suffix('s').filter(|stem| stem.len() > 1);
        self.has(word)
            || singular.is_some_and(|stem| self.has(stem))
            || word.strip_suffix("es").is_some_and(|stem| self.has(stem))
            || word.strip_suffix("ies").is_some_and(|stem| self.has(&format!("{stem}y")))
    }
}

/// A set of phrases, separated by commas, found by their first word.
pub(super) struct PhraseList {
    text: &'static str,
    by_first: OnceLock<HashMap<&'static str, Vec<Vec<&'static str>>>>,
}

impl PhraseList {
    const fn new(text: &'static str) -> Self {
        Self { text, by_first: OnceLock::new() }
    }

    /// How many tokens the longest phrase covers that `tokens` begin with; 0 if there is none.
    ///
    /// A comma inside breaks a phrase: "go, ahead" is not "go ahead".
    pub(super) fn covers(&self, tokens: &[Token]) -> usize {
        let Some(first) = tokens.first() else { return 0 };
        let begins = |phrase: &&Vec<&str>| {
            phrase.len() <= tokens.len()
                && phrase.iter().zip(tokens).all(|(word, token)| token.is(word))
                && tokens[1..phrase.len()].iter().all(|token| token.gap == Gap::Space)
        };
        let candidates = self.by_first().get(first.lower.as_str());
        candidates.into_iter().flatten().filter(begins).map(Vec::len).max().unwrap_or(0)
    }

    /// The first place in `tokens` where a phrase of the list stands.
    pub(super) fn find<'t, 'm>(&self, tokens: &'t [Token<'m>]) -> Option<Vec<&'t Token<'m>>> {
        (0..tokens.len()).find_map(|from| match self.covers(&tokens[from..]) {
            0 => None,
            covered => Some(tokens[from..from + covered].iter().collect()),
        })
    }

    fn by_first(&self) -> &HashMap<&'static str, Vec<Vec<&'static str>>> {
        self.by_first.get_or_init(|| {
            let mut map: HashMap<_, Vec<Vec<_>>> = HashMap::new();
            for phrase in self.text.split(',') {
                let words: Vec<_> = phrase.split_whitespace().collect();
                if let Some(first) = words.first() {
                    map.entry(*first).or_default().push(words);
                }
            }
            map
        })
    }
}

#[cfg(test)]
mod tests {
    /// A sorted list is one in which a missing or doubled word is seen at a glance.
    #[test]
    fn lists_are_sorted() {
        for list in [
            &super::EXTENSIONS,
            &super::DOT_FILES,
            &super::PRODUCTS_SPELLED_LIKE_FILES,
            &super::TOP_LEVEL_DOMAINS,
            &super::ABBREVIATIONS,
            &super::DIRECTORIES,
            &super::PROGRAMS,
            &super::PROGRAMS_THAT_ARE_WORDS,
            &super::SUBCOMMANDS,
            &super::RUN_VERBS,
            &super::QUESTION_WORDS,
            &super::AUXILIARIES,
            &super::STATEMENT_HEADS,
            &super::CONDITION_HEADS,
            &super::DETERMINERS,
            &super::POSSESSIVES,
            &super::FUNCTION_WORDS,
            &super::SOFT_OBJECTS,
            &super::THINGS,
            &super::PERSONAL_THINGS,
            &super::THING_HEADS_IN_A_LIST,
            &super::STATUS_WORDS,
            &super::TROUBLE_WORDS,
            &super::WORLD_WORDS,
            &super::EXPLAIN_VERBS,
            &super::TEXT_VERBS,
            &super::CREATIVE_VERBS,
            &super::CONVERSATION_VERBS,
            &super::MAKER_VERBS,
            &super::CREATIVE_NOUNS,
            &super::TALK_NOUNS,
            &super::ACTION_VERBS,
            &super::WEAK_ACTION_VERBS,
            &super::DELIVERY_VERBS,
            &super::LOOK_PARTICLES,
        ] {
            let words: Vec<_> = list.text.split_whitespace().collect();
            assert!(words.is_sorted_by(|a, b| a < b), "not sorted: {}", list.text);
        }
        for list in [
            &super::GREETINGS,
            &super::THANKS,
            &super::ACKNOWLEDGEMENTS,
            &super::ACKNOWLEDGEMENTS_WHEN_ALONE,
            &super::BARE_CHOICES,
            &super::REQUEST_FRAMES,
            &super::TENTATIVE_FRAMES,
            &super::REPORT_FRAMES,
            &super::LIVE_FACTS,
            &super::EXISTENCE,
            &super::ABOUT_THE_WORLD,
            &super::TALK_PHRASES,
            &super::REFINEMENTS,
            &super::MANNERS,
        ] {
            let phrases: Vec<_> = list.text.split(',').map(str::trim).collect();
            assert!(phrases.is_sorted_by(|a, b| a < b), "not sorted: {}", list.text);
        }
    }
}
