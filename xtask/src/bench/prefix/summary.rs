//! What the requests of a session say together, and what was aimed for.

use std::collections::BTreeSet;

use recto_context::ChangeCause;

use super::PlayedSessions;
use super::session::{PlayedRequest, PlayedSession};
use crate::bench::report::{Figure, FigureGoal, FigureRow, FigureUnit};
use crate::bench::stats::Samples;

/// The first turn that counts: by then a session has settled.
pub(super) const FROM: u32 = 5;

/// A session from the turn that counts on, outside the permitted breaks.
pub(super) struct PrefixSummary {
    prompt: u64,
    cached: u64,
    least_share: f64,
    read: Samples,
    first: Samples,
    cold: f64,
    breaks: usize,
}

impl PrefixSummary {
    /// Sums up the turns of both in which nothing breaks the prefix of `sibling`, which
    /// may be the session itself. `None` when there are none.
    pub(super) fn from_session(played: &PlayedSession, sibling: &PlayedSession) -> Option<Self> {
        Self::from_requests(played, &quiet(sibling))
    }

    fn from_requests(played: &PlayedSession, places: &BTreeSet<RequestNumber>) -> Option<Self> {
        let requests = || played.requests.iter().filter(|asked| places.contains(&place(asked)));
        let share = |asked: &PlayedRequest| f64::from(asked.cached) / f64::from(asked.prompt);
        let counted = played.requests.iter().filter(|asked| asked.turn >= FROM);
        Some(PrefixSummary {
            prompt: requests().map(|asked| u64::from(asked.prompt)).sum(),
            cached: requests().map(|asked| u64::from(asked.cached)).sum(),
            least_share: requests().map(share).min_by(f64::total_cmp)?,
            read: Samples::new(requests().map(|asked| f64::from(asked.read())))?,
            first: Samples::new(requests().map(milliseconds))?,
            cold: milliseconds(played.requests.first()?),
            breaks: counted.filter(|asked| asked.breaks()).count(),
        })
    }

    pub(super) fn row(&self, name: &'static str) -> FigureRow {
        let figure = |name, value, unit| Figure { name, value, unit };
        let figures = vec![
            figure("requests", self.read.count() as f64, FigureUnit::Count),
            figure("breaks", self.breaks as f64, FigureUnit::Count),
            figure("cached share", self.share(), FigureUnit::Ratio),
            figure("least", self.least_share, FigureUnit::Ratio),
            figure("read", self.read.percentile(50), FigureUnit::Count),
            figure("most", self.read.max(), FigureUnit::Count),
            figure("first token", self.first.percentile(50), FigureUnit::Milliseconds),
            figure("p95", self.first.percentile(95), FigureUnit::Milliseconds),
            figure("cold", self.cold, FigureUnit::Milliseconds),
            figure("of cold", self.first.percentile(50) / self.cold, FigureUnit::Ratio),
        ];
        FigureRow::new(name, figures)
    }

    /// How much of all prompts together the engine still had.
    fn share(&self) -> f64 {
        self.cached as f64 / self.prompt as f64
    }

    fn read_in_all(&self) -> f64 {
        (self.prompt - self.cached) as f64
    }
}

/// What was aimed for.
pub(super) fn goals(sessions: &PlayedSessions) -> Vec<FigureGoal> {
    let PlayedSessions { talk, turn_only, kept, mixed, plain_talk, plain_picks, plain_mixed } =
        sessions;
    let mut goals = Vec::new();
    for (name, played, least) in [
        ("talk", talk, 0.95),
        ("picks kept", kept, 0.95),
        ("picks of the turn", turn_only, 0.88),
        ("mixed", mixed, 0.88),
    ] {
        let Some(summary) = PrefixSummary::from_session(played, played) else { continue };
        let first = summary.first.percentile(50) / summary.cold;
        let what = format!("{name}: cached share");
        goals.push(FigureGoal::at_least(what, least, summary.share(), FigureUnit::Ratio));
        let what = format!("{name}: first token, of cold");
        goals.push(FigureGoal::at_most(what, 0.2, first, FigureUnit::Ratio));
    }
    for (name, played, plain) in [
        ("talk", talk, plain_talk),
        ("picks of the turn", turn_only, plain_picks),
        ("picks kept", kept, plain_picks),
        ("mixed", mixed, plain_mixed),
    ] {
        let what = format!("{name}: tokens read, of the plain order's");
        let measured = read_by(played, plain);
        goals.extend(
            measured.map(|measured| FigureGoal::at_most(what, 0.2, measured, FigureUnit::Ratio)),
        );
    }
    goals.extend(flip_goal(mixed));
    goals
}

