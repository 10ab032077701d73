//! Memories in Markdown: one a bullet, under headings that are days.
//!
//! ```text
//! ## 2026-03-01
//! - [important] Prefers tea to coffee. (added at 2026-03-01T09:30:00Z)
//! - A text of two lines:\
//!   this is the second.
//! ```
//!
//! People write into these files as they like, so everything that can be a memory is
//! one: bullets and numbers of any kind, with the indented lines that follow them, and
//! loose paragraphs. Lines are joined by a space, as Markdown does it; a backslash at
//! the end of a line keeps the line break, and so does a fenced block. Front matter and
//! comments are no memories ([`hidden`]). Nothing in a file is an error. Each entry
//! knows which bytes it takes, so that it can be cut out and every other byte be left
//! alone.

mod hidden;

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use recto_context::MemoryMarks;

use hidden::Comments;
pub(crate) use hidden::is_comment;

/// How many lines a fenced block has at most. One that is open for longer was never
/// closed, and is no reason to take what follows for a part of it.
const FENCE_LINES: usize = 200;

/// One memory of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryEntry {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The bytes of its lines, with the line break behind them.
    pub range: Range<usize>,
    /// The lines among them that are comments, and none of its own.
    pub comments: Vec<Range<usize>>,
    /// What stands before its text: blanks and the bullet.
    pub lead: String,
    /// What is remembered, without marks and time.
    pub text: String,
    pub marks: MemoryMarks,
    /// The day of its time, of the heading above it, or of its file.
    pub day: Option<Date>,
    /// Its time as it is written, where it has one.
    pub time: Option<String>,
}

/// Reads the entries of a file in their order; `day` is that of the file, if it has one.
pub(crate) fn read_entries(content: &str, day: Option<Date>) -> Vec<MemoryEntry> {
    let lines = lines(content);
    let mut reader = EntryReader { day, ..EntryReader::default() };
    let (mut fences, mut comments) = (Fences::default(), Comments::default());
    let mut at = hidden::front_matter(&lines);
    while let Some(line) = lines.get(at) {
        let may_begin = !reader.is_broken(line.text);
        at += if may_begin && let Some(count) = fences.block(&lines, at) {
            reader.fence(&lines[at..at + count]);
            count
        } else if may_begin && let Some(count) = comments.block(&lines, at) {
            reader.comment(&lines[at..at + count]);
            count
        } else {
            reader.line(line);
            1
        };
    }
    reader.close();
    reader.entries.into_iter().filter_map(EntryDraft::finish).collect()
}

impl MemoryEntry {
    /// When it was added, in seconds since 1970: its time, or the beginning of its day.
    pub(crate) fn added(&self) -> Option<i64> {
        let time = self.time.as_deref().and_then(instant);
        let day = || Offset::UTC.to_timestamp(self.day?.to_datetime(jiff::civil::Time::MIN)).ok();
        time.or_else(day).map(Timestamp::as_second)
    }
}

/// Whether a text that is to be remembered says of itself that others may see it.
pub fn shares_itself(text: &str) -> bool {
    take_marks(text).0.shared
}

/// Takes the marks off the beginning of a text. `[shared](address)`, `[shared][name]` and
/// `[shared]: address` are links and no marks.
pub(crate) fn take_marks(text: &str) -> (MemoryMarks, &str) {
    let (mut marks, mut rest) = (MemoryMarks::default(), text.trim_start());
    while let Some((more, behind)) = marks_side_by_side(rest) {
        marks.important |= more.important;
        marks.shared |= more.shared;
        rest = behind.trim_start();
    }
    (marks, rest)
}

/// `[shared]`, or `[shared][important]`: what stands behind the last of them tells
/// whether they are marks at all.
fn marks_side_by_side(text: &str) -> Option<(MemoryMarks, &str)> {
    let (mut marks, mut rest) = (MemoryMarks::default(), text);
    loop {
        let (name, behind) = rest.strip_prefix('[')?.split_once(']')?;
        if name.eq_ignore_ascii_case("important") {
            marks.important = true;
        } else if name.eq_ignore_ascii_case("shared") {
            marks.shared = true;
        } else {
            return None;
        }
        rest = behind;
        if !rest.starts_with('[') {
            return (!rest.starts_with(['(', ':'])).then_some((marks, rest));
        }
    }
}

