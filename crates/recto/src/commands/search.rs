//! `recto search`: which items fit a message, how well, and what a turn would
//! take of them.
//!
//! All items are ranked, whatever their include mode; nothing joins a session.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use recto_agent::{
    EmbeddingProgress, IsCandidate, RankedItems, RankingBasis, SearchPatience, Searcher,
};
use recto_context::{Catalog, IncludeMode, ItemId, ItemKind, Pick, Scores};
use recto_search::{GroupChoice, ItemGroup, SearchEntry, SearchOptions};
use serde_json::{Value, json};

use crate::cli::SearchArgs;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{one_line, print, print_json, tell};
use crate::remedy_words::with_command;
use crate::setup;
use crate::terminal::status::StatusLine;

/// Waiting that is longer than this is told.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The most characters of the best chunk that are shown.
const SHOWN: usize = 80;

pub(crate) fn run(home: &RectoHome, args: &SearchArgs) -> CliResult {
    let query = input::message(&args.query)?;
    if query.trim().is_empty() {
        return Err(CliFailure::new("there is nothing to search for")
            .hint("say it as a message would: recto search \"write a commit message\""));
    }
    let settings = setup::load_agent(home, Vec::new(), &args.agent)?;
    let snapshot = setup::read_workspace(&settings)?;
    setup::tell_problems(&snapshot.problems);
    let mut catalog = setup::whole_catalog(home, &settings, &snapshot);
    let asked =
        SearchRequest { query: &query, kind: args.kind.map(ItemKind::from), limit: args.limit };
    let found = setup::runtime()?.block_on(async {
        let remembered = setup::remembered(&settings).await;
        setup::tell_problems(&remembered.problems);
        catalog.memories.clone_from(&remembered.memories);
        let searcher = setup::searcher(&settings, setup::store_for_vectors(home, &settings));
        patiently(&searcher, find(&searcher, &catalog, &asked, SearchPatience::UntilDone)).await
    });
    if args.json { print_json(&found.json(&query)) } else { draw(&found, args) }
}

/// The query of a search, and which items may answer it.
pub(crate) struct SearchRequest<'a> {
    pub(crate) query: &'a str,
    /// Items of this kind alone.
    pub(crate) kind: Option<ItemKind>,
    /// The most items of each group.
    pub(crate) limit: Option<usize>,
}

/// The result of a search, and how it was made.
pub(crate) struct SearchReport {
    /// The most probable first.
    pub(crate) rows: Vec<SearchRow>,
    pub(crate) how: RankingBasis,
    options: SearchOptions,
}

impl SearchReport {
    pub(crate) fn json(&self, query: &str) -> Value {
        json!({
            "query": query,
            "how": self.how,
            "enabled": self.options.enabled,
            "results": self.rows.iter().map(SearchRow::json).collect::<Vec<_>>(),
        })
    }
}

/// Ranks the items of a catalog, and says which of them a turn would take.
pub(crate) async fn find(
    searcher: &Searcher,
    catalog: &Catalog,
    asked: &SearchRequest<'_>,
    patience: SearchPatience,
) -> SearchReport {
    let options = *searcher.options();
    let group = asked.kind.map(ItemGroup::of_kind);
    let is_candidate: IsCandidate =
        Arc::new(move |id| group.is_none_or(|group| ItemGroup::of_kind(id.kind) == group));
    let memories = catalog.memories.iter().map(SearchEntry::memory);
    let entries: Arc<[SearchEntry]> =
        SearchEntry::from_catalog(catalog).into_iter().chain(memories).collect();
    let ranked = searcher.search(entries.clone(), asked.query, is_candidate, patience).await;
    // A turn weighs those against each other that may come by themselves.
    let may_come: HashSet<ItemId> = by_themselves(catalog).collect();
    let is_candidate: IsCandidate = Arc::new(move |id| may_come.contains(id));
    let of_turn = searcher.search(entries, asked.query, is_candidate, patience).await;
    let how = ranked.how.clone();
    let rows = rows(ranked, &in_a_turn(of_turn, &options), &options, catalog, asked);
    SearchReport { rows, how, options }
}

/// Waits for a search, and tells how far it is when it takes longer.
pub(crate) async fn patiently<T>(searcher: &Searcher, search: impl Future<Output = T>) -> T {
    tokio::pin!(search);
    if let Ok(found) = tokio::time::timeout(A_MOMENT, &mut search).await {
        return found;
    }
    let mut progress = searcher.progress();
    let mut status = StatusLine::new();
    let EmbeddingProgress { done, total } = *progress.borrow_and_update();
    let texts = |done: usize, total: usize| format!("{done} of {total} texts embedded");
    match io::stderr().is_terminal() {
        true => status.show(&texts(done, total)),
        false if total == 0 => tell(&"loading the embedding model"),
        false => tell(&format_args!("embedding {total} texts")),
    }
    loop {
        tokio::select! {
            biased;
            found = &mut search => {
                status.clear();
                return found;
            }
            changed = progress.changed() => {
                if changed.is_err() {
                    return search.await;
                }
                let EmbeddingProgress { done, total } = *progress.borrow_and_update();
                status.show(&texts(done, total));
            }
        }
    }
}

/// An item that was ranked.
pub(crate) struct SearchRow {
    pub(crate) pick: Pick,
    /// `None` for a memory, which is in no session.
    include: Option<IncludeMode>,
    is_taken: bool,
}

impl SearchRow {
    pub(crate) fn json(&self) -> Value {
        let Pick { item, scores, best_chunk } = &self.pick;
        let mut value = json!(scores);
        value["kind"] = json!(item.kind);
        value["name"] = json!(item.name);
        value["server"] = json!(item.server);
        value["include"] = json!(self.include);
        value["taken"] = json!(self.is_taken);
        value["best_chunk"] = json!(best_chunk);
        value
    }

