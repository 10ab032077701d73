//! From what is known to a request, and from the request to its record.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use recto_context::{
    Audience, Bootstrap, Calibration, Catalog, Comparison, ContentHash, ContentPart, Inputs,
    ItemId, Message, MessageId, ModeDecision, RequestContext, SessionItem, Snapshot, Stamp,
    Summary, SummaryBy, TurnNumber, Window, compare,
};
use recto_llm::{LlmError, Wire};
use recto_store::{Fidelity, ItemState, Moment, NewMessage, NewRequest, RequestId};
use recto_tools::Approval;
use serde_json::{Value, json};

use super::{Draft, TurnRun};
use crate::counts::Counts;
use crate::error::AgentError;
use crate::event::Event;
use crate::known::Known;
use crate::options::ModelEntry;
use crate::record::{Document, pieces};
use crate::selection::Found;
use crate::shared::counter;

/// What all requests of a turn share.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) catalog: Arc<Catalog>,
    /// The memories for the page, where the turn has chosen them.
    pub(crate) snapshot: Option<Snapshot>,
    /// What stands for messages that have left.
    pub(crate) summary: Option<Summary>,
    /// How those that leave are summarised.
    pub(crate) compaction: Option<SummaryBy>,
    /// For whom it is made.
    pub(crate) audience: Audience,
    /// What skills' programs were when a person last looked at them.
    pub(crate) trusted: Arc<BTreeMap<PathBuf, ContentHash>>,
    /// When a person is asked.
    pub(crate) approval: Approval,
    /// The model's window, or why nobody knows it.
    pub(crate) window: Result<Window, LlmError>,
    pub(crate) calibration: Calibration,
    /// Exact counts, where the model's own tokenizer is at hand.
    pub(crate) counts: Option<Arc<Counts>>,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) stamp: Stamp,
    /// Items that join the session with this turn.
    pub(crate) joining: Vec<SessionItem>,
    /// What a person took out of the session.
    pub(crate) removed: Vec<ItemId>,
    /// What the person is told once the turn has begun.
    pub(crate) notices: Vec<String>,
}

/// What is asked of a page: the message, and what stands around it.
pub(crate) struct Asked<'a> {
    pub(crate) content: &'a [ContentPart],
    pub(crate) message: MessageId,
    pub(crate) number: TurnNumber,
    pub(crate) mode: &'a ModeDecision,
    pub(crate) found: &'a Found,
    pub(crate) history: &'a [Arc<Message>],
    pub(crate) rounds: &'a [Arc<Message>],
}

impl Page {
    /// The request for what is asked, with a summary of what has left.
    pub(crate) fn assemble(
        &self,
        known: &Known,
        entry: &ModelEntry,
        asked: &Asked<'_>,
        summary: Option<&Summary>,
    ) -> Result<RequestContext, AgentError> {
        let window = self.window.clone().map_err(|error| AgentError::model(entry, error))?;
        let mut carry = known.carry.clone();
        if self.snapshot.is_some() {
            carry.snapshot.clone_from(&self.snapshot);
        }
        let inputs = Inputs::new(&self.catalog, "")
            .content(asked.content.to_vec())
            .message_id(asked.message)
            .stamp(self.stamp.clone())
            .model(entry.name.clone())
            .bootstrap(self.bootstrap.clone())
            .session(&known.items)
            .removed(&self.removed)
            .picks(&asked.found.picks)
            .candidates(&asked.found.candidates)
            .summary(summary)
            .history(asked.history)
            .rounds(asked.rounds)
            .mode(asked.mode.clone())
            .window(window)
            .limits(entry.limits)
            .layout(entry.layout)
            .counter(counter(&self.calibration))
            .carry(carry)
            .turn(asked.number);
        let assembled = match &self.counts {
            Some(counts) => counts.assemble(entry, &self.calibration.rates(), &inputs),
            None => inputs.assemble(),
        };
        assembled.map_err(|over| AgentError::OverBudget(Box::new(over)))
    }
}

