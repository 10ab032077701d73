//! `/turns/{turn}/diff`: how far a turn's page agrees with another's, what ended it, and which items
//! came, left and changed. In the words of `recto diff`.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use recto_agent::{RecordReader, RequestPair, TurnComparison};
use recto_context::{
    ChangeCause, ChangeExcerpt, Comparison, ItemId, PromptChange, Tokens, grouped_digits, is_unseen,
};
use recto_store::TurnId;
use serde::Deserialize;

use super::context::short_source;
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use crate::extract::{PagePath, PageQuery};
use crate::gateway::Gateway;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new().route("/turns/{turn}/diff", get(show_diff))
}

/// The turn that another one is compared with; the one before it where none is named.
#[derive(Debug, Deserialize)]
struct DiffQuery {
    with: Option<TurnId>,
}

async fn show_diff(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(turn): PagePath<String>,
    PageQuery(query): PageQuery<DiffQuery>,
) -> PageResult<Markup> {
    let reader = RecordReader::new(gateway.store(), &visitor.actor);
    let record = reader.find_turn(&turn).await?;
    let session = reader.session(record.turn().session).await?;
    let other = match query.with {
        Some(other) => Some(reader.turn(other).await?),
        None => None,
    };
    let compared = reader.compare_turns(record, other).await?;
    let chrome = PageChrome::load(&gateway, &visitor, &session.agent).await?;
    let RequestPair { before, after } = &compared.requests;
    let title = format!("Turn {} against turn {}", after.turn, before.turn);
    let frame =
        PageFrame { title: &title, page: Some(NavPage::Chat), body_class: "", scripts: &[] };
    Ok(chrome.render(frame, &diff_page(&title, &compared)))
}

fn diff_page(title: &str, compared: &TurnComparison) -> Markup {
    let RequestPair { before, after } = &compared.requests;
    html! {
        main.page id="main" {
            header.head {
                div {
                    p.crumbs {
                        a href={ "/turns/" (before.turn) } { "turn " (before.turn) }
                        span { "request " (before.number) }
                        span aria-hidden="true" { "→" }
                        a href={ "/turns/" (after.turn) } { "turn " (after.turn) }
                        span { "request " (after.number) }
                    }
                    h1 { (title) }
                }
                form.with method="get" action={ "/turns/" (after.turn) "/diff" } {
                    label for="with" { "Compare with turn" }
                    input id="with" name="with" inputmode="numeric" pattern="[0-9]+" required
                        value=(before.turn);
                    button.btn type="submit" { "Compare" }
                }
            }
            section {
                h2 { "Where they part" }
                (diff_facts(&compared.comparison, ""))
                (changed_text(&compared.comparison))
            }
            @if changes_items(&compared.comparison) {
                section {
                    h2 { "Items that came and went" }
                    (item_changes(&compared.comparison))
                }
            }
        }
    }
}

/// The facts of a comparison. `first_change` leads to the first byte that changed, if it is on the
/// same page.
pub(crate) fn diff_facts(comparison: &Comparison, first_change: &str) -> Markup {
    let Comparison { agreed_bytes, agreed_tokens, fresh_tokens, reread_tokens, change, .. } =
        comparison;
    html! {
        dl.facts {
            dt { "agree" }
            dd { (grouped_digits(*agreed_bytes as u64)) " bytes, " (agreed_tokens) " tokens" }
            dt { "fresh" }
            dd {
                (fresh_tokens) " tokens to read"
                @if *reread_tokens > Tokens::ZERO { ", " (reread_tokens) " of them again" }
            }
            @if !is_other_model(comparison) {
                dt { "part" }
                dd {
                    @match change {
                        Some(change) if !first_change.is_empty() => {
                            a href=(first_change) { (change_place(change)) }
                        },
                        Some(change) => (change_place(change)),
                        None if *fresh_tokens == Tokens::ZERO => "nowhere: the requests are the same",
                        None => "nowhere: the later request goes on where the earlier one ended",
                    }
                }
                @if let Some(change) = change { (changed_part(change)) }
            }
            @if let Some(change) = change { dt { "cause" } dd { (change.cause.describe()) } }
        }
    }
}

