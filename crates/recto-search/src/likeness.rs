//! Whether two texts that sound alike tell the same facts.
//!
//! "Ran 3 km" and "Ran 9 km" have nearly the same vector, and are two facts. So what tells
//! them apart is read: names, numbers, dates, references and quotations (as
//! [`find_facts`] finds them), numbers in words, and whether something is denied. Each of them
//! has to stand in the other text, too, in whatever case and with whatever else around it, and
//! those of one kind in the same order: "Ann owes Bob" and "Bob owes Ann" have the same words.
//!
//! In doubt two texts are two facts: a fact that comes twice costs a line, one that does not
//! come is lost. No meaning is read here: that is the vectors' part.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use recto_context::{FactKind, find_facts};

use crate::lexical::is_common;
use words::{WORDS, singular};

/// What tells a text apart from others that sound like it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextFacts {
    /// All words of the text in one form, and behind them what machines read.
    words: Vec<String>,
    /// Those that another text must have, too.
    telling: BTreeSet<String>,
    /// Of these, what has to stand in the same order among its kind.
    ordered: BTreeMap<String, OrderedKind>,
    /// How often something is denied.
    denials: usize,
}

/// The kinds of words whose order among each other tells. A date may stand before a name or
/// behind it, and a month before its day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OrderedKind {
    Name,
    Digits,
    Reference,
}

impl OrderedKind {
    const ALL: [OrderedKind; 3] = [OrderedKind::Name, OrderedKind::Digits, OrderedKind::Reference];

    /// The kind that a word of a fact has, if its order tells.
    fn of_word(word: &str, fact: FactKind) -> Option<OrderedKind> {
        match fact {
            FactKind::Name => Some(OrderedKind::Name),
            _ if word.contains(|c: char| c.is_ascii_digit()) => Some(OrderedKind::Digits),
            _ => None,
        }
    }
}

impl TextFacts {
    /// Reads the facts of a text.
    pub(crate) fn read(text: &str) -> TextFacts {
        let words = word_forms(text);
        let denials = words.iter().filter(|word| WORDS.denies(word)).count();
        let (telling, ordered) = (BTreeSet::new(), BTreeMap::new());
        let mut facts = TextFacts { words, telling, ordered, denials };
        for number in bare_words(text).filter_map(|word| WORDS.number_parts(&word)) {
            facts.add_words(number.into_iter().map(str::to_owned), FactKind::Number);
        }
        for fact in find_facts(text) {
            match fact.kind {
                FactKind::Name | FactKind::Number | FactKind::Quote => {
                    facts.add_words(word_forms(&fact.text), fact.kind);
                }
                // A word and its number: `EC 213`.
                FactKind::Reference if fact.text.contains(' ') => {
                    facts.add_words(word_forms(&fact.text), fact.kind);
                }
                FactKind::Reference => facts.add_reference(&fact.text),
                FactKind::Decision | FactKind::Question => {}
            }
        }
        facts.telling.extend(opening_names(text));
        facts
    }

    fn add_words(&mut self, words: impl IntoIterator<Item = String>, fact: FactKind) {
        for word in words {
            if let Some(kind) = OrderedKind::of_word(&word, fact) {
                self.ordered.insert(word.clone(), kind);
            }
            self.telling.insert(word);
        }
    }

    /// Adds what machines read, which has one form only.
    fn add_reference(&mut self, text: &str) {
        let reference = format!("={}", text.to_lowercase());
        self.words.push(reference.clone());
        self.ordered.insert(reference.clone(), OrderedKind::Reference);
        self.telling.insert(reference);
    }

    /// Whether the two tell the same, as far as that can be read from their words.
    pub(crate) fn agree_with(&self, other: &TextFacts) -> bool {
        self.denials == other.denials
            && self.is_covered_by(other)
            && other.is_covered_by(self)
            && self.has_order_of(other)
            && !self.is_contrary_to(other)
            && !other.is_contrary_to(self)
    }

    fn is_covered_by(&self, other: &TextFacts) -> bool {
        self.telling.iter().all(|word| other.has(word))
    }

