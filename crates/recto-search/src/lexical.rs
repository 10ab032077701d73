//! Which items share words with a query, and how telling those words are.
//!
//! Postings by word, kept item by item: an item can be added or removed without a
//! look at the others. How rare a word is, is counted among the candidates of a
//! search, not among all that is there, and tempered by how common it is in
//! English at large: among two rules every word would be rare.
//!
//! Two words that stand side by side are kept as a term of their own, so that
//! "error handling" tells more than an error here and a handle there.
//!
//! Nothing here knows of embeddings or of probabilities.

mod denials;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use recto_context::ContentHash;

/// The parts of an item that are told apart.
pub(crate) struct EntryFields<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) text: &'a str,
    /// The day of which it is.
    pub(crate) when: &'a str,
}

/// The words of all items.
#[derive(Default)]
pub(crate) struct Lexicon {
    ids: HashMap<Arc<str>, u32>,
    /// The terms by their ids.
    terms: Vec<Term>,
    /// Ids of terms that no item has any more.
    free: Vec<u32>,
    /// The terms of each item, by slot as are the next two: what a search reads of every
    /// item stands close together.
    documents: Vec<Vec<u32>>,
    /// The sum of the frequencies of an item's words.
    lengths: Vec<f32>,
    speakers: Vec<ItemSpeaker>,
}

#[derive(Default)]
struct Term {
    word: Arc<str>,
    /// In the order of slots.
    postings: Vec<Posting>,
}

/// How often a word stands in an item.
struct Posting {
    slot: u32,
    /// Weighted by where it stands.
    frequency: f32,
    place: TermPlace,
}

/// Where in an item a word stands.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum TermPlace {
    /// Only in what its description says that it is not for.
    #[default]
    Denied,
    Text,
    Header,
}

/// What is counted of a word while an item is read.
#[derive(Default)]
struct TermCount {
    frequency: f32,
    /// The one that tells most.
    place: TermPlace,
}

/// Who speaks in an item, and how.
#[derive(Clone, Copy, Default)]
struct ItemSpeaker {
    /// Tells speakers apart, also those whose names are words that are left out.
    key: Option<NonZeroU32>,
    /// The first word of the speaker's name.
    name: Option<u32>,
    /// Whether it asks something.
    asks: bool,
}

/// How the candidates' words meet a query's.
pub(crate) struct WordMatches {
    /// In the order of the candidates.
    pub(crate) matches: Vec<WordMatch>,
    /// How many different words the query has.
    pub(crate) words: usize,
}

/// How an item's words meet a query's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WordMatch {
    /// The score of the item by BM25.
    pub(crate) score: f32,
    /// The same for each unit of what the query's words tell, so that long and short
    /// queries can be compared.
    pub(crate) even: f32,
    /// What the pairs of words tell that both have side by side, in the same unit.
    pub(crate) pairs: f32,
    /// The share of the query's words that the item has, each counting as much as
    /// it tells.
    pub(crate) share: f32,
    /// The same in its name and description.
    pub(crate) header_share: f32,
    /// The share of the query's words that stand only in what the item says that it is
    /// not for.
    pub(crate) denied_share: f32,
    /// Whether the query names who speaks in it.
    pub(crate) names_speaker: bool,
}

/// A word, or a pair of words, of a query.
struct QueryTerm<'a> {
    id: Option<u32>,
    postings: &'a [Posting],
    weight: f32,
}

/// Stems, in order, with how many of a thousand items they stand in. `cargo xtask fit` writes them.
static BACKGROUND: LazyLock<Vec<(&str, u16)>> = LazyLock::new(|| {
    let entries = include_str!("lexical/background.txt").lines().map(|line| line.split_once(' '));
    // Its comments have no number behind the first blank.
    entries.filter_map(|entry| Some((entry?.0, entry?.1.parse().ok()?))).collect()
});

/// Whether the words in a text are all common ones.
pub(crate) fn is_common(text: &str) -> bool {
    let is_known = |word: &str| BACKGROUND.binary_search_by_key(&word, |(word, _)| word).is_ok();
    let mut are_all_known = true;
    words::for_each(text, |word| are_all_known = are_all_known && is_known(word));
    are_all_known
}

/// The place of an item that is no candidate.
const NOWHERE: u32 = u32::MAX;

/// How much a word counts in a name, beside one in the text.
const IN_NAME: f32 = 3.0;
/// How much a word counts in a description.
const IN_DESCRIPTION: f32 = 2.0;
/// How soon more of the same word stops to matter.
const SATURATION: f32 = 1.2;
/// How far long items are held to account for their length.
const BY_LENGTH: f32 = 0.6;
/// How many items the background stands for when words are counted.
const BACKGROUND_ITEMS: f32 = 100.0;
/// How common a word is taken to be that the background does not know.
const UNKNOWN: f32 = 0.001;
/// How many different words of a query are looked up, the most telling ones.
const MOST_WORDS: usize = 512;

