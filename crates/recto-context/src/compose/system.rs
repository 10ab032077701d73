//! Layers 1 to 6: who the agent is, where it runs, what it remembers, can do,
//! and must keep to.

use std::sync::{Arc, LazyLock};

use super::text_calls::tool_doc;
use super::{Composer, EMPTY};
use crate::catalog::WorkspaceFile;
use crate::inputs::Bootstrap;
use crate::item::{ContentSource, IncludeMode, ItemId, ItemKind, Priority};
use crate::layer::Layer;
use crate::layout::{PickPlacement, SkillRender, SystemMessages, ToolCalls};
use crate::page::{ChatRole, ItemUse, Part, PartJoin, PartReason};
use crate::plan::{Plan, PlannedMemory, PlannedPick, PlannedSkill, SkillForm, skill_id};
use crate::skill_texts::{
    FULL_INTRO, LIST_HEADING, ON_DEMAND_INTRO, READ_ITEM, READ_SKILL, READABLE_AS_ITEM_HEADING,
    READABLE_HEADING,
};
use crate::text::Text;

static DEFAULT_SOUL: LazyLock<Text> = LazyLock::new(|| {
    Text::from("You are a helpful assistant: friendly, honest, and brief where brief will do.")
});

static DEFAULT_AGENTS: LazyLock<Text> = LazyLock::new(|| {
    Text::from(
        "Answer what was asked. Say so when you don't know. Use your tools when they can do or \
         check something; never claim to have done what you have not.",
    )
});

static HOW_TO_CALL: LazyLock<Text> = LazyLock::new(|| {
    Text::from(
        "Call the tool that fits, with all its required parameters; then answer from its result.",
    )
});

static CALL_AS_TEXT: LazyLock<Text> = LazyLock::new(|| {
    Text::from(
        "To call a tool, answer with \
         <tool_call>{\"name\": \"TOOL\", \"arguments\": {…}}</tool_call> and nothing else.",
    )
});

static MEMORIES: LazyLock<Text> = LazyLock::new(|| Text::from("Relevant memories:"));
static SKILLS: LazyLock<Text> = LazyLock::new(|| Text::from("Available skills:"));
static TOOLS: LazyLock<Text> = LazyLock::new(|| Text::from("Available tools:"));
static BULLET: LazyLock<Text> = LazyLock::new(|| Text::from("- "));

