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
mod wrap;

use anstyle::{AnsiColor, Style};

use super::Styled;
use crate::output::tame_lines;
use inline::Inline;
use line::{CodeLine, Fence, Kind, Marker, Start, Tail};
use wrap::{Lines, Span};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const CODE: Style = AnsiColor::Cyan.on_default();

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

/// Draws one text. After [`finish`](Self::finish) it is ready for the next.
#[derive(Debug)]
pub(crate) struct Renderer {
    styled: Styled,
    width: Option<usize>,
    lines: Lines,
    inline: Inline,
    state: State,
    /// The code block that the text is in.
    fence: Option<Fence>,
    /// The rows of a table that has not ended.
    table: Option<Rows>,
    /// Whether the last character was a carriage return, which belongs to the
    /// line break if one follows.
    after_return: bool,
}

/// Where in a line the reader is.
#[derive(Debug)]
enum State {
    /// At its beginning, which was not enough so far to tell what it is.
    Start(String),
    /// In running text.
    Text,
    /// In a line that may be a row of a table.
    Row(Start, String),
    /// In a line of code.
    Code,
}

/// Lines that look like rows of a table.
#[derive(Debug)]
struct Rows {
    start: Start,
    rows: Vec<String>,
}

impl Renderer {
    /// A renderer for a terminal of that width, or for one whose width nobody
    /// knows, where no lines are broken.
    pub(crate) fn new(width: Option<usize>, styled: Styled) -> Self {
        let width = width.filter(|width| *width >= LEAST_WIDTH);
        Renderer {
            styled,
            width,
            lines: Lines::new(width),
            inline: Inline::default(),
            state: State::Start(String::new()),
            fence: None,
            table: None,
            after_return: false,
        }
    }

