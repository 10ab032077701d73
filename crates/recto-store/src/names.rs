//! The names that people give to sessions. A name is no path and no key: any
//! visible text will do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A session's name: one line of 1 to 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

/// The text can't be a session's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionNameError {
    /// Nothing of it is to be seen.
    #[error("a session's name can't be empty")]
    Empty,
    /// It is longer than 128 characters.
    #[error("a session's name has at most {} characters", SessionName::LONGEST)]
    TooLong,
    /// It has a line break or another control character.
    #[error("a session's name can't have control characters")]
    Control,
    /// It could be the number of another session.
    #[error("a session's name can't be a number: numbers name sessions by themselves")]
    Number,
}

impl SessionName {
    /// How many characters a name may have.
    pub const LONGEST: usize = 128;

    /// Takes the spaces around it away.
    pub fn new(text: &str) -> Result<Self, SessionNameError> {
        let name = text.trim();
        if name.chars().all(is_invisible) {
            Err(SessionNameError::Empty)
        } else if name.chars().any(char::is_control) {
            Err(SessionNameError::Control)
        } else if name.chars().count() > Self::LONGEST {
            Err(SessionNameError::TooLong)
        } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
            Err(SessionNameError::Number)
        } else {
            Ok(SessionName(name.to_owned()))
        }
    }

    /// The name as people wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether nothing is to be seen of a character: a space, or what only joins, parts or directs
/// those beside it.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'..='\u{1160}'
                | '\u{17B4}'..='\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}'
                | '\u{202A}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for SessionName {
    type Err = SessionNameError;

    fn from_str(text: &str) -> Result<Self, SessionNameError> {
        SessionName::new(text)
    }
}

impl TryFrom<String> for SessionName {
    type Error = SessionNameError;

    fn try_from(text: String) -> Result<Self, SessionNameError> {
        SessionName::new(&text)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_visible_line_is_a_name() {
        for name in
            ["a", "work/recto ../etc", "a:b", "会話", "📎", "👩\u{200D}💻", &"ü".repeat(128)]
        {
            assert_eq!(SessionName::new(name).unwrap().as_str(), name);
        }
        assert_eq!(SessionName::new("  a b ").unwrap().as_str(), "a b");
    }

    #[test]
    fn what_is_no_name_is_refused_with_its_reason() {
        assert_eq!(SessionName::new(" \n "), Err(SessionNameError::Empty));
        for unseen in ["\u{200B}", "\u{FEFF}", "\u{200D}\u{2060} \u{AD}", "\u{3164}\u{E0041}"] {
            assert_eq!(SessionName::new(unseen), Err(SessionNameError::Empty), "{unseen:?}");
        }
        assert_eq!(SessionName::new("a\nb"), Err(SessionNameError::Control));
        assert_eq!(SessionName::new("a\0"), Err(SessionNameError::Control));
        assert_eq!(SessionName::new(&"ü".repeat(129)), Err(SessionNameError::TooLong));
    }
}
