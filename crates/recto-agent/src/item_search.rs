//! Which items fit a message, how well, and what a turn would take of them.
//!
//! All items are ranked, whatever their include mode; nothing joins a session. What a turn would
//! take is no guess: the turn is made up to its page, and the page says it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use recto_context::mode::{self, ModeQuestion, ModeSetting, UncertainMode};
use recto_context::{
    AssemblyInputs, Carry, Catalog, ContextLimits, IncludeMode, ItemForm, ItemId, ItemKind,
    ItemStanding, MemorySnapshot, MessageId, ModeDecision, PageLayout, PartReason, Pick, PinReason,
    Scores, TokenCounter, Tokens, Window, has_tools,
};
use recto_search::{
    ItemGroup, RankedGroups, SearchEntry, SearchMessage, SearchOptions, UseEvidence,
};
use recto_workspace::MemoryView;
use serde::Serialize;
use serde_json::{Value, json};

use crate::items::without_mentions;
use crate::memories::{AgentMemories, ChosenMemories, MemoryCriteria};
use crate::options::ModelEntry;
use crate::search::{IsCandidate, RankingBasis, SearchPatience, Searcher, search_message};
use crate::selection::{ItemQuery, SearchOutcome};

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
    /// The page that a turn would make of it.
    pub page: &'a PageForm,
}

/// The memories that a search looks through, as a turn would.
#[derive(Clone, Copy)]
pub struct MemoryShelf<'a> {
    /// The agent's.
    pub memories: &'a AgentMemories,
    /// Those that whoever asks may see.
    pub view: &'a Arc<MemoryView>,
}

/// What decides, beside the message, what stands on a model's page.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageForm {
    layout: PageLayout,
    limits: ContextLimits,
    mode: ModeSetting,
    uncertain: UncertainMode,
    /// The model's window, where a person set it. No server is asked for one.
    window: Option<Tokens>,
}

impl From<&ModelEntry> for PageForm {
    fn from(entry: &ModelEntry) -> Self {
        let ModelEntry { layout, limits, mode, uncertain, window, .. } = *entry;
        PageForm { layout, limits, mode, uncertain, window }
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
    /// The mode of a turn with this message.
    pub mode: ModeDecision,
}

impl ItemSearchReport {
    /// How the message was searched for, where not as it is, in words.
    pub fn describe_query(&self) -> Option<String> {
        self.rows.iter().find_map(|row| row.pick.describe_query())
    }

    /// What a turn of a new session makes of these items, in words.
    pub fn describe_turn(&self) -> String {
        let count = |fate| self.rows.iter().filter(|row| row.fate == fate && row.has_any()).count();
        let taken = match count(TurnFate::Taken) {
            0 => "a turn takes none of them".to_owned(),
            1 => "a turn takes one of them in full".to_owned(),
            taken => format!("a turn takes {taken} of them in full"),
        };
        let listed = match count(TurnFate::Listed) {
            0 => String::new(),
            listed => format!(", and has {listed} by name alone"),
        };
        let anyway = match count(TurnFate::Anyway) {
            0 => String::new(),
            1 => "; 1 is on every page".to_owned(),
            anyway => format!("; {anyway} are on every page"),
        };
        let minimal = match self.mode.chosen.is_minimal() {
            true => format!("; its page is minimal ({})", self.mode.describe()),
            false => String::new(),
        };
        format!("{taken}{listed}{anyway}{minimal}")
    }

    /// The report as data for programs.
    pub fn json(&self, query: &str) -> Value {
        json!({
            "query": query,
            "how": self.how,
            "enabled": self.options.enabled,
            "mode": self.mode.chosen,
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
    let message = search_message(&without_mentions(asked.query), None);
    let sets = vec![is_candidate];
    let (mut rankings, how) =
        searcher.search_each(entries, &message, sets, usize::MAX, patience).await;
    let ranked = rankings.pop().unwrap_or_default();
    let turn = TurnSearch { searcher, catalog, asked, options: &options, patience };
    let turn = turn.assemble(&message).await;
    let rows = rows(ranked, &turn, &options, catalog, asked);
    ItemSearchReport { rows, how, options, mode: turn.mode }
}

/// An item that was ranked.
pub struct ItemSearchRow {
    /// The item, with what search says of it.
    pub pick: Pick,
    /// `None` for a memory, which is in no session.
    pub include: Option<IncludeMode>,
    /// What a turn of a new session makes of it.
    pub fate: TurnFate,
}

/// What a turn of a new session makes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFate {
    /// It is taken: it comes in full because it fits the message.
    Taken,
    /// It stands on the page whatever the message.
    Anyway,
    /// Its name stands on the page and no more, for the model to load it.
    Listed,
    /// It is not on the page.
    Absent,
}

impl TurnFate {
    /// How much of the item a turn has, in a word or two; nothing where it has none of it.
    pub fn describe(self) -> &'static str {
        match self {
            TurnFate::Taken => "in full",
            TurnFate::Anyway => "on every page",
            TurnFate::Listed => "by name",
            TurnFate::Absent => "",
        }
    }

    fn of(standing: &ItemStanding) -> TurnFate {
        let place = standing.status.place();
        match (standing.status.form(), place.map(|place| (&place.reason, place.include))) {
            (None, _) | (_, None) => TurnFate::Absent,
            (Some(ItemForm::Listed), _) => TurnFate::Listed,
            (_, Some((PartReason::FewTools, _))) => TurnFate::Anyway,
            (_, Some((_, IncludeMode::Agent))) => TurnFate::Taken,
            (_, Some(_)) => TurnFate::Anyway,
        }
    }
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
        value["taken"] = json!(self.fate == TurnFate::Taken);
        value["page"] = json!(self.fate);
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
        let has_words = scores.lexical.is_some_and(|score| score > 0.0);
        self.fate == TurnFate::Taken || scores.cosine.is_some() || has_words
    }
}

/// A turn of a new session with the message that is searched for, up to its page.
struct TurnSearch<'a> {
    searcher: &'a Searcher,
    catalog: &'a Catalog,
    asked: &'a ItemSearch<'a>,
    options: &'a SearchOptions,
    patience: SearchPatience,
}