    /// Whether what has an order in either of the two has the same order in both. A name that is
    /// said twice in a row is said once.
    fn has_order_of(&self, other: &TextFacts) -> bool {
        let kind = |word: &String| {
            let kinds = [self.ordered.get(word), other.ordered.get(word)];
            kinds.into_iter().flatten().min().copied()
        };
        let in_order = |facts: &TextFacts, wanted: OrderedKind| {
            let words = facts.words.iter().filter(|word| kind(word) == Some(wanted));
            let mut words: Vec<String> = words.cloned().collect();
            words.dedup();
            words
        };
        OrderedKind::ALL.iter().all(|wanted| in_order(self, *wanted) == in_order(other, *wanted))
    }

    /// Whether one says "unlocked" where the other says "locked".
    fn is_contrary_to(&self, other: &TextFacts) -> bool {
        let is_contrary = |word: &str| {
            let mut denied = WORDS.contraries(word).filter(|rest| rest.len() > 2);
            !other.has(word) && denied.any(|rest| other.has(rest))
        };
        self.words.iter().any(|word| is_contrary(word))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }
}

/// The words of a text in the form in which they are compared: small, without the marks around
/// them and the ending of a plural, numbers and units in one way.
fn word_forms(text: &str) -> Vec<String> {
    let in_digits = |word: String| match WORDS.number_parts(&word) {
        Some(parts) => parts.into_iter().map(str::to_owned).collect(),
        None => apart_from_unit(&word),
    };
    bare_words(text).flat_map(in_digits).map(|word| one_form(&word)).collect()
}

/// The words of a text, small and without the marks around them.
fn bare_words(text: &str) -> impl Iterator<Item = String> {
    let small = text.to_lowercase().replace('’', "'").replace("n't", " not");
    let bare = |word: &str| {
        let word = word.trim_matches(is_mark).trim_start_matches('+');
        word.strip_suffix("'s").unwrap_or(word).to_owned()
    };
    let words = small.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']'));
    let words: Vec<String> = words.map(bare).filter(|word| !word.is_empty()).collect();
    words.into_iter()
}

/// Marks around a word that are no part of it.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '€' | '$' | '£' | '¥' | '%' | '°' | '-' | '+' | '/' | '~')
}

/// A number apart from the unit that is written right behind it, or the currency before it.
fn apart_from_unit(word: &str) -> Vec<String> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-' | '/');
    let currency = word.find(|c: char| !matches!(c, '€' | '$' | '£' | '¥')).unwrap_or(0);
    let (sign, rest) = word.split_at(currency);
    let digits = rest.find(|c: char| !is_of_number(c)).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(digits);
    let is_unit = !unit.contains(|c: char| c.is_ascii_digit()) && unit.chars().count() <= 6;
    if !number.contains(|c: char| c.is_ascii_digit()) || !is_unit {
        return vec![word.to_owned()];
    }
    let parts = [number, unit, sign].map(str::to_owned);
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// One form of a word for all the ways in which it is written.
fn one_form(word: &str) -> String {
    if word.starts_with(|c: char| c.is_ascii_digit()) && is_grouped(word) {
        return word.replace(',', "");
    }
    WORDS.unit(word).unwrap_or_else(|| singular(word)).to_owned()
}

/// Whether the commas of a number part its thousands: `42,000`.
fn is_grouped(number: &str) -> bool {
    let mut groups = number.split(',').skip(1).peekable();
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit());
    groups.peek().is_some() && groups.all(is_group)
}

