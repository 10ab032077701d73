//! What an agent remembers beyond a session: the entries of its memory files, and
//! what was said in past sessions.
//!
//! For a turn, entries are ranked by what was said ([`Memories::rank`]); whoever asks
//! outright gets past messages, too ([`Memories::recall`]). Who may see what is decided
//! by `recto_context`, where files are read and where sessions are chosen, and nowhere
//! in between.

mod past;
mod recall;
mod tools;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use recto_context::{
    Audience, Counter, ItemId, Limits, Memory, Pick, Pool, Snapshot, Who, choose_snapshot,
    fit_whole, recency,
};
use recto_search::{Choice, ChoiceOptions, Entry, Index, Query, SearchOptions};
use recto_store::Store;
use recto_workspace::{MemoryFiles, View};

use crate::search::{Holding, How, IsCandidate, Patience, Searcher, is_dense};
use crate::shared::lock;
use past::Past;

pub use past::Besides;
pub use recall::{Recall, Recalled, Recollection, Remembered};
pub(crate) use tools::Wish;
pub use tools::{RememberError, memory_tools, runnable_tools};

/// The id of the owner among people.
pub(crate) const OWNER: &str = "owner";

/// From which cosine on two entries say the same.
const SAME: f32 = 0.92;

/// How many of the best are looked at for entries that say the same.
const COMPARED: usize = 40;

/// How many are ranked before their age counts: it takes half of a probability at
/// most, so nobody further behind could come to the front.
const RANKED: usize = 200;

/// What an agent remembers. Cheap to clone.
#[derive(Clone)]
pub struct Memories(Arc<Inner>);

struct Inner {
    agent: Arc<str>,
    files: MemoryFiles,
    searcher: Searcher,
    /// What the index is to hold, made of what was last read.
    entries: Mutex<Option<Held>>,
    /// What was said, where there is a store that has it.
    past: Option<Past>,
}

struct Held {
    memories: Arc<[Memory]>,
    entries: Arc<[Entry]>,
}

/// What memories are chosen by.
#[derive(Debug, Clone, Copy)]
pub struct Choosing<'a> {
    /// How many may stand on the page.
    pub limits: &'a Limits,
    /// How many may be recalled.
    pub options: &'a SearchOptions,
    /// How their tokens are counted.
    pub counter: &'a Counter<'a>,
}

/// Memories that were chosen.
#[derive(Debug)]
pub struct Chosen {
    /// What stands on the page.
    pub snapshot: Snapshot,
    /// What is recalled beside it, and what is not.
    pub choice: Choice,
    /// What the ranking rests on, where there was one.
    pub how: Option<How>,
}

impl fmt::Debug for Memories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memories").field("agent", &self.0.agent).finish_non_exhaustive()
    }
}

impl Memories {
    /// What an agent remembers in its files, and in the sessions of a store, if there
    /// is one.
    pub fn new(
        agent: &Arc<str>,
        files: MemoryFiles,
        searcher: &Searcher,
        store: Option<Store>,
    ) -> Self {
        Memories(Arc::new(Inner {
            agent: agent.clone(),
            files,
            searcher: searcher.beside("memories"),
            entries: Mutex::default(),
            past: store.map(|store| Past::new(agent, store, searcher.beside("messages"))),
        }))
    }

    /// The files.
    pub fn files(&self) -> &MemoryFiles {
        &self.0.files
    }

    /// The agent's owner, in private and in no conversation.
    pub fn owner(&self) -> Audience {
        owner(&self.0.agent)
    }

