//! What became of items, in requests that were made for it.

use super::*;
use crate::catalog::{Catalog, OffReason, OffTool, Skill, ToolSpec};
use crate::inputs::AssemblyInputs;
use crate::item::{ItemOrigin, Scores, SessionItem};
use crate::memory::Memory;
use crate::mode::{Mode, ModeDecision, ModeReason};

fn pick(item: ItemId, probability: f32) -> Pick {
    let scores = Scores { probability: Some(probability), ..Scores::default() };
    Pick::new(item, scores)
}

fn status(request: &RequestContext, item: &ItemId) -> Option<ItemStatus> {
    let all = request.item_standings();
    let of_item: Vec<&ItemStanding> = all.iter().filter(|known| known.item == *item).collect();
    assert!(of_item.len() < 2, "{of_item:?}");
    of_item.first().map(|standing| standing.status.clone())
}

#[test]
fn a_skill_whose_body_search_left_is_listed_all_the_same() {
    let mut catalog = Catalog::default();
    let tides = Skill::new("tides", Some("Tide tables"), "Look them up.".into());
    catalog.skills.push(Skill { include: IncludeMode::Agent, ..tides });
    let skill = ItemId::new(ItemKind::Skill, "tides");
    let left = [pick(skill.clone(), 0.2)];
    let request = AssemblyInputs::new(&catalog, "hi").candidates(&left).assemble().unwrap();
    let Some(ItemStatus::Listed { place, body: Some(body) }) = status(&request, &skill) else {
        panic!("{request:#?}")
    };
    assert_eq!((place.layer, place.include), (Layer::Skills, IncludeMode::Agent));
    assert_eq!(place.reason, PartReason::Listed);
    assert!(matches!(*body, ItemStatus::NotTaken { .. }), "{body:?}");
    let found = [pick(skill.clone(), 0.9)];
    let request = AssemblyInputs::new(&catalog, "hi").picks(&found).assemble().unwrap();
    let all = request.item_standings();
    let ItemStatus::InFull(place) = &all[0].status else { panic!("{all:#?}") };
    assert_eq!((place.layer, &place.reason), (Layer::Picks, &PartReason::Found));
    assert_eq!(place.found.as_ref(), Some(&found[0]));
    assert_eq!(all[0].also.iter().map(|place| place.layer).collect::<Vec<_>>(), [Layer::Skills]);
}

#[test]
fn a_skill_that_nobody_added_is_not_left_out_by_the_mode() {
    let mut catalog = Catalog::default();
    for (name, include) in
        [("tides", IncludeMode::Manual), ("wind", IncludeMode::Manual), ("sun", IncludeMode::Agent)]
    {
        let skill = Skill::new(name, Some("A table"), "Look it up.".into());
        catalog.skills.push(Skill { include, ..skill });
    }
    let [tides, wind, sun] =
        ["tides", "wind", "sun"].map(|name| ItemId::new(ItemKind::Skill, name));
    let added = [SessionItem { item: wind.clone(), joined: ItemOrigin::ByHand }];
    let minimal = ModeDecision::new(Mode::Minimal, ModeReason::Configured);
    let inputs = AssemblyInputs::new(&catalog, "hi").session(&added).mode(minimal);
    let request = inputs.assemble().unwrap();
    let by_mode =
        ItemStatus::LeftOut { layer: Layer::Skills, reason: DropReason::Mode, candidate: None };
    assert_eq!(status(&request, &tides), Some(ItemStatus::NotAdded));
    assert_eq!(status(&request, &wind), Some(by_mode.clone()));
    assert_eq!(status(&request, &sun), Some(by_mode));
    let dropped: Vec<&str> = request.dropped.iter().map(|dropped| &*dropped.what).collect();
    assert_eq!(dropped, ["skill wind", "1 skill"]);
}