/// Capital words that open a sentence and are rare: a name can stand there, and is not told from
/// another word by its capital.
fn opening_names(text: &str) -> Vec<String> {
    let sentences = text.split(['.', '!', '?', '\n', ':']);
    let first = sentences.filter_map(|sentence| {
        let mut words = sentence.split_whitespace();
        words.find_map(|word| Some(word.trim_matches(is_mark)).filter(|word| !word.is_empty()))
    });
    let is_word = |word: &&str| word.chars().all(char::is_alphanumeric) && !is_common(word);
    let names = first.filter(|word| word.starts_with(char::is_uppercase)).filter(is_word);
    names.flat_map(word_forms).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expected: bool) {
        let (first, second) = (TextFacts::read(a), TextFacts::read(b));
        assert_eq!(first.agree_with(&second), expected, "{a} / {b}: {first:?} {second:?}");
        assert_eq!(second.agree_with(&first), expected, "{b} / {a}");
    }

    /// Promise: `differing-facts-both-come`
    #[test]
    fn texts_that_differ_in_a_number_are_two_facts() {
        for (a, b) in [
            ("Ran 3 km", "Ran 9 km"),
            ("Ran three km", "Ran nine km"),
            ("Grandma is sixty", "Grandma is seventy"),
            ("He is thirteen", "He is nineteen"),
            ("It cost a million", "It cost a thousand"),
            ("Der Zug geht um elf", "Der Zug geht um zwölf"),
            ("She is twenty-one", "She is twenty-two"),
            ("Sie ist einundsechzig", "Sie ist einundsiebzig"),
            ("Ran 3 km", "Ran 3 miles"),
            ("Needs version 1.2", "Needs version 1.20"),
            ("Paid €92", "Paid €29"),
            ("It was -5 °C", "It was 5 °C"),
            ("The meeting is on 18 July", "The meeting is on 19 July"),
            ("Meets on Monday", "Meets on Tuesday"),
            ("Due 2026-03-01", "Due 2026-03-02"),
            ("Opens at 11:00", "Opens at 11:30"),
        ] {
            check(a, b, false);
        }
    }

    /// Promise: `differing-facts-both-come`
    #[test]
    fn texts_that_differ_in_a_name_or_are_denied_are_two_facts() {
        for (a, b) in [
            ("Anna likes tea", "Boris likes tea"),
            ("Her sister Anna lives in Rome", "Her sister Anna lives in Oslo"),
            ("See src/main.rs", "See src/lib.rs"),
            ("Mail a@x.example", "Mail b@x.example"),
            ("The branch is called old-ui", "The branch is called new-ui"),
            ("Uses `getUser` there", "Uses `getUsers` there"),
            ("Likes tea", "Does not like tea"),
            ("Eats meat", "Never eats meat"),
            ("The door is locked", "The door is unlocked"),
        ] {
            check(a, b, false);
        }
    }

    /// Promise: `differing-facts-both-come`
    #[test]
    fn texts_that_name_the_same_in_another_order_are_two_facts() {
        for (a, b) in [
            ("Ann owes Bob", "Bob owes Ann"),
            ("The train from Rome to Oslo is late", "The train from Oslo to Rome is late"),
            ("I saw that Ann told Bob that Ann is ill", "I saw that Ann told Bob that Bob is ill"),
            ("Ann has 3 and Bob has 9", "Ann has 9 and Bob has 3"),
            ("Moved src/a.rs to src/b.rs", "Moved src/b.rs to src/a.rs"),
        ] {
            check(a, b, false);
        }
        for (a, b) in [
            ("On 18 July we met Ann and Bob", "We met Ann and Bob on July 18"),
            (
                "I know that Ann likes tea. Ann lives in Rome",
                "I know that Ann likes tea, lives in Rome",
            ),
        ] {
            check(a, b, true);
        }
    }

    #[test]
    fn other_words_for_the_same_are_no_second_fact() {
        for (a, b) in [
            ("Ran 3 km", "ran three kilometres."),
            ("Grandma is sixty", "grandma is 60"),
            ("It is 20 degrees Celsius", "It is twenty degrees celsius."),
            ("Sie ist einundsechzig", "sie ist einundsechzig!"),
            ("Ran 3km today", "Today: ran 3 km"),
            ("Likes tea", "I like tea"),
            ("Anna likes tea", "anna likes tea!"),
            ("Doesn't like coffee", "Does not like coffee."),
            ("Has 42,000 photos", "has 42000 photos"),
            ("Paid €92", "paid 92 euros"),
        ] {
            check(a, b, true);
        }
    }
}
