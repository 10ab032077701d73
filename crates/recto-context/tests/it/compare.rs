//! Where two requests part, and why.

use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Carry, Catalog, ChangeCause, ContextLimits, DropReason, DroppedEntry,
    IncludeMode, ItemId, ItemKind, ItemOrigin, Layer, Message, MessageId, Mode, ModeDecision,
    ModeReason, SessionItem, Tokens, Window, compare_requests,
};

use crate::support::*;

#[test]
fn a_round_extends_the_request_before_it() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let rounds = talk("model: call read_file{} / tool: text");
    let first = AssemblyInputs::new(&catalog, "go").session(&session).assemble().unwrap();
    let second =
        AssemblyInputs::new(&catalog, "go").session(&session).rounds(&rounds).assemble().unwrap();
    let comparison = compare_requests(&first, &second);
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
    let a = AssemblyInputs::new(&before, "go").session(&session).assemble().unwrap();
    let b = AssemblyInputs::new(&after, "go").session(&session).assemble().unwrap();
    let comparison = compare_requests(&a, &b);
    let change = comparison.change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Items, ChangeCause::ItemChanged));
    assert_eq!(change.item, Some(ItemId::new(ItemKind::Rule, "tone")));
    assert_eq!(&a.messages[0].text()[change.byte..][..4], "calm");
    assert_eq!(&b.messages[0].text()[change.byte..][..4], "very");
    assert_eq!(comparison.changed, [ItemId::new(ItemKind::Rule, "tone")]);
    assert!(comparison.fresh_tokens > Tokens::ZERO);
}

/// A person sees both texts around the first difference, in whole characters and few of them.
#[test]
fn the_text_around_the_first_difference_is_told() {
    let before = Catalog { rules: vec![rule("r", 1, IncludeMode::Always, "")], ..catalog() };
    let session = before.session_at_start();
    let with_rule = |text: &str| {
        let mut catalog = before.clone();
        catalog.rules[0].text = text.into();
        let inputs = AssemblyInputs::new(&catalog, "go").session(&session);
        inputs.window(Window::from_config(Tokens::new(50_000))).assemble().unwrap()
    };
    let around = |a: &str, b: &str| {
        let change = compare_requests(&with_rule(a), &with_rule(b)).change.unwrap();
        (change.excerpt.agreed, change.excerpt.before, change.excerpt.after)
    };
    let behind = "\n\n## Reference: api\nGET /v1/things lists things.";
    let (agreed, old, new) = around("Stay calm. 猫", "Stay calm. 犬");
    assert!(agreed.ends_with("## Rule: r\nStay calm. "), "{agreed}");
    assert_eq!((old, new), (format!("猫{behind}"), format!("犬{behind}")));
    // ü and ä begin with the same byte.
    let (agreed, old, new) = around("fü", "fä");
    assert!(agreed.ends_with("\nf"), "{agreed}");
    assert!(old.starts_with('ü') && new.starts_with('ä'), "{old} {new}");
    let long = "早い🦀".repeat(1_000);
    let (agreed, old, new) = around(&format!("{long}a{long}"), &format!("{long}b{long}"));
    assert_eq!([&agreed, &old, &new].map(|text| text.chars().count()), [80, 160, 160]);
    assert!(long.ends_with(&agreed));
    assert_eq!((&old[..1], &new[..1]), ("a", "b"));
    assert!(long.starts_with(&old[1..]) && long.starts_with(&new[1..]));
}

