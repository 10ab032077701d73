//! Tensors in a file of the format `safetensors`: eight bytes with the length of
//! a header, the header in JSON, then the numbers of all tensors.
//!
//! Rows are read in pieces, so that a file never has to fit into memory. Only
//! tensors of floats are read, of 32 or 16 bits, and nothing in a file is believed before
//! it was checked.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::EncoderError;

/// The longest header that is read. The built-in model's own has 11 kB.
const LONGEST_HEADER: u64 = 4 << 20;

/// No sound weight is nearly as large; what is would make numbers overflow.
const LARGEST: f32 = 1e4;

/// About how many bytes are read at once.
const PIECE: usize = 256 << 10;

/// What tensors of a whole model may have before their names: the part of the model that they
/// are in, where it was saved with a part for another task.
const PREFIXES: [&str; 4] = ["", "bert.", "roberta.", "0.auto_model."];

/// The tensor that every encoder has.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// A file whose header was read.
pub(super) struct TensorFile {
    path: PathBuf,
    file: File,
    /// Where the numbers begin.
    start: u64,
    header: Map<String, Value>,
    /// What stands before the names of all tensors.
    prefix: &'static str,
}

/// How the numbers of a tensor are written.
#[derive(Clone, Copy)]
enum FloatFormat {
    F32,
    F16,
    Bf16,
}

impl FloatFormat {
    fn parse(name: &str) -> Option<FloatFormat> {
        match name {
            "F32" => Some(FloatFormat::F32),
            "F16" => Some(FloatFormat::F16),
            "BF16" => Some(FloatFormat::Bf16),
            _ => None,
        }
    }

    /// How many bytes a number takes.
    fn bytes(self) -> usize {
        match self {
            FloatFormat::F32 => 4,
            FloatFormat::F16 | FloatFormat::Bf16 => 2,
        }
    }
}

/// Where a tensor is, as the header says.
#[derive(Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl TensorFile {
    pub(super) fn open(path: &Path) -> Result<Self, EncoderError> {
        let damaged = |why: &str| EncoderError::damaged(path, why);
        let unread = |why| EncoderError::unreadable(path, why);
        let mut file = File::open(path).map_err(unread)?;
        let size = file.metadata().map_err(unread)?.len();
        let mut length = [0; 8];
        if size < length.len() as u64 {
            return Err(damaged("it is cut short"));
        }
        file.read_exact(&mut length).map_err(unread)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER {
            return Err(damaged("it is no safetensors file"));
        }
        let start = 8 + length;
        if start > size {
            return Err(damaged("it is cut short"));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(unread)?;
        let header: Map<String, Value> = serde_json::from_slice(&header)
            .map_err(|error| EncoderError::damaged(path, format!("its header: {error}")))?;

        let ends =
            header.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
        let end = start.saturating_add(ends.max().unwrap_or_default());
        if size < end {
            let why = format!("it is cut short, {size} bytes of {end}");
            return Err(EncoderError::damaged(path, why));
        }
        let has_words = |prefix: &&str| header.contains_key(&format!("{prefix}{WORDS}"));
        let prefix = PREFIXES.into_iter().find(has_words).unwrap_or_default();
        Ok(TensorFile { path: path.to_owned(), file, start, header, prefix })
    }

    /// Refuses a file that has a tensor whose name begins so: it would be left out without a word.
    pub(super) fn refuse_any(&self, beginning: &str, why: &str) -> Result<(), EncoderError> {
        let beginning = format!("{}{beginning}", self.prefix);
        match self.header.keys().find(|name| name.starts_with(&beginning)) {
            Some(name) => Err(self.damaged(&name[self.prefix.len()..], why)),
            None => Ok(()),
        }
    }

    /// All numbers of a tensor that has to have this shape.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let mut all = Vec::with_capacity(shape.iter().product());
        self.each_row(name, shape, |row| all.extend_from_slice(row))?;
        Ok(all)
    }

    /// Shows the rows of a tensor that has to have this shape, one by one. What has
    /// one dimension is one row.
    pub(super) fn each_row(
        &mut self,
        name: &str,
        shape: &[usize],
        mut show: impl FnMut(&[f32]),
    ) -> Result<(), EncoderError> {
        let tensor = self.tensor(name)?;
        let Some(format) = FloatFormat::parse(&tensor.dtype) else {
            let why = format!("has numbers of type {}: F32, F16 and BF16 are read", tensor.dtype);
            return Err(self.damaged(name, &why));
        };
        if tensor.shape != shape {
            let why = format!("has the shape {:?} instead of {shape:?}", tensor.shape);
            return Err(self.damaged(name, &why));
        }
        let width = shape.last().copied().unwrap_or_default();
        let bytes = shape.iter().product::<usize>() as u64 * format.bytes() as u64;
        let [from, to] = tensor.data_offsets;
        if width == 0 || from.checked_add(bytes) != Some(to) {
            return Err(self.damaged(name, "has another size than its shape"));
        }

        let unread = |why| EncoderError::unreadable(&self.path, why);
        self.file.seek(SeekFrom::Start(self.start + from)).map_err(unread)?;
        let row_bytes = width * format.bytes();
        let rows = (PIECE / row_bytes).max(1);
        let mut piece = vec![0; rows * row_bytes];
        let mut row = vec![0.0; width];
        let mut left = bytes as usize;
        while left > 0 {
            let piece = &mut piece[..left.min(rows * row_bytes)];
            self.file.read_exact(piece).map_err(unread)?;
            left -= piece.len();
            for bytes in piece.chunks_exact(row_bytes) {
                if !take_floats(format, bytes, &mut row) {
                    return Err(self.damaged(name, "has numbers that are none, or far too large"));
                }
                show(&row);
            }
        }
        Ok(())
    }

    fn tensor(&self, name: &str) -> Result<TensorHeader, EncoderError> {
        let place = self.header.get(&format!("{}{name}", self.prefix));
        // So these were called once.
        let older = || {
            let name = match name.strip_suffix("LayerNorm.weight") {
                Some(part) => format!("{part}LayerNorm.gamma"),
                None => format!("{}LayerNorm.beta", name.strip_suffix("LayerNorm.bias")?),
            };
            self.header.get(&format!("{}{name}", self.prefix))
        };
        let place = place.or_else(older).ok_or_else(|| self.damaged(name, "is missing"))?;
        TensorHeader::deserialize(place).map_err(|error| self.damaged(name, &error.to_string()))
    }

    fn damaged(&self, name: &str, why: &str) -> EncoderError {
        EncoderError::damaged(&self.path, format!("the tensor `{name}` {why}"))
    }
}

