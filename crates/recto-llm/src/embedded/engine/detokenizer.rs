//! Tokens to text, as they come. One token may be half a character: it is held
//! back until the other half is there.

use llama_cpp_2::token::LlamaToken;

use crate::embedded::stop_texts::TokenizedText;

/// Gathers the bytes of tokens until they are text.
#[derive(Default)]
pub(super) struct Detokenizer {
    bytes: Vec<u8>,
    tokens: Vec<i32>,
}

impl Detokenizer {
    /// Takes the next token. Gives a piece when all bytes so far are whole
    /// characters.
    pub(super) fn push(&mut self, token: LlamaToken, bytes: &[u8]) -> Option<TokenizedText> {
        self.bytes.extend_from_slice(bytes);
        self.tokens.push(token.0);
        let is_half = matches!(
            std::str::from_utf8(&self.bytes),
            Err(error) if error.error_len().is_none()
        );
        if is_half { None } else { self.flush() }
    }

    /// What is left when no more tokens come: bytes that are no text are shown as
    /// such.
    pub(super) fn flush(&mut self) -> Option<TokenizedText> {
        if self.tokens.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(TokenizedText { text, tokens: std::mem::take(&mut self.tokens) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push_all(parts: &[&[u8]]) -> Vec<TokenizedText> {
        let mut detokenizer = Detokenizer::default();
        let mut pieces: Vec<TokenizedText> = (0..)
            .zip(parts)
            .filter_map(|(token, bytes)| detokenizer.push(LlamaToken(token), bytes))
            .collect();
        pieces.extend(detokenizer.flush());
        pieces
    }

    #[test]
    fn half_a_character_waits_for_the_other_half() {
        let smile = "🙂".as_bytes();
        let pieces = push_all(&[b"a", &smile[..2], &smile[2..], b"b"]);
        let texts: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["a", "🙂", "b"]);
        assert_eq!(pieces[1].tokens, [1, 2]);
    }

    #[test]
    fn what_is_no_text_is_shown_and_does_not_hold_up_the_rest() {
        let pieces = push_all(&[b"\xff", b"a", &"🙂".as_bytes()[..2]]);
        let texts: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["\u{fffd}", "a", "\u{fffd}"]);
    }
}
