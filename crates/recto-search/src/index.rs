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

mod coverage;
mod duplicates;
mod item;
mod slot;
mod table;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use recto_context::{ContentHash, ItemId, ItemKind, Pick, RespelledWord, Scores};

use crate::choose::ItemGroup;
use crate::correction::QueryCorrection;
use crate::encoder::{Embedding, Encoder};
use crate::entry::SearchEntry;
use crate::lexical::{self, Lexicon};
use crate::message::{QueryText, SearchMessage};
use crate::rank::{
    Candidate, Evidence, PART_COSINE, RankSignals, RankedCandidate, RivalEvidence, ScoredGroup,
    TextEvidence,
};
use crate::space::{CosineScale, VectorSpace};
use crate::spelling::{KnownWords, Vocabulary};
use crate::variants::NameWords;
use crate::vectors::PackedVector;
pub use coverage::VectorCoverage;
pub use duplicates::DuplicatePick;
use item::IndexedItem;
use slot::{NOWHERE, SlotSummary};
use table::{ChunkRow, ChunkTable};

/// To how many of the best their best chunk is attached. Who looks at more than
/// that wants the order.
const SHOWN: usize = 1_000;

/// The index that is searched: items with their chunks, vectors and words.
#[derive(Default)]
pub struct SearchIndex {
    /// The items by their slots; `None` where a slot is free.
    items: Vec<Option<IndexedItem>>,
    /// What a search reads of each item, by the same slots.
    summaries: Vec<SlotSummary>,
    /// Slots that can be used again.
    free: Vec<u32>,
    slots: HashMap<ItemId, u32>,
    /// Slots in the order of the entries.
    order: Vec<u32>,
    /// The numbers of the threads.
    threads: HashMap<Arc<str>, u32>,
    /// The last slot of each thread, by its number.
    ends: Vec<u32>,
    chunks: ChunkTable,
    lexicon: Lexicon,
    vocabulary: Vocabulary,
    space: VectorSpace,
}

/// The outcome of an update of the index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexUpdate {
    /// How many items are new, changed or gone.
    pub changed: usize,
    /// Keys of chunks that no entry has any more, in no order.
    pub orphaned: Vec<ContentHash>,
}

/// The candidates of a search, and how near the query comes to them.
struct GatheredCandidates {
    slots: Vec<u32>,
    candidates: Vec<Candidate>,
    /// The cosines of each text of the query with all pieces of all candidates, where each has
    /// its vector.
    cosines: Option<Vec<Vec<f32>>>,
}

/// The candidates of each group, best first.
pub type RankedGroups = Vec<(ItemGroup, Vec<Pick>)>;

/// A chunk that has no vector yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVector {
    /// The hash of its text, under which its vector is to be supplied.
    pub key: ContentHash,
    /// The text that is to be embedded.
    pub text: Arc<str>,
}

/// A message that is searched for. [`SearchMessage`](crate::SearchMessage) reads what
/// there is of it.
#[derive(Debug, Clone)]
pub struct SearchQuery<'a> {
    /// The whole message.
    pub whole: QueryText<'a>,
    /// What was said before, where the message can't stand by itself.
    pub before: Option<QueryText<'a>>,
    /// Where that stands among what the same person said before: 1 is the last message.
    pub before_place: Option<u32>,
    /// Its parts, where it asks for several things.
    pub parts: Vec<QueryText<'a>>,
    /// Its misspelt words, and as what they were read.
    pub put_right: Arc<[RespelledWord]>,
}

impl<'a> SearchQuery<'a> {
    /// A text that is one thing, with its embedding where there is an encoder.
    pub fn new(text: &'a str, embedding: Option<&'a Embedding>) -> SearchQuery<'a> {
        let whole = QueryText { text, embedding };
        let (before, before_place) = (None, None);
        let (parts, put_right) = (Vec::new(), Arc::default());
        SearchQuery { whole, before, before_place, parts, put_right }
    }

    /// The whole message, what was said before, and the parts.
    fn texts(&self) -> impl Iterator<Item = QueryText<'a>> {
        [self.whole].into_iter().chain(self.before).chain(self.parts.iter().copied())
    }
}

