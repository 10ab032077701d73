//! *What would fit?*: for a typed message, every item with how well it fits, and which of them a
//! turn would take.

use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, ItemSearch, ItemSearchReport, ItemSearchRow, MemoryShelf, SearchPatience,
    TurnFate, search_items,
};
use recto_context::{Catalog, ItemKind, Priority};
use recto_search::ItemGroup;

use super::context::{include_badge, memory_label, two_decimals};
use super::layout::with_code;
use crate::gateway::Gateway;

/// The most items of each group that are ranked for the page.
const MOST_RANKED: usize = 200;

/// What would fit a message, of all that an agent has.
pub(crate) async fn find_fitting(
    agent: &Agent,
    actor: &Actor,
    catalog: &Catalog,
    query: &str,
) -> ItemSearchReport {
    let memories = agent.memories();
    let remembered = memories.read_for_page(&memories.owner()).await;
    let uses = &agent.earlier_uses(actor, query).await;
    let asked = ItemSearch {
        query,
        kind: None,
        limit: Some(MOST_RANKED),
        uses,
        remembered: MemoryShelf { memories, view: &remembered },
        page: &agent.page_form(),
    };
    // A page does not wait until everything has its vector.
    search_items(agent.searcher(), catalog, &asked, SearchPatience::OneSecond).await
}

/// The box to type a message into, and what was found.
pub(crate) fn search_section(
    gateway: &Gateway,
    agent: &str,
    catalog: &Catalog,
    found: Option<(&str, &ItemSearchReport)>,
) -> Markup {
    html! {
        section aria-labelledby="fit-title" {
            h2 id="fit-title" { "What would fit?" }
            form.find role="search" method="get" action="/workspace" {
                input type="hidden" name="agent" value=(agent);
                label.vh for="fit" { "A message" }
                input id="fit" name="message" type="search" placeholder="a message, as you would say it"
                    value=[found.map(|(query, _)| query)];
                button.btn type="submit" { "Search" }
            }
            p.q {
                "As a message would be searched, whatever the items' include mode."
                @if let Some((_, report)) = found {
                    " Searched " (report.how)
                    @if let Some(query) = report.describe_query() { ", " (query) }
                    "."
                    @if let Some(remedy) = report.how.remedy() {
                        " " (with_code(&gateway.describe_remedy(&remedy)))
                    }
                }
            }
            @if let Some((_, report)) = found { (found_table(report, catalog)) }
        }
    }
}

/// How many items below the floor are shown before the rest is folded.
const SHOWN_BELOW: usize = 5;

fn found_table(report: &ItemSearchReport, catalog: &Catalog) -> Markup {
    let (rows, others): (Vec<&ItemSearchRow>, Vec<&ItemSearchRow>) =
        report.rows.iter().partition(|row| row.has_any());
    let is_below = |row: &&ItemSearchRow| {
        let probability = row.pick.scores.probability;
        probability.is_some_and(|probability| probability < floor_of(row, report))
    };
    let (below, above): (Vec<&ItemSearchRow>, Vec<&ItemSearchRow>) =
        rows.iter().partition(|row| is_below(row));
    // What stands on every page needs not fit: it would hide what does.
    let (anyway, below): (Vec<&ItemSearchRow>, Vec<&ItemSearchRow>) =
        below.into_iter().partition(|row| row.fate == TurnFate::Anyway);
    let (shown, folded) = below.split_at(below.len().min(SHOWN_BELOW));
    let found = |row: &&ItemSearchRow| found_row(row, report, catalog);
    html! {
        @if above.is_empty() && below.is_empty() {
            p.q { "Nothing has anything in common with it." }
        } @else {
            table.list.fit {
                thead { (column_heads()) }
                tbody {
                    @for row in &above { (found(row)) }
                    @if !below.is_empty() {
                        tr.floor { td colspan="5" { (floor_words(&below, report)) } }
                    }
                    @for row in shown { (found(row)) }
                }
            }
        }
        @if !folded.is_empty() {
            details.fold {
                summary { (folded.len()) " more below the floor" }
                table.list.fit {
                    thead { (column_heads()) }
                    tbody { @for row in folded { (found(row)) } }
                }
            }
        }
        @if !anyway.is_empty() {
            details.fold {
                summary {
                    (anyway.len()) @if anyway.len() == 1 { " stands" } @else { " stand" }
                    " on every page, whatever the message"
                }
                table.list.fit {
                    thead { (column_heads()) }
                    tbody { @for row in &anyway { (found(row)) } }
                }
            }
        }
        @if !rows.is_empty() {
            @if !others.is_empty() {
                p.q {
                    (others.len()) @if others.len() == 1 { " more has" } @else { " more have" }
                    " nothing in common with it."
                }
            }
            @if !report.options.enabled { p.q { "Search is off: turns take nothing." } }
            @else { p.q { (sentence(&report.describe_turn())) } }
        }
    }
}

