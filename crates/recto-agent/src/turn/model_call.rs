//! The call of the model: what streams in goes out to the listeners.

use std::collections::HashSet;

use futures_util::{FutureExt, StreamExt};
use recto_context::{
    ContentPart, LeadingStamp, MessageBody, MessageStamp, ToolCalls, text_before_calls,
};
use recto_llm::{LlmError, ModelReply, PromptCacheKey, StreamEvent};
use recto_store::Moment;
use tracing::Span;

use super::TurnRun;
use crate::event::EventKind;
use crate::trace;
use crate::turn_gate::GatePass;

/// How many pieces of a reply listeners hear of at once, at the most, where a
/// server sends them faster than one by one.
const AT_A_STRETCH: usize = 64;

/// How a call ended.
pub(super) enum CallOutcome {
    /// The reply came in whole.
    Reply(Box<ModelReply>, StreamedReply),
    /// It failed, perhaps after some text.
    Failed(LlmError, StreamedReply),
    /// The person stopped it.
    Stopped(StreamedReply),
}

impl CallOutcome {
    /// Tells a request's span how it ended.
    pub(super) fn tell(&self, span: &Span) {
        match self {
            CallOutcome::Reply(reply, _) => trace::end_request(span, reply),
            CallOutcome::Failed(error, _) => trace::fail_request(span, error.code()),
            CallOutcome::Stopped(_) => trace::fail_request(span, "stopped"),
        }
    }
}

/// The part of a reply that has come in so far.
#[derive(Debug, Default)]
pub(super) struct StreamedReply {
    pub(super) text: String,
    /// How much of the text listeners have heard.
    shown: usize,
    /// What the model thought since listeners last heard of it.
    thought: String,
    pub(super) first_token_at: Option<Moment>,
    stamps: ReplyStamps,
    progress: StreamProgress,
}

/// The stamps that are taken off where a reply begins with one: those of the page, which the
/// model imitates, and lines of their form and of this day, in which it goes on with minutes of its
/// own. What the turn itself speaks of may be quoted, and is none of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ReplyStamps {
    of_page: Vec<MessageStamp>,
    /// The day of the message, such as `2026-11-15`; empty where the page has no stamps.
    day: String,
    quoted: HashSet<String>,
}

