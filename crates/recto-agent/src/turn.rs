//! A turn from its message to its reply: the shell that does what `step` says.
//!
//! What belongs together is committed together. A request and its body are in
//! the store before they are sent, a reply before its calls run, the results
//! with the request that carries them, and the last words with the outcome. So
//! a process that is killed anywhere leaves a turn that another one can finish
//! or mark, and never a call without a result.

mod approvals;
mod assemble;
mod client;
mod compact;
mod inputs;
mod model_call;
mod notices;
mod start;
mod tools;
mod wish;

use std::borrow::Cow;
use std::sync::Arc;

use recto_context::{
    CallId, ContentPart, Framing, Message, MessageBody, MessageId, MessageStamp, OpaqueKind,
    RequestContext, Text, Tokens, ToolCall, ToolCalls, TurnNumber, UserMessage, read_calls,
    visible_text,
};
use recto_llm::{LlmError, ModelReply, TokenUsage};
use recto_store::{
    Moment, NewMessage, RequestAnswer, RequestId, RequestUsage, Store, StoreError, StoreResult,
    TurnCommit, TurnEnding, TurnId, TurnOutcome,
};
use recto_tools::{CallPermit, ToolOutcome};
use serde_json::json;
use tracing::Instrument;

use crate::error::{AgentError, AgentResult};
use crate::event::{EventKind, FinishedTurn, TurnError};
use crate::inbound::ArrivedMessage;
use crate::mailbox::TurnListeners;
use crate::notice::{NoticeFacts, TurnNotice};
use crate::options::ModelEntry;
use crate::record::keep_answer_notices;
use crate::session_cache::LoadedSession;
use crate::shared::AgentShared;
use crate::step::{
    EndReason, PendingCall, ReplyText, StepEffect, StepInput, TurnClosing, TurnState,
};
use crate::stop::StopSignal;
use crate::tally::TallyBuilder;
use crate::trace;
use crate::turn_usage::UsageTotals;
pub(crate) use assemble::{RequestContent, RequestDraft};
pub use client::HandedResult;
pub(crate) use client::{BroughtMessages, TurnClient, reconcile_client};
pub(crate) use compact::CompactedRequest;
pub use inputs::said_before;
pub(crate) use inputs::{MessageOrigin, PendingNotices, TurnInputs, TurnModel};
use model_call::{CallOutcome, ReplyStamps, StreamedReply};
use notices::PromptCut;
pub(crate) use start::{TurnRunner, open_calls, resolve_window};

/// How often a commit is tried that another process's long one keeps waiting;
/// the store itself waits for some seconds each time.
const LOCKED_TRIES: usize = 5;

/// A turn that runs. It borrows what it works with, and has what it has done so far.
pub(crate) struct TurnRun<'a> {
    pub(crate) shared: &'a AgentShared,
    /// The session as the store has it; each commit adds to it.
    pub(crate) session: &'a mut LoadedSession,
    /// The session's last request, which the next one is compared with.
    pub(crate) previous: &'a mut Option<RequestContext>,
    pub(crate) listeners: &'a TurnListeners,
    pub(crate) stop: &'a StopSignal,
    /// The message that the turn answers, with when it came and what it sets.
    pub(crate) arrived: &'a ArrivedMessage,
    /// The number of that message in the transcript.
    pub(crate) message_id: MessageId,
    /// Absent until the first commit, which stores message and request at once.
    pub(crate) turn_id: Option<TurnId>,
    /// Which begin of the turn this is: a step of an earlier one is refused.
    pub(crate) begun: u32,
    /// The number of the turn in its session, from 1.
    pub(crate) number: TurnNumber,
    /// Decides what happens next; stored with each commit but the last.
    pub(crate) state: TurnState,
    /// What all requests of the turn are made of.
    pub(crate) inputs: TurnInputs,
    /// What the next commit stores.
    pub(crate) pending: TurnCommit,
    /// How many requests the turn has made, those for summaries included.
    pub(crate) requests: u32,
    /// The tokens of the last request that do not agree with the one before it, where
    /// there was one.
    pub(crate) fresh_tokens: Option<Tokens>,
    /// The calls of the last reply, until they have their results.
    pub(crate) calls: Vec<ToolCall>,
    /// Which of the calls may run, where a person was asked and has answered.
    pub(crate) permits: Option<Vec<CallPermit>>,
    /// The text of the last reply, if it has any.
    pub(crate) reply_text: Option<String>,
    /// What the person was told since the last request: the record of the next one has it, too.
    pub(crate) unrecorded: Vec<TurnNotice>,
    /// What went wrong, for the person; set when the turn is about to end.
    pub(crate) error: Option<TurnError>,
    /// Whether the message alone does not fit: then it stays out of later requests, too.
    pub(crate) never_fits: bool,
    /// The tokens of all requests so far.
    pub(crate) usage: UsageTotals,
    /// What the turn counts as in the statistics, from its first request on.
    pub(crate) tally: TallyBuilder,
}

