//! Which tools are offered, in an order that only grows.
//!
//! Most chat templates put tools near the front of the prompt, so their order
//! is fixed: what the session has, in catalog order, then what search found,
//! in the order it was found. A found tool stays until the next trim. Behind all of
//! them come the tools of the client, in its own order.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Plan, SessionLookup, reason, scores_of};
use crate::catalog::{Catalog, Skill, ToolSpec};
use crate::context::{DropReason, OfferedTool};
use crate::item::{IncludeMode, ItemId, ItemKind, ItemOrigin, Pick, SessionItem};
use crate::layer::Layer;
use crate::layout::{PageLayout, SkillRender, ToolCalls};
use crate::page::{ItemUse, PartReason};
use crate::skill_texts::READ_SKILL;
use crate::tokens::Tokens;

/// Minimal mode offers every tool while there are fewer than this.
const FEW: usize = 10;

/// Whether a turn in minimal mode would have any tool to offer: without one, the
/// mode would ask for calls that can't be made.
pub fn has_tools(
    catalog: &Catalog,
    session: &[SessionItem],
    removed: &[ItemId],
    picks: &[Pick],
    layout: &PageLayout,
) -> bool {
    let holds = |id: &ItemId| session.iter().find(|item| item.item == *id).map(|item| item.joined);
    let tools = ordered_tools(catalog, removed);
    let picked = |tool: &ToolSpec| picks.iter().any(|pick| pick_brings_tool(pick, &tool.id));
    reads_skills_on_demand(catalog, layout)
        || tools.iter().any(|(tool, skill)| {
            tools.len() < FEW || in_session(tool, *skill, holds).is_some() || picked(tool)
        })
}

/// How a tool came into the session: by itself, or with a skill that a person
/// added. A tool of a skill that is not there is not there either, unless a
/// person added the tool itself.
fn in_session(
    tool: &ToolSpec,
    skill: Option<&Skill>,
    holds: impl Fn(&ItemId) -> Option<ItemOrigin>,
) -> Option<ItemOrigin> {
    let of_skill = skill.map(|skill| holds(&ItemId::new(ItemKind::Skill, skill.name.clone())));
    match (holds(&tool.id), of_skill) {
        (Some(ItemOrigin::ByHand), _) => Some(ItemOrigin::ByHand),
        (_, Some(None)) => None,
        (None, Some(Some(ItemOrigin::ByHand))) if tool.include == IncludeMode::Always => {
            Some(ItemOrigin::ByHand)
        }
        (joined, _) => joined,
    }
}

/// Whether a pick brings a tool: by itself, or with the tool's skill.
pub(crate) fn pick_brings_tool(pick: &Pick, tool: &ItemId) -> bool {
    pick.item == *tool
        || (pick.item.kind == ItemKind::Skill && tool.server.as_ref() == Some(&pick.item.name))
}

fn reads_skills_on_demand(catalog: &Catalog, layout: &PageLayout) -> bool {
    layout.skills == SkillRender::ReadOnDemand && !catalog.skills.is_empty()
}

impl<'a> Plan<'a> {
    pub(super) fn offer_tools(&mut self, session: &SessionLookup<'_>) {
        let mut names = HashSet::new();
        if reads_skills_on_demand(self.inputs.catalog, &self.inputs.layout) {
            self.offer(&READ_SKILL, IncludeMode::Always, PartReason::Always, &mut names);
        }
        let tools = ordered_tools(self.inputs.catalog, self.inputs.removed);
        for (tool, skill) in &tools {
            if let Some(joined) = in_session(tool, *skill, |id| session.get(id).copied()) {
                self.offer(tool, joined.include(), reason(joined), &mut names);
            }
        }
        if self.inputs.mode.chosen.is_minimal() && tools.len() < FEW {
            for (tool, _) in &tools {
                self.offer_once(tool, PartReason::FewTools, &mut names);
            }
        }
        self.offer_found_tools(&tools, &mut names);
        for tool in self.inputs.client_tools {
            self.offer(tool, IncludeMode::Always, PartReason::FromClient, &mut names);
        }
    }

