//! All that an agent has: its files, the built-in tools and those of MCP servers,
//! in one catalog, and what is known of the programs that its skills declare.
//!
//! The tools of a skill whose declaration or scripts changed since a person last
//! looked at them are left out: whoever can write there could otherwise run what
//! they like. A skill that is seen for the first time is taken as it is, unless it comes with a
//! project: whoever wrote that has no rights here.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{
    Catalog, ContentHash, ContentSource, FileNotice, OffReason, OffTool, Remedy, Skill, ToolSpec,
};
use recto_search::SearchEntry;
use recto_store::{Moment, TrustUpdate};
use recto_tools::{ApprovalMode, ServerTools, trust_hash};
use recto_workspace::{WorkspaceProblem, WorkspaceSnapshot};

use crate::notice::TurnNotice;
use crate::options::{AgentOptions, AgentParts, SessionFolder};
use crate::unknown_items::UnknownItem;

/// What an agent has at one moment.
#[derive(Debug, Clone)]
pub(crate) struct AgentCatalog {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) trusted: TrustedSkills,
    /// What a person should know of files, settings and tools that are not as they seem.
    pub(crate) notices: Arc<[TurnNotice]>,
}

/// What declarations and scripts were when a person last looked at them, by the
/// skill's folder.
type TrustedSkills = Arc<BTreeMap<PathBuf, ContentHash>>;

/// What a catalog is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogPurpose {
    /// A turn is to run.
    Turn,
    /// Somebody looks: nothing is started, stored or told.
    Look,
}

/// Keeps the agent's catalog while nothing changes.
#[derive(Debug, Default)]
pub(crate) struct CatalogCache {
    cached: Mutex<Option<CachedCatalog>>,
    /// The built-in tools, where their include modes are others than at the start.
    built_in: Mutex<Option<Arc<[ToolSpec]>>>,
}

#[derive(Debug)]
struct CachedCatalog {
    snapshot: Arc<WorkspaceSnapshot>,
    servers: Arc<ServerTools>,
    built_in: Option<Arc<[ToolSpec]>>,
    current: AgentCatalog,
    /// The same as search sees it, once it was asked for.
    entries: Option<Arc<[SearchEntry]>>,
}

impl CatalogCache {
    /// All that the agent has now. A look leaves everything as it is.
    pub(crate) async fn get(&self, parts: &AgentParts, purpose: CatalogPurpose) -> AgentCatalog {
        let snapshot = parts.workspace.catalog().await;
        let servers = parts.tools.servers().tools();
        let built_in = self.built_in.lock().clone();
        let trusted = match snapshot.catalog.skills.iter().any(|skill| !skill.tools.is_empty()) {
            true => trusted(parts).await,
            false => BTreeMap::new(),
        };
        if let Some(cached) = &*self.cached.lock()
            && Arc::ptr_eq(&cached.snapshot, &snapshot)
            && cached.servers.revision == servers.revision
            && cached.built_in.as_ref().map(Arc::as_ptr) == built_in.as_ref().map(Arc::as_ptr)
            && *cached.current.trusted == trusted
        {
            return cached.current.clone();
        }
        let sources = CatalogSources {
            snapshot: &snapshot,
            servers: &servers,
            built_in: built_in.as_deref().unwrap_or(&parts.options.built_in),
        };
        let (current, new) = build_catalog(parts, sources, trusted).await;
        if !new.is_empty() && (purpose == CatalogPurpose::Look || !store_trust(parts, new).await) {
            // What nobody has stored is found anew next time.
            return current;
        }
        let current_copy = current.clone();
        let cached =
            CachedCatalog { snapshot, servers, built_in, current: current_copy, entries: None };
        *self.cached.lock() = Some(cached);
        current
    }

    /// Replaces the built-in tools, with other include modes than before.
    pub(crate) fn replace_built_in(&self, tools: Vec<ToolSpec>) {
        *self.built_in.lock() = Some(tools.into());
    }

    /// What search can find in a catalog.
    pub(crate) fn entries(&self, catalog: &Arc<Catalog>) -> Arc<[SearchEntry]> {
        let fresh = || SearchEntry::from_catalog(catalog).into();
        match &mut *self.cached.lock() {
            Some(cached) if Arc::ptr_eq(&cached.current.catalog, catalog) => {
                cached.entries.get_or_insert_with(fresh).clone()
            }
            // Something has changed since, or some of it is not offered.
            _ => fresh(),
        }
    }
}