#[test]
fn the_text_around_a_difference_in_calls_and_tools_is_told() {
    let catalog = catalog();
    let with_rounds = |notation: &str| {
        let rounds = talk(notation);
        AssemblyInputs::new(&catalog, "go").rounds(&rounds).assemble().unwrap()
    };
    let a = with_rounds("model: call time{\"zone\":\"ä\"} / tool: 12:00");
    let b = with_rounds("model: call time{\"zone\":\"UTC\"} / tool: 12:00");
    let excerpt = compare_requests(&a, &b).change.unwrap().excerpt;
    assert_eq!(excerpt.agreed, "");
    let calls = (excerpt.before.as_str(), excerpt.after.as_str());
    assert_eq!(calls, ("time{\"zone\":\"ä\"}", "time{\"zone\":\"UTC\"}"));
    // One that ends says nothing more.
    let shorter = with_rounds("");
    let excerpt = compare_requests(&b, &shorter).change.unwrap().excerpt;
    assert_eq!((excerpt.before.as_str(), excerpt.after.as_str()), (calls.1, ""));
    let session = catalog.session_at_start();
    let a = AssemblyInputs::new(&catalog, "go").session(&session).assemble().unwrap();
    let mut edited = catalog.clone();
    let id = edited.tools[0].id.clone();
    edited.tools[0] = recto_context::ToolSpec::new(id, "Döes", serde_json::json!({}));
    let b = AssemblyInputs::new(&edited, "go").session(&session).assemble().unwrap();
    let excerpt = compare_requests(&a, &b).change.unwrap().excerpt;
    assert!(excerpt.agreed.ends_with("\"D"), "{excerpt:?}");
    assert!(excerpt.before.starts_with("oes read_file.") && excerpt.after.starts_with("öes"));
}

/// Fresh is all that a server has to read; a part of it is new, and a part it had read before.
#[test]
fn what_has_to_be_read_again_is_what_stood_there_before() {
    let catalog = catalog();
    let mut edited = catalog.clone();
    edited.system.soul = file("SOUL.md", "You are Eve.");
    let session = catalog.session_at_start();
    let history = talk("user: hi / model: hello");
    let ask = |catalog: &Catalog, message: &str, history: &[Arc<Message>]| {
        let inputs = AssemblyInputs::new(catalog, message).message_id(MessageId(9));
        inputs.session(&session).history(history).assemble().unwrap()
    };
    let a = ask(&catalog, "one", &history);
    let b = ask(&edited, "one", &history);
    let comparison = compare_requests(&a, &b);
    let soul = b.parts[0].tokens;
    assert_eq!(comparison.reread_tokens + soul, comparison.fresh_tokens);
    let history_now = [&history[..], &[Arc::new(Message::user(8, "one"))]].concat();
    let goes_on = ask(&catalog, "two", &history_now);
    let comparison = compare_requests(&a, &goes_on);
    assert_eq!((comparison.change, comparison.reread_tokens), (None, Tokens::ZERO));
    // What is new is not read again, wherever it stands.
    let other = ask(&edited, "another message", &history);
    let comparison = compare_requests(&a, &other);
    let message = other.layer_tokens(Layer::Message);
    assert_eq!(comparison.reread_tokens + soul + message, comparison.fresh_tokens);
}

#[test]
fn items_that_came_and_left_are_listed() {
    let before = catalog();
    let mut after = before.clone();
    after.references.clear();
    after.rules.push(rule("new", 999, IncludeMode::Always, "New."));
    let (s1, s2) = (before.session_at_start(), after.session_at_start());
    let a = AssemblyInputs::new(&before, "go").session(&s1).assemble().unwrap();
    let b = AssemblyInputs::new(&after, "go").session(&s2).assemble().unwrap();
    let comparison = compare_requests(&a, &b);
    assert_eq!(comparison.added, [ItemId::new(ItemKind::Rule, "new")]);
    assert_eq!(comparison.removed, [ItemId::new(ItemKind::Reference, "api")]);
}

