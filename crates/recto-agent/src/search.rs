//! Search in the service of turns: an index that follows the catalog, an encoder
//! that is loaded on first need, and vectors that are computed once and kept in
//! the store.
//!
//! No failure in here fails a turn. Where vectors are not to be had, or not yet,
//! the words decide, and the answer says why.

mod encoder;
mod vectors;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};
use recto_context::mode::words;
use recto_context::{ItemId, Pick, Remedy};
use recto_search::{
    Embedding, Encoder, EncoderSource, ItemGroup, RankedGroups, SaidBefore, SearchEntry,
    SearchIndex, SearchMessage, SearchOptions, SearchQuery,
};
use recto_store::Store;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use encoder::LazyEncoder;
use vectors::VectorCache;

/// How long a reply may wait for an index and for vectors, and how long for the
/// ranking itself: together a second.
const PREPARE_WAIT: Duration = Duration::from_millis(800);
const RANK_WAIT: Duration = Duration::from_millis(200);

/// From how many texts on their embedding takes longer than a reply waits, and how
/// long it waits then.
const MANY_MISSING: usize = 400;
const BRIEF_WAIT: Duration = Duration::from_millis(50);

/// So many entries are looked through for words within some tens of microseconds.
const FEW_ENTRIES: usize = 100;

/// How much of a query is read: what comes later could hardly change what it asks.
const MOST_QUERY: usize = 64 << 10;

/// The parts of an agent's search.
#[derive(Debug, Clone, Default)]
pub struct SearchParts {
    /// How much a turn takes.
    pub options: SearchOptions,
    /// The encoder, which other agents may share.
    pub encoder: Option<Arc<LazyEncoder>>,
}

/// How long a search may wait until everything has its vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchPatience {
    /// Not longer than a turn can.
    OneSecond,
    /// As long as it takes.
    UntilDone,
}

/// How far the embedding of texts is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmbeddingProgress {
    /// Texts that have their vector.
    pub done: usize,
    /// Texts that need one.
    pub total: usize,
}

/// All candidates in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedItems {
    /// Best first, for each group that has candidates.
    pub groups: RankedGroups,
    /// What the order rests on.
    pub how: RankingBasis,
}

/// The basis of a ranking: meaning and words, or words alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankingBasis {
    /// Meaning and words together, by the built-in encoder.
    Dense,
    /// The same, by the encoder of this name.
    DenseBy(String),
    /// Words alone, for this reason.
    Words(WordsOnlyReason),
}

/// The reason why words alone decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say it")]
pub enum WordsOnlyReason {
    /// There is no embedding model.
    NoModel,
    /// There is one, and it can't be used.
    Unusable {
        problem: String,
        hint: String,
        #[serde(default)]
        remedy: Option<Remedy>,
    },
    /// The message is a greeting, thanks or a nod. Whoever says one does not wait for an
    /// encoder to be loaded.
    NothingNamed,
    /// So many of the texts have their vector, and not all yet.
    NotReady { done: usize, total: usize },
    /// Something in the search itself is broken.
    Failed,
}

impl RankingBasis {
    fn dense(encoder: &Encoder) -> RankingBasis {
        match encoder.is_built_in() {
            true => RankingBasis::Dense,
            false => RankingBasis::DenseBy(encoder.name().to_string()),
        }
    }

    /// Whether meaning counts.
    pub fn is_dense(&self) -> bool {
        matches!(self, RankingBasis::Dense | RankingBasis::DenseBy(_))
    }

    /// What Recto can do so that meaning counts too.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            RankingBasis::Dense | RankingBasis::DenseBy(_) => None,
            RankingBasis::Words(why) => why.remedy(),
        }
    }
}

impl WordsOnlyReason {
    pub(crate) fn remedy(&self) -> Option<Remedy> {
        match self {
            WordsOnlyReason::NoModel => Some(Remedy::PullEncoder),
            WordsOnlyReason::Unusable { remedy, .. } => remedy.clone(),
            WordsOnlyReason::NothingNamed
            | WordsOnlyReason::NotReady { .. }
            | WordsOnlyReason::Failed => None,
        }
    }
}

