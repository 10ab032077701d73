//! A turn with the tools of MCP servers at hand, none of which is used.
//!
//! The servers are asked for their tools once, as a first turn does it. Then each
//! is replaced by a program that only leaves a mark, so that one that is started
//! all the same shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use recto_agent::{Actor, Agent, Conversation, Inbound, SearchParts};
use recto_context::IncludeMode;
use recto_store::SessionId;
use recto_tools::{ServerIncludes, ServerOptions, ServerTransport, ToolOptions, Toolbox};
use serde_json::json;

use crate::Result;
use crate::bench::agent::{self, AgentSetup};
use crate::bench::pair::{TimedPair, timed};

pub(super) const SERVERS: usize = 5;
/// Tools of each server.
pub(super) const TOOLS: usize = 20;

const RUNS: usize = 200;
const WARM_UP: usize = 20;
const STARTS: usize = 40;

const WINDOW: u32 = 200_000;
const MESSAGE: &str = "When does the garden club meet, and what did we send them last week?";

/// A server in a few lines of shell. It knows its tools, and nothing else.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    case $line in
        *'"server/discover"'*)
            echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"unknown"}}' ;;
        *'"initialize"'*)
            answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}' ;;
        *'"tools/list"'*) answer "$tools" ;;
    esac
done
"#;

/// What turns cost, and how many servers were started for them.
pub(super) struct ServerOverhead {
    pub(super) always: TimedPair,
    pub(super) searched: TimedPair,
    pub(super) first: TimedPair,
    pub(super) started: usize,
}

pub(super) async fn measure() -> Result<ServerOverhead> {
    let folder = tempfile::tempdir()?;
    let bench = ServerFolder { folder: folder.path() };
    bench.write_files()?;
    bench.fill_cache().await?;
    bench.replace_servers()?;

    let none = bench.agent("none", None).await?;
    let always = bench.agent("always", Some(IncludeMode::Always)).await?;
    let searched = bench.agent("searched", Some(IncludeMode::Agent)).await?;
    expect_tools(&none, 0).await?;
    expect_tools(&always, SERVERS * TOOLS).await?;
    let (mut with_always, mut with_searched) = (Vec::new(), Vec::new());
    for run in 0..WARM_UP + RUNS {
        let times = (none.turn().await?, always.turn().await?, searched.turn().await?);
        if run >= WARM_UP {
            with_always.push((times.0, times.1));
            with_searched.push((times.0, times.2));
        }
    }
    drop((none, always, searched));
    let mut firsts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let plain = bench.first_turn("none", None).await?;
        firsts.push((plain, bench.first_turn("always", Some(IncludeMode::Always)).await?));
    }
    Ok(ServerOverhead {
        always: TimedPair::new("a turn, tools always included", with_always)?,
        searched: TimedPair::new("a turn, tools searched", with_searched)?,
        first: TimedPair::new("start and first turn, always included", firsts)?,
        started: bench.marks(),
    })
}

/// An agent, and a session of it.
struct BenchSession {
    agent: Agent,
    session: SessionId,
}

impl BenchSession {
    /// What it takes to get from a message to a request.
    async fn turn(&self) -> Result<f64> {
        let (time, request) =
            timed(self.agent.preview(self.session, Inbound::text(&Actor::owner("bench"), MESSAGE)))
                .await;
        request?;
        Ok(time)
    }
}

/// A benchmark that measured without the tools would flatter.
async fn expect_tools(own: &BenchSession, expected: usize) -> Result<()> {
    let preview =
        own.agent.preview(own.session, Inbound::text(&Actor::owner("bench"), MESSAGE)).await?;
    let of_servers =
        preview.request.tools.iter().filter(|tool| tool.spec.id.server.is_some()).count();
    match of_servers == expected {
        true => Ok(()),
        false => Err(format!("{expected} tools should be offered, but {of_servers} are").into()),
    }
}

/// The folder in which the agents and their servers are set up.
struct ServerFolder<'a> {
    folder: &'a Path,
}

