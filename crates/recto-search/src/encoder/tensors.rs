//! Tensors in a file of the format `safetensors`: eight bytes with the length of
//! a header, the header in JSON, then the numbers of all tensors.
//!
//! Rows are read in pieces, so that a file never has to fit into memory. Only
//! tensors of 32-bit floats are read, and nothing in a file is believed before
//! it was checked.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::EncoderError;

/// The longest header that is read. The model's own has 11 kB.
const LONGEST_HEADER: u64 = 4 << 20;

/// No sound weight is nearly as large; what is would make numbers overflow.
const LARGEST: f32 = 1e4;

/// About how many bytes are read at once.
const PIECE: usize = 256 << 10;

/// A file whose header was read.
pub(super) struct TensorFile {
    path: PathBuf,
    file: File,
    /// Where the numbers begin.
    start: u64,
    header: Map<String, Value>,
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
        Ok(TensorFile { path: path.to_owned(), file, start, header })
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
        if tensor.dtype != "F32" {
            return Err(self.damaged(name, &format!("has numbers of type {}", tensor.dtype)));
        }
        if tensor.shape != shape {
            let why = format!("has the shape {:?} instead of {shape:?}", tensor.shape);
            return Err(self.damaged(name, &why));
        }
        let width = shape.last().copied().unwrap_or_default();
        let bytes = shape.iter().product::<usize>() as u64 * 4;
        let [from, to] = tensor.data_offsets;
        if width == 0 || from.checked_add(bytes) != Some(to) {
            return Err(self.damaged(name, "has another size than its shape"));
        }

        let unread = |why| EncoderError::unreadable(&self.path, why);
        self.file.seek(SeekFrom::Start(self.start + from)).map_err(unread)?;
        let rows = (PIECE / (width * 4)).max(1);
        let mut piece = vec![0; rows * width * 4];
        let mut row = vec![0.0; width];
        let mut left = bytes as usize;
        while left > 0 {
            let piece = &mut piece[..left.min(rows * width * 4)];
            self.file.read_exact(piece).map_err(unread)?;
            left -= piece.len();
            for bytes in piece.chunks_exact(width * 4) {
                if !take_floats(bytes, &mut row) {
                    return Err(self.damaged(name, "has numbers that are none, or far too large"));
                }
                show(&row);
            }
        }
        Ok(())
    }

    fn tensor(&self, name: &str) -> Result<TensorHeader, EncoderError> {
        let place = self.header.get(name).ok_or_else(|| self.damaged(name, "is missing"))?;
        TensorHeader::deserialize(place).map_err(|error| self.damaged(name, &error.to_string()))
    }

    fn damaged(&self, name: &str, why: &str) -> EncoderError {
        EncoderError::damaged(&self.path, format!("the tensor `{name}` {why}"))
    }
}

/// Reads a row; false when it holds what no weight can be.
fn take_floats(bytes: &[u8], row: &mut [f32]) -> bool {
    let mut is_sound = true;
    let (bytes, _) = bytes.as_chunks::<4>();
    for (value, bytes) in row.iter_mut().zip(bytes) {
        *value = f32::from_le_bytes(*bytes);
        // Written so that NaN fails, too; and without a way out of the loop, so that
        // it can be done in wide registers.
        is_sound &= value.abs() <= LARGEST;
    }
    is_sound
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
        "b": {"dtype": "F16", "shape": [2], "data_offsets": [24, 28]},
        "c": {"dtype": "F32", "shape": [2], "data_offsets": [24, 28]}}"#;

    #[test]
    fn rows_are_read_as_they_stand() {
        let (_folder, path) = file(HEADER, &[1.0, 2.0, 3.0, 4.0, 5.0, -6.5, 0.0]);
        let mut tensors = TensorFile::open(&path).unwrap();
        assert_eq!(tensors.read("a", &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, -6.5]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (_folder, path) = file(HEADER, &[1.0; 7]);
        let mut tensors = TensorFile::open(&path).unwrap();
        let mut fails =
            |name: &str, shape: &[usize]| why(&tensors.read(name, shape).unwrap_err()).to_owned();
        assert_eq!(fails("x", &[2]), "the tensor `x` is missing");
        assert_eq!(fails("a", &[3, 2]), "the tensor `a` has the shape [2, 3] instead of [3, 2]");
        assert_eq!(fails("b", &[2]), "the tensor `b` has numbers of type F16");
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
