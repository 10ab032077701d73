//! What an agent remembers beyond a session: the entries of its memory files, and
//! what was said in past sessions.
//!
//! For a turn, entries are ranked by what was said ([`AgentMemories::rank`]); whoever asks
//! outright gets past messages, too ([`AgentMemories::recall`]). Who may see what is decided
//! by `recto_context`, where files are read and where sessions are chosen, and nowhere
//! in between.

mod keeping;
mod one_fact;
mod past_messages;
mod recall;
mod tools;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use jiff::{Timestamp, Zoned};
use parking_lot::Mutex;
use recto_context::mode::words;
use recto_context::{
    AlikeItem, Audience, ContentHash, ContextLimits, ItemId, Memory, MemoryPool, MemorySnapshot,
    MessageId, Pick, Scores, TokenCounter, choose_snapshot, memories_fit, memory_fingerprint,
    recency_weight,
};
use recto_search::{
    ChoiceOptions, DuplicatePick, GroupChoice, SearchEntry, SearchIndex, SearchMessage,
    SearchOptions, SearchQuery, UseEvidence, best_probability,
};
use recto_store::Store;
use recto_workspace::{Horizon, MemoryFiles, MemoryView};

use crate::search::{
    IndexContent, IsCandidate, RankingBasis, SearchPatience, SearchScope, Searcher, is_dense,
};
use past_messages::PastMessages;

pub use keeping::MemoryEdit;
pub(crate) use one_fact::keeps_wish;
pub use past_messages::KnownMessages;
pub use recall::{RecallOutcome, RecallQuery, RecalledContent, Recollection};
pub use tools::{RememberError, memory_tools, runnable_tools};
pub(crate) use tools::{RememberRequest, recalled_memories};

/// From which cosine on two entries say the same.
const SAME: f32 = 0.92;

/// How many of the best are looked at for entries that say the same.
const COMPARED: usize = 40;

/// How many are ranked before their age counts: it takes half of a probability at
/// most, so nobody further behind could come to the front.
const RANKED: usize = 200;

/// The memories of an agent: the entries of its files, and past sessions. Cheap to
/// clone.
#[derive(Clone)]
pub struct AgentMemories(Arc<MemoriesState>);

/// What the clones of an agent's memories share.
struct MemoriesState {
    agent: Arc<str>,
    files: MemoryFiles,
    searcher: Searcher,
    /// What the index is to hold, made of what was last read.
    entries: SingleCache<[Memory], Arc<[SearchEntry]>>,
    /// The digest of the view that was last asked for.
    digest: SingleCache<MemoryView, Arc<ViewDigest>>,
    /// What was said, where there is a store that has it.
    past: Option<PastMessages>,
}

/// What is worked out once for a view.
struct ViewDigest {
    /// Since when each memory is known.
    since: HashMap<ItemId, Option<i64>>,
    fingerprint: ContentHash,
}

/// The limits and the page that memories are chosen for.
#[derive(Debug, Clone, Copy)]
pub struct MemoryCriteria<'a> {
    /// How many may stand on the page.
    pub limits: &'a ContextLimits,
    /// How many may be recalled.
    pub options: &'a SearchOptions,
    /// How their tokens are counted.
    pub counter: &'a TokenCounter<'a>,
    /// The first message that is still on the page.
    pub history_from: MessageId,
    /// What the person used before in messages like this one.
    pub uses: &'a UseEvidence,
    /// How long vectors are waited for.
    pub patience: SearchPatience,
}

/// Memories in their order for a message.
#[derive(Debug, Default)]
pub struct MemoryRanking {
    /// The memories that fit, the best first.
    pub best: Vec<Pick>,
    /// Those that say what a better one says.
    pub duplicates: Vec<DuplicatePick>,
}

impl MemoryRanking {
    /// The entries of an index for a message, best first by what search says of each times what
    /// its age leaves of that; of those that say the same, the best one. `known_since` has those
    /// that are candidates.
    pub fn of_entries(
        index: &SearchIndex,
        query: &SearchQuery<'_>,
        known_since: &HashMap<ItemId, Option<i64>>,
        now: Timestamp,
    ) -> MemoryRanking {
        let ranked = index.rank_best(query, |id| known_since.contains_key(id), RANKED);
        let since = |pick: &Pick| known_since.get(&pick.item).copied().flatten();
        let dated = |pick: Pick| DatedPick { since: since(&pick), pick, what: () };
        let mut ranked: Vec<DatedPick<()>> = ranked.into_iter().map(dated).collect();
        sort_by_age(&mut ranked, now);
        let ranked = ranked.into_iter().map(|dated| dated.pick).collect();
        let (best, duplicates) = drop_duplicates(index, ranked);
        MemoryRanking { best, duplicates }
    }

