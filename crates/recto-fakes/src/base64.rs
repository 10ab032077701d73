//! Whether a text is base64, as the vendors' standard libraries see it: the
//! plain alphabet, padded. Nothing is decoded.

/// Where the first byte stands that does not belong; `None` when all is well.
pub(crate) fn first_illegal_byte(text: &str) -> Option<usize> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let stranger = body.bytes().position(|byte| !legal(byte));
    let whole = text.len().is_multiple_of(4) && padding <= 2;
    stranger.or_else(|| (!whole).then_some(body.len()))
}

#[cfg(test)]
mod tests {
    use super::first_illegal_byte;

    #[test]
    fn padded_text_in_the_plain_alphabet_is_base64() {
        for text in ["", "aGk=", "aGkh", "aA==", "+/+/"] {
            assert_eq!(first_illegal_byte(text), None, "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        let cases = [("a-b_", 1), ("aGk", 3), ("a===", 1), ("=aGk", 0), ("data:image", 4)];
        for (text, at) in cases {
            assert_eq!(first_illegal_byte(text), Some(at), "{text}");
        }
    }
}