/// The title of a heading of any level.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_apart = title.is_empty() || title.starts_with(char::is_whitespace);
    ((1..=6).contains(&level) && is_apart).then(|| title.trim())
}

/// Whether a text ends with the end of a line, of any kind.
pub(crate) fn ends_line(text: &[u8]) -> bool {
    text.ends_with(b"\n") || text.ends_with(b"\r")
}

/// The text of a bullet or behind a number.
fn item(text: &str) -> Option<&str> {
    bullet(text).or_else(|| numbered(text).map(|(_, text)| text))
}

fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// The number of `1. text` or `2) text`, and its text. What is a year or the day of a
/// month belongs to the text.
fn numbered(text: &str) -> Option<(u16, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|at| (1..=4).contains(at))?;
    let number: u16 = text[..digits].parse().ok()?;
    let rest = text[digits..].strip_prefix(['.', ')'])?;
    let is_apart = rest.starts_with(char::is_whitespace) && !rest.trim().is_empty();
    let is_item = is_apart && !(1900..2100).contains(&number) && !begins_with_month(rest);
    is_item.then(|| (number, rest.trim()))
}

/// Months of the languages that write `24. Dezember`.
const MONTHS: &str = "januar jänner jan februar feber feb märz marts mars april apr mai maj juni \
                      juli august aug september sept oktober okt november nov dezember desember \
                      december dez";

fn begins_with_month(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    MONTHS.split(' ').any(|month| month == word)
}

/// A line without its end, and where it stands.
struct MemoryLine<'a> {
    number: usize,
    range: Range<usize>,
    text: &'a str,
}

/// The lines of a file, whether they end with `\n`, `\r\n` or `\r`.
fn lines(content: &str) -> Vec<MemoryLine<'_>> {
    let mut lines = Vec::new();
    // Some editors put a mark before the first line; it belongs to none.
    let mut start = if content.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while start < content.len() {
        let rest = &content[start..];
        let text = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        let end = &rest[text.len()..];
        let end = if end.starts_with("\r\n") { 2 } else { end.len().min(1) };
        let range = start..start + text.len() + end;
        start = range.end;
        lines.push(MemoryLine { number: lines.len() + 1, range, text });
    }
    lines
}

/// Where fenced blocks can end. Found once for all of them, when the first begins, so
/// that a file of nothing but beginnings is not searched from each of them.
#[derive(Default)]
struct Fences {
    ends: Option<Vec<(usize, FenceEnd)>>,
}

/// What ends a fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceEnd {
    /// A line of nothing but this sign, this often.
    Fence(char, usize),
    /// Whatever was added with a time, or stands under the heading of a day, is in none.
    Dated,
}

impl Fences {
    /// How many lines the fenced block has that begins at this line.
    fn block(&mut self, lines: &[MemoryLine<'_>], at: usize) -> Option<usize> {
        let (sign, length) = fence(lines[at].text)?;
        let ends = self.ends.get_or_insert_with(|| {
            let ends = lines.iter().enumerate();
            ends.filter_map(|(index, line)| Some((index, end(line.text)?))).collect()
        });
        let behind = &ends[ends.partition_point(|(index, _)| *index <= at)..];
        let near = behind.iter().take_while(|(index, _)| *index < at + FENCE_LINES);
        for (index, end) in near {
            match *end {
                FenceEnd::Dated => return None,
                FenceEnd::Fence(other, count) if other == sign && count >= length => {
                    return Some(index + 1 - at);
                }
                FenceEnd::Fence(..) => {}
            }
        }
        None
    }
}

fn end(line: &str) -> Option<FenceEnd> {
    let text = line.trim();
    if let Some((sign, length)) = fence(text)
        && text.len() == length
    {
        return Some(FenceEnd::Fence(sign, length));
    }
    let is_dated = heading(line).and_then(day_at_start).is_some() || added_at(text).is_some();
    is_dated.then_some(FenceEnd::Dated)
}

/// The sign of a fence and how often it stands there.
fn fence(line: &str) -> Option<(char, usize)> {
    let text = line.trim();
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == sign).count();
    (length >= 3).then_some((sign, length))
}