    /// How many of them a turn takes. However close: what is remembered comes in small numbers.
    pub fn options(options: &SearchOptions) -> ChoiceOptions {
        ChoiceOptions { include_score: f32::INFINITY, ..options.memories }
    }
}

/// Memories that were chosen.
#[derive(Debug)]
pub struct ChosenMemories {
    /// What stands on the page.
    pub snapshot: MemorySnapshot,
    /// What is recalled beside it, and what is not.
    pub choice: GroupChoice,
    /// What is not recalled, because it says what a better one says.
    pub alike: Vec<AlikeItem>,
    /// The probability of the best of all, wherever it stands.
    pub best: f32,
    /// What the ranking rests on, where there was one.
    pub how: Option<RankingBasis>,
}

impl fmt::Debug for AgentMemories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentMemories").field("agent", &self.0.agent).finish_non_exhaustive()
    }
}

impl AgentMemories {
    /// The memories of an agent: those of its files, and what was said in the sessions of
    /// a store, if there is one.
    pub fn new(
        agent: &Arc<str>,
        files: MemoryFiles,
        searcher: &Searcher,
        store: Option<Store>,
    ) -> Self {
        AgentMemories(Arc::new(MemoriesState {
            agent: agent.clone(),
            files,
            searcher: searcher.sibling("memories"),
            entries: Mutex::default(),
            digest: Mutex::default(),
            past: store.map(|store| PastMessages::new(agent, store, searcher.sibling("messages"))),
        }))
    }

    /// The files that hold the memories.
    pub fn files(&self) -> &MemoryFiles {
        &self.0.files
    }

    /// The agent's owner, in private and in no conversation.
    pub fn owner(&self) -> Audience {
        Audience::owner(self.0.agent.clone())
    }

    /// Reads the memories that may stand on a page by themselves: all entries but those of daily
    /// notes that are too old.
    pub async fn read_for_page(&self, audience: &Audience) -> Arc<MemoryView> {
        self.files().read(audience, Horizon::Recent(Zoned::now().date())).await
    }

    /// Chooses memories for a message among those that may be seen: what stands on the page, and what is
    /// recalled beside it. Where everything fits on the page, nothing is searched.
    pub async fn choose(
        &self,
        view: &Arc<MemoryView>,
        message: &SearchMessage,
        before: Option<MemorySnapshot>,
        criteria: &MemoryCriteria<'_>,
    ) -> ChosenMemories {
        let MemoryCriteria { limits, options, counter, history_from, uses, patience } = *criteria;
        let few = MemoryRanking::options(options);
        let all_fit = memories_fit(&view.memories, limits, counter);
        let nothing = !options.enabled || limits.memory_entries == 0;
        let texts = view.memories.iter().map(|memory| &*memory.text);
        let (ranking, how) = if nothing || all_fit || !asks_for_memories(message.whole(), texts) {
            (MemoryRanking::default(), None)
        } else {
            let now = Timestamp::now();
            let (ranking, how) = self.rank(view, message, now, patience).await;
            (ranking, Some(how))
        };
        let MemoryRanking { best: mut ranked, duplicates } = ranking;
        uses.raise(&mut ranked);
        let best = best_probability(&ranked);
        let recalled = GroupChoice::among(ranked.iter().cloned(), &few).taken;
        let pool = MemoryPool {
            memories: &view.memories,
            fingerprint: self.digest(view).fingerprint,
            ranked: &ranked,
            recalled: &recalled,
            history_from,
        };
        let snapshot = choose_snapshot(before, &pool, limits, counter);
        let on_page: HashSet<&ItemId> = snapshot.entries.iter().map(|entry| &entry.item).collect();
        let beyond = ranked.into_iter().filter(|pick| !on_page.contains(&pick.item));
        let choice = GroupChoice::among(beyond, &few);
        let left = duplicates.into_iter().filter(|double| !on_page.contains(&double.pick.item));
        let alike = left.map(|double| AlikeItem {
            item: double.pick.item,
            of: double.of,
            cosine: double.cosine,
        });
        let alike = alike.collect();
        ChosenMemories { snapshot, choice, alike, best, how }
    }

