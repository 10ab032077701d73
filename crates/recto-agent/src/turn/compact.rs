//! Compaction: a summary for messages that leave the page, made before they do.
//!
//! The messages stay in the transcript, and the summary is kept beside it with what it
//! stands for, so that it can be undone. Where none can be made that is smaller than
//! they are, they leave without one.

use std::sync::Arc;

use futures_util::StreamExt;
use recto_context::{
    AssemblyInputs, Catalog, CompactionInput, ContextLimits, HistorySummary, Layer, Message,
    MessageId, PartReason, RequestContext, SummaryBy, Text, TokenCounter, Tokens, complete_summary,
    extract_summary, summary_prompt, summary_room, visible_text,
};
use recto_llm::{CallOptions, LlmError, ModelReply, ReplyRules, StreamEvent};
use recto_store::{Moment, NewCompaction};
use serde_json::json;

use super::{RequestDraft, TurnRun};
use crate::error::AgentResult;
use crate::notice::NoticeFacts;
use crate::record::RequestPurpose;
use crate::shared::counter_from;
use crate::turn_gate::GatePass;

/// How often a summary is made anew because more has to leave for it.
const TRIES: usize = 3;

/// How many messages are read for an extract, the newest: a session that was imported
/// may be of any length.
const MOST_MESSAGES: usize = 4_000;

/// What stands around a summary on the page takes about this much.
const AROUND: Tokens = Tokens::new(16);

/// A request with a new summary on it.
pub(crate) struct CompactedRequest {
    pub(crate) request: RequestContext,
    pub(crate) compaction: NewCompaction,
}

impl TurnRun<'_> {
    /// The turn's next request. Where messages leave with it that a summary is to
    /// stand for, it shows that.
    pub(super) async fn assemble_compacted(&mut self) -> AgentResult<RequestContext> {
        let said = self.said_messages();
        let draft = self.draft(&said);
        let request = draft.assemble()?;
        let Some(how) = self.inputs.model.compaction else { return Ok(request) };
        let leaving = draft.leaving(&request).await?;
        let written = match how {
            SummaryBy::Summary if !leaving.is_empty() => {
                self.ask_for_summary(&request, &leaving).await?
            }
            SummaryBy::Summary | SummaryBy::Extract => None,
        };
        let compacted = self.draft(&said).compact(&request, leaving, written).await?;
        let Some(CompactedRequest { request, compaction }) = compacted else { return Ok(request) };
        self.inputs.summary = Some(compaction.summary.clone());
        self.pending.compaction = Some(compaction);
        Ok(request)
    }

    /// The model's own summary. Its request is recorded like any other of the turn;
    /// where it fails, the person is told, and extracts have to do.
    async fn ask_for_summary(
        &mut self,
        request: &RequestContext,
        leaving: &[Arc<Message>],
    ) -> AgentResult<Option<String>> {
        let Some(asking) = self.summary_request(request, leaving) else { return Ok(None) };
        let entry = self.entry();
        // What a client asks of its replies is not asked of a summary.
        let call = CallOptions { reply: ReplyRules::default(), ..entry.call.clone() };
        let body = recto_llm::encode(entry.client.wire(), &call, &asking);
        self.store_message(&request.sent);
        let body = self.cut_body(&body, &asking);
        let text = body.as_str().to_owned();
        self.requests += 1;
        let mut new = self.new_request(&asking, body, None);
        new.options = serde_json::to_value(&call).unwrap_or_default();
        RequestPurpose::Summary.mark(&mut new);
        self.pending.request = Some(new);
        let Some(id) = self.commit().await? else { return Ok(None) };
        self.tally.add_summary_request();
        let (reply, result) = match self.collect_reply(text).await {
            Some(Ok(reply)) => {
                let result =
                    json!({"finish": reply.finish, "purpose": RequestPurpose::Summary.name()});
                (Some(reply), result)
            }
            Some(Err(error)) => {
                self.notify_recorded(NoticeFacts::SummaryFailed {
                    error: error.code().to_owned(),
                    problem: error.to_string(),
                });
                (None, json!({"error": {"code": error.code(), "message": error.to_string()}}))
            }
            None => (None, json!({"error": null})),
        };
        let usage = reply.as_ref().map(|reply| reply.usage).unwrap_or_default();
        self.usage.add(&usage);
        self.store_answer(id, None, &usage, result);
        // What came back is stored before anything is made of it.
        self.commit().await?;
        Ok(reply.map(|reply| visible_text(&reply.content)).filter(|text| !text.trim().is_empty()))
    }

    /// The request that asks the model for a summary; nothing where none would fit.
    fn summary_request(
        &self,
        request: &RequestContext,
        leaving: &[Arc<Message>],
    ) -> Option<RequestContext> {
        let window = self.inputs.model.window.as_ref().ok()?;
        let entry = self.entry();
        let counter = counter_from(&self.inputs.model.calibration);
        let compaction = CompactionInput {
            before: self.inputs.summary.as_ref().map(|summary| summary.text.as_str()),
            messages: leaving,
            room: room(request, &entry.limits),
            counter: &counter,
        };
        let reply = compaction.room.min(entry.limits.reply);
        let room = Tokens::new((window.tokens - reply).get() * 3 / 4);
        let prompt = summary_prompt(&compaction, room)?;
        let asking = AssemblyInputs::new(&Catalog::default(), Text::from(prompt))
            .message_id(self.message_id)
            .model(entry.name.clone())
            .window(*window)
            .limits(entry.limits)
            .layout(entry.layout)
            .counter(counter.clone())
            .turn(self.number)
            .assemble();
        asking.ok()
    }

    /// A reply that nobody watches; nothing when the person stops the turn. Like any call it
    /// makes way for what is asked in another session, and is made again.
    async fn collect_reply(&self, body: String) -> Option<Result<ModelReply, LlmError>> {
        let (gate, session) = (&self.shared.gate, self.arrived.session);
        if gate.pass(session, self.stop).await == GatePass::Stopped {
            return None;
        }
        let mut stream = self.entry().client.stream(body.clone());
        let closed = gate.closed(session);
        tokio::pin!(closed);
        loop {
            let next = tokio::select! {
                biased;
                () = self.stop.requested() => return None,
                // Leaving drops the stream, which ends the call.
                () = &mut closed => return Box::pin(self.collect_reply(body)).await,
                next = stream.next() => next,
            };
            match next {
                Some(Ok(StreamEvent::Done(reply))) => return Some(Ok(reply)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    let cause = "the stream has no end".to_owned();
                    return Some(Err(LlmError::Cut { cause }));
                }
            }
        }
    }
}

