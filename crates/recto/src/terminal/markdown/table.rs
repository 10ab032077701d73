//! Tables: columns as wide as what they hold, or as narrow as the terminal asks.

use std::fmt::Alignment;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::inline::InlineParser;
use super::wrap::LineWriter;
use super::{BOLD, DIM, LINE_END};

/// The most columns of a table. What has more is no table that people read.
const MAX_COLUMNS: usize = 32;

/// The narrowest column that text is broken for.
const LEAST_COLUMN: usize = 6;

/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// Whether a row is the line below a heading, such as `|---|:-:|`.
pub(super) fn is_ruler(row: &str) -> bool {
    let cells = cells(row);
    let is_ruled = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.chars().all(|c| c == '-')
    };
    !cells.is_empty() && cells.iter().all(is_ruled)
}

/// The lines of a table, or `None` for rows that are none: a table has a
/// heading and a ruler.
pub(super) fn draw(rows: &[String], room: Option<usize>) -> Option<Vec<String>> {
    let [heading, ruler, body @ ..] = rows else { return None };
    let sides: Vec<Alignment> = cells(ruler).iter().map(|cell| alignment(cell)).collect();
    let mut rows = vec![cells(heading)];
    rows.extend(body.iter().map(|row| cells(row)));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 || columns > MAX_COLUMNS {
        return None;
    }
    let drawn: Vec<Vec<Vec<String>>> = fit(&rows, columns, room);
    let widths: Vec<usize> = (0..columns).map(|column| column_width(&drawn, column)).collect();
    let mut lines = Vec::new();
    for (number, row) in drawn.iter().enumerate() {
        let height = row.iter().map(Vec::len).max().unwrap_or(1);
        lines.extend((0..height).map(|line| row_line(row, line, &widths, &sides)));
        if number == 0 {
            lines.push(ruler_line(&widths));
        }
    }
    Some(lines)
}

/// On which side the text of a column stands, by the column's ruler.
fn alignment(ruler: &str) -> Alignment {
    match (ruler.starts_with(':'), ruler.ends_with(':')) {
        (true, true) => Alignment::Center,
        (false, true) => Alignment::Right,
        _ => Alignment::Left,
    }
}

/// The cells of a row. A bar behind a backslash is no border, also in code.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in row.chars() {
        if c == '|' && !is_escaped {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            if c == '|' {
                cell.pop();
            }
            cell.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    // What follows the last bar is no cell.
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// All cells as lines, broken where the table would be too wide. Where there
/// are too many columns for that, the terminal may break lines itself.
fn fit(rows: &[Vec<String>], columns: usize, room: Option<usize>) -> Vec<Vec<Vec<String>>> {
    let draw = |widths: &[Option<usize>]| -> Vec<Vec<Vec<String>>> {
        let row = |(number, row): (usize, &Vec<String>)| {
            let style = if number == 0 { BOLD } else { Style::new() };
            let cell = |column: usize| {
                cell_lines(row.get(column).map_or("", String::as_str), widths[column], style)
            };
            (0..columns).map(cell).collect()
        };
        rows.iter().enumerate().map(row).collect()
    };
    let free = draw(&vec![None; columns]);
    let widths: Vec<usize> = (0..columns).map(|column| column_width(&free, column)).collect();
    let between = BETWEEN.width() * (columns - 1);
    let Some(room) = room.map(|room| room.saturating_sub(between)) else { return free };
    if widths.iter().sum::<usize>() <= room || room < columns * LEAST_COLUMN {
        return free;
    }
    let cap = (LEAST_COLUMN..=room)
        .rev()
        .find(|cap| widths.iter().map(|width| *width.min(cap)).sum::<usize>() <= room)
        .unwrap_or(LEAST_COLUMN);
    draw(&widths.iter().map(|width| Some(*width.min(&cap))).collect::<Vec<_>>())
}

/// A cell's text with its marks drawn, in lines.
fn cell_lines(text: &str, width: Option<usize>, style: Style) -> Vec<String> {
    let mut lines = LineWriter::new(width);
    let mut inline = InlineParser::new(style);
    for c in text.chars().chain([LINE_END]) {
        inline.push(c).iter().for_each(|span| lines.write(span));
    }
    lines.end();
    lines.take().lines().map(str::to_owned).collect()
}

fn column_width(rows: &[Vec<Vec<String>>], column: usize) -> usize {
    rows.iter().flat_map(|row| &row[column]).map(|line| drawn_width(line)).max().unwrap_or(0)
}

/// The columns that a drawn text takes; its colours take none.
fn drawn_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

/// One line of a row.
fn row_line(row: &[Vec<String>], line: usize, widths: &[usize], sides: &[Alignment]) -> String {
    let cell = |column: usize| {
        let text = row[column].get(line).map_or("", String::as_str);
        let free = widths[column].saturating_sub(drawn_width(text));
        let before = match sides.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            _ => 0,
        };
        // Nothing stands behind the last column.
        let after = if column + 1 == widths.len() { 0 } else { free - before };
        format!("{}{text}{}", " ".repeat(before), " ".repeat(after))
    };
    let cells: Vec<String> = (0..widths.len()).map(cell).collect();
    cells.join(&format!("{DIM}{BETWEEN}{DIM:#}"))
}

fn ruler_line(widths: &[usize]) -> String {
    let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    format!("{DIM}{}{DIM:#}", lines.join("─┼─"))
}
