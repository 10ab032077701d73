//! MCP servers and their tools, for all sessions of a Recto process.
//!
//! [`ServerRegistry`] tells what tools there are without starting anything: from
//! memory, or from the cache of an earlier run. A server is started when one of
//! its tools is first called, or when its tools are not known yet; there is one
//! connection to each, which all calls share. A server that fails is reported
//! and tried again, and never takes anything else down with it.
//!
//! What servers offer beside tools is not used, and what they ask for (a model,
//! a person, folders) they are not given.

mod bounded_http;
mod bounded_requests;
mod cache;
mod content;
mod envelope;
mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod greeting;
mod http;
mod limits;
mod listing;
mod log;
mod message_lines;
mod names;
mod own_ids;
mod server;
mod session;
mod stdio;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use parking_lot::Mutex;
use recto_context::{
    ContentSource, FileNotice, IncludeMode, ItemId, Remedy, ToolSpec, nearest_name,
};

pub use self::error::{ServerError, ServerProblem};
use self::listing::{ListedTool, ServerListing};
use self::names::model_name;
use self::server::{McpServer, ServerEnvironment};
use self::tool::ServerTool;
use crate::options::{ServerIncludes, ServerOptions};
use crate::process::Keeper;
use crate::tool::Tool;

/// All MCP servers. Cheap to clone; they end with the last clone.
#[derive(Clone)]
pub struct ServerRegistry {
    set: Arc<ServerSet>,
}

/// The servers, and the tools of all of them together.
struct ServerSet {
    servers: Vec<Arc<McpServer>>,
    /// How their tools come into sessions, by server.
    includes: Mutex<BTreeMap<String, ServerIncludes>>,
    tools: Mutex<Arc<ServerTools>>,
}

/// The tools of all servers, as far as they are known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerTools {
    /// Changes whenever something else here does.
    pub revision: u64,
    /// The specs that models are told, in the order of the servers; those of one
    /// server by name.
    pub specs: Vec<ToolSpec>,
    /// Problems of servers, or of single tools.
    pub notices: Vec<FileNotice>,
}

/// The state of a server as far as it is known without asking it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerStatus {
    /// The name that it has in the config.
    pub name: Arc<str>,
    /// Its command line, or its address.
    pub place: String,
    /// How many tools it has, where that is known.
    pub tools: Option<usize>,
    /// The version of the protocol that was spoken last.
    pub protocol: Option<String>,
    /// Whether it is connected now.
    pub is_running: bool,
    /// What went wrong last, until it is well again.
    pub trouble: Option<ServerError>,
    /// How the last try to reach it failed, also in a run before, unless it went well or the
    /// server was set up otherwise since.
    pub last_failure: Option<ServerFailure>,
}

/// A try to reach a server that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFailure {
    /// When it was.
    pub at: SystemTime,
    /// Why it failed, without what the server wrote.
    pub error: ServerError,
}

/// The answers of a server that was connected to anew.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReport {
    /// The version of the protocol that was spoken.
    pub protocol: String,
    /// What the server calls itself, and its version.
    pub implementation: Option<(String, String)>,
    /// Its tools, without those that are disabled.
    pub tools: Vec<ToolSpec>,
    /// What was left out, each in one sentence.
    pub problems: Vec<String>,
    /// How long it took until the connection stood.
    pub started_in: Duration,
    /// How long it took to tell its tools.
    pub listed_in: Duration,
}

impl ServerRegistry {
    /// Makes a registry of these servers. Nothing is started yet; what an earlier run
    /// kept in the folder `cache` is read. What servers write to stderr goes to `logs`.
    pub(crate) fn new(
        servers: Vec<ServerOptions>,
        cache: Option<PathBuf>,
        logs: Option<PathBuf>,
        search_path: Option<OsString>,
        keeper: Keeper,
    ) -> Self {
        let environment = ServerEnvironment { cache, logs, search_path, keeper };
        let includes = |server: &ServerOptions| (server.name.clone(), server.includes.clone());
        let includes = Mutex::new(servers.iter().map(includes).collect());
        let set = Arc::new_cyclic(|set: &Weak<ServerSet>| {
            let new = |options| {
                let set = set.clone();
                let on_change = Box::new(move || {
                    if let Some(set) = set.upgrade() {
                        set.refresh();
                    }
                });
                Arc::new(McpServer::new(options, environment.clone(), on_change))
            };
            let servers = servers.into_iter().map(new).collect();
            ServerSet { servers, includes, tools: Mutex::default() }
        });
        set.refresh();
        ServerRegistry { set }
    }

    /// The tools of all servers as models are told of them. Starts nothing and waits
    /// for nothing.
    pub fn tools(&self) -> Arc<ServerTools> {
        self.set.tools.lock().clone()
    }

    /// Replaces how tools come into sessions, by server. Servers that are not named keep theirs.
    pub fn set_includes(&self, includes: BTreeMap<String, ServerIncludes>) {
        self.set.includes.lock().extend(includes);
        self.set.refresh();
    }

    /// How the tools of a server come into sessions.
    pub fn server_includes(&self, name: &str) -> Option<ServerIncludes> {
        self.set.includes.lock().get(name).cloned()
    }

