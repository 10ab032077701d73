//! What speaks for each candidate, and for any of them.

use super::weights::REQUEST;
use super::{Candidate, Evidence};
use crate::choose::ItemGroup;
use crate::encoder::Embedding;
use crate::lexical::WordMatch;

/// How many signals an item has: words, pairs of words, header, chunks.
pub const ITEM: usize = 4;

/// Which of them is the header.
pub(super) const HEADER: usize = 2;

/// How many signals say whether anything fits.
pub const FITNESS: usize = 13;

/// How many of an item's best chunks count: one alone may be a chance hit, and all of
/// them would punish long texts.
const BEST_CHUNKS: usize = 3;

/// How many of the best cosines show how the message stands to the candidates.
const BEST_ITEMS: usize = 5;

/// What each signal of an item is like among many items of all kinds, as mean and
/// standard deviation. Among few candidates their own would mean nothing.
const USUAL: [(f32, f32); ITEM] = [(0.06, 0.10), (0.01, 0.05), (0.08, 0.11), (0.10, 0.11)];

/// How many candidates that counts as.
const USUAL_ITEMS: f32 = 10.0;

/// The cosine of a best chunk that has nothing to do with the message.
const USUAL_COSINE: f32 = 0.12;

/// The furthest that the best is counted to be ahead.
const MARGIN: f32 = 3.0;

/// The signals of all candidates for a query.
pub struct RankSignals {
    /// How the words of each candidate meet the query's.
    pub(super) matches: Vec<WordMatch>,
    /// The standardised signals of each item.
    items: Vec<[f32; ITEM]>,
    /// Of each item's best chunk.
    cosines: Vec<f32>,
    /// Of each item's header.
    headers: Vec<f32>,
    words: usize,
    request: f32,
    is_dense: bool,
}

impl RankSignals {
    pub(crate) fn from_evidence(evidence: &Evidence<'_>) -> RankSignals {
        let candidates = &evidence.candidates;
        let slots: Vec<u32> = candidates.iter().map(|candidate| candidate.slot).collect();
        let found = evidence.lexicon.search(evidence.query_text, &slots);
        let is_dense = candidates.iter().all(|candidate| candidate.has_dense);
        let best = |cosines: &[f32]| cosines.iter().copied().max_by(f32::total_cmp);
        let of_each = |number: fn(&[f32]) -> Option<f32>| -> Vec<f32> {
            candidates.iter().map(|candidate| number(candidate.cosines).unwrap_or(0.0)).collect()
        };
        let (cosines, headers) = (of_each(best), of_each(|cosines| cosines.first().copied()));
        let raw = found.matches.iter().zip(candidates).zip(&headers);
        let raw = raw.map(|((found, candidate), header)| {
            [found.even, found.pairs, *header, mean_of_best(candidate.cosines)]
        });
        let group = candidates.first().map(|candidate| ItemGroup::of_kind(candidate.kind));
        RankSignals {
            items: standardised(raw.collect()),
            matches: found.matches,
            cosines,
            headers,
            words: found.words,
            request: request(group, evidence.query_embedding),
            is_dense,
        }
    }

    /// Whether cosines are among them.
    pub fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// The standardised signals of each candidate.
    pub fn items(&self) -> &[[f32; ITEM]] {
        &self.items
    }

    /// The weighted sum of each candidate's signals.
    pub fn fused(&self, weights: &[f32; ITEM]) -> Vec<f32> {
        let sum = |item: &[f32; ITEM]| item.iter().zip(weights).map(|(a, b)| a * b).sum();
        self.items.iter().map(sum).collect()
    }

