//! Which skills stand on the page: in full, in a list by name and description, or not at all.
//!
//! Skills of the session are there as the layout says. Of those that come when they fit, few
//! are all listed, in a list that no message changes; of many, only those that may fit this
//! message are, among all other items that may. A skill that only a person brings is not named.

use std::collections::HashSet;

use super::listing::{LIST_SHARE, can_list};
use super::{DropTally, Plan, SessionLookup, reason, scores_of};
use crate::catalog::Skill;
use crate::context::{DropReason, DroppedEntry};
use crate::counter::TokenCounter;
use crate::inputs::AssemblyInputs;
use crate::item::{IncludeMode, ItemId, ItemKind, ItemOrigin};
use crate::layer::Layer;
use crate::layout::{PickPlacement, SkillRender, ToolCalls};
use crate::page::PartReason;
use crate::text::Text;
use crate::tokens::Tokens;

pub(crate) struct PlannedSkill<'a> {
    pub skill: &'a Skill,
    pub form: SkillForm,
    pub include: IncludeMode,
    pub reason: PartReason,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillForm {
    Full,
    Listed,
}

/// How skills are named that the session does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SkillListing {
    /// Each of them, whatever its include mode: the layout knows no other way.
    Every,
    /// Each that comes when it fits: they are few.
    Few,
    /// Those that may fit this message, in the list of all such items.
    Possible,
    None,
}

