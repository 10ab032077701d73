//! What the commands do, one file each.

pub(crate) mod approvals;
pub(crate) mod bench;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod items;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod turns;

use recto_agent::AgentError;
use recto_context::HistoryProblem;

use crate::failure::CliFailure;

/// Makes a failure for people of an error of the agent, with what to do about it.
pub(crate) fn agent_failed(error: &AgentError) -> CliFailure {
    CliFailure::new(error.to_string()).hint_if(error.hint())
}

/// The most unreadable lines of a history that are told one by one.
const TOLD_LINES: usize = 20;

/// The failure with what is wrong with the lines of a history.
pub(crate) fn history_failure(failure: CliFailure, problems: &[HistoryProblem]) -> CliFailure {
    let told = problems.iter().take(TOLD_LINES);
    let failure = told.fold(failure, |failure, problem| failure.because(problem));
    let rest = problems.len().saturating_sub(TOLD_LINES);
    let more = if rest > 0 { format!("{rest} more lines have problems; ") } else { String::new() };
    failure.hint(format!(
        "{more}each line is a JSON message: {{\"role\": \"user\", \"content\": \"hi\"}}"
    ))
}
