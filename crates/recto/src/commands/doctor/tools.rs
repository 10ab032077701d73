//! What `recto doctor` says about tools: which guards hold around programs,
//! whether a skill's tools are off, and what is known of MCP servers. None is
//! started.

use std::time::SystemTime;

use jiff::Timestamp;
use recto_agent::{find_flawed_tools, remove_disabled};
use recto_context::Catalog;
use recto_store::Moment;
use recto_tools::{ServerFailure, ServerStatus, guards};
use serde_json::{Value, json};

use super::{DoctorFinding, FindingState};
use crate::commands::sessions::local;
use crate::commands::tools::skills;
use crate::config::{SandboxPolicy, ServerSettings, Settings};
use crate::home::RectoHome;
use crate::output::counted;
use crate::setup;

pub(super) async fn findings(
    home: &RectoHome,
    settings: &Settings,
    catalog: &Catalog,
) -> Vec<DoctorFinding> {
    let mut findings = vec![sandbox(settings)];
    // What is wrong with the store is told where it is looked at.
    for skill in skills::declaring(settings, catalog).await.unwrap_or_default() {
        if let Some(why) = skill.why_off() {
            let data = json!({"skill": &*skill.name, "folder": skill.folder});
            findings.push(DoctorFinding::new("tools", FindingState::Warning, why).data(data));
        }
    }
    let mut wanted = catalog.clone();
    remove_disabled(&mut wanted, &settings.tools.disabled);
    for flawed in find_flawed_tools(&wanted) {
        let data =
            json!({"tool": flawed.item.key(), "path": flawed.path, "line": flawed.flaw.line});
        let words = flawed.notice().problem.to_string();
        findings.push(DoctorFinding::new("tools", FindingState::Fault, words).data(data));
    }
    for exposed in setup::exposed_executables(settings) {
        let data = json!({"path": exposed.path, "what": exposed.what});
        findings.push(
            DoctorFinding::new("executed", FindingState::Warning, exposed.warning())
                .hint("put it where no tool can write, outside the workspace".to_owned())
                .data(data),
        );
    }
    let tools = setup::toolbox(home, settings);
    let known = tools.servers().status();
    for entry in &settings.servers {
        let known = known.iter().find(|known| *known.name == *entry.name);
        findings.push(server(entry, known));
    }
    findings
}

fn sandbox(settings: &Settings) -> DoctorFinding {
    let guards = guards();
    let data = json!({
        "landlock": guards.landlock,
        "seccomp": guards.seccomp,
        "view": guards.view.name(),
        "memory": guards.memory.name(),
        "required": settings.tools.sandbox == SandboxPolicy::Required,
    });
    let found = match settings.tools.sandbox {
        _ if guards.all_hold() => {
            DoctorFinding::new("sandbox", FindingState::Fine, guards.to_string())
        }
        SandboxPolicy::BestEffort => {
            let text = format!("{guards}; programs of skills run all the same");
            DoctorFinding::new("sandbox", FindingState::Warning, text)
                .hint("`tools.sandbox = \"required\"` keeps them from running".to_owned())
        }
        SandboxPolicy::Required => {
            let text = format!("{guards}; no program of a skill is run");
            DoctorFinding::new("sandbox", FindingState::Warning, text)
                .hint("`tools.sandbox = \"best_effort\"` lets them run".to_owned())
        }
    };
    found.data(data)
}

fn server(entry: &ServerSettings, known: Option<&ServerStatus>) -> DoctorFinding {
    let what = format!("server {}", entry.name);
    let data = json!({
        "enabled": entry.enabled,
        "tools": known.and_then(|known| known.tools),
        "protocol": known.and_then(|known| known.protocol.clone()),
        "sandbox": entry.is_sandboxed(),
        "last_failure": known.and_then(|known| known.last_failure.as_ref()).map(failure_json),
    });
    let confined = confinement(entry);
    let found = match known {
        None => DoctorFinding::new(what, FindingState::Absent, "off, as the config has it"),
        Some(ServerStatus { place, tools, last_failure: Some(failure), .. }) => {
            let ServerFailure { at, error } = failure;
            let (at, problem) = (local(moment(*at)), &error.problem);
            let known = tools.map_or_else(
                || "its tools are not known".to_owned(),
                |count| format!("{} when it last answered", counted(count, "tool")),
            );
            let text = format!(
                "{place}: when it was last asked, at {at}, it {problem}; {known}{confined}"
            );
            let hint = format!("{} (then `recto mcp check {}`)", error.hint(), entry.name);
            DoctorFinding::new(what, FindingState::Warning, text).hint(hint)
        }
        Some(ServerStatus { place, tools: Some(count), .. }) => {
            let tools = counted(*count, "tool");
            let text = format!("{place}: {tools} when it was last asked{confined}");
            DoctorFinding::new(what, FindingState::Fine, text)
        }
        Some(ServerStatus { place, .. }) => DoctorFinding::new(
            what,
            FindingState::Absent,
            format!("{place}: never asked for its tools{confined}"),
        )
        .hint(format!("`recto mcp check {}` asks it", entry.name)),
    };
    found.data(data)
}

fn failure_json(ServerFailure { at, error }: &ServerFailure) -> Value {
    json!({"at": moment(*at), "code": error.code(), "message": error.to_string()})
}

fn moment(at: SystemTime) -> Moment {
    Moment::new(Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Says whose rights the program of a server has.
fn confinement(entry: &ServerSettings) -> &'static str {
    match entry.is_sandboxed() {
        None => "",
        Some(true) => "; in the sandbox",
        Some(false) => "; not in the sandbox, it runs with your rights",
    }
}
