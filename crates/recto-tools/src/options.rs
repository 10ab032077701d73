//! The options of tools, programs and MCP servers, as the configuration sets them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use recto_context::IncludeMode;

use crate::policy::ToolPolicy;

/// The options of a toolbox: what tools may reach, and how far a call may go.
#[derive(Debug, Clone, Default)]
pub struct ToolOptions {
    /// The folder that file tools and programs work in. It is opened anew for
    /// every call, so it may come later than the tools.
    pub workspace: PathBuf,
    /// Absolute paths that no tool may write, such as the config file and the
    /// store. A folder stands for all that is in it, and a file also for what a
    /// database keeps beside it, such as `recto.db-wal`.
    pub protected: Vec<PathBuf>,
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

impl ToolOptions {
    /// Tools for this workspace, with the usual limits and nothing protected
    /// besides what always is.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        ToolOptions { workspace: workspace.into(), ..ToolOptions::default() }
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
    /// program. Without it no program is run.
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
    /// Variables that its programs get, with their values.
    pub environment: Vec<(String, String)>,
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
    /// Single tools, by their names.
    pub tools: BTreeMap<String, IncludeMode>,
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

/// Whether a variable of this name holds something that must not be shown. Others,
/// such as a time zone or an author's name, are what results are about.
pub(crate) fn names_a_secret(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "COOKIE", "DSN"];
    // An author is nobody's secret.
    words.iter().any(|word| name.contains(word)) && !name.contains("AUTHOR")
}
