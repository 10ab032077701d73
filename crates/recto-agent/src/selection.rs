//! What search brings for a turn: once, before its first request.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::mode::{speaks_for_tools, words};
use recto_context::{
    AlikeItem, Catalog, IncludeMode, ItemId, ItemKind, MemorySnapshot, Pick, SessionItem,
};
use recto_search::{
    GroupChoice, ItemGroup, ListOptions, SearchEntry, SearchMessage, SearchOptions, SearchPreset,
    UseEvidence, best_probability, choose_listed,
};
use serde::{Deserialize, Serialize};

use crate::memories::ChosenMemories;
use crate::options::SessionSettings;
use crate::search::{IsCandidate, RankingBasis, SearchPatience, Searcher, WordsOnlyReason};

/// How much of the way from the floor to certainty a tool or skill has to be to
/// speak for tools.
const CLEARLY: f32 = 1.0 / 3.0;

/// What search brought for a message. It is kept with the turn, because all of
/// its requests show the same, whoever makes them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// What was taken, the most probable first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<Pick>,
    /// What was looked at and left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Pick>,
    /// Candidates that are listed by name where the page has a list, in that order: more of
    /// them than it has room for, because some may stand on the page already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<ItemId>,
    /// What was left, because it says what a better one says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<AlikeItem>,
    /// The tool or skill that clearly fits, and so speaks for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_tools: Option<Pick>,
    /// What the search rests on; absent when there was nothing to search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<RankingBasis>,
}

impl SearchOutcome {
    /// Adds memories that are recalled beside those on the page, which it gives back. Now that all is
    /// there that was found, it chooses what is listed by name.
    pub fn complete(&mut self, chosen: ChosenMemories, list: &ListOptions) -> MemorySnapshot {
        let of_items = best_probability(self.picks.iter().chain(&self.candidates));
        self.picks.extend(chosen.choice.taken);
        self.candidates.extend(chosen.choice.left);
        self.alike.extend(chosen.alike);
        self.sort();
        // What rests on words alone has to be said of all of it.
        let (own, of_memories) = (self.how.take(), chosen.how);
        self.how = if own.is_none() || own.as_ref().is_some_and(RankingBasis::is_dense) {
            of_memories.or(own)
        } else {
            own
        };
        let listed = choose_listed(of_items.max(chosen.best), &self.candidates, list);
        self.listed = listed.into_iter().map(|pick| pick.item.clone()).collect();
        chosen.snapshot
    }

    fn sort(&mut self) {
        for picks in [&mut self.picks, &mut self.candidates] {
            picks.sort_by(|a, b| probability(b).total_cmp(&probability(a)));
        }
    }

    /// Whether there is nothing to keep.
    pub(crate) fn is_empty(&self) -> bool {
        *self == SearchOutcome::default()
    }
}

/// A message, and what may be brought for it.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct ItemQuery<'a> {
    /// All that the agent has.
    pub catalog: &'a Catalog,
    /// The same as search sees it.
    pub entries: Arc<[SearchEntry]>,
    /// What the session has anyway.
    pub session: &'a [SessionItem],
    /// What a person took out of it.
    pub removed: &'a [ItemId],
    /// Whether the message decides the mode, so that tools are looked at which the
    /// session has anyway.
    pub decides_mode: bool,
    /// How much is taken.
    pub options: SearchOptions,
    pub message: &'a SearchMessage,
    /// What the person used before in messages like it.
    pub uses: &'a UseEvidence,
}

impl ItemQuery<'_> {
    /// Items whose include mode is *agent*, but for those that are in the session
    /// anyway and those that a person removed from it.
    fn candidates(&self) -> HashSet<ItemId> {
        let here = self.session.iter().map(|item| &item.item);
        let here: HashSet<&ItemId> = here.chain(self.removed).collect();
        let of_agent = self.catalog.items().filter(|(_, include)| *include == IncludeMode::Agent);
        let of_agent = of_agent.map(|(id, _)| id);
        of_agent.filter(|id| !here.contains(id) && !self.is_of_removed_skill(id)).collect()
    }

    fn is_of_removed_skill(&self, tool: &ItemId) -> bool {
        let is_its_skill = |id: &ItemId| {
            id.kind == ItemKind::Skill && tool.server.as_ref().is_some_and(|of| *of == id.name)
        };
        tool.kind == ItemKind::Tool && self.removed.iter().any(is_its_skill)
    }

    /// Tools and skills that can speak for tools, where the message decides the mode: those that
    /// are here, or may come.
    fn mode_candidates(&self, candidates: &HashSet<ItemId>) -> Option<HashSet<ItemId>> {
        let here = self.session.iter().map(|item| &item.item);
        let for_mode = || here.chain(candidates).filter(|id| speaks_for_tools(id));
        self.decides_mode.then(|| for_mode().cloned().collect())
    }

    /// How many of each group are ranked. What was used before comes from any place.
    fn ranked_count(&self) -> usize {
        let counts = ItemGroup::ALL.map(|group| self.options.for_group(group).top_k);
        let most = counts.into_iter().max().unwrap_or_default();
        if self.uses.is_empty() { most } else { usize::MAX }
    }
}

