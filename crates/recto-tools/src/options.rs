//! The options of tools, programs and MCP servers, as the configuration sets them.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use recto_context::IncludeMode;

use crate::files::linked_places;
use crate::policy::ToolPolicy;
use crate::sandbox::{WHAT_IT_IS, without_links};

/// The options of a toolbox: what tools may reach, and how far a call may go.
#[derive(Debug, Clone, Default)]
pub struct ToolOptions {
    /// The folder that file tools and programs work in. It is opened anew for
    /// every call, so it may come later than the tools.
    pub workspace: PathBuf,
    /// What no tool may write, such as the config file and the store.
    pub protected: Vec<ProtectedPath>,
    /// Absolute paths of files that Recto locks. Whoever can read a file can lock it, and keep its
    /// owner waiting: so programs don't see them.
    pub locks: Vec<PathBuf>,
    /// The limits of every call.
    pub limits: CallLimits,
    /// When a person is asked.
    pub policy: ToolPolicy,
    /// How the programs of skills are run.
    pub programs: ProgramOptions,
    /// The MCP servers that the config sets up.
    pub servers: Vec<ServerOptions>,
    /// The folder where the tool lists of MCP servers are kept between runs.
    pub server_cache: Option<PathBuf>,
    /// The folder where what MCP servers write to stderr is kept.
    pub server_logs: Option<PathBuf>,
}

/// A path that no tool may write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtectedPath {
    /// The absolute path. A folder stands for all that is in it, and a file also for what a database
    /// keeps beside it, such as `recto.db-wal`.
    pub path: PathBuf,
    /// Absolute paths inside it that it does not stand for.
    pub open: Vec<PathBuf>,
}

impl From<PathBuf> for ProtectedPath {
    fn from(path: PathBuf) -> Self {
        ProtectedPath { path, open: Vec::new() }
    }
}

impl ToolOptions {
    /// Tools for this workspace, with the usual limits and nothing protected
    /// besides what always is.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        ToolOptions { workspace: workspace.into(), ..ToolOptions::default() }
    }

    /// The MCP servers, those in a sandbox without the right to write what no tool may.
    pub(crate) fn guarded_servers(&self) -> Vec<ServerOptions> {
        let own = WHAT_IT_IS.iter().map(|name| self.workspace.join(name));
        let own = own.chain(linked_places(&self.workspace));
        let own = own.chain(self.programs.skill_folders.iter().cloned());
        let guarded: Vec<ProtectedPath> =
            self.protected.iter().cloned().chain(own.map(ProtectedPath::from)).collect();
        let mut servers = self.servers.clone();
        for server in &mut servers {
            if let ServerTransport::Stdio { sandbox: Some(sandbox), .. } = &mut server.transport {
                sandbox.protected.extend_from_slice(&guarded);
                sandbox.locks.extend_from_slice(&self.locks);
            }
        }
        servers
    }

    /// What skills, and MCP servers in the sandbox, may write beyond the workspace.
    pub(crate) fn granted_for_writing(&self) -> impl Iterator<Item = &PathBuf> {
        let of_skills = self.programs.grants.values().flat_map(|grants| &grants.write);
        let of_servers = self.servers.iter().flat_map(|server| match &server.transport {
            ServerTransport::Stdio { sandbox: Some(sandbox), .. } => sandbox.write.as_slice(),
            _ => &[],
        });
        of_skills.chain(of_servers)
    }

    /// Where the programs of MCP servers are searched, and where they search themselves: not where
    /// tools can write. They are not confined, so nothing that a tool has put there may be run.
    pub(crate) fn server_search_path(&self) -> Option<OsString> {
        let folders = [&self.workspace].into_iter().chain(self.granted_for_writing());
        let writable: Vec<PathBuf> = folders.map(|path| without_links(path)).collect();
        let is_safe = |folder: &PathBuf| {
            let folder = without_links(folder);
            !writable.iter().any(|writable| folder.starts_with(writable))
        };
        let path = self.programs.search_path.as_ref()?;
        let folders =
            env::split_paths(path).filter(|folder| folder.is_absolute() && is_safe(folder));
        env::join_paths(folders).ok()
    }
}

