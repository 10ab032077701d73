//! What a run came to, for people.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::CrashArgs;
use super::checker::CheckerFault;
use super::clients::{ClientLog, SentMessage};
use super::faults::{BEYOND_LEASE, FaultsDone};
use super::stored::{HeldSession, HeldTurn};

/// So many faults are named.
const MOST_NAMED: usize = 40;

/// What a run came to.
pub(super) struct CrashReport {
    what: String,
    took: Duration,
    done: FaultsDone,
    said: usize,
    acknowledged: usize,
    heard_at_once: usize,
    /// Turns that were begun more than once, and by how many ended in another way than with a
    /// reply.
    begun_again: usize,
    unanswered: usize,
    /// How long it took from a kill to the next step of a turn that it cut; none where clocks were
    /// moved, by which that is measured.
    takeovers: Vec<Takeover>,
    lease: Duration,
    slowest: Duration,
    faults: Vec<CheckerFault>,
}

impl CrashReport {
    pub(super) fn new(
        args: &CrashArgs,
        took: Duration,
        done: FaultsDone,
        logs: &[ClientLog],
        stored: &[HeldSession],
        faults: Vec<CheckerFault>,
    ) -> Self {
        let turns: Vec<&HeldTurn> = stored.iter().flat_map(|session| &session.turns).collect();
        let sent: Vec<&SentMessage> = logs.iter().flat_map(|log| &log.messages).collect();
        let lease = Duration::from_secs(u64::from(args.lease));
        let mut takeovers: Vec<Takeover> =
            sent.iter().filter_map(|sent| Takeover::find(sent, &turns, &done, lease)).collect();
        takeovers.retain(|_| args.clock_jumps == 0);
        takeovers.sort_by_key(|takeover| takeover.after);
        CrashReport {
            what: format!(
                "{} with {} and {} clients, a lease of {} s, seed {}",
                args.store,
                if args.nodes == 1 {
                    "1 gateway".to_owned()
                } else {
                    format!("{} gateways", args.nodes)
                },
                args.clients,
                args.lease,
                args.seed
            ),
            took,
            said: sent.len(),
            acknowledged: sent.iter().filter(|sent| !sent.acknowledged.is_empty()).count(),
            heard_at_once: sent.iter().filter(|sent| sent.told.len() > 1).count(),
            begun_again: turns.iter().filter(|turn| turn.begins > 1).count(),
            unanswered: turns.iter().filter(|turn| turn.status != "done").count(),
            slowest: sent.iter().map(|sent| sent.took).max().unwrap_or_default(),
            takeovers,
            lease,
            done,
            faults,
        }
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A turn whose gateway was killed in the middle of it, and with which another process went on.
struct Takeover {
    /// The time from the kill to the next request.
    after: Duration,
    /// Whether nothing else was done to anybody meanwhile: whoever takes a turn over may be
    /// hit itself.
    is_undisturbed: bool,
}

impl Takeover {
    fn find(
        sent: &SentMessage,
        turns: &[&HeldTurn],
        done: &FaultsDone,
        lease: Duration,
    ) -> Option<Self> {
        let word = sent.acknowledged.last()?;
        let turn = turns.iter().find(|turn| turn.id == word.turn && turn.begins == 2)?;
        let (first, next) = (turn.requests.first()?, turn.requests.get(1)?);
        // The kill of its gateway between the two requests that the two begins made.
        let is_between = |at: &SystemTime| at > first && at < next;
        let mut kills = done.kills.iter().filter(|(node, at)| *node == word.node && is_between(at));
        let (_, killed) = kills.next()?;
        let silence = lease + Duration::from_millis(BEYOND_LEASE.1);
        let is_near = |at: &&SystemTime| *at > &(*killed - silence) && *at < next;
        Some(Takeover {
            after: next.duration_since(*killed).ok()?,
            is_undisturbed: done.begun.iter().filter(is_near).count() == 1,
        })
    }
}

/// Writes how long takeovers took.
fn write_takeovers(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    takeovers: &[&Takeover],
    lease: Duration,
) -> fmt::Result {
    let Some(last) = takeovers.last() else { return Ok(()) };
    let (count, limit) = (takeovers.len(), lease + Duration::from_secs(1));
    let at = |percent: usize| takeovers[(count * percent / 100).min(count - 1)].after.as_secs_f64();
    let in_time = takeovers.iter().filter(|takeover| takeover.after <= limit).count();
    writeln!(
        f,
        "  {count} {what}: after {:.1} s in the middle, {:.1} s in 9 of 10, {:.1} s in 99 of 100, \
         {:.1} s at most; {in_time} within {} s",
        at(50),
        at(90),
        at(99),
        last.after.as_secs_f64(),
        limit.as_secs()
    )
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultsDone { kills, pauses, cuts, restarts, fills, clock_jumps, begun: _ } = &self.done;
        writeln!(f, "{}", self.what)?;
        writeln!(
            f,
            "  {} kills, {pauses} pauses, {cuts} cuts, {restarts} restarts of the database, its disk full \
             {fills} times, {clock_jumps} clocks moved in {:.0} s",
            kills.len(),
            self.took.as_secs_f64()
        )?;
        writeln!(
            f,
            "  {} messages said, {} acknowledged, {} whose end was heard as it came",
            self.said, self.acknowledged, self.heard_at_once
        )?;
        writeln!(
            f,
            "  {} turns begun more than once, {} ended without a reply; the slowest took {:.1} s",
            self.begun_again,
            self.unanswered,
            self.slowest.as_secs_f64()
        )?;
        let all: Vec<&Takeover> = self.takeovers.iter().collect();
        write_takeovers(f, "turns taken over from a killed gateway", &all, self.lease)?;
        let undisturbed: Vec<&Takeover> =
            all.into_iter().filter(|takeover| takeover.is_undisturbed).collect();
        write_takeovers(f, "of them while nothing else was done", &undisturbed, self.lease)?;
        for fault in self.faults.iter().take(MOST_NAMED) {
            writeln!(f, "  {fault}")?;
        }
        match self.faults.len() {
            0 => writeln!(f, "  nothing lost, nothing double, no gap, no disorder"),
            count => writeln!(f, "  {count} faults"),
        }
    }
}
