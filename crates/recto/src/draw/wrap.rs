//! Lines that fit a terminal, by the columns that characters take.
//!
//! Words are never split: a line is broken between them, and a word that is wider than the
//! terminal stands on a line of its own, where it can still be copied whole. What goes into a
//! pipe or a file has no width, and its lines stay as they are.
//!
//! [`break_line`] alone splits words, where they fit no line: it shows texts exactly, and its
//! pieces make the line again.

use std::io;

use unicode_width::UnicodeWidthChar;

use crate::terminal::markdown::wrap::{are_joined, may_break};
use crate::terminal::width_of;

/// The columns that a tab takes at most.
const TAB: usize = 8;

/// How wide the lines may be that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageWidth {
    /// So many columns: those of a terminal.
    Columns(usize),
    /// A program or a file gets them.
    Unlimited,
}

impl PageWidth {
    /// The width of the terminal that standard output is.
    pub(crate) fn of_stdout() -> Self {
        PageWidth::from_columns(width_of(&io::stdout()))
    }

    /// The width of the terminal that standard error is.
    pub(crate) fn of_stderr() -> Self {
        PageWidth::from_columns(width_of(&io::stderr()))
    }

    /// How many columns there are; `None` where nothing says so.
    pub(crate) fn columns(self) -> Option<usize> {
        match self {
            PageWidth::Columns(columns) => Some(columns),
            PageWidth::Unlimited => None,
        }
    }

    fn from_columns(columns: Option<usize>) -> Self {
        columns.map_or(PageWidth::Unlimited, PageWidth::Columns)
    }
}

/// Breaks the lines of a text between words. What a line is broken into stands `hang` columns
/// further in than the line itself. Colours take no room.
pub(crate) fn wrap_words(text: &str, hang: usize, width: PageWidth) -> String {
    let PageWidth::Columns(columns) = width else { return text.to_owned() };
    let wrapped = text.split('\n').map(|line| wrap_line(line, hang, columns));
    wrapped.collect::<Vec<_>>().join("\n")
}

/// A line that begins with what it is about, in a column of its own.
pub(crate) fn labelled(label: &str, text: &str, width: PageWidth) -> String {
    let column = label.len().max(LABEL) + 1;
    wrap_words(&format!("{label:<LABEL$} {text}\n"), column, width)
}

/// The same for a text that has to be seen exactly.
pub(crate) fn labelled_exactly(label: &str, text: &str, width: PageWidth) -> String {
    wrap_exactly(&format!("{label:<LABEL$} {text}"), 0, width)
}

/// The columns of a label.
const LABEL: usize = 7;

fn wrap_line(line: &str, hang: usize, columns: usize) -> String {
    if shown_width(line) <= columns {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    // Where hardly anything is left beside it, what hangs stands further out.
    let hang = (indent + hang).min(columns / 3);
    let (mut out, mut column, mut holds_word) = (String::new(), 0, false);
    for piece in unbreakable_pieces(line) {
        let word = shown_width(piece.trim_end_matches(' '));
        if holds_word && column + word > columns {
            // A long word stands as far out as it has to, to stay on one line.
            let hang = hang.min(columns.saturating_sub(word));
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            (column, holds_word) = (hang, false);
        }
        holds_word |= word > 0;
        out.push_str(piece);
        column += shown_width(piece);
    }
    out.truncate(out.trim_end_matches(' ').len());
    out
}

/// The pieces of a line between which it may be broken: words with the blanks behind them.
pub(super) fn unbreakable_pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, None);
    for (at, c) in line.char_indices() {
        let may_break = |before: char| match before {
            ' ' => c != ' ',
            _ => c != ' ' && may_break(before, c),
        };
        if before.is_some_and(may_break) {
            pieces.push(&line[start..at]);
            start = at;
        }
        before = Some(c);
    }
    pieces.push(&line[start..]);
    pieces
}

/// The columns that a text takes, without its colours.
pub(crate) fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    if c == '\t' { TAB } else { c.width().unwrap_or(0) }
}

/// The first columns of a text, with a mark where it goes on.
pub(crate) fn cut_to(text: &str, columns: usize) -> String {
    if shown_width(text) <= columns {
        return text.to_owned();
    }
    let mut column = 0;
    let is_within = |c: &char| {
        column += char_width(*c);
        column < columns
    };
    let mark = Some('…').filter(|_| columns > 0);
    text.chars().take_while(is_within).chain(mark).collect()
}

