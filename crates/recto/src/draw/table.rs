//! Tables with a heading, columns as wide as what they hold.

use std::fmt;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::output::tame;

/// A table in the making.
pub(crate) struct TextTable {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl TextTable {
    pub(crate) fn new<const N: usize>(heading: [&str; N]) -> Self {
        let heading = heading.map(str::to_owned).to_vec();
        TextTable { right: vec![false; heading.len()], heading, rows: Vec::new() }
    }

    /// Numbers read better when their ends are one below the other.
    pub(crate) fn align_right(&mut self, column: usize) {
        self.right[column] = true;
    }

    /// Adds a row. A line break in a cell becomes a space; whatever else could
    /// break the table or move the cursor is made visible.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let one_line = |cell: String| tame(&cell.replace(['\n', '\t', '\r'], " "));
        self.rows.push(cells.map(one_line).to_vec());
    }

    fn widths(&self) -> Vec<usize> {
        let lines = || self.rows.iter().chain([&self.heading]);
        let width = |column: usize| lines().map(|line| line[column].width()).max();
        (0..self.heading.len()).map(|column| width(column).unwrap_or(0)).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let cell = |column: usize| {
            let padding = " ".repeat(widths[column].saturating_sub(cells[column].width()));
            match self.right[column] {
                true => padding + &cells[column],
                false => cells[column].clone() + &padding,
            }
        };
        let cells: Vec<String> = (0..cells.len()).map(cell).collect();
        cells.join("  ").trim_end().to_owned()
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let bold = Style::new().bold();
        writeln!(f, "{bold}{}{bold:#}", self.line(&self.heading, &widths))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", self.line(row, &widths)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_people_see() {
        let mut table = TextTable::new(["name", "tokens", "text"]);
        table.align_right(1);
        table.row(["日本".into(), "7".into(), "two\nlines\u{1b}[2J".into()]);
        table.row(["a".into(), "1,234".into(), String::new()]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(
            plain,
            "name  tokens  text\n\
             日本       7  two lines\\u{1b}[2J\n\
             a      1,234\n"
        );
    }
}
