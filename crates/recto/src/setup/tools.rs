//! What the tools are given: what they may reach, when a person is asked, what
//! skills were granted, and the MCP servers.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use recto_agent::{delegate_tool, memory_tools, schedule_tool};
use recto_context::{IncludeMode, ItemKind, ToolSpec, reading_tools};
use recto_tools::{
    CallLimits, Grants, NetworkAccess, ProgramOptions, ProtectedPath, ScriptPolicy, ServerIncludes,
    ServerKey, ServerOptions, ServerSandbox, ServerTransport, ToolOptions, ToolPolicy, Toolbox,
    own_executable,
};

use super::executed::kept_from_tools;

use crate::config::{
    GrantSettings, ItemSettings, ServerSandboxSettings, ServerSettings, Settings, TransportSettings,
};
use crate::home::RectoHome;
use crate::project::{ProjectAnswers, answers_file};

/// What is locked in a workspace while memories are written.
const MEMORY_LOCK: &str = "memory/.lock";

/// The tools of the agent: those that Recto brings along, those of skills and
/// those of MCP servers.
pub(crate) fn toolbox(home: &RectoHome, settings: &Settings) -> Toolbox {
    Toolbox::new(tool_options(home, settings))
}

/// The built-in tools that the agent has, as the config wants them included.
pub(crate) fn built_in(tools: &Toolbox, settings: &Settings) -> Vec<ToolSpec> {
    let is_on =
        |spec: &ToolSpec| !settings.tools.disabled.iter().any(|name| **name == *spec.id.name);
    let all =
        all_built_in(tools).filter(|spec| settings.tools.schedule || spec.id != schedule_tool().id);
    let mut specs: Vec<ToolSpec> = all.filter(is_on).collect();
    for spec in &mut specs {
        let own = |item: &&ItemSettings| item.kind == ItemKind::Tool && *item.name == *spec.id.name;
        let include = settings.items.iter().find(own).and_then(|item| item.include);
        let include = include.or(settings.kind_include(ItemKind::Tool));
        spec.include = include.unwrap_or(spec.include);
    }
    specs
}

/// The disabled tools that may be slips of the pen: neither built-in ones, nor those of MCP servers,
/// which keep theirs to themselves.
pub(super) fn disabled_tools<'s>(
    tools: &Toolbox,
    settings: &'s Settings,
) -> impl Iterator<Item = &'s String> {
    let reading = reading_tools().into_iter().cloned();
    let built_in: Vec<ToolSpec> = all_built_in(tools).chain(reading).collect();
    let is_of_server = |name: &str| {
        let server = name.split_once('.').map(|(server, _)| server);
        server.is_some_and(|server| settings.servers.iter().any(|known| known.name == server))
    };
    settings.tools.disabled.iter().filter(move |name| {
        !is_of_server(name) && built_in.iter().all(|spec| *spec.id.name != ***name)
    })
}

/// The built-in tools that there are.
fn all_built_in(tools: &Toolbox) -> impl Iterator<Item = ToolSpec> {
    tools.specs().into_iter().chain(memory_tools()).chain([delegate_tool(), schedule_tool()])
}

fn tool_options(home: &RectoHome, settings: &Settings) -> ToolOptions {
    let (cache, logs) = (home.path().join("cache"), home.path().join("logs"));
    ToolOptions {
        workspace: settings.work_folder().clone(),
        protected: protected(home, settings)
            .into_iter()
            .chain([cache.clone(), logs.clone()])
            .map(ProtectedPath::from)
            .chain(kept_from_tools(settings))
            .collect(),
        locks: memory_locks(settings),
        limits: CallLimits {
            max_output_bytes: settings.tools.max_output_bytes as usize,
            time_limit: settings.tools.time_limit,
        },
        policy: policy(settings),
        programs: ProgramOptions {
            launcher: own_executable(),
            search_path: env::var_os("PATH"),
            sandbox: settings.tools.sandbox,
            scripts: match settings.skills.allow_scripts {
                true => ScriptPolicy::Allowed,
                false => ScriptPolicy::Refused,
            },
            grants: grants(settings),
            skill_folders: skill_folders(settings)
                .filter(|folder| folder.starts_with(settings.work_folder()))
                .cloned()
                .collect(),
        },
        servers: servers(settings),
        server_cache: Some(cache.join("mcp")),
        server_logs: Some(logs),
    }
}