/// The lines of a text that has to be seen exactly, such as what a tool would do. Where one is
/// broken, a mark says that it goes on.
pub(crate) fn wrap_exactly(text: &str, indent: usize, width: PageWidth) -> String {
    const GOES_ON: &str = "┊ ";
    let margin = " ".repeat(indent);
    let mut out = String::new();
    for line in text.split('\n') {
        let pieces = match width {
            // Two for the mark, and one for a blank at the end.
            PageWidth::Columns(columns) => {
                break_line(line, columns.saturating_sub(indent + 3).max(1))
            }
            PageWidth::Unlimited => vec![line],
        };
        for (index, piece) in pieces.into_iter().enumerate() {
            let mark = if index == 0 { "" } else { GOES_ON };
            out.push_str(&format!("{margin}{mark}{piece}\n"));
        }
    }
    out
}

/// Breaks a line into pieces that fit, and that make the line again. They end behind blanks, or
/// in a word that is too long behind a mark such as a slash. A blank may stand one column further.
pub(crate) fn break_line(line: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut column) = (0, 0);
    let (mut between_words, mut within_word) = (None, None);
    let mut before = None;
    for (at, c) in line.char_indices() {
        let width = char_width(c);
        if let Some(before) = before {
            if (before == ' ' && c != ' ') || may_break(before, c) {
                between_words = Some(at);
            } else if "/,;_-&?}".contains(before) {
                within_word = Some(at);
            }
        }
        let is_joined = before.is_some_and(|before| are_joined(before, c));
        // What stands behind a break may itself be too long, with a wide character.
        while column + width > columns && at > start && !is_joined {
            if c == ' ' && column == columns {
                break;
            }
            let end = between_words.or(within_word).unwrap_or(at);
            pieces.push(&line[start..end]);
            start = end;
            column = shown_width(&line[start..at]);
            (between_words, within_word) = (None, None);
        }
        column += width;
        before = Some(c);
    }
    pieces.push(&line[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrapped(text: &str, hang: usize, columns: usize) -> String {
        wrap_words(text, hang, PageWidth::Columns(columns))
    }

    #[test]
    fn lines_are_broken_between_words_and_hang() {
        assert_eq!(wrapped("one two three four", 2, 9), "one two\n  three\n  four");
        assert_eq!(wrapped("  one two three", 2, 20), "  one two three");
        assert_eq!(wrapped("  one two three", 1, 12), "  one two\n   three");
        assert_eq!(wrap_words("one two", 2, PageWidth::Unlimited), "one two");
        // A word that fits nowhere stays whole, and what stands around it does not.
        assert_eq!(wrapped("see /a/very/long/path here", 0, 8), "see\n/a/very/long/path\nhere");
    }

    #[test]
    fn scripts_without_blanks_and_wide_characters_are_broken_by_columns() {
        assert_eq!(wrapped("日本語の文章です", 0, 8), "日本語の\n文章です");
        assert_eq!(wrapped("🦀🦀🦀🦀🦀", 0, 6), "🦀🦀🦀\n🦀🦀");
        assert_eq!(cut_to("日本語の文章", 7), "日本語…");
        assert_eq!(cut_to("日本語", 6), "日本語");
    }

    #[test]
    fn colours_take_no_room() {
        let bold = anstyle::Style::new().bold();
        let line = format!("{bold}one two{bold:#}");
        assert_eq!(wrapped(&line, 0, 7), line);
    }

    #[test]
    fn exact_lines_say_where_they_go_on() {
        let exact = wrap_exactly("rm  -r  /tmp/a /tmp/b\nend", 2, PageWidth::Columns(20));
        assert_eq!(exact, "  rm  -r  /tmp/a \n  ┊ /tmp/b\n  end\n");
    }

    #[test]
    fn long_words_of_exact_texts_are_split_behind_marks() {
        assert_eq!(break_line("see /home/me/file", 9), ["see ", "/home/me/", "file"]);
        assert_eq!(break_line("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(break_line("", 3), [""]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_unless_it_is_one_word(
            text in "[a-z日本🦀/ ]{0,80}", columns in 4_usize..40, hang in 0_usize..8,
        ) {
            let wrapped = wrapped(&text, hang, columns);
            for line in wrapped.split('\n') {
                let words = unbreakable_pieces(line.trim()).len();
                prop_assert!(shown_width(line) <= columns || words == 1, "{line:?}");
            }
            let joined = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(joined(&wrapped), joined(&text));
        }

        #[test]
        fn exact_pieces_make_the_line_again(line in "[a-z日é🦀,/\t ]{0,80}", columns in 8_usize..40) {
            let pieces = break_line(&line, columns);
            prop_assert_eq!(pieces.concat(), line.clone());
            for piece in pieces {
                prop_assert!(shown_width(piece.trim_end_matches(' ')) <= columns, "{piece:?}");
                prop_assert!(shown_width(piece) <= columns + 1, "{piece:?}");
            }
        }
    }
}