    /// The entries of a view for a message, in the order of [`MemoryRanking::of_entries`].
    pub(crate) async fn rank(
        &self,
        view: &Arc<MemoryView>,
        query: &SearchMessage,
        now: Timestamp,
        patience: SearchPatience,
    ) -> (MemoryRanking, RankingBasis) {
        let digest = self.digest(view);
        let known = digest.clone();
        let is_candidate: IsCandidate = Arc::new(move |id| known.since.contains_key(id));
        let judge = move |index: &SearchIndex, query: &SearchQuery<'_>| {
            let ranking = MemoryRanking::of_entries(index, query, &digest.since, now);
            let dense = ranking.best.first().is_none_or(is_dense);
            (ranking, dense)
        };
        let content = IndexContent::Exactly(self.entries(&view.everything));
        let scope = SearchScope::candidates(is_candidate);
        self.0.searcher.query_index(content, query, scope, patience, judge).await
    }

    /// What is known of a view; the same as before while nothing changed.
    fn digest(&self, view: &Arc<MemoryView>) -> Arc<ViewDigest> {
        get_or_make(&self.0.digest, view, || {
            let since = view.memories.iter().map(|memory| (memory.id(), memory.added)).collect();
            Arc::new(ViewDigest { since, fingerprint: memory_fingerprint(&view.memories) })
        })
    }

    /// Memories as search sees them; the same as before while nothing changed.
    fn entries(&self, memories: &Arc<[Memory]>) -> Arc<[SearchEntry]> {
        get_or_make(&self.0.entries, memories, || {
            memories.iter().map(SearchEntry::memory).collect()
        })
    }
}

/// The last key, and what was made of it.
type SingleCache<K, T> = Mutex<Option<(Arc<K>, T)>>;

/// Gives what is made of a key: the same as before while the key is the same.
fn get_or_make<K: ?Sized, T: Clone>(
    cache: &SingleCache<K, T>,
    key: &Arc<K>,
    make: impl FnOnce() -> T,
) -> T {
    let mut cache = cache.lock();
    match &*cache {
        Some((known, made)) if Arc::ptr_eq(known, key) => made.clone(),
        _ => cache.insert((key.clone(), make())).1.clone(),
    }
}

/// Whether a message can find anything among memories with these texts. Greetings and thanks ask
/// for nothing. "Send it" finds what speaks of sending; mostly nothing does, and then nobody waits
/// until all memories are indexed. Words of two letters are in everything.
pub fn asks_for_memories<'a>(message: &str, texts: impl IntoIterator<Item = &'a str>) -> bool {
    let each_word = |text| str::split(text, |c: char| !c.is_alphanumeric());
    let typed: Vec<&str> = each_word(message).filter(|word| word.len() > 2).collect();
    let is_typed = |word: &str| typed.iter().any(|other| other.eq_ignore_ascii_case(word));
    let speaks = || texts.into_iter().any(|text| each_word(text).any(is_typed));
    !words::names_nothing(message) || (!words::is_courtesy(message) && speaks())
}

/// A pick with the time since when it is known, and what it stands for.
struct DatedPick<T> {
    pick: Pick,
    since: Option<i64>,
    what: T,
}

/// Puts first what is probable and new; of equals the newest. Age decides what comes first, and not
/// whether it fits: what was said long ago is as true as it was.
fn sort_by_age<T>(found: &mut [DatedPick<T>], now: Timestamp) {
    for DatedPick { pick, since, .. } in &mut *found {
        pick.scores.recency = Some(recency_weight(*since, now.as_second()));
    }
    let standing = |found: &DatedPick<T>| {
        let Scores { probability, recency, .. } = found.pick.scores;
        probability.unwrap_or(0.0) * recency.unwrap_or(1.0)
    };
    found.sort_by(|a, b| standing(b).total_cmp(&standing(a)).then_with(|| b.since.cmp(&a.since)));
    for (rank, found) in found.iter_mut().enumerate() {
        found.pick.scores.rank = u32::try_from(rank + 1).ok();
    }
}

/// Keeps the first of entries that say the same, and gives the others apart.
fn drop_duplicates(index: &SearchIndex, picks: Vec<Pick>) -> (Vec<Pick>, Vec<DuplicatePick>) {
    index.without_duplicates(picks, SAME, COMPARED)
}

#[cfg(test)]
mod tests {
    use recto_context::ItemKind;

    use super::*;

    #[test]
    fn age_says_what_comes_first_and_not_what_fits() {
        let dated = |name: &str, probability, since| {
            let item = ItemId::new(ItemKind::Memory, name);
            let scores = Scores { probability: Some(probability), ..Scores::default() };
            DatedPick { pick: Pick::new(item, scores), since, what: () }
        };
        let now = Timestamp::now();
        let mut found = [dated("old", 0.7, Some(0)), dated("new", 0.6, Some(now.as_second()))];
        sort_by_age(&mut found, now);
        let told = found.map(|DatedPick { pick: Pick { item, scores, .. }, .. }| {
            (item.name.to_string(), scores.probability, scores.recency, scores.rank)
        });
        let row = |name: &str, probability, recency, rank| {
            (name.to_owned(), Some(probability), Some(recency), Some(rank))
        };
        assert_eq!(told, [row("new", 0.6, 1.0, 1), row("old", 0.7, 0.5, 2)]);
    }
}
