//! All that an agent has: its files, the built-in tools and those of MCP servers,
//! in one catalog, and what is known of the programs that its skills declare.
//!
//! The tools of a skill that is not the one that was here before are left out: whoever can write
//! there could otherwise run what they like. Which those are `skill_trust.rs` decides. A tool
//! that can't be run as its tools.json declares it is left out, too, with its flaw told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{
    Catalog, ContentHash, ContentSource, FileNotice, ItemId, OffReason, OffTool, Skill, ToolSpec,
    reading_tools,
};
use recto_search::SearchEntry;
use recto_store::{Moment, StoreError, StoreResult};
use recto_tools::{
    ApprovalMode, CallContext, DeclarationFlaw, ServerTools, SkillLook, ToolFlaws, TrustedSkills,
    trust_hash,
};
use recto_workspace::{SubAgent, WorkspaceProblem, WorkspaceSnapshot};

use crate::delegation::{DELEGATE_TOOL, complete_delegate_tool};
use crate::notice::TurnNotice;
use crate::options::{AgentOptions, AgentParts, SessionFolder};
use crate::skill_trust::{SkillIdentity, SkillOrigin, SkillStanding, TrustRecords, TrustRows};
use crate::unknown_items::UnknownItem;

/// What an agent has at one moment.
#[derive(Debug, Clone)]
pub(crate) struct AgentCatalog {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) trusted: Arc<TrustedSkills>,
    /// What a person should know of files, settings and tools that are not as they seem.
    pub(crate) notices: Arc<[TurnNotice]>,
    /// The sub-agents, those that can't be used included.
    pub(crate) sub_agents: Arc<[SubAgent]>,
}

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
    records: TrustRecords,
    current: AgentCatalog,
    /// The same as search sees it, once it was asked for.
    entries: Option<Arc<[SearchEntry]>>,
}

