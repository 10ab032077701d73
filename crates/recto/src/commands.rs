//! What the commands do, one file each.

pub(crate) mod agents;
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
pub(crate) mod pair;
pub(crate) mod schedule;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod shell;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod turns;

use recto_context::HistoryProblem;

use crate::failure::CliFailure;

/// The most unreadable lines of a history that are shown one by one.
const SHOWN_LINES: usize = 20;

/// The failure with what is wrong with the lines of a history.
pub(crate) fn history_failure(failure: CliFailure, problems: &[HistoryProblem]) -> CliFailure {
    let shown = problems.iter().take(SHOWN_LINES);
    let failure = shown.fold(failure, |failure, problem| failure.because(problem));
    let rest = problems.len().saturating_sub(SHOWN_LINES);
    let more = if rest > 0 { format!("{rest} more lines have problems; ") } else { String::new() };
    failure.hint(format!(
        "{more}each line is a JSON message: {{\"role\": \"user\", \"content\": \"hi\"}}"
    ))
}
