//! Embeddings packed into a byte a dimension, and the scan over many of them.
//!
//! A packed vector differs from its embedding by less than what two texts of one
//! meaning differ by. The query keeps 16 bits a dimension: it is one, and its
//! precision costs nothing. Sums are made of whole numbers, so a scan gives the same
//! bits on every processor, whatever its registers hold at once.
//!
//! Which text a vector stands for, the index knows.

use std::sync::OnceLock;
use std::thread;

use parking_lot::Mutex;
use rten_simd::{Isa, SimdOp};

use crate::encoder::{DIMENSIONS, Embedding};

/// How many bytes a packed vector takes.
const PACKED: usize = DIMENSIONS + size_of::<f32>();

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

/// An embedding in 388 bytes: whole numbers from -127 to 127, and the factor that
/// gives them the length 1.
#[derive(Clone, PartialEq)]
pub struct PackedVector {
    values: [i8; DIMENSIONS],
    scale: f32,
}

impl PackedVector {
    /// How many bytes it takes.
    pub const BYTES: usize = PACKED;

    /// The vector as bytes, for files and tables.
    pub fn to_bytes(&self) -> [u8; PACKED] {
        let mut bytes = [0; PACKED];
        let (values, scale) = bytes.split_at_mut(DIMENSIONS);
        for (byte, value) in values.iter_mut().zip(&self.values) {
            *byte = value.to_le_bytes()[0];
        }
        scale.copy_from_slice(&self.scale.to_le_bytes());
        bytes
    }

    /// Reads what `to_bytes` wrote; nothing if it can't have been written by it.
    pub fn from_bytes(bytes: &[u8]) -> Option<PackedVector> {
        let bytes: &[u8; PACKED] = bytes.try_into().ok()?;
        let (packed, factor) = bytes.split_at(DIMENSIONS);
        let mut values = [0; DIMENSIONS];
        for (value, byte) in values.iter_mut().zip(packed) {
            *value = i8::from_le_bytes([*byte]);
        }
        let scale = f32::from_le_bytes(factor.try_into().ok()?);
        // Damage shows in the length, which nothing but the values decides.
        let expected = scale_of(values.iter().map(|value| i64::from(*value)));
        ((scale - expected).abs() <= expected * 1e-3).then_some(PackedVector { values, scale })
    }

    /// The cosine of the vector with an embedding.
    pub fn cosine(&self, embedding: &Embedding) -> f32 {
        QueryVector::from_embedding(embedding).cosine(&self.values, self.scale)
    }
}

impl From<&Embedding> for PackedVector {
    fn from(embedding: &Embedding) -> Self {
        let factor = 127.0 / largest(embedding.as_slice());
        let mut values = [0; DIMENSIONS];
        for (value, exact) in values.iter_mut().zip(embedding.as_slice()) {
            // What is not a number becomes 0.
            *value = (exact * factor).round() as i8;
        }
        PackedVector { values, scale: scale_of(values.iter().map(|value| i64::from(*value))) }
    }
}

impl std::fmt::Debug for PackedVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({}, {}, {}, …)", self.values[0], self.values[1], self.values[2])
    }
}

/// Vectors side by side in one block without gaps.
#[derive(Default, Clone)]
pub struct VectorBlock {
    values: Vec<[i8; DIMENSIONS]>,
    scales: Vec<f32>,
}

impl VectorBlock {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Makes room for exactly so many more.
    pub fn reserve(&mut self, more: usize) {
        self.values.reserve_exact(more);
        self.scales.reserve_exact(more);
    }

    /// Adds a vector behind the last.
    pub fn push(&mut self, vector: &PackedVector) {
        make_room(&mut self.values);
        make_room(&mut self.scales);
        self.values.push(vector.values);
        self.scales.push(vector.scale);
    }

    /// Puts a vector in the place of another. Without effect if there is no such place.
    pub fn replace(&mut self, place: usize, vector: &PackedVector) {
        if let (Some(values), Some(scale)) =
            (self.values.get_mut(place), self.scales.get_mut(place))
        {
            *values = vector.values;
            *scale = vector.scale;
        }
    }

    /// Removes a vector. The last one takes its place, so that no gap is left.
    /// Without effect if there is no such place.
    pub fn swap_remove(&mut self, place: usize) {
        if place < self.len() {
            self.values.swap_remove(place);
            self.scales.swap_remove(place);
        }
    }

    /// Gives back room that is no longer needed.
    pub fn shrink(&mut self) {
        give_back(&mut self.values);
        give_back(&mut self.scales);
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
            let rows = self.values[start..].iter().zip(&self.scales[start..]).map(Some);
            CosineScan { rows, probe, found }.dispatch();
        });
        found
    }

    /// The cosine of two of them; nothing where there is none.
    pub fn cosine_between(&self, a: usize, b: usize) -> Option<f32> {
        let (one, other) = (self.values.get(a)?, self.values.get(b)?);
        let dot = one
            .iter()
            .zip(other)
            .fold(0_i32, |sum, (one, other)| sum.wrapping_add(i32::from(*one) * i32::from(*other)));
        let scale = self.scales.get(a)? * self.scales.get(b)?;
        Some((dot as f32 * scale).clamp(-1.0, 1.0))
    }

    #[inline(always)]
    fn row(&self, place: u32) -> Option<(&[i8; DIMENSIONS], &f32)> {
        self.values.get(place as usize).zip(self.scales.get(place as usize))
    }

    /// How many bytes they take, with what is kept free for more.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * DIMENSIONS + self.scales.capacity() * size_of::<f32>()
    }
}

impl std::fmt::Debug for VectorBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vectors({})", self.len())
    }
}

/// A query as the scan takes it: whole numbers from -32,767 to 32,767.
struct QueryVector {
    values: [i16; DIMENSIONS],
    scale: f32,
}

impl QueryVector {
    fn from_embedding(embedding: &Embedding) -> QueryVector {
        let factor = 32_767.0 / largest(embedding.as_slice());
        let mut values = [0; DIMENSIONS];
        for (value, exact) in values.iter_mut().zip(embedding.as_slice()) {
            *value = (exact * factor).round() as i16;
        }
        QueryVector { values, scale: scale_of(values.iter().map(|value| i64::from(*value))) }
    }

    #[inline(always)]
    fn cosine(&self, values: &[i8; DIMENSIONS], scale: f32) -> f32 {
        // At most 384 × 128 × 32,767, which is less than 2³¹. Wrapping sums have no
        // checks in them that would keep the compiler from making many at once.
        let dot = self.values.iter().zip(values).fold(0_i32, |sum, (query, value)| {
            sum.wrapping_add(i32::from(*query) * i32::from(*value))
        });
        (dot as f32 * (self.scale * scale)).clamp(-1.0, 1.0)
    }
}

/// The loop over vectors, compiled once for each set of instructions; the processor
/// at hand decides.
struct CosineScan<'a, R> {
    rows: R,
    probe: &'a QueryVector,
    found: &'a mut [f32],
}

impl<'a, R: Iterator<Item = Option<(&'a [i8; DIMENSIONS], &'a f32)>>> SimdOp for CosineScan<'a, R> {
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

/// Grows by a 32nd, where a vector by itself would double: vectors are most of what
/// an index takes.
pub(crate) fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 32).max(64));
    }
}

/// Keeps a 32nd free of what has become far too large.
fn give_back<T>(list: &mut Vec<T>) {
    if list.capacity() > 128 && list.len() < list.capacity() / 8 * 7 {
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
