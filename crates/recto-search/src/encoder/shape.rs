//! The shape of all-MiniLM-L6-v2.

pub(super) use super::embedding::DIMENSIONS as HIDDEN;

pub(super) const LAYERS: usize = 6;
pub(super) const HEADS: usize = 12;
pub(super) const HEAD: usize = HIDDEN / HEADS;
/// The width between the two halves of a layer's feed-forward network.
pub(super) const INNER: usize = 4 * HIDDEN;
/// Queries, keys and values side by side.
pub(super) const QKV: usize = 3 * HIDDEN;
/// How many word pieces there are.
pub(super) const VOCABULARY: usize = 30_522;
/// How many positions were trained.
pub(super) const POSITIONS: usize = 512;
/// The most word pieces of a text, as sentence-transformers has it for this
/// model: it was trained on no more.
pub(super) const LONGEST: usize = 256;
