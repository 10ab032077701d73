//! The picture of the README: what the binary draws in a terminal, made into an image.
//!
//! Nothing of it is written by hand: the commands are run, what they print is read as a terminal
//! reads it, and only times are replaced by one that stays. `UPDATE_EXPECT=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use expect_test::expect_file;

use crate::pty::Pty;
use crate::screen::{CellStyle, Screen, ScreenCell};
use crate::support::*;

const COLUMNS: u16 = 84;
const ROWS: u16 = 80;

/// Where the workspace is found: the page names it, so that the counts would be others elsewhere.
const WORKSPACE: &str = "/tmp/recto-picture-of-the-readme";

/// What the model is, and what it says.
const MODEL: &str =
    "[models.local]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 8192\n";
const TALK: &str = concat!(
    r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"garden.md"}}],"#,
    r#""usage":{"prompt":831,"cached":0,"completion":19}}"#,
    "\n",
    r#"{"content":"You meet on **Thursday at six**, in the greenhouse. "#,
    r#"The list of seeds is still open:\n\n| seed | wanted |\n|---|---|\n"#,
    r#"| beans | 4 |\n| kale | 2 |\n","usage":{"prompt":945,"cached":850,"completion":58}}"#,
);
const GARDEN: &str = "Thursday, six, greenhouse.\nOpen: the list of seeds (beans, kale)\n";
const MEMORY: &str = "# Memory\n\n## 2026-11-16\n- Likes short answers.\n";

const COMMANDS: [&[&str]; 2] =
    [&["chat", "-m", "When do we meet, and what is open?"], &["show", "last"]];

/// The time that stands for all times.
const A_TIME: &str = "2026-11-16 14:42";

/// Promise: `examples-run`
#[test]
fn the_picture_of_the_readme_is_what_the_binary_draws() {
    let home = Home::ready();
    let _link = WorkspaceLink::new(&home);
    home.write("config.toml", format!("[agents.main]\nworkspace = \"{WORKSPACE}\"\n{MODEL}"));
    home.write("talk.jsonl", TALK);
    home.write("workspace/garden.md", GARDEN);
    home.write("workspace/memory/MEMORY.md", MEMORY);
    let mut rows = Vec::new();
    for arguments in COMMANDS {
        if !rows.is_empty() {
            rows.push(Vec::new());
        }
        rows.push(typed(arguments));
        rows.extend(drawn(&home, arguments));
    }
    expect_file!["../../../../docs/chat.svg"].assert_eq(&image(&rows));
}

/// A name for the home's workspace that is the same in every run, for as long as this lives.
struct WorkspaceLink;

impl WorkspaceLink {
    fn new(home: &Home) -> Self {
        // One that was left by a run that was killed.
        let _ = fs::remove_file(WORKSPACE);
        symlink(home.path("workspace"), WORKSPACE).unwrap();
        WorkspaceLink
    }
}

impl Drop for WorkspaceLink {
    fn drop(&mut self) {
        let _ = fs::remove_file(WORKSPACE);
    }
}

/// The line in which a person typed a command.
fn typed(arguments: &[&str]) -> Vec<ScreenCell> {
    let quoted = |word: &&str| match word.contains(' ') {
        true => format!("\"{word}\""),
        false => (*word).to_owned(),
    };
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    let style = CellStyle { bold: true, ..CellStyle::default() };
    let line = format!("$ recto {}", words.join(" "));
    line.chars().map(|c| ScreenCell { text: c.to_string(), style }).collect()
}

/// What a command leaves on the screen, with one time for all.
fn drawn(home: &Home, arguments: &[&str]) -> Vec<Vec<ScreenCell>> {
    let mut screen = Screen::new(COLUMNS.into(), ROWS.into());
    screen.write(&Pty::open(COLUMNS, ROWS).record(home, arguments, &[]));
    assert!(!screen.text().contains("error: "), "{}", screen.text());
    let mut rows = screen.rows().to_vec();
    rows.iter_mut().for_each(|row| set_times(row));
    rows
}

