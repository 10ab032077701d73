//! `recto search`: which items fit a message, how well, and what a turn would
//! take of them.
//!
//! All items are ranked, whatever their include mode; nothing joins a session.

use std::io::{self, IsTerminal};
use std::time::Duration;

use recto_agent::{
    EmbeddingProgress, ItemSearch, ItemSearchReport, ItemSearchRow, MemoryShelf, PageForm,
    RankingBasis, SearchPatience, Searcher, search_items, search_message, without_mentions,
};
use recto_context::{ItemKind, Memory, Pick};

use crate::cli::SearchArgs;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print, print_json, shown_line, tell};
use crate::remedy_words::with_command;
use crate::setup;
use crate::terminal::status::StatusLine;

/// Waiting that is longer than this is told.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The most characters of the best chunk that are shown on a terminal.
const SHOWN: usize = 80;

/// The same of a memory, which has no name that says what it is about.
const MEMORY_SHOWN: usize = 40;

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
    let (kind, limit) = (args.kind.map(ItemKind::from), args.limit);
    let page = &PageForm::from(&setup::page_model(&settings)?);
    let found = setup::runtime()?.block_on(async {
        let remembered = setup::remembered(&settings).await;
        setup::tell_problems(&remembered.problems);
        catalog.memories.clone_from(&remembered.memories);
        let store = setup::store_for_vectors(home, &settings);
        let searcher = setup::searcher(&settings, store.clone());
        let search = async {
            let message = &search_message(&without_mentions(&query), None);
            let uses = &setup::earlier_uses(&settings, &searcher, store.clone(), message).await;
            let remembered = MemoryShelf {
                memories: &setup::memories(&settings, &searcher, store),
                view: &remembered,
            };
            let asked = ItemSearch { query: &query, kind, limit, uses, remembered, page };
            search_items(&searcher, &catalog, &asked, SearchPatience::UntilDone).await
        };
        patiently(&searcher, search).await
    });
    match args.json {
        true => print_json(&found.json(&query)),
        false => draw(&found, &catalog.memories, args),
    }
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
        false if total == done => tell(&"loading the embedding model"),
        false => tell(&format_args!("embedding {} texts", total - done)),
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

fn draw(found: &ItemSearchReport, memories: &[Memory], args: &SearchArgs) -> CliResult {
    let ItemSearchReport { rows, how, options, .. } = found;
    let shown: Vec<&ItemSearchRow> = rows.iter().filter(|row| row.has_any()).collect();
    if !shown.is_empty() {
        let table =
            if args.explain { explained(&shown, memories) } else { plain(&shown, memories) };
        print(&table.draw(PageWidth::of_stdout()))?;
    }
    if args.explain || matches!(how, RankingBasis::Words(_)) {
        let how = with_command(how.to_string(), how.remedy().as_ref());
        let query = found.describe_query().map(|words| format!(", {words}")).unwrap_or_default();
        tell(&format_args!("searched {how}{query}"));
    }
    tell(&found.describe_turn());
    if !options.enabled {
        tell(&"warning: search is off: turns take nothing\n  hint: set `search.enabled = true`");
    }
    Ok(())
}

fn plain(rows: &[&ItemSearchRow], memories: &[Memory]) -> TextTable {
    let mut table = TextTable::new(["page", "item", "include", "probability", "cosine", "words"]);
    (3..6).for_each(|column| table.align_right(column));
    rows.iter().for_each(|row| table.row(cells(row, memories)));
    table
}

fn explained(rows: &[&ItemSearchRow], memories: &[Memory]) -> TextTable {
    let heading = [
        "page",
        "item",
        "include",
        "probability",
        "cosine",
        "words",
        "together",
        "rank",
        "fits best",
    ];
    let mut table = TextTable::new(heading);
    (3..8).for_each(|column| table.align_right(column));
    for row in rows {
        let [page, item, include, probability, cosine, words] = cells(row, memories);
        let Pick { scores, best_chunk, .. } = &row.pick;
        table.row([
            page,
            item,
            include,
            probability,
            cosine,
            words,
            number(scores.fused),
            scores.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            scores.describe_use().unwrap_or_else(|| {
                best_chunk.as_deref().map(|text| shown_line(text, SHOWN)).unwrap_or_default()
            }),
        ]);
    }
    table
}

/// The cells that all tables show.
fn cells(row: &ItemSearchRow, memories: &[Memory]) -> [String; 6] {
    let scores = &row.pick.scores;
    [
        row.fate.describe().to_owned(),
        item_words(row, memories),
        row.include.map(|include| include.to_string()).unwrap_or_default(),
        number(scores.probability),
        number(scores.cosine),
        number(scores.lexical),
    ]
}

/// What people know an item by: its name, or what a memory says beside where it stands.
fn item_words(row: &ItemSearchRow, memories: &[Memory]) -> String {
    let id = &row.pick.item;
    let is_it = |memory: &&Memory| id.kind == ItemKind::Memory && memory.name == id.name;
    match memories.iter().find(is_it) {
        Some(memory) => format!("{} ({id})", shown_line(&memory.text, MEMORY_SHOWN)),
        None => id.to_string(),
    }
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
        let one_line = |text: &str| crate::output::one_line(text, SHOWN);
        assert_eq!(one_line(" a\n\n  b\tc "), "a b c");
        let long = one_line(&"word ".repeat(1_000));
        assert_eq!(long.chars().count(), SHOWN);
        assert!(long.ends_with('…'));
        assert_eq!(one_line(&"ü".repeat(1_000)).chars().count(), SHOWN);
    }
}