/// Whether another model reads the later request: it has read nothing yet, so no place in the text
/// ends the agreement.
fn is_other_model(comparison: &Comparison) -> bool {
    comparison.change.as_ref().is_some_and(|change| change.cause == ChangeCause::ModelChanged)
}

/// What it is that changed first.
fn changed_part(change: &PromptChange) -> Markup {
    html! {
        dt { "layer" } dd { span class={ "sw l-" (change.layer) } {} " " (change.layer) }
        @if let Some(item) = &change.item { dt { "item" } dd { (item) } }
        @if let Some(source) = &change.source { dt { "source" } dd title=(source) { (short_source(source)) } }
    }
}

fn change_place(change: &PromptChange) -> String {
    let byte = grouped_digits(change.byte as u64);
    match change.message {
        Some(message) => format!("in message {}, byte {byte}", message + 1),
        None => format!("in the tools, byte {byte}"),
    }
}

/// The text around the place where two requests part.
pub(crate) fn changed_text(comparison: &Comparison) -> Markup {
    let Some(change) = &comparison.change else { return html! {} };
    let ChangeExcerpt { agreed, before, after } = &change.excerpt;
    if before == after || is_other_model(comparison) {
        return html! {};
    }
    let line = |text: &str| if text.is_empty() { "nothing".to_owned() } else { visible(text) };
    html! {
        pre.hunk {
            @if !agreed.is_empty() { span { (visible(agreed)) } }
            del { span.vh { "before: " } (line(before)) }
            ins { span.vh { "now: " } (line(after)) }
        }
    }
}

/// A text in which what can't be seen is written out: of one with nothing else in it the line
/// breaks, too.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_blank = text.trim().is_empty();
    for c in text.chars() {
        match c {
            '\n' if !is_blank => shown.push(c),
            c if is_unseen(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// The items that came, left and changed.
pub(crate) fn item_changes(comparison: &Comparison) -> Markup {
    let Comparison { added, removed, changed, .. } = comparison;
    let lists: [(&str, &str, &str, &Vec<ItemId>); 3] = [
        ("ok", "added", "+", added),
        ("no-ok", "removed", "−", removed),
        ("wait", "changed", "~", changed),
    ];
    html! {
        @if changes_items(comparison) {
            ul.chg {
                @for (class, word, sign, items) in lists {
                    @for item in items {
                        li { span class=(class) role="img" aria-label=(word) { (sign) } (item) }
                    }
                }
            }
        }
    }
}

/// Whether any item came, left or changed.
fn changes_items(comparison: &Comparison) -> bool {
    let Comparison { added, removed, changed, .. } = comparison;
    [added, removed, changed].iter().any(|items| !items.is_empty())
}

#[cfg(test)]
mod tests {
    use recto_context::{AssemblyInputs, Catalog, compare_requests};

    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out_and_quotes_stay() {
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(visible("{\"a\": \"b\"}\n\tc\u{1b}"), "{\"a\": \"b\"}\n\\tc\\u{1b}");
        assert_eq!(visible(" \n"), " \\n");
    }

    #[test]
    fn another_model_is_told_as_the_cause_and_as_nothing_else() {
        let catalog = Catalog::default();
        let request = |message: &str, model: &str| {
            AssemblyInputs::new(&catalog, message).model(model).assemble().unwrap()
        };
        let compared = compare_requests(&request("hello", "a"), &request("hello", "b"));
        let facts = diff_facts(&compared, "").into_string();
        assert!(facts.contains("the model changed"), "{facts}");
        assert!(!facts.contains("<dt>part") && !facts.contains("<dt>layer"), "{facts}");
        assert_eq!(changed_text(&compared).into_string(), "");
        let compared = compare_requests(&request("hello", "a"), &request("help", "a"));
        let facts = diff_facts(&compared, "").into_string();
        assert!(facts.contains("<dt>part") && facts.contains("<dt>layer"), "{facts}");
        assert!(changed_text(&compared).into_string().contains("<del>"));
    }
}
