//! What the turns of this process came to since it began, counted as they happen.
//!
//! Only numbers are kept, by the names of model entries; the store counts for good.

use std::collections::{BTreeMap, HashMap};

use recto_store::{TurnEnding, TurnId};

use crate::agent::Agent;
use crate::event::EventKind;
use crate::turn_usage::UsageTotals;

/// What the turns of this process came to since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnCounters {
    /// How many turns ended, by the name of how they did.
    pub endings: BTreeMap<&'static str, u64>,
    /// What the servers of the model entries counted, by the names of these.
    pub models: BTreeMap<String, ModelTokens>,
    /// The model that a turn asked last, while it runs.
    asked: HashMap<TurnId, String>,
}

/// What the server of a model entry counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTokens {
    /// How many requests there were, answered or not.
    pub requests: u64,
    /// Tokens of prompts, cached ones included.
    pub prompt: u64,
    /// Tokens of prompts that came out of a cache.
    pub cached: u64,
    /// Tokens of replies.
    pub completion: u64,
}

impl Agent {
    /// What its turns in this process came to so far.
    pub fn turn_counters(&self) -> TurnCounters {
        self.shared.streams.counters()
    }
}

impl TurnCounters {
    /// Counts what an event tells.
    pub(crate) fn count(&mut self, turn: TurnId, event: &EventKind) {
        match event {
            EventKind::Requested { model, .. } => {
                self.asked.insert(turn, model.clone());
            }
            EventKind::Finished(finished) => {
                self.count_ending(turn, finished.status, &finished.usage);
            }
            _ => {}
        }
    }

    fn count_ending(&mut self, turn: TurnId, status: TurnEnding, usage: &UsageTotals) {
        *self.endings.entry(status.name()).or_default() += 1;
        // One that was taken up and ended at once asked nobody here.
        let Some(model) = self.asked.remove(&turn) else { return };
        let tokens = self.models.entry(model).or_default();
        tokens.requests += u64::from(usage.requests);
        tokens.prompt += u64::from(usage.prompt.unwrap_or(0));
        tokens.cached += u64::from(usage.cached.unwrap_or(0));
        tokens.completion += u64::from(usage.completion.unwrap_or(0));
    }
}
