//! Texts made small: by themselves, or as the difference from another text.
//!
//! Pure functions over bytes. A packed text is the text itself, or a zstd frame
//! where that is shorter; which of the two shows by its first bytes, because no
//! UTF-8 text begins like a frame. A difference is one by lines (`line_diff`), or, where
//! texts have few lines in common, a frame against the other text. It carries a
//! checksum: against another text than its own it is found to be damaged.

use std::borrow::Cow;
use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, SafeResult, get_frame_content_size};

use crate::line_diff::{LineDiff, LineList, LineRun};

/// How hard zstd tries. Higher levels gain little on texts of this size.
const LEVEL: i32 = 3;

/// Shorter texts hardly shrink.
const WORTH_TRYING: usize = 128;

/// The same for those that resemble something at hand.
const WORTH_TRYING_NEAR: usize = 32;

/// What a frame begins with; its second byte never follows the first in UTF-8.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What a difference by lines begins with: no frame does, and no UTF-8 text. Its new lines are packed
/// with what surrounds them in the parent at hand, or with all of a parent that is small.
const BY_LINES: u8 = 0xff;
const BY_LINES_OF_SMALL: u8 = 0xfe;

/// A parent up to this size is at hand for new lines as a whole: hashes and counts that move from one
/// place to another are found in it. In a larger one that would take too long.
const SMALL: usize = 64 << 10;

/// How hard zstd tries for new lines. Most of the time goes into looking at what is at hand.
const LEVEL_NEAR: i32 = 1;

/// With more that is new, lines don't tell what two texts have in common.
const MOST_NEW_LINES: usize = 8 << 10;

/// No text that was ever packed is larger. A frame that claims to be is damaged,
/// and no reason to ask the system for so much memory.
const LARGEST: u64 = 1 << 30;

/// How far back a frame may reach: as far as decoders go without being told.
const WINDOW_LOGS: (u32, u32) = (10, 27);

/// In a parent of this size, matches are lost unless they are looked for in zstd's
/// way for long distances.
const LONG: usize = 64 << 10;

thread_local! {
    /// What this thread packs short texts with.
    static ENCODER: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
}

/// The bytes are not what was packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodecError;

/// Packs a text by itself.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let frame = (text.len() >= WORTH_TRYING).then(|| compress(text, None)).flatten();
    match frame {
        Some(frame) if frame.len() < text.len() => frame,
        _ => text.as_bytes().to_vec(),
    }
}

/// Gives the text back that [`pack`] was given.
pub(crate) fn unpack(packed: &[u8]) -> Result<String, CodecError> {
    if packed.starts_with(&FRAME) {
        return decompress(packed, None);
    }
    String::from_utf8(packed.to_vec()).map_err(|_| CodecError)
}

/// Undoes [`pack`] for one text after the other. What zstd needs for it is set up
/// once, which for short texts is most of the work.
#[derive(Default)]
pub(crate) struct Unpacker {
    context: Option<DCtx<'static>>,
    text: Vec<u8>,
}

impl Unpacker {
    /// The text, until the next one.
    pub(crate) fn unpack<'a>(&'a mut self, packed: &'a [u8]) -> Result<&'a str, CodecError> {
        let text = if packed.starts_with(&FRAME) {
            let context = match &mut self.context {
                Some(context) => context,
                none => none.insert(decoder()?),
            };
            read_into(&mut self.text, context, packed)?;
            &self.text
        } else {
            packed
        };
        str::from_utf8(text).map_err(|_| CodecError)
    }
}

/// A text with its lines.
pub(crate) type LinedText<'t> = (&'t str, &'t LineList);

/// The difference of a text from `parent`, if one can be made.
pub(crate) fn pack_against(parent: LinedText<'_>, text: LinedText<'_>) -> Option<Vec<u8>> {
    let (diff, new_lines) = LineDiff::find(parent, text);
    if new_lines.len() > MOST_NEW_LINES {
        return compress(text.0, Some(parent.0));
    }
    let kind = if parent.0.len() <= SMALL { BY_LINES_OF_SMALL } else { BY_LINES };
    let near = text_at_hand(kind, &diff, parent)?;
    let frame = (new_lines.len() >= WORTH_TRYING_NEAR).then(|| compress_near(&new_lines, &near));
    let packed = frame.flatten().filter(|frame| frame.len() < new_lines.len());
    let mut written = Vec::with_capacity(16 + packed.as_ref().map_or(new_lines.len(), Vec::len));
    written.push(kind);
    written.extend(checksum(text.0.as_bytes()).to_le_bytes());
    write_runs(&mut written, &diff);
    written.extend_from_slice(packed.as_deref().unwrap_or(new_lines.as_bytes()));
    Some(written)
}

