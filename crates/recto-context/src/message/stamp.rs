//! The date and time that stand in front of a person's message, and what of it models imitate.
//!
//! Small models begin their own replies with whatever begins each message. Of the forms that were
//! tried on the smallest model that Recto knows, a line of its own with a word in front is
//! imitated least; `cargo xtask bench talk` counts. What is imitated all the same is taken off a
//! reply's beginning, so that the history does not teach it.
//!
//! A stamp is stored as it was sent. Messages of before have one in brackets, and keep it.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::text::Text;

/// What stands around the minute of a message.
const BEFORE: &str = "Sent ";
const BEHIND: &str = ":";

/// A minute: digits where this has zeros, and its marks where it has marks.
const MINUTE: &str = "0000-00-00 00:00";

/// A short stamp of date and time, such as `Sent 2026-11-15 08:07:`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct MessageStamp {
    stored: Arc<str>,
    /// What stands in front of the message. Made once: every page of a session has all of its
    /// stamps.
    lead: Text,
}

impl MessageStamp {
    /// A stamp as it is stored. Keeps the first line, so that a stamp can't pose as a message.
    pub fn new(text: &str) -> Self {
        let stored = text.lines().next().unwrap_or_default().trim();
        let lead = match line_minute(stored) {
            Some(_) => format!("{stored}\n"),
            None => format!("[{stored}] "),
        };
        MessageStamp { stored: stored.into(), lead: lead.into() }
    }

    /// The stamp of a message that was sent in this minute, such as `2026-11-15 08:07`.
    pub fn from_minute(minute: &str) -> Self {
        MessageStamp::new(&format!("{BEFORE}{minute}{BEHIND}"))
    }

    /// The stamp as it is stored.
    pub fn as_str(&self) -> &str {
        &self.stored
    }

    /// The date and time alone.
    pub fn minute(&self) -> &str {
        line_minute(&self.stored).unwrap_or(&self.stored)
    }

    /// What stands in front of the message. Stamps of before stand in brackets.
    pub(crate) fn lead(&self) -> &Text {
        &self.lead
    }

    /// Whether a text begins with this stamp, where [`LeadingStamp`] has found so much to be one.
    pub fn stands_in(&self, lead: &str) -> bool {
        self.lead.trim_end() == lead.trim_end()
    }

    /// The minute of a stamp that stands in a line of its own, where [`LeadingStamp`] has found so
    /// much to be one, with the blanks behind it.
    pub fn minute_of_line(lead: &str) -> Option<&str> {
        let (line, _) = lead.split_once('\n')?;
        line_minute(line.trim_end())
    }

    /// All in a text that can be a minute, and some that can't.
    pub fn minutes_in(text: &str) -> impl Iterator<Item = &str> {
        let (date, rest) = (MINUTE.len() - 3, 3);
        text.match_indices(':')
            .filter_map(move |(at, _)| text.get(at.checked_sub(date)?..at + rest))
    }
}

/// The minute of a stamp that stands in a line of its own.
fn line_minute(stored: &str) -> Option<&str> {
    stored.strip_prefix(BEFORE)?.strip_suffix(BEHIND)
}

impl From<String> for MessageStamp {
    fn from(stored: String) -> Self {
        MessageStamp::new(&stored)
    }
}

impl Serialize for MessageStamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Whether a text begins with a stamp, in either of the forms that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadingStamp {
    /// It does not, whatever follows.
    None,
    /// What there is of it could become one, or the blanks behind one.
    Unfinished,
    /// It does: so many bytes, with the blanks behind it.
    Whole(usize),
}

