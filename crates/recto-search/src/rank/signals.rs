//! What speaks for each candidate, and for any of them.

use super::form::QueryForm;
use super::weights::{Direction, REQUEST, need_direction};
use super::{Evidence, TextEvidence};
use crate::choose::ItemGroup;
use crate::encoder::Embedding;
use crate::lexical::WordMatch;
use crate::space::DirectionUse;

/// How many signals an item has: words, pairs of words, header, chunks.
pub const ITEM: usize = 4;

/// Which of them is the header.
pub(super) const HEADER: usize = 2;

/// How many numbers say whether a message asks for anything that is here.
pub const MESSAGE: usize = 20;

/// Which of them is how much the message is like a request, to the encoder.
pub const REQUEST_PLACE: usize = 9;

/// Which of them is how much it is like those that need something of the group.
pub const NEED_PLACE: usize = 16;

/// Which of them rest on the encoder: the others are there also by words alone.
pub const DENSE_MESSAGE: [usize; 6] = [0, 5, 6, REQUEST_PLACE, NEED_PLACE, 17];

/// How many numbers say whether an item is what a message asks for.
pub const EVIDENCE: usize = 20;

/// Which of them rest on cosines.
pub const DENSE_EVIDENCE: [usize; 7] = [COSINE, 4, 5, 11, 12, 16, 17];

/// Which of them are the best cosine and the score by words.
pub(super) const COSINE: usize = 3;
pub(super) const LEXICAL: usize = 8;

/// How many of an item's best chunks count: one alone may be a chance hit, and all of
/// them would punish long texts.
const BEST_CHUNKS: usize = 3;

/// How many of the best cosines show how the message stands to the candidates.
const BEST_ITEMS: usize = 5;

/// How many of the best of all groups are told apart: further behind, a place says nothing.
const RIVALS: usize = 50;

/// What each signal of an item is like among many items of all kinds, as mean and
/// standard deviation. Among few candidates their own would mean nothing.
const USUAL: [(f32, f32); ITEM] = [(0.06, 0.10), (0.01, 0.05), (0.08, 0.11), (0.10, 0.11)];

/// How many candidates that counts as.
const USUAL_ITEMS: f32 = 10.0;

/// The cosine of a best chunk that has nothing to do with the message.
const USUAL_COSINE: f32 = 0.12;

/// How far messages go in the direction of requests, in the middle of all workspaces that weights
/// were fitted on: what is taken where the encoder is another, so that it speaks for nothing.
const USUAL_REQUEST: f32 = 0.45;

/// The same in the direction of messages that need something of a group.
fn usual_need(group: ItemGroup) -> f32 {
    match group {
        ItemGroup::Tools => 0.82,
        ItemGroup::Skills => 0.01,
        ItemGroup::Documents => 0.32,
        ItemGroup::Memories => 1.16,
    }
}

/// The furthest that the best is counted to be ahead.
const MARGIN: f32 = 3.0;

/// How much what was said before counts, where a message can't stand by itself.
const BEFORE: f32 = 0.8;

/// How much of its own cosines and words what was said before has for the decision.
const BEFORE_SHARE: f32 = 0.8;

/// How much of its cosines a part of a message has for the decision, and how much of its
/// shares of words: a part has few words, and so meets more of them by chance.
pub(crate) const PART_COSINE: f32 = 0.95;
const PART_SHARE: f32 = 0.7;

/// The signals of all candidates for a query.
pub struct RankSignals {
    whole: TextSignals,
    before: Option<TextSignals>,
    parts: Vec<TextSignals>,
    /// How much the message is like a request, to the encoder.
    request: f32,
    /// How much it is like messages that need something of this group.
    need: f32,
    form: QueryForm,
    is_dense: bool,
}

