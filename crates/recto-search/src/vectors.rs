//! Embeddings packed into a byte a dimension, and the scan over many of them.
//!
//! A packed vector differs from its embedding by less than what two texts of one
//! meaning differ by. The query keeps 16 bits a dimension: it is one, and its
//! precision costs nothing. Sums are made of whole numbers, so a scan gives the same
//! bits on every processor, whatever its registers hold at once.
//!
//! All vectors of a block have the same dimensions: those of the first. Which text a vector
//! stands for, and which encoder made it, the index knows.

use std::sync::OnceLock;
use std::thread;

use parking_lot::Mutex;
use rten_simd::{Isa, SimdOp};

use crate::encoder::{DIMENSIONS, Embedding};

/// How many bytes the factor of a packed vector takes.
const FACTOR: usize = size_of::<f32>();

/// From how many vectors on a scan is worth a second thread, which takes about as
/// long to start as a few thousand vectors to scan.
const FOR_THREADS: usize = 32_768;

/// How many vectors a thread takes at once.
const SHARE: usize = 2_048;

/// Vectors that stand apart take so many times as long as those that follow each
/// other, which are in the cache before they are asked for. Where more than one of so
/// many is wanted, all are scanned.
const LEAP: usize = 8;

/// More threads than this wait for memory, not for each other.
const THREADS: usize = 8;

/// An embedding in a byte a dimension: whole numbers from -127 to 127, and the factor that
/// gives them the length 1.
#[derive(Clone, PartialEq)]
pub struct PackedVector {
    values: Box<[i8]>,
    scale: f32,
}

impl PackedVector {
    /// How many bytes one of the built-in encoder takes.
    pub const BYTES: usize = DIMENSIONS + FACTOR;

    /// The vector as bytes, for files and tables.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.to_le_bytes()[0]);
        values.chain(self.scale.to_le_bytes()).collect()
    }

    /// Reads what `to_bytes` wrote; nothing if it can't have been written by it.
    pub fn from_bytes(bytes: &[u8]) -> Option<PackedVector> {
        let (packed, factor) = bytes.split_last_chunk::<FACTOR>()?;
        let values: Box<[i8]> = packed.iter().map(|byte| i8::from_le_bytes([*byte])).collect();
        let scale = f32::from_le_bytes(*factor);
        // Damage shows in the length, which nothing but the values decides.
        let expected = scale_of(values.iter().map(|value| i64::from(*value)));
        let is_sound = !values.is_empty() && (scale - expected).abs() <= expected * 1e-3;
        is_sound.then_some(PackedVector { values, scale })
    }

    /// How many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// The cosine of the vector with an embedding of the same encoder.
    pub fn cosine(&self, embedding: &Embedding) -> f32 {
        QueryVector::from_embedding(embedding).cosine(&self.values, self.scale)
    }
}

impl From<&Embedding> for PackedVector {
    fn from(embedding: &Embedding) -> Self {
        let factor = 127.0 / largest(embedding.as_slice());
        // What is not a number becomes 0.
        let packed = |exact: &f32| (exact * factor).round() as i8;
        let values: Box<[i8]> = embedding.as_slice().iter().map(packed).collect();
        let scale = scale_of(values.iter().map(|value| i64::from(*value)));
        PackedVector { values, scale }
    }
}

impl std::fmt::Debug for PackedVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({:?}, … of {})", self.values.get(..3), self.values.len())
    }
}

/// Vectors side by side in one block without gaps, all of the same dimensions.
#[derive(Default, Clone)]
pub struct VectorBlock {
    /// Of each vector: those of the first one that came.
    dimensions: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
}

impl VectorBlock {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Whether a vector has the dimensions of those that are here.
    pub fn fits(&self, vector: &PackedVector) -> bool {
        self.is_empty() || vector.dimensions() == self.dimensions
    }

    /// Makes room for exactly so many more of the same dimensions as `vector`.
    pub fn reserve(&mut self, more: usize, vector: &PackedVector) {
        self.values.reserve_exact(more * vector.dimensions());
        self.scales.reserve_exact(more);
    }

