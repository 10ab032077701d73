//! All items that can be found, kept up to date item by item.
//!
//! An item is its header and the chunks of its text. Equal chunks are kept once,
//! whichever items they stand in, by the hash of their text: it is the key under
//! which vectors are supplied, and kept outside. A change of an item touches its own
//! chunks and words and nothing else.
//!
//! A search scores every chunk of every candidate, so that no item can crowd others
//! out. How scores become a rank, `rank` decides. The index makes no vectors, and
//! keeps nothing on disk.

mod item;
mod table;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use recto_context::{ContentHash, ItemId, Pick};

use crate::encoder::Embedding;
use crate::entry::Entry;
use crate::lexical::Lexicon;
use crate::rank::{self, Candidate, Evidence, Ranked, Signals};
use crate::vectors::Vector;
use item::Item;
use table::Table;

/// To how many of the best their best chunk is attached. Who looks at more than
/// that wants the order.
const SHOWN: usize = 1_000;

/// The place of an item that is no candidate.
const NOWHERE: u32 = u32::MAX;

/// What is searched: items with their chunks, vectors and words.
#[derive(Default)]
pub struct Index {
    /// By slot.
    items: Vec<Option<Item>>,
    /// Slots that can be used again.
    free: Vec<u32>,
    slots: HashMap<ItemId, u32>,
    /// Slots in the order of the entries.
    order: Vec<u32>,
    chunks: Table,
    lexicon: Lexicon,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Updated {
    /// How many items are new, changed or gone.
    pub changed: usize,
    /// Keys of chunks that no entry has any more, in no order.
    pub orphaned: Vec<ContentHash>,
}

/// A chunk that has no vector yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The hash of its text, under which its vector is to be supplied.
    pub key: ContentHash,
    /// Its text.
    pub text: Arc<str>,
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The whole message.
    pub text: &'a str,
    /// Its embedding, where there is an encoder.
    pub embedding: Option<&'a Embedding>,
}