/// The heads of a table's columns, by which these have their widths.
fn column_heads() -> Markup {
    html! {
        tr {
            th.c-x scope="col" { span.vh { "On the page" } }
            th scope="col" { "Item, and where it fits best" }
            th.n.c-bar scope="col"
                title="how probable it is that it fits, and the floor: a turn takes nothing below it in full" {
                "Prob" span.wide { "ability, floor" }
            }
            th.n.c-n scope="col" { "Cosine" }
            th.n.c-n scope="col" title="how many of its words are in the message, and how rare they are" { "Words" }
        }
    }
}

/// Words as a sentence of their own.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// The floor of an item: each kind has one of its own.
fn floor_of(row: &ItemSearchRow, report: &ItemSearchReport) -> f32 {
    report.options.for_group(ItemGroup::of_kind(row.pick.item.kind)).floor
}

/// What stands on the line below which nothing is taken.
fn floor_words(below: &[&ItemSearchRow], report: &ItemSearchReport) -> String {
    let mut floors: Vec<String> =
        below.iter().map(|row| two_decimals(floor_of(row, report))).collect();
    floors.dedup();
    match floors.as_slice() {
        [floor] => format!("floor {floor}: nothing below this line is taken in full"),
        _ => "the floor of its kind: nothing below this line is taken in full".to_owned(),
    }
}

fn found_row(row: &ItemSearchRow, report: &ItemSearchReport, catalog: &Catalog) -> Markup {
    let floor = floor_of(row, report);
    let scores = &row.pick.scores;
    let number = |score: Option<f32>| score.map(two_decimals).unwrap_or_default();
    let width = scores.probability.unwrap_or(0.0).clamp(0.0, 1.0) * 100.0;
    html! {
        tr {
            td.take {
                @match row.fate {
                    TurnFate::Taken => span.ok role="img" aria-label="a turn takes it" { "✓" },
                    TurnFate::Anyway => span.q role="img" aria-label="on every page" { "•" },
                    TurnFate::Listed => span.q role="img" aria-label="listed by name" { "≡" },
                    TurnFate::Absent => span.vh { "not taken" },
                }
            }
            td.what {
                (item_name(row, catalog))
                @if let Some(include) = row.include {
                    " " span class={ "badge " (include) } { (include_badge(include)) }
                }
                @match row.fate {
                    TurnFate::Anyway => { " " span.q { "on every page" } }
                    TurnFate::Listed => { " " span.q { "listed by name" } }
                    TurnFate::Taken | TurnFate::Absent => {}
                }
                @if let Some(chunk) = &row.pick.best_chunk { p.cut { (chunk) } }
                @if let Some(words) = scores.describe_use() { p.q { (words) } }
            }
            td.n {
                svg.tiny aria-hidden="true" {
                    rect width="100%" height="5" {}
                    rect class=[(row.fate == TurnFate::Taken).then_some("take")] width={ (format!("{width:.0}")) "%" }
                        height="5" {}
                }
                (number(scores.probability)) span.q.wide { ", " (format!("{floor:.2}")) }
            }
            td.n { (number(scores.cosine)) }
            td.n { (number(scores.lexical)) }
        }
    }
}

fn item_name(row: &ItemSearchRow, catalog: &Catalog) -> Markup {
    let item = &row.pick.item;
    let priority = |documents: &[recto_context::CatalogDocument]| -> Option<Priority> {
        Some(documents.iter().find(|document| document.name == item.name)?.priority)
    };
    let lead = match item.kind {
        ItemKind::Rule => priority(&catalog.rules).map(|priority| priority.to_string()),
        ItemKind::Reference => priority(&catalog.references).map(|priority| priority.to_string()),
        ItemKind::Tool => item.server.as_ref().map(|server| format!("{server}.")),
        ItemKind::Skill | ItemKind::Memory => Some(item.kind.to_string()),
    };
    html! {
        @if let Some(lead) = lead { span.id { (lead) } " • " }
        @match item.kind {
            ItemKind::Tool => code { (item.name) },
            // Its text stands below, and says more than the number behind the file.
            ItemKind::Memory => (memory_label(&item.name)),
            _ => (item.name),
        }
    }
}