impl fmt::Display for RankingBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankingBasis::Dense => write!(f, "by meaning and words ({})", Encoder::NAME),
            RankingBasis::DenseBy(encoder) => write!(f, "by meaning and words ({encoder})"),
            RankingBasis::Words(why) => write!(f, "by words alone: {why}"),
        }
    }
}

impl fmt::Display for WordsOnlyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WordsOnlyReason::NoModel => f.write_str("there is no embedding model"),
            WordsOnlyReason::Unusable { problem, hint, .. } => write!(f, "{problem} ({hint})"),
            WordsOnlyReason::NothingNamed => f.write_str("the message names nothing to look for"),
            WordsOnlyReason::NotReady { total: 0, .. } => f.write_str("items are still being read"),
            WordsOnlyReason::NotReady { done, total } => {
                write!(f, "{done} of {total} texts are embedded so far")
            }
            WordsOnlyReason::Failed => f.write_str("the search failed (please report it)"),
        }
    }
}

/// Whether a query is worth its embedding. A turn does without where nothing is named;
/// who searches on purpose gets what was asked for.
fn is_worth_it(query: &SearchMessage, patience: SearchPatience) -> bool {
    patience == SearchPatience::UntilDone || !words::names_nothing(query.whole())
}

/// Reads a message as it is searched for, with what the same person said before it. What is
/// longer than anybody reads is read as far as that.
pub fn search_message(message: &str, before: Option<&SaidBefore>) -> SearchMessage {
    SearchMessage::with_before(as_far_as_read(message), before)
}

/// The beginning of a text, as far as a search reads it.
pub(crate) fn as_far_as_read(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_QUERY)]
}

/// Whether an item is to be ranked.
pub type IsCandidate = Arc<dyn Fn(&ItemId) -> bool + Send + Sync>;

/// What of an index a search has to do with.
#[derive(Clone)]
pub(crate) struct SearchScope {
    /// What gets its vectors before anything is ranked.
    pub(crate) embedded: IsCandidate,
    /// By the words of which items misspelt ones of the message are read: of those that may be
    /// found. By none, where the message is searched for as it was typed.
    pub(crate) read_by: Option<IsCandidate>,
}

impl SearchScope {
    /// A search that ranks these, and knows of no others.
    pub(crate) fn candidates(is_candidate: IsCandidate) -> Self {
        SearchScope { embedded: is_candidate.clone(), read_by: Some(is_candidate) }
    }
}

/// The entries that an index is to hold.
pub(crate) enum IndexContent {
    /// These entries and no others.
    Exactly(Arc<[SearchEntry]>),
    /// These behind those that it holds.
    Also(Vec<SearchEntry>),
}

/// Ranks items for messages. Cheap to clone; clones share the index.
#[derive(Clone)]
pub struct Searcher(Arc<SearcherState>);

