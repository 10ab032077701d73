//! SHA-256: what tells that a file is the one that was meant.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// How much of a file is read at once.
pub(crate) const BLOCK: usize = 256 * 1024;

/// The SHA-256 of a file; shown and read as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum([u8; 32]);

/// A text that is no SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 has 64 hexadecimal digits")]
pub struct InvalidChecksum;

impl Checksum {
    /// The 32 bytes of the sum.
    pub const fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// Reads 64 hexadecimal digits.
    pub const fn from_hex(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        let mut i = 0;
        while i < 32 {
            let (high, low) = (text[2 * i] as char, text[2 * i + 1] as char);
            let (Some(high), Some(low)) = (high.to_digit(16), low.to_digit(16)) else {
                return None;
            };
            bytes[i] = (high * 16 + low) as u8;
            i += 1;
        }
        Some(Checksum(bytes))
    }

    /// The checksum of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut digest = DigestBuilder::default();
        digest.add(bytes);
        digest.finish().sha256
    }

    /// The checksum of a file, and its size.
    pub(crate) fn of_file(path: &Path) -> io::Result<FileDigest> {
        DigestBuilder::of_reader(&mut File::open(path)?).map(DigestBuilder::finish)
    }
}

impl FromStr for Checksum {
    type Err = InvalidChecksum;

    fn from_str(text: &str) -> Result<Self, InvalidChecksum> {
        let text = text.trim();
        // The hub and many download pages write it with the name in front.
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        Checksum::from_hex(digits).ok_or(InvalidChecksum)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The size and checksum of a file that was read or written to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileDigest {
    pub(crate) size: u64,
    pub(crate) sha256: Checksum,
}

/// Computes the size and checksum of bytes as they come.
#[derive(Debug, Clone, Default)]
pub(crate) struct DigestBuilder {
    size: u64,
    sha256: Sha256,
}

impl DigestBuilder {
    /// The sum of all that a reader gives.
    pub(crate) fn of_reader(reader: &mut impl Read) -> io::Result<Self> {
        let mut digest = DigestBuilder::default();
        let mut block = vec![0; BLOCK];
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(digest),
                Ok(count) => digest.add(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.size += bytes.len() as u64;
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn finish(self) -> FileDigest {
        FileDigest { size: self.size, sha256: Checksum(self.sha256.finalize().into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_known_bytes_is_known() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Checksum::of_bytes(b"abc").to_string(), abc);
        let written = [abc.to_owned(), abc.to_uppercase(), format!(" sha256:{abc}\n")];
        for text in written {
            assert_eq!(text.parse(), Ok(Checksum::of_bytes(b"abc")), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_read_as_one() {
        let abc = Checksum::of_bytes(b"abc").to_string();
        let long = format!("{abc}0");
        for text in ["", "abc", &abc[1..], &long, &abc.replace('b', "g"), "é".repeat(32).as_str()]
        {
            assert_eq!(text.parse::<Checksum>(), Err(InvalidChecksum), "{text}");
        }
    }
}
