//! Tables with a heading. Columns are as wide as what they hold while that fits; on a narrower
//! terminal their cells are broken between words, and the widest columns stand below their row.

use anstyle::Style;

use super::wrap::{PageWidth, shown_width, unbreakable_pieces, wrap_words};
use crate::output::tame;

/// The columns between two columns.
const GAP: usize = 2;

/// A column of words that would get less than this stands below its row instead.
const READABLE: usize = 20;

/// What stands below a row is so far in.
const INDENT: &str = "    ";

/// A table in the making.
pub(crate) struct TextTable {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
    /// The column that tells rows apart.
    key: usize,
}

/// How a table is laid out on a page.
struct TableLayout {
    /// The columns that stand beside each other, with their widths.
    beside: Vec<(usize, usize)>,
    /// The columns that stand below.
    below: Vec<usize>,
}

impl TextTable {
    pub(crate) fn new<const N: usize>(heading: [&str; N]) -> Self {
        let key = heading.iter().position(|name| !name.is_empty()).unwrap_or(0);
        let heading = heading.map(str::to_owned).to_vec();
        TextTable { right: vec![false; heading.len()], heading, rows: Vec::new(), key }
    }

    /// Numbers read better when their ends are one below the other.
    pub(crate) fn align_right(&mut self, column: usize) {
        self.right[column] = true;
    }

    /// Makes this column the one that tells rows apart, which never stands below them. It is the
    /// first otherwise.
    pub(crate) fn set_key(&mut self, column: usize) {
        self.key = column;
    }