/// What the clones of a searcher share.
struct SearcherState {
    options: SearchOptions,
    /// Locked only where waiting keeps no task waiting.
    index: RwLock<SearchIndex>,
    /// What the index holds. Locked while it is made to hold something else.
    holds: Mutex<Option<Arc<[SearchEntry]>>>,
    encoder: Option<Arc<LazyEncoder>>,
    cache: VectorCache,
    /// Held while texts are embedded: one batch after the other.
    embedding: Mutex<()>,
    progress: watch::Sender<EmbeddingProgress>,
    /// Whether a person was told that the encoder can't be used.
    is_told: AtomicBool,
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Searcher {
    /// A search of an agent's items. Without a store, vectors last as long as
    /// the process.
    pub fn new(parts: SearchParts, store: Option<Store>, agent: &str) -> Searcher {
        Searcher::from_parts(parts.options, parts.encoder, VectorCache::new(store, agent, "items"))
    }

    /// A search of something else that the agent has: with the same encoder, and an
    /// index and a shelf of its own.
    pub(crate) fn sibling(&self, shelf: &str) -> Searcher {
        let SearcherState { options, encoder, cache, .. } = &*self.0;
        Searcher::from_parts(*options, encoder.clone(), cache.sibling(shelf))
    }

    /// The same for something of which the index always holds all that there is, so that the
    /// vectors of what is gone can go, too.
    pub(crate) fn whole_sibling(&self, shelf: &str) -> Searcher {
        let SearcherState { options, encoder, cache, .. } = &*self.0;
        Searcher::from_parts(*options, encoder.clone(), cache.whole_sibling(shelf))
    }

    fn from_parts(
        options: SearchOptions,
        encoder: Option<Arc<LazyEncoder>>,
        cache: VectorCache,
    ) -> Searcher {
        Searcher(Arc::new(SearcherState {
            options,
            index: RwLock::default(),
            holds: Mutex::default(),
            encoder,
            cache,
            embedding: Mutex::default(),
            progress: watch::Sender::default(),
            is_told: AtomicBool::new(false),
        }))
    }

    /// How much a turn takes, where its session says nothing else.
    pub fn options(&self) -> &SearchOptions {
        &self.0.options
    }

    /// How far the embedding of texts is, as it goes on.
    pub fn progress(&self) -> watch::Receiver<EmbeddingProgress> {
        self.0.progress.subscribe()
    }

    /// Where the encoder is loaded from, if there is to be one.
    pub(crate) fn encoder_source(&self) -> Option<&EncoderSource> {
        self.0.encoder.as_ref().map(|encoder| encoder.source())
    }

    /// The encoder, loaded if need be.
    pub(crate) async fn encoder(&self) -> Result<Encoder, WordsOnlyReason> {
        self.0.encoder.as_ref().ok_or(WordsOnlyReason::NoModel)?.get().await
    }

    /// The encoder as it was published, loaded if need be.
    pub(crate) async fn published_encoder(&self) -> Result<Encoder, WordsOnlyReason> {
        self.0.encoder.as_ref().ok_or(WordsOnlyReason::NoModel)?.get_published().await
    }

    /// Whether a person should know what a search rests on: while vectors are on
    /// their way, and once when they can't be had though there is a model.
    pub(crate) fn should_tell(&self, how: &RankingBasis) -> bool {
        match how {
            RankingBasis::Dense
            | RankingBasis::DenseBy(_)
            | RankingBasis::Words(WordsOnlyReason::NoModel | WordsOnlyReason::NothingNamed) => {
                false
            }
            RankingBasis::Words(WordsOnlyReason::NotReady { .. } | WordsOnlyReason::Failed) => true,
            RankingBasis::Words(WordsOnlyReason::Unusable { .. }) => {
                !self.0.is_told.swap(true, Ordering::Relaxed)
            }
        }
    }

    /// Ranks the entries that are candidates, as [`Searcher::search_each`] does.
    pub async fn search(
        &self,
        entries: Arc<[SearchEntry]>,
        query: &str,
        is_candidate: IsCandidate,
        patience: SearchPatience,
    ) -> RankedItems {
        let message = search_message(query, None);
        let sets = vec![is_candidate];
        let (mut rankings, how) =
            self.search_each(entries, &message, sets, usize::MAX, patience).await;
        RankedItems { groups: rankings.pop().unwrap_or_default(), how }
    }

    /// Ranks the entries of each set of candidates by themselves, and gives the first `count` of
    /// each group. `entries` is all that the agent has; what is new in it is taken in first. When
    /// time is up, what is not ready goes on in the background, and words decide, or nothing is
    /// found.
    pub(crate) async fn search_each(
        &self,
        entries: Arc<[SearchEntry]>,
        query: &SearchMessage,
        sets: Vec<IsCandidate>,
        count: usize,
        patience: SearchPatience,
    ) -> (Vec<RankedGroups>, RankingBasis) {
        let all_sets = sets.clone();
        let is_candidate: IsCandidate = Arc::new(move |id| all_sets.iter().any(|set| set(id)));
        let rank = move |index: &SearchIndex, query: &SearchQuery<'_>| {
            let sets: Vec<_> = sets.iter().map(|set| move |id: &ItemId| set(id)).collect();
            let rankings = index.rank_sets(query, &sets, count);
            // An item may have changed since its vectors were there.
            let is_first_dense =
                |(_, picks): &(ItemGroup, Vec<Pick>)| picks.first().is_none_or(is_dense);
            let dense = rankings.iter().flatten().all(is_first_dense);
            (rankings, dense)
        };
        let scope = SearchScope::candidates(is_candidate);
        self.query_index(IndexContent::Exactly(entries), query, scope, patience, rank).await
    }

