//! `recto memory check`: everything about the files of memories that a person should
//! know.

use std::process::ExitCode;

use recto_workspace::{FindingKind, MemoryFiles, MemoryFinding};

use crate::check_report::{CheckProblem, CheckReport};
use crate::failure::CliResult;
use crate::output::counted;

pub(super) async fn run(files: &MemoryFiles, as_json: bool) -> CliResult<ExitCode> {
    let problem = |finding: &MemoryFinding| {
        CheckProblem::of_file(&finding.problem).with_field("kind", kind(finding.kind))
    };
    let problems: Vec<CheckProblem> = files.check().await.iter().map(problem).collect();
    let verdict = format!("memory: {}", counted(problems.len(), "problem"));
    CheckReport::new(problems, verdict).print(as_json)
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
