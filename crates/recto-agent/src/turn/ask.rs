//! The call itself: what streams in goes out to the listeners.

use futures_util::{FutureExt, StreamExt};
use recto_context::{ToolCalls, before_calls};
use recto_llm::{Lane, LlmError, Reply, StreamEvent};
use recto_store::Moment;

use super::TurnRun;
use crate::event::Event;

/// How many pieces of a reply listeners hear of at once, at the most, where a
/// server sends them faster than one by one.
const AT_A_STRETCH: usize = 64;

/// How a call ended.
pub(super) enum Answer {
    /// With a reply.
    Reply(Box<Reply>, Heard),
    /// With an error, perhaps after some text.
    Failed(LlmError, Heard),
    /// By the person.
    Stopped(Heard),
}

/// What came in before a call ended.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) text: String,
    /// How much of the text listeners have heard.
    shown: usize,
    /// What the model thought since listeners last heard of it.
    thought: String,
    pub(super) first_token_at: Option<Moment>,
}

impl Heard {
    /// How much of the text can't become a call any more. What was shown can't, so
    /// only the rest is looked at, from where its line begins.
    fn before_calls(&self) -> usize {
        let line = self.text[..self.shown].rfind('\n').map_or(0, |at| at + 1);
        line + before_calls(&self.text[line..]).len()
    }
}

impl TurnRun<'_> {
    /// Sends the body and listens until the reply is whole, fails or is stopped.
    pub(super) async fn ask(&self, body: String) -> Answer {
        let mut stream = self.entry.client.stream_in(self.lane(), body);
        let mut heard = Heard::default();
        loop {
            let mut next = tokio::select! {
                biased;
                // Leaving drops the stream, which ends the call.
                () = self.stop.wished() => return Answer::Stopped(heard),
                next = stream.next() => next,
            };
            for piece in 1.. {
                match next {
                    Some(Ok(StreamEvent::Done(reply))) => {
                        self.show_ready(&mut heard);
                        return Answer::Reply(Box::new(reply), heard);
                    }
                    Some(Ok(event)) => self.hear(&mut heard, event),
                    Some(Err(error)) => return Answer::Failed(error, heard),
                    None => {
                        let cause = "the stream has no end".to_owned();
                        return Answer::Failed(LlmError::Cut { cause }, heard);
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
            self.show_ready(&mut heard);
        }
    }

    /// The minimal and the full turns of a session are two conversations to a
    /// model that remembers what it has read: their prompts part early.
    fn lane(&self) -> Lane {
        let minimal = u64::from(self.state.mode().chosen.is_minimal());
        Lane(self.inbound.session.get().unsigned_abs() * 2 + minimal)
    }

    fn hear(&self, heard: &mut Heard, event: StreamEvent) {
        match event {
            StreamEvent::Text(text) => {
                heard.first_token_at.get_or_insert_with(Moment::now);
                heard.text.push_str(&text);
            }
            StreamEvent::Thinking(text) => {
                heard.first_token_at.get_or_insert_with(Moment::now);
                heard.thought.push_str(&text);
            }
            StreamEvent::Retrying { after, error } => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                self.emit(Event::Retrying { after_ms, error: error.to_string() });
            }
            StreamEvent::Done(_) => {}
        }
    }

    /// Lets listeners hear what has come in since they last did, in one piece:
    /// thousands of small ones at once would be too many for them.
    fn show_ready(&self, heard: &mut Heard) {
        let thought = std::mem::take(&mut heard.thought);
        if !thought.is_empty() {
            self.emit(Event::Thinking { text: thought });
        }
        let ready = match self.entry.layout.tool_calls {
            ToolCalls::Native => heard.text.len(),
            ToolCalls::Text => heard.before_calls(),
        };
        self.show_to(heard, ready);
    }

    fn show_to(&self, heard: &mut Heard, end: usize) {
        if let Some(piece) = heard.text.get(heard.shown..end).filter(|piece| !piece.is_empty()) {
            self.emit(Event::Text { text: piece.to_owned() });
            heard.shown = end;
        }
    }

    /// Shows what was held back because it could have become a call, when the
    /// reply ended early.
    pub(super) fn show_all(&self, heard: &mut Heard) {
        self.show_to(heard, heard.text.len());
    }

    /// Shows what was held back and turned out to be no call. `words` is the
    /// reply without its calls.
    pub(super) fn show_words(&self, heard: &Heard, words: &str) {
        let shown = heard.text.as_bytes().iter().take(heard.shown);
        let common = shown.zip(words.as_bytes()).take_while(|(a, b)| a == b).count();
        let rest = &words[words.floor_char_boundary(common)..];
        if !rest.trim().is_empty() {
            self.emit(Event::Text { text: rest.to_owned() });
        }
    }
}
