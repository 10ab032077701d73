//! A chat completion as OpenAI's clients read it: whole, or in chunks.

use recto_agent::{ClientCall, UsageTotals};
use recto_store::TurnId;
use serde_json::{Value, json};

use crate::front_door::{FinishedReply, ReplyEnd};

/// What every part of a reply says of it.
#[derive(Debug, Clone)]
pub(super) struct ReplyHead {
    id: String,
    /// In seconds since 1970.
    created: i64,
    /// The model's name, as the client asked for it.
    model: String,
}

impl ReplyHead {
    /// The head of a turn's reply.
    pub(super) fn new(turn: TurnId, model: &str) -> Self {
        let created = jiff::Timestamp::now().as_second();
        ReplyHead { id: format!("chatcmpl-{turn}"), created, model: model.to_owned() }
    }

    /// The whole reply.
    pub(super) fn completion(&self, text: &str, end: &FinishedReply) -> Value {
        let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
        if !end.calls.is_empty() {
            message["tool_calls"] = end.calls.iter().map(call_json).collect();
            if text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let choice = json!({
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(end),
        });
        let mut completion = self.object("chat.completion", &json!([choice]));
        if let Some(usage) = usage_json(&end.usage) {
            completion["usage"] = usage;
        }
        completion
    }

    /// The chunk that a stream begins with.
    pub(super) fn first_chunk(&self) -> Value {
        self.chunk(&json!({ "role": "assistant", "content": "" }), &Value::Null)
    }

    /// A chunk with a piece of text.
    pub(super) fn text_chunk(&self, text: &str) -> Value {
        self.chunk(&json!({ "content": text }), &Value::Null)
    }

    /// The chunks that a stream ends with.
    pub(super) fn last_chunks(&self, end: &FinishedReply) -> Vec<Value> {
        let mut chunks = Vec::new();
        if !end.calls.is_empty() {
            let calls = end.calls.iter().enumerate().map(|(index, call)| {
                let mut call = call_json(call);
                call["index"] = index.into();
                call
            });
            let calls: Value = calls.collect();
            chunks.push(self.chunk(&json!({ "tool_calls": calls }), &Value::Null));
        }
        chunks.push(self.chunk(&json!({}), &finish_reason(end).into()));
        chunks
    }

    /// The chunk that says what a reply cost, where that is known.
    pub(super) fn usage_chunk(&self, end: &FinishedReply) -> Option<Value> {
        let usage = usage_json(&end.usage)?;
        let mut chunk = self.object("chat.completion.chunk", &json!([]));
        chunk["usage"] = usage;
        Some(chunk)
    }

    fn chunk(&self, delta: &Value, finish_reason: &Value) -> Value {
        let choice = json!({
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish_reason,
        });
        self.object("chat.completion.chunk", &json!([choice]))
    }

    fn object(&self, kind: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

fn finish_reason(end: &FinishedReply) -> &'static str {
    match (end.calls.is_empty(), end.ended) {
        (false, _) => "tool_calls",
        (true, ReplyEnd::Cut) => "length",
        (true, ReplyEnd::Withheld) => "content_filter",
        (true, ReplyEnd::Whole) => "stop",
    }
}

fn call_json(call: &ClientCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments },
    })
}

/// What a turn cost; nothing where the model's server does not say it.
fn usage_json(usage: &UsageTotals) -> Option<Value> {
    let (prompt, completion) = (usage.prompt?, usage.completion?);
    let mut json = json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt.saturating_add(completion),
    });
    if let Some(cached) = usage.cached {
        json["prompt_tokens_details"] = json!({ "cached_tokens": cached });
    }
    Some(json)
}