/// Gives the text back that [`pack_against`] was given, by the same parent.
pub(crate) fn unpack_against(parent: &str, packed: &[u8]) -> Result<String, CodecError> {
    let Some((&kind @ (BY_LINES | BY_LINES_OF_SMALL), rest)) = packed.split_first() else {
        return decompress(packed, Some(parent));
    };
    let (expected, rest) = rest.split_first_chunk().ok_or(CodecError)?;
    let mut rest = rest;
    let diff = read_runs(&mut rest).ok_or(CodecError)?;
    let lines = LineList::new(parent);
    let near = text_at_hand(kind, &diff, (parent, &lines)).ok_or(CodecError)?;
    let new_lines = match rest.starts_with(&FRAME) {
        true => decompress(rest, Some(&near))?,
        false => String::from_utf8(rest.to_vec()).map_err(|_| CodecError)?,
    };
    let text = diff.apply((parent, &lines), &new_lines).ok_or(CodecError)?;
    let is_it = checksum(text.as_bytes()) == u32::from_le_bytes(*expected);
    if is_it { Ok(text) } else { Err(CodecError) }
}

/// What new lines are packed with in a difference of a kind.
fn text_at_hand<'p>(kind: u8, diff: &LineDiff, parent: LinedText<'p>) -> Option<Cow<'p, str>> {
    match kind {
        BY_LINES_OF_SMALL => Some(Cow::Borrowed(parent.0)),
        _ => diff.neighbours(parent).map(Cow::Owned),
    }
}

/// Writes what two texts have in common: how many runs, and of each how many lines are new, how far
/// from the end of the run before it begins in the parent, and how many lines it has.
fn write_runs(written: &mut Vec<u8>, diff: &LineDiff) {
    write_number(written, diff.runs.len() as u64);
    let mut end = 0_i64;
    for LineRun { new, from, count } in &diff.runs {
        let step = *from as i64 - end;
        // Small steps back are small numbers, too.
        let step = (step << 1) ^ (step >> 63);
        for number in [*new as u64, step as u64, *count as u64] {
            write_number(written, number);
        }
        end = (from + count) as i64;
    }
}

fn read_runs(rest: &mut &[u8]) -> Option<LineDiff> {
    let count = read_number(rest)?;
    let mut diff = LineDiff::default();
    let mut end = 0_i64;
    for _ in 0..count {
        let (new, step, count) = (read_number(rest)?, read_number(rest)?, read_number(rest)?);
        let step = (step >> 1) as i64 ^ -((step & 1) as i64);
        let from = usize::try_from(end.checked_add(step)?).ok()?;
        let (new, count) = (usize::try_from(new).ok()?, usize::try_from(count).ok()?);
        end = i64::try_from(from.checked_add(count)?).ok()?;
        diff.runs.push(LineRun { new, from, count });
    }
    Some(diff)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn write_number(written: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        written.push(number as u8 | 0x80);
        number >>= 7;
    }
    written.push(number as u8);
}

fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Tells damage, not malice; it reads eight bytes at a time.
fn checksum(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = bytes.len() as u64;
    for word in words {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
    }
    for byte in rest {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(FACTOR).rotate_left(29);
    }
    (sum ^ (sum >> 32)) as u32
}

/// Packs lines with those at hand that they resemble.
fn compress_near(lines: &str, near: &str) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(lines.len()));
    // It reads what is at hand while it packs and keeps nothing of it, so that the same context can
    // be used again; its window reaches over both.
    with_encoder(|context| {
        let (lines, near) = (lines.as_bytes(), near.as_bytes());
        context.compress_using_dict(&mut frame, lines, near, LEVEL_NEAR)
    })?;
    Some(frame)
}

