//! Replies of the embedded model: a JSON object a line, with pieces of text and the tokens that
//! made them, the last one `done`.
//!
//! The engine knows text alone, so what a model thinks and what it calls is read out of its text
//! here: thoughts while it speaks, calls when it has spoken. Text that may become a call is held
//! back until then. Tokens are kept where they say exactly what the text says, so that the next
//! prompt can repeat them instead of guessing how the text came about.

mod llama;
mod thought;

use recto_context::{CallId, ContentHash, OpaqueKind, ToolCall, read_calls, text_before_calls};
use serde::Deserialize;
use serde_json::json;

use self::thought::{GeneratedText, ReplyBeginning};
use super::{CallStyle, EmbeddedRequest, THOUGHT, starts_in_thought};
use crate::reply::TokenUsage;
use crate::wire::Wire;
use crate::wire::decode::{
    DecodedCall, DecodedReply, FrameResult, LenientCount, ReplyDelta, check_call_count,
    finish_reason, opaque, parse,
};

/// What was generated so far, and how it is to be read.
#[derive(Debug, Default)]
pub(crate) struct EmbeddedDecoder {
    generated: GeneratedText,
    /// Whose reply it is.
    model: String,
    tokens: ReplyTokens,
    calls: CallSyntax,
    /// How much of the text has been handed on, in bytes.
    sent: usize,
}

/// Where calls are looked for.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum CallSyntax {
    /// Nowhere: there are none, or the agent reads them.
    #[default]
    Unread,
    Tagged,
    /// In replies that are JSON.
    Llama,
}

#[derive(Deserialize)]
struct EmbeddedLine {
    text: Option<String>,
    tokens: Option<Vec<i32>>,
    done: Option<DoneLine>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DoneLine {
    finish: Option<String>,
    prompt: LenientCount,
    cached: LenientCount,
    completion: LenientCount,
}

impl EmbeddedDecoder {
    /// For the reply to `request`.
    pub(crate) fn new(request: &[u8]) -> Self {
        let Ok(request) = serde_json::from_slice::<EmbeddedRequest>(request) else {
            return EmbeddedDecoder::default();
        };
        let is_held = request.forced_call().is_some() || request.format().is_some();
        let must = is_held || request.calls.as_ref().is_some_and(|calls| calls.must);
        let beginning = match starts_in_thought(&request.prompt) {
            // A model that is held to a call or a form has no choice but to begin with it.
            _ if must => ReplyBeginning::Text,
            true => ReplyBeginning::Thought,
            false => ReplyBeginning::Unknown,
        };
        let is_form = request.format().is_some();
        let calls = match request.calls.map(|calls| calls.style) {
            _ if is_form => CallSyntax::Unread,
            None | Some(CallStyle::Page) => CallSyntax::Unread,
            Some(CallStyle::Tagged) => CallSyntax::Tagged,
            Some(CallStyle::Llama) => CallSyntax::Llama,
        };
        EmbeddedDecoder {
            model: request.model,
            generated: GeneratedText::new(beginning),
            calls,
            ..EmbeddedDecoder::default()
        }
    }

    /// Adds a line of the engine's to the reply.
    pub(crate) fn decode(&mut self, frame: &[u8], reply: &mut DecodedReply) -> FrameResult {
        let line: EmbeddedLine = parse(frame)?;
        if let Some(text) = line.text {
            self.tokens.push(self.generated.length(), &text, &line.tokens.unwrap_or_default());
            reply.push_delta(ReplyDelta::Thinking(self.generated.push(&text)));
            self.send_until(self.ready(), reply);
        }
        reply.size = self.generated.length() + self.tokens.bytes();
        match line.done {
            Some(done) => self.end(&done, reply),
            None => Ok(()),
        }
    }

