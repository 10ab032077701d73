//! What an agent remembers: seen, added, changed, forgotten and brought back.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use recto_agent::{MemoryEdit, memory_json};
use recto_context::{MemoryMarks, TypedMemory};
use recto_workspace::TextMarks;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::overview::AgentQuery;
use super::shapes::{MemoryListShape, MemoryShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathName};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Which memories are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct MemoryListQuery {
    /// The agent; the default where none is named.
    agent: Option<String>,
    /// What was forgotten, instead of what is remembered.
    forgotten: bool,
}

/// Lists what an agent remembers of anybody.
#[utoipa::path(
    get, path = "/api/memories", tag = "workspace", params(MemoryListQuery),
    responses((status = 200, description = "The memories", body = MemoryListShape))
)]
pub(crate) async fn list_memories(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<MemoryListQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent.as_deref())?;
    let found = match query.forgotten {
        true => agent.forgotten_memories(&actor).await?,
        false => agent.all_memories(&actor).await?,
    };
    let memories: Vec<Value> = found.memories.iter().map(memory_json).collect();
    Ok(Json(json!({"memories": memories, "has_gaps": found.has_gaps})))
}

/// Something that is to be remembered.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMemoryBody {
    /// What is remembered. Marks at its beginning (`[important]`, `[shared]`) are taken off and mean
    /// nothing: the fields say it.
    text: String,
    /// Whether it stands on every page.
    #[serde(default)]
    important: bool,
    /// Whether others than the owner may see it.
    #[serde(default)]
    shared: bool,
}

/// Remembers something, as the owner's.
#[utoipa::path(
    post, path = "/api/memories", tag = "workspace", request_body = NewMemoryBody,
    params(AgentQuery),
    responses(
        (status = 201, description = "It is remembered now", body = MemoryShape),
        (status = 200, description = "It was there already", body = MemoryShape)
    )
)]
pub(crate) async fn add_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<AgentQuery>,
    ApiJson(body): ApiJson<NewMemoryBody>,
) -> ApiResult<impl IntoResponse> {
    let agent = gateway.agent_or_default(query.agent())?;
    let marks = MemoryMarks { important: body.important, shared: body.shared };
    let added = agent.add_memory(&actor, &body.text, marks, TextMarks::Ignored).await?;
    let status = if added.was_there { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(memory_json(&added.memory))))
}

/// A change of a memory; what is absent stays as it is.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MemoryChange {
    /// Its new text. Marks at its beginning are taken off and mean nothing.
    text: Option<String>,
    /// Whether it stands on every page.
    important: Option<bool>,
    /// Whether others than the owner may see it.
    shared: Option<bool>,
}

/// Gives a memory another text, other marks, or both.
#[utoipa::path(
    patch, path = "/api/memories/{name}", tag = "workspace", request_body = MemoryChange,
    params(
        ("name" = String, Path, description = "Its name, or the beginning of the digits in it"),
        AgentQuery
    ),
    responses((status = 200, description = "The memory as it is now", body = MemoryShape))
)]
pub(crate) async fn change_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
    ApiJson(change): ApiJson<MemoryChange>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    let known = agent.all_memories(&actor).await?;
    let marks = match *TypedMemory::new(&name).among(&known.memories) {
        [memory] => Some(MemoryMarks {
            important: change.important.unwrap_or(memory.marks.important),
            shared: change.shared.unwrap_or(memory.marks.shared),
        }),
        // Which memory is meant, or that none is, is told by whoever changes it.
        _ => None,
    };
    let edit = MemoryEdit { text: change.text, marks };
    Ok(Json(memory_json(&agent.edit_memory(&actor, &name, edit).await?)))
}

/// Forgets a memory: it goes to the archive, and can be brought back.
#[utoipa::path(
    delete, path = "/api/memories/{name}", tag = "workspace",
    params(
        ("name" = String, Path, description = "Its name, or the beginning of the digits in it"),
        AgentQuery
    ),
    responses((status = 200, description = "What was forgotten", body = MemoryShape))
)]
pub(crate) async fn forget_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    Ok(Json(memory_json(&agent.forget_memory(&actor, &name).await?.memory)))
}

/// Brings back what was forgotten.
#[utoipa::path(
    post, path = "/api/memories/{name}/restore", tag = "workspace",
    params(
        ("name" = String, Path, description = "Its name, or the beginning of the digits in it"),
        AgentQuery
    ),
    responses((status = 200, description = "The memory", body = MemoryShape))
)]
pub(crate) async fn restore_memory(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    Ok(Json(memory_json(&agent.restore_memory(&actor, &name).await?.memory)))
}
