//! Misspelt words of a message, read as words of the items.
//!
//! "Refnud" has no word in common with a rule on refunds, and an encoder cuts it into pieces that
//! mean nothing. A word that nobody knows, neither an item nor the encoder, is read as the word of
//! an item that is a slip or two of the keys away from it.
//!
//! It leaves alone whatever is known, and all that is no plain word: names of files, identifiers,
//! numbers. What was typed stays as it was typed everywhere but in the search.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use recto_context::RespelledWord;

use crate::lexical::EntryFields;

/// The shortest word that is put right, in characters. Shorter ones are near to too many.
const SHORTEST: usize = 4;
/// The longest word that is kept.
const LONGEST: usize = 32;
/// From how many characters on a word may have two slips.
const LONG: usize = 8;
/// The longest text that is looked at, in bytes: what is longer was pasted.
const LONGEST_TEXT: usize = 2_000;

/// The words of all items as they are written, in small letters.
#[derive(Default)]
pub(crate) struct Vocabulary {
    /// By first letter and length, each with the slots of the items that have it.
    shelves: HashMap<(char, usize), HashMap<Box<str>, Vec<u32>>>,
}

/// What may be known of words: who asks is told nothing of items that are not theirs to find.
pub(crate) struct KnownWords<F, G> {
    /// Whether a word in small letters is one, whatever the items have.
    pub(crate) is_known: F,
    /// Whether the item of a slot may be found. Words of others are nobody's here.
    pub(crate) is_candidate: G,
}

/// A text with its misspelt words put right.
pub(crate) struct RespelledText {
    pub(crate) text: String,
    pub(crate) words: Vec<RespelledWord>,
}

impl Vocabulary {
    /// Notes the words of an item.
    pub(crate) fn add(&mut self, slot: u32, fields: &EntryFields<'_>) {
        for word in words_of(fields) {
            let Some(place) = place(&word) else { continue };
            self.shelves.entry(place).or_default().entry(word.into()).or_default().push(slot);
        }
    }

    /// Takes back what `add` noted of the same item.
    pub(crate) fn remove(&mut self, slot: u32, fields: &EntryFields<'_>) {
        for word in words_of(fields) {
            let Some(place) = place(&word) else { continue };
            let Some(shelf) = self.shelves.get_mut(&place) else { continue };
            if let Some(slots) = shelf.get_mut(&*word) {
                slots.retain(|of| *of != slot);
                if slots.is_empty() {
                    shelf.remove(&*word);
                }
            }
        }
    }

    /// Reads a text with its misspelt words put right; nothing if it has none.
    pub(crate) fn respell(
        &self,
        text: &str,
        known: &KnownWords<impl Fn(&str) -> bool, impl Fn(u32) -> bool>,
    ) -> Option<RespelledText> {
        if text.len() > LONGEST_TEXT {
            return None;
        }
        let mut respelled = RespelledText { text: String::new(), words: Vec::new() };
        let mut done = 0;
        for word in text.split_whitespace().map(core_of) {
            if !is_plain(word) {
                continue;
            }
            let small = word.to_lowercase();
            // Most words are known, and to measure how far one is from all others takes longest.
            if (known.is_known)(&small) || self.has(&small, &known.is_candidate) {
                continue;
            }
            let Some(meant) = self.meant_by(&small, &known.is_candidate) else { continue };
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            respelled.text.push_str(&text[done..start]);
            respelled.text.push_str(meant);
            respelled.words.push(RespelledWord { typed: word.into(), read: meant.into() });
            done = start + word.len();
        }
        respelled.text.push_str(&text[done..]);
        (done > 0).then_some(respelled)
    }

    /// Whether a candidate has a word.
    fn has(&self, word: &str, is_candidate: impl Fn(u32) -> bool) -> bool {
        let shelf = place(word).and_then(|place| self.shelves.get(&place));
        let slots = shelf.and_then(|shelf| shelf.get(word)).into_iter().flatten();
        slots.copied().any(is_candidate)
    }

    /// The word of a candidate that an unknown one was meant to be: the nearest, of equals the
    /// commonest. Who mistypes a word mostly begins it right.
    fn meant_by(&self, word: &str, is_candidate: impl Fn(u32) -> bool) -> Option<&str> {
        let (first, length) = place(word)?;
        let slips = if length < LONG { 1 } else { 2 };
        let lengths = length.saturating_sub(slips)..=length + slips;
        let near = lengths.filter_map(|length| self.shelves.get(&(first, length))).flatten();
        let typed: Vec<char> = word.chars().collect();
        let measured = near.filter_map(|(other, slots)| {
            let slips_between = slips_between(&typed, &other.chars().collect::<Vec<_>>());
            if slips_between > slips {
                return None;
            }
            let count = slots.iter().filter(|slot| is_candidate(**slot)).count();
            (count > 0).then_some((slips_between, Reverse(count), &**other))
        });
        measured.min().map(|(.., word)| word)
    }
}

