//! Reads the details of a sentence from left to right: quotations first, then words,
//! each with those that belong to it.

use super::shape::WordShape;
use super::unparted::{self, is_unparted};
use super::{Fact, FactKind, KnownNames};
use crate::compact::{cues, lists};
use crate::word_list::WordList;

/// The most bytes of a quotation that is kept as one.
const QUOTE: usize = 80;

/// Quotation marks, opening and closing. Backticks enclose references.
const QUOTES: &[(char, char)] = &[
    ('`', '`'),
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('„', '”'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
];

/// The marks that may stand behind a word.
const BEHIND: &[char] =
    &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '”', '»', '…', '—', '|'];

/// The names, numbers, references and quotations of a sentence, in their order.
pub(in crate::compact) fn details(sentence: &str, names: &KnownNames) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut rest = sentence;
    let mut is_start = true;
    while let Some((at, length, fact)) = next_quote(rest) {
        scan_words(&rest[..at], is_start, names, &mut found);
        found.push(fact);
        rest = &rest[at + length..];
        is_start = false;
    }
    scan_words(rest, is_start, names, &mut found);
    found
}

/// The next quotation: where it stands, how long it is, and what it says.
fn next_quote(text: &str) -> Option<(usize, usize, Fact)> {
    text.char_indices().find_map(|(at, c)| {
        let before = text[..at].chars().next_back();
        // Behind a digit it is a measure: 19".
        if c == '"' && before.is_some_and(|c| c.is_ascii_digit()) {
            return None;
        }
        let of = |(open, close): &(char, char)| {
            let inner = text[at..].strip_prefix(*open)?;
            let near = &inner[..inner.floor_char_boundary(QUOTE + 4)];
            let inner = &inner[..near.find(*close)?];
            let kind = if *open == '`' { FactKind::Reference } else { FactKind::Quote };
            let length = open.len_utf8() + inner.len() + close.len_utf8();
            let said = inner.trim().trim_end_matches([',', '.']);
            said.contains(char::is_alphanumeric).then(|| (at, length, Fact::new(kind, said)))
        };
        QUOTES.iter().filter(|(open, _)| *open == c).find_map(of)
    })
}

/// A word of a sentence.
struct ScannedWord<'a> {
    /// Without the marks around it.
    bare: &'a str,
    small: String,
    shape: WordShape,
    /// Whether a mark behind it parts it from the next word.
    ends: bool,
    /// Whether it would be capital anyway.
    starts: bool,
}

impl ScannedWord<'_> {
    fn is(&self, list: &WordList) -> bool {
        list.has(&self.small)
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.contains(&self.small.as_str())
    }

    fn is_number(&self) -> bool {
        self.shape == WordShape::Number
    }

    fn is_name(&self) -> bool {
        self.shape == WordShape::Capital && !self.is(&lists::NO_NAMES)
    }
}

fn words(text: &str, is_start: bool) -> Vec<ScannedWord<'_>> {
    let mut starts = is_start;
    let mut words = Vec::new();
    for raw in text.split_whitespace() {
        let bare = raw.trim_start_matches(['(', '[', '{', '"', '\'', '*', '“', '«', '…', '—']);
        let is_opened = bare.len() < raw.len();
        let is_title = lists::TITLES.has(&cues::small(bare));
        let bare = if is_title { bare } else { bare.trim_end_matches(BEHIND) };
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        if bare.is_empty() {
            starts = starts || raw.ends_with([':', '—']);
            continue;
        }
        let ends = !is_title && raw.ends_with(BEHIND);
        let (small, shape) = (cues::small(bare), WordShape::from_word(bare));
        words.push(ScannedWord { bare, small, shape, ends, starts: starts || is_opened });
        starts = !is_title && raw.ends_with([':', '.', '!', '?']);
    }
    words
}

fn scan_words(text: &str, is_start: bool, names: &KnownNames, found: &mut Vec<Fact>) {
    let words = words(text, is_start);
    let mut at = 0;
    while at < words.len() {
        let word = &words[at];
        at += match word.shape {
            _ if word.bare.contains(is_unparted) => {
                unparted::scan(word.bare, found);
                1
            }
            WordShape::Reference => {
                found.push(Fact::new(FactKind::Reference, word.bare));
                1
            }
            WordShape::Number => number(&words, at, found),
            WordShape::Capital => name(&words, at, names, found),
            WordShape::Plain => called(&words, at, found),
        };
    }
}

