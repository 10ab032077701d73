//! Replies of Ollama's `/api/chat`: a JSON object a line, the last one `done`.
//!
//! A call comes whole, its arguments as an object; older servers give it no id.
//! An error in the middle is a line with `error`, which has no status.

use serde::Deserialize;
use serde_json::Value;

use crate::reply::Usage;
use crate::wire::decode::{
    Count, FrameProblem, Gathered, GatheredCall, arguments_text, few_calls, finish_reason, parse,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    error: Option<Value>,
    message: Option<Message>,
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Count,
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

/// Adds a line of Ollama's stream to the reply.
pub(crate) fn read(frame: &[u8], gathered: &mut Gathered) -> Result<(), FrameProblem> {
    let line: Line = parse(frame)?;
    if line.error.is_some() {
        return Err(FrameProblem::Failed);
    }
    if let Some(message) = line.message {
        gathered.think(message.thinking.unwrap_or_default());
        gathered.say(message.content.unwrap_or_default());
        for Call { id, function } in message.tool_calls.into_iter().flatten() {
            let arguments = arguments_text(function.arguments);
            let call = GatheredCall { id: id.unwrap_or_default(), name: function.name, arguments };
            call.check()?;
            few_calls(gathered.calls.len() + 1)?;
            gathered.calls.push(call);
        }
    }
    if line.done {
        let (prompt, completion) = (line.prompt_eval_count.0, line.eval_count.0);
        // Ollama counts the prompt whole and does not say what was cached.
        gathered.usage = Usage { prompt, cached: None, completion };
        gathered.finish = Some(finish_reason(line.done_reason.as_deref()));
        gathered.is_complete = true;
    }
    Ok(())
}
