//! All values of a workspace at one moment, merged: one item for each name,
//! overrides applied, problems gathered. Pure: what it merges was read before.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use recto_context::{Catalog, Document, ItemId, ItemKind, Notice, Skill, Source, ToolSpec};

use crate::options::Options;
use crate::place::Role;
use crate::problem::Problem;
use crate::read::{Parsed, Value};
use crate::skill::{self, folder_name};
use crate::state::{Content, Slot};

/// What an agent has, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The souls, skills, rules and references that can be used.
    pub catalog: Catalog,
    /// What is wrong with the files, in the order in which they are read.
    /// Those that left a file out are notices of the catalog too.
    pub problems: Vec<Problem>,
    /// Items that are fine but were left out for a reason. Those that no other
    /// file overwrites are notices of the catalog too.
    pub skipped: Vec<Skipped>,
}

/// An item that is not in the catalog, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
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

impl Snapshot {
    /// Merges what the slots hold, in their order.
    pub(crate) fn build<'a>(
        options: &Options,
        slots: &[Slot],
        folder_problems: impl Iterator<Item = &'a Problem>,
    ) -> Self {
        let mut gathering = Gathering::default();
        for problem in folder_problems {
            gathering.report(problem.clone());
        }
        for slot in slots {
            gathering.add(slot, options);
        }
        gathering.finish()
    }
}

/// A snapshot in the making.
#[derive(Default)]
struct Gathering {
    snapshot: Snapshot,
    rules: BTreeMap<Arc<str>, Document>,
    references: BTreeMap<Arc<str>, Document>,
    /// Where the skill of the last SKILL.md stands, for the tools that follow it.
    open_skill: Option<usize>,
}

impl Gathering {
    fn add(&mut self, slot: &Slot, options: &Options) {
        let path = &slot.place.path;
        match (slot.place.role, slot.content()) {
            (Role::Skill, content) => self.add_skill(path, content, options),
            // The tools of a skill that is left out are left out with it.
            (Role::SkillTools, _) if self.open_skill.is_none() => {}
            (_, Content::Missing) => {}
            (_, Content::Unusable(problem)) => self.report(problem.clone()),
            (role, Content::Parsed(parsed)) => {
                self.report_all(parsed);
                self.add_value(role, &parsed.value, options);
            }
        }
    }

    fn add_value(&mut self, role: Role, value: &Value, options: &Options) {
        let catalog = &mut self.snapshot.catalog;
        match (role, value) {
            (Role::Soul, Value::Text(file)) => catalog.system.soul.clone_from(file),
            (Role::Identity, Value::Text(file)) => catalog.system.identity.clone_from(file),
            (Role::Agents, Value::Text(file)) => catalog.system.agents.clone_from(file),
            (Role::User, Value::Text(file)) => catalog.system.user.clone_from(file),
            (_, Value::Text(file)) => catalog.tools_doc.clone_from(file),
            (_, Value::Tools(tools)) => self.add_tools(tools, options),
            (Role::Rule, Value::Document(Some(rule))) => {
                self.add_document(ItemKind::Rule, rule, options);
            }
            (_, Value::Document(Some(reference))) => {
                self.add_document(ItemKind::Reference, reference, options);
            }
            // Skills are added with their problems, in `add_skill`.
            (_, Value::Document(None) | Value::Skill(_)) => {}
        }
    }

    fn add_skill(&mut self, path: &Arc<Path>, content: &Content, options: &Options) {
        self.open_skill = None;
        if let Some(name) = disabled_name(path, content, options) {
            return self.skip(ItemId::new(ItemKind::Skill, name), path, SkipReason::Disabled);
        }
        match content {
            Content::Missing => {
                let folder: Arc<Path> = path.parent().unwrap_or(path).into();
                self.report(Problem::warning(&folder, "has no SKILL.md").left_out());
            }
            Content::Unusable(problem) => self.report(problem.clone()),
            Content::Parsed(parsed) => {
                self.report_all(parsed);
                match &parsed.value {
                    Value::Skill(skill::Found::Skill(skill)) => self.place_skill(skill, options),
                    Value::Skill(skill::Found::Lacks { name, programs }) => {
                        let item = ItemId::new(ItemKind::Skill, name.as_str());
                        self.skip(item, path, SkipReason::MissingPrograms(programs.clone()));
                    }
                    _ => {}
                }
            }
        }
    }