/// The words from one place to another, as they stand in the text but for the marks.
fn joined(words: &[ScannedWord<'_>]) -> String {
    words.iter().map(|word| word.bare).collect::<Vec<_>>().join(" ")
}

/// A number with what it counts. Returns how many words that are.
fn number(words: &[ScannedWord<'_>], at: usize, found: &mut Vec<Fact>) -> usize {
    let digits = digits_end(words, at);
    let end = unit_end(words, digits);
    let before = at.checked_sub(1).map(|before| &words[before]).filter(|word| !word.ends);
    let is_labelled = end == at + 1
        && before.is_some_and(|word| word.is(&lists::LABELS) || word.is(&lists::MONTHS));
    let start = if is_labelled { at - 1 } else { at };
    found.push(Fact::new(FactKind::Number, joined(&words[start..end])));
    end - at
}

/// Where the digits end: `01 555 0134`, `11:00 to 19:00`, `750 x 490`.
fn digits_end(words: &[ScannedWord<'_>], at: usize) -> usize {
    let is_number = |place: usize| words.get(place).is_some_and(ScannedWord::is_number);
    let mut end = at + 1;
    while end < words.len() && !words[end - 1].ends {
        let is_link =
            words[end].is_any(&["x", "×", "to", "bis", "–", "-", "+"]) && !words[end].ends;
        if is_number(end) {
            end += 1;
        } else if is_link && is_number(end + 1) {
            end += 2;
        } else {
            break;
        }
    }
    end
}

/// Where what the digits before `end` count has its end: a month and a year, a unit, a noun.
fn unit_end(words: &[ScannedWord<'_>], end: usize) -> usize {
    let goes_on = |end: usize| end < words.len() && !words[end - 1].ends;
    if !goes_on(end) {
        return end;
    }
    if words[end].is(&lists::MONTHS) {
        let has_year = goes_on(end + 1) && words[end + 1].is_number();
        return end + 1 + usize::from(has_year);
    }
    let has_unit = words[end - 1].bare.ends_with(char::is_alphabetic);
    let mut unit = end;
    if !has_unit && counts(&words[unit]) {
        unit += 1;
        // `5 new circuits`.
        if goes_on(unit) && words[unit - 1].is_any(&["new", "more", "full"]) && counts(&words[unit])
        {
            unit += 1;
        }
    }
    let is_rate = |unit: usize| {
        words[unit].is_any(&["per", "pro", "par"])
            || (unit > end && words[unit].is_any(&["a", "each"]))
    };
    if goes_on(unit) && is_rate(unit) && goes_on(unit + 1) { unit + 2 } else { unit }
}

/// Whether a word may be what a number before it counts.
fn counts(word: &ScannedWord<'_>) -> bool {
    let is_word = word.bare.chars().all(|c| c.is_alphabetic() || "/²³°-%'".contains(c));
    let is_unit = word.shape == WordShape::Plain || word.bare.chars().count() <= 3;
    let is_rate = word.bare.contains('/') && word.bare.len() <= 8;
    (is_word && (is_unit || is_rate) && !word.is(&lists::UNCOUNTED)) || word.bare.starts_with('°')
}

/// A name with all its words. Returns how many words were read.
fn name(words: &[ScannedWord<'_>], at: usize, names: &KnownNames, found: &mut Vec<Fact>) -> usize {
    let first = &words[at];
    if first.is(&lists::DAYS) || (first.is(&lists::MONTHS) && first.small != "may") {
        let is_dated = !first.ends && words.get(at + 1).is_some_and(ScannedWord::is_number);
        if !is_dated {
            found.push(Fact::new(FactKind::Number, first.bare));
        }
        return 1;
    }
    if !first.is_name() {
        return 1;
    }
    let end = name_end(words, at);
    // `EC 213`, `Kolezijska 14`: a number that counts nothing belongs to the name.
    if let Some(next) = words.get(end).filter(|next| next.is_number() && !words[end - 1].ends)
        && (next.ends || words.get(end + 1).is_none_or(|behind| !counts(behind)))
        && next.bare.starts_with(|c: char| c.is_ascii_digit())
    {
        found.push(Fact::new(FactKind::Reference, joined(&words[at..=end])));
        return end + 1 - at;
    }
    let is_long = end > at + 1;
    if !first.starts || is_long || is_acronym(first.bare) || names.has(first.bare) {
        found.push(Fact::new(FactKind::Name, joined(&words[at..end])));
    }
    end - at
}

fn name_end(words: &[ScannedWord<'_>], at: usize) -> usize {
    let mut end = at + 1;
    while end < words.len() && !words[end - 1].ends {
        let next = &words[end];
        if next.is_name() || is_coined(next) {
            end += 1;
        } else if next.is(&lists::NAME_PARTICLES)
            && !next.ends
            && words.get(end + 1).is_some_and(ScannedWord::is_name)
        {
            end += 2;
        } else {
            break;
        }
    }
    end
}

/// What follows "called" or "named" is a name, however it is written.
fn called(words: &[ScannedWord<'_>], at: usize, found: &mut Vec<Fact>) -> usize {
    let next = words.get(at + 1).filter(|next| !words[at].ends && next.shape == WordShape::Plain);
    match next {
        Some(next) if words[at].is(&lists::NAMING) && !next.is(&lists::UNCOUNTED) => {
            let kind = if next.bare.contains('-') { FactKind::Reference } else { FactKind::Name };
            found.push(Fact::new(kind, next.bare));
            2
        }
        _ => 1,
    }
}

/// A word that goes on a name though it has digits or capitals in it: `Subline 500-U`.
fn is_coined(word: &ScannedWord<'_>) -> bool {
    word.shape == WordShape::Reference
        && word.bare.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        && word.bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn is_acronym(word: &str) -> bool {
    word.chars().filter(|c| c.is_uppercase()).count() >= 2 && !word.contains(char::is_lowercase)
}

/// The words that are capital though no sentence begins with them.
pub(super) fn capitals_amid(sentence: &str) -> Vec<String> {
    let words = words(sentence, true);
    let amid = words.iter().filter(|word| !word.starts && word.is_name());
    amid.map(|word| word.bare.to_owned()).collect()
}
