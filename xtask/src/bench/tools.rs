//! What tools cost: a call of a program that a skill declares, beside the same
//! program started plainly in the same run; and a turn of an agent that has 100
//! tools of MCP servers and uses none, beside one without them.

mod program;
mod servers;

use std::future::Future;
use std::path::PathBuf;
use std::time::Instant;

use super::report::{Figure, Goal, Report, Row, Table, Unit};
use super::stats::Samples;
use crate::Result;
use crate::project::cargo;

/// Milliseconds that a declared tool's call may add to its program.
const MOST_FOR_A_CALL: f64 = 5.0;

/// Milliseconds that the tools of servers may add to a turn.
const MOST_FOR_SERVERS: f64 = 1.0;

/// Builds what is needed in temporary folders, and measures.
pub(super) fn run() -> Result<Report> {
    let launcher = build_recto()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let calls = runtime.block_on(program::measure(&launcher))?;
    let turns = runtime.block_on(servers::measure())?;
    Ok(report(&calls, &turns))
}

/// Recto's own executable confines itself and becomes the program, so it is built
/// as this one is. The engine makes it larger, and slower to start: it is built in
/// where it is built into this program.
fn build_recto() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("recto");
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "recto", "--bin", "recto"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    if recto_llm::IS_BUILT_IN {
        build.args(["--features", "embedded"]);
    }
    match build.status()?.success() && path.is_file() {
        true => Ok(path),
        false => Err(format!("{} could not be built", path.display()).into()),
    }
}

/// Two ways to do a thing, measured in turn.
struct Pair {
    name: &'static str,
    plain: Samples,
    with: Samples,
}

impl Pair {
    fn new(name: &'static str, times: Vec<(f64, f64)>) -> Result<Self> {
        let (plain, with): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
        let samples = |times| Samples::new(times).ok_or("nothing was measured");
        Ok(Pair { name, plain: samples(plain)?, with: samples(with)? })
    }

    /// What it adds, by the medians.
    fn added(&self) -> f64 {
        self.with.percentile(50) - self.plain.percentile(50)
    }

    fn row(&self) -> Row {
        let figure = |name, value| Figure { name, value, unit: Unit::Milliseconds };
        let figures = vec![
            Figure { name: "runs", value: self.with.count() as f64, unit: Unit::Count },
            figure("without p50", self.plain.percentile(50)),
            figure("without p95", self.plain.percentile(95)),
            figure("with p50", self.with.percentile(50)),
            figure("with p95", self.with.percentile(95)),
            figure("added p50", self.added()),
            figure("added p95", self.with.percentile(95) - self.plain.percentile(95)),
        ];
        Row::new(self.name, figures)
    }
}

/// What work took, in milliseconds, and what it gave.
async fn timed<T>(work: impl Future<Output = T>) -> (f64, T) {
    let start = Instant::now();
    let result = work.await;
    (start.elapsed().as_secs_f64() * 1e3, result)
}

fn report(calls: &program::Measured, turns: &servers::Measured) -> Report {
    let setup = format!(
        "Calls: `date -u` started plainly, and called as a declared tool inside the sandbox \
         ({}). Turns: gathering and assembling a request without MCP servers, and with {} servers \
         of {} tools each that are known from the cache.",
        recto_tools::guards(),
        servers::SERVERS,
        servers::TOOLS,
    );
    let added = |name: &'static str, limit, pair: &Pair| {
        Goal::at_most(name, limit, pair.added(), Unit::Milliseconds)
    };
    let alone = servers::SERVERS.saturating_sub(turns.started) as f64;
    let goals = vec![
        added("added by a call, p50", MOST_FOR_A_CALL, &calls.usual),
        added("added to a turn, always included, p50", MOST_FOR_SERVERS, &turns.always),
        added("added to a turn, searched, p50", MOST_FOR_SERVERS, &turns.searched),
        Goal::at_least("servers left alone", servers::SERVERS as f64, alone, Unit::Count),
    ];
    let rows = |pairs: &[&Pair]| pairs.iter().map(|pair| pair.row()).collect();
    let calls = Table { name: "Calls".to_owned(), rows: rows(&[&calls.usual, &calls.crowded]) };
    let turns = rows(&[&turns.always, &turns.searched, &turns.first]);
    Report { details: vec![calls], ..Report::new(setup, turns, goals) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_the_difference_of_the_medians() {
        let times = vec![(1.0, 4.0), (2.0, 5.0), (9.0, 6.0)];
        let pair = Pair::new("a", times).unwrap();
        assert_eq!(pair.added(), 3.0);
        assert_eq!(pair.row().figures.len(), 7);
        assert!(Pair::new("a", Vec::new()).is_err());
    }
}