/// The signals of all candidates for one text of a query.
struct TextSignals {
    /// How the words of each candidate meet the text's.
    matches: Vec<WordMatch>,
    /// The standardised signals of each item.
    items: Vec<[f32; ITEM]>,
    /// Of each item's best chunk.
    cosines: Vec<f32>,
    /// Of each item's header.
    headers: Vec<f32>,
    /// The mean of each item's best chunks.
    chunks: Vec<f32>,
    words: usize,
}

impl TextSignals {
    fn from_evidence(evidence: &Evidence<'_>, text: &TextEvidence<'_>) -> TextSignals {
        let candidates = &evidence.candidates;
        let slots: Vec<u32> = candidates.iter().map(|candidate| candidate.slot).collect();
        let found = evidence.lexicon.search(text.text, &slots);
        let best = |cosines: &[f32]| cosines.iter().copied().max_by(f32::total_cmp);
        let of_each = |number: fn(&[f32]) -> Option<f32>| -> Vec<f32> {
            candidates.iter().map(|one| number(text.cosines_of(one)).unwrap_or(0.0)).collect()
        };
        let (cosines, headers) = (of_each(best), of_each(|cosines| cosines.first().copied()));
        let chunks = of_each(|cosines| Some(mean_of_best(cosines)));
        let raw = found.matches.iter().zip(&headers).zip(&chunks);
        let raw = raw.map(|((found, header), chunks)| [found.even, found.pairs, *header, *chunks]);
        TextSignals {
            items: standardised(raw.collect()),
            matches: found.matches,
            cosines,
            headers,
            chunks,
            words: found.words,
        }
    }

    /// The weighted sum of each candidate's signals.
    fn fused(&self, weights: &[f32; ITEM]) -> Vec<f32> {
        let sum = |item: &[f32; ITEM]| item.iter().zip(weights).map(|(a, b)| a * b).sum();
        self.items.iter().map(sum).collect()
    }

    /// What is compared as it is, whatever the other candidates have.
    fn raw(&self, place: usize) -> RawEvidence {
        let found = &self.matches[place];
        RawEvidence {
            cosine: self.cosines[place],
            header: self.headers[place],
            chunks: self.chunks[place],
            share: found.share,
            header_share: found.header_share,
            even: found.even,
            pairs: found.pairs,
        }
    }
}

/// What a candidate has in common with a query, not standardised.
#[derive(Clone, Copy)]
struct RawEvidence {
    cosine: f32,
    header: f32,
    chunks: f32,
    share: f32,
    header_share: f32,
    even: f32,
    pairs: f32,
}

impl RawEvidence {
    /// The better of two, of which the second has a part of its cosines and of its words.
    fn or(self, other: RawEvidence, cosines: f32, words: f32) -> RawEvidence {
        RawEvidence {
            cosine: self.cosine.max(cosines * other.cosine),
            header: self.header.max(cosines * other.header),
            chunks: self.chunks.max(cosines * other.chunks),
            share: self.share.max(words * other.share),
            header_share: self.header_share.max(words * other.header_share),
            even: self.even.max(words * other.even),
            pairs: self.pairs.max(words * other.pairs),
        }
    }
}

impl RankSignals {
    pub(crate) fn from_evidence(evidence: &Evidence<'_>) -> RankSignals {
        let of_text = |text: &TextEvidence<'_>| TextSignals::from_evidence(evidence, text);
        let group = evidence.candidates.first().map(|one| ItemGroup::of_kind(one.kind));
        RankSignals {
            whole: of_text(&evidence.whole),
            before: evidence.before.as_ref().map(of_text),
            parts: evidence.parts.iter().map(of_text).collect(),
            request: evidence.along_or(&REQUEST, USUAL_REQUEST),
            need: group
                .map_or(0.0, |group| evidence.along_or(need_direction(group), usual_need(group))),
            form: QueryForm::read(evidence.whole.text),
            is_dense: evidence.is_dense(),
        }
    }

    /// How the words of each candidate meet the whole message's.
    pub(super) fn matches(&self) -> &[WordMatch] {
        &self.whole.matches
    }

