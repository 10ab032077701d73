//! Items that may fit are listed by name, and the model loads what it wants of them.

use std::sync::Arc;

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Carry, Catalog, ChangeCause, ContextLimits, DropReason, IncludeMode, ItemForm,
    ItemId, ItemKind, ItemReading, ItemStanding, ItemStatus, Layer, LayoutPreset, Message,
    MessageId, Mode, ModeDecision, ModeReason, OffReason, OffTool, PageLayout, PartReason, Pick,
    PickPlacement, RequestContext, SkillRender, Tokens, ToolCalls, TurnNumber, Window,
    compare_requests,
};

use crate::support::*;

/// An agent with something of every kind that comes when it fits.
fn agent() -> Catalog {
    let mut catalog = catalog();
    catalog.rules.push(rule("refunds", 7, IncludeMode::Agent, "Refund within 14 days."));
    catalog.rules[2].description = Some("When money goes back to a customer".into());
    catalog.references.push(rule("prices", 3, IncludeMode::Agent, "A ticket is 4 euros."));
    let mut send = tool(Some("mail"), "send");
    send.include = IncludeMode::Agent;
    catalog.tools.push(send);
    catalog.skills.push(skill("travel", Some("Book a journey."), "Use the desk.", &["book"]));
    catalog.skills[2].include = IncludeMode::Agent;
    catalog
}

fn send() -> ItemId {
    ItemId::tool(Some("mail".into()), "send")
}

/// What search left: all of it possible.
fn possible() -> Vec<Pick> {
    let mut left = vec![
        pick(ItemKind::Rule, "refunds", 0.31),
        pick(ItemKind::Tool, "send", 0.22),
        pick(ItemKind::Reference, "prices", 0.11),
        pick(ItemKind::Skill, "travel", 0.09),
    ];
    left[1].item = send();
    left
}

/// A turn of a session whose search found these possible.
struct TurnCase<'a> {
    catalog: &'a Catalog,
    layout: PageLayout,
    limits: ContextLimits,
    mode: Mode,
    left: Vec<Pick>,
    picks: Vec<Pick>,
    history: Vec<Arc<Message>>,
    carry: Carry,
    number: u32,
}

impl<'a> TurnCase<'a> {
    fn new(catalog: &'a Catalog) -> Self {
        TurnCase {
            catalog,
            layout: PageLayout::default(),
            limits: ContextLimits::default(),
            mode: Mode::Full,
            left: possible(),
            picks: Vec::new(),
            history: Vec::new(),
            carry: Carry::default(),
            number: 1,
        }
    }

    fn ask(&self, rounds: &[Arc<Message>]) -> RequestContext {
        let session = self.catalog.session_at_start();
        let listed: Vec<ItemId> = self.left.iter().map(|pick| pick.item.clone()).collect();
        let inputs = AssemblyInputs::new(self.catalog, "And now?")
            .session(&session)
            .message_id(MessageId(u64::from(self.number) * 100))
            .turn(TurnNumber(self.number))
            .layout(self.layout)
            .limits(self.limits)
            .mode(ModeDecision::new(self.mode, ModeReason::Configured))
            .history(&self.history)
            .carry(self.carry.clone())
            .picks(&self.picks)
            .candidates(&self.left)
            .listed(&listed)
            .rounds(rounds)
            .window(Window::from_config(Tokens::new(8_192)));
        inputs.assemble().unwrap()
    }
}

fn names(request: &RequestContext) -> Vec<&str> {
    request.tools.iter().map(|tool| &*tool.spec.id.name).collect()
}

fn lines(request: &RequestContext) -> Vec<&str> {
    let listed = request.layer(Layer::Picks).filter(|part| part.is_list_entry());
    listed.map(|part| part.text()).collect()
}

fn standing(request: &RequestContext, item: &ItemId) -> ItemStanding {
    let all = request.item_standings();
    all.into_iter().find(|standing| standing.item == *item).unwrap()
}

