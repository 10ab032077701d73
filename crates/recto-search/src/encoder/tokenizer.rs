//! From a text to word pieces.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use super::error::EncoderError;
use super::knowledge::WordKnowledge;
use super::shape::EncoderShape;

/// How many bytes of a text are read at first. Only texts of odd words need more
/// to make as many pieces as are used.
const FIRST_LOOK: usize = 4 << 10;

/// How many bytes of a text are read at most.
const LAST_LOOK: usize = 64 << 10;

/// What a piece is called for which the vocabulary has no pieces.
const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

/// What the pieces before and behind a text are called, in BERT and in RoBERTa.
const ENDS: [(&str, &str); 2] = [("[CLS]", "[SEP]"), ("<s>", "</s>")];

/// Cuts texts into word pieces.
pub(super) struct WordPieceTokenizer {
    tokenizer: Tokenizer,
    /// What stands before the pieces of a text.
    first: u32,
    /// What stands behind them.
    last: u32,
    /// The most pieces of a text, those two among them.
    longest: usize,
    case: LetterCase,
    /// What a piece begins with in the vocabulary that is a whole word, or begins one.
    word_mark: &'static str,
}

/// What SentencePiece and RoBERTa put in front of a piece that begins a word. BERT has nothing there.
const WORD_MARKS: [&str; 2] = ["▁", "Ġ"];

/// Whether capitals tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterCase {
    /// As far as the tokenizer heeds them.
    AsTyped,
    /// All letters are made small first.
    Small,
}

impl WordPieceTokenizer {
    /// Reads the tokenizer of the built-in encoder.
    pub(super) fn load(
        path: &Path,
        shape: &EncoderShape,
        sha256: Option<&[u8; 32]>,
    ) -> Result<Self, EncoderError> {
        let bytes = fs::read(path).map_err(|why| EncoderError::unreadable(path, why))?;
        let size = shape.vocabulary..=shape.vocabulary;
        let tokens = Self::parse(&bytes, size, shape.longest, LetterCase::AsTyped)
            .map_err(|why| EncoderError::damaged(path, why))?;
        match sha256 {
            Some(sha256) if *sha256 != *Sha256::digest(&bytes) => {
                Err(EncoderError::Swapped { path: path.to_owned() })
            }
            _ => Ok(tokens),
        }
    }

    /// Reads the tokenizer of another encoder, whose weights may know more pieces than it.
    pub(super) fn from_bytes(
        bytes: &[u8],
        shape: &EncoderShape,
        case: LetterCase,
    ) -> Result<Self, String> {
        Self::parse(bytes, 3..=shape.vocabulary, shape.longest, case)
    }

    fn parse(
        bytes: &[u8],
        sizes: RangeInclusive<usize>,
        longest: usize,
        case: LetterCase,
    ) -> Result<Self, String> {
        let no_tokenizer = |error| format!("it holds no tokenizer: {error}");
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(no_tokenizer)?;
        let size = tokenizer.get_vocab_size(true);
        if !sizes.contains(&size) {
            let known = sizes.end();
            return Err(format!("its vocabulary has {size} entries instead of {known}"));
        }
        // The file asks for texts that are filled up or cut to 128 pieces.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(no_tokenizer)?;
        let (first, last) = ends(&tokenizer)?;
        let marks = |mark: &&str| tokenizer.token_to_id(&format!("{mark}the")).is_some();
        let word_mark = WORD_MARKS.into_iter().find(marks).unwrap_or_default();
        Ok(WordPieceTokenizer { tokenizer, first, last, longest, case, word_mark })
    }

    /// The pieces of a text, at most as many as the model knows. What comes behind
    /// them is not even looked at, however long it is.
    pub(super) fn tokenize(&self, text: &str) -> Vec<u32> {
        let most = self.longest.saturating_sub(2);
        let text = text.trim_start();
        let mut look = FIRST_LOOK;
        let mut pieces = self.pieces(beginning(text, look));
        while pieces.len() < most && look < LAST_LOOK && look < text.len() {
            look *= 4;
            pieces = self.pieces(beginning(text, look));
        }
        pieces.truncate(most);
        pieces.insert(0, self.first);
        pieces.push(self.last);
        pieces
    }

