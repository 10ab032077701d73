//! How each item came in, as the record tells it: by itself, by a person's hand, or by search.

use recto_context::{
    AssemblyInputs, Carry, Catalog, FinderOfTool, FoundTool, IncludeMode, ItemId, ItemKind,
    ItemOrigin, LayoutPreset, MemoryPool, MessageId, Mode, ModeDecision, ModeReason, PageLayout,
    Pick, PickPlacement, RequestContext, SessionItem, TokenCounter, ToolCalls, TurnNumber,
    choose_snapshot, memory_fingerprint,
};
use serde_json::Value;

use crate::support::*;

fn in_mode(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

/// Every item of the page, with how it came in and why: `rule tone: always, always included`.
/// The report, the parts and the tools have to agree on it.
fn origins(request: &RequestContext) -> Vec<String> {
    let report = request.report();
    let layers = report["layers"].as_array().unwrap().iter();
    let rows = layers.flat_map(|layer| layer["items"].as_array().unwrap());
    let rows = rows.filter(|row| !row["include"].is_null());
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let reported = rows.map(|row| {
        let (kind, name) = (text(row, "kind"), text(row, "name"));
        format!("{kind} {name}: {}, {}", text(row, "include"), text(row, "reason"))
    });
    let reported: Vec<String> = reported.collect();
    let shown = |item: &recto_context::ItemUse, reason: &recto_context::PartReason| {
        let ItemId { kind, name, .. } = &item.id;
        format!("{kind} {name}: {}, {}", item.include, reason.describe())
    };
    let parts = request.parts.iter();
    let parts = parts.filter_map(|part| Some(shown(part.item.as_ref()?, &part.reason)));
    let tools = request.tools.iter().map(|tool| shown(&tool.item, &tool.reason));
    let both: Vec<String> = parts.chain(tools).collect();
    assert!(reported.iter().all(|line| both.contains(line)), "{reported:?} {both:?}");
    reported
}

fn is_told(request: &RequestContext, line: &str) {
    let all = origins(request);
    assert!(all.iter().any(|told| told == line), "{line:?} is not in {all:#?}");
}

fn session(items: &[(ItemKind, &str, ItemOrigin)]) -> Vec<SessionItem> {
    let item = |(kind, name, joined): &(ItemKind, &str, ItemOrigin)| SessionItem {
        item: ItemId::new(*kind, *name),
        joined: *joined,
    };
    items.iter().map(item).collect()
}

/// Promise: `include-mode-as-it-came`
#[test]
fn items_of_the_session_say_who_brought_them() {
    let mut catalog = catalog();
    let notes = catalog.skills.iter_mut().find(|skill| &*skill.name == "notes").unwrap();
    notes.include = IncludeMode::Agent;
    let items = session(&[
        (ItemKind::Rule, "tone", ItemOrigin::AtStart),
        (ItemKind::Rule, "dates", ItemOrigin::Late),
        (ItemKind::Reference, "api", ItemOrigin::ByHand),
        (ItemKind::Skill, "git", ItemOrigin::Mentioned),
        (ItemKind::Tool, "read_file", ItemOrigin::ByHand),
    ]);
    let request = AssemblyInputs::new(&catalog, "x").session(&items).assemble().unwrap();
    assert_eq!(
        origins(&request),
        [
            "memory MEMORY.md:4: always, in the session's memory snapshot",
            "memory MEMORY.md:2: always, in the session's memory snapshot",
            "skill git: manual, named in a message",
            "skill notes: agent, listed by name; its body comes when it fits the message",
            "tool read_skill: always, always included",
            "tool read_file: manual, added by hand",
            "rule dates: always, always included, joined while the session was open",
            "rule tone: always, always included",
            "reference api: manual, added by hand",
        ]
    );
}

/// The badge of a tool that nobody chose must not say that somebody did.
///
/// Promise: `include-mode-as-it-came`
#[test]
fn a_manual_tool_that_comes_because_there_are_few_was_not_added_by_hand() {
    for include in [IncludeMode::Always, IncludeMode::Manual, IncludeMode::Agent] {
        let mut catalog = Catalog::default();
        catalog.tools.push(tool(None, "lookup"));
        catalog.tools[0].include = include;
        let inputs = AssemblyInputs::new(&catalog, "x").mode(in_mode(Mode::Minimal));
        let few = "tool lookup: always, minimal mode offers all tools while they are few";
        is_told(&inputs.assemble().unwrap(), few);
        let items = session(&[(ItemKind::Tool, "lookup", ItemOrigin::ByHand)]);
        let request = inputs.session(&items).assemble().unwrap();
        is_told(&request, "tool lookup: manual, added by hand");
    }
}

#[test]
fn a_tool_that_came_with_its_skill_says_so_and_how_the_skill_came() {
    let mut catalog = Catalog::default();
    catalog.skills.push(skill("web", Some("Look things up."), "Use curl.", &["fetch"]));
    catalog.skills[0].include = IncludeMode::Manual;
    let by_hand = session(&[(ItemKind::Skill, "web", ItemOrigin::ByHand)]);
    let request = AssemblyInputs::new(&catalog, "x").session(&by_hand).assemble().unwrap();
    is_told(&request, "tool fetch: manual, comes with skill web");
    catalog.skills[0].include = IncludeMode::Agent;
    let picks = [pick(ItemKind::Skill, "web", 0.9)];
    let request = AssemblyInputs::new(&catalog, "x").picks(&picks).assemble().unwrap();
    is_told(&request, "tool fetch: agent, comes with skill web");
    is_told(&request, "skill web: agent, found by search");
    // A person's tools are not cut like those that search found.
    let session = AssemblyInputs::new(&catalog, "x").session(&by_hand);
    let window = recto_context::Window::from_config(recto_context::Tokens::new(60));
    assert!(session.window(window).assemble().is_err());
}

/// Promise: `include-mode-as-it-came`
#[test]
fn a_tool_found_earlier_keeps_its_turn_and_its_score() {
    let mut catalog = Catalog::default();
    catalog.tools.push(tool(None, "lookup"));
    catalog.tools[0].include = IncludeMode::Agent;
    let picks = [pick(ItemKind::Tool, "lookup", 0.75)];
    let turn = |number: u32, picks: &[Pick], carry: Carry| {
        let inputs = AssemblyInputs::new(&catalog, "x").turn(TurnNumber(number));
        let inputs = inputs.message_id(MessageId(u64::from(number))).picks(picks).carry(carry);
        inputs.assemble().unwrap()
    };
    let row = |request: &RequestContext| {
        let tools = &request.report()["layers"][4];
        assert_eq!(tools["layer"], "tools");
        let rows = tools["items"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == "lookup").unwrap();
        (row["include"].clone(), row["since"].clone(), row["scores"]["probability"].clone())
    };
    let found = turn(3, &picks, Carry::default());
    is_told(&found, "tool lookup: agent, found by search");
    assert_eq!(row(&found), ("agent".into(), Value::Null, 0.75.into()));
    // The second request of a turn has found it in the same turn.
    is_told(&turn(3, &picks, found.carry.clone()), "tool lookup: agent, found by search");
    let later = turn(5, &[], found.carry.clone());
    let told = "tool lookup: agent, found by search in the session's 3rd turn, offered until the next trim";
    is_told(&later, told);
    assert_eq!(row(&later), ("agent".into(), 3.into(), 0.75.into()));
    let again = turn(6, &[pick(ItemKind::Tool, "lookup", 0.5)], later.carry.clone());
    assert_eq!(row(&again), ("agent".into(), Value::Null, 0.5.into()));
    assert_eq!(again.carry.found_tools[0].turn, Some(TurnNumber(6)));
    // What an older version has kept says only that it was found.
    let carry: Carry =
        serde_json::from_str(r#"{"found_tools":[{"kind":"tool","name":"lookup"}]}"#).unwrap();
    let item = ItemId::new(ItemKind::Tool, "lookup");
    assert_eq!(
        carry.found_tools,
        [FoundTool { item, turn: None, scores: None, by: FinderOfTool::Search }]
    );
    is_told(&turn(9, &[], carry), "tool lookup: agent, found by search in an earlier turn");
}

#[test]
fn tools_on_the_page_as_text_say_the_same() {
    let mut catalog = catalog();
    catalog.tools[0].include = IncludeMode::Agent;
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
    let picks = [pick(ItemKind::Tool, "read_file", 0.9)];
    let items = session(&[(ItemKind::Skill, "notes", ItemOrigin::ByHand)]);
    let inputs = AssemblyInputs::new(&catalog, "x").layout(layout).session(&items).picks(&picks);
    let request = inputs.assemble().unwrap();
    is_told(&request, "tool read_file: agent, found by search");
    is_told(&request, "tool add_note: manual, comes with skill notes");
}

#[test]
fn picks_came_by_search_in_every_form() {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    for preset in [LayoutPreset::Recto, LayoutPreset::Attached, LayoutPreset::Layered] {
        let inputs = AssemblyInputs::new(&catalog, "x").layout(preset.layout()).picks(&picks);
        is_told(&inputs.assemble().unwrap(), "rule auth: agent, found by search");
    }
    let kept = PageLayout { picks: PickPlacement::Kept, ..PageLayout::default() };
    let first = AssemblyInputs::new(&catalog, "x").layout(kept).picks(&picks);
    let first = first.message_id(MessageId(1)).turn(TurnNumber(1)).assemble().unwrap();
    let history = [first.sent.clone()];
    let next = AssemblyInputs::new(&catalog, "y").layout(kept).history(&history);
    let next = next.message_id(MessageId(2)).turn(TurnNumber(2)).picks(&picks);
    let next = next.carry(first.carry).assemble().unwrap();
    is_told(&next, "rule auth: agent, kept from the session's 1st turn until the next trim");
    is_told(&next, "rule auth: agent, found again; stands above since the session's 1st turn");
}

/// Of the memories in a snapshot some stand there anyway, and some because search found them.
#[test]
fn a_memory_that_fits_came_by_search() {
    let memories: Vec<_> = (0..30).map(|n| memory(&format!("m{n}"), None, "Fact.")).collect();
    let fits = [pick(ItemKind::Memory, "m20", 0.9)];
    let pool = MemoryPool {
        memories: &memories,
        fingerprint: memory_fingerprint(&memories),
        ranked: &fits,
        recalled: &fits,
        history_from: MessageId::default(),
    };
    let limits = Default::default();
    let snapshot = choose_snapshot(None, &pool, &limits, &TokenCounter::estimated());
    let catalog = Catalog { memories: memories.clone(), ..Catalog::default() };
    let carry = Carry { snapshot: Some(snapshot), ..Carry::default() };
    let request = AssemblyInputs::new(&catalog, "x").carry(carry).assemble().unwrap();
    is_told(&request, "memory m20: agent, in the session's memory snapshot: fits what was said");
    is_told(&request, "memory m0: always, in the session's memory snapshot: among the newest");
    // What search said of it when it was pinned is told with it.
    let found = |name: &str| {
        let standings = request.item_standings().into_iter();
        let mut of_name = standings.filter(|standing| &*standing.item.name == name);
        of_name.next().unwrap().status.place().unwrap().found.clone()
    };
    assert_eq!(found("m20").unwrap().scores.probability, fits[0].scores.probability);
    assert_eq!(found("m0"), None);
}

/// A record keeps what items said of themselves, whatever became of them.
///
/// Promise: `request-kept-as-sent`
#[test]
fn descriptions_are_kept_as_they_were() {
    let long = "How to prove who you are, and what to do where that can't be proved. ".repeat(2);
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    catalog.rules[0].description = Some("How to talk.".into());
    catalog.rules[2].description = Some(long.trim().into());
    catalog.tools.push(tool(Some("mail"), "send"));
    catalog.tools[1].include = IncludeMode::Agent;
    catalog.memories.push(memory("m3", None, "Kim's dog is called\nAda."));
    let mut send = pick(ItemKind::Tool, "send", 0.2);
    send.item.server = Some("mail".into());
    let candidates = [send.clone(), pick(ItemKind::Memory, "m3", 0.1)];
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let items = catalog.session_at_start();
    let inputs = AssemblyInputs::new(&catalog, "x").session(&items).picks(&picks);
    let limits = recto_context::ContextLimits { memory_entries: 2, ..Default::default() };
    let request = inputs.limits(limits).candidates(&candidates).assemble().unwrap();
    let expected = [
        (ItemId::new(ItemKind::Rule, "tone"), Some("How to talk.")),
        (ItemId::new(ItemKind::Rule, "dates"), None),
        (ItemId::new(ItemKind::Rule, "auth"), Some(long.trim())),
        (ItemId::new(ItemKind::Skill, "git"), Some("Look at history.")),
        (ItemId::new(ItemKind::Tool, "read_file"), Some("Does read_file.")),
        (send.item, Some("Does send.")),
        (ItemId::new(ItemKind::Memory, "MEMORY.md:2"), Some("The cat is called Turing.")),
        (ItemId::new(ItemKind::Memory, "m3"), Some("Kim's dog is called\n  Ada.")),
    ];
    for (item, description) in expected {
        assert_eq!(request.description(&item), description, "{item}");
    }
    let report = request.report();
    assert_eq!(report["found"][0]["description"], long.trim());
    assert_eq!(report["candidates"][0]["description"], "Does send.");
    assert_eq!(report["candidates"][1]["description"], "Kim's dog is called\n  Ada.");
    crate::record::check_comes_back(&request);
}