#[test]
fn a_new_tool_a_new_memory_a_new_mode_and_a_new_model_are_told_apart() {
    let base = catalog();
    let session = base.session_at_start();
    let request = |catalog: &Catalog, session: &[_], mode, model: &str| {
        let decision = ModeDecision::new(mode, ModeReason::Configured);
        let inputs =
            AssemblyInputs::new(catalog, "go").session(session).mode(decision).model(model);
        inputs.assemble().unwrap()
    };
    let first = request(&base, &session, Mode::Full, "a");
    let cause = |second| compare_requests(&first, &second).change.unwrap().cause;

    let mut tools = base.clone();
    tools.tools.push(tool(None, "write_file"));
    assert_eq!(
        cause(request(&tools, &tools.session_at_start(), Mode::Full, "a")),
        ChangeCause::ToolOffered
    );

    let mut memories = base.clone();
    memories.memories.insert(0, memory("MEMORY.md:9", None, "New."));
    assert_eq!(cause(request(&memories, &session, Mode::Full, "a")), ChangeCause::MemoryReplaced);

    assert_eq!(cause(request(&base, &session, Mode::Minimal, "a")), ChangeCause::ModeFlipped);
    // Another model has read nothing, also where the bytes are the same.
    let other_model = request(&base, &session, Mode::Full, "b");
    assert_eq!(compare_requests(&first, &other_model).agreed_tokens, Tokens::ZERO);
    assert_eq!(cause(other_model), ChangeCause::ModelChanged);
    let mut other = base.clone();
    other.system.soul = file("SOUL.md", "You are Bob.");
    assert_eq!(cause(request(&other, &session, Mode::Full, "a")), ChangeCause::ItemChanged);
    // An edit is named also when the mode flips with it.
    let both =
        compare_requests(&first, &request(&other, &session, Mode::Minimal, "a")).change.unwrap();
    assert_eq!(both.cause, ChangeCause::ItemChanged);
    assert_eq!(both.source.unwrap().name(), "SOUL.md");
}

#[test]
fn picks_that_leave_with_their_turn_are_no_break() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let inputs = AssemblyInputs::new(&catalog, "one").message_id(MessageId(1)).picks(&picks);
    let first = inputs.assemble().unwrap();
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let inputs = AssemblyInputs::new(&catalog, "two").message_id(MessageId(3)).history(&history);
    let second = inputs.assemble().unwrap();
    let change = compare_requests(&first, &second).change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Picks, ChangeCause::PicksLeft));
}

/// Promise: `taken-back-is-off-the-page`
#[test]
fn an_exchange_that_was_taken_back_is_dropped_and_named_as_the_cause() {
    let catalog = catalog();
    let talk = talk("user: a / model: b / user: c / model: d");
    let (stands, taken_back) = talk.split_at(2);
    let first = AssemblyInputs::new(&catalog, "x").history(&talk).assemble().unwrap();
    let next = |carry| {
        let inputs = AssemblyInputs::new(&catalog, "x").history(stands).taken_back(taken_back);
        inputs.carry(carry).assemble().unwrap()
    };
    let second = next(first.carry.clone());
    let change = compare_requests(&first, &second).change.unwrap();
    assert_eq!(change.cause, ChangeCause::ExchangeTakenBack);
    assert_eq!(second.carry.taken_back, taken_back.last().map(|message| message.id));
    let is_drop = |drop: &&DroppedEntry| drop.reason == DropReason::TakenBack;
    let dropped = second.dropped.iter().find(is_drop).unwrap();
    assert_eq!((dropped.what.as_str(), dropped.layer), ("2 messages", Layer::History));
    assert!(dropped.before > Tokens::ZERO);
    let third = next(second.carry.clone());
    assert_eq!(compare_requests(&second, &third).change, None);
    // What had left the page anyway is not named once more.
    let far = Carry { history_from: Some(MessageId(9)), ..second.carry };
    assert!(next(far).dropped.iter().all(|drop| drop.reason != DropReason::TakenBack));
}

#[test]
fn requests_of_two_sessions_are_unrelated() {
    let catalog = catalog();
    let (one, two) = (talk("user: a / model: b"), talk("user: c / model: d"));
    let a = AssemblyInputs::new(&catalog, "x").history(&one).assemble().unwrap();
    let b = AssemblyInputs::new(&catalog, "x").history(&two).assemble().unwrap();
    assert_eq!(compare_requests(&a, &b).change.unwrap().cause, ChangeCause::Unrelated);
}

#[test]
fn an_edited_skill_that_search_could_bring_is_a_change_and_no_pick() {
    let mut before = catalog();
    before.skills[0].include = IncludeMode::Agent;
    let mut after = before.clone();
    let edited = skill("notes", Some("Something else."), "Use `notes add`.", &["add_note"]);
    after.skills[0] = recto_context::Skill { include: IncludeMode::Agent, ..edited };
    let session = before.session_at_start();
    let a = AssemblyInputs::new(&before, "go").session(&session).assemble().unwrap();
    let b = AssemblyInputs::new(&after, "go").session(&session).assemble().unwrap();
    let change = compare_requests(&a, &b).change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Skills, ChangeCause::ItemChanged));
}