impl Composer<'_> {
    pub(super) fn system_layers(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = self.system(plan);
        parts.extend(self.bootstrap(plan));
        parts.extend(self.memory(plan));
        parts.extend(self.skills(plan));
        parts.extend(self.tools(plan));
        parts.extend(self.items(plan));
        if self.inputs.layout.preset.is_plain() {
            parts.extend(parts.last().map(|last| self.plain_end(plan, last.layer)));
        }
        parts
    }

    fn system(&self, plan: &Plan<'_>) -> Vec<Part> {
        let files = &self.inputs.catalog.system;
        let preset = self.inputs.layout.preset;
        let file =
            |file: &Option<WorkspaceFile>| file.as_ref().map(|file| self.file(Layer::System, file));
        let project = files.project.as_ref().map(|file| self.project_file(file));
        if preset.is_plain() {
            let agents = [file(&files.agents), project].into_iter().flatten();
            return agents.chain(self.client_system()).collect();
        }
        let or_default = |found: Option<Part>, text: &Text, name: &str| {
            let reason = || PartReason::DefaultForMissing(name.into());
            let default = || self.part(Layer::System, text, reason());
            found.or_else(|| preset.has_defaults().then(default))
        };
        let asks_for_calls = self.inputs.mode.chosen.is_minimal() && !plan.tools.is_empty();
        let how_to = || self.part(Layer::System, &HOW_TO_CALL, PartReason::Generated);
        let parts = [
            or_default(file(&files.soul), &DEFAULT_SOUL, "SOUL.md"),
            file(&files.identity),
            or_default(file(&files.agents), &DEFAULT_AGENTS, "AGENTS.md"),
            project,
            file(&files.user),
            asks_for_calls.then(how_to),
        ];
        parts.into_iter().flatten().chain(self.client_system()).collect()
    }

    /// The client's own system texts: behind ours, since they hold for its turns alone.
    fn client_system(&self) -> impl Iterator<Item = Part> {
        self.inputs.client_system.iter().map(|text| Part {
            source: ContentSource::Client,
            ..self.part(Layer::System, text, PartReason::FromClient)
        })
    }

    fn file(&self, layer: Layer, file: &WorkspaceFile) -> Part {
        let part = self.part(layer, &file.text, PartReason::WorkspaceFile);
        Part { source: file.source.clone(), ..part }
    }

    fn project_file(&self, file: &WorkspaceFile) -> Part {
        Part { reason: PartReason::ProjectFile, ..self.file(Layer::System, file) }
    }

    fn bootstrap(&self, plan: &Plan<'_>) -> Option<Part> {
        let preset = self.inputs.layout.preset;
        let text = || match preset.has_clock() {
            true => self.describe_moment(plan),
            false => describe(&self.inputs.bootstrap),
        };
        let shown = preset.has_bootstrap();
        shown.then(|| self.part(Layer::Bootstrap, &text().into(), PartReason::Generated))
    }

    /// The bootstrap layer of preset `layered`: with the number of tools, and with the date and
    /// time of the message, since no message has a stamp there. What changes stands last.
    fn describe_moment(&self, plan: &Plan<'_>) -> String {
        let nowhere: Arc<str> = Arc::default();
        let place = describe(&Bootstrap { day: nowhere, ..self.inputs.bootstrap.clone() });
        let stamp = self.inputs.message.stamp.as_ref();
        let time = stamp.map_or_else(String::new, |stamp| {
            format!("\nCurrent date and time: {}", stamp.minute())
        });
        format!("{place}\nAvailable tools: {}{time}", plan.tools.len())
    }

    fn memory(&self, plan: &Plan<'_>) -> Vec<Part> {
        let snapshot = plan.memories.iter().map(|planned| self.remembered(planned));
        let picks = self.picks_in_layer(plan, ItemKind::Memory).map(|pick| Part {
            join: PartJoin::Line,
            lead: BULLET.clone(),
            role: ChatRole::System,
            ..self.pick(pick, Layer::Memory, PartReason::Found)
        });
        let mut entries = snapshot.chain(picks).peekable();
        let heading = || self.part(Layer::Memory, &MEMORIES, PartReason::Heading);
        let heading = entries.peek().map(|_| heading());
        heading.into_iter().chain(entries).collect()
    }

    fn remembered(&self, PlannedMemory { memory, pinned }: &PlannedMemory<'_>) -> Part {
        let scores = pinned.as_ref().and_then(|pinned| pinned.scores);
        let include = pinned.as_ref().map_or(IncludeMode::Always, |pinned| pinned.why.include());
        let item = ItemUse { id: memory.id(), include, priority: None, scores };
        let reason =
            pinned.as_ref().map_or(PartReason::Snapshot, |pinned| PartReason::Pinned(pinned.why));
        Part {
            join: PartJoin::Line,
            lead: memory.lead.clone(),
            source: memory.source.clone(),
            item: Some(item),
            ..self.part(Layer::Memory, &memory.shown(), reason)
        }
    }

    /// Picks of a kind, where picks stand in the layers of their kinds.
    fn picks_in_layer<'p>(
        &self,
        plan: &'p Plan<'_>,
        kind: ItemKind,
    ) -> impl Iterator<Item = &'p PlannedPick> {
        let in_layer = self.inputs.layout.picks == PickPlacement::InLayer
            && !self.inputs.layout.preset.attaches_items();
        plan.picks.iter().filter(move |pick| in_layer && pick.item.id.kind == kind)
    }

    fn skills(&self, plan: &Plan<'_>) -> Vec<Part> {
        if plan.skills.is_empty() {
            return Vec::new();
        }
        let picked = |skill: &PlannedSkill<'_>| {
            let mut picks = self.picks_in_layer(plan, ItemKind::Skill);
            picks.find(|pick| pick.item.id.name == skill.skill.name)
        };
        let (mut full, mut listed) = (Vec::new(), Vec::new());
        for skill in &plan.skills {
            match (skill.form, picked(skill)) {
                (SkillForm::Full, _) => full.push(self.skill_in_full(skill)),
                (SkillForm::Listed, Some(pick)) => full.push(Part {
                    item: Some(pick.item.clone()),
                    reason: PartReason::Found,
                    ..self.skill_in_full(skill)
                }),
                (SkillForm::Listed, None) => listed.push(self.skill_entry(skill)),
            }
        }
        let heading = || self.part(Layer::Skills, &SKILLS, PartReason::Heading);
        let heading = self.has_layer_headings().then(heading);
        let mut parts: Vec<Part> = heading.into_iter().chain(self.skills_intro(&full)).collect();
        parts.extend(full);
        let list = self.skill_list(listed, &parts, plan);
        parts.extend(list);
        parts
    }

    fn skills_intro(&self, full: &[Part]) -> Option<Part> {
        let minimal = self.inputs.mode.chosen.is_minimal();
        let is_off = self.inputs.catalog.is_off(&READ_SKILL.id);
        let intro = match self.inputs.layout.skills {
            SkillRender::ReadOnDemand if !minimal && !is_off => &ON_DEMAND_INTRO,
            _ if !full.is_empty() => &FULL_INTRO,
            _ => return None,
        };
        Some(self.part(Layer::Skills, intro, PartReason::Heading))
    }

    /// The list of skills, under a heading that fits what stands before it.
    fn skill_list(&self, mut entries: Vec<Part>, before: &[Part], plan: &Plan<'_>) -> Vec<Part> {
        let Some(first) = entries.first_mut() else { return entries };
        let offers = |id: &ItemId| {
            self.inputs.layout.skills == SkillRender::Full
                && plan.tools.iter().any(|tool| tool.spec.id == *id)
        };
        let heading: Option<&Text> = match before {
            _ if offers(&READ_SKILL.id) => Some(&READABLE_HEADING),
            _ if offers(&READ_ITEM.id) => Some(&READABLE_AS_ITEM_HEADING),
            [] => Some(&SKILLS),
            [_] if self.has_layer_headings() => None,
            _ => {
                first.join = PartJoin::Paragraph;
                Some(&LIST_HEADING)
            }
        };
        let heading = heading.map(|text| self.part(Layer::Skills, text, PartReason::Heading));
        heading.into_iter().chain(entries).collect()
    }

    fn skill_in_full(&self, planned: &PlannedSkill<'_>) -> Part {
        let skill = planned.skill;
        Part { lead: skill.heading.clone(), ..self.skill_part(planned, &skill.body) }
    }

    fn skill_entry(&self, planned: &PlannedSkill<'_>) -> Part {
        Part { join: PartJoin::Line, ..self.skill_part(planned, &planned.skill.entry) }
    }

    fn skill_part(&self, planned: &PlannedSkill<'_>, text: &Text) -> Part {
        let PlannedSkill { skill, include, reason, .. } = planned;
        let item = ItemUse { id: skill_id(skill), include: *include, priority: None, scores: None };
        let part = self.part(Layer::Skills, text, reason.clone());
        Part { source: skill.source.clone(), item: Some(item), ..part }
    }

    fn tools(&self, plan: &Plan<'_>) -> Vec<Part> {
        let preset = self.inputs.layout.preset;
        let file = self.inputs.catalog.tools_doc.as_ref();
        let file = file.filter(|_| !preset.is_plain() && !self.inputs.mode.chosen.is_minimal());
        let mut parts = Vec::from_iter(file.map(|file| self.file(Layer::Tools, file)));
        let as_text = self.inputs.layout.tool_calls == ToolCalls::Text;
        if as_text || (parts.is_empty() && self.has_layer_headings()) {
            let docs = plan.tools.iter().map(|tool| Part {
                item: Some(tool.item.clone()),
                source: tool.spec.source.clone(),
                ..self.part(Layer::Tools, &tool_doc(tool), tool.reason.clone())
            });
            parts.extend(docs);
        }
        if as_text && !plan.tools.is_empty() {
            parts.push(self.part(Layer::Tools, &CALL_AS_TEXT, PartReason::Generated));
        }
        if let Some(first) = parts.first_mut().filter(|_| self.has_layer_headings()) {
            first.join = PartJoin::Line;
            parts.insert(0, self.part(Layer::Tools, &TOOLS, PartReason::Heading));
        }
        parts
    }

    /// Rules, then references, by priority and name; with `in_layer` also those
    /// that search brought.
    fn items(&self, plan: &Plan<'_>) -> Vec<Part> {
        if self.inputs.layout.preset.attaches_items() {
            return Vec::new();
        }
        let session = plan.items.iter().map(|item| self.session_item(item, Layer::Items));
        let kinds = [ItemKind::Rule, ItemKind::Reference];
        let picks = kinds.into_iter().flat_map(|kind| self.picks_in_layer(plan, kind));
        let picks = picks.map(|pick| Part {
            role: ChatRole::System,
            lead: super::item_lead(pick.item.id.kind, &pick.item.id.name),
            ..self.pick(pick, Layer::Items, PartReason::Found)
        });
        let mut parts: Vec<Part> = session.chain(picks).collect();
        parts.sort_by_key(item_order);
        parts
    }

    fn has_layer_headings(&self) -> bool {
        self.inputs.layout.system_messages == SystemMessages::PerLayer
    }

    /// Preset `plain` ends as it always has: an empty line behind AGENTS.md or
    /// the last body, a line break behind the last entry of a list.
    fn plain_end(&self, plan: &Plan<'_>, layer: Layer) -> Part {
        let ends_in_list = plan.skills.iter().any(|skill| skill.form == SkillForm::Listed);
        let join = if ends_in_list { PartJoin::Line } else { PartJoin::Paragraph };
        Part { join, ..self.part(layer, &EMPTY, PartReason::Heading) }
    }
}

/// Rules, then references, by priority and name.
pub(super) fn item_order(part: &Part) -> Option<(ItemKind, Priority, Arc<str>)> {
    let item = part.item.as_ref()?;
    Some((item.id.kind, item.priority.unwrap_or_default(), item.id.name.clone()))
}

/// The bootstrap layer's text.
fn describe(bootstrap: &Bootstrap) -> String {
    let Bootstrap { agent, version, workspace, system, day, surface } = bootstrap;
    let line = |label: &str, value: &str| match value {
        "" => String::new(),
        value => format!("\n{label}: {value}"),
    };
    let agent = if agent.is_empty() { "main" } else { agent };
    let version = if version.is_empty() { String::new() } else { format!(" {version}") };
    [
        format!("Agent: {agent}, on Recto{version}"),
        line("Workspace", workspace),
        line("Operating system", system),
        line("Session began", day),
        line("Surface", surface),
    ]
    .concat()
}