impl LeadingStamp {
    /// Looks at a text that may still grow.
    ///
    /// ```
    /// use recto_context::LeadingStamp;
    /// assert_eq!(LeadingStamp::find("Sent 2026-11-15 08:07:\nHi"), LeadingStamp::Whole(23));
    /// assert_eq!(LeadingStamp::find("[2026-11-15 08:07] Hi"), LeadingStamp::Whole(19));
    /// assert_eq!(LeadingStamp::find("Sent 2026-11"), LeadingStamp::Unfinished);
    /// assert_eq!(LeadingStamp::find("Sent by Ada"), LeadingStamp::None);
    /// ```
    pub fn find(text: &str) -> Self {
        let line = format!("{BEFORE}{MINUTE}{BEHIND}");
        let bracketed = format!("[{MINUTE}]");
        match find_form(text, &line) {
            LeadingStamp::None => find_form(text, &bracketed),
            found => found,
        }
    }

    /// The stamp that a whole text begins with, with the blanks behind it, and the rest. A text
    /// that is nothing but a stamp begins with none.
    pub fn split(text: &str) -> Option<(&str, &str)> {
        match LeadingStamp::find(text) {
            LeadingStamp::Whole(length) => Some(text.split_at(length)),
            LeadingStamp::None | LeadingStamp::Unfinished => None,
        }
    }
}

fn find_form(text: &str, form: &str) -> LeadingStamp {
    let fits = |(form, byte): (u8, u8)| {
        if form == b'0' { byte.is_ascii_digit() } else { byte == form }
    };
    if !form.bytes().zip(text.bytes()).all(fits) {
        return LeadingStamp::None;
    }
    // All that fits is ASCII, so this is no place within a character.
    let Some(rest) = text.get(form.len()..) else { return LeadingStamp::Unfinished };
    match rest.find(|c: char| !c.is_whitespace()) {
        None => LeadingStamp::Unfinished,
        // `[2026-11-15 08:07]:` is something else.
        Some(0) => LeadingStamp::None,
        Some(blanks) => LeadingStamp::Whole(form.len() + blanks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_a_line_and_those_of_before_stand_in_brackets() {
        let stamp = MessageStamp::from_minute("2026-11-15 08:07");
        assert_eq!(stamp.as_str(), "Sent 2026-11-15 08:07:");
        assert_eq!(
            (stamp.lead().as_str(), stamp.minute()),
            ("Sent 2026-11-15 08:07:\n", "2026-11-15 08:07")
        );
        let before = MessageStamp::new("2026-11-15 08:07");
        assert_eq!(
            (before.lead().as_str(), before.minute()),
            ("[2026-11-15 08:07] ", "2026-11-15 08:07")
        );
    }

    #[test]
    fn minutes_are_found_wherever_they_stand() {
        let text = "ä: 2026-11-15 08:07:12 disk full\n[2026-11-15 08:08] é: on";
        let minutes: Vec<&str> = MessageStamp::minutes_in(text).collect();
        for minute in ["2026-11-15 08:07", "2026-11-15 08:08"] {
            assert!(minutes.contains(&minute), "{minutes:?}");
        }
        assert_eq!(MessageStamp::minutes_in("a: b").next(), None);
    }

    #[test]
    fn only_what_has_exactly_the_form_of_a_stamp_is_one() {
        for text in [
            "Sent 2026-11-15 08:07\nHi",
            "Sent 2026-11-15 08:07:Hi",
            "sent 2026-11-15 08:07:\nHi",
            "Sent 2026-11-15 8:07:\nHi",
            " Sent 2026-11-15 08:07:\nHi",
            "[2026-11-15] Hi",
            "[2026-11-15 08:07]: Hi",
            "[draft] Hi",
            "Hi",
            "Sént",
        ] {
            assert_eq!(LeadingStamp::find(text), LeadingStamp::None, "{text}");
        }
        for text in ["", "S", "Sent 2026-", "[2", "Sent 2026-11-15 08:07:", "[2026-11-15 08:07] \n"]
        {
            assert_eq!(LeadingStamp::find(text), LeadingStamp::Unfinished, "{text}");
        }
        let split = LeadingStamp::split("Sent 2026-11-15 08:07: \n\nHi");
        assert_eq!(split, Some(("Sent 2026-11-15 08:07: \n\n", "Hi")));
        assert_eq!(LeadingStamp::split("Sent 2026-11-15 08:07:"), None);
    }
}