/// What such a turn has, and what search says of items in it.
struct TurnPage {
    scores: HashMap<ItemId, Scores>,
    fates: HashMap<ItemId, TurnFate>,
    mode: ModeDecision,
}

impl TurnSearch<'_> {
    /// Searches, decides and assembles as a turn does.
    async fn assemble(&self, message: &SearchMessage) -> TurnPage {
        let TurnSearch { catalog, asked, options, .. } = *self;
        let PageForm { layout, mut limits, mode, uncertain, window } = *asked.page;
        let session = catalog.session_at_start();
        let query = ItemQuery {
            catalog,
            entries: SearchEntry::from_catalog(catalog).into(),
            session: &session,
            removed: &[],
            decides_mode: mode == ModeSetting::Auto,
            options: *options,
            message,
            uses: asked.uses,
        };
        let mut found = self.searcher.find(&query).await;
        let chosen = self.choose_memories(message).await;
        if !options.enabled {
            limits.list_lines = 0;
        }
        let snapshot = found.complete(chosen, &options.list.with_lines(limits.list_lines));
        let said = without_mentions(asked.query);
        let mode = mode::decide(&ModeQuestion {
            setting: mode,
            uncertain,
            mark: None,
            has_tools: has_tools(catalog, &session, &[], &found.picks, &layout),
            found: found.for_tools.as_ref(),
            message: &said,
        });
        let scores = scores_in_turn(&found, &snapshot);
        let catalog =
            Catalog { memories: asked.remembered.view.memories.clone(), ..catalog.clone() };
        let within = |window: Window| {
            AssemblyInputs::new(&catalog, asked.query)
                .session(&session)
                .picks(&found.picks)
                .candidates(&found.candidates)
                .listed(&found.listed)
                .alike(&found.alike)
                .mode(mode.clone())
                .window(window)
                .carry(Carry { snapshot: Some(snapshot.clone()), ..Carry::default() })
                .limits(limits)
                .layout(layout)
                .assemble()
        };
        let roomy = Window::from_config(ROOM_FOR_ALL);
        // Where even the message has no room there is no turn; what it asks for can be told.
        let request = within(window.map_or(roomy, Window::from_config)).or_else(|_| within(roomy));
        let standings = request.map(|request| request.item_standings()).unwrap_or_default();
        let fates =
            standings.iter().map(|standing| (standing.item.clone(), TurnFate::of(standing)));
        TurnPage { scores, fates: fates.collect(), mode }
    }

    async fn choose_memories(&self, message: &SearchMessage) -> ChosenMemories {
        let MemoryShelf { memories, view } = self.asked.remembered;
        let criteria = MemoryCriteria {
            limits: &self.asked.page.limits,
            options: self.options,
            counter: &TokenCounter::estimated(),
            history_from: MessageId::default(),
            uses: self.asked.uses,
            patience: self.patience,
        };
        memories.choose(view, message, None, &criteria).await
    }
}

/// A window in which everything has room: that of a model of which none is set is not known here.
const ROOM_FOR_ALL: Tokens = Tokens::new(1 << 30);

/// What search says of items in a turn, which weighs those against each other that may come by
/// themselves. With another first message a session begins without those memories that are pinned
/// because they fit this one, so that they count as found.
fn scores_in_turn(found: &SearchOutcome, snapshot: &MemorySnapshot) -> HashMap<ItemId, Scores> {
    let of_picks = found.candidates.iter().chain(&found.picks);
    let of_picks = of_picks.map(|pick| (pick.item.clone(), pick.scores));
    let fitting = snapshot.entries.iter().filter(|entry| entry.why == PinReason::Fits);
    let of_memories = fitting.filter_map(|entry| Some((entry.item.clone(), entry.scores?)));
    of_picks.chain(of_memories).collect()
}

/// The best of each group, the most probable first.
fn rows(
    ranked: RankedGroups,
    turn: &TurnPage,
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
            // A place among others than those that a turn ranks would be no place in this order.
            let unplaced = Scores { rank: None, ..pick.scores };
            pick.scores = turn.scores.get(&pick.item).copied().unwrap_or(unplaced);
            let include = includes.get(&pick.item).copied();
            let fate = turn.fates.get(&pick.item).copied().unwrap_or(TurnFate::Absent);
            ItemSearchRow { pick, include, fate }
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
    fn a_memory_that_is_chosen_for_the_message_has_its_scores_and_one_of_the_newest_none() {
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
        let scores = scores_in_turn(&SearchOutcome::default(), &snapshot);
        assert_eq!(scores.get(&memories[20].id()), Some(&fitting[0].scores));
        assert_eq!(scores.len(), 1, "the newest are there whatever the message");
    }
}
