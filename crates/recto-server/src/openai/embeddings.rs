//! `POST /v1/embeddings`, by the published model behind Recto's own encoder, or the one that was chosen.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Caller;
use crate::front_door::{embed_all, read_door_body, read_texts};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The body of a request for embeddings.
#[derive(Debug, Deserialize)]
struct EmbeddingsBody {
    model: String,
    input: Value,
    #[serde(default)]
    encoding_format: Option<String>,
    #[serde(default)]
    dimensions: Option<usize>,
}

/// The embeddings of texts.
pub(super) async fn embed_texts(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let body: EmbeddingsBody = read_door_body(body).await?;
    let is_base64 = match body.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(_) => {
            return Err(ApiProblem::invalid("`encoding_format` is `float` or `base64`"));
        }
    };
    let texts = read_texts(body.input)?;
    if texts.is_empty() {
        return Err(ApiProblem::invalid("`input` has no text"));
    }
    let embedded = embed_all(&gateway, &actor, &body.model, texts).await?;
    let own = embedded.first().map_or(0, |text| text.embedding.as_slice().len());
    if body.dimensions.is_some_and(|wanted| wanted != 0 && wanted != own) {
        return Err(ApiProblem::invalid(format!("`dimensions` is {own}, or left out")));
    }
    let tokens: usize = embedded.iter().map(|text| text.pieces).sum();
    let data = embedded.iter().enumerate().map(|(index, text)| {
        let values = text.embedding.as_slice();
        let embedding = if is_base64 { encode_values(values) } else { json!(values) };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    });
    Ok(Json(json!({
        "object": "list",
        "data": data.collect::<Vec<_>>(),
        "model": body.model,
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })))
}

/// Numbers as OpenAI packs them: four bytes each, the lowest first.
fn encode_values(values: &[f32]) -> Value {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    STANDARD.encode(bytes).into()
}
