//! From what is known to a request, and from the request to its record.

use std::collections::HashMap;
use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Comparison, ContentPart, HistorySummary, Message, MessageId, ModeDecision,
    RequestContext, TrimTotals, TurnNumber, compare_requests,
};
use recto_llm::Wire;
use recto_store::{
    Fidelity, ItemState, Moment, NewMessage, NewRequest, RequestBody, RequestId, Store,
};
use serde_json::{Value, json};

use super::TurnRun;
use super::inputs::{TurnInputs, TurnModel};
use crate::error::{AgentError, AgentResult};
use crate::event::EventKind;
use crate::notice::TurnNotice;
use crate::record::{RecordDocument, cut_body, is_same, keep_notices};
use crate::selection::SearchOutcome;
use crate::session_cache::LoadedSession;
use crate::shared::counter_from;

/// A request in the making: how much of the history it shows, and what stands for the
/// rest, may still change.
pub(crate) struct RequestDraft<'a> {
    pub(crate) store: &'a Store,
    pub(crate) session: &'a LoadedSession,
    pub(crate) inputs: &'a TurnInputs,
    pub(crate) content: RequestContent<'a>,
}

/// What one request of a turn shows: the message, and what stands around it.
pub(crate) struct RequestContent<'a> {
    pub(crate) content: &'a [ContentPart],
    pub(crate) message: MessageId,
    pub(crate) number: TurnNumber,
    pub(crate) mode: &'a ModeDecision,
    pub(crate) found: &'a SearchOutcome,
    pub(crate) history: &'a [Arc<Message>],
    pub(crate) rounds: &'a [Arc<Message>],
}

/// What was said around the message of a turn.
pub(crate) struct SaidMessages {
    pub(super) history: Vec<Arc<Message>>,
    pub(super) rounds: Vec<Arc<Message>>,
}

impl RequestDraft<'_> {
    /// The request with the summary that stands so far.
    pub(crate) fn assemble(&self) -> AgentResult<RequestContext> {
        self.assemble_with(self.inputs.summary.as_ref())
    }

    /// The request with this summary of what has left.
    pub(crate) fn assemble_with(
        &self,
        summary: Option<&HistorySummary>,
    ) -> AgentResult<RequestContext> {
        let TurnInputs {
            model, catalog, snapshot, removed, bootstrap, stamp, speaker, client, ..
        } = self.inputs;
        let TurnModel { entry, window, calibration, counts, .. } = model;
        let window = window.clone().map_err(|error| AgentError::model(entry, error))?;
        let mut carry = self.session.carry.clone();
        if snapshot.is_some() {
            carry.snapshot.clone_from(snapshot);
        }
        let content = &self.content;
        let is_shown = |id: MessageId| id == content.message || client.shows(id);
        if !carry.history_from.is_none_or(is_shown) {
            // The client has gone back, or begun anew: what had left may be there again.
            (carry.history_from, carry.trimmed) = (None, TrimTotals::default());
        }
        let inputs = AssemblyInputs::new(catalog, "")
            .content(content.content.to_vec())
            .message_id(content.message)
            .stamp(stamp.clone())
            .speaker(speaker.clone())
            .model(entry.name.clone())
            .bootstrap(bootstrap.clone())
            .session(&self.session.items)
            .removed(removed)
            .picks(&content.found.picks)
            .candidates(&content.found.candidates)
            .listed(&content.found.listed)
            .alike(&content.found.alike)
            .summary(summary)
            .history(content.history)
            .taken_back(match &client.history {
                // What its client shows is the client's to say.
                Some(_) => &[][..],
                None => &self.session.taken_back[..],
            })
            .rounds(content.rounds)
            .mode(content.mode.clone())
            .window(window)
            .limits(entry.limits)
            .layout(entry.layout)
            .counter(counter_from(calibration))
            .carry(carry)
            .turn(content.number)
            .client_system(&client.system)
            .client_tools(&client.tools)
            .client_tool_choice(&client.tool_choice)
            .call_demand(entry.call_demand())
            .history_owner(client.history_owner());
        let assembled = match counts {
            Some(counts) => counts.assemble(entry, &calibration.rates(), &inputs),
            None => inputs.assemble(),
        };
        assembled.map_err(|over| AgentError::OverBudget(Box::new(over)))
    }
}