#[test]
fn a_tool_that_is_off_is_not_gone() {
    let mut catalog = Catalog::default();
    let tool = ItemId::tool(Some("tides".into()), "tide_now");
    catalog.off_tools.push(OffTool { item: tool.clone(), why: OffReason::SkillChanged });
    let request = AssemblyInputs::new(&catalog, "hi").assemble().unwrap();
    let reason = DropReason::Off(OffReason::SkillChanged);
    assert_eq!(
        status(&request, &tool),
        Some(ItemStatus::LeftOut { layer: Layer::Tools, reason, candidate: None })
    );
}

#[test]
fn an_item_is_not_known_by_its_words() {
    let mut catalog = Catalog::default();
    let tool = ItemId::new(ItemKind::Tool, "tide.now");
    catalog.off_tools.push(OffTool { item: tool.clone(), why: OffReason::Disabled });
    let request = AssemblyInputs::new(&catalog, "hi").assemble().unwrap();
    let reason = DropReason::Off(OffReason::Disabled);
    assert_eq!(
        status(&request, &tool),
        Some(ItemStatus::LeftOut { layer: Layer::Tools, reason, candidate: None })
    );
    assert!(request.known_items().contains(&tool));
}

#[test]
fn a_tool_leaves_with_its_skill() {
    let mut catalog = Catalog::default();
    let id = ItemId::tool(Some("tides".into()), "tide_now");
    let tool = ToolSpec::new(id.clone(), "The tide now.", serde_json::json!({}));
    let tides = Skill::new("tides", Some("Tide tables"), "Look them up.".into());
    catalog.skills.push(Skill { tools: vec![tool], ..tides });
    let skill = ItemId::new(ItemKind::Skill, "tides");
    let session: Vec<_> = catalog.session_at_start();
    let removed = [skill.clone()];
    let inputs = AssemblyInputs::new(&catalog, "hi");
    let offered = inputs.clone().session(&session).assemble().unwrap();
    assert!(matches!(status(&offered, &id), Some(ItemStatus::Offered(_))));
    let tool_alone: Vec<_> = session.into_iter().filter(|item| item.item == id).collect();
    let request = inputs.session(&tool_alone).removed(&removed).assemble().unwrap();
    assert_eq!(status(&request, &skill), Some(ItemStatus::Removed));
    assert_eq!(status(&request, &id), Some(ItemStatus::RemovedWithSkill { skill }));
}

#[test]
fn what_says_the_same_names_the_better_one() {
    let mut catalog = Catalog::default();
    let [a, b] = ["Likes tea.", "I like tea."].map(|text| Memory::new("MEMORY.md", text, None));
    let (better, left) = (a.id(), b.id());
    catalog.memories = vec![a];
    let alike = [AlikeItem { item: left.clone(), of: better.clone(), cosine: Some(0.95) }];
    let request = AssemblyInputs::new(&catalog, "hi").alike(&alike).assemble().unwrap();
    let expected = ItemStatus::SaysTheSame { of: better, cosine: Some(0.95) };
    assert_eq!(status(&request, &left), Some(expected));
    assert_eq!(request.report()["alike"][0]["of"]["kind"], "memory");
}

#[test]
fn what_search_did_not_get_to_is_counted_among_its_like() {
    let found =
        |name| Skill { include: IncludeMode::Agent, ..Skill::new(name, None, "Text.".into()) };
    let skills = ["tides", "wind"].map(found).into();
    let catalog = Catalog { skills, ..Catalog::default() };
    let left = [
        pick(ItemId::new(ItemKind::Skill, "tides"), 0.2),
        pick(ItemId::new(ItemKind::Rule, "one"), 0.2),
        pick(ItemId::new(ItemKind::Reference, "two"), 0.2),
    ];
    let request = AssemblyInputs::new(&catalog, "hi").candidates(&left).assemble().unwrap();
    let looked_at = |kind| request.looked_at(kind);
    assert_eq!([ItemKind::Rule, ItemKind::Reference].map(looked_at), [2, 2]);
    assert_eq!([ItemKind::Skill, ItemKind::Tool].map(looked_at), [1, 0]);
}
