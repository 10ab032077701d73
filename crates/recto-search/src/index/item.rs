//! An item in the index: its entry, cut into pieces.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use recto_context::{ContentHash, ItemKind};

use super::table::{Row, Table};
use crate::chunk::chunks;
use crate::entry::Entry;
use crate::lexical::Fields;

/// How many chunks of an item's text get a vector: what is longer could not stand on
/// a page, and would keep all others waiting for minutes. Its words count to the end.
const MOST_CHUNKS: usize = 400;

/// An item with the chunks that its entry was cut into.
pub(super) struct Item {
    pub(super) entry: Entry,
    /// The header first, then the text.
    pub(super) pieces: Box<[Piece]>,
}

/// A chunk where it stands in an item. Its text is not kept a second time.
pub(super) struct Piece {
    /// The row of its chunk in the table.
    pub(super) row: Row,
    of: Of,
    range: Range<usize>,
}

/// What a piece was cut from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Header,
    Text,
}

impl Item {
    /// Cuts an entry into pieces.
    pub(super) fn new(entry: Entry, table: &mut Table) -> Item {
        let header = header(&entry);
        let of_header = header_chunks(&entry, &header).into_iter().map(|range| (Of::Header, range));
        let of_text = chunks(&entry.text).into_iter().take(MOST_CHUNKS);
        let of_text = of_text.map(|range| (Of::Text, range));
        let mut piece = |(of, range): (Of, Range<usize>)| {
            let text = text_of(&entry, &header, of, range.clone());
            let row = table.acquire(ContentHash::of(text.unwrap_or_default().as_bytes()));
            Piece { row, of, range }
        };
        let pieces: Box<[Piece]> = of_header.chain(of_text).map(&mut piece).collect();
        drop(header);
        Item { entry, pieces }
    }

    /// Whether search sees the same in an entry as in this item.
    pub(super) fn has_content_of(&self, entry: &Entry) -> bool {
        let (own, other) = (&self.entry, entry);
        own.text == other.text && own.description == other.description && own.when == other.when
    }

    /// What the words are taken from.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields {
            name: if is_named_by_place(&self.entry) { "" } else { &self.entry.item.name },
            description: self.entry.description.as_deref().unwrap_or_default(),
            text: &self.entry.text,
            when: self.entry.when.as_deref().unwrap_or_default(),
        }
    }

    /// The text of a piece.
    pub(super) fn text_of(&self, piece: usize) -> Option<Arc<str>> {
        let Piece { of, range, .. } = self.pieces.get(piece)?;
        text_of(&self.entry, &header(&self.entry), *of, range.clone()).map(Arc::from)
    }

    /// Lets go of its chunks.
    pub(super) fn release(&self, table: &mut Table) {
        self.pieces.iter().for_each(|piece| table.release(piece.row));
    }
}

/// The text of a piece. Parameters say little without what they are the parameters of,
/// so those of a tool follow its header.
fn text_of<'a>(
    entry: &'a Entry,
    header: &'a str,
    of: Of,
    range: Range<usize>,
) -> Option<Cow<'a, str>> {
    match of {
        Of::Header => header.get(range).map(Cow::Borrowed),
        Of::Text if entry.item.kind == ItemKind::Tool => {
            let header = first_chunk(header);
            entry.text.get(range).map(|text| Cow::Owned(format!("{header}\n\n{text}")))
        }
        Of::Text => entry.text.get(range).map(Cow::Borrowed),
    }
}

/// As much of a header as a chunk can hold.
fn first_chunk(header: &str) -> &str {
    let first = chunks(header).into_iter().next();
    first.and_then(|range| header.get(range)).unwrap_or(header)
}

/// `name: description`, or the name alone.
fn header(entry: &Entry) -> Cow<'_, str> {
    match description(entry) {
        Some(description) => Cow::Owned(format!("{}: {description}", entry.item.name)),
        None => Cow::Borrowed(&entry.item.name),
    }
}

fn description(entry: &Entry) -> Option<&str> {
    entry.description.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// The name of a memory says where it stands, which is not what it is about.
fn is_named_by_place(entry: &Entry) -> bool {
    entry.item.kind == ItemKind::Memory && description(entry).is_none()
}

/// A header is a chunk even where nothing stands in it, since it is always the first.
/// Only memories have none.
fn header_chunks(entry: &Entry, header: &str) -> Vec<Range<usize>> {
    if is_named_by_place(entry) && !entry.text.trim().is_empty() {
        return Vec::new();
    }
    let mut chunks = chunks(header);
    if chunks.is_empty() {
        chunks.push(0..0);
    }
    chunks
}