/// The different words of an item.
fn words_of(fields: &EntryFields<'_>) -> HashSet<String> {
    let texts = [fields.name, fields.description, fields.text];
    let words = texts.into_iter().flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Where a word is kept, if it is one that is.
fn place(word: &str) -> Option<(char, usize)> {
    let length = word.chars().count();
    Some((word.chars().next()?, length)).filter(|_| (SHORTEST..=LONGEST).contains(&length))
}

/// What of a stretch without blanks is the word, without the signs around it.
fn core_of(stretch: &str) -> &str {
    stretch.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Whether it is a word as people write them, and no name in a program.
fn is_plain(word: &str) -> bool {
    word.chars().all(char::is_alphabetic) && !word.chars().skip(1).any(char::is_uppercase)
}

/// How many slips lead from one word to another: letters that were left out, struck twice or beside
/// the right key, heard as another one, or changed for their neighbour. A letter that was replaced
/// in another way counts as two: "sidebar" is no slip of "sidecar".
fn slips_between(typed: &[char], meant: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=meant.len()).collect();
    for (row, letter) in typed.iter().enumerate() {
        let mut own = vec![row + 1];
        for (column, other) in meant.iter().enumerate() {
            let replaced = last[column] + replacement(*letter, *other);
            let mut least = replaced.min(last[column + 1] + 1).min(own[column] + 1);
            let is_swap =
                row > 0 && column > 0 && *letter == meant[column - 1] && typed[row - 1] == *other;
            if is_swap {
                least = least.min(before_last[column - 1] + 1);
            }
            own.push(least);
        }
        before_last = std::mem::replace(&mut last, own);
    }
    last.last().copied().unwrap_or_default()
}

/// All that is one slip away from a word, but for its first letter: who mistypes a word mostly begins
/// it right.
pub(crate) fn one_slip_from(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut near = Vec::new();
    let mut put = |letters: &[char], at: usize, new: &[char], left_out: usize| {
        near.push([&letters[..at], new, &letters[at + left_out..]].concat());
    };
    for at in 1..=letters.len() {
        ('a'..='z').for_each(|letter| put(&letters, at, &[letter], 0));
        let Some(own) = letters.get(at) else { continue };
        put(&letters, at, &[], 1);
        if let Some(next) = letters.get(at + 1) {
            put(&letters, at, &[*next, *own], 2);
        }
        let beside = ('a'..='z').filter(|letter| replacement(*own, *letter) == 1);
        beside.for_each(|letter| put(&letters, at, &[letter], 1));
    }
    near.into_iter().map(|letters| letters.into_iter().collect()).collect()
}

fn replacement(typed: char, meant: char) -> usize {
    match typed == meant {
        true => 0,
        false if sound_alike(typed, meant) || are_neighbours(typed, meant) => 1,
        false => 2,
    }
}

/// Letters that are heard as each other.
fn sound_alike(a: char, b: char) -> bool {
    ["aeiouy", "csz", "ckq", "sz", "vw", "fv", "gj", "dt", "mn"]
        .iter()
        .any(|group| group.contains(a) && group.contains(b))
}

/// Whether two keys touch each other.
fn are_neighbours(a: char, b: char) -> bool {
    const KEYS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let place =
        |letter| KEYS.iter().enumerate().find_map(|(row, keys)| Some((row, keys.find(letter)?)));
    let Some((a, b)) = place(a).zip(place(b)) else { return false };
    let ((row, column), (lower_row, lower_column)) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    match lower_row - row {
        0 => column.abs_diff(lower_column) == 1,
        // Each row of keys stands half a key further to the right.
        1 => lower_column == column || lower_column + 1 == column,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<'a>(name: &'a str, text: &'a str) -> EntryFields<'a> {
        EntryFields { name, description: "", text, when: "" }
    }

    fn vocabulary() -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        let refunds = fields("refunds", "Who pays gets a refund. Warranty of Kuhn, invoices.");
        vocabulary.add(0, &refunds);
        vocabulary.add(1, &fields("invoices", "The invoice goes out on Fridays."));
        vocabulary
    }

    fn respell(text: &str) -> String {
        let is_known = |word: &str| ["remind", "the", "gets", "refine"].contains(&word);
        let known = KnownWords { is_known, is_candidate: |_| true };
        vocabulary().respell(text, &known).map_or(text.to_owned(), |respelled| respelled.text)
    }

    /// Reads a text where no word is known but by the items of some slots.
    fn respell_among(vocabulary: &Vocabulary, slots: &[u32], text: &str) -> String {
        let known =
            KnownWords { is_known: |_: &str| false, is_candidate: |slot| slots.contains(&slot) };
        vocabulary.respell(text, &known).map_or(text.to_owned(), |respelled| respelled.text)
    }

    #[test]
    fn a_slip_of_the_keys_is_put_right_and_all_else_stays_as_typed() {
        for (typed, read) in [
            ("the refnud?", "the refund?"),
            ("Rfund,  warrnaty!", "refund,  warranty!"),
            // Two slips only in a long word.
            ("wrrantyy waranyt", "warranty waranyt"),
            ("gets\nivnoice", "gets\ninvoice"),
        ] {
            assert_eq!(respell(typed), read);
        }
    }

    #[test]
    fn each_word_that_was_put_right_is_told() {
        let known = KnownWords { is_known: |_: &str| false, is_candidate: |_| true };
        let respelled = vocabulary().respell("the Refnud of invioces", &known).unwrap();
        assert_eq!(respelled.text, "the refund of invoices");
        let words = |word: &RespelledWord| (word.typed.to_string(), word.read.to_string());
        let told: Vec<(String, String)> = respelled.words.iter().map(words).collect();
        let pair = |typed: &str, read: &str| (typed.to_owned(), read.to_owned());
        assert_eq!(told, [pair("Refnud", "refund"), pair("invioces", "invoices")]);
    }

    #[test]
    fn what_is_known_or_no_plain_word_is_left_alone() {
        for text in [
            "remind",
            "refine",
            "refund",
            "kuhn",
            "khn",
            "refnud.rs",
            "refnud_id",
            "getRefnud",
            "refnud2",
            "a@refnud.com",
            "xefund",
            "",
            "  ",
            "日本語",
            "re\u{301}fnud",
        ] {
            assert_eq!(respell(text), text);
        }
        let pasted = "refnud ".repeat(1_000);
        assert_eq!(respell(&pasted), pasted);
    }

    #[test]
    fn what_no_item_has_any_more_is_no_word() {
        let mut vocabulary = vocabulary();
        vocabulary.remove(1, &fields("invoices", "The invoice goes out on Fridays."));
        assert_eq!(respell_among(&vocabulary, &[0, 1], "invioces"), "invoices");
        assert_eq!(respell_among(&vocabulary, &[0, 1], "friadys"), "friadys");
        let refunds = fields("refunds", "Who pays gets a refund. Warranty of Kuhn, invoices.");
        vocabulary.remove(0, &refunds);
        assert_eq!(respell_among(&vocabulary, &[0, 1], "invioces refnud"), "invioces refnud");
        assert!(vocabulary.shelves.values().all(HashMap::is_empty));
    }

    #[test]
    fn words_of_what_may_not_be_found_are_nobodys() {
        let vocabulary = vocabulary();
        assert_eq!(respell_among(&vocabulary, &[1], "refnud friadys"), "refnud fridays");
        assert_eq!(respell_among(&vocabulary, &[0], "refnud friadys"), "refund friadys");
        // Neither is a word known because they have it.
        let mut with_slip = vocabulary;
        with_slip.add(2, &fields("private", "Written as refnud."));
        assert_eq!(respell_among(&with_slip, &[0], "refnud"), "refund");
        assert_eq!(respell_among(&with_slip, &[0, 2], "refnud"), "refnud");
    }

    #[test]
    fn what_is_one_slip_away_is_counted_so() {
        let near = one_slip_from("toru");
        for word in ["tour", "tor", "toruk", "toryu", "tori"] {
            assert!(near.contains(&word.to_owned()), "{word}");
        }
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        for word in near.iter().filter(|word| *word != "toru") {
            assert_eq!(slips_between(&letters("toru"), &letters(word)), 1, "{word}");
            assert!(word.starts_with('t'));
        }
        assert_eq!(one_slip_from(""), [""; 0]);
    }

    #[test]
    fn slips_are_counted_as_people_make_them() {
        let slips = |a: &str, b: &str| {
            slips_between(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(slips("refnud", "refund"), 1);
        assert_eq!(slips("refun", "refund"), 1);
        assert_eq!(slips("refuund", "refund"), 1);
        assert_eq!(slips("", "ab"), 2);
        assert_eq!(slips("abcd", "abcd"), 0);
        // Beside the key, and by ear; all else is another word.
        assert_eq!(slips("refuns", "refund"), 1);
        assert_eq!(slips("silense", "silence"), 1);
        assert_eq!(slips("sidebar", "sidecar"), 2);
        assert_eq!(slips("wifi", "wiki"), 2);
    }
}
