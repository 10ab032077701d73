//! What a person used before in messages like the one at hand, as the record tells it.
//!
//! Neither the texts nor the items of those messages are in here: they belong to their own
//! sessions, and are gone when those are deleted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The evidence that a person used an item before in messages like this one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlierUse {
    /// In how many of them.
    pub messages: u32,
    /// The turn of the last one, counted over all sessions.
    pub turn: i64,
    /// The day on which that was sent, where the person was.
    pub day: CivilDay,
    /// The probability that the item would have had without it.
    pub without: f32,
}

impl EarlierUse {
    /// The evidence in words.
    pub fn describe(&self) -> String {
        let EarlierUse { messages, turn, day, without } = self;
        let raised = format!("probability {without:.2} without that");
        match messages {
            1 => {
                format!("used before in a message like this one, on {day} (turn {turn}; {raised})")
            }
            _ => format!(
                "used before in {messages} messages like this one, last on {day} (turn {turn}; \
                 {raised})"
            ),
        }
    }
}

/// A day as people write it: `2026-11-02`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CivilDay {
    year: i16,
    month: u8,
    day: u8,
}

impl CivilDay {
    /// The day of these numbers. Whether there is such a day is for the caller to know.
    pub const fn new(year: i16, month: u8, day: u8) -> CivilDay {
        CivilDay { year, month, day }
    }
}

impl fmt::Display for CivilDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilDay { year, month, day } = self;
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl From<CivilDay> for String {
    fn from(day: CivilDay) -> String {
        day.to_string()
    }
}

impl TryFrom<String> for CivilDay {
    type Error = NotADay;

    fn try_from(text: String) -> Result<CivilDay, NotADay> {
        let mut numbers = text.rsplitn(3, '-');
        let mut next = || numbers.next().ok_or(NotADay);
        let (day, month, year) = (next()?, next()?, next()?);
        let small = |text: &str| text.parse().map_err(|_| NotADay);
        let year = year.parse().map_err(|_| NotADay)?;
        Ok(CivilDay { year, month: small(month)?, day: small(day)? })
    }
}

/// The text is no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a day is written as 2026-11-02")]
pub struct NotADay;

#[cfg(test)]
mod tests {
    use super::*;

    fn used(messages: u32) -> EarlierUse {
        EarlierUse { messages, turn: 17, day: CivilDay::new(2026, 11, 2), without: 0.214 }
    }

    #[test]
    fn it_is_told_in_plain_words() {
        assert_eq!(
            used(3).describe(),
            "used before in 3 messages like this one, last on 2026-11-02 (turn 17; probability \
             0.21 without that)"
        );
        assert_eq!(
            used(1).describe(),
            "used before in a message like this one, on 2026-11-02 (turn 17; probability 0.21 \
             without that)"
        );
    }

    #[test]
    fn it_is_written_and_read() {
        let json = serde_json::to_string(&used(2)).unwrap();
        assert_eq!(json, r#"{"messages":2,"turn":17,"day":"2026-11-02","without":0.214}"#);
        assert_eq!(serde_json::from_str::<EarlierUse>(&json).unwrap(), used(2));
        assert!(serde_json::from_str::<CivilDay>("\"2026-11\"").is_err());
    }
}
