//! `GET /v1/models`: the agents, their model entries, and the encoder.

use axum::Json;
use axum::extract::{Path, State};
use recto_agent::Right;
use serde_json::{Value, json};

use crate::access::Caller;
use crate::front_door::{embedding_model, find_model, is_embedding_model, offered_models};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// All models that can be asked for.
pub(super) async fn list_models(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    let names = offered_models(&gateway).into_iter().map(|model| model.name);
    let models: Vec<Value> =
        names.chain([embedding_model(&gateway)]).map(|name| model_json(&name)).collect();
    Ok(Json(json!({ "object": "list", "data": models })))
}

/// One model, by its name.
pub(super) async fn show_model(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    if !is_embedding_model(&gateway, &name) {
        find_model(&gateway, &name)?;
    }
    Ok(Json(model_json(&name)))
}

/// A model in the list. When an agent was made is not known.
fn model_json(name: &str) -> Value {
    json!({ "id": name, "object": "model", "created": 0, "owned_by": "recto" })
}
