//! Guards the files that no tool may write: those that decide what the agent is and may do.
//!
//! An agent must not be able to promote itself. So the config, the store, what
//! skills declare and run, and the settings of sub-agents are out of every
//! tool's reach; the files that say who the agent is and what it holds to need a
//! person's approval.
//!
//! Names are compared as the most forgiving file system would compare them,
//! because on such a system `Soul.MD` is SOUL.md. That also refuses a few names
//! which would be harmless here.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use recto_context::{Catalog, ContentSource};

use super::problem::{FileError, FileResult};
use super::walk::{WorkspaceRoot, display_path};
use crate::options::ProtectedPath;
use crate::sandbox::{WHAT_IT_IS, without_links};

/// Files at the top of the workspace that say who the agent is.
const WHO_IT_IS: [&str; 5] = ["soul.md", "agents.md", "identity.md", "user.md", "tools.md"];

/// Folders at the top of the workspace whose files join a session by themselves,
/// or are read because a skill says so.
const WHAT_IT_HOLDS_TO: [&str; 5] = ["rules", "references", SKILLS, MEMORY, AGENTS];

/// What a skill is; written in lower case, as all names are compared.
const SKILL: &str = "skill.md";

/// What git does for whoever uses it there, which may be to run commands.
const GIT: &str = ".git";

/// What a skill's tools may run, and what a sub-agent may use.
const WHAT_IT_MAY: [&str; 2] = ["tools.json", "agent.toml"];

/// What a project brings for agents: rules, references and skills, which no agent gives itself.
const PROJECT: &str = ".recto";

/// Where a skill keeps what its tools run.
const SCRIPTS: &str = "scripts";

/// What is remembered, and of each memory who may see it: marks that widen that are a person's
/// alone. Models have tools of their own for it, which set none.
const MEMORY: &str = "memory";

/// Who sub-agents are, and what is remembered for all sessions of an agent.
const AGENTS: &str = "agents";

/// What is remembered is in these.
const PRIVATE: [&str; 2] = [MEMORY, AGENTS];

/// Where skills are kept, below the workspace or elsewhere.
const SKILLS: &str = "skills";

/// The reason why something may not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denial {
    Never,
    NeedsApproval,
}

/// Whether a tool may write what these names lead to from the workspace on.
/// None of them is a link.
pub(crate) fn check_write(
    root: &WorkspaceRoot,
    names: &[OsString],
    protected: &[ProtectedPath],
    catalog: &Catalog,
) -> FileResult<()> {
    let denial =
        by_name(root, names).or_else(|| by_path(root.real_path(), names, protected, catalog));
    let path = display_path(names);
    match denial {
        None => Ok(()),
        Some(Denial::Never) => Err(FileError::NeverWritable { path }),
        Some(Denial::NeedsApproval) => Err(FileError::NeedsApproval { path }),
    }
}

/// Whether no program may write what is at this absolute path without links. In
/// the workspace that is what the sandbox would not let it write anyway, and what
/// a file tool may not write unasked.
pub(crate) fn is_protected(
    root: &WorkspaceRoot,
    path: &Path,
    protected: &[ProtectedPath],
    catalog: &Catalog,
) -> bool {
    if let Ok(below) = path.strip_prefix(root.real_path()) {
        let names: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
        let is_own = names.first().is_some_and(|first| WHAT_IT_IS.contains(&&*fold(first)));
        if is_own || check_write(root, &names, protected, catalog).is_err() {
            return true;
        }
    }
    let target = fold_path(path);
    let guarded = protected_paths(root.real_path(), protected, catalog);
    guarded.iter().any(|it| is_covered(it, path, &target))
}

/// What the options protect, the files that the agent was made of, the folders of its skills, and
/// what links in the workspace's own folders lead to.
pub(crate) fn protected_paths(
    workspace: &Path,
    protected: &[ProtectedPath],
    catalog: &Catalog,
) -> Vec<ProtectedPath> {
    let files = files_of(catalog).map(|(path, _)| path);
    let own = files.chain(skill_folders(catalog).map(Path::to_path_buf));
    let own = own.chain(linked_places(workspace));
    protected.iter().cloned().chain(own.map(ProtectedPath::from)).collect()
}

