//! All values of a workspace at one moment, merged: one item for each name,
//! overrides applied, problems gathered. Pure: what it merges was read before.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use recto_context::{
    Catalog, CatalogDocument, ContentSource, FileNotice, IncludeMode, ItemId, ItemKind, Skill,
    ToolSpec,
};

use crate::document::ParsedDocument;
use crate::include::{IncludeSource, LongSkills, choose_include};
use crate::options::WorkspaceOptions;
use crate::problem::WorkspaceProblem;
use crate::read::{ParsedFile, ParsedValue};
use crate::skill::{ParsedSkill, folder_name};
use crate::source_files::FileRole;
use crate::state::{FileSlot, SlotContent};
use crate::sub_agent::SubAgent;

/// What an agent has, at one moment.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSnapshot {
    /// The souls, skills, rules and references that can be used.
    pub catalog: Catalog,
    /// What is wrong with the files, in the order in which they are read.
    /// Those that left a file out are notices of the catalog too.
    pub problems: Vec<WorkspaceProblem>,
    /// Items that are fine but were left out for a reason. Those that no other
    /// file overwrites are notices of the catalog too.
    pub skipped: Vec<SkippedItem>,
    /// What says when each rule, reference and skill is included.
    pub include_sources: BTreeMap<ItemId, IncludeSource>,
    /// Skills that are not always there because they are too long for it.
    pub long_skills: Option<LongSkills>,
    /// The sub-agents, those that can't be used included, in order of id.
    pub sub_agents: Vec<SubAgent>,
}

/// An item that is not in the catalog, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedItem {
    /// The item that was left out.
    pub item: ItemId,
    /// The file that declares it.
    pub path: Arc<Path>,
    /// Why it is not there.
    pub reason: SkipReason,
}

/// Why an item was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its name is among the disabled ones.
    Disabled,
    /// Another file has an item of the same name, and wins.
    Overwritten {
        /// The file that won.
        by: Arc<Path>,
    },
    /// It requires programs that are not on the search path.
    MissingPrograms(Vec<String>),
}

impl SkipReason {
    /// What the record says. Nothing of an item that was overwritten, because
    /// the catalog has one of its name.
    fn notice(&self) -> Option<String> {
        match self {
            SkipReason::Disabled => Some("left out: disabled in the config".to_owned()),
            SkipReason::MissingPrograms(programs) => {
                Some(format!("left out: these programs are missing: {}", programs.join(", ")))
            }
            SkipReason::Overwritten { .. } => None,
        }
    }
}

impl WorkspaceSnapshot {
    /// Whether two skills have one name.
    pub fn has_rival_skills(&self) -> bool {
        let is_rival = |skipped: &SkippedItem| {
            skipped.item.kind == ItemKind::Skill
                && matches!(skipped.reason, SkipReason::Overwritten { .. })
        };
        self.skipped.iter().any(is_rival)
    }

    /// Merges what the slots hold, in their order.
    pub(crate) fn build<'a>(
        options: &WorkspaceOptions,
        slots: &[FileSlot],
        folder_problems: impl Iterator<Item = &'a WorkspaceProblem>,
    ) -> Self {
        let mut builder = SnapshotBuilder::default();
        for problem in folder_problems {
            builder.report(problem.clone());
        }
        for slot in slots {
            builder.add(slot, options);
        }
        builder.finish(options)
    }
}

/// A snapshot in the making.
#[derive(Default)]
struct SnapshotBuilder {
    snapshot: WorkspaceSnapshot,
    rules: BTreeMap<Arc<str>, CatalogDocument>,
    references: BTreeMap<Arc<str>, CatalogDocument>,
    /// Where the skill of the last SKILL.md stands, for the tools that follow it.
    open_skill: Option<usize>,
    /// The sub-agents by their folders.
    sub_agents: BTreeMap<Arc<Path>, SubAgent>,
}

