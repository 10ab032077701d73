//! Projects: folders with an AGENTS.md or a `.recto/` of their own, and what a person answered
//! when asked whether the agent may use them.
//!
//! A folder that one stands in, or below, says nothing about whether one trusts it: it may have
//! been cloned a minute ago. So nothing of it is read into a page before a person said yes, and
//! the answer holds for that path alone. The programs of a project's skills need more than that:
//! they run once each of them was trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use recto_context::ItemKind;
use recto_fs::{Access, FolderClaim, create_private_folder, write_whole};
use recto_store::{SessionHolder, SessionName, Store};
use serde::{Deserialize, Serialize};

use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, tame, tell};

/// What a project tells agents.
const AGENTS: &str = "AGENTS.md";

/// Where a project keeps its items.
pub(crate) const FOLDER: &str = ".recto";

/// A folder that brings something of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectFolder {
    pub(crate) root: PathBuf,
    has_agents: bool,
    /// What is in its `.recto/`, if it has one.
    items: Option<ProjectItems>,
}

/// How many items a project has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ProjectItems {
    rules: usize,
    references: usize,
    skills: usize,
}

/// What a person answered for a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProjectAnswer {
    #[serde(rename = "use")]
    pub(crate) choice: ProjectChoice,
    /// The session of those who name none there. No other project has it.
    pub(crate) session: String,
}

/// Whether a project is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProjectChoice {
    Yes,
    No,
}

/// All answers, by the project's path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProjectAnswers {
    projects: BTreeMap<String, ProjectAnswer>,
}

/// Where answers are kept.
pub(crate) fn answers_file(home: &RectoHome) -> PathBuf {
    home.path().join("projects.json")
}

/// The project that the current folder belongs to, unless the run has another workspace.
pub(crate) fn find_here(home: &RectoHome, config: &LoadedConfig) -> Option<ProjectFolder> {
    let here = std::env::current_dir().ok().filter(|_| home.workspace().is_none())?;
    let own = config.agents().map(|settings| settings.agent.workspace.as_path());
    let own: Vec<PathBuf> = own.chain([home.path()]).map(real).collect();
    find(&here, &own, home.user().map(real).as_deref())
}

