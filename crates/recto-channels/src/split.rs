//! A long text in pieces that a chat service takes: cut at paragraphs where that can be, else at
//! lines, sentences, words. A block of code is cut only where it is longer than a whole piece.

use unicode_segmentation::UnicodeSegmentation;

use crate::rich_text::{RichText, TextStyle};

/// The pieces of a text, none longer than `limit` by this measure, which counts each character at
/// least once. Nothing of it is lost but blanks where it was cut. A blank text has no pieces.
pub(crate) fn split_text(
    text: &RichText,
    limit: usize,
    measure: impl Fn(&RichText) -> usize,
) -> Vec<RichText> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.text.len() {
        let (piece, end) = cut_piece(text, start, limit, &measure);
        start = end;
        if !piece.is_blank() {
            pieces.push(piece);
        }
    }
    pieces
}

/// How many units of UTF-16 a text has.
pub(crate) fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The longest good piece from `start` on, and where it ends.
fn cut_piece(
    text: &RichText,
    start: usize,
    limit: usize,
    measure: &impl Fn(&RichText) -> usize,
) -> (RichText, usize) {
    let mut ends = possible_ends(&text.text, start, limit);
    loop {
        let fitting = ends.partition_point(|end| measure(&text.slice(start..*end)) <= limit);
        let end = match fitting.checked_sub(1).and_then(|at| ends.get(at)) {
            Some(end) if *end == text.text.len() => *end,
            Some(end) => best_cut(text, start, *end),
            // Not even one character fits: it is cut all the same, or nothing would ever end.
            None => ends.first().copied().unwrap_or(text.text.len()),
        };
        let piece = text.slice(start..end);
        // The marks of a style can make a shorter piece the longer one.
        if fitting <= 1 || measure(&piece) <= limit {
            return (piece, end);
        }
        ends.truncate((fitting - 1).max(1));
    }
}

/// Where a piece from `start` on may end: behind characters as people see them, as far as they can
/// fit. The first one that does not fit by itself may be parted.
fn possible_ends(text: &str, start: usize, limit: usize) -> Vec<usize> {
    let graphemes = || text[start..].grapheme_indices(true).take(limit.max(1));
    let first = graphemes().next().map_or("", |(_, grapheme)| grapheme);
    let parts = first.char_indices().map(|(at, c)| at + c.len_utf8());
    // Only where the whole does not fit is one of its parts the last that does.
    let parts = parts.filter(|_| first.chars().count() > 1);
    let wholes = graphemes().map(|(at, grapheme)| at + grapheme.len());
    let mut ends: Vec<usize> = parts.chain(wholes).map(|end| start + end).collect();
    ends.dedup();
    ends
}

/// The best place to cut between `start` and `end`.
fn best_cut(text: &RichText, start: usize, end: usize) -> usize {
    let is_whole = |at: usize| {
        !text.spans.iter().any(|span| {
            let is_block = matches!(span.style, TextStyle::CodeBlock(_));
            is_block && span.range.start < at && at < span.range.end
        })
    };
    let last = |mark: &str, allowed: &dyn Fn(usize) -> bool| {
        // Blanks at the end of a piece don't count: where it is cut may lie behind the limit.
        let mut ends = (end..=end + mark.len()).rev();
        let window = ends.find_map(|end| text.text.get(start..end))?;
        let places = window.rmatch_indices(mark).map(|(at, _)| start + at + mark.len());
        // A cut right at the beginning would make no piece.
        let mut places = places.filter(|at| !text.text[start..*at].trim().is_empty());
        places.find(|at| allowed(*at))
    };
    let anywhere = |_: usize| true;
    last("\n\n", &is_whole)
        .or_else(|| last("\n", &is_whole))
        .or_else(|| last("\n", &anywhere))
        .or_else(|| last(". ", &|at| at <= end))
        .or_else(|| last(" ", &anywhere))
        .unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf16(text: &RichText) -> usize {
        utf16_length(&text.text)
    }

    fn pieces(markdown: &str, limit: usize) -> Vec<String> {
        let rich = RichText::from_markdown(markdown);
        split_text(&rich, limit, utf16).into_iter().map(|piece| piece.text).collect()
    }

    /// Promise: `replies-never-broken`
    #[test]
    fn texts_are_cut_at_paragraphs_and_code_stays_whole() {
        assert_eq!(pieces("one\n\ntwo\n\nthree", 9), ["one\n\ntwo", "three"]);
        assert_eq!(pieces("one two three four", 9), ["one two", "three", "four"]);
        let code = "text before\n\n```\nl1\n\nl2\nl3\n```\n\nafter";
        assert_eq!(pieces(code, 20), ["text before", "l1\n\nl2\nl3\n\nafter"]);
        assert_eq!(pieces("```\naaaa\nbbbb\ncccc\n```", 10), ["aaaa\nbbbb", "cccc"]);
        assert_eq!(pieces("", 10), Vec::<String>::new());
        assert_eq!(pieces(&"x".repeat(25), 10), ["x".repeat(10), "x".repeat(10), "x".repeat(5)]);
    }

    #[test]
    fn each_piece_of_code_is_code() {
        let rich = RichText::from_markdown("```rust\naaaa\nbbbb\ncccc\n```");
        let pieces = split_text(&rich, 10, utf16);
        for piece in &pieces {
            assert_eq!(piece.spans.len(), 1);
            assert_eq!(piece.spans[0].range, 0..piece.text.len());
            assert_eq!(piece.spans[0].style, TextStyle::CodeBlock(Some("rust".into())));
        }
    }

    #[test]
    fn what_people_see_as_one_character_stays_one() {
        let family = "👨‍👩‍👧‍👦";
        for piece in pieces(&family.repeat(5), 12) {
            assert_eq!(piece, family);
        }
        // It does not fit by itself.
        assert!(pieces(family, 4).iter().all(|piece| utf16_length(piece) <= 4));
    }

    proptest! {
        /// Promise: `replies-never-broken`
        #[test]
        fn nothing_is_lost_or_too_long(
            markdown in "([a-z*_`#>~|\\-\\[\\]() .é👍\n]|```\n|\n\n){0,300}",
            limit in 4usize..80,
        ) {
            let rich = RichText::from_markdown(&markdown);
            let pieces = split_text(&rich, limit, utf16);
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            let joined: String = pieces.iter().map(|piece| solid(&piece.text)).collect();
            prop_assert_eq!(joined, solid(&rich.text));
            for piece in &pieces {
                prop_assert!(utf16_length(&piece.text) <= limit);
                for (at, span) in piece.spans.iter().enumerate() {
                    prop_assert!(piece.text.get(span.range.clone()).is_some_and(|text| !text.is_empty()));
                    for other in &piece.spans[at + 1..] {
                        let (a, b) = (&span.range, &other.range);
                        let apart = a.end <= b.start || b.end <= a.start;
                        let nested = (a.start <= b.start && b.end <= a.end) || (b.start <= a.start && a.end <= b.end);
                        prop_assert!(apart || nested, "{:?} {:?}", span, other);
                    }
                }
            }
        }
    }
}
