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
    // What the model has read by its name is there.
    let is_absent = |standing: &&ItemStanding| {
        standing.status.absence_name().is_some() && standing.read.is_none()
    };
    let absent: Vec<&ItemStanding> = standings.iter().filter(is_absent).collect();
    html! {
        section id={ (prefix) "left-out" } aria-labelledby={ (prefix) "drop-title" } {
            h2 id={ (prefix) "drop-title" } { "Left out" }
            @if meant_for_page(context).next().is_none() && context.notices.is_empty() {
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

/// What was dropped that was meant to stand on the page. What the list of names had no room for is
/// told with what search did not take.
fn meant_for_page(context: &RequestContext) -> impl Iterator<Item = &DroppedEntry> {
    context.dropped.iter().filter(|dropped| !dropped.reason.is_full_list())
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
                @for dropped in meant_for_page(context) { (dropped_row(context, dropped)) }
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

/// An item that search looked at and did not take.
struct RefusedItem<'a> {
    pick: &'a Pick,
    /// Why it is not listed by name either, where more is known of that.
    unlisted: Option<String>,
}

/// What search looked at and did not take; what stands on the page all the same is told there.
fn not_taken(standings: &[ItemStanding]) -> Vec<RefusedItem<'_>> {
    let refused = standings.iter().filter_map(|standing| match &standing.status {
        ItemStatus::NotTaken { candidate } => {
            let unlisted = standing.read.map(|read| read.describe().to_owned());
            Some(RefusedItem { pick: candidate, unlisted })
        }
        ItemStatus::LeftOut { reason, candidate: Some(pick), .. } if reason.is_full_list() => {
            let unlisted = format!("{} ({} tokens)", reason.describe(), standing.tokens);
            Some(RefusedItem { pick, unlisted: Some(unlisted) })
        }
        _ => None,
    });
    refused.collect()
}

fn candidates(context: &RequestContext, candidates: &[RefusedItem<'_>]) -> Markup {
    let picks: Vec<&Pick> = candidates.iter().map(|refused| refused.pick).collect();
    html! {
        @if !candidates.is_empty() {
            details.fold {
                summary { (refusal_summary(&picks)) }
                table.small {
                    thead {
                        tr {
                            th scope="col" { "Item" }
                            th.n scope="col" { "Prob." } th.n scope="col" { "Floor" }
                            th.n scope="col" { "Cosine" } th.n scope="col" { "Words" }
                        }
                    }
                    tbody {
                        @for refused in candidates {
                            (candidate_row(&context.describe_item(&refused.pick.item), refused))
                        }
                    }
                }
            }
        }
    }
}

fn candidate_row(item: &str, refused: &RefusedItem<'_>) -> Markup {
    let RefusedItem { pick, unlisted } = refused;
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
                @if let Some(words) = unlisted {
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
    use recto_context::{DropReason, ItemId, Layer, Scores};

    use super::*;

    #[test]
    fn what_was_refused_says_how_it_was_searched_for() {
        let scores = Scores { with_before: true, respelled: true, ..Scores::default() };
        let item = ItemId::new(ItemKind::Rule, "refunds");
        let pick = Pick::new(item, scores);
        let refused = RefusedItem { pick: &pick, unlisted: None };
        let drawn = candidate_row("rule refunds", &refused).into_string();
        let told = "searched for with the message before, and with misspelt words put right";
        assert!(drawn.contains(told), "{drawn}");
    }

    #[test]
    fn what_the_list_had_no_room_for_is_told_with_its_probability() {
        let scores = Scores { probability: Some(0.08), floor: Some(0.4), ..Scores::default() };
        let item = ItemId::new(ItemKind::Rule, "refunds");
        let reason = DropReason::ListLines { limit: 3 };
        let candidate = Some(Pick::new(item.clone(), scores));
        let standing = |status| ItemStanding {
            item: item.clone(),
            tokens: Tokens::new(7),
            status,
            also: Vec::new(),
            read: None,
        };
        let layer = Layer::Picks;
        let standings = [standing(ItemStatus::LeftOut { layer, reason, candidate })];
        let [refused] = &not_taken(&standings)[..] else { panic!("{standings:?}") };
        let drawn = candidate_row("rule refunds", refused).into_string();
        assert!(drawn.contains("room for 3 items, and others come first (7 tokens)"), "{drawn}");
        assert!(drawn.contains("0.08"), "{drawn}");
        let (reason, candidate) = (DropReason::NoRoom, None);
        let standings = [standing(ItemStatus::LeftOut { layer, reason, candidate })];
        assert_eq!(not_taken(&standings).len(), 0, "it was meant for the page");
    }
}