/// Lists what no tool may write, whatever it was granted. A workspace inside one of
/// these folders would be out of reach altogether, so the folder does not count.
fn protected(home: &RectoHome, settings: &Settings) -> Vec<PathBuf> {
    let workspace = settings.work_folder();
    let store = &settings.store.path;
    let data = store.parent().filter(|folder| !workspace.starts_with(folder));
    // File tools may write into a skill in the workspace where a person allows it.
    let skills = skill_folders(settings).filter(|folder| !folder.starts_with(workspace));
    let own =
        [home.path().join("config.toml"), answers_file(home), data.unwrap_or(store).to_owned()];
    // What one agent writes must not decide what another one is.
    let others = settings.other_workspaces.iter().chain([&settings.agent.workspace]);
    let others = others.filter(|other| !workspace.starts_with(other));
    // Its own project is guarded where it stands.
    let projects = ProjectAnswers::load(home).guarded_paths(workspace);
    own.into_iter().chain(skills.cloned()).chain(others.cloned()).chain(projects).collect()
}

/// What is locked while memories are written, of every agent that has a workspace by now.
fn memory_locks(settings: &Settings) -> Vec<PathBuf> {
    let workspaces = settings.other_workspaces.iter().chain([&settings.agent.workspace]);
    let made = workspaces.filter(|workspace| workspace.is_dir());
    made.map(|workspace| workspace.join(MEMORY_LOCK)).collect()
}

/// The folders where skills are kept, but for one that has the whole workspace in it.
fn skill_folders(settings: &Settings) -> impl Iterator<Item = &PathBuf> {
    let folders = [&settings.skills.directory].into_iter().chain(&settings.skills.extra_dirs);
    folders.filter(|folder| !settings.work_folder().starts_with(folder))
}

/// The policy of when a person is asked before a tool runs.
fn policy(settings: &Settings) -> ToolPolicy {
    let of_kind = |kind: ItemKind| {
        let items = settings.items.iter().filter(move |item| item.kind == kind);
        items.filter_map(|item| Some((item.name.clone(), item.permission?)))
    };
    let servers = settings.servers.iter();
    ToolPolicy {
        approval: settings.tools.approval,
        tools: of_kind(ItemKind::Tool).collect(),
        skills: of_kind(ItemKind::Skill).collect(),
        servers: servers.filter_map(|it| Some((it.name.clone(), it.permission?))).collect(),
    }
}

fn grants(settings: &Settings) -> BTreeMap<String, Grants> {
    let skills = settings.items.iter().filter(|item| item.kind == ItemKind::Skill);
    let granted = skills.filter(|item| item.grants != GrantSettings::default());
    granted.map(|item| (item.name.clone(), granted_to(&item.grants))).collect()
}

/// What a skill is given by these settings.
pub(crate) fn granted_to(grants: &GrantSettings) -> Grants {
    Grants {
        read: grants.read.clone(),
        write: grants.write.clone(),
        network: if grants.network { NetworkAccess::Granted } else { NetworkAccess::Refused },
        environment: grants.env.iter().map(|name| (name.clone(), env::var(name).ok())).collect(),
    }
}

/// The MCP servers that are on.
fn servers(settings: &Settings) -> Vec<ServerOptions> {
    let on = settings.servers.iter().filter(|server| server.enabled);
    on.map(|server| server_options(server, settings)).collect()
}

/// How the tools of each MCP server come into a session.
pub(crate) fn server_includes(settings: &Settings) -> BTreeMap<String, ServerIncludes> {
    servers(settings).into_iter().map(|server| (server.name, server.includes)).collect()
}

fn server_options(server: &ServerSettings, settings: &Settings) -> ServerOptions {
    // No name of a server has a dot, so the first one ends it.
    let own = |name: &str| match name.split_once('.') {
        Some((of, tool)) if of == server.name => Some(tool.to_owned()),
        _ => None,
    };
    let tools = settings.items.iter().filter(|item| item.kind == ItemKind::Tool);
    let include = |item: &ItemSettings| -> Option<(String, IncludeMode)> {
        Some((own(&item.name)?, item.include?))
    };
    ServerOptions {
        name: server.name.clone(),
        transport: transport(&server.transport),
        includes: ServerIncludes {
            include: settings.server_include(server),
            is_set: server.include.is_some(),
            tools: tools.filter_map(include).collect(),
        },
        disabled_tools: settings.tools.disabled.iter().filter_map(|name| own(name)).collect(),
        start_limit: server.start_limit,
        time_limit: server.time_limit,
    }
}

