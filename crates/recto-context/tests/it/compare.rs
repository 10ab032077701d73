//! Where two requests part, and why.

use std::sync::Arc;

use recto_context::{
    Cause, Include, Inputs, ItemId, ItemKind, Layer, Message, MessageId, Mode, ModeDecision,
    ModeReason, Tokens, compare,
};

use crate::support::*;

#[test]
fn a_round_extends_the_request_before_it() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let rounds = talk("model: call read_file{} / tool: text");
    let first = Inputs::new(&catalog, "go").session(&session).assemble().unwrap();
    let second = Inputs::new(&catalog, "go").session(&session).rounds(&rounds).assemble().unwrap();
    let comparison = compare(&first, &second);
    assert_eq!(comparison.change, None);
    assert_eq!(comparison.agreed_parts, first.parts.len());
    assert_eq!(comparison.agreed_tokens, first.prompt_tokens());
    assert_eq!(comparison.fresh_tokens, second.layer_tokens(Layer::Rounds));
}

#[test]
fn an_edited_rule_is_named_with_its_layer_and_first_byte() {
    let before = catalog();
    let mut after = before.clone();
    after.rules[0].text = "Stay very calm.".into();
    let session = before.session_at_start();
    let a = Inputs::new(&before, "go").session(&session).assemble().unwrap();
    let b = Inputs::new(&after, "go").session(&session).assemble().unwrap();
    let comparison = compare(&a, &b);
    let change = comparison.change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Items, Cause::ItemChanged));
    assert_eq!(change.item, Some(ItemId::new(ItemKind::Rule, "tone")));
    assert_eq!(&a.messages[0].text()[change.byte..][..4], "calm");
    assert_eq!(&b.messages[0].text()[change.byte..][..4], "very");
    assert_eq!(comparison.changed, [ItemId::new(ItemKind::Rule, "tone")]);
    assert!(comparison.fresh_tokens > Tokens::ZERO);
}

#[test]
fn items_that_came_and_left_are_listed() {
    let before = catalog();
    let mut after = before.clone();
    after.references.clear();
    after.rules.push(rule("new", 999, Include::Always, "New."));
    let (s1, s2) = (before.session_at_start(), after.session_at_start());
    let a = Inputs::new(&before, "go").session(&s1).assemble().unwrap();
    let b = Inputs::new(&after, "go").session(&s2).assemble().unwrap();
    let comparison = compare(&a, &b);
    assert_eq!(comparison.added, [ItemId::new(ItemKind::Rule, "new")]);
    assert_eq!(comparison.removed, [ItemId::new(ItemKind::Reference, "api")]);
}

#[test]
fn a_new_tool_a_new_memory_a_new_mode_and_a_new_model_are_told_apart() {
    let base = catalog();
    let session = base.session_at_start();
    let request = |catalog: &recto_context::Catalog, session: &[_], mode, model: &str| {
        let decision =
            ModeDecision { chosen: mode, reason: ModeReason::Configured, matched: vec![] };
        let inputs = Inputs::new(catalog, "go").session(session).mode(decision).model(model);
        inputs.assemble().unwrap()
    };
    let first = request(&base, &session, Mode::Full, "a");
    let cause = |second| compare(&first, &second).change.unwrap().cause;

    let mut tools = base.clone();
    tools.tools.push(tool(None, "write_file"));
    assert_eq!(
        cause(request(&tools, &tools.session_at_start(), Mode::Full, "a")),
        Cause::ToolOffered
    );

    let mut memories = base.clone();
    memories.memories.insert(0, memory("MEMORY.md:9", None, "New."));
    assert_eq!(cause(request(&memories, &session, Mode::Full, "a")), Cause::MemoryReplaced);

    assert_eq!(cause(request(&base, &session, Mode::Minimal, "a")), Cause::ModeFlipped);
    // Another model has read nothing, also where the bytes are the same.
    let other_model = request(&base, &session, Mode::Full, "b");
    assert_eq!(compare(&first, &other_model).agreed_tokens, Tokens::ZERO);
    assert_eq!(cause(other_model), Cause::ModelChanged);
    let mut other = base.clone();
    other.system.soul = file("SOUL.md", "You are Bob.");
    assert_eq!(cause(request(&other, &session, Mode::Full, "a")), Cause::ItemChanged);
    // An edit is named also when the mode flips with it.
    let both = compare(&first, &request(&other, &session, Mode::Minimal, "a")).change.unwrap();
    assert_eq!(both.cause, Cause::ItemChanged);
    assert_eq!(both.source.unwrap().name(), "SOUL.md");
}

#[test]
fn picks_that_leave_with_their_turn_are_no_break() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, Include::Agent, "Use tokens."));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let inputs = Inputs::new(&catalog, "one").message_id(MessageId(1)).picks(&picks);
    let first = inputs.assemble().unwrap();
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let inputs = Inputs::new(&catalog, "two").message_id(MessageId(3)).history(&history);
    let second = inputs.assemble().unwrap();
    let change = compare(&first, &second).change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Picks, Cause::PicksLeft));
}