    /// Adds a vector behind the last. Without effect if it does not [fit](Self::fits).
    pub fn push(&mut self, vector: &PackedVector) {
        if !self.fits(vector) {
            return;
        }
        self.dimensions = vector.dimensions();
        make_room_for(&mut self.values, self.dimensions);
        make_room(&mut self.scales);
        self.values.extend_from_slice(&vector.values);
        self.scales.push(vector.scale);
    }

    /// Puts a vector in the place of another. Without effect if there is no such place, or it
    /// does not [fit](Self::fits).
    pub fn replace(&mut self, place: usize, vector: &PackedVector) {
        if place < self.len() && self.fits(vector) {
            let start = place * self.dimensions;
            self.values[start..start + self.dimensions].copy_from_slice(&vector.values);
            self.scales[place] = vector.scale;
        }
    }

    /// Removes a vector. The last one takes its place, so that no gap is left.
    /// Without effect if there is no such place.
    pub fn swap_remove(&mut self, place: usize) {
        if place < self.len() {
            let last = self.values.len() - self.dimensions;
            self.values.copy_within(last.., place * self.dimensions);
            self.values.truncate(last);
            self.scales.swap_remove(place);
        }
    }

    /// Gives back room that is no longer needed.
    pub fn shrink(&mut self) {
        give_back(&mut self.values, self.dimensions.max(1));
        give_back(&mut self.scales, 1);
    }

    /// The cosines of a query with the vectors at `places`, in that order; 0 where
    /// there is none.
    pub fn cosines(&self, query: &Embedding, places: &[u32]) -> Vec<f32> {
        let probe = QueryVector::from_embedding(query);
        if places.len() >= self.len() / LEAP {
            let all = self.all(&probe);
            let cosine = |place: &u32| all.get(*place as usize).copied().unwrap_or_default();
            return places.iter().map(cosine).collect();
        }
        let mut found = vec![0.0; places.len()];
        share(&mut found, |start, found| {
            let rows = places[start..].iter().map(|place| self.row(*place));
            CosineScan { rows, probe: &probe, found }.dispatch();
        });
        found
    }

    /// The cosines of all, in their order.
    fn all(&self, probe: &QueryVector) -> Vec<f32> {
        let mut found = vec![0.0; self.len()];
        share(&mut found, |start, found| {
            let values =
                self.values[start * self.dimensions..].chunks_exact(self.dimensions.max(1));
            let rows = values.zip(&self.scales[start..]).map(Some);
            CosineScan { rows, probe, found }.dispatch();
        });
        found
    }

    /// The cosine of two of them; nothing where there is none.
    pub fn cosine_between(&self, a: usize, b: usize) -> Option<f32> {
        let ((one, first), (other, second)) = (self.row(a as u32)?, self.row(b as u32)?);
        let dot = one
            .iter()
            .zip(other)
            .fold(0_i32, |sum, (one, other)| sum.wrapping_add(i32::from(*one) * i32::from(*other)));
        Some((dot as f32 * (first * second)).clamp(-1.0, 1.0))
    }

    #[inline(always)]
    fn row(&self, place: u32) -> Option<(&[i8], &f32)> {
        let start = place as usize * self.dimensions;
        self.values.get(start..start + self.dimensions).zip(self.scales.get(place as usize))
    }

    /// How many bytes they take, with what is kept free for more.
    pub fn bytes(&self) -> usize {
        self.values.capacity() + self.scales.capacity() * size_of::<f32>()
    }
}

impl std::fmt::Debug for VectorBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vectors({})", self.len())
    }
}

/// A query as the scan takes it: whole numbers of at most 16 bits, as large as they may be so that
/// no sum overflows.
struct QueryVector {
    values: Box<[i16]>,
    scale: f32,
}

