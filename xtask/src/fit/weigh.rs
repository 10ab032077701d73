//! Finds the weights.

use std::collections::HashMap;

use recto_search::{DIMENSIONS, FITNESS, ITEM, ItemGroup};

use super::lists::{CandidateList, FEW};
use super::sets::LabelledSet;
use super::solve::{Observation, Solution, logistic, probability};
use super::vectors::FitVectors;
use crate::Result;

/// Parts that messages are dealt out to, so that each can be judged by the others.
pub(super) const FOLDS: usize = 4;

/// How hard the direction of requests is pulled towards nothing: it has many numbers.
const REQUEST_PULL: f64 = 3.0;
/// The same for what says whether anything fits.
const FITNESS_PULL: f64 = 0.3;
/// How hard the weights of a group are pulled towards those of all groups.
const GROUP_PULL: f64 = 3.0;

/// How much messages with near misses count beside those that nothing fits.
const NEAR_MISSES: f64 = 0.2;
/// How much a tool that is missed counts, beside one too many: without it nothing can be
/// done, and one more costs little.
const MISSED_TOOL: f64 = 1.5;
/// How much less sharply items are told apart than the labels would have it: they name
/// one where several would do.
const LENIENCE: f32 = 0.6;

/// The weights of a group, by words alone or with cosines.
#[derive(Clone)]
pub(super) struct FittedWeights {
    pub(super) signals: [f32; ITEM],
    pub(super) contrast: f32,
    pub(super) fitness: [f32; FITNESS],
    pub(super) bias: f32,
}

/// How requests look to the encoder.
pub(super) struct RequestDirection {
    pub(super) direction: Vec<f64>,
    held_out: HashMap<String, f32>,
}

impl RequestDirection {
    pub(super) fn held_out(&self, group: ItemGroup, text: &str) -> f32 {
        let counts = matches!(group, ItemGroup::Tools | ItemGroup::Skills);
        if counts { self.held_out.get(text).copied().unwrap_or(0.0) } else { 0.0 }
    }
}

/// The groups in the order of the results of `all`.
pub(super) const GROUPS: [ItemGroup; 3] =
    [ItemGroup::Tools, ItemGroup::Skills, ItemGroup::Documents];

/// Finds the direction of messages that ask for something to be done.
pub(super) fn requests(sets: &[LabelledSet], vectors: &mut FitVectors) -> Result<RequestDirection> {
    let mut rows: Vec<(String, Observation)> = Vec::new();
    let doing = sets.iter().filter(|set| set.group != ItemGroup::Documents);
    for (number, set) in doing.enumerate() {
        let asking = set.messages.iter().filter(|message| !message.fits.is_empty());
        // Those that fit nothing are the same in every set.
        let nothing = set.messages.iter().filter(|message| message.fits.is_empty());
        let nothing = nothing.filter(|_| number == 0);
        let count = asking.clone().count() as f64;
        for message in asking.chain(nothing) {
            let holds = !message.fits.is_empty();
            let embedding = vectors.message(&message.text);
            // As wide as a standardised value would be.
            let scale = (DIMENSIONS as f64).sqrt();
            let values = embedding.as_slice().iter().map(|value| f64::from(*value) * scale);
            let weight = if holds { set.weight / count } else { 1.0 };
            rows.push((
                message.text.clone(),
                Observation { values: values.collect(), holds, weight },
            ));
        }
    }
    for holds in [false, true] {
        let all: f64 =
            rows.iter().filter(|(_, row)| row.holds == holds).map(|(_, r)| r.weight).sum();
        let same = rows.iter_mut().filter(|(_, row)| row.holds == holds);
        same.for_each(|(_, row)| row.weight *= 250.0 / all);
    }
    let zero = vec![0.0; DIMENSIONS + 1];
    let mut held_out = HashMap::new();
    let (texts, rows): (Vec<String>, Vec<Observation>) = rows.into_iter().unzip();
    for fold in 0..FOLDS {
        let part: Vec<Observation> =
            rows.iter().enumerate().filter(|(at, _)| at % FOLDS != fold).map(copy).collect();
        let found = descend(&part, &zero);
        for (at, row) in rows.iter().enumerate().filter(|(at, _)| at % FOLDS == fold) {
            let sum: f64 = row.values.iter().zip(&found).map(|(a, b)| a * b).sum();
            held_out.insert(texts[at].clone(), sum as f32);
        }
    }
    let mut direction = descend(&rows, &zero);
    direction.truncate(DIMENSIONS);
    let scale = (DIMENSIONS as f64).sqrt();
    direction.iter_mut().for_each(|weight| *weight *= scale);
    Ok(RequestDirection { direction, held_out })
}

fn copy((_, row): (usize, &Observation)) -> Observation {
    Observation { values: row.values.clone(), holds: row.holds, weight: row.weight }
}