impl TurnRun<'_> {
    /// What was said before the person's message, and behind it in the turn.
    pub(super) fn said_messages(&self) -> SaidMessages {
        let (before, of_turn) = self.session.split_at(self.message_id);
        let pending = self.pending.messages.iter().map(|new| &new.message);
        let brought = self.pending.brought.iter().map(|new| &new.message);
        let before_message = || before.iter().chain(brought).cloned().collect();
        SaidMessages {
            history: self.inputs.client.history.clone().unwrap_or_else(before_message),
            // The first message of the turn is the person's.
            rounds: of_turn.iter().chain(pending).skip(1).cloned().collect(),
        }
    }

    /// The turn's next request in the making.
    pub(super) fn draft<'a>(&'a self, said: &'a SaidMessages) -> RequestDraft<'a> {
        RequestDraft {
            store: &self.shared.parts.store,
            session: self.session,
            inputs: &self.inputs,
            content: RequestContent {
                content: self.opening_content(),
                message: self.message_id,
                number: self.state.opening().map_or(self.number, |opening| opening.number),
                mode: self.state.mode(),
                found: self.state.found(),
                history: &said.history,
                rounds: &said.rounds,
            },
        }
    }

    /// What the person said: in this turn, or in the one that this one goes on with.
    pub(super) fn opening_content(&self) -> &[ContentPart] {
        let stored = self.session.message(self.message_id);
        stored.map_or(&self.arrived.inbound.content, |message| message.content())
    }

    /// Has the person's message stored with the next commit, unless it is there.
    pub(super) fn store_message(&mut self, message: &Arc<Message>) {
        if self.session.last < self.message_id && self.pending.messages.is_empty() {
            let message = message.clone();
            self.pending.messages.push(NewMessage { message, at: self.arrived.at });
        }
    }

    /// The body of a request in the pieces in which it is stored.
    pub(super) fn cut_body(&self, body: &Value, request: &RequestContext) -> RequestBody {
        let transcript = self.transcript();
        let is_kept = |message: &Arc<Message>| {
            transcript.get(&message.id).is_some_and(|kept| is_same(kept, message))
        };
        cut_body(body, request, is_kept)
    }

    /// The messages that the store has, or gets with the next commit.
    fn transcript(&self) -> HashMap<MessageId, &Arc<Message>> {
        let pending = self.pending.messages.iter().map(|new| &new.message);
        let known = self.session.messages.iter();
        let shown = self.inputs.client.history.iter().flatten();
        known.chain(shown).chain(pending).map(|message| (message.id, message)).collect()
    }

    /// Stores the request with its body and with what is told of it, before anything is sent. Gives
    /// the event that tells of it, too.
    pub(super) async fn record(
        &mut self,
        request: &RequestContext,
        body: RequestBody,
        notices: &[TurnNotice],
    ) -> AgentResult<(RequestId, EventKind)> {
        let comparison = self.previous.as_ref().map(|previous| compare_requests(previous, request));
        self.fresh_tokens = comparison.as_ref().map(|comparison| comparison.fresh_tokens);
        self.requests += 1;
        let mut new = self.new_request(request, body, comparison.as_ref());
        let unrecorded = std::mem::take(&mut self.unrecorded);
        keep_notices(&mut new, &[&unrecorded, notices].concat());
        self.pending.request = Some(new);
        self.pending.carry = Some(request.carry.clone());
        let joining = std::mem::take(&mut self.inputs.joining).into_iter();
        self.pending.items.extend(joining.map(|item| (item.item, ItemState::In(item.joined))));
        let stored = self.commit().await?;
        let id = stored.ok_or(AgentError::Ended)?;
        self.tally.add_page(request, self.fresh_tokens);
        let requested = EventKind::Requested {
            request: id,
            number: self.requests,
            model: self.entry().name.to_string(),
            mode: request.mode.chosen,
            prompt_tokens: request.prompt_tokens().get(),
            agreed_tokens: comparison.map_or(0, |comparison| comparison.agreed_tokens.get()),
        };
        self.emit(requested.clone());
        Ok((id, requested))
    }

    pub(super) fn new_request(
        &self,
        request: &RequestContext,
        body: RequestBody,
        comparison: Option<&Comparison>,
    ) -> NewRequest {
        let document = RecordDocument::from_bundle(request.record(), &self.transcript());
        NewRequest {
            number: self.requests,
            at: Moment::now(),
            model: self.entry().name.to_string(),
            wire: self.entry().client.wire().name().to_owned(),
            options: serde_json::to_value(&self.entry().call).unwrap_or_default(),
            fidelity: fidelity(self.entry().client.wire()),
            context: document.json,
            contents: document.texts,
            body,
            notes: json!({
                "chosen": &*self.entry().chosen,
                "search": self.state.found().how,
                "prefix": comparison.map(|comparison| {
                    json!({
                        "agreed_bytes": comparison.agreed_bytes,
                        "agreed_tokens": comparison.agreed_tokens,
                        "fresh_tokens": comparison.fresh_tokens,
                        "reread_tokens": comparison.reread_tokens,
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
