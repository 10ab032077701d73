//! Finds the weights.

use std::collections::HashMap;

use recto_search::{
    DENSE_EVIDENCE, DENSE_MESSAGE, DIMENSIONS, EVIDENCE, ITEM, ItemGroup, MESSAGE, NEED_PLACE,
    REQUEST_PLACE,
};

use super::lists::CandidateList;
use super::sets::{LabelledSet, SetPurpose, WORLDS};
use super::solve::{Observation, Solution, logistic, probability};
use super::vectors::FitVectors;

/// Parts that messages are dealt out to, so that each can be judged by the others.
const FOLDS: usize = 4;

/// How many of the best candidates of a list say what an item is like that fits.
const LOOKED_AT: usize = 20;

/// Up to how many candidates lists of few say what an item is like that fits: what is true of
/// more is true of all.
const FEW_ENOUGH: usize = 5;

/// How hard the direction of requests is pulled towards nothing: it has many numbers.
const REQUEST_PULL: f64 = 3.0;
/// The same for what decides.
const DECISION_PULL: f64 = 0.3;
/// How hard the weights of a group are pulled towards those of all groups.
const GROUP_PULL: f64 = 3.0;

/// How much messages with near misses count beside those that nothing fits.
const NEAR_MISSES: f64 = 0.2;
/// How much an item that is missed counts, beside one too many: without what is needed the
/// answer is wrong, and one more costs little. It says which odds a probability of a half has.
const MISSED: f64 = 3.5;
/// How much an item counts that only helps.
const HELPS: f64 = 0.5;
/// How much a tool that is missed counts, beside one too many: without it nothing can be
/// done, and one more costs little.
const MISSED_TOOL: f64 = 1.5;

/// The weights of a group, by words alone or with cosines.
#[derive(Clone)]
pub(super) struct FittedWeights {
    pub(super) signals: [f32; ITEM],
    pub(super) message: [f32; MESSAGE],
    pub(super) message_bias: f32,
    pub(super) group: [f32; MESSAGE],
    pub(super) group_bias: f32,
    pub(super) evidence: [f32; EVIDENCE],
    pub(super) bias: f32,
}

/// The directions in which the encoder sees what messages ask for.
pub(super) struct FittedDirections {
    /// Of messages that ask for something.
    pub(super) request: FittedDirection,
    /// Of those that need something of each group, in the order of `GROUPS`.
    pub(super) needs: Vec<FittedDirection>,
}

impl FittedDirections {
    pub(super) fn need(&self, group: ItemGroup) -> &FittedDirection {
        let place = GROUPS.iter().position(|of| *of == group).unwrap_or(0);
        &self.needs[place]
    }
}

/// A direction, and how far each message goes in it.
pub(super) struct FittedDirection {
    pub(super) direction: Vec<f64>,
    held_out: HashMap<String, f32>,
}

impl FittedDirection {
    /// How far a message goes in a direction that was found without it and without its world.
    pub(super) fn held_out(&self, text: &str) -> f32 {
        self.held_out.get(text).copied().unwrap_or(0.0)
    }
}

/// The groups in the order of the results of `decide`.
pub(super) const GROUPS: [ItemGroup; 4] =
    [ItemGroup::Tools, ItemGroup::Skills, ItemGroup::Documents, ItemGroup::Memories];

/// A message for which directions are found: the part that it is dealt out to, and what it needs.
struct DirectionRow {
    text: String,
    fold: usize,
    world: Option<usize>,
    asks: bool,
    needs: [bool; GROUPS.len()],
    weight: f64,
    values: Vec<f64>,
}

/// Finds the directions of messages that ask for something, and for something of each group.
pub(super) fn directions(sets: &[LabelledSet], vectors: &FitVectors) -> FittedDirections {
    let rows = direction_rows(sets, vectors);
    let needs = (0..GROUPS.len()).map(|place| {
        // Only of somebody's workspace is it known what a message does not need.
        direction(&rows, |row| row.world.map(|_| row.needs[place]))
    });
    FittedDirections { request: direction(&rows, |row| Some(row.asks)), needs: needs.collect() }
}

