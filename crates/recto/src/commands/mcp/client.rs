//! The servers of the config: what is known of them, how they are when they are
//! asked, and their tools. What servers write is theirs, and is shown tame.

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::join_all;
use recto_context::{ContentSource, ToolSpec};
use recto_tools::{
    ServerError, ServerRegistry, ServerReport, ServerStatus, ServerTools, ToolPermission, Toolbox,
};
use serde_json::{Value, json};

use crate::config::{ServerSettings, Settings, TransportSettings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, list_json, print, print_json, print_list, tame, tame_lines, tell};
use crate::remedy_words::with_command;
use crate::setup;

/// Lists the servers of the config, none of them started.
pub(super) fn list(home: &RectoHome, as_json: bool) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    let tools = setup::toolbox(home, &settings);
    let known = tools.servers().status();
    let of = |server: &ServerSettings| known.iter().find(|known| *known.name == *server.name);
    let json = |server: &ServerSettings| server_json(server, &settings, of(server));
    let draw = || {
        let mut table = TextTable::new(["name", "tools", "include", "permission", "place"]);
        table.align_right(1);
        settings.servers.iter().for_each(|server| table.row(row(server, &settings, of(server))));
        table.draw(PageWidth::of_stdout())
    };
    let nothing = "there are no MCP servers; `[mcp.NAME]` in the config names one";
    print_list(as_json, "servers", &settings.servers, json, draw, &nothing)
}

fn row(server: &ServerSettings, settings: &Settings, known: Option<&ServerStatus>) -> [String; 5] {
    let tools = match known {
        None => "off".to_owned(),
        Some(known) => known.tools.map_or("unknown".to_owned(), |count| count.to_string()),
    };
    [
        server.name.clone(),
        tools,
        settings.server_include(server).to_string(),
        permission(server).to_owned(),
        known.map_or_else(|| place(server), |known| known.place.clone()),
    ]
}

fn server_json(
    server: &ServerSettings,
    settings: &Settings,
    known: Option<&ServerStatus>,
) -> Value {
    json!({
        "name": server.name,
        "enabled": server.enabled,
        "place": known.map_or_else(|| place(server), |known| known.place.clone()),
        "transport": match &server.transport {
            TransportSettings::Program { .. } => "stdio",
            TransportSettings::Address { .. } => "http",
        },
        "sandbox": server.is_sandboxed(),
        "include": settings.server_include(server),
        "permission": permission(server),
        "tools": known.and_then(|known| known.tools),
        "protocol": known.and_then(|known| known.protocol.clone()),
    })
}

