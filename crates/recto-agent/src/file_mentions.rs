//! The files that a message names with `@file:PATH`. Reads none of them: whoever sends a message
//! from a terminal has them sent along, on other surfaces the words are text.

use std::ops::Range;

/// What stands before the path of a file in a message.
pub const FILE_MENTION: &str = "@file:";

/// The paths that a message names behind `@file:`, as they are typed. Code between backticks
/// names none.
pub fn mentioned_files(text: &str) -> impl Iterator<Item = &str> {
    let code = code_spans(text);
    text.match_indices(FILE_MENTION).filter_map(move |(at, _)| {
        let before = &text[..at];
        let in_word = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '@');
        let in_code = code.iter().any(|span| span.contains(&at));
        let rest = &text[at + FILE_MENTION.len()..];
        let path = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split(char::is_whitespace).next(),
        };
        path.filter(|path| !path.is_empty() && !in_word && !in_code)
    })
}

/// The stretches of a text that are code by Markdown's rule: between two runs of equally many
/// backticks, within a paragraph unless it is a block of code. A run without a partner is text.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let (mut spans, mut from) = (Vec::new(), 0);
    while let Some(run) = next_run(text, from) {
        let paragraph = match run.len() {
            ..FENCE => text[run.end..].find("\n\n").map_or(text.len(), |end| run.end + end),
            _ => text.len(),
        };
        let runs = std::iter::successors(next_run(text, run.end), |run| next_run(text, run.end));
        let mut runs = runs.take_while(|other| other.start < paragraph);
        let partner = runs.find(|other| other.len() == run.len());
        from = partner.as_ref().map_or(run.end, |partner| partner.end);
        spans.extend(partner.map(|partner| run.start..partner.end));
    }
    spans
}

/// The backticks that begin a block of code.
const FENCE: usize = 3;

/// The next run of backticks.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text[from..].find('`')?;
    let length = text[start..].bytes().take_while(|byte| *byte == b'`').count();
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(mentioned_files(text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn paths_end_at_a_space_or_a_quote() {
        check("see @file:a.txt and @file:\"b c.txt\".", &["a.txt", "b c.txt"]);
        check("(@file:a.txt)", &["a.txt)"]);
        check("@file:", &[]);
        check("@file: a.txt", &[]);
        check("@file:\"open", &["open"]);
    }

    #[test]
    fn code_and_addresses_name_no_file() {
        check("type `@file:a.txt` for that", &[]);
        check("me@file:a.txt", &[]);
        check("`x` @file:a.txt", &["a.txt"]);
        check("``a ` @file:a.txt`` @file:b.txt", &["b.txt"]);
        check("```\n@file:a.txt\n\n@file:b.txt\n```\n@file:c.txt", &["c.txt"]);
    }

    #[test]
    fn a_backtick_without_a_partner_is_text() {
        check("the key ` is broken, see @file:a.txt", &["a.txt"]);
        check("``` @file:a.txt", &["a.txt"]);
        check("a stray ` here\n\nsee @file:a.txt\n\nand ` there", &["a.txt"]);
        check("`é` ` @file:ä.txt", &["ä.txt"]);
    }
}