#[test]
fn tools_that_stand_on_the_page_are_compared_there() {
    let before = catalog();
    let mut after = before.clone();
    after.tools.push(tool(None, "write_file"));
    let layout = recto_context::PageLayout {
        tool_calls: recto_context::ToolCalls::Text,
        ..Default::default()
    };
    let request = |catalog: &Catalog| {
        let session = catalog.session_at_start();
        AssemblyInputs::new(catalog, "go").session(&session).layout(layout).assemble().unwrap()
    };
    let comparison = compare_requests(&request(&before), &request(&after));
    let change = comparison.change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Tools, ChangeCause::ToolOffered));
    assert!(comparison.agreed_tokens > Tokens::new(50));
}

#[test]
fn the_first_byte_never_lies_within_a_character() {
    let (mut a, mut b) = (catalog(), catalog());
    a.system.soul = file("SOUL.md", "caf\u{e9}");
    b.system.soul = file("SOUL.md", "caf\u{e8}");
    let a = AssemblyInputs::new(&a, "go").assemble().unwrap();
    let b = AssemblyInputs::new(&b, "go").assemble().unwrap();
    assert_eq!(compare_requests(&a, &b).change.unwrap().byte, 3);
}

/// The layer, cause and name that are told when `after` follows `before`.
fn first_change(before: &Catalog, after: &Catalog) -> (Layer, ChangeCause, String) {
    let (s1, s2) = (before.session_at_start(), after.session_at_start());
    let a = AssemblyInputs::new(before, "go").session(&s1).assemble().unwrap();
    let b = AssemblyInputs::new(after, "go").session(&s2).assemble().unwrap();
    let change = compare_requests(&a, &b).change.unwrap();
    let name = match change.item {
        Some(item) => item.name.to_string(),
        None => change.source.unwrap().name(),
    };
    (change.layer, change.cause, name)
}

#[test]
fn what_came_left_or_ended_earlier_is_named_and_not_its_neighbour() {
    let base = catalog();
    let edited = |edit: fn(&mut Catalog)| {
        let mut catalog = catalog();
        edit(&mut catalog);
        catalog
    };
    let bare = edited(|c| (c.rules, c.references) = (vec![], vec![]));
    let first_rule = edited(|c| {
        c.rules.truncate(1);
        c.references.clear();
    });
    assert_eq!(
        first_change(&bare, &first_rule),
        (Layer::Items, ChangeCause::ItemChanged, "tone".into())
    );
    assert_eq!(
        first_change(&first_rule, &bare),
        (Layer::Items, ChangeCause::ItemChanged, "tone".into())
    );

    let without_dates = edited(|c| c.rules.truncate(1));
    assert_eq!(
        first_change(&base, &without_dates),
        (Layer::Items, ChangeCause::ItemChanged, "dates".into())
    );

    let shorter = edited(|c| c.system.soul = file("SOUL.md", "You are"));
    assert_eq!(
        first_change(&base, &shorter),
        (Layer::System, ChangeCause::ItemChanged, "SOUL.md".into())
    );

    let forgetful = edited(|c| drop(c.memories.remove(0)));
    let (layer, cause, name) = first_change(&base, &forgetful);
    assert_eq!(
        (layer, cause, name.as_str()),
        (Layer::Memory, ChangeCause::MemoryReplaced, "MEMORY.md:4")
    );

    let toolless = edited(|c| c.tools.clear());
    assert_eq!(
        first_change(&base, &toolless),
        (Layer::Tools, ChangeCause::ItemChanged, "read_file".into())
    );
}

#[test]
fn kept_picks_that_leave_at_a_trim_are_a_trim() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let layout = recto_context::PageLayout {
        picks: recto_context::PickPlacement::Kept,
        ..Default::default()
    };
    let limits = ContextLimits { history_messages: 1, ..Default::default() };
    let turn = |id: u64, picks, history: &[Arc<Message>], carry| {
        let inputs = AssemblyInputs::new(&catalog, "x").message_id(MessageId(id)).layout(layout);
        inputs.limits(limits).picks(picks).history(history).carry(carry).assemble().unwrap()
    };
    let first = turn(1, &picks[..], &[], Default::default());
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let second = turn(3, &[], &history, first.carry.clone());
    assert_eq!(
        compare_requests(&first, &second).change.unwrap().cause,
        ChangeCause::HistoryTrimmed
    );
}