    /// The cells that all tables show.
    fn cells(&self) -> [String; 6] {
        let scores = &self.pick.scores;
        [
            if self.is_taken { "*".to_owned() } else { String::new() },
            self.pick.item.to_string(),
            self.include.map(|include| include.to_string()).unwrap_or_default(),
            number(scores.probability),
            number(scores.cosine),
            number(scores.lexical),
        ]
    }

    /// Whether the item has anything in common with the query: a ranking has the others, too.
    pub(crate) fn has_any(&self) -> bool {
        let scores = &self.pick.scores;
        self.is_taken || scores.cosine.is_some() || scores.lexical.is_some_and(|score| score > 0.0)
    }
}

/// The items that come to a session by themselves when they fit.
fn by_themselves(catalog: &Catalog) -> impl Iterator<Item = ItemId> {
    let of_agent = catalog.items().filter(|(_, include)| *include == IncludeMode::Agent);
    of_agent.map(|(id, _)| id)
}

/// What became of items in a turn of a new session: their scores there, and whether
/// they were taken.
type TurnScores = HashMap<ItemId, (Scores, bool)>;

fn in_a_turn(ranked: RankedItems, options: &SearchOptions) -> TurnScores {
    let of_group = |(group, picks)| {
        let GroupChoice { taken, left } = GroupChoice::among(picks, options.for_group(group));
        let taken = taken.into_iter().map(|pick| (pick.item, (pick.scores, true)));
        taken.chain(left.into_iter().map(|pick| (pick.item, (pick.scores, false))))
    };
    ranked.groups.into_iter().flat_map(of_group).collect()
}

/// The best of each group, the most probable first.
fn rows(
    ranked: RankedItems,
    in_a_turn: &TurnScores,
    options: &SearchOptions,
    catalog: &Catalog,
    asked: &SearchRequest<'_>,
) -> Vec<SearchRow> {
    let includes: HashMap<ItemId, IncludeMode> = catalog.items().collect();
    let mut rows = Vec::new();
    for (group, picks) in ranked.groups {
        let limit = asked.limit.unwrap_or(options.for_group(group).top_k);
        let is_wanted = |pick: &Pick| asked.kind.is_none_or(|kind| pick.item.kind == kind);
        rows.extend(picks.into_iter().filter(is_wanted).take(limit).map(|mut pick| {
            let of_turn = in_a_turn.get(&pick.item);
            pick.scores = of_turn.map_or(pick.scores, |(scores, _)| *scores);
            let is_taken = of_turn.is_some_and(|(_, is_taken)| *is_taken);
            SearchRow { include: includes.get(&pick.item).copied(), is_taken, pick }
        }));
    }
    rows.sort_by(|a, b| by_probability(&a.pick, &b.pick));
    rows
}

/// The more probable one first.
pub(crate) fn by_probability(a: &Pick, b: &Pick) -> Ordering {
    let probability = |pick: &Pick| pick.scores.probability.unwrap_or(0.0);
    probability(b).total_cmp(&probability(a))
}

fn draw(found: &SearchReport, args: &SearchArgs) -> CliResult {
    let SearchReport { rows, how, options } = found;
    let shown: Vec<&SearchRow> = rows.iter().filter(|row| row.has_any()).collect();
    if !shown.is_empty() {
        let table = if args.explain { explained(&shown) } else { plain(&shown) };
        print(&table.draw(PageWidth::of_stdout()))?;
    }
    if args.explain || matches!(how, RankingBasis::Words(_)) {
        let how = with_command(how.to_string(), how.remedy().as_ref());
        tell(&format_args!("searched {how}"));
    }
    tell(&match shown.iter().any(|row| row.is_taken) {
        true => "* a turn takes these",
        false => "a turn takes none of them: of the items with include mode agent, none fits",
    });
    if !options.enabled {
        tell(&"warning: search is off: turns take nothing\n  hint: set `search.enabled = true`");
    }
    Ok(())
}

fn plain(rows: &[&SearchRow]) -> TextTable {
    let mut table = TextTable::new(["", "item", "include", "probability", "cosine", "words"]);
    (3..6).for_each(|column| table.align_right(column));
    rows.iter().for_each(|row| table.row(row.cells()));
    table
}

fn explained(rows: &[&SearchRow]) -> TextTable {
    let heading =
        ["", "item", "include", "probability", "cosine", "words", "fused", "rank", "fits best"];
    let mut table = TextTable::new(heading);
    (3..8).for_each(|column| table.align_right(column));
    for row in rows {
        let [mark, item, include, probability, cosine, words] = row.cells();
        let Pick { scores, best_chunk, .. } = &row.pick;
        table.row([
            mark,
            item,
            include,
            probability,
            cosine,
            words,
            number(scores.fused),
            scores.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            best_chunk.as_deref().map(|text| one_line(text, SHOWN)).unwrap_or_default(),
        ]);
    }
    table
}

/// A score with two digits; empty for what was not measured.
fn number(score: Option<f32>) -> String {
    score.map(|score| format!("{score:.2}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_shown_on_one_line_and_cut() {
        let one_line = |text: &str| one_line(text, SHOWN);
        assert_eq!(one_line(" a\n\n  b\tc "), "a b c");
        let long = one_line(&"word ".repeat(1_000));
        assert_eq!(long.chars().count(), SHOWN);
        assert!(long.ends_with('…'));
        assert_eq!(one_line(&"ü".repeat(1_000)).chars().count(), SHOWN);
    }
}