impl QueryVector {
    fn from_embedding(embedding: &Embedding) -> QueryVector {
        let dimensions = embedding.as_slice().len().max(1);
        // 32,767 up to 511 dimensions, and 16,383 at 1,024.
        let most = (i32::MAX as usize / (128 * dimensions)).clamp(1, i16::MAX as usize);
        let factor = most as f32 / largest(embedding.as_slice());
        let packed = |exact: &f32| (exact * factor).round() as i16;
        let values: Box<[i16]> = embedding.as_slice().iter().map(packed).collect();
        let scale = scale_of(values.iter().map(|value| i64::from(*value)));
        QueryVector { values, scale }
    }

    #[inline(always)]
    fn cosine(&self, values: &[i8], scale: f32) -> f32 {
        // Of a length that is known beforehand, many numbers are multiplied at once without a
        // look at how many are left.
        let dot = match (<&[i16; DIMENSIONS]>::try_from(&*self.values), values.try_into()) {
            (Ok(query), Ok(values)) => dot::<DIMENSIONS>(query, values),
            _ if self.values.len() != values.len() => 0,
            _ => sum_of_products(&self.values, values),
        };
        (dot as f32 * (self.scale * scale)).clamp(-1.0, 1.0)
    }
}

#[inline(always)]
fn dot<const N: usize>(query: &[i16; N], values: &[i8; N]) -> i32 {
    sum_of_products(query, values)
}

#[inline(always)]
fn sum_of_products(query: &[i16], values: &[i8]) -> i32 {
    // Less than 2³¹, by how large a query is made. Wrapping sums have no checks in them that
    // would keep the compiler from making many at once.
    query
        .iter()
        .zip(values)
        .fold(0_i32, |sum, (query, value)| sum.wrapping_add(i32::from(*query) * i32::from(*value)))
}

/// The loop over vectors, compiled once for each set of instructions; the processor
/// at hand decides.
struct CosineScan<'a, R> {
    rows: R,
    probe: &'a QueryVector,
    found: &'a mut [f32],
}

impl<'a, R: Iterator<Item = Option<(&'a [i8], &'a f32)>>> SimdOp for CosineScan<'a, R> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for (found, row) in self.found.iter_mut().zip(self.rows) {
            if let Some((values, scale)) = row {
                *found = self.probe.cosine(values, *scale);
            }
        }
    }
}

/// Lets all cores fill a long list, each a part at a time: `run` gets the place at
/// which a part begins.
fn share(found: &mut [f32], run: impl Fn(usize, &mut [f32]) + Sync) {
    if found.len() < FOR_THREADS {
        return run(0, found);
    }
    // Threads of its own: a pool may be busy for seconds with what is being embedded.
    let parts = Mutex::new(found.chunks_mut(SHARE).enumerate());
    let take = || parts.lock().next();
    let work = || {
        while let Some((number, part)) = take() {
            run(number * SHARE, part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads() {
            // Where no thread can be had, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// The largest of the absolute values, as a divisor: never 0.
fn largest(values: &[f32]) -> f32 {
    values.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()))
}

/// What gives values the length 1; 0 if all of them are 0.
fn scale_of(values: impl Iterator<Item = i64>) -> f32 {
    let squares: i64 = values.map(|value| value * value).sum();
    if squares == 0 { 0.0 } else { (1.0 / (squares as f64).sqrt()) as f32 }
}

/// Makes room for one more, as [`make_room_for`] does.
pub(crate) fn make_room<T>(list: &mut Vec<T>) {
    make_room_for(list, 1);
}

/// Makes room for a row of `width` numbers behind the others. Grows by a 32nd, where a vector by
/// itself would double: vectors are most of what an index takes.
fn make_room_for<T>(list: &mut Vec<T>, width: usize) {
    if list.len() + width > list.capacity() {
        let rows = list.len() / width;
        list.reserve_exact((rows / 32).max(64) * width);
    }
}

/// Keeps a 32nd free of what has become far too large.
fn give_back<T>(list: &mut Vec<T>, width: usize) {
    if list.capacity() > 128 * width && list.len() < list.capacity() / 8 * 7 {
        list.shrink_to(list.len() + list.len() / 32);
    }
}

fn threads() -> usize {
    // Asking takes longer than a small scan.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from).min(THREADS))
}

#[cfg(test)]
mod tests;