impl Index {
    /// Makes the index hold exactly these entries, in this order. What is new or
    /// changed is taken in, what is gone leaves, all else stays untouched. Of several
    /// entries for one item the first counts.
    pub fn update(&mut self, entries: Vec<Entry>) -> Updated {
        let mut order = Vec::with_capacity(entries.len());
        let mut stays = vec![false; self.items.len()];
        let mut changed = 0;
        let mut is_same = true;
        for entry in entries {
            let known = self.slot_of(order.len(), &entry.item);
            if known.is_some_and(|slot| stays[slot as usize]) {
                continue;
            }
            let slot = match known.and_then(|slot| Some((slot, self.item_mut(slot)?))) {
                Some((slot, item)) if item.has_content_of(&entry) => {
                    is_same &= item.entry.thread == entry.thread;
                    // Its texts are equal, but the new ones are those that live on.
                    item.entry = entry;
                    slot
                }
                _ => {
                    changed += 1;
                    self.put(known, entry)
                }
            };
            stays.resize(self.items.len(), false);
            stays[slot as usize] = true;
            order.push(slot);
        }
        let before = std::mem::replace(&mut self.order, order);
        for slot in before.iter().filter(|slot| !stays[**slot as usize]) {
            changed += 1;
            self.remove(*slot);
        }
        if changed > 0 || !is_same || before != self.order {
            self.link_threads();
        }
        Updated { changed, orphaned: self.chunks.sweep() }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many chunks there are, each text counted once.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// How many chunks have their vector.
    pub fn vector_count(&self) -> usize {
        self.chunks.vectors()
    }

    /// How many bytes of memory the vectors take, with the table that finds them.
    pub fn vector_bytes(&self) -> usize {
        self.chunks.bytes()
    }

    /// The keys of all chunks, in no order.
    pub fn keys(&self) -> impl Iterator<Item = ContentHash> {
        self.chunks.keys()
    }

    /// Chunks of candidates that have no vector, each text once.
    pub fn missing(&self, is_candidate: impl Fn(&ItemId) -> bool) -> Vec<Missing> {
        let mut rows = HashSet::new();
        let mut missing = Vec::new();
        for (_, item) in self.candidates(is_candidate) {
            for (index, piece) in item.pieces.iter().enumerate() {
                if !self.chunks.has_vector(piece.row) && rows.insert(piece.row) {
                    let key = self.chunks.key(piece.row);
                    missing.extend(item.text_of(index).map(|text| Missing { key, text }));
                }
            }
        }
        missing
    }

    /// Whether a chunk of any item waits for the vector of this text.
    pub fn needs(&self, key: ContentHash) -> bool {
        self.chunks.needs(key)
    }

    /// Gives chunks their vectors. What belongs to no chunk is left aside.
    pub fn supply(&mut self, vectors: impl IntoIterator<Item = (ContentHash, Vector)>) {
        let vectors = vectors.into_iter();
        self.chunks.expect(vectors.size_hint().0);
        for (key, vector) in vectors {
            self.chunks.supply(key, &vector);
        }
    }

    /// All candidates, best first. Meant for the items of one group: scores are
    /// standardised over the candidates.
    ///
    /// Without the query's embedding, or if a chunk of any candidate has no vector, words
    /// alone decide: half of a comparison would be none.
    pub fn rank(&self, query: &Query<'_>, is_candidate: impl Fn(&ItemId) -> bool) -> Vec<Pick> {
        let found: Vec<(u32, &Item)> = self.candidates(is_candidate).collect();
        let ranked = self.with_evidence(query, &found, rank::rank);
        let pick = |(rank, ranked): (usize, Ranked)| {
            let (_, item) = found.get(ranked.candidate)?;
            let shown = ranked.best_chunk.filter(|_| rank < SHOWN);
            let best_chunk = shown.and_then(|index| item.text_of(index));
            Some(Pick { item: item.entry.item.clone(), scores: ranked.scores, best_chunk })
        };
        ranked.into_iter().enumerate().filter_map(pick).collect()
    }

    /// What `rank` would rank by, with the candidates in the order of the signals: weights
    /// are fitted on it.
    pub fn signals(
        &self,
        query: &Query<'_>,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> (Vec<ItemId>, Signals) {
        let found: Vec<(u32, &Item)> = self.candidates(is_candidate).collect();
        let signals = self.with_evidence(query, &found, Signals::of);
        (found.iter().map(|(_, item)| item.entry.item.clone()).collect(), signals)
    }

    /// Gathers what speaks for each candidate, and hands it on.
    fn with_evidence<T>(
        &self,
        query: &Query<'_>,
        found: &[(u32, &Item)],
        judge: impl FnOnce(&Evidence<'_>) -> T,
    ) -> T {
        let rows = || found.iter().flat_map(|(_, item)| item.pieces.iter().map(|piece| piece.row));
        let cosines = query.embedding.and_then(|embedding| self.chunks.cosines(embedding, rows()));
        let places = self.places(found);
        let mut rest = cosines.as_deref();
        let candidates = found.iter().map(|(slot, item)| {
            let own = rest.and_then(|all| all.split_at_checked(item.pieces.len()));
            rest = own.map(|(_, rest)| rest);
            Candidate {
                slot: *slot,
                kind: item.entry.item.kind,
                name: &item.entry.item.name,
                cosines: own.map_or(&[], |(own, _)| own),
                has_dense: own.is_some(),
                previous: place_of(item.previous, &places),
                next: place_of(item.next, &places),
            }
        });
        judge(&Evidence {
            lexicon: &self.lexicon,
            query_text: query.text,
            query_embedding: query.embedding,
            candidates: candidates.collect(),
        })
    }

    /// Candidates with their slots, in the order of the entries.
    fn candidates(
        &self,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> impl Iterator<Item = (u32, &Item)> {
        let items = self.order.iter().filter_map(|slot| Some((*slot, self.item(*slot)?)));
        items.filter(move |(_, item)| is_candidate(&item.entry.item))
    }

    /// Where in a list of candidates each slot stands.
    fn places(&self, candidates: &[(u32, &Item)]) -> Vec<u32> {
        let mut places = vec![NOWHERE; self.items.len()];
        for (place, (slot, _)) in candidates.iter().enumerate() {
            places[*slot as usize] = place as u32;
        }
        places
    }

    /// The slot of an item. Most stand where they stood at the last update, and need
    /// not be looked up.
    fn slot_of(&self, place: usize, id: &ItemId) -> Option<u32> {
        let same_place = self.order.get(place).copied();
        let is_it = |slot: &u32| self.item(*slot).is_some_and(|item| item.entry.item == *id);
        same_place.filter(is_it).or_else(|| self.slots.get(id).copied())
    }

    fn item(&self, slot: u32) -> Option<&Item> {
        self.items.get(slot as usize)?.as_ref()
    }

    fn item_mut(&mut self, slot: u32) -> Option<&mut Item> {
        self.items.get_mut(slot as usize)?.as_mut()
    }

    /// Takes in an entry, in the place of what its item was before.
    fn put(&mut self, known: Option<u32>, entry: Entry) -> u32 {
        let slot = known.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.items.push(None);
            (self.items.len() - 1) as u32
        });
        self.slots.insert(entry.item.clone(), slot);
        let item = Item::new(entry, &mut self.chunks);
        if let Some(before) = self.items[slot as usize].take() {
            self.lexicon.remove(slot);
            before.release(&mut self.chunks);
        }
        self.lexicon.add(slot, &item.fields());
        self.items[slot as usize] = Some(item);
        slot
    }

    fn remove(&mut self, slot: u32) {
        if let Some(item) = self.items[slot as usize].take() {
            self.slots.remove(&item.entry.item);
            self.lexicon.remove(slot);
            item.release(&mut self.chunks);
            self.free.push(slot);
        }
    }

    /// Finds out anew what follows what.
    fn link_threads(&mut self) {
        let mut last: HashMap<Arc<str>, u32> = HashMap::new();
        for slot in self.order.clone() {
            let Some(item) = self.item_mut(slot) else { continue };
            (item.previous, item.next) = (None, None);
            let Some(thread) = item.entry.thread.clone() else { continue };
            let previous = last.insert(thread, slot);
            item.previous = previous;
            if let Some(before) = previous.and_then(|slot| self.item_mut(slot)) {
                before.next = Some(slot);
            }
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, chunks, vectors) = (self.len(), self.chunk_count(), self.vector_count());
        write!(f, "Index({items} items, {chunks} chunks, {vectors} vectors)")
    }
}

fn place_of(slot: Option<u32>, places: &[u32]) -> Option<usize> {
    let place = *places.get(slot? as usize)?;
    (place != NOWHERE).then_some(place as usize)
}