fn direction_rows(sets: &[LabelledSet], vectors: &FitVectors) -> Vec<DirectionRow> {
    let mut rows = Vec::new();
    // Each world has all its messages in each of its groups.
    let once = |set: &&LabelledSet| set.world.is_none() || set.group == ItemGroup::Documents;
    for (number, set) in sets.iter().filter(once).enumerate() {
        let asking = set.messages.iter().filter(|message| message.asks).count() as f64;
        for (at, message) in set.messages.iter().enumerate() {
            // Those that fit nothing are the same in every public set.
            let is_known = message.asks || number == 0 || set.world.is_some();
            if !is_known || !message.near_misses.is_empty() {
                continue;
            }
            let needs = GROUPS.map(|group| {
                let same = |other: &&LabelledSet| other.world == set.world && other.group == group;
                let of_group = sets.iter().filter(same).filter(|_| set.world.is_some());
                of_group.take(1).any(|other| !other.messages[at].fits.is_empty())
            });
            // As wide as a standardised value would be.
            let scale = (DIMENSIONS as f64).sqrt();
            let embedding = vectors.message(&message.text);
            let values = embedding.as_slice().iter().map(|value| f64::from(*value) * scale);
            rows.push(DirectionRow {
                text: message.text.clone(),
                fold: set.world.map_or(at % FOLDS, |world| FOLDS + world),
                world: set.world,
                asks: message.asks,
                needs,
                weight: if message.asks { set.weight / asking } else { 0.01 },
                values: values.collect(),
            });
        }
    }
    rows
}

/// Finds the direction of messages of which something holds, where that is known.
fn direction(
    rows: &[DirectionRow],
    holds: impl Fn(&DirectionRow) -> Option<bool>,
) -> FittedDirection {
    let known = rows.iter().filter_map(|row| {
        let holds = holds(row)?;
        Some((row, Observation { values: row.values.clone(), holds, weight: row.weight }))
    });
    let (known, mut observed): (Vec<&DirectionRow>, Vec<Observation>) = known.unzip();
    for holds in [false, true] {
        let same = observed.iter().filter(|row| row.holds == holds);
        let all: f64 = same.map(|row| row.weight).sum();
        let same = observed.iter_mut().filter(|row| row.holds == holds);
        same.for_each(|row| row.weight *= 250.0 / all.max(1e-9));
    }
    let zero = vec![0.0; DIMENSIONS + 1];
    let mut held_out = HashMap::new();
    for fold in 0..FOLDS + WORLDS.len() {
        let others = known.iter().zip(&observed).filter(|(row, _)| row.fold != fold);
        let found = descend(&others.map(|(_, observed)| observed).collect::<Vec<_>>(), &zero);
        for row in rows.iter().filter(|row| row.fold == fold) {
            let sum: f64 = row.values.iter().zip(&found).map(|(a, b)| a * b).sum();
            held_out.insert(row.text.clone(), sum as f32);
        }
    }
    let mut direction = descend(&observed.iter().collect::<Vec<_>>(), &zero);
    direction.truncate(DIMENSIONS);
    let scale = (DIMENSIONS as f64).sqrt();
    direction.iter_mut().for_each(|weight| *weight *= scale);
    FittedDirection { direction, held_out }
}