impl<'a> Plan<'a> {
    pub(super) fn plan_skills(&mut self, session: &SessionLookup<'_>) {
        let AssemblyInputs { catalog, layout, mode, .. } = self.inputs;
        if layout.skills == SkillRender::Hidden {
            return;
        }
        let mut skills: Vec<&Skill> = catalog.skills.iter().collect();
        if !layout.preset.is_plain() {
            skills.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let listing = skill_listing(self.inputs, session);
        let mut left_out = DropTally::default();
        let ranked: HashSet<&str> = self.ranked_names(ItemKind::Skill).collect();
        for skill in skills {
            if self.inputs.removed.contains(&skill_id(skill)) {
                continue;
            }
            let joined = session.get(&skill_id(skill)).copied();
            // Elsewhere the body of a picked skill stands among the picks.
            let is_pick = scores_of(self.inputs.picks, &skill_id(skill)).is_some();
            let picked = is_pick && layout.picks == PickPlacement::InLayer;
            if mode.chosen.is_minimal() && !self.offers_tool_of(skill) && !picked {
                if !is_pick && (joined.is_some() || !ranked.contains(&*skill.name)) {
                    self.leave_out_skill(skill, joined, &mut left_out);
                }
            } else if joined.is_some() || picked || listing.names(skill) {
                self.skills.push(self.plan_skill(skill, joined));
            }
        }
        let names = ["skill", "skills"];
        self.dropped.extend(left_out.dropped(Layer::Skills, names, DropReason::Mode));
        self.note_shed_bodies();
    }

    /// Notes a skill that the mode has no place for. One that only a person brings is named,
    /// where somebody did, and else was not meant to come; the others are counted.
    fn leave_out_skill(
        &mut self,
        skill: &Skill,
        joined: Option<ItemOrigin>,
        others: &mut DropTally,
    ) {
        let tokens = self.inputs.counter.text(&skill.entry);
        match (skill.include, joined) {
            (IncludeMode::Manual, None) => {}
            (IncludeMode::Manual, Some(_)) => {
                self.drop_item(&skill_id(skill), Layer::Skills, tokens, DropReason::Mode);
            }
            (IncludeMode::Always | IncludeMode::Agent, _) => others.add(tokens),
        }
    }

    fn plan_skill(&self, skill: &'a Skill, joined: Option<ItemOrigin>) -> PlannedSkill<'a> {
        let AssemblyInputs { layout, mode, .. } = self.inputs;
        let bodies = layout.skills == SkillRender::Full && !mode.chosen.is_minimal();
        let shed = self.carry.shed.contains(&skill_id(skill));
        let (form, reason) = match joined {
            Some(_) if bodies && shed => (SkillForm::Listed, PartReason::ListedForRoom),
            Some(joined) if bodies => (SkillForm::Full, reason(joined)),
            _ if mode.chosen.is_minimal() => (SkillForm::Listed, PartReason::ListedInMinimal),
            Some(_) => (SkillForm::Listed, PartReason::ListedByRender),
            None => (SkillForm::Listed, PartReason::Listed),
        };
        let include = joined.map_or(skill.include, ItemOrigin::include);
        PlannedSkill { skill, form, include, reason }
    }

    /// Bodies that have been out since an earlier turn are still missing.
    fn note_shed_bodies(&mut self) {
        let counter = &self.inputs.counter;
        let shed = self.skills.iter().filter(|planned| planned.reason == PartReason::ListedForRoom);
        self.dropped.extend(shed.map(|planned| shed_body(planned.skill, counter)));
    }

    /// Whether the model can load a skill by its name: where a list of those stands that come
    /// when they fit, or comes to stand when the message asks for it.
    pub(super) fn reads_skills(&self, session: &SessionLookup<'_>) -> bool {
        let listing = skill_listing(self.inputs, session);
        matches!(listing, SkillListing::Few | SkillListing::Possible)
    }
}

impl SkillListing {
    /// Whether a skill that the session does not have stands in the list of the layer.
    fn names(self, skill: &Skill) -> bool {
        match self {
            SkillListing::Every => true,
            SkillListing::Few => skill.include == IncludeMode::Agent,
            SkillListing::Possible | SkillListing::None => false,
        }
    }
}

/// How skills are named that the session does not have. It follows from what there is, and
/// not from the message. Estimated counts decide: exact ones are learnt on the way, and a
/// list that changes with them would have all behind it read again.
fn skill_listing(inputs: &AssemblyInputs<'_>, session: &SessionLookup<'_>) -> SkillListing {
    let AssemblyInputs { layout, mode, .. } = inputs;
    if layout.skills == SkillRender::Hidden {
        return SkillListing::None;
    }
    if !layout.budgets_skill_list() || mode.chosen.is_minimal() {
        return SkillListing::Every;
    }
    let counter = TokenCounter::estimated();
    let mut skills = listable_skills(inputs, session).peekable();
    if layout.tool_calls == ToolCalls::Text || skills.peek().is_none() {
        return SkillListing::None;
    }
    match skills.map(|skill| counter.text(&skill.entry)).sum::<Tokens>() <= list_limit(inputs) {
        true => SkillListing::Few,
        false if can_list(inputs) => SkillListing::Possible,
        false => SkillListing::None,
    }
}

/// Whether there are more skills that come when they fit than a list for all messages has room
/// for.
pub(super) fn lists_many_skills(inputs: &AssemblyInputs<'_>, session: &SessionLookup<'_>) -> bool {
    skill_listing(inputs, session) == SkillListing::Possible
}

/// Whether all skills that come when they fit are named in the layer of skills.
pub(super) fn names_in_layer(inputs: &AssemblyInputs<'_>, session: &SessionLookup<'_>) -> bool {
    matches!(skill_listing(inputs, session), SkillListing::Few | SkillListing::Every)
}

fn list_limit(inputs: &AssemblyInputs<'_>) -> Tokens {
    let share = Tokens::new(inputs.window.tokens.get() / LIST_SHARE);
    inputs.limits.skill_list_tokens.min(share)
}

/// Skills that come when they fit, but for those of the session and those that were removed.
fn listable_skills<'a>(
    inputs: &'a AssemblyInputs<'a>,
    session: &SessionLookup<'_>,
) -> impl Iterator<Item = &'a Skill> {
    let is_out = |skill: &&Skill| {
        let id = skill_id(skill);
        !session.contains_key(&id) && !inputs.removed.contains(&id)
    };
    let skills = inputs.catalog.skills.iter();
    skills.filter(|skill| skill.include == IncludeMode::Agent).filter(is_out)
}

pub(crate) fn skill_id(skill: &Skill) -> ItemId {
    ItemId::new(ItemKind::Skill, skill.name.clone())
}

/// A skill's body that became a line in the list.
pub(crate) fn shed_body(skill: &Skill, counter: &TokenCounter<'_>) -> DroppedEntry {
    DroppedEntry {
        what: format!("body of skill {}", skill.name),
        item: Some(skill_id(skill)),
        layer: Layer::Skills,
        before: counter.line(&skill.heading, &skill.body),
        after: counter.line(&Text::default(), &skill.entry),
        reason: DropReason::NoRoom,
    }
}
