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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    Kill,
    Pause,
    Cut,
    Restart,
}

/// The pauses between two faults, in milliseconds: long enough for turns to end in between, and
/// short enough to hit some.
const BETWEEN: (u64, u64) = (150, 700);
/// How long a killed gateway stays dead.
const DEAD: (u64, u64) = (0, 400);
/// How much longer than a lease something is silent.
const BEYOND_LEASE: (u64, u64) = (300, 1_500);
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
        random.pause(BETWEEN).await;
        let node = random.below(cluster.count());
        let silence = plan.lease + random.span(BEYOND_LEASE);
        match fault {
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

/// All faults of a plan in the order in which they come.
fn shuffle(plan: FaultPlan, random: &mut RandomDraw) -> Vec<FaultKind> {
    let counts = [
        (FaultKind::Kill, plan.kills),
        (FaultKind::Pause, plan.pauses),
        (FaultKind::Cut, plan.cuts),
        (FaultKind::Restart, plan.restarts),
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
