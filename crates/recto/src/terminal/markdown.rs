//! Markdown as it comes from a model, drawn while it streams.
//!
//! A text is read once, character by character, so that how it was cut into
//! pieces makes no difference. Only what is not decided yet is held back: the
//! beginning of a line until it is clear what the line is, a mark until it is
//! clear whether it has another half, a table until it ends, and, where lines
//! are broken at a width, a word until it ends. Nothing but a table is held for
//! longer than its line.
//!
//! This is not all of `CommonMark`. Line breaks stay where the model put them,
//! marks don't reach over line ends, and what is not known (HTML, footnotes,
//! references) is shown as it was written: a word is never lost.
//!
//! What the model wrote can't drive the terminal: characters that would are made
//! visible before they are looked at.

mod inline;
mod line;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod wrap;

use anstyle::{AnsiColor, Style};
use recto_context::{Reveal, reveal_char};

use super::OutputStyle;
use inline::InlineParser;
use line::{CodeFence, CodeLine, LineKind, LineStart};
use wrap::{LineWriter, StyledSpan, total_width};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const CODE: Style = AnsiColor::Cyan.on_default();

const LINE_END: char = '\n';

/// How far code stands to the right of the text around it.
const CODE_INDENT: usize = 4;

/// The narrowest terminal that lines are broken for. On a narrower one nothing
/// looks well, and the terminal breaks lines by itself.
const LEAST_WIDTH: usize = 20;

/// The most of a line's beginning, in bytes, that is held back undecided.
const MAX_HELD: usize = 300;

/// The most bars that are drawn before a quoted line.
const MAX_QUOTES: usize = 8;

/// The length of a rule where the width is not known.
const RULE: usize = 24;

/// Draws Markdown while it streams, one text at a time. After [`finish`](Self::finish) it is ready for the next.
#[derive(Debug)]
pub(crate) struct MarkdownRenderer {
    styled: OutputStyle,
    width: Option<usize>,
    lines: LineWriter,
    inline: InlineParser,
    state: LineState,
    /// The code block that the text is in.
    fence: Option<CodeFence>,
    /// The rows of a table that has not ended.
    table: Option<TableRows>,
    /// Whether the last character was a carriage return, which belongs to the
    /// line break if one follows.
    after_return: bool,
    /// The last character, which others may be joined to.
    previous: Option<char>,
}

/// Where in a line the reader is.
#[derive(Debug)]
enum LineState {
    /// At its beginning, which was not enough so far to tell what it is.
    Start(String),
    Text,
    /// In a line that may be a row of a table.
    Row(LineStart, String),
    /// In a line of code.
    Code,
}

/// Lines that look like rows of a table.
#[derive(Debug)]
struct TableRows {
    start: LineStart,
    rows: Vec<String>,
}

impl MarkdownRenderer {
    /// A renderer for a terminal of that width, or for one whose width nobody
    /// knows, where no lines are broken.
    pub(crate) fn new(width: Option<usize>, styled: OutputStyle) -> Self {
        let width = width.filter(|width| *width >= LEAST_WIDTH);
        MarkdownRenderer {
            styled,
            width,
            lines: LineWriter::new(width),
            inline: InlineParser::default(),
            state: LineState::Start(String::new()),
            fence: None,
            table: None,
            after_return: false,
            previous: None,
        }
    }

    /// The terminal is that wide from now on.
    pub(crate) fn set_width(&mut self, width: Option<usize>) {
        self.width = width.filter(|width| *width >= LEAST_WIDTH);
        self.lines.set_width(self.width);
    }