/// Puts one time in place of every time in a row; it is as long as each.
fn set_times(row: &mut [ScreenCell]) {
    let same_form = |cell: &ScreenCell, form: char| match form.is_ascii_digit() {
        true => cell.text.bytes().all(|byte| byte.is_ascii_digit()),
        false => cell.text == form.to_string(),
    };
    for start in 0..(row.len() + 1).saturating_sub(A_TIME.len()) {
        let place = &mut row[start..start + A_TIME.len()];
        if place.iter().zip(A_TIME.chars()).all(|(cell, form)| same_form(cell, form)) {
            place.iter_mut().zip(A_TIME.chars()).for_each(|(cell, c)| cell.text = c.to_string());
        }
    }
}

/// How wide a column and how high a row is, and what is left free around them.
const COLUMN: f64 = 7.8;
const ROW: usize = 18;
const MARGIN: usize = 20;
const TOP: usize = 50;

/// Rows of a terminal as an image, with the terminal's window around them.
fn image(rows: &[Vec<ScreenCell>]) -> String {
    let width = 2 * MARGIN + (f64::from(COLUMNS) * COLUMN) as usize;
    let height = TOP + rows.len() * ROW;
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"recto chat and recto show in a terminal\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (place, colour) in [(20, "#ff5f57"), (36, "#febc2e"), (52, "#28c840")] {
        let _ = writeln!(image, "<circle cx=\"{place}\" cy=\"18\" r=\"5\" fill=\"{colour}\"/>");
    }
    image.push_str(
        "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" \
         font-size=\"13\" fill=\"#c9d1d9\">\n",
    );
    for (number, row) in rows.iter().enumerate() {
        let spans = spans(row);
        if !spans.is_empty() {
            let _ = writeln!(image, "<text y=\"{}\">{spans}</text>", TOP + number * ROW);
        }
    }
    image + "</g>\n</svg>\n"
}

/// A row, in pieces of one style, each at its place.
fn spans(row: &[ScreenCell]) -> String {
    let mut spans = String::new();
    let mut column = 0;
    for stretch in row.chunk_by(|a, b| a.style == b.style) {
        let look = attributes(stretch[0].style);
        for (at, text) in pieces(stretch) {
            let x = MARGIN as f64 + (column + at) as f64 * COLUMN;
            let _ = write!(spans, "<tspan x=\"{x:.1}\"{look}>{}</tspan>", escape(&text));
        }
        column += stretch.len();
    }
    spans
}

/// What stands between gaps, with where it begins: browsers make one blank of several.
fn pieces(cells: &[ScreenCell]) -> Vec<(usize, String)> {
    let mut pieces: Vec<(usize, String)> = Vec::new();
    let mut blanks = 0;
    for (at, cell) in cells.iter().enumerate() {
        if cell.text == " " {
            blanks += 1;
            continue;
        }
        match pieces.last_mut() {
            Some((_, piece)) if blanks < 2 => {
                piece.push_str(&" ".repeat(blanks));
                piece.push_str(&cell.text);
            }
            _ => pieces.push((at, cell.text.clone())),
        }
        blanks = 0;
    }
    pieces
}

fn attributes(style: CellStyle) -> String {
    let colour = match style.colour {
        Some(31) => "#ff7b72",
        Some(32) => "#7ee787",
        Some(33) => "#e3b341",
        Some(34) => "#79c0ff",
        Some(35) => "#d2a8ff",
        Some(36) => "#56d4dd",
        Some(92) => "#aff5b4",
        Some(93) => "#f2cc60",
        Some(95) => "#f778ba",
        Some(96) => "#a5f3fc",
        Some(90) => "#8b949e",
        Some(other) => panic!("the picture has no colour for {other}"),
        None if style.dim => "#8b949e",
        None => "",
    };
    let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
    match colour {
        "" => weight.to_owned(),
        colour => format!("{weight} fill=\"{colour}\""),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
