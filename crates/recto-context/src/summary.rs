//! A summary that stands on the page for messages which have left it. The messages
//! themselves stay in the transcript; how a summary is made, `compact` knows.

use serde::{Deserialize, Serialize};

use crate::inputs::ContextLimits;
use crate::message::MessageId;
use crate::text::Text;
use crate::tokens::Tokens;

/// What stands for messages that have left the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistorySummary {
    /// The summary itself, as the model reads it.
    pub text: Text,
    /// The first message that it stands for.
    pub first: MessageId,
    /// The last message that it stands for.
    pub last: MessageId,
    /// How many messages it stands for.
    pub messages: usize,
    /// Whether Recto or a model made it.
    pub how: SummaryBy,
}

/// The maker of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryBy {
    /// Recto, of sentences as they were said.
    Extract,
    /// A model, in its own words.
    Summary,
}

impl SummaryBy {
    /// The name that the config, the store and records use.
    pub fn name(self) -> &'static str {
        match self {
            SummaryBy::Extract => "extract",
            SummaryBy::Summary => "summary",
        }
    }
}

/// How much of the history's room a summary may take, where there is to be one: at
/// most a quarter of it, so that what is summarised is never most of what is said.
pub fn summary_room(limits: &ContextLimits, history: Tokens) -> Tokens {
    limits.summary_tokens.min(Tokens::new(history.get() / 4))
}
