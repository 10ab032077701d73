//! Numbers of messages as a few ranges: a history is mostly one piece of a transcript.

use recto_context::MessageId;
use serde::{Deserialize, Serialize};

/// Numbers of messages in growing order, kept as the first and the last of each stretch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct MessageRanges(Vec<(MessageId, MessageId)>);

impl MessageRanges {
    /// The first of them.
    pub(crate) fn first(&self) -> Option<MessageId> {
        self.0.first().map(|(first, _)| *first)
    }

    /// Whether the message of this number is among them.
    pub(crate) fn contains(&self, id: MessageId) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= id);
        behind.checked_sub(1).is_some_and(|at| id <= self.0[at].1)
    }
}

impl FromIterator<MessageId> for MessageRanges {
    /// The numbers must grow.
    fn from_iter<I: IntoIterator<Item = MessageId>>(ids: I) -> Self {
        let mut ranges: Vec<(MessageId, MessageId)> = Vec::new();
        for id in ids {
            match ranges.last_mut() {
                Some((_, last)) if last.0 + 1 == id.0 => *last = id,
                _ => ranges.push((id, id)),
            }
        }
        MessageRanges(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_they_were_made_of() {
        let ids = [1, 2, 3, 7, 9, 10];
        let ranges: MessageRanges = ids.into_iter().map(MessageId).collect();
        let held = (0..20).filter(|id| ranges.contains(MessageId(*id)));
        assert_eq!(held.collect::<Vec<_>>(), ids);
        assert_eq!(serde_json::to_string(&ranges).unwrap(), "[[1,3],[7,7],[9,10]]");
        assert!(!MessageRanges::default().contains(MessageId(1)));
    }
}