/// Logistic regression for many values: by the slope alone.
fn descend(rows: &[Observation], zero: &[f64]) -> Solution {
    let (mut at, mut before) = (zero.to_vec(), zero.to_vec());
    // The slope can't change faster than this.
    let steep = rows.iter().map(|row| row.weight).sum::<f64>() / 4.0 * 4.0 + 2.0 * REQUEST_PULL;
    for round in 0..200 {
        let ahead = round as f64 / (round as f64 + 3.0);
        let look: Vec<f64> = at.iter().zip(&before).map(|(a, b)| a + ahead * (a - b)).collect();
        let mut slope: Vec<f64> = look.iter().map(|weight| 2.0 * REQUEST_PULL * weight).collect();
        if let Some(bias) = slope.last_mut() {
            *bias = 0.0;
        }
        for row in rows {
            let error =
                row.weight * (probability(&row.values, &look) - f64::from(u8::from(row.holds)));
            for (part, value) in slope.iter_mut().zip(row.values.iter().chain([&1.0])) {
                *part += error * value;
            }
        }
        before = at;
        at = look.iter().zip(&slope).map(|(weight, slope)| weight - slope / steep).collect();
    }
    at
}

/// The weights of each group, by words alone and with cosines.
pub(super) fn all(sets: &[LabelledSet], lists: &[CandidateList]) -> Vec<[FittedWeights; 2]> {
    fit(sets, lists, |_| true)
}

/// Fits on the lists whose message is chosen.
pub(super) fn fit(
    sets: &[LabelledSet],
    lists: &[CandidateList],
    chosen: impl Fn(usize) -> bool,
) -> Vec<[FittedWeights; 2]> {
    let lists: Vec<&CandidateList> = lists.iter().filter(|list| chosen(list.message)).collect();
    let of = |group: ItemGroup| -> Vec<&CandidateList> {
        lists.iter().copied().filter(|list| sets[list.set].group == group).collect()
    };
    let order = |is_dense: bool| GROUPS.map(|group| climb(sets, &of(group), is_dense));
    let orders = [order(false), order(true)];
    let rows = |place: usize, is_dense: bool| {
        let (signals, _) = orders[usize::from(is_dense)][place];
        fitness_rows(sets, &of(GROUPS[place]), &signals, is_dense)
    };
    let pooled = [false, true].map(|is_dense| {
        let all: Vec<Observation> =
            (0..GROUPS.len()).flat_map(|place| rows(place, is_dense)).collect();
        logistic(&all, &[0.0; FITNESS + 1], FITNESS_PULL)
    });
    let fitted = |place: usize, is_dense: bool| {
        let (signals, contrast) = orders[usize::from(is_dense)][place];
        let found = logistic(&rows(place, is_dense), &pooled[usize::from(is_dense)], GROUP_PULL);
        let mut fitness = [0.0; FITNESS];
        for (at, weight) in fitness.iter_mut().enumerate() {
            *weight = (found[at] / WIDTH[at]) as f32;
        }
        FittedWeights { signals, contrast, fitness, bias: found[FITNESS] as f32 }
    };
    (0..GROUPS.len()).map(|place| [fitted(place, false), fitted(place, true)]).collect()
}

/// About how wide each value spreads, so that one pull is fair to all.
const WIDTH: [f64; FITNESS] =
    [0.25, 0.25, 0.35, 0.25, 1.2, 0.7, 2.0, 0.7, 0.15, 0.12, 0.06, 0.18, 1.0];

/// The values that say whether anything fits, with the request as found without the message.
pub(super) fn fitness(
    list: &CandidateList,
    signals: &[f32; ITEM],
    is_dense: bool,
) -> [f32; FITNESS] {
    let mut fitness = list.signals.fitness(&list.signals.fused(signals));
    if is_dense {
        fitness[FITNESS - 1] = list.request;
    } else {
        fitness[FITNESS - 5..].fill(0.0);
    }
    fitness
}

fn fitness_rows(
    sets: &[LabelledSet],
    lists: &[&CandidateList],
    signals: &[f32; ITEM],
    is_dense: bool,
) -> Vec<Observation> {
    let key = |list: &CandidateList| (list.set, list.few, list.has_fitting(), list.is_near_miss());
    // Of a message with near misses it is known only that they don't fit: it tells
    // something where one of them comes first.
    let tells =
        |list: &&&CandidateList| !list.is_near_miss() || list.near_misses[first(list, signals)];
    let mut counts: HashMap<(usize, usize, bool, bool), f64> = HashMap::new();
    for list in lists.iter().filter(tells) {
        *counts.entry(key(list)).or_default() += 1.0;
    }
    let row = |list: &&CandidateList| {
        let holds = list.has_fitting();
        let share = match (list.few, holds) {
            (0, true) if sets[list.set].group == ItemGroup::Tools => MISSED_TOOL,
            (0, _) => 1.0,
            // Among many there is always something that would do as well, label or not.
            (100, false) => 0.1,
            _ => 0.3,
        };
        let mut weight = 100.0 * sets[list.set].weight * share / counts[&key(list)];
        if list.is_near_miss() {
            weight *= NEAR_MISSES;
        }
        let values = fitness(list, signals, is_dense);
        let values = values.iter().zip(WIDTH).map(|(value, width)| f64::from(*value) / width);
        Observation { values: values.collect(), holds, weight }
    };
    lists.iter().filter(tells).map(row).collect()
}

