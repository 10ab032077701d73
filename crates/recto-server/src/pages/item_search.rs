//! *What would fit?*: for a typed message, every item with how well it fits, and which of them a
//! turn would take.

use maud::{Markup, html};
use recto_agent::{
    Agent, ItemSearch, ItemSearchReport, ItemSearchRow, SearchPatience, search_items,
};
use recto_context::{Catalog, ItemKind, Priority};
use recto_workspace::Horizon;

use super::context::include_badge;
use crate::gateway::Gateway;

/// The most items of each group that are shown.
const SHOWN: usize = 8;

/// The most rows of the table, but for those that a turn takes.
const MOST: usize = 12;

/// What would fit a message, of all that an agent has.
pub(crate) async fn find_fitting(
    agent: &Agent,
    catalog: &Catalog,
    query: &str,
) -> ItemSearchReport {
    let memories = agent.memories();
    let remembered = memories.files().read(&memories.owner(), Horizon::All).await;
    let catalog = Catalog { memories: remembered.memories.clone(), ..catalog.clone() };
    let asked = ItemSearch { query, kind: None, limit: Some(SHOWN) };
    // A page does not wait until everything has its vector.
    search_items(agent.searcher(), &catalog, &asked, SearchPatience::OneSecond).await
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
                    " Searched " (report.how) "."
                    @if let Some(remedy) = report.how.remedy() {
                        " " (gateway.describe_remedy(&remedy))
                    }
                }
            }
            @if let Some((_, report)) = found { (found_table(report, catalog)) }
        }
    }
}

fn found_table(report: &ItemSearchReport, catalog: &Catalog) -> Markup {
    let fitting = report.rows.iter().filter(|row| row.has_any());
    let rows: Vec<&ItemSearchRow> = fitting
        .enumerate()
        .filter(|(at, row)| *at < MOST || row.is_taken)
        .map(|(_, row)| row)
        .collect();
    let floor = report.options.documents.floor;
    let below = |row: &&&ItemSearchRow| row.pick.scores.probability.unwrap_or(0.0) >= floor;
    let above = rows.iter().take_while(below).count();
    html! {
        @if rows.is_empty() {
            p.q { "Nothing has anything in common with it." }
        } @else {
            table.list.fit {
                thead {
                    tr {
                        th.c-x scope="col" { span.vh { "Taken" } }
                        th scope="col" { "Item, and where it fits best" }
                        th.n.c-bar scope="col" { "Prob" span.wide { "ability" } }
                        th.n.c-n scope="col" { "Cosine" }
                        th.n.c-n scope="col" { "Lexical" }
                    }
                }
                tbody {
                    @for (at, row) in rows.iter().enumerate() {
                        @if at == above { (floor_row(floor)) }
                        (found_row(row, catalog))
                    }
                    @if above == rows.len() { (floor_row(floor)) }
                }
            }
            @if !report.options.enabled { p.q { "Search is off: turns take nothing." } }
            @else if !rows.iter().any(|row| row.is_taken) {
                p.q { "A turn takes none of them: of the items with include mode agent, none fits." }
            }
        }
    }
}

fn floor_row(floor: f32) -> Markup {
    html! {
        tr.floor {
            td colspan="5" { "floor " (format!("{floor:.2}")) ": nothing below this line is taken" }
        }
    }
}

fn found_row(row: &ItemSearchRow, catalog: &Catalog) -> Markup {
    let scores = &row.pick.scores;
    let number = |score: Option<f32>| score.map(|score| format!("{score:.2}")).unwrap_or_default();
    let width = scores.probability.unwrap_or(0.0).clamp(0.0, 1.0) * 100.0;
    html! {
        tr {
            td.take {
                @if row.is_taken { span.ok role="img" aria-label="a turn takes it" { "✓" } }
                @else { span.vh { "not taken" } }
            }
            td.what {
                (item_name(row, catalog))
                @if let Some(include) = row.include {
                    " " span class={ "badge " (include) } { (include_badge(include)) }
                }
                @if let Some(chunk) = &row.pick.best_chunk { p.cut { (chunk) } }
            }
            td.n {
                svg.tiny aria-hidden="true" {
                    rect width="100%" height="5" {}
                    rect class=[row.is_taken.then_some("take")] width={ (format!("{width:.0}")) "%" }
                        height="5" {}
                }
                (number(scores.probability))
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
        @if item.kind == ItemKind::Tool { code { (item.name) } } @else { (item.name) }
    }
}