    /// Chooses of what may be seen for a message: what stands on the page, and what is
    /// recalled beside it. Where everything fits on the page, nothing is searched.
    pub async fn choose(
        &self,
        view: &View,
        message: &str,
        before: Option<Snapshot>,
        by: &Choosing<'_>,
    ) -> Chosen {
        let Choosing { limits, options, counter } = *by;
        // However close: what is remembered comes in small numbers.
        let few = ChoiceOptions { include_score: f32::INFINITY, ..options.memories };
        let all_fit = fit_whole(&view.memories, limits, counter);
        let nothing = !options.enabled || limits.memory_entries == 0;
        let (ranked, how) = if nothing || all_fit || message.trim().is_empty() {
            (Vec::new(), None)
        } else {
            let now = Timestamp::now();
            let (ranked, how) = self.rank(view, message, now, Patience::OneSecond).await;
            (ranked, Some(how))
        };
        let recalled = Choice::among(ranked.iter().cloned(), &few).taken;
        let pool = Pool { memories: &view.memories, ranked: &ranked, recalled: &recalled };
        let snapshot = choose_snapshot(before, &pool, limits, counter);
        let on_page: HashSet<&ItemId> = snapshot.entries.iter().map(|entry| &entry.item).collect();
        let beyond = ranked.into_iter().filter(|pick| !on_page.contains(&pick.item));
        let choice = Choice::among(beyond, &few);
        Chosen { snapshot, choice, how }
    }

    /// The entries of a view for a message, best first: what search says of each,
    /// times what its age leaves of it; of those that say the same, the best one.
    pub(crate) async fn rank(
        &self,
        view: &View,
        query: &str,
        now: Timestamp,
        patience: Patience,
    ) -> (Vec<Pick>, How) {
        let added: HashMap<ItemId, Option<i64>> =
            view.memories.iter().map(|memory| (memory.id(), memory.added)).collect();
        let added = Arc::new(added);
        let known = added.clone();
        let is_candidate: IsCandidate = Arc::new(move |id| known.contains_key(id));
        let judge = move |index: &Index, query: &Query<'_>| {
            let ranked = index.rank_best(query, |id| added.contains_key(id), RANKED);
            let dense = ranked.first().is_none_or(is_dense);
            let added = |id: &ItemId| added.get(id).copied().flatten();
            (distinct(index, by_age(ranked, added, now)), dense)
        };
        let holding = Holding::Exactly(self.entries(&view.everything));
        self.0.searcher.ask(holding, query, is_candidate, patience, judge).await
    }

    /// Memories as search sees them; the same as before while nothing changed.
    fn entries(&self, memories: &Arc<[Memory]>) -> Arc<[Entry]> {
        let mut held = lock(&self.0.entries);
        match &*held {
            Some(held) if Arc::ptr_eq(&held.memories, memories) => held.entries.clone(),
            _ => {
                let entries: Arc<[Entry]> = memories.iter().map(Entry::memory).collect();
                *held = Some(Held { memories: memories.clone(), entries: entries.clone() });
                entries
            }
        }
    }
}

/// The agent's owner, in private and in no conversation.
pub(crate) fn owner(agent: &Arc<str>) -> Audience {
    Audience {
        who: Who::Owner,
        person: Some(OWNER.into()),
        conversation: None,
        agent: Some(agent.clone()),
    }
}

/// Lets age count, and puts what is then best first; of equals the newest.
fn by_age(
    mut picks: Vec<Pick>,
    added: impl Fn(&ItemId) -> Option<i64>,
    now: Timestamp,
) -> Vec<Pick> {
    for pick in &mut picks {
        let recency = recency(added(&pick.item), now.as_second());
        pick.scores.recency = Some(recency);
        pick.scores.probability = pick.scores.probability.map(|found| found * recency);
    }
    let probability = |pick: &Pick| pick.scores.probability.unwrap_or(0.0);
    picks.sort_by(|a, b| {
        let newest = || added(&b.item).cmp(&added(&a.item));
        probability(b).total_cmp(&probability(a)).then_with(newest)
    });
    for (rank, pick) in picks.iter_mut().enumerate() {
        pick.scores.rank = u32::try_from(rank + 1).ok();
    }
    picks
}

/// Of entries that say the same, the first.
fn distinct(index: &Index, picks: Vec<Pick>) -> Vec<Pick> {
    index.without_doubles(picks, SAME, COMPARED).0
}