fn skill_folders(catalog: &Catalog) -> impl Iterator<Item = &Path> {
    catalog.skills.iter().filter_map(|skill| path_of(&skill.source)?.parent())
}

/// The denial that the names alone call for. A folder that has the name of such a file counts
/// as well: it would stand in the file's way.
fn by_name(root: &WorkspaceRoot, names: &[OsString]) -> Option<Denial> {
    let folded: Vec<String> = names.iter().map(|name| fold(name)).collect();
    let has = |wanted: &str| folded.iter().any(|name| name == wanted);
    let in_scripts = (0..folded.len()).any(|at| is_scripts_dir(root, names, &folded, at));
    // A folder further down may be a project of its own.
    if in_scripts || has(PROJECT) || WHAT_IT_MAY.iter().any(|name| has(name)) {
        return Some(Denial::Never);
    }
    let at_top = folded.first().is_some_and(|first| {
        WHO_IT_IS.contains(&first.as_str()) || WHAT_IT_HOLDS_TO.contains(&first.as_str())
    });
    (at_top || has(SKILL) || has(GIT)).then_some(Denial::NeedsApproval)
}

/// Whether the name at this position is the `scripts` of a skill: of a folder
/// among the skills, or of any folder with a SKILL.md.
fn is_scripts_dir(root: &WorkspaceRoot, names: &[OsString], folded: &[String], at: usize) -> bool {
    if folded[at] != SCRIPTS {
        return false;
    }
    let among_skills = at >= 2 && folded[at - 2] == SKILLS;
    let above = root.folder(&names[..at]);
    among_skills || above.is_ok_and(|folder| folder.symlink_metadata("SKILL.md").is_ok())
}

/// The denial for what is protected by its path, wherever links lead from there: what
/// the options name, the files that the agent was in fact made of, and all else in
/// the folders of its skills, which a SKILL.md may send the model to.
fn by_path(
    workspace: &Path,
    names: &[OsString],
    protected: &[ProtectedPath],
    catalog: &Catalog,
) -> Option<Denial> {
    let path = workspace.join(names.iter().collect::<PathBuf>());
    let target = fold_path(&path);
    if protected.iter().any(|it| is_covered(it, &path, &target)) {
        return Some(Denial::Never);
    }
    let covered = |path: &Path| covers(&fold_path(path), &target);
    let mut files = files_of(catalog);
    if let Some((_, denial)) = files.find(|(path, _)| covered(&without_links(path))) {
        return Some(denial);
    }
    // One that holds the whole workspace says nothing about a file in it.
    let folders = skill_folders(catalog).map(without_links);
    let folders = folders.filter(|folder| !workspace.starts_with(folder));
    let hit = folders.chain(linked_places(workspace)).any(|folder| covered(&folder));
    hit.then_some(Denial::NeedsApproval)
}

/// Whether a protected path stands for this one, which is `target` as it is folded.
fn is_covered(protected: &ProtectedPath, path: &Path, target: &[String]) -> bool {
    let mut open = protected.open.iter();
    covers(&fold_path(&without_links(&protected.path)), target)
        && !open.any(|open| path.starts_with(without_links(open)))
}

/// How far down links are looked for in the workspace's own folders: as far as memories, rules and
/// what belongs to sub-agents lie.
const MAX_LINK_DEPTH: usize = 3;

/// The places that the workspace's own files and folders lie at where they, or entries of them, are
/// links: what is written there is read by the name of the link.
pub(crate) fn linked_places(workspace: &Path) -> Vec<PathBuf> {
    let is_own = |name: &str| {
        WHO_IT_IS.contains(&name) || WHAT_IT_HOLDS_TO.contains(&name) || name == PROJECT
    };
    links_of(workspace, is_own)
}

