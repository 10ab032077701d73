//! `recto memory check`: everything about the files of memories that a person should
//! know.

use std::process::ExitCode;

use recto_workspace::{FindingKind, MemoryFiles, MemoryFinding, Severity};
use serde_json::{Value, json};

use crate::commands::items::{problem_json, severity};
use crate::failure::CliResult;
use crate::output::{counted, print, print_json, tell};

pub(super) async fn run(files: &MemoryFiles, as_json: bool) -> CliResult<ExitCode> {
    let findings = files.check().await;
    if as_json {
        print_json(&findings.iter().map(finding_json).collect())?;
    } else {
        for MemoryFinding { problem, .. } in &findings {
            print(&format!("{}: {problem}\n", severity(problem)))?;
        }
        tell(&format_args!("memory: {}", counted(findings.len(), "problem")));
    }
    let broken = findings.iter().any(|finding| finding.problem.severity == Severity::Error);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn finding_json(finding: &MemoryFinding) -> Value {
    let mut value = problem_json(&finding.problem);
    value["kind"] = json!(kind(finding.kind));
    value
}

fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Unreadable => "unreadable",
        FindingKind::TooLarge => "too_large",
        FindingKind::Repeated => "repeated",
        FindingKind::Secret => "secret",
        FindingKind::Future => "future",
        FindingKind::Nobodys => "nobodys",
        FindingKind::Leftover => "leftover",
    }
}
