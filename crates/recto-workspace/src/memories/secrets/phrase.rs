//! Seed phrases: 12 to 24 words that a wallet is made of, behind words that say so.
//!
//! The words are plain ones, so only their number and their kind tell them from what is
//! said about such phrases: no list of them has articles or words of two letters.

use super::Secret;
use super::named::{REACH, begins_a_word, lower_of_equal_length};

/// What is said before the words.
const CUES: [&str; 16] = [
    "seed phrase",
    "seed-phrase",
    "seedphrase",
    "seed words",
    "wallet seed",
    "wallet words",
    "recovery phrase",
    "recovery words",
    "backup phrase",
    "secret phrase",
    "mnemonic",
    "wiederherstellungsphrase",
    "wiederherstellungswörter",
    "phrase de récupération",
    "frase de recuperación",
    "frase semilla",
];

/// How many words a phrase has at least. What is said around it may make more of them.
const FEWEST: usize = 12;

/// Words of three letters or more that are in sentences and in no phrase.
const IN_SENTENCES: [&str; 34] = [
    "the", "and", "are", "for", "not", "was", "but", "has", "had", "his", "her", "its", "from",
    "your", "with", "been", "were", "would", "could", "should", "which", "their", "them", "who",
    "why", "how", "does", "did", "nor", "per", "while", "because", "without", "through",
];

/// The words of a phrase behind what announces it.
pub(super) fn find(text: &str) -> Option<Secret> {
    let lower: String = text.chars().map(lower_of_equal_length).collect();
    CUES.iter().find_map(|cue| {
        let found = lower.match_indices(cue).filter(|(at, _)| begins_a_word(text, *at));
        found.into_iter().find_map(|(at, _)| words(text, at + cue.len()))
    })
}

/// The first run of as many words as a phrase has at least, behind `start`.
fn words(text: &str, start: usize) -> Option<Secret> {
    let text = &text[..text.floor_char_boundary(start + REACH)];
    let mut run: Vec<(usize, usize)> = Vec::new();
    let phrase = |run: &[(usize, usize)]| {
        let (first, last) = (run.first()?, run.last()?);
        let range = first.0..last.1;
        (run.len() >= FEWEST).then_some(Secret { what: "a seed phrase", range })
    };
    let mut at = start;
    for (word_at, word) in super::runs(&text[start..], char::is_alphabetic) {
        let (from, to) = (start + word_at, start + word_at + word.len());
        if !goes_on(&text[at..from]) {
            if let Some(secret) = phrase(&run) {
                return Some(secret);
            }
            run.clear();
        }
        at = to;
        if is_word(word) {
            run.push((from, to));
            continue;
        }
        if let Some(secret) = phrase(&run) {
            return Some(secret);
        }
        run.clear();
    }
    phrase(&run)
}

/// Whether what stands between two words parts no sentences. The numbers of a list don't.
fn goes_on(between: &str) -> bool {
    let mut before = ' ';
    // Quotes are around all words, or around each of a list.
    let is_quoted = between.contains(['"', '`', '“', '”', '„']) && !between.contains(',');
    !is_quoted
        && between.chars().all(|c| {
            let is_number = before.is_ascii_digit() && matches!(c, '.' | ')' | ':');
            before = c;
            is_number || !matches!(c, '.' | '!' | '?' | ';' | ':' | '=' | '(' | ')')
        })
}

/// Whether it can be a word of a phrase: written small, or like all of them.
fn is_word(word: &str) -> bool {
    let is_even =
        |rest: &str| rest.chars().all(char::is_lowercase) || rest.chars().all(char::is_uppercase);
    let rest = word.char_indices().nth(1).map_or("", |(at, _)| &word[at..]);
    is_even(rest)
        && (3..=9).contains(&word.chars().count())
        && !IN_SENTENCES.contains(&word.to_lowercase().as_str())
}
