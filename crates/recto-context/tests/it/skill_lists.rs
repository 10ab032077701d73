//! Which skills are named on a page, where, and when the model can load one.

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Catalog, ChangeCause, ContextLimits, IncludeMode, ItemId, ItemKind, ItemOrigin,
    Layer, LayoutPreset, MessageId, Mode, ModeDecision, ModeReason, PageLayout, Pick,
    PickPlacement, RequestContext, SessionItem, SkillRender, Tokens, ToolCalls, Window,
    compare_requests,
};

use crate::support::*;

/// As many skills as wanted that come when they fit, one that a person brings, one that is
/// always there.
fn skills(count: usize) -> Catalog {
    let mut catalog = Catalog::default();
    for number in 0..count {
        let about = format!("What to do about matter {number}, and when to leave it alone.");
        let name = format!("matter-{number:02}");
        catalog.skills.push(skill(&name, Some(&about), "The body.", &[]));
        catalog.skills[number].include = IncludeMode::Agent;
    }
    catalog.skills.push(skill("by-hand", Some("Only when asked for."), "By hand.", &[]));
    catalog.skills[count].include = IncludeMode::Manual;
    catalog.skills.push(skill("house", Some("The house."), "Be at home.", &[]));
    catalog
}

/// What search says of some of them: neither certain nor out of the question.
fn candidates(named: &[(&str, f32)]) -> Vec<Pick> {
    named.iter().map(|(name, probability)| pick(ItemKind::Skill, name, *probability)).collect()
}

