//! What logs and collectors are told of turns: a span for each turn, request and call of a tool, by
//! OpenTelemetry's conventions for generative AI.
//!
//! Names, numbers and times only. What people and models say goes to a target of its own,
//! [`CONTENTS`], which whoever sets up the logs leaves out unless a person asked for it.

use recto_llm::ModelReply;
use recto_store::{RequestId, SessionId, TurnId};
use recto_tools::ToolOutcome;
use tracing::Span;
use tracing::field::Empty;

use crate::event::FinishedTurn;
use crate::options::ModelEntry;

/// The target of what people and models say.
pub const CONTENTS: &str = "recto::contents";

/// The span of a turn.
pub(crate) fn turn_span(agent: &str, session: SessionId) -> Span {
    tracing::info_span!(
        "turn",
        otel.name = format!("invoke_agent {agent}"),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = agent,
        gen_ai.conversation.id = %session,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        recto.turn = Empty,
        recto.ending = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

/// Tells how the turn of the current span has ended.
pub(crate) fn end_turn(turn: Option<TurnId>, session: SessionId, finished: &FinishedTurn) {
    let FinishedTurn { status: ending, reply, error, usage, .. } = finished;
    let span = Span::current();
    let (prompt, completion) = (usage.prompt, usage.completion);
    let turn = turn.map(|turn| turn.get());
    let code = error.as_ref().map(|error| &*error.code);
    span.record("recto.turn", turn);
    span.record("recto.ending", ending.name());
    span.record("gen_ai.usage.input_tokens", prompt);
    span.record("gen_ai.usage.output_tokens", completion);
    record_error(&span, code);
    tracing::info!(
        turn,
        session = %session,
        ending = ending.name(),
        error = code,
        requests = usage.requests,
        prompt,
        cached = usage.cached,
        completion,
        "turn ended"
    );
    if let Some(reply) = reply {
        tell_content("assistant", || reply.clone());
    }
}

/// The span of a request to a model.
pub(crate) fn request_span(entry: &ModelEntry, request: RequestId) -> Span {
    let model = &entry.call.model;
    tracing::info_span!(
        "request",
        otel.name = format!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = entry.client.provider().name(),
        gen_ai.request.model = %model,
        gen_ai.request.temperature = entry.call.temperature,
        gen_ai.request.top_p = entry.call.top_p,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
        recto.request = request.get(),
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

/// Tells what came back for a request.
pub(crate) fn end_request(span: &Span, reply: &ModelReply) {
    span.record("gen_ai.usage.input_tokens", reply.usage.prompt);
    span.record("gen_ai.usage.cache_read.input_tokens", reply.usage.cached);
    span.record("gen_ai.usage.output_tokens", reply.usage.completion);
    let finish = serde_json::to_value(&reply.finish).unwrap_or_default();
    span.record("gen_ai.response.finish_reasons", finish.as_str());
}

/// Tells that nothing whole came back.
pub(crate) fn fail_request(span: &Span, code: &'static str) {
    record_error(span, Some(code));
}

/// The span of a call of a tool. It has no name where there is no such tool: a model can write
/// anything there.
pub(crate) fn call_span(tool: Option<&str>, call: &str) -> Span {
    let name =
        tool.map_or_else(|| "execute_tool".to_owned(), |tool| format!("execute_tool {tool}"));
    tracing::info_span!(
        "call",
        otel.name = name,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.call.id = call,
        recto.outcome = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

/// Tells how a call of a tool has ended.
pub(crate) fn end_call(span: &Span, outcome: ToolOutcome) {
    span.record("recto.outcome", outcome.name());
    record_error(span, (outcome != ToolOutcome::Done).then(|| outcome.name()));
}

fn record_error(span: &Span, code: Option<&str>) {
    if let Some(code) = code {
        span.record("error.type", code);
        span.record("otel.status_code", "ERROR");
    }
}

/// Tells what somebody said, to those who asked for contents. For anybody else the text is not even made.
pub(crate) fn tell_content(role: &str, text: impl FnOnce() -> String) {
    if tracing::enabled!(target: CONTENTS, tracing::Level::INFO) {
        tracing::info!(target: CONTENTS, role, text = text(), "said");
    }
}
