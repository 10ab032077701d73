//! What the requests of a turn cost, as the model's server counted it. Nothing is estimated here.

use recto_llm::TokenUsage;
use recto_store::{RequestUsage, Store, StoreResult, TurnId};
use serde::{Deserialize, Serialize};

/// Tokens as the server counted them, over all requests of a turn. What a server
/// does not tell is absent: fresh and cached tokens are never made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotals {
    /// How many requests the turn made, answered or not.
    pub requests: u32,
    /// How many of them the server told its count of. Of one that was stopped it tells none.
    #[serde(default)]
    pub counted: u32,
    /// Tokens of the prompts together, cached parts included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// What of the prompts came out of the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u32>,
    /// Tokens of the replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<u32>,
    /// The largest prompt. The requests of a turn repeat each other: their sum is a number that no
    /// prompt had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<PromptUsage>,
}

/// The prompt of one request, as the server counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptUsage {
    /// Its tokens, cached parts included.
    pub prompt: u32,
    /// What of it came out of the server's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u32>,
}

impl UsageTotals {
    /// Reads what the stored requests of a turn cost, in whichever process each was made.
    pub async fn read(store: &Store, turn: TurnId) -> StoreResult<Self> {
        let usages = store.request_usages(turn).await?;
        let requests = u32::try_from(usages.len()).unwrap_or(u32::MAX);
        let mut totals = UsageTotals { requests, ..UsageTotals::default() };
        for RequestUsage { prompt, cached, completion } in usages {
            totals.add(&TokenUsage { prompt, cached, completion });
        }
        Ok(totals)
    }

    pub(crate) fn add(&mut self, usage: &TokenUsage) {
        let sum = |total: Option<u32>, new: Option<u32>| match (total, new) {
            (Some(total), Some(new)) => Some(total.saturating_add(new)),
            (known, None) | (None, known) => known,
        };
        self.prompt = sum(self.prompt, usage.prompt);
        self.cached = sum(self.cached, usage.cached);
        self.completion = sum(self.completion, usage.completion);
        if let Some(prompt) = usage.prompt {
            self.counted += 1;
            if self.largest.is_none_or(|largest| prompt > largest.prompt) {
                self.largest = Some(PromptUsage { prompt, cached: usage.cached });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_prompt_keeps_its_own_cache() {
        let mut totals = UsageTotals { requests: 3, ..UsageTotals::default() };
        for (prompt, cached) in [(Some(900), Some(850)), (Some(1_204), Some(900)), (None, None)] {
            totals.add(&TokenUsage { prompt, cached, completion: None });
        }
        assert_eq!(totals.largest, Some(PromptUsage { prompt: 1_204, cached: Some(900) }));
        assert_eq!((totals.requests, totals.counted, totals.prompt), (3, 2, Some(2_104)));
    }
}
