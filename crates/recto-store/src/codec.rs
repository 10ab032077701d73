//! Texts made small: by themselves, or as the difference from another text.
//!
//! Pure functions over bytes. A packed text is the text itself, or a zstd frame
//! where that is shorter; which of the two shows by its first bytes, because no
//! UTF-8 text begins like a frame. A difference always is a frame, and carries
//! a checksum: against another text than its own it is found to be damaged.

use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, SafeResult, get_frame_content_size};

/// How hard zstd tries. Higher levels gain little on texts of this size.
const LEVEL: i32 = 3;

/// Shorter texts hardly shrink.
const WORTH_TRYING: usize = 128;

/// What a frame begins with; its second byte never follows the first in UTF-8.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// No text that was ever packed is larger. A frame that claims to be is damaged,
/// and no reason to ask the system for so much memory.
const LARGEST: u64 = 1 << 30;

/// How far back a frame may reach: as far as decoders go without being told.
const WINDOW_LOGS: (u32, u32) = (10, 27);

/// In a parent of this size, matches are lost unless they are looked for in zstd's
/// way for long distances.
const LONG: usize = 64 << 10;

thread_local! {
    /// What this thread packs texts with that have no parent.
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

/// The difference of a text from `parent`, if zstd can make one.
pub(crate) fn pack_against(parent: &str, text: &str) -> Option<Vec<u8>> {
    compress(text, Some(parent))
}

/// Gives the text back that [`pack_against`] was given, by the same parent.
pub(crate) fn unpack_against(parent: &str, packed: &[u8]) -> Result<String, CodecError> {
    decompress(packed, Some(parent))
}

fn compress(text: &str, parent: Option<&str>) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(text.len()));
    match parent {
        // For a short text, setting up a context takes longer than its use.
        None => ENCODER.with_borrow_mut(|context| {
            let context = match context {
                Some(context) => context,
                none => none.insert(CCtx::try_create()?),
            };
            set_up(context, text, None).ok()?;
            context.compress2(&mut frame, text.as_bytes()).ok()
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
        let packed = pack_against(&parent, &text).unwrap();
        assert!(packed.len() < 2_000, "{} of {}", packed.len(), text.len());
        assert_eq!(unpack_against(&parent, &packed), Ok(text));
    }

    #[test]
    fn a_difference_is_not_read_against_another_text() {
        let parent = "some words that occur in both of them, ".repeat(20);
        let packed = pack_against(&parent, &format!("{parent}and more")).unwrap();
        let other = parent.replace("both", "none");
        assert_eq!(unpack_against(&other, &packed), Err(CodecError));
        assert_eq!(unpack(&packed), Err(CodecError));
    }

    #[test]
    fn a_frame_that_claims_to_be_huge_is_not_believed() {
        // A single segment of 2^60 bytes.
        let mut frame = FRAME.to_vec();
        frame.push(0b1110_0000);
        frame.extend((1_u64 << 60).to_le_bytes());
        assert_eq!(unpack(&frame), Err(CodecError));
    }

    /// Texts with much and with little in common.
    fn texts() -> impl Strategy<Value = (String, String)> {
        let words = proptest::collection::vec("[a-zé日]{1,9} |\\PC{0,4}", 0..200);
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
            let difference = pack_against(&parent, &text).unwrap();
            prop_assert_eq!(unpack_against(&parent, &difference), Ok(text));
        }

        #[test]
        fn damage_is_an_error_or_the_same_text(
            (parent, text) in texts(),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let mut packed = pack_against(&parent, &text).unwrap();
            let at = at.index(packed.len());
            packed[at] ^= 1 << bit;
            if let Ok(read) = unpack_against(&parent, &packed) {
                prop_assert_eq!(read, text);
            }
        }

        #[test]
        fn any_bytes_can_be_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let framed = [FRAME.as_slice(), &bytes].concat();
            let _ = (unpack(&bytes), unpack(&framed), unpack_against("parent", &framed));
            let mut unpacker = Unpacker::default();
            prop_assert_eq!(unpacker.unpack(&framed).map(str::to_owned), unpack(&framed));
            prop_assert_eq!(unpacker.unpack(&bytes).map(str::to_owned), unpack(&bytes));
        }
    }
}
