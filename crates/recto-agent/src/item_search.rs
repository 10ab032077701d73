//! Which items fit a message, how well, and what a turn would take of them.
//!
//! All items are ranked, whatever their include mode; nothing joins a session.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use recto_context::mode::words;
use recto_context::{
    Catalog, ContextLimits, IncludeMode, ItemId, ItemKind, MessageId, Pick, PinReason, Scores,
    TokenCounter,
};
use recto_search::{
    GroupChoice, ItemGroup, RankedGroups, SearchEntry, SearchMessage, SearchOptions, UseEvidence,
};
use recto_workspace::MemoryView;
use serde_json::{Value, json};

use crate::memories::{AgentMemories, ChosenMemories, MemoryCriteria};
use crate::search::{IsCandidate, RankingBasis, SearchPatience, Searcher, search_message};

/// The query of a search, and which items may answer it.
pub struct ItemSearch<'a> {
    /// What is searched for, as a message would say it.
    pub query: &'a str,
    /// Items of this kind alone.
    pub kind: Option<ItemKind>,
    /// The most items of each group.
    pub limit: Option<usize>,
    /// What whoever asks used before in messages like it.
    pub uses: &'a UseEvidence,
    /// What is remembered.
    pub remembered: MemoryShelf<'a>,
}

/// The memories that a search looks through, as a turn would.
#[derive(Clone, Copy)]
pub struct MemoryShelf<'a> {
    /// The agent's.
    pub memories: &'a AgentMemories,
    /// Those that whoever asks may see.
    pub view: &'a Arc<MemoryView>,
    /// How many stand on a page whatever the message.
    pub limits: &'a ContextLimits,
}

impl MemoryShelf<'_> {
    /// What a turn of a new session makes of them.
    async fn choose(
        &self,
        message: &SearchMessage,
        uses: &UseEvidence,
        options: &SearchOptions,
        patience: SearchPatience,
    ) -> ChosenMemories {
        let criteria = MemoryCriteria {
            limits: self.limits,
            options,
            counter: &TokenCounter::estimated(),
            history_from: MessageId::default(),
            uses,
            patience,
        };
        self.memories.choose(self.view, message, None, &criteria).await
    }
}

/// The result of a search, and how it was made.
pub struct ItemSearchReport {
    /// The most probable first.
    pub rows: Vec<ItemSearchRow>,
    /// What the order rests on.
    pub how: RankingBasis,
    /// How much a turn takes.
    pub options: SearchOptions,
}

impl ItemSearchReport {
    /// How the message was searched for, where not as it is, in words.
    pub fn describe_query(&self) -> Option<String> {
        self.rows.iter().find_map(|row| row.pick.describe_query())
    }

    /// The report as data for programs.
    pub fn json(&self, query: &str) -> Value {
        json!({
            "query": query,
            "how": self.how,
            "enabled": self.options.enabled,
            "results": self.rows.iter().map(ItemSearchRow::json).collect::<Vec<_>>(),
        })
    }
}

/// Ranks the items of a catalog, and says which of them a turn would take.
pub async fn search_items(
    searcher: &Searcher,
    catalog: &Catalog,
    asked: &ItemSearch<'_>,
    patience: SearchPatience,
) -> ItemSearchReport {
    search_items_with(searcher, catalog, asked, *searcher.options(), patience).await
}

/// Does the same for a turn that would take as much as these options say.
pub async fn search_items_with(
    searcher: &Searcher,
    catalog: &Catalog,
    asked: &ItemSearch<'_>,
    options: SearchOptions,
    patience: SearchPatience,
) -> ItemSearchReport {
    let group = asked.kind.map(ItemGroup::of_kind);
    let is_candidate: IsCandidate =
        Arc::new(move |id| group.is_none_or(|group| ItemGroup::of_kind(id.kind) == group));
    let memories = asked.remembered.view.memories.iter().map(SearchEntry::memory);
    let entries: Arc<[SearchEntry]> =
        SearchEntry::from_catalog(catalog).into_iter().chain(memories).collect();
    // A turn weighs those against each other that may come by themselves, and looks for none
    // where nothing is asked.
    let asks = !words::is_courtesy(asked.query);
    let may_come: HashSet<ItemId> = by_themselves(catalog).filter(|_| asks).collect();
    let may_come: IsCandidate = Arc::new(move |id| may_come.contains(id));
    let (sets, message) = (vec![is_candidate, may_come], search_message(asked.query, None));
    let (rankings, how) = searcher.search_each(entries, &message, sets, usize::MAX, patience).await;
    let mut rankings = rankings.into_iter();
    let mut next_ranking = || rankings.next().unwrap_or_default();
    let (ranked, of_turn) = (next_ranking(), next_ranking());
    let of_memories = asked.remembered.choose(&message, asked.uses, &options, patience).await;
    let mut of_turn = in_a_turn(of_turn, asked.uses, &options);
    of_turn.extend(memories_in_a_turn(of_memories));
    let rows = rows(ranked, &of_turn, &options, catalog, asked);
    ItemSearchReport { rows, how, options }
}

/// An item that was ranked.
pub struct ItemSearchRow {
    /// The item, with what search says of it.
    pub pick: Pick,
    /// `None` for a memory, which is in no session.
    pub include: Option<IncludeMode>,
    /// Whether a turn of a new session takes it.
    pub is_taken: bool,
    /// Whether it stands on every page of a new session, whatever the message.
    pub is_on_every_page: bool,
}