impl TurnRun<'_> {
    /// Runs the turn to its end. An error means that the store did not take
    /// something; everything else ends in a reply.
    pub(crate) async fn run_to_end(&mut self, first: StepInput<'_>) -> AgentResult {
        let span = trace::turn_span(&self.shared.parts.options.name, self.session.session.id);
        self.take_steps(first).instrument(span).await
    }

    async fn take_steps(&mut self, first: StepInput<'_>) -> AgentResult {
        trace::tell_content("user", || self.arrived.inbound.visible_text());
        let mut effect = self.state.step(first);
        loop {
            effect = match effect {
                StepEffect::Call => self.make_request().await?,
                StepEffect::Run => self.run_tools().await?,
                StepEffect::Wait => self.wait_for_answers().await?,
                StepEffect::End(closing) => return self.end(&closing).await,
            };
        }
    }

    /// The model entry that answers.
    pub(crate) fn entry(&self) -> &ModelEntry {
        &self.inputs.model.entry
    }

    /// Assembles a request, records it, sends it, and stores what comes back.
    async fn make_request(&mut self) -> AgentResult<StepEffect> {
        self.reply_text = None;
        let request = match self.assemble_compacted().await {
            Ok(request) => request,
            // What the store did not take is not for the person to read.
            Err(error @ (AgentError::Store(_) | AgentError::Ended)) => return Err(error),
            Err(error) => {
                self.never_fits = error.is_about_the_message();
                return Ok(self.fail(&error));
            }
        };
        let entry = self.entry();
        let body = recto_llm::encode(entry.client.wire(), &entry.call, &request);
        self.store_message(&request.sent);
        let body = self.cut_body(&body, &request);
        let text = body.as_str().to_owned();
        let notices = self.notices_of(&request);
        let (id, requested) = self.record(&request, body, &notices).await?;
        self.tell_notices();
        notices.into_iter().for_each(|notice| self.notify(notice));
        let span = trace::request_span(self.entry(), id);
        let outcome = self.call_in_turn(&text, requested).instrument(span.clone()).await;
        outcome.tell(&span);
        let effect = self.store_outcome(&request, id, outcome);
        *self.previous = Some(request);
        Ok(effect)
    }

    /// Has what came back stored with the next commit, and takes the step that follows from it.
    fn store_outcome(
        &mut self,
        request: &RequestContext,
        id: RequestId,
        outcome: CallOutcome,
    ) -> StepEffect {
        match outcome {
            CallOutcome::Reply(reply, streamed) => self.store_reply(request, id, *reply, &streamed),
            CallOutcome::Failed(error, mut streamed) => {
                self.show_all(&mut streamed);
                self.keep_partial(id, &streamed, Some(&error));
                if let LlmError::ContextOverflow { window, .. } = &error {
                    self.shared.correct_window(self.entry(), *window);
                }
                self.fail(&AgentError::model(self.entry(), error))
            }
            CallOutcome::Stopped(mut streamed) => {
                self.show_all(&mut streamed);
                self.keep_partial(id, &streamed, None);
                self.state.step(StepInput::Stop)
            }
        }
    }

    /// Has a whole reply stored with the next commit, and takes the step that follows from it.
    fn store_reply(
        &mut self,
        request: &RequestContext,
        id: RequestId,
        reply: ModelReply,
        streamed: &StreamedReply,
    ) -> StepEffect {
        self.usage.add(&reply.usage);
        let cut = self.learn(request, &reply.usage);
        self.tell_of_finish(request, &reply.finish);
        let ModelReply { content, calls, finish, usage } = reply;
        let (content, imitated) = take_off_stamps(content, &self.reply_stamps());
        let (content, calls) = match request.tool_calls {
            ToolCalls::Native => (content, calls),
            ToolCalls::Text => calls_from_text(content, calls, self.next_message()),
        };
        let mut calls = calls;
        let (own_calls, client_calls) = self.part_calls(request, &mut calls);
        let text = visible_text(&content);
        if request.tool_calls == ToolCalls::Text {
            self.show_words(streamed, &text);
        }
        let words = if text.trim().is_empty() { ReplyText::Nothing } else { ReplyText::Something };
        self.reply_text = (words == ReplyText::Something).then_some(text);
        self.tally.add_calls(request, &calls);
        let is_blank = words == ReplyText::Nothing && calls.is_empty();
        let message =
            (!is_blank).then(|| self.push_message(MessageBody::Assistant { content, calls }));
        let mut result = json!({"finish": finish, "first_token": streamed.first_token_at});
        // What is usual is not written down.
        if cut == PromptCut::Probably {
            result["prompt_cut"] = true.into();
        }
        if let Some(imitated) = imitated {
            result["stamp_taken_off"] = imitated.into();
        }
        self.store_answer(id, message, &usage, result);
        let input =
            StepInput::Reply { calls: &own_calls, client_calls: &client_calls, text: words };
        let effect = self.state.step(input);
        self.calls = self.with_wish(own_calls);
        effect
    }

    /// Stores the text that had come before a call ended early: it was shown to the
    /// person, so the transcript has it, too.
    fn keep_partial(&mut self, id: RequestId, streamed: &StreamedReply, error: Option<&LlmError>) {
        let (imitated, text) = streamed.split_stamps();
        let message = (!text.trim().is_empty()).then(|| {
            self.reply_text = Some(text.to_owned());
            let content = vec![ContentPart::Text(text.into())];
            self.push_message(MessageBody::Assistant { content, calls: Vec::new() })
        });
        let error = error.map(|error| json!({"code": error.code(), "message": error.to_string()}));
        let imitated = Some(imitated).filter(|stamp| !stamp.is_empty());
        let result = json!({
            "error": error,
            "first_token": streamed.first_token_at,
            "stamp_taken_off": imitated,
        });
        self.store_answer(id, message, &TokenUsage::default(), result);
    }

    /// Has what came back for a request stored with the next commit.
    fn store_answer(
        &mut self,
        request: RequestId,
        reply: Option<MessageId>,
        usage: &TokenUsage,
        result: serde_json::Value,
    ) {
        let TokenUsage { prompt, cached, completion } = *usage;
        let usage = RequestUsage { prompt, cached, completion };
        self.tally.add_usage(&usage);
        self.pending.answer =
            Some(RequestAnswer { request, at: Moment::now(), reply, usage, result });
    }

    /// Ends the turn with an error.
    pub(crate) fn fail(&mut self, error: &AgentError) -> StepEffect {
        self.error = Some(error.to_turn_error());
        self.state.step(StepInput::CallFailed)
    }

    /// Answers what is unanswered, tells the person, and closes the turn.
    async fn end(&mut self, closing: &TurnClosing) -> AgentResult {
        self.push_user_message();
        for call in &closing.unanswered {
            self.answer_unrun(call, closing.outcome);
        }
        if closing.outcome == EndReason::WishMet {
            self.confirm_wish();
        }
        if self.error.is_none() {
            self.error = closing.outcome.notice().map(|message| TurnError {
                code: Cow::Borrowed(closing.outcome.into()),
                message,
                hint: closing.outcome.hint().map(str::to_owned),
                remedy: None,
                retry_after: None,
            });
        }
        if let Some(error) = &self.error {
            let text = Text::from(error.text());
            self.push_message(MessageBody::Error(text));
        }
        let nothing_remembered = self.nothing_remembered(closing.outcome);
        if let Some(answer) = &mut self.pending.answer {
            keep_answer_notices(answer, nothing_remembered.as_slice());
        }
        let status = closing.outcome.status();
        let detail = self.error.as_ref().map(TurnError::text);
        self.pending.outcome = Some(TurnOutcome { ending: status, detail, at: Moment::now() });
        self.pending.tally = Some(std::mem::take(&mut self.tally).into_tally());
        let calls = match status {
            TurnEnding::HandedOut => self.handed_calls(),
            _ => Vec::new(),
        };
        self.commit().await?;
        self.tell_notices();
        nothing_remembered.into_iter().for_each(|notice| self.notify(notice));
        self.update_session_file().await;
        let finished = FinishedTurn {
            status,
            reply: self.reply_text.clone(),
            error: self.error.clone(),
            usage: UsageTotals { requests: self.requests, ..self.usage },
            calls,
        };
        trace::end_turn(self.turn_id, self.session.session.id, &finished);
        self.emit(EventKind::Finished(finished));
        Ok(())
    }

    /// Says what was done, in the words of the tool that did it: the model is not asked once more.
    fn confirm_wish(&mut self) {
        let wanted = self.state.mode().wanted_call.as_ref().map(|wanted| &*wanted.tool);
        let result = |new: &NewMessage| match &new.message.body {
            MessageBody::Tool { name, content, .. } if Some(&**name) == wanted => {
                Some(capitalized(&visible_text(content)))
            }
            _ => None,
        };
        let Some(text) = self.pending.messages.iter().rev().find_map(result) else { return };
        self.emit(EventKind::Text { text: text.clone() });
        let content = vec![ContentPart::Text(text.as_str().into())];
        self.push_message(MessageBody::Assistant { content, calls: Vec::new() });
        self.reply_text = Some(text);
    }

    /// Brings the session's Markdown file up to date, where it has one. The store has all
    /// of it, so whatever goes wrong is told and no more.
    async fn update_session_file(&self) {
        let Some(files) = &self.shared.session_files else { return };
        let updated = files.update(&self.shared.parts.store, self.session.session.id).await;
        if let Err(error) = updated {
            self.notify(NoticeFacts::SessionFileFailed { problem: error.to_string() });
        }
    }

    /// Gives a call that will not run any more a result that says so.
    fn answer_unrun(&mut self, call: &PendingCall, outcome: EndReason) {
        let id = call.call_id();
        let is_answer = |new: &NewMessage| new.message.answered_call() == Some(&id);
        // A stop may come when some calls of the round have their results.
        if self.pending.messages.iter().any(is_answer) {
            return;
        }
        let text = outcome.result_text();
        self.emit(EventKind::Result {
            id: call.id.clone(),
            name: call.name.clone(),
            outcome: ToolOutcome::Refused,
            text,
        });
        self.push_message(call.closing_result(outcome));
    }

    /// Adds a message to what the next commit stores.
    pub(crate) fn push_message(&mut self, body: MessageBody) -> MessageId {
        let id = self.next_message();
        let message = Arc::new(Message { id, body });
        self.pending.messages.push(NewMessage { message, at: Moment::now() });
        id
    }

    /// The number that the next message of the session gets.
    fn next_message(&self) -> MessageId {
        let pending = self.pending.messages.last().map(|new| new.message.id);
        MessageId(pending.unwrap_or(self.session.last).max(self.session.last).0 + 1)
    }

    /// Adds the user's message, which stands in the transcript also when no request was made.
    fn push_user_message(&mut self) {
        if self.session.last >= self.message_id || !self.pending.messages.is_empty() {
            return;
        }
        let user = UserMessage {
            content: self.arrived.inbound.content.clone(),
            stamp: Some(self.inputs.stamp.clone()),
            speaker: self.inputs.speaker.clone(),
            framing: if self.never_fits { Framing::Unsent } else { Framing::Plain },
            ..UserMessage::default()
        };
        let message = Arc::new(Message { id: self.message_id, body: MessageBody::User(user) });
        self.pending.messages.push(NewMessage { message, at: self.arrived.at });
    }

    /// Stores what is pending, together with the state of the turn.
    pub(crate) async fn commit(&mut self) -> AgentResult<Option<RequestId>> {
        let mut commit = std::mem::take(&mut self.pending);
        // Whoever brings the results of calls that were handed out goes on from there.
        let goes_on = |outcome: &TurnOutcome| outcome.ending == TurnEnding::HandedOut;
        if commit.outcome.as_ref().is_none_or(goes_on) {
            commit.state = serde_json::to_value(&self.state).ok();
        }
        let messages = commit.brought.iter().chain(&commit.messages);
        let messages: Vec<_> = messages.map(|new| new.message.clone()).collect();
        let carry = commit.carry.clone();
        match self.turn_id {
            Some(_) => commit.begun = Some(self.begun),
            None => commit.basis = Some(self.session.basis()),
        }
        let request = self.store_commit(commit.into()).await?;
        self.session.append(&messages);
        if let Some(carry) = carry {
            self.session.carry = carry;
        }
        Ok(request)
    }

    /// Hands a commit to the store, again and again while another process keeps
    /// it from writing: what the model said must not be lost for that.
    async fn store_commit(&mut self, commit: Arc<TurnCommit>) -> AgentResult<Option<RequestId>> {
        let store = &self.shared.parts.store;
        for _ in 0..LOCKED_TRIES {
            match self.try_store(store, commit.clone()).await {
                Err(StoreError::Locked { .. }) => {}
                stored => return Ok(stored?),
            }
        }
        Ok(self.try_store(store, commit).await?)
    }

    /// Begins the turn with a commit, or goes on with it.
    async fn try_store(
        &mut self,
        store: &Store,
        commit: Arc<TurnCommit>,
    ) -> StoreResult<Option<RequestId>> {
        if let Some(turn) = self.turn_id {
            return store.advance(turn, commit).await;
        }
        let begun = store.begin(self.arrived.to_store(), commit).await?;
        self.turn_id = Some(begun.turn);
        self.listeners.accepted(begun.turn, self.arrived);
        Ok(begun.request)
    }

    /// Tells the person something that they should know.
    pub(crate) fn notify(&self, notice: impl Into<TurnNotice>) {
        self.emit(EventKind::Notice(notice.into()));
    }

    /// Tells the person something that the record of the turn's next request has, too.
    pub(crate) fn notify_recorded(&mut self, notice: impl Into<TurnNotice>) {
        let notice = notice.into();
        self.unrecorded.push(notice.clone());
        self.notify(notice);
    }

    /// Sends an event to whoever listens, once the turn is stored.
    pub(crate) fn emit(&self, event: EventKind) {
        if let Some(turn) = self.turn_id {
            self.listeners.emit(turn, event);
        }
    }
}

