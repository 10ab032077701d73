//! The four presets, each against the form it comes from.

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Catalog, ChangeCause, IncludeMode, ItemKind, Layer, LayoutPreset, MessageStamp,
    PickMessages, SkillRender, SystemFiles, SystemMessages, Tokens, ToolCalls, Window,
    compare_requests,
};

use crate::support::*;

fn system_of(catalog: &Catalog, render: SkillRender) -> String {
    let layout = recto_context::PageLayout { skills: render, ..LayoutPreset::Plain.layout() };
    let session = catalog.session_at_start();
    let request =
        AssemblyInputs::new(catalog, "hello").layout(layout).session(&session).assemble().unwrap();
    assert_eq!(request.messages.last().unwrap().text(), "hello");
    match &request.messages[..] {
        [system, _user] => system.text(),
        [_user] => String::new(),
        other => panic!("{other:?}"),
    }
}

fn plain_workspace() -> Catalog {
    Catalog {
        system: SystemFiles {
            agents: file("AGENTS.md", "# Agents\n\nBe kind."),
            ..SystemFiles::default()
        },
        skills: vec![
            skill(
                "notesmd-cli",
                Some("Create, read, update, and search notes."),
                "# notesmd-cli\n\nRun it.",
                &[],
            ),
            skill("alpha", None, "Body of alpha.", &[]),
        ],
        ..Catalog::default()
    }
}

#[test]
fn plain_full_is_the_known_system_string_byte_for_byte() {
    // AGENTS.md, "\n\n", the intro line, then for each skill in merged order
    // "## name\n", description + "\n\n" where there is one, body + "\n\n".
    assert_eq!(
        system_of(&plain_workspace(), SkillRender::Full),
        "# Agents\n\nBe kind.\n\n\
         You have access to the following skills. Use them when relevant.\n\n\
         ## notesmd-cli\nCreate, read, update, and search notes.\n\n# notesmd-cli\n\nRun it.\n\n\
         ## alpha\nBody of alpha.\n\n"
    );
}

#[test]
fn plain_read_on_demand_is_the_known_system_string_byte_for_byte() {
    assert_eq!(
        system_of(&plain_workspace(), SkillRender::ReadOnDemand),
        "# Agents\n\nBe kind.\n\n\
         You have access to the following skills. Use the read_skill tool to load a skill's full \
         documentation when it clearly applies to the user's request.\n\n\
         ## Available skills\n\n\
         - **notesmd-cli**: Create, read, update, and search notes.\n\
         - **alpha**: (no description)\n"
    );
}

#[test]
fn plain_leaves_out_what_is_not_there() {
    let mut catalog = plain_workspace();
    catalog.skills.clear();
    assert_eq!(system_of(&catalog, SkillRender::Full), "# Agents\n\nBe kind.\n\n");
    catalog.system.agents = None;
    assert_eq!(system_of(&catalog, SkillRender::Full), "");
    let mut without_agents = plain_workspace();
    without_agents.system.agents = None;
    assert!(system_of(&without_agents, SkillRender::Full).starts_with("You have access"));
}

