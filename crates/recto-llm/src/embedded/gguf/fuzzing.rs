//! What has to hold of the headers of model files whatever bytes come.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::problem::GgufFault;
use super::{ModelFile, read_header};
use crate::embedded::memory::fit;

/// More than any header of an input can make the reader go back and forth over.
const MOST_READ: u64 = 64 * 1024 * 1024;

/// Headers of model files: reading one takes an amount of work and memory that is bounded by the
/// file's own size, also where the file claims to be larger than what follows the header; what
/// is read lies within the file, and the memory that the model needs can be told.
pub fn check_gguf(data: &[u8]) {
    let size = data.len() as u64;
    // The weights of a real file are behind its header, and are not read.
    for size in [size, size + (1 << 20), size + (1 << 40)] {
        let source = CountedSource { bytes: Cursor::new(data), read: 0 };
        match read_header(Path::new("model.gguf"), source, size) {
            Ok(file) => check_file(&file, size),
            Err(fault) => check_fault(fault, size),
        }
    }
}

fn check_file(file: &ModelFile, size: u64) {
    assert!(file.weights <= size, "{} bytes of weights in {size}", file.weights);
    assert!(file.layers.len() <= 512, "{} layers", file.layers.len());
    assert!(!file.architecture.is_empty());
    for available in [None, Some(0), Some(1 << 33), Some(u64::MAX)] {
        let _ = fit(file, available);
    }
}

/// What people are told is one line, and short.
fn check_fault(fault: GgufFault, size: u64) {
    let told = fault.in_file(Path::new("model.gguf"), size).to_string();
    assert!(told.len() < 2_000 && !told.contains('\n'), "{told}");
}

/// Counts what is read, so that no header makes a reader go round for ever.
struct CountedSource<'a> {
    bytes: Cursor<&'a [u8]>,
    read: u64,
}

impl Read for CountedSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read += count as u64;
        assert!(self.read < MOST_READ, "it reads without end");
        Ok(count)
    }
}

impl Seek for CountedSource<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}