#[test]
fn requests_of_two_sessions_are_unrelated() {
    let catalog = catalog();
    let (one, two) = (talk("user: a / model: b"), talk("user: c / model: d"));
    let a = Inputs::new(&catalog, "x").history(&one).assemble().unwrap();
    let b = Inputs::new(&catalog, "x").history(&two).assemble().unwrap();
    assert_eq!(compare(&a, &b).change.unwrap().cause, Cause::Unrelated);
}

#[test]
fn an_edited_skill_that_search_could_bring_is_a_change_and_no_pick() {
    let mut before = catalog();
    before.skills[0].include = Include::Agent;
    let mut after = before.clone();
    let edited = skill("notes", Some("Something else."), "Use `notes add`.", &["add_note"]);
    after.skills[0] = recto_context::Skill { include: Include::Agent, ..edited };
    let session = before.session_at_start();
    let a = Inputs::new(&before, "go").session(&session).assemble().unwrap();
    let b = Inputs::new(&after, "go").session(&session).assemble().unwrap();
    let change = compare(&a, &b).change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Skills, Cause::ItemChanged));
}

#[test]
fn tools_that_stand_on_the_page_are_compared_there() {
    let before = catalog();
    let mut after = before.clone();
    after.tools.push(tool(None, "write_file"));
    let layout =
        recto_context::Layout { tool_calls: recto_context::ToolCalls::Text, ..Default::default() };
    let request = |catalog: &recto_context::Catalog| {
        let session = catalog.session_at_start();
        Inputs::new(catalog, "go").session(&session).layout(layout).assemble().unwrap()
    };
    let comparison = compare(&request(&before), &request(&after));
    let change = comparison.change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Tools, Cause::ToolOffered));
    assert!(comparison.agreed_tokens > Tokens::new(50));
}

#[test]
fn the_first_byte_never_lies_within_a_character() {
    let (mut a, mut b) = (catalog(), catalog());
    a.system.soul = file("SOUL.md", "caf\u{e9}");
    b.system.soul = file("SOUL.md", "caf\u{e8}");
    let a = Inputs::new(&a, "go").assemble().unwrap();
    let b = Inputs::new(&b, "go").assemble().unwrap();
    assert_eq!(compare(&a, &b).change.unwrap().byte, 3);
}

/// The layer, cause and name that are told when `after` follows `before`.
fn told(before: &recto_context::Catalog, after: &recto_context::Catalog) -> (Layer, Cause, String) {
    let (s1, s2) = (before.session_at_start(), after.session_at_start());
    let a = Inputs::new(before, "go").session(&s1).assemble().unwrap();
    let b = Inputs::new(after, "go").session(&s2).assemble().unwrap();
    let change = compare(&a, &b).change.unwrap();
    let name = match change.item {
        Some(item) => item.name.to_string(),
        None => change.source.unwrap().name(),
    };
    (change.layer, change.cause, name)
}

#[test]
fn what_came_left_or_ended_earlier_is_named_and_not_its_neighbour() {
    let base = catalog();
    let edited = |edit: fn(&mut recto_context::Catalog)| {
        let mut catalog = catalog();
        edit(&mut catalog);
        catalog
    };
    let bare = edited(|c| (c.rules, c.references) = (vec![], vec![]));
    let first_rule = edited(|c| {
        c.rules.truncate(1);
        c.references.clear();
    });
    assert_eq!(told(&bare, &first_rule), (Layer::Items, Cause::ItemChanged, "tone".into()));
    assert_eq!(told(&first_rule, &bare), (Layer::Items, Cause::ItemChanged, "tone".into()));

    let without_dates = edited(|c| c.rules.truncate(1));
    assert_eq!(told(&base, &without_dates), (Layer::Items, Cause::ItemChanged, "dates".into()));

    let shorter = edited(|c| c.system.soul = file("SOUL.md", "You are"));
    assert_eq!(told(&base, &shorter), (Layer::System, Cause::ItemChanged, "SOUL.md".into()));

    let forgetful = edited(|c| drop(c.memories.remove(0)));
    let (layer, cause, name) = told(&base, &forgetful);
    assert_eq!(
        (layer, cause, name.as_str()),
        (Layer::Memory, Cause::MemoryReplaced, "MEMORY.md:4")
    );

    let toolless = edited(|c| c.tools.clear());
    assert_eq!(told(&base, &toolless), (Layer::Tools, Cause::ItemChanged, "read_file".into()));
}

#[test]
fn kept_picks_that_leave_at_a_trim_are_a_trim() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, Include::Agent, "Use tokens."));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let layout =
        recto_context::Layout { picks: recto_context::PickPlacement::Kept, ..Default::default() };
    let limits = recto_context::Limits { history_messages: 1, ..Default::default() };
    let turn = |id: u64, picks, history: &[Arc<Message>], carry| {
        let inputs = Inputs::new(&catalog, "x").message_id(MessageId(id)).layout(layout);
        inputs.limits(limits).picks(picks).history(history).carry(carry).assemble().unwrap()
    };
    let first = turn(1, &picks[..], &[], Default::default());
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let second = turn(3, &[], &history, first.carry.clone());
    assert_eq!(compare(&first, &second).change.unwrap().cause, Cause::HistoryTrimmed);
}
