//! From signals to an order and a probability.
//!
//! Each signal is standardised over the candidates, weighted and added: that is the
//! order. The probability has three factors, each a logistic model. The first says whether the
//! message asks for anything at all: how near anything comes to it, and its form, which tells a
//! request from talk that shares its words. The second says, by the same, whether it needs
//! something of this group. The third says whether an item is what it needs: its score, how far it
//! is ahead of the others of its group and behind the best of all groups, raw cosines and shares of
//! words, which mean the same whether there are two candidates or a thousand. So the answer can be
//! "none".
//!
//! Weights come from `weights`, which `cargo xtask fit` writes. The order of memories has
//! the weights of documents, and what it adds is given here with its reason.

mod form;
mod signals;
mod weights;

#[cfg(test)]
mod tests;

use std::ops::Range;

use recto_context::{ItemKind, Scores};

use crate::choose::ItemGroup;
use crate::encoder::Embedding;
use crate::lexical::Lexicon;
use crate::space::DirectionUse;
pub(crate) use signals::PART_COSINE;
use signals::{COSINE, HEADER, LEXICAL};
pub use signals::{
    DENSE_EVIDENCE, DENSE_MESSAGE, EVIDENCE, ITEM, MESSAGE, NEED_PLACE, REQUEST_PLACE, RankSignals,
    RivalEvidence,
};
use weights::{RankWeights, group_weights};

/// What there is to rank by.
pub(crate) struct Evidence<'a> {
    pub(crate) lexicon: &'a Lexicon,
    /// The embedding of the whole message.
    pub(crate) embedding: Option<&'a Embedding>,
    /// Whether it tells how much the message is like a request.
    pub(crate) directions: DirectionUse,
    pub(crate) whole: TextEvidence<'a>,
    /// What was said before, where it counts.
    pub(crate) before: Option<TextEvidence<'a>>,
    pub(crate) parts: Vec<TextEvidence<'a>>,
    pub(crate) candidates: &'a [Candidate],
    /// The names of the candidates, which matter only between equals.
    pub(crate) name: Box<dyn Fn(usize) -> &'a str + 'a>,
}

impl Evidence<'_> {
    /// Whether all texts have cosines with all candidates.
    fn is_dense(&self) -> bool {
        let mut others = self.before.iter().chain(&self.parts);
        self.whole.cosines.is_some() && others.all(|text| text.cosines.is_some())
    }
}

/// A text that is searched for.
#[derive(Clone, Copy)]
pub(crate) struct TextEvidence<'a> {
    pub(crate) text: &'a str,
    /// Its cosines with all pieces of all candidates, where each has its vector.
    pub(crate) cosines: Option<&'a [f32]>,
}

impl<'a> TextEvidence<'a> {
    /// Its cosines with each chunk of a candidate, the header first.
    fn cosines_of(&self, candidate: &Candidate) -> &'a [f32] {
        self.cosines.and_then(|all| all.get(candidate.pieces.clone())).unwrap_or_default()
    }
}

/// An item that could be taken.
pub(crate) struct Candidate {
    /// Its place in the lexicon.
    pub(crate) slot: u32,
    pub(crate) kind: ItemKind,
    /// Where its pieces stand among those of all candidates.
    pub(crate) pieces: Range<usize>,
    /// The neighbours in its thread, as places in the list of candidates.
    pub(crate) previous: Option<usize>,
    pub(crate) next: Option<usize>,
}

/// A candidate with its scores.
pub(crate) struct RankedCandidate {
    /// Its place in the list of candidates.
    pub(crate) candidate: usize,
    pub(crate) scores: Scores,
    /// Which of its chunks fits best, the header first.
    pub(crate) best_chunk: Option<usize>,
}

/// How much of a neighbour's score a memory has too: what was said just before and
/// just after is about the same thing, but is not the thing itself.
const NEIGHBOUR: f32 = 0.3;
/// The same for the neighbour's neighbour: half as near.
const SECOND_NEIGHBOUR: f32 = 0.15;
/// How much more of it a memory has if that is a question which somebody else asked just
/// before: who asks about something uses its words, and who answers need not. As much as
/// any neighbour gives once more.
const QUESTION: f32 = NEIGHBOUR;
/// What it is worth, in standard deviations, that the query names who speaks.
const SPEAKER: f32 = 1.0;