#[test]
fn plain_shows_nothing_but_agents_and_skills_and_says_what_it_left_out() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, " hi\n")
        .layout(LayoutPreset::Plain.layout())
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .session(&session)
        .assemble()
        .unwrap();
    expect![[r#"
        ── system
        Be exact.

        You have access to the following skills. Use them when relevant.

        ## notes
        Create and search notes.

        Use `notes add`.

        ## git
        Look at history.

        Use `git log`.


        ── user
         hi
    "#]]
    .assert_eq(&page(&request));
    expect![[r#"
        [
            "system: SOUL.md (preset `plain` has no place for it)",
            "system: USER.md (preset `plain` has no place for it)",
            "tools: TOOLS.md (preset `plain` has no place for it)",
            "memory: 2 memories (preset `plain` has no place for it)",
            "items: rule tone (preset `plain` has no place for it)",
            "items: rule dates (preset `plain` has no place for it)",
            "items: reference api (preset `plain` has no place for it)",
        ]
    "#]]
    .assert_debug_eq(&drops(&request));
}

#[test]
fn attached_is_the_known_message_list() {
    // [system, history…, references, rules, message], in the order of the
    // request context: session items first, then what search brought.
    let mut catalog = Catalog {
        system: SystemFiles {
            agents: file("AGENTS.md", "You are a bot."),
            ..SystemFiles::default()
        },
        ..catalog()
    };
    catalog.skills.clear();
    catalog.memories.clear();
    catalog.tools_doc = None;
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let session = catalog.session_at_start();
    let history = talk("user: hi / model: hello");
    let picks = [pick(ItemKind::Rule, "auth", 0.92)];
    let request = AssemblyInputs::new(&catalog, "How do I authenticate?")
        .layout(LayoutPreset::Attached.layout())
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .session(&session)
        .history(&history)
        .picks(&picks)
        .assemble()
        .unwrap();
    expect![[r#"
        ── system
        You are a bot.
        ── user
        hi
        ── assistant
        hello
        ── user
        Reference: GET /v1/things lists things.
        ── user
        Rule: Write dates as ISO 8601.
        ── user
        Rule: Stay calm.
        ── user
        Rule: Use tokens.
        ── user
        How do I authenticate?"#]]
    .assert_eq(&page(&request));
}

#[test]
fn layered_is_seven_layers_a_system_message_each() {
    let mut catalog = catalog();
    catalog.rules.clear();
    catalog.references.clear();
    let session = catalog.session_at_start();
    let history = talk("user: hi / model: hello");
    let request = AssemblyInputs::new(&catalog, "What next?")
        .layout(LayoutPreset::Layered.layout())
        .bootstrap(bootstrap())
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .session(&session)
        .history(&history)
        .assemble()
        .unwrap();
    expect![[r#"
        ── system
        You are Ada.

        Be exact.

        The user is Kim.
        ── system
        Agent: main, on Recto 0.1.0
        Workspace: /w
        Operating system: linux
        Surface: terminal
        Available tools: 2
        Current date and time: 2026-11-15 08:07
        ── system
        Relevant memories:
        - [2026-11-02] Kim likes brief answers.
        - The cat is called Turing.
        ── system
        Available skills:
        - **git**: Look at history.
        - **notes**: Create and search notes.
        ── system
        Available tools:
        Prefer read_file over guessing.
        ── user
        hi
        ── assistant
        hello
        ── user
        What next?"#]]
    .assert_eq(&page(&request));
}

/// The bootstrap has the date, the time and the number of tools, as the form that it comes from;
/// the clock is the message's, so that a turn's requests agree and its record brings it back.
#[test]
fn layered_tells_the_time_of_the_message_and_the_number_of_tools() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let ask = |stamp: &str, rounds: &str| {
        let rounds = talk(rounds);
        let inputs = AssemblyInputs::new(&catalog, "x").layout(LayoutPreset::Layered.layout());
        let inputs = inputs.bootstrap(bootstrap()).stamp(MessageStamp::new(stamp));
        inputs.session(&session).rounds(&rounds).assemble().unwrap()
    };
    let first = ask("2026-11-15 08:07", "");
    let text = first.layer(Layer::Bootstrap).next().unwrap().text().to_owned();
    assert!(
        text.ends_with("\nAvailable tools: 2\nCurrent date and time: 2026-11-15 08:07"),
        "{text}"
    );
    assert!(!page(&first).contains("[2026-11-15 08:07]"), "and no message has a stamp");
    let second = ask("2026-11-15 08:07", "model: call read_file{} / tool: text");
    assert_eq!(compare_requests(&first, &second).change, None);
    // The price: everything behind it is read again in the next minute.
    let later = ask("2026-11-15 08:08", "");
    let comparison = compare_requests(&first, &later);
    let change = comparison.change.unwrap();
    assert_eq!((change.layer, change.cause), (Layer::Bootstrap, ChangeCause::SurroundingsChanged));
    assert_eq!((&*change.excerpt.before, &*change.excerpt.after), ("7", "8"));
    assert!(comparison.reread_tokens > later.layer_tokens(Layer::Memory));
    for request in [&first, &second, &later] {
        crate::record::check_comes_back(request);
    }
    // Without a stamp nobody knows the time, and nobody makes one up.
    let layout = LayoutPreset::Layered.layout();
    let timeless = AssemblyInputs::new(&catalog, "x").layout(layout).assemble().unwrap();
    assert!(!page(&timeless).contains("time"), "{}", page(&timeless));
}

#[test]
fn layered_documents_the_live_tools_when_tools_md_is_missing() {
    let mut catalog = catalog();
    catalog.tools_doc = None;
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "x")
        .layout(LayoutPreset::Layered.layout())
        .session(&session)
        .assemble()
        .unwrap();
    let tools =
        request.messages.iter().map(|m| m.text()).find(|t| t.starts_with("Available tools:"));
    expect![[r#"
        Available tools:
        ### read_file
        Does read_file.
        - `path` (string, required): Where.

        ### add_note
        Does add_note.
        - `path` (string, required): Where."#]]
    .assert_eq(&tools.unwrap());
}

#[test]
fn layered_puts_picks_into_the_layers_of_their_kinds() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    catalog.skills[0].include = IncludeMode::Agent;
    let session = catalog.session_at_start();
    let picks = [pick(ItemKind::Rule, "auth", 0.9), pick(ItemKind::Skill, "notes", 0.8)];
    let request = AssemblyInputs::new(&catalog, "x")
        .layout(LayoutPreset::Layered.layout())
        .session(&session)
        .picks(&picks)
        .assemble()
        .unwrap();
    assert_eq!(request.layer(Layer::Picks).count(), 0);
    let rules: Vec<String> = request.layer(Layer::Items).map(|part| part.name()).collect();
    assert_eq!(rules, ["auth", "dates", "tone", "api"]);
    let skills =
        request.messages.iter().map(|m| m.text()).find(|t| t.starts_with("Available skills:"));
    expect![[r#"
        Available skills:

        You have access to the following skills. Use them when relevant.

        ## notes
        Create and search notes.

        Use `notes add`.

        ## Available skills

        - **git**: Look at history."#]]
    .assert_eq(&skills.unwrap());
}

#[test]
fn recto_puts_all_layers_in_order() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    catalog.skills[1].include = IncludeMode::Manual;
    let session = catalog.session_at_start();
    let history = talk("user: time? / model: call time{} / tool: 12:00 / model: noon");
    let rounds = talk("model: call read_file{\"path\":\"a\"} / tool: text of a");
    let picks = [pick(ItemKind::Rule, "auth", 0.92)];
    let request = AssemblyInputs::new(&catalog, "And now?")
        .bootstrap(bootstrap())
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .session(&session)
        .history(&history)
        .rounds(&rounds)
        .picks(&picks)
        .window(Window::from_config(Tokens::new(8_192)))
        .assemble()
        .unwrap();
    expect![[r#"
        ── system
        You are Ada.

        Be exact.

        The user is Kim.

        Agent: main, on Recto 0.1.0
        Workspace: /w
        Operating system: linux
        Session began: 2026-11-15
        Surface: terminal

        Relevant memories:
        - [2026-11-02] Kim likes brief answers.
        - The cat is called Turing.

        You have access to the following skills. Use them when relevant.

        ## notes
        Create and search notes.

        Use `notes add`.

        Prefer read_file over guessing.

        ## Rule: dates
        Write dates as ISO 8601.

        ## Rule: tone
        Stay calm.

        ## Reference: api
        GET /v1/things lists things.
        ── user
        time?
        ── assistant → time{}

        ── tool ← 2-0
        12:00
        ── assistant
        noon
        ── user
        [context for this message]

        [rule: auth]
        Use tokens.

        [end of context]

        [2026-11-15 08:07] And now?
        ── assistant → read_file{"path":"a"}

        ── tool ← 1-0
        text of a"#]]
    .assert_eq(&page(&request));
    let layers: Vec<Layer> = request.parts.iter().map(|part| part.layer).collect();
    assert!(layers.is_sorted());
}

#[test]
fn picks_can_stand_in_a_message_of_their_own() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let layout =
        recto_context::PageLayout { pick_messages: PickMessages::Separate, ..Default::default() };
    let picks = [pick(ItemKind::Rule, "auth", 0.92)];
    let request =
        AssemblyInputs::new(&catalog, "hi").layout(layout).picks(&picks).assemble().unwrap();
    let [.., picks, message] = &request.messages[..] else { panic!() };
    assert_eq!(
        picks.text(),
        "[context for this message]\n\n[rule: auth]\nUse tokens.\n\n[end of context]"
    );
    assert_eq!(message.text(), "hi");
}

#[test]
fn per_layer_works_for_every_preset_and_loses_nothing() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let text = |system_messages| {
        let layout = recto_context::PageLayout { system_messages, ..Default::default() };
        AssemblyInputs::new(&catalog, "hi").layout(layout).session(&session).assemble().unwrap()
    };
    let (single, per_layer) = (text(SystemMessages::Single), text(SystemMessages::PerLayer));
    assert_eq!(single.messages.len(), 2);
    assert_eq!(per_layer.messages.len(), 7);
    for part in single.parts.iter().filter(|part| part.item.is_some()) {
        assert!(per_layer.messages.iter().any(|message| message.text().contains(part.text())));
    }
}

#[test]
fn a_model_without_tool_calls_gets_its_tools_as_text() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let layout = recto_context::PageLayout { tool_calls: ToolCalls::Text, ..Default::default() };
    let request =
        AssemblyInputs::new(&catalog, "hi").layout(layout).session(&session).assemble().unwrap();
    let system = request.messages[0].text();
    assert!(system.contains("### read_file\nDoes read_file.\n- `path` (string, required): Where."));
    assert!(system.contains("<tool_call>"));
    assert_eq!(request.budget.tools, Tokens::ZERO);
}

#[test]
fn a_model_without_tool_calls_reads_earlier_calls_as_text() {
    let catalog = Catalog::default();
    let layout = recto_context::PageLayout { tool_calls: ToolCalls::Text, ..Default::default() };
    let rounds = talk("model: call time{\"zone\":\"UTC\"} / tool: 12:00");
    let request =
        AssemblyInputs::new(&catalog, "hi").layout(layout).rounds(&rounds).assemble().unwrap();
    let [.., call, result] = &request.messages[..] else { panic!() };
    assert_eq!(
        call.text(),
        "<tool_call>{\"name\": \"time\", \"arguments\": {\"zone\":\"UTC\"}}</tool_call>"
    );
    assert_eq!((result.role.name(), result.text().as_str()), ("user", "[result of time]\n12:00"));
    assert!(request.messages.iter().all(|m| m.calls.is_empty() && m.answers.is_none()));
}
