//! Histories that are broken, and sessions that name what is gone.

use recto_context::{AssemblyInputs, Catalog, ItemId, ItemKind, ItemOrigin, SessionItem};

use crate::support::*;

/// What is left of a broken history, and what was dropped.
fn check(history: &str, left: &[&str], dropped: &[&str]) {
    let catalog = Catalog::default();
    let history = talk(history);
    let request = AssemblyInputs::new(&catalog, "now").history(&history).assemble().unwrap();
    let shown = |message: &recto_context::ChatMessage| {
        format!("{}:{}{}", message.role.name(), message.text(), "+".repeat(message.calls.len()))
    };
    let [_, shown_history @ .., _] = &request.messages[..] else { panic!() };
    assert_eq!(shown_history.iter().map(shown).collect::<Vec<_>>(), left);
    assert_eq!(drops(&request), dropped);
}

#[test]
fn a_result_without_its_call_is_left_out() {
    let reason = "history: result in message 1 (its call is not in the history)";
    check("tool: 12:00 / user: hi / model: hello", &["user:hi", "assistant:hello"], &[reason]);
}

#[test]
fn a_call_without_its_result_is_left_out() {
    let reason = "history: call in message 2 (its result is not in the history)";
    check("user: time? / model: call time{} / user: hm", &["user:time?", "user:hm"], &[reason]);
}

#[test]
fn of_three_calls_only_the_unanswered_one_is_left_out() {
    let reason = "history: call in message 2 (its result is not in the history)";
    check(
        "user: a / model: call x{} y{} z{} / tool: 1 / tool: 2 / model: done",
        &["user:a", "assistant:++", "tool:1", "tool:2", "assistant:done"],
        &[reason],
    );
}

#[test]
fn an_error_between_call_and_result_does_not_part_them() {
    check(
        "user: a / model: call x{} / error: slow / tool: 1",
        &["user:a", "assistant:+", "tool:1"],
        &[],
    );
}

#[test]
fn items_that_are_gone_are_recorded() {
    let catalog = Catalog::default();
    let session =
        [SessionItem { item: ItemId::new(ItemKind::Rule, "old"), joined: ItemOrigin::ByHand }];
    let picks = [pick(ItemKind::Reference, "older", 0.9), pick(ItemKind::Tool, "oldest", 0.9)];
    let inputs = AssemblyInputs::new(&catalog, "now").session(&session).picks(&picks);
    let request = inputs.assemble().unwrap();
    assert_eq!(
        drops(&request),
        [
            "items: rule old (in the session, but gone from the workspace)",
            "tools: tool oldest (in the session, but gone from the workspace)",
            "items: reference older (in the session, but gone from the workspace)",
        ]
    );
}

#[test]
fn two_tools_of_one_name_are_told_apart_by_dropping_one() {
    let mut catalog = Catalog::default();
    catalog.skills.push(skill("a", None, "A.", &["run"]));
    catalog.skills.push(skill("b", None, "B.", &["run"]));
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "now").session(&session).assemble().unwrap();
    assert_eq!(request.tools.len(), 1);
    assert_eq!(drops(&request), ["tools: tool b.run (another tool of this name is offered)"]);
}

#[test]
fn results_stand_in_the_order_of_their_calls() {
    // Some wires match them by that alone.
    let catalog = Catalog::default();
    let mut history = talk("user: a / model: call x{} y{} / tool: first / tool: second");
    history.swap(2, 3);
    let request = AssemblyInputs::new(&catalog, "now").history(&history).assemble().unwrap();
    let texts: Vec<_> = request.messages[3..5].iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn a_round_of_many_calls_is_mended_in_no_time() {
    let catalog = Catalog::default();
    let calls: Vec<String> = (0..20_000).map(|n| format!("t{{\"n\":{n}}}")).collect();
    let results = " / tool: x".repeat(20_000);
    let mut history = talk(&format!("user: a / model: call {}{results}", calls.join(" ")));
    history[2..].reverse();
    let inputs = AssemblyInputs::new(&catalog, "now").history(&history);
    assert_eq!(inputs.assemble().unwrap().carry.trimmed.messages, 20_001);
}

#[test]
fn bad_arguments_stay_json_where_calls_are_text() {
    let catalog = Catalog::default();
    let layout = recto_context::PageLayout {
        tool_calls: recto_context::ToolCalls::Text,
        ..Default::default()
    };
    let rounds = talk("model: call x{not json} / tool: ok");
    let request =
        AssemblyInputs::new(&catalog, "now").layout(layout).rounds(&rounds).assemble().unwrap();
    let call = request.messages[2].text();
    let json = call.trim_start_matches("<tool_call>").trim_end_matches("</tool_call>");
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(value["arguments"], "{not json}");
}
