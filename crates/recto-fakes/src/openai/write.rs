//! Replies as chat completions: server-sent events, or one object.

use serde_json::{Value, json};

use super::check::FakeOpenAiChat;
use super::{A_DAY, FakeDialect};
use crate::answer::{FakeCall, FakeFinish, FakePiece, FakeReply, FakeUsage, FaultBytes};
use crate::reaction::AnswerStep;

const EVENTS: &str = "text/event-stream; charset=utf-8";
const WHOLE: &str = "application/json";

const MISHAPS: FaultBytes =
    FaultBytes { error: mid_stream_error, invalid_json: b"data: {\"id\":\"chatcmpl-0\",\"obj\n\n" };

/// How many characters of a call's arguments are sent at a time.
const ARGUMENTS_A_PIECE: usize = 8;

/// Writes the reply to a chat.
pub(super) struct CompletionWriter<'a> {
    pub(super) dialect: FakeDialect,
    pub(super) chat: &'a FakeOpenAiChat,
    pub(super) id: String,
}

impl CompletionWriter<'_> {
    /// The steps of a reply to a prompt of so many tokens.
    pub(super) fn reply(
        &self,
        reply: &FakeReply,
        prompt: u32,
        next_id: impl FnMut() -> String,
    ) -> (&'static str, Vec<AnswerStep>) {
        let usage = reply.reported(prompt);
        if !self.chat.stream {
            let body = self.whole(reply, usage, next_id).to_string();
            return (WHOLE, reply.steps(Vec::new(), body.into_bytes(), &MISHAPS));
        }
        let mut pieces: Vec<Vec<u8>> =
            deltas(reply, next_id).iter().map(|delta| event(&self.part(delta))).collect();
        let mut end = self.end(reply, usage);
        // The role comes first, together with the first piece of whatever.
        let role = event(&self.part(&json!({ "role": "assistant", "content": "" })));
        pieces.first_mut().unwrap_or(&mut end).splice(..0, role);
        (EVENTS, reply.steps(pieces, end, &MISHAPS))
    }

    /// A part of the message.
    fn part(&self, delta: &Value) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null });
        let mut part = self.envelope("chat.completion.chunk", &json!([choice]));
        if self.chat.include_usage {
            part["usage"] = Value::Null;
        }
        part
    }

    /// The end: why, then how much if the client asked for it, then the mark.
    fn end(&self, reply: &FakeReply, usage: FakeUsage) -> Vec<u8> {
        let mut last = self.part(&json!({}));
        last["choices"][0]["finish_reason"] = reason(reply.finish()).into();
        let mut end = event(&last);
        if self.chat.include_usage {
            let mut sums = self.envelope("chat.completion.chunk", &json!([]));
            self.add_usage(&mut sums, usage);
            end.extend(event(&sums));
        }
        end.extend(b"data: [DONE]\n\n");
        end
    }

    fn whole(
        &self,
        reply: &FakeReply,
        usage: FakeUsage,
        mut next_id: impl FnMut() -> String,
    ) -> Value {
        let calls: Vec<Value> = reply
            .pieces
            .iter()
            .filter_map(|piece| if let FakePiece::Call(call) = piece { Some(call) } else { None })
            .map(|call| whole_call(call, &next_id()))
            .collect();
        let mut message = json!({ "role": "assistant", "content": reply.whole_text() });
        let thoughts = reply.whole_thinking();
        if !thoughts.is_empty() {
            message["reasoning_content"] = thoughts.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let finish = reason(reply.finish());
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        let mut body = self.envelope("chat.completion", &json!([choice]));
        self.add_usage(&mut body, usage);
        body
    }

    fn envelope(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": A_DAY,
            "model": self.chat.model,
            "choices": choices,
        })
    }

    /// llama.cpp tells cached tokens among its timings.
    fn add_usage(&self, body: &mut Value, usage: FakeUsage) {
        let FakeUsage { prompt, cached, completion } = usage;
        body["usage"] = json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt.saturating_add(completion),
        });
        if self.dialect == FakeDialect::LlamaCpp {
            let read = prompt.saturating_sub(cached);
            body["timings"] =
                json!({ "cache_n": cached, "prompt_n": read, "predicted_n": completion });
        } else {
            body["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": cached });
        }
    }
}

/// What each event adds to the message.
fn deltas(reply: &FakeReply, mut next_id: impl FnMut() -> String) -> Vec<Value> {
    let mut deltas = Vec::new();
    let mut calls = 0;
    for piece in &reply.pieces {
        match piece {
            FakePiece::Text(text) => deltas.push(json!({ "content": text })),
            FakePiece::Thinking(text) => deltas.push(json!({ "reasoning_content": text })),
            FakePiece::Call(call) => {
                deltas.extend(call_deltas(call, calls, &next_id()));
                calls += 1;
            }
        }
    }
    deltas
}

/// A call comes in parts: its name first, then its arguments bit by bit, all
/// held together by an index.
fn call_deltas(call: &FakeCall, index: usize, id: &str) -> Vec<Value> {
    let head = json!({
        "index": index,
        "id": id,
        "type": "function",
        "function": { "name": call.name, "arguments": "" },
    });
    let arguments: Vec<char> = call.arguments_text().chars().collect();
    let parts = arguments.chunks(ARGUMENTS_A_PIECE).map(|part| {
        json!({ "index": index, "function": { "arguments": part.iter().collect::<String>() } })
    });
    [head].into_iter().chain(parts).map(|part| json!({ "tool_calls": [part] })).collect()
}

fn whole_call(call: &FakeCall, id: &str) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments_text() },
    })
}

fn reason(finish: FakeFinish) -> &'static str {
    match finish {
        FakeFinish::Stop => "stop",
        FakeFinish::ToolCalls => "tool_calls",
        FakeFinish::Length => "length",
    }
}

fn mid_stream_error(message: &str) -> Vec<u8> {
    let problem =
        json!({ "message": message, "type": "server_error", "param": null, "code": null });
    event(&json!({ "error": problem }))
}

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}
