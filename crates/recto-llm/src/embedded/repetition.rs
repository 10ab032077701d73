//! What keeps a reply from saying the same over and over: a guard that makes it improbable, and
//! a detector that finds what happens all the same.
//!
//! Small models fall into their own words, within a reply and from one reply to the next. So the
//! guard looks at what the model wrote: this reply, and its earlier ones. It never looks at what
//! people, files and tools wrote, which a model has to be able to copy, such as a path out of a
//! message. Only the continuation of a long agreement counts less, the longer the less, so that
//! names and turns of phrase come again as often as they are needed.
//!
//! Both work on tokens and know nothing of the engine.

use std::collections::BTreeMap;

/// The longest agreement with something written before that costs nothing, in tokens.
const FREE_AGREEMENT: usize = 4;

/// What going on with a longer one costs, in units of the model's own scores: so much for
/// the first token, and for each further one so many times as much.
const FIRST_PENALTY: f32 = 0.8;
const PENALTY_GROWTH: f32 = 1.75;

/// More than any score can make up for.
const LARGEST_PENALTY: f32 = 1_000.0;

/// A token of a reply, as the guard sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardedToken {
    /// Part of the running text.
    Word(i32),
    /// What structures a text and has to come as often as it does: line breaks, quotes, slashes,
    /// brackets. An agreement ends here, so that lists, paths and JSON keep their form.
    Break,
}

impl GuardedToken {
    /// The token that is written as `piece`.
    pub(super) fn new(token: i32, piece: &[u8]) -> Self {
        let is_break = |byte: &u8| b"\n\t\"\\/:{}[]()<>|*`#=_".contains(byte);
        match piece.iter().any(is_break) {
            true => GuardedToken::Break,
            false => GuardedToken::Word(token),
        }
    }
}

/// Tells which next tokens would repeat what the model wrote before.
#[derive(Debug, Default)]
pub(super) struct RepetitionGuard {
    written: Vec<GuardedToken>,
    /// For each place, how many tokens that end there agree with the last ones.
    agreements: Vec<usize>,
}

impl RepetitionGuard {
    /// Takes in an earlier reply, from its beginning to its end.
    pub(super) fn push_reply(&mut self, reply: impl IntoIterator<Item = GuardedToken>) {
        self.written.extend(reply);
        self.written.push(GuardedToken::Break);
        self.agreements.resize(self.written.len(), 0);
    }

    /// Takes in the next token of this reply.
    pub(super) fn push(&mut self, token: GuardedToken) {
        for place in (0..self.written.len()).rev() {
            let before = place.checked_sub(1).map_or(0, |before| self.agreements[before]);
            let agrees = token != GuardedToken::Break && self.written[place] == token;
            self.agreements[place] = if agrees { before + 1 } else { 0 };
        }
        self.written.push(token);
        self.agreements.push(0);
    }

    /// The tokens that would go on with an agreement, each with what that costs.
    pub(super) fn penalties(&self) -> BTreeMap<i32, f32> {
        let mut longest = BTreeMap::new();
        for (agreement, next) in self.agreements.iter().zip(self.written.iter().skip(1)) {
            if let GuardedToken::Word(token) = next
                && *agreement >= FREE_AGREEMENT
            {
                let before = longest.entry(*token).or_insert(*agreement);
                *before = (*before).max(*agreement);
            }
        }
        longest.into_iter().map(|(token, agreement)| (token, penalty(agreement))).collect()
    }
}

/// What it costs to go on with an agreement of so many tokens.
fn penalty(agreement: usize) -> f32 {
    let beyond = i32::try_from(agreement - FREE_AGREEMENT).unwrap_or(i32::MAX);
    (FIRST_PENALTY * PENALTY_GROWTH.powi(beyond)).min(LARGEST_PENALTY)
}

/// The longest stretch of tokens that is looked for.
const LONGEST_SPAN: usize = 160;

/// How many tokens have to say nothing new. A line of dashes or a short refrain has fewer.
const LEAST_REPEATED: usize = 48;

/// How often a stretch has to come again before that counts: a chorus that is sung twice is none.
const LEAST_AGAIN: usize = 2;

/// Watches the tokens of a reply for a stretch that is repeated without an end.
#[derive(Debug)]
pub(super) struct LoopDetector {
    tokens: Vec<i32>,
    /// How many of the last tokens are the same as the one so many places before, by that
    /// distance.
    agreeing: Vec<usize>,
}

impl Default for LoopDetector {
    fn default() -> Self {
        LoopDetector { tokens: Vec::new(), agreeing: vec![0; LONGEST_SPAN + 1] }
    }
}

/// Whether a reply still gets on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyProgress {
    /// It says something new, as far as can be told.
    Forward,
    /// It repeats a stretch of so many tokens.
    Circle { span: usize },
}

