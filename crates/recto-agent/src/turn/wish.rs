//! What a call does that the message plainly asks for: what the person said, whatever the model
//! wrote. The transcript has the call as it was written.

use recto_context::{Text, ToolCall, WantedCall};
use serde_json::Value;

use super::TurnRun;
use crate::memories::keeps_wish;

impl TurnRun<'_> {
    /// The calls as they are run. The first that the message asks for says what the person said; a
    /// later one may be for something else that was told.
    pub(super) fn with_wish(&self, mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
        let Some(wish) = &self.state.mode().wanted_call else { return calls };
        let mut is_first = self.state.lacks_wanted_call();
        for call in calls.iter_mut().filter(|call| call.name == wish.tool) {
            if let Some(arguments) = wished_arguments(call, wish, is_first) {
                call.arguments = Text::from(arguments.to_string());
            }
            is_first = false;
        }
        calls
    }
}

/// The arguments that the person's words are; nothing where the model's own count.
fn wished_arguments(call: &ToolCall, wish: &WantedCall, is_first: bool) -> Option<Value> {
    let written: Value = serde_json::from_str(call.arguments.as_str()).unwrap_or_default();
    let text = written["text"].as_str().unwrap_or_default();
    match is_first && wish.is_dictated || keeps_wish(text, wish) {
        true => Some(wish.arguments()),
        false => None,
    }
}
