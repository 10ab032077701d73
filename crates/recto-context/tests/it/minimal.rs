//! What minimal mode sends.

use expect_test::expect;
use recto_context::{
    AssemblyInputs, CallDemand, Carry, ContextLimits, ContextMode, Framing, IncludeMode, ItemId,
    ItemKind, Layer, MessageStamp, Mode, ModeDecision, ModeReason, ToolChoice,
};

use crate::support::*;

fn in_mode(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

#[test]
fn minimal_mode_is_short_and_points_at_the_tools() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let history = talk("user: hi / model: hello");
    let request = AssemblyInputs::new(&catalog, "read a.txt")
        .bootstrap(bootstrap())
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .session(&session)
        .history(&history)
        .mode(mode(ContextMode::Minimal, "read a.txt"))
        .assemble()
        .unwrap();
    expect![[r#"
        ── system
        You are Ada.

        Be exact.

        The user is Kim.

        Call the tool that fits, with all its required parameters; then answer from its result.

        Agent: main, on Recto 0.1.0
        Workspace: /w
        Operating system: linux
        Session began: 2026-11-15
        Surface: terminal

        Available skills:
        - **notes**: Create and search notes.

        ## Rule: dates
        Write dates as ISO 8601.

        ## Rule: tone
        Stay calm.
        ── user
        [2026-11-15 08:07] You must respond by calling one or more of the provided tools. Do not answer without calling a tool when the request involves files or workspace.

        User request: read a.txt"#]]
    .assert_eq(&page(&request));
    assert_eq!(request.tool_choice, ToolChoice::Required);
    expect![[r#"
        [
            "tools: TOOLS.md (left out in this mode)",
            "memory: 2 memories (left out in this mode)",
            "skills: 1 skill (left out in this mode)",
            "items: reference api (left out in this mode)",
            "history: 2 messages (left out in this mode)",
        ]
    "#]]
    .assert_debug_eq(&drops(&request));
}

#[test]
fn after_the_first_round_the_model_may_answer() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let rounds = talk("model: call read_file{} / tool: text");
    let request = AssemblyInputs::new(&catalog, "read a.txt")
        .session(&session)
        .rounds(&rounds)
        .mode(in_mode(Mode::Minimal))
        .assemble()
        .unwrap();
    assert_eq!(request.tool_choice, ToolChoice::Auto);
    assert_eq!(request.layer(Layer::Rounds).count(), 2);
}

#[test]
fn a_tool_that_search_is_sure_of_is_named_and_no_other() {
    let mut catalog = catalog();
    catalog.tools.push(tool(None, "clock"));
    let session = catalog.session_at_start();
    let choice = |tool: &str| {
        let sure_tool = Some(ItemId::new(ItemKind::Tool, tool));
        let decision = ModeDecision { sure_tool, ..in_mode(Mode::Minimal) };
        let inputs = AssemblyInputs::new(&catalog, "what time is it?").session(&session);
        inputs.mode(decision).assemble().unwrap().tool_choice
    };
    assert_eq!(choice("clock"), ToolChoice::Named("clock".into()));
    // One that is not offered can't be asked for.
    assert_eq!(choice("gone"), ToolChoice::Required);
}

#[test]
fn a_choice_is_what_the_wire_can_demand() {
    let mut catalog = catalog();
    catalog.tools.push(tool(None, "remember"));
    let session = catalog.session_at_start();
    let choice = |message: &str, demand| {
        let inputs = AssemblyInputs::new(&catalog, message).session(&session);
        let inputs = inputs.mode(mode(ContextMode::Auto, message)).call_demand(demand);
        inputs.assemble().unwrap().tool_choice
    };
    let (wish, order) = ("remember that I like jazz", "read a.txt");
    let named = ToolChoice::Named("remember".into());
    for (demand, wished, ordered) in [
        (CallDemand::Nothing, ToolChoice::Auto, ToolChoice::Auto),
        (CallDemand::AnyTool, ToolChoice::Required, ToolChoice::Required),
        (CallDemand::NamedTool, named, ToolChoice::Required),
    ] {
        assert_eq!(choice(wish, demand), wished, "{demand:?}");
        assert_eq!(choice(order, demand), ordered, "{demand:?}");
    }
}

#[test]
fn a_question_that_no_tool_was_found_for_forces_no_call() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let choice = |asked, message: &str| {
        let inputs = AssemblyInputs::new(&catalog, message).session(&session);
        let request = inputs.mode(mode(asked, message)).assemble().unwrap();
        // Who is told to call something, and is not held to it, only repeats that.
        let is_told = request.messages.last().unwrap().text().contains("You must respond");
        assert_eq!(is_told, request.tool_choice != ToolChoice::Auto, "{message}");
        (request.mode.chosen, request.tool_choice)
    };
    let offered = (Mode::Minimal, ToolChoice::Auto);
    assert_eq!(choice(ContextMode::Auto, "what's the weather like?"), offered);
    assert_eq!(choice(ContextMode::Auto, "blue whales"), offered);
    assert_eq!(choice(ContextMode::Auto, "can you remember things?"), offered);
    let forced = (Mode::Minimal, ToolChoice::Required);
    for message in ["fix src/main.rs", "restart the server", "git status"] {
        assert_eq!(choice(ContextMode::Auto, message), forced, "{message}");
    }
    // Whoever asks for minimal mode asks for calls.
    assert_eq!(choice(ContextMode::Minimal, "blue whales"), forced);
}

/// Promise: `a-wish-to-remember-is-met-or-told`
#[test]
fn a_plain_wish_to_remember_names_the_tool_in_every_mode_and_once() {
    let mut catalog = catalog();
    let choice = |catalog: &recto_context::Catalog, asked, message: &str, rounds: &str| {
        let (session, rounds) = (catalog.session_at_start(), talk(rounds));
        let request = AssemblyInputs::new(catalog, message)
            .session(&session)
            .rounds(&rounds)
            .mode(mode(asked, message))
            .assemble()
            .unwrap();
        (request.mode.chosen, request.tool_choice)
    };
    let wish = "remember that I like jazz";
    // Where the tool is not offered, nothing can be asked for but some call.
    assert_eq!(choice(&catalog, ContextMode::Full, wish, "").1, ToolChoice::Auto);
    assert_eq!(choice(&catalog, ContextMode::Minimal, wish, "").1, ToolChoice::Required);
    catalog.tools.push(tool(None, "remember"));
    let named = ToolChoice::Named("remember".into());
    assert_eq!(choice(&catalog, ContextMode::Full, wish, ""), (Mode::Full, named.clone()));
    assert_eq!(choice(&catalog, ContextMode::Minimal, wish, ""), (Mode::Minimal, named.clone()));
    assert_eq!(choice(&catalog, ContextMode::Auto, wish, ""), (Mode::Minimal, named));
    let round = "model: call remember{} / tool: remembered";
    assert_eq!(choice(&catalog, ContextMode::Full, wish, round).1, ToolChoice::Auto);
    let question = "do you remember that I like jazz?";
    assert_eq!(choice(&catalog, ContextMode::Full, question, "").1, ToolChoice::Auto);
}

#[test]
fn a_bare_reply_brings_the_exchange_it_answers() {
    let catalog = catalog();
    let history = talk("user: old / model: older / user: shall I? / model: Delete it?");
    let kept = |message: &str, minimal_history| {
        let limits = ContextLimits { minimal_history, ..ContextLimits::default() };
        let request = AssemblyInputs::new(&catalog, message)
            .history(&history)
            .limits(limits)
            .mode(in_mode(Mode::Minimal))
            .assemble()
            .unwrap();
        request.layer(Layer::History).count()
    };
    assert_eq!(kept("yes, do it", 0), 2);
    assert_eq!(kept("delete the file notes.txt", 0), 0);
    assert_eq!(kept("delete the file notes.txt", 2), 4);
}

#[test]
fn a_minimal_turn_leaves_the_history_of_full_turns_alone() {
    let catalog = catalog();
    let history = talk("user: a / model: b / user: c / model: d");
    let carry = Carry { history_from: Some(recto_context::MessageId(3)), ..Carry::default() };
    let request = AssemblyInputs::new(&catalog, "read a.txt")
        .history(&history)
        .carry(carry.clone())
        .mode(in_mode(Mode::Minimal))
        .assemble()
        .unwrap();
    let Carry { message, made_for, .. } = request.carry.clone();
    assert_eq!(request.carry, Carry { message, made_for, ..carry });
}

#[test]
fn a_message_keeps_its_framing_only_in_minimal_turns() {
    let catalog = catalog();
    let first = AssemblyInputs::new(&catalog, "read a.txt")
        .mode(in_mode(Mode::Minimal))
        .assemble()
        .unwrap();
    let recto_context::MessageBody::User(sent) = &first.sent.body else { panic!() };
    assert_eq!(sent.framing, Framing::CallTools);
    let mut message = (*first.sent).clone();
    message.id = recto_context::MessageId(1);
    let history = [std::sync::Arc::new(message)];
    let shown = |mode| {
        let inputs = AssemblyInputs::new(&catalog, "next").history(&history).mode(in_mode(mode));
        let request = inputs.assemble().unwrap();
        request.messages[1].text()
    };
    assert_eq!(shown(Mode::Full), "read a.txt");
    assert!(shown(Mode::MinimalWithHistory).starts_with("You must respond by calling"));
}

#[test]
fn the_mixed_modes_take_one_half_each() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let history = talk("user: a / model: b");
    let request = |mode| {
        let inputs = AssemblyInputs::new(&catalog, "x").session(&session).history(&history);
        inputs.mode(in_mode(mode)).assemble().unwrap()
    };
    let without_history = request(Mode::FullWithoutHistory);
    assert_eq!(without_history.layer(Layer::History).count(), 0);
    assert!(without_history.layer(Layer::Memory).count() > 0);
    assert_eq!(without_history.messages.last().unwrap().text(), "x");
    let with_history = request(Mode::MinimalWithHistory);
    assert_eq!(with_history.layer(Layer::History).count(), 2);
    assert_eq!(with_history.layer(Layer::Memory).count(), 0);
}

/// Promise: `minimal-reaches-memory`
#[test]
fn minimal_offers_all_tools_while_they_are_few_and_recall_always() {
    // Memory stays in reach.
    let offered = |extra: usize| {
        let mut catalog = catalog();
        catalog.tools.push(tool(None, "recall"));
        catalog.tools.extend((0..extra).map(|n| tool(Some("box"), &format!("tool_{n}"))));
        for tool in &mut catalog.tools[2..] {
            tool.include = IncludeMode::Manual;
        }
        let session = catalog.session_at_start();
        let inputs =
            AssemblyInputs::new(&catalog, "x").session(&session).mode(in_mode(Mode::Minimal));
        let request = inputs.assemble().unwrap();
        request.tools.iter().map(|tool| tool.spec.id.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(offered(3), ["read_file", "recall", "add_note", "tool_0", "tool_1", "tool_2"]);
    assert_eq!(offered(20), ["read_file", "recall", "add_note"]);
}

#[test]
fn minimal_takes_from_search_what_has_to_do_with_tools() {
    let mut catalog = catalog();
    catalog.skills.push(skill("web", Some("Look things up."), "Use curl.", &["fetch"]));
    catalog.skills[2].include = IncludeMode::Agent;
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let session = catalog.session_at_start();
    let picks = [pick(ItemKind::Skill, "web", 0.9), pick(ItemKind::Rule, "auth", 0.8)];
    let inputs = AssemblyInputs::new(&catalog, "x").session(&session).picks(&picks);
    let request = inputs.mode(in_mode(Mode::Minimal)).assemble().unwrap();
    let names: Vec<_> = request.tools.iter().map(|tool| &*tool.spec.id.name).collect();
    assert!(names.contains(&"fetch"));
    let picked: Vec<_> = request.layer(Layer::Picks).filter(|part| part.item.is_some()).collect();
    assert_eq!(picked.len(), 1);
    assert_eq!(picked[0].text(), "Use curl.");
    assert!(drops(&request).contains(&"picks: rule auth (left out in this mode)".to_owned()));
}