impl Lexicon {
    /// Adds an item. The slot must be free.
    pub(crate) fn add(&mut self, slot: u32, fields: &EntryFields<'_>) {
        let mut counts: HashMap<u32, TermCount> = HashMap::new();
        let mut length = 0.0;
        let header = [(fields.name, TermPlace::Header, IN_NAME)];
        let description = denials::sentences(fields.description).map(|(text, is_for)| {
            if is_for {
                (text, TermPlace::Header, IN_DESCRIPTION)
            } else {
                (text, TermPlace::Denied, 0.0)
            }
        });
        let text = [(fields.text, TermPlace::Text, 1.0), (fields.when, TermPlace::Text, 1.0)];
        for (text, place, weight) in header.into_iter().chain(description).chain(text) {
            let mut pair = WordPair::default();
            words::for_each(text, |word| {
                let count = counts.entry(self.id(word)).or_default();
                count.frequency += weight;
                count.place = count.place.max(place);
                length += weight;
                if let Some(pair) = pair.push(word).filter(|_| place != TermPlace::Denied) {
                    *counts.entry(self.id(pair)).or_default() = TermCount { frequency: 1.0, place };
                }
            });
        }
        let name = speaker_name(fields.text);
        let speaker = ItemSpeaker {
            key: name.and_then(key),
            name: name.and_then(|name| self.first_known(name)),
            asks: fields.text.contains('?'),
        };
        let mut terms: Vec<u32> = counts.keys().copied().collect();
        terms.sort_unstable();
        for (id, TermCount { frequency, place }) in counts {
            let postings = &mut self.terms[id as usize].postings;
            let at = postings.partition_point(|posting| posting.slot < slot);
            postings.insert(at, Posting { slot, frequency, place });
        }
        let at = slot as usize;
        if self.documents.len() <= at {
            self.documents.resize(at + 1, Vec::new());
            self.lengths.resize(at + 1, 0.0);
            self.speakers.resize(at + 1, ItemSpeaker::default());
        }
        self.documents[at] = terms;
        self.lengths[at] = length;
        self.speakers[at] = speaker;
    }

    /// Removes an item and the terms that no other has.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Some(terms) = self.documents.get_mut(slot as usize) else { return };
        self.lengths[slot as usize] = 0.0;
        self.speakers[slot as usize] = ItemSpeaker::default();
        for id in std::mem::take(terms) {
            let term = &mut self.terms[id as usize];
            if let Ok(at) = term.postings.binary_search_by_key(&slot, |posting| posting.slot) {
                term.postings.remove(at);
            }
            if term.postings.is_empty() {
                self.ids.remove(&std::mem::take(term).word);
                self.free.push(id);
            }
        }
    }

    /// How each of the candidates meets the query.
    pub(crate) fn search(&self, query: &str, slots: &[u32]) -> WordMatches {
        let mut places = vec![NOWHERE; self.documents.len()];
        for (place, slot) in slots.iter().enumerate() {
            if let Some(of_slot) = places.get_mut(*slot as usize) {
                *of_slot = place as u32;
            }
        }
        let place_of = |posting: &Posting| {
            let place = places[posting.slot as usize];
            (place != NOWHERE).then_some(place as usize)
        };
        let (words, pairs) =
            self.query_terms(query, slots.len(), |posting| place_of(posting).is_some());
        let total: f32 = words.iter().map(|word| word.weight).sum();
        let length = |slot: u32| self.lengths.get(slot as usize).copied().unwrap_or_default();
        let mean = slots.iter().map(|slot| length(*slot)).sum::<f32>() / slots.len().max(1) as f32;

        let mut matches = vec![WordMatch::default(); slots.len()];
        for QueryTerm { postings, weight, .. } in &words {
            for posting in *postings {
                let Some(place) = place_of(posting) else { continue };
                let relative = length(posting.slot) / mean;
                let even = posting.frequency / (1.0 - BY_LENGTH + BY_LENGTH * relative);
                let found = &mut matches[place];
                if posting.place == TermPlace::Denied {
                    found.denied_share += weight / total;
                    continue;
                }
                found.score += weight * even * (SATURATION + 1.0) / (SATURATION + even);
                found.share += weight / total;
                if posting.place == TermPlace::Header {
                    found.header_share += weight / total;
                }
            }
        }
        for QueryTerm { postings, weight, .. } in &pairs {
            for place in postings.iter().filter_map(place_of) {
                matches[place].pairs += weight / total;
            }
        }
        // Words are few: to look at all of them is faster than to hash one.
        let is_asked = |id: u32| words.iter().any(|word| word.id == Some(id));
        for (found, slot) in matches.iter_mut().zip(slots) {
            found.even = if total > 0.0 { found.score / total } else { 0.0 };
            let name = self.speakers.get(*slot as usize).and_then(|speaker| speaker.name);
            found.names_speaker = name.is_some_and(is_asked);
        }
        WordMatches { matches, words: words.len() }
    }

    /// The items that have a word, stemmed, in their name or description.
    pub(crate) fn with_header(&self, word: &str) -> impl Iterator<Item = u32> {
        let term = self.ids.get(word).and_then(|id| self.terms.get(*id as usize));
        let postings = term.into_iter().flat_map(|term| &term.postings);
        let in_header = postings.filter(|posting| posting.place == TermPlace::Header);
        in_header.map(|posting| posting.slot)
    }

    /// Whether a candidate has a word, in whatever form.
    pub(crate) fn has(&self, word: &str, is_candidate: impl Fn(u32) -> bool) -> bool {
        let term = self.first_known(word).and_then(|id| self.terms.get(id as usize));
        let postings = term.into_iter().flat_map(|term| &term.postings);
        postings.into_iter().any(|posting| is_candidate(posting.slot))
    }

    /// Whether an item follows a question that somebody else asked.
    pub(crate) fn is_answer(&self, slot: u32, previous: u32) -> bool {
        let speaker = |slot: u32| self.speakers.get(slot as usize).copied().unwrap_or_default();
        let (own, before) = (speaker(slot), speaker(previous));
        let keys = own.key.zip(before.key);
        before.asks && keys.is_some_and(|(own, before)| own != before)
    }

    /// The different words of a query and its different pairs, each with what it tells.
    fn query_terms<'a>(
        &'a self,
        query: &str,
        candidates: usize,
        is_candidate: impl Fn(&Posting) -> bool,
    ) -> (Vec<QueryTerm<'a>>, Vec<QueryTerm<'a>>) {
        let mut seen: HashSet<Box<str>> = HashSet::new();
        let (mut words, mut pairs) = (Vec::new(), Vec::new());
        let mut look_up = |term: &str, into: &mut Vec<QueryTerm<'a>>| {
            if seen.contains(term) {
                return;
            }
            seen.insert(term.into());
            let id = self.ids.get(term).copied();
            let postings = id.map_or(&[][..], |id| &self.terms[id as usize].postings);
            let count = postings.iter().filter(|posting| is_candidate(posting)).count();
            into.push(QueryTerm { id, postings, weight: weight(term, count, candidates) });
        };
        let mut pair = WordPair::default();
        words::for_each(query, |word| {
            look_up(word, &mut words);
            if let Some(pair) = pair.push(word) {
                look_up(pair, &mut pairs);
            }
        });
        for terms in [&mut words, &mut pairs] {
            if terms.len() > MOST_WORDS {
                terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
                terms.truncate(MOST_WORDS);
            }
        }
        (words, pairs)
    }

    fn id(&mut self, word: &str) -> u32 {
        if let Some(id) = self.ids.get(word) {
            return *id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.terms.push(Term::default());
            (self.terms.len() - 1) as u32
        });
        let word: Arc<str> = word.into();
        self.terms[id as usize].word = word.clone();
        self.ids.insert(word, id);
        id
    }

    /// The first word of a text that some item has.
    fn first_known(&self, text: &str) -> Option<u32> {
        let mut first = None;
        words::for_each(text, |word| first = first.or_else(|| self.ids.get(word).copied()));
        first
    }
}

