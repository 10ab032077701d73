//! Replies of chat completions: events whose data is a chunk each, then
//! `[DONE]`.
//!
//! Servers differ. The last chunk with `usage` may have a choice or none;
//! `[DONE]` may be missing; thoughts are called `reasoning_content` or
//! `reasoning`; llama.cpp puts counts under `timings` as well.

use serde::Deserialize;
use serde_json::Value;

use super::calls::{CallAssembler, CallPiece};
use crate::reply::{FinishReason, TokenUsage};
use crate::wire::Wire;
use crate::wire::decode::{DecodedReply, FrameProblem, FrameResult, LenientCount, parse};

/// What the pieces of a reply have left open so far.
#[derive(Debug, Default)]
pub(crate) struct OpenAiDecoder {
    /// The name under which thoughts came, and under which they are kept.
    thought_field: Option<&'static str>,
    calls: CallAssembler,
}

#[derive(Deserialize)]
struct OpenAiChunk {
    error: Option<Value>,
    /// Older versions of vLLM write `error` here and have no field of that name.
    object: Option<Value>,
    choices: Option<Vec<OpenAiChoice>>,
    usage: Option<OpenAiUsage>,
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    delta: Option<OpenAiDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiDelta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenAiUsage {
    prompt_tokens: LenientCount,
    completion_tokens: LenientCount,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: LenientCount,
}

/// What llama.cpp measures. Its `prompt_n` are the tokens it had to process,
/// those from the cache not among them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Timings {
    cache_n: LenientCount,
    prompt_n: LenientCount,
    predicted_n: LenientCount,
}

impl OpenAiDecoder {
    /// Adds an event of the stream to the reply.
    pub(crate) fn decode(&mut self, frame: &[u8], reply: &mut DecodedReply) -> FrameResult {
        if frame.trim_ascii() == b"[DONE]" {
            reply.is_complete = true;
            return Ok(());
        }
        let chunk: OpenAiChunk = parse(frame)?;
        if chunk.error.is_some() || chunk.object.is_some_and(|object| object == "error") {
            return Err(FrameProblem::Failed);
        }
        // Servers that report with each chunk count on: the last word counts.
        let reported = [chunk.timings.map(TokenUsage::from), chunk.usage.map(TokenUsage::from)];
        reported.into_iter().flatten().for_each(|newer| reply.usage.update(newer));
        // One choice is asked for.
        match chunk.choices.into_iter().flatten().next() {
            Some(choice) => self.add(choice, reply),
            None => Ok(()),
        }
    }

    fn add(&mut self, choice: OpenAiChoice, reply: &mut DecodedReply) -> FrameResult {
        if let Some(piece) = choice.delta {
            // Some servers send the same thought under both names.
            let named = piece.reasoning_content.map(|thought| ("reasoning_content", thought));
            let named = named.or_else(|| piece.reasoning.map(|thought| ("reasoning", thought)));
            if let Some((field, thought)) = named.filter(|(_, thought)| !thought.is_empty()) {
                self.thought_field.get_or_insert(field);
                reply.push_thought(thought);
            }
            // A refusal is what the model says instead of an answer.
            for text in [piece.content, piece.refusal].into_iter().flatten() {
                reply.push_text(text);
            }
            for call in piece.tool_calls.into_iter().flatten() {
                self.calls.add(call)?;
            }
        }
        // Some servers send an empty reason until there is one. `[DONE]` alone is no
        // end: a server that dies may still write it.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            reply.finish = Some(finish(&reason));
        }
        Ok(())
    }

    /// The bytes of all calls so far.
    pub(crate) fn call_bytes(&self) -> usize {
        self.calls.bytes()
    }

    pub(crate) fn finish(self, reply: &mut DecodedReply) {
        let field = self.thought_field.unwrap_or("reasoning_content");
        reply.add_content(Wire::OpenAi, field);
        reply.calls = self.calls.into_calls();
    }
}

impl From<Timings> for TokenUsage {
    fn from(timings: Timings) -> Self {
        let prompt = timings.prompt_n.0.zip(timings.cache_n.0);
        let prompt = prompt.and_then(|(fresh, cached)| fresh.checked_add(cached));
        TokenUsage { prompt, cached: timings.cache_n.0, completion: timings.predicted_n.0 }
    }
}

impl From<OpenAiUsage> for TokenUsage {
    fn from(usage: OpenAiUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens.0);
        TokenUsage { prompt: usage.prompt_tokens.0, cached, completion: usage.completion_tokens.0 }
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::Filtered,
        other => FinishReason::Other(other.to_owned()),
    }
}
