//! Which tools are offered, in an order that only grows.
//!
//! Most chat templates put tools near the front of the prompt, so their order
//! is fixed: what the session has, in catalog order, then what search found or the
//! model asked for, in the order it was found. A found tool stays until the next trim.
//! Behind all of them come the tools of the client, in its own order.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Plan, SessionLookup, reason, scores_of};
use crate::carry::{FinderOfTool, FoundTool};
use crate::catalog::{Catalog, Skill, ToolSpec};
use crate::context::{DropReason, OfferedTool};
use crate::inputs::AssemblyInputs;
use crate::item::{
    ContentSource, IncludeMode, ItemId, ItemKind, ItemOrigin, Pick, Scores, SessionItem,
};
use crate::item_reading::ReadableItems;
use crate::layer::Layer;
use crate::layout::{PageLayout, SkillRender, ToolCalls};
use crate::page::{ItemUse, PartReason};
use crate::skill_texts::{READ_ITEM, READ_SKILL};
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
    let picked = |tool: &OwnedTool<'_>| picks.iter().any(|pick| brings(pick, tool));
    reads_skills_on_demand(catalog, layout)
        || tools.iter().any(|owned| {
            let (tool, skill) = owned;
            tools.len() < FEW || in_session(tool, *skill, holds).is_some() || picked(owned)
        })
}

/// How a tool came into the session: by itself, or with a skill that a person
/// added. A tool of a skill that is not there is not there either, unless a
/// person added the tool itself.
fn in_session(
    tool: &ToolSpec,
    skill: Option<&Skill>,
    holds: impl Fn(&ItemId) -> Option<ItemOrigin>,
) -> Option<(IncludeMode, PartReason)> {
    let own = holds(&tool.id);
    let by_itself = |joined: ItemOrigin| (joined.include(), reason(joined));
    let Some(skill) = skill.filter(|_| !own.is_some_and(ItemOrigin::is_manual)) else {
        return own.map(by_itself);
    };
    let of_skill = holds(&ItemId::new(ItemKind::Skill, skill.name.clone()))?;
    let comes_along = of_skill.is_manual() && tool.include == IncludeMode::Always;
    let with_skill = || (of_skill.include(), PartReason::OfSkill(skill.name.clone()));
    own.map(by_itself).or_else(|| comes_along.then(with_skill))
}

/// The tools that search brings for this message: by themselves, or with their skills.
pub(crate) fn brought_tools<'a>(inputs: &AssemblyInputs<'a>) -> HashSet<&'a ItemId> {
    let tools = ordered_tools(inputs.catalog, inputs.removed).into_iter();
    let brought = tools.filter(|tool| inputs.picks.iter().any(|pick| brings(pick, tool)));
    brought.map(|(tool, _)| &tool.id).collect()
}

fn reads_skills_on_demand(catalog: &Catalog, layout: &PageLayout) -> bool {
    let reads = layout.skills == SkillRender::ReadOnDemand && !catalog.is_off(&READ_SKILL.id);
    reads && !catalog.skills.is_empty()
}

/// Why and how a tool is offered.
struct OfferBasis {
    include: IncludeMode,
    reason: PartReason,
    scores: Option<Scores>,
}

impl<'a> Plan<'a> {
    pub(super) fn offer_tools(&mut self, session: &SessionLookup<'_>) {
        let mut names = HashSet::new();
        let on_demand = reads_skills_on_demand(self.inputs.catalog, &self.inputs.layout);
        let lists = self.lists_items(session);
        let reads = self.reads_skills(session) && !self.inputs.catalog.is_off(&READ_SKILL.id);
        if on_demand || (reads && !lists) {
            self.offer_anyway(&READ_SKILL, IncludeMode::Always, PartReason::Always, &mut names);
        }
        if lists {
            self.offer_anyway(&READ_ITEM, IncludeMode::Always, PartReason::Always, &mut names);
        }
        let tools = ordered_tools(self.inputs.catalog, self.inputs.removed);
        for (tool, skill) in &tools {
            let joined = in_session(tool, *skill, |id| session.get(id).copied());
            if let Some((include, reason)) = joined {
                self.offer_anyway(tool, include, reason, &mut names);
            }
        }
        if self.inputs.mode.chosen.is_minimal() && tools.len() < FEW {
            for (tool, _) in &tools {
                if !self.offers(&tool.id) {
                    // Nobody chose it, so it comes like those that always do.
                    self.offer_anyway(tool, IncludeMode::Always, PartReason::FewTools, &mut names);
                }
            }
        }
        self.offer_found_tools(&tools, &mut names);
        for tool in self.inputs.client_tools {
            self.offer_anyway(tool, IncludeMode::Always, PartReason::FromClient, &mut names);
        }
    }