impl LoopDetector {
    /// Takes in the next token, and tells what has become of the reply.
    pub(super) fn push(&mut self, token: i32) -> ReplyProgress {
        let written = self.tokens.len();
        self.tokens.push(token);
        let mut progress = ReplyProgress::Forward;
        for distance in 1..=LONGEST_SPAN.min(written) {
            let is_same = self.tokens[written - distance] == token;
            let agreeing = if is_same { self.agreeing[distance] + 1 } else { 0 };
            self.agreeing[distance] = agreeing;
            let enough = LEAST_REPEATED.max(distance * LEAST_AGAIN);
            if agreeing >= enough && progress == ReplyProgress::Forward {
                progress = ReplyProgress::Circle { span: distance };
            }
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many tokens a circle is found, and how long its stretch is.
    fn find_circle(tokens: impl IntoIterator<Item = i32>) -> Option<(usize, usize)> {
        let mut detector = LoopDetector::default();
        tokens.into_iter().enumerate().find_map(|(at, token)| match detector.push(token) {
            ReplyProgress::Circle { span } => Some((at + 1, span)),
            ReplyProgress::Forward => None,
        })
    }

    /// A guard that has read these replies, and what was written of the next one.
    fn guard(replies: &[&[i32]], written: &[i32]) -> RepetitionGuard {
        let mut guard = RepetitionGuard::default();
        for reply in replies {
            guard.push_reply(reply.iter().map(|token| GuardedToken::Word(*token)));
        }
        for token in written {
            guard.push(GuardedToken::Word(*token));
        }
        guard
    }

    fn penalised(guard: &RepetitionGuard) -> Vec<i32> {
        guard.penalties().into_keys().collect()
    }

    #[test]
    fn a_short_agreement_is_free_and_a_long_one_costs_more_and_more() {
        let reply: Vec<i32> = (0..20).collect();
        let cost = |length: usize| {
            let guard = guard(&[&reply], &reply[..length]);
            guard.penalties().get(&(length as i32)).copied()
        };
        assert_eq!(cost(FREE_AGREEMENT - 1), None);
        assert_eq!(cost(FREE_AGREEMENT), Some(FIRST_PENALTY));
        assert_eq!(cost(FREE_AGREEMENT + 1), Some(FIRST_PENALTY * PENALTY_GROWTH));
        assert!(cost(FREE_AGREEMENT + 14).unwrap() <= LARGEST_PENALTY);
    }

    #[test]
    fn a_reply_is_guarded_against_itself_and_against_each_earlier_one() {
        assert_eq!(penalised(&guard(&[], &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4])), [5]);
        let earlier: [&[i32]; 2] = [&[1, 2, 3, 4, 7], &[1, 2, 3, 4, 8]];
        assert_eq!(penalised(&guard(&earlier, &[1, 2, 3, 4])), [7, 8]);
        // The end of one reply and the beginning of the next are no agreement.
        assert_eq!(penalised(&guard(&[&[1, 2], &[3, 4, 9]], &[1, 2, 3, 4])), [0; 0]);
        assert_eq!(penalised(&guard(&earlier, &[])), [0; 0]);
    }

    #[test]
    fn what_gives_a_text_its_form_ends_an_agreement_and_costs_nothing() {
        let words = |text: &str| -> Vec<GuardedToken> {
            let pieces = text.split_inclusive(' ').zip(1..);
            pieces
                .map(|(piece, _)| GuardedToken::new(piece.len() as i32, piece.as_bytes()))
                .collect()
        };
        let path = words("a/ bb/ ccc/ dddd/ a/ bb/ ccc/ dddd/");
        assert!(path.iter().all(|token| *token == GuardedToken::Break));
        let mut guard = RepetitionGuard::default();
        path.into_iter().for_each(|token| guard.push(token));
        assert!(guard.penalties().is_empty());
    }

    #[test]
    fn one_token_for_ever_is_a_circle() {
        assert_eq!(find_circle(std::iter::repeat_n(7, 500)), Some((49, 1)));
    }

    #[test]
    fn a_stretch_that_comes_again_is_found_whatever_stands_before_it() {
        for span in [2, 5, 30, 100, LONGEST_SPAN] {
            let before = 1_000..1_020;
            let stretch = (0..span as i32).cycle().take(2_000);
            let (found, length) = find_circle(before.chain(stretch)).unwrap();
            assert_eq!(length, span);
            let enough = LEAST_REPEATED.max(span * LEAST_AGAIN) + span;
            assert_eq!(found, 20 + enough, "{span}");
        }
    }

    #[test]
    fn what_changes_a_little_each_time_is_none() {
        let counting = (0..200).flat_map(|number| [9, 9, 9, 100 + number]);
        assert_eq!(find_circle(counting), None);
        let refrain = (0..60).chain(0..60).chain(200..260).chain(0..60);
        assert_eq!(find_circle(refrain), None);
        assert_eq!(find_circle(std::iter::repeat_n(3, 40)), None);
    }
}