fn compress(text: &str, parent: Option<&str>) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(text.len()));
    match parent {
        None => with_encoder(|context| {
            set_up(context, text, None)?;
            context.compress2(&mut frame, text.as_bytes())
        })?,
        // A context that has seen a parent borrows it, and so can't outlive it.
        Some(_) => {
            let mut context = CCtx::try_create()?;
            set_up(&mut context, text, parent).ok()?;
            context.compress2(&mut frame, text.as_bytes()).ok()?
        }
    };
    Some(frame)
}

/// Packs something with this thread's context: for a short text, setting one up takes longer than
/// its use.
fn with_encoder(pack: impl FnOnce(&mut CCtx<'static>) -> SafeResult) -> Option<usize> {
    ENCODER.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            none => none.insert(CCtx::try_create()?),
        };
        pack(context).ok()
    })
}

fn set_up<'a>(context: &mut CCtx<'a>, text: &str, parent: Option<&'a str>) -> SafeResult {
    context.set_parameter(CParameter::CompressionLevel(LEVEL))?;
    let Some(parent) = parent else { return Ok(0) };
    context.set_parameter(CParameter::ChecksumFlag(true))?;
    context.set_parameter(CParameter::WindowLog(window_log(parent.len() + text.len())))?;
    context.set_parameter(CParameter::EnableLongDistanceMatching(parent.len() >= LONG))?;
    context.ref_prefix(parent.as_bytes())
}

/// The smallest window that reaches back over `length` bytes.
fn window_log(length: usize) -> u32 {
    let bits = usize::BITS - length.leading_zeros();
    bits.clamp(WINDOW_LOGS.0, WINDOW_LOGS.1)
}

fn decompress(frame: &[u8], parent: Option<&str>) -> Result<String, CodecError> {
    let mut text = Vec::new();
    let mut context = decoder()?;
    if let Some(parent) = parent {
        context.ref_prefix(parent.as_bytes()).map_err(|_| CodecError)?;
    }
    read_into(&mut text, &mut context, frame)?;
    String::from_utf8(text).map_err(|_| CodecError)
}

fn decoder<'a>() -> Result<DCtx<'a>, CodecError> {
    let mut context = DCtx::try_create().ok_or(CodecError)?;
    let set = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOGS.1));
    set.map(|_| context).map_err(|_| CodecError)
}

