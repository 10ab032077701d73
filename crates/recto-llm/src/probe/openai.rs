//! What servers with OpenAI's interface say about their models. The interface
//! itself has only names; each server has its own place for more.

use serde_json::Value;
use tokio::join;

use super::{ProbedWindow, get, known_answer, names, settle, tokens, value};
use crate::error::LlmError;
use crate::http::HttpTransport;

/// Anthropic's list has the same form.
pub(super) async fn served_models(http: &HttpTransport) -> Result<Vec<String>, LlmError> {
    let list = get(http, http.address().api_url("models")).await?;
    Ok(names(&list["data"], "id"))
}

/// All places are asked at once; a server answers at one of them at most.
pub(super) async fn probe_window(
    http: &HttpTransport,
    model: &str,
) -> Result<ProbedWindow, LlmError> {
    let address = http.address();
    let (props, list, own_list) = join!(
        get(http, address.root_url("props")),
        get(http, address.api_url("models")),
        get(http, address.root_url("api/v0/models")),
    );
    let (props, list, own_list) = (known_answer(props), known_answer(list), known_answer(own_list));
    let (listed, lm_studio) = (entry(value(&list), model), entry(value(&own_list), model));
    let trained = tokens(&lm_studio["max_context_length"]);
    let n_ctx = tokens(&value(&props)["default_generation_settings"]["n_ctx"]);
    let found = ProbedWindow::loaded(n_ctx, "`n_ctx` in `/props`")
        .or_else(|| {
            ProbedWindow::loaded(
                tokens(&listed["max_model_len"]),
                "`max_model_len` in `/v1/models`",
            )
        })
        .or_else(|| {
            let loaded = tokens(&lm_studio["loaded_context_length"]);
            ProbedWindow::loaded(loaded, "`loaded_context_length` in `/api/v0/models`")
        })
        // llama.cpp says in its list what it was trained for, and elsewhere what it uses.
        .map(|found| found.beside(trained.or_else(|| tokens(&listed["meta"]["n_ctx_train"]))))
        .or_else(|| ProbedWindow::trained(trained, "`max_context_length` in `/api/v0/models`"));
    settle(found, list, [props, own_list])
}

/// The entry of a model in a list, or nothing.
fn entry<'a>(list: &'a Value, model: &str) -> &'a Value {
    let entries = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().find(|entry| entry["id"] == model).unwrap_or(&Value::Null)
}