    /// Makes the index hold something, gives what is in scope its vectors, and has
    /// `judge` look into it, which also says whether vectors decided. When time is up,
    /// what is not ready goes on in the background.
    pub(crate) async fn query_index<T: Default + Send + 'static>(
        &self,
        content: IndexContent,
        query: &SearchMessage,
        SearchScope { embedded, read_by }: SearchScope,
        patience: SearchPatience,
        judge: impl FnOnce(&SearchIndex, &SearchQuery<'_>) -> (T, bool) + Send + 'static,
    ) -> (T, RankingBasis) {
        let encoder = match self.ready_encoder(&content, is_worth_it(query, patience)) {
            Some(encoder) => encoder,
            None => self.prepare_in_time(content, query, embedded, patience).await,
        };
        let ranking = self.clone().rank(query.clone(), read_by, encoder, judge);
        let ranked = match patience {
            SearchPatience::UntilDone => Ok(ranking.await),
            SearchPatience::OneSecond => timeout(RANK_WAIT, ranking).await,
        };
        let nothing = |why| (T::default(), RankingBasis::Words(why));
        match ranked {
            Ok(ranked) => ranked.unwrap_or_else(|| nothing(WordsOnlyReason::Failed)),
            Err(_) => nothing(self.not_ready()),
        }
    }

    /// The encoder or why there is none, where there is nothing to prepare.
    fn ready_encoder(
        &self,
        content: &IndexContent,
        is_worth_it: bool,
    ) -> Option<Result<Encoder, WordsOnlyReason>> {
        let is_held = match content {
            IndexContent::Exactly(entries) => {
                is_same(self.0.holds.try_lock().ok()?.as_ref(), entries)
            }
            IndexContent::Also(entries) => entries.is_empty(),
        };
        let lazy = match &self.0.encoder {
            _ if !is_held => return None,
            _ if !is_worth_it => return Some(Err(WordsOnlyReason::NothingNamed)),
            None => return Some(Err(WordsOnlyReason::NoModel)),
            Some(lazy) => lazy,
        };
        let encoder = lazy.loaded()?;
        self.0.index.try_read()?.is_complete().then_some(Ok(encoder))
    }