/// Replaces what is in `text` by what the frame holds.
fn read_into(text: &mut Vec<u8>, context: &mut DCtx<'_>, frame: &[u8]) -> Result<(), CodecError> {
    let length = get_frame_content_size(frame).ok().flatten().ok_or(CodecError)?;
    let length = usize::try_from(length.min(LARGEST + 1)).map_err(|_| CodecError)?;
    text.clear();
    if length as u64 > LARGEST || text.try_reserve_exact(length).is_err() {
        return Err(CodecError);
    }
    context.decompress(text, frame).map(drop).map_err(|_| CodecError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_texts_stay_as_they_are() {
        assert_eq!(pack("hello"), b"hello");
        assert_eq!(pack(""), b"");
        assert_eq!(unpack(b""), Ok(String::new()));
    }

    #[test]
    fn a_text_never_grows() {
        // Digits of a hash can't be made shorter than half of them.
        let digits = (0..64).map(|n: u32| format!("{:08x}", n.wrapping_mul(0x9e37_79b9)));
        let text: String = digits.collect();
        assert!(pack(&text).len() <= text.len());
        assert!(pack(&"the same words again ".repeat(100)).len() < 60);
    }

    #[test]
    fn a_difference_reaches_back_over_documents_of_any_size() {
        // Lines that have nothing in common but their digits.
        let line = |n: u64| format!("{:016x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let parent: String = (0..200_000).map(line).collect();
        let text = format!("{parent}one more line");
        let packed = against(&parent, &text);
        assert!(packed.len() < 60, "{} of {}", packed.len(), text.len());
        assert_eq!(unpack_against(&parent, &packed), Ok(text));
        // The same without lines.
        let parent = parent.replace('\n', " ");
        let text = format!("{parent}one more word");
        let packed = against(&parent, &text);
        assert!(packed.len() < 2_000, "{} of {}", packed.len(), text.len());
        assert_eq!(unpack_against(&parent, &packed), Ok(text));
    }

    #[test]
    fn a_difference_is_not_read_against_another_text() {
        for (words, times) in [("words that occur in both of them\n", 20), ("no lines ", 2_000)] {
            let parent = words.repeat(times);
            let packed = against(&parent, &format!("{parent}and more"));
            let other = parent.replace('o', "0");
            assert_eq!(unpack_against(&other, &packed), Err(CodecError));
            assert_eq!(unpack(&packed), Err(CodecError));
        }
    }

    #[test]
    fn a_frame_that_claims_to_be_huge_is_not_believed() {
        // A single segment of 2^60 bytes.
        let mut frame = FRAME.to_vec();
        frame.push(0b1110_0000);
        frame.extend((1_u64 << 60).to_le_bytes());
        assert_eq!(unpack(&frame), Err(CodecError));
    }

    #[test]
    fn what_stands_anywhere_in_a_small_parent_is_not_written_again() {
        let hash = |n: u64| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let parent: String = (0..300).map(|n| format!("{} {n}\n", hash(n))).collect();
        // The hash of a line far from where the new one is.
        let text = format!("{parent}again {}{}{}\n", hash(7), hash(8), hash(9));
        let packed = against(&parent, &text);
        assert!(packed.len() < 48, "{}", packed.len());
        assert_eq!(unpack_against(&parent, &packed), Ok(text));
    }

    #[test]
    fn a_difference_of_before_is_still_read() {
        let (parent, text) = ("some words\n".repeat(30), "some words\n".repeat(31) + "and more");
        let frame = compress(&text, Some(&parent)).unwrap();
        assert!(frame.starts_with(&FRAME));
        assert_eq!(unpack_against(&parent, &frame), Ok(text));
    }

    fn against(parent: &str, text: &str) -> Vec<u8> {
        let (of_parent, of_text) = (LineList::new(parent), LineList::new(text));
        pack_against((parent, &of_parent), (text, &of_text)).unwrap()
    }

    /// Texts with much and with little in common.
    fn texts() -> impl Strategy<Value = (String, String)> {
        let words = proptest::collection::vec("[a-zé日]{1,9}[ \n]|\\PC{0,4}", 0..200);
        (words.clone(), words.clone(), words).prop_map(|(shared, old, new)| {
            let [shared, old, new] = [shared, old, new].map(|words| words.concat());
            (format!("{shared}{old}"), format!("{new}{shared}{new}"))
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back((parent, text) in texts()) {
            prop_assert_eq!(unpack(&pack(&text)), Ok(text.clone()));
            let mut unpacker = Unpacker::default();
            for text in [&text, &parent, &text] {
                // One that fails leaves nothing behind for the next.
                let mut damaged = pack(text);
                damaged.truncate(damaged.len() / 2);
                let _ = unpacker.unpack(&damaged);
                let packed = pack(text);
                prop_assert_eq!(unpacker.unpack(&packed), Ok(text.as_str()));
            }
            let difference = against(&parent, &text);
            prop_assert_eq!(unpack_against(&parent, &difference), Ok(text));
        }

        #[test]
        fn damage_is_an_error_or_the_same_text(
            (parent, text) in texts(),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let mut packed = against(&parent, &text);
            let at = at.index(packed.len());
            packed[at] ^= 1 << bit;
            if let Ok(read) = unpack_against(&parent, &packed) {
                prop_assert_eq!(read, text);
            }
        }

        #[test]
        fn any_bytes_can_be_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let framed = [FRAME.as_slice(), &bytes].concat();
            let lined = [BY_LINES, BY_LINES_OF_SMALL].map(|kind| [&[kind; 5][..], &bytes].concat());
            let _ = (unpack(&bytes), unpack(&framed), unpack_against("parent", &framed));
            let _ = lined.map(|lined| unpack_against("some\nlines\n", &lined));
            let mut unpacker = Unpacker::default();
            prop_assert_eq!(unpacker.unpack(&framed).map(str::to_owned), unpack(&framed));
            prop_assert_eq!(unpacker.unpack(&bytes).map(str::to_owned), unpack(&bytes));
        }
    }
}
