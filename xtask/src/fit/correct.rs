//! Finds the correction of messages: a matrix that moves them towards what they need.
//!
//! Each message of a world is compared with the items that are nearest to it, of all groups, and
//! with those that it needs. What is needed should be nearest. Messages of the public sets count a
//! little, so that nothing is lost there. The matrix begins at nothing, goes
//! down the slope for a few rounds, and pays for every step away from nothing: without that price
//! it learns the worlds by heart, and workspaces that it has not seen fare worse than before.

use recto_search::{DIMENSIONS, Embedding, QueryCorrection};

use super::sets::{FitMessage, LabelledSet, SetPurpose, WORLDS};
use super::vectors::FitVectors;

/// How many of the nearest items a message is compared with.
const NEAREST: usize = 40;
/// By how much of a cosine one item has to be ahead of another to count for much more.
const SHARPNESS: f32 = 0.05;
/// The price of a squared step away from nothing.
const PRICE: f32 = 0.06;
/// How far a round goes down the slope, how much of the last round's way it goes once more, and
/// how many rounds there are.
const PACE: f32 = 0.1;
const MOMENTUM: f32 = 0.9;
const ROUNDS: usize = 30;
/// How much an item counts that only helps.
const HELPS: f32 = 0.5;

/// How much a public set counts beside a world.
const PUBLIC_WEIGHT: f32 = 0.1;

/// The correction found on all sets, and those by which the sets may be judged.
pub(super) struct FittedCorrections {
    pub(super) all: QueryCorrection,
    /// Found on the worlds alone.
    of_worlds: QueryCorrection,
    /// Found on the worlds but one, in the order of the worlds.
    of_others: Vec<QueryCorrection>,
}

impl FittedCorrections {
    /// A correction in which a world, or any public set, had no part.
    pub(super) fn without(&self, world: Option<usize>) -> QueryCorrection {
        world.and_then(|world| self.of_others.get(world)).unwrap_or(&self.of_worlds).clone()
    }
}

/// A message with the items that it is compared with.
struct ComparedMessage {
    world: Option<usize>,
    message: Embedding,
    /// The best piece of each item, and its part of what the message needs.
    items: Vec<(Embedding, f32)>,
    weight: f32,
}

type Matrix = Vec<[f32; DIMENSIONS]>;

/// Finds the corrections.
pub(super) fn corrections(sets: &[LabelledSet], vectors: &mut FitVectors) -> FittedCorrections {
    let mut compared = Vec::new();
    for world in 0..WORLDS.len() {
        let groups: Vec<&LabelledSet> =
            sets.iter().filter(|set| set.world == Some(world)).collect();
        compared.extend(compared_messages(&groups, 1.0, vectors));
    }
    let is_public =
        |set: &&LabelledSet| set.world.is_none() && set.purpose == SetPurpose::OrderAndDecision;
    for set in sets.iter().filter(is_public) {
        compared.extend(compared_messages(&[set], PUBLIC_WEIGHT, vectors));
    }
    let found_on = |is_in: &dyn Fn(Option<usize>) -> bool| {
        descend(&compared.iter().filter(|one| is_in(one.world)).collect::<Vec<_>>())
    };
    let others = (0..WORLDS.len()).map(|world| {
        eprintln!("correction without {}", WORLDS[world]);
        found_on(&|of| of.is_some_and(|of| of != world))
    });
    FittedCorrections {
        of_others: others.collect(),
        of_worlds: found_on(&|of| of.is_some()),
        all: found_on(&|_| true),
    }
}

/// The messages of sets with the same messages that stand by themselves and need something.
fn compared_messages(
    groups: &[&LabelledSet],
    weight: f32,
    vectors: &mut FitVectors,
) -> Vec<ComparedMessage> {
    let world = groups.first().and_then(|set| set.world);
    let pieces: Vec<Vec<Vec<Embedding>>> = groups
        .iter()
        .map(|set| set.entries.iter().map(|entry| vectors.of_entry(entry)).collect())
        .collect();
    let count = groups.first().map_or(0, |set| set.messages.len());
    let mut compared = Vec::new();
    for place in 0..count {
        let first: &FitMessage = &groups[0].messages[place];
        if !first.asks || first.before.is_some() || !first.near_misses.is_empty() {
            continue;
        }
        let message = vectors.message(&first.text);
        let items = compared_items(groups, &pieces, place, &message);
        if items.is_empty() {
            continue;
        }
        compared.push(ComparedMessage { world, message, items, weight: 0.0 });
    }
    let weight = weight / compared.len().max(1) as f32;
    compared.iter_mut().for_each(|one| one.weight = weight);
    compared
}

