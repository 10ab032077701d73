//! What a request was made without: what was dropped and why, files that could not be used, what
//! search did not take, and items that nobody wanted.

use maud::{Markup, html};
use recto_context::{
    ContentSource, DroppedEntry, ItemKind, ItemStanding, ItemStatus, Pick, RequestContext, Tokens,
};

use super::view::{refusal_summary, short_source, two_decimals};
use crate::gateway::Gateway;

/// The section of what was left out.
pub(crate) fn left_out(gateway: &Gateway, context: &RequestContext, prefix: &str) -> Markup {
    let standings = context.item_standings();
    let is_absent = |standing: &&ItemStanding| standing.status.absence_name().is_some();
    let absent: Vec<&ItemStanding> = standings.iter().filter(is_absent).collect();
    html! {
        section id={ (prefix) "left-out" } aria-labelledby={ (prefix) "drop-title" } {
            h2 id={ (prefix) "drop-title" } { "Left out" }
            @if context.dropped.is_empty() && context.notices.is_empty() {
                p.q { "Nothing that was meant for the page was left out." }
            } @else {
                (dropped_table(gateway, context))
            }
            (candidates(context, &not_taken(&standings)))
            (alike(context))
            @if !absent.is_empty() { (absent_items(context, &absent)) }
        }
    }
}

fn dropped_table(gateway: &Gateway, context: &RequestContext) -> Markup {
    html! {
        table.small {
            thead {
                tr {
                    th scope="col" { "What" } th scope="col" { "Why" }
                    th.n scope="col" { "Tokens" }
                }
            }
            tbody {
                @for dropped in &context.dropped { (dropped_row(context, dropped)) }
                @for notice in &context.notices {
                    tr {
                        @if notice.source == ContentSource::BuiltIn { td { span.q { "note" } } }
                        @else {
                            td.path title=(notice.source) { (short_source(&notice.source)) br; span.q { "file" } }
                        }
                        td {
                            (notice.problem)
                            @if let Some(remedy) = &notice.remedy {
                                " (" (gateway.describe_remedy(remedy)) ")"
                            }
                        }
                        td.n { "–" }
                    }
                }
            }
        }
    }
}

fn dropped_row(context: &RequestContext, dropped: &DroppedEntry) -> Markup {
    let DroppedEntry { layer, before, after, reason, .. } = dropped;
    let memory = dropped.item.as_ref().filter(|item| item.kind == ItemKind::Memory);
    let what = memory.map_or_else(|| dropped.what.clone(), |item| context.describe_item(item));
    html! {
        tr {
            td { (what) br; span.q { span class={ "sw l-" (layer) } {} " " (layer) } }
            td { (reason.describe()) }
            td.n {
                @match (*before, *after) {
                    (Tokens::ZERO, _) => "–",
                    (before, Tokens::ZERO) => (before),
                    (before, after) => { (before) " → " (after) },
                }
            }
        }
    }
}

/// What search looked at and did not take; what stands on the page all the same is told there.
fn not_taken(standings: &[ItemStanding]) -> Vec<Pick> {
    let refused = standings.iter().filter_map(|standing| match &standing.status {
        ItemStatus::NotTaken { candidate } => Some(candidate.clone()),
        _ => None,
    });
    refused.collect()
}

fn candidates(context: &RequestContext, candidates: &[Pick]) -> Markup {
    html! {
        @if !candidates.is_empty() {
            details.fold {
                summary { (refusal_summary(candidates)) }
                table.small {
                    thead {
                        tr {
                            th scope="col" { "Item" }
                            th.n scope="col" { "Prob." } th.n scope="col" { "Floor" }
                            th.n scope="col" { "Cosine" } th.n scope="col" { "Words" }
                        }
                    }
                    tbody {
                        @for pick in candidates {
                            (candidate_row(&context.describe_item(&pick.item), pick))
                        }
                    }
                }
            }
        }
    }
}

fn candidate_row(item: &str, pick: &Pick) -> Markup {
    let number = |score: Option<f32>| score.map(two_decimals).unwrap_or_default();
    html! {
        tr title=(pick.describe_refusal()) {
            td {
                (item)
                @if let Some(words) = pick.describe_query() {
                    br; span.q { "searched for " (words) }
                }
                @if let Some(words) = pick.scores.describe_use() {
                    br; span.q { (words) }
                }
            }
            td.n { (number(pick.scores.probability)) }
            td.n { (number(pick.scores.floor)) }
            td.n { (number(pick.scores.cosine)) }
            td.n { (number(pick.scores.lexical)) }
        }
    }
}

fn alike(context: &RequestContext) -> Markup {
    html! {
        @if !context.alike.is_empty() {
            details.fold {
                summary { (context.alike.len()) " left for likeness" }
                ul.q {
                    @for alike in &context.alike {
                        li {
                            (context.describe_item(&alike.item)) " says the same as "
                            (context.describe_item(&alike.of))
                            @if let Some(cosine) = alike.cosine {
                                " (cosine " (two_decimals(cosine)) ")"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn absent_items(context: &RequestContext, absent: &[&ItemStanding]) -> Markup {
    html! {
        details.fold {
            summary { (absent.len()) " not in the session" }
            ul.q {
                @for standing in absent {
                    li {
                        (context.describe_item(&standing.item))
                        " (" (standing.status.absence_name().unwrap_or("")) ")"
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use recto_context::{ItemId, ItemKind, Scores};

    use super::*;

    #[test]
    fn what_was_refused_says_how_it_was_searched_for() {
        let scores = Scores { with_before: true, respelled: true, ..Scores::default() };
        let item = ItemId::new(ItemKind::Rule, "refunds");
        let pick = Pick::new(item, scores);
        let drawn = candidate_row("rule refunds", &pick).into_string();
        let told = "searched for with the message before, and with misspelt words put right";
        assert!(drawn.contains(told), "{drawn}");
    }
}
