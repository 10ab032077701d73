//! The words of `words.txt`, made ready to be looked up. The text is part of the program:
//! nothing is read from disk when it runs.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The lists of the file.
pub(super) static WORDS: LazyLock<LikenessWords> = LazyLock::new(LikenessWords::read);

/// Words that tell texts apart, by what they are.
pub(super) struct LikenessWords {
    numbers: HashMap<&'static str, &'static str>,
    ones: HashMap<&'static str, &'static str>,
    links: Vec<&'static str>,
    units: HashMap<&'static str, &'static str>,
    denials: HashSet<&'static str>,
    contrary: Vec<&'static str>,
}

impl LikenessWords {
    fn read() -> Self {
        LikenessWords {
            numbers: forms("NUMBERS").collect(),
            ones: forms("ONES").collect(),
            links: lines("LINKS").flat_map(str::split_whitespace).collect(),
            units: forms("UNITS").map(|(word, form)| (singular(word), form)).collect(),
            denials: lines("DENIALS").flat_map(str::split_whitespace).map(singular).collect(),
            contrary: lines("CONTRARY").flat_map(str::split_whitespace).collect(),
        }
    }

    /// The digits of a number in words, part by part: 20 and 1 for "twenty-one".
    pub(super) fn number_parts(&self, word: &str) -> Option<Vec<&'static str>> {
        if let Some(number) = self.numbers.get(word) {
            return Some(vec![number]);
        }
        let ends = word.char_indices().map(|(at, _)| at).skip(1);
        ends.filter_map(|end| word.split_at_checked(end)).find_map(|(first, rest)| {
            let first = self.numbers.get(first).or_else(|| self.ones.get(first))?;
            let unlinked = self.links.iter().filter_map(|link| rest.strip_prefix(link));
            let mut rests = std::iter::once(rest).chain(unlinked);
            let rest = rests.find_map(|rest| match self.ones.get(rest) {
                Some(one) => Some(vec![*one]),
                None => self.number_parts(rest),
            })?;
            Some(std::iter::once(*first).chain(rest).collect())
        })
    }

    /// The short form of a unit that may be a plural.
    pub(super) fn unit(&self, word: &str) -> Option<&'static str> {
        self.units.get(singular(word)).copied()
    }

    /// Whether a word without the ending of its plural denies something.
    pub(super) fn denies(&self, word: &str) -> bool {
        self.denials.contains(word)
    }

    /// What is left of a word that says the contrary of it.
    pub(super) fn contraries<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        self.contrary.iter().filter_map(|prefix| word.strip_prefix(prefix))
    }
}

/// A word without the ending of a plural.
pub(super) fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.chars().count() > 2).unwrap_or(word)
}

/// The words of a list with the form that opens their line.
fn forms(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(name).flat_map(|line| {
        let (form, words) = line.split_once(' ').unwrap_or((line, ""));
        words.split_whitespace().map(move |word| (word, form))
    })
}

/// The lines of a list: those between its heading and the next blank line.
fn lines(name: &str) -> impl Iterator<Item = &'static str> {
    let is_heading = move |line: &&str| {
        line.strip_prefix("# ")
            .and_then(|line| line.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(':'))
    };
    let from = include_str!("words.txt").lines().skip_while(move |line| !is_heading(line));
    from.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_there_and_no_word_stands_twice() {
        for name in ["NUMBERS", "ONES", "LINKS", "UNITS", "DENIALS", "CONTRARY"] {
            assert!(lines(name).next().is_some(), "{name}");
        }
        for name in ["NUMBERS", "ONES", "UNITS"] {
            let words: Vec<&str> = forms(name).map(|(word, _)| word).collect();
            assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len(), "{name}");
        }
    }

    #[test]
    fn numbers_are_read_part_by_part() {
        let check = |word: &str, expected: &[&str]| {
            assert_eq!(WORDS.number_parts(word).unwrap_or_default(), expected, "{word}");
        };
        check("seventeen", &["17"]);
        check("elf", &["11"]);
        check("twenty-one", &["20", "1"]);
        check("einundzwanzig", &["1", "20"]);
        check("dreihundertfünfzig", &["3", "100", "50"]);
        check("vingt-et-un", &["20", "1"]);
        check("one", &[]);
        check("often", &[]);
        check("two-way", &[]);
        check("", &[]);
    }
}