    /// What search found in earlier turns, then what it found now.
    fn offer_found_tools(
        &mut self,
        tools: &[(&'a ToolSpec, Option<&'a Skill>)],
        names: &mut ToolNames<'a>,
    ) {
        for id in std::mem::take(&mut self.carry.found_tools) {
            match tools.iter().find(|(tool, _)| tool.id == id) {
                Some((tool, _)) => self.offer_found(tool, PartReason::FoundEarlier, names),
                None if is_removed(&id, self.inputs.removed) => {}
                None => self.drop_vanished(&id),
            }
        }
        for pick in self.inputs.picks {
            match pick.item.kind {
                ItemKind::Tool => match tools.iter().find(|(tool, _)| tool.id == pick.item) {
                    Some((tool, _)) => self.offer_found(tool, PartReason::Found, names),
                    None => self.drop_vanished(&pick.item),
                },
                ItemKind::Skill => {
                    let of_skill = |s: &Option<&Skill>| s.is_some_and(|s| s.name == pick.item.name);
                    for (tool, _) in tools.iter().filter(|(_, skill)| of_skill(skill)) {
                        self.offer_found(tool, PartReason::OfSkill(pick.item.name.clone()), names);
                    }
                }
                _ => {}
            }
        }
    }

    /// Offers a tool that search found. It is remembered also when it is offered
    /// for another reason now: that may not hold in the next turn.
    fn offer_found(&mut self, tool: &'a ToolSpec, reason: PartReason, names: &mut ToolNames<'a>) {
        if self.carry.cut_picks.contains(&tool.id) {
            let tokens = self.inputs.counter.text(&tool.schema);
            return self.drop(tool.id.to_string(), Layer::Tools, tokens, DropReason::NoRoom);
        }
        self.offer_once(tool, reason, names);
        if !self.carry.found_tools.contains(&tool.id) {
            self.carry.found_tools.push(tool.id.clone());
        }
    }

    fn offer_once(&mut self, tool: &'a ToolSpec, reason: PartReason, names: &mut ToolNames<'a>) {
        if !self.offers(&tool.id) {
            self.offer(tool, tool.include, reason, names);
        }
    }

    /// Offers a tool, unless another has its name: models call tools by name alone.
    fn offer(
        &mut self,
        tool: &'a ToolSpec,
        include: IncludeMode,
        reason: PartReason,
        names: &mut ToolNames<'a>,
    ) {
        let tokens = match self.inputs.layout.tool_calls {
            ToolCalls::Native => self.inputs.counter.tool(&tool.schema, &self.tools),
            ToolCalls::Text => Tokens::ZERO,
        };
        if !names.insert(&tool.called) {
            return self.drop_once(tool.id.to_string(), tokens);
        }
        let scores = scores_of(self.inputs.picks, &tool.id);
        let item = ItemUse { id: tool.id.clone(), include, priority: None, scores };
        self.tools.push(OfferedTool { spec: tool.clone(), item, tokens, reason });
    }

    /// A tool can be tried twice: as one of the session and as one that was found.
    fn drop_once(&mut self, what: String, tokens: Tokens) {
        let reason = DropReason::NameTaken;
        if !self.dropped.iter().any(|dropped| dropped.what == what && dropped.reason == reason) {
            self.drop(what, Layer::Tools, tokens, reason);
        }
    }

    /// Whether any of a skill's tools is offered.
    pub(super) fn offers_tool_of(&self, skill: &Skill) -> bool {
        skill.tools.iter().any(|tool| self.offers(&tool.id))
    }

    fn offers(&self, id: &ItemId) -> bool {
        self.tools.iter().any(|offered| offered.spec.id == *id)
    }
}

type ToolNames<'a> = HashSet<&'a Arc<str>>;

/// Whether a person took a tool out of the session, or the skill that it comes from.
fn is_removed(tool: &ItemId, removed: &[ItemId]) -> bool {
    let is_its_skill =
        |id: &ItemId| id.kind == ItemKind::Skill && Some(&id.name) == tool.server.as_ref();
    removed.iter().any(|id| id == tool || is_its_skill(id))
}

/// Tools of Recto and of servers, then those of skills by the skill's name, without
/// those that were removed.
fn ordered_tools<'a>(
    catalog: &'a Catalog,
    removed: &[ItemId],
) -> Vec<(&'a ToolSpec, Option<&'a Skill>)> {
    let mut skills: Vec<&Skill> = catalog.skills.iter().filter(|s| !s.tools.is_empty()).collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    let own = catalog.tools.iter().map(|tool| (tool, None));
    own.chain(skills.into_iter().flat_map(|s| s.tools.iter().map(move |tool| (tool, Some(s)))))
        .filter(|(tool, _)| !is_removed(&tool.id, removed))
        .collect()
}