    /// Whether cosines are among them.
    pub fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// The standardised signals of each candidate for the whole message.
    pub fn items(&self) -> &[[f32; ITEM]] {
        &self.whole.items
    }

    /// The weighted sum of each candidate's signals: of the whole message, with what it leans
    /// on. Its parts decide what is taken, but not the order: in a request of one thing with
    /// several parameters, each of them would count as much as the thing.
    pub fn fused(&self, weights: &[f32; ITEM]) -> Vec<f32> {
        let mut fused = self.whole.fused(weights);
        if let Some(before) = &self.before {
            let before = before.fused(weights);
            fused.iter_mut().zip(before).for_each(|(fused, before)| *fused += BEFORE * before);
        }
        fused
    }

    /// What says whether the message asks for anything, and whether for something of this
    /// group. `order` is that of the candidates by their scores, as far as it is known;
    /// `rivals` is what all groups together reach.
    pub fn message(
        &self,
        fused: &[f32],
        order: &[usize],
        rivals: &RivalEvidence,
    ) -> [f32; MESSAGE] {
        let Some(first) = order.first() else { return [0.0; MESSAGE] };
        let best = fused[*first];
        let second = order.get(1).map_or(best - MARGIN, |second| fused[*second]);
        let group = self.group_evidence(fused.len());
        let mut row = [
            group.cosine,
            best,
            group.share,
            group.header_share,
            (best - second).min(MARGIN),
            group.header,
            group.cosines,
            group.words,
            group.count,
            self.request,
            self.form.talk,
            self.form.work,
            if self.before.is_some() { 1.0 } else { 0.0 },
            self.form.own,
            self.form.code,
            self.form.question,
            self.need,
            rivals.best_cosine(),
            rivals.best_fused(),
            rivals.share,
        ];
        if !self.is_dense {
            DENSE_MESSAGE.iter().for_each(|at| row[*at] = 0.0);
        }
        row
    }

    /// What says of each of the candidates in `order` whether it is what the message asks for,
    /// if that asks for anything. `rivals` is what all groups together reach.
    pub fn evidence(
        &self,
        fused: &[f32],
        order: &[usize],
        rivals: &RivalEvidence,
    ) -> Vec<[f32; EVIDENCE]> {
        let Some(first) = order.first() else { return Vec::new() };
        let best = fused[*first];
        let second = order.get(1).map_or(best - MARGIN, |second| fused[*second]);
        let group = self.group_evidence(fused.len());
        let row = |(rank, place): (usize, &usize)| {
            let raw = self.raw(*place);
            let other = if rank == 0 { second } else { best };
            let mut row = [
                fused[*place],
                (fused[*place] - best).max(-2.0 * MARGIN),
                (fused[*place] - other).clamp(-MARGIN, MARGIN),
                raw.cosine,
                raw.header,
                raw.chunks,
                raw.share,
                raw.header_share,
                raw.even,
                raw.pairs,
                group.words,
                group.cosine,
                group.cosines,
                (rank as f32).ln_1p(),
                group.share,
                group.count,
                raw.cosine - rivals.best_cosine(),
                rank_among(&rivals.cosines, raw.cosine),
                (fused[*place] - rivals.best_fused()).max(-2.0 * MARGIN),
                rank_among(&rivals.fused, fused[*place]),
            ];
            if !self.is_dense {
                DENSE_EVIDENCE.iter().for_each(|at| row[*at] = 0.0);
            }
            row
        };
        order.iter().enumerate().map(row).collect()
    }

    /// What the candidates of this group reach, for those of other groups to be compared with.
    pub fn rivals(&self, fused: &[f32]) -> RivalEvidence {
        let raw = || (0..fused.len()).map(|place| self.raw(place));
        RivalEvidence {
            cosines: best_of(raw().map(|raw| raw.cosine).collect()),
            fused: best_of(fused.to_vec()),
            share: raw().map(|raw| raw.share).fold(0.0, f32::max),
        }
    }

