//! Replies of chat completions: events whose data is a chunk each, then
//! `[DONE]`.
//!
//! Servers differ. The last chunk with `usage` may have a choice or none;
//! `[DONE]` may be missing; thoughts are called `reasoning_content` or
//! `reasoning`; llama.cpp puts counts under `timings` as well.

use serde::Deserialize;
use serde_json::Value;

use super::calls::{CallPiece, Calls};
use crate::reply::{Finish, Usage};
use crate::wire::Wire;
use crate::wire::decode::{Count, Delta, FrameProblem, Gathered, parse, thought_and_said};

/// Gathers a reply.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    said: String,
    thought: String,
    /// The name under which thoughts came, and under which they are kept.
    thought_field: Option<&'static str>,
    calls: Calls,
    finish: Option<Finish>,
    usage: Usage,
    done: bool,
}

#[derive(Deserialize)]
struct Chunk {
    error: Option<Value>,
    /// Older versions of vLLM write `error` here and have no field of that name.
    object: Option<Value>,
    choices: Option<Vec<Choice>>,
    usage: Option<ReportedUsage>,
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct ReportedUsage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Count,
}

/// What llama.cpp measures. Its `prompt_n` are the tokens it had to process,
/// those from the cache not among them.
#[derive(Deserialize)]
struct Timings {
    #[serde(default)]
    cache_n: Count,
    #[serde(default)]
    prompt_n: Count,
    #[serde(default)]
    predicted_n: Count,
}

impl Reader {
    pub(crate) fn is_complete(&self) -> bool {
        self.done
    }

    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        deltas: &mut Vec<Delta>,
    ) -> Result<(), FrameProblem> {
        if frame.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk = parse(frame)?;
        if chunk.error.is_some() || chunk.object.is_some_and(|object| object == "error") {
            return Err(FrameProblem::Failed);
        }
        self.count(chunk.usage, chunk.timings);
        // One choice is asked for.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.add(choice, deltas)?;
        }
        Ok(())
    }

    /// The bytes that are kept, besides calls.
    pub(crate) fn kept(&self) -> usize {
        self.said.len() + self.thought.len()
    }

    fn add(&mut self, choice: Choice, deltas: &mut Vec<Delta>) -> Result<(), FrameProblem> {
        if let Some(piece) = choice.delta {
            self.think(piece.reasoning_content, piece.reasoning, deltas);
            // A refusal is what the model says instead of an answer.
            for text in [piece.content, piece.refusal].into_iter().flatten() {
                self.said.push_str(&text);
                deltas.push(Delta::Text(text));
            }
            for call in piece.tool_calls.into_iter().flatten() {
                self.calls.add(call)?;
            }
        }
        // Some servers send an empty reason until there is one.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(finish(&reason));
        }
        Ok(())
    }

    /// Some servers send the same thought under both names.
    fn think(
        &mut self,
        reasoning_content: Option<String>,
        reasoning: Option<String>,
        deltas: &mut Vec<Delta>,
    ) {
        let named = reasoning_content.map(|thought| ("reasoning_content", thought));
        let named = named.or_else(|| reasoning.map(|thought| ("reasoning", thought)));
        if let Some((field, thought)) = named.filter(|(_, thought)| !thought.is_empty()) {
            self.thought_field.get_or_insert(field);
            self.thought.push_str(&thought);
            deltas.push(Delta::Thinking(thought));
        }
    }

    /// Keeps the last word on every count: servers that report with each chunk
    /// count on.
    fn count(&mut self, usage: Option<ReportedUsage>, timings: Option<Timings>) {
        if let Some(timings) = timings {
            let prompt = timings.prompt_n.0.zip(timings.cache_n.0);
            let prompt = prompt.and_then(|(fresh, cached)| fresh.checked_add(cached));
            let completion = timings.predicted_n.0;
            self.keep(Usage { prompt, cached: timings.cache_n.0, completion });
        }
        if let Some(usage) = usage {
            self.keep(Usage {
                prompt: usage.prompt_tokens.0,
                cached: usage.prompt_tokens_details.and_then(|details| details.cached_tokens.0),
                completion: usage.completion_tokens.0,
            });
        }
    }

    fn keep(&mut self, newer: Usage) {
        self.usage = Usage {
            prompt: newer.prompt.or(self.usage.prompt),
            cached: newer.cached.or(self.usage.cached),
            completion: newer.completion.or(self.usage.completion),
        };
    }

    /// `[DONE]` alone is no end: a server that dies may still write it.
    pub(crate) fn gathered(self) -> Option<Gathered> {
        let finish = self.finish?;
        let field = self.thought_field.unwrap_or("reasoning_content");
        let content = thought_and_said(Wire::OpenAi, field, &self.thought, self.said);
        Some(Gathered { content, calls: self.calls.into_calls(), finish, usage: self.usage })
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "content_filter" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}
