//! Made-up entries, questions and embeddings, the same in every run. Few words are
//! frequent and many are rare, as in real texts: that decides what a search by words
//! costs.

use recto_context::{ItemId, ItemKind};
use recto_search::{DIMENSIONS, Embedding, SearchEntry};

/// A header and paragraphs.
pub(super) const CHUNKS_OF_ITEM: usize = 5;

/// How many different words there are.
const VOCABULARY: f64 = 20_000.0;

const SYLLABLES: [&str; 16] = [
    "ba", "ter", "lo", "min", "ka", "ri", "sen", "do", "pa", "vel", "tu", "gar", "ne", "shi", "mo",
    "cal",
];

/// A generator of items and messages that are the same in every run.
pub(super) struct CorpusGenerator(u64);

impl Default for CorpusGenerator {
    fn default() -> Self {
        CorpusGenerator(0x9E37_79B9_7F4A_7C15)
    }
}

impl CorpusGenerator {
    /// An item of `CHUNKS_OF_ITEM` chunks.
    pub(super) fn entry(&mut self, number: usize) -> SearchEntry {
        let paragraphs: Vec<String> = (1..CHUNKS_OF_ITEM).map(|_| self.paragraph()).collect();
        SearchEntry {
            item: ItemId::new(ItemKind::Reference, format!("{}-{number}", self.word())),
            description: Some(self.words(12).into()),
            text: paragraphs.join("\n\n").into(),
            thread: None,
            when: None,
        }
    }

    /// A paragraph of about 300 characters.
    pub(super) fn paragraph(&mut self) -> String {
        self.words(45)
    }

    /// What somebody may ask.
    pub(super) fn question(&mut self) -> String {
        self.words(12)
    }

    /// A direction of no meaning.
    pub(super) fn embedding(&mut self) -> Embedding {
        let mut values = Box::new([0.0; DIMENSIONS]);
        values.iter_mut().for_each(|value| *value = (self.next() - 0.5) as f32);
        Embedding::new(values)
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn word(&mut self) -> String {
        // As often as in texts: the word of rank n about once in n words.
        let mut rank = VOCABULARY.powf(self.next()) as usize;
        let mut word = String::new();
        while rank > 0 {
            word += SYLLABLES[rank % SYLLABLES.len()];
            rank /= SYLLABLES.len();
        }
        word
    }

    /// The next random number, from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use recto_search::SearchIndex;

    use super::*;

    #[test]
    fn items_have_the_promised_chunks() {
        let mut corpus = CorpusGenerator::default();
        let mut index = SearchIndex::default();
        index.update((0..50).map(|number| corpus.entry(number)).collect());
        assert_eq!((index.len(), index.chunk_count()), (50, 50 * CHUNKS_OF_ITEM));
    }

    #[test]
    fn some_words_are_frequent() {
        let text = CorpusGenerator::default().words(10_000);
        let mut counts = std::collections::HashMap::new();
        text.split(' ').for_each(|word| *counts.entry(word).or_insert(0) += 1);
        let most = counts.values().max().copied().unwrap_or_default();
        assert!(counts.len() > 2_000 && most > 500, "{} words, {most} times", counts.len());
    }
}