/// Logistic regression for many values: by the slope alone.
fn descend(rows: &[&Observation], zero: &[f64]) -> Solution {
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

/// The signals that put fitting items first, for each group by words alone and with cosines.
/// Memories have those of documents, without a header.
pub(super) fn orders(sets: &[LabelledSet], lists: &[CandidateList]) -> Vec<[[f32; ITEM]; 2]> {
    let of_group = |group: ItemGroup| {
        let group = if group == ItemGroup::Memories { ItemGroup::Documents } else { group };
        [false, true].map(|is_dense| {
            let of_group = |list: &&CandidateList| {
                let set = &sets[list.set];
                set.group == group && counts(set, is_dense)
            };
            let lists: Vec<&CandidateList> = lists.iter().filter(of_group).collect();
            climb(sets, &lists, is_dense)
        })
    };
    GROUPS.map(of_group).into()
}

/// Whether weights may rest on a set, by words alone or with cosines.
fn counts(set: &LabelledSet, is_dense: bool) -> bool {
    !(is_dense && set.is_taught)
}

/// Fits what decides on the lists of the chosen sets.
pub(super) fn decide(
    sets: &[LabelledSet],
    lists: &[CandidateList],
    orders: &[[[f32; ITEM]; 2]],
    chosen: impl Fn(&LabelledSet) -> bool,
) -> Vec<[FittedWeights; 2]> {
    let mut fitted: Vec<Vec<FittedWeights>> = vec![Vec::new(); GROUPS.len()];
    for is_dense in [false, true] {
        let rows: Vec<DecisionRows> = (0..GROUPS.len())
            .map(|place| {
                let of_group = lists.iter().filter(|list| {
                    let set = &sets[list.set];
                    set.group == GROUPS[place]
                        && set.purpose == SetPurpose::OrderAndDecision
                        && counts(set, is_dense)
                        && chosen(set)
                });
                let signals = order_of(GROUPS[place], &orders[place][usize::from(is_dense)]);
                decision_rows(sets, &of_group.collect::<Vec<_>>(), &signals, is_dense)
            })
            .collect();
        let message = fit_groups::<MESSAGE>(rows.iter().map(|rows| &rows.messages));
        let group = fit_groups::<MESSAGE>(rows.iter().map(|rows| &rows.groups));
        let evidence = fit_groups::<EVIDENCE>(rows.iter().map(|rows| &rows.items));
        let both = message.into_iter().zip(group).zip(evidence);
        for (place, ((message, group), evidence)) in both.enumerate() {
            fitted[place].push(FittedWeights {
                signals: orders[place][usize::from(is_dense)],
                message: message.0,
                message_bias: message.1,
                group: group.0,
                group_bias: group.1,
                evidence: evidence.0,
                bias: evidence.1,
            });
        }
    }
    let both = |group: Vec<FittedWeights>| <[FittedWeights; 2]>::try_from(group).ok();
    fitted.into_iter().filter_map(both).collect()
}

/// What the order of a group weighs: memories have no header.
pub(super) fn order_of(group: ItemGroup, signals: &[f32; ITEM]) -> [f32; ITEM] {
    const HEADER: usize = 2;
    let mut signals = *signals;
    if group == ItemGroup::Memories {
        signals[HEADER] = 0.0;
    }
    signals
}

/// Observations of messages, of those that ask for something with a list, and of items where
/// something in the list fits.
struct DecisionRows {
    messages: Vec<Observation>,
    groups: Vec<Observation>,
    items: Vec<Observation>,
}

/// The weights of each group, pulled towards those of all groups together.
fn fit_groups<'a, const N: usize>(
    groups: impl Iterator<Item = &'a Vec<Observation>>,
) -> Vec<([f32; N], f32)> {
    let groups: Vec<&Vec<Observation>> = groups.collect();
    let (means, widths) = spread::<N>(groups.iter().copied().flatten());
    let even = |row: &Observation| {
        let values = row.values.iter().enumerate();
        let values = values.map(|(at, value)| (value - means[at]) / widths[at]).collect();
        Observation { values, holds: row.holds, weight: row.weight }
    };
    let groups: Vec<Vec<Observation>> =
        groups.into_iter().map(|rows| rows.iter().map(even).collect()).collect();
    let all: Vec<Observation> = groups.iter().flatten().map(copy).collect();
    let pooled =
        logistic(&all, &[0.0; N].into_iter().chain([0.0]).collect::<Vec<_>>(), DECISION_PULL);
    let of_group = |rows: &Vec<Observation>| {
        let found = logistic(rows, &pooled, GROUP_PULL);
        let weights: [f32; N] = std::array::from_fn(|at| (found[at] / widths[at]) as f32);
        let moved: f64 = (0..N).map(|at| found[at] * means[at] / widths[at]).sum();
        (weights, (found[N] - moved) as f32)
    };
    groups.iter().map(of_group).collect()
}

/// The mean of each value, and about how wide it spreads, so that one pull is fair to all.
fn spread<'a, const N: usize>(rows: impl Iterator<Item = &'a Observation>) -> ([f64; N], [f64; N]) {
    let (mut sums, mut squares, mut count) = ([0.0; N], [0.0; N], 0.0);
    for row in rows {
        count += row.weight;
        for (at, value) in row.values.iter().enumerate() {
            sums[at] += row.weight * value;
            squares[at] += row.weight * value * value;
        }
    }
    let means = sums.map(|sum| sum / f64::max(count, 1.0));
    let widths = std::array::from_fn(|at| {
        let variance: f64 = squares[at] / f64::max(count, 1.0) - means[at] * means[at];
        // A value that is always the same says nothing, and weighs nothing.
        if variance > 1e-8 { variance.sqrt() } else { 1e6 }
    });
    (means, widths)
}

fn copy(row: &Observation) -> Observation {
    Observation { values: row.values.clone(), holds: row.holds, weight: row.weight }
}

/// The values that say whether a message asks for anything, with the request as found without
/// the message.
pub(super) fn message_values(
    list: &CandidateList,
    fused: &[f32],
    order: &[usize],
    is_dense: bool,
) -> [f32; MESSAGE] {
    let rivals = &list.rivals[usize::from(is_dense)];
    let mut values = list.signals.message(fused, order, rivals);
    if is_dense {
        values[REQUEST_PLACE] = list.request;
        values[NEED_PLACE] = list.need;
    } else {
        DENSE_MESSAGE.iter().for_each(|at| values[*at] = 0.0);
    }
    values
}

