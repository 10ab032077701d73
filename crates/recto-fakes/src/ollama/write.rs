//! Replies as Ollama writes them: a line of JSON for each piece.

use serde_json::{Map, Value, json};

use super::A_DAY;
use super::check::FakeOllamaChat;
use crate::answer::{FakeCall, FakeFinish, FakePiece, FakeReply, FaultBytes};
use crate::reaction::AnswerStep;

const LINES: &str = "application/x-ndjson";
const WHOLE: &str = "application/json; charset=utf-8";

const MISHAPS: FaultBytes = FaultBytes {
    error: mid_stream_error,
    invalid_json: b"{\"model\":\"fake\",\"message\":{\"ro\n",
};

/// The steps of a reply to a prompt of so many tokens.
pub(super) fn reply(
    reply: &FakeReply,
    chat: &FakeOllamaChat,
    prompt: u32,
    mut next_id: impl FnMut() -> String,
) -> (&'static str, Vec<AnswerStep>) {
    if !chat.stream {
        let body = closing(reply, chat, prompt, &whole_message(reply, &mut next_id));
        return (WHOLE, reply.steps(Vec::new(), body.to_string().into_bytes(), &MISHAPS));
    }
    let mut calls = 0;
    let mut piece = |piece: &FakePiece| {
        let message = match piece {
            FakePiece::Text(text) => message(text),
            FakePiece::Thinking(text) => with(message(""), "thinking", text.as_str()),
            FakePiece::Call(made) => {
                calls += 1;
                let entry = call(made, calls - 1, &next_id());
                with(message(""), "tool_calls", vec![entry])
            }
        };
        line(&part(chat, &message))
    };
    let pieces = reply.pieces.iter().map(&mut piece).collect();
    let end = line(&closing(reply, chat, prompt, &message("")));
    (LINES, reply.steps(pieces, end, &MISHAPS))
}

/// The answer to a request that only loads the model.
pub(super) fn loaded(model: &str) -> Value {
    json!({
        "model": model,
        "created_at": A_DAY,
        "message": message(""),
        "done_reason": "load",
        "done": true,
    })
}

fn part(chat: &FakeOllamaChat, message: &Value) -> Value {
    json!({ "model": chat.model, "created_at": A_DAY, "message": message, "done": false })
}

fn closing(reply: &FakeReply, chat: &FakeOllamaChat, prompt: u32, message: &Value) -> Value {
    let usage = reply.reported(prompt);
    let mut body = part(chat, message);
    body["done"] = true.into();
    // Calls are no reason of their own here.
    body["done_reason"] =
        if reply.finish() == FakeFinish::Length { "length" } else { "stop" }.into();
    body["total_duration"] = 3_000_000.into();
    body["load_duration"] = 1_000_000.into();
    body["prompt_eval_count"] = usage.prompt.into();
    body["prompt_eval_duration"] = 1_000_000.into();
    body["eval_count"] = usage.completion.into();
    body["eval_duration"] = 1_000_000.into();
    body
}

fn whole_message(reply: &FakeReply, next_id: &mut impl FnMut() -> String) -> Value {
    let made = reply.pieces.iter().filter_map(|piece| match piece {
        FakePiece::Call(call) => Some(call),
        _ => None,
    });
    let calls: Vec<Value> =
        made.enumerate().map(|(index, made)| call(made, index, &next_id())).collect();
    let mut whole = message(&reply.whole_text());
    let thinking = reply.whole_thinking();
    if !thinking.is_empty() {
        whole = with(whole, "thinking", thinking);
    }
    if !calls.is_empty() {
        whole = with(whole, "tool_calls", calls);
    }
    whole
}

fn message(content: &str) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn with(mut message: Value, name: &str, value: impl Into<Value>) -> Value {
    message[name] = value.into();
    message
}

/// Ollama hands over arguments that it has parsed, so they are never text.
fn call(call: &FakeCall, index: usize, id: &str) -> Value {
    let arguments = match &call.arguments {
        Value::Object(arguments) => arguments.clone(),
        _ => Map::new(),
    };
    json!({
        "id": id,
        "function": { "index": index, "name": call.name, "arguments": arguments },
    })
}

fn mid_stream_error(message: &str) -> Vec<u8> {
    line(&json!({ "error": message }))
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
