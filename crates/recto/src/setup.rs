//! Composition: from the settings to what each crate is given. No crate gets
//! the whole config.

mod agents;
mod executed;
mod find;
mod folders;
mod ollama;
mod program_runtime;
mod search;
mod tools;

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use recto_agent::{
    Actor, Agent, AgentMemories, AgentOptions, AgentParts, ConfiguredItem, ConfiguredItems,
    DelegationLimits, IncludeSettings, ItemSetting, ModelEntry, SearchPatience, Searcher,
    TrustRecords, UnknownItem, UseRecord, add_tools, find_flawed_tools, other_agents,
    remove_disabled, remove_flawed,
};
use recto_context::mode::{self, ModeSetting, OlderPair, ResolvedMode};
use recto_context::{
    Audience, Catalog, ContentHash, ContextLimits, IncludeMode, ItemKind, LayoutPreset, PageLayout,
    Priority, SkillRender, Tokens, ToolCalls,
};
use recto_llm::{
    ApiKey, CallOptions, ChatTemplate, ClientOptions, FeatureSupport, ModelClient, Provider,
};
use recto_models::Library;
use recto_search::{SearchMessage, UseEvidence};
use recto_store::{PostgresUrl, PostgresUrlError, Store, StoreError, StoreOptions};
use recto_tools::Toolbox;
use recto_workspace::{
    Horizon, MemoryFiles, MemoryView, Override, Workspace, WorkspaceOptions, WorkspaceProblem,
    WorkspaceSnapshot,
};

use crate::check_report::problem_line;
use crate::config::{
    self, ConfigFlag, ConfigSources, DelegateSettings, ItemSettings, LoadedConfig, ModelSettings,
    ModelVerdict, SettingOrigin, Settings, StoreSettings, plain_model,
};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::tell;
use crate::project;
use tools::disabled_tools;

pub(crate) use agents::{
    TERMINAL, asked_settings, bindings, load_agent, load_config, meant_agent, named_settings,
    session_settings, terminal_agent,
};
pub(crate) use executed::{TrustedFolders, exposed_executables};
pub(crate) use find::{ModelChoice, ModelLookup, find};
pub(crate) use folders::{enter_folder, session_folder};
pub(crate) use ollama::OllamaModels;
pub(crate) use program_runtime::ProgramRuntime;
pub(crate) use search::search_parts;
pub(crate) use tools::{built_in, granted_to, toolbox};

/// Loads the config as it holds for the default agent, and tells of what a person
/// should know about it.
pub(crate) fn load(home: &RectoHome, flags: Vec<ConfigFlag>) -> CliResult<Settings> {
    Ok(load_config(home, flags)?.settings)
}

/// Loads the config with its warnings and origins.
pub(crate) fn load_all(home: &RectoHome, flags: Vec<ConfigFlag>) -> CliResult<LoadedConfig> {
    let loaded = config::load(&sources(home, flags)).map_err(|problems| {
        let failure = CliFailure::new(format!("the config can't be used\n\n{problems}"));
        let in_file =
            problems.iter().any(|problem| matches!(problem.place, SettingOrigin::File { .. }));
        match in_file {
            true => failure.hint(format!("edit {}", home.path().join("config.toml").display())),
            false => failure,
        }
    });
    let mut config = loaded?;
    apply_work_folder(home, &mut config);
    Ok(config)
}

/// Lets the agents work where the run was told to, or else in the project that they stand in.
pub(crate) fn apply_work_folder(home: &RectoHome, config: &mut LoadedConfig) {
    match home.workspace() {
        Some(workspace) => {
            for settings in config.agents_mut() {
                settings.has_given_workspace = true;
                settings.agent.workspace = workspace.to_path_buf();
            }
        }
        None => project::apply_answered(home, config),
    }
}