impl EndReason {
    /// The ending under which the store keeps it.
    pub(crate) fn status(self) -> TurnEnding {
        match self {
            EndReason::Answered | EndReason::WishMet => TurnEnding::Done,
            EndReason::HandedOut => TurnEnding::HandedOut,
            EndReason::Stopped => TurnEnding::Stopped,
            EndReason::Interrupted | EndReason::GivenUp => TurnEnding::Interrupted,
            EndReason::Empty
            | EndReason::Failed
            | EndReason::TooManyRounds { .. }
            | EndReason::Repeated => TurnEnding::Failed,
        }
    }
}

/// A text that begins like a sentence.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// A reply without the stamps of the page that it begins with, and these: what stands in the history is
/// imitated, so they must not stand there. The tokens of the reply no longer say what it says.
fn take_off_stamps(
    mut content: Vec<ContentPart>,
    stamps: &ReplyStamps,
) -> (Vec<ContentPart>, Option<String>) {
    let first = content.iter_mut().find_map(|part| match part {
        ContentPart::Text(text) => Some(text),
        _ => None,
    });
    let Some(text) = first else { return (content, None) };
    let (imitated, rest) = stamps.split(text.as_str());
    if imitated.is_empty() {
        return (content, None);
    }
    let (imitated, rest) = (imitated.to_owned(), Text::from(rest));
    *text = rest;
    let is_echo = |part: &ContentPart| matches!(part, ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo);
    content.retain(|part| !is_echo(part));
    (content, Some(imitated))
}

