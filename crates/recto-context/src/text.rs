//! Texts that know their hash and what they are made of.
//!
//! Everything that can stand on the page is a [`Text`]. Its hash and its
//! character profile are computed once, where the text is created; assembling
//! a turn then compares, counts and shares texts without reading them again.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tokens::TextProfile;

/// An immutable, cheaply cloned text with its hash and profile.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub struct Text(Arc<HashedText>);

struct HashedText {
    content: Box<str>,
    hash: ContentHash,
    profile: TextProfile,
}

impl Text {
    /// Reads `content` once, for its hash and its profile.
    pub fn new(content: impl Into<Box<str>>) -> Self {
        let content = content.into();
        let hash = ContentHash::of_bytes(content.as_bytes());
        let profile = TextProfile::from_text(&content);
        Text(Arc::new(HashedText { content, hash, profile }))
    }

    /// The text as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0.content
    }

    /// The hash of the text's bytes.
    pub fn hash(&self) -> ContentHash {
        self.0.hash
    }

    /// What the text is made of, for estimates of its tokens.
    pub fn profile(&self) -> &TextProfile {
        &self.0.profile
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash
    }
}

impl Eq for Text {}

impl Default for Text {
    fn default() -> Self {
        Text::new("")
    }
}

impl From<&str> for Text {
    fn from(content: &str) -> Self {
        Text::new(content)
    }
}

impl From<String> for Text {
    fn from(content: String) -> Self {
        Text::new(content)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The BLAKE3 hash of some content: its identity in records and caches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes these bytes with BLAKE3.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        ContentHash(*blake3::hash(bytes).as_bytes())
    }

    /// Hashes these pieces as the one text that they are together.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for piece in pieces {
            hasher.update(piece.as_bytes());
        }
        ContentHash(*hasher.finalize().as_bytes())
    }

    /// A hash that was kept as bytes.
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        ContentHash(hash)
    }

    /// Its beginning, enough to tell contents apart by eye.
    pub fn short(&self) -> String {
        self.0[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Records name every message by its hash: digit by digit, formatting took longer than
        // hashing.
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The error for a text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a content hash is 64 hexadecimal digits")]
pub struct ParseHashError;

impl FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(hex: &str) -> Result<Self, ParseHashError> {
        let hash = blake3::Hash::from_hex(hex).map_err(|_| ParseHashError)?;
        Ok(ContentHash(*hash.as_bytes()))
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The first characters of a text, with a mark where it goes on.
///
/// ```
/// assert_eq!(recto_context::first_chars("naïve", 3), "naï…");
/// assert_eq!(recto_context::first_chars("naïve", 5), "naïve");
/// ```
pub fn first_chars(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The words of a text on one line, with one blank between them.
///
/// ```
/// assert_eq!(recto_context::one_line(" one\n\ntwo\tthree "), "one two three");
/// ```
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_its_text_form() {
        let hash = ContentHash::of_bytes(b"recto");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!("xyz".parse::<ContentHash>(), Err(ParseHashError));
    }

    #[test]
    fn texts_are_equal_by_content() {
        assert_eq!(Text::new("a"), Text::new(String::from("a")));
        assert_ne!(Text::new("a"), Text::new("a "));
    }
}