/// The limits of a single call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest text that a call gives back; what is longer is shortened in the middle.
    pub max_output_bytes: usize,
    /// The longest time that a call takes; one that takes longer has failed.
    pub time_limit: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits { max_output_bytes: 64 * 1024, time_limit: Duration::from_secs(30) }
    }
}

/// How the programs of skills are run.
#[derive(Debug, Clone, Default)]
pub struct ProgramOptions {
    /// Recto's own executable, which confines itself and then becomes the
    /// program: see [`own_executable`](crate::own_executable). Without it no program is run.
    pub launcher: Option<PathBuf>,
    /// Where programs are searched, in the form of `PATH`.
    pub search_path: Option<OsString>,
    /// Whether a program may run where not all guards hold.
    pub sandbox: SandboxPolicy,
    /// Whether skills may run their own scripts.
    pub scripts: ScriptPolicy,
    /// What a person granted to skills, by the skill's name.
    pub grants: BTreeMap<String, Grants>,
    /// Folders inside the workspace where skills are kept, besides `skills/`. No
    /// program writes there, whether they hold a skill yet or not; file tools
    /// tell by name what a skill is made of.
    pub skill_folders: Vec<PathBuf>,
}

/// Whether a program may run where not all guards hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxPolicy {
    /// The program runs with the guards there are, and a person is told what is missing.
    #[default]
    BestEffort,
    /// The program does not run.
    Required,
}

/// Whether skills may run their own scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptPolicy {
    /// No skill runs a script of its own.
    #[default]
    Refused,
    /// Skills run the files in their `scripts/`.
    Allowed,
}

/// The rights that a person granted to a skill beyond the workspace.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Paths that its programs may read.
    pub read: Vec<PathBuf>,
    /// Paths that its programs may read and write.
    pub write: Vec<PathBuf>,
    /// Whether its programs may use the network, where the skill asks for it.
    pub network: NetworkAccess,
    /// Variables that its programs get, with their values. One that is not set now may be another
    /// time, so it is a right as well.
    pub environment: Vec<(String, Option<String>)>,
}

impl Grants {
    /// The variables that are set.
    pub(crate) fn set_variables(&self) -> impl Iterator<Item = (&String, &String)> {
        self.environment.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// What was granted, each in a few words, without the values of variables.
    pub fn describe(&self) -> Vec<String> {
        let paths = |verb: &str, paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| format!("{verb} {}", path.display())).collect()
        };
        let names = self.environment.iter().map(|(name, _)| format!("variable {name}"));
        let network = (self.network == NetworkAccess::Granted).then(|| "the network".to_owned());
        let read = paths("reads", &self.read);
        read.into_iter().chain(paths("writes", &self.write)).chain(names).chain(network).collect()
    }
}

/// Without the values of variables: keys are among them.
impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Grants")
            .field("read", &self.read)
            .field("write", &self.write)
            .field("network", &self.network)
            .field("environment", &names)
            .finish()
    }
}

/// Whether a program may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkAccess {
    /// It can open no socket, not even a local one.
    #[default]
    Refused,
    /// It can open internet sockets, but none to local programs.
    Granted,
}

/// The settings of one MCP server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Its name, as people know it.
    pub name: String,
    /// How it is reached.
    pub transport: ServerTransport,
    /// How its tools come into a session, at first.
    pub includes: ServerIncludes,
    /// Tools of it that are left out, by their names.
    pub disabled_tools: Vec<String>,
    /// How long it may take to start.
    pub start_limit: Duration,
    /// How long a call may take.
    pub time_limit: Duration,
}

/// How the tools of one MCP server come into a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIncludes {
    /// All of them, unless the tool is set otherwise.
    pub include: IncludeMode,
    /// Whether that is set for this server, and not for all tools or by nobody.
    pub is_set: bool,
    /// Single tools, by their names.
    pub tools: BTreeMap<String, IncludeMode>,
}

