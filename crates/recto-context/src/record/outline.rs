//! What a record says without the texts that it refers to: enough to draw a turn among others.

use std::sync::Arc;

use super::ContextRecord;
use crate::budget::Budget;
use crate::context::DroppedEntry;
use crate::layer::Layer;
use crate::mode::Mode;
use crate::tokens::Tokens;

/// The outline of a recorded request: what each layer cost, and what was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordOutline {
    /// The model entry that it was made for.
    pub model: Arc<str>,
    /// Minimal or full.
    pub mode: Mode,
    /// How the window was shared out.
    pub budget: Budget,
    /// What each layer cost, in order; tool schemas count to Tools.
    pub layers: Vec<(Layer, Tokens)>,
    /// What was left out, and why.
    pub dropped: Vec<DroppedEntry>,
}

impl RecordOutline {
    /// What the prompt cost: messages and tool schemas.
    pub fn prompt_tokens(&self) -> Tokens {
        self.budget.used + self.budget.tools
    }
}

impl ContextRecord {
    /// The outline of the request.
    pub fn outline(&self) -> RecordOutline {
        let cost = |layer: Layer| {
            let rows = self.parts.iter().zip(&self.tokens.parts);
            let parts: Tokens =
                rows.filter(|(part, _)| part.at == layer).map(|(_, tokens)| *tokens).sum();
            if layer == Layer::Tools { parts + self.budget.tools } else { parts }
        };
        let dropped = self.dropped.iter().zip(&self.tokens.dropped);
        let dropped = dropped.map(|(row, (before, after))| DroppedEntry {
            what: row.what.clone(),
            item: row.item.clone(),
            layer: row.at,
            before: *before,
            after: *after,
            reason: row.why.clone(),
        });
        RecordOutline {
            model: self.model.clone(),
            mode: self.mode.chosen,
            budget: self.budget,
            layers: Layer::ALL.into_iter().map(|layer| (layer, cost(layer))).collect(),
            dropped: dropped.collect(),
        }
    }
}
