//! Recorded requests once more: proved whole, or sent again. Nothing of it is kept.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{KeepAlive, Sse};
use futures_util::StreamExt;
use recto_agent::{AgentError, RecordReader, ReplayCheck, ReplayPlan, ReplayTarget};
use recto_llm::{LlmError, StreamEvent};
use recto_store::TurnId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::records::RequestQuery;
use super::shapes::{EventFrameShape, VerifyShape};
use crate::access::Caller;
use crate::events::write_data;
use crate::extract::{ApiJson, ApiQuery, PathId};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// Writes the bodies of a turn's requests anew from their parts, and compares them with what was
/// sent.
#[utoipa::path(
    get, path = "/api/turns/{turn}/verify", tag = "turns",
    params(
        ("turn" = i64, Path, minimum = 1, description = "The number of the turn"), RequestQuery
    ),
    responses((status = 200, description = "What was found", body = VerifyShape))
)]
pub(crate) async fn verify_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<RequestQuery>,
) -> ApiResult<Json<Value>> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let checks: Vec<ReplayCheck> = record.verify(query.request()).await?;
    let ok = checks.iter().all(|check| check.identical);
    Ok(Json(json!({"ok": ok, "requests": checks})))
}

/// What is sent again, and to which model.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReplayBody {
    /// The number of the request within the turn; the last page where none is named.
    #[schema(minimum = 1)]
    request: Option<u32>,
    /// The model entry that gets the same page; where none is named, the model that had it gets
    /// the same bytes.
    model: Option<String>,
}

/// Sends a recorded request again, and gives the reply while it comes. It is kept nowhere, and no
/// tool is run.
#[utoipa::path(
    post, path = "/api/turns/{turn}/replay", tag = "turns", request_body = ReplayBody,
    params(("turn" = i64, Path, minimum = 1, description = "The number of the turn")),
    responses((
        status = 200, description = "The reply in pieces; `data` is a `ReplayEventShape` as JSON",
        body = EventFrameShape, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn replay_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiJson(body): ApiJson<ReplayBody>,
) -> ApiResult<impl IntoResponse> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let (agent, _) = gateway.find_session(&actor, record.turn().session).await?;
    let request = record.request_or_page(body.request).await?;
    let model = agent.model(body.model.as_deref().unwrap_or(&request.model))?;
    let target = ReplayTarget::new(&request, model, agent.window_cap());
    let plan = record.prepare_replay(request, target).await?;
    let place = ReplayPlace::new(&plan);
    let open = gateway.metrics().open_stream();
    let events = plan.send().map(move |event| {
        // It counts as a stream for as long as it is read.
        let _ = &open;
        write_data(&place.event_json(event))
    });
    // A model that thinks for long is no dead connection.
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// What the reply to a request that is sent again belongs to.
struct ReplayPlace {
    turn: TurnId,
    request: u32,
    model: String,
}

impl ReplayPlace {
    fn new(plan: &ReplayPlan) -> Self {
        let (request, model) = (&plan.request, &plan.model);
        ReplayPlace { turn: request.turn, request: request.number, model: model.name.to_string() }
    }

    fn event_json(&self, event: Result<StreamEvent, LlmError>) -> Value {
        match event {
            Ok(StreamEvent::Text(text)) => json!({"event": "text", "text": text}),
            Ok(StreamEvent::Thinking(text)) => json!({"event": "thinking", "text": text}),
            Ok(StreamEvent::Retrying { after, error }) => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                json!({"event": "retrying", "after_ms": after_ms, "error": error.to_string()})
            }
            Ok(StreamEvent::Done(reply)) => {
                let calls = reply.calls.iter().map(|call| {
                    json!({"id": &*call.id.0, "name": &*call.name, "arguments": call.arguments.as_str()})
                });
                json!({
                    "event": "done",
                    "turn": self.turn,
                    "request": self.request,
                    "model": self.model,
                    "content": reply.text(),
                    "tool_calls": calls.collect::<Vec<_>>(),
                    "usage": reply.usage,
                })
            }
            Err(error) => {
                let problem = ApiProblem::from(AgentError::from(error));
                json!({"event": "failed", "problem": problem})
            }
        }
    }
}
