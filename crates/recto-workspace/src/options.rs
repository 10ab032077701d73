//! What a workspace is told by whoever opens it. Holds values only: no config
//! file, environment variable or default path is read here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use recto_context::{ContentHash, ContentSource, IncludeMode, ItemKind, Priority, Skill, Tokens};

/// Where an agent's files are and how they are read.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    /// The agent's folder: SOUL.md and the others, `skills/`, `rules/`, `references/`.
    pub workspace: PathBuf,
    /// The project that the agent works in: its AGENTS.md, and the `skills/`, `rules/` and
    /// `references/` in its `.recto/`, which overwrite those of the workspace.
    pub project: Option<PathBuf>,
    /// The skills shared by all agents; the workspace's own overwrite them.
    pub skills_directory: PathBuf,
    /// More folders of skills, searched last; later ones overwrite earlier ones.
    pub extra_skill_dirs: Vec<PathBuf>,
    /// The folders that the names of skills belong to, each as the hash of its path. Of two skills
    /// of a name that lie beside each other it is there; where neither is, the first has it.
    pub skill_owners: BTreeMap<String, ContentHash>,
    /// Names of skills to leave out.
    pub disabled_skills: BTreeSet<String>,
    /// Settings that win over what the items' own files say. A skill's tool is
    /// found as `skill.tool` or, for every skill that has one, as `tool`.
    pub overrides: BTreeMap<(ItemKind, String), Override>,
    /// The include modes of items of which neither their file nor an override says anything.
    pub kind_includes: BTreeMap<ItemKind, IncludeMode>,
    /// The most that the bodies of skills may cost together of whose include mode nothing is
    /// said; beyond it they come when they fit. Without it, they are always there.
    pub always_tokens: Option<Tokens>,
    /// When files are read again.
    pub reload: Reload,
    /// Where programs that skills require are searched, in the form of `PATH`.
    /// Without it, none is found.
    pub search_path: Option<OsString>,
}

impl WorkspaceOptions {
    /// The settings made for an item from outside, if any.
    pub(crate) fn overrides(&self, kind: ItemKind, name: &str) -> Override {
        self.overrides.get(&(kind, name.to_owned())).copied().unwrap_or_default()
    }

    /// Whether the name of a skill is known to belong to its folder.
    pub(crate) fn owns_name(&self, skill: &Skill) -> bool {
        let ContentSource::File(path) = &skill.source else { return false };
        let owner = self.skill_owners.get(&*skill.name);
        path.parent().zip(owner).is_some_and(|(folder, owner)| folder_hash(folder) == *owner)
    }
}

/// The hash by which the folder of a skill is known.
pub fn folder_hash(folder: &Path) -> ContentHash {
    ContentHash::of_bytes(folder.to_string_lossy().as_bytes())
}

/// Settings of one item that win over its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Override {
    /// When it is included.
    pub include: Option<IncludeMode>,
    /// Its place among rules or references.
    pub priority: Option<Priority>,
}

/// When files are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reload {
    /// At every call, those that changed.
    #[default]
    Turn,
    /// Never: the first call reads them once and for all.
    Startup,
}
