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
//! one: bullets of any kind, with the indented lines that follow them, and loose
//! paragraphs. Lines are joined by a space, as Markdown does it; a backslash at the
//! end of a line keeps the line break, and so does a fenced block. Nothing in a file
//! is an error. Each entry knows which bytes it takes, so that it can be cut out and
//! every other byte be left alone.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use recto_context::Marks;

/// How many lines a fenced block has at most. One that is open for longer was never
/// closed, and is no reason to take what follows for a part of it.
const FENCE_LINES: usize = 200;

/// One memory of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The bytes of its lines, with the line break behind them.
    pub range: Range<usize>,
    /// What stands before its text: blanks and the bullet.
    pub lead: String,
    /// What is remembered, without marks and time.
    pub text: String,
    pub marks: Marks,
    /// The day of its time, of the heading above it, or of its file.
    pub day: Option<Date>,
    /// Its time as it is written, where it has one.
    pub time: Option<String>,
}

/// Reads the entries of a file in their order; `day` is that of the file, if it has one.
pub(crate) fn read_entries(content: &str, day: Option<Date>) -> Vec<Entry> {
    let lines = lines(content);
    let mut reader = Reader { day, ..Reader::default() };
    let mut fences = Fences::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let count = if reader.is_broken(line.text) { None } else { fences.block(&lines, at) };
        at += match count {
            Some(count) => {
                reader.fence(&lines[at..at + count]);
                count
            }
            None => {
                reader.line(line);
                1
            }
        };
    }
    reader.close();
    reader.entries.into_iter().filter_map(Draft::finish).collect()
}

impl Entry {
    /// When it was added, in seconds since 1970: its time, or the beginning of its day.
    pub(crate) fn added(&self) -> Option<i64> {
        let time = self.time.as_deref().and_then(instant);
        let day = || Offset::UTC.to_timestamp(self.day?.to_datetime(jiff::civil::Time::MIN)).ok();
        time.or_else(day).map(Timestamp::as_second)
    }
}

/// Takes the marks off the beginning of a text.
pub(crate) fn take_marks(text: &str) -> (Marks, &str) {
    let (mut marks, mut rest) = (Marks::default(), text.trim_start());
    while let Some((mark, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if mark.eq_ignore_ascii_case("important") {
            marks.important = true;
        } else if mark.eq_ignore_ascii_case("shared") {
            marks.shared = true;
        } else {
            break;
        }
        rest = behind.trim_start();
    }
    (marks, rest)
}

/// The title of a heading of any level.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_apart = title.is_empty() || title.starts_with(char::is_whitespace);
    ((1..=6).contains(&level) && is_apart).then(|| title.trim())
}

/// The text of a bullet.
pub(crate) fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// A line without its end, and where it stands.
struct Line<'a> {
    number: usize,
    range: Range<usize>,
    text: &'a str,
}

fn lines(content: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let lines = content.split_inclusive('\n').enumerate().map(|(index, line)| {
        let range = start..start + line.len();
        start = range.end;
        let text = line.strip_suffix('\n').unwrap_or(line);
        let text = text.strip_suffix('\r').unwrap_or(text);
        // Some editors put a mark before the first line; it belongs to none.
        match text.strip_prefix('\u{feff}').filter(|_| index == 0) {
            Some(text) => Line { number: 1, range: range.start + 3..range.end, text },
            None => Line { number: index + 1, range, text },
        }
    });
    lines.collect()
}

/// Where fenced blocks can end. Found once for all of them, when the first begins, so
/// that a file of nothing but beginnings is not searched from each of them.
#[derive(Default)]
struct Fences {
    ends: Option<Vec<(usize, End)>>,
}

/// What ends a fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A line of nothing but this sign, this often.
    Fence(char, usize),
    /// Whatever was added with a time, or stands under the heading of a day, is in none.
    Dated,
}

