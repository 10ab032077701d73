//! Benchmarks: `cargo xtask bench NAME` prints a table and writes its figures,
//! with the machine they were taken on, to `bench/NAME.json` in cargo's target
//! directory.

mod context;
mod machine;
mod report;
mod stats;
mod synthetic;

use std::fs;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use crate::Result;
use crate::project::{Project, cargo};
use machine::Machine;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bench {
    /// Assemble one turn of a long session in a large workspace.
    Context,
}

impl Bench {
    fn name(self) -> &'static str {
        match self {
            Bench::Context => "context",
        }
    }
}

/// Runs a benchmark. A missed goal is shown, but is no failure: what a busy
/// machine measures must not turn a change away.
pub(crate) fn run(project: &Project, bench: Bench) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        return run_in_release(bench);
    }
    let machine = Machine::look();
    let report = match bench {
        Bench::Context => context::run()?,
    };
    println!("bench {}: {machine}\n{report}", bench.name());

    let folder = project.target.join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join(bench.name()).with_extension("json");
    let figures = json!({ "bench": bench.name(), "machine": machine, "report": report });
    fs::write(&file, serde_json::to_string_pretty(&figures)? + "\n")?;
    println!("written to {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again, optimised: figures of a debug build are worthless.
fn run_in_release(bench: Bench) -> Result<ExitCode> {
    eprintln!("building in release mode");
    let status = cargo()
        .args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench", bench.name()])
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
