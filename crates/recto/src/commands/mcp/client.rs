//! The servers of the config: what is known of them, how they are when they are
//! asked, and their tools. What servers write is theirs, and is shown tame.

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::join_all;
use recto_context::{Source, ToolSpec, nearest};
use recto_tools::{Permission, ServerReport, ServerTools, Servers, Toolbox};
use serde_json::{Value, json};

use crate::config::{ServerSettings, Settings, TransportSettings};
use crate::draw::Table;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::{print, print_json, tame, tame_lines, tell};
use crate::setup;

/// The servers of the config, none of them started.
pub(super) fn list(home: &Home, as_json: bool) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let tools = setup::toolbox(home, &settings);
    let known = known_of(tools.servers());
    let of = |server: &ServerSettings| known.iter().find(|known| *known.name == *server.name);
    if as_json {
        let servers = settings.servers.iter().map(|server| server_json(server, of(server)));
        print_json(&servers.collect())?;
    } else if settings.servers.is_empty() {
        tell(&"there are no MCP servers; `[mcp.NAME]` in the config names one");
    } else {
        let mut table = Table::new(["name", "tools", "include", "permission", "place"]);
        table.align_right(1);
        for server in &settings.servers {
            table.row(row(server, of(server)));
        }
        print(&table.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known of a server that is on, without asking it.
pub(crate) struct Known {
    pub(crate) name: Arc<str>,
    pub(crate) place: String,
    /// How many tools it has, if it was ever asked.
    pub(crate) tools: Option<usize>,
    pub(crate) protocol: Option<String>,
}

pub(crate) fn known_of(servers: &Servers) -> Vec<Known> {
    let status = servers.status().into_iter();
    status
        .map(|status| Known {
            name: status.name,
            place: status.place,
            tools: status.tools,
            protocol: status.protocol,
        })
        .collect()
}

fn row(server: &ServerSettings, known: Option<&Known>) -> [String; 5] {
    let tools = match known {
        None => "off".to_owned(),
        Some(known) => known.tools.map_or("unknown".to_owned(), |count| count.to_string()),
    };
    [
        server.name.clone(),
        tools,
        server.include.to_string(),
        permission(server).to_owned(),
        known.map_or_else(|| place(server), |known| known.place.clone()),
    ]
}

fn server_json(server: &ServerSettings, known: Option<&Known>) -> Value {
    json!({
        "name": server.name,
        "enabled": server.enabled,
        "place": known.map_or_else(|| place(server), |known| known.place.clone()),
        "transport": match &server.transport {
            TransportSettings::Program { .. } => "stdio",
            TransportSettings::Address { .. } => "http",
        },
        "include": server.include,
        "permission": permission(server),
        "tools": known.and_then(|known| known.tools),
        "protocol": known.and_then(|known| known.protocol.clone()),
    })
}

/// What holds for its tools, unless one of them is set otherwise.
fn permission(server: &ServerSettings) -> &'static str {
    match server.permission {
        Some(Permission::Allow) => "allow",
        Some(Permission::Ask) | None => "ask",
    }
}

/// Its command line, or its address.
fn place(server: &ServerSettings) -> String {
    match &server.transport {
        TransportSettings::Program { command, args, .. } => {
            std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
        }
        TransportSettings::Address { url, .. } => url.clone(),
    }
}

/// Asks servers anew, all at once.
pub(super) fn check(home: &Home, name: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let asked = named(&settings, name)?;
    let tools = setup::toolbox(home, &settings);
    let checked = setup::runtime()?.block_on(async {
        let servers = tools.servers();
        let checks = asked.iter().map(|name| async { (*name, ask(servers, name).await) });
        let checked = join_all(checks).await;
        servers.shut_down().await;
        checked
    });
    let all_well = checked.iter().all(|(_, report)| report.is_ok());
    if as_json {
        print_json(&checked.iter().map(|(name, report)| report_json(name, report)).collect())?;
    } else if checked.is_empty() {
        tell(&"there are no MCP servers to check");
    }
    for (name, report) in checked.iter().filter(|_| !as_json) {
        match report {
            Ok(report) => print(&drawn(name, report))?,
            Err(trouble) => tell(&failure(trouble)),
        }
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn ask(servers: &Servers, name: &str) -> Result<ServerReport, Trouble> {
    servers.check(name).await.map_err(|error| Trouble {
        what: error.to_string(),
        hint: error.hint(),
        stderr: error.stderr,
    })
}

/// Why a server can't be used.
struct Trouble {
    what: String,
    hint: String,
    /// What it last wrote.
    stderr: String,
}

fn drawn(name: &str, report: &ServerReport) -> String {
    let ServerReport { protocol, implementation, tools, problems, started_in, listed_in } = report;
    let itself = match implementation {
        Some((own, version)) => format!("{} {}", tame(own), tame(version)),
        None => "it does not say what it is".to_owned(),
    };
    let mut page = format!(
        "{}: {itself}; protocol {}; {} tools; started in {} ms, listed in {} ms\n",
        tame(name),
        tame(protocol),
        tools.len(),
        started_in.as_millis(),
        listed_in.as_millis(),
    );
    for problem in problems {
        page.push_str(&format!("  warning: {}\n", tame(problem)));
    }
    page
}

fn report_json(name: &str, report: &Result<ServerReport, Trouble>) -> Value {
    match report {
        Ok(report) => json!({
            "name": name,
            "ok": true,
            "protocol": report.protocol,
            "implementation": report.implementation.as_ref().map(|(name, version)| json!({
                "name": name,
                "version": version,
            })),
            "tools": report.tools.iter().map(|tool| &*tool.id.name).collect::<Vec<_>>(),
            "problems": report.problems,
            "started_ms": report.started_in.as_millis() as u64,
            "listed_ms": report.listed_in.as_millis() as u64,
        }),
        Err(trouble) => json!({
            "name": name,
            "ok": false,
            "error": trouble.what,
            "hint": trouble.hint,
            "stderr": trouble.stderr,
        }),
    }
}

fn failure(trouble: &Trouble) -> Failure {
    let wrote = match trouble.stderr.trim() {
        "" => String::new(),
        wrote => format!("\n  it last wrote:\n    {}", tame_lines(wrote).replace('\n', "\n    ")),
    };
    Failure::new(format!("{}{wrote}", trouble.what)).hint(&trouble.hint)
}

/// The tools of servers. Those that were never asked for them are started.
pub(super) fn tools(home: &Home, name: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let asked = named(&settings, name)?;
    let tools = setup::toolbox(home, &settings);
    let is_asked =
        |source: &Source| matches!(source, Source::Server(name) if asked.contains(&&**name));
    let (known, troubles) = setup::runtime()?.block_on(known(tools.servers(), &asked));
    let specs: Vec<&ToolSpec> = known.specs.iter().filter(|spec| is_asked(&spec.source)).collect();
    if as_json {
        print_json(&specs.iter().map(|spec| tool_json(spec, &tools)).collect())?;
    } else if specs.is_empty() {
        tell(&"there are no tools");
    } else {
        let mut table = Table::new(["name", "include", "called", "description"]);
        for spec in specs {
            table.row([
                spec.id.key(),
                spec.include.to_string(),
                spec.called.to_string(),
                first_line(&spec.description),
            ]);
        }
        print(&table.to_string())?;
    }
    for notice in known.notices.iter().filter(|notice| is_asked(&notice.source)) {
        tell(&format_args!("warning: {}", notice.problem));
    }
    troubles.iter().for_each(|trouble| tell(&failure(trouble)));
    Ok(if troubles.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is known of servers' tools, once those of which nothing is known were
/// asked.
async fn known(servers: &Servers, asked: &[&str]) -> (Arc<ServerTools>, Vec<Trouble>) {
    let unknown: Vec<Arc<str>> = servers
        .status()
        .into_iter()
        .filter(|status| status.tools.is_none() && asked.contains(&&*status.name))
        .map(|status| status.name)
        .collect();
    let checked = join_all(unknown.iter().map(|name| ask(servers, name))).await;
    let known = servers.tools();
    servers.shut_down().await;
    (known, checked.into_iter().filter_map(Result::err).collect())
}

fn tool_json(spec: &ToolSpec, tools: &Toolbox) -> Value {
    let catalog = recto_context::Catalog::default();
    json!({
        "name": &*spec.id.name,
        "server": spec.id.server,
        "called": &*spec.called,
        "include": spec.include,
        "permission": match tools.asks(spec, &catalog, tools.approval()) {
            true => "ask",
            false => "allow",
        },
        "description": &*spec.description,
        "parameters": &*spec.parameters,
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The servers that are asked about: the one of that name, or all that are on.
fn named<'a>(settings: &'a Settings, name: Option<&str>) -> Result<Vec<&'a str>, Failure> {
    let on = || settings.servers.iter().filter(|server| server.enabled);
    let Some(name) = name else { return Ok(on().map(|server| server.name.as_str()).collect()) };
    if let Some(server) = settings.servers.iter().find(|server| server.name == name) {
        return match server.enabled {
            true => Ok(vec![&server.name]),
            false => Err(Failure::new(format!("the MCP server `{}` is off", tame(name)))
                .hint(format!("take `enabled = false` out of `[mcp.{}]`", tame(name)))),
        };
    }
    let failure = Failure::new(format!("there is no MCP server `{}`", tame(name)));
    let names = settings.servers.iter().map(|server| server.name.as_str());
    Err(match nearest(name, names) {
        Some(meant) => failure.hint(format!("did you mean `{}`?", tame(meant))),
        None => failure.hint("`recto mcp list` lists those of the config"),
    })
}
