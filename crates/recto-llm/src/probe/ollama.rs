//! What Ollama says about its models.

use serde_json::{Value, json};
use tokio::join;

use super::{
    FeatureSupport, LIMIT, LoadedModel, ProbedWindow, get, known_answer, names, settle, tokens,
    value,
};
use crate::error::LlmError;
use crate::http::HttpTransport;

pub(super) async fn served_models(http: &HttpTransport) -> Result<Vec<String>, LlmError> {
    let list = get(http, http.address().api_url("tags")).await?;
    Ok(names(&list["models"], "name"))
}

/// The models that the server runs itself, those in memory first.
pub(super) async fn own_models(http: &HttpTransport) -> Result<Vec<String>, LlmError> {
    let address = http.address();
    let (list, running) =
        join!(get(http, address.api_url("tags")), get(http, address.api_url("ps")),);
    // A server that does not say what is in memory has told enough.
    Ok(own_in_order(&list?, &running.unwrap_or_default()))
}

/// Whether the model can hold a conversation.
pub(super) async fn supports_chat(
    http: &HttpTransport,
    model: &str,
) -> Result<FeatureSupport, LlmError> {
    ask_capability(http, model, "completion").await
}

/// Whether the model looks at images.
pub(super) async fn supports_images(
    http: &HttpTransport,
    model: &str,
) -> Result<FeatureSupport, LlmError> {
    ask_capability(http, model, "vision").await
}

async fn ask_capability(
    http: &HttpTransport,
    model: &str,
    wanted: &str,
) -> Result<FeatureSupport, LlmError> {
    let question = json!({ "model": model });
    let shown = http.post(http.address().api_url("show"), &question, LIMIT).await?;
    Ok(capability(&shown, wanted))
}

/// What the model is set to counts before what it is loaded with: every request
/// names the window, so that another one that is loaded makes way.
pub(super) async fn probe_features(
    http: &HttpTransport,
    model: &str,
) -> Result<(ProbedWindow, FeatureSupport), LlmError> {
    let address = http.address();
    let question = json!({ "model": model });
    let (shown, running) = join!(
        http.post(address.api_url("show"), &question, LIMIT),
        get(http, address.api_url("ps")),
    );
    let (shown, running) = (known_answer(shown), known_answer(running));
    let tools = capability(value(&shown), "tools");
    let found = set(value(&shown))
        .or_else(|| loaded(value(&running), model))
        .map(|found| found.beside(trained_length(value(&shown))))
        .or_else(|| trained(value(&shown)));
    Ok((settle(found, shown, [running])?, tools))
}

/// Names without a tag mean the latest.
pub(super) fn is_same(name: &str, model: &str) -> bool {
    fn whole(name: &str) -> (&str, &str) {
        let tag = name.rsplit('/').next().and_then(|last| last.split_once(':'));
        match tag {
            Some((_, tag)) => (&name[..name.len() - tag.len() - 1], tag),
            None => (name, "latest"),
        }
    }
    whole(name) == whole(model)
}

/// The models that run here. Some in the list are only names for those of another machine.
fn own_in_order(list: &Value, running: &Value) -> Vec<String> {
    let entries = list["models"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_own = |entry: &&Value| entry["remote_host"].as_str().is_none_or(str::is_empty);
    let own = entries.iter().filter(is_own).filter_map(|entry| entry["name"].as_str());
    let mut own: Vec<String> = own.map(str::to_owned).collect();
    let loaded = names(&running["models"], "name");
    own.sort_by_key(|name| !loaded.iter().any(|loaded| is_same(loaded, name)));
    own
}

/// The parameters of a model file come as lines of name and value.
fn set(shown: &Value) -> Option<ProbedWindow> {
    let parameters = shown["parameters"].as_str().unwrap_or_default();
    let tokens = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok()).flatten()
    };
    let set = parameters.lines().find_map(tokens).filter(|tokens| *tokens > 0);
    ProbedWindow::loaded(set, "`num_ctx` in `/api/show`")
}

fn loaded(running: &Value, model: &str) -> Option<ProbedWindow> {
    let entry = running_entry(running, model);
    ProbedWindow::loaded(entry.and_then(|entry| tokens(&entry["context_length"])), "`/api/ps`")
}

/// What is told of a model in the list of those in memory.
fn running_entry<'a>(running: &'a Value, model: &str) -> Option<&'a Value> {
    let entries = running["models"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names_it = |entry: &&Value| {
        ["name", "model"].iter().any(|key| entry[key].as_str().is_some_and(|n| is_same(n, model)))
    };
    entries.iter().find(names_it)
}

/// How a model is held in memory, if it is.
pub(super) async fn loaded_model(http: &HttpTransport, model: &str) -> Option<LoadedModel> {
    let running = get(http, http.address().api_url("ps")).await.ok()?;
    let entry = running_entry(&running, model)?;
    Some(LoadedModel {
        size: entry["size"].as_u64(),
        video_size: entry["size_vram"].as_u64(),
        window: tokens(&entry["context_length"]),
        expires: entry["expires_at"].as_str().map(str::to_owned),
    })
}

fn trained(shown: &Value) -> Option<ProbedWindow> {
    ProbedWindow::trained(trained_length(shown), "`context_length` in `/api/show`")
}

fn trained_length(shown: &Value) -> Option<u32> {
    let info = &shown["model_info"];
    let architecture = info["general.architecture"].as_str()?;
    tokens(&info[format!("{architecture}.context_length")])
}

fn capability(shown: &Value, wanted: &str) -> FeatureSupport {
    match shown["capabilities"].as_array() {
        Some(capabilities) if capabilities.iter().any(|name| name == wanted) => FeatureSupport::Yes,
        Some(_) => FeatureSupport::No,
        None => FeatureSupport::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_tag_means_the_latest() {
        assert!(is_same("qwen3:latest", "qwen3"));
        assert!(is_same("qwen3", "qwen3"));
        assert!(is_same("host:5000/me/qwen3:latest", "host:5000/me/qwen3"));
        assert!(!is_same("qwen3:8b", "qwen3"));
        assert!(!is_same("qwen3:latest", "qwen"));
    }

    #[test]
    fn models_in_memory_come_first_and_those_of_other_machines_not_at_all() {
        let list = json!({"models": [
            {"name": "a:1b"},
            {"name": "far:cloud", "remote_host": "https://ollama.com", "remote_model": "far"},
            {"name": "b:latest", "remote_host": ""},
            {"name": "c:1b"},
        ]});
        let running = json!({"models": [{"name": "c:1b"}, {"name": "b"}, {"name": "far:cloud"}]});
        assert_eq!(own_in_order(&list, &running), ["b:latest", "c:1b", "a:1b"]);
        assert_eq!(own_in_order(&list, &Value::Null), ["a:1b", "b:latest", "c:1b"]);
        assert_eq!(own_in_order(&Value::Null, &running), [""; 0]);
    }

    #[test]
    fn the_window_is_one_parameter_among_others() {
        let found = |parameters: &str| set(&json!({ "parameters": parameters }));
        let text =
            "stop                           \"<|im_end|>\"\nnum_ctx                        4096";
        assert_eq!(found(text), ProbedWindow::loaded(Some(4_096), "`num_ctx` in `/api/show`"));
        assert_eq!(found("num_ctx many\nnum_ctxs 5\nnum_ctx 0"), None);
    }
}