impl SnapshotBuilder {
    fn add(&mut self, slot: &FileSlot, options: &WorkspaceOptions) {
        let path = &slot.file.path;
        match (slot.file.role, slot.content()) {
            (role, content) if role.is_of_sub_agent() => self.add_to_sub_agent(path, role, content),
            (FileRole::Skill, content) => self.add_skill(path, content, options),
            // The tools of a skill that is left out are left out with it.
            (FileRole::SkillTools, _) if self.open_skill.is_none() => {}
            (_, SlotContent::Missing) => {}
            (role, SlotContent::Unusable(problem)) => {
                self.report(WorkspaceProblem {
                    is_of_system: role.is_of_system(),
                    ..problem.clone()
                });
            }
            (role, SlotContent::Parsed(parsed)) => {
                self.report_all(parsed);
                self.add_value(role, &parsed.value, options);
            }
        }
    }

    fn add_value(&mut self, role: FileRole, value: &ParsedValue, options: &WorkspaceOptions) {
        let Catalog { system, tools_doc, .. } = &mut self.snapshot.catalog;
        match (role, value) {
            (FileRole::Soul, ParsedValue::Text(file)) => system.soul.clone_from(file),
            (FileRole::Identity, ParsedValue::Text(file)) => system.identity.clone_from(file),
            (FileRole::Agents, ParsedValue::Text(file)) => system.agents.clone_from(file),
            (FileRole::ProjectAgents, ParsedValue::Text(file)) => system.project.clone_from(file),
            (FileRole::User, ParsedValue::Text(file)) => system.user.clone_from(file),
            (_, ParsedValue::Text(file)) => tools_doc.clone_from(file),
            (_, ParsedValue::Tools(tools)) => self.add_tools(tools, options),
            (FileRole::Rule, ParsedValue::Document(Some(rule))) => {
                self.add_document(ItemKind::Rule, rule, options);
            }
            (_, ParsedValue::Document(Some(reference))) => {
                self.add_document(ItemKind::Reference, reference, options);
            }
            // Skills are added with their problems, in `add_skill`, and so are sub-agents.
            (
                _,
                ParsedValue::Document(None)
                | ParsedValue::Skill(_)
                | ParsedValue::SubAgentConfig(_),
            ) => {}
        }
    }

    /// Adds a file to the sub-agent whose folder it stands in. A memory alone makes none: it may
    /// be that of the agent itself.
    fn add_to_sub_agent(&mut self, path: &Arc<Path>, role: FileRole, content: &SlotContent) {
        let folder = path.parent().unwrap_or(path);
        let is_known = self.sub_agents.contains_key(folder);
        if matches!(content, SlotContent::Missing) {
            return;
        }
        if role == FileRole::SubAgentMemory && !is_known {
            return;
        }
        let agent = self.sub_agents.entry(folder.into()).or_insert_with(|| SubAgent::new(folder));
        match content {
            SlotContent::Missing => {}
            SlotContent::Unusable(problem) => {
                agent.fault.get_or_insert_with(|| format!("a file of it {}", problem.what));
                self.report(problem.clone());
            }
            SlotContent::Parsed(parsed) => {
                match (role, &parsed.value) {
                    (FileRole::SubAgentSoul, ParsedValue::Text(text)) => {
                        agent.soul.clone_from(text);
                    }
                    (FileRole::SubAgentMood, ParsedValue::Text(text)) => {
                        agent.mood.clone_from(text);
                    }
                    (FileRole::SubAgentMemory, ParsedValue::Text(text)) => {
                        agent.memory.clone_from(text);
                    }
                    (_, ParsedValue::Text(text)) => agent.skill.clone_from(text),
                    (_, ParsedValue::SubAgentConfig(Some(config))) => {
                        agent.config.clone_from(config);
                    }
                    _ => {
                        let fault = || "its agent.toml can't be used".to_owned();
                        agent.fault.get_or_insert_with(fault);
                    }
                }
                self.report_all(parsed);
            }
        }
    }