/// Collects all that the config is made of: files, environment and flags.
pub(crate) fn sources(home: &RectoHome, flags: Vec<ConfigFlag>) -> ConfigSources {
    ConfigSources {
        user_home: home.user().map(Into::into),
        environment: env::vars_os().collect(),
        flags,
        check_model,
        ..ConfigSources::new(home.path())
    }
}

/// Whether a model's mode settings agree with each other.
fn check_model(model: &ModelSettings) -> ModelVerdict {
    match resolve_mode(model) {
        Err(contradiction) => ModelVerdict::Refuse(contradiction.to_string()),
        Ok(ResolvedMode { pair_wins_over_auto: true, .. }) => ModelVerdict::Warn(
            "`context_mode = \"auto\"` has no effect beside the older settings, which win".into(),
        ),
        Ok(_) => ModelVerdict::Fine,
    }
}

pub(crate) fn resolve_mode(model: &ModelSettings) -> Result<ResolvedMode, mode::ModeContradiction> {
    let pair = OlderPair {
        tool_turn_context: model.tool_turn_context.as_ref().map(|placed| placed.value),
        minimal_system: model.minimal_system.as_ref().map(|placed| placed.value),
    };
    let context_mode = model.context_mode.as_ref().map(|placed| placed.value);
    mode::resolve(context_mode, pair)
}

/// Reads the agent's files as they are now.
pub(crate) fn read_workspace(settings: &Settings) -> CliResult<Arc<WorkspaceSnapshot>> {
    let workspace = Workspace::new(workspace_options(settings));
    runtime()?.block_on(async {
        let snapshot = workspace.catalog().await;
        if !snapshot.has_rival_skills() {
            return Ok(snapshot);
        }
        workspace.replace_skill_owners(skill_owners(settings).await);
        Ok(workspace.catalog().await)
    })
}

/// The folders that the names of skills belong to, as far as the store can be read: whoever needs
/// more of it says why not.
async fn skill_owners(settings: &Settings) -> BTreeMap<String, ContentHash> {
    let store = has_store(settings).then(|| readable_store(settings));
    let Some(Ok(store)) = store else { return BTreeMap::new() };
    let known = store.trusted(&settings.agent.name).await.unwrap_or_default();
    TrustRecords::new(known).name_owners()
}

/// The catalog of all that the agent can use: its files, the tools that Recto brings along, and
/// those of MCP servers as far as they are known. No server is started for it.
pub(crate) fn whole_catalog(
    home: &RectoHome,
    settings: &Settings,
    snapshot: &WorkspaceSnapshot,
) -> Catalog {
    let mut catalog = declared_catalog(home, settings, snapshot);
    let flawed = find_flawed_tools(&catalog);
    remove_flawed(&mut catalog, &flawed);
    catalog
}

/// The same with the tools that can't be run as their skills declare them.
pub(crate) fn declared_catalog(
    home: &RectoHome,
    settings: &Settings,
    snapshot: &WorkspaceSnapshot,
) -> Catalog {
    let tools = toolbox(home, settings);
    let mut catalog = snapshot.catalog.clone();
    remove_disabled(&mut catalog, &settings.tools.disabled);
    let built_in = built_in(&tools, settings);
    let others = other_agents(&snapshot.sub_agents, &settings.agent.name);
    add_tools(&mut catalog, &built_in, &others, &tools.servers().tools());
    catalog
}

/// Reads what the agent's owner sees of its memories in a new session.
pub(crate) async fn remembered(settings: &Settings) -> Arc<MemoryView> {
    let today = Zoned::now().date();
    memory_files(settings).read(&owner(settings), Horizon::Recent(today)).await
}

/// Tells a person what is wrong with files of the workspace.
pub(crate) fn tell_problems(problems: &[WorkspaceProblem]) {
    for problem in problems {
        tell(&problem_line(problem));
    }
}