fn transport(transport: &TransportSettings) -> ServerTransport {
    match transport {
        TransportSettings::Program { command, args, env, pass_env, working_dir, sandbox } => {
            let mut environment = passed_on(pass_env);
            environment.retain(|(name, _)| env.iter().all(|(own, _)| own != name));
            environment.extend(env.iter().cloned());
            ServerTransport::Stdio {
                program: command.clone(),
                arguments: args.clone(),
                environment,
                working_dir: working_dir.clone(),
                sandbox: sandbox.sandbox.then(|| server_sandbox(sandbox)),
            }
        }
        TransportSettings::Address { url, api_key_env } => ServerTransport::Http {
            url: url.clone(),
            key: api_key_env.as_deref().and_then(variable).map(ServerKey::new),
        },
    }
}

fn server_sandbox(sandbox: &ServerSandboxSettings) -> ServerSandbox {
    ServerSandbox {
        read: sandbox.read.clone(),
        write: sandbox.write.clone(),
        network: if sandbox.network { NetworkAccess::Granted } else { NetworkAccess::Refused },
        protected: Vec::new(),
        locks: Vec::new(),
    }
}

/// The variables of these names that are set, with their values.
fn passed_on(names: &[String]) -> Vec<(String, String)> {
    names.iter().filter_map(|name| Some((name.clone(), env::var(name).ok()?))).collect()
}