    /// What says whether any candidate fits.
    pub fn fitness(&self, fused: &[f32]) -> [f32; FITNESS] {
        let mut order: Vec<usize> = (0..fused.len()).collect();
        let by_fused = |a: &usize, b: &usize| fused[*b].total_cmp(&fused[*a]).then(a.cmp(b));
        if order.len() > 2 {
            order.select_nth_unstable_by(1, by_fused);
            order.truncate(2);
        }
        order.sort_by(by_fused);
        let Some(first) = order.first().copied() else { return [0.0; FITNESS] };
        let margin = order.get(1).map_or(MARGIN, |second| fused[first] - fused[*second]);
        let most =
            |value: fn(&WordMatch) -> f32| self.matches.iter().map(value).fold(0.0, f32::max);
        let count = self.items.len() as f32;
        let all = self.cosines.iter().sum::<f32>() + USUAL_ITEMS * USUAL_COSINE;
        let best_cosines = self.best_cosines();
        let best_items = best_cosines.iter().sum::<f32>() / BEST_ITEMS as f32;
        let lexical = [
            most(|found| found.share),
            most(|found| found.header_share),
            most(|found| found.even),
            self.matches[first].share,
            fused[first],
            margin.min(MARGIN),
            count.ln(),
            (self.words as f32).ln_1p(),
        ];
        let dense = [
            best_cosines[0],
            best_items,
            all / (count + USUAL_ITEMS),
            self.headers[first],
            self.request,
        ];
        let mut fitness = [0.0; FITNESS];
        fitness[..lexical.len()].copy_from_slice(&lexical);
        if self.is_dense {
            fitness[lexical.len()..].copy_from_slice(&dense);
        }
        fitness
    }

    /// The best cosines of different candidates, best first.
    fn best_cosines(&self) -> [f32; BEST_ITEMS] {
        let mut cosines = self.cosines.clone();
        if cosines.len() > BEST_ITEMS {
            cosines.select_nth_unstable_by(BEST_ITEMS, |a, b| b.total_cmp(a));
            cosines.truncate(BEST_ITEMS);
        }
        cosines.sort_unstable_by(|a, b| b.total_cmp(a));
        std::array::from_fn(|place| cosines.get(place).copied().unwrap_or(USUAL_COSINE))
    }

    /// A candidate's best chunk and its cosine, where cosines count.
    pub(super) fn best_chunk(&self, candidate: &Candidate<'_>) -> Option<(usize, f32)> {
        let chunks = candidate.cosines.iter().copied().enumerate();
        chunks.rev().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| self.is_dense)
    }
}

/// The mean of the best few, or of all where there are fewer.
fn mean_of_best(cosines: &[f32]) -> f32 {
    let mut best = [f32::NEG_INFINITY; BEST_CHUNKS];
    for cosine in cosines {
        let mut cosine = *cosine;
        for place in &mut best {
            if cosine > *place {
                std::mem::swap(place, &mut cosine);
            }
        }
    }
    let count = cosines.len().min(BEST_CHUNKS);
    if count == 0 { 0.0 } else { best[..count].iter().sum::<f32>() / count as f32 }
}

/// Each signal as its distance from the mean in standard deviations. What is usual at
/// large counts as a few candidates more.
fn standardised(mut items: Vec<[f32; ITEM]>) -> Vec<[f32; ITEM]> {
    let count = items.len() as f32 + USUAL_ITEMS;
    for (signal, (usual_mean, usual_deviation)) in USUAL.into_iter().enumerate() {
        let values = || items.iter().map(|item| item[signal]);
        let mean = (values().sum::<f32>() + USUAL_ITEMS * usual_mean) / count;
        let squares = values().map(|value| (value - mean).powi(2)).sum::<f32>();
        let deviation = ((squares + USUAL_ITEMS * usual_deviation.powi(2)) / count).sqrt();
        for item in &mut items {
            item[signal] = (item[signal] - mean) / deviation;
        }
    }
    items
}

/// How much a message is like those that ask for something to be done, rather than
/// talk or a question about the world. It matters for what does things.
fn request(group: Option<ItemGroup>, embedding: Option<&Embedding>) -> f32 {
    match (group, embedding) {
        (Some(ItemGroup::Tools | ItemGroup::Skills), Some(embedding)) => {
            let (direction, scale) = REQUEST;
            let pairs = embedding.as_slice().iter().zip(direction);
            scale * pairs.map(|(value, weight)| value * f32::from(weight)).sum::<f32>()
        }
        _ => 0.0,
    }
}
