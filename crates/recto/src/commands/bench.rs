//! `recto bench`: how turns decide, measured on labelled files.
//!
//! Nothing here decides anything by itself: what is measured is the code that
//! turns run.

mod lines;
mod mode;
mod select;

use crate::cli::BenchCommand;
use crate::failure::Failure;
use crate::home::Home;

pub(crate) fn run(home: &Home, command: &BenchCommand) -> Result<(), Failure> {
    match command {
        BenchCommand::Mode { messages, json } => mode::run(home, messages, json.json),
        BenchCommand::Select { items, queries, out, scope } => {
            let candidates = if *scope { select::Among::Scope } else { select::Among::All };
            select::run(home, [items, queries, out], candidates)
        }
    }
}