impl CatalogCache {
    /// All that the agent has now. A look leaves everything as it is.
    pub(crate) async fn get(&self, parts: &AgentParts, purpose: CatalogPurpose) -> AgentCatalog {
        let (snapshot, records) = read_files(parts).await;
        let servers = parts.tools.servers().tools();
        let built_in = self.built_in.lock().clone();
        if let Some(cached) = &*self.cached.lock()
            && Arc::ptr_eq(&cached.snapshot, &snapshot)
            && cached.servers.revision == servers.revision
            && cached.built_in.as_ref().map(Arc::as_ptr) == built_in.as_ref().map(Arc::as_ptr)
            && records.as_ref().is_ok_and(|records| cached.records == *records)
        {
            return cached.current.clone();
        }
        let sources = CatalogSources {
            snapshot: &snapshot,
            servers: &servers,
            built_in: built_in.as_deref().unwrap_or(&parts.options.built_in),
        };
        let (current, news) = build_catalog(parts, sources, records.as_ref()).await;
        // What could not be compared is compared next time.
        let Ok(mut records) = records else { return current };
        for rows in news {
            if purpose == CatalogPurpose::Look || !store_trust(parts, rows.clone()).await {
                // What nobody has stored is found anew next time.
                return current;
            }
            records.add(rows);
        }
        let entries = None;
        let cached = CachedCatalog {
            snapshot,
            servers,
            built_in,
            records,
            current: current.clone(),
            entries,
        };
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
        let context = CallContext {
            catalog: self.catalog.clone(),
            trusted: self.trusted.clone(),
            ..CallContext::default()
        };
        let runs = |spec: &ToolSpec| !parts.tools.asks(spec, &context, approval);
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
    records: Result<&TrustRecords, &StoreError>,
) -> (AgentCatalog, Vec<TrustRows>) {
    let mut catalog = snapshot.catalog.clone();
    let known = catalog.notices.len();
    let project = parts.options.folder.as_ref().and_then(SessionFolder::project);
    let (trusted, news) = check_skills(&mut catalog, records, project).await;
    remove_disabled(&mut catalog, &parts.options.disabled_tools);
    let flawed = read_flawed_tools(&catalog).await;
    remove_flawed(&mut catalog, &flawed);
    let others = other_agents(&snapshot.sub_agents, &parts.options.name);
    keep_names_of_looked_at(&mut catalog, &trusted);
    add_tools(&mut catalog, built_in, &others, servers);
    let AgentOptions { configured_items, disabled_tools, .. } = &parts.options;
    let unknown = configured_items.find_unknown(&catalog, snapshot, disabled_tools);
    let unknown: Vec<FileNotice> = unknown.iter().map(UnknownItem::notice).collect();
    let long = snapshot.long_skills.map(|long| long.notice());
    let problems = snapshot.problems.iter().filter_map(notice_of);
    let others = catalog.notices[known..].iter().chain(&unknown).chain(&long);
    let notices = problems.chain(others.map(TurnNotice::from_file)).collect();
    let sub_agents = snapshot.sub_agents.clone().into();
    let (catalog, trusted) = (Arc::new(catalog), Arc::new(trusted));
    (AgentCatalog { catalog, trusted, notices, sub_agents }, news)
}

/// The notice of a problem with a file, where a person should know of it in the turn. Where a
/// file is kept out that says who the agent is, nobody would see by the reply why it is another.
fn notice_of(problem: &WorkspaceProblem) -> Option<TurnNotice> {
    match problem.is_of_system && problem.notice().is_some() {
        true => Some(TurnNotice::from_system_file(problem)),
        false => TurnNotice::from_workspace(problem),
    }
}

/// The agent's files, and what is known of its skills, which says whose a name is that two have.
async fn read_files(parts: &AgentParts) -> (Arc<WorkspaceSnapshot>, StoreResult<TrustRecords>) {
    let snapshot = parts.workspace.catalog().await;
    let declares_tools = snapshot.catalog.skills.iter().any(|skill| !skill.tools.is_empty());
    if !declares_tools && !snapshot.has_rival_skills() {
        return (snapshot, Ok(TrustRecords::default()));
    }
    let records = trust_records(parts).await;
    if let (true, Ok(records)) = (snapshot.has_rival_skills(), &records)
        && parts.workspace.replace_skill_owners(records.name_owners())
    {
        return (parts.workspace.catalog().await, Ok(records.clone()));
    }
    (snapshot, records)
}

/// What is known of skills.
async fn trust_records(parts: &AgentParts) -> StoreResult<TrustRecords> {
    parts.store.trusted(&parts.options.name).await.map(TrustRecords::new)
}

/// Stores what is new, and says whether that went well.
async fn store_trust(parts: &AgentParts, TrustRows { rows, update }: TrustRows) -> bool {
    parts.store.trust(&parts.options.name, rows, update, Moment::now()).await.is_ok()
}

/// Compares skills that declare tools with what is known of them. Those that are not what they
/// were, and a project's new ones, lose their tools; where the store can't tell, all do.
async fn check_skills(
    catalog: &mut Catalog,
    records: Result<&TrustRecords, &StoreError>,
    project: Option<&Path>,
) -> (TrustedSkills, Vec<TrustRows>) {
    let (mut trusted, mut news) = (TrustedSkills::new(), Vec::new());
    for skill in catalog.skills.iter_mut().filter(|skill| !skill.tools.is_empty()) {
        let Some(folder) = folder_of(skill) else { continue };
        let source = skill.tools.first().map_or(ContentSource::BuiltIn, |tool| tool.source.clone());
        let (why, notice) = match (records, hash_files(folder.clone()).await) {
            (Err(error), _) => {
                let problem = format!(
                    "the tools of skill `{}` are off: what is known of it can't be read: {error}",
                    skill.name
                );
                (OffReason::TrustUnreadable, Some(FileNotice::new(source, problem)))
            }
            (Ok(records), Ok(files)) => {
                let identity = SkillIdentity { name: skill.name.clone(), folder, files };
                let origin = SkillOrigin::of(&identity.folder, project);
                let standing = records.judge(&identity, origin);
                news.extend(records.rows_to_store(&identity, standing));
                if let Some(look) = standing.look() {
                    trusted.insert(identity.folder.clone(), identity.trusted(look));
                    continue;
                }
                let why = match standing {
                    SkillStanding::Changed => OffReason::SkillChanged,
                    _ => OffReason::SkillUntrusted,
                };
                (why, standing.notice(source, &skill.name))
            }
            (Ok(_), Err(problem)) => {
                (OffReason::SkillUnreadable, Some(FileNotice::new(source, problem)))
            }
        };
        catalog.notices.extend(notice);
        switch_off(&mut skill.tools, &mut catalog.off_tools, why, |_| true);
    }
    (trusted, news)
}

/// The hash of a skill's declaration and scripts, or why they can't be read.
async fn hash_files(folder: PathBuf) -> Result<ContentHash, String> {
    match tokio::task::spawn_blocking(move || trust_hash(&folder)).await {
        Ok(Ok(files)) => Ok(files),
        Ok(Err(error)) => Err(format!("its tools are off, because it can't be read: {error}")),
        Err(_) => Err("its tools are off, because reading it broke off".to_owned()),
    }
}

/// The folder of a skill that was read from a file.
fn folder_of(skill: &Skill) -> Option<PathBuf> {
    match &skill.source {
        ContentSource::File(path) => path.parent().map(Path::to_path_buf),
        _ => None,
    }
}

/// Leaves tools of skills out that a person does not want, and those that load what pages name.
pub fn remove_disabled(catalog: &mut Catalog, disabled: &[String]) {
    let is_off = |tool: &ToolSpec| {
        let key = tool.id.key();
        disabled.iter().any(|name| *name == key || **name == *tool.id.name)
    };
    for skill in &mut catalog.skills {
        switch_off(&mut skill.tools, &mut catalog.off_tools, OffReason::Disabled, is_off);
    }
    let reading = reading_tools().into_iter().filter(|tool| is_off(tool));
    let off = |tool: &ToolSpec| OffTool { item: tool.id.clone(), why: OffReason::Disabled };
    catalog.off_tools.extend(reading.map(off));
}

/// A tool that can't be run as its skill declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlawedTool {
    /// The identity of the tool.
    pub item: ItemId,
    /// The tools.json that declares it.
    pub path: PathBuf,
    /// What is wrong, and on which line.
    pub flaw: DeclarationFlaw,
}