/// The calls of a model that writes them into its text, and the text without them.
fn calls_from_text(
    content: Vec<ContentPart>,
    mut calls: Vec<ToolCall>,
    message: MessageId,
) -> (Vec<ContentPart>, Vec<ToolCall>) {
    let mut rest = Vec::new();
    for part in content {
        let Some(text) = part.as_text() else {
            rest.push(part);
            continue;
        };
        let made = calls.len();
        let id = |index| CallId(format!("call_{}_{}", message.0, made + index).into());
        let (read, words) = read_calls(text, id);
        if read.is_empty() {
            rest.push(part);
            continue;
        }
        calls.extend(read);
        if !words.trim().is_empty() {
            rest.push(ContentPart::Text(words.into()));
        }
    }
    (rest, calls)
}

/// The date and time that stand in front of a message, in the person's zone.
pub(crate) fn stamp(at: Moment) -> MessageStamp {
    let local = at.timestamp().to_zoned(jiff::tz::TimeZone::system());
    MessageStamp::from_minute(&local.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Whether another process was faster: its turn stands in the way, or has said
/// something since the session was looked at.
pub(crate) fn is_overtaken(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::Store(
            StoreError::Busy { .. } | StoreError::OutOfOrder { .. } | StoreError::Changed { .. }
        )
    )
}