    /// How many words a text has, and how many of them the model does not know as words. Only
    /// its beginning is looked at.
    pub(super) fn count_words(&self, text: &str) -> WordKnowledge {
        let text = beginning(text.trim_start(), FIRST_LOOK);
        let Ok(encoding) = self.tokenizer.encode(text, false) else {
            return WordKnowledge::default();
        };
        let tokens = encoding.get_tokens().iter().zip(encoding.get_offsets());
        let pieces: Vec<((&String, &(usize, usize)), &Option<u32>)> =
            tokens.zip(encoding.get_word_ids()).collect();
        let mut typed: Vec<(&str, bool)> = Vec::new();
        for word in pieces.chunk_by(|(_, word), (_, next)| word == next) {
            let own = |piece: &str| piece.trim_start_matches(is_joint).to_owned();
            let letters: Vec<String> = word.iter().map(|((piece, _), _)| own(piece)).collect();
            if !letters.iter().any(|piece| piece.chars().any(char::is_alphabetic)) {
                continue;
            }
            let is_strange = match &letters[..] {
                // Scripts without spaces are known sign by sign, and not word by word.
                [one] => {
                    UNKNOWN.contains(&one.as_str()) || (!one.is_ascii() && one.chars().count() == 1)
                }
                _ => true,
            };
            let (start, end) = word.iter().fold((text.len(), 0), |(start, end), ((_, at), _)| {
                (start.min(at.0), end.max(at.1))
            });
            typed.push((text.get(start..end).unwrap_or_default().trim(), is_strange));
        }
        WordKnowledge::count(&typed, |word| self.is_word(word))
    }

    /// Whether the vocabulary has a word as a whole.
    fn is_word(&self, word: &str) -> bool {
        self.tokenizer.token_to_id(&format!("{}{word}", self.word_mark)).is_some()
    }

    fn pieces(&self, text: &str) -> Vec<u32> {
        // It can fail only where a vocabulary lacks the piece for unknown words. A
        // text without pieces has a vector like any other.
        let encoding = match self.case {
            LetterCase::AsTyped => self.tokenizer.encode_fast(text, false),
            LetterCase::Small => self.tokenizer.encode_fast(text.to_lowercase(), false),
        };
        encoding.map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }
}

/// Whether a sign only tells that a piece goes on with a word, or begins one.
fn is_joint(sign: char) -> bool {
    matches!(sign, '#' | '▁' | 'Ġ')
}

/// The pieces before and behind a text: those that the tokenizer puts around nothing, or those
/// that are called so.
fn ends(tokenizer: &Tokenizer) -> Result<(u32, u32), String> {
    if let Ok(encoding) = tokenizer.encode_fast("", true)
        && let [first, last] = encoding.get_ids()
    {
        return Ok((*first, *last));
    }
    let pair = |(first, last): (&str, &str)| {
        Some((tokenizer.token_to_id(first)?, tokenizer.token_to_id(last)?))
    };
    let named = ENDS.into_iter().find_map(pair);
    named.ok_or_else(|| "its vocabulary lacks `[CLS]` and `[SEP]`, or `<s>` and `</s>`".to_owned())
}

/// The beginning of a text, at most so many bytes, up to the end of a word where there is one.
fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let start = &text[..text.floor_char_boundary(bytes)];
    start.rfind(char::is_whitespace).map_or(start, |end| &start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_behind_a_word() {
        assert_eq!(beginning("one two three", 13), "one two three");
        assert_eq!(beginning("one two three", 12), "one two");
        assert_eq!(beginning("onetwothree", 5), "onetw");
        assert_eq!(beginning("日本語", 4), "日");
        assert_eq!(beginning("", 4), "");
    }

    #[test]
    fn what_is_no_tokenizer_is_refused() {
        let why = |bytes: &[u8]| {
            let parsed =
                WordPieceTokenizer::parse(bytes, 30_522..=30_522, 256, LetterCase::AsTyped);
            parsed.err().unwrap()
        };
        assert!(why(b"").starts_with("it holds no tokenizer: "));
        assert!(why(b"{}").starts_with("it holds no tokenizer: "));
        let other = br#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "\#\#",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1}}}"#;
        let other = String::from_utf8_lossy(other).replace("\\#", "#");
        assert_eq!(why(other.as_bytes()), "its vocabulary has 2 entries instead of 30522");
    }
}