impl Default for ServerIncludes {
    fn default() -> Self {
        ServerIncludes { include: IncludeMode::Always, is_set: false, tools: BTreeMap::new() }
    }
}

/// How an MCP server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program that Recto starts and talks to over its standard streams.
    Stdio {
        /// The program, by path or by its name on the search path.
        program: String,
        /// The arguments that it is started with.
        arguments: Vec<String>,
        /// Variables that it gets beside the few that every program needs.
        environment: Vec<(String, String)>,
        /// The folder that it starts in; without it, one that no tool can write: what
        /// lies in a workspace could make a program run it.
        working_dir: Option<PathBuf>,
        /// What it is confined to; without it, it has the rights of whoever started Recto.
        sandbox: Option<ServerSandbox>,
    },
    /// A server at an address, by Streamable HTTP.
    Http {
        /// The http or https address.
        url: String,
        /// The key that is sent as a bearer token.
        key: Option<ServerKey>,
    },
}

/// Without the values of variables: keys are among them.
impl fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerTransport::Stdio { program, arguments, .. } => f
                .debug_struct("Stdio")
                .field("program", program)
                .field("arguments", arguments)
                .finish_non_exhaustive(),
            ServerTransport::Http { url, key } => {
                f.debug_struct("Http").field("url", url).field("key", key).finish()
            }
        }
    }
}

/// What the program of an MCP server is confined to, beside the system's programs, its own files
/// and a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSandbox {
    /// Paths that it may read.
    pub read: Vec<PathBuf>,
    /// Paths that it may read and write.
    pub write: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: NetworkAccess,
    /// What it may not write all the same. The toolbox adds what no tool may write.
    pub protected: Vec<ProtectedPath>,
    /// Files that it does not see. The toolbox adds what Recto locks.
    pub locks: Vec<PathBuf>,
}

impl ServerSandbox {
    /// What was granted, each in a few words.
    pub(crate) fn describe(&self) -> Vec<String> {
        let ServerSandbox { read, write, network, .. } = self.clone();
        Grants { read, write, network, ..Grants::default() }.describe()
    }
}

/// A secret key that no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerKey(String);

impl ServerKey {
    /// Wraps a key, so that no debug output shows it.
    pub fn new(text: impl Into<String>) -> Self {
        ServerKey(text.into())
    }

    /// The key itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(…)")
    }
}

/// Whether a variable holds something that must not be shown: by its name, or because its value
/// is what keys look like. Others, such as a time zone or an author's name, are what results
/// are about.
pub(crate) fn holds_a_secret(variable: &str, value: &str) -> bool {
    names_a_secret(variable) || looks_like_key(value.trim())
}

/// The shortest value that is taken for a key whatever its variable is called.
const SHORTEST_KEY: usize = 16;

/// Whether a value is one long word of letters and digits, and neither a path, an address
/// without a password, nor the name of a machine or a person's mailbox.
fn looks_like_key(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    let is_word = value.chars().count() >= SHORTEST_KEY
        && !has(char::is_whitespace)
        && has(|c| c.is_ascii_digit())
        && has(char::is_alphabetic);
    let is_path = value.starts_with(['/', '.', '~']);
    let is_address = value.contains("://") && !value.contains(['@', '?']);
    let of_machine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-:".contains(c);
    let is_machine = value.contains('.') && value.chars().all(of_machine);
    let is_mailbox = !value.contains(':')
        && value.split_once('@').is_some_and(|(_, machine)| machine.contains('.'));
    is_word && !is_path && !is_address && !is_machine && !is_mailbox
}

