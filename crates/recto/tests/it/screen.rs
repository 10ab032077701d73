//! A small terminal for tests: what a program draws, as a person would see it.
//!
//! It knows what Recto and its line editor write, and nothing more.

use unicode_width::UnicodeWidthChar;

/// One column of a row: what is written there, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScreenCell {
    /// The character with what is drawn over it; empty behind one that is two columns wide.
    pub(crate) text: String,
    pub(crate) style: CellStyle,
}

/// How a character is written, as far as Recto makes use of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CellStyle {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    /// The number by which a terminal is told the colour, such as 36.
    pub(crate) colour: Option<usize>,
}

impl ScreenCell {
    fn blank() -> Self {
        ScreenCell { text: " ".to_owned(), style: CellStyle::default() }
    }
}

impl CellStyle {
    /// The style after a terminal was told these numbers.
    fn after(self, numbers: &str) -> Self {
        numbers.split(';').fold(self, |style, number| match number.parse().unwrap_or(0) {
            0 => CellStyle::default(),
            1 => CellStyle { bold: true, ..style },
            2 => CellStyle { dim: true, ..style },
            colour @ (30..=37 | 90..=97) => CellStyle { colour: Some(colour), ..style },
            _ => style,
        })
    }
}

/// The screen, with all that has left it at the top.
#[derive(Debug)]
pub(crate) struct Screen {
    width: usize,
    height: usize,
    /// All rows, of which the last `height` are on the screen.
    rows: Vec<Vec<ScreenCell>>,
    /// How what comes next is written.
    style: CellStyle,
    /// The row of the cursor, from the top of the screen, and its column.
    row: usize,
    column: usize,
    /// A sequence that has not ended.
    sequence: Option<String>,
    /// What the terminal answers to the program.
    pub(crate) answers: String,
    /// How many sequences came, whatever they were for.
    pub(crate) sequences: usize,
}

impl Screen {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Screen {
            width,
            height,
            rows: vec![Vec::new(); height],
            style: CellStyle::default(),
            row: 0,
            column: 0,
            sequence: None,
            answers: String::new(),
            sequences: 0,
        }
    }

    /// All rows from the first on, without blanks at their ends and without empty ones.
    pub(crate) fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| row_text(row));
        rows.filter(|row| !row.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The column at which the next character would stand.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// All rows from the first to the last with something in it.
    pub(crate) fn rows(&self) -> &[Vec<ScreenCell>] {
        let last = self.rows.iter().rposition(|row| !row_text(row).is_empty());
        &self.rows[..last.map_or(0, |last| last + 1)]
    }

    pub(crate) fn write(&mut self, text: &str) {
        text.chars().for_each(|c| self.write_char(c));
    }

    fn write_char(&mut self, c: char) {
        if let Some(sequence) = &mut self.sequence {
            sequence.push(c);
            let is_whole = match sequence.as_bytes()[0] {
                b'[' => sequence.len() > 1 && c.is_ascii_alphabetic(),
                _ => true,
            };
            if is_whole {
                let sequence = self.sequence.take().unwrap();
                self.control(&sequence);
            }
            return;
        }
        match c {
            '\x1b' => self.sequence = Some(String::new()),
            '\r' => self.column = 0,
            '\n' => self.next_row(),
            '\u{8}' => self.column = self.column.saturating_sub(1),
            c if c.is_control() => {}
            c => self.put(c),
        }
    }

    fn put(&mut self, c: char) {
        let width = c.width().unwrap_or(0);
        if self.column + width > self.width {
            self.column = 0;
            self.next_row();
        }
        let (column, style) = (self.column, self.style);
        let row = self.current();
        if row.len() < column + width {
            row.resize(column + width, ScreenCell::blank());
        }
        match width {
            0 => row[column.saturating_sub(1)].text.push(c),
            _ => {
                row[column] = ScreenCell { text: c.to_string(), style };
                row[column + 1..column + width].iter_mut().for_each(|cell| cell.text.clear());
            }
        }
        self.column += width;
    }

    fn current(&mut self) -> &mut Vec<ScreenCell> {
        let at = self.rows.len() - self.height + self.row;
        &mut self.rows[at]
    }

    fn next_row(&mut self) {
        match self.row + 1 < self.height {
            true => self.row += 1,
            false => self.rows.push(Vec::new()),
        }
    }

    fn control(&mut self, sequence: &str) {
        self.sequences += 1;
        let Some(rest) = sequence.strip_prefix('[') else { return };
        let (arguments, kind) = rest.split_at(rest.len() - 1);
        let mut numbers = arguments.split(';').map(|number| number.parse::<usize>().ok());
        let first = numbers.next().flatten();
        let second = numbers.next().flatten();
        let count = first.unwrap_or(1);
        match kind {
            "A" => self.row = self.row.saturating_sub(count),
            "B" => self.row = (self.row + count).min(self.height - 1),
            "C" => self.column += count,
            "D" => self.column = self.column.saturating_sub(count),
            "G" => self.column = count - 1,
            "H" => {
                self.row = count.min(self.height) - 1;
                self.column = second.unwrap_or(1) - 1;
            }
            "J" => self.erase_below(),
            "K" => self.erase_right(),
            "m" => self.style = self.style.after(arguments),
            "n" => self.answers += &format!("\x1b[{};{}R", self.row + 1, self.column + 1),
            _ => {}
        }
    }

    fn erase_right(&mut self) {
        let column = self.column;
        self.current().truncate(column);
    }

    fn erase_below(&mut self) {
        self.erase_right();
        let below = self.rows.len() - self.height + self.row + 1;
        self.rows[below..].iter_mut().for_each(Vec::clear);
    }
}

/// What stands in a row, without blanks at its end.
fn row_text(row: &[ScreenCell]) -> String {
    row.iter().map(|cell| &*cell.text).collect::<String>().trim_end().to_owned()
}