#[test]
fn an_item_that_a_person_added_is_told_as_that() {
    let base = catalog();
    let names = |session: &[SessionItem]| {
        let at = |kind| move |item: &&SessionItem| item.item.kind == kind;
        session.iter().filter(at(ItemKind::Reference)).count()
    };
    let start = base.session_at_start();
    let without: Vec<SessionItem> =
        start.iter().filter(|item| item.item.kind != ItemKind::Reference).cloned().collect();
    assert_ne!(names(&start), names(&without), "the catalog has a reference to add");
    let request = |session: &[SessionItem]| {
        AssemblyInputs::new(&base, "go").session(session).assemble().unwrap()
    };
    let cause = |joined: ItemOrigin| {
        let of_kind = start.iter().filter(|item| item.item.kind == ItemKind::Reference);
        let added = of_kind.map(|item| SessionItem { joined, ..item.clone() });
        let with: Vec<SessionItem> = without.iter().cloned().chain(added).collect();
        compare_requests(&request(&without), &request(&with)).change.unwrap().cause
    };
    assert_eq!(cause(ItemOrigin::Mentioned), ChangeCause::ItemAdded);
    assert_eq!(cause(ItemOrigin::ByHand), ChangeCause::ItemAdded);
    assert_eq!(ChangeCause::ItemAdded.describe(), "an item was added to the session");
    // What came by itself is a change of the workspace.
    assert_eq!(cause(ItemOrigin::Late), ChangeCause::ItemChanged);
}

#[test]
fn without_history_another_message_is_no_break() {
    let catalog = catalog();
    let minimal = || ModeDecision::new(Mode::Minimal, ModeReason::Configured);
    let first = AssemblyInputs::new(&catalog, "one").message_id(MessageId(1)).mode(minimal());
    let first = first.assemble().unwrap();
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, "ok"))];
    let second = AssemblyInputs::new(&catalog, "two").message_id(MessageId(3)).mode(minimal());
    let second = second.history(&history).carry(first.carry.clone()).assemble().unwrap();
    let change = compare_requests(&first, &second).change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Message, ChangeCause::MessageAlone));
    assert!(!change.cause.is_break() && !ChangeCause::PicksLeft.is_break());
    assert!(ChangeCause::HistoryTrimmed.is_break());
}

#[test]
fn history_that_a_mode_without_history_sent_leaves_with_its_name() {
    let catalog = catalog();
    let change = |limits: ContextLimits, messages: [&str; 3]| {
        let (mut history, mut carry) = (Vec::new(), Carry::default());
        let requests = messages.map(|text| {
            let id = MessageId(history.len() as u64 + 1);
            let mode = ModeDecision::new(Mode::Minimal, ModeReason::Configured);
            let inputs = AssemblyInputs::new(&catalog, text).message_id(id).mode(mode);
            let inputs = inputs.limits(limits).history(&history).carry(carry.clone());
            let request = inputs.assemble().unwrap();
            let reply = Arc::new(Message::assistant(id.0 + 1, "ok"));
            history.extend([request.sent.clone(), reply]);
            carry = request.carry.clone();
            request
        });
        let change = compare_requests(&requests[1], &requests[2]).change.unwrap();
        (change.layer, change.cause)
    };
    let left = (Layer::History, ChangeCause::HistoryTrimmed);
    let one = ContextLimits { minimal_history: 1, ..ContextLimits::default() };
    assert_eq!(change(one, ["one", "two", "three"]), left);
    // A bare reply takes the exchange along that it answers; the next message does not.
    let none = ContextLimits::default();
    assert_eq!(change(none, ["one", "yes, do it", "three"]), left);
    assert_eq!(change(none, ["one", "two", "three"]), (Layer::Message, ChangeCause::MessageAlone));
}
