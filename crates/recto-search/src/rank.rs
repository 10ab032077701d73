//! From signals to an order and a probability.
//!
//! Each signal is standardised over the candidates, weighted and added: that is the
//! order. The probability has two factors. The first is how likely it is that
//! anything here fits the message at all, by the best raw signals: cosines and shares
//! of words, which mean the same whether there are two candidates or a thousand. The
//! second is how an item compares with the best one. So the answer can be "none", and
//! of several that are alike each is as probable as the other.
//!
//! Weights come from `weights`, which `cargo xtask fit` writes. Nothing is fitted for
//! memories: they have the weights of documents, and what they add is given here with
//! its reason.

mod signals;
mod weights;

#[cfg(test)]
mod tests;

use recto_context::{ItemKind, Scores};

use crate::choose::ItemGroup;
use crate::encoder::Embedding;
use crate::lexical::Lexicon;
use signals::HEADER;
pub use signals::{FITNESS, ITEM, RankSignals};
use weights::{RankWeights, group_weights};

/// What there is to rank by.
pub(crate) struct Evidence<'a> {
    pub(crate) lexicon: &'a Lexicon,
    pub(crate) query_text: &'a str,
    pub(crate) query_embedding: Option<&'a Embedding>,
    pub(crate) candidates: Vec<Candidate<'a>>,
    /// The names of the candidates, which matter only between equals.
    pub(crate) name: &'a dyn Fn(usize) -> &'a str,
}

/// An item that could be taken.
pub(crate) struct Candidate<'a> {
    /// Its place in the lexicon.
    pub(crate) slot: u32,
    pub(crate) kind: ItemKind,
    /// Of the query with each chunk, the header first.
    pub(crate) cosines: &'a [f32],
    /// Whether all its chunks have their vectors.
    pub(crate) has_dense: bool,
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

/// The first `count` of all candidates, best first; equal ones by their names.
pub(crate) fn rank(evidence: &Evidence<'_>, count: usize) -> Vec<RankedCandidate> {
    let Some(first) = evidence.candidates.first() else { return Vec::new() };
    let group = ItemGroup::of_kind(first.kind);
    let signals = RankSignals::from_evidence(evidence);
    let weights = group_weights(group, signals.is_dense());
    let mut fused = signals.fused(&signal_weights(group, weights));
    let fits = fits(&signals.fitness(&fused), weights);
    for (fused, found) in fused.iter_mut().zip(&signals.matches) {
        *fused -= DENIED * found.denied_share;
    }
    if group == ItemGroup::Memories {
        fused = with_thread(&fused, evidence, &signals);
    }
    let order = best_first(&fused, evidence, count);
    let best = order.first().map_or(0.0, |best| fused[*best]);
    let relative = |place: usize, cosine: Option<f32>| {
        let found = &signals.matches[place];
        // Without a word in common, words say nothing for an item.
        if !signals.is_dense() && found.score <= 0.0 {
            return 0.0;
        }
        let behind = weights.contrast * (fused[place] - best);
        let nearness = cosine.filter(|_| group == ItemGroup::Documents).map_or(1.0, nearness);
        behind.exp() * (1.0 - DOUBT * found.denied_share).max(0.0) * nearness
    };
    let ranked = |(rank, place): (usize, usize)| {
        let (best_chunk, cosine) = signals.best_chunk(&evidence.candidates[place]).unzip();
        RankedCandidate {
            candidate: place,
            scores: Scores {
                cosine,
                lexical: Some(signals.matches[place].score),
                fused: Some(fused[place]),
                probability: Some(fits * relative(place, cosine)),
                rank: u32::try_from(rank + 1).ok(),
                ..Scores::default()
            },
            best_chunk,
        }
    };
    order.into_iter().enumerate().map(ranked).collect()
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
    let name = evidence.name;
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
fn nearness(cosine: f32) -> f32 {
    ((cosine - APART) / (NEAR - APART)).clamp(0.0, 1.0)
}

/// The probability that anything fits.
fn fits(fitness: &[f32; FITNESS], weights: &RankWeights) -> f32 {
    let sum: f32 = fitness.iter().zip(weights.fitness).map(|(value, weight)| value * weight).sum();
    1.0 / (1.0 + (-(sum + weights.bias)).exp())
}

/// Memories by what stands around them and by who spoke.
fn with_thread(fused: &[f32], evidence: &Evidence<'_>, signals: &RankSignals) -> Vec<f32> {
    let candidates = &evidence.candidates;
    let at = |place: Option<usize>| place.map_or(0.0, |place| fused[place]);
    let of = |(place, candidate): (usize, &Candidate<'_>)| {
        let (previous, next) = (candidate.previous, candidate.next);
        let before = previous.and_then(|place| candidates[place].previous);
        let behind = next.and_then(|place| candidates[place].next);
        let near = NEIGHBOUR * (at(previous) + at(next));
        let far = SECOND_NEIGHBOUR * (at(before) + at(behind));
        let asked = |previous: &usize| {
            evidence.lexicon.is_answer(candidate.slot, candidates[*previous].slot)
        };
        let question = previous.filter(asked);
        let speaker = if signals.matches[place].names_speaker { SPEAKER } else { 0.0 };
        fused[place] + near + far + QUESTION * at(question) + speaker
    };
    candidates.iter().enumerate().map(of).collect()
}
