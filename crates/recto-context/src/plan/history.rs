//! Which earlier messages belong on the page, exchange by exchange.

use std::sync::Arc;

use super::{DropTally, Plan};
use crate::carry::Carry;
use crate::compose::Composer;
use crate::context::DropReason;
use crate::exchange::{condense, exchanges, mend_rounds};
use crate::inputs::AssemblyInputs;
use crate::layer::Layer;
use crate::layout::ImageRender;
use crate::message::{Message, MessageId};
use crate::mode::words;
use crate::page::Part;
use crate::summary::HistorySummary;
use crate::tokens::{TextProfile, Tokens};

/// An exchange of the history, and its parts on the page.
pub(crate) struct Exchange {
    pub messages: Vec<Arc<Message>>,
    pub parts: Vec<Part>,
}

impl Exchange {
    fn compose(messages: Vec<Arc<Message>>, composer: &Composer<'_>) -> Self {
        let parts = messages.iter().flat_map(|message| composer.history_message(message)).collect();
        Exchange { messages, parts }
    }

    /// The same exchange without its rounds; `None` when it has none, or when
    /// nothing would be left.
    pub(crate) fn condensed(&self, plan: &Plan<'_>) -> Option<Self> {
        let messages = condense(&self.messages);
        let shorter = !messages.is_empty() && messages.len() < self.messages.len();
        shorter.then(|| Exchange::compose(messages, &Composer::new(plan.inputs, &plan.carry)))
    }

    pub(crate) fn first(&self) -> Option<MessageId> {
        self.messages.first().map(|message| message.id)
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

impl<'a> Plan<'a> {
    pub(super) fn plan_history(&mut self) {
        let inputs = self.inputs;
        let messages = self.sent_history();
        let mended = mend_rounds(messages, Layer::History, &inputs.counter, &mut self.dropped);
        let composer = Composer::new(inputs, &self.carry);
        let is_condensed = |exchange: &[Arc<Message>]| {
            exchange.first().is_some_and(|first| self.carry.condensed.contains(&first.id))
        };
        let history = exchanges(&mended).map(|exchange| {
            let condensed = is_condensed(exchange).then(|| condense(exchange));
            Exchange::compose(condensed.unwrap_or_else(|| exchange.to_vec()), &composer)
        });
        self.history = history.collect();
        self.note_earlier_trims();
        self.note_taken_back();
    }

    /// The messages that the mode sends. Those that it does not are counted and
    /// not composed: a session that never sends its history may be long.
    fn sent_history(&mut self) -> &'a [Arc<Message>] {
        let messages = open_history(self.inputs, &self.carry);
        if self.inputs.mode.chosen.sends_history() {
            return messages;
        }
        let kept = kept_without_history(self.inputs);
        let users = (0..messages.len()).rev().filter(|&at| messages[at].is_user());
        let start = users.take(kept).last().unwrap_or(messages.len());
        let (left, sent) = messages.split_at(start);
        let visible = left.iter().filter(|message| message.is_for_models());
        let mut left_out = DropTally { count: visible.clone().count(), ..DropTally::default() };
        let profile: TextProfile = visible.map(|message| message.profile(Layer::History)).sum();
        left_out.tokens = self.inputs.counter.profile(&profile);
        let names = ["message", "messages"];
        self.dropped.extend(left_out.dropped(Layer::History, names, DropReason::Mode));
        sent
    }

    fn note_earlier_trims(&mut self) {
        let trimmed = self.carry.trimmed;
        let left_out = DropTally { count: trimmed.messages, tokens: trimmed.tokens };
        let names = ["message", "messages"];
        self.dropped.extend(left_out.dropped(Layer::History, names, DropReason::TrimmedEarlier));
    }

    /// Notes what a person took back, as long as it would be on the page otherwise.
    fn note_taken_back(&mut self) {
        let taken_back = self.inputs.taken_back;
        self.carry.taken_back =
            self.carry.taken_back.max(taken_back.last().map(|message| message.id));
        let from = self.carry.history_from.unwrap_or_default();
        let is_open = |message: &&Arc<Message>| message.id >= from && message.is_for_models();
        let mut left_out = DropTally::default();
        for message in taken_back.iter().filter(is_open) {
            left_out.add(self.inputs.counter.message(message, Layer::History));
        }
        let names = ["message", "messages"];
        self.dropped.extend(left_out.dropped(Layer::History, names, DropReason::TakenBack));
    }

    /// Notes the images of the messages on the page that stand there as text.
    pub(crate) fn note_images(&mut self) {
        if self.inputs.layout.images == ImageRender::Native {
            return;
        }
        let messages = self.history.iter().flat_map(|exchange| &exchange.messages);
        let count = messages.flat_map(|message| message.images()).count();
        let profile = TextProfile::default().with_images(u32::try_from(count).unwrap_or(u32::MAX));
        let as_text = DropTally { count, tokens: self.inputs.counter.profile(&profile) };
        let names = ["image", "images"];
        self.dropped.extend(as_text.dropped(Layer::History, names, DropReason::ImageAsText));
    }

    /// The summary of what has left, once all of that has left.
    pub(crate) fn plan_summary(&mut self) {
        let from = self.carry.history_from.unwrap_or_default();
        let is_due = |summary: &&HistorySummary| {
            self.inputs.mode.chosen.sends_history() && summary.last < from
        };
        let Some(summary) = self.inputs.summary.filter(is_due) else { return };
        self.summary = Some(Composer::new(self.inputs, &self.carry).summary(summary));
    }

    /// What a summary takes on the page.
    pub(crate) fn cost_of(&self, summary: &HistorySummary) -> Tokens {
        Composer::new(self.inputs, &self.carry).summary(summary).tokens
    }
}

/// The messages that have not been trimmed away, without the current one.
pub(super) fn open_history<'a>(inputs: &AssemblyInputs<'a>, carry: &Carry) -> &'a [Arc<Message>] {
    let from = carry.history_from.unwrap_or_default();
    let start = inputs.history.partition_point(|message| message.id < from);
    let end = inputs.history.partition_point(|message| message.id < inputs.message_id);
    &inputs.history[start..end.max(start)]
}

/// Exchanges that are sent in a mode without history: as set, or the last one
/// when the message means nothing without it.
fn kept_without_history(inputs: &AssemblyInputs<'_>) -> usize {
    if !inputs.mode.chosen.is_minimal() {
        return 0;
    }
    let text = inputs.message.content.iter().find_map(|part| part.as_text());
    let bare_reply = text.is_some_and(|text| words::is_bare_reply(text));
    inputs.limits.minimal_history.max(usize::from(bare_reply))
}