impl FlawedTool {
    /// The notice that says why it is off, and where that can be put right.
    pub fn notice(&self) -> FileNotice {
        let FlawedTool { item, path, flaw: DeclarationFlaw { line, what } } = self;
        let problem = format!("tool `{}` is off: {}:{line}: {what}", item.key(), path.display());
        FileNotice::new(ContentSource::file(path), problem)
    }
}

/// Finds the tools of skills that can't be run as they are declared. Where a declaration can't
/// be read, its skill is off as a whole.
pub fn find_flawed_tools(catalog: &Catalog) -> Vec<FlawedTool> {
    let declared = declared_tools(catalog);
    declared.iter().flat_map(|(folder, tools)| flawed_in_folder(folder, tools)).collect()
}

/// The same, without holding up other tasks while files are read.
async fn read_flawed_tools(catalog: &Catalog) -> Vec<FlawedTool> {
    let declared = declared_tools(catalog);
    if declared.is_empty() {
        return Vec::new();
    }
    let find = move || {
        declared.iter().flat_map(|(folder, tools)| flawed_in_folder(folder, tools)).collect()
    };
    tokio::task::spawn_blocking(find).await.unwrap_or_default()
}

/// The folders of skills that declare tools, with the identities of these.
fn declared_tools(catalog: &Catalog) -> Vec<(PathBuf, Vec<ItemId>)> {
    let declaring = catalog.skills.iter().filter(|skill| !skill.tools.is_empty());
    let with_folder = |skill: &Skill| {
        Some((folder_of(skill)?, skill.tools.iter().map(|tool| tool.id.clone()).collect()))
    };
    declaring.filter_map(with_folder).collect()
}

fn flawed_in_folder(folder: &Path, tools: &[ItemId]) -> Vec<FlawedTool> {
    let Ok(flaws) = ToolFlaws::read(folder) else { return Vec::new() };
    let flawed = |item: &ItemId| {
        let flaw = flaws.get(&item.name)?.clone();
        Some(FlawedTool { item: item.clone(), path: folder.join("tools.json"), flaw })
    };
    tools.iter().filter_map(flawed).collect()
}

/// Leaves tools out that can't be run, and says so in the catalog's notices.
pub fn remove_flawed(catalog: &mut Catalog, flawed: &[FlawedTool]) {
    let is_flawed = |tool: &ToolSpec| flawed.iter().any(|it| it.item == tool.id);
    for skill in &mut catalog.skills {
        switch_off(&mut skill.tools, &mut catalog.off_tools, OffReason::Flawed, is_flawed);
    }
    catalog.notices.extend(flawed.iter().map(FlawedTool::notice));
}

