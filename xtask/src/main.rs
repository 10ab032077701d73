//! Recto's own chores: `cargo xtask tidy`, `cargo xtask docs`, `cargo xtask bench NAME`,
//! `cargo xtask fit`, `cargo xtask fuzz`, `cargo xtask crash`.
//!
//! Nothing here ships. It may look at every crate, and no crate may look at it.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod alloc;
mod bench;
mod code;
mod crash;
mod docs;
mod fit;
mod fuzz;
mod project;
mod promises;
mod tidy;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::bench::{BenchName, KeptFiles, TurnsArgs};
use crate::project::Project;

#[global_allocator]
static ALLOCATOR: alloc::CountingAllocator = alloc::CountingAllocator;

/// What goes wrong in a chore is only ever shown.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Recto's own checks, generated docs and benchmarks")]
struct XtaskArgs {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check what compiler and linter can't: crate edges, headers, lengths, type names, links,
    /// generated docs, promises without a test.
    Tidy,
    /// Write docs/cli.md, docs/config.md and docs/openapi.json from the code, and the tests into
    /// docs/promises.md.
    Docs,
    /// Run a benchmark in release mode, print its table and write target/bench/NAME.json.
    Bench {
        /// The benchmark to run.
        name: BenchName,
        /// Make anew what a benchmark keeps between its runs.
        #[arg(long)]
        fresh: bool,
        #[command(flatten)]
        turns: TurnsArgs,
    },
    /// Fit the weights of search on the labelled sets and write them into recto-search.
    Fit {
        /// What is found anew. The order takes a quarter of an hour for its embeddings.
        #[arg(value_enum, default_value_t = fit::FitScope::All)]
        scope: fit::FitScope,
    },
    /// Try parsers and decoders with inputs made up by libFuzzer, and say what was found.
    Fuzz {
        /// The target to run; all of them by default.
        target: Option<String>,
        /// How long each target runs.
        #[arg(long, default_value_t = 1)]
        minutes: u64,
    },
    /// Kill, stop and cut off gateways under load, and look for anything lost, double or out of
    /// order.
    Crash(crash::CrashArgs),
}

fn main() -> ExitCode {
    run(&XtaskArgs::parse().chore).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn run(chore: &Chore) -> Result<ExitCode> {
    let project = Project::load()?;
    match chore {
        Chore::Tidy => tidy::run(&project),
        Chore::Docs => docs::write(&project),
        Chore::Bench { name, fresh, turns } => {
            let files = if *fresh { KeptFiles::Fresh } else { KeptFiles::Used };
            bench::run(&project, *name, files, turns)
        }
        Chore::Fit { scope } => {
            fit::run(&project.root, &project.target, *scope).map(|()| ExitCode::SUCCESS)
        }
        Chore::Fuzz { target, minutes } => fuzz::run(&project, target.as_deref(), *minutes),
        Chore::Crash(args) => crash::run(&project, args),
    }
}
