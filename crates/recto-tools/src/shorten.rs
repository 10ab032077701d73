//! Keeps a tool's output within its limit: the beginning and the end stay, and
//! a note in the middle says how much is missing.
//!
//! A text may be cut several times: what a program writes while it runs, its report, the results
//! of a round. What one cut said to be missing is counted by the next, so that there is one note,
//! and its number is true.

use std::ops::Range;

use recto_context::byte_words;

/// Bytes that the note may take.
pub(crate) const NOTE_ROOM: usize = 64;

/// What a note begins and ends with, line breaks included.
const NOTE_BEGIN: &str = "\n[… ";
const NOTE_END: &str = " left out …]\n";

/// `text`, if it has at most `limit` bytes; otherwise its beginning and its end
/// with a note between them of how many bytes were left out, those included that a
/// cut before left out there. No character is cut in two. The result keeps to the
/// limit, unless that leaves no room for the note.
pub fn shorten(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let kept = limit.saturating_sub(NOTE_ROOM);
    let mut head = text.floor_char_boundary(kept.div_ceil(2));
    let mut tail = text.ceil_char_boundary(text.len() - kept / 2);
    let (mut notes_length, mut noted) = (0, 0_u64);
    for CutNote { place, left_out } in cut_notes(&text) {
        if place.start <= tail && place.end >= head {
            (head, tail) = (head.min(place.start), tail.max(place.end));
            notes_length += place.len();
            noted = noted.saturating_add(left_out);
        }
    }
    let left_out = ((tail - head - notes_length) as u64).saturating_add(noted);
    format!("{}{}{}", &text[..head], cut_note(left_out), &text[tail..])
}

/// The note that stands where so many bytes were left out.
pub(crate) fn cut_note(left_out: u64) -> String {
    format!("{NOTE_BEGIN}{}{NOTE_END}", byte_words(left_out))
}

/// The bytes of a text before anything was left out of it, as far as its notes say so.
pub fn whole_length(text: &str) -> usize {
    let count = |length: usize, CutNote { place, left_out }: CutNote| {
        let left_out = usize::try_from(left_out).unwrap_or(usize::MAX);
        (length - place.len()).saturating_add(left_out)
    };
    cut_notes(text).into_iter().fold(text.len(), count)
}

/// A note of an earlier cut.
struct CutNote {
    place: Range<usize>,
    left_out: u64,
}

fn cut_notes(text: &str) -> Vec<CutNote> {
    let mut notes: Vec<CutNote> = Vec::new();
    for (start, _) in text.match_indices(NOTE_BEGIN) {
        let said = &text[start + NOTE_BEGIN.len()..];
        let digits = said.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(left_out) = said[..digits].parse() else { continue };
        let note = cut_note(left_out);
        // Where nothing was kept behind it, its line break is gone.
        let is_last = said.len() + NOTE_BEGIN.len() + 1 == note.len();
        let note = if is_last { note.trim_end() } else { &note };
        if text[start..].starts_with(note) {
            notes.push(CutNote { place: start..start + note.len(), left_out });
        }
    }
    notes
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

    /// Promise: `output-keeps-both-ends`
    #[test]
    fn what_was_cut_before_is_counted_by_the_next_cut() {
        let once = shorten(format!("first {} last", "x".repeat(100_000)), 1_000);
        assert_eq!(whole_length(&once), 100_011);
        let mut text = once.clone();
        for limit in [999, 936, 600, 599, 300, 74] {
            text = shorten(text, limit);
            assert!(text.len() <= limit, "{limit}: {text}");
            assert_eq!(text.matches(" left out …]").count(), 1, "{text}");
            assert_eq!(whole_length(&text), 100_011, "{limit}: {text}");
        }
        assert_eq!(text, "first\n[… 100001 bytes left out …]\n last");
        // Its line break may be gone, and of two notes each is counted.
        let two = format!("{once}\n[stderr]\n{}", once.strip_suffix(" last").unwrap_or(&once));
        assert!(whole_length(&two) > 200_000);
        assert_eq!(whole_length(&shorten(two.clone(), 300)), whole_length(&two));
        assert_eq!(whole_length("a\n[… 7 bytes left out …]"), 8);
        // What only looks like a note is text.
        for text in
            ["\n[… 07 bytes left out …]\n", "\n[…  bytes left out …]\n", "[… 1 byte left out …]"]
        {
            assert_eq!(whole_length(text), text.len());
        }
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