fn workspace_options(settings: &Settings) -> WorkspaceOptions {
    WorkspaceOptions {
        workspace: settings.agent.workspace.clone(),
        project: settings.project.clone(),
        skills_directory: settings.skills.directory.clone(),
        extra_skill_dirs: settings.skills.extra_dirs.clone(),
        skill_owners: BTreeMap::new(),
        disabled_skills: settings.skills.disabled.iter().cloned().collect(),
        overrides: overrides(&settings.items),
        kind_includes: kind_includes(settings),
        always_tokens: always_tokens(settings),
        reload: settings.reload,
        search_path: env::var_os("PATH"),
    }
}

/// When the agent's items are included, as the config has it now.
pub(crate) fn include_settings(home: &RectoHome, settings: &Settings) -> IncludeSettings {
    IncludeSettings {
        overrides: overrides(&settings.items),
        kind_includes: kind_includes(settings),
        built_in: built_in(&toolbox(home, settings), settings),
        servers: tools::server_includes(settings),
    }
}

fn kind_includes(settings: &Settings) -> BTreeMap<ItemKind, IncludeMode> {
    let kinds = settings.item_kinds.iter();
    kinds.filter_map(|kind| Some((kind.kind, kind.include?))).collect()
}

/// What skills of which nothing is said may cost together. No limit where bodies are not shown,
/// where nothing would bring them, and where the page has another system's form.
fn always_tokens(settings: &Settings) -> Option<Tokens> {
    let preset = settings.context.preset;
    let render = settings.skills.render.unwrap_or(preset.layout().skills);
    let holds = preset == LayoutPreset::Recto && render == SkillRender::Full;
    (holds && settings.search.enabled).then(|| Tokens::new(settings.skills.always_tokens))
}

fn overrides(items: &[ItemSettings]) -> BTreeMap<(ItemKind, String), Override> {
    let settings = |item: &ItemSettings| Override {
        include: item.include,
        priority: item.priority.and_then(|value| Priority::new(value.try_into().ok()?)),
    };
    items.iter().map(|item| ((item.kind, item.name.clone()), settings(item))).collect()
}

/// The settings with a model to ask: one of the config, or one that is found.
pub(crate) async fn with_model(mut settings: Settings, name: Option<&str>) -> CliResult<Settings> {
    let name = name.map(str::to_owned).or_else(|| settings.model.clone());
    let choice = find(&mut settings, name.as_deref()).await;
    match choice.entry {
        Some(_) => Ok(settings),
        None => Err(choice.failure(name.as_deref(), &settings)),
    }
}

/// The entry that answers, or a stand-in of which nothing is known.
pub(crate) fn chosen_model(settings: &Settings) -> CliResult<ModelEntry> {
    match settings.chosen_model() {
        Some(model) => ready_entry(settings, model),
        None => stand_in_entry(settings),
    }
}

/// The entry whose page is told of where none is asked: the one that answers, as far as the config
/// alone says it.
pub(crate) fn page_model(settings: &Settings) -> CliResult<ModelEntry> {
    match settings.chosen_model().map(|model| entry(settings, model)) {
        Some(Ok(known)) => Ok(known),
        // Asking the model says what is wrong with it.
        Some(Err(_)) | None => stand_in_entry(settings),
    }
}

/// A stand-in for a model of which nothing is known.
fn stand_in_entry(settings: &Settings) -> CliResult<ModelEntry> {
    let mut stand_in = plain_model("none", Provider::Scripted, "none")
        .ok_or_else(|| CliFailure::new("no stand-in for a model can be made"))?;
    stand_in.chosen = "no model was found".into();
    entry(settings, &stand_in)
}

/// The entry of that name.
pub(crate) fn model_entry(settings: &Settings, name: &str) -> CliResult<ModelEntry> {
    if let Some(model) = settings.models.iter().find(|model| model.name == name) {
        return ready_entry(settings, model);
    }
    let names = settings.models.iter().map(|model| model.name.as_str());
    let otherwise = "`recto models list` lists those of the config";
    let failure = CliFailure::no_such("model", name);
    Err(failure.hint_nearest(name, names, otherwise))
}