/// Leaves the names by which tools are called to those of skills that a person has looked at: a
/// tool of another skill gives way, and says so.
pub fn keep_names_of_looked_at(catalog: &mut Catalog, trusted: &TrustedSkills) {
    let is_looked_at = |skill: &Skill| {
        let known = folder_of(skill).and_then(|folder| trusted.get(&folder));
        known.is_some_and(|skill| skill.look == SkillLook::LookedAt)
    };
    let Catalog { skills, notices, .. } = catalog;
    let looked_at = skills.iter().filter(|skill| is_looked_at(skill));
    let names: HashMap<Arc<str>, ItemId> = looked_at
        .flat_map(|skill| &skill.tools)
        .map(|tool| (tool.called.clone(), tool.id.clone()))
        .collect();
    for skill in skills.iter_mut().filter(|skill| !is_looked_at(skill)) {
        for tool in &mut skill.tools {
            let Some(owner) = names.get(&tool.called) else { continue };
            let (name, other) = (tool.called.clone(), distinct_name(tool));
            let problem = format!(
                "models call the tool `{}` `{other}`: `{name}` is `{}`, at whose skill a person \
                 has looked",
                tool.id.key(),
                owner.key()
            );
            notices.push(FileNotice::new(tool.source.clone(), problem));
            *tool = tool.clone().with_called(other);
        }
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

/// The sub-agents that an agent could give a task to: one of its own name is none, since that
/// would have what it remembers itself.
pub fn other_agents<'a>(all: &'a [SubAgent], own: &str) -> Vec<&'a SubAgent> {
    all.iter().filter(|agent| *agent.id != *own).collect()
}

/// Adds the tools that no skill brings. Models call tools by name alone, so those
/// of servers give way where a name is taken.
pub fn add_tools(
    catalog: &mut Catalog,
    built_in: &[ToolSpec],
    sub_agents: &[&SubAgent],
    servers: &ServerTools,
) {
    catalog.tools.extend(built_in.iter().filter_map(|tool| match &*tool.id.name {
        DELEGATE_TOOL => complete_delegate_tool(tool, sub_agents.iter().copied()),
        _ => Some(tool.clone()),
    }));
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

#[cfg(test)]
mod tests {
    use recto_context::ItemKind;
    use recto_tools::TrustedSkill;
    use serde_json::json;

    use super::*;

    fn skill(name: &str) -> Skill {
        let mut skill = Skill::new(name, None, "".into());
        skill.source = ContentSource::file(format!("/s/{name}/SKILL.md"));
        let mut id = ItemId::new(ItemKind::Tool, "env");
        id.server = Some(name.into());
        skill.tools = vec![ToolSpec::new(id, "d", json!({}))];
        skill
    }

    fn trusted(name: &str, look: SkillLook) -> (PathBuf, TrustedSkill) {
        let files = ContentHash::of_bytes(b"files");
        (format!("/s/{name}").into(), TrustedSkill { name: name.into(), files, look })
    }

    /// Promise: `trust-follows-content`
    #[test]
    fn a_skill_that_nobody_looked_at_takes_no_name_of_a_trusted_tool() {
        let mut catalog =
            Catalog { skills: ["Aother", "notes"].map(skill).to_vec(), ..Catalog::default() };
        let looks = [("Aother", SkillLook::FirstSeen), ("notes", SkillLook::LookedAt)];
        let looks: TrustedSkills = looks.map(|(name, look)| trusted(name, look)).into();
        keep_names_of_looked_at(&mut catalog, &looks);
        let called: Vec<&str> = catalog.all_tools().map(|tool| &*tool.called).collect();
        assert_eq!(called[1], "env");
        assert!(called[0].starts_with("env_"), "{called:?}");
        let [notice] = &catalog.notices[..] else { panic!("{:?}", catalog.notices) };
        assert!(notice.problem.contains("`env` is `notes.env`"), "{}", notice.problem);
        // Between two that nobody, or somebody, has looked at, nothing changes.
        for look in [SkillLook::FirstSeen, SkillLook::LookedAt] {
            let both = ["Aother", "notes"].map(|name| trusted(name, look)).into();
            catalog.skills = ["Aother", "notes"].map(skill).to_vec();
            keep_names_of_looked_at(&mut catalog, &both);
            assert!(catalog.all_tools().all(|tool| &*tool.called == "env"));
        }
    }
}