/// The items that are nearest to a message and those that it needs; none if it needs nothing.
fn compared_items(
    groups: &[&LabelledSet],
    pieces: &[Vec<Vec<Embedding>>],
    place: usize,
    message: &Embedding,
) -> Vec<(Embedding, f32)> {
    let mut items: Vec<(f32, &Embedding, f32)> = Vec::new();
    for (set, pieces) in groups.iter().zip(pieces) {
        let FitMessage { fits, helps, .. } = &set.messages[place];
        for (entry, pieces) in set.entries.iter().zip(pieces) {
            let part = match (fits.contains(&entry.item), helps.contains(&entry.item)) {
                (false, _) => 0.0,
                (true, true) => HELPS,
                (true, false) => 1.0,
            };
            let cosines = pieces.iter().map(|piece| (message.cosine(piece), piece));
            let best = cosines.max_by(|a, b| a.0.total_cmp(&b.0));
            items.extend(best.map(|(cosine, piece)| (cosine, piece, part)));
        }
    }
    items.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f32 = items.iter().map(|(_, _, part)| part).sum();
    if all == 0.0 {
        return Vec::new();
    }
    let kept = items.iter().enumerate().filter(|(rank, item)| *rank < NEAREST || item.2 > 0.0);
    kept.map(|(_, (_, piece, part))| ((*piece).clone(), part / all)).collect()
}

/// Goes down the slope from nothing.
fn descend(compared: &[&ComparedMessage]) -> QueryCorrection {
    let zero = || vec![[0.0; DIMENSIONS]; DIMENSIONS];
    let (mut matrix, mut way) = (zero(), zero());
    let all: f32 = compared.iter().map(|one| one.weight).sum();
    for _ in 0..ROUNDS {
        let mut slope = zero();
        for (of_slope, row) in slope.iter_mut().flatten().zip(matrix.iter().flatten()) {
            *of_slope = 2.0 * PRICE * row;
        }
        for one in compared {
            add_slope(&mut slope, &matrix, one, one.weight / all);
        }
        let values = matrix.iter_mut().flatten().zip(way.iter_mut().flatten());
        for ((value, way), slope) in values.zip(slope.iter().flatten()) {
            *way = MOMENTUM * *way - PACE * slope;
            *value += *way;
        }
    }
    let rows: Result<Box<[[f32; DIMENSIONS]; DIMENSIONS]>, _> =
        matrix.into_boxed_slice().try_into();
    rows.map_or_else(|_| QueryCorrection::none(), |rows| QueryCorrection::from_rows(&rows))
}

/// Adds how the matrix would have to change for one message. Its loss is the cross-entropy of
/// what it needs and of the items by their nearness.
fn add_slope(slope: &mut Matrix, matrix: &Matrix, one: &ComparedMessage, weight: f32) {
    let own = one.message.as_slice();
    let mut moved = [0.0; DIMENSIONS];
    moved.copy_from_slice(own);
    for (value, row) in own.iter().zip(matrix) {
        moved.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
    }
    let length = dot(&moved, &moved).sqrt().max(1e-6);
    moved.iter_mut().for_each(|value| *value /= length);
    let scores: Vec<f32> =
        one.items.iter().map(|(item, _)| dot(&moved, item.as_slice()) / SHARPNESS).collect();
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = scores.iter().map(|score| (score - most).exp()).sum();
    let mut pull = [0.0; DIMENSIONS];
    for ((item, part), score) in one.items.iter().zip(&scores) {
        let error = weight * ((score - most).exp() / total - part) / SHARPNESS;
        pull.iter_mut().zip(item.as_slice()).for_each(|(sum, value)| *sum += error * value);
    }
    // The length of the message does not count: only what turns it.
    let along = dot(&pull, &moved);
    for (pull, value) in pull.iter_mut().zip(&moved) {
        *pull = (*pull - along * value) / length;
    }
    for (value, row) in own.iter().zip(slope) {
        row.iter_mut().zip(&pull).for_each(|(sum, pull)| *sum += value * pull);
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight sums side by side, so that the compiler can use wide registers.
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}
