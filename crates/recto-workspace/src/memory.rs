//! MEMORY.md: one memory a bullet, under headings that are days.
//!
//! ```text
//! ## 2026-03-01
//! - Prefers tea to coffee. (added at 2026-03-01T09:30:00Z)
//! ```
//!
//! People write into this file as they like, so everything that can be a
//! memory is one: bullets of any kind, with the indented lines that follow
//! them, and loose paragraphs. Nothing in it is an error.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use recto_context::{Memory, Source};

/// Reads the memories of a file, newest first.
pub(crate) fn read_memories(content: &str, path: &Arc<Path>) -> Vec<Memory> {
    let mut reader = Reader::default();
    for (index, line) in content.lines().enumerate() {
        reader.line(index + 1, line);
    }
    reader.close();
    let mut entries: Vec<_> = reader.entries.into_iter().filter_map(Entry::finish).collect();
    entries.sort_by_key(|entry| Reverse((entry.day, entry.added, entry.line)));
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    entries.into_iter().map(|entry| entry.into_memory(&file, path)).collect()
}

/// Gathers lines into entries.
#[derive(Default)]
struct Reader {
    day: Option<Date>,
    open: Option<Entry>,
    /// How far the last bullet that began an entry is indented.
    indent: usize,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    shape: Shape,
    line: usize,
    text: String,
    day: Option<Date>,
    added: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Bullet,
    Paragraph,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let text = line.trim();
        if text.is_empty() {
            // A bullet goes on behind a blank line, if indented; a paragraph ends.
            if self.open.as_ref().is_some_and(|entry| entry.shape == Shape::Paragraph) {
                self.close();
            }
        } else if let Some(title) = heading(line) {
            self.close();
            self.day = day_at_start(title).or(self.day);
        } else if is_rule(text) {
            self.close();
        } else if self.continues(line, text) {
            self.extend(text);
        } else if let Some(text) = bullet(text) {
            self.start(Shape::Bullet, number, text);
            self.indent = indent(line);
        } else if self.open.as_ref().is_some_and(|entry| entry.shape == Shape::Paragraph) {
            self.extend(text);
        } else {
            self.start(Shape::Paragraph, number, text);
        }
    }

    /// Whether a line belongs to the open entry: it is indented, and if it is a
    /// bullet, further than the one that is open.
    fn continues(&self, line: &str, text: &str) -> bool {
        let deeper = bullet(text).is_none() || indent(line) > self.indent;
        self.open.is_some() && indent(line) > 0 && deeper
    }

    fn start(&mut self, shape: Shape, line: usize, text: &str) {
        self.close();
        let text = text.to_owned();
        self.open = Some(Entry { shape, line, text, day: self.day, added: None });
    }

    /// Joins a line to the open entry. A bullet below a bullet keeps its own line.
    fn extend(&mut self, text: &str) {
        if let Some(entry) = &mut self.open {
            entry.text.push(if bullet(text).is_some() { '\n' } else { ' ' });
            entry.text.push_str(text);
        }
    }

    fn close(&mut self) {
        self.entries.extend(self.open.take());
    }
}

impl Entry {
    /// Takes the time off the end of the text; `None` when no text is left.
    fn finish(mut self) -> Option<Self> {
        if let Some((text, day, added)) = added_at(&self.text) {
            self.day = Some(day);
            self.added = added;
            self.text.truncate(text.len());
        }
        self.text.truncate(self.text.trim_end().len());
        (!self.text.trim().is_empty()).then_some(self)
    }

    fn into_memory(self, file: &str, path: &Arc<Path>) -> Memory {
        let day = self.day.map(|day| day.to_string());
        Memory {
            source: Source::File(path.clone()),
            ..Memory::new(format!("{file}:{}", self.line), self.text.trim(), day.as_deref())
        }
    }
}

/// How far a line is indented; a tab counts as four.
fn indent(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// The title of a heading of any level.
fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_apart = title.is_empty() || title.starts_with(char::is_whitespace);
    ((1..=6).contains(&level) && is_apart).then(|| title.trim())
}

/// A line that only draws a rule: three or more of the same sign.
fn is_rule(text: &str) -> bool {
    let signs = text.chars().filter(|c| !c.is_whitespace());
    let is_all = |sign| signs.clone().all(|c| c == sign);
    (is_all('-') || is_all('*') || is_all('_')) && signs.count() >= 3
}

/// The text of a bullet.
fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// The text before `(added at …)`, the day as written, and the instant if it is one.
fn added_at(text: &str) -> Option<(&str, Date, Option<Timestamp>)> {
    let (text, time) = text.strip_suffix(')')?.rsplit_once("(added at ")?;
    let time = time.trim();
    Some((text, day_at_start(time)?, time.parse().ok()))
}

fn day_at_start(text: &str) -> Option<Date> {
    text.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let path: Arc<Path> = Arc::from(Path::new("memory/MEMORY.md"));
        let mut shown = String::new();
        for memory in read_memories(content, &path) {
            let day = memory.day.as_deref().unwrap_or("-");
            shown += &format!("{} {day} {:?}\n", memory.name, &*memory.text);
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_indented_list_is_a_list() {
        let content = "  - a\n  - b (added at 2026-03-01)\n    - deeper\n  - c\n";
        let memories = read_memories(content, &Arc::from(Path::new("MEMORY.md")));
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

    // PITFALL 11.
    #[test]
    fn binary_and_huge_lines_do_no_harm() {
        let path: Arc<Path> = Arc::from(Path::new("MEMORY.md"));
        let huge = format!("- {}\n- \0\u{1}\u{fffd}\n{}", "é".repeat(1 << 20), "-".repeat(1 << 20));
        let memories = read_memories(&huge, &path);
        assert_eq!(memories.len(), 2);
        assert_eq!(memories[1].text.chars().count(), 1 << 20);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(content in "[-*+# a(added t)2026\n\r\té€😀]{0,80}") {
            read_memories(&content, &Arc::from(Path::new("MEMORY.md")));
        }
    }
}