/// The key in a variable, if there is one.
fn variable(name: &str) -> Option<String> {
    let value = env::var(name).ok()?;
    let key = value.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use recto_tools::ToolPermission;

    use super::*;
    use crate::config::{ConfigSources, load_text};

    fn options(text: &str) -> ToolOptions {
        let settings = load_text(text, &ConfigSources::new("/r")).unwrap().settings;
        let home = RectoHome::find(Some(Path::new("/r")), None).unwrap();
        tool_options(&home, &settings)
    }

    #[test]
    fn permissions_of_tools_skills_and_servers_become_one_policy() {
        let options = options(
            "tools.approval = 'always'\n[items.tool.\"a.b\"]\npermission = 'allow'\n\
             [items.tool.write_file]\npermission = 'ask'\n[items.skill.s]\npermission = 'allow'\n\
             [mcp.m]\ncommand = 'x'\npermission = 'allow'\n",
        );
        let tools: Vec<_> = options.policy.tools.into_iter().collect();
        let expected = [("a.b", ToolPermission::Allow), ("write_file", ToolPermission::Ask)];
        assert_eq!(tools, expected.map(|(name, permission)| (name.to_owned(), permission)));
        // A skill and a server of one name are two.
        assert_eq!(options.policy.skills.into_keys().collect::<Vec<_>>(), ["s"]);
        assert_eq!(options.policy.servers.into_keys().collect::<Vec<_>>(), ["m"]);
    }

    #[test]
    fn what_decides_rights_is_protected_but_never_the_whole_workspace() {
        let has =
            |text: &str, path: &str| options(text).protected.contains(&PathBuf::from(path).into());
        for path in ["/r/config.toml", "/r/data", "/r/cache", "/r/logs", "/r/skills"] {
            assert!(has("", path), "{path}");
        }
        assert!(has("store.path = 'recto.db'\n", "/r/recto.db"));
        assert!(!has("store.path = 'recto.db'\n", "/r"));
        assert!(has("skills.extra_dirs = ['/x']\n", "/x"));
        assert!(!has("skills.directory = 'workspace/more'\n", "/r/workspace/more"));
        assert!(!has("skills.directory = '/r'\n", "/r"));
    }

    #[test]
    fn workspaces_of_other_agents_are_protected_unless_this_one_is_inside() {
        let protected = |inner: &str| {
            let text = format!("[agents.a]\n[agents.b]\nworkspace = '{inner}'\n");
            let loaded = load_text(&text, &ConfigSources::new("/r")).unwrap();
            let home = RectoHome::find(Some(Path::new("/r")), None).unwrap();
            let of = |settings: &Settings| tool_options(&home, settings).protected;
            (of(&loaded.settings), of(&loaded.others[0]))
        };
        let (of_a, of_b) = protected("workspace/deep");
        assert!(of_a.contains(&PathBuf::from("/r/workspace/deep").into()));
        assert!(!of_b.contains(&PathBuf::from("/r/workspace").into()));
        let (of_a, of_b) = protected("beside");
        assert!(of_a.contains(&PathBuf::from("/r/beside").into()));
        assert!(of_b.contains(&PathBuf::from("/r/workspace").into()));
    }

    #[test]
    fn folders_of_skills_in_the_workspace_are_closed_to_programs() {
        let folders = |text: &str| options(text).programs.skill_folders;
        let inside = "skills.directory = 'workspace/more'\n\
                      skills.extra_dirs = ['/x', '/r/workspace/deep/er', '/r/workspace', '/r']\n";
        let expected = ["/r/workspace/more", "/r/workspace/deep/er"].map(PathBuf::from);
        assert_eq!(folders(inside), expected);
        assert!(folders("").is_empty());
    }

    #[test]
    fn servers_get_the_settings_of_their_own_tools() {
        let options = options(
            "tools.disabled = ['a.one', 'b.two', 'a', 'a.x.y', 'read_file']\n\
             [mcp.a]\ncommand = 'x'\ninclude = 'agent'\n[mcp.b]\nurl = 'http://h'\n\
             [mcp.off]\ncommand = 'x'\nenabled = false\n\
             [items.tool.\"a.three\"]\ninclude = 'manual'\n[items.tool.three]\ninclude = 'always'\n\
             [items.tool.\"a.four\"]\npermission = 'allow'\n",
        );
        let [a, b] = &options.servers[..] else { panic!("one of the three is off") };
        assert_eq!((a.name.as_str(), a.includes.include), ("a", IncludeMode::Agent));
        assert_eq!(a.disabled_tools, ["one", "x.y"]);
        assert_eq!(a.includes.tools, BTreeMap::from([("three".to_owned(), IncludeMode::Manual)]));
        assert_eq!(b.disabled_tools, ["two"]);
        assert_eq!(b.includes.include, IncludeMode::Always);
    }

    #[test]
    fn a_variable_of_the_file_wins_over_one_that_is_passed_on() {
        let options = options(
            "[mcp.a]\ncommand = 'x'\npass_env = ['PATH', 'NO_SUCH_VARIABLE']\nenv.PATH = '/p'\n",
        );
        let ServerTransport::Stdio { environment, working_dir, .. } = &options.servers[0].transport
        else {
            panic!("it is a program")
        };
        assert_eq!(environment, &[("PATH".to_owned(), "/p".to_owned())]);
        assert_eq!(working_dir, &None);
    }

    #[test]
    fn skills_get_what_they_were_granted() {
        let options = options(
            "skills.allow_scripts = true\ntools.sandbox = 'required'\n\
             [items.skill.s]\nnetwork = true\nread = ['/a']\nwrite = ['b']\n\
             env = ['PATH', 'NO_SUCH_VARIABLE']\n[items.skill.t]\ninclude = 'agent'\n",
        );
        assert_eq!(options.programs.scripts, ScriptPolicy::Allowed);
        assert_eq!(options.programs.sandbox, recto_tools::SandboxPolicy::Required);
        assert_eq!(options.programs.grants.len(), 1);
        let granted = &options.programs.grants["s"];
        assert_eq!(granted.network, NetworkAccess::Granted);
        assert_eq!(granted.read, [PathBuf::from("/a")]);
        assert_eq!(granted.write, [PathBuf::from("/r/b")]);
        let names: Vec<&str> = granted.environment.iter().map(|(name, _)| name.as_str()).collect();
        // One that is not set may be another time: it is shown to a person as well.
        assert_eq!(names, ["PATH", "NO_SUCH_VARIABLE"]);
        assert!(granted.environment[0].1.is_some() && granted.environment[1].1.is_none());
    }
}
