//! `recto bench`: how turns decide, measured on labelled files.
//!
//! Nothing here decides anything by itself: what is measured is the code that
//! turns run.

mod lines;
mod mode;
mod select;

use crate::cli::BenchCommand;
use crate::failure::CliResult;
use crate::home::RectoHome;

pub(crate) fn run(home: &RectoHome, command: &BenchCommand) -> CliResult {
    match command {
        BenchCommand::Mode { messages, json } => mode::run(home, messages, json.json),
        BenchCommand::Select { items, queries, out, uses, scope } => {
            let candidates =
                if *scope { select::CandidateSet::Scope } else { select::CandidateSet::All };
            select::run(home, [items, queries, out], uses.as_deref(), candidates)
        }
    }
}
