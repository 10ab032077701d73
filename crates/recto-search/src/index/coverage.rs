//! How many texts of candidates have their vectors.

use std::collections::HashSet;

use recto_context::ItemId;

use super::SearchIndex;

/// How many texts have their vectors, each text counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VectorCoverage {
    /// Texts that have one.
    pub done: usize,
    /// All texts.
    pub total: usize,
}

impl SearchIndex {
    /// How many texts of the candidates have their vectors.
    pub fn coverage(&self, is_candidate: impl Fn(&ItemId) -> bool) -> VectorCoverage {
        let pieces = self.candidates(is_candidate).flat_map(|(_, item)| item.pieces.iter());
        let rows: HashSet<_> = pieces.map(|piece| piece.row).collect();
        let done = rows.iter().filter(|row| self.chunks.has_vector(**row)).count();
        VectorCoverage { done, total: rows.len() }
    }
}
