//! The first words of a session, which lists show. They are kept beside it when its first message
//! is written: a message can have megabytes, and a list has many of them.

use crate::sql::{SqlConnection, params};
use recto_context::{Message, Text};

use crate::ids::SessionId;
use crate::rows::DbResult;

/// How many characters of a session's first message a list shows.
const LONGEST: usize = 80;

/// The first words of a message, if it has a text.
pub(crate) fn first_words(message: &Message) -> Option<String> {
    let text = message.content().iter().find_map(|part| part.as_text().map(Text::as_str))?;
    let (mut words, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let gap = (!words.is_empty()).then_some(' ');
        // A word can be as long as the whole message.
        for character in gap.into_iter().chain(word.chars()) {
            if length == LONGEST {
                words.push('…');
                return Some(words);
            }
            words.push(character);
            length += 1;
        }
    }
    Some(words)
}

/// Keeps the first words of a session.
pub(crate) fn keep(db: &SqlConnection, session: SessionId, words: Option<&str>) -> DbResult<()> {
    let sql = "UPDATE sessions SET opening = ?2 WHERE id = ?1";
    db.execute(sql, params![session.0, words]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_stand_on_one_line_and_are_short_whatever_was_said() {
        let words = |text: &str| first_words(&Message::user(1, text)).unwrap();
        assert_eq!(words("  first\n\twords "), "first words");
        assert_eq!(words(" \n "), "");
        assert_eq!(words(&"ü".repeat(80)), "ü".repeat(80));
        assert_eq!(words(&"ü".repeat(1_000)), "ü".repeat(80) + "…");
        assert_eq!(words(&("a".repeat(79) + " b")), "a".repeat(79) + " …");
    }
}