    /// Takes the next piece of the text and gives what can be printed now. When
    /// the text is not styled, that is the piece itself.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if self.styled == OutputStyle::No {
            return text.to_owned();
        }
        for c in text.chars() {
            self.read(c);
        }
        self.lines.take()
    }

    /// Gives what was held back. A line that was begun is ended: what is printed
    /// next stands on a line of its own. When the text is not styled, there is
    /// nothing to give.
    pub(crate) fn finish(&mut self) -> String {
        if !matches!(&self.state, LineState::Start(held) if held.is_empty()) {
            self.step(LINE_END);
        }
        self.draw_table();
        self.fence = None;
        self.after_return = false;
        self.previous = None;
        self.lines.take()
    }

    /// One character as the model wrote it.
    fn read(&mut self, c: char) {
        let after_return = std::mem::replace(&mut self.after_return, c == '\r');
        if after_return && c != LINE_END {
            self.read_visible('\r');
        }
        if c != '\r' {
            self.read_visible(c);
        }
    }

    fn read_visible(&mut self, c: char) {
        let mut shown = String::new();
        reveal_char(c, self.previous.replace(c), Reveal::Lines, &mut shown);
        self.step_over(&shown);
    }

    fn step_over(&mut self, text: &str) {
        text.chars().for_each(|c| self.step(c));
    }

    /// One character that is safe to show.
    fn step(&mut self, c: char) {
        match (&mut self.state, c) {
            (LineState::Start(held), _) => {
                held.push(c);
                self.decide();
            }
            (LineState::Text, _) => {
                self.inline.push(c).iter().for_each(|span| self.lines.write(span));
                if c == LINE_END {
                    self.end_line();
                }
            }
            (LineState::Row(..), LINE_END) => self.end_row(),
            (LineState::Row(_, row), _) => row.push(c),
            (LineState::Code, LINE_END) => self.end_line(),
            (LineState::Code, _) => self.lines.push_text(c.encode_utf8(&mut [0; 4]), CODE),
        }
    }

    fn end_line(&mut self) {
        self.lines.end();
        self.next_line();
    }

    /// Goes to the start of the next line.
    fn next_line(&mut self) -> LineState {
        std::mem::replace(&mut self.state, LineState::Start(String::new()))
    }

    /// Looks at the beginning of a line once more, now that there is more of it.
    fn decide(&mut self) {
        let LineState::Start(held) = self.next_line() else { return };
        let is_decided = match self.fence {
            Some(fence) => self.decide_in_code(&held, &fence),
            None => self.decide_in_text(&held),
        };
        if !is_decided {
            self.state = LineState::Start(held);
        }
    }

    fn decide_in_code(&mut self, held: &str, fence: &CodeFence) -> bool {
        match line::read_code(held, fence) {
            Some(CodeLine::Text(code)) => self.begin_code(fence, code),
            Some(CodeLine::Close) => self.fence = None,
            // The quote is over, and so is the code in it.
            Some(CodeLine::Outside) => {
                self.fence = None;
                return self.decide_in_text(held);
            }
            None if held.len() > MAX_HELD => self.begin_code(fence, held),
            None => return false,
        }
        true
    }

    fn decide_in_text(&mut self, held: &str) -> bool {
        match line::read_start(held) {
            Some((start, kind, rest)) => self.begin(start, kind, rest),
            // What takes so long to tell is none of the things that are looked for.
            None if held.len() > MAX_HELD => {
                self.begin(LineStart::default(), LineKind::Text, held);
            }
            None => return false,
        }
        true
    }

    /// Begins a line of which `rest` is what follows the marks of its beginning.
    fn begin(&mut self, start: LineStart, kind: LineKind, rest: &str) {
        if kind != LineKind::Row {
            self.draw_table();
        }
        match kind {
            LineKind::Row => {
                self.state = LineState::Row(start, String::new());
                self.step_over(rest);
            }
            LineKind::Fence { mark, length } => self.begin_fence(&start, mark, length, rest.trim()),
            LineKind::Rule => self.draw_rule(&start),
            LineKind::Heading => self.begin_text(&start, BOLD, rest),
            LineKind::Text => self.begin_text(&start, Style::new(), rest),
        }
    }

    fn draw_rule(&mut self, start: &LineStart) {
        let (first, _) = self.prefix(start);
        let length = self.room(&first).unwrap_or(RULE);
        self.lines.begin(first, Vec::new());
        self.lines.push_text(&"─".repeat(length), DIM);
        self.lines.end();
    }

    fn begin_text(&mut self, start: &LineStart, style: Style, rest: &str) {
        let (first, hang) = self.prefix(start);
        self.lines.begin(first, hang);
        self.inline = InlineParser::new(style);
        self.state = LineState::Text;
        self.step_over(rest);
    }

    /// A fence shows its language, if it names one; its other half shows nothing.
    fn begin_fence(&mut self, start: &LineStart, mark: char, length: usize, info: &str) {
        let indent = start.indent + start.marker_width();
        self.fence = Some(CodeFence { mark, length, quotes: start.quotes, indent });
        if info.is_empty() && start.marker.is_none() {
            return;
        }
        let (first, _) = self.prefix(start);
        self.lines.begin(first, Vec::new());
        if !info.is_empty() {
            self.lines.push_text(&" ".repeat(CODE_INDENT), Style::new());
            self.lines.push_text(info, DIM);
        }
        self.lines.end();
    }

    fn begin_code(&mut self, fence: &CodeFence, code: &str) {
        let indent = self.indent(fence.indent) + CODE_INDENT;
        let mut first = bars(fence.quotes);
        first.push(StyledSpan::blank(indent));
        self.lines.begin(first, Vec::new());
        self.state = LineState::Code;
        self.step_over(code);
    }

    /// Keeps a row until it is known whether it belongs to a table: the second
    /// row must be the one that draws the line below the heading.
    fn end_row(&mut self) {
        let LineState::Row(start, row) = self.next_line() else { return };
        if let Some(table) = &mut self.table
            && table.start.quotes == start.quotes
            && (table.rows.len() > 1 || table::is_ruler(&row))
        {
            table.rows.push(row);
            return;
        }
        self.draw_table();
        self.table = Some(TableRows { start, rows: vec![row] });
    }

    /// Draws the rows that were kept: as a table, if they are one.
    fn draw_table(&mut self) {
        let Some(TableRows { start, rows }) = self.table.take() else { return };
        let (first, _) = self.prefix(&start);
        match table::draw(&rows, self.room(&first)) {
            Some(drawn) => {
                for line in drawn {
                    self.lines.begin(first.clone(), Vec::new());
                    self.lines.push_text(&line, Style::new());
                    self.lines.end();
                }
            }
            None => {
                for row in rows {
                    self.begin_text(&start, Style::new(), &format!("{row}{LINE_END}"));
                }
            }
        }
    }

    /// What a line begins with, and what the lines that it is broken into do.
    fn prefix(&self, start: &LineStart) -> (Vec<StyledSpan>, Vec<StyledSpan>) {
        let mut first = bars(start.quotes);
        let mut hang = first.clone();
        let indent = self.indent(start.indent);
        first.push(StyledSpan::blank(indent));
        if let Some(marker) = &start.marker {
            // Lists within lists have another bullet.
            let drawn = match marker.as_str() {
                "-" | "*" | "+" if indent < 2 => "•",
                "-" | "*" | "+" => "◦",
                number => number,
            };
            first.push(StyledSpan::new(format!("{drawn} "), Style::new()));
        }
        hang.push(StyledSpan::blank(indent + start.marker_width()));
        (first, hang)
    }

    /// How many columns are left behind the beginning of a line.
    fn room(&self, first: &[StyledSpan]) -> Option<usize> {
        self.width.map(|width| width.saturating_sub(total_width(first)))
    }

    /// An indentation that leaves room for text.
    fn indent(&self, indent: usize) -> usize {
        indent.min(self.width.unwrap_or(2 * MAX_HELD) / 2)
    }
}

fn bars(quotes: usize) -> Vec<StyledSpan> {
    vec![StyledSpan::new("│ ".to_owned(), DIM); quotes.min(MAX_QUOTES)]
}
