//! What a line is, told by its beginning.
//!
//! Pure functions over what has come of a line so far. Where that is not enough
//! they say so with `None`, and are asked again when there is more.

/// Whether more of the line may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// More may come.
    Open,
    /// This is all of it.
    Ended,
}

/// The beginning of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// How many `>` stand before it.
    pub(super) quotes: usize,
    /// How many columns it is moved to the right.
    pub(super) indent: usize,
    /// What makes it an item of a list.
    pub(super) marker: Option<Marker>,
    /// What it is.
    pub(super) kind: Kind,
    /// Where the rest begins, in bytes.
    pub(super) rest: usize,
}

impl Start {
    /// A line without any marks.
    pub(super) fn plain() -> Self {
        Start { quotes: 0, indent: 0, marker: None, kind: Kind::Text, rest: 0 }
    }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    Text,
    Heading,
    Rule,
    /// A line that begins with `|`.
    Row,
    /// The first line of a code block; the rest names the language.
    Fence {
        mark: char,
        length: usize,
    },
}

/// The mark of a list's item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marker {
    Bullet,
    /// With its dot or bracket.
    Number(String),
}

impl Marker {
    /// How many columns it takes, with the space behind it.
    pub(super) fn width(&self) -> usize {
        match self {
            Marker::Bullet => 2,
            Marker::Number(number) => number.len() + 1,
        }
    }

    /// As people see it; lists within lists have another bullet.
    pub(super) fn drawn(&self, indent: usize) -> String {
        match self {
            Marker::Bullet if indent < 2 => "• ".to_owned(),
            Marker::Bullet => "◦ ".to_owned(),
            Marker::Number(number) => format!("{number} "),
        }
    }
}

/// The fence that a code block began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) length: usize,
    /// How many `>` stood before it.
    pub(super) quotes: usize,
    /// How far it was moved to the right; the code moves back as far.
    pub(super) indent: usize,
}

/// What a line in a code block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeLine {
    /// Code, from this byte on.
    Text { rest: usize },
    /// The fence that ends the block.
    Close,
    /// No code: the quote that the block stood in has ended.
    Left,
}

/// What a line is that stands outside of code.
pub(super) fn start(line: &str, tail: Tail) -> Option<Start> {
    let mut cursor = Cursor { line, at: 0, tail };
    let quotes = cursor.quotes()?;
    let indent = cursor.spaces()?;
    let (marker, kind) = match cursor.is_rule()? {
        true => (None, Kind::Rule),
        false => {
            let marker = cursor.marker()?;
            let kind = cursor.kind(marker.as_ref())?;
            (marker, kind)
        }
    };
    Some(Start { quotes, indent, marker, kind, rest: cursor.at })
}

/// What a line is that stands in a code block.
pub(super) fn in_code(line: &str, tail: Tail, fence: &Fence) -> Option<CodeLine> {
    let mut cursor = Cursor { line, at: 0, tail };
    for _ in 0..fence.quotes {
        if !cursor.quote()? {
            return Some(CodeLine::Left);
        }
    }
    let body = cursor.at;
    let spaces = cursor.run(' ')?;
    if cursor.run(fence.mark)? >= fence.length {
        cursor.spaces()?;
        if cursor.peek()? == LINE_END {
            return Some(CodeLine::Close);
        }
    }
    Some(CodeLine::Text { rest: body + spaces.min(fence.indent) })
}

const LINE_END: char = '\n';

/// A place in a line. Every look ahead is `None` where the line has not come
/// that far.
struct Cursor<'a> {
    line: &'a str,
    at: usize,
    tail: Tail,
}

impl Cursor<'_> {
    /// The next character; at the end of the line a line break.
    fn peek(&self) -> Option<char> {
        match (self.line[self.at..].chars().next(), self.tail) {
            (None, Tail::Ended) => Some(LINE_END),
            (next, _) => next,
        }
    }

    /// Steps over the next character, which was looked at.
    fn step(&mut self) {
        self.at += self.line[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    /// Steps over all of one character and counts them.
    fn run(&mut self, mark: char) -> Option<usize> {
        let start = self.at;
        while self.peek()? == mark {
            self.step();
        }
        Some(self.at - start)
    }

    /// Steps over blanks and gives their columns.
    fn spaces(&mut self) -> Option<usize> {
        let mut columns = 0;
        loop {
            columns += match self.peek()? {
                ' ' => 1,
                '\t' => 4,
                _ => return Some(columns),
            };
            self.step();
        }
    }

    fn quotes(&mut self) -> Option<usize> {
        let mut quotes = 0;
        while self.quote()? {
            quotes += 1;
        }
        Some(quotes)
    }

    /// Steps over a `>` and the space that belongs to it, if they are next.
    fn quote(&mut self) -> Option<bool> {
        let start = self.at;
        self.spaces()?;
        if self.peek()? != '>' {
            self.at = start;
            return Some(false);
        }
        self.step();
        if self.peek()? == ' ' {
            self.step();
        }
        Some(true)
    }

    /// Whether all the rest is three or more of the same mark.
    fn is_rule(&mut self) -> Option<bool> {
        let mark = self.peek()?;
        if !matches!(mark, '-' | '*' | '_') {
            return Some(false);
        }
        let (start, mut marks) = (self.at, 0);
        loop {
            match self.peek()? {
                LINE_END if marks >= 3 => return Some(true),
                ' ' => {}
                c if c == mark => marks += 1,
                _ => {
                    self.at = start;
                    return Some(false);
                }
            }
            self.step();
        }
    }

    /// Steps over the mark of a list's item and the blanks behind it.
    fn marker(&mut self) -> Option<Option<Marker>> {
        let start = self.at;
        let digits = self.digits()?;
        let marker = match self.peek()? {
            '-' | '*' | '+' if digits == 0 => {
                self.step();
                Marker::Bullet
            }
            '.' | ')' if (1..=9).contains(&digits) => {
                self.step();
                Marker::Number(self.line[start..self.at].to_owned())
            }
            _ => {
                self.at = start;
                return Some(None);
            }
        };
        if !matches!(self.peek()?, ' ' | '\t' | LINE_END) {
            self.at = start;
            return Some(None);
        }
        self.spaces()?;
        Some(Some(marker))
    }

    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        while self.peek()?.is_ascii_digit() {
            self.step();
        }
        Some(self.at - start)
    }

    /// What the line is behind its marks. Steps over what belongs to that alone.
    fn kind(&mut self, marker: Option<&Marker>) -> Option<Kind> {
        let start = self.at;
        let kind = match self.peek()? {
            LINE_END => Some(Kind::Blank),
            '|' if marker.is_none() => Some(Kind::Row),
            '#' => self.heading()?,
            mark @ ('`' | '~') => self.fence(mark)?,
            _ => None,
        };
        if kind.is_none() {
            self.at = start;
        }
        Some(kind.unwrap_or(Kind::Text))
    }

    fn heading(&mut self) -> Option<Option<Kind>> {
        let level = self.run('#')?;
        let is_heading = level <= 6 && matches!(self.peek()?, ' ' | '\t' | LINE_END);
        if is_heading {
            self.spaces()?;
        }
        Some(is_heading.then_some(Kind::Heading))
    }

    /// A fence is known only when its line has ended: if another backtick comes,
    /// it was code within a line.
    fn fence(&mut self, mark: char) -> Option<Option<Kind>> {
        let length = self.run(mark)?;
        if length < 3 {
            return Some(None);
        }
        if mark == '`' && self.line[self.at..].contains('`') {
            return Some(None);
        }
        (self.tail == Tail::Ended).then_some(Some(Kind::Fence { mark, length }))
    }
}