fn names_a_secret(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "COOKIE", "DSN"];
    // An author is nobody's secret.
    words.iter().any(|word| name.contains(word)) && !name.contains("AUTHOR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_told_by_its_variable_or_by_what_it_looks_like() {
        assert!(holds_a_secret("API_TOKEN", "abc") && holds_a_secret("db_password", "x"));
        let keys = [
            "sk-proj-4f9A1c77b2",
            "ghp_16C7e42F292c6912E7",
            "0123456789abcdef0123",
            "postgres://u:hunter2@db.example.org/x",
            "https://h.example/?k=8c1f2e",
            "eyJhbGci0iJI.eyJzdWIi.c2ln",
        ];
        for key in keys {
            assert!(holds_a_secret("LANDING", key), "{key}");
        }
        let shown = [
            "America/Argentina/Buenos_Aires",
            "Ada Lovelace, born 1815",
            "/opt/tools-2/share/data",
            "./out-2026-11-17/report",
            "https://api2.example.org/v1/models",
            "db1.internal.example.org:5432",
            "ada.lovelace1815@example.org",
            "en_US.UTF-8",
            "",
        ];
        for value in shown {
            assert!(!holds_a_secret("LANDING", value), "{value}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_now_is_a_right_as_well() {
        let set = ("SET".to_owned(), Some("x".to_owned()));
        let environment = vec![set, ("UNSET".to_owned(), None)];
        let grants = Grants { environment, ..Grants::default() };
        assert_eq!(grants.describe(), ["variable SET", "variable UNSET"]);
        assert_eq!(grants.set_variables().map(|(name, _)| name).collect::<Vec<_>>(), ["SET"]);
    }

    #[test]
    fn programs_of_servers_are_not_searched_where_tools_can_write() {
        let mut options = ToolOptions::new("/no/workspace");
        let granted = Grants { write: vec!["/no/granted".into()], ..Grants::default() };
        options.programs.grants.insert("s".to_owned(), granted);
        let sandbox = ServerSandbox { write: vec!["/no/server".into()], ..Default::default() };
        options.servers.push(sandboxed(sandbox));
        assert_eq!(options.server_search_path(), None);
        let path =
            "/bin:/no/workspace/bin:relative:/no/granted:/no/grantedbin:/no/server/bin::/usr/bin";
        options.programs.search_path = Some(path.into());
        let safe = options.server_search_path().unwrap();
        assert_eq!(safe, OsString::from("/bin:/no/grantedbin:/usr/bin"));
    }

    fn sandboxed(sandbox: ServerSandbox) -> ServerOptions {
        let transport = ServerTransport::Stdio {
            program: "a".to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            working_dir: None,
            sandbox: Some(sandbox),
        };
        ServerOptions {
            name: "a".to_owned(),
            transport,
            includes: ServerIncludes::default(),
            disabled_tools: Vec::new(),
            start_limit: Duration::from_secs(1),
            time_limit: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_sandboxed_server_writes_nothing_that_no_tool_may() {
        let server = sandboxed(ServerSandbox::default());
        let mut options = ToolOptions { servers: vec![server], ..ToolOptions::new("/w") };
        options.protected = vec![PathBuf::from("/home/config.toml").into()];
        let servers = options.guarded_servers();
        let ServerTransport::Stdio { sandbox: Some(sandbox), .. } = &servers[0].transport else {
            panic!("it is a sandboxed program")
        };
        for path in ["/home/config.toml", "/w/skills", "/w/memory"] {
            assert!(sandbox.protected.contains(&PathBuf::from(path).into()), "{path}");
        }
    }

    /// Promise: `a-server-can-be-confined`
    #[cfg(unix)]
    #[test]
    fn servers_keep_off_what_files_of_the_agent_lead_to_by_their_real_names() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("w");
        std::fs::create_dir_all(workspace.join("notes")).unwrap();
        std::fs::write(workspace.join("notes/soul.md"), "").unwrap();
        for (target, link) in [("notes/soul.md", "SOUL.md"), ("later/user.md", "USER.md")] {
            std::os::unix::fs::symlink(target, workspace.join(link)).unwrap();
        }
        let servers = vec![sandboxed(ServerSandbox::default())];
        let options = ToolOptions { servers, ..ToolOptions::new(&workspace) };
        let servers = options.guarded_servers();
        let ServerTransport::Stdio { sandbox: Some(sandbox), .. } = &servers[0].transport else {
            panic!("it is a sandboxed program")
        };
        for name in ["notes/soul.md", "later/user.md", "memory"] {
            assert!(sandbox.protected.contains(&workspace.join(name).into()), "{name}");
        }
    }
}
