//! What must survive a compaction: names, numbers, references, quoted texts, decisions
//! and open questions.
//!
//! Found by form, not by meaning: capitals amid a sentence, digits with what they count,
//! slashes and underscores, quotation marks, and a few phrases ([`cues`]). So some are
//! found that nobody needs, and a name that is written small is not found.
//!
//! [`cues`]: super::cues

mod scan;
mod shape;
mod unparted;

use std::collections::HashSet;

use super::cues;
use super::sentences::sentences;

pub(super) use scan::details;

/// Something that a summary has to keep.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fact {
    /// Which kind of fact, by the form in which it was found.
    pub kind: FactKind,
    /// The words of it, as they were written.
    pub text: String,
}

/// The kinds of facts, in the order in which a summary lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// A person, a place, a product.
    Name,
    /// A number with what it counts, a date, a time, an amount of money.
    Number,
    /// A path, an address, an identifier.
    Reference,
    /// A text in quotation marks.
    Quote,
    /// What was decided or undertaken.
    Decision,
    /// What is still open.
    Question,
}

/// The facts of a text, in their order, each once.
pub fn find_facts(text: &str) -> Vec<Fact> {
    let sentences = sentences(text);
    let names = KnownNames::from_sentences(sentences.iter().map(String::as_str));
    let mut seen = HashSet::new();
    let found = sentences.iter().flat_map(|sentence| {
        let mut found = details(sentence, &names);
        let small = cues::small(sentence);
        let kind = if cues::is_question(&small) || cues::is_open(&small) {
            Some(FactKind::Question)
        } else {
            cues::is_decision(&small).then_some(FactKind::Decision)
        };
        found.extend(kind.map(|kind| Fact { kind, text: sentence.clone() }));
        found
    });
    found.filter(|fact| seen.insert(fact.key())).collect()
}

impl Fact {
    pub(super) fn new(kind: FactKind, text: impl Into<String>) -> Self {
        Fact { kind, text: text.into() }
    }

    /// By which two mentions of the same thing are told to be the same.
    pub(super) fn key(&self) -> String {
        let small = cues::small(&self.text);
        match self.kind {
            // What a number counts is a matter of wording: `€92`, `€92 per night`.
            FactKind::Number => {
                let cut = small.find(" per ").or_else(|| small.find(" a ")).unwrap_or(small.len());
                small[..cut].to_owned()
            }
            _ => small,
        }
    }
}

/// Words that are names wherever they stand, learned from where capitals mean something.
#[derive(Debug, Default)]
pub(super) struct KnownNames(HashSet<String>);

impl KnownNames {
    pub(super) fn from_sentences<'a>(sentences: impl Iterator<Item = &'a str>) -> Self {
        KnownNames(sentences.flat_map(scan::capitals_amid).collect())
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(kind: FactKind, text: &str) -> Vec<String> {
        find_facts(text)
            .into_iter()
            .filter(|fact| fact.kind == kind)
            .map(|fact| fact.text)
            .collect()
    }

    #[test]
    fn names_are_capitals_amid_a_sentence() {
        let names = |text| facts_of(FactKind::Name, text);
        assert_eq!(names("We met Priya Raman in Rome."), ["Priya Raman", "Rome"]);
        assert_eq!(names("I asked Dr. Keller. Keller agreed."), ["Dr. Keller", "Keller"]);
        assert_eq!(names("When Lina swims, I'm glad."), ["Lina"]);
        assert_eq!(names("House of Experiments opens late"), ["House of Experiments"]);
        assert_eq!(names("明天和アンドレーエワ见面"), ["アンドレーエワ"]);
        assert_eq!(names("nothing here, OK?"), Vec::<String>::new());
    }

    #[test]
    fn numbers_come_with_what_they_count() {
        let numbers = |text| facts_of(FactKind::Number, text);
        assert_eq!(numbers("about 42,000 photos, 310 GB"), ["42,000 photos", "310 GB"]);
        assert_eq!(numbers("from 18 July to 1 August 2027"), ["18 July", "1 August 2027"]);
        assert_eq!(
            numbers("it costs €92 per night or 85 euros a night"),
            ["€92 per night", "85 euros a night"]
        );
        assert_eq!(numbers("open 11:00 to 19:00, 20-30 kg"), ["11:00 to 19:00", "20-30 kg"]);
        assert_eq!(numbers("call 01 555 0134 now"), ["01 555 0134"]);
        assert_eq!(numbers("750 x 490 mm at 7400 W"), ["750 x 490 mm", "7400 W"]);
        assert_eq!(numbers("2027年7月18日に3人で"), ["2027年7月18日", "3人"]);
    }

    #[test]
    fn references_are_what_machines_read() {
        let references = |text| facts_of(FactKind::Reference, text);
        assert_eq!(references("see /srv/photos and ~/a.pdf"), ["/srv/photos", "~/a.pdf"]);
        assert_eq!(
            references("at https://a.example/b, mail x@y.example."),
            ["https://a.example/b", "x@y.example"]
        );
        assert_eq!(
            references("`scan_tree(root)` in src/scan.rs:88"),
            ["scan_tree(root)", "src/scan.rs:88"]
        );
        assert_eq!(references("order KB-55093, commit 8c1f0e2"), ["KB-55093", "8c1f0e2"]);
        assert_eq!(references("take EC 213 to Kolezijska 14"), ["EC 213", "Kolezijska 14"]);
        assert_eq!(references("and/or they/them, well-known"), Vec::<String>::new());
    }

    #[test]
    fn decisions_and_questions_are_whole_sentences() {
        let text = "Nice. We decided on age. Who prints it? TODO: ask \"Jo\".";
        assert_eq!(facts_of(FactKind::Decision, text), ["We decided on age."]);
        assert_eq!(facts_of(FactKind::Question, text), ["Who prints it?", "TODO: ask \"Jo\"."]);
        assert_eq!(facts_of(FactKind::Quote, text), ["Jo"]);
    }
}