fn in_mode(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

struct ListCase {
    catalog: Catalog,
    session: Vec<SessionItem>,
    layout: PageLayout,
    mode: Mode,
    message: MessageId,
}

impl ListCase {
    fn new(count: usize) -> Self {
        let catalog = skills(count);
        let session = catalog.session_at_start();
        ListCase {
            catalog,
            session,
            layout: PageLayout::default(),
            mode: Mode::Full,
            message: MessageId(1),
        }
    }

    fn ask(&self, candidates: &[Pick]) -> RequestContext {
        let listed: Vec<ItemId> = candidates.iter().map(|pick| pick.item.clone()).collect();
        let inputs = AssemblyInputs::new(&self.catalog, "And now?").session(&self.session);
        let inputs = inputs
            .message_id(self.message)
            .layout(self.layout)
            .mode(in_mode(self.mode))
            .candidates(candidates)
            .listed(&listed);
        inputs.window(Window::from_config(Tokens::new(8_192))).assemble().unwrap()
    }
}

fn listed(request: &RequestContext, layer: Layer) -> Vec<String> {
    let entries = request.layer(layer).filter(|part| part.is_list_entry());
    entries.map(|part| part.name()).collect()
}

/// The text of the layer of skills, which is the last of the system message here.
fn skills_of(request: &RequestContext) -> String {
    let system = request.messages[0].text();
    let from = system.find("You have access").unwrap();
    format!("{}\n", &system[from..])
}

fn first_tool(request: &RequestContext) -> Option<&str> {
    request.tools.first().map(|tool| &*tool.spec.id.name)
}

/// Promise: `skill-list-small`
#[test]
fn few_skills_stand_in_a_list_that_no_message_changes() {
    let case = ListCase::new(3);
    let request = case.ask(&[]);
    expect![[r#"
        You have access to the following skills. Use them when relevant.

        ## house
        The house.

        Be at home.

        Available skills (read_skill loads one):
        - **matter-00**: What to do about matter 0, and when to leave it alone.
        - **matter-01**: What to do about matter 1, and when to leave it alone.
        - **matter-02**: What to do about matter 2, and when to leave it alone.
"#]]
    .assert_eq(&skills_of(&request));
    assert_eq!(first_tool(&request), Some("read_skill"));
    assert_eq!(request.layer(Layer::Picks).count(), 0);
    let other = case.ask(&candidates(&[("matter-01", 0.3)]));
    assert_eq!(compare_requests(&request, &other).change, None);
}

/// Promise: `skill-list-small`
#[test]
fn of_many_skills_only_those_that_may_fit_are_named() {
    let mut case = ListCase::new(50);
    let possible = candidates(&[("matter-31", 0.3), ("matter-07", 0.03)]);
    let request = case.ask(&possible);
    assert_eq!(listed(&request, Layer::Skills), [""; 0]);
    let shown = request.messages.last().unwrap().text();
    expect![[r#"
        [context for this message]

        May fit (read_item loads one):
        - skill:matter-31: What to do about matter 31, and when to leave it alone.
        - skill:matter-07: What to do about matter 7, and when to leave it alone.

        [end of context]

        And now?"#]]
    .assert_eq(&shown);
    assert_eq!(first_tool(&request), Some("read_item"));
    case.message = MessageId(2);
    let talk = case.ask(&[]);
    assert_eq!(talk.layer(Layer::Picks).count(), 0, "nothing fits, so nothing is named");
    assert_eq!(
        first_tool(&talk),
        Some("read_item"),
        "a tool that comes and goes would break the prefix"
    );
    let change = compare_requests(&request, &talk).change.unwrap();
    assert_eq!(change.cause, ChangeCause::PicksLeft);
    crate::record::check_comes_back(&request);
}

#[test]
fn the_list_of_what_may_fit_has_a_limit_and_leaves_first() {
    let case = ListCase::new(50);
    let all: Vec<(String, f32)> =
        (0..20u8).map(|n| (format!("matter-{n:02}"), 0.38 - f32::from(n) * 0.01)).collect();
    let all: Vec<Pick> =
        all.iter().map(|(name, probability)| pick(ItemKind::Skill, name, *probability)).collect();
    let named = listed(&case.ask(&all), Layer::Picks);
    assert_eq!(named.len(), 12, "{named:?}");
    assert!(named.is_sorted());
    // Where there is no room for both, the names leave and the body stays.
    let mut catalog = skills(50);
    catalog.skills[40].body = "word ".repeat(165).into();
    let picks = [pick(ItemKind::Skill, "matter-40", 0.9)];
    let ids: Vec<ItemId> = all.iter().map(|pick| pick.item.clone()).collect();
    let tight = AssemblyInputs::new(&catalog, "And now?").candidates(&all).listed(&ids);
    let tight = tight.picks(&picks).window(Window::from_config(Tokens::new(8_192)));
    let within = |target: u32| {
        let limits = ContextLimits { target: Some(Tokens::new(target)), ..Default::default() };
        tight.clone().limits(limits).assemble().ok()
    };
    let bodies = |request: &RequestContext| -> Vec<String> {
        let items = request.layer(Layer::Picks).filter(|part| part.item.is_some());
        items.map(|part| part.name()).collect()
    };
    // As much room as the body needs, and not a line more.
    let mut requests = (200..1_000).filter_map(within);
    let request = requests.find(|request| bodies(request) == ["matter-40"]).unwrap();
    let dropped = drops(&request);
    assert!(dropped.iter().any(|drop| drop.starts_with("picks: skill matter-00")), "{dropped:?}");
}

#[test]
fn no_list_stands_where_it_can_not_be_used() {
    let possible = candidates(&[("matter-01", 0.3)]);
    for count in [3, 50] {
        let mut case = ListCase::new(count);
        case.layout.tool_calls = ToolCalls::Text;
        let request = case.ask(&possible);
        assert!(!page(&request).contains("matter-"), "{count}");
        assert!(request.tools.is_empty());
        let mut case = ListCase::new(count);
        case.mode = Mode::Minimal;
        let request = case.ask(&possible);
        assert!(!page(&request).contains("matter-"), "{count}");
        assert!(request.tools.is_empty());
    }
    // In the layers of their kinds, picks stand as another system has them.
    let mut in_layer = ListCase::new(50);
    in_layer.layout.picks = PickPlacement::InLayer;
    let request = in_layer.ask(&possible);
    assert!(!page(&request).contains("matter-") && request.tools.is_empty());
}

#[test]
fn a_skill_for_which_a_person_is_asked_is_not_named() {
    for render in [SkillRender::Full, SkillRender::ReadOnDemand] {
        let mut case = ListCase::new(3);
        case.layout.skills = render;
        let request = case.ask(&[]);
        assert!(!page(&request).contains("by-hand"));
        assert!(page(&request).contains("matter-02"));
        assert_eq!(first_tool(&request), Some("read_skill"));
    }
}

/// The forms that other systems have list every skill.
#[test]
fn other_presets_list_every_skill() {
    for preset in [LayoutPreset::Plain, LayoutPreset::Attached, LayoutPreset::Layered] {
        let mut case = ListCase::new(50);
        case.layout = preset.layout();
        let request = case.ask(&candidates(&[("matter-01", 0.3)]));
        assert_eq!(
            listed(&request, Layer::Skills).len(),
            51 + usize::from(preset == LayoutPreset::Layered)
        );
        assert!(request.tools.is_empty());
    }
}

/// Of the include modes of a skill and of its tool, the stricter one holds.
#[test]
fn a_tool_that_only_a_person_brings_comes_with_no_skill_that_was_found() {
    let mut catalog = Catalog::default();
    let tools = ["count", "weigh"];
    catalog.skills = vec![skill("stocktake", Some("Count all."), "Shelf by shelf.", &tools)];
    catalog.skills[0].include = IncludeMode::Agent;
    catalog.skills[0].tools[0].include = IncludeMode::Manual;
    let count = ItemId::tool(Some("stocktake".into()), "count");
    let include =
        |catalog: &Catalog| catalog.items().find(|(id, _)| *id == count).map(|(_, mode)| mode);
    assert_eq!(include(&catalog), Some(IncludeMode::Manual));
    let read = "model: call read_skill{\"skill_name\":\"stocktake\"} / \
                tool: [skill: stocktake]\nShelf by shelf.";
    let added = [SessionItem { item: count.clone(), joined: ItemOrigin::ByHand }];
    let found = candidates(&[("stocktake", 0.9)]);
    for (picks, rounds) in [(&found[..], ""), (&found[..0], read)] {
        let rounds = talk(rounds);
        let offered = |session: &[SessionItem]| {
            let inputs = AssemblyInputs::new(&catalog, "x").picks(picks).rounds(&rounds);
            let request = inputs.session(session).assemble().unwrap();
            let own = request.tools.iter().filter(|tool| tool.spec.id.server.is_some());
            own.map(|tool| tool.spec.id.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(offered(&[]), ["weigh"]);
        assert_eq!(offered(&added), ["count", "weigh"]);
    }
    // Nor does a tool come sooner than its skill.
    catalog.skills[0].include = IncludeMode::Manual;
    catalog.skills[0].tools[0].include = IncludeMode::Agent;
    assert_eq!(include(&catalog), Some(IncludeMode::Manual));
}