    /// Offers a tool that is there whatever the message says. Search may have found it, too.
    fn offer_anyway(
        &mut self,
        tool: &'a ToolSpec,
        include: IncludeMode,
        reason: PartReason,
        names: &mut ToolNames<'a>,
    ) {
        if let (true, ContentSource::Server(server)) =
            (self.carry.shed.contains(&tool.id), &tool.source)
        {
            let tokens = self.inputs.counter.text(&tool.schema);
            let reason = DropReason::ServerTools { server: server.clone() };
            return self.drop_item(&tool.id, Layer::Tools, tokens, reason);
        }
        let scores = scores_of(self.inputs.picks, &tool.id);
        self.offer(tool, OfferBasis { include, reason, scores }, names);
    }

    /// What search found in earlier turns, then what it found now. Those that it finds again
    /// keep their places.
    fn offer_found_tools(&mut self, tools: &[OwnedTool<'a>], names: &mut ToolNames<'a>) {
        let picks = self.inputs.picks;
        for before in std::mem::take(&mut self.carry.found_tools) {
            match tools.iter().find(|(tool, _)| tool.id == before.item) {
                Some(tool) if picks.iter().any(|pick| brings(pick, tool)) => {
                    self.offer_found_now(*tool, names);
                }
                Some(tool) => {
                    let is_now = before.turn == Some(self.inputs.turn);
                    let reason = match (before.by, before.turn) {
                        (FinderOfTool::Search, _) if is_now => PartReason::Found,
                        (FinderOfTool::Search, Some(turn)) => PartReason::FoundInTurn(turn),
                        (FinderOfTool::Model, Some(turn)) if !is_now => {
                            PartReason::AskedForInTurn(turn)
                        }
                        (FinderOfTool::Model, _) => PartReason::AskedFor,
                        (FinderOfTool::Search, None) => PartReason::FoundEarlier,
                    };
                    self.offer_found(*tool, before, reason, names);
                }
                None if is_removed(&before.item, self.inputs.removed) => {}
                None => self.drop_missing(&before.item),
            }
        }
        for pick in picks {
            let mut brought = tools.iter().filter(|tool| brings(pick, tool)).peekable();
            if pick.item.kind == ItemKind::Tool && brought.peek().is_none() {
                self.drop_missing(&pick.item);
            }
            brought.for_each(|tool| self.offer_found_now(*tool, names));
        }
        self.offer_asked_tools(tools, names);
    }

    /// Offers the tools that the model has asked for in this turn, and those of skills that it
    /// has read.
    fn offer_asked_tools(&mut self, tools: &[OwnedTool<'a>], names: &mut ToolNames<'a>) {
        let asked = tools.iter().filter(|tool| self.is_asked_for(tool));
        let asked: Vec<OwnedTool<'a>> = asked.copied().collect();
        for tool in asked {
            let found = FoundTool {
                item: tool.0.id.clone(),
                turn: Some(self.inputs.turn),
                scores: None,
                by: FinderOfTool::Model,
            };
            self.offer_found(tool, found, PartReason::AskedFor, names);
        }
    }

    /// Whether the model has loaded a tool in this turn, or the skill that it comes with, and may
    /// have it: what only a person brings comes with no skill that a model reads.
    fn is_asked_for(&self, (tool, skill): &OwnedTool<'_>) -> bool {
        let with_skill = |skill: &Skill| (ItemKind::Skill, skill.name.to_string());
        let is_loaded = self.loaded.contains(&(ItemKind::Tool, tool.id.key()))
            || skill.is_some_and(|skill| self.loaded.contains(&with_skill(skill)));
        let inputs = self.inputs;
        let (catalog, session, removed) = (inputs.catalog, inputs.session, inputs.removed);
        is_loaded && ReadableItems { catalog, session, removed }.check(&tool.id).is_ok()
    }

    /// Offers a tool that search brings for this message: by itself, or with its skill.
    fn offer_found_now(&mut self, owned: OwnedTool<'a>, names: &mut ToolNames<'a>) {
        let (tool, _) = owned;
        let scores = scores_of(self.inputs.picks, &tool.id);
        let reason = match (scores, &tool.id.server) {
            (None, Some(skill)) => PartReason::OfSkill(skill.clone()),
            _ => PartReason::Found,
        };
        let (turn, by) = (Some(self.inputs.turn), FinderOfTool::Search);
        let found = FoundTool { item: tool.id.clone(), turn, scores, by };
        self.offer_found(owned, found, reason, names);
    }

    /// Offers a tool that search found. It is remembered also when it is offered
    /// for another reason now: that may not hold in the next turn.
    fn offer_found(
        &mut self,
        owned: OwnedTool<'a>,
        found: FoundTool,
        reason: PartReason,
        names: &mut ToolNames<'a>,
    ) {
        let (tool, _) = owned;
        let is_cut = self.carry.cut_picks.contains(&tool.id);
        if is_cut && !self.is_asked_for(&owned) {
            let tokens = self.inputs.counter.text(&tool.schema);
            return self.drop_item(&tool.id, Layer::Tools, tokens, DropReason::NoRoom);
        }
        // What had no room, or whose line in the list had none, is there because it was asked for.
        let reason = if is_cut { PartReason::AskedFor } else { reason };
        if self.carry.found_tools.iter().any(|known| known.item == tool.id) {
            return;
        }
        if !self.offers(&tool.id) {
            let (include, scores) = (IncludeMode::Agent, found.scores);
            self.offer(tool, OfferBasis { include, reason, scores }, names);
        }
        self.carry.found_tools.push(found);
    }

    /// Offers a tool, unless another has its name: models call tools by name alone.
    fn offer(&mut self, tool: &'a ToolSpec, basis: OfferBasis, names: &mut ToolNames<'a>) {
        let tokens = match self.inputs.layout.tool_calls {
            ToolCalls::Native => self.inputs.counter.tool(&tool.schema, &self.tools),
            ToolCalls::Text => Tokens::ZERO,
        };
        if !names.insert(&tool.called) {
            return self.drop_once(&tool.id, tokens);
        }
        let OfferBasis { include, reason, scores } = basis;
        let item = ItemUse { id: tool.id.clone(), include, priority: None, scores };
        self.tools.push(OfferedTool { spec: tool.clone(), item, tokens, reason });
    }

    /// A tool can be tried twice: as one of the session and as one that was found.
    fn drop_once(&mut self, tool: &ItemId, tokens: Tokens) {
        let reason = DropReason::NameTaken;
        if !self.has_dropped(tool, &reason) {
            self.drop_item(tool, Layer::Tools, tokens, reason);
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

/// A tool, with the skill that it belongs to.
type OwnedTool<'a> = (&'a ToolSpec, Option<&'a Skill>);

/// Whether a pick brings a tool of the catalog: by itself, or with its skill. One that only a
/// person brings comes with no skill that was found.
fn brings(pick: &Pick, (tool, skill): &OwnedTool<'_>) -> bool {
    let comes_along = tool.include != IncludeMode::Manual;
    let of_skill = || comes_along && skill.is_some_and(|skill| skill.name == pick.item.name);
    pick.item == tool.id || (pick.item.kind == ItemKind::Skill && of_skill())
}

/// Whether a person took a tool out of the session, or the skill that it comes from.
fn is_removed(tool: &ItemId, removed: &[ItemId]) -> bool {
    let is_its_skill =
        |id: &ItemId| id.kind == ItemKind::Skill && Some(&id.name) == tool.server.as_ref();
    removed.iter().any(|id| id == tool || is_its_skill(id))
}

/// Tools of Recto and of servers, then those of skills by the skill's name, without
/// those that were removed.
fn ordered_tools<'a>(catalog: &'a Catalog, removed: &[ItemId]) -> Vec<OwnedTool<'a>> {
    let mut skills: Vec<&Skill> = catalog.skills.iter().filter(|s| !s.tools.is_empty()).collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    let own = catalog.tools.iter().map(|tool| (tool, None));
    own.chain(skills.into_iter().flat_map(|s| s.tools.iter().map(move |tool| (tool, Some(s)))))
        .filter(|(tool, _)| !is_removed(&tool.id, removed))
        .collect()
}