impl Searcher {
    /// Finds what fits a message, within the time that a turn has for it.
    pub async fn find(&self, query: &ItemQuery<'_>) -> SearchOutcome {
        let candidates = query.candidates();
        let for_mode = query.mode_candidates(&candidates);
        let options = &query.options;
        let nothing_to_find =
            candidates.is_empty() && for_mode.as_ref().is_none_or(HashSet::is_empty);
        if !options.enabled || nothing_to_find || query.message.whole().trim().is_empty() {
            return SearchOutcome::default();
        }
        if words::is_courtesy(query.message.whole()) {
            let how = Some(RankingBasis::Words(WordsOnlyReason::NothingNamed));
            return SearchOutcome { how, ..SearchOutcome::default() };
        }
        let sets = [candidates].into_iter().chain(for_mode);
        let sets: Vec<IsCandidate> = sets
            .map(|set| -> IsCandidate { Arc::new(move |id: &ItemId| set.contains(id)) })
            .collect();
        let (entries, count) = (query.entries.clone(), query.ranked_count());
        let patience = SearchPatience::OneSecond;
        let (rankings, how) = self.search_each(entries, query.message, sets, count, patience).await;
        let mut rankings = rankings.into_iter();
        let mut found = SearchOutcome { how: Some(how), ..SearchOutcome::default() };
        for (group, mut picks) in rankings.next().unwrap_or_default() {
            query.uses.raise(&mut picks);
            let GroupChoice { taken, left } = GroupChoice::among(picks, options.for_group(group));
            found.picks.extend(taken);
            found.candidates.extend(left);
        }
        found.sort();
        let for_mode = rankings.next().unwrap_or_default().into_iter();
        let best = for_mode.filter_map(|(group, mut picks)| {
            query.uses.raise(&mut picks);
            let floor = options.for_group(group).floor;
            let clearly = floor + (1.0 - floor) * CLEARLY;
            leading_pick(picks).filter(|pick| probability(pick) >= clearly)
        });
        found.for_tools = best.max_by(|a, b| probability(a).total_cmp(&probability(b)));
        found
    }
}

/// The most probable of the first in the order and those that were used before.
fn leading_pick(ranked: Vec<Pick>) -> Option<Pick> {
    let is_considered =
        |(place, pick): &(usize, Pick)| *place == 0 || pick.scores.earlier_use.is_some();
    let considered = ranked.into_iter().enumerate().filter(is_considered).map(|(_, pick)| pick);
    considered.rev().max_by(|a, b| probability(a).total_cmp(&probability(b)))
}

fn probability(pick: &Pick) -> f32 {
    pick.scores.probability.unwrap_or(0.0)
}

/// Whether a session searches, and how much it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchSetting {
    /// No message is searched for.
    Off,
    /// Messages are searched for as the preset says.
    #[serde(untagged)]
    Preset(SearchPreset),
}

impl SessionSettings {
    /// How the session searches, where it says otherwise than its agent.
    pub(crate) fn search_options(&self, agent: &SearchOptions) -> SearchOptions {
        let mut options = *agent;
        match self.search {
            Some(SearchSetting::Off) => options.enabled = false,
            Some(SearchSetting::Preset(preset)) => {
                options.enabled = true;
                options.set_all(|group| *group = preset.options());
                options.list = preset.list_options();
            }
            None => {}
        }
        options.set_all(|group| {
            group.top_k = self.top_k.map_or(group.top_k, |count| count as usize);
            group.top_n = self.top_n.map_or(group.top_n, |count| count as usize);
            group.include_score =
                self.include_score.map_or(group.include_score, |score| score as f32);
            group.floor = self.floor.map_or(group.floor, |floor| floor as f32);
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use recto_context::{
        ContentHash, ContextLimits, MemoryPool, MessageId, Scores, TokenCounter, choose_snapshot,
    };

    use super::*;

    fn pick(name: &str, probability: f32) -> Pick {
        let item = ItemId::new(ItemKind::Rule, name);
        let scores = Scores { probability: Some(probability), ..Scores::default() };
        Pick::new(item, scores)
    }

    fn snapshot() -> MemorySnapshot {
        let pool = MemoryPool {
            memories: &[],
            fingerprint: ContentHash::of_bytes(b""),
            ranked: &[],
            recalled: &[],
            history_from: MessageId::default(),
        };
        choose_snapshot(None, &pool, &ContextLimits::default(), &TokenCounter::estimated())
    }

    #[test]
    fn a_memory_that_stands_on_the_page_opens_the_list_as_any_other_does() {
        let listed = |best| {
            let candidates = vec![pick("perhaps", 0.1)];
            let mut found = SearchOutcome { candidates, ..SearchOutcome::default() };
            let (choice, alike) = (GroupChoice::default(), Vec::new());
            let chosen = ChosenMemories { snapshot: snapshot(), choice, alike, best, how: None };
            found.complete(chosen, &SearchPreset::default().list_options());
            found.listed.len()
        };
        assert_eq!((listed(0.1), listed(0.8)), (0, 1));
    }
}
