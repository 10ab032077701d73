//! Benchmarks: `cargo xtask bench NAME` prints a table and writes its figures,
//! with the machine they were taken on, to `bench/NAME.json` in cargo's target
//! directory.

mod agent;
mod calls;
mod context;
mod daemon;
mod embed;
mod embedded;
mod files;
pub(crate) mod http;
mod machine;
mod memory;
mod model;
mod pair;
mod prefix;
mod report;
mod select;
mod served;
mod stats;
mod synthetic;
mod talk;
mod tools;
mod turns;
mod usage;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use crate::Result;
use crate::project::{Project, cargo};
use machine::MachineFacts;
use report::BenchReport;

pub(crate) use turns::TurnsArgs;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchName {
    /// Assemble one turn of a long session in a large workspace.
    Context,
    /// The encoder's speed, beside ONNX Runtime's and transformers.js's with the same weights.
    Embed,
    /// Search in indexes of up to 100,000 chunks: time and memory.
    Select,
    /// A year of use: recalls, what memory adds to a turn and to a start.
    Memory,
    /// A year of turns: what `recto stats` takes, and what counting adds to writing.
    Stats,
    /// Calls of declared tools beside their programs alone, and turns with idle MCP servers.
    Tools,
    /// Turns through HTTP: 64 sessions of `recto serve` at once.
    Turns,
    /// `recto serve` as it starts and stands by: time, memory, and memory after 10,000 turns.
    Daemon,
    /// Sessions of 50 turns on the embedded model: how much of each prompt it has read before.
    Prefix,
    /// The embedded model's speed, beside llama-cpp-python's on the same file.
    Embedded,
    /// Tool calls of the embedded model in minimal mode, beside full mode.
    Calls,
    /// Small talk with the embedded model: stamps that it imitates, and what it says again.
    Talk,
}

/// What becomes of what a benchmark kept of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptFiles {
    /// What an earlier run made is used again.
    Used,
    /// It is made anew.
    Fresh,
}

/// What a benchmark takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BenchNeeds {
    /// Nothing but this program.
    Nothing,
    /// The embedded model: its engine and its file.
    Model,
}

impl BenchName {
    fn name(self) -> &'static str {
        match self {
            BenchName::Context => "context",
            BenchName::Embed => "embed",
            BenchName::Select => "select",
            BenchName::Memory => "memory",
            BenchName::Stats => "stats",
            BenchName::Tools => "tools",
            BenchName::Turns => "turns",
            BenchName::Daemon => "daemon",
            BenchName::Prefix => "prefix",
            BenchName::Embedded => "embedded",
            BenchName::Calls => "calls",
            BenchName::Talk => "talk",
        }
    }

    fn needs(self) -> BenchNeeds {
        match self {
            BenchName::Context
            | BenchName::Embed
            | BenchName::Select
            | BenchName::Memory
            | BenchName::Stats
            | BenchName::Tools
            | BenchName::Turns
            | BenchName::Daemon => BenchNeeds::Nothing,
            BenchName::Prefix | BenchName::Embedded | BenchName::Calls | BenchName::Talk => {
                BenchNeeds::Model
            }
        }
    }

    /// Measures. `folder` is for what it leaves behind.
    fn measure(
        self,
        project: &Project,
        folder: &Path,
        files: KeptFiles,
        turns: &TurnsArgs,
    ) -> Result<BenchReport> {
        match self {
            BenchName::Context => context::run(),
            BenchName::Embed => embed::run(folder),
            BenchName::Select => select::run(),
            BenchName::Memory => memory::run(folder, files),
            BenchName::Stats => usage::run(),
            BenchName::Tools => tools::run(),
            BenchName::Turns => turns::run(turns),
            BenchName::Daemon => daemon::run(turns),
            BenchName::Prefix => prefix::run(&model::find()?),
            BenchName::Embedded => embedded::run(&model::find()?, folder),
            BenchName::Calls => calls::run(&model::find()?, project),
            BenchName::Talk => talk::run(&model::find()?, project),
        }
    }
}

/// Runs a benchmark. A missed goal is shown, but is no failure: what a busy
/// machine measures must not turn a change away.
pub(crate) fn run(
    project: &Project,
    bench: BenchName,
    files: KeptFiles,
    turns: &TurnsArgs,
) -> Result<ExitCode> {
    turns.check(bench)?;
    if bench.needs() == BenchNeeds::Model {
        // Told before anything is built, which takes minutes.
        model::find()?;
    }
    let lacks_engine = bench.needs() == BenchNeeds::Model && !recto_llm::IS_BUILT_IN;
    if (cfg!(debug_assertions) && turns.binary.is_none()) || lacks_engine {
        return run_in_release(bench, files, turns);
    }
    let folder = project.target.join("bench");
    fs::create_dir_all(&folder)?;
    let machine = MachineFacts::detect();
    let report = bench.measure(project, &folder, files, turns)?;
    println!("bench {}: {machine}\n{report}", bench.name());

    let file = folder.join(bench.name()).with_extension("json");
    let after = machine::load_now();
    let figures = json!({
        "bench": bench.name(),
        "machine": machine,
        "load_after": after,
        "report": report,
    });
    fs::write(&file, serde_json::to_string_pretty(&figures)? + "\n")?;
    if let Some(load) = after {
        println!("load {load:.2} after");
    }
    println!("written to {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again, optimised: figures of a debug build are worthless.
/// The engine is built in only where it is measured, since that takes minutes.
fn run_in_release(bench: BenchName, files: KeptFiles, turns: &TurnsArgs) -> Result<ExitCode> {
    let features: &[&str] = match bench.needs() {
        BenchNeeds::Nothing => &[],
        BenchNeeds::Model => &["--features", "embedded"],
    };
    match bench.needs() {
        BenchNeeds::Nothing => eprintln!("building in release mode"),
        BenchNeeds::Model => {
            eprintln!("building in release mode; the first time takes some minutes");
        }
    }
    let status = cargo()
        .args(["run", "--quiet", "--release", "--package", "xtask"])
        .args(features)
        .args(["--", "bench", bench.name()])
        .args((files == KeptFiles::Fresh).then_some("--fresh"))
        .args(turns.to_args())
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