    /// Starts the servers whose tools are not known yet, side by side, and asks
    /// for them. Each is waited for once in its life, for as long as it may take
    /// to start but never for more than ten seconds; one that failed before is
    /// tried again after a pause, and not waited for. A start that is not waited
    /// for any more goes on, also when this future is dropped: its tools join late.
    pub async fn learn_tools(&self) {
        join_all(self.set.servers.iter().map(McpServer::learn)).await;
    }

    /// The tool of that spec, if it is one of a server's.
    pub(crate) fn tool(&self, spec: &ToolSpec) -> Option<Arc<dyn Tool>> {
        let ContentSource::Server(name) = &spec.source else { return None };
        let server = self.set.server(name)?;
        let is_its_own = spec.id.server.as_ref() == Some(name);
        let is_off = server.options().disabled_tools.iter().any(|tool| **tool == *spec.id.name);
        (is_its_own && !is_off)
            .then(|| Arc::new(ServerTool::new(server.clone(), spec.clone())) as Arc<dyn Tool>)
    }

    /// The names of all servers.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.set.servers.iter().map(|server| server.name().clone()).collect()
    }

    /// The state of each server, without asking it.
    pub fn status(&self) -> Vec<ServerStatus> {
        let status = |server: &Arc<McpServer>| ServerStatus {
            name: server.name().clone(),
            place: server.place(),
            tools: server.listing().map(|listing| self.set.specs(server, listing).count()),
            protocol: server.protocol(),
            is_running: server.is_running(),
            trouble: server.trouble(),
            last_failure: server.last_failure(),
        };
        self.set.servers.iter().map(status).collect()
    }

    /// Connects to a server anew, whatever is known of it, and asks for its tools.
    pub async fn check(&self, name: &str) -> Result<ServerReport, ServerError> {
        let Some(server) = self.set.server(name) else {
            let names = self.set.servers.iter().map(|server| &**server.name());
            let near = nearest_name(name, names).map(str::to_owned);
            let problem = ServerProblem::Unknown { near };
            return Err(ServerError { server: name.into(), problem, stderr: String::new() });
        };
        server.check(|listing| self.set.specs(server, listing).collect()).await
    }

    /// Ends all servers for good, and waits until they have ended.
    pub async fn shut_down(&self) {
        join_all(self.set.servers.iter().map(|server| server.shut_down())).await;
    }
}

impl fmt::Debug for ServerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRegistry").field("names", &self.names()).finish()
    }
}

impl ServerSet {
    fn server(&self, name: &str) -> Option<&Arc<McpServer>> {
        self.servers.iter().find(|server| **server.name() == *name)
    }

    /// Gathers the tools and problems of all servers anew.
    fn refresh(&self) {
        let mut tools = self.tools.lock();
        let (mut specs, mut notices) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        for server in &self.servers {
            let source = || ContentSource::Server(server.name().clone());
            if let Some(trouble) = server.trouble() {
                let remedy = Remedy::CheckServer { server: server.name().to_string() };
                notices.push(FileNotice::new(source(), trouble.to_string()).with_remedy(remedy));
            }
            let mut notice = |problem: String| notices.push(FileNotice::new(source(), problem));
            let listing = server.listing().unwrap_or_default();
            listing.problems.iter().cloned().for_each(&mut notice);
            for spec in self.specs(server, listing) {
                // Hashes are made not to meet, but a server may try.
                if names.insert(spec.called.clone()) {
                    specs.push(spec);
                } else {
                    notice(format!("the tool `{}` is left out: its name is taken", spec.id.name));
                }
            }
        }
        if tools.revision == 0 || tools.specs != specs || tools.notices != notices {
            *tools = Arc::new(ServerTools { revision: tools.revision + 1, specs, notices });
        }
    }

    /// The specs of a server's tools, without those that are disabled.
    fn specs(
        &self,
        server: &McpServer,
        listing: ServerListing,
    ) -> impl Iterator<Item = ToolSpec> + use<'_> {
        let (name, options) = (server.name().clone(), server.options().clone());
        listing.tools.into_iter().filter_map(move |tool| {
            let is_off = options.disabled_tools.contains(&tool.name);
            (!is_off).then(|| self.spec(&name, tool))
        })
    }

    /// How a tool of a server comes into sessions.
    fn include(&self, server: &str, tool: &str) -> IncludeMode {
        let includes = self.includes.lock();
        let of_server = includes.get(server);
        let own = of_server.and_then(|includes| includes.tools.get(tool));
        let include = own.copied().or(of_server.map(|includes| includes.include));
        include.unwrap_or(IncludeMode::Always)
    }

    fn spec(&self, server: &Arc<str>, tool: ListedTool) -> ToolSpec {
        let servers = self.servers.iter().map(|server| &**server.name());
        let called = model_name(server, &tool.name, servers);
        let include = self.include(server, &tool.name);
        let description = tool.told_description(server);
        let id = ItemId::tool(Some(server.clone()), tool.name);
        let spec = ToolSpec::new(id, description, tool.parameters).with_called(called);
        ToolSpec { include, source: ContentSource::Server(server.clone()), ..spec }
    }
}

#[cfg(test)]
mod tests;