/// Gathers lines into entries.
#[derive(Default)]
struct EntryReader {
    day: Option<Date>,
    open: Option<EntryDraft>,
    /// How far the last bullet that began an entry is indented.
    indent: usize,
    entries: Vec<EntryDraft>,
}

/// An entry that may go on.
#[derive(Debug)]
struct EntryDraft {
    shape: EntryShape,
    entry: MemoryEntry,
    /// Comments behind its last line. They are within it only if it goes on.
    comments: Vec<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryShape {
    Bullet,
    Paragraph,
}

impl EntryReader {
    fn line(&mut self, line: &MemoryLine<'_>) {
        let text = line.text.trim();
        if text.is_empty() {
            // A bullet goes on behind a blank line, if indented; a paragraph ends.
            if self.is_in_paragraph() {
                self.close();
            }
        } else if self.is_broken(line.text) {
            let text = self.dedent(line.text).to_owned();
            self.extend(line, &text, ' ');
        } else if let Some(title) = heading(line.text) {
            self.close();
            self.day = day_at_start(title).or(self.day);
        } else if is_rule(text) {
            self.close();
        } else if self.continues(line.text) {
            self.extend(line, text, if item(text).is_some() { '\n' } else { ' ' });
        } else if let Some(text) = self.item(text) {
            self.start(EntryShape::Bullet, line, text);
            self.indent = indent(line.text);
        } else if self.is_in_paragraph() {
            self.extend(line, text, ' ');
        } else {
            self.start(EntryShape::Paragraph, line, text);
        }
    }

    /// Takes in a fenced block as it is: as a part of the open entry if it is indented
    /// or within a paragraph, and as an entry otherwise.
    fn fence(&mut self, lines: &[MemoryLine<'_>]) {
        let Some((first, rest)) = lines.split_first() else { return };
        if self.continues(first.text) || self.is_in_paragraph() {
            let text = self.dedent(first.text).to_owned();
            self.extend(first, &text, '\n');
        } else {
            self.start(EntryShape::Paragraph, first, first.text.trim());
        }
        for line in rest {
            let text = self.dedent(line.text).to_owned();
            self.extend(line, &text, '\n');
        }
        if self.is_in_paragraph() {
            self.close();
        }
    }

    /// Passes over a comment. One that is indented is among the lines of a bullet.
    fn comment(&mut self, lines: &[MemoryLine<'_>]) {
        let is_indented = lines.first().is_some_and(|line| indent(line.text) > 0);
        match &mut self.open {
            Some(EntryDraft { shape: EntryShape::Bullet, comments, .. }) if is_indented => {
                comments.extend(lines.iter().map(|line| line.range.clone()));
            }
            _ => self.close(),
        }
    }

    /// The text of a bullet, or behind a number. Amid a paragraph, only a list that
    /// begins there is one, as in Markdown: others are numbers at the end of a sentence.
    fn item<'a>(&self, text: &'a str) -> Option<&'a str> {
        let first = |(number, text)| (number == 1 || !self.is_in_paragraph()).then_some(text);
        bullet(text).or_else(|| numbered(text).and_then(first))
    }

    fn is_in_paragraph(&self) -> bool {
        self.open.as_ref().is_some_and(|draft| draft.shape == EntryShape::Paragraph)
    }

    /// Whether the open entry keeps its line break and goes on here.
    fn is_broken(&self, line: &str) -> bool {
        let is_broken = self.open.as_ref().is_some_and(|draft| draft.entry.text.ends_with('\\'));
        is_broken && indent(line) > 0 && !line.trim().is_empty()
    }