impl SearchIndex {
    /// Moves messages by another correction than the fitted one.
    pub fn correct_by(&mut self, correction: QueryCorrection) {
        self.space.correction = correction;
    }

    /// Takes vectors for those of this space from now on. All that it is supplied with, and all
    /// queries, have to be of the encoder whose space it is.
    pub fn set_space(&mut self, space: VectorSpace) {
        self.space = space;
    }

    /// Makes the index hold exactly these entries, in this order. What is new or
    /// changed is taken in, what is gone leaves, all else stays untouched. Of several
    /// entries for one item the first counts.
    pub fn update(&mut self, entries: Vec<SearchEntry>) -> IndexUpdate {
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
                    self.upsert(known, entry)
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
        IndexUpdate { changed, orphaned: self.chunks.sweep() }
    }

    /// Takes in entries behind all others, which stay untouched. What is there already
    /// stays as it is.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = SearchEntry>) -> IndexUpdate {
        let mut changed = 0;
        for entry in entries {
            if self.slots.contains_key(&entry.item) {
                continue;
            }
            changed += 1;
            let slot = self.upsert(None, entry);
            self.order.push(slot);
            self.link(slot);
        }
        IndexUpdate { changed, orphaned: Vec::new() }
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

    /// Whether every chunk has its vector.
    pub fn is_complete(&self) -> bool {
        self.chunks.vectors() == self.chunks.len()
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
    pub fn missing(&self, is_candidate: impl Fn(&ItemId) -> bool) -> Vec<MissingVector> {
        if self.is_complete() {
            return Vec::new();
        }
        let mut rows = HashSet::new();
        let mut missing = Vec::new();
        for (_, item) in self.candidates(is_candidate) {
            for (index, piece) in item.pieces.iter().enumerate() {
                if !self.chunks.has_vector(piece.row) && rows.insert(piece.row) {
                    let key = self.chunks.key(piece.row);
                    missing.extend(item.text_of(index).map(|text| MissingVector { key, text }));
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
    pub fn supply(&mut self, vectors: impl IntoIterator<Item = (ContentHash, PackedVector)>) {
        let mut vectors = vectors.into_iter().peekable();
        let count = vectors.size_hint().0;
        if let Some((_, first)) = vectors.peek() {
            self.chunks.expect(count, first);
        }
        for (key, vector) in vectors {
            self.chunks.supply(key, &vector);
        }
    }

    /// A message as it is read among the candidates: with its misspelt words put right, and what it
    /// leans on with the names that it puts in place of others; nothing if that changes nothing.
    pub fn read(
        &self,
        message: &SearchMessage,
        encoder: Option<&Encoder>,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> Option<SearchMessage> {
        let respelled = encoder.and_then(|encoder| self.respell(message, encoder, &is_candidate));
        let message = respelled.as_ref().unwrap_or(message);
        self.replace_names(message, is_candidate).or(respelled)
    }

    fn replace_names(
        &self,
        message: &SearchMessage,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> Option<SearchMessage> {
        if !message.leans_on_before() {
            return None;
        }
        let words: HashSet<String> = message.said().flat_map(lexical::words).collect();
        let slots: HashSet<u32> =
            words.iter().flat_map(|word| self.lexicon.with_header(word)).collect();
        // Memories are named by their files, which hold more than one thing.
        let names = slots.into_iter().filter_map(|slot| self.item(slot)).filter(|item| {
            item.entry.item.kind != ItemKind::Memory && is_candidate(&item.entry.item)
        });
        let names: Vec<NameWords> = names.map(|item| NameWords::new(&item.entry.item)).collect();
        message.replace_names(&names)
    }

    /// A message with its misspelt words read as words of the candidates; nothing if it has none.
    /// What a word is that no item has, only an encoder of English can say, and only of English
    /// messages. Words of other items change nothing: they would tell what stands in them.
    fn respell(
        &self,
        message: &SearchMessage,
        encoder: &Encoder,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> Option<SearchMessage> {
        if encoder.count_words(message.whole())?.is_foreign() {
            return None;
        }
        let is_candidate =
            |slot: u32| self.item(slot).is_some_and(|item| is_candidate(&item.entry.item));
        let is_known = |word: &str| {
            let counted = encoder.count_words(word);
            counted.is_none_or(|counted| counted.strange == 0)
                || lexical::is_common(word)
                || self.lexicon.has(word, is_candidate)
        };
        let known = KnownWords { is_known, is_candidate };
        message.respell(|text| self.vocabulary.respell(text, &known))
    }

    /// All candidates, best first. Meant for the items of one group: scores are
    /// standardised over the candidates.
    ///
    /// Without the query's embedding, or if a chunk of any candidate has no vector, words
    /// alone decide: half of a comparison would be none.
    pub fn rank(
        &self,
        query: &SearchQuery<'_>,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> Vec<Pick> {
        self.rank_best(query, is_candidate, usize::MAX)
    }

    /// The first `count` that `rank` would give, with the same scores, for a part of what it
    /// takes to put all in order.
    pub fn rank_best(
        &self,
        query: &SearchQuery<'_>,
        is_candidate: impl Fn(&ItemId) -> bool,
        count: usize,
    ) -> Vec<Pick> {
        let found: Vec<u32> = self.candidates(is_candidate).map(|(slot, _)| slot).collect();
        self.best_of(query, found, count)
    }

    /// Ranks like `rank_best`, among the items of the threads that `is_thread` names. It is asked
    /// once for each thread, not for each item.
    pub fn rank_threads(
        &self,
        query: &SearchQuery<'_>,
        is_thread: impl Fn(&str) -> bool,
        count: usize,
    ) -> Vec<Pick> {
        let mut is_in = vec![false; self.ends.len()];
        for (name, thread) in &self.threads {
            is_in[*thread as usize] = is_thread(name);
        }
        let is_found = |slot: &u32| {
            let thread = self.summaries[*slot as usize].thread;
            is_in.get(thread as usize).copied().unwrap_or_default()
        };
        let found: Vec<u32> = self.order.iter().copied().filter(is_found).collect();
        self.best_of(query, found, count)
    }

    /// What `rank` would rank by, with the candidates in the order of the signals: weights
    /// are fitted on it.
    pub fn signals(
        &self,
        query: &SearchQuery<'_>,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> (Vec<ItemId>, RankSignals) {
        let candidates = self.candidates(is_candidate);
        let (found, ids): (Vec<u32>, Vec<ItemId>) =
            candidates.map(|(slot, item)| (slot, item.entry.item.clone())).unzip();
        let gathered = self.gather(query, found);
        (ids, RankSignals::from_evidence(&self.evidence(query, &gathered)))
    }

    /// The candidates of each group, best first: of each as many as `rank_best` would give.
    /// Whether an item is what the message needs depends on what the other groups reach, too. Only
    /// memories are compared with each other alone: a turn looks for them elsewhere.
    pub fn rank_groups(
        &self,
        query: &SearchQuery<'_>,
        is_candidate: impl Fn(&ItemId) -> bool,
        count: usize,
    ) -> RankedGroups {
        self.rank_sets(query, &[is_candidate], count).pop().unwrap_or_default()
    }

    /// What `rank_groups` gives for each of several sets of candidates, with one look at all
    /// vectors.
    pub fn rank_sets(
        &self,
        query: &SearchQuery<'_>,
        sets: &[impl Fn(&ItemId) -> bool],
        count: usize,
    ) -> Vec<RankedGroups> {
        let (mut groups, mut slots) = (Vec::new(), Vec::new());
        for (set, is_candidate) in sets.iter().enumerate() {
            let mut found: HashMap<ItemGroup, Vec<u32>> = HashMap::new();
            for (slot, item) in self.candidates(is_candidate) {
                found.entry(ItemGroup::of_kind(item.entry.item.kind)).or_default().push(slot);
            }
            for group in ItemGroup::ALL {
                if let Some(found) = found.remove(&group) {
                    groups.push((set, group));
                    slots.push(found);
                }
            }
        }
        let gathered = groups.into_iter().zip(self.gather_each(query, slots));
        let gathered: Vec<((usize, ItemGroup), GatheredCandidates)> = gathered.collect();
        let of_set = |set: usize| {
            let own = gathered.iter().filter(|((of, _), _)| *of == set);
            self.rank_gathered(query, own.map(|((_, group), gathered)| (*group, gathered)), count)
        };
        (0..sets.len()).map(of_set).collect()
    }

    /// Ranks the groups of one set, which are judged together.
    fn rank_gathered<'a>(
        &'a self,
        query: &SearchQuery<'a>,
        groups: impl Iterator<Item = (ItemGroup, &'a GatheredCandidates)>,
        count: usize,
    ) -> RankedGroups {
        let mut scored: Vec<(ItemGroup, ScoredGroup<'_>, &GatheredCandidates)> = Vec::new();
        for (group, gathered) in groups {
            scored.extend(self.score(query, gathered).map(|scored| (group, scored, gathered)));
        }
        let compared = scored.iter().filter(|(group, ..)| *group != ItemGroup::Memories);
        let rivals: Vec<RivalEvidence> = compared.map(|(_, scored, _)| scored.rivals()).collect();
        let rivals = RivalEvidence::join(&rivals);
        let picks = |(group, scored, gathered): (_, ScoredGroup<'_>, &_)| {
            let ranked = match group {
                ItemGroup::Memories => scored.rank(&scored.rivals(), count),
                _ => scored.rank(&rivals, count),
            };
            (group, self.picks(query, ranked, gathered))
        };
        scored.into_iter().map(picks).collect()
    }

    /// How near the beginning of each item is to the message, or to the part of it that is
    /// nearest: for items that are messages themselves. Nothing without all vectors. The message is
    /// compared as it is: the correction leads from messages to what they need.
    pub fn message_cosines(&self, query: &SearchQuery<'_>) -> Option<Vec<(ItemId, f32)>> {
        let items = || self.order.iter().filter_map(|slot| Some((*slot, self.item(*slot)?)));
        let items = || items().filter(|(_, item)| !item.pieces.is_empty());
        let rows: Vec<ChunkRow> =
            items().map(|(slot, _)| self.summaries[slot as usize].first).collect();
        let whole = [(query.whole, 1.0)].into_iter();
        let texts = whole.chain(query.parts.iter().map(|part| (*part, PART_COSINE)));
        let mut best = vec![f32::NEG_INFINITY; rows.len()];
        for (text, share) in texts {
            let cosines = self.chunks.cosines(text.embedding?, &rows)?;
            for (best, cosine) in best.iter_mut().zip(cosines) {
                *best = best.max(share * self.space.scale.to_built_in(cosine));
            }
        }
        Some(items().map(|(_, item)| item.entry.item.clone()).zip(best).collect())
    }

    fn best_of(&self, query: &SearchQuery<'_>, found: Vec<u32>, count: usize) -> Vec<Pick> {
        let gathered = self.gather(query, found);
        let scored = self.score(query, &gathered);
        let ranked = scored.map(|scored| scored.rank(&scored.rivals(), count));
        self.picks(query, ranked.unwrap_or_default(), &gathered)
    }

    fn picks(
        &self,
        query: &SearchQuery<'_>,
        ranked: Vec<RankedCandidate>,
        gathered: &GatheredCandidates,
    ) -> Vec<Pick> {
        let pick = |(rank, ranked): (usize, RankedCandidate)| {
            let item = self.item(*gathered.slots.get(ranked.candidate)?)?;
            let shown = ranked.best_chunk.filter(|_| rank < SHOWN);
            let best_chunk = shown.and_then(|index| item.text_of(index));
            let (with_before, respelled) = (query.before.is_some(), !query.put_right.is_empty());
            let before_place = query.before_place.filter(|place| *place > 1);
            let scores = Scores { with_before, before_place, respelled, ..ranked.scores };
            let put_right = query.put_right.clone();
            Some(Pick { item: item.entry.item.clone(), scores, best_chunk, put_right })
        };
        ranked.into_iter().enumerate().filter_map(pick).collect()
    }

    fn score<'a>(
        &'a self,
        query: &SearchQuery<'a>,
        gathered: &'a GatheredCandidates,
    ) -> Option<ScoredGroup<'a>> {
        ScoredGroup::new(self.evidence(query, gathered))
    }

    /// Gathers candidates with their cosines.
    fn gather(&self, query: &SearchQuery<'_>, slots: Vec<u32>) -> GatheredCandidates {
        let rows = self.rows(&slots);
        let cosines = self.cosines(query, &rows);
        self.gathered(slots, cosines)
    }

    /// The same for several lists of candidates. All vectors are scanned for any list that is not
    /// short, so they are scanned once for all lists.
    fn gather_each(
        &self,
        query: &SearchQuery<'_>,
        lists: Vec<Vec<u32>>,
    ) -> Vec<GatheredCandidates> {
        let rows: Vec<Vec<ChunkRow>> = lists.iter().map(|slots| self.rows(slots)).collect();
        // A list that waits for a vector goes by words, and the others need not.
        let is_complete =
            |rows: &&Vec<ChunkRow>| rows.iter().all(|row| self.chunks.has_vector(*row));
        let complete: Vec<ChunkRow> = rows.iter().filter(is_complete).flatten().copied().collect();
        let cosines = self.cosines(query, &complete);
        let mut end = 0;
        let lists = lists.into_iter().zip(&rows).map(|(slots, rows)| {
            let cosines = cosines.as_ref().filter(|_| is_complete(&rows)).map(|of_texts| {
                let start = end;
                end += rows.len();
                of_texts.iter().map(|cosines| cosines[start..end].to_vec()).collect()
            });
            self.gathered(slots, cosines)
        });
        lists.collect()
    }

    /// The cosines of each text of a query with chunks, where each has its vector.
    fn cosines(&self, query: &SearchQuery<'_>, rows: &[ChunkRow]) -> Option<Vec<Vec<f32>>> {
        let VectorSpace { correction, scale, .. } = &self.space;
        let cosines = |text: QueryText<'_>| {
            let mut cosines = self.chunks.cosines(&correction.apply(text.embedding?), rows)?;
            if *scale != CosineScale::BUILT_IN {
                cosines.iter_mut().for_each(|cosine| *cosine = scale.to_built_in(*cosine));
            }
            Some(cosines)
        };
        query.texts().map(cosines).collect()
    }

    fn gathered(&self, slots: Vec<u32>, cosines: Option<Vec<Vec<f32>>>) -> GatheredCandidates {
        let places = self.places(&slots);
        let mut end = 0;
        let candidates = slots.iter().map(|slot| {
            let summary = &self.summaries[*slot as usize];
            let start = end;
            end += summary.pieces as usize;
            Candidate {
                slot: *slot,
                kind: summary.kind,
                pieces: start..end,
                previous: place_of(summary.previous, &places),
                next: place_of(summary.next, &places),
            }
        });
        let candidates = candidates.collect();
        GatheredCandidates { slots, candidates, cosines }
    }

    /// What speaks for each candidate.
    fn evidence<'a>(
        &'a self,
        query: &SearchQuery<'a>,
        gathered: &'a GatheredCandidates,
    ) -> Evidence<'a> {
        let name = |place: usize| {
            let item = gathered.slots.get(place).and_then(|slot| self.item(*slot));
            item.map_or("", |item| &*item.entry.item.name)
        };
        let text = |(place, text): (usize, QueryText<'a>)| TextEvidence {
            text: text.text,
            cosines: gathered.cosines.as_ref().map(|of_texts| &*of_texts[place]),
        };
        let mut texts = query.texts().enumerate().map(text);
        let whole = TextEvidence { text: query.whole.text, cosines: None };
        let whole = texts.next().unwrap_or(whole);
        Evidence {
            lexicon: &self.lexicon,
            embedding: query.whole.embedding,
            directions: self.space.directions,
            whole,
            before: query.before.and_then(|_| texts.next()),
            parts: texts.collect(),
            candidates: &gathered.candidates,
            name: Box::new(name),
        }
    }

    /// The chunks of all pieces of candidates.
    fn rows(&self, found: &[u32]) -> Vec<ChunkRow> {
        let mut rows = Vec::with_capacity(found.len());
        for slot in found {
            let summary = &self.summaries[*slot as usize];
            if summary.pieces > 0 {
                rows.push(summary.first);
            }
            if summary.pieces > 1
                && let Some(item) = self.item(*slot)
            {
                rows.extend(item.pieces[1..].iter().map(|piece| piece.row));
            }
        }
        rows
    }

    /// Candidates with their slots, in the order of the entries.
    fn candidates(
        &self,
        is_candidate: impl Fn(&ItemId) -> bool,
    ) -> impl Iterator<Item = (u32, &IndexedItem)> {
        let items = self.order.iter().filter_map(|slot| Some((*slot, self.item(*slot)?)));
        items.filter(move |(_, item)| is_candidate(&item.entry.item))
    }

    /// Where in a list of candidates each slot stands.
    fn places(&self, candidates: &[u32]) -> Vec<u32> {
        let mut places = vec![NOWHERE; self.items.len()];
        for (place, slot) in candidates.iter().enumerate() {
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

    fn item(&self, slot: u32) -> Option<&IndexedItem> {
        self.items.get(slot as usize)?.as_ref()
    }

    fn item_mut(&mut self, slot: u32) -> Option<&mut IndexedItem> {
        self.items.get_mut(slot as usize)?.as_mut()
    }

    /// Indexes an entry, in the place of what its item was before.
    fn upsert(&mut self, known: Option<u32>, entry: SearchEntry) -> u32 {
        let slot = known.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.items.push(None);
            self.summaries.push(SlotSummary::FREE);
            (self.items.len() - 1) as u32
        });
        self.slots.insert(entry.item.clone(), slot);
        let item = IndexedItem::new(entry, &mut self.chunks);
        if let Some(before) = self.items[slot as usize].take() {
            self.lexicon.remove(slot);
            self.vocabulary.remove(slot, &before.fields());
            before.release(&mut self.chunks);
        }
        self.lexicon.add(slot, &item.fields());
        self.vocabulary.add(slot, &item.fields());
        self.summaries[slot as usize] = SlotSummary::from_item(&item);
        self.items[slot as usize] = Some(item);
        slot
    }

    fn remove(&mut self, slot: u32) {
        if let Some(item) = self.items[slot as usize].take() {
            self.slots.remove(&item.entry.item);
            self.summaries[slot as usize] = SlotSummary::FREE;
            self.lexicon.remove(slot);
            self.vocabulary.remove(slot, &item.fields());
            item.release(&mut self.chunks);
            self.free.push(slot);
        }
    }

    /// Finds out anew what follows what.
    fn link_threads(&mut self) {
        self.threads.clear();
        self.ends.clear();
        for place in 0..self.order.len() {
            self.link(self.order[place]);
        }
    }

    /// Puts an item at the end of its thread.
    fn link(&mut self, slot: u32) {
        let name = self.item(slot).and_then(|item| item.entry.thread.clone());
        let summary = &mut self.summaries[slot as usize];
        (summary.thread, summary.previous, summary.next) = (NOWHERE, NOWHERE, NOWHERE);
        let Some(name) = name else { return };
        let thread = *self.threads.entry(name).or_insert(self.ends.len() as u32);
        summary.thread = thread;
        if let Some(end) = self.ends.get_mut(thread as usize) {
            summary.previous = std::mem::replace(end, slot);
            let previous = summary.previous;
            self.summaries[previous as usize].next = slot;
        } else {
            self.ends.push(slot);
        }
    }
}

impl fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, chunks, vectors) = (self.len(), self.chunk_count(), self.vector_count());
        write!(f, "SearchIndex({items} items, {chunks} chunks, {vectors} vectors)")
    }
}

fn place_of(slot: u32, places: &[u32]) -> Option<usize> {
    let place = *places.get(slot as usize)?;
    (place != NOWHERE).then_some(place as usize)
}