/// An entry that is about to be asked: a file of answers that is not there is told at once.
fn ready_entry(settings: &Settings, model: &ModelSettings) -> CliResult<ModelEntry> {
    let entry = entry(settings, model)?;
    entry.client.check_script()?;
    Ok(entry)
}

/// What is wrong with files of answers, each under the name of its model.
pub(crate) fn script_problems(settings: &Settings) -> Vec<(String, CliFailure)> {
    let scripted = settings.models.iter().filter(|model| model.provider == Provider::Scripted);
    let problem = |model: &ModelSettings| {
        let checked = entry(settings, model).and_then(|entry| Ok(entry.client.check_script()?));
        checked.err().map(|failure| (model.name.clone(), failure))
    };
    scripted.filter_map(problem).collect()
}

/// All entries, the one that answers first, which has to be ready.
pub(crate) fn model_entries(settings: &Settings) -> CliResult<Vec<ModelEntry>> {
    let chosen = settings.chosen_model().map(|model| &model.name);
    let mut models: Vec<&ModelSettings> = settings.models.iter().collect();
    models.sort_by_key(|model| Some(&model.name) != chosen);
    let entries = models.into_iter().map(|model| match Some(&model.name) == chosen {
        true => ready_entry(settings, model),
        false => entry(settings, model),
    });
    entries.collect()
}

fn entry(settings: &Settings, model: &ModelSettings) -> CliResult<ModelEntry> {
    let mut options = ClientOptions::new(model.provider);
    options.base_url = model.base_url.clone();
    options.api_key = api_key(model)?;
    options.script = model.script.clone();
    options.file = model_file(settings, model);
    options.limits.first_byte = model.time_limit;
    options.limits.idle = options.limits.idle.min(model.time_limit);
    let client = ModelClient::new(options)?;
    let template = client.template();
    Ok(ModelEntry {
        name: model.name.as_str().into(),
        chosen: model.chosen.clone(),
        client,
        layout: layout(settings, model, template.as_deref()),
        call: CallOptions {
            model: model.model.clone(),
            temperature: model.temperature,
            top_p: model.top_p,
            template,
            ..CallOptions::default()
        },
        window: model.window.map(Tokens::new),
        // The config was checked: what contradicts itself has been refused.
        mode: resolve_mode(model).map_or_else(|_| ModeSetting::default(), |known| known.setting),
        uncertain: model.auto_uncertain,
        limits: limits(settings, model),
        images: match model.images {
            Some(true) => FeatureSupport::Yes,
            Some(false) => FeatureSupport::No,
            None => FeatureSupport::Unknown,
        },
    })
}

/// The file of an embedded model: the one that the config names, or the one that
/// was pulled by that name. Where there is none, asking the model says so.
fn model_file(settings: &Settings, model: &ModelSettings) -> Option<PathBuf> {
    if model.provider != Provider::Embedded {
        return None;
    }
    let pulled = || Library::new(&settings.model_files).find(&model.model);
    let file = |pulled: recto_models::InstalledModel| Some(pulled.files.into_iter().next()?.path);
    // One that was not pulled is missed where a pull would put it.
    let missed = || settings.model_files.join(&model.model);
    Some(model.file.clone().or_else(|| pulled().and_then(file)).unwrap_or_else(missed))
}

/// The key out of the variable that the config names.
fn api_key(model: &ModelSettings) -> CliResult<Option<ApiKey>> {
    let Some(variable) = &model.api_key_env else { return Ok(None) };
    match env::var(variable) {
        Ok(key) => Ok(Some(ApiKey::from_variable(variable, Some(&key)))),
        Err(env::VarError::NotPresent) => Ok(Some(ApiKey::from_variable(variable, None))),
        Err(env::VarError::NotUnicode(_)) => {
            Err(CliFailure::new(format!("the key in the variable `{variable}` is no text")))
        }
    }
}