    /// Whether a line belongs to the open entry: it is indented, and if it is a
    /// bullet, further than the one that is open.
    fn continues(&self, line: &str) -> bool {
        let deeper = item(line.trim()).is_none() || indent(line) > self.indent;
        self.open.is_some() && indent(line) > 0 && deeper
    }

    /// A line without the blanks that only make it a part of the open entry.
    fn dedent<'a>(&self, line: &'a str) -> &'a str {
        let most = if self.is_in_paragraph() { 0 } else { self.indent + 2 };
        let mut columns = 0;
        let text = line.trim_start_matches(|c| {
            let is_margin = columns < most && matches!(c, ' ' | '\t');
            columns += width(c);
            is_margin
        });
        text.trim_end()
    }

    fn start(&mut self, shape: EntryShape, line: &MemoryLine<'_>, text: &str) {
        self.close();
        let lead = line.text.trim_end().strip_suffix(text).unwrap_or_default().to_owned();
        let entry = MemoryEntry {
            line: line.number,
            range: line.range.clone(),
            comments: Vec::new(),
            lead: if shape == EntryShape::Bullet { lead } else { String::new() },
            text: text.to_owned(),
            marks: MemoryMarks::default(),
            day: self.day,
            time: None,
        };
        self.open = Some(EntryDraft { shape, entry, comments: Vec::new() });
        // What is above a paragraph says nothing of the lines below it.
        self.indent = 0;
    }

    /// Joins a line to the open entry, by a line break if that was asked for.
    fn extend(&mut self, line: &MemoryLine<'_>, text: &str, join: char) {
        if let Some(EntryDraft { entry, comments, .. }) = &mut self.open {
            entry.comments.append(comments);
            let is_broken = join == ' ' && entry.text.ends_with('\\');
            if is_broken {
                entry.text.pop();
            }
            entry.text.push(if is_broken { '\n' } else { join });
            entry.text.push_str(text);
            entry.range.end = line.range.end;
        }
    }

    fn close(&mut self) {
        self.entries.extend(self.open.take());
    }
}

impl EntryDraft {
    /// Takes time and marks off the text; `None` when no text is left but comments.
    fn finish(self) -> Option<MemoryEntry> {
        let mut entry = self.entry;
        if let Some((text, day, time)) = added_at(&entry.text) {
            entry.day = Some(day);
            entry.time = Some(time.to_owned());
            entry.text.truncate(text.len());
        }
        let (marks, text) = take_marks(entry.text.trim());
        let text = text.trim().to_owned();
        (!text.is_empty() && !is_comment(&text)).then_some(MemoryEntry { text, marks, ..entry })
    }
}

/// How far a line is indented.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).map(width).sum()
}

/// How many columns a blank takes; a tab counts as four.
fn width(c: char) -> usize {
    if c == '\t' { 4 } else { 1 }
}

/// A line that only draws a rule: three or more of the same sign.
fn is_rule(text: &str) -> bool {
    let signs = text.chars().filter(|c| !c.is_whitespace());
    let is_all = |sign| signs.clone().all(|c| c == sign);
    (is_all('-') || is_all('*') || is_all('_')) && signs.count() >= 3
}

/// The text before `(added at …)`, the day as written, and the time as written.
fn added_at(text: &str) -> Option<(&str, Date, &str)> {
    let (text, time) = text.strip_suffix(')')?.rsplit_once("(added at ")?;
    let time = time.trim();
    Some((text, day_at_start(time)?, time))
}

/// The instant that a time means; one without an offset counts as UTC.
fn instant(time: &str) -> Option<Timestamp> {
    let civil = || Offset::UTC.to_timestamp(time.parse::<DateTime>().ok()?).ok();
    time.parse().ok().or_else(civil)
}

pub(crate) fn day_at_start(text: &str) -> Option<Date> {
    text.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests;
