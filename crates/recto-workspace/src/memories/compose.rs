//! Memories as the lines that stand for them. What is written here is read back by
//! `parse` as the same text, whatever is in it. Pure.

use jiff::Zoned;
use jiff::civil::Date;
use recto_context::MemoryMarks;

use super::error::{MemoryError, MemoryResult};
use super::parse::{MemoryEntry, ends_line, heading, is_comment, read_entries, take_marks};
use super::secrets::find_secret;

/// The most characters of a memory. More than this is a document.
pub(crate) const LONGEST: usize = 4_000;

/// A text that can be a memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wording {
    pub text: String,
    /// What it was marked with itself.
    pub marks: MemoryMarks,
}

impl Wording {
    /// Cleans a text and takes its marks off. Nobody's secrets become memories.
    pub(crate) fn new(text: &str) -> MemoryResult<Self> {
        let clean = clean(text);
        let (marks, text) = take_marks(&clean);
        let text = text.trim().to_owned();
        let length = text.chars().count();
        // A comment would be written, and read by nobody.
        if text.is_empty() || is_comment(&text) {
            return Err(MemoryError::Empty);
        }
        if length > LONGEST {
            return Err(MemoryError::TooLong { length });
        }
        match find_secret(&text) {
            Some(secret) => Err(MemoryError::Secret { what: secret.what }),
            None => Ok(Wording { text, marks }),
        }
    }
}

/// An entry as it stands in a file, each line ended by `\n`.
pub(crate) fn block(lead: &str, marks: MemoryMarks, text: &str, time: Option<&str>) -> String {
    let margin = &lead[..lead.len() - lead.trim_start_matches([' ', '\t']).len()];
    let text = text.replace('\n', &format!("\\\n{margin}  "));
    let time = time.map_or_else(String::new, |time| format!(" (added at {time})"));
    // A bullet whose text began on the next line has no blank behind it.
    let gap = if lead.is_empty() || lead.ends_with([' ', '\t']) { "" } else { " " };
    format!("{lead}{gap}{}{text}{time}\n", marks_text(marks))
}

/// Marks as they stand before a text.
pub(crate) fn marks_text(marks: MemoryMarks) -> String {
    let important = if marks.important { "[important] " } else { "" };
    let shared = if marks.shared { "[shared] " } else { "" };
    format!("{important}{shared}")
}

/// The one entry that a block is.
pub(crate) fn entry_of(block: &str, day: Option<Date>) -> MemoryResult<MemoryEntry> {
    let mut entries = read_entries(block, day);
    match (entries.pop(), entries.pop()) {
        (Some(entry), None) => Ok(entry),
        _ => Err(MemoryError::Empty),
    }
}

/// A moment as it stands behind a memory: to the second, with its offset.
pub(crate) fn time(at: &Zoned) -> String {
    let seconds = at.timestamp().as_second();
    let whole = jiff::Timestamp::from_second(seconds).unwrap_or(at.timestamp());
    whole.display_with_offset(at.offset()).to_string()
}

/// What has to be appended to a file that ends with `end`, so that `block` stands
/// under the heading of its day.
pub(crate) fn addition(end: &[u8], day: &str, block: &str) -> Vec<u8> {
    let mut addition = String::new();
    if !end.is_empty() && !ends_line(end) {
        addition.push('\n');
    }
    if last_heading(end) != Some(day) {
        let blank: [&[u8]; 3] = [b"\n\n", b"\n\r\n", b"\r\r"];
        let is_apart = end.is_empty() || blank.iter().any(|blank| end.ends_with(blank));
        addition += &format!("{}## {day}\n", if is_apart { "" } else { "\n" });
    }
    addition.push_str(block);
    with_line_ends_of(end, addition).into_bytes()
}

/// The text with the line ends that a file has, as its last one is.
pub(crate) fn with_line_ends_of(content: &[u8], text: String) -> String {
    match content.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(at) if content[at] == b'\r' => text.replace('\n', "\r"),
        Some(at) if content[..at].ends_with(b"\r") => text.replace('\n', "\r\n"),
        _ => text,
    }
}

fn last_heading(content: &[u8]) -> Option<&str> {
    let lines = content.rsplit(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = lines.filter(|line| line.starts_with(b"#"));
    lines.filter_map(|line| heading(str::from_utf8(line).ok()?)).next()
}

/// A text without what cannot be seen: other line breaks than `\n`, control
/// characters, and blanks at the end of a line.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split('\n').map(|line| {
        let line: String = line.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_heading_is_made_when_the_last_is_another() {
        let addition =
            |end: &str| String::from_utf8(addition(end.as_bytes(), "2026-03-01", "- a\n")).unwrap();
        assert_eq!(addition(""), "## 2026-03-01\n- a\n");
        assert_eq!(addition("## 2026-03-01\n- b\n"), "- a\n");
        assert_eq!(addition("## 2026-03-01\n- b"), "\n- a\n");
        assert_eq!(addition("## 2026-02-01\n- b\n"), "\n## 2026-03-01\n- a\n");
        assert_eq!(addition("## 2026-03-01\n### Work\n\n"), "## 2026-03-01\n- a\n");
        assert_eq!(addition("text"), "\n\n## 2026-03-01\n- a\n");
        assert_eq!(addition("## 2026-03-01\r\n- b\r\n"), "- a\r\n");
        assert_eq!(addition("## 2026-03-01\r- b\r"), "- a\r");
        assert_eq!(addition("## 2026-03-01\r- b"), "\r- a\r");
        assert_eq!(addition("## 2026-02-01\r- b\r"), "\r## 2026-03-01\r- a\r");
    }

    #[test]
    fn what_cannot_be_a_memory_is_refused() {
        assert!(matches!(Wording::new(" \n\t"), Err(MemoryError::Empty)));
        assert!(matches!(Wording::new("[important] "), Err(MemoryError::Empty)));
        assert!(matches!(Wording::new("[shared] <!-- a\nb -->"), Err(MemoryError::Empty)));
        assert!(Wording::new("a <!-- b -->").is_ok());
        let long = "é".repeat(LONGEST);
        assert!(Wording::new(&long).is_ok());
        let longer = Wording::new(&(long + "é"));
        assert!(matches!(longer, Err(MemoryError::TooLong { length: 4_001 })));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            text in "([-*+#_`~|>\\\\ \t\r\na1é\u{a0}\u{1b}(:]|1\\. |<!--|-->|\\[shared\\]|\\(added at 2026-01-01\\)|---|```|## 2026-01-01){0,30}",
            important: bool,
        ) {
            let Ok(wording) = Wording::new(&text) else { return Ok(()) };
            let marks = MemoryMarks { important, shared: wording.marks.shared };
            let written = block("- ", marks, &wording.text, Some("2026-03-01T09:30:00+01:00"));
            let before = "# Title\n```\nopen\n- b\\\n";
            let behind = "- c\n  ```\n";
            let content = format!("{before}{written}{behind}");
            let start = before.len();
            let entry = read_entries(&content, None)
                .into_iter()
                .find(|entry| entry.range == (start..start + written.len()));
            prop_assert!(entry.is_some(), "{content:?}");
            let entry = entry.unwrap();
            prop_assert_eq!(&entry.text, &wording.text);
            prop_assert_eq!(entry.marks, marks);
            prop_assert_eq!(entry.time.as_deref(), Some("2026-03-01T09:30:00+01:00"));
            prop_assert_eq!(entry_of(&written, None).unwrap().text, wording.text);
        }
    }
}
