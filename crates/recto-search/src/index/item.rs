//! An item in the index: its entry, cut into pieces.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use recto_context::{ContentHash, ItemKind};

use super::table::{ChunkRow, ChunkTable};
use crate::chunk::chunks;
use crate::entry::SearchEntry;
use crate::lexical::EntryFields;

/// How many chunks of an item's text get a vector: what is longer could not stand on
/// a page, and would keep all others waiting for minutes. Its words count to the end.
const MOST_CHUNKS: usize = 400;

/// An item with the chunks that its entry was cut into.
pub(super) struct IndexedItem {
    pub(super) entry: SearchEntry,
    /// The header first, then the text.
    pub(super) pieces: Box<[ItemPiece]>,
}

/// A chunk where it stands in an item. Its text is not kept a second time.
pub(super) struct ItemPiece {
    /// The row of its chunk in the table.
    pub(super) row: ChunkRow,
    of: PieceOrigin,
    range: Range<usize>,
}

/// What a piece was cut from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceOrigin {
    Header,
    Text,
}

impl IndexedItem {
    /// Cuts an entry into pieces.
    pub(super) fn new(entry: SearchEntry, table: &mut ChunkTable) -> IndexedItem {
        let header = header(&entry);
        let of_header =
            header_chunks(&entry, &header).into_iter().map(|range| (PieceOrigin::Header, range));
        let of_text = chunks(&entry.text).into_iter().take(MOST_CHUNKS);
        let of_text = of_text.map(|range| (PieceOrigin::Text, range));
        let mut piece = |(of, range): (PieceOrigin, Range<usize>)| {
            let text = text_of(&entry, &header, of, range.clone());
            let row = table.acquire(ContentHash::of_bytes(text.unwrap_or_default().as_bytes()));
            ItemPiece { row, of, range }
        };
        let pieces: Box<[ItemPiece]> = of_header.chain(of_text).map(&mut piece).collect();
        drop(header);
        IndexedItem { entry, pieces }
    }

    /// Whether search sees the same in an entry as in this item.
    pub(super) fn has_content_of(&self, entry: &SearchEntry) -> bool {
        let (own, other) = (&self.entry, entry);
        own.text == other.text && own.description == other.description && own.when == other.when
    }

    /// What the words are taken from.
    pub(super) fn fields(&self) -> EntryFields<'_> {
        EntryFields {
            name: if is_named_by_place(&self.entry) { "" } else { &self.entry.item.name },
            description: self.entry.description.as_deref().unwrap_or_default(),
            text: &self.entry.text,
            when: self.entry.when.as_deref().unwrap_or_default(),
        }
    }

    /// The text of a piece.
    pub(super) fn text_of(&self, piece: usize) -> Option<Arc<str>> {
        let ItemPiece { of, range, .. } = self.pieces.get(piece)?;
        text_of(&self.entry, &header(&self.entry), *of, range.clone()).map(Arc::from)
    }

    /// Lets go of its chunks.
    pub(super) fn release(&self, table: &mut ChunkTable) {
        self.pieces.iter().for_each(|piece| table.release(piece.row));
    }
}

/// The text of a piece. Parameters say little without what they are the parameters of,
/// so those of a tool follow its header.
fn text_of<'a>(
    entry: &'a SearchEntry,
    header: &'a str,
    of: PieceOrigin,
    range: Range<usize>,
) -> Option<Cow<'a, str>> {
    match of {
        PieceOrigin::Header => header.get(range).map(Cow::Borrowed),
        PieceOrigin::Text if entry.item.kind == ItemKind::Tool => {
            let header = first_chunk(header);
            entry.text.get(range).map(|text| Cow::Owned(format!("{header}\n\n{text}")))
        }
        PieceOrigin::Text => entry.text.get(range).map(Cow::Borrowed),
    }
}

/// The beginning of a header, as much as a chunk can hold.
fn first_chunk(header: &str) -> &str {
    let first = chunks(header).into_iter().next();
    first.and_then(|range| header.get(range)).unwrap_or(header)
}

/// `name: description`, or the name alone.
fn header(entry: &SearchEntry) -> Cow<'_, str> {
    match description(entry) {
        Some(description) => Cow::Owned(format!("{}: {description}", entry.item.name)),
        None => Cow::Borrowed(&entry.item.name),
    }
}

fn description(entry: &SearchEntry) -> Option<&str> {
    entry.description.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// The name of a memory says where it stands, which is not what it is about.
fn is_named_by_place(entry: &SearchEntry) -> bool {
    entry.item.kind == ItemKind::Memory && description(entry).is_none()
}

/// A header is a chunk even where nothing stands in it, since it is always the first.
/// Only memories have none.
fn header_chunks(entry: &SearchEntry, header: &str) -> Vec<Range<usize>> {
    if is_named_by_place(entry) && !entry.text.trim().is_empty() {
        return Vec::new();
    }
    let mut chunks = chunks(header);
    if chunks.is_empty() {
        chunks.push(0..0);
    }
    chunks
}
