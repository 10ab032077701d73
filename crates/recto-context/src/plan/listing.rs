//! What is only named: items that may fit the message, in a short list behind the history. The
//! model loads what it wants of them.
//!
//! Whether there can be a list follows from what the agent has, and not from the message: the
//! tool that loads an item would otherwise come and go, and have the whole prompt read again.

use std::collections::HashSet;

use super::skills::{lists_many_skills, names_in_layer};
use super::{Plan, SessionLookup, scores_of};
use crate::catalog::{Catalog, CatalogDocument};
use crate::compose::line_tokens;
use crate::context::DropReason;
use crate::inputs::AssemblyInputs;
use crate::item::{ContentSource, IncludeMode, ItemId, ItemKind, Priority};
use crate::item_list::{ListEntry, ListLimits, write_list};
use crate::layer::Layer;
use crate::layout::SkillRender;
use crate::page::{ItemUse, PartReason};
use crate::skill_texts::{POSSIBLE_HEADING, POSSIBLE_SKILLS_HEADING, READ_ITEM, READ_SKILL};
use crate::text::Text;
use crate::tokens::Tokens;

/// The list takes no more than this share of the window.
pub(super) const LIST_SHARE: u32 = 16;

/// In a smaller window there is no list: the tool that loads an item would take the room of what
/// is surely needed.
const LEAST_WINDOW: Tokens = Tokens::new(1_536);

/// An item that is listed, with its line.
pub(crate) struct PlannedLine {
    pub item: ItemUse,
    pub line: Text,
    pub source: ContentSource,
}

/// What a list says of an item, and where that comes from.
struct ListedContent<'a> {
    description: &'a str,
    source: &'a ContentSource,
    priority: Option<Priority>,
}

impl Plan<'_> {
    /// Whether items can be listed in this session for the model to load.
    pub(super) fn lists_items(&self, session: &SessionLookup<'_>) -> bool {
        let AssemblyInputs { catalog, limits, removed, .. } = self.inputs;
        let is_out = |id: &ItemId| !session.contains_key(id) && !removed.contains(id);
        can_list(self.inputs)
            && (lists_many_skills(self.inputs, session)
                || catalog.memories.len() > limits.memory_entries
                || coming_items(catalog).any(|id| is_out(&id)))
    }

    /// Lists what may fit, as far as it is not on the page already and there is room for it.
    pub(super) fn plan_list(&mut self, session: &SessionLookup<'_>) {
        let inputs = self.inputs;
        let too_long: Vec<ItemId> =
            self.carry.too_long.iter().map(|long| long.item.clone()).collect();
        if too_long.is_empty() && inputs.listed.is_empty() || !self.lists_items(session) {
            return;
        }
        let limits = list_limits(inputs);
        let shown = self.shown_items(session);
        let read = self.read_earlier();
        let content = |id| Some((id, listed_content(inputs.catalog, id)?));
        // What search is sure of and has no room for is likelier than what may fit.
        let listed = too_long.iter().chain(inputs.listed);
        let listed = listed.filter(|id| !shown.contains(id) && !read.shows(id, inputs.catalog));
        let mut listed: Vec<(&ItemId, ListedContent<'_>)> = listed.filter_map(content).collect();
        let beyond = listed.split_off(listed.len().min(limits.lines));
        let entries: Vec<ListEntry<'_>> = listed
            .iter()
            .map(|(item, content)| ListEntry { item, description: content.description })
            .collect();
        let heading = list_heading(inputs, listed.iter().map(|(item, _)| *item));
        let mut lines = write_list(heading, &entries, limits).into_iter();
        for (item, content) in listed {
            match lines.next() {
                Some(line) if !self.carry.cut_picks.contains(item) => {
                    let planned = self.plan_line(item, line, &content);
                    self.list.push(planned);
                }
                Some(line) => {
                    let tokens = line_tokens(self, &line);
                    self.drop_line(item, tokens, DropReason::NoRoom);
                }
                None => {
                    let reason = DropReason::ListTokens { limit: limits.tokens };
                    self.drop_unwritten(item, &content, reason);
                }
            }
        }
        for (item, content) in beyond {
            let reason = DropReason::ListLines { limit: limits.lines };
            self.drop_unwritten(item, &content, reason);
        }
    }

    /// Notes an item that the list itself has no room for, with what its shortest line would take.
    fn drop_unwritten(&mut self, item: &ItemId, content: &ListedContent<'_>, reason: DropReason) {
        let line = ListEntry { item, description: content.description }.shortest_line();
        let tokens = line_tokens(self, &line);
        self.drop_line(item, tokens, reason);
    }

    /// Notes a line that is left out, unless it is known already why the item itself is.
    pub(crate) fn drop_line(&mut self, item: &ItemId, tokens: Tokens, reason: DropReason) {
        if !self.carry.too_long.iter().any(|long| long.item == *item) {
            self.drop_item(item, Layer::Picks, tokens, reason);
        }
    }

    fn plan_line(&self, id: &ItemId, line: Text, content: &ListedContent<'_>) -> PlannedLine {
        let item = ItemUse {
            id: id.clone(),
            include: IncludeMode::Agent,
            priority: content.priority,
            scores: scores_of(self.inputs.picks, id)
                .or_else(|| scores_of(self.inputs.candidates, id)),
        };
        PlannedLine { item, line, source: content.source.clone() }
    }

    /// What stands on the page, or may not, and so is not listed.
    fn shown_items(&self, session: &SessionLookup<'_>) -> ShownItems {
        let mut items: HashSet<ItemId> = self.inputs.removed.iter().cloned().collect();
        items.extend(session.keys().map(|id| (*id).clone()));
        items.extend(self.picks.iter().map(|pick| pick.item.id.clone()));
        items.extend(self.memories.iter().map(|planned| planned.memory.id()));
        // Within a turn the list stays as it is, whatever the model asks for.
        let tools = self.tools.iter().filter(|tool| tool.reason != PartReason::AskedFor);
        items.extend(tools.map(|tool| tool.spec.id.clone()));
        items.extend(self.kept_picks().map(|pick| pick.item.clone()));
        ShownItems { items, skills: names_in_layer(self.inputs, session) }
    }
}

