//! Reads a file's bytes in order, and never past its end.
//!
//! Every length comes from the file, so none is believed: what is claimed is held against the
//! file's size before anything is read or allocated, and what is kept has a limit besides. Knows
//! nothing of what the bytes mean.

use std::io::{BufReader, Read, Seek, SeekFrom};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::problem::{GgufFault, GgufResult, damaged};

/// The longest text that llama.cpp reads; a longer one is a broken length.
const LONGEST_TEXT: u64 = 1 << 30;

const BUFFER: usize = 64 * 1024;

/// Reads a GGUF file's bytes in order, and knows how far it has come.
#[derive(Debug)]
pub(super) struct GgufReader<R> {
    source: BufReader<R>,
    at: u64,
    size: u64,
}

impl<R: Read + Seek> GgufReader<R> {
    /// Reads `source`, which has `size` bytes, from its beginning.
    pub(super) fn new(source: R, size: u64) -> Self {
        GgufReader { source: BufReader::with_capacity(BUFFER, source), at: 0, size }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn u32(&mut self) -> GgufResult<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> GgufResult<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> GgufResult<[u8; N]> {
        let end = self.end_of(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.at = end;
        Ok(bytes)
    }

    pub(super) fn skip(&mut self, bytes: u64) -> GgufResult<()> {
        let end = self.end_of(bytes)?;
        let distance = i64::try_from(bytes).map_err(|_| too_far(bytes))?;
        self.source.seek_relative(distance)?;
        self.at = end;
        Ok(())
    }

    /// Goes back to a place where it has been.
    pub(super) fn go_back(&mut self, at: u64) -> GgufResult<()> {
        self.source.seek(SeekFrom::Start(at))?;
        self.at = at;
        Ok(())
    }

    /// A text, with its length before it, into `text`; one of more than `most` bytes is a fault.
    pub(super) fn text(&mut self, most: u64, text: &mut Vec<u8>) -> GgufResult<()> {
        let length = self.text_length()?;
        if length > most {
            return damaged(format!("there is a text of {length} bytes where {most} are the most"));
        }
        let end = self.end_of(length)?;
        let length = usize::try_from(length).map_err(|_| too_far(length))?;
        text.clear();
        text.resize(length, 0);
        self.source.read_exact(text)?;
        self.at = end;
        Ok(())
    }

    pub(super) fn skip_text(&mut self) -> GgufResult<()> {
        let length = self.text_length()?;
        self.skip(length)
    }

    fn text_length(&mut self) -> GgufResult<u64> {
        let length = self.u64()?;
        if length > LONGEST_TEXT {
            return Err(too_far(length));
        }
        Ok(length)
    }

    /// Where the next `bytes` bytes end, if the file has them.
    fn end_of(&self, bytes: u64) -> GgufResult<u64> {
        let needs = self.at.checked_add(bytes).ok_or_else(|| too_far(bytes))?;
        if needs > self.size { Err(GgufFault::Ends { needs }) } else { Ok(needs) }
    }
}

fn too_far(length: u64) -> GgufFault {
    GgufFault::damaged(format!("there is a length of {length} bytes"))
}

/// Tells names that stand twice, by their hashes, however long they are.
///
/// Two different names out of a million are taken for one with a chance of one in thirty
/// millions. A vocabulary has hundreds of thousands of names, which are gone through at every
/// start; the set of the standard library would take longer than all the rest.
#[derive(Debug, Default)]
pub(super) struct SeenNames(HashTable<u64>);

impl SeenNames {
    /// False if `name` was there before.
    pub(super) fn add(&mut self, name: &[u8]) -> bool {
        let hash = hash(name);
        match self.0.entry(hash, |seen| *seen == hash, |seen| *seen) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(hash);
                true
            }
        }
    }
}

/// The FNV-1a hash of a name.
fn hash(name: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    name.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

/// A name from a file, fit for a message.
pub(super) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    if text.chars().nth(64).is_some() {
        shown.push('…');
    }
    shown
}