/// The values that say of each of the best whether it is what is asked for.
pub(super) fn item_values(
    list: &CandidateList,
    fused: &[f32],
    order: &[usize],
    is_dense: bool,
) -> Vec<[f32; EVIDENCE]> {
    let rivals = &list.rivals[usize::from(is_dense)];
    let mut rows = list.signals.evidence(fused, order, rivals);
    if !is_dense {
        rows.iter_mut().for_each(|row| DENSE_EVIDENCE.iter().for_each(|at| row[*at] = 0.0));
    }
    rows
}

/// The places of the best candidates, best first.
pub(super) fn best_places(fused: &[f32], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fused.len()).collect();
    let by_fused = |a: &usize, b: &usize| fused[*b].total_cmp(&fused[*a]).then(a.cmp(b));
    if order.len() > count {
        order.select_nth_unstable_by(count - 1, by_fused);
        order.truncate(count);
    }
    order.sort_by(by_fused);
    order
}

fn decision_rows(
    sets: &[LabelledSet],
    lists: &[&CandidateList],
    signals: &[f32; ITEM],
    is_dense: bool,
) -> DecisionRows {
    let key = |list: &CandidateList| (list.set, list.few, list.has_fitting(), list.asks);
    let mut counts: HashMap<(usize, usize, bool, bool), f64> = HashMap::new();
    for list in lists {
        *counts.entry(key(list)).or_default() += 1.0;
    }
    let mut rows = DecisionRows { messages: Vec::new(), groups: Vec::new(), items: Vec::new() };
    for list in lists {
        let fused = list.signals.fused(signals);
        let order = best_places(&fused, LOOKED_AT);
        let Some(first) = order.first() else { continue };
        let holds = list.has_fitting();
        let share = match (list.few, holds) {
            (0, true) if sets[list.set].group == ItemGroup::Tools => MISSED_TOOL,
            (0, _) => 1.0,
            // Among many there is always something that would do as well, label or not.
            (100, false) => 0.1,
            _ => 0.3,
        };
        let weight = 100.0 * sets[list.set].weight * share / counts[&key(list)];
        let doubles =
            |values: &[f32]| -> Vec<f64> { values.iter().map(|value| f64::from(*value)).collect() };
        let values = doubles(&message_values(list, &fused, &order, is_dense));
        if list.is_near_miss() {
            // Of such a message it is known only that they don't fit: it tells something
            // where one of them comes first.
            if list.near_misses[*first] {
                let weight = weight * NEAR_MISSES;
                rows.groups.push(Observation { values, holds: false, weight });
            }
            continue;
        }
        if list.few == 0 || holds || !list.asks {
            let values = values.clone();
            rows.messages.push(Observation { values, holds: list.asks, weight });
        }
        if !list.asks {
            continue;
        }
        rows.groups.push(Observation { values, holds, weight });
        if !holds || list.few > FEW_ENOUGH {
            continue;
        }
        for (place, values) in order.iter().zip(item_values(list, &fused, &order, is_dense)) {
            let holds = list.fits[*place];
            let missed = match (holds, list.helps[*place]) {
                (true, true) => MISSED * HELPS,
                (true, false) => MISSED,
                (false, _) => 1.0,
            };
            let (values, weight) = (doubles(&values), weight * missed);
            rows.items.push(Observation { values, holds, weight });
        }
    }
    rows
}

/// Climbs to the weights that put fitting items first.
fn climb(sets: &[LabelledSet], lists: &[&CandidateList], is_dense: bool) -> [f32; ITEM] {
    let full: Vec<&CandidateList> =
        lists.iter().copied().filter(|list| list.few == 0 && list.has_fitting()).collect();
    // More than one start: the ground is uneven.
    let starts: &[[f32; ITEM]] = if is_dense {
        &[[0.5, 0.05, 0.45, 0.45], [0.5, 0.05, 0.3, 0.8]]
    } else {
        &[[1.0, 0.1, 0.0, 0.0]]
    };
    let tops = starts.iter().map(|start| climb_from(sets, &full, *start));
    tops.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(starts[0], |(top, _)| top)
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
fn measure(list: &CandidateList, signals: &[f32; ITEM]) -> (f64, f64) {
    measure_order(list, &best_places(&list.signals.fused(signals), 10))
}

/// Recall@5 and nDCG@10 of an order.
pub(super) fn measure_order(list: &CandidateList, order: &[usize]) -> (f64, f64) {
    let all = list.fits.iter().filter(|fits| **fits).count();
    let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..all.min(10)).map(discount).sum();
    let hits = order.iter().take(10).enumerate().filter(|(_, item)| list.fits[**item]);
    let gain: f64 = hits.clone().map(|(place, _)| discount(place)).sum();
    (hits.filter(|(place, _)| *place < 5).count() as f64 / all as f64, gain / ideal)
}