impl ReplyStamps {
    /// The stamps that a whole reply begins with, which may be several, and the rest.
    pub(super) fn split<'a>(&self, reply: &'a str) -> (&'a str, &'a str) {
        let length = self.length_in(reply, StreamProgress::Over);
        reply.split_at(length.unwrap_or_default())
    }

    /// How much of a reply is stamps at its beginning, with the blanks behind them. `None` while
    /// that can't be told. A stamp that nothing follows is the reply itself.
    fn length_in(&self, reply: &str, progress: StreamProgress) -> Option<usize> {
        if self.day.is_empty() {
            return Some(0);
        }
        let (mut length, mut rest) = (0, reply);
        loop {
            match LeadingStamp::find(rest) {
                LeadingStamp::Whole(end) if self.has(&rest[..end]) => {
                    length += end;
                    rest = &rest[end..];
                }
                LeadingStamp::Unfinished if progress == StreamProgress::Running => return None,
                LeadingStamp::Whole(_) | LeadingStamp::Unfinished | LeadingStamp::None => {
                    return Some(length);
                }
            }
        }
    }

    fn has(&self, lead: &str) -> bool {
        let goes_on = || {
            let minute = MessageStamp::minute_of_line(lead);
            minute.is_some_and(|it| it.starts_with(&self.day) && !self.quoted.contains(it))
        };
        self.of_page.iter().any(|stamp| stamp.stands_in(lead)) || goes_on()
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StreamProgress {
    #[default]
    Running,
    Over,
}

impl StreamedReply {
    /// Where the reply's own words begin: behind the stamps that are taken off. `None` while that
    /// can't be told.
    fn words_from(&self) -> Option<usize> {
        self.stamps.length_in(&self.text, self.progress)
    }

    /// The stamps that are taken off, and what the model said behind them.
    pub(super) fn split_stamps(&self) -> (&str, &str) {
        self.text.split_at(self.words_from().unwrap_or_default())
    }

    /// How much of the text can't become a call any more. What was shown can't, so
    /// only the rest is looked at, from where its line begins.
    fn before_calls(&self) -> usize {
        let line = self.text[..self.shown].rfind('\n').map_or(0, |at| at + 1);
        line + text_before_calls(&self.text[line..]).len()
    }
}

impl TurnRun<'_> {
    /// Sends the body as soon as nobody waits in another session. A call that is given up for
    /// one who does is made again, as after a crash; listeners are told of it as of the first.
    pub(super) async fn call_in_turn(&self, body: &str, requested: EventKind) -> CallOutcome {
        let (gate, session) = (&self.shared.gate, self.arrived.session);
        loop {
            if gate.pass(session, self.stop).await == GatePass::Stopped {
                return CallOutcome::Stopped(StreamedReply::default());
            }
            if let Some(outcome) = self.call_model(body.to_owned()).await {
                return outcome;
            }
            self.emit(requested.clone());
        }
    }

    /// Sends the body and listens until the reply is whole, fails or is stopped. Nothing where
    /// the call was given up for what somebody asks in another session.
    async fn call_model(&self, body: String) -> Option<CallOutcome> {
        let closed = self.shared.gate.closed(self.arrived.session);
        tokio::pin!(closed);
        let mut stream = self.entry().client.stream_cached(self.cache_key(), body);
        let mut streamed = StreamedReply { stamps: self.reply_stamps(), ..Default::default() };
        loop {
            let mut next = tokio::select! {
                biased;
                // Leaving drops the stream, which ends the call.
                () = self.stop.requested() => return Some(CallOutcome::Stopped(streamed)),
                () = &mut closed => return None,
                next = stream.next() => next,
            };
            for piece in 1.. {
                match next {
                    Some(Ok(StreamEvent::Done(reply))) => {
                        streamed.progress = StreamProgress::Over;
                        self.show_ready(&mut streamed);
                        return Some(CallOutcome::Reply(Box::new(reply), streamed));
                    }
                    Some(Ok(event)) => self.absorb(&mut streamed, event),
                    Some(Err(error)) => return Some(CallOutcome::Failed(error, streamed)),
                    None => {
                        let cause = "the stream has no end".to_owned();
                        return Some(CallOutcome::Failed(LlmError::Cut { cause }, streamed));
                    }
                }
                if piece == AT_A_STRETCH {
                    break;
                }
                match stream.next().now_or_never() {
                    Some(more) => next = more,
                    None => break,
                }
            }
            self.show_ready(&mut streamed);
        }
    }

    /// The stamps that this turn's replies may imitate.
    pub(super) fn reply_stamps(&self) -> ReplyStamps {
        if !self.entry().layout.preset.has_stamps() {
            return ReplyStamps::default();
        }
        let said = self.said_messages();
        let rounds = said.rounds.iter().flat_map(|message| message.content());
        let spoken_of = self.opening_content().iter().chain(rounds);
        let texts = spoken_of.filter_map(|part| match part {
            ContentPart::File(file) => Some(file.text()),
            part => part.as_text(),
        });
        let quoted: HashSet<&str> = texts.flat_map(|text| MessageStamp::minutes_in(text)).collect();
        let earlier = said.history.iter().filter_map(|message| match &message.body {
            MessageBody::User(user) => user.stamp.as_ref(),
            _ => None,
        });
        let stamps = earlier.chain([&self.inputs.stamp]);
        ReplyStamps {
            of_page: stamps.filter(|stamp| !quoted.contains(stamp.minute())).cloned().collect(),
            day: self.inputs.stamp.minute().chars().take_while(|c| !c.is_whitespace()).collect(),
            quoted: quoted.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The conversation to which a model that remembers what it has read counts the call. A
    /// session's minimal and full turns are two, because their prompts part early.
    fn cache_key(&self) -> PromptCacheKey {
        let minimal = u64::from(self.state.mode().chosen.is_minimal());
        PromptCacheKey(self.arrived.session.get().unsigned_abs() * 2 + minimal)
    }

    fn absorb(&self, streamed: &mut StreamedReply, event: StreamEvent) {
        match event {
            StreamEvent::Text(text) => {
                streamed.first_token_at.get_or_insert_with(Moment::now);
                streamed.text.push_str(&text);
            }
            StreamEvent::Thinking(text) => {
                streamed.first_token_at.get_or_insert_with(Moment::now);
                streamed.thought.push_str(&text);
            }
            StreamEvent::Retrying { after, error } => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                self.emit(EventKind::Retrying { after_ms, error: error.to_string() });
            }
            StreamEvent::Done(_) => {}
        }
    }

    /// Lets listeners hear what has come in since they last did, in one piece:
    /// thousands of small ones at once would be too many for them.
    fn show_ready(&self, streamed: &mut StreamedReply) {
        let thought = std::mem::take(&mut streamed.thought);
        if !thought.is_empty() {
            self.emit(EventKind::Thinking { text: thought });
        }
        let ready = match self.entry().layout.tool_calls {
            ToolCalls::Native => streamed.text.len(),
            ToolCalls::Text => streamed.before_calls(),
        };
        self.show_to(streamed, ready);
    }

    fn show_to(&self, streamed: &mut StreamedReply, end: usize) {
        let Some(begin) = streamed.words_from() else { return };
        streamed.shown = streamed.shown.max(begin);
        if let Some(piece) =
            streamed.text.get(streamed.shown..end).filter(|piece| !piece.is_empty())
        {
            self.emit(EventKind::Text { text: piece.to_owned() });
            streamed.shown = end;
        }
    }

    /// Shows what was held back because it could have become a call, when the
    /// reply ended early.
    pub(super) fn show_all(&self, streamed: &mut StreamedReply) {
        streamed.progress = StreamProgress::Over;
        self.show_to(streamed, streamed.text.len());
    }

    /// Shows what was held back and turned out to be no call. `words` is the
    /// reply without its calls.
    pub(super) fn show_words(&self, streamed: &StreamedReply, words: &str) {
        let begin = streamed.words_from().unwrap_or_default();
        let shown = streamed.text.as_bytes().iter().take(streamed.shown).skip(begin);
        let common = shown.zip(words.as_bytes()).take_while(|(a, b)| a == b).count();
        let rest = &words[words.floor_char_boundary(common)..];
        if !rest.trim().is_empty() {
            self.emit(EventKind::Text { text: rest.to_owned() });
        }
    }
}