    fn add_skill(&mut self, path: &Arc<Path>, content: &SlotContent, options: &WorkspaceOptions) {
        self.open_skill = None;
        if let Some(name) = disabled_name(path, content, options) {
            return self.skip(ItemId::new(ItemKind::Skill, name), path, SkipReason::Disabled);
        }
        match content {
            SlotContent::Missing => {
                let folder: Arc<Path> = path.parent().unwrap_or(path).into();
                self.report(WorkspaceProblem::warning(&folder, "has no SKILL.md").left_out());
            }
            SlotContent::Unusable(problem) => self.report(problem.clone()),
            SlotContent::Parsed(parsed) => {
                self.report_all(parsed);
                match &parsed.value {
                    ParsedValue::Skill(ParsedSkill::Skill { skill, declared }) => {
                        self.set_skill(skill, *declared, options);
                    }
                    ParsedValue::Skill(ParsedSkill::Lacks { name, programs }) => {
                        let item = ItemId::new(ItemKind::Skill, name.as_str());
                        self.skip(item, path, SkipReason::MissingPrograms(programs.clone()));
                    }
                    _ => {}
                }
            }
        }
    }

    /// A skill takes the place of one of its name in an earlier folder of skills. Beside another it
    /// does only if the name is known to be its own: who can put a folder there must not take names.
    fn set_skill(
        &mut self,
        skill: &Skill,
        declared: Option<IncludeMode>,
        options: &WorkspaceOptions,
    ) {
        let item = ItemId::new(ItemKind::Skill, skill.name.clone());
        let known = self.snapshot.catalog.skills.iter().find(|other| other.name == skill.name);
        if let Some(known) = known.filter(|known| are_beside(known, skill))
            && !options.owns_name(skill)
        {
            let source = known.source.clone();
            return self.overwrite(item, &skill.source, &source);
        }
        let mut skill = skill.clone();
        skill.include = self.choose_include(item, declared, skill.include, options);
        let skills = &mut self.snapshot.catalog.skills;
        match skills.iter().position(|other| other.name == skill.name) {
            Some(at) => {
                self.open_skill = Some(at);
                let new = skill.source.clone();
                let old = std::mem::replace(&mut skills[at], skill);
                let item = ItemId::new(ItemKind::Skill, old.name);
                self.overwrite(item, &old.source, &new);
            }
            None => {
                self.open_skill = Some(skills.len());
                skills.push(skill);
            }
        }
    }

    fn add_tools(&mut self, tools: &[ToolSpec], options: &WorkspaceOptions) {
        let skills = &mut self.snapshot.catalog.skills;
        let Some(skill) = self.open_skill.and_then(|at| skills.get_mut(at)) else {
            return;
        };
        skill.tools = tools.iter().map(|tool| owned_tool(tool, &skill.name, options)).collect();
    }

    fn add_document(&mut self, kind: ItemKind, item: &ParsedDocument, options: &WorkspaceOptions) {
        let mut document = item.document.clone();
        let id = ItemId::new(kind, document.name.clone());
        document.include = self.choose_include(id, item.declared, document.include, options);
        let settings = options.overrides(kind, &document.name);
        document.priority = settings.priority.unwrap_or(document.priority);
        let (name, source) = (document.name.clone(), document.source.clone());
        let documents = if kind == ItemKind::Rule { &mut self.rules } else { &mut self.references };
        if let Some(old) = documents.insert(name, document) {
            self.overwrite(ItemId::new(kind, old.name), &old.source, &source);
        }
    }

    /// The include mode of an item, with a note of what says it.
    fn choose_include(
        &mut self,
        item: ItemId,
        declared: Option<IncludeMode>,
        usual: IncludeMode,
        options: &WorkspaceOptions,
    ) -> IncludeMode {
        let (source, include) = choose_include(&item, declared, usual, options);
        self.snapshot.include_sources.insert(item, source);
        include
    }

