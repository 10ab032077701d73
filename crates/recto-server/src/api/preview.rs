//! What a model would be sent for a draft, without sending it.

use axum::Json;
use axum::extract::State;
use recto_agent::preview_json;
use recto_store::SessionId;
use serde_json::Value;

use super::messages::NewMessageBody;
use crate::access::Caller;
use crate::extract::{ApiJson, PathId};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Shows what would be sent for a message, by layer. Nothing is stored, and no model is asked.
#[utoipa::path(
    post, path = "/api/sessions/{session}/preview", tag = "sessions",
    request_body = NewMessageBody,
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((
        status = 200, body = Object,
        description = "The report of the request, as for one that was sent; `prefix` compares it \
                       with the last one"
    ))
)]
pub(crate) async fn preview_message(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiJson(message): ApiJson<NewMessageBody>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let inbound = message.into_inbound(agent, &actor, session).await?;
    let preview = agent.preview(session, inbound).await?;
    Ok(Json(preview_json(&preview)))
}
