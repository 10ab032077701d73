//! Texts to vectors, for both doors.

use axum::http::StatusCode;
use recto_agent::{Actor, AgentError, EmbeddedText};
use serde_json::Value;

use super::{embedding_model, is_embedding_model};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The most texts of one request.
const MOST_TEXTS: usize = 2_048;

/// Embeds texts by the encoder of the default agent, as it was published. Without any it is only
/// loaded.
pub(crate) async fn embed_all(
    gateway: &Gateway,
    actor: &Actor,
    model: &str,
    texts: Vec<String>,
) -> ApiResult<Vec<EmbeddedText>> {
    if !is_embedding_model(gateway, model) {
        let title = format!("the model `{model}` makes no embeddings");
        return Err(ApiProblem::new(StatusCode::NOT_FOUND, "model_not_found", title)
            .hint(format!("ask for `{}`", embedding_model(gateway))));
    }
    if texts.len() > MOST_TEXTS {
        return Err(ApiProblem::invalid(format!("`input` has more than {MOST_TEXTS} texts")));
    }
    let agent = gateway.default_agent()?;
    agent.embed(actor, texts).await.map_err(|error| embedding_problem(gateway, error))
}

fn embedding_problem(gateway: &Gateway, error: AgentError) -> ApiProblem {
    let remedy = match &error {
        AgentError::NoEmbedding(_) => error.remedy(),
        _ => None,
    };
    let hint = remedy.map(|remedy| gateway.describe_remedy(&remedy));
    ApiProblem::from(error).hint_if(hint)
}

/// The texts of a client: one, or a list.
pub(crate) fn read_texts(input: Value) -> ApiResult<Vec<String>> {
    match input {
        Value::String(text) => Ok(vec![text]),
        Value::Array(values) => {
            let text = |value: Value| match value {
                Value::String(text) => Ok(text),
                _ => Err(ApiProblem::unsupported(
                    "`input` as numbers of tokens",
                    "send the texts themselves (LangChain: check_embedding_ctx_length=False)",
                )),
            };
            values.into_iter().map(text).collect()
        }
        _ => Err(ApiProblem::invalid("`input` is a text or a list of texts")),
    }
}
