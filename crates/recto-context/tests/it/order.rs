//! Within each layer: what leaves first, what stays, and in which order things
//! stand. Each test pins one direction.

use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Carry, Catalog, ContextLimits, DropReason, FinderOfTool, FoundTool,
    IncludeMode, ItemId, ItemKind, ItemOrigin, Layer, Message, MessageId, MessageStamp, Mode,
    ModeDecision, ModeReason, RequestContext, SessionItem, TokenCounter, Tokens, Window,
    compare_requests, has_tools,
};

use crate::support::*;

fn window(tokens: u32) -> Window {
    Window::from_config(Tokens::new(tokens))
}

fn in_mode(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

fn shown(request: &RequestContext, layer: Layer) -> Vec<String> {
    request.layer(layer).filter(|part| part.item.is_some()).map(|part| part.name()).collect()
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

#[test]
fn the_least_probable_pick_leaves_first() {
    let mut catalog = Catalog::default();
    for name in ["low", "high", "middle"] {
        catalog.rules.push(rule(name, 5, IncludeMode::Agent, &words(100)));
    }
    let picks = [
        pick(ItemKind::Rule, "middle", 0.5),
        pick(ItemKind::Rule, "low", 0.2),
        pick(ItemKind::Rule, "high", 0.9),
    ];
    let with = |tokens| {
        let inputs = AssemblyInputs::new(&catalog, "x").picks(&picks).window(window(tokens));
        shown(&inputs.assemble().unwrap(), Layer::Picks)
    };
    assert_eq!(with(460), ["middle", "high"]);
    assert_eq!(with(320), ["high"]);
}

#[test]
fn the_least_relevant_memory_and_the_last_body_leave_first() {
    let mut catalog = Catalog::default();
    catalog.memories =
        ["best", "good", "poor"].map(|name| memory(name, None, &words(100))).to_vec();
    let request = AssemblyInputs::new(&catalog, "x").window(window(460)).assemble().unwrap();
    assert_eq!(shown(&request, Layer::Memory), ["best", "good"]);

    let mut catalog = Catalog::default();
    catalog.skills = ["a", "b", "c"].map(|name| skill(name, None, &words(100), &[])).to_vec();
    let session = catalog.session_at_start();
    let inputs = AssemblyInputs::new(&catalog, "x").session(&session).window(window(480));
    let request = inputs.assemble().unwrap();
    let bodies = request.layer(Layer::Skills).filter(|part| part.text().starts_with("word"));
    assert_eq!(bodies.map(|part| part.name()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn older_results_are_shortened_before_memories_leave_and_the_newest_stays_whole() {
    let mut catalog = Catalog::default();
    catalog.memories = vec![memory("m", None, &words(60))];
    let rounds = talk(&format!(
        "model: call a{{}} / tool: {0} / model: call b{{}} / tool: {0} / model: call c{{}} / tool: {0}",
        words(500).trim_end()
    ));
    let inputs = AssemblyInputs::new(&catalog, "x").rounds(&rounds).window(window(1_900));
    let request = inputs.assemble().unwrap();
    let whole: Vec<bool> = request
        .layer(Layer::Rounds)
        .filter(|part| part.text().starts_with("word"))
        .map(|part| !part.text().contains("left out"))
        .collect();
    assert_eq!(whole, [false, true, true]);
    assert_eq!(shown(&request, Layer::Memory), ["m"]);
}

/// Promise: `limits-in-tokens`
#[test]
fn the_token_limit_of_the_history_holds_and_is_trimmed_to_three_quarters() {
    let catalog = Catalog::default();
    let history = talk(&"user: one two three / model: four five six / ".repeat(20));
    let exchange = {
        let one = AssemblyInputs::new(&catalog, "x").history(&history[..2]).assemble().unwrap();
        one.layer_tokens(Layer::History).get()
    };
    let limits =
        ContextLimits { history_tokens: Tokens::new(exchange * 16), ..ContextLimits::default() };
    let request =
        AssemblyInputs::new(&catalog, "x").history(&history).limits(limits).assemble().unwrap();
    assert_eq!(request.layer_tokens(Layer::History).get(), exchange * 12);
    let reason = DropReason::HistoryTokens { limit: limits.history_tokens };
    assert_eq!(request.dropped[0].reason, reason);
    assert_eq!(request.dropped[0].before.get(), exchange * 8);
}

#[test]
fn what_was_shed_comes_back_at_the_next_trim_and_trims_add_up() {
    let mut catalog = Catalog::default();
    catalog.memories = vec![memory("m", None, &words(200))];
    let turn = |message: &str, id: u64, history: &[Arc<Message>], carry: Carry| {
        let inputs =
            AssemblyInputs::new(&catalog, message).message_id(MessageId(id)).history(history);
        inputs.carry(carry).window(window(700)).assemble().unwrap()
    };
    let first = turn(&words(300), 1, &[], Carry::default());
    assert_eq!(shown(&first, Layer::Memory), [""; 0]);
    // The long message does not fit with the next one and the memory: it leaves.
    let history = [first.sent.clone(), Arc::new(Message::assistant(2, words(200)))];
    let second = turn("short", 3, &history, first.carry.clone());
    assert_eq!(shown(&second, Layer::Memory), ["m"]);
    assert_eq!(second.carry.trimmed.messages, 2);
    assert!(second.carry.shed.is_empty());
    let history = [second.sent.clone(), Arc::new(Message::assistant(4, words(400)))];
    let third = turn("short", 5, &history, second.carry.clone());
    assert_eq!(third.carry.trimmed.messages, 4, "what left before is counted, too");
}

#[test]
fn in_every_mode_that_shows_memories_they_come_back() {
    let mut catalog = Catalog::default();
    catalog.memories = vec![memory("m", None, &words(200))];
    catalog.rules = vec![rule("long", 5, IncludeMode::Agent, &words(600))];
    let picks = [pick(ItemKind::Rule, "long", 0.9)];
    let turn = |message: &str, picks, carry| {
        let inputs = AssemblyInputs::new(&catalog, message).mode(in_mode(Mode::FullWithoutHistory));
        inputs.picks(picks).carry(carry).window(window(700)).assemble().unwrap()
    };
    let first = turn(&words(300), &[][..], Carry::default());
    assert_eq!(first.carry.shed.len(), 1);
    let second = turn("short", &[], first.carry.clone());
    assert_eq!(second.carry.shed.len(), 1, "nothing makes it trim here");
    let third = turn("short", &picks, second.carry.clone());
    assert_eq!(shown(&third, Layer::Memory), ["m"]);
    assert_eq!(shown(&third, Layer::Picks), [""; 0], "picks leave before memories");
}

fn found_earlier(item: ItemId) -> FoundTool {
    FoundTool { item, turn: None, scores: None, by: FinderOfTool::Search }
}

#[test]
fn a_found_tool_stays_until_a_trim_in_any_mode() {
    let mut catalog = Catalog::default();
    catalog.tools.push(tool(Some("mail"), "send"));
    catalog.tools[0].include = IncludeMode::Agent;
    let mut found = pick(ItemKind::Tool, "send", 0.9);
    found.item.server = Some("mail".into());
    let picks = [found];
    let offers = |request: &RequestContext| !request.tools.is_empty();
    let turn = |id: u64, mode, picks, history: &[Arc<Message>], carry, tokens| {
        let inputs =
            AssemblyInputs::new(&catalog, "x").message_id(MessageId(id)).mode(in_mode(mode));
        let inputs = inputs.history(history).picks(picks).carry(carry);
        inputs.window(window(tokens)).assemble().unwrap()
    };
    let first = turn(1, Mode::Full, &picks[..], &[], Carry::default(), 4_000);
    let minimal = turn(3, Mode::Minimal, &[], &[], first.carry.clone(), 4_000);
    let third = turn(5, Mode::Full, &[], &[], minimal.carry.clone(), 4_000);
    assert!(offers(&first) && offers(&minimal) && offers(&third));
    let long = [Arc::new(Message::user(4, words(900)))];
    let trimmed = turn(7, Mode::Full, &[], &long, third.carry.clone(), 700);
    assert!(!offers(&trimmed), "a trim takes it away");
    let again = turn(7, Mode::Full, &picks[..], &long, third.carry.clone(), 700);
    assert!(offers(&again), "unless it is found again");
}

#[test]
fn tools_found_again_at_a_trim_keep_their_places() {
    let mut catalog = Catalog::default();
    catalog.tools = ["a", "b"].map(|name| tool(None, name)).to_vec();
    catalog.tools.iter_mut().for_each(|tool| tool.include = IncludeMode::Agent);
    let picks = ["a", "b"].map(|name| pick(ItemKind::Tool, name, 0.9));
    let history = [Arc::new(Message::user(1, words(900)))];
    let before = [&picks[1].item, &picks[0].item];
    let found_tools = before.map(|item| found_earlier(item.clone())).to_vec();
    let carry = Carry { found_tools, ..Carry::default() };
    let inputs = AssemblyInputs::new(&catalog, "x").message_id(MessageId(2)).history(&history);
    let request = inputs.picks(&picks).carry(carry).window(window(800)).assemble().unwrap();
    assert_eq!(request.carry.trims, 1);
    let after: Vec<_> = request.carry.found_tools.iter().map(|found| &found.item).collect();
    assert_eq!(after, before);
}

#[test]
fn at_a_trim_a_tool_stays_for_the_skill_that_it_comes_with_and_for_no_namesake() {
    let mut catalog = Catalog::default();
    catalog.skills.push(skill("mail", None, "Dear …", &["draft"]));
    catalog.skills[0].tools[0].include = IncludeMode::Agent;
    // A server that is called like the skill.
    catalog.tools.push(tool(Some("mail"), "send"));
    catalog.tools[0].include = IncludeMode::Agent;
    catalog.skills[0].include = IncludeMode::Agent;
    let found =
        ["draft", "send"].map(|name| found_earlier(ItemId::tool(Some("mail".into()), name)));
    let carry = Carry { found_tools: found.to_vec(), ..Carry::default() };
    let picks = [pick(ItemKind::Skill, "mail", 0.9)];
    let history = [Arc::new(Message::user(1, words(900)))];
    let inputs = AssemblyInputs::new(&catalog, "x").message_id(MessageId(2)).history(&history);
    let request = inputs.picks(&picks).carry(carry).window(window(800)).assemble().unwrap();
    assert_eq!(request.carry.trims, 1);
    let offered: Vec<&str> = request.tools.iter().map(|tool| &*tool.spec.id.name).collect();
    assert!(offered.contains(&"draft") && !offered.contains(&"send"), "{offered:?}");
}

#[test]
fn a_found_tool_whose_server_is_gone_is_recorded() {
    let carry = Carry {
        found_tools: vec![found_earlier(ItemId::tool(Some("mail".into()), "send"))],
        ..Carry::default()
    };
    let catalog = Catalog::default();
    let request = AssemblyInputs::new(&catalog, "x").carry(carry).assemble().unwrap();
    assert_eq!(
        drops(&request),
        ["tools: tool mail.send (in the session, but gone from the workspace)"]
    );
    assert!(request.carry.found_tools.is_empty());
}

#[test]
fn a_tool_added_by_hand_needs_nothing_else() {
    let mut catalog = Catalog::default();
    catalog.skills.push(skill("web", None, "Use curl.", &["fetch"]));
    catalog.skills[0].include = IncludeMode::Agent;
    let item = catalog.skills[0].tools[0].id.clone();
    let session = [SessionItem { item, joined: ItemOrigin::ByHand }];
    let request = AssemblyInputs::new(&catalog, "x").session(&session).assemble().unwrap();
    let names: Vec<_> = request.tools.iter().map(|tool| &*tool.spec.id.name).collect();
    assert_eq!(names, ["read_skill", "fetch"]);
}

#[test]
fn all_tools_means_fewer_than_ten() {
    let offered = |count: usize| {
        let mut catalog = Catalog::default();
        catalog.tools = (0..count).map(|n| tool(None, &format!("t{n}"))).collect();
        catalog.tools.iter_mut().for_each(|tool| tool.include = IncludeMode::Manual);
        let request =
            AssemblyInputs::new(&catalog, "x").mode(in_mode(Mode::Minimal)).assemble().unwrap();
        let has_tools = has_tools(&catalog, &[], &[], &[], &Default::default());
        assert_eq!(has_tools, !request.tools.is_empty());
        // Nothing asks for calls that can't be made.
        let asks = request.messages.last().unwrap().text().contains("calling");
        assert_eq!(asks, has_tools);
        request.tools.len()
    };
    assert_eq!((offered(9), offered(10)), (9, 0));
}

#[test]
fn priority_comes_before_name() {
    let mut catalog = Catalog::default();
    catalog.rules = vec![
        rule("alpha", 9, IncludeMode::Always, "A."),
        rule("beta", 9, IncludeMode::Always, "B."),
        rule("zeta", 5, IncludeMode::Always, "Z."),
    ];
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "x").session(&session).assemble().unwrap();
    assert_eq!(shown(&request, Layer::Items), ["zeta", "alpha", "beta"]);
    let layout = recto_context::LayoutPreset::Attached.layout();
    let request =
        AssemblyInputs::new(&catalog, "x").session(&session).layout(layout).assemble().unwrap();
    assert_eq!(shown(&request, Layer::Picks), ["zeta", "alpha", "beta"]);
}

/// Promise: `budget-counts-tools`
#[test]
fn calls_and_the_names_of_their_tools_count_and_compare() {
    let catalog = Catalog::default();
    let request = |rounds: &str| {
        let rounds = talk(rounds);
        AssemblyInputs::new(&catalog, "x").rounds(&rounds).assemble().unwrap()
    };
    let tokens = |rounds: &str| request(rounds).layer_tokens(Layer::Rounds).get();
    let short = tokens("model: call a{} / tool: ok");
    let name = "a_very_long_name_of_a_tool";
    let cost = TokenCounter::estimated().text(&name.into()).get();
    // The name stands with the call and with the result.
    assert!(tokens(&format!("model: call {name}{{}} / tool: ok")) >= short + 2 * cost - 2);
    assert!(short > 2 * 4 + 2, "a call costs more than its bare text: {short}");

    let (a, b) = (request("model: call a{} / tool: ok"), request("model: call a{1} / tool: ok"));
    let comparison = compare_requests(&a, &b);
    assert_eq!(comparison.change.map(|change| change.layer), Some(Layer::Rounds));
    let hash = |request: &RequestContext| request.layer(Layer::Rounds).next().unwrap().hash();
    assert_ne!(hash(&a), hash(&b));
    assert!(
        compare_requests(&a, &a).agreed_bytes > compare_requests(&a, &request("")).agreed_bytes + 2
    );
}

/// Promise: `prefix-stays-put`
#[test]
fn no_clock_stands_before_the_message() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let at = |time: &str| {
        let inputs = AssemblyInputs::new(&catalog, "x").session(&session).bootstrap(bootstrap());
        inputs.stamp(MessageStamp::new(time)).assemble().unwrap()
    };
    let change = compare_requests(&at("2026-11-15 08:07"), &at("2026-11-16 23:59")).change.unwrap();
    assert_eq!(change.layer, Layer::Message);
}

#[test]
fn a_minimal_turn_that_trims_leaves_the_history_of_full_turns_whole() {
    let catalog = Catalog::default();
    let rounds = "model: call a{} / tool: text / ".repeat(6);
    let history = talk(&format!("user: work / {rounds}model: done"));
    let limits = ContextLimits { minimal_history: 1, ..ContextLimits::default() };
    let minimal = AssemblyInputs::new(&catalog, words(300).as_str())
        .message_id(MessageId(50))
        .history(&history)
        .limits(limits)
        .mode(in_mode(Mode::Minimal))
        .window(window(520))
        .assemble()
        .unwrap();
    assert!(minimal.carry.trims > 0 && minimal.carry.condensed.is_empty());
    let full = AssemblyInputs::new(&catalog, "x")
        .message_id(MessageId(51))
        .history(&history)
        .carry(minimal.carry.clone())
        .window(window(8_000))
        .assemble()
        .unwrap();
    assert_eq!(full.layer(Layer::History).count(), history.len());
}

#[test]
fn bodies_that_can_never_fit_do_not_cost_the_history() {
    let mut catalog = Catalog::default();
    catalog.skills = vec![skill("huge", None, &words(2_500), &[])];
    let session = catalog.session_at_start();
    let history = talk(&"user: q / model: a / ".repeat(30));
    let inputs = AssemblyInputs::new(&catalog, "x").session(&session).history(&history);
    let request = inputs.window(window(2_000)).assemble().unwrap();
    assert_eq!(request.layer(Layer::History).count(), 36);
}

#[test]
fn a_body_that_has_to_go_leaves_room_for_the_rest() {
    let mut catalog = Catalog::default();
    catalog.skills = vec![skill("long", None, &words(600), &[])];
    catalog.memories = vec![memory("m", None, "Likes tea.")];
    catalog.rules = vec![rule("auth", 5, IncludeMode::Agent, "Use tokens.")];
    let session = catalog.session_at_start();
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let inputs = AssemblyInputs::new(&catalog, "x").session(&session).picks(&picks);
    let request = inputs.window(window(800)).assemble().unwrap();
    assert_eq!(shown(&request, Layer::Memory), ["m"]);
    assert_eq!(shown(&request, Layer::Picks), ["auth"]);
    assert_eq!(drops(&request), ["skills: body of skill long (no room in the window)"]);
}

/// Promise: `one-fault-fails-no-turn`
#[test]
fn a_found_tool_cannot_fail_a_turn() {
    let mut catalog = Catalog::default();
    let schema = serde_json::json!({"type": "object", "description": words(1_400)});
    let id = ItemId::new(ItemKind::Tool, "big");
    let big = recto_context::ToolSpec::new(id, "Big.", schema);
    catalog.tools = vec![recto_context::ToolSpec { include: IncludeMode::Agent, ..big }];
    let picks = [pick(ItemKind::Tool, "big", 0.9)];
    let request =
        AssemblyInputs::new(&catalog, "x").picks(&picks).window(window(1_500)).assemble().unwrap();
    assert!(request.tools.is_empty());
    assert_eq!(drops(&request), ["tools: tool big (no room in the window)"]);
}

#[test]
fn another_model_brings_back_what_was_shed() {
    let mut catalog = Catalog::default();
    catalog.memories = vec![memory("m", None, &words(600))];
    let small = AssemblyInputs::new(&catalog, "x").window(window(500)).assemble().unwrap();
    assert_eq!(small.carry.shed.len(), 1);
    let inputs = AssemblyInputs::new(&catalog, "y").message_id(MessageId(9)).model("larger");
    let large = inputs.carry(small.carry.clone()).window(window(9_000)).assemble().unwrap();
    assert_eq!(shown(&large, Layer::Memory), ["m"]);
}

#[test]
fn tools_of_a_skill_come_with_it_and_not_before() {
    let mut catalog = Catalog::default();
    for n in 0..11 {
        let tool = format!("t{n}");
        catalog.skills.push(skill(&format!("s{n}"), None, "Body.", &[&tool]));
        catalog.skills[n].include = IncludeMode::Manual;
    }
    let session = catalog.session_at_start();
    assert!(session.is_empty());
    assert!(!has_tools(&catalog, &session, &[], &[], &Default::default()));
    let item = ItemId::new(ItemKind::Skill, "s3");
    let session = [SessionItem { item, joined: ItemOrigin::ByHand }];
    let request = AssemblyInputs::new(&catalog, "x").session(&session).assemble().unwrap();
    let names: Vec<_> = request.tools.iter().map(|tool| &*tool.spec.id.name).collect();
    assert_eq!(names, ["t3"]);
    assert!(has_tools(&catalog, &session, &[], &[], &Default::default()));
}

#[test]
fn a_pick_does_not_change_the_list_of_skills_in_minimal_mode() {
    let mut catalog = catalog();
    catalog.skills[1].include = IncludeMode::Agent;
    let session = catalog.session_at_start();
    let picks = [pick(ItemKind::Skill, "git", 0.9)];
    let turn = |picks| {
        let inputs = AssemblyInputs::new(&catalog, "x").session(&session).picks(picks);
        inputs.mode(in_mode(Mode::MinimalWithHistory)).assemble().unwrap()
    };
    let (with, without) = (turn(&picks[..]), turn(&[]));
    assert_eq!(shown(&with, Layer::Skills), shown(&without, Layer::Skills));
    assert_eq!(shown(&with, Layer::Picks), ["git"]);
}

/// Whatever would bring it otherwise: the mode, an earlier search, its skill.
/// Promise: `removed-stays-removed`
#[test]
fn what_a_person_removed_is_brought_back_by_nothing() {
    let mut catalog = Catalog::default();
    catalog.tools = vec![tool(None, "found"), tool(None, "other")];
    catalog.skills = vec![skill("tides", None, "Body.", &["high", "low"])];
    catalog.skills.push(skill("knots", None, "Body.", &["tie"]));
    let tool_id = |server: Option<&str>, name: &str| ItemId::tool(server.map(Into::into), name);
    let removed = [
        tool_id(None, "found"),
        tool_id(Some("tides"), "low"),
        ItemId::new(ItemKind::Skill, "knots"),
    ];
    let picks = [pick(ItemKind::Skill, "tides", 0.9)];
    let carry =
        Carry { found_tools: vec![found_earlier(tool_id(None, "found"))], ..Carry::default() };
    for mode in [Mode::Minimal, Mode::Full] {
        let inputs = AssemblyInputs::new(&catalog, "x").mode(in_mode(mode)).picks(&picks);
        let request = inputs.carry(carry.clone()).removed(&removed).assemble().unwrap();
        let names: Vec<_> = request.tools.iter().map(|tool| &*tool.spec.id.name).collect();
        let all = if mode == Mode::Minimal { vec!["other", "high"] } else { vec!["high"] };
        assert_eq!(names, all);
        assert!(request.carry.found_tools.iter().all(|found| found.item != removed[0]));
        assert!(!page(&request).contains("knots"));
        assert_eq!(request.removed, removed);
    }
    let only = [tool_id(None, "other")];
    catalog.tools.remove(0);
    catalog.skills.clear();
    assert!(!has_tools(&catalog, &[], &only, &[], &Default::default()));
}
