//! `POST /ollama/api/embed`, and the older `POST /ollama/api/embeddings` for a single text. As at
//! Ollama, a request without a text loads the model and embeds nothing.

use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use recto_search::Embedding;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::nanoseconds;
use crate::access::Caller;
use crate::front_door::{embed_all, read_door_body, read_texts};
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
    dimensions: Option<i64>,
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
    let texts = match body.input {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        input => read_texts(input)?,
    };
    let embedded = embed_all(&gateway, &actor, &body.model, texts).await?;
    let cut = embedded.iter().find(|text| text.is_cut).map(|text| text.pieces);
    if let Some(most) = cut.filter(|_| body.truncate == Some(false)) {
        return Err(ApiProblem::invalid(format!("a text has {most} tokens or more"))
            .hint("send shorter texts, or leave `truncate` out"));
    }
    let cut_all = embedded.iter().map(|text| cut_embedding(&text.embedding, body.dimensions));
    let embeddings: Vec<Embedding> = cut_all.collect();
    let embeddings: Vec<&[f32]> = embeddings.iter().map(Embedding::as_slice).collect();
    Ok(Json(json!({
        "model": body.model,
        "embeddings": embeddings,
        "total_duration": nanoseconds(began.elapsed()),
        "prompt_eval_count": embedded.iter().map(|text| text.pieces).sum::<usize>(),
    })))
}

/// The first so many numbers of a vector, as a direction of length 1 again. As at Ollama, more than
/// it has, or none, mean all.
fn cut_embedding(embedding: &Embedding, dimensions: Option<i64>) -> Embedding {
    let wanted = dimensions.and_then(|wanted| usize::try_from(wanted).ok()).filter(|it| *it > 0);
    match wanted.and_then(|wanted| embedding.as_slice().get(..wanted)) {
        Some(first) => Embedding::new(first.into()),
        None => embedding.clone(),
    }
}

/// The embedding of a single text, in the older form.
pub(super) async fn embed_prompt(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let body: EmbedPromptBody = read_door_body(body).await?;
    let texts = if body.prompt.is_empty() { Vec::new() } else { vec![body.prompt] };
    let embedded = embed_all(&gateway, &actor, &body.model, texts).await?;
    let embedding = embedded.first().map(|text| text.embedding.as_slice().to_vec());
    Ok(Json(json!({ "embedding": embedding.unwrap_or_default() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_numbers_are_the_first_ones_as_a_direction_again() {
        let whole = Embedding::new([2.0, 1.0, 2.0].into());
        let cut = |dimensions| cut_embedding(&whole, dimensions).as_slice().to_vec();
        for all in [None, Some(0), Some(-1), Some(3), Some(4)] {
            assert_eq!(cut(all), whole.as_slice(), "{all:?}");
        }
        let two = cut(Some(2));
        assert!((two[0] - 0.894_427_2).abs() < 1e-6 && (two[1] - 0.447_213_6).abs() < 1e-6);
        assert_eq!(cut(Some(1)), [1.0]);
    }
}