/// The nearest folder from here upward that brings something, up to the repository's root. The
/// person's home folder is none, and neither is what belongs to Recto itself.
fn find(here: &Path, own: &[PathBuf], user: Option<&Path>) -> Option<ProjectFolder> {
    let here = real(here);
    if own.iter().any(|folder| here.starts_with(folder)) {
        return None;
    }
    for folder in here.ancestors() {
        if folder.parent().is_none() || Some(folder) == user {
            return None;
        }
        // An answer is kept by a path that can be written down.
        if folder.to_str().is_some()
            && let Some(project) = ProjectFolder::read(folder, own)
        {
            return Some(project);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The path without links, as far as it can be told.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

impl ProjectFolder {
    fn read(root: &Path, own: &[PathBuf]) -> Option<Self> {
        let folder = root.join(FOLDER);
        let is_project = folder.is_dir() && !own.contains(&real(&folder));
        let items = is_project.then(|| ProjectItems {
            rules: markdown_files(&folder.join("rules")).len(),
            references: markdown_files(&folder.join("references")).len(),
            skills: skill_folders(&folder).len(),
        });
        let has_agents = root.join(AGENTS).is_file();
        let project = ProjectFolder { root: root.to_path_buf(), has_agents, items };
        (has_agents || items.is_some()).then_some(project)
    }

    /// Fails where one of its files is a link that leads out of it: what a project brings would
    /// then be something else of this machine.
    pub(crate) fn check_links(&self) -> CliResult {
        let folder = self.root.join(FOLDER);
        let mut paths = vec![self.root.join(AGENTS), folder.clone()];
        for name in ["rules", "references"] {
            paths.push(folder.join(name));
            paths.extend(markdown_files(&folder.join(name)));
        }
        paths.push(folder.join("skills"));
        for skill in skill_folders(&folder) {
            paths.extend(["SKILL.md", "tools.json", "scripts"].map(|name| skill.join(name)));
            paths.push(skill);
        }
        let leads_out = |path: &&PathBuf| {
            fs::canonicalize(path).is_ok_and(|target| !target.starts_with(&self.root))
        };
        let Some(path) = paths.iter().find(leads_out) else { return Ok(()) };
        let what = format!(
            "the project {} is not used: {} leads out of it",
            tame(&self.root.to_string_lossy()),
            tame(&path.to_string_lossy())
        );
        Err(CliFailure::new(what).hint("replace the link with what it leads to"))
    }

    /// What it brings, in words.
    pub(crate) fn contents(&self) -> String {
        let agents = self.has_agents.then(|| AGENTS.to_owned());
        let items = self.items.map(|items| format!("{FOLDER}/ ({items})"));
        [agents, items].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    fn shown_root(&self) -> String {
        tame(&self.root.to_string_lossy())
    }

    /// The question whether it may be used.
    pub(crate) fn question(&self) -> String {
        format!(
            "{} has its own {}\nUse them here? Type yes or no, and Enter:",
            self.shown_root(),
            self.contents()
        )
    }

    /// What those are told who can't be asked.
    pub(crate) fn note(&self) -> String {
        format!(
            "note: {} has its own {}, not used; `recto chat --project` uses them from now on, \
             `--no-project` never, `--workspace .` takes the folder for the agent's workspace",
            self.shown_root(),
            self.contents()
        )
    }

    /// What those are told who said yes.
    pub(crate) fn greeting(&self) -> String {
        format!("project {} with {}", self.shown_root(), self.contents())
    }
}

impl fmt::Display for ProjectItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [(self.rules, "rule"), (self.references, "reference"), (self.skills, "skill")];
        let named = counts.iter().filter(|(count, _)| *count > 0);
        let named: Vec<String> = named.map(|(count, what)| counted(*count, what)).collect();
        if named.is_empty() { f.write_str("empty") } else { f.write_str(&named.join(", ")) }
    }
}

/// What the session of a folder is called, unless another one has the name.
pub(crate) fn folder_session_name(folder: &Path) -> String {
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let name: String = folder.chars().filter(|c| !c.is_control()).take(100).collect();
    let is_name = SessionName::new(&name).is_ok() && name != "default";
    if is_name { name } else { format!("project {name}") }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let is_markdown = |path: &PathBuf| {
        path.extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("md") || it.eq_ignore_ascii_case("mdc"))
    };
    entries(folder).into_iter().filter(is_markdown).collect()
}

fn skill_folders(folder: &Path) -> Vec<PathBuf> {
    let is_skill = |path: &PathBuf| path.join("SKILL.md").exists();
    entries(&folder.join("skills")).into_iter().filter(is_skill).collect()
}

impl ProjectAnswers {
    /// The answers of before. A file that can't be read is told of, and everything is asked anew.
    pub(crate) fn load(home: &RectoHome) -> Self {
        let file = answers_file(home);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::default(),
            text => text.map_err(|error| error.to_string()),
        };
        let answers = text.and_then(|text| {
            serde_json::from_str(&text).map_err(|error: serde_json::Error| error.to_string())
        });
        answers.unwrap_or_else(|problem| {
            let file = tame(&file.to_string_lossy());
            tell(&format_args!(
                "warning: {file} can't be read, so projects are asked about anew: {problem}"
            ));
            Self::default()
        })
    }

    /// What was answered for a project.
    pub(crate) fn get(&self, project: &ProjectFolder) -> Option<&ProjectAnswer> {
        self.projects.get(project.root.to_str()?)
    }

    /// Whether a project that is used has an item of this name.
    pub(crate) fn have_item(&self, kind: ItemKind, name: &str) -> bool {
        let used = self.projects.iter().filter(|(_, answer)| answer.choice == ProjectChoice::Yes);
        let mut folders = used.map(|(root, _)| Path::new(root).join(FOLDER));
        folders.any(|folder| {
            let items = match kind {
                ItemKind::Rule => markdown_files(&folder.join("rules")),
                ItemKind::Reference => markdown_files(&folder.join("references")),
                ItemKind::Skill => skill_folders(&folder),
                _ => Vec::new(),
            };
            items.iter().any(|path| path.file_stem().is_some_and(|stem| stem == name))
        })
    }

    /// What the projects that are used bring for agents, but for the one that is worked in, and
    /// what the work folder is a part of.
    pub(crate) fn guarded_paths(&self, work_folder: &Path) -> Vec<PathBuf> {
        let used = self.projects.iter().filter(|(_, answer)| answer.choice == ProjectChoice::Yes);
        let roots = used.map(|(root, _)| Path::new(root)).filter(|root| *root != work_folder);
        let paths = roots.flat_map(|root| [root.join(AGENTS), root.join(FOLDER)]);
        paths.filter(|path| !work_folder.starts_with(path)).collect()
    }

    /// Keeps an answer. A project stays with the session that it had.
    pub(crate) async fn set(
        &mut self,
        home: &RectoHome,
        project: &ProjectFolder,
        choice: ProjectChoice,
        store: Option<&Store>,
    ) -> CliResult {
        // Another chat may be answered in this very moment, for a folder of the same name.
        let file = answers_file(home);
        let what = format!("cannot keep the answer in {}", file.display());
        let failure = |error: &dyn std::error::Error| CliFailure::new(&*what).because(error);
        let claim = FolderClaim::take(&file)
            .map_err(|locked| CliFailure::folder_locked(&*what, &locked))?;
        *self = Self::load(home);
        let session = match self.get(project) {
            Some(known) => known.session.clone(),
            None => self.free_session(project, store).await?,
        };
        let folder = project.root.to_string_lossy().into_owned();
        self.projects.insert(folder, ProjectAnswer { choice, session });
        let text = serde_json::to_string_pretty(self).map_err(|error| failure(&error))?;
        create_private_folder(home.path()).map_err(|error| failure(&error))?;
        let written = write_whole(&file, text.as_bytes(), Access::Owner);
        drop(claim);
        written.map_err(|error| failure(&error))
    }

    /// A name for the project's session that neither another project nor a person uses.
    async fn free_session(
        &self,
        project: &ProjectFolder,
        store: Option<&Store>,
    ) -> CliResult<String> {
        let name = folder_session_name(&project.root);
        let (mut free, mut number) = (name.clone(), 1);
        loop {
            let is_taken = self.projects.values().any(|answer| answer.session == free);
            let has_one = match store {
                Some(store) => {
                    !store.sessions_named(&SessionHolder::owner(), &free).await?.is_empty()
                }
                None => false,
            };
            if !is_taken && !has_one {
                return Ok(free);
            }
            number += 1;
            free = format!("{name}-{number}");
        }
    }
}

