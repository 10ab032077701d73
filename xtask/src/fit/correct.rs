//! Finds the correction of messages: a matrix that moves them towards what they need.
//!
//! Each message of a world is compared with the items that are nearest to it, of all groups, and
//! with those that it needs. What is needed should be nearest. The matrix begins at nothing, goes
//! down the slope for a few rounds, and pays for every step away from nothing: without that price
//! it learns the worlds by heart, and workspaces that it has not seen fare worse than before.

use recto_search::{DIMENSIONS, Embedding, QueryCorrection};

use super::sets::{FitMessage, LabelledSet, WORLDS};
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

/// The correction found on all worlds, and those found without each of them.
pub(super) struct FittedCorrections {
    pub(super) all: QueryCorrection,
    others: Vec<QueryCorrection>,
}

impl FittedCorrections {
    /// The correction by which a world may be judged. The public sets had no part in any.
    pub(super) fn without(&self, world: Option<usize>) -> QueryCorrection {
        world.and_then(|world| self.others.get(world)).unwrap_or(&self.all).clone()
    }
}

/// A message with the items that it is compared with.
struct ComparedMessage {
    world: usize,
    message: Embedding,
    /// The best piece of each item, and its part of what the message needs.
    items: Vec<(Embedding, f32)>,
    weight: f32,
}

type Matrix = Vec<[f32; DIMENSIONS]>;

/// Finds the corrections.
pub(super) fn corrections(sets: &[LabelledSet], vectors: &mut FitVectors) -> FittedCorrections {
    let worlds = 0..WORLDS.len();
    let compared: Vec<ComparedMessage> =
        worlds.clone().flat_map(|world| compared_messages(sets, world, vectors)).collect();
    let all = descend(&compared.iter().collect::<Vec<_>>());
    let others = worlds.map(|world| {
        eprintln!("correction without {}", WORLDS[world]);
        descend(&compared.iter().filter(|one| one.world != world).collect::<Vec<_>>())
    });
    FittedCorrections { others: others.collect(), all }
}

/// The messages of a world that stand by themselves and need something.
fn compared_messages(
    sets: &[LabelledSet],
    world: usize,
    vectors: &mut FitVectors,
) -> Vec<ComparedMessage> {
    let groups: Vec<&LabelledSet> = sets.iter().filter(|set| set.world == Some(world)).collect();
    let pieces: Vec<Vec<Vec<Embedding>>> = groups
        .iter()
        .map(|set| set.entries.iter().map(|entry| vectors.of_entry(entry)).collect())
        .collect();
    let count = groups.first().map_or(0, |set| set.messages.len());
    let mut compared = Vec::new();
    for place in 0..count {
        let first: &FitMessage = &groups[0].messages[place];
        if !first.asks || first.before.is_some() {
            continue;
        }
        let message = vectors.message(&first.text);
        let mut items: Vec<(f32, &Embedding, f32)> = Vec::new();
        for (set, pieces) in groups.iter().zip(&pieces) {
            let of_group = &set.messages[place];
            for (entry, pieces) in set.entries.iter().zip(pieces) {
                let part = match (
                    of_group.fits.contains(&entry.item),
                    of_group.helps.contains(&entry.item),
                ) {
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
        let kept = items.iter().enumerate().filter(|(rank, item)| *rank < NEAREST || item.2 > 0.0);
        let items = kept.map(|(_, (_, piece, part))| ((*piece).clone(), part / all)).collect();
        compared.push(ComparedMessage { world, message, items, weight: 0.0 });
    }
    let weight = 1.0 / compared.len().max(1) as f32;
    compared.iter_mut().for_each(|one| one.weight = weight);
    compared
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