    /// Prepares everything, as far as there is time for it.
    async fn prepare_in_time(
        &self,
        content: IndexContent,
        query: &SearchMessage,
        is_candidate: IsCandidate,
        patience: SearchPatience,
    ) -> Result<Encoder, WordsOnlyReason> {
        let is_worth_it = is_worth_it(query, patience);
        let preparing = tokio::spawn(self.clone().prepare(content, is_candidate, is_worth_it));
        let prepared = match patience {
            SearchPatience::UntilDone => Ok(preparing.await),
            SearchPatience::OneSecond => timeout(self.time_to_prepare(), preparing).await,
        };
        match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(_)) => Err(WordsOnlyReason::Failed),
            Err(_) => Err(self.not_ready()),
        }
    }

    /// How long a reply waits: not for what will not be ready in time anyway.
    fn time_to_prepare(&self) -> Duration {
        let EmbeddingProgress { done, total } = *self.0.progress.borrow();
        if total - done > MANY_MISSING { BRIEF_WAIT } else { PREPARE_WAIT }
    }

    fn not_ready(&self) -> WordsOnlyReason {
        let EmbeddingProgress { done, total } = *self.0.progress.borrow();
        WordsOnlyReason::NotReady { done, total }
    }

    /// Makes the index hold the entries, and, where that is worth it, gives the
    /// candidates their vectors.
    async fn prepare(
        self,
        content: IndexContent,
        is_candidate: IsCandidate,
        is_worth_it: bool,
    ) -> Result<Encoder, WordsOnlyReason> {
        let held = match content {
            IndexContent::Exactly(entries) => self.follow(entries).await,
            IndexContent::Also(entries) => self.extend(entries).await,
        };
        held.ok_or(WordsOnlyReason::Failed)?;
        if !is_worth_it {
            return Err(WordsOnlyReason::NothingNamed);
        }
        let encoder = self.encoder().await?;
        self.embed_missing(&encoder, is_candidate).await.ok_or(WordsOnlyReason::Failed)?;
        Ok(encoder)
    }

    /// Makes the index hold these entries, unless it does.
    async fn follow(&self, entries: Arc<[SearchEntry]>) -> Option<()> {
        let mut holds = self.0.holds.lock().await;
        if is_same(holds.as_ref(), &entries) {
            return Some(());
        }
        self.0.progress.send_replace(EmbeddingProgress::default());
        let new = entries.to_vec();
        let orphaned = self.change(move |index| index.update(new)).await?.orphaned;
        *holds = Some(entries);
        drop(holds);
        if !orphaned.is_empty() {
            tokio::spawn(self.clone().clear_away());
        }
        Some(())
    }

    /// Makes the index hold these entries, too.
    pub(crate) async fn extend(&self, entries: Vec<SearchEntry>) -> Option<()> {
        if entries.is_empty() {
            return Some(());
        }
        self.change(move |index| index.extend(entries)).await.map(drop)
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut SearchIndex) -> T + Send + 'static,
    ) -> Option<T> {
        let searcher = self.clone();
        run_blocking(move || {
            let mut index = searcher.0.index.write();
            change(&mut index)
        })
        .await
    }

    /// Looks into the index where waiting for it does no harm. By words alone, a few entries are
    /// looked through sooner than another thread is woken for it.
    async fn rank<T: Send + 'static>(
        self,
        query: SearchMessage,
        read_by: Option<IsCandidate>,
        encoder: Result<Encoder, WordsOnlyReason>,
        judge: impl FnOnce(&SearchIndex, &SearchQuery<'_>) -> (T, bool) + Send + 'static,
    ) -> Option<(T, RankingBasis)> {
        if encoder.is_err()
            && let Some(index) = self.0.index.try_read()
            && index.len() <= FEW_ENTRIES
        {
            let look = || self.rank_now(&index, &query, read_by, encoder, judge);
            return catch_unwind(AssertUnwindSafe(look)).ok();
        }
        run_blocking(move || self.rank_now(&self.index(), &query, read_by, encoder, judge)).await
    }

    fn rank_now<T>(
        &self,
        index: &SearchIndex,
        query: &SearchMessage,
        read_by: Option<IsCandidate>,
        encoder: Result<Encoder, WordsOnlyReason>,
        judge: impl FnOnce(&SearchIndex, &SearchQuery<'_>) -> (T, bool),
    ) -> (T, RankingBasis) {
        let lazy = self.0.encoder.as_ref().zip(encoder.as_ref().ok());
        let known = lazy.map(|(_, encoder)| encoder);
        let read = read_by.and_then(|is_candidate| index.read(query, known, |id| is_candidate(id)));
        let query = read.as_ref().unwrap_or(query);
        let embeddings = lazy.map(|(lazy, encoder)| lazy.embed_message(encoder, query));
        let embeddings: Vec<Embedding> = embeddings.unwrap_or_default();
        let (ranked, dense) = judge(index, &query.query(&embeddings));
        let how = match encoder {
            Ok(encoder) if dense => RankingBasis::dense(&encoder),
            Ok(_) => RankingBasis::Words(self.not_ready()),
            Err(why) => RankingBasis::Words(why),
        };
        (ranked, how)
    }

    /// The index to be read. Whoever panicked while writing left one that can be updated.
    fn index(&self) -> RwLockReadGuard<'_, SearchIndex> {
        self.0.index.read()
    }
}

fn is_same(held: Option<&Arc<[SearchEntry]>>, entries: &Arc<[SearchEntry]>) -> bool {
    held.is_some_and(|held| Arc::ptr_eq(held, entries))
}

pub(crate) fn is_dense(pick: &Pick) -> bool {
    pick.scores.cosine.is_some()
}

/// Does heavy work where it keeps no other task waiting. Nothing comes of it when
/// it panics, or when the process is about to end.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    spawn_blocking(work).await.ok()
}