impl Fences {
    /// How many lines the fenced block has that begins at this line.
    fn block(&mut self, lines: &[Line<'_>], at: usize) -> Option<usize> {
        let (sign, length) = fence(lines[at].text)?;
        let ends = self.ends.get_or_insert_with(|| {
            let ends = lines.iter().enumerate();
            ends.filter_map(|(index, line)| Some((index, end(line.text)?))).collect()
        });
        let behind = &ends[ends.partition_point(|(index, _)| *index <= at)..];
        let near = behind.iter().take_while(|(index, _)| *index < at + FENCE_LINES);
        for (index, end) in near {
            match *end {
                End::Dated => return None,
                End::Fence(other, count) if other == sign && count >= length => {
                    return Some(index + 1 - at);
                }
                End::Fence(..) => {}
            }
        }
        None
    }
}

fn end(line: &str) -> Option<End> {
    let text = line.trim();
    if let Some((sign, length)) = fence(text)
        && text.len() == length
    {
        return Some(End::Fence(sign, length));
    }
    let is_dated = heading(line).and_then(day_at_start).is_some() || added_at(text).is_some();
    is_dated.then_some(End::Dated)
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
struct Reader {
    day: Option<Date>,
    open: Option<Draft>,
    /// How far the last bullet that began an entry is indented.
    indent: usize,
    entries: Vec<Draft>,
}

/// An entry that may go on.
#[derive(Debug)]
struct Draft {
    shape: Shape,
    entry: Entry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Bullet,
    Paragraph,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
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
            self.extend(line, text, if bullet(text).is_some() { '\n' } else { ' ' });
        } else if let Some(text) = bullet(text) {
            self.start(Shape::Bullet, line, text);
            self.indent = indent(line.text);
        } else if self.is_in_paragraph() {
            self.extend(line, text, ' ');
        } else {
            self.start(Shape::Paragraph, line, text);
        }
    }

