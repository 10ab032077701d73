//! What a line is, told by its beginning.
//!
//! Pure functions over what has come of a line so far, with the line break when
//! it has ended. Where that is not enough they say so with `None`, and are asked
//! again when there is more.

use super::LINE_END;

/// The beginning of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineStart {
    /// How many `>` stand before it.
    pub(super) quotes: usize,
    /// How many columns it is moved to the right.
    pub(super) indent: usize,
    /// What makes it an item of a list, such as `-` or `2.`.
    pub(super) marker: Option<String>,
}

impl LineStart {
    /// How many columns the item's mark takes, with the space behind it.
    pub(super) fn marker_width(&self) -> usize {
        self.marker.as_ref().map_or(0, |marker| marker.len() + 1)
    }
}

/// What a line is behind its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
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

/// The fence that a code block began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeFence {
    pub(super) mark: char,
    pub(super) length: usize,
    /// How many `>` stood before it.
    pub(super) quotes: usize,
    /// How far it was moved to the right; the code moves back as far.
    pub(super) indent: usize,
}

/// What a line in a code block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeLine<'a> {
    /// Code, without what it is moved to the right.
    Text(&'a str),
    /// The fence that ends the block.
    Close,
    /// No code: the quote that the block stood in has ended.
    Outside,
}

/// What a line is that stands outside of code, and what follows its marks.
pub(super) fn read_start(line: &str) -> Option<(LineStart, LineKind, &str)> {
    let (mut quotes, mut rest) = (0, line);
    while let Some(quoted) = after_quote(rest)? {
        quotes += 1;
        rest = quoted;
    }
    let (indent, rest) = after_blanks(rest)?;
    let mut start = LineStart { quotes, indent, marker: None };
    if is_rule(rest)? {
        return Some((start, LineKind::Rule, rest));
    }
    let (marker, rest) = read_marker(rest)?;
    start.marker = marker.map(str::to_owned);
    let (kind, rest) = match rest.chars().next()? {
        '|' if marker.is_none() => (LineKind::Row, rest),
        '#' => read_heading(rest)?,
        mark @ ('`' | '~') => read_fence(rest, mark)?,
        _ => (LineKind::Text, rest),
    };
    Some((start, kind, rest))
}

/// What a line is that stands in a code block.
pub(super) fn read_code<'a>(line: &'a str, fence: &CodeFence) -> Option<CodeLine<'a>> {
    let mut body = line;
    for _ in 0..fence.quotes {
        match after_quote(body)? {
            Some(quoted) => body = quoted,
            None => return Some(CodeLine::Outside),
        }
    }
    let spaces = run_length(body, ' ')?;
    let run = run_length(&body[spaces..], fence.mark)?;
    if run >= fence.length && after_blanks(&body[spaces + run..])?.1.starts_with(LINE_END) {
        return Some(CodeLine::Close);
    }
    Some(CodeLine::Text(&body[spaces.min(fence.indent)..]))
}

/// How many of one character a text begins with.
fn run_length(text: &str, mark: char) -> Option<usize> {
    text.find(|c| c != mark)
}

/// The columns of the blanks that a text begins with, and what follows them.
fn after_blanks(text: &str) -> Option<(usize, &str)> {
    let (blanks, rest) = text.split_at(text.find(|c| !matches!(c, ' ' | '\t'))?);
    Some((blanks.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum(), rest))
}

/// What follows a `>` and the space that belongs to it, if the text begins so.
fn after_quote(text: &str) -> Option<Option<&str>> {
    let (_, rest) = after_blanks(text)?;
    Some(match rest.strip_prefix('>') {
        Some("") => return None,
        Some(rest) => Some(rest.strip_prefix(' ').unwrap_or(rest)),
        None => None,
    })
}

/// Whether a text is nothing but three or more of the same mark.
fn is_rule(text: &str) -> Option<bool> {
    let mark = text.chars().next()?;
    if !matches!(mark, '-' | '*' | '_') {
        return Some(false);
    }
    let (marks, rest) = text.split_at(text.find(|c| c != mark && c != ' ')?);
    Some(rest.starts_with(LINE_END) && marks.matches(mark).count() >= 3)
}

/// The mark of a list's item, if there is one, and what follows it.
fn read_marker(text: &str) -> Option<(Option<&str>, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let is_mark = match text[digits..].chars().next()? {
        '-' | '*' | '+' => digits == 0,
        '.' | ')' => (1..=9).contains(&digits),
        _ => false,
    };
    if !is_mark {
        return Some((None, text));
    }
    let (marker, rest) = text.split_at(digits + 1);
    Some(match rest.chars().next()? {
        ' ' | '\t' | LINE_END => (Some(marker), after_blanks(rest)?.1),
        _ => (None, text),
    })
}

fn read_heading(text: &str) -> Option<(LineKind, &str)> {
    let level = run_length(text, '#')?;
    Some(match text[level..].chars().next()? {
        ' ' | '\t' | LINE_END if level <= 6 => (LineKind::Heading, after_blanks(&text[level..])?.1),
        _ => (LineKind::Text, text),
    })
}

/// A fence is known only when its line has ended: if another backtick comes, it
/// was code within a line.
fn read_fence(text: &str, mark: char) -> Option<(LineKind, &str)> {
    let length = run_length(text, mark)?;
    let info = &text[length..];
    match length < 3 || (mark == '`' && info.contains('`')) {
        true => Some((LineKind::Text, text)),
        false => info.ends_with(LINE_END).then_some((LineKind::Fence { mark, length }, info)),
    }
}
