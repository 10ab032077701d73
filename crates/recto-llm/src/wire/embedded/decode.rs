//! Replies of the embedded model: a JSON object a line, with pieces of text and the tokens that
//! made them, the last one `done`.
//!
//! The engine knows text alone, so what a model thinks and what it calls is read out of its text
//! here: thoughts while it speaks, calls when it has spoken. Text that may become a call is held
//! back until then. Tokens are kept where they say exactly what the text says, so that the next
//! prompt can repeat them instead of guessing how the text came about.

mod llama;
mod thought;

use recto_context::{CallId, ContentHash, OpaqueKind, ToolCall, before_calls, read_calls};
use serde::Deserialize;
use serde_json::json;

use self::thought::{Beginning, Generated};
use super::{Asked, CallStyle, THOUGHT, starts_in_thought};
use crate::reply::Usage;
use crate::wire::Wire;
use crate::wire::decode::{
    Count, Delta, FrameProblem, Gathered, GatheredCall, few_calls, finish_reason, opaque, parse,
};

/// What was generated so far, and how it is to be read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    generated: Generated,
    /// Whose reply it is.
    model: String,
    tokens: Tokens,
    calls: Calling,
    /// How much of the text has been told, in bytes.
    told: usize,
}

/// Where calls are looked for.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Calling {
    /// Nowhere: there are none, or the agent reads them.
    #[default]
    Unread,
    Tagged,
    /// In replies that are JSON.
    Llama,
}

#[derive(Deserialize)]
struct Line {
    text: Option<String>,
    tokens: Option<Vec<i32>>,
    done: Option<Done>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Done {
    finish: Option<String>,
    prompt: Count,
    cached: Count,
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

    /// Adds a line of the engine's to the reply.
    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        gathered: &mut Gathered,
    ) -> Result<(), FrameProblem> {
        let line: Line = parse(frame)?;
        if let Some(text) = line.text {
            self.tokens.push(self.generated.length(), &text, &line.tokens.unwrap_or_default());
            gathered.tell(Delta::Thinking(self.generated.push(&text)));
            self.tell(self.ready(), gathered);
        }
        gathered.kept = self.generated.length() + self.tokens.bytes();
        match line.done {
            Some(done) => self.end(&done, gathered),
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

    fn tell(&mut self, end: usize, gathered: &mut Gathered) {
        if let Some(piece) = self.generated.text().get(self.told..end) {
            gathered.tell(Delta::Text(piece.to_owned()));
            self.told = end;
        }
    }

    fn end(&mut self, done: &Done, gathered: &mut Gathered) -> Result<(), FrameProblem> {
        gathered.tell(Delta::Thinking(self.generated.close()));
        let text = self.generated.text();
        let unread = || (Vec::new(), text.to_owned());
        let (calls, said) = match self.calls {
            Calling::Unread => unread(),
            Calling::Tagged => tagged(text),
            Calling::Llama => llama::read(text).unwrap_or_else(unread),
        };
        few_calls(calls.len())?;
        calls.iter().try_for_each(GatheredCall::check)?;
        // What was told stands before all calls.
        let rest = said.strip_prefix(&text[..self.told]).unwrap_or_default();
        gathered.tell(Delta::Text(rest.to_owned()));
        gathered.usage =
            Usage { prompt: done.prompt.0, cached: done.cached.0, completion: done.completion.0 };
        gathered.finish = Some(finish_reason(done.finish.as_deref()));
        gathered.is_complete = true;
        (gathered.calls, gathered.said) = (calls, said);
        Ok(())
    }

    pub(crate) fn finish(self, gathered: &mut Gathered) {
        let tokens = self.tokens.from(self.generated.begin());
        let repeats = gathered.calls.is_empty() && !gathered.said.is_empty();
        let echo = tokens.filter(|_| repeats).map(|tokens| {
            let hash = ContentHash::of(gathered.said.as_bytes());
            let echo = json!({ "model": self.model, "text": hash, "tokens": tokens });
            opaque(Wire::Embedded, OpaqueKind::Echo, &echo)
        });
        gathered.thought = self.generated.thought().to_owned();
        gathered.keep_thought_and_said(Wire::Embedded, THOUGHT);
        gathered.content.extend(echo);
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

/// Where a piece begins, in bytes of the reply and in tokens.
#[derive(Debug)]
struct Piece {
    at: usize,
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

#[cfg(test)]
mod tests;