/// The places of what is remembered, which only the owner in private sees: the folders themselves,
/// and what links in them lead to.
pub(crate) fn private_places(workspace: &Path) -> Vec<PathBuf> {
    let is_private = |name: &str| PRIVATE.contains(&name);
    let mut places = links_of(workspace, is_private);
    let entries = fs::read_dir(workspace).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| is_private(&fold(&entry.file_name())));
    places.extend(folders.map(|entry| without_links(&entry.path())));
    places
}

/// Whether what is called this belongs to what is remembered.
pub(crate) fn is_private_name(name: &OsStr) -> bool {
    PRIVATE.contains(&&*fold(name))
}

/// What links lead to that are entries of the workspace of these names, or lie in such a one. A
/// place that holds the whole workspace says nothing about what is in it.
fn links_of(workspace: &Path, is_own: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut links = FoundLinks { workspace: without_links(workspace), places: Vec::new() };
    for entry in fs::read_dir(workspace).into_iter().flatten().flatten() {
        if is_own(&fold(&entry.file_name())) {
            links.find(&entry, MAX_LINK_DEPTH);
        }
    }
    links.places
}

/// What links lead to, as far as it was looked for.
struct FoundLinks {
    workspace: PathBuf,
    places: Vec<PathBuf>,
}

impl FoundLinks {
    /// Looks for links in an entry, and in what they lead to: a link may lie in a folder that is one.
    fn find(&mut self, entry: &DirEntry, depth: usize) {
        let Ok(kind) = entry.file_type() else { return };
        let mut folder = entry.path();
        if kind.is_symlink() {
            folder = without_links(&folder);
            if self.workspace.starts_with(&folder) {
                return;
            }
            self.places.push(folder.clone());
        }
        if depth > 0 && folder.is_dir() {
            let below = fs::read_dir(folder).into_iter().flatten().flatten();
            below.for_each(|entry| self.find(&entry, depth - 1));
        }
    }
}

/// Whether `target` is the guarded path, or below it, or a companion: SQLite
/// believes the journal that it finds beside a database, `recto.db-journal`.
fn covers(guarded: &[String], target: &[String]) -> bool {
    let Some((name, above)) = guarded.split_last() else { return false };
    let Some((next, _)) = target.strip_prefix(above).and_then(<[String]>::split_first) else {
        return false;
    };
    next.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The files that the agent was made of. They need not stand where they usually
/// do: a skill may come from any folder, and SOUL.md may be a link.
fn files_of(catalog: &Catalog) -> impl Iterator<Item = (PathBuf, Denial)> {
    let system = &catalog.system;
    let who = [&system.soul, &system.identity, &system.agents, &system.user];
    let files = who.into_iter().chain([&system.project, &catalog.tools_doc]);
    let files = files.flatten().filter_map(|file| path_of(&file.source));
    let skills = catalog.skills.iter().filter_map(|skill| path_of(&skill.source));
    let of_skills = skills.clone().flat_map(|path| {
        let beside = |name| (path.with_file_name(name), Denial::Never);
        [beside("tools.json"), beside(SCRIPTS)]
    });
    of_skills.chain(files.chain(skills).map(|path| (path.to_owned(), Denial::NeedsApproval)))
}

fn path_of(source: &ContentSource) -> Option<&Path> {
    match source {
        ContentSource::File(path) => Some(path),
        _ => None,
    }
}

fn fold_path(path: &Path) -> Vec<String> {
    path.components().map(|component| fold(component.as_os_str())).collect()
}

/// A name as the most forgiving file system reads it: without case, without
/// characters that HFS+ skips, without the dots and spaces at the end and the
/// name of a stream that Windows drops.
fn fold(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    let kept = name.chars().filter(|c| !is_skipped(*c));
    // Upper case first: some letters, such as `ſ`, have no other way to their kin.
    kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

fn is_skipped(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests;
