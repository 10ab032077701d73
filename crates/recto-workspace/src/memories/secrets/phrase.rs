//! The words of a seed phrase: 12 to 24 that a wallet is made of.
//!
//! The words are plain ones, so only their number and their kind tell them from what is
//! said about such phrases: no list of them has articles or words of two letters.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::patterns::REACH;

/// How many words a phrase has at least. What is said around it may make more of them.
const FEWEST: usize = 12;

/// Words of three letters or more that are in sentences and in no phrase.
const IN_SENTENCES: [&str; 34] = [
    "the", "and", "are", "for", "not", "was", "but", "has", "had", "his", "her", "its", "from",
    "your", "with", "been", "were", "would", "could", "should", "which", "their", "them", "who",
    "why", "how", "does", "did", "nor", "per", "while", "because", "without", "through",
];

/// The first run of as many words as a phrase has at least, behind `start`.
pub(super) fn find_phrase(text: &str, start: usize) -> Option<Range<usize>> {
    static WORD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\p{Alphabetic}+").expect("it is sound"));
    let text = &text[..text.floor_char_boundary(start + REACH)];
    let (mut run, mut count) = (start..start, 0);
    let mut at = start;
    for word in WORD.find_iter(&text[start..]) {
        let (from, to) = (start + word.start(), start + word.end());
        let (is_word, goes_on) = (is_word(word.as_str()), goes_on(&text[at..from]));
        if count >= FEWEST && !(is_word && goes_on) {
            break;
        }
        count = match (is_word, goes_on) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => count + 1,
        };
        if count == 1 {
            run.start = from;
        }
        run.end = to;
        at = to;
    }
    (count >= FEWEST).then_some(run)
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
