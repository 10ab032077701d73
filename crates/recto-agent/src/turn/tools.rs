//! A round of tool calls: all at once, each heard of as it ends.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use recto_context::{ContentPart, Layer, MessageBody, TokenCounter, Tokens, ToolSpec};
use recto_store::{Moment, TurnId};
use recto_tools::{CallContext, CallPermit, SkillLook, ToolCaller, ToolOutcome, ToolResult};
use tracing::Span;

use super::TurnRun;
use super::approvals::RoundVerdict;
use crate::error::AgentResult;
use crate::event::{EventKind, RunningCall};
use crate::notice::NoticeFacts;
use crate::shared::counter_from;
use crate::skill_trust::{SkillIdentity, TrustRows};
use crate::step::{StepEffect, StepInput};
use crate::trace;

impl TurnRun<'_> {
    /// Stores the reply, then runs its calls, unless a person has to be asked
    /// first. Their results are stored with the request that carries them, or with
    /// the end of the turn.
    pub(super) async fn run_tools(&mut self) -> AgentResult<StepEffect> {
        let permits = match self.permits.take() {
            Some(permits) => permits,
            None => match self.judge_calls().await? {
                RoundVerdict::Free(permits) => permits,
                RoundVerdict::Asked(effect) => return Ok(effect),
            },
        };
        self.commit().await?;
        self.note_shown_skills(&permits).await?;
        for call in &self.calls {
            self.emit(EventKind::Call(RunningCall {
                id: call.id.0.to_string(),
                name: call.name.to_string(),
                arguments: call.arguments.as_str().to_owned(),
            }));
        }
        let (results, ended) = self.run_calls(&permits).await;
        let results: Vec<ToolResult> = results.into_iter().flatten().collect();
        let done = results.iter().filter(|result| result.outcome == ToolOutcome::Done);
        self.state.note_done(done.map(|result| &*result.name));
        self.store_results(results);
        self.note_own_memories().await;
        self.calls.clear();
        Ok(self.state.step(match ended {
            RoundEnd::All => StepInput::Results,
            RoundEnd::Stopped => StepInput::Stop,
        }))
    }

    /// Keeps which skills a person was shown and allowed just now: they are not shown again.
    async fn note_shown_skills(&mut self, permits: &[CallPermit]) -> AgentResult {
        let (offered, context) = (self.offered(), self.call_context());
        let parts = &self.shared.parts;
        for folder in parts.tools.shown_skills(&self.calls, permits, &offered, &context) {
            let trusted = Arc::make_mut(&mut self.inputs.rights.trusted);
            let Some(skill) = trusted.get_mut(&folder) else { continue };
            skill.look = SkillLook::LookedAt;
            let (name, files) = (skill.name.clone(), skill.files);
            let TrustRows { rows, update } = SkillIdentity { name, folder, files }.looked_at_rows();
            parts.store.trust(&parts.options.name, rows, update, Moment::now()).await?;
        }
        Ok(())
    }

    /// Has the results of a round stored with the next commit, shortened where they would not
    /// fit.
    pub(super) fn store_results(&mut self, mut results: Vec<ToolResult>) {
        for notice in self.fit_results(&mut results) {
            self.notify_recorded(notice);
        }
        for ToolResult { call, name, text, outcome } in results {
            if outcome == ToolOutcome::Done {
                self.tally.add_success(&call);
            }
            let content = vec![ContentPart::Text(text.into())];
            let body = MessageBody::Tool { call, name, content };
            self.tally.add_result(&body);
            self.push_message(body);
        }
    }

    /// Notes what was remembered in this very session: it stands in the history, and is
    /// no reason to change the memories in front of it.
    async fn note_own_memories(&mut self) {
        if !self.calls.iter().any(|call| *call.name == *"remember") {
            return;
        }
        let view = self.shared.memories.read_for_page(&self.inputs.rights.audience).await;
        let known: HashSet<&str> =
            self.inputs.catalog.memories.iter().map(|memory| &*memory.name).collect();
        let new = view.memories.iter().filter(|memory| !known.contains(&*memory.name));
        let message = self.message_id;
        let snapshot = self.inputs.snapshot.take().or_else(|| self.session.carry.snapshot.clone());
        self.inputs.snapshot = snapshot.map(|mut snapshot| {
            snapshot.add_own(new.map(|memory| memory.name.clone()), message);
            snapshot
        });
    }

    /// The results, in the order of the calls; those that a stop cut off are absent.
    async fn run_calls(&self, permits: &[CallPermit]) -> (Vec<Option<ToolResult>>, RoundEnd) {
        let (offered, context) = (self.offered(), self.call_context());
        let tools = &self.shared.parts.tools;
        let mut running = tools.run_each(&self.calls, permits, &offered, &context);
        let mut results: Vec<Option<ToolResult>> = self.calls.iter().map(|_| None).collect();
        // Each ends with its result, or with the round.
        let spans = self.calls.iter().map(|call| {
            let tool = offered.iter().find(|spec| spec.called == call.name);
            trace::call_span(tool.map(|spec| &*spec.called), &call.id.0)
        });
        let mut spans: Vec<Span> = spans.collect();
        loop {
            let next = tokio::select! {
                biased;
                // A result that is there counts, stopped or not.
                next = running.next() => next,
                () = self.stop.requested() => return (results, RoundEnd::Stopped),
            };
            let Some((index, result)) = next else { return (results, RoundEnd::All) };
            self.emit(EventKind::Result {
                id: result.call.0.to_string(),
                name: result.name.to_string(),
                outcome: result.outcome,
                text: result.text.clone(),
            });
            trace::end_call(&std::mem::replace(&mut spans[index], Span::none()), result.outcome);
            results[index] = Some(result);
        }
    }

    /// Shortens results in the middle that would not leave room for the next
    /// request: the newest round is never cut later, because a model that asked
    /// for something should see it. Gives what the person is told of them.
    fn fit_results(&self, results: &mut [ToolResult]) -> Vec<NoticeFacts> {
        let mut shortened = Vec::new();
        let Some(request) = self.previous.as_ref().filter(|_| !results.is_empty()) else {
            return shortened;
        };
        let counter = counter_from(&self.inputs.model.calibration);
        let messages = &self.session.messages;
        let reply = messages.iter().rposition(|message| !message.calls().is_empty());
        // Results that stand behind it already are those of a round that a client shares.
        let reply = reply.map_or(&[][..], |reply| &messages[reply..]).iter();
        let reply = reply.filter(|message| message.is_for_models());
        let reply: Tokens = reply
            .map(|message| counter.message(message, Layer::Rounds) + counter.per_message())
            .sum();
        let named = |result: &ToolResult| counter.text(&(&*result.name).into());
        let overhead: Tokens =
            results.iter().map(|result| counter.per_message() + named(result)).sum();
        let mut room = request.room_for_round(&counter) - reply - overhead;
        if !self.state.handed().is_empty() && !self.calls.is_empty() {
            // The client's results are still to come.
            room = Tokens::new(room.get() / 2);
        }
        // Parts are rounded up one by one, which a sum of estimates does not see.
        let mut room = Tokens::new(room.get() - room.get() / 50);
        // The smallest first, so that what they leave goes to the larger ones.
        let mut order: Vec<usize> = (0..results.len()).collect();
        order.sort_by_key(|index| results[*index].text.len());
        for (position, index) in order.into_iter().enumerate() {
            let left = u32::try_from(results.len() - position).unwrap_or(u32::MAX);
            let ToolResult { text, name, .. } = &mut results[index];
            // A result may have been cut before, when it was made.
            let (came, of_bytes) = (text.len(), recto_tools::whole_length(text));
            shorten_to(text, &counter, Tokens::new(room.get() / left));
            room = room - counter.text(&text.as_str().into());
            if text.len() < came {
                let (tool, bytes) = (name.to_string(), text.len());
                shortened.push(NoticeFacts::ResultShortened { tool, bytes, of_bytes });
            }
        }
        shortened
    }

    pub(super) fn call_context(&self) -> CallContext {
        let delegation = self.session.settings.delegation.as_ref();
        CallContext {
            catalog: self.inputs.catalog.clone(),
            session_items: self.session.items.as_slice().into(),
            removed: self.inputs.removed.as_slice().into(),
            trusted: self.inputs.rights.trusted.clone(),
            caller: ToolCaller {
                audience: self.inputs.rights.audience.clone(),
                on_behalf_of: delegation.map(|task| task.on_behalf_of.clone()),
                session: Some(self.session.session.id.get()),
                turn: self.turn_id.map(TurnId::get),
                sees_from: match self.state.mode().chosen.sends_history() {
                    true => self.session.carry.history_from.unwrap_or_default(),
                    false => self.message_id,
                },
                memory_wish: self.state.mode().wanted_call.clone(),
            },
            call: None,
        }
    }

    /// The tools that the last request offered and Recto runs.
    pub(super) fn offered(&self) -> Vec<ToolSpec> {
        let request = self.previous.as_ref();
        request.map_or_else(Vec::new, |request| {
            let specs = request.tools.iter().map(|tool| &tool.spec);
            specs.filter(|spec| !spec.is_client_tool()).cloned().collect()
        })
    }
}

/// Why a round is over.
enum RoundEnd {
    All,
    Stopped,
}

/// A result never becomes shorter than this, in bytes: its note alone takes as much.
const LEAST: usize = 256;

fn shorten_to(text: &mut String, counter: &TokenCounter<'_>, room: Tokens) {
    let mut cost = counter.text(&text.as_str().into());
    while cost > room && text.len() > LEAST {
        // A little less than the share, because the note takes room, too.
        let share = f64::from(room.get()) / f64::from(cost.get()) * 0.9;
        let limit = ((text.len() as f64 * share) as usize).clamp(LEAST, text.len() - 1);
        *text = recto_tools::shorten(std::mem::take(text), limit);
        let now = counter.text(&text.as_str().into());
        if now >= cost {
            return;
        }
        cost = now;
    }
}