/// Promise: `possible-by-name`
#[test]
fn what_may_fit_is_listed_by_name_behind_the_history() {
    let catalog = agent();
    let case = TurnCase::new(&catalog);
    let request = case.ask(&[]);
    expect![[r#"
        [context for this message]

        May fit (read_item loads one):
        - rule:refunds: When money goes back to a customer
        - tool:mail.send: Does send.
        - reference:prices: A ticket is 4 euros.

        [end of context]

        And now?"#]]
    .assert_eq(&request.messages.last().unwrap().text());
    // The skill stands in the list of skills, which no message changes.
    assert!(
        request.messages[0].text().contains("Available skills (read_item loads one):\n- **travel")
    );
    assert_eq!(names(&request)[0], "read_item");
    let rule = standing(&request, &possible()[0].item);
    let ItemStatus::Listed { place, body } = &rule.status else { panic!("{rule:?}") };
    assert_eq!((place.layer, &place.reason), (Layer::Picks, &PartReason::Possible));
    assert!(matches!(body.as_deref(), Some(ItemStatus::NotTaken { .. })), "{rule:?}");
    assert_eq!(rule.read, None);
    crate::record::check_comes_back(&request);
}

#[test]
fn the_tool_is_there_whether_or_not_a_list_is() {
    let catalog = agent();
    let mut case = TurnCase::new(&catalog);
    let with = case.ask(&[]);
    (case.number, case.left) = (2, Vec::new());
    let without = case.ask(&[]);
    assert_eq!(names(&with), names(&without));
    assert_eq!(without.layer(Layer::Picks).count(), 0);
    let change = compare_requests(&with, &without).change.unwrap();
    assert_eq!(change.cause, ChangeCause::PicksLeft);
}

#[test]
fn where_nothing_could_be_listed_nothing_changes() {
    let catalog = catalog();
    assert!(!names(&TurnCase::new(&catalog).ask(&[])).contains(&"read_item"));
    // All memories fit on the page, until there are too many.
    let mut catalog = crate::support::catalog();
    catalog.memories = (0..21).map(|n| memory(&format!("m{n}"), None, "A fact.")).collect();
    assert_eq!(names(&TurnCase::new(&catalog).ask(&[]))[0], "read_item");
}

#[test]
fn no_list_stands_in_minimal_mode_for_text_calls_and_in_other_systems_forms() {
    let catalog = agent();
    let mut cases = Vec::new();
    let layouts = [LayoutPreset::Plain, LayoutPreset::Attached, LayoutPreset::Layered];
    cases.extend(layouts.map(|preset| (preset.layout(), Mode::Full)));
    let recto = PageLayout::default();
    cases.push((PageLayout { tool_calls: ToolCalls::Text, ..recto }, Mode::Full));
    cases.push((PageLayout { picks: PickPlacement::InLayer, ..recto }, Mode::Full));
    cases.push((recto, Mode::Minimal));
    cases.push((recto, Mode::MinimalWithHistory));
    for (layout, mode) in cases {
        let request = TurnCase { layout, mode, ..TurnCase::new(&catalog) }.ask(&[]);
        assert_eq!(lines(&request), [""; 0], "{layout:?} {mode:?}");
        assert!(!names(&request).contains(&"read_item"), "{layout:?} {mode:?}");
    }
    for (list_lines, list_tokens) in [(0, 200), (12, 0)] {
        let list_tokens = Tokens::new(list_tokens);
        let limits = ContextLimits { list_lines, list_tokens, ..ContextLimits::default() };
        let request = TurnCase { limits, ..TurnCase::new(&catalog) }.ask(&[]);
        assert_eq!(lines(&request), [""; 0]);
        assert_eq!(names(&request)[0], "read_skill", "few skills are listed all the same");
    }
}

/// With `read_on_demand` the seed's tool reads skills, and no other does.
#[test]
fn skills_that_are_read_on_demand_are_read_by_their_own_tool() {
    let mut catalog = agent();
    let layout = PageLayout { skills: SkillRender::ReadOnDemand, ..PageLayout::default() };
    let request = TurnCase { layout, ..TurnCase::new(&catalog) }.ask(&[]);
    assert_eq!(names(&request)[..2], ["read_skill", "read_item"]);
    assert!(page(&request).contains("Use the read_skill tool"));
    assert!(page(&request).contains("May fit (read_item loads one):"));
    // Of many skills, those that may fit are listed with the rest.
    for n in 0..40 {
        let about = format!("What to do about matter {n}, and when to leave it alone.");
        catalog.skills.push(skill(&format!("matter-{n}"), Some(&about), "The body.", &[]));
        catalog.skills.last_mut().unwrap().include = IncludeMode::Agent;
    }
    let request = TurnCase { layout, ..TurnCase::new(&catalog) }.ask(&[]);
    assert!(page(&request).contains("May fit (read_item loads one, read_skill a skill):"));
    assert!(lines(&request).contains(&"- skill:travel: Book a journey."));
}

#[test]
fn what_is_on_the_page_already_takes_no_line() {
    let catalog = agent();
    let mut case = TurnCase::new(&catalog);
    case.left.insert(0, pick(ItemKind::Rule, "tone", 0.3));
    case.left.insert(0, pick(ItemKind::Memory, "MEMORY.md:4", 0.3));
    case.picks = vec![pick(ItemKind::Reference, "prices", 0.9)];
    case.limits.list_lines = 2;
    let request = case.ask(&[]);
    let expected =
        ["- rule:refunds: When money goes back to a customer", "- tool:mail.send: Does send."];
    assert_eq!(lines(&request), expected);
}

/// Promise: `possible-by-name`
#[test]
fn a_list_gets_shorter_before_picks_do_and_each_line_that_left_is_told() {
    let mut catalog = agent();
    // More than the smallest window that has a list.
    catalog.references[1].text = "word ".repeat(1_800).into();
    let within = |target: u32| {
        let target = Some(Tokens::new(target));
        let case = TurnCase {
            picks: vec![pick(ItemKind::Reference, "prices", 0.9)],
            limits: ContextLimits { target, ..ContextLimits::default() },
            ..TurnCase::new(&catalog)
        };
        case.ask(&[])
    };
    let whole = within(8_000);
    let (needed, all) = (whole.prompt_tokens().get(), lines(&whole).len());
    let mut requests = (needed - 40..needed + 600).rev().map(within);
    let request = requests.find(|request| lines(request).len() < all).unwrap();
    let left = lines(&request);
    assert!(left.len() < all, "{left:?}");
    assert!(page(&request).contains("word word"), "the pick stays");
    let dropped = drops(&request);
    let told = dropped.iter().filter(|drop| drop.starts_with("picks: "));
    assert_eq!(told.count(), all - left.len(), "{dropped:?}");
    // What has no room in the list's own limit is told, too.
    let mut narrow = TurnCase::new(&catalog);
    narrow.limits.list_tokens = Tokens::new(20);
    let request = narrow.ask(&[]);
    assert_eq!(lines(&request).len(), 1, "{:?}", lines(&request));
    let dropped = drops(&request);
    let told = |drop: &String| drop.contains("the list of what may fit has room for 20 tokens");
    assert_eq!(dropped.iter().filter(|drop| told(drop)).count(), 2, "{dropped:?}");
    check_unlisted(&request, &send(), 0.22);
}

/// An item that the list has no room for stands in the record with what search said of it, and
/// what its line would have cost.
#[track_caller]
fn check_unlisted(request: &RequestContext, item: &ItemId, probability: f32) {
    let told = standing(request, item);
    let ItemStatus::LeftOut { candidate: Some(candidate), reason, .. } = &told.status else {
        panic!("{told:?}")
    };
    assert!(reason.is_full_list(), "{reason:?}");
    assert_eq!(candidate.scores.probability, Some(probability));
    assert!(told.tokens > Tokens::ZERO, "{told:?}");
    crate::record::check_comes_back(request);
}

#[test]
fn a_tool_that_is_off_loads_nothing_and_so_nothing_is_listed_for_it() {
    let mut catalog = agent();
    let off =
        |name: &str| OffTool { item: ItemId::new(ItemKind::Tool, name), why: OffReason::Disabled };
    catalog.off_tools.push(off("read_item"));
    let request = TurnCase::new(&catalog).ask(&[]);
    assert_eq!(lines(&request), [""; 0]);
    assert_eq!(names(&request)[0], "read_skill");
    assert!(request.messages[0].text().contains("Available skills (read_skill loads one):"));
    catalog.off_tools.push(off("read_skill"));
    for skills in [SkillRender::Full, SkillRender::ReadOnDemand] {
        let layout = PageLayout { skills, ..PageLayout::default() };
        let request = TurnCase { layout, ..TurnCase::new(&catalog) }.ask(&[]);
        let text = request.messages[0].text();
        for reading in ["read_item", "read_skill"] {
            assert!(!names(&request).contains(&reading), "{skills:?}");
            assert!(!text.contains(reading), "{text}");
        }
    }
}

/// Promise: `possible-by-name`
#[test]
fn what_the_lines_of_a_list_have_no_room_for_is_recorded() {
    let catalog = agent();
    let mut case = TurnCase::new(&catalog);
    case.limits.list_lines = 1;
    let request = case.ask(&[]);
    assert_eq!(lines(&request).len(), 1);
    check_unlisted(&request, &send(), 0.22);
    let told = "the list of what may fit has room for 1 item, and another comes first";
    assert!(drops(&request).iter().any(|drop| drop.contains(told)), "{:?}", drops(&request));
    case.limits.list_lines = 12;
    assert!(drops(&case.ask(&[])).iter().all(|drop| !drop.contains("the list of what may fit")));
}

/// Promise: `possible-by-name`
#[test]
fn a_pick_that_can_never_fit_leaves_alone_and_is_listed_first() {
    let mut catalog = agent();
    catalog.references[1].text = "word ".repeat(20_000).into();
    let mut case = TurnCase::new(&catalog);
    case.left.remove(2);
    case.left.remove(0);
    let (prices, refunds) = (pick(ItemKind::Reference, "prices", 0.9), possible()[0].clone());
    case.picks = vec![prices.clone(), refunds];
    let first = case.ask(&[]);
    assert!(page(&first).contains("[rule: refunds]\nRefund within 14 days."), "{}", page(&first));
    let listed = lines(&first);
    assert!(listed[0].starts_with("- reference:prices: word word"), "{listed:?}");
    assert_eq!(listed[1..], ["- tool:mail.send: Does send."]);
    let dropped = drops(&first);
    assert_eq!(dropped.iter().filter(|drop| drop.starts_with("picks: ")).count(), 1, "{dropped:?}");
    let told = standing(&first, &prices.item);
    let ItemStatus::Listed { body: Some(body), .. } = &told.status else { panic!("{told:?}") };
    let ItemStatus::LeftOut { reason: DropReason::TooLong { tokens, room }, .. } = **body else {
        panic!("{body:?}")
    };
    let free = first.budget.messages - first.budget.used;
    assert!(tokens > room && room > free && free > Tokens::new(4_000), "{tokens} {room} {free}");
    crate::record::check_comes_back(&first);
    // The rest of the turn has it so, too; in the next one it may fit.
    case.carry = first.carry.clone();
    let second = case.ask(&loads("rule:refunds", "[rule: refunds]\nRefund within 14 days."));
    assert_eq!(lines(&second), listed);
    assert_eq!(second.messages[..first.messages.len()], first.messages);
    catalog.references[1].text = "A ticket is 5 euros.".into();
    let next = TurnCase {
        picks: vec![prices],
        carry: second.carry,
        number: 2,
        left: Vec::new(),
        ..TurnCase::new(&catalog)
    };
    let third = next.ask(&[]);
    assert!(page(&third).contains("[reference: prices]\nA ticket is 5 euros."));
    assert_eq!((lines(&third).len(), third.carry.too_long.len()), (0, 0));
}

fn loads(item: &str, label: &str) -> Vec<Arc<Message>> {
    let said = talk(&format!("model: call read_item{{\"item\":\"{item}\"}} / tool: {label}"));
    let behind = |(at, message): (usize, Arc<Message>)| {
        Arc::new(Message { id: MessageId(101 + at as u64), body: message.body.clone() })
    };
    said.into_iter().enumerate().map(behind).collect()
}

/// Promise: `asked-tool-stays`
#[test]
fn a_tool_that_was_asked_for_is_offered_from_then_on() {
    let catalog = agent();
    let mut case = TurnCase::new(&catalog);
    let first = case.ask(&[]);
    assert!(!names(&first).contains(&"send"));
    case.carry = first.carry.clone();
    let rounds = loads("tool:mail.send", "[tool: mail.send]\nIt can be called from now on.");
    let second = case.ask(&rounds);
    assert_eq!(names(&second).last(), Some(&"send"));
    assert_eq!(second.tools.last().unwrap().reason, PartReason::AskedFor);
    assert_eq!(lines(&second), lines(&first), "the list stays as it was");
    let change = compare_requests(&first, &second).change.unwrap();
    assert_eq!((change.cause, change.item), (ChangeCause::ToolOffered, Some(send())));
    let told = standing(&second, &send());
    assert_eq!(told.status.form(), Some(ItemForm::Offered));
    assert_eq!(told.read, Some(ItemReading::ThisTurn));
    crate::record::check_comes_back(&second);
    // The next turn has it in its place, and says since when.
    let history = vec![second.sent.clone(), rounds[0].clone(), rounds[1].clone()];
    let next = TurnCase {
        history,
        left: Vec::new(),
        carry: second.carry.clone(),
        number: 2,
        ..TurnCase::new(&catalog)
    };
    let third = next.ask(&[]);
    assert_eq!(names(&third), names(&second));
    assert_eq!(third.tools.last().unwrap().reason, PartReason::AskedForInTurn(TurnNumber(1)));
    assert_eq!(standing(&third, &send()).read, Some(ItemReading::EarlierTurn));
}

#[test]
fn what_the_model_has_read_and_still_sees_does_not_come_once_more() {
    let mut catalog = agent();
    let refunds = ItemId::new(ItemKind::Rule, "refunds");
    let first = TurnCase::new(&catalog).ask(&[]);
    assert!(lines(&first).iter().any(|line| line.starts_with("- rule:refunds")));
    let rounds = loads("rule:refunds", "[rule: refunds]\nRefund within 14 days.");
    let history = vec![first.sent.clone(), rounds[0].clone(), rounds[1].clone()];
    let ask_again = |catalog: &Catalog, picks: &[Pick], carry: &Carry| {
        let (history, picks, carry) = (history.clone(), picks.to_vec(), carry.clone());
        TurnCase { history, picks, carry, number: 2, ..TurnCase::new(catalog) }.ask(&[])
    };
    let brings = |request: &RequestContext| {
        let mut items = request.layer(Layer::Picks).filter_map(|part| part.item.as_ref());
        items.any(|item| item.id == refunds)
    };
    let found = [pick(ItemKind::Rule, "refunds", 0.9)];
    for picks in [&found[..], &[]] {
        let request = ask_again(&catalog, picks, &first.carry);
        assert!(!brings(&request), "{}", page(&request));
        assert_eq!(standing(&request, &refunds).read, Some(ItemReading::EarlierTurn));
        crate::record::check_comes_back(&request);
    }
    let told = standing(&ask_again(&catalog, &found, &first.carry), &refunds);
    assert_eq!(told.status.form(), Some(ItemForm::InFull));
    assert_eq!(told.status.place().map(|place| place.layer), Some(Layer::History));
    // A trim may take what was read away, and what is shortened is not there whole.
    let trimmed = Carry { picks_from: Some(MessageId(200)), ..first.carry.clone() };
    assert!(brings(&ask_again(&catalog, &found, &trimmed)));
    let shortened = Carry { shortened: [rounds[1].id].into(), ..first.carry.clone() };
    assert!(brings(&ask_again(&catalog, &found, &shortened)));
    // It says something else by now.
    catalog.rules[2].text = "Refund within 30 days.".into();
    assert!(brings(&ask_again(&catalog, &found, &first.carry)));
}

#[test]
fn a_skill_that_was_read_brings_its_tools() {
    let catalog = agent();
    let case = TurnCase::new(&catalog);
    for rounds in [
        loads("skill:travel", "[skill: travel]\nUse the desk."),
        read_skill("travel", "[skill: travel]\nUse the desk."),
    ] {
        let request = case.ask(&rounds);
        assert_eq!(names(&request).last(), Some(&"book"));
        let read = standing(&request, &ItemId::new(ItemKind::Skill, "travel")).read;
        assert_eq!(read, Some(ItemReading::ThisTurn));
    }
}

#[test]
fn a_call_that_was_refused_has_read_nothing() {
    let catalog = agent();
    let rounds =
        loads("tool:mail.send", "read_item failed: there is no item `x`; [tool: mail.send]");
    let request = TurnCase::new(&catalog).ask(&rounds);
    assert!(!names(&request).contains(&"send"));
    assert!(request.item_standings().iter().all(|standing| standing.read.is_none()));
}

/// A round in which the model asks for a skill, and what it is told.
fn read_skill(name: &str, told: &str) -> Vec<Arc<Message>> {
    talk(&format!("model: call read_skill{{\"skill_name\":\"{name}\"}} / tool: {told}"))
}

/// Promise: `read-what-the-session-has`
#[test]
fn a_skill_that_was_refused_brings_no_tools() {
    let mut catalog = agent();
    catalog.skills[2].include = IncludeMode::Manual;
    for (name, told) in [
        ("travel", "read_skill failed: skill travel is only there where a person adds it"),
        ("mail", "read_skill failed: there is no skill `mail`"),
    ] {
        let request = TurnCase::new(&catalog).ask(&read_skill(name, told));
        let offered = names(&request);
        assert!(!offered.contains(&"book") && !offered.contains(&"send"), "{offered:?}");
        assert!(request.item_standings().iter().all(|standing| standing.read.is_none()));
    }
}

/// Promise: `read-what-the-session-has`
#[test]
fn a_skill_that_was_read_brings_no_tool_that_only_a_person_brings_and_none_of_a_server() {
    let mut catalog = agent();
    catalog.skills.push(skill("mail", Some("Write letters."), "Dear …", &["draft", "sign"]));
    catalog.skills[3].tools[0].include = IncludeMode::Agent;
    catalog.skills[3].tools[1].include = IncludeMode::Manual;
    let case = TurnCase::new(&catalog);
    let request = case.ask(&read_skill("mail", "[skill: mail]\nDear …"));
    let offered = names(&request);
    assert!(offered.contains(&"draft"), "{offered:?}");
    // `send` is a tool of the server that is called like the skill.
    assert!(!offered.contains(&"sign") && !offered.contains(&"send"), "{offered:?}");
    assert!(!names(&case.ask(&[])).contains(&"draft"));
}

#[test]
fn a_skill_that_was_read_and_still_stands_there_does_not_come_once_more() {
    let catalog = agent();
    let first = TurnCase::new(&catalog).ask(&[]);
    let rounds = read_skill("travel", "[skill: travel]\nUse the desk.");
    let behind = |(at, message): (usize, &Arc<Message>)| {
        Arc::new(Message { id: MessageId(101 + at as u64), body: message.body.clone() })
    };
    let rounds: Vec<Arc<Message>> = rounds.iter().enumerate().map(behind).collect();
    let history = vec![first.sent.clone(), rounds[0].clone(), rounds[1].clone()];
    let picks = vec![pick(ItemKind::Skill, "travel", 0.9)];
    let next =
        TurnCase { history, picks, carry: first.carry, number: 2, ..TurnCase::new(&catalog) };
    let request = next.ask(&[]);
    let travel = ItemId::new(ItemKind::Skill, "travel");
    let mut picked = request.layer(Layer::Picks).filter_map(|part| part.item.as_ref());
    assert!(!picked.any(|item| item.id == travel), "{}", page(&request));
    assert_eq!(standing(&request, &travel).read, Some(ItemReading::EarlierTurn));
}

#[test]
fn kept_lists_stay_with_their_messages_until_the_next_trim() {
    let catalog = agent();
    let mut case = TurnCase::new(&catalog);
    case.layout.picks = PickPlacement::Kept;
    let first = case.ask(&[]);
    assert_eq!(lines(&first).len(), 3);
    let history = vec![first.sent.clone(), Arc::new(Message::assistant(150, "ok"))];
    let stored = serde_json::to_string(&*first.sent).unwrap();
    let restored: Message = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored.body, first.sent.body);
    let next = TurnCase {
        layout: case.layout,
        history,
        carry: first.carry.clone(),
        number: 2,
        ..TurnCase::new(&catalog)
    };
    let second = next.ask(&[]);
    assert_eq!(compare_requests(&first, &second).change, None);
    assert_eq!(lines(&second), [""; 0], "what stands above is not listed once more");
    let rule = standing(&second, &possible()[0].item);
    let ItemStatus::Listed { place, .. } = &rule.status else { panic!("{rule:?}") };
    assert_eq!(
        (place.layer, &place.reason),
        (Layer::History, &PartReason::KeptSince(TurnNumber(1)))
    );
    crate::record::check_comes_back(&second);
}