    /// Takes the next piece of the text and gives what can be printed now. When
    /// the text is not styled, that is the piece itself.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if self.styled == Styled::No {
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
        match std::mem::replace(&mut self.state, State::Start(String::new())) {
            State::Start(held) if !held.is_empty() => {
                self.state = State::Start(held);
                self.decide(Tail::Ended);
            }
            State::Start(_) => {}
            State::Text => self.end_text(),
            State::Row(start, row) => self.end_row(start, row),
            State::Code => self.lines.end(),
        }
        self.draw_table();
        self.fence = None;
        self.after_return = false;
        self.lines.take()
    }

    /// One character as the model wrote it.
    fn read(&mut self, c: char) {
        let after_return = std::mem::replace(&mut self.after_return, c == '\r');
        if after_return && c != '\n' {
            self.read_visible('\r');
        }
        if c != '\r' {
            self.read_visible(c);
        }
    }

    fn read_visible(&mut self, c: char) {
        for c in tame_lines(c.encode_utf8(&mut [0; 4])).chars() {
            self.step(c);
        }
    }

    /// One character that is safe to show.
    fn step(&mut self, c: char) {
        match &mut self.state {
            State::Start(_) if c == '\n' => self.decide(Tail::Ended),
            State::Start(held) => {
                held.push(c);
                self.decide(Tail::Open);
            }
            State::Text if c == '\n' => self.end_text(),
            State::Text => self.write_text(c),
            State::Row(..) if c == '\n' => {
                if let State::Row(start, row) = self.next_line() {
                    self.end_row(start, row);
                }
            }
            State::Row(_, row) => row.push(c),
            State::Code if c == '\n' => {
                self.lines.end();
                self.next_line();
            }
            State::Code => self.lines.put(c.encode_utf8(&mut [0; 4]), CODE),
        }
    }

    /// Goes to the start of the next line.
    fn next_line(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Start(String::new()))
    }

    /// Looks at the beginning of a line once more, now that there is more of it.
    fn decide(&mut self, tail: Tail) {
        let State::Start(held) = self.next_line() else { return };
        match self.fence {
            Some(fence) => self.decide_in_code(held, tail, &fence),
            None => self.decide_in_text(held, tail),
        }
    }

    fn decide_in_code(&mut self, held: String, tail: Tail, fence: &Fence) {
        match line::in_code(&held, tail, fence) {
            Some(CodeLine::Text { rest }) => self.begin_code(fence, &held[rest..], tail),
            Some(CodeLine::Close) => self.fence = None,
            // The quote is over, and so is the code in it.
            Some(CodeLine::Left) => {
                self.fence = None;
                self.decide_in_text(held, tail);
            }
            None if held.len() > MAX_HELD => self.begin_code(fence, &held, tail),
            None => self.state = State::Start(held),
        }
    }

    fn decide_in_text(&mut self, held: String, tail: Tail) {
        match line::start(&held, tail) {
            Some(start) => {
                let rest = start.rest;
                self.begin(start, &held[rest..], tail);
            }
            // What takes so long to tell is none of the things that are looked for.
            None if held.len() > MAX_HELD => self.begin(Start::plain(), &held, tail),
            None => self.state = State::Start(held),
        }
    }

    /// Begins a line of which `rest` is what follows the marks of its beginning.
    fn begin(&mut self, start: Start, rest: &str, tail: Tail) {
        if start.kind != Kind::Row {
            self.draw_table();
        }
        match (start.kind, tail) {
            (Kind::Row, Tail::Open) => self.state = State::Row(start, rest.to_owned()),
            (Kind::Row, Tail::Ended) => self.end_row(start, rest.to_owned()),
            (Kind::Fence { mark, length }, _) => self.begin_fence(&start, mark, length, rest),
            (Kind::Rule, _) => self.draw_rule(&start),
            (Kind::Heading, _) => self.begin_text(&start, rest, BOLD, tail),
            (Kind::Text | Kind::Blank, _) => self.begin_text(&start, rest, Style::new(), tail),
        }
    }

    fn draw_rule(&mut self, start: &Start) {
        let (first, _) = self.prefix(start);
        let length = self.room(&first).unwrap_or(RULE);
        self.lines.begin(first, Vec::new());
        self.lines.put(&"─".repeat(length), DIM);
        self.lines.end();
    }

    fn begin_text(&mut self, start: &Start, rest: &str, style: Style, tail: Tail) {
        let (first, hang) = self.prefix(start);
        self.lines.begin(first, hang);
        self.inline.begin(style);
        self.state = State::Text;
        rest.chars().for_each(|c| self.write_text(c));
        if tail == Tail::Ended {
            self.end_text();
        }
    }

    fn write_text(&mut self, c: char) {
        for span in self.inline.push(c) {
            self.lines.write(&span);
        }
    }

    fn end_text(&mut self) {
        for span in self.inline.end() {
            self.lines.write(&span);
        }
        self.lines.end();
        self.next_line();
    }

    /// A fence shows its language, if it names one; its other half shows nothing.
    fn begin_fence(&mut self, start: &Start, mark: char, length: usize, info: &str) {
        let indent = start.indent + start.marker.as_ref().map_or(0, Marker::width);
        self.fence = Some(Fence { mark, length, quotes: start.quotes, indent });
        let info = info.trim();
        if info.is_empty() && start.marker.is_none() {
            return;
        }
        let (first, _) = self.prefix(start);
        self.lines.begin(first, Vec::new());
        if !info.is_empty() {
            self.lines.put(&" ".repeat(CODE_INDENT), Style::new());
            self.lines.put(info, DIM);
        }
        self.lines.end();
    }

    fn begin_code(&mut self, fence: &Fence, code: &str, tail: Tail) {
        let indent = self.indent(fence.indent) + CODE_INDENT;
        let mut first = bars(fence.quotes);
        first.push(Span::new(" ".repeat(indent), Style::new()));
        self.lines.begin(first, Vec::new());
        self.lines.put(code, CODE);
        match tail {
            Tail::Ended => self.lines.end(),
            Tail::Open => self.state = State::Code,
        }
    }

    /// Keeps a row until it is known whether it belongs to a table: the second
    /// row must be the one that draws the line below the heading.
    fn end_row(&mut self, start: Start, row: String) {
        if let Some(table) = &mut self.table
            && table.start.quotes == start.quotes
            && (table.rows.len() > 1 || table::is_ruler(&row))
        {
            table.rows.push(row);
            return;
        }
        self.draw_table();
        self.table = Some(Rows { start, rows: vec![row] });
    }

    /// Draws the rows that were kept: as a table, if they are one.
    fn draw_table(&mut self) {
        let Some(Rows { start, rows }) = self.table.take() else { return };
        let (first, _) = self.prefix(&start);
        match table::draw(&rows, self.room(&first)) {
            Some(drawn) => {
                for line in drawn {
                    self.lines.begin(first.clone(), Vec::new());
                    self.lines.put(&line, Style::new());
                    self.lines.end();
                }
            }
            None => {
                for row in &rows {
                    self.begin_text(&start, row, Style::new(), Tail::Ended);
                }
            }
        }
    }

    /// What a line begins with, and what the lines that it is broken into do.
    fn prefix(&self, start: &Start) -> (Vec<Span>, Vec<Span>) {
        let plain = |text: String| Span::new(text, Style::new());
        let mut first = bars(start.quotes);
        let mut hang = first.clone();
        let indent = self.indent(start.indent);
        first.push(plain(" ".repeat(indent)));
        let marker = start.marker.as_ref();
        if let Some(marker) = marker {
            first.push(plain(marker.drawn(indent)));
        }
        hang.push(plain(" ".repeat(indent + marker.map_or(0, Marker::width))));
        (first, hang)
    }

    /// How many columns are left behind the beginning of a line.
    fn room(&self, first: &[Span]) -> Option<usize> {
        let taken: usize = first.iter().map(Span::width).sum();
        self.width.map(|width| width.saturating_sub(taken))
    }

    /// An indentation that leaves room for text.
    fn indent(&self, indent: usize) -> usize {
        indent.min(self.width.unwrap_or(2 * MAX_HELD) / 2)
    }
}

fn bars(quotes: usize) -> Vec<Span> {
    vec![Span::new("│ ".to_owned(), DIM); quotes.min(MAX_QUOTES)]
}