/// Starts the threads on which everything that waits is done.
pub(crate) fn runtime() -> CliResult<ProgramRuntime> {
    ProgramRuntime::start()
}

/// Ends an agent and its runtime. What still runs is parked for the next start: whoever
/// wanted to wait for it has done so.
pub(crate) fn shut_down(runtime: ProgramRuntime, agent: Agent) {
    runtime.block_on(agent.shutdown(Duration::ZERO));
    drop(agent);
    drop(runtime);
}

/// Opens the store, as it was left.
pub(crate) fn store(settings: &Settings) -> CliResult<Store> {
    Ok(Store::open(&store_options(&settings.store)?)?)
}

/// Opens the store for whoever only looks at it: one that can't be written is read as it is.
pub(crate) fn readable_store(settings: &Settings) -> CliResult<Store> {
    let options = store_options(&settings.store)?;
    match Store::open(&options) {
        Err(
            unwritable @ (StoreError::ReadOnly { .. }
            | StoreError::Full { .. }
            | StoreError::Io { .. }),
        ) => match Store::open_to_read(&options) {
            Ok(store) => {
                tell(&format_args!("note: {unwritable}; it is read as it is"));
                Ok(store)
            }
            Err(unreadable @ StoreError::NotReadable { .. }) => Err(unreadable.into()),
            Err(_) => Err(unwritable.into()),
        },
        opened => Ok(opened?),
    }
}

/// Where the store is that the config names.
pub(crate) fn store_options(settings: &StoreSettings) -> CliResult<StoreOptions> {
    match &settings.url {
        Some(url) => server_options(settings, url),
        None => Ok(StoreOptions::new(&settings.path)),
    }
}

/// The store in a database on a server, with the password out of the variable that the config
/// names.
pub(crate) fn server_options(settings: &StoreSettings, url: &str) -> CliResult<StoreOptions> {
    let refused = |error: PostgresUrlError| {
        CliFailure::new(format!("the address of the database can't be used: {error}"))
    };
    let mut url: PostgresUrl = url.parse().map_err(refused)?;
    if let Some(variable) = &settings.password_env {
        let password = env::var(variable).map_err(|_| {
            let what = format!("the variable `{variable}` has no password for the database");
            CliFailure::new(what).hint("set it, or change `store.password_env`")
        })?;
        url = url.with_password(password);
    }
    let folder = settings.path.parent().unwrap_or(Path::new(""));
    let lease = Duration::from_secs(u64::from(settings.lease_seconds));
    Ok(StoreOptions { lease, ..StoreOptions::on_server(url, folder) })
}

/// Whether there is a store, as far as can be told without making one.
pub(crate) fn has_store(settings: &Settings) -> bool {
    settings.store.url.is_some() || settings.store.path.exists()
}

/// The store, for a search that keeps its vectors there: it only spares the next one
/// work, so one that can't be opened is told of, and a home that is not there yet gets
/// none.
pub(crate) fn store_for_vectors(home: &RectoHome, settings: &Settings) -> Option<Store> {
    let open = || store(settings).map_err(|failure| tell(&failure)).ok();
    home.path().is_dir().then(open).flatten()
}

/// Opens the store, and closes everything that a killed process left half done.
pub(crate) async fn settled_store(settings: &Settings) -> CliResult<Store> {
    let store = store(settings)?;
    recto_agent::settle_open_turns(&store).await?;
    Ok(store)
}

/// The same for whoever only looks at it. In one that can't be written nothing is closed.
pub(crate) async fn settled_store_to_read(settings: &Settings) -> CliResult<Store> {
    let store = readable_store(settings)?;
    if !store.is_read_only() {
        recto_agent::settle_open_turns(&store).await?;
    }
    Ok(store)
}

/// Makes the agent. Nothing that other processes left is taken up yet.
pub(crate) fn idle_agent(home: &RectoHome, settings: &Settings, store: Store) -> CliResult<Agent> {
    Ok(Agent::idle(parts(home, settings, store)?))
}

