//! Keeps a tool's output within its limit: the beginning and the end stay, and
//! a note in the middle says how much is missing.

use recto_context::byte_words;

/// Bytes that the note may take.
const NOTE_ROOM: usize = 64;

/// `text`, if it has at most `limit` bytes; otherwise its beginning and its end
/// with a note between them of how many bytes were left out. No character is
/// cut in two. The result keeps to the limit, unless that leaves no room for
/// the note.
pub fn shorten(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let kept = limit.saturating_sub(NOTE_ROOM);
    let head = text.floor_char_boundary(kept.div_ceil(2));
    let tail = text.ceil_char_boundary(text.len() - kept / 2);
    let (head_text, tail_text) = (&text[..head], &text[tail..]);
    let left_out = byte_words((tail - head) as u64);
    format!("{head_text}\n[… {left_out} left out …]\n{tail_text}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_texts_stay() {
        assert_eq!(shorten("abc".into(), 3), "abc");
        assert_eq!(shorten(String::new(), 0), "");
    }

    /// Promise: `output-keeps-both-ends`
    #[test]
    fn long_texts_keep_both_ends() {
        let text = format!("first {} last", "x".repeat(1000));
        assert_eq!(shorten(text, 74), "first\n[… 1001 bytes left out …]\n last");
    }

    proptest! {
        #[test]
        fn nothing_is_torn_or_lost(text in "[a-zäß語🦀\n]{0,400}", limit in 0_usize..600) {
            let length = text.len();
            let short = shorten(text.clone(), limit);
            prop_assert!(short.len() <= limit.max(NOTE_ROOM));
            if length <= limit {
                prop_assert_eq!(short, text);
            } else {
                let (head, rest) = short.split_once("\n[… ").unwrap();
                let (left_out, tail) = rest.split_once(" bytes left out …]\n").unwrap();
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                let left_out: usize = left_out.parse().unwrap();
                prop_assert_eq!(head.len() + left_out + tail.len(), length);
            }
        }
    }
}
