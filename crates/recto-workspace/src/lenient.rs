//! Makes YAML of what people write between fences when it is not quite YAML.
//!
//! Most broken frontmatter has a plain value with a colon in it (`description:
//! Use when: x`) or one that starts with a sign that YAML keeps for itself
//! (`globs: *.ts`). Both become valid once the value is quoted. Only values at
//! the top level are touched, and only after the text as written did not parse.

use std::iter::Peekable;
use std::str::Lines;

/// True when the first line with content is a `key:`, so that the block was
/// meant as fields and not as prose.
pub(crate) fn looks_like_fields(block: &str) -> bool {
    let mut lines = block.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| split_field(line).is_some())
}

/// The block with every plain value of the top level in quotes. Each line
/// stays on its line.
pub(crate) fn quote_plain_values(block: &str) -> String {
    let mut lines = block.lines().peekable();
    let mut quoted = String::with_capacity(block.len() + 16);
    while let Some(line) = lines.next() {
        match split_field(line).filter(|(_, value)| is_plain(value)) {
            Some((key, value)) => {
                let (value, folded) = with_continuation(without_comment(value), &mut lines);
                quoted += &format!("{key}: {}\n", serde_json::Value::from(value));
                quoted += &"\n".repeat(folded);
            }
            None => {
                quoted += line;
                quoted.push('\n');
            }
        }
    }
    quoted
}

/// `key: value` at the start of a line, the value trimmed.
fn split_field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let is_apart = value.is_empty() || value.starts_with(char::is_whitespace);
    (is_key && is_apart).then(|| (key, value.trim()))
}

/// False for what means something in YAML: nothing, numbers and the like,
/// quoted texts, lists, maps and the marks of a text block.
fn is_plain(value: &str) -> bool {
    let is_word = matches!(value, "" | "true" | "false" | "null" | "~");
    let is_block = value.trim_start_matches(['|', '>']).trim_start_matches(['-', '+']).is_empty();
    let is_number = value.parse::<f64>().is_ok();
    !(is_word || is_block || is_number || value.starts_with('#') || is_delimited(value))
}

/// True when the value opens a quote or bracket that does not close before its
/// end. `[draft] an idea` is a plain text, `[a, b]` and `[a,` are not.
fn is_delimited(value: &str) -> bool {
    let pairs = [('"', '"'), ('\'', '\''), ('[', ']'), ('{', '}')];
    pairs.into_iter().any(|(open, close)| {
        let inner = value.strip_prefix(open);
        inner.is_some_and(|inner| inner.ends_with(close) || !inner.contains(close))
    })
}

/// Behind one word a `#` starts a comment; within a sentence it is text.
fn without_comment(value: &str) -> &str {
    match value.split_once(" #") {
        Some((word, _)) if !word.trim().contains(char::is_whitespace) => word.trim(),
        _ => value,
    }
}

/// The value with the indented lines that go on with it, and how many they were.
/// An indented field goes on with nothing.
fn with_continuation(value: &str, lines: &mut Peekable<Lines<'_>>) -> (String, usize) {
    let mut value = value.to_owned();
    let mut folded = 0;
    let goes_on =
        |line: &&str| line.starts_with([' ', '\t']) && split_field(line.trim_start()).is_none();
    while let Some(line) = lines.next_if(goes_on) {
        value.push(' ');
        value += line.trim();
        folded += 1;
    }
    (value.trim_end().to_owned(), folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_quoted_and_the_rest_is_left_alone() {
        let block = "a: x: y\nb: [1]\nc: 'q'\nd: |\n  text: here\ne: 5\nf: always # why\n";
        let quoted = "a: \"x: y\"\nb: [1]\nc: 'q'\nd: |\n  text: here\ne: 5\nf: \"always\"\n";
        assert_eq!(quote_plain_values(block), quoted);
    }

    #[test]
    fn a_value_that_only_begins_with_a_bracket_or_quote_is_plain() {
        for plain in ["[draft] an idea", "\"this\" and that", "{x} of: y", "*.ts", "@me"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in ["[a, b]", "[a,", "\"a\"", "\"a", "'a", "{", "|", ">-", "-1.5", "~", "# x"] {
            assert!(!is_plain(other), "{other}");
        }
    }

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(quote_plain_values("a: x\n  y\nb: z"), "a: \"x y\"\n\nb: \"z\"\n");
    }

    #[test]
    fn quotes_and_backslashes_in_a_plain_value_survive() {
        assert_eq!(quote_plain_values(r#"a: say "x\y": z"#), "a: \"say \\\"x\\\\y\\\": z\"\n");
    }

    #[test]
    fn prose_does_not_look_like_fields() {
        assert!(looks_like_fields("\n# note\nname: a"));
        assert!(looks_like_fields("allowed-tools:\n  - x"));
        assert!(!looks_like_fields("Some words: then more"));
        assert!(!looks_like_fields("http://example.org"));
        assert!(!looks_like_fields(""));
    }
}