/// Reads a row; false when it holds what no weight can be.
fn take_floats(format: FloatFormat, bytes: &[u8], row: &mut [f32]) -> bool {
    let mut is_sound = true;
    match format {
        FloatFormat::F32 => {
            let (bytes, _) = bytes.as_chunks::<4>();
            for (value, bytes) in row.iter_mut().zip(bytes) {
                *value = f32::from_le_bytes(*bytes);
                // Written so that NaN fails, too; and without a way out of the loop, so that
                // it can be done in wide registers.
                is_sound &= value.abs() <= LARGEST;
            }
        }
        FloatFormat::F16 | FloatFormat::Bf16 => {
            let is_half = matches!(format, FloatFormat::F16);
            let (bytes, _) = bytes.as_chunks::<2>();
            for (value, bytes) in row.iter_mut().zip(bytes) {
                let bits = u16::from_le_bytes(*bytes);
                *value = if is_half { from_half(bits) } else { from_brain(bits) };
                is_sound &= value.abs() <= LARGEST;
            }
        }
    }
    is_sound
}

/// A number of the format bfloat16: the upper half of a float.
fn from_brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// A number of IEEE's 16 bits: a sign, five bits of exponent, ten of fraction.
fn from_half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10) & 0x1f, u32::from(bits) & 0x3ff);
    let size = match exponent {
        // Too small for an exponent of its own: so many times 2⁻²⁴.
        0 => (fraction as f32 * f32::from_bits((127 - 24) << 23)).to_bits(),
        // Infinite, or no number.
        0x1f => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 127 - 15) << 23 | fraction << 13,
    };
    f32::from_bits(sign | size)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A file with a header and numbers behind it.
    fn file(header: &str, floats: &[f32]) -> (TempDir, PathBuf) {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
        file_of(&bytes)
    }

    fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn why(error: &EncoderError) -> &str {
        match error {
            EncoderError::Damaged { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }

    const HEADER: &str = r#"{"__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "I8", "shape": [4], "data_offsets": [24, 28]},
        "c": {"dtype": "F32", "shape": [2], "data_offsets": [24, 28]}}"#;

    #[test]
    fn rows_are_read_as_they_stand() {
        let (_folder, path) = file(HEADER, &[1.0, 2.0, 3.0, 4.0, 5.0, -6.5, 0.0]);
        let mut tensors = TensorFile::open(&path).unwrap();
        assert_eq!(tensors.read("a", &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, -6.5]);
    }

    #[test]
    fn numbers_of_sixteen_bits_are_read_as_they_stand() {
        let cases: [(u16, f32); 9] = [
            (0x3c00, 1.0),
            (0xc100, -2.5),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x0000, 0.0),
            (0x8000, -0.0),
        ];
        for (bits, number) in cases {
            assert_eq!(from_half(bits).to_bits(), number.to_bits(), "{bits:#x}");
        }
        assert!(from_half(0x7c00).is_infinite() && from_half(0x7e00).is_nan());
        assert_eq!((from_brain(0x3f80), from_brain(0xc020), from_brain(0x0000)), (1.0, -2.5, 0.0));
        // In a file, side by side, and refused where they are none.
        let header = r#"{"h": {"dtype": "F16", "shape": [2, 1], "data_offsets": [0, 4]},
            "b": {"dtype": "BF16", "shape": [2], "data_offsets": [4, 8]},
            "bad": {"dtype": "F16", "shape": [1], "data_offsets": [8, 10]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        for bits in [0x3c00_u16, 0xc100, 0x3f80, 0xc020, 0x7c00] {
            bytes.extend(bits.to_le_bytes());
        }
        let (_folder, path) = file_of(&bytes);
        let mut tensors = TensorFile::open(&path).unwrap();
        assert_eq!(tensors.read("h", &[2, 1]).unwrap(), [1.0, -2.5]);
        assert_eq!(tensors.read("b", &[2]).unwrap(), [1.0, -2.5]);
        assert!(why(&tensors.read("bad", &[1]).unwrap_err()).contains("far too large"));
    }

    #[test]
    fn tensors_are_found_by_the_names_that_programs_give_them() {
        let header = r#"{"bert.embeddings.word_embeddings.weight":
                {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]},
            "bert.embeddings.LayerNorm.gamma": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
            "bert.embeddings.LayerNorm.beta": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}}"#;
        let (_folder, path) = file(header, &[1.0, 2.0, 3.0]);
        let mut tensors = TensorFile::open(&path).unwrap();
        assert_eq!(tensors.read(WORDS, &[1, 1]).unwrap(), [1.0]);
        assert_eq!(tensors.read("embeddings.LayerNorm.weight", &[1]).unwrap(), [2.0]);
        assert_eq!(tensors.read("embeddings.LayerNorm.bias", &[1]).unwrap(), [3.0]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (_folder, path) = file(HEADER, &[1.0; 7]);
        let mut tensors = TensorFile::open(&path).unwrap();
        let mut fails =
            |name: &str, shape: &[usize]| why(&tensors.read(name, shape).unwrap_err()).to_owned();
        assert_eq!(fails("x", &[2]), "the tensor `x` is missing");
        assert_eq!(fails("a", &[3, 2]), "the tensor `a` has the shape [2, 3] instead of [3, 2]");
        assert_eq!(
            fails("b", &[4]),
            "the tensor `b` has numbers of type I8: F32, F16 and BF16 are read"
        );
        assert_eq!(fails("c", &[2]), "the tensor `c` has another size than its shape");
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for odd in [f32::NAN, f32::INFINITY, 1e30] {
            let (_folder, path) = file(HEADER, &[1.0, 2.0, 3.0, 4.0, odd, 6.0, 7.0]);
            let error = TensorFile::open(&path).unwrap().read("a", &[2, 3]).unwrap_err();
            assert!(why(&error).contains("far too large"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_no_model_is_refused() {
        let cut = |bytes: usize| {
            let (_folder, path) = file(HEADER, &[1.0; 7]);
            let whole = fs::read(path).unwrap();
            let (_folder, path) = file_of(&whole[..whole.len().min(bytes)]);
            why(&TensorFile::open(&path).err().unwrap()).to_owned()
        };
        assert_eq!(cut(0), "it is cut short");
        assert_eq!(cut(7), "it is cut short");
        assert_eq!(cut(20), "it is cut short");
        let whole = 8 + HEADER.len() + 7 * 4;
        let expected = format!("it is cut short, {} bytes of {whole}", whole - 1);
        assert_eq!(cut(whole - 1), expected);
        let (_folder, path) = file_of(b"<!DOCTYPE html><html></html>");
        assert_eq!(why(&TensorFile::open(&path).err().unwrap()), "it is no safetensors file");
        let (_folder, path) = file("not JSON", &[]);
        assert!(why(&TensorFile::open(&path).err().unwrap()).starts_with("its header: "));
        let (folder, _path) = file_of(b"");
        let missing = TensorFile::open(&folder.path().join("none")).err().unwrap();
        assert!(matches!(missing, EncoderError::Missing { .. }), "{missing:?}");
        assert!(matches!(TensorFile::open(folder.path()), Err(EncoderError::Read { .. })));
    }

    #[test]
    fn offsets_that_overflow_are_no_panic() {
        let header = r#"{"a": {"dtype": "F32", "shape": [1],
            "data_offsets": [18446744073709551612, 18446744073709551615]}}"#;
        let (_folder, path) = file(header, &[1.0]);
        assert!(TensorFile::open(&path).is_err());
    }
}
