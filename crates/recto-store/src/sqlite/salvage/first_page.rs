//! The first page of a database, made anew where it is broken.
//!
//! It has the header, most of which is the same in every database of Recto, and leads to the list
//! of tables. The list is long enough to lie on pages of its own, and those can be told by what is
//! on them. Where the list is on the first page itself, or a part of it can be found twice, nothing
//! is made up.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of a page; Recto has never made databases with others.
pub(super) const PAGE: usize = 4_096;

/// The bytes of the header, at the beginning of the first page.
const HEADER: usize = 100;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The kinds of pages that hold rows, and that lead to others.
const LEAF: u8 = 0x0d;
const INTERIOR: u8 = 0x05;

/// The bytes before the places of cells on a leaf, and on a page that leads to others.
const LEAF_HEADER: usize = 8;
const INTERIOR_HEADER: usize = 12;

/// The names of things that a list of tables has, in its first column.
const KINDS: [&[u8]; 4] = [b"table", b"index", b"view", b"trigger"];

/// A table that every database of Recto has.
const OWN_TABLE: &[u8] = b"sessions";

/// Makes a first page for the database at `path`, from what its other pages are. `None` if they
/// are not those of a database of Recto, or don't tell enough.
pub(super) fn rebuild_first_page(path: &Path, application: u32) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut page = vec![0; PAGE];
    let (mut leaves, mut number) = (Vec::new(), 0_u32);
    loop {
        let length = read_page(&mut file, &mut page)?;
        if length == 0 {
            break;
        }
        number += 1;
        if number > 1 && length == PAGE {
            leaves.extend(ListLeaf::read(&page, number));
        }
    }
    leaves.sort_by_key(|leaf| leaf.first);
    let is_in_order = leaves.windows(2).all(|pair| match pair {
        [before, after] => before.last < after.first,
        _ => true,
    });
    let is_own = leaves.iter().any(|leaf| leaf.has_own_table);
    Ok((is_own && is_in_order).then(|| first_page(&leaves, number, application)).flatten())
}

/// Reads a page, or what is left of the file.
fn read_page(file: &mut File, page: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = page.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// A page with a part of the list of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListLeaf {
    number: u32,
    /// The numbers of its first and last row.
    first: i64,
    last: i64,
    has_own_table: bool,
}

impl ListLeaf {
    fn read(page: &[u8], number: u32) -> Option<Self> {
        if *page.first()? != LEAF {
            return None;
        }
        let count = usize::from(u16_at(page, 3)?);
        let mut leaf: Option<ListLeaf> = None;
        for cell in 0..count {
            let place = usize::from(u16_at(page, LEAF_HEADER + 2 * cell)?);
            let entry = SchemaEntry::read(page.get(place..)?)?;
            let before = leaf.map(|leaf| leaf.last);
            if before.is_some_and(|before| before >= entry.row) {
                return None;
            }
            let leaf = leaf.get_or_insert(ListLeaf {
                number,
                first: entry.row,
                last: entry.row,
                has_own_table: false,
            });
            leaf.last = entry.row;
            leaf.has_own_table |= entry.is_own_table;
        }
        leaf
    }
}

/// A row of the list of tables, as far as it has to be known.
struct SchemaEntry {
    row: i64,
    is_own_table: bool,
}

impl SchemaEntry {
    /// Its columns are the kind, the name, the name of the table, the first page and the SQL. All
    /// but the last stand in the cell, however long that is.
    fn read(cell: &[u8]) -> Option<Self> {
        let (_, cell) = varint(cell)?;
        let (row, record) = varint(cell)?;
        let (header_length, mut types) = varint(record)?;
        let header_length = usize::try_from(header_length).ok()?;
        let mut values = record.get(header_length..)?;
        let mut column = || {
            let (kind, rest) = varint(types)?;
            types = rest;
            Some(kind)
        };
        let mut take = |kind: i64| {
            let length = value_length(kind)?;
            let (value, rest) = values.split_at_checked(length)?;
            values = rest;
            Some(value)
        };
        let (kind, name) = (column().filter(is_text)?, column().filter(is_text)?);
        let (kind, name) = (take(kind)?, take(name)?);
        let table = column().filter(is_text)?;
        take(table)?;
        let root = column().filter(|root| (0..=9).contains(root))?;
        take(root)?;
        let sql = column()?;
        if !KINDS.contains(&kind) || !(sql == 0 || is_text(&sql)) {
            return None;
        }
        Some(SchemaEntry { row, is_own_table: kind == b"table" && name == OWN_TABLE })
    }
}

