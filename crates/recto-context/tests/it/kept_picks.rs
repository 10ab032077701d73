//! `context.picks = "kept"`: picks stay in front of their message.

use std::sync::Arc;

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Carry, IncludeMode, ItemKind, Message, MessageId, PageLayout, PickPlacement,
    TurnNumber,
};

use crate::support::*;

#[test]
fn kept_picks_are_not_repeated_and_leave_at_the_next_trim() {
    let mut catalog = catalog();
    catalog.rules = vec![rule("auth", 1, IncludeMode::Agent, "Use tokens.")];
    let layout = PageLayout { picks: PickPlacement::Kept, ..PageLayout::default() };
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let turn = |number: u32, history: &[Arc<Message>], carry: Carry, tokens: u32| {
        AssemblyInputs::new(&catalog, format!("message {number}"))
            .message_id(MessageId(u64::from(number) * 2))
            .turn(TurnNumber(number))
            .layout(layout)
            .picks(&picks)
            .history(history)
            .carry(carry)
            .window(recto_context::Window::from_config(recto_context::Tokens::new(tokens)))
            .assemble()
            .unwrap()
    };
    let first = turn(1, &[], Carry::default(), 8_000);
    let mut history = vec![first.sent.clone(), Arc::new(Message::assistant(3, "ok"))];
    let second = turn(2, &history, first.carry.clone(), 8_000);
    let [.., kept, _reply, now] = &second.messages[..] else { panic!() };
    assert_eq!(kept, first.messages.last().unwrap());
    expect![[r#"
        [context for this message]

        [rule: auth] stands above, since turn 1.

        [end of context]

        message 2"#]]
    .assert_eq(&now.text());

    // A trim takes kept picks along; the next pick is shown in full again.
    history.push(second.sent.clone());
    history.push(Arc::new(Message::assistant(5, "x ".repeat(400))));
    let third = turn(3, &history, second.carry.clone(), 600);
    assert_eq!(third.carry.picks_from, Some(MessageId(6)));
    assert!(third.messages.last().unwrap().text().contains("[rule: auth]\nUse tokens."));
    let shown = third.messages.iter().filter(|m| m.text().contains("Use tokens.")).count();
    assert_eq!(shown, 1);
}

#[test]
fn a_kept_pick_whose_file_changed_is_shown_anew() {
    let mut catalog = catalog();
    catalog.rules = vec![rule("auth", 1, IncludeMode::Agent, "Use tokens.")];
    let layout = PageLayout { picks: PickPlacement::Kept, ..PageLayout::default() };
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let inputs = AssemblyInputs::new(&catalog, "one").message_id(MessageId(1)).layout(layout);
    let first = inputs.picks(&picks).assemble().unwrap();
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let mut edited = catalog.clone();
    edited.rules[0].text = "Use keys.".into();
    let inputs = AssemblyInputs::new(&edited, "two").message_id(MessageId(3)).layout(layout);
    let second = inputs.picks(&picks).history(&history).assemble().unwrap();
    assert!(second.messages.last().unwrap().text().contains("[rule: auth]\nUse keys."));
    assert!(page(&second).contains("Use tokens."), "what was sent stays as it was sent");
}
