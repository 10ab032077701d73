//! The row of the terminal that a reply is being written to.
//!
//! A line below it can be drawn and taken away again only by whoever knows what stands in
//! this row: the cursor comes back to its end by writing the row once more. Rows are counted
//! as terminals count them, which wrap a text at their width by themselves, and wrap its last
//! line anew when they get another width.

use unicode_width::UnicodeWidthChar;

/// How far apart the stops of a tab are.
const TAB: usize = 8;

/// The row that a text has come to, with what was written to it.
#[derive(Debug)]
pub(super) struct OpenRow {
    /// How wide the terminal is.
    width: usize,
    /// Where the next character goes; at the width, the row is full and none has wrapped yet.
    column: usize,
    /// What was written to the row, with the styles that hold at its beginning.
    written: String,
    /// The styles that hold now.
    style: String,
    /// All of the line that the row is the end of, with the styles that hold at its beginning.
    line: String,
    /// How many rows were left by now, and how many before the line.
    left: usize,
    left_before: usize,
    /// A sequence that changes the style and has not ended.
    sequence: String,
}

impl OpenRow {
    pub(super) fn new(width: usize) -> Self {
        let [written, style, line, sequence] = [const { String::new() }; 4];
        let (width, column, left, left_before) = (width.max(1), 0, 0, 0);
        OpenRow { width, column, written, style, line, left, left_before, sequence }
    }

    /// Whether nothing stands in the row, so that something else can.
    pub(super) fn is_empty(&self) -> bool {
        self.column == 0
    }

    /// What writes the row once more.
    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// How many rows stand above it.
    pub(super) fn rows_above(&self) -> usize {
        self.left
    }

    /// What writes the whole line once more that the row is the end of.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// How many rows that line takes.
    pub(super) fn line_rows(&self) -> usize {
        self.left - self.left_before + 1
    }

    /// The terminal has another width from now on, and wraps the line anew.
    pub(super) fn set_width(&mut self, width: usize) {
        let mut anew = OpenRow::new(width);
        anew.push(&self.line);
        anew.left += self.left_before;
        anew.left_before = self.left_before;
        *self = anew;
    }

    /// Takes in what was written.
    pub(super) fn push(&mut self, text: &str) {
        text.chars().for_each(|c| self.push_char(c));
    }

    fn push_char(&mut self, c: char) {
        if c != '\n' {
            self.line.push(c);
        }
        match c {
            '\x1b' => self.sequence = c.to_string(),
            _ if !self.sequence.is_empty() => self.continue_sequence(c),
            '\n' => {
                self.begin();
                self.left_before = self.left;
                self.line.clone_from(&self.style);
            }
            '\t' => {
                let stop = (self.column / TAB + 1) * TAB;
                let blanks = stop.min(self.width - 1).saturating_sub(self.column);
                self.put(' ', blanks);
            }
            // What does not print does not move the cursor.
            _ => {
                if let Some(columns) = c.width() {
                    self.put_wide(c, columns);
                }
            }
        }
    }

    /// Puts a character where it belongs: on this row, or else on the next.
    fn put_wide(&mut self, c: char, columns: usize) {
        if self.column + columns > self.width {
            self.begin();
        }
        self.column += columns;
        self.written.push(c);
    }

    fn put(&mut self, c: char, times: usize) {
        self.column += times;
        self.written.extend(std::iter::repeat_n(c, times));
    }

    fn begin(&mut self) {
        self.column = 0;
        self.left += 1;
        self.written.clone_from(&self.style);
    }

    fn continue_sequence(&mut self, c: char) {
        self.sequence.push(c);
        if c == '[' || !c.is_ascii_alphabetic() {
            return;
        }
        let sequence = std::mem::take(&mut self.sequence);
        if c != 'm' {
            return;
        }
        match &*sequence {
            "\x1b[0m" | "\x1b[m" => self.style.clear(),
            _ => self.style.push_str(&sequence),
        }
        self.written.push_str(&sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in the row at the end, and where the cursor is, on a terminal of ten columns.
    #[track_caller]
    fn check(text: &str, written: &str, column: usize) {
        let mut whole = OpenRow::new(10);
        whole.push(text);
        assert_eq!((whole.written(), whole.column), (written, column), "{text:?}");
        let mut in_pieces = OpenRow::new(10);
        text.chars().for_each(|c| in_pieces.push(c.encode_utf8(&mut [0; 4])));
        assert_eq!((in_pieces.written(), in_pieces.column), (written, column), "{text:?}");
    }

    #[test]
    fn a_line_break_begins_a_row() {
        check("", "", 0);
        check("one\ntwo", "two", 3);
        check("one\n", "", 0);
    }

    #[test]
    fn a_full_row_is_left_with_the_next_character_only() {
        check("0123456789", "0123456789", 10);
        check("0123456789a", "a", 1);
        check("0123456789\n", "", 0);
    }

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        check("日本語日本", "日本語日本", 10);
        check("a日本語日本", "本", 2);
        check("e\u{301}x", "e\u{301}x", 2);
    }

    #[test]
    fn styles_hold_over_the_end_of_a_row() {
        check("\x1b[1mbold words\x1b[36mx", "\x1b[1m\x1b[36mx", 1);
        check("\x1b[1mbold\x1b[0m plain and more", " and more", 9);
        check("\x1b[1mab\n", "\x1b[1m", 0);
    }

    #[test]
    fn rows_are_counted_as_they_are_left() {
        for (text, rows) in [("", 0), ("0123456789", 0), ("0123456789a", 1), ("a\nb\n", 2)] {
            let mut row = OpenRow::new(10);
            row.push(text);
            assert_eq!(row.rows_above(), rows, "{text:?}");
        }
    }

    #[test]
    fn a_terminal_of_another_width_wraps_the_line_anew() {
        for (text, width, row, rows) in [
            ("one\n0123456789abc", 8, "89abc", 2),
            ("one\n0123456789abc", 20, "0123456789abc", 1),
            ("one\n0123", 4, "0123", 1),
            ("\x1b[1mbold\nand \x1b[36mmore", 5, "\x1b[1m\x1b[36more", 2),
            ("ab\x1b[3", 1, "b", 2),
        ] {
            let mut whole = OpenRow::new(10);
            whole.push(text);
            let above = whole.left_before;
            whole.set_width(width);
            assert_eq!((whole.written(), whole.line_rows()), (row, rows), "{text:?}");
            assert_eq!(whole.rows_above(), above + rows - 1);
            // What comes then stands where it would have with that width from the beginning.
            let mut fresh = OpenRow::new(width);
            fresh.push(whole.line());
            whole.push("1m and more");
            fresh.push("1m and more");
            assert_eq!((whole.written(), whole.column), (fresh.written(), fresh.column));
        }
    }

    #[test]
    fn tabs_go_to_their_stops_and_not_over_the_edge() {
        check("a\tb", "a       b", 9);
        check("123456789\tb", "123456789b", 10);
    }
}