    /// Notes that `new` took the place of `old`. Between search folders that
    /// is what they are for; within one folder it is an oversight.
    fn overwrite(&mut self, item: ItemId, old: &ContentSource, new: &ContentSource) {
        let (ContentSource::File(old), ContentSource::File(new)) = (old, new) else {
            return;
        };
        if searched_folder(item.kind, old) == searched_folder(item.kind, new) {
            let what = format!("{} has the same name, `{}`, and wins", new.display(), item.name);
            self.report(WorkspaceProblem::warning(old, what).left_out());
        }
        self.skip(item, old, SkipReason::Overwritten { by: new.clone() });
    }

    /// Leaves an item out, on the record: a turn without it should say why.
    fn skip(&mut self, item: ItemId, path: &Arc<Path>, reason: SkipReason) {
        let source = ContentSource::File(path.clone());
        let notice = reason.notice().map(|why| FileNotice::new(source, why));
        self.snapshot.catalog.notices.extend(notice);
        self.snapshot.skipped.push(SkippedItem { item, path: path.clone(), reason });
    }

    fn report_all(&mut self, parsed: &ParsedFile) {
        parsed.problems.iter().cloned().for_each(|problem| self.report(problem));
    }

    fn report(&mut self, problem: WorkspaceProblem) {
        self.snapshot.catalog.notices.extend(problem.notice());
        self.snapshot.problems.push(problem);
    }

    fn finish(mut self, options: &WorkspaceOptions) -> WorkspaceSnapshot {
        for mut agent in std::mem::take(&mut self.sub_agents).into_values() {
            agent.check().into_iter().for_each(|problem| self.report(problem));
            self.snapshot.sub_agents.push(agent);
        }
        let WorkspaceSnapshot { catalog, include_sources, long_skills, .. } = &mut self.snapshot;
        catalog.rules = self.rules.into_values().collect();
        catalog.references = self.references.into_values().collect();
        if let Some(limit) = options.always_tokens {
            *long_skills = LongSkills::hold_back(&mut catalog.skills, include_sources, limit);
            catalog.notices.extend(long_skills.map(|long| long.notice()));
        }
        self.snapshot
    }
}

/// Whether two skills were found in the same folder of skills.
fn are_beside(one: &Skill, other: &Skill) -> bool {
    match (&one.source, &other.source) {
        (ContentSource::File(one), ContentSource::File(other)) => {
            searched_folder(ItemKind::Skill, one) == searched_folder(ItemKind::Skill, other)
        }
        _ => false,
    }
}

/// The name of a skill that is there and disabled. One that cannot be parsed
/// goes by the name of its folder, so that a disabled skill is quiet.
fn disabled_name(path: &Path, content: &SlotContent, options: &WorkspaceOptions) -> Option<String> {
    let name = match content {
        SlotContent::Missing => return None,
        SlotContent::Parsed(ParsedFile {
            value: ParsedValue::Skill(ParsedSkill::Skill { skill, .. }),
            ..
        }) => skill.name.to_string(),
        SlotContent::Parsed(ParsedFile {
            value: ParsedValue::Skill(ParsedSkill::Lacks { name, .. }),
            ..
        }) => name.clone(),
        SlotContent::Parsed(_) | SlotContent::Unusable(_) => folder_name(path),
    };
    options.disabled_skills.contains(&name).then_some(name)
}

/// The tool as one of this skill's, with the settings made for it.
fn owned_tool(tool: &ToolSpec, skill: &Arc<str>, options: &WorkspaceOptions) -> ToolSpec {
    let mut tool = tool.clone();
    let full_name = format!("{skill}.{}", tool.id.name);
    tool.include = options
        .overrides(ItemKind::Tool, &full_name)
        .include
        .or(options.overrides(ItemKind::Tool, &tool.id.name).include)
        .or(options.kind_includes.get(&ItemKind::Tool).copied())
        .unwrap_or(tool.include);
    tool.id.server = Some(skill.clone());
    tool
}

/// The folder that was searched when `file` was found.
fn searched_folder(kind: ItemKind, file: &Path) -> Option<&Path> {
    let entry = if kind == ItemKind::Skill { file.parent()? } else { file };
    entry.parent()
}