impl ServerFolder<'_> {
    fn write_files(&self) -> Result<()> {
        let workspace = self.folder.join("workspace");
        fs::create_dir_all(&workspace)?;
        fs::write(workspace.join("AGENTS.md"), "Be brief.\n")?;
        for server in 0..SERVERS {
            let script = format!("tools='{}'\n{SERVER}", listed(server));
            fs::write(self.script(server), script)?;
        }
        Ok(())
    }

    fn script(&self, server: usize) -> PathBuf {
        self.folder.join(format!("server-{server}.sh"))
    }

    /// Asks the servers for their tools, as a turn does that does not know them.
    async fn fill_cache(&self) -> Result<()> {
        let toolbox = Toolbox::new(self.tools(Some(IncludeMode::Always)));
        toolbox.servers().learn_tools().await;
        let known = toolbox.servers().tools();
        toolbox.servers().shut_down().await;
        match (known.specs.len() == SERVERS * TOOLS, known.notices.first()) {
            (true, _) => Ok(()),
            (false, Some(notice)) => Err(format!("a server failed: {}", notice.problem).into()),
            (false, None) => Err(format!("{} tools are known", known.specs.len()).into()),
        }
    }

    /// Replaces the servers: from here on one that is started leaves a mark, and ends.
    fn replace_servers(&self) -> Result<()> {
        for server in 0..SERVERS {
            let mark = self.folder.join("marks");
            fs::write(self.script(server), format!("echo {server} >> '{}'\n", mark.display()))?;
        }
        Ok(())
    }

    fn marks(&self) -> usize {
        fs::read_to_string(self.folder.join("marks")).map_or(0, |marks| marks.lines().count())
    }

    /// Tools with the servers, included like this, or without.
    fn tools(&self, include: Option<IncludeMode>) -> ToolOptions {
        let server = |number: usize, include: IncludeMode| ServerOptions {
            name: format!("server{number}"),
            transport: ServerTransport::Stdio {
                program: "/bin/sh".to_owned(),
                arguments: vec![self.script(number).to_string_lossy().into_owned()],
                environment: Vec::new(),
                working_dir: None,
                sandbox: None,
            },
            includes: ServerIncludes { include, is_set: true, tools: BTreeMap::new() },
            disabled_tools: Vec::new(),
            start_limit: Duration::from_secs(30),
            time_limit: Duration::from_secs(30),
        };
        let servers = include.map(|include| (0..SERVERS).map(|n| server(n, include)).collect());
        ToolOptions {
            servers: servers.unwrap_or_default(),
            server_cache: Some(self.folder.join("cache")),
            ..ToolOptions::new(self.folder.join("workspace"))
        }
    }

    /// What it takes to start the agent and to get to its first request.
    async fn first_turn(&self, name: &str, include: Option<IncludeMode>) -> Result<f64> {
        let (time, turned) = timed(async { self.agent(name, include).await?.turn().await }).await;
        turned.map(|_| time)
    }

    async fn agent(&self, name: &str, include: Option<IncludeMode>) -> Result<BenchSession> {
        let agent = agent::start(AgentSetup {
            name: "bench",
            workspace: &self.folder.join("workspace"),
            database: &self.folder.join(name).with_extension("db"),
            window: WINDOW,
            tools: self.tools(include),
            search: SearchParts::default(),
        })
        .await?;
        let conversation = Conversation::with_owner("bench", "bench", "bench");
        let session = agent.find_named_or_begin(&Actor::owner("bench"), &conversation).await?.id;
        Ok(BenchSession { agent, session })
    }
}

/// What a server says of its tools: names, descriptions and schemas as servers have
/// them.
fn listed(server: usize) -> String {
    let tool = |number: usize| {
        json!({
            "name": format!("look_up_{number}"),
            "description": format!(
                "Looks up records of kind {number} in the register of department {server}, by a \
                 text or by the time of their last change, and gives them in pages."
            ),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "Words that a record must have." },
                    "since": { "type": "string", "description": "A time, as in RFC 3339." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                },
                "required": ["query"],
            },
        })
    };
    json!({ "tools": (0..TOOLS).map(tool).collect::<Vec<_>>() }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn known_tools_are_offered_and_a_start_shows() {
        let folder = tempfile::tempdir().unwrap();
        let bench = ServerFolder { folder: folder.path() };
        bench.write_files().unwrap();
        bench.fill_cache().await.unwrap();
        bench.replace_servers().unwrap();
        let own = bench.agent("always", Some(IncludeMode::Always)).await.unwrap();
        expect_tools(&own, SERVERS * TOOLS).await.unwrap();
        assert_eq!(bench.marks(), 0);
        // Without the cache they have to be asked.
        fs::remove_dir_all(folder.path().join("cache")).unwrap();
        assert!(bench.fill_cache().await.is_err());
        assert_ne!(bench.marks(), 0);
    }
}
