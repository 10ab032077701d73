//! What a search reads of every item: little, and close together. A look into each of
//! fifty thousand items would take longer than to compare all their vectors.

use recto_context::ItemKind;

use super::item::IndexedItem;
use super::table::ChunkRow;

/// Where there is none: no slot, no row, no thread.
pub(super) const NOWHERE: u32 = u32::MAX;

/// An item's kind, its chunks, and where it stands in its thread.
#[derive(Clone, Copy)]
pub(super) struct SlotSummary {
    pub(super) kind: ItemKind,
    /// The chunk of its first piece. Most memories have no other.
    pub(super) first: ChunkRow,
    /// How many pieces it has.
    pub(super) pieces: u32,
    /// The number of its thread.
    pub(super) thread: u32,
    /// The slots of its neighbours there.
    pub(super) previous: u32,
    pub(super) next: u32,
}

impl SlotSummary {
    /// A slot without an item.
    pub(super) const FREE: SlotSummary = SlotSummary {
        kind: ItemKind::Memory,
        first: NOWHERE,
        pieces: 0,
        thread: NOWHERE,
        previous: NOWHERE,
        next: NOWHERE,
    };

    /// An item that stands in no thread yet.
    pub(super) fn from_item(item: &IndexedItem) -> SlotSummary {
        SlotSummary {
            kind: item.entry.item.kind,
            first: item.pieces.first().map_or(NOWHERE, |piece| piece.row),
            pieces: item.pieces.len() as u32,
            ..SlotSummary::FREE
        }
    }
}
