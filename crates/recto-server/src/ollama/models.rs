//! `/ollama/api/tags`, `show`, `ps` and `version`: the agents as Ollama's clients see models.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use futures_util::future::join_all;
use recto_agent::{Right, model_window};
use recto_context::ContentHash;
use recto_llm::{FeatureSupport, LoadedModel};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Caller;
use crate::front_door::{
    OfferedModel, embedding_model, find_model, is_embedding_model, offered_models, read_door_body,
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
    let listed = |name: String| {
        let capabilities: &[&str] = match is_embedding_model(&gateway, &name) {
            true => &["embedding"],
            false => &["completion", "tools"],
        };
        let mut model = named_json(&name);
        model["modified_at"] = NEVER_MODIFIED.into();
        model["capabilities"] = capabilities.into();
        model
    };
    let models: Vec<Value> = names.chain([embedding_model(&gateway)]).map(listed).collect();
    Ok(Json(json!({ "models": models })))
}

/// The models that are in memory, as far as anybody says: the embedded one once it has answered,
/// and those of an Ollama that answers for an agent.
pub(super) async fn list_loaded(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    let loaded = offered_models(&gateway).into_iter().map(async |model| {
        let entry = model.entry()?;
        let loaded = entry.client.loaded_model(&entry.call.model).await?;
        Some(loaded_json(&model.name, &loaded))
    });
    let models: Vec<Value> = join_all(loaded).await.into_iter().flatten().collect();
    Ok(Json(json!({ "models": models })))
}

/// What is known of a model.
pub(super) async fn show_model(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::Inspect)?;
    let body: ShowBody = read_door_body(body).await?;
    let name = body.model.or(body.name).unwrap_or_default();
    if name.is_empty() {
        return Err(ApiProblem::invalid("`model` is missing"));
    }
    if is_embedding_model(&gateway, &name) {
        let dimensions = gateway.default_agent()?.embedding_dimensions().await?;
        let info = json!({ "bert.embedding_length": dimensions });
        return Ok(Json(shown_json(&["embedding"], &info)));
    }
    let model = find_model(&gateway, &name)?;
    Ok(Json(shown_json(&capabilities(&model).await, &model_info(&model).await)))
}

/// The version of the interface, and Recto's own.
pub(super) async fn tell_version() -> Json<Value> {
    Json(json!({ "version": INTERFACE_VERSION, "recto": env!("CARGO_PKG_VERSION") }))
}

async fn capabilities(model: &OfferedModel) -> Vec<&'static str> {
    let sees = match model.entry() {
        Some(entry) => entry.image_support().await == FeatureSupport::Yes,
        None => false,
    };
    let mut capabilities = vec!["completion", "tools"];
    capabilities.extend(sees.then_some("vision"));
    capabilities
}

/// What Ollama reads out of a model's file, as far as an agent has it.
async fn model_info(model: &OfferedModel) -> Value {
    let mut info = json!({ "general.architecture": "recto", "general.basename": model.name });
    let Some(entry) = model.entry() else { return info };
    // A server that can't be asked now has not said so.
    if let Ok(window) = model_window(entry, model.agent.window_cap()).await {
        info["recto.context_length"] = window.tokens.get().into();
    }
    info
}

/// When something was modified that never is.
const NEVER_MODIFIED: &str = "1970-01-01T00:00:00Z";

/// When a model is let go that stays.
const NEVER_EXPIRES: &str = "9999-12-31T23:59:59Z";

fn loaded_json(name: &str, loaded: &LoadedModel) -> Value {
    let mut model = named_json(name);
    model["size"] = loaded.size.unwrap_or_default().into();
    model["size_vram"] = loaded.video_size.unwrap_or_default().into();
    model["expires_at"] = loaded.expires.as_deref().unwrap_or(NEVER_EXPIRES).into();
    model["context_length"] = loaded.window.unwrap_or_default().into();
    model
}

fn named_json(name: &str) -> Value {
    // Names have a tag there, and clients look models up by it.
    let tagged = if name.contains(':') { name.to_owned() } else { format!("{name}:latest") };
    json!({
        "name": tagged,
        "model": tagged,
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
        "modified_at": NEVER_MODIFIED,
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