    /// Adds a row. A line break in a cell becomes a space; whatever else could
    /// break the table or move the cursor is made visible.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let one_line = |cell: String| tame(&cell.replace(['\n', '\t', '\r'], " "));
        self.rows.push(cells.map(one_line).to_vec());
    }

    /// Draws the table for a page of that width.
    pub(crate) fn draw(&self, width: PageWidth) -> String {
        let layout = self.layout(width);
        let bold = Style::new().bold();
        let heading = self.lines(&self.heading, &layout);
        let heading = heading.into_iter();
        let mut out: String = heading.map(|line| format!("{bold}{line}{bold:#}\n")).collect();
        for row in &self.rows {
            self.lines(row, &layout).into_iter().for_each(|line| out.push_str(&(line + "\n")));
            let below = layout.below.iter().filter(|column| !row[**column].is_empty());
            for (name, cell) in below.map(|column| (&self.heading[*column], &row[*column])) {
                let line = match name.as_str() {
                    "" => format!("{INDENT}{cell}\n"),
                    name => format!("{INDENT}{name}: {cell}\n"),
                };
                out.push_str(&wrap_words(&line, GAP, width));
            }
        }
        out
    }

    fn layout(&self, width: PageWidth) -> TableLayout {
        let columns = 0..self.heading.len();
        let natural: Vec<usize> = columns.clone().map(|column| self.width(column)).collect();
        let PageWidth::Columns(room) = width else {
            return TableLayout { beside: columns.zip(natural).collect(), below: Vec::new() };
        };
        let mut least: Vec<usize> =
            columns.clone().map(|column| self.least_width(column, natural[column])).collect();
        // One long name does not take the room of all other columns.
        least[self.key] = least[self.key].min((room / 2).max(READABLE));
        let mut beside: Vec<usize> = columns.collect();
        let mut below = Vec::new();
        while total(beside.iter().map(|column| least[*column])) > room {
            let Some(column) = self.widest(&beside, &natural) else { break };
            beside.retain(|other| *other != column);
            below.push(column);
        }
        below.sort_unstable();
        TableLayout { beside: share_room(&beside, &least, &natural, room), below }
    }

    /// The column that is put below its rows next: the widest of words, or else the last of
    /// numbers.
    fn widest(&self, beside: &[usize], natural: &[usize]) -> Option<usize> {
        let others = || beside.iter().copied().filter(|column| *column != self.key);
        let words = others().filter(|column| !self.right[*column] && natural[*column] > 1);
        let numbers = || others().rfind(|column| self.right[*column]);
        words.max_by_key(|column| natural[*column]).or_else(numbers)
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &String> {
        self.rows.iter().chain([&self.heading]).map(move |line| &line[column])
    }

    fn width(&self, column: usize) -> usize {
        self.cells(column).map(|cell| shown_width(cell)).max().unwrap_or(0)
    }

    /// The least that a column needs: no word is split, and words need room to be read.
    fn least_width(&self, column: usize, natural: usize) -> usize {
        if self.right[column] {
            return natural;
        }
        let words = self.cells(column).flat_map(|cell| unbreakable_pieces(cell));
        let longest = words.map(|word| shown_width(word.trim_end())).max().unwrap_or(0);
        longest.max(natural.min(READABLE))
    }

    /// The lines of a row, whose cells are broken to fit their columns. A name that is too long
    /// for its column stands on a line of its own, with the rest of the row below it.
    fn lines(&self, cells: &[String], layout: &TableLayout) -> Vec<String> {
        let wrapped = layout.beside.iter().map(|(column, width)| {
            let cell = wrap_words(&cells[*column], 0, PageWidth::Columns(*width));
            cell.lines().map(str::to_owned).collect::<Vec<String>>()
        });
        let mut wrapped: Vec<Vec<String>> = wrapped.collect();
        let mut lines = Vec::new();
        if let Some(key) = layout.beside.iter().position(|(column, _)| *column == self.key)
            && wrapped[key].iter().any(|line| shown_width(line) > layout.beside[key].1)
        {
            let rest = wrapped.split_off(key + 1);
            wrapped[key] = vec![cells[self.key].clone()];
            lines.push(self.join_cells(&wrapped, 0, layout));
            wrapped.iter_mut().for_each(Vec::clear);
            wrapped.extend(rest);
        }
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let height = if lines.is_empty() { height.max(1) } else { height };
        lines.extend((0..height).map(|line| self.join_cells(&wrapped, line, layout)));
        lines
    }

    /// One line of the first cells of a row, each in its column.
    fn join_cells(&self, cells: &[Vec<String>], line: usize, layout: &TableLayout) -> String {
        let cells = cells.iter().zip(&layout.beside).map(|(cell, (column, width))| {
            let text = cell.get(line).map_or("", String::as_str);
            let padding = " ".repeat(width.saturating_sub(shown_width(text)));
            if self.right[*column] { padding + text } else { text.to_owned() + &padding }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

/// The width of columns with the gaps between them.
fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = widths.len().saturating_sub(1) * GAP;
    widths.sum::<usize>() + gaps
}

/// Gives each column the least that it needs, and shares out what is left: to each the same, and
/// none more than it can use.
fn share_room(
    beside: &[usize],
    least: &[usize],
    natural: &[usize],
    room: usize,
) -> Vec<(usize, usize)> {
    let mut spare = room.saturating_sub(total(beside.iter().map(|column| least[*column])));
    let mut widths = least.to_vec();
    let needs = |column: &usize| natural[*column].saturating_sub(least[*column]);
    let mut by_need = beside.to_vec();
    by_need.sort_by_key(needs);
    for (index, column) in by_need.iter().enumerate() {
        let share = (spare / (by_need.len() - index)).min(needs(column));
        widths[*column] += share;
        spare -= share;
    }
    beside.iter().map(|column| (*column, widths[*column])).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(table: &TextTable, width: PageWidth, expected: &Expect) {
        let plain = anstream::adapter::strip_str(&table.draw(width)).to_string();
        expected.assert_eq(&plain);
    }

    fn tools() -> TextTable {
        let mut table = TextTable::new(["", "name", "tokens", "description"]);
        table.align_right(2);
        let about = "Reads a file of the workspace, or a part of it, and tells how long it is.";
        table.row(["*".into(), "read_file".into(), "1,234".into(), about.into()]);
        table.row([String::new(), "a".into(), "7".into(), "日本語で書いてある説明".into()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_what_people_see() {
        let mut table = TextTable::new(["name", "tokens", "text"]);
        table.align_right(1);
        table.row(["日本".into(), "7".into(), "two\nlines\u{1b}[2J".into()]);
        table.row(["a".into(), "1,234".into(), String::new()]);
        check(
            &table,
            PageWidth::Unlimited,
            &expect![[r#"
                name  tokens  text
                日本       7  two lines\u{1b}[2J
                a      1,234
            "#]],
        );
    }

    #[test]
    fn cells_are_broken_between_words_where_there_is_room_for_them() {
        check(
            &tools(),
            PageWidth::Columns(60),
            &expect![[r#"
                   name       tokens  description
                *  read_file   1,234  Reads a file of the workspace, or a
                                      part of it, and tells how long it is.
                   a               7  日本語で書いてある説明
            "#]],
        );
    }

    #[test]
    fn one_long_name_leaves_the_other_columns_where_they_are() {
        let mut table = TextTable::new(["name", "tokens", "used"]);
        table.align_right(1);
        table.row(["a-server.and_a_tool_with_a_long_name".into(), "7".into(), "never".into()]);
        table.row(["a".into(), "8".into(), "never".into()]);
        check(
            &table,
            PageWidth::Columns(40),
            &expect![[r#"
                name                       tokens  used
                a-server.and_a_tool_with_a_long_name
                                                7  never
                a                               8  never
            "#]],
        );
    }

    #[test]
    fn the_widest_columns_stand_below_their_row_where_there_is_none() {
        check(
            &tools(),
            PageWidth::Columns(32),
            &expect![[r#"
                   name       tokens
                *  read_file   1,234
                    description: Reads a file of
                      the workspace, or a part
                      of it, and tells how long
                      it is.
                   a               7
                    description: 日本語で書いて
                      ある説明
            "#]],
        );
    }
}