impl AgentCatalog {
    /// The catalog without the tools that need a person, for a turn without one.
    pub(crate) fn unattended(mut self, parts: &AgentParts, approval: ApprovalMode) -> Self {
        let mut catalog = Catalog::clone(&self.catalog);
        let runs = |spec: &ToolSpec| !parts.tools.asks(spec, &self.catalog, approval);
        let Catalog { tools, skills, off_tools, .. } = &mut catalog;
        let lists = std::iter::once(tools).chain(skills.iter_mut().map(|skill| &mut skill.tools));
        for list in lists {
            switch_off(list, off_tools, OffReason::NeedsPerson, |spec| !runs(spec));
        }
        self.catalog = Arc::new(catalog);
        self
    }
}

/// What a catalog is made of.
struct CatalogSources<'a> {
    snapshot: &'a WorkspaceSnapshot,
    servers: &'a ServerTools,
    built_in: &'a [ToolSpec],
}

async fn build_catalog(
    parts: &AgentParts,
    CatalogSources { snapshot, servers, built_in }: CatalogSources<'_>,
    trusted: BTreeMap<PathBuf, ContentHash>,
) -> (AgentCatalog, Vec<(String, ContentHash)>) {
    let mut catalog = snapshot.catalog.clone();
    let known = catalog.notices.len();
    let project = parts.options.folder.as_ref().and_then(SessionFolder::project);
    let (trusted, new) = check_skills(&mut catalog, trusted, project).await;
    remove_disabled(&mut catalog, &parts.options.disabled_tools);
    add_tools(&mut catalog, built_in, servers);
    let AgentOptions { configured_items, disabled_tools, .. } = &parts.options;
    let unknown = configured_items.find_unknown(&catalog, snapshot, disabled_tools);
    let unknown: Vec<FileNotice> = unknown.iter().map(UnknownItem::notice).collect();
    let long = snapshot.long_skills.map(|long| long.notice());
    let problems = snapshot.problems.iter().filter_map(notice_of);
    let others = catalog.notices[known..].iter().chain(&unknown).chain(&long);
    let notices = problems.chain(others.map(TurnNotice::from_file)).collect();
    (AgentCatalog { catalog: Arc::new(catalog), trusted: Arc::new(trusted), notices }, new)
}

/// The notice of a problem with a file, where a person should know of it in the turn. Where a
/// file is kept out that says who the agent is, nobody would see by the reply why it is another.
fn notice_of(problem: &WorkspaceProblem) -> Option<TurnNotice> {
    match problem.is_of_system && problem.notice().is_some() {
        true => Some(TurnNotice::from_system_file(problem)),
        false => TurnNotice::from_workspace(problem),
    }
}

/// What is known of skills' folders. A store that can't tell knows none, and then
/// no program is run.
async fn trusted(parts: &AgentParts) -> BTreeMap<PathBuf, ContentHash> {
    let known = parts.store.trusted(&parts.options.name).await.unwrap_or_default();
    known.into_iter().map(|(folder, hash)| (PathBuf::from(folder), hash)).collect()
}

/// Stores what was seen for the first time, and says whether that went well.
async fn store_trust(parts: &AgentParts, new: Vec<(String, ContentHash)>) -> bool {
    let stored = parts.store.trust(&parts.options.name, new, TrustUpdate::First, Moment::now());
    stored.await.is_ok()
}

/// Compares skills that declare tools with what is known of them. New ones become
/// known; those that changed, and a project's new ones, lose their tools.
async fn check_skills(
    catalog: &mut Catalog,
    mut trusted: BTreeMap<PathBuf, ContentHash>,
    project: Option<&Path>,
) -> (BTreeMap<PathBuf, ContentHash>, Vec<(String, ContentHash)>) {
    let mut new = Vec::new();
    for skill in catalog.skills.iter_mut().filter(|skill| !skill.tools.is_empty()) {
        let Some(folder) = folder_of(skill) else { continue };
        let look = folder.clone();
        let hash = tokio::task::spawn_blocking(move || trust_hash(&look)).await;
        let source = skill.tools.first().map_or(ContentSource::BuiltIn, |tool| tool.source.clone());
        let (why, notice) = match (hash, trusted.get(&folder)) {
            (Ok(Ok(hash)), Some(known)) if hash == *known => continue,
            (Ok(Ok(_)), None) if project.is_some_and(|project| folder.starts_with(project)) => {
                (OffReason::SkillUntrusted, skill_untrusted_notice(source, &skill.name))
            }
            (Ok(Ok(hash)), None) => {
                new.push((folder.to_string_lossy().into_owned(), hash));
                trusted.insert(folder, hash);
                continue;
            }
            (Ok(Ok(_)), Some(_)) => {
                (OffReason::SkillChanged, skill_changed_notice(source, &skill.name))
            }
            (Ok(Err(error)), _) => {
                let problem = format!("its tools are off, because it can't be read: {error}");
                (OffReason::SkillUnreadable, FileNotice::new(source, problem))
            }
            (Err(_), _) => {
                let problem = "its tools are off, because reading it broke off";
                (OffReason::SkillUnreadable, FileNotice::new(source, problem))
            }
        };
        catalog.notices.push(notice);
        switch_off(&mut skill.tools, &mut catalog.off_tools, why, |_| true);
    }
    (trusted, new)
}