/// The items that a list leaves out.
struct ShownItems {
    items: HashSet<ItemId>,
    /// Whether a list in the layer of skills names all skills.
    skills: bool,
}

impl ShownItems {
    fn contains(&self, id: &ItemId) -> bool {
        (self.skills && id.kind == ItemKind::Skill) || self.items.contains(id)
    }
}

/// Rules, references and tools that come when they fit. The tools of a skill come with it.
fn coming_items(catalog: &Catalog) -> impl Iterator<Item = ItemId> + '_ {
    let documents = catalog.documents().map(|(id, document)| (id, document.include));
    let tools = catalog.tools.iter().map(|tool| (tool.id.clone(), tool.include));
    let all = documents.chain(tools);
    all.filter(|(_, include)| *include == IncludeMode::Agent).map(|(id, _)| id)
}

/// Whether the page has a place for a list at all.
pub(super) fn can_list(inputs: &AssemblyInputs<'_>) -> bool {
    let AssemblyInputs { catalog, layout, mode, limits, window, .. } = inputs;
    layout.lists_possible()
        && !catalog.is_off(&READ_ITEM.id)
        && !mode.chosen.is_minimal()
        && limits.list_lines > 0
        && limits.list_tokens > Tokens::ZERO
        && window.tokens >= LEAST_WINDOW
}

/// The heading of a list of these items.
pub(crate) fn list_heading<'i>(
    inputs: &AssemblyInputs<'_>,
    items: impl IntoIterator<Item = &'i ItemId>,
) -> &'static Text {
    let on_demand = inputs.layout.skills == SkillRender::ReadOnDemand;
    let reads_skills = on_demand && !inputs.catalog.is_off(&READ_SKILL.id);
    let has_skill = items.into_iter().any(|item| item.kind == ItemKind::Skill);
    if reads_skills && has_skill { &POSSIBLE_SKILLS_HEADING } else { &POSSIBLE_HEADING }
}

fn list_limits(inputs: &AssemblyInputs<'_>) -> ListLimits {
    let share = Tokens::new(inputs.window.tokens.get() / LIST_SHARE);
    ListLimits { lines: inputs.limits.list_lines, tokens: inputs.limits.list_tokens.min(share) }
}

/// What is told of an item that is only named: what it says of itself, or how it begins.
fn listed_content<'a>(catalog: &'a Catalog, id: &ItemId) -> Option<ListedContent<'a>> {
    let document = |documents: &'a [CatalogDocument]| {
        let found = documents.iter().find(|document| document.name == id.name)?;
        let description = found.description.as_ref().unwrap_or(&found.text);
        let priority = Some(found.priority);
        Some(ListedContent { description, source: &found.source, priority })
    };
    match id.kind {
        ItemKind::Rule => document(&catalog.rules),
        ItemKind::Reference => document(&catalog.references),
        ItemKind::Skill => {
            let skill = catalog.skills.iter().find(|skill| skill.name == id.name)?;
            let description = skill.description.as_ref().unwrap_or(&skill.body);
            Some(ListedContent { description, source: &skill.source, priority: None })
        }
        ItemKind::Tool => {
            let tool = catalog.all_tools().find(|tool| tool.id == *id)?;
            let description = tool.description.as_deref().unwrap_or_default();
            Some(ListedContent { description, source: &tool.source, priority: None })
        }
        ItemKind::Memory => {
            let memory = catalog.memories.iter().find(|memory| memory.name == id.name)?;
            let description = &memory.text;
            Some(ListedContent { description, source: &memory.source, priority: None })
        }
    }
}
