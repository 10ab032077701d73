//! The list of a file's tensors: how large they are, and where they end. Never reads the tensors
//! themselves.

use std::io::{Read, Seek};

use super::problem::{GgufFault, GgufResult, damaged};
use super::reader::{GgufReader, SeenNames, shown};

/// A kind of numbers, of which `block` take `bytes` together.
struct TensorType {
    id: u32,
    block: u64,
    bytes: u64,
}

/// Every kind of ggml that a file may have; the numbers that are missing were given up.
#[rustfmt::skip]
const KINDS: [TensorType; 35] = [
    kind(0, 1, 4),       // F32
    kind(1, 1, 2),       // F16
    kind(2, 32, 18),     // Q4_0
    kind(3, 32, 20),     // Q4_1
    kind(6, 32, 22),     // Q5_0
    kind(7, 32, 24),     // Q5_1
    kind(8, 32, 34),     // Q8_0
    kind(9, 32, 36),     // Q8_1
    kind(10, 256, 84),   // Q2_K
    kind(11, 256, 110),  // Q3_K
    kind(12, 256, 144),  // Q4_K
    kind(13, 256, 176),  // Q5_K
    kind(14, 256, 210),  // Q6_K
    kind(15, 256, 292),  // Q8_K
    kind(16, 256, 66),   // IQ2_XXS
    kind(17, 256, 74),   // IQ2_XS
    kind(18, 256, 98),   // IQ3_XXS
    kind(19, 256, 50),   // IQ1_S
    kind(20, 32, 18),    // IQ4_NL
    kind(21, 256, 110),  // IQ3_S
    kind(22, 256, 82),   // IQ2_S
    kind(23, 256, 136),  // IQ4_XS
    kind(24, 1, 1),      // I8
    kind(25, 1, 2),      // I16
    kind(26, 1, 4),      // I32
    kind(27, 1, 8),      // I64
    kind(28, 1, 8),      // F64
    kind(29, 256, 56),   // IQ1_M
    kind(30, 1, 2),      // BF16
    kind(34, 256, 54),   // TQ1_0
    kind(35, 256, 66),   // TQ2_0
    kind(39, 32, 17),    // MXFP4
    kind(40, 64, 36),    // NVFP4
    kind(41, 128, 18),   // Q1_0
    kind(42, 64, 18),    // Q2_0
];

const fn kind(id: u32, block: u64, bytes: u64) -> TensorType {
    TensorType { id, block, bytes }
}

/// The most tensors of a file. Models with many experts have some ten thousands.
const MOST_TENSORS: u64 = 1 << 20;
/// What llama.cpp allows for a name, in bytes, and for a tensor.
const LONGEST_NAME: u64 = 63;
const MOST_DIMENSIONS: u32 = 4;
/// The most bytes of a file; a header that says more is broken.
const LARGEST: u64 = 1 << 50;

/// The totals of a file's list of tensors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TensorTotals {
    pub(super) count: u64,
    /// The bytes of all tensors, without the gaps between them.
    pub(super) weights: u64,
    /// The size that the file must have.
    pub(super) needs: u64,
}

impl TensorTotals {
    /// Reads a list of `count` tensors, whose data follow it at multiples of `alignment`.
    pub(super) fn read<R: Read + Seek>(
        reader: &mut GgufReader<R>,
        count: u64,
        alignment: u64,
    ) -> GgufResult<Self> {
        if count > MOST_TENSORS {
            return damaged(format!("it claims to have {count} tensors"));
        }
        let mut seen = SeenNames::default();
        let mut name = Vec::new();
        let mut weights: u64 = 0;
        let mut last_end = 0;
        let mut expected = Some(0);
        for _ in 0..count {
            reader.text(LONGEST_NAME, &mut name)?;
            if !seen.add(&name) {
                return damaged(format!("the tensor `{}` stands twice", shown(&name)));
            }
            let tensor = TensorEntry::read(reader).map_err(|fault| named(&name, fault))?;
            let end = tensor.check(alignment, expected).map_err(|fault| named(&name, fault))?;
            // Where a tensor of an unknown kind ends is not known, nor where the next begins.
            expected = tensor.bytes.map(|_| end.next_multiple_of(alignment));
            weights = weights.saturating_add(tensor.bytes.unwrap_or(0));
            last_end = last_end.max(end);
        }
        let needs = match count {
            0 => reader.at(),
            _ => reader.at().next_multiple_of(alignment) + last_end,
        };
        Ok(TensorTotals { count, weights, needs })
    }
}

struct TensorEntry {
    offset: u64,
    /// Unless its kind is unknown.
    bytes: Option<u64>,
}

impl TensorEntry {
    fn read<R: Read + Seek>(reader: &mut GgufReader<R>) -> GgufResult<Self> {
        let dimensions = reader.u32()?;
        if dimensions > MOST_DIMENSIONS {
            return damaged(format!("has {dimensions} dimensions"));
        }
        let mut sizes = [1; MOST_DIMENSIONS as usize];
        for size in &mut sizes[..dimensions as usize] {
            *size = reader.u64()?;
        }
        let kind = reader.u32()?;
        let offset = reader.u64()?;
        Ok(TensorEntry { offset, bytes: bytes(sizes, kind)? })
    }

    /// Where it ends, behind the beginning of all tensors. llama.cpp wants them one after the
    /// other.
    fn check(&self, alignment: u64, expected: Option<u64>) -> GgufResult<u64> {
        if !self.offset.is_multiple_of(alignment) {
            return damaged(format!(
                "begins at {}, which is no multiple of {alignment}",
                self.offset
            ));
        }
        if let Some(expected) = expected.filter(|expected| *expected != self.offset) {
            return damaged(format!("begins at {} instead of {expected}", self.offset));
        }
        self.offset
            .checked_add(self.bytes.unwrap_or(0))
            .filter(|end| *end <= LARGEST)
            .ok_or_else(|| GgufFault::damaged("would end beyond any file"))
    }
}

/// The bytes of a tensor; none where the kind is unknown.
fn bytes(sizes: [u64; 4], kind: u32) -> GgufResult<Option<u64>> {
    let Some(kind) = KINDS.iter().find(|known| known.id == kind) else { return Ok(None) };
    if !sizes[0].is_multiple_of(kind.block) {
        return damaged(format!("has rows of {} in blocks of {}", sizes[0], kind.block));
    }
    let [row, rest @ ..] = sizes;
    rest.into_iter()
        .try_fold(row / kind.block, u64::checked_mul)
        .and_then(|blocks| blocks.checked_mul(kind.bytes))
        .filter(|bytes| *bytes <= LARGEST)
        .map(Some)
        .ok_or_else(|| GgufFault::damaged(format!("has the impossible shape {sizes:?}")))
}

fn named(name: &[u8], fault: GgufFault) -> GgufFault {
    match fault {
        GgufFault::Damaged(what) => {
            GgufFault::Damaged(format!("the tensor `{}` {what}", shown(name)))
        }
        other => other,
    }
}