impl ItemSearchRow {
    /// The row as data for programs.
    pub fn json(&self) -> Value {
        let Pick { item, scores, best_chunk, put_right } = &self.pick;
        let mut value = json!(scores);
        value["kind"] = json!(item.kind);
        value["name"] = json!(item.name);
        value["server"] = json!(item.server);
        value["include"] = json!(self.include);
        value["taken"] = json!(self.is_taken);
        value["best_chunk"] = json!(best_chunk);
        if !put_right.is_empty() {
            value["put_right"] = json!(put_right);
        }
        value
    }

    /// Whether the item has anything in common with the query: a ranking has the others, too, and
    /// what stands on every page is taken for no query.
    pub fn has_any(&self) -> bool {
        let scores = &self.pick.scores;
        let is_brought = self.is_taken && !self.is_on_every_page;
        is_brought || scores.cosine.is_some() || scores.lexical.is_some_and(|score| score > 0.0)
    }
}

/// The items that come to a session by themselves when they fit.
fn by_themselves(catalog: &Catalog) -> impl Iterator<Item = ItemId> {
    let of_agent = catalog.items().filter(|(_, include)| *include == IncludeMode::Agent);
    of_agent.map(|(id, _)| id)
}

/// What became of items in a turn of a new session.
type TurnFates = HashMap<ItemId, TurnFate>;

struct TurnFate {
    /// Nothing for what stands on the page whatever the message.
    scores: Option<Scores>,
    is_taken: bool,
}

impl TurnFate {
    fn taken(pick: Pick) -> (ItemId, TurnFate) {
        (pick.item, TurnFate { scores: Some(pick.scores), is_taken: true })
    }

    fn left(pick: Pick) -> (ItemId, TurnFate) {
        (pick.item, TurnFate { scores: Some(pick.scores), is_taken: false })
    }
}

fn in_a_turn(ranked: RankedGroups, uses: &UseEvidence, options: &SearchOptions) -> TurnFates {
    let of_group = |(group, mut picks): (ItemGroup, Vec<Pick>)| {
        uses.raise(&mut picks);
        let GroupChoice { taken, left } = GroupChoice::among(picks, options.for_group(group));
        taken.into_iter().map(TurnFate::taken).chain(left.into_iter().map(TurnFate::left))
    };
    ranked.into_iter().flat_map(of_group).collect()
}

/// The same for memories, whose age counts: those that are recalled, and those of the snapshot,
/// most of which stands on the page whatever the message.
fn memories_in_a_turn(chosen: ChosenMemories) -> TurnFates {
    let GroupChoice { taken, left } = chosen.choice;
    let on_page = chosen.snapshot.entries.into_iter().map(|entry| {
        // With another first message, a session begins without those that fit this one.
        let scores = entry.scores.filter(|_| entry.why == PinReason::Fits);
        (entry.item, TurnFate { scores, is_taken: true })
    });
    let left = left.into_iter().map(TurnFate::left);
    left.chain(taken.into_iter().map(TurnFate::taken)).chain(on_page).collect()
}

/// The best of each group, the most probable first.
fn rows(
    ranked: RankedGroups,
    in_a_turn: &TurnFates,
    options: &SearchOptions,
    catalog: &Catalog,
    asked: &ItemSearch<'_>,
) -> Vec<ItemSearchRow> {
    let includes: HashMap<ItemId, IncludeMode> = catalog.items().collect();
    let mut rows = Vec::new();
    for (group, picks) in ranked {
        let limit = asked.limit.unwrap_or(options.for_group(group).top_k);
        let is_wanted = |pick: &Pick| asked.kind.is_none_or(|kind| pick.item.kind == kind);
        rows.extend(picks.into_iter().filter(is_wanted).take(limit).map(|mut pick| {
            let fate = in_a_turn.get(&pick.item);
            pick.scores = fate.and_then(|fate| fate.scores).unwrap_or(pick.scores);
            let is_taken = fate.is_some_and(|fate| fate.is_taken);
            let include = includes.get(&pick.item).copied();
            let is_on_every_page = include == Some(IncludeMode::Always)
                || fate.is_some_and(|fate| fate.scores.is_none());
            ItemSearchRow { include, is_taken, is_on_every_page, pick }
        }));
    }
    rows.sort_by(|a, b| by_probability(&a.pick, &b.pick));
    rows
}

/// The more probable one first.
pub fn by_probability(a: &Pick, b: &Pick) -> Ordering {
    let probability = |pick: &Pick| pick.scores.probability.unwrap_or(0.0);
    probability(b).total_cmp(&probability(a))
}

#[cfg(test)]
mod tests {
    use recto_context::{ContentHash, Memory, MemoryPool, choose_snapshot};

    use super::*;

    #[test]
    fn a_memory_that_is_chosen_for_the_message_is_not_on_every_page() {
        let memories: Vec<Memory> =
            (0..30).map(|n| Memory::new("MEMORY.md", format!("Fact {n}."), None)).collect();
        let scores = Scores { probability: Some(0.9), ..Scores::default() };
        let fitting = [Pick::new(memories[20].id(), scores)];
        let pool = MemoryPool {
            memories: &memories,
            fingerprint: ContentHash::of_bytes(b""),
            ranked: &fitting,
            recalled: &fitting,
            history_from: MessageId::default(),
        };
        let counter = TokenCounter::estimated();
        let snapshot = choose_snapshot(None, &pool, &ContextLimits::default(), &counter);
        let (choice, alike) = (GroupChoice::default(), Vec::new());
        let fates =
            memories_in_a_turn(ChosenMemories { snapshot, choice, alike, best: 0.9, how: None });
        let scores = |memory: &Memory| fates.get(&memory.id()).map(|fate| fate.scores);
        assert_eq!(scores(&memories[20]), Some(Some(fitting[0].scores)));
        assert_eq!(scores(&memories[0]), Some(None), "one of the newest");
        assert_eq!(scores(&memories[29]), None);
    }
}
