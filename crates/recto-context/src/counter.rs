//! Counts what parts of the page cost, exactly where a tokenizer has counted
//! them, by estimate where none has.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::context::OfferedTool;
use crate::message::{Body, ContentPart, Message, ToolCall};
use crate::page::{Content, Part};
use crate::text::{ContentHash, Text};
use crate::tokens::{Profile, Rates, Tokens};

static LINE_BREAK: LazyLock<Profile> = LazyLock::new(|| Profile::of("\n\n"));

/// How a model's tokens are counted.
#[derive(Debug, Clone, Default)]
pub struct Counter<'a> {
    rates: Rates,
    exact: Option<&'a CountTable>,
    calibrated: bool,
}

/// What the model's own tokenizer counted. It comes into the pure core as a
/// table, because the tokenizer itself lives elsewhere.
#[derive(Debug, Clone, Default)]
pub struct CountTable {
    /// Tokens by the hash of the text.
    pub counts: HashMap<ContentHash, Tokens>,
    /// What the chat template adds to each message.
    pub per_message: Tokens,
}

impl CountTable {
    /// Whether all that a part shows has been counted.
    fn covers(&self, part: &Part) -> bool {
        let known = |text: &Text| text.is_empty() || self.counts.contains_key(&text.hash());
        let content = match &part.content {
            Content::Text(text) => known(text),
            Content::Message(message) => {
                let texts = message.content().iter().all(|p| p.as_text().is_some_and(known));
                texts && message.calls().iter().all(|call| known(&call.arguments))
            }
        };
        content && known(&part.lead)
    }
}

/// What a count is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// By kinds of characters, with the default rates.
    Estimated,
    /// By kinds of characters, with rates corrected by the server's counts.
    Calibrated,
    /// By the model's own tokenizer where it has counted, by estimate elsewhere.
    Mixed,
    /// By the model's own tokenizer.
    Exact,
}

impl<'a> Counter<'a> {
    /// Estimates with the default rates.
    pub fn estimated() -> Self {
        Counter::default()
    }

    /// Estimates with rates that a server's counts have corrected.
    pub fn calibrated(rates: Rates) -> Self {
        Counter { rates, exact: None, calibrated: true }
    }

    /// Takes counts from `table`, and estimates what it lacks.
    pub fn exact(table: &'a CountTable, rates: Rates) -> Self {
        Counter { rates, exact: Some(table), calibrated: true }
    }

    /// What the counts of these parts and tools are worth.
    pub(crate) fn kind(&self, parts: &[Part], tools: &[OfferedTool]) -> CountKind {
        let counted = |table: &CountTable| {
            parts.iter().all(|part| table.covers(part))
                && tools.iter().all(|tool| table.counts.contains_key(&tool.spec.schema.hash()))
        };
        match (self.exact, self.calibrated) {
            (Some(table), _) if counted(table) => CountKind::Exact,
            (Some(_), _) => CountKind::Mixed,
            (None, true) => CountKind::Calibrated,
            (None, false) => CountKind::Estimated,
        }
    }

    /// What a text costs.
    pub fn text(&self, text: &Text) -> Tokens {
        let counted = self.exact.and_then(|table| table.counts.get(&text.hash()));
        counted.copied().unwrap_or_else(|| self.profile(text.profile()))
    }

    /// What a text costs with what stands before it. Estimates are rounded once.
    pub(crate) fn led(&self, lead: &Text, text: &Text) -> Tokens {
        if self.exact.is_some() {
            return self.text(lead) + self.text(text);
        }
        self.profile(&(*lead.profile() + *text.profile()))
    }

    /// The same behind a line break.
    pub(crate) fn line(&self, lead: &Text, text: &Text) -> Tokens {
        if self.exact.is_some() {
            return self.profile(&LINE_BREAK) + self.text(lead) + self.text(text);
        }
        self.profile(&(*LINE_BREAK + *lead.profile() + *text.profile()))
    }

    /// What something made like this costs.
    pub fn profile(&self, profile: &Profile) -> Tokens {
        self.rates.estimate(profile)
    }

    /// What a message costs on top of its content.
    pub fn per_message(&self) -> Tokens {
        self.exact.map_or_else(|| self.rates.per_message(), |table| table.per_message)
    }

    /// What a message's content and calls cost, without its overhead.
    pub fn message(&self, message: &Message) -> Tokens {
        let content: Tokens = message.content().iter().map(|part| self.content(part)).sum();
        let calls: Tokens = message.calls().iter().map(|call| self.call(call)).sum();
        let name = match &message.body {
            Body::Tool { name, .. } => self.profile(&Profile::of(name)),
            _ => Tokens::ZERO,
        };
        content + calls + name
    }

    fn content(&self, part: &ContentPart) -> Tokens {
        match part {
            ContentPart::Text(text) => self.text(text),
            other => self.profile(&other.profile()),
        }
    }

    /// A call costs its name, its arguments and the frame that templates put around them.
    fn call(&self, call: &ToolCall) -> Tokens {
        self.profile(&Profile::of(&call.name)) + self.text(&call.arguments) + self.per_message()
    }
}