/// What a person is told of a skill that changed.
pub fn skill_changed_notice(source: ContentSource, skill: &str) -> FileNotice {
    let problem = format!(
        "the tools of skill `{skill}` are off: its tools.json or a script changed; look at it, \
         then trust it again"
    );
    FileNotice::new(source, problem).with_remedy(Remedy::TrustSkill { skill: skill.to_owned() })
}

/// What a person is told of a project's skill whose programs nobody has looked at.
pub fn skill_untrusted_notice(source: ContentSource, skill: &str) -> FileNotice {
    let problem = format!(
        "the tools of skill `{skill}` are off: it comes with the project, and nobody has trusted \
         it yet; look at its tools.json and scripts, then trust it"
    );
    FileNotice::new(source, problem).with_remedy(Remedy::TrustSkill { skill: skill.to_owned() })
}

/// The folder of a skill that was read from a file.
fn folder_of(skill: &Skill) -> Option<PathBuf> {
    match &skill.source {
        ContentSource::File(path) => path.parent().map(Path::to_path_buf),
        _ => None,
    }
}

/// Leaves tools of skills out that a person does not want.
pub fn remove_disabled(catalog: &mut Catalog, disabled: &[String]) {
    let is_off = |tool: &ToolSpec| {
        let key = tool.id.key();
        disabled.iter().any(|name| *name == key || **name == *tool.id.name)
    };
    for skill in &mut catalog.skills {
        switch_off(&mut skill.tools, &mut catalog.off_tools, OffReason::Disabled, is_off);
    }
}

/// Takes tools out of a list, and notes why they are not offered.
fn switch_off(
    tools: &mut Vec<ToolSpec>,
    off: &mut Vec<OffTool>,
    why: OffReason,
    is_off: impl Fn(&ToolSpec) -> bool,
) {
    tools.retain(|tool| {
        let is_off = is_off(tool);
        off.extend(is_off.then(|| OffTool { item: tool.id.clone(), why }));
        !is_off
    });
}

/// Adds the tools that no skill brings. Models call tools by name alone, so those
/// of servers give way where a name is taken.
pub fn add_tools(catalog: &mut Catalog, built_in: &[ToolSpec], servers: &ServerTools) {
    catalog.tools.extend(built_in.iter().cloned());
    catalog.notices.extend(servers.notices.iter().cloned());
    let mut taken: HashSet<_> = catalog.all_tools().map(|spec| spec.called.clone()).collect();
    // Also those whose tools are off: their names must not pass to somebody else.
    let skills: HashSet<Arc<str>> = catalog.skills.iter().map(|skill| skill.name.clone()).collect();
    for spec in &servers.specs {
        let server = spec.id.server.clone().unwrap_or_default();
        if skills.contains(&server) {
            let problem = format!(
                "the tools of MCP server `{server}` are left out: a skill has the same name; call \
                 one of them otherwise"
            );
            let notice = FileNotice::new(ContentSource::Server(server), problem);
            if !catalog.notices.contains(&notice) {
                catalog.notices.push(notice);
            }
            continue;
        }
        let spec = match taken.contains(&spec.called) {
            true => spec.clone().with_called(distinct_name(spec)),
            false => spec.clone(),
        };
        taken.insert(spec.called.clone());
        catalog.tools.push(spec);
    }
}

/// A name that tells a tool apart from another of its name: its own with the
/// beginning of a hash.
fn distinct_name(spec: &ToolSpec) -> String {
    const LONGEST: usize = 64;
    let hash = ContentHash::of_bytes(spec.id.key().as_bytes()).to_string();
    let room = LONGEST - 9;
    format!("{}_{}", &spec.called[..spec.called.floor_char_boundary(room)], &hash[..8])
}
