//! Lines that are broken between words.

use unicode_width::UnicodeWidthStr;

/// The narrowest column that words are put into.
const LEAST: usize = 20;

/// The text with its lines broken between words at a width, if there is one; the lines that one
/// is broken into begin with so many blanks. No character but a blank is lost.
pub(super) fn wrap_words(text: &str, width: Option<usize>, hang: usize) -> String {
    let Some(width) = width.filter(|width| *width >= hang + LEAST) else { return text.to_owned() };
    let lines = text.lines().map(|line| wrap_line(line, width, hang));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, width: usize, hang: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut wrapped = String::new();
    let mut column = 0;
    // A word with the blanks behind it; those are dropped where a line ends.
    for word in line.split_inclusive(' ') {
        if column > hang && column + word.trim_end().width() > width {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        }
        wrapped.push_str(word);
        column += word.width();
    }
    wrapped.truncate(wrapped.trim_end().len());
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_alone() {
        let text = "one two three four five six seven eight";
        let wrapped = wrap_words(text, Some(24), 2);
        assert_eq!(wrapped, "one two three four five\n  six seven eight");
        assert_eq!(wrap_words(text, None, 2), text);
        assert_eq!(wrap_words(text, Some(10), 2), text);
        let long = "a".repeat(50);
        assert_eq!(wrap_words(&long, Some(24), 2), long);
        assert_eq!(
            wrap_words("日本語 日本語 日本語 日本語", Some(22), 0),
            "日本語 日本語 日本語\n日本語"
        );
    }

    #[test]
    fn further_lines_of_a_text_stay_lines() {
        assert_eq!(wrap_words("a\n  b\n", Some(30), 2), "a\n  b");
    }
}