fn is_text(kind: &i64) -> bool {
    *kind >= 13 && kind % 2 == 1
}

/// The bytes of a value, by what stands for its type.
fn value_length(kind: i64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        12.. => usize::try_from((kind - 12) / 2).ok(),
        _ => None,
    }
}

/// Reads a number of one to nine bytes, and what follows it.
fn varint(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut number: u64 = 0;
    for place in 0..9 {
        let byte = *bytes.get(place)?;
        let rest = bytes.get(place + 1..)?;
        if place == 8 {
            return Some(((number << 8 | u64::from(byte)).cast_signed(), rest));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number.cast_signed(), rest));
        }
    }
    None
}

fn u16_at(page: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_be_bytes(page.get(place..place + 2)?.try_into().ok()?))
}

/// The header, and a page that leads to the pages of the list.
fn first_page(leaves: &[ListLeaf], pages: u32, application: u32) -> Option<Vec<u8>> {
    let (last, before) = leaves.split_last()?;
    let mut page = header(pages, application);
    let mut cells: Vec<Vec<u8>> = Vec::new();
    for leaf in before {
        cells.push([&leaf.number.to_be_bytes()[..], &small_varint(leaf.last)?].concat());
    }
    let mut start = PAGE;
    let mut places = Vec::new();
    for cell in &cells {
        start = start.checked_sub(cell.len())?;
        places.extend(u16::try_from(start).ok()?.to_be_bytes());
    }
    let count = u16::try_from(cells.len()).ok()?;
    page.push(INTERIOR);
    page.extend([0, 0]);
    page.extend(count.to_be_bytes());
    page.extend(u16::try_from(start).ok()?.to_be_bytes());
    page.push(0);
    page.extend(last.number.to_be_bytes());
    page.extend(places);
    if page.len() > start || page.len() < HEADER + INTERIOR_HEADER {
        return None;
    }
    page.resize(start, 0);
    // The first cell is the one nearest to the end.
    page.extend(cells.iter().rev().flatten());
    Some(page)
}

/// Numbers of rows in the list of tables are small.
fn small_varint(number: i64) -> Option<Vec<u8>> {
    let number = u16::try_from(number).ok().filter(|number| *number < 1 << 14)?;
    let (high, low) = ((number >> 7) as u8, (number & 0x7f) as u8);
    Some(if high == 0 { vec![low] } else { vec![high | 0x80, low] })
}

/// What every database of Recto begins with. Pages that were free are not known any more.
fn header(pages: u32, application: u32) -> Vec<u8> {
    const WITH_WAL: u8 = 2;
    const ANY_CHANGE: u32 = 1;
    const FORMAT: u32 = 4;
    const UTF_8: u32 = 1;
    const LIBRARY: u32 = 3_046_000;
    let mut header = MAGIC.to_vec();
    header.extend((PAGE as u16).to_be_bytes());
    header.extend([WITH_WAL, WITH_WAL, 0, 64, 32, 32]);
    let free_pages = [0, 0];
    let [cache, largest_root, version, vacuum] = [0; 4];
    let numbers = [ANY_CHANGE, pages].into_iter().chain(free_pages).chain([
        ANY_CHANGE,
        FORMAT,
        cache,
        largest_root,
        UTF_8,
        version,
        vacuum,
        application,
    ]);
    header.extend(numbers.flat_map(u32::to_be_bytes));
    header.resize(HEADER - 8, 0);
    header.extend([ANY_CHANGE, LIBRARY].into_iter().flat_map(u32::to_be_bytes));
    header
}
