//! Which of the best say the same.
//!
//! People write things down twice, in other words or on another day. Of those the best
//! one stays. Two are the same if the passages for which they were found have nearly the
//! same vector, and their texts tell the same facts ([`TextFacts`]); without vectors, if their
//! texts differ in nothing but case, punctuation and space. Notes of two days are two facts.

use recto_context::{ContentHash, ItemId, ItemKind, Pick};

use super::SearchIndex;
use super::table::ChunkRow;
use crate::entry::SearchEntry;
use crate::likeness::TextFacts;

/// A ranked item that says what a better one says already.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicatePick {
    /// The item, with its scores.
    pub pick: Pick,
    /// The better item that says the same.
    pub of: ItemId,
    /// How near the two are, where their vectors tell.
    pub cosine: Option<f32>,
}

/// What is compared of an item.
struct ComparedPassage<'a> {
    /// The item as search knows it.
    entry: Option<&'a SearchEntry>,
    /// The chunk for which it was found.
    row: Option<ChunkRow>,
    /// Its text, folded where there is no such chunk.
    folded: Option<String>,
}

impl SearchIndex {
    /// Takes out of the first `most` ranked items those that say the same as a better one:
    /// their cosine is over `above`, and they tell the same facts. What stands behind those is not looked at, and stays.
    pub fn without_duplicates(
        &self,
        picks: Vec<Pick>,
        above: f32,
        most: usize,
    ) -> (Vec<Pick>, Vec<DuplicatePick>) {
        let mut kept: Vec<Pick> = Vec::with_capacity(picks.len());
        let mut passages: Vec<ComparedPassage<'_>> = Vec::new();
        let mut duplicates = Vec::new();
        for (place, pick) in picks.into_iter().enumerate() {
            if place >= most {
                kept.push(pick);
                continue;
            }
            let passage = self.passage(&pick);
            let same = passages.iter().position(|other| self.is_same(&passage, other, above));
            match same.and_then(|at| kept.get(at).map(|better| (at, better.item.clone()))) {
                Some((at, of)) => {
                    let cosine = self.cosine_of(&passage, &passages[at]);
                    duplicates.push(DuplicatePick { pick, of, cosine });
                }
                None => {
                    kept.push(pick);
                    passages.push(passage);
                }
            }
        }
        (kept, duplicates)
    }

    fn passage(&self, pick: &Pick) -> ComparedPassage<'_> {
        let row = pick.best_chunk.as_ref().and_then(|text| {
            self.chunks
                .find(ContentHash::of_bytes(text.as_bytes()))
                .filter(|r| self.chunks.has_vector(*r))
        });
        let slot = self.slots.get(&pick.item);
        let entry = slot.and_then(|slot| self.item(*slot)).map(|item| &item.entry);
        let folded = entry.filter(|_| row.is_none()).map(|entry| folded(&entry.text));
        ComparedPassage { entry, row, folded }
    }

    fn is_same(&self, a: &ComparedPassage<'_>, b: &ComparedPassage<'_>, above: f32) -> bool {
        let sounds_alike = match self.cosine_of(a, b) {
            Some(cosine) => cosine > above,
            None => a.folded.is_some() && a.folded == b.folded,
        };
        sounds_alike && a.entry.zip(b.entry).is_some_and(|(a, b)| tell_the_same(a, b))
    }

    fn cosine_of(&self, a: &ComparedPassage<'_>, b: &ComparedPassage<'_>) -> Option<f32> {
        let cosine = self.chunks.cosine_between(a.row?, b.row?)?;
        Some(self.space.scale.to_built_in(cosine))
    }
}

/// Whether two entries that sound alike tell the same.
fn tell_the_same(a: &SearchEntry, b: &SearchEntry) -> bool {
    let is_note =
        |entry: &SearchEntry| entry.item.kind == ItemKind::Memory && entry.thread.is_some();
    let are_of_two_days = is_note(a) && is_note(b) && a.when != b.when;
    let facts = |entry: &SearchEntry| TextFacts::read(&entry.text);
    !are_of_two_days && (a.text == b.text || facts(a).agree_with(&facts(b)))
}

/// Words in lower case with a space between them.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}
