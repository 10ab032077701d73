//! Texts to vectors, for both doors.

use axum::http::StatusCode;
use recto_agent::{Actor, AgentError, EmbeddedText};
use serde_json::Value;

use super::{embedding_model, is_embedding_model};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The most texts of one request.
const MOST_TEXTS: usize = 2_048;

/// Texts that a client wants embedded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DoorTexts<'a> {
    /// The model that it asks for.
    pub(crate) model: &'a str,
    /// A text, or a list of texts.
    pub(crate) input: &'a Value,
    /// How many numbers a vector should have, where it says so.
    pub(crate) dimensions: Option<usize>,
}

/// Embeds texts by the encoder of the default agent, as it was published.
pub(crate) async fn embed_all(
    gateway: &Gateway,
    actor: &Actor,
    texts: DoorTexts<'_>,
) -> ApiResult<Vec<EmbeddedText>> {
    if !is_embedding_model(gateway, texts.model) {
        let title = format!("the model `{}` makes no embeddings", texts.model);
        return Err(ApiProblem::new(StatusCode::NOT_FOUND, "model_not_found", title)
            .hint(format!("ask for `{}`", embedding_model(gateway))));
    }
    let agent = gateway.default_agent()?;
    if let Some(wanted) = texts.dimensions.filter(|dimensions| *dimensions != 0) {
        let own = agent.embedding_dimensions().await;
        let own = own.map_err(|error| embedding_problem(gateway, error))?;
        if wanted != own {
            return Err(ApiProblem::invalid(format!("`dimensions` is {own}, or left out")));
        }
    }
    let input = read_texts(texts.input)?;
    agent.embed(actor, input).await.map_err(|error| embedding_problem(gateway, error))
}

fn embedding_problem(gateway: &Gateway, error: AgentError) -> ApiProblem {
    let remedy = match &error {
        AgentError::NoEmbedding(_) => error.remedy(),
        _ => None,
    };
    let hint = remedy.map(|remedy| gateway.describe_remedy(&remedy));
    ApiProblem::from(error).hint_if(hint)
}

fn read_texts(input: &Value) -> ApiResult<Vec<String>> {
    let texts: Vec<String> = match input {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => {
            let text = |value: &Value| match value {
                Value::String(text) => Ok(text.clone()),
                _ => Err(ApiProblem::unsupported(
                    "`input` as numbers of tokens",
                    "send the texts themselves (LangChain: check_embedding_ctx_length=False)",
                )),
            };
            values.iter().map(text).collect::<ApiResult<_>>()?
        }
        _ => return Err(ApiProblem::invalid("`input` is a text or a list of texts")),
    };
    match texts.len() {
        0 => Err(ApiProblem::invalid("`input` has no text")),
        1..=MOST_TEXTS => Ok(texts),
        _ => Err(ApiProblem::invalid(format!("`input` has more than {MOST_TEXTS} texts"))),
    }
}