fn parts(home: &RectoHome, settings: &Settings, store: Store) -> CliResult<AgentParts> {
    let tools = toolbox(home, settings);
    Ok(AgentParts {
        options: AgentOptions {
            name: settings.agent.name.as_str().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            workspace: settings.work_folder().to_string_lossy().into(),
            folder: session_folder(settings),
            max_rounds: settings.tools.max_rounds,
            window_cap: Tokens::new(settings.window_cap),
            built_in: built_in(&tools, settings),
            approval_expires: settings.tools.approval_expires,
            approval_wait: settings.tools.approval_wait,
            disabled_tools: settings.tools.disabled.clone(),
            configured_items: match settings.other_workspaces.is_empty() {
                true => configured_items(home, &tools, settings),
                // What is set for all agents may be there for another one.
                false => ConfiguredItems::default(),
            },
            compaction: settings.history.compaction,
            session_files: settings.sessions.markdown.clone(),
            recovery_interval: AgentOptions::RECOVERY_INTERVAL,
            chat_surfaces: recto_channels::CHAT_SURFACES.to_vec(),
            delegation: delegation_limits(settings),
        },
        models: model_entries(settings)?,
        workspace: Workspace::new(workspace_options(settings)),
        tools,
        search: search_parts(settings),
        memory: memory_files(settings),
        store,
    })
}

fn delegation_limits(settings: &Settings) -> DelegationLimits {
    let DelegateSettings { context, max_depth, max_tasks, time_limit } = settings.delegate;
    DelegationLimits { context, max_depth, max_tasks, time_limit }
}

/// The items that the config speaks of, but for those of projects: they are there for whoever
/// stands in theirs.
fn configured_items(home: &RectoHome, tools: &Toolbox, settings: &Settings) -> ConfiguredItems {
    let named = |setting, kind, name: &str| ConfiguredItem { kind, name: name.to_owned(), setting };
    let own = settings.items.iter().map(|it| named(ItemSetting::Own, it.kind, &it.name));
    let tools = disabled_tools(tools, settings).map(|it| (ItemKind::Tool, it));
    let skills = settings.skills.disabled.iter().map(|it| (ItemKind::Skill, it));
    let disabled = tools.chain(skills).map(|(kind, it)| named(ItemSetting::Disabled, kind, it));
    let projects = project::ProjectAnswers::load(home);
    let all = own.chain(disabled).filter(|item| !projects.have_item(item.kind, &item.name));
    ConfiguredItems(all.collect())
}

/// Finds the items that the config speaks of and that none of its agents has.
pub(crate) fn unknown_items(home: &RectoHome, agents: &[&Settings]) -> CliResult<Vec<UnknownItem>> {
    let mut unknown: Vec<UnknownItem> = Vec::new();
    let mut there: HashSet<ConfiguredItem> = HashSet::new();
    for settings in agents {
        let snapshot = read_workspace(settings)?;
        let catalog = whole_catalog(home, settings, &snapshot);
        let configured = configured_items(home, &toolbox(home, settings), settings);
        let lacks = configured.find_unknown(&catalog, &snapshot, &settings.tools.disabled);
        let is_lacking = |item: &ConfiguredItem| lacks.iter().any(|unknown| unknown.item == *item);
        there.extend(configured.0.iter().filter(|item| !is_lacking(item)).cloned());
        for lacking in lacks {
            if unknown.iter().all(|known| known.item != lacking.item) {
                unknown.push(lacking);
            }
        }
    }
    unknown.retain(|unknown| !there.contains(&unknown.item));
    Ok(unknown)
}

/// The files of what the agent remembers.
pub(crate) fn memory_files(settings: &Settings) -> MemoryFiles {
    MemoryFiles::new(&settings.agent.workspace)
}

