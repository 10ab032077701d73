//! What tools cost: a call of a program that a skill declares, beside the same
//! program started plainly in the same run; and a turn of an agent that has 100
//! tools of MCP servers and uses none, beside one without them.

mod program;
mod servers;

use super::pair::TimedPair;
use super::report::{BenchReport, FigureGoal, FigureTable, FigureUnit};
use crate::Result;
use crate::project::build_recto;

/// Milliseconds that a declared tool's call may add to its program.
const MOST_FOR_A_CALL: f64 = 5.0;

/// Milliseconds that the tools of servers may add to a turn.
const MOST_FOR_SERVERS: f64 = 1.0;

/// Builds what is needed in temporary folders, and measures.
pub(super) fn run() -> Result<BenchReport> {
    let launcher = build_recto()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let calls = runtime.block_on(program::measure(&launcher))?;
    let turns = runtime.block_on(servers::measure())?;
    Ok(report(&calls, &turns))
}

fn report(calls: &program::ProgramOverhead, turns: &servers::ServerOverhead) -> BenchReport {
    let setup = format!(
        "Calls: `date -u` started plainly, and called as a declared tool inside the sandbox \
         ({}). Turns: gathering and assembling a request without MCP servers, and with {} servers \
         of {} tools each that are known from the cache.",
        recto_tools::guards(),
        servers::SERVERS,
        servers::TOOLS,
    );
    let added = |name: &'static str, limit, pair: &TimedPair| {
        FigureGoal::at_most(name, limit, pair.added(), FigureUnit::Milliseconds)
    };
    let alone = servers::SERVERS.saturating_sub(turns.started) as f64;
    let goals = vec![
        added("added by a call, p50", MOST_FOR_A_CALL, &calls.usual),
        added("added to a turn, always included, p50", MOST_FOR_SERVERS, &turns.always),
        added("added to a turn, searched, p50", MOST_FOR_SERVERS, &turns.searched),
        FigureGoal::at_least(
            "servers left alone",
            servers::SERVERS as f64,
            alone,
            FigureUnit::Count,
        ),
    ];
    let rows = |pairs: &[&TimedPair]| pairs.iter().map(|pair| pair.row()).collect();
    let calls =
        FigureTable { name: "Calls".to_owned(), rows: rows(&[&calls.usual, &calls.crowded]) };
    let turns = rows(&[&turns.always, &turns.searched, &turns.first]);
    BenchReport { details: vec![calls], ..BenchReport::new(setup, turns, goals) }
}
