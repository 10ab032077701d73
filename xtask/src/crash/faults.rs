//! What is done to gateways and their database, in an order that is drawn from a seed.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::cluster::Cluster;
use super::database::{ServerEnd, TestedDatabase};
use crate::Result;

/// How often each is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultPlan {
    pub(super) kills: usize,
    pub(super) pauses: usize,
    pub(super) cuts: usize,
    pub(super) restarts: usize,
    pub(super) fills: usize,
    pub(super) clock_jumps: usize,
    /// The least time between two of them, in milliseconds.
    pub(super) between: u64,
    pub(super) lease: Duration,
    pub(super) seed: u64,
}

/// What was done, and when.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultsDone {
    pub(super) kills: Vec<(usize, SystemTime)>,
    pub(super) pauses: usize,
    pub(super) cuts: usize,
    pub(super) restarts: usize,
    pub(super) fills: usize,
    pub(super) clock_jumps: usize,
    /// When each fault of whichever kind began, in order.
    pub(super) begun: Vec<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    Kill,
    Pause,
    Cut,
    Restart,
    Fill,
    ClockJump,
}

/// How much longer than the least a pause between two faults may be, in milliseconds: long enough for turns to
/// end in between, and short enough to hit some.
const LONGER: u64 = 550;
/// How long a disk is full.
const FULL: (u64, u64) = (500, 3_000);
/// By how many seconds a clock is wrong at most, forward or back: three days.
const WRONG: u64 = 3 * 24 * 3_600;
/// How long a killed gateway stays dead.
const DEAD: (u64, u64) = (0, 400);
/// How much longer than a lease something is silent.
pub(super) const BEYOND_LEASE: (u64, u64) = (300, 1_500);
/// How often it is said how far it is.
const PROGRESS: Duration = Duration::from_secs(20);

/// Does all of it.
pub(super) async fn inflict(
    cluster: &Arc<Cluster>,
    database: &TestedDatabase,
    plan: FaultPlan,
) -> Result<FaultsDone> {
    let mut random = RandomDraw(plan.seed.max(1));
    let mut left = shuffle(plan, &mut random);
    let (mut done, mut silent) = (FaultsDone::default(), JoinSet::new());
    let mut told = Instant::now();
    while let Some(fault) = left.pop() {
        random.pause((plan.between, plan.between + LONGER)).await;
        let node = random.below(cluster.count());
        let silence = plan.lease + random.span(BEYOND_LEASE);
        done.begun.push(SystemTime::now());
        match fault {
            FaultKind::Fill => {
                fill_disk(cluster, database, random.span(FULL)).await?;
                done.fills += 1;
            }
            FaultKind::ClockJump => {
                let seconds = random.next() % (2 * WRONG);
                cluster.move_clock(node, seconds.cast_signed() - WRONG.cast_signed()).await?;
                done.clock_jumps += 1;
            }
            FaultKind::Kill => {
                let at = SystemTime::now();
                cluster.kill(node).await?;
                done.kills.push((node, at));
                random.pause(DEAD).await;
                cluster.revive(node).await?;
            }
            FaultKind::Pause => {
                // Others are hit while one is silent; one at least always answers.
                while silent.len() + 1 >= cluster.count().max(2) {
                    silent.join_next().await;
                }
                let cluster = cluster.clone();
                silent.spawn(async move { cluster.pause(node, silence).await.is_ok() });
                done.pauses += 1;
            }
            FaultKind::Cut => {
                while silent.len() + 1 >= cluster.count().max(2) {
                    silent.join_next().await;
                }
                let cluster = cluster.clone();
                silent.spawn(async move { cluster.cut(node, silence).await.is_ok() });
                done.cuts += 1;
            }
            FaultKind::Restart => {
                let how = match done.restarts % 2 {
                    0 => ServerEnd::Fast,
                    _ => ServerEnd::Immediate,
                };
                tokio::task::block_in_place(|| database.restart(how))?;
                done.restarts += 1;
            }
        }
        if told.elapsed() >= PROGRESS {
            eprintln!("{} faults to go", left.len());
            told = Instant::now();
        }
    }
    while silent.join_next().await.is_some() {}
    Ok(done)
}

/// Leaves the database no room for a while.
async fn fill_disk(cluster: &Cluster, database: &TestedDatabase, span: Duration) -> Result<()> {
    let disk = database.disk().or(cluster.disk()).ok_or("there is no disk to fill")?;
    disk.fill()?;
    sleep(span).await;
    disk.clear()?;
    tokio::task::block_in_place(|| database.revive())
}

/// All faults of a plan in the order in which they come.
fn shuffle(plan: FaultPlan, random: &mut RandomDraw) -> Vec<FaultKind> {
    let counts = [
        (FaultKind::Kill, plan.kills),
        (FaultKind::Pause, plan.pauses),
        (FaultKind::Cut, plan.cuts),
        (FaultKind::Restart, plan.restarts),
        (FaultKind::Fill, plan.fills),
        (FaultKind::ClockJump, plan.clock_jumps),
    ];
    let mut all: Vec<FaultKind> =
        counts.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count)).collect();
    for last in (1..all.len()).rev() {
        all.swap(last, random.below(last + 1));
    }
    all
}

/// Numbers that look random and are the same for the same seed.
struct RandomDraw(u64);

impl RandomDraw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn span(&mut self, (least, most): (u64, u64)) -> Duration {
        Duration::from_millis(least + self.next() % (most - least).max(1))
    }

    async fn pause(&mut self, range: (u64, u64)) {
        sleep(self.span(range)).await;
    }
}
