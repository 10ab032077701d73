//! What stands on the page for messages that have left.

use std::sync::Arc;

use proptest::prelude::*;
use recto_context::{
    AssemblyInputs, Carry, Catalog, ChatRole, ContextLimits, ContextMode, HistorySummary, Layer,
    Message, MessageId, PartReason, RequestContext, SummaryBy, Tokens, Window,
};

use crate::support::*;

fn summary(text: &str, last: u64) -> HistorySummary {
    HistorySummary {
        text: text.into(),
        first: MessageId(1),
        last: MessageId(last),
        messages: last as usize,
        how: SummaryBy::Extract,
    }
}

/// Exchanges of about a hundred tokens each.
fn long_talk(exchanges: usize) -> Vec<Arc<Message>> {
    let words = "word ".repeat(45);
    talk(&vec![format!("user: {words} / model: {words}"); exchanges].join(" / "))
}

fn limits() -> ContextLimits {
    ContextLimits {
        history_tokens: Tokens::new(1_000),
        summary_tokens: Tokens::new(200),
        ..ContextLimits::default()
    }
}

fn assemble(
    history: &[Arc<Message>],
    summary: Option<&HistorySummary>,
    window: u32,
) -> Result<RequestContext, recto_context::OverBudget> {
    let catalog = Catalog::default();
    AssemblyInputs::new(&catalog, "And now?")
        .message_id(MessageId(10_000))
        .window(Window::from_config(Tokens::new(window)))
        .limits(limits())
        .history(history)
        .summary(summary)
        .assemble()
}

fn is_shown(request: &RequestContext) -> bool {
    request.parts.iter().any(|part| matches!(part.reason, PartReason::Summary { .. }))
}

fn first_kept(request: &RequestContext) -> u64 {
    request.carry.history_from.unwrap().0
}

#[test]
fn it_is_the_oldest_entry_of_the_history_once_all_it_stands_for_has_left() {
    let history = long_talk(20);
    let plain = assemble(&history, None, 16_384).unwrap();
    let last = first_kept(&plain) - 1;
    let made = summary("The word was word.", last);
    let request = assemble(&history, Some(&made), 16_384).unwrap();
    // The same messages stay: there was room for it.
    assert_eq!(first_kept(&request), first_kept(&plain));
    let part = request.layer(Layer::History).next().unwrap();
    assert_eq!(part.role, ChatRole::User);
    assert_eq!(part.reason.describe(), format!("summary by extraction of messages 1 to {last}"));
    let sent = &request.messages[1];
    assert_eq!(sent.text(), "[Summary of the earlier conversation]\nThe word was word.");
    let dropped = request.dropped.iter().find(|dropped| dropped.layer == Layer::History).unwrap();
    assert_eq!(dropped.after, part.tokens);
    assert!(dropped.after < dropped.before);
    // As long as something that it stands for is on the page, it would say it twice.
    let ahead = summary("The word was word.", last + 1);
    assert!(!is_shown(&assemble(&history, Some(&ahead), 16_384).unwrap()));
}

#[test]
fn minimal_mode_has_no_history_and_no_summary_of_it() {
    let catalog = catalog();
    let history = long_talk(4);
    let made = summary("The word was word.", 2);
    let carry = Carry { history_from: Some(MessageId(3)), ..Carry::default() };
    let page = |setting| {
        let inputs = AssemblyInputs::new(&catalog, "fix src/main.rs")
            .message_id(MessageId(100))
            .history(&history)
            .summary(Some(&made))
            .carry(carry.clone())
            .mode(mode(setting, "fix src/main.rs"));
        is_shown(&inputs.assemble().unwrap())
    };
    assert!(page(ContextMode::Full));
    assert!(!page(ContextMode::Minimal));
}

#[test]
fn one_that_was_made_for_a_larger_window_leaves() {
    let history = long_talk(6);
    let made = summary(&"and so on ".repeat(150), 10);
    let carry = Carry { history_from: Some(MessageId(11)), ..Carry::default() };
    let catalog = Catalog::default();
    let inputs = |window| {
        AssemblyInputs::new(&catalog, "And now?")
            .message_id(MessageId(10_000))
            .window(Window::from_config(Tokens::new(window)))
            .limits(limits())
            .history(&history)
            .summary(Some(&made))
            .carry(carry.clone())
    };
    assert!(is_shown(&inputs(16_384).assemble().unwrap()));
    let small = inputs(600).assemble().unwrap();
    assert!(!is_shown(&small));
    assert!(drops(&small).iter().any(|dropped| dropped.contains("summary of the history")));
    assert!(small.budget.used <= small.budget.messages);
}

proptest! {
    /// Whatever a summary is and whatever the window: the page fits, and the summary
    /// never stands beside what it stands for.
    #[test]
    fn a_page_with_a_summary_fits(
        exchanges in 0_usize..30,
        words in 0_usize..400,
        last in 1_u64..60,
        window in 300_u32..6_000,
    ) {
        let history = long_talk(exchanges);
        let made = summary(&"fact ".repeat(words), last);
        let Ok(request) = assemble(&history, Some(&made), window) else { return Ok(()) };
        prop_assert!(request.budget.used <= request.budget.messages);
        let limit = limits().history_tokens;
        let history: Tokens = request.layer(Layer::History).map(|part| part.tokens).sum();
        prop_assert!(history <= limit || !is_shown(&request));
        if is_shown(&request) {
            prop_assert!(first_kept(&request) > last);
        }
    }
}