/// Two words that stand side by side, as a term.
#[derive(Default)]
struct WordPair {
    term: String,
    /// Where the second word begins.
    second: usize,
}

impl WordPair {
    /// Takes the next word, and gives the pair that it makes with the one before it.
    fn push(&mut self, word: &str) -> Option<&str> {
        let is_first = self.term.is_empty();
        self.term.drain(..self.second);
        if !is_first {
            self.term.push(' ');
        }
        self.second = self.term.len();
        self.term.push_str(word);
        (!is_first).then_some(self.term.as_str())
    }
}

/// Who speaks in a text: a name of few words before a colon, at its beginning.
fn speaker_name(text: &str) -> Option<&str> {
    const LONGEST: usize = 40;
    let line = text.trim_start().lines().next()?;
    let (name, rest) = line.split_once(':')?;
    let is_name = name.len() <= LONGEST
        && name.split_whitespace().count() <= 3
        && name.chars().next().is_some_and(char::is_uppercase)
        && rest.starts_with(char::is_whitespace);
    is_name.then_some(name)
}

/// Tells names apart, whatever their case.
fn key(name: &str) -> Option<NonZeroU32> {
    let hash = ContentHash::of_bytes(name.trim().to_lowercase().as_bytes());
    NonZeroU32::new(u32::from_le_bytes(std::array::from_fn(|index| hash.as_bytes()[index])))
}

/// The words of a text as they are compared, for those who count them.
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words::for_each(text, |word| found.push(word.to_owned()));
    found
}

/// What a word tells that `count` of the candidates have.
fn weight(word: &str, count: usize, candidates: usize) -> f32 {
    let known = BACKGROUND.binary_search_by_key(&word, |(word, _)| word);
    let at_large = known.map_or(UNKNOWN, |at| f32::from(BACKGROUND[at].1) / 1000.0);
    let seen = count as f32 + BACKGROUND_ITEMS * at_large;
    ((candidates as f32 + BACKGROUND_ITEMS + 1.0) / (seen + 0.5)).ln()
}
