//! `cargo xtask crash`: gateways under load that are killed, stopped, cut off from their database and
//! robbed of it, whose disk is full and whose clock is moved, and a checker that compares what every client was told with what the store holds.
//!
//! Real `recto serve` processes answer real HTTP clients, with a model that takes its time
//! (`model.rs`). Meanwhile `faults.rs` does to them what a bad year does. In the end all of them run
//! again, every client waits for what it was promised, and `checker.rs` looks for anything that was
//! lost, done twice, left out or out of order. Its own tests plant such faults.

mod checker;
mod clients;
mod cluster;
mod database;
mod faults;
mod model;
mod proxy;
mod report;
mod shifted_clock;
mod small_disk;
mod stored;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use crate::Result;
use crate::project::{Project, build_recto};
use cluster::{Cluster, ClusterSetup};
use database::{DiskKind, TestedDatabase};
use faults::FaultPlan;
use report::CrashReport;
use shifted_clock::ClockShifter;

/// How long clients may take to hear of all that they were promised, once nothing is broken any
/// more.
const SETTLING: Duration = Duration::from_secs(90);

/// What is to be done to whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct CrashArgs {
    /// The database: `sqlite`, `postgres` for a temporary cluster of its own, or an address.
    #[arg(long, default_value = "sqlite")]
    store: String,
    /// How many gateways share it. A file has one.
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// How many clients talk at once.
    #[arg(long, default_value_t = 12)]
    clients: usize,
    /// How often a gateway is killed.
    #[arg(long, default_value_t = 100)]
    kills: usize,
    /// How often a gateway is stopped for longer than its lease.
    #[arg(long, default_value_t = 0)]
    pauses: usize,
    /// How often a gateway is cut off from the database for longer than its lease.
    #[arg(long, default_value_t = 0)]
    cuts: usize,
    /// How often the database is restarted, every second time as by a crash.
    #[arg(long, default_value_t = 0)]
    restarts: usize,
    /// How often the disk of the database is full for a while. Only root can do that.
    #[arg(long, default_value_t = 0)]
    fills: usize,
    /// How often the clock of a gateway is set to another time. Needs libfaketime.
    #[arg(long, default_value_t = 0)]
    clock_jumps: usize,
    /// The least time between two faults, in milliseconds.
    #[arg(long, default_value_t = 150)]
    between: u64,
    /// The lease of the gateways, in seconds.
    #[arg(long, default_value_t = 2)]
    lease: u32,
    /// What the order of it all is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program to run; it is built where none is named.
    #[arg(long)]
    binary: Option<PathBuf>,
}

impl CrashArgs {
    fn plan(&self) -> FaultPlan {
        FaultPlan {
            kills: self.kills,
            pauses: self.pauses,
            cuts: self.cuts,
            restarts: self.restarts,
            fills: self.fills,
            clock_jumps: self.clock_jumps,
            between: self.between,
            lease: Duration::from_secs(u64::from(self.lease)),
            seed: self.seed,
        }
    }

    fn check(&self) -> Result<()> {
        let is_file = self.store == "sqlite";
        if is_file && (self.nodes != 1 || self.restarts > 0 || self.cuts > 0) {
            return Err("a file has one gateway, and no server that could be restarted".into());
        }
        if self.restarts > 0 && self.store != "postgres" {
            return Err("only a cluster of its own is restarted: --store postgres".into());
        }
        if self.fills > 0 && !matches!(self.store.as_str(), "sqlite" | "postgres") {
            return Err("only the disk of a database of its own is filled".into());
        }
        if self.nodes == 0 || self.clients == 0 {
            return Err("at least one gateway and one client are needed".into());
        }
        Ok(())
    }
}

/// Runs it, and fails where the checker finds something.
pub(crate) fn run(project: &Project, args: &CrashArgs) -> Result<ExitCode> {
    args.check()?;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build_recto()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(crash(project, args, binary))?;
    print!("{report}");
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn crash(project: &Project, args: &CrashArgs, binary: PathBuf) -> Result<CrashReport> {
    let disk = if args.fills > 0 { DiskKind::Small } else { DiskKind::Usual };
    let database = TestedDatabase::start(&project.root, &args.store, disk).await?;
    let model = model::serve().await?;
    let setup = ClusterSetup {
        binary,
        model,
        nodes: args.nodes,
        lease: args.lease,
        disk,
        clock: (args.clock_jumps > 0).then(ClockShifter::find).transpose()?,
    };
    let cluster = Cluster::start(setup, &database).await?;
    let cluster = Arc::new(cluster);
    let begun = Instant::now();
    let load = clients::start(&cluster, args.clients).await?;
    let done = faults::inflict(&cluster, &database, args.plan()).await?;
    cluster.mend().await?;
    let logs = load.finish(SETTLING).await;
    let took = begun.elapsed();
    let stored = stored::read(&database.options(&cluster.folder())?).await?;
    let faults = checker::check(&logs, &stored);
    if !faults.is_empty() {
        cluster.keep_logs();
    }
    drop(cluster);
    Ok(CrashReport::new(args, took, done, &logs, &stored, faults))
}
