//! The chunks of all items: each text once, with its vector if it has one.

use hashbrown::HashTable;
use recto_context::ContentHash;

use crate::encoder::Embedding;
use crate::vectors::{PackedVector, VectorBlock, make_room};

/// The place of a chunk in the table. It stays the same while anything uses it.
pub(super) type ChunkRow = u32;

/// Where a chunk has no vector.
const NONE: u32 = u32::MAX;

/// Chunks by the hash of their texts, counted by how many pieces of items use them.
#[derive(Default)]
pub(super) struct ChunkTable {
    chunks: Vec<ChunkEntry>,
    /// Rows that can be used again.
    free: Vec<ChunkRow>,
    /// Rows that were let go of since the last sweep; some may be in use again.
    released: Vec<ChunkRow>,
    /// Rows by the key in them, which is not stored a second time.
    by_key: HashTable<ChunkRow>,
    vectors: VectorBlock,
    /// The row of each vector.
    owners: Vec<ChunkRow>,
}

struct ChunkEntry {
    key: ContentHash,
    uses: u32,
    vector: u32,
}

impl ChunkTable {
    /// Counts another use of a chunk, and says where it stands.
    pub(super) fn acquire(&mut self, key: ContentHash) -> ChunkRow {
        if let Some(row) = self.find(key) {
            self.chunks[row as usize].uses += 1;
            return row;
        }
        let chunk = ChunkEntry { key, uses: 1, vector: NONE };
        let row = if let Some(row) = self.free.pop() {
            self.chunks[row as usize] = chunk;
            row
        } else {
            make_room(&mut self.chunks);
            self.chunks.push(chunk);
            (self.chunks.len() - 1) as ChunkRow
        };
        let chunks = &self.chunks;
        self.by_key.insert_unique(hash(key), row, |row| hash(chunks[*row as usize].key));
        row
    }

    /// Takes a use back. The chunk stays until the next sweep: what moves from one item
    /// to another keeps its vector.
    pub(super) fn release(&mut self, row: ChunkRow) {
        let chunk = &mut self.chunks[row as usize];
        chunk.uses -= 1;
        if chunk.uses == 0 {
            self.released.push(row);
        }
    }

    /// Removes chunks that nothing uses, with their vectors.
    pub(super) fn sweep(&mut self) -> Vec<ContentHash> {
        let mut released = std::mem::take(&mut self.released);
        released.sort_unstable();
        released.dedup();
        released.retain(|row| self.chunks[*row as usize].uses == 0);
        let removed: Vec<ContentHash> = released.iter().map(|row| self.remove(*row)).collect();
        if !removed.is_empty() {
            self.vectors.shrink();
        }
        removed
    }

    /// Gives a chunk its vector. Without effect if there is no such chunk, or if the vector has
    /// other dimensions than those that are here.
    pub(super) fn supply(&mut self, key: ContentHash, vector: &PackedVector) {
        let Some(row) = self.find(key).filter(|_| self.vectors.fits(vector)) else { return };
        let chunk = &mut self.chunks[row as usize];
        if chunk.vector != NONE {
            return self.vectors.replace(chunk.vector as usize, vector);
        }
        chunk.vector = self.vectors.len() as u32;
        self.vectors.push(vector);
        make_room(&mut self.owners);
        self.owners.push(row);
    }

    /// Makes room for many vectors that are about to come, of which `first` is one. For few of
    /// them room is made on the way, so that it is not made anew each time.
    pub(super) fn expect(&mut self, vectors: usize, first: &PackedVector) {
        let more = vectors.min(self.len() - self.vectors.len());
        if more > self.vectors.len() / 32 {
            self.vectors.reserve(more, first);
            self.owners.reserve_exact(more);
        }
    }

    /// Whether there is such a chunk, and it has no vector.
    pub(super) fn needs(&self, key: ContentHash) -> bool {
        self.find(key).is_some_and(|row| !self.has_vector(row))
    }

    /// Whether a chunk has its vector.
    pub(super) fn has_vector(&self, row: ChunkRow) -> bool {
        self.chunks[row as usize].vector != NONE
    }

    /// The cosines of a query with chunks. Nothing if one of them has no vector.
    pub(super) fn cosines(&self, query: &Embedding, rows: &[ChunkRow]) -> Option<Vec<f32>> {
        let places: Vec<u32> = rows.iter().map(|row| self.chunks[*row as usize].vector).collect();
        (!places.contains(&NONE)).then(|| self.vectors.cosines(query, &places))
    }

    /// The cosine of two chunks. Nothing if one of them has no vector.
    pub(super) fn cosine_between(&self, a: ChunkRow, b: ChunkRow) -> Option<f32> {
        let vector = |row: ChunkRow| self.chunks.get(row as usize).map(|chunk| chunk.vector);
        self.vectors.cosine_between(vector(a)? as usize, vector(b)? as usize)
    }

    /// The hash of a chunk's text.
    pub(super) fn key(&self, row: ChunkRow) -> ContentHash {
        self.chunks[row as usize].key
    }

    /// All keys, in no order.
    pub(super) fn keys(&self) -> impl Iterator<Item = ContentHash> {
        self.by_key.iter().map(|row| self.key(*row))
    }

    /// How many chunks there are.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// How many of them have their vector.
    pub(super) fn vectors(&self) -> usize {
        self.vectors.len()
    }

    /// What all of this takes in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.free.capacity() + self.released.capacity() + self.owners.capacity();
        self.vectors.bytes()
            + self.chunks.capacity() * size_of::<ChunkEntry>()
            + rows * size_of::<ChunkRow>()
            + self.by_key.allocation_size()
    }

    /// Where a chunk stands.
    pub(super) fn find(&self, key: ContentHash) -> Option<ChunkRow> {
        self.by_key.find(hash(key), |row| self.key(*row) == key).copied()
    }

    fn remove(&mut self, row: ChunkRow) -> ContentHash {
        let ChunkEntry { key, vector, .. } = self.chunks[row as usize];
        let chunks = &self.chunks;
        let is_it = |other: &ChunkRow| chunks[*other as usize].key == key;
        if let Ok(found) = self.by_key.find_entry(hash(key), is_it) {
            found.remove();
        }
        if vector != NONE {
            self.vectors.swap_remove(vector as usize);
            self.owners.swap_remove(vector as usize);
            if let Some(moved) = self.owners.get(vector as usize) {
                self.chunks[*moved as usize].vector = vector;
            }
        }
        self.free.push(row);
        key
    }
}

/// A content hash is as good as any hash of it.
fn hash(key: ContentHash) -> u64 {
    let bytes = key.as_bytes();
    u64::from_le_bytes(std::array::from_fn(|index| bytes[index]))
}
