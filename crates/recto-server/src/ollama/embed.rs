//! `POST /ollama/api/embed`, and the older `POST /ollama/api/embeddings` for a single text.

use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::nanoseconds;
use crate::access::Caller;
use crate::front_door::{DoorTexts, embed_all, read_door_body};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The body of `/api/embed`.
#[derive(Debug, Deserialize)]
struct EmbedBody {
    model: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    dimensions: Option<usize>,
}

/// The body of `/api/embeddings`.
#[derive(Debug, Deserialize)]
struct EmbedPromptBody {
    model: String,
    #[serde(default)]
    prompt: String,
}

/// The embeddings of texts.
pub(super) async fn embed_texts(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let began = Instant::now();
    let body: EmbedBody = read_door_body(body).await?;
    let texts = DoorTexts { model: &body.model, input: &body.input, dimensions: body.dimensions };
    let embedded = embed_all(&gateway, &actor, texts).await?;
    let cut = embedded.iter().find(|text| text.is_cut).map(|text| text.pieces);
    if let Some(most) = cut.filter(|_| body.truncate == Some(false)) {
        return Err(ApiProblem::invalid(format!("a text has {most} tokens or more"))
            .hint("send shorter texts, or leave `truncate` out"));
    }
    let embeddings: Vec<&[f32]> = embedded.iter().map(|text| text.embedding.as_slice()).collect();
    Ok(Json(json!({
        "model": body.model,
        "embeddings": embeddings,
        "total_duration": nanoseconds(began.elapsed()),
        "prompt_eval_count": embedded.iter().map(|text| text.pieces).sum::<usize>(),
    })))
}

/// The embedding of a single text, in the older form.
pub(super) async fn embed_prompt(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let body: EmbedPromptBody = read_door_body(body).await?;
    let input = Value::from(body.prompt);
    let texts = DoorTexts { model: &body.model, input: &input, dimensions: None };
    let embedded = embed_all(&gateway, &actor, texts).await?;
    let embedding = embedded.first().map(|text| text.embedding.as_slice().to_vec());
    Ok(Json(json!({ "embedding": embedding.unwrap_or_default() })))
}