/// The place of the best candidate.
fn first(list: &CandidateList, signals: &[f32; ITEM]) -> usize {
    let fused = list.signals.fused(signals);
    (0..fused.len()).rev().max_by(|a, b| fused[*a].total_cmp(&fused[*b])).unwrap_or(0)
}

/// Climbs to the weights that put fitting items first, then finds how sharply the
/// fitting ones stand out.
fn climb(sets: &[LabelledSet], lists: &[&CandidateList], is_dense: bool) -> ([f32; ITEM], f32) {
    let full: Vec<&CandidateList> =
        lists.iter().copied().filter(|list| list.few == 0 && list.has_fitting()).collect();
    // More than one start: the ground is uneven.
    let starts: &[[f32; ITEM]] = if is_dense {
        &[[0.5, 0.05, 0.45, 0.45], [0.5, 0.05, 0.3, 0.8]]
    } else {
        &[[1.0, 0.1, 0.0, 0.0]]
    };
    let tops = starts.iter().map(|start| climb_from(sets, &full, *start));
    let best = tops.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(starts[0], |(top, _)| top);
    let few: Vec<&CandidateList> =
        lists.iter().copied().filter(|list| list.has_fitting()).collect();
    let steps = (1..=30).map(|step| step as f32 * 0.1);
    let likely = steps.map(|contrast| (likelihood(sets, &few, &best, contrast), contrast));
    let contrast = likely.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(_, contrast)| contrast);
    (best, contrast * LENIENCE)
}

/// Climbs as far as it goes up, in ever smaller steps.
fn climb_from(
    sets: &[LabelledSet],
    full: &[&CandidateList],
    start: [f32; ITEM],
) -> ([f32; ITEM], f64) {
    let mut best = start;
    let mut reached = quality(sets, full, &best);
    let mut step = 1.6;
    while step > 1.05 {
        let mut moved = false;
        for at in (1..ITEM).filter(|at| start[*at] > 0.0) {
            for factor in [step, 1.0 / step] {
                let mut tried = best;
                tried[at] *= factor;
                let found = quality(sets, full, &tried);
                if found > reached + 1e-5 {
                    (best, reached, moved) = (tried, found, true);
                }
            }
        }
        if !moved {
            step = step.sqrt();
        }
    }
    (best, reached)
}

/// Recall among the first five and nDCG among the first ten, in the middle over the sets.
fn quality(sets: &[LabelledSet], lists: &[&CandidateList], signals: &[f32; ITEM]) -> f64 {
    let mut sums: HashMap<usize, (f64, f64)> = HashMap::new();
    for list in lists {
        let (recall, gain) = measure(list, signals);
        let sum = sums.entry(list.set).or_default();
        *sum = (sum.0 + recall + gain, sum.1 + 1.0);
    }
    let all: f64 = sums.keys().map(|set| sets[*set].weight).sum();
    sums.iter().map(|(set, (sum, count))| sets[*set].weight * sum / count / 2.0).sum::<f64>() / all
}

/// Recall@5 and nDCG@10 of a list.
pub(super) fn measure(list: &CandidateList, signals: &[f32; ITEM]) -> (f64, f64) {
    let fused = list.signals.fused(signals);
    let mut order: Vec<usize> = (0..fused.len()).collect();
    let by_fused = |a: &usize, b: &usize| fused[*b].total_cmp(&fused[*a]).then(a.cmp(b));
    if order.len() > 10 {
        order.select_nth_unstable_by(9, by_fused);
        order.truncate(10);
    }
    order.sort_by(by_fused);
    let all = list.fits.iter().filter(|fits| **fits).count();
    let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..all.min(10)).map(discount).sum();
    let hits = order.iter().enumerate().filter(|(_, item)| list.fits[**item]);
    let gain: f64 = hits.clone().map(|(place, _)| discount(place)).sum();
    (hits.filter(|(place, _)| *place < 5).count() as f64 / all as f64, gain / ideal)
}

/// How likely the fitting items are, if each is as likely as its score says.
fn likelihood(
    sets: &[LabelledSet],
    lists: &[&CandidateList],
    signals: &[f32; ITEM],
    contrast: f32,
) -> f64 {
    let mut sums: HashMap<(usize, usize), (f64, f64)> = HashMap::new();
    for list in lists {
        let fused = list.signals.fused(signals);
        let most = fused.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let parts: Vec<f64> =
            fused.iter().map(|value| f64::from(contrast * (value - most)).exp()).collect();
        let all: f64 = parts.iter().sum();
        let fitting: Vec<f64> = parts
            .iter()
            .zip(&list.fits)
            .filter(|(_, fits)| **fits)
            .map(|(part, _)| *part)
            .collect();
        let mean = fitting.iter().map(|part| (part / all).max(1e-12).ln()).sum::<f64>()
            / fitting.len() as f64;
        let sum = sums.entry((list.set, list.few)).or_default();
        *sum = (sum.0 + mean, sum.1 + 1.0);
    }
    let weight = |few: usize| if FEW.contains(&few) { 0.3 } else { 1.0 };
    sums.iter()
        .map(|((set, few), (sum, count))| sets[*set].weight * weight(*few) * sum / count)
        .sum()
}
