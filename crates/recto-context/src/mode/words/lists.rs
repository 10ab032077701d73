//! The word lists behind [`super`]: one purpose each, nothing but words.
//!
//! They are kinds of words, not messages: a list says "these are verbs of doing", and the rules in
//! [`super`] say what a verb of doing at the head of a sentence means. Nouns stand in the singular;
//! the rules take care of plurals. Accents are expected as they are usually typed.
//!
//! The words, and what each list is for, stand in the text files.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::lex::{TokenGap, WordToken};
use crate::word_list::{ListBlock, WordList, declare_lists};

declare_lists! {
    "lists/spelling.txt" as SPELLING {
        WordList: ABBREVIATIONS DIRECTORIES DOT_FILES EXTENSIONS PRODUCTS_SPELLED_LIKE_FILES PROGRAMS
            PROGRAMS_THAT_ARE_WORDS RUN_VERBS SUBCOMMANDS TOP_LEVEL_DOMAINS;
    }
    "lists/grammar.txt" as GRAMMAR {
        WordList: AUXILIARIES CLAUSE_LINKS CONDITION_HEADS DETERMINERS FACT_LINKS FUNCTION_WORDS OWN_POSSESSIVES
            POSSESSIVES QUESTION_WORDS SELVES SOFT_OBJECTS STATEMENT_HEADS STORY_HEADS;
    }
    "lists/openers.txt" as OPENERS {
        PhraseList: ACKNOWLEDGEMENTS ACKNOWLEDGEMENTS_WHEN_ALONE BARE_CHOICES GREETINGS REMEMBER_BEFORE
            REMEMBER_OWN REMEMBER_THAT REPORT_FRAMES REQUEST_FRAMES TENTATIVE_FRAMES THANKS;
    }
    "lists/things.txt" as THING_WORDS {
        WordList: PERSONAL_THINGS STATUS_WORDS THINGS THING_HEADS_IN_A_LIST TROUBLE_WORDS WORLD_WORDS;
        PhraseList: ABOUT_THE_WORLD EXISTENCE LIVE_FACTS;
    }
    "lists/verbs.txt" as VERBS {
        WordList: ACTION_VERBS CONVERSATION_VERBS CREATIVE_NOUNS CREATIVE_VERBS DELIVERY_VERBS
            EXPLAIN_VERBS LOOK_PARTICLES MAKER_VERBS TALK_NOUNS TEXT_VERBS WEAK_ACTION_VERBS;
        PhraseList: MANNERS REFINEMENTS TALK_PHRASES;
    }
}

/// A set of phrases, found by their first word.
pub(super) struct PhraseList {
    block: ListBlock,
    by_first: OnceLock<HashMap<&'static str, Vec<Vec<&'static str>>>>,
}

impl PhraseList {
    const fn new(block: ListBlock) -> Self {
        Self { block, by_first: OnceLock::new() }
    }

    fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.block.phrases()
    }

    /// How many tokens the longest phrase covers that `tokens` begin with; 0 if there is none.
    ///
    /// A comma inside breaks a phrase: "go, ahead" is not "go ahead".
    pub(super) fn covers(&self, tokens: &[WordToken]) -> usize {
        let Some(first) = tokens.first() else { return 0 };
        let begins = |phrase: &&Vec<&str>| {
            phrase.len() <= tokens.len()
                && phrase.iter().zip(tokens).all(|(word, token)| token.is(word))
                && tokens[1..phrase.len()].iter().all(|token| token.gap == TokenGap::Space)
        };
        let candidates = self.by_first().get(first.lower.as_str());
        candidates.into_iter().flatten().filter(begins).map(Vec::len).max().unwrap_or(0)
    }

    /// The first place in `tokens` where a phrase of the list stands.
    pub(super) fn find<'t>(&self, tokens: &'t [WordToken<'t>]) -> Option<Vec<&'t WordToken<'t>>> {
        (0..tokens.len()).find_map(|from| match self.covers(&tokens[from..]) {
            0 => None,
            covered => Some(tokens[from..from + covered].iter().collect()),
        })
    }

    fn by_first(&self) -> &HashMap<&'static str, Vec<Vec<&'static str>>> {
        self.by_first.get_or_init(|| {
            let mut map: HashMap<_, Vec<Vec<_>>> = HashMap::new();
            for phrase in self.entries() {
                let words: Vec<_> = phrase.split_whitespace().collect();
                map.entry(words[0]).or_default().push(words);
            }
            map
        })
    }
}
