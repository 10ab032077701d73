//! `recto memory check`: everything about the files of memories that a person should
//! know.

use std::process::ExitCode;

use recto_workspace::{Finding, FindingKind, MemoryFiles, Severity};
use serde_json::{Value, json};

use crate::commands::items::{counted, problem_json, severity};
use crate::failure::Failure;
use crate::output::{print, print_json, tell};

pub(super) async fn run(files: &MemoryFiles, as_json: bool) -> Result<ExitCode, Failure> {
    let findings = files.check().await;
    if as_json {
        print_json(&findings.iter().map(finding_json).collect())?;
    } else {
        for Finding { problem, .. } in &findings {
            print(&format!("{}: {problem}\n", severity(problem)))?;
        }
        tell(&format_args!("memory: {}", counted(findings.len())));
    }
    let is_broken = |finding: &Finding| finding.problem.severity == Severity::Error;
    Ok(match findings.iter().any(is_broken) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn finding_json(finding: &Finding) -> Value {
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