/// Passes a project that a person said yes to, and that brings nothing but its own.
pub(crate) fn must_be_used(home: &RectoHome, root: &str) -> CliResult {
    let answers = ProjectAnswers::load(home);
    let answer = answers.projects.get(root);
    if !answer.is_some_and(|answer| answer.choice == ProjectChoice::Yes) {
        let what = format!("the project {} is not used any more", tame(root));
        return Err(CliFailure::new(what).hint("`recto chat --project` there uses it again"));
    }
    let own = [];
    ProjectFolder::read(Path::new(root), &own).map_or(Ok(()), |project| project.check_links())
}

/// Lets the agents work in the project that they stand in, if a person said yes to it.
pub(crate) fn apply_answered(home: &RectoHome, config: &mut LoadedConfig) {
    let Some(project) = find_here(home, config) else { return };
    let answers = ProjectAnswers::load(home);
    if answers.get(&project).is_some_and(|answer| answer.choice == ProjectChoice::Yes) {
        match project.check_links() {
            Ok(()) => apply(config, Some(&project)),
            Err(failure) => tell(&failure),
        }
    }
}

/// Lets the agents work in a project, or in none.
pub(crate) fn apply(config: &mut LoadedConfig, project: Option<&ProjectFolder>) {
    for settings in config.agents_mut() {
        settings.project = project.map(|project| project.root.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with these files, and what is found from a folder in it. `home` is the person's.
    #[track_caller]
    fn check(files: &[&str], here: &str, expected: Option<(&str, &str)>) {
        let tree = tempfile::tempdir().unwrap();
        let root = real(tree.path());
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::create_dir_all(root.join(here)).unwrap();
        let own = [root.join("home/.recto")];
        let found = find(&root.join(here), &own, Some(&root.join("home")));
        let found = found.map(|project| {
            let root = project.root.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            (root, project.contents())
        });
        assert_eq!(found.as_ref().map(|(root, what)| (root.as_str(), what.as_str())), expected);
    }

    #[test]
    fn the_nearest_folder_up_to_the_repository_counts() {
        let shop = &["home/shop/AGENTS.md", "home/shop/.recto/rules/a.md", "home/shop/.git/x"];
        let all = "AGENTS.md and .recto/ (1 rule)";
        check(shop, "home/shop", Some(("home/shop", all)));
        check(shop, "home/shop/src/deep", Some(("home/shop", all)));
        check(shop, "home/other", None);
        check(&["home/all/AGENTS.md", "home/all/shop/.git/x"], "home/all/shop/src", None);
        check(&["a/.recto/skills/s/SKILL.md"], "a", Some(("a", ".recto/ (1 skill)")));
    }

    #[test]
    fn neither_a_home_nor_what_is_recto_s_own_is_a_project() {
        check(&["home/AGENTS.md", "home/.recto/rules/a.md"], "home", None);
        check(&["home/AGENTS.md"], "home/x", None);
        check(&["home/.recto/workspace/AGENTS.md"], "home/.recto/workspace", None);
    }

    #[test]
    fn a_link_that_leads_out_is_told() {
        let tree = tempfile::tempdir().unwrap();
        let root = real(tree.path());
        fs::create_dir_all(root.join("shop/.recto/rules")).unwrap();
        fs::write(root.join("secret.md"), "x").unwrap();
        std::os::unix::fs::symlink("../../../secret.md", root.join("shop/.recto/rules/a.md"))
            .unwrap();
        let project = find(&root.join("shop"), &[], None).unwrap();
        let failure = project.check_links().unwrap_err().to_string();
        assert!(failure.contains("rules/a.md leads out of it"), "{failure}");
    }
}