/// The search for items that fit a message, with the vectors that a store has kept.
pub(crate) fn searcher(settings: &Settings, store: Option<Store>) -> Searcher {
    Searcher::new(search_parts(settings), store, &settings.agent.name)
}

/// The agent's memories: in its files, and in the sessions of a store.
pub(crate) fn memories(
    settings: &Settings,
    searcher: &Searcher,
    store: Option<Store>,
) -> AgentMemories {
    let agent = settings.agent.name.as_str().into();
    AgentMemories::new(&agent, memory_files(settings), searcher, store)
}

/// What the owner used before in messages like this one, as a store has it.
pub(crate) async fn earlier_uses(
    settings: &Settings,
    searcher: &Searcher,
    store: Option<Store>,
    message: &SearchMessage,
) -> UseEvidence {
    let Some(store) = store else { return UseEvidence::default() };
    let record = UseRecord::new(&settings.agent.name.as_str().into(), store, searcher);
    record.weigh_query(&actor(), message, SearchPatience::UntilDone).await
}

/// Whoever runs Recto on this machine: the agent's owner, under their name here.
pub(crate) fn actor() -> Actor {
    let name = env::var("USER").unwrap_or_default();
    Actor::owner(if name.trim().is_empty() { Audience::OWNER } else { &name })
}

/// The agent's owner, in private and in no conversation.
pub(crate) fn owner(settings: &Settings) -> Audience {
    Audience::owner(settings.agent.name.as_str())
}

/// The preset's layout, with what the config says otherwise. The template is that
/// of a model whose prompts Recto writes itself.
fn layout(
    settings: &Settings,
    model: &ModelSettings,
    template: Option<&ChatTemplate>,
) -> PageLayout {
    let preset = settings.context.preset.layout();
    PageLayout {
        preset: settings.context.preset,
        picks: settings.context.picks.unwrap_or(preset.picks),
        skills: settings.skills.render.unwrap_or(preset.skills),
        system_messages: model.system_messages.unwrap_or(preset.system_messages),
        pick_messages: model.pick_messages.unwrap_or(preset.pick_messages),
        tool_calls: tool_calls(model, template),
        // Known only where an image is about to be sent.
        images: preset.images,
    }
}

/// Tools stand on the page where nothing else would carry them: a template that
/// knows none would leave them out.
fn tool_calls(model: &ModelSettings, template: Option<&ChatTemplate>) -> ToolCalls {
    let by_template = || match template.and_then(ChatTemplate::call_style) {
        Some(_) => ToolCalls::Native,
        None => ToolCalls::Text,
    };
    match (model.tool_calls, model.provider) {
        (Some(set), _) => set,
        (None, Provider::Embedded) => by_template(),
        (None, _) => ToolCalls::Native,
    }
}

fn limits(settings: &Settings, model: &ModelSettings) -> ContextLimits {
    ContextLimits {
        minimal_history: model.minimal_history as usize,
        reply: Tokens::new(model.max_output_tokens),
        ..page_limits(settings)
    }
}

/// The limits of a page that are the same for all models.
fn page_limits(settings: &Settings) -> ContextLimits {
    ContextLimits {
        history_messages: settings.history.max_messages as usize,
        history_tokens: Tokens::new(settings.history.max_tokens),
        channel_messages: settings.history.channel_max_messages as usize,
        channel_context_tokens: Tokens::new(settings.history.channel_context_tokens),
        summary_tokens: Tokens::new(settings.history.summary_tokens),
        memory_entries: settings.memory.max_entries as usize,
        memory_tokens: Tokens::new(settings.memory.max_tokens),
        skill_list_tokens: Tokens::new(settings.skills.list_tokens),
        list_lines: settings.search.list_lines as usize,
        list_tokens: Tokens::new(settings.search.list_tokens),
        target: settings.context.target_tokens.map(Tokens::new),
        margin: Tokens::ZERO,
        ..ContextLimits::default()
    }
}
