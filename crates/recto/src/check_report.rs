//! What a check found, in the one form that all checks have: `recto config check`, `rules
//! check`, `tools check`, `agents check`, `memory check`, `store check`.
//!
//! For programs it is an object with `ok` and `problems`, each of which has `severity`,
//! `message` and `hint`, and says where it is: by `path` and `line`, by `place` or by `agent`.

use std::path::Path;
use std::process::ExitCode;

use recto_workspace::{Severity, WorkspaceProblem};
use serde_json::{Value, json};

use crate::config::ConfigProblem;
use crate::failure::CliResult;
use crate::output::{print, print_json, tame, tame_lines, tell};
use crate::remedy_words::{hint_with_command, with_command};

/// The problems that a check found, and what it says beside them.
pub(crate) struct CheckReport {
    pub(crate) problems: Vec<CheckProblem>,
    /// What programs are told beside the problems; an object.
    pub(crate) beside: Value,
    /// What people are told behind the problems, as data.
    pub(crate) remarks: String,
    /// The verdict in a line, for people.
    pub(crate) verdict: String,
}

/// One problem, as people read it and as programs do.
pub(crate) struct CheckProblem {
    severity: Severity,
    drawn: String,
    fields: Value,
}

impl CheckReport {
    pub(crate) fn new(problems: Vec<CheckProblem>, verdict: String) -> Self {
        CheckReport { problems, beside: json!({}), remarks: String::new(), verdict }
    }

    /// Prints the report, and says how a program ends that has found this.
    pub(crate) fn print(&self, as_json: bool) -> CliResult<ExitCode> {
        if as_json {
            print_json(&self.json())?;
        } else {
            let drawn: String = self.problems.iter().map(|problem| &*problem.drawn).collect();
            print(&(drawn + &self.remarks))?;
            tell(&self.verdict);
        }
        Ok(if self.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Whether nothing is wrong; what is only odd does not count.
    fn is_ok(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity != Severity::Error)
    }

    fn json(&self) -> Value {
        let mut report = self.beside.clone();
        report["ok"] = json!(self.is_ok());
        report["problems"] = self.problems.iter().map(CheckProblem::json).collect();
        report
    }
}

impl CheckProblem {
    /// A problem of a file of the workspace.
    pub(crate) fn of_file(problem: &WorkspaceProblem) -> Self {
        CheckProblem {
            severity: problem.severity,
            drawn: format!("{}\n", problem_line(problem)),
            fields: json!({
                "path": problem.path.to_string_lossy(),
                "line": problem.line,
                "message": problem.what,
                "hint": hint_with_command(problem.hint.clone(), problem.remedy.as_ref()),
            }),
        }
    }

    /// Something about a tools.json that keeps tools from being run.
    pub(crate) fn of_declaration(
        severity: Severity,
        file: &Path,
        line: Option<usize>,
        what: &str,
    ) -> Self {
        let at = line.map(|line| format!(":{line}")).unwrap_or_default();
        let shown = tame(&file.to_string_lossy());
        CheckProblem {
            severity,
            drawn: format!("{}: {shown}{at}: {}\n", severity_name(severity), tame(what)),
            fields: json!({
                "path": file.to_string_lossy(),
                "line": line,
                "message": what,
                "hint": null,
            }),
        }
    }

    /// A problem of the config.
    pub(crate) fn of_config(severity: Severity, problem: &ConfigProblem) -> Self {
        let word = severity_name(severity);
        CheckProblem {
            severity,
            drawn: format!("{word}: {}\n", tame_lines(&problem.to_string())),
            fields: json!({
                "place": problem.place.to_string(),
                "message": problem.what,
                "hint": problem.hint,
            }),
        }
    }

    /// A problem of an agent, or of all of them.
    pub(crate) fn of_agent(
        severity: Severity,
        agent: Option<&str>,
        message: &str,
        hint: Option<&str>,
    ) -> Self {
        let of = agent.map_or_else(String::new, |name| format!("{name}: "));
        let hinted = hint.map_or_else(String::new, |hint| format!("  hint: {hint}\n"));
        CheckProblem {
            severity,
            drawn: format!(
                "{}: {}{}\n{}",
                severity_name(severity),
                tame(&of),
                tame(message),
                tame_lines(&hinted)
            ),
            fields: json!({"agent": agent, "message": message, "hint": hint}),
        }
    }

    /// The same problem, with one more thing that programs are told of it.
    pub(crate) fn with_field(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.fields[key] = value.into();
        self
    }

    fn json(&self) -> Value {
        let mut fields = self.fields.clone();
        fields["severity"] = severity_name(self.severity).into();
        fields
    }
}

/// A problem as a person is told of it.
pub(crate) fn problem_line(problem: &WorkspaceProblem) -> String {
    let text = with_command(problem.to_string(), problem.remedy.as_ref());
    format!("{}: {text}", severity_name(problem.severity))
}

/// The word for a severity.
pub(crate) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
