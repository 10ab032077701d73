//! The numbers that people type, and moments that survive being stored.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Defines the number of a row: shown, typed and serialised as a plain number.
macro_rules! row_number {
    ($(#[$docs:meta])* $name:ident, $what:literal) => {
        $(#[$docs])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub(crate) i64);

        impl $name {
            /// The number as SQLite has it.
            pub fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                match text.parse() {
                    Ok(number) if number > 0 => Ok($name(number)),
                    _ => Err(ParseIdError { what: $what }),
                }
            }
        }
    };
}

row_number!(
    /// The number of a session.
    SessionId,
    "session"
);
row_number!(
    /// A turn's number, counted over all sessions.
    TurnId,
    "turn"
);
row_number!(
    /// A request's number, counted over all sessions.
    RequestId,
    "request"
);
row_number!(
    /// The number of a question whether a tool may run.
    ApprovalId,
    "approval"
);
row_number!(
    /// The number of a summary that stands for messages.
    CompactionId,
    "compaction"
);

row_number!(
    /// The number of an exchange that was taken back.
    RetractionId,
    "retraction"
);
row_number!(
    /// The number of a token that lets somebody in.
    TokenId,
    "token"
);
row_number!(
    /// The number of a schedule.
    ScheduleId,
    "schedule"
);
row_number!(
    /// The number of a run of a schedule, counted over all of them.
    RunId,
    "run"
);

row_number!(
    /// The number of something that a bot of a chat service was sent.
    ChannelUpdateId,
    "update"
);
row_number!(
    /// The number of something that a bot of a chat service has to send.
    ChannelDeliveryId,
    "delivery"
);
row_number!(
    /// The number of somebody who asked to be let in, or was.
    PairingId,
    "pairing"
);

/// The text is no number of a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}s are named by their numbers, from 1")]
pub struct ParseIdError {
    what: &'static str,
}

/// A moment in whole microseconds, which is what the store keeps: a moment that
/// is read back equals the one that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Timestamp", into = "Timestamp")]
pub struct Moment(Timestamp);

impl Moment {
    /// Drops what is finer than a microsecond.
    pub fn new(timestamp: Timestamp) -> Self {
        let whole_seconds = || Timestamp::from_second(timestamp.as_second()).map(Moment);
        // Within the last second there is, microseconds can't be counted.
        Self::from_microseconds(timestamp.as_microsecond())
            .or_else(|| whole_seconds().ok())
            .unwrap_or(Moment(Timestamp::MIN))
    }

    /// The moment at which it is called.
    pub fn now() -> Self {
        Moment::new(Timestamp::now())
    }

    /// The moment as a time stamp.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }

    pub(crate) fn microseconds(self) -> i64 {
        self.0.as_microsecond()
    }

    /// `None` outside the years that a time stamp knows.
    pub(crate) fn from_microseconds(microseconds: i64) -> Option<Self> {
        Timestamp::from_microsecond(microseconds).ok().map(Moment)
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Moment::new(timestamp)
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        moment.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_plain_positive_numbers() {
        assert_eq!("17".parse(), Ok(TurnId(17)));
        assert_eq!(TurnId(17).to_string(), "17");
        for bad in ["", "0", "-3", "x", "1.5", "99999999999999999999"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_and_the_last_moment_survive() {
        for timestamp in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            let moment = Moment::new(timestamp);
            assert_eq!(Moment::from_microseconds(moment.microseconds()), Some(moment));
        }
    }

    proptest! {
        /// Promise: `timestamps-round-trip`
        #[test]
        fn moments_round_trip(nanoseconds in any::<i64>()) {
            let moment = Moment::new(Timestamp::from_nanosecond(nanoseconds.into()).unwrap());
            prop_assert_eq!(Moment::from_microseconds(moment.microseconds()), Some(moment));
            let json = serde_json::to_string(&moment).unwrap();
            prop_assert_eq!(serde_json::from_str::<Moment>(&json).unwrap(), moment);
        }
    }
}
