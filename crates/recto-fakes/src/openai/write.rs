//! Replies as chat completions: server-sent events, or one object.

use serde_json::{Value, json};

use super::check::Chat;
use super::{A_DAY, Dialect};
use crate::answer::{Call, Finish, Mishaps, Piece, Reply, Usage};
use crate::reaction::Step;

const EVENTS: &str = "text/event-stream; charset=utf-8";
const WHOLE: &str = "application/json";

const MISHAPS: Mishaps =
    Mishaps { error: mid_stream_error, invalid_json: b"data: {\"id\":\"chatcmpl-0\",\"obj\n\n" };

/// How many characters of a call's arguments are sent at a time.
const ARGUMENTS_A_PIECE: usize = 8;

/// Writes the reply to a chat.
pub(super) struct Writer<'a> {
    pub(super) dialect: Dialect,
    pub(super) chat: &'a Chat,
    pub(super) id: String,
}

impl Writer<'_> {
    /// The steps of a reply to a prompt of so many tokens.
    pub(super) fn reply(
        &self,
        reply: &Reply,
        prompt: u32,
        next_id: impl FnMut() -> String,
    ) -> (&'static str, Vec<Step>) {
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
    fn end(&self, reply: &Reply, usage: Usage) -> Vec<u8> {
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

    fn whole(&self, reply: &Reply, usage: Usage, mut next_id: impl FnMut() -> String) -> Value {
        let calls: Vec<Value> = reply
            .pieces
            .iter()
            .filter_map(|piece| if let Piece::Call(call) = piece { Some(call) } else { None })
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
    fn add_usage(&self, body: &mut Value, usage: Usage) {
        let Usage { prompt, cached, completion } = usage;
        body["usage"] = json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt.saturating_add(completion),
        });
        if self.dialect == Dialect::LlamaCpp {
            let read = prompt.saturating_sub(cached);
            body["timings"] =
                json!({ "cache_n": cached, "prompt_n": read, "predicted_n": completion });
        } else {
            body["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": cached });
        }
    }
}

/// What each event adds to the message.
fn deltas(reply: &Reply, mut next_id: impl FnMut() -> String) -> Vec<Value> {
    let mut deltas = Vec::new();
    let mut calls = 0;
    for piece in &reply.pieces {
        match piece {
            Piece::Text(text) => deltas.push(json!({ "content": text })),
            Piece::Thinking(text) => deltas.push(json!({ "reasoning_content": text })),
            Piece::Call(call) => {
                deltas.extend(call_deltas(call, calls, &next_id()));
                calls += 1;
            }
        }
    }
    deltas
}

/// A call comes in parts: its name first, then its arguments bit by bit, all
/// held together by an index.
fn call_deltas(call: &Call, index: usize, id: &str) -> Vec<Value> {
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

fn whole_call(call: &Call, id: &str) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments_text() },
    })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
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