/// The permission that its tools have, unless one of them is set otherwise.
fn permission(server: &ServerSettings) -> &'static str {
    match server.permission {
        Some(ToolPermission::Allow) => "allow",
        Some(ToolPermission::Ask) | None => "ask",
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
pub(super) fn check(home: &RectoHome, name: Option<&str>, as_json: bool) -> CliResult<ExitCode> {
    let settings = setup::load(home, Vec::new())?;
    let asked = select_servers(&settings, name)?;
    let tools = setup::toolbox(home, &settings);
    let checked = setup::runtime()?.block_on(async {
        let servers = tools.servers();
        let checks = asked.iter().map(|name| async { (*name, servers.check(name).await) });
        let checked = join_all(checks).await;
        servers.shut_down().await;
        checked
    });
    let all_well = checked.iter().all(|(_, report)| report.is_ok());
    if as_json {
        let servers = checked.iter().map(|(name, report)| report_json(name, report));
        let mut report = list_json("servers", servers);
        report["ok"] = all_well.into();
        print_json(&report)?;
    } else if checked.is_empty() {
        tell(&"there are no MCP servers to check");
    }
    for (name, report) in checked.iter().filter(|_| !as_json) {
        match report {
            Ok(report) => print(&draw_report(name, report))?,
            Err(error) => tell(&failure_with_words(error)),
        }
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn draw_report(name: &str, report: &ServerReport) -> String {
    let ServerReport { protocol, implementation, tools, problems, started_in, listed_in } = report;
    let itself = match implementation {
        Some((own, version)) => format!("{} {}", tame(own), tame(version)),
        None => "it does not say what it is".to_owned(),
    };
    let mut page = format!(
        "{}: {itself}; protocol {}; {}; started in {} ms, listed in {} ms\n",
        tame(name),
        tame(protocol),
        counted(tools.len(), "tool"),
        started_in.as_millis(),
        listed_in.as_millis(),
    );
    for problem in problems {
        page.push_str(&format!("  warning: {}\n", tame(problem)));
    }
    page
}

fn report_json(name: &str, report: &Result<ServerReport, ServerError>) -> Value {
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
        Err(error) => json!({
            "name": name,
            "ok": false,
            "error": failure(error).fields(),
            "stderr": error.stderr,
        }),
    }
}

fn failure(error: &ServerError) -> CliFailure {
    let hint = with_command(error.hint(), error.remedy().as_ref());
    CliFailure::new(error.to_string()).hint(hint).code(error.code())
}

/// The failure for people, with what the server last wrote.
pub(in crate::commands) fn failure_with_words(error: &ServerError) -> CliFailure {
    let wrote = match error.stderr.trim() {
        "" => return failure(error),
        wrote => tame_lines(wrote).replace('\n', "\n    "),
    };
    failure(error).add_words(&format!("\n  it last wrote:\n    {wrote}"))
}

/// Lists the tools of servers. Those that were never asked for them are started.
pub(super) fn tools(home: &RectoHome, name: Option<&str>, as_json: bool) -> CliResult<ExitCode> {
    let settings = setup::load(home, Vec::new())?;
    let asked = select_servers(&settings, name)?;
    let tools = setup::toolbox(home, &settings);
    let is_asked = |source: &ContentSource| matches!(source, ContentSource::Server(name) if asked.contains(&&**name));
    let (known, errors) = setup::runtime()?.block_on(learn_tools(tools.servers(), &asked));
    let specs: Vec<&ToolSpec> = known.specs.iter().filter(|spec| is_asked(&spec.source)).collect();
    let json = |spec: &&ToolSpec| tool_json(spec, &tools);
    print_list(as_json, "tools", &specs, json, || tool_table(&specs), &"there are no tools")?;
    for notice in known.notices.iter().filter(|notice| is_asked(&notice.source)) {
        let problem = with_command(&*notice.problem, notice.remedy.as_ref());
        tell(&format_args!("warning: {problem}"));
    }
    errors.iter().for_each(|error| tell(&failure_with_words(error)));
    Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Collects what is known of servers' tools, once those of which nothing is known were
/// asked.
async fn learn_tools(
    servers: &ServerRegistry,
    asked: &[&str],
) -> (Arc<ServerTools>, Vec<ServerError>) {
    let unknown: Vec<Arc<str>> = servers
        .status()
        .into_iter()
        .filter(|status| status.tools.is_none() && asked.contains(&&*status.name))
        .map(|status| status.name)
        .collect();
    let checked = join_all(unknown.iter().map(|name| servers.check(name))).await;
    let known = servers.tools();
    servers.shut_down().await;
    (known, checked.into_iter().filter_map(Result::err).collect())
}

fn tool_json(spec: &ToolSpec, tools: &Toolbox) -> Value {
    let context = recto_tools::CallContext::default();
    json!({
        "name": &*spec.id.name,
        "server": spec.id.server,
        "called": &*spec.called,
        "include": spec.include,
        "permission": match tools.asks(spec, &context, tools.approval()) {
            true => "ask",
            false => "allow",
        },
        "description": spec.description.as_deref(),
        "parameters": &*spec.parameters,
    })
}

fn tool_table(specs: &[&ToolSpec]) -> String {
    let mut table = TextTable::new(["name", "include", "called", "description"]);
    for spec in specs {
        table.row([
            spec.id.key(),
            spec.include.to_string(),
            spec.called.to_string(),
            spec.description
                .as_deref()
                .and_then(|text| text.lines().next())
                .unwrap_or_default()
                .to_owned(),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}

/// The servers that are asked about: the one of that name, or all that are on.
fn select_servers<'a>(settings: &'a Settings, name: Option<&str>) -> CliResult<Vec<&'a str>> {
    let on = || settings.servers.iter().filter(|server| server.enabled);
    let Some(name) = name else { return Ok(on().map(|server| server.name.as_str()).collect()) };
    if let Some(server) = settings.servers.iter().find(|server| server.name == name) {
        return match server.enabled {
            true => Ok(vec![&server.name]),
            false => Err(CliFailure::new(format!("the MCP server `{}` is off", tame(name)))
                .hint(format!("take `enabled = false` out of `[mcp.{}]`", tame(name)))),
        };
    }
    let failure = CliFailure::no_such("MCP server", name);
    let names = settings.servers.iter().map(|server| server.name.as_str());
    Err(failure.hint_nearest(name, names, "`recto mcp list` lists those of the config"))
}