/// How many of the next ones behind a memory are looked at for how probable it is.
const FOLLOWERS: usize = 3;

/// What it costs, in standard deviations, if an item says of all that is asked that it
/// is not for it.
const DENIED: f32 = 3.0;

/// How much less probable it is then, for each part of what is asked: at half of it the
/// item is out of the question.
const DOUBT: f32 = 2.0;

/// Cosines up to which a text is about something else, and from which on it may well
/// be about the same. A word that both have says little below: of a few candidates,
/// one always has most words in common with a message.
const APART: f32 = 0.1;
const NEAR: f32 = 0.3;

/// The candidates of a group with their scores: what can be said of them before it is known what
/// other groups reach.
pub(crate) struct ScoredGroup<'a> {
    evidence: Evidence<'a>,
    group: ItemGroup,
    signals: RankSignals,
    weights: &'static RankWeights,
    fused: Vec<f32>,
}

impl<'a> ScoredGroup<'a> {
    /// Scores candidates, which are all of one group; nothing where there are none.
    pub(crate) fn new(evidence: Evidence<'a>) -> Option<ScoredGroup<'a>> {
        let group = ItemGroup::of_kind(evidence.candidates.first()?.kind);
        let signals = RankSignals::from_evidence(&evidence);
        let weights = group_weights(group, signals.is_dense());
        let mut fused = signals.fused(&signal_weights(group, weights));
        for (fused, found) in fused.iter_mut().zip(signals.matches()) {
            *fused -= DENIED * found.denied_share;
        }
        if group == ItemGroup::Memories {
            fused = with_thread(&fused, &evidence, &signals);
        }
        Some(ScoredGroup { evidence, group, signals, weights, fused })
    }

    /// What the candidates reach, for those of other groups to be compared with.
    pub(crate) fn rivals(&self) -> RivalEvidence {
        self.signals.rivals(&self.fused)
    }

    /// The first `count` of all candidates, best first; equal ones by their names. `rivals` is
    /// what all groups reach that are looked at together, this one among them.
    pub(crate) fn rank(&self, rivals: &RivalEvidence, count: usize) -> Vec<RankedCandidate> {
        let ScoredGroup { evidence, group, signals, weights, fused } = self;
        // How far the best is ahead is told by the second, also where only one is wanted.
        let order = best_first(fused, evidence, count.max(2).saturating_add(FOLLOWERS));
        let rows = signals.evidence(fused, &order, rivals);
        let message = signals.message(fused, &order, rivals);
        let asks = logistic(&message, &weights.message, weights.message_bias)
            * logistic(&message, &weights.group, weights.group_bias);
        let ranked = |(rank, (place, row)): (usize, (usize, [f32; EVIDENCE]))| {
            self.judge(rank, place, &row, asks)
        };
        let mut all: Vec<RankedCandidate> =
            order.into_iter().zip(rows).enumerate().map(ranked).collect();
        if *group == ItemGroup::Memories {
            follow_order(&mut all);
        }
        all.truncate(count);
        all
    }

    /// A candidate with its scores, where the message asks for something with a probability.
    fn judge(
        &self,
        rank: usize,
        place: usize,
        row: &[f32; EVIDENCE],
        asks: f32,
    ) -> RankedCandidate {
        let ScoredGroup { evidence, group, signals, weights, fused } = self;
        let found = &signals.matches()[place];
        let best = best_chunk(evidence, &evidence.candidates[place]);
        let (best_chunk, cosine) = best.filter(|_| signals.is_dense()).unzip();
        // Without a word in common, words say nothing for an item.
        let is_met = signals.is_dense() || row[LEXICAL] > 0.0;
        let nearness = Some(row[COSINE]).filter(|_| signals.is_dense());
        let nearness = nearness.filter(|_| *group == ItemGroup::Documents);
        let nearness = nearness.map_or(1.0, nearness_of);
        let doubt = (1.0 - DOUBT * found.denied_share).max(0.0);
        let fits = asks * logistic(row, &weights.evidence, weights.bias);
        let probability = if is_met { fits * doubt * nearness } else { 0.0 };
        RankedCandidate {
            candidate: place,
            scores: Scores {
                cosine,
                lexical: Some(found.score),
                fused: Some(fused[place]),
                probability: Some(probability),
                rank: u32::try_from(rank + 1).ok(),
                ..Scores::default()
            },
            best_chunk,
        }
    }
}

/// Makes each memory at least as probable as the next ones behind it: who answers a question need
/// not use its words, and stands in front of it for what stands around, not for its own evidence.
fn follow_order(ranked: &mut [RankedCandidate]) {
    let own: Vec<f32> =
        ranked.iter().map(|one| one.scores.probability.unwrap_or_default()).collect();
    for (place, one) in ranked.iter_mut().enumerate() {
        // Without a word in common there is none, whatever stands around.
        if own[place] > 0.0 {
            let behind = own[place..].iter().take(1 + FOLLOWERS);
            one.scores.probability = behind.copied().reduce(f32::max);
        }
    }
}

/// A candidate's best chunk for the whole message, and its cosine.
fn best_chunk(evidence: &Evidence<'_>, candidate: &Candidate) -> Option<(usize, f32)> {
    let chunks = evidence.whole.cosines_of(candidate).iter().copied().enumerate();
    chunks.rev().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What an item's signals weigh. A memory has no header: what stands for it is its text
/// once more, which would count twice.
fn signal_weights(group: ItemGroup, weights: &RankWeights) -> [f32; ITEM] {
    let mut signals = weights.signals;
    if group == ItemGroup::Memories {
        signals[HEADER] = 0.0;
    }
    signals
}

/// The places of the first `count`.
fn best_first(fused: &[f32], evidence: &Evidence<'_>, count: usize) -> Vec<usize> {
    let name = &evidence.name;
    let by_score = |a: &usize, b: &usize| {
        let of_equals = || name(*a).cmp(name(*b)).then(a.cmp(b));
        fused[*b].total_cmp(&fused[*a]).then_with(of_equals)
    };
    let mut order: Vec<usize> = (0..fused.len()).collect();
    if count < order.len() {
        // All others need no order.
        order.select_nth_unstable_by(count, by_score);
        order.truncate(count);
    }
    order.sort_unstable_by(by_score);
    order
}

/// How far a cosine lets words count.
fn nearness_of(cosine: f32) -> f32 {
    ((cosine - APART) / (NEAR - APART)).clamp(0.0, 1.0)
}

/// The probability that a logistic model gives.
fn logistic<const N: usize>(values: &[f32; N], weights: &[f32; N], bias: f32) -> f32 {
    let sum: f32 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    1.0 / (1.0 + (-(sum + bias)).exp())
}

/// Memories by what stands around them and by who spoke.
fn with_thread(fused: &[f32], evidence: &Evidence<'_>, signals: &RankSignals) -> Vec<f32> {
    let candidates = &evidence.candidates;
    let at = |place: Option<usize>| place.map_or(0.0, |place| fused[place]);
    let of = |(place, candidate): (usize, &Candidate)| {
        let (previous, next) = (candidate.previous, candidate.next);
        let before = previous.and_then(|place| candidates[place].previous);
        let behind = next.and_then(|place| candidates[place].next);
        let near = NEIGHBOUR * (at(previous) + at(next));
        let far = SECOND_NEIGHBOUR * (at(before) + at(behind));
        let asked = |previous: &usize| {
            evidence.lexicon.is_answer(candidate.slot, candidates[*previous].slot)
        };
        let question = previous.filter(asked);
        let speaker = if signals.matches()[place].names_speaker { SPEAKER } else { 0.0 };
        fused[place] + near + far + QUESTION * at(question) + speaker
    };
    candidates.iter().enumerate().map(of).collect()
}
