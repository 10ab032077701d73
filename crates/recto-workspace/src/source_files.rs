//! Where the files of an agent are and what each is for. Knows names and
//! paths; never touches the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::options::WorkspaceOptions;

/// A file that is read, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceFile {
    pub path: Arc<Path>,
    pub role: FileRole,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileRole {
    Soul,
    Identity,
    Agents,
    /// The AGENTS.md of the project.
    ProjectAgents,
    User,
    ToolsDoc,
    /// The SKILL.md of a skill.
    Skill,
    /// The tools.json of the skill before it.
    SkillTools,
    Rule,
    Reference,
    /// The agent.toml of a sub-agent, and behind it the texts that say who it is.
    SubAgentConfig,
    SubAgentSoul,
    SubAgentMood,
    SubAgentMemory,
    SubAgentSkill,
}

impl FileRole {
    /// Whether it is one of the files of a sub-agent.
    pub(crate) fn is_of_sub_agent(self) -> bool {
        self >= FileRole::SubAgentConfig
    }

    /// Whether it says who the agent is.
    pub(crate) fn is_of_system(self) -> bool {
        use FileRole::{Agents, Identity, ProjectAgents, Soul, User};
        matches!(self, Soul | Identity | Agents | ProjectAgents | User)
    }
}

/// Which kind of items a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderKind {
    Skills,
    Rules,
    References,
    SubAgents,
}

/// The files that have a fixed place in the workspace.
pub(crate) fn fixed_files(workspace: &Path) -> impl Iterator<Item = SourceFile> + '_ {
    const FIXED: [(&str, FileRole); 5] = [
        ("SOUL.md", FileRole::Soul),
        ("IDENTITY.md", FileRole::Identity),
        ("AGENTS.md", FileRole::Agents),
        ("USER.md", FileRole::User),
        ("TOOLS.md", FileRole::ToolsDoc),
    ];
    FIXED.into_iter().map(|(name, role)| SourceFile { path: workspace.join(name).into(), role })
}

/// The file that has a fixed place in a project.
pub(crate) fn project_file(project: &Path) -> SourceFile {
    SourceFile { path: project.join("AGENTS.md").into(), role: FileRole::ProjectAgents }
}

/// The folder of a project that holds its items.
fn project_folder(project: &Path) -> PathBuf {
    project.join(".recto")
}

impl SourceFile {
    /// Whether a project brings it.
    pub(crate) fn is_of_project(&self, project: &Path) -> bool {
        self.role == FileRole::ProjectAgents || self.path.starts_with(project_folder(project))
    }
}

/// The folders whose entries are items, in the order they are searched: those
/// that agents share, those of the workspace if there is one, and the project's.
pub(crate) fn item_folders(
    options: &WorkspaceOptions,
    workspace: Option<&Path>,
) -> Vec<(PathBuf, FolderKind)> {
    let mut skills = vec![options.skills_directory.clone()];
    skills.extend(workspace.map(|workspace| workspace.join("skills")));
    skills.extend(options.extra_skill_dirs.iter().cloned());
    let project = options.project.as_deref().map(project_folder);
    skills.extend(project.iter().map(|project| project.join("skills")));
    let mut folders: Vec<_> = without_earlier_doubles(skills)
        .into_iter()
        .map(|path| (path, FolderKind::Skills))
        .collect();
    for workspace in workspace.into_iter().chain(project.as_deref()) {
        folders.push((workspace.join("rules"), FolderKind::Rules));
        folders.push((workspace.join("references"), FolderKind::References));
    }
    // A project brings none: they have tools and a model of their own.
    folders.extend(workspace.map(|workspace| (workspace.join("agents"), FolderKind::SubAgents)));
    folders
}

/// The paths, each where it is named last, because the last one wins.
fn without_earlier_doubles(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_last = |at: usize| !paths[at + 1..].contains(&paths[at]);
    let last: Vec<bool> = (0..paths.len()).map(is_last).collect();
    paths.into_iter().zip(last).filter_map(|(path, is_last)| is_last.then_some(path)).collect()
}

impl FolderKind {
    /// The files that an entry of this name in `folder` stands for.
    pub(crate) fn item_files(self, folder: &Path, name: &str) -> impl Iterator<Item = SourceFile> {
        let entry = folder.join(name);
        let files: &[(Option<&str>, FileRole)] = match self {
            FolderKind::Skills => {
                &[(Some("SKILL.md"), FileRole::Skill), (Some("tools.json"), FileRole::SkillTools)]
            }
            FolderKind::Rules => &[(None, FileRole::Rule)],
            FolderKind::References => &[(None, FileRole::Reference)],
            FolderKind::SubAgents => &[
                (Some("agent.toml"), FileRole::SubAgentConfig),
                (Some("soul.md"), FileRole::SubAgentSoul),
                (Some("mood.md"), FileRole::SubAgentMood),
                (Some("skill.md"), FileRole::SubAgentSkill),
                // Last, because it alone makes no sub-agent.
                (Some("memory.md"), FileRole::SubAgentMemory),
            ],
        };
        files.iter().map(move |(file, role)| SourceFile {
            path: file.map_or_else(|| entry.clone(), |file| entry.join(file)).into(),
            role: *role,
        })
    }

    /// What it holds, in words.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            FolderKind::Skills => "skills",
            FolderKind::Rules => "rules",
            FolderKind::References => "references",
            FolderKind::SubAgents => "sub-agents",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_folder_named_twice_counts_where_it_is_named_last() {
        let options = WorkspaceOptions {
            skills_directory: "home".into(),
            extra_skill_dirs: vec!["x".into(), "home".into()],
            ..WorkspaceOptions::default()
        };
        let skills: Vec<_> = item_folders(&options, Some(Path::new("w")))
            .into_iter()
            .filter_map(|(path, kind)| (kind == FolderKind::Skills).then_some(path))
            .collect();
        assert_eq!(skills, ["w/skills", "x", "home"].map(PathBuf::from));
    }
}