    /// A skill takes the place of an earlier one of its name.
    fn place_skill(&mut self, skill: &Skill, options: &Options) {
        let mut skill = skill.clone();
        let settings = options.overrides(ItemKind::Skill, &skill.name);
        skill.include = settings.include.unwrap_or(skill.include);
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

    fn add_tools(&mut self, tools: &[ToolSpec], options: &Options) {
        let skills = &mut self.snapshot.catalog.skills;
        let Some(skill) = self.open_skill.and_then(|at| skills.get_mut(at)) else {
            return;
        };
        skill.tools = tools.iter().map(|tool| owned_tool(tool, &skill.name, options)).collect();
    }

    fn add_document(&mut self, kind: ItemKind, document: &Document, options: &Options) {
        let mut document = document.clone();
        let settings = options.overrides(kind, &document.name);
        document.include = settings.include.unwrap_or(document.include);
        document.priority = settings.priority.unwrap_or(document.priority);
        let (name, source) = (document.name.clone(), document.source.clone());
        let documents = if kind == ItemKind::Rule { &mut self.rules } else { &mut self.references };
        if let Some(old) = documents.insert(name, document) {
            self.overwrite(ItemId::new(kind, old.name), &old.source, &source);
        }
    }

    /// Notes that `new` took the place of `old`. Between search folders that
    /// is what they are for; within one folder it is an oversight.
    fn overwrite(&mut self, item: ItemId, old: &Source, new: &Source) {
        let (Source::File(old), Source::File(new)) = (old, new) else {
            return;
        };
        if shelf_of(item.kind, old) == shelf_of(item.kind, new) {
            let what = format!("{} has the same name, `{}`, and wins", new.display(), item.name);
            self.report(Problem::warning(old, what).left_out());
        }
        self.skip(item, old, SkipReason::Overwritten { by: new.clone() });
    }

    /// Leaves an item out, on the record: a turn without it should say why.
    fn skip(&mut self, item: ItemId, path: &Arc<Path>, reason: SkipReason) {
        let source = Source::File(path.clone());
        let notice = reason.notice().map(|why| Notice { source, problem: why.into() });
        self.snapshot.catalog.notices.extend(notice);
        self.snapshot.skipped.push(Skipped { item, path: path.clone(), reason });
    }

    fn report_all(&mut self, parsed: &Parsed) {
        parsed.problems.iter().cloned().for_each(|problem| self.report(problem));
    }

    fn report(&mut self, problem: Problem) {
        self.snapshot.catalog.notices.extend(problem.notice());
        self.snapshot.problems.push(problem);
    }

    fn finish(mut self) -> Snapshot {
        self.snapshot.catalog.rules = self.rules.into_values().collect();
        self.snapshot.catalog.references = self.references.into_values().collect();
        self.snapshot
    }
}

/// The name of a skill that is there and disabled. One that cannot be parsed
/// goes by the name of its folder, so that a disabled skill is quiet.
fn disabled_name(path: &Path, content: &Content, options: &Options) -> Option<String> {
    let name = match content {
        Content::Missing => return None,
        Content::Parsed(Parsed { value: Value::Skill(skill::Found::Skill(skill)), .. }) => {
            skill.name.to_string()
        }
        Content::Parsed(Parsed {
            value: Value::Skill(skill::Found::Lacks { name, .. }), ..
        }) => name.clone(),
        Content::Parsed(_) | Content::Unusable(_) => folder_name(path),
    };
    options.disabled_skills.contains(&name).then_some(name)
}

/// The tool as one of this skill's, with the settings made for it.
fn owned_tool(tool: &ToolSpec, skill: &Arc<str>, options: &Options) -> ToolSpec {
    let mut tool = tool.clone();
    let full_name = format!("{skill}.{}", tool.id.name);
    tool.include = options
        .overrides(ItemKind::Tool, &full_name)
        .include
        .or(options.overrides(ItemKind::Tool, &tool.id.name).include)
        .unwrap_or(tool.include);
    tool.id.server = Some(skill.clone());
    tool
}

/// The folder that was searched when `file` was found.
fn shelf_of(kind: ItemKind, file: &Path) -> Option<&Path> {
    let entry = if kind == ItemKind::Skill { file.parent()? } else { file };
    entry.parent()
}