    /// Takes in a fenced block as it is: as a part of the open entry if it is indented
    /// or within a paragraph, and as an entry otherwise.
    fn fence(&mut self, lines: &[Line<'_>]) {
        let Some((first, rest)) = lines.split_first() else { return };
        if self.continues(first.text) || self.is_in_paragraph() {
            let text = self.dedent(first.text).to_owned();
            self.extend(first, &text, '\n');
        } else {
            self.start(Shape::Paragraph, first, first.text.trim());
            self.indent = 0;
        }
        for line in rest {
            let text = self.dedent(line.text).to_owned();
            self.extend(line, &text, '\n');
        }
        if self.is_in_paragraph() {
            self.close();
        }
    }

    fn is_in_paragraph(&self) -> bool {
        self.open.as_ref().is_some_and(|draft| draft.shape == Shape::Paragraph)
    }

    /// Whether the open entry keeps its line break and goes on here.
    fn is_broken(&self, line: &str) -> bool {
        let is_broken = self.open.as_ref().is_some_and(|draft| draft.entry.text.ends_with('\\'));
        is_broken && indent(line) > 0 && !line.trim().is_empty()
    }

    /// Whether a line belongs to the open entry: it is indented, and if it is a
    /// bullet, further than the one that is open.
    fn continues(&self, line: &str) -> bool {
        let deeper = bullet(line.trim()).is_none() || indent(line) > self.indent;
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

    fn start(&mut self, shape: Shape, line: &Line<'_>, text: &str) {
        self.close();
        let lead = line.text.trim_end().strip_suffix(text).unwrap_or_default().to_owned();
        let entry = Entry {
            line: line.number,
            range: line.range.clone(),
            lead: if shape == Shape::Bullet { lead } else { String::new() },
            text: text.to_owned(),
            marks: Marks::default(),
            day: self.day,
            time: None,
        };
        self.open = Some(Draft { shape, entry });
    }

    /// Joins a line to the open entry, by a line break if that was asked for.
    fn extend(&mut self, line: &Line<'_>, text: &str, join: char) {
        if let Some(Draft { entry, .. }) = &mut self.open {
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

impl Draft {
    /// Takes time and marks off the text; `None` when no text is left.
    fn finish(self) -> Option<Entry> {
        let mut entry = self.entry;
        if let Some((text, day, time)) = added_at(&entry.text) {
            entry.day = Some(day);
            entry.time = Some(time.to_owned());
            entry.text.truncate(text.len());
        }
        let (marks, text) = take_marks(entry.text.trim());
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some(Entry { text, marks, ..entry })
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
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let mut shown = String::new();
        let mut entries = read_entries(content, None);
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.added(), entry.line)));
        for entry in entries {
            let day = entry.day.map_or_else(|| "-".to_owned(), |day| day.to_string());
            shown += &format!("MEMORY.md:{} {day} {:?}\n", entry.line, entry.text);
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_indented_list_is_a_list() {
        let content = "  - a\n  - b (added at 2026-03-01)\n    - deeper\n  - c\n";
        let memories = read_entries(content, None);
        let mut texts: Vec<&str> = memories.iter().map(|memory| memory.text.as_str()).collect();
        texts.sort_unstable();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts.contains(&"a") && texts.contains(&"c"));
    }

    #[test]
    fn memories_come_newest_first() {
        check(
            "# Memory\n\n- undated one\n- undated two\n\n\
             ## 2026-03-01\n- old, early (added at 2026-03-01T09:00:00Z)\n\
             - old, late (added at 2026-03-01T10:00:00Z)\n\
             ## 2026-04-02\n- new a\n- new b\n",
            &expect![[r#"
                MEMORY.md:11 2026-04-02 "new b"
                MEMORY.md:10 2026-04-02 "new a"
                MEMORY.md:8 2026-03-01 "old, late"
                MEMORY.md:7 2026-03-01 "old, early"
                MEMORY.md:4 - "undated two"
                MEMORY.md:3 - "undated one"
            "#]],
        );
    }

    #[test]
    fn the_time_of_adding_wins_over_the_heading() {
        check(
            "## 2026-03-01\n- moved (added at 2026-05-06T00:30:00+02:00)\n",
            &expect![[r#"
            MEMORY.md:2 2026-05-06 "moved"
        "#]],
        );
        check(
            "## 2026-03-01\n- a (added at some time)\n- b (added at 2026-02-30)\n",
            &expect![[r#"
            MEMORY.md:3 2026-03-01 "b (added at 2026-02-30)"
            MEMORY.md:2 2026-03-01 "a (added at some time)"
        "#]],
        );
        check(
            "- a (added at 2026-05-06)\n- b (added at 2026-05-06 10:00)\n",
            &expect![[r#"
            MEMORY.md:2 2026-05-06 "b"
            MEMORY.md:1 2026-05-06 "a"
        "#]],
        );
    }

    #[test]
    fn every_kind_of_bullet_and_loose_text_is_a_memory() {
        check(
            "* star\n+ plus\n- dash\n  goes on\n\n  and on\n  - with a part\n\
             Loose text\nof two lines.\n\nAnother.\n-\n---\n- \n  indented\n",
            &expect![[r#"
                MEMORY.md:14 - "indented"
                MEMORY.md:11 - "Another."
                MEMORY.md:8 - "Loose text of two lines."
                MEMORY.md:3 - "dash goes on and on\n- with a part"
                MEMORY.md:2 - "plus"
                MEMORY.md:1 - "star"
            "#]],
        );
    }

    #[test]
    fn other_headings_and_impossible_days_are_ignored() {
        check(
            "## 2026-03-01\n### Work\n- a\n## 2026-13-40\n- b\n#tag is text\n",
            &expect![[r##"
            MEMORY.md:6 2026-03-01 "#tag is text"
            MEMORY.md:5 2026-03-01 "b"
            MEMORY.md:3 2026-03-01 "a"
        "##]],
        );
    }

    #[test]
    fn windows_line_ends_leave_no_trace() {
        check(
            "## 2026-03-01\r\n- a\r\n  b (added at 2026-03-01T09:00:00Z)\r\n",
            &expect![[r#"
            MEMORY.md:2 2026-03-01 "a b"
        "#]],
        );
    }

    #[test]
    fn marks_stand_before_the_text() {
        let marks = |text| {
            let (marks, rest) = take_marks(text);
            format!("{}{} {rest}", u8::from(marks.important), u8::from(marks.shared))
        };
        assert_eq!(marks("[important] a"), "10 a");
        assert_eq!(marks("[Shared][IMPORTANT]  a [shared]"), "11 a [shared]");
        assert_eq!(marks("[other] [shared] a"), "00 [other] [shared] a");
        assert_eq!(marks("[shared"), "00 [shared");
        let entries =
            read_entries("- [shared] [important] tea (added at 2026-03-01)\n- [shared]\n", None);
        assert_eq!(entries.len(), 1, "a mark alone is no memory");
        assert_eq!(entries[0].text, "tea");
        assert!(entries[0].marks.shared && entries[0].marks.important);
    }

    #[test]
    fn a_note_gives_its_day_to_what_has_none() {
        let day = Some(jiff::civil::date(2026, 3, 1));
        let entries = read_entries("- a\n- b (added at 2026-02-02)\n## 2026-01-01\n- c\n", day);
        let days: Vec<String> = entries.iter().map(|e| e.day.unwrap().to_string()).collect();
        assert_eq!(days, ["2026-03-01", "2026-02-02", "2026-01-01"]);
    }

    #[test]
    fn a_backslash_keeps_the_line_break() {
        check(
            "- a\\\n  # b\\\n  \\\n      code\\\n  --- (added at 2026-03-01)\n- c\\\n- d\n",
            &expect![[r#"
                MEMORY.md:1 2026-03-01 "a\n# b\n\n    code\n---"
                MEMORY.md:7 - "d"
                MEMORY.md:6 - "c\\"
            "#]],
        );
    }

    #[test]
    fn a_fenced_block_is_text_and_an_open_one_swallows_nothing() {
        check(
            "Look:\n```sh\n- not an entry\n\n# nor a heading\n```\n- a\n",
            &expect![[r##"
                MEMORY.md:7 - "a"
                MEMORY.md:1 - "Look:\n```sh\n- not an entry\n\n# nor a heading\n```"
            "##]],
        );
        check(
            "```\n- not an entry\n\n  text\n```\n- a\n  ~~~\n    b\n  ~~~\n- c\n",
            &expect![[r#"
                MEMORY.md:10 - "c"
                MEMORY.md:6 - "a\n~~~\n  b\n~~~"
                MEMORY.md:1 - "```\n- not an entry\n\n  text\n```"
            "#]],
        );
        check(
            "```\nopen\n- a (added at 2026-03-01)\n```\n",
            &expect![[r#"
                MEMORY.md:3 2026-03-01 "a"
                MEMORY.md:4 - "```"
                MEMORY.md:1 - "``` open"
            "#]],
        );
    }

    #[test]
    fn fences_that_are_never_closed_are_text() {
        let open = "~~~a\n".repeat(1_000);
        let entries = read_entries(&format!("{open}~~~~\n- b\n"), None);
        let texts: Vec<usize> = entries.iter().map(|entry| entry.text.lines().count()).collect();
        // The last one that is near enough to the end of a block begins it.
        assert_eq!(texts, [1 + FENCE_LINES, 1]);
        let mixed = "```a\n~~~\n````\n- b\n";
        check(
            mixed,
            &expect![[r#"
            MEMORY.md:4 - "b"
            MEMORY.md:1 - "```a\n~~~\n````"
        "#]],
        );
    }

    #[test]
    fn entries_know_their_bytes() {
        let content = "\u{feff}# Title\r\n- a\r\n\r\n  b\r\n\r\nloose\r\n- é";
        let cut: Vec<&str> =
            read_entries(content, None).into_iter().map(|entry| &content[entry.range]).collect();
        assert_eq!(cut, ["- a\r\n\r\n  b\r\n", "loose\r\n", "- é"]);
    }

    // PITFALL 11.
    #[test]
    fn binary_and_huge_lines_do_no_harm() {
        let huge = format!("- {}\n- \0\u{1}\u{fffd}\n{}", "é".repeat(1 << 20), "-".repeat(1 << 20));
        let memories = read_entries(&huge, None);
        assert_eq!(memories.len(), 2);
        assert_eq!(memories[0].text.chars().count(), 1 << 20);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(content in "[-*+# a(added t)2026\n\r\té€😀]{0,80}") {
            let entries = read_entries(&content, None);
            let mut end = 0;
            for entry in entries {
                proptest::prop_assert!(entry.range.start >= end, "entries overlap");
                end = entry.range.end;
                proptest::prop_assert!(content.get(entry.range).is_some());
            }
        }
    }
}