impl RequestDraft<'_> {
    /// Messages that no summary stands for and that are not on the page of a request:
    /// those that leave with it, and those that left before without one.
    pub(crate) async fn leaving(&self, request: &RequestContext) -> AgentResult<Vec<Arc<Message>>> {
        let from = self.session.carry.history_from.unwrap_or_default();
        let Some(until) = request.carry.history_from.filter(|until| *until > from) else {
            return Ok(Vec::new());
        };
        let earlier = self.inputs.summary.as_ref();
        let first = earlier.map_or(MessageId(0), |summary| MessageId(summary.last.0 + 1));
        let mut leaving = Vec::new();
        if let Some(last) = from.0.checked_sub(1).map(MessageId).filter(|last| *last >= first) {
            let left = self.store.messages_within(self.session.session.id, first..=last).await?;
            leaving.extend(left.into_iter().map(|stored| stored.message));
        }
        let leaves = |message: &&Arc<Message>| message.id >= from && message.id < until;
        leaving.extend(self.content.history.iter().filter(leaves).cloned());
        leaving
            .retain(|message| message.is_for_models() && !self.session.is_taken_back(message.id));
        Ok(leaving)
    }

    /// Assembles a request anew with a summary for messages that leave with it: the one
    /// that was written for them, or an extract. Nothing where none is smaller than they are.
    pub(crate) async fn compact(
        &self,
        request: &RequestContext,
        mut leaving: Vec<Arc<Message>>,
        mut written: Option<String>,
    ) -> AgentResult<Option<CompactedRequest>> {
        if leaving.is_empty() {
            return Ok(None);
        }
        let mut shown = request.carry.history_from;
        let mut room = room(request, &self.inputs.model.entry.limits);
        for _ in 0..TRIES {
            let Some(summary) = self.summarise(room, &leaving, written.take()).await else {
                return Ok(None);
            };
            let Ok(compacted) = self.assemble_with(Some(&summary)) else { return Ok(None) };
            if compacted.carry.history_from == shown {
                return Ok(self.if_smaller(compacted, summary, &leaving));
            }
            // With the summary on the page, more had to leave: it has to stand for that,
            // too. What was written stands for less, and a model is not asked twice.
            leaving = self.leaving(&compacted).await?;
            shown = compacted.carry.history_from;
            room = self::room(&compacted, &self.inputs.model.entry.limits);
        }
        Ok(None)
    }

    fn if_smaller(
        &self,
        request: RequestContext,
        summary: HistorySummary,
        leaving: &[Arc<Message>],
    ) -> Option<CompactedRequest> {
        let before = self.cost_of(leaving);
        let after = summary_in(&request).filter(|after| *after < before)?;
        let compaction = NewCompaction {
            model: (summary.how == SummaryBy::Summary)
                .then(|| self.inputs.model.entry.name.to_string()),
            summary,
            tokens_before: before,
            tokens_after: after,
            made: Moment::now(),
        };
        Some(CompactedRequest { request, compaction })
    }

    /// What messages and the earlier summary take on the page.
    fn cost_of(&self, messages: &[Arc<Message>]) -> Tokens {
        let counter = counter_from(&self.inputs.model.calibration);
        let messages: Tokens =
            messages.iter().map(|message| counter.message(message, Layer::History)).sum();
        let earlier = self.inputs.summary.as_ref();
        messages + earlier.map_or(Tokens::ZERO, |summary| counter.text(&summary.text))
    }

    async fn summarise(
        &self,
        room: Tokens,
        leaving: &[Arc<Message>],
        written: Option<String>,
    ) -> Option<HistorySummary> {
        let counter = counter_from(&self.inputs.model.calibration);
        let earlier = self.inputs.summary.as_ref();
        let compaction = CompactionInput {
            before: earlier.map(|summary| summary.text.as_str()),
            messages: leaving,
            room,
            counter: &counter,
        };
        let (text, how) = match written.and_then(|text| complete_summary(&text, &compaction)) {
            Some(text) => (text, SummaryBy::Summary),
            None => {
                let extracted = extract_blocking(&compaction, counter.clone()).await?;
                (extracted, SummaryBy::Extract)
            }
        };
        let (first, last) = (leaving.first()?, leaving.last()?);
        Some(HistorySummary {
            text: text.into(),
            first: earlier.map_or(first.id, |earlier| earlier.first),
            last: last.id,
            messages: leaving.len() + earlier.map_or(0, |earlier| earlier.messages),
            how,
        })
    }
}

/// Extracts where it keeps no other task waiting.
async fn extract_blocking(
    compaction: &CompactionInput<'_>,
    counter: TokenCounter<'static>,
) -> Option<String> {
    let before = compaction.before.map(str::to_owned);
    let newest = compaction.messages.len().saturating_sub(MOST_MESSAGES);
    let messages = compaction.messages[newest..].to_vec();
    let room = compaction.room;
    let extracted = tokio::task::spawn_blocking(move || {
        let before = before.as_deref();
        extract_summary(&CompactionInput { before, messages: &messages, room, counter: &counter })
    });
    extracted.await.ok().flatten()
}

/// How long a summary may be on a page like this one.
fn room(request: &RequestContext, limits: &ContextLimits) -> Tokens {
    let history: Tokens = request.layer(Layer::History).map(|part| part.tokens).sum();
    let others = request.budget.used - history;
    summary_room(limits, limits.history_tokens.min(request.budget.messages - others)) - AROUND
}

/// What the summary on a page takes, if there is one.
fn summary_in(request: &RequestContext) -> Option<Tokens> {
    let is_summary = |reason: &PartReason| matches!(reason, PartReason::Summary { .. });
    request.parts.iter().find(|part| is_summary(&part.reason)).map(|part| part.tokens)
}
