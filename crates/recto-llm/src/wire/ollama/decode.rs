//! Replies of Ollama's `/api/chat`: a JSON object a line, the last one `done`.
//!
//! A call comes whole, its arguments as an object; older servers give it no id.
//! An error in the middle is a line with `error`, which has no status.

use serde::Deserialize;
use serde_json::Value;

use crate::reply::TokenUsage;
use crate::wire::decode::{
    DecodedCall, DecodedReply, FrameProblem, FrameResult, LenientCount, arguments_text,
    check_call_count, finish_reason, parse,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct OllamaLine {
    error: Option<Value>,
    message: Option<OllamaMessage>,
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: LenientCount,
    eval_count: LenientCount,
}

#[derive(Deserialize)]
struct OllamaMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<OllamaCall>>,
}

#[derive(Deserialize)]
struct OllamaCall {
    id: Option<String>,
    function: OllamaFunction,
}

#[derive(Deserialize)]
struct OllamaFunction {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// Adds a line of Ollama's stream to the reply.
pub(crate) fn decode_line(frame: &[u8], reply: &mut DecodedReply) -> FrameResult {
    let line: OllamaLine = parse(frame)?;
    if line.error.is_some() {
        return Err(FrameProblem::Failed);
    }
    if let Some(message) = line.message {
        reply.push_thought(message.thinking.unwrap_or_default());
        reply.push_text(message.content.unwrap_or_default());
        for OllamaCall { id, function } in message.tool_calls.into_iter().flatten() {
            let arguments = arguments_text(function.arguments);
            let call = DecodedCall { id: id.unwrap_or_default(), name: function.name, arguments };
            call.check()?;
            check_call_count(reply.calls.len() + 1)?;
            reply.calls.push(call);
        }
    }
    if line.done {
        let (prompt, completion) = (line.prompt_eval_count.0, line.eval_count.0);
        // Ollama counts the prompt whole and does not say what was cached.
        reply.usage = TokenUsage { prompt, cached: None, completion };
        reply.finish = Some(finish_reason(line.done_reason.as_deref()));
        reply.is_complete = true;
    }
    Ok(())
}