impl TurnRun<'_> {
    /// What was said in the turn behind the person's message.
    pub(super) fn rounds(&self) -> Vec<Arc<Message>> {
        let (_, of_turn) = self.known.split_at(self.message);
        let pending = self.pending.messages.iter().map(|new| &new.message);
        // The first message of the turn is the person's.
        of_turn.iter().chain(pending).skip(1).cloned().collect()
    }

    /// The turn's next request in the making.
    pub(super) fn draft<'a>(&'a self, rounds: &'a [Arc<Message>]) -> Draft<'a> {
        Draft {
            store: &self.shared.parts.store,
            known: self.known,
            entry: &self.entry,
            page: &self.page,
            asked: Asked {
                content: &self.inbound.content,
                message: self.message,
                number: self.number,
                mode: self.state.mode(),
                found: self.state.found(),
                history: self.known.split_at(self.message).0,
                rounds,
            },
        }
    }

    /// Has the person's message stored with the next commit, unless it is there.
    pub(super) fn take_down(&mut self, message: &Arc<Message>) {
        if self.known.last < self.message && self.pending.messages.is_empty() {
            let message = message.clone();
            self.pending.messages.push(NewMessage { message, at: self.inbound.at });
        }
    }

    /// Stores the request and its body, before anything is sent.
    pub(super) async fn record(
        &mut self,
        request: &RequestContext,
        body: &Value,
    ) -> Result<RequestId, AgentError> {
        self.take_down(&request.sent);
        let comparison = self.previous.as_ref().map(|previous| compare(previous, request));
        self.fresh = comparison.as_ref().map(|comparison| comparison.fresh_tokens);
        self.requests += 1;
        self.pending.request = Some(self.new_request(request, body, comparison.as_ref()));
        self.pending.carry = Some(request.carry.clone());
        let joining = std::mem::take(&mut self.page.joining).into_iter();
        self.pending.items.extend(joining.map(|item| (item.item, ItemState::In(item.joined))));
        let stored = self.commit().await?;
        let id = stored.ok_or(AgentError::Ended)?;
        self.emit(Event::Requested {
            request: id,
            number: self.requests,
            model: self.entry.name.to_string(),
            mode: request.mode.chosen.name(),
            prompt_tokens: request.prompt_tokens().get(),
            agreed_tokens: comparison.map_or(0, |comparison| comparison.agreed_tokens.get()),
        });
        Ok(id)
    }

    pub(super) fn new_request(
        &self,
        request: &RequestContext,
        body: &Value,
        comparison: Option<&Comparison>,
    ) -> NewRequest {
        let pending = self.pending.messages.iter().map(|new| &new.message);
        let transcript: HashMap<_, _> = self
            .known
            .messages
            .iter()
            .chain(pending)
            .map(|message| (message.id, message))
            .collect();
        let document = Document::of(request.record(), &transcript);
        NewRequest {
            number: self.requests,
            at: Moment::now(),
            model: self.entry.name.to_string(),
            wire: self.entry.client.wire().name().to_owned(),
            options: serde_json::to_value(&self.entry.call).unwrap_or_default(),
            fidelity: fidelity(self.entry.client.wire()),
            context: document.json,
            contents: document.texts,
            body: pieces(body),
            notes: json!({
                "chosen": &*self.entry.chosen,
                "search": self.state.found().how,
                "prefix": comparison.map(|comparison| {
                    json!({
                        "agreed_bytes": comparison.agreed_bytes,
                        "agreed_tokens": comparison.agreed_tokens,
                        "fresh_tokens": comparison.fresh_tokens,
                        "cause": comparison.change.as_ref().map(|change| change.cause),
                    })
                }),
            }),
        }
    }
}

/// What a recorded body is: the embedded model's holds the prompt itself.
fn fidelity(wire: Wire) -> Fidelity {
    match wire {
        Wire::Embedded => Fidelity::Rendered,
        Wire::Ollama | Wire::OpenAi | Wire::Anthropic => Fidelity::Wire,
    }
}