    /// What the message has in common with the candidates at large.
    fn group_evidence(&self, count: usize) -> GroupEvidence {
        let mut best = [USUAL_COSINE; BEST_ITEMS];
        let (mut share, mut header_share, mut header) = (0.0, 0.0, 0.0);
        for place in 0..count {
            let raw = self.raw(place);
            share = f32::max(share, raw.share);
            header_share = f32::max(header_share, raw.header_share);
            header = f32::max(header, raw.header);
            let mut cosine = raw.cosine;
            for place in &mut best {
                if cosine > *place {
                    std::mem::swap(place, &mut cosine);
                }
            }
        }
        let words = self.whole.words + self.before.as_ref().map_or(0, |before| before.words);
        GroupEvidence {
            words: (words as f32).ln_1p(),
            cosine: best[0],
            cosines: best.iter().sum::<f32>() / BEST_ITEMS as f32,
            header,
            share,
            header_share,
            count: (count as f32).ln(),
        }
    }

    /// What a candidate has in common with the message, what it leans on, or a part of it.
    fn raw(&self, place: usize) -> RawEvidence {
        let mut raw = self.whole.raw(place);
        if let Some(before) = &self.before {
            raw = raw.or(before.raw(place), BEFORE_SHARE, BEFORE_SHARE);
        }
        for part in &self.parts {
            raw = raw.or(part.raw(place), PART_COSINE, PART_SHARE);
        }
        raw
    }
}

/// The most that a message has in common with any candidate of a group.
struct GroupEvidence {
    words: f32,
    cosine: f32,
    /// The mean of the best few.
    cosines: f32,
    header: f32,
    share: f32,
    header_share: f32,
    count: f32,
}

/// What the best candidates of all groups reach for a message: an item that is the best of its
/// group may be far behind those of another one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RivalEvidence {
    /// The best cosines, best first.
    cosines: Vec<f32>,
    /// The best scores, best first.
    fused: Vec<f32>,
    /// The most words that any candidate has in common with the message.
    share: f32,
}

impl RivalEvidence {
    /// What all of these reach together.
    pub fn join<'a>(all: impl IntoIterator<Item = &'a RivalEvidence>) -> RivalEvidence {
        let mut joined = RivalEvidence::default();
        for one in all {
            joined.cosines.extend(&one.cosines);
            joined.fused.extend(&one.fused);
            joined.share = joined.share.max(one.share);
        }
        joined.cosines = best_of(joined.cosines);
        joined.fused = best_of(joined.fused);
        joined
    }

    fn best_cosine(&self) -> f32 {
        self.cosines.first().copied().unwrap_or(0.0)
    }

    fn best_fused(&self) -> f32 {
        self.fused.first().copied().unwrap_or(0.0)
    }
}

/// The best of these values, best first.
fn best_of(mut values: Vec<f32>) -> Vec<f32> {
    let best_first = |a: &f32, b: &f32| b.total_cmp(a);
    if values.len() > RIVALS {
        values.select_nth_unstable_by(RIVALS, best_first);
        values.truncate(RIVALS);
    }
    values.sort_unstable_by(best_first);
    values
}

/// How many of the best are better than a value, as the logarithm that ranks are told by.
fn rank_among(best: &[f32], value: f32) -> f32 {
    (best.partition_point(|other| *other > value) as f32).ln_1p()
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

impl Evidence<'_> {
    /// How far the message goes in a direction; what is usual where its encoder knows none.
    fn along_or(&self, direction: &Direction, usual: f32) -> f32 {
        match (self.embedding, self.directions) {
            (None, _) => 0.0,
            (Some(embedding), DirectionUse::Known) => along(direction, embedding),
            (Some(_), DirectionUse::Unknown) => usual,
        }
    }
}

/// How far an embedding goes in a direction.
fn along((direction, scale): &Direction, embedding: &Embedding) -> f32 {
    let pairs = embedding.as_slice().iter().zip(direction);
    scale * pairs.map(|(value, weight)| value * f32::from(*weight)).sum::<f32>()
}
