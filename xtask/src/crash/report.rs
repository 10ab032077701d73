//! What a run came to, for people.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::CrashArgs;
use super::checker::CheckerFault;
use super::clients::{ClientLog, SentMessage};
use super::faults::FaultsDone;
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
    /// How long it took from a kill to the next step of a turn that it cut, in seconds.
    takeovers: Vec<f64>,
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
        let mut takeovers: Vec<f64> =
            sent.iter().filter_map(|sent| takeover(sent, &turns, &done)).collect();
        takeovers.sort_by(f64::total_cmp);
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
            done,
            faults,
        }
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// How long it took until another process went on with a turn whose gateway was killed in the
/// middle of it.
fn takeover(sent: &SentMessage, turns: &[&HeldTurn], done: &FaultsDone) -> Option<f64> {
    let word = sent.acknowledged.last()?;
    let turn = turns.iter().find(|turn| turn.id == word.turn && turn.begins == 2)?;
    let (first, next) = (turn.requests.first()?, turn.requests.get(1)?);
    // The only kill of its gateway between the two requests that the two begins made.
    let is_between = |at: &SystemTime| at > first && at < next;
    let mut kills = done.kills.iter().filter(|(node, at)| *node == word.node && is_between(at));
    let (_, at) = kills.next()?;
    next.duration_since(*at).ok().map(|span| span.as_secs_f64())
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultsDone { kills, pauses, cuts, restarts } = &self.done;
        writeln!(f, "{}", self.what)?;
        writeln!(
            f,
            "  {} kills, {pauses} pauses, {cuts} cuts, {restarts} restarts of the database in {:.0} s",
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
        if let (Some(last), count @ 1..) = (self.takeovers.last(), self.takeovers.len()) {
            let median = self.takeovers[count / 2];
            writeln!(
                f,
                "  {count} turns taken over from a killed gateway: after {median:.1} s in the middle, {last:.1} s at most"
            )?;
        }
        for fault in self.faults.iter().take(MOST_NAMED) {
            writeln!(f, "  {fault}")?;
        }
        match self.faults.len() {
            0 => writeln!(f, "  nothing lost, nothing double, no gap, no disorder"),
            count => writeln!(f, "  {count} faults"),
        }
    }
}
