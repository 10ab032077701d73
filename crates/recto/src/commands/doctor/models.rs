//! What `recto doctor` says about models: where one was looked for, and whether
//! those that there are could answer.

use futures_util::future::join_all;
use recto_agent::ModelEntry;
use recto_context::Tokens;
use recto_llm::{IS_BUILT_IN, LlmError, ModelHealth, Presence, Provider, ServerWindow, Support};
use recto_models::{Installed, ModelsError, Size};
use serde_json::{Value, json};

use super::{Finding, State};
use crate::commands::models::health;
use crate::config::Settings;
use crate::output::counted;
use crate::setup::{self, Choice, Look, Served};

/// Reports where a model was looked for, and that there is none where that is so.
pub(super) fn looked_at(choice: &Choice) -> Vec<Finding> {
    let mut findings: Vec<Finding> = choice.looked_at.iter().filter_map(look).collect();
    if choice.entry.is_none() {
        let found =
            Finding::new("model", State::Error, "no model is configured, and none was found");
        findings.push(found.hint(choice.advice()));
    }
    findings
}

fn look(look: &Look) -> Option<Finding> {
    match look {
        // What the config says has been told.
        Look::Config => None,
        Look::Ollama { url, served } => Some(ollama(url, served)),
        Look::Pulled { folder, models } => {
            let data = json!({"folder": folder, "models": files(models)});
            Some(pulled(&folder.display().to_string(), models).data(data))
        }
    }
}

fn ollama(url: &str, served: &Result<Served, LlmError>) -> Finding {
    let asked = format!("asked at {url}");
    let found = match served {
        Ok(served) if served.to_talk_to.is_none() => {
            Finding::new("Ollama", State::Absent, format!("{asked}: it has no model to talk to"))
                .hint("`ollama pull qwen3:4b` gets one".to_owned())
        }
        Ok(served) => {
            let models = format!("{asked}: it has {}", served.models.join(", "));
            Finding::new("Ollama", State::Fine, models)
        }
        Err(LlmError::Unreachable { .. }) => {
            Finding::new("Ollama", State::Absent, format!("{asked}: nothing listens there"))
        }
        Err(error) => Finding::new("Ollama", State::Absent, format!("{asked}: {error}")),
    };
    found.data(json!({
        "url": url,
        "served": served.as_ref().ok().map(|served| &served.models),
        "error": served.as_ref().err().map(LlmError::code),
    }))
}

fn pulled(folder: &str, models: &Result<Vec<Installed>, ModelsError>) -> Finding {
    let models = match models {
        Ok(models) => models,
        Err(error) => return Finding::new("embedded", State::Absent, error.to_string()),
    };
    let named = |model: &Installed| format!("{} ({})", model.name, Size(bytes(model)));
    let named: Vec<String> = models.iter().map(named).collect();
    match (models.is_empty(), IS_BUILT_IN) {
        (true, true) => {
            let text = format!("{folder} has no model to talk to");
            Finding::new("embedded", State::Absent, text)
                .hint("`recto models pull smollm2` gets one".to_owned())
        }
        (false, true) => {
            Finding::new("embedded", State::Fine, format!("{folder} has {}", named.join(", ")))
        }
        (is_empty, false) => {
            let has = if is_empty {
                String::new()
            } else {
                format!("; {folder} has {}", named.join(", "))
            };
            Finding::new(
                "embedded",
                State::Absent,
                format!("this build cannot run models itself{has}"),
            )
            .hint("`make chat` builds one that can".to_owned())
        }
    }
}

fn files(models: &Result<Vec<Installed>, ModelsError>) -> Vec<Value> {
    let models = models.as_ref().map(Vec::as_slice).unwrap_or_default();
    models.iter().map(|model| json!({"name": model.name, "bytes": bytes(model)})).collect()
}

fn bytes(model: &Installed) -> u64 {
    model.files.iter().map(|file| file.size).sum()
}

/// Whether the models could answer, all asked at once. Only the one that answers
/// has to.
pub(super) async fn entries(settings: &Settings, choice: &Choice) -> Vec<Finding> {
    let checks = settings.models.iter().map(|model| async {
        let chosen = choice.entry.as_ref() == Some(&model.name);
        let wrong = if chosen { State::Error } else { State::Warning };
        let what = format!("model {}", model.name);
        match setup::model_entry(settings, &model.name) {
            Ok(entry) => {
                let health = health(&entry).await;
                of_entry(&entry, health, wrong)
            }
            Err(failure) => {
                let (text, hint) = failure.parts();
                Finding::new(what, wrong, text).hint(hint)
            }
        }
    });
    join_all(checks).await
}

fn of_entry(entry: &ModelEntry, health: Result<ModelHealth, LlmError>, wrong: State) -> Finding {
    let what = format!("model {}", entry.name);
    let (provider, model) = (entry.client.provider(), &entry.call.model);
    let data = json!({"provider": provider.name(), "model": model, "url": entry.client.url()});
    let health = match health {
        Ok(health) => health,
        Err(error) => {
            return Finding::new(what, wrong, error.to_string()).hint(error.hint()).data(data);
        }
    };
    // Ollama answers to the names that it lists, and to no others.
    if let (Presence::NotListed { served }, Provider::Ollama) = (&health.presence, provider) {
        let text = format!("{} has no model `{model}`", entry.client.url());
        let has = format!("it has {}", counted(served.len(), "model"));
        let hint = format!("run `ollama pull {model}`, or name one that it has; {has}");
        return Finding::new(what, wrong, text).hint(hint).data(data);
    }
    let tools = match health.tools {
        Support::Yes => ", takes tools",
        Support::No => ", takes no tools",
        Support::Unknown => "",
    };
    // A script without a file is nowhere.
    let place = match entry.client.url() {
        url if url == provider.name() => String::new(),
        url => format!(" at {url}"),
    };
    let window = window(entry, &health);
    let text = format!("{} {model}{place}: {window}{tools}", provider.name());
    Finding::new(what, State::Fine, text).data(data)
}

fn window(entry: &ModelEntry, health: &ModelHealth) -> String {
    if let Some(set) = entry.window {
        return format!("window {set}, set in the config");
    }
    match health.window {
        ServerWindow::Loaded(tokens) => format!("window {}, as loaded", Tokens::new(tokens)),
        ServerWindow::Trained(tokens) => format!("window {}, as trained", Tokens::new(tokens)),
        ServerWindow::Fits(tokens) => format!("window {}, as memory allows", Tokens::new(tokens)),
        ServerWindow::Unknown => "window unknown".to_owned(),
    }
}
