//! Replies of Ollama's `/api/chat`: a JSON object a line, the last one `done`.
//!
//! A call comes whole, its arguments as an object; older servers give it no id.
//! An error in the middle is a line with `error`, which has no status.

use serde::Deserialize;
use serde_json::Value;

use crate::reply::{Finish, Usage};
use crate::wire::Wire;
use crate::wire::decode::{
    Count, Delta, FrameProblem, Gathered, GatheredCall, arguments_text, few_calls, parse,
    thought_and_said,
};

/// Gathers a reply.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    said: String,
    thought: String,
    calls: Vec<GatheredCall>,
    end: Option<(Finish, Usage)>,
}

#[derive(Deserialize)]
struct Line {
    error: Option<Value>,
    message: Option<Message>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Reader {
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        let line: Line = parse(frame)?;
        if line.error.is_some() {
            return Err(FrameProblem::Failed);
        }
        if let Some(message) = line.message {
            self.add(message, deltas)?;
        }
        if line.done {
            let prompt = line.prompt_eval_count.0;
            // Ollama counts the prompt whole and does not say what was cached.
            let usage = Usage { prompt, cached: None, completion: line.eval_count.0 };
            self.end = Some((finish(line.done_reason.as_deref()), usage));
        }
        Ok(())
    }

    fn add(&mut self, message: Message, deltas: &mut Vec<Delta>) -> Result<(), FrameProblem> {
        if let Some(thinking) = message.thinking {
            self.thought.push_str(&thinking);
            deltas.push(Delta::Thinking(thinking));
        }
        if let Some(content) = message.content {
            self.said.push_str(&content);
            deltas.push(Delta::Text(content));
        }
        for call in message.tool_calls.into_iter().flatten().map(GatheredCall::from) {
            call.check()?;
            few_calls(self.calls.len() + 1)?;
            self.calls.push(call);
        }
        Ok(())
    }

    /// The bytes that are kept, besides calls.
    pub(crate) fn kept(&self) -> usize {
        self.said.len() + self.thought.len()
    }

    pub(crate) fn gathered(self) -> Option<Gathered> {
        let (finish, usage) = self.end?;
        let content = thought_and_said(Wire::Ollama, "thinking", &self.thought, self.said);
        Some(Gathered { content, calls: self.calls, finish, usage })
    }
}

impl From<Call> for GatheredCall {
    fn from(call: Call) -> Self {
        GatheredCall {
            id: call.id.unwrap_or_default(),
            name: call.function.name,
            arguments: arguments_text(call.function.arguments),
        }
    }
}

/// Servers before 2024 give no reason.
fn finish(reason: Option<&str>) -> Finish {
    match reason {
        None | Some("" | "stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some(other) => Finish::Other(other.to_owned()),
    }
}
