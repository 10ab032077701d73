//! The items of a day as bytes. Every turn reads and writes those of its day, on the
//! one thread that writes, and JSON would cost it several times as much.
//!
//! An item is its kind in a byte, its name, its server, seven counts, and the moment and
//! the number of the turn that last used it. Numbers have seven bits a byte, the lowest
//! first; a text is its length and its bytes. A server's length is one more than it is,
//! and 0 where there is none; so is a turn's number where nothing used the item.

use recto_context::ItemKind;

use super::ItemCounts;
use super::day::DayItem;

/// The kinds by the bytes that stand for them. New ones go to the end.
const KINDS: [ItemKind; 5] =
    [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool, ItemKind::Memory];

/// Writes a list of items.
pub(super) fn encode_items(items: &[DayItem<'_>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(items.len() * 48);
    for DayItem { key: (kind, name, server), counts, last } in items {
        let number = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len());
        bytes.push(number as u8);
        push_number(&mut bytes, name.len() as u64);
        bytes.extend_from_slice(name.as_bytes());
        push_number(&mut bytes, server.map_or(0, |server| server.len() as u64 + 1));
        bytes.extend_from_slice(server.unwrap_or_default().as_bytes());
        for count in <[u64; 7]>::from(*counts) {
            push_number(&mut bytes, count);
        }
        let (at, turn) = last.unwrap_or_default();
        // The sign goes through as one more bit.
        push_number(&mut bytes, at as u64);
        push_number(&mut bytes, turn as u64);
    }
    bytes
}

/// Reads a list of items; nothing where it is damaged.
pub(super) fn decode_items(bytes: &[u8]) -> Option<Vec<DayItem<'_>>> {
    let mut rest = bytes;
    let mut items = Vec::new();
    while let Some((kind, behind)) = rest.split_first() {
        rest = behind;
        let kind = *KINDS.get(usize::from(*kind))?;
        let length = take_number(&mut rest)?;
        let name = take_text(&mut rest, length)?;
        let server = match take_number(&mut rest)? {
            0 => None,
            length => Some(take_text(&mut rest, length - 1)?),
        };
        let mut counts = [0; 7];
        for count in &mut counts {
            *count = take_number(&mut rest)?;
        }
        let (at, turn) = (take_number(&mut rest)? as i64, take_number(&mut rest)? as i64);
        let last = (turn != 0).then_some((at, turn));
        items.push(DayItem { key: (kind, name, server), counts: ItemCounts::from(counts), last });
    }
    Some(items)
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_text<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a str> {
    let (text, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parts = (usize, String, Option<String>, [u64; 7], Option<(i64, i64)>);

    fn parts() -> impl Strategy<Value = Vec<Parts>> {
        let last = proptest::option::of((any::<i64>(), 1..i64::MAX));
        let item =
            (0..KINDS.len(), any::<String>(), any::<Option<String>>(), any::<[u64; 7]>(), last);
        proptest::collection::vec(item, 0..8)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(parts in parts()) {
            let items: Vec<DayItem<'_>> = parts
                .iter()
                .map(|(kind, name, server, counts, last)| DayItem {
                    key: (KINDS[*kind], name.as_str(), server.as_deref()),
                    counts: ItemCounts::from(*counts),
                    last: *last,
                })
                .collect();
            let bytes = encode_items(&items);
            prop_assert_eq!(decode_items(&bytes), Some(items));
            // What was cut off in the middle is damaged, or fewer items.
            for end in 0..bytes.len() {
                let cut = decode_items(&bytes[..end]);
                prop_assert!(cut.is_none_or(|cut| cut.len() < parts.len()));
            }
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in any::<Vec<u8>>()) {
            let _ = decode_items(&bytes);
        }
    }
}