/// What a session reads, by what the plain order reads in the same turns.
fn read_by(played: &PlayedSession, plain: &PlayedSession) -> Option<f64> {
    let of_plain: BTreeSet<RequestNumber> = plain.requests.iter().map(place).collect();
    let both = quiet(played).intersection(&of_plain).copied().collect();
    let [own, plain] = [played, plain].map(|session| PrefixSummary::from_requests(session, &both));
    Some(own?.read_in_all() / plain?.read_in_all())
}

/// Back in full mode, everything is still there but the last token of the last
/// reply, which was said and never read. A trim in between would have cost what it
/// costs anywhere.
fn flip_goal(mixed: &PlayedSession) -> Option<FigureGoal> {
    let full = mixed.requests.iter().filter(|asked| !asked.mode.is_minimal());
    let pairs = full.clone().zip(full.skip(1));
    let back = pairs.filter(|(before, asked)| {
        asked.cause == Some(ChangeCause::ModeFlipped) && asked.trims == before.trims
    });
    let again = back.map(|(_, asked)| asked.again).max()?;
    let what = "mixed: most tokens read again at a flip back";
    Some(FigureGoal::at_most(what, 1.0, f64::from(again), FigureUnit::Count))
}

/// Requests from the turn that counts on, without those that break the prefix.
fn quiet(played: &PlayedSession) -> BTreeSet<RequestNumber> {
    let counted = played.requests.iter().filter(|asked| asked.turn >= FROM && !asked.breaks());
    counted.map(place).collect()
}

/// A turn, and a request within it.
type RequestNumber = (u32, u32);

fn place(asked: &PlayedRequest) -> RequestNumber {
    (asked.turn, asked.step)
}

fn milliseconds(asked: &PlayedRequest) -> f64 {
    asked.first.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use recto_context::Mode;

    use super::*;

    /// A session in which each turn reads this much of a prompt of 100 tokens, for
    /// this cause.
    fn played(requests: &[(u32, Option<ChangeCause>)]) -> PlayedSession {
        let asked = |(index, (read, cause)): (usize, &(u32, Option<ChangeCause>))| PlayedRequest {
            turn: index as u32 + 1,
            step: 1,
            mode: Mode::Full,
            prompt: 100,
            cached: 100 - read,
            again: read / 2,
            trims: 0,
            first: Duration::from_millis(u64::from(*read)),
            cause: *cause,
        };
        let requests = requests.iter().enumerate().map(asked).collect();
        PlayedSession { requests, answers: Vec::new(), stable: 80 }
    }

    #[test]
    fn breaks_and_the_first_turns_do_not_count() {
        let picks = Some(ChangeCause::PicksLeft);
        let session = played(&[
            (100, None),
            (50, None),
            (50, None),
            (50, None),
            (4, None),
            (90, Some(ChangeCause::HistoryTrimmed)),
            (8, picks),
        ]);
        let summary = PrefixSummary::from_session(&session, &session).unwrap();
        assert_eq!((summary.read.count(), summary.breaks), (2, 1));
        assert_eq!((summary.share(), summary.least_share), (0.94, 0.92));
        assert_eq!((summary.read_in_all(), summary.cold), (12.0, 100.0));
    }

    #[test]
    fn the_plain_order_is_measured_in_the_same_turns() {
        let own = played(&[(9, None); 6]);
        let plain = played(&[(60, Some(ChangeCause::SurroundingsChanged)); 6]);
        assert!(PrefixSummary::from_session(&plain, &plain).is_none());
        let summary = PrefixSummary::from_session(&plain, &own).unwrap();
        assert_eq!((summary.read_in_all(), summary.breaks), (120.0, 2));
        // Also when it was not played to the end.
        let short = played(&[(60, Some(ChangeCause::SurroundingsChanged)); 5]);
        assert_eq!(read_by(&own, &short), Some(0.15));
    }

    #[test]
    fn only_the_way_back_to_full_is_a_flip_back() {
        let flip = Some(ChangeCause::ModeFlipped);
        let mut session = played(&[(4, None), (40, flip), (12, flip), (50, flip), (60, flip)]);
        session.requests[1].mode = Mode::Minimal;
        session.requests[3].mode = Mode::Minimal;
        // The last one comes with a trim.
        session.requests[4].trims = 1;
        assert_eq!(flip_goal(&session).unwrap().measured(), 6.0);
        assert!(flip_goal(&played(&[(1, None)])).is_none());
    }
}
