//! What a session has of its own: items by hand, and settings.

use axum::Json;
use axum::extract::State;
use recto_agent::{ChatCommand, CommandReply, ItemChange, RecordReader, session_item_json};
use recto_store::{SessionId, SettingsMap, StoredSession};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::messages::{perform, unexpected};
use super::shapes::{SessionItemListShape, SettingsShape};
use crate::access::Caller;
use crate::extract::{ApiJson, PathId, PathName};
use crate::gateway::Gateway;
use crate::host::HostRequest;
use crate::problem::ApiResult;

/// Lists the items of a session, and those that a person took out of it.
#[utoipa::path(
    get, path = "/api/sessions/{session}/items", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "The items", body = SessionItemListShape))
)]
pub(crate) async fn list_items(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<Value>> {
    RecordReader::new(gateway.store(), &actor).session(session).await?;
    let items = gateway.store().items(session).await?;
    Ok(Json(json!({"items": items.iter().map(session_item_json).collect::<Vec<_>>()})))
}

/// An item that is to join a session.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSessionItem {
    /// Its name as it can be typed, with its kind in front where others have it, too:
    /// `rule:tone`.
    name: String,
}

/// What became of the wish to add or remove an item.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionItemOutcome {
    /// `rule`, `reference`, `skill` or `tool`.
    kind: String,
    /// Its name.
    name: String,
    /// `added`, `already_there`, `removed` or `not_there`.
    change: String,
    /// When it comes by itself: `always`, `agent` or `manual`.
    include: String,
}

/// Adds an item to a session, whatever its include mode.
#[utoipa::path(
    post, path = "/api/sessions/{session}/items", tag = "sessions",
    request_body = NewSessionItem,
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "What became of it", body = SessionItemOutcome))
)]
pub(crate) async fn add_item(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiJson(item): ApiJson<NewSessionItem>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    match perform(agent, &actor, session, ChatCommand::Add(item.name)).await? {
        CommandReply::Item(change) => Ok(Json(change_json(&change))),
        reply => Err(unexpected(&reply)),
    }
}

/// Takes an item out of a session; it does not come back by itself.
#[utoipa::path(
    delete, path = "/api/sessions/{session}/items/{name}", tag = "sessions",
    params(
        ("session" = i64, Path, minimum = 1, description = "The number of the session"),
        ("name" = String, Path, description = "The name of the item, as it can be typed")
    ),
    responses((status = 200, description = "What became of it", body = SessionItemOutcome))
)]
pub(crate) async fn remove_item(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    PathName(name): PathName,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    match perform(agent, &actor, session, ChatCommand::Remove(name)).await? {
        CommandReply::Item(change) => Ok(Json(change_json(&change))),
        reply => Err(unexpected(&reply)),
    }
}

fn change_json(ItemChange { item, include, change }: &ItemChange) -> Value {
    json!({"kind": item.kind, "name": item.key(), "change": change, "include": include})
}

/// Shows the settings that hold in a session, each with its value and where that comes from.
#[utoipa::path(
    get, path = "/api/sessions/{session}/settings", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((
        status = 200, body = Object,
        description = "`settings` are the session's own; `effective` has for each name its `value`, \
                       and whether it is `from` the `session`, the `config`, a `preset`, …"
    ))
)]
pub(crate) async fn show_settings(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<Value>> {
    let stored = RecordReader::new(gateway.store(), &actor).session(session).await?;
    Ok(Json(settings_json(&gateway, stored).await?))
}

/// Changes settings of a session, all that are named or none.
#[utoipa::path(
    patch, path = "/api/sessions/{session}/settings", tag = "sessions",
    request_body = SettingsShape,
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "The settings as they are now", body = Object))
)]
pub(crate) async fn change_settings(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiJson(changes): ApiJson<SettingsMap>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    agent.change_settings(&actor, session, &changes).await?;
    let stored = RecordReader::new(gateway.store(), &actor).session(session).await?;
    Ok(Json(settings_json(&gateway, stored).await?))
}

async fn settings_json(gateway: &Gateway, stored: StoredSession) -> ApiResult<Value> {
    let own = stored.settings.clone();
    let session = Box::new(stored);
    let effective =
        gateway.host().ask(|answer| HostRequest::SessionSettings { session, answer }).await?;
    Ok(json!({"settings": own, "effective": effective}))
}
