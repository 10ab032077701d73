//! `/ollama/api/tags`, `show`, `ps` and `version`: the agents as Ollama's clients see models.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use recto_agent::Right;
use recto_context::ContentHash;
use recto_llm::FeatureSupport;
use serde::Deserialize;
use serde_json::{Value, json};

use super::request::read_body;
use crate::access::Caller;
use crate::front_door::{
    EMBEDDING_MODEL, OfferedModel, find_model, is_embedding_model, offered_models,
};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The version of Ollama's interface that this one follows: clients ask for it to know what
/// they can use.
const INTERFACE_VERSION: &str = "0.13.0";

/// The body of `/api/show`; older clients say `name`.
#[derive(Debug, Deserialize)]
struct ShowBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

/// All models that can be asked for.
pub(super) async fn list_models(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    let names = offered_models(&gateway).into_iter().map(|model| model.name);
    let models: Vec<Value> =
        names.chain([EMBEDDING_MODEL.to_owned()]).map(|name| listed_json(&name)).collect();
    Ok(Json(json!({ "models": models })))
}

/// The models that Ollama would hold in memory: none, for agents are not loaded.
pub(super) async fn list_loaded(Caller(actor): Caller) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    Ok(Json(json!({ "models": [] })))
}

/// What is known of a model.
pub(super) async fn show_model(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    let body: ShowBody = read_body(&body)?;
    let name = body.model.or(body.name).unwrap_or_default();
    if name.is_empty() {
        return Err(ApiProblem::invalid("`model` is missing"));
    }
    if is_embedding_model(&name) {
        return Ok(Json(shown_json(&["embedding"], &json!({ "bert.embedding_length": 384 }))));
    }
    let model = find_model(&gateway, &name)?;
    Ok(Json(shown_json(&capabilities(&model), &model_info(&model))))
}

/// The version of the interface, and Recto's own.
pub(super) async fn tell_version() -> Json<Value> {
    Json(json!({ "version": INTERFACE_VERSION, "recto": env!("CARGO_PKG_VERSION") }))
}

fn capabilities(model: &OfferedModel) -> Vec<&'static str> {
    let sees = model.entry().is_some_and(|entry| entry.images == FeatureSupport::Yes);
    let mut capabilities = vec!["completion", "tools"];
    capabilities.extend(sees.then_some("vision"));
    capabilities
}

/// What Ollama reads out of a model's file, as far as an agent has it.
fn model_info(model: &OfferedModel) -> Value {
    let mut info = json!({ "general.architecture": "recto", "general.basename": model.name });
    if let Some(window) = model.entry().and_then(|entry| entry.window) {
        info["recto.context_length"] = window.get().into();
    }
    info
}

fn listed_json(name: &str) -> Value {
    // Names have a tag there, and clients look models up by it.
    let tagged = if name.contains(':') { name.to_owned() } else { format!("{name}:latest") };
    json!({
        "name": tagged,
        "model": tagged,
        "modified_at": "1970-01-01T00:00:00Z",
        "size": 0,
        "digest": ContentHash::of_bytes(name.as_bytes()).to_string(),
        "details": details_json(),
    })
}

fn shown_json(capabilities: &[&str], info: &Value) -> Value {
    json!({
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": details_json(),
        "model_info": info,
        "capabilities": capabilities,
        "modified_at": "1970-01-01T00:00:00Z",
    })
}

fn details_json() -> Value {
    json!({
        "parent_model": "",
        "format": "recto",
        "family": "recto",
        "families": ["recto"],
        "parameter_size": "",
        "quantization_level": "",
    })
}
