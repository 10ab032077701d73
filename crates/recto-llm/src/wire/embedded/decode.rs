//! Replies of the embedded model: a JSON object a line, with pieces of text and the tokens that
//! made them, the last one `done`.
//!
//! The engine knows text alone, so what a model thinks and what it calls is read out of its text
//! here: thoughts while it speaks, calls when it has spoken. Text that may become a call is held
//! back until then. Tokens are kept where they say exactly what the text says, so that the next
//! prompt can repeat them instead of guessing how the text came about.

mod llama;
mod thought;

use recto_context::{
    CallId, ContentHash, ContentPart, Opaque, OpaqueKind, Text, ToolCall, before_calls, read_calls,
};
use serde::Deserialize;
use serde_json::json;

use self::thought::{Beginning, Generated};
use super::{Asked, CallStyle, THOUGHT, starts_in_thought};
use crate::reply::{Finish, Usage};
use crate::wire::Wire;
use crate::wire::decode::{
    Count, Delta, FrameProblem, Gathered, GatheredCall, few_calls, opaque, parse,
};

/// Gathers a reply.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    generated: Generated,
    /// Whose reply it is.
    model: String,
    tokens: Tokens,
    calls: Calling,
    /// How much of the text has been told, in bytes.
    told: usize,
    end: Option<End>,
}

/// Where calls are looked for.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Calling {
    /// Nowhere: there are none, or the agent reads them.
    #[default]
    Unread,
    /// Between tags.
    Tagged,
    /// In replies that are JSON.
    Llama,
}

#[derive(Debug)]
struct End {
    /// The text without its calls.
    said: String,
    calls: Vec<GatheredCall>,
    finish: Finish,
    usage: Usage,
}

#[derive(Deserialize)]
struct Line {
    text: Option<String>,
    tokens: Option<Vec<i32>>,
    done: Option<Done>,
}

#[derive(Deserialize)]
struct Done {
    finish: Option<String>,
    #[serde(default)]
    prompt: Count,
    #[serde(default)]
    cached: Count,
    #[serde(default)]
    completion: Count,
}

impl Reader {
    /// For the reply to `request`.
    pub(crate) fn new(request: &[u8]) -> Self {
        let Ok(asked) = serde_json::from_slice::<Asked>(request) else { return Reader::default() };
        let must = asked.calls.as_ref().is_some_and(|calls| calls.must);
        let beginning = match starts_in_thought(&asked.prompt) {
            // A model that must call has no choice but to begin with the call.
            _ if must => Beginning::Text,
            true => Beginning::Thought,
            false => Beginning::Unknown,
        };
        let calls = match asked.calls.map(|calls| calls.style) {
            None | Some(CallStyle::Page) => Calling::Unread,
            Some(CallStyle::Tagged) => Calling::Tagged,
            Some(CallStyle::Llama) => Calling::Llama,
        };
        Reader {
            model: asked.model,
            generated: Generated::new(beginning),
            calls,
            ..Reader::default()
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        let line: Line = parse(frame)?;
        if let Some(text) = line.text {
            self.tokens.push(self.generated.length(), &text, &line.tokens.unwrap_or_default());
            deltas.push(Delta::Thinking(self.generated.push(&text)));
            self.tell(self.ready(), deltas);
        }
        match line.done {
            Some(done) => self.end(&done, deltas),
            None => Ok(()),
        }
    }

    /// How much of the text can't become a call any more.
    fn ready(&self) -> usize {
        let text = self.generated.text();
        match self.calls {
            Calling::Unread => text.len(),
            Calling::Tagged => {
                // What was told can't, so only the rest is looked at, from where its line begins.
                let line = text[..self.told].rfind('\n').map_or(0, |at| at + 1);
                line + before_calls(&text[line..]).len()
            }
            Calling::Llama => llama::before_calls(text, self.told),
        }
    }

    fn tell(&mut self, end: usize, deltas: &mut Vec<Delta>) {
        if let Some(piece) = self.generated.text().get(self.told..end) {
            deltas.push(Delta::Text(piece.to_owned()));
            self.told = end;
        }
    }

    fn end(&mut self, done: &Done, deltas: &mut Vec<Delta>) -> Result<(), FrameProblem> {
        deltas.push(Delta::Thinking(self.generated.close()));
        let text = self.generated.text();
        let (calls, said) = match self.calls {
            Calling::Unread => (Vec::new(), text.to_owned()),
            Calling::Tagged => tagged(text),
            Calling::Llama => llama::read(text).unwrap_or_else(|| (Vec::new(), text.to_owned())),
        };
        few_calls(calls.len())?;
        calls.iter().try_for_each(GatheredCall::check)?;
        // What was told stands before all calls.
        let rest = said.strip_prefix(&text[..self.told]).unwrap_or_default();
        deltas.push(Delta::Text(rest.to_owned()));
        let usage =
            Usage { prompt: done.prompt.0, cached: done.cached.0, completion: done.completion.0 };
        self.end = Some(End { said, calls, finish: finish(done.finish.as_deref()), usage });
        Ok(())
    }

    /// The bytes that are kept, besides calls.
    pub(crate) fn kept(&self) -> usize {
        self.generated.length() + self.tokens.bytes()
    }

    pub(crate) fn gathered(self) -> Option<Gathered> {
        let End { said, calls, finish, usage } = self.end?;
        let mut content = Vec::new();
        if !self.generated.thought().is_empty() {
            content.push(opaque(Wire::Embedded, &json!({ THOUGHT: self.generated.thought() })));
        }
        if !said.is_empty() {
            let tokens = self.tokens.from(self.generated.begin()).filter(|_| calls.is_empty());
            let echo = tokens.map(|tokens| echo(&self.model, &said, tokens));
            content.push(ContentPart::Text(said.into()));
            content.extend(echo);
        }
        Some(Gathered { content, calls, finish, usage })
    }
}

/// The tokens of a reply, and where in it each piece of them begins.
#[derive(Debug, Default)]
struct Tokens {
    all: Vec<i32>,
    pieces: Vec<Piece>,
    /// A piece came without its tokens.
    is_lacking: bool,
}

#[derive(Debug)]
struct Piece {
    /// In bytes of the reply.
    at: usize,
    /// In tokens.
    token: usize,
}

impl Tokens {
    fn push(&mut self, at: usize, text: &str, tokens: &[i32]) {
        self.is_lacking |= tokens.is_empty() && !text.is_empty();
        self.pieces.push(Piece { at, token: self.all.len() });
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

fn echo(model: &str, said: &str, tokens: &[i32]) -> ContentPart {
    let hash = ContentHash::of(said.as_bytes());
    ContentPart::Opaque(Opaque {
        provider: Wire::Embedded.name().into(),
        json: Text::new(json!({ "model": model, "text": hash, "tokens": tokens }).to_string()),
        kind: OpaqueKind::Echo,
    })
}

/// The calls between tags, and the text without them.
fn tagged(text: &str) -> (Vec<GatheredCall>, String) {
    let (calls, said) = read_calls(text, |_| CallId("".into()));
    (calls.into_iter().map(GatheredCall::from).collect(), said)
}

impl From<ToolCall> for GatheredCall {
    /// The model gives its calls no ids.
    fn from(call: ToolCall) -> Self {
        GatheredCall {
            id: String::new(),
            name: call.name.to_string(),
            arguments: call.arguments.to_string(),
        }
    }
}

fn finish(reason: Option<&str>) -> Finish {
    match reason {
        None | Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some(other) => Finish::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests;
