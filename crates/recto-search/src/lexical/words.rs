//! A text's words, as search compares them.
//!
//! A word is a run of letters, digits and underscores. It is brought to lower
//! case and to its stem, so that "Deploying" meets "deploys"; words that every
//! sentence has are left out. An identifier gives its parts and itself, so that
//! `getUserName` is found by "user name" and by its own name. Scripts that are
//! written without spaces give pairs of characters instead of words.
//!
//! No dictionary, and no guess at the language: the stemmer is English, and a
//! word of another language goes through it the same way on both sides.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Longer runs are no words: hashes, keys, pictures as text.
const LONGEST: usize = 64;

/// Words of sentences rather than of things, in order.
static STOP_WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = include_str!("stop_words.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// Hands each word of a text to `each`, in order.
pub(crate) fn for_each(text: &str, mut each: impl FnMut(&str)) {
    let mut reader = WordReader::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        reader.run(&rest[..end], &mut each);
        rest = &rest[end..];
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

/// Accents that stand behind their letter as characters of their own.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer: no spaces between
/// words, or (Korean) endings that no stemmer here knows.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Keeps its buffers between words.
struct WordReader {
    stemmer: Stemmer,
    part: String,
    whole: String,
}

impl WordReader {
    fn new() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        WordReader { stemmer, part: String::new(), whole: String::new() }
    }

    /// A run of word characters: stretches with and without spaces in turn.
    fn run(&mut self, mut run: &str, each: &mut impl FnMut(&str)) {
        while let Some(first) = run.chars().next() {
            let unspaced = is_unspaced(first);
            let end = run.find(|c| is_unspaced(c) != unspaced).unwrap_or(run.len());
            let (stretch, rest) = run.split_at(end);
            if unspaced {
                pairs(stretch, each);
            } else if stretch.len() <= LONGEST {
                self.identifier(stretch, each);
            }
            run = rest;
        }
    }

    /// The stem of each part, then the whole where there are several.
    fn identifier(&mut self, identifier: &str, each: &mut impl FnMut(&str)) {
        self.whole.clear();
        let mut count = 0;
        for part in (IdentifierParts { rest: identifier }) {
            self.part.clear();
            self.part.extend(part.chars().filter(|c| !is_mark(*c)).flat_map(char::to_lowercase));
            if self.part.is_empty() {
                continue;
            }
            count += 1;
            self.whole.push_str(&self.part);
            if STOP_WORDS.binary_search(&self.part.as_str()).is_err() {
                each(&self.stemmer.stem(&self.part));
            }
        }
        if count > 1 {
            each(&self.whole);
        }
    }
}

/// Each two characters that stand together; a single one by itself.
fn pairs(stretch: &str, each: &mut impl FnMut(&str)) {
    let mut starts = stretch.char_indices().map(|(at, _)| at).chain([stretch.len()]);
    let (mut first, mut second) = (starts.next(), starts.next());
    let mut third = starts.next();
    if third.is_none() {
        each(stretch);
    }
    while let (Some(start), Some(_), Some(end)) = (first, second, third) {
        each(&stretch[start..end]);
        (first, second, third) = (second, third, starts.next());
    }
}

/// The parts of an identifier: cut at underscores, between letters and digits,
/// before a capital behind a small letter, and before the last of several
/// capitals when a small letter follows (`HTTPServer`).
struct IdentifierParts<'a> {
    rest: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterClass {
    Small,
    Capital,
    Digit,
}

impl LetterClass {
    fn of_char(c: char) -> LetterClass {
        if c.is_numeric() {
            LetterClass::Digit
        } else if c.is_uppercase() {
            LetterClass::Capital
        } else {
            LetterClass::Small
        }
    }
}

impl<'a> Iterator for IdentifierParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start_matches('_');
        let mut characters = self.rest.char_indices().filter(|(_, c)| !is_mark(*c));
        let (_, first) = characters.next()?;
        let mut before = LetterClass::of_char(first);
        // Where the last capital of a row of them stands.
        let mut capital = None;
        let mut end = self.rest.len();
        for (at, c) in characters {
            let class = LetterClass::of_char(c);
            let cut = match (before, class) {
                _ if c == '_' => Some(at),
                (LetterClass::Digit, LetterClass::Digit)
                | (LetterClass::Small, LetterClass::Small) => None,
                (LetterClass::Capital, LetterClass::Capital) => {
                    capital = Some(at);
                    None
                }
                // The plural of an abbreviation: "URLs" is one part.
                (LetterClass::Capital, LetterClass::Small)
                    if c == 's' && ends(&self.rest[at + 1..]) =>
                {
                    None
                }
                (LetterClass::Capital, LetterClass::Small) => capital,
                _ => Some(at),
            };
            if let Some(cut) = cut {
                end = cut;
                break;
            }
            before = class;
        }
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(part)
    }
}

/// Whether a part ends before `rest`.
fn ends(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| c == '_' || LetterClass::of_char(c) != LetterClass::Small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut words = Vec::new();
        for_each(text, |word| words.push(word.to_owned()));
        words.join(" ")
    }

    #[test]
    fn words_meet_in_their_stem() {
        assert_eq!(words("Deploying the deployments; it deploys"), "deploy deploy deploy");
        assert_eq!(words("art, start"), "art start");
    }

    #[test]
    fn an_identifier_gives_its_parts_and_itself() {
        assert_eq!(words("getUserName"), "user name getusername");
        assert_eq!(words("HTTPServer"), "http server httpserver");
        assert_eq!(words("convert_to_pdf"), "convert pdf converttopdf");
        assert_eq!(words("utf8 v2"), "utf 8 utf8 v 2 v2");
        assert_eq!(words("__init__ _"), "init");
        assert_eq!(words("URL URLs, getURLs2"), "url url url 2 geturls2");
    }

    #[test]
    fn sentences_leave_what_they_are_about() {
        assert_eq!(words("Don't you think that's what they're for?"), "think");
        assert_eq!(words("What is it?"), "");
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(words("搜索关键词"), "搜索 索关 关键 键词");
        assert_eq!(words("用pip安"), "用 pip 安");
        assert_eq!(words("ราคา"), "รา าค คา");
    }

    #[test]
    fn accents_are_read_either_way() {
        assert_eq!(words("cafe\u{301}"), "cafe");
        assert_eq!(words("Straße ÜBER"), "straße über");
        assert_eq!(words("\u{301}"), "");
    }

    #[test]
    fn runs_that_are_no_words_are_left_out() {
        assert_eq!(words(&"aB3".repeat(2_000_000)), "");
        assert_eq!(words(&format!("key {}", "f".repeat(65))), "key");
    }

    #[test]
    fn stop_words_can_be_looked_up() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
        assert_eq!(STOP_WORDS.len(), 190);
    }
}