    /// How much of the text can't become a call any more.
    fn ready(&self) -> usize {
        let text = self.generated.text();
        match self.calls {
            CallSyntax::Unread => text.len(),
            CallSyntax::Tagged => {
                // What was handed on can't, so only the rest is looked at, from where its line begins.
                let line = text[..self.sent].rfind('\n').map_or(0, |at| at + 1);
                line + text_before_calls(&text[line..]).len()
            }
            CallSyntax::Llama => llama::before_calls(text, self.sent),
        }
    }

    fn send_until(&mut self, end: usize, reply: &mut DecodedReply) {
        if let Some(piece) = self.generated.text().get(self.sent..end) {
            reply.push_delta(ReplyDelta::Text(piece.to_owned()));
            self.sent = end;
        }
    }

    fn end(&mut self, done: &DoneLine, reply: &mut DecodedReply) -> FrameResult {
        reply.push_delta(ReplyDelta::Thinking(self.generated.close()));
        let text = self.generated.text();
        let unread = || (Vec::new(), text.to_owned());
        let (calls, said) = match self.calls {
            CallSyntax::Unread => unread(),
            CallSyntax::Tagged => tagged(text),
            CallSyntax::Llama => llama::parse_calls(text).unwrap_or_else(unread),
        };
        check_call_count(calls.len())?;
        calls.iter().try_for_each(DecodedCall::check)?;
        // What was handed on stands before all calls.
        let rest = said.strip_prefix(&text[..self.sent]).unwrap_or_default();
        reply.push_delta(ReplyDelta::Text(rest.to_owned()));
        reply.usage = TokenUsage {
            prompt: done.prompt.0,
            cached: done.cached.0,
            completion: done.completion.0,
        };
        reply.finish = Some(finish_reason(done.finish.as_deref()));
        reply.is_complete = true;
        (reply.calls, reply.text) = (calls, said);
        Ok(())
    }

    pub(crate) fn finish(self, reply: &mut DecodedReply) {
        let tokens = self.tokens.from(self.generated.begin());
        let repeats = reply.calls.is_empty() && !reply.text.is_empty();
        let echo = tokens.filter(|_| repeats).map(|tokens| {
            let hash = ContentHash::of_bytes(reply.text.as_bytes());
            let echo = json!({ "model": self.model, "text": hash, "tokens": tokens });
            opaque(Wire::Embedded, OpaqueKind::Echo, &echo)
        });
        reply.thought = self.generated.thought().to_owned();
        reply.add_content(Wire::Embedded, THOUGHT);
        reply.content.extend(echo);
    }
}

/// The tokens of a reply, and where in it each piece of them begins.
#[derive(Debug, Default)]
struct ReplyTokens {
    all: Vec<i32>,
    pieces: Vec<TokenPiece>,
    /// A piece came without its tokens.
    is_lacking: bool,
}

/// Where a piece begins, in bytes of the reply and in tokens.
#[derive(Debug)]
struct TokenPiece {
    at: usize,
    token: usize,
}

impl ReplyTokens {
    fn push(&mut self, at: usize, text: &str, tokens: &[i32]) {
        self.is_lacking |= tokens.is_empty() && !text.is_empty();
        self.pieces.push(TokenPiece { at, token: self.all.len() });
        self.all.extend_from_slice(tokens);
    }

    /// The tokens of all that begins at `at`, if a piece begins there.
    fn from(&self, at: usize) -> Option<&[i32]> {
        let place = self.pieces.binary_search_by_key(&at, |piece| piece.at).ok()?;
        (!self.is_lacking).then(|| &self.all[self.pieces[place].token..])
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.pieces)
    }
}

/// The calls between tags, and the text without them.
fn tagged(text: &str) -> (Vec<DecodedCall>, String) {
    let (calls, said) = read_calls(text, |_| CallId("".into()));
    (calls.into_iter().map(DecodedCall::from).collect(), said)
}

impl From<ToolCall> for DecodedCall {
    /// The model gives its calls no ids.
    fn from(call: ToolCall) -> Self {
        DecodedCall {
            id: String::new(),
            name: call.name.to_string(),
            arguments: call.arguments.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
