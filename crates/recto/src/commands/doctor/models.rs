//! What `recto doctor` says about models: where one was looked for, and whether
//! those that there are could answer.

use std::env;

use futures_util::future::join_all;
use recto_agent::ModelEntry;
use recto_context::Tokens;
use recto_llm::{
    FeatureSupport, IS_BUILT_IN, LlmError, ModelHealth, ModelPresence, Provider, ServerWindow,
};
use recto_models::{ByteSize, InstalledModel, ModelsError};
use serde_json::{Value, json};

use super::{DoctorFinding, FindingState};
use crate::commands::models::health;
use crate::config::Settings;
use crate::output::counted;
use crate::remedy_words::hint_with_command;
use crate::setup::{self, ModelChoice, ModelLookup, OllamaModels};

/// Reports where a model was looked for, and that there is none where that is so.
pub(super) fn lookup_findings(choice: &ModelChoice) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = choice.looked_at.iter().filter_map(look).collect();
    if choice.entry.is_none() {
        let found = DoctorFinding::new(
            "model",
            FindingState::Error,
            "no model is configured, and none was found",
        );
        findings.push(found.hint(choice.advice()));
    }
    findings
}

fn look(look: &ModelLookup) -> Option<DoctorFinding> {
    match look {
        // What the config says has been told.
        ModelLookup::Config => None,
        ModelLookup::Ollama { url, served } => Some(ollama(url, served)),
        ModelLookup::Pulled { folder, models } => {
            let data = json!({"folder": folder, "models": files(models)});
            Some(pulled(&folder.display().to_string(), models).data(data))
        }
    }
}

fn ollama(url: &str, served: &Result<OllamaModels, LlmError>) -> DoctorFinding {
    let asked = format!("asked at {url}");
    let found = match served {
        Ok(served) if served.to_talk_to.is_none() => DoctorFinding::new(
            "Ollama",
            FindingState::Absent,
            format!("{asked}: it has no model to talk to"),
        )
        .hint("`ollama pull qwen3:4b` gets one".to_owned()),
        Ok(served) => {
            let models = format!("{asked}: it has {}", served.models.join(", "));
            DoctorFinding::new("Ollama", FindingState::Fine, models)
        }
        Err(LlmError::Unreachable { .. }) => DoctorFinding::new(
            "Ollama",
            FindingState::Absent,
            format!("{asked}: nothing listens there"),
        ),
        Err(error) => {
            DoctorFinding::new("Ollama", FindingState::Absent, format!("{asked}: {error}"))
        }
    };
    found.data(json!({
        "base_url": url,
        "served": served.as_ref().ok().map(|served| &served.models),
        "error": served.as_ref().err().map(LlmError::code),
    }))
}

fn pulled(folder: &str, models: &Result<Vec<InstalledModel>, ModelsError>) -> DoctorFinding {
    let models = match models {
        Ok(models) => models,
        Err(error) => {
            return DoctorFinding::new("embedded", FindingState::Absent, error.to_string());
        }
    };
    let named = |model: &InstalledModel| format!("{} ({})", model.name, ByteSize(bytes(model)));
    let named: Vec<String> = models.iter().map(named).collect();
    match (models.is_empty(), IS_BUILT_IN) {
        (true, true) => {
            let text = format!("{folder} has no model to talk to");
            DoctorFinding::new("embedded", FindingState::Absent, text)
                .hint("`recto models pull smollm2` gets one".to_owned())
        }
        (false, true) => DoctorFinding::new(
            "embedded",
            FindingState::Fine,
            format!("{folder} has {}", named.join(", ")),
        ),
        (is_empty, false) => {
            let has = if is_empty {
                String::new()
            } else {
                format!("; {folder} has {}", named.join(", "))
            };
            DoctorFinding::new(
                "embedded",
                FindingState::Absent,
                format!("this build cannot run models itself{has}"),
            )
            .hint("`make chat` builds one that can".to_owned())
        }
    }
}

fn files(models: &Result<Vec<InstalledModel>, ModelsError>) -> Vec<Value> {
    let models = models.as_ref().map(Vec::as_slice).unwrap_or_default();
    models.iter().map(|model| json!({"name": model.name, "bytes": bytes(model)})).collect()
}

fn bytes(model: &InstalledModel) -> u64 {
    model.files.iter().map(|file| file.size).sum()
}

/// Whether the models could answer, all asked at once. Only the one that answers
/// has to.
pub(super) async fn entries(settings: &Settings, choice: &ModelChoice) -> Vec<DoctorFinding> {
    let checks = settings.models.iter().map(|model| async {
        let chosen = choice.entry.as_ref() == Some(&model.name);
        let wrong = if chosen { FindingState::Error } else { FindingState::Warning };
        let what = format!("model {}", model.name);
        match setup::model_entry(settings, &model.name) {
            Ok(entry) => {
                let health = health(&entry).await;
                let found = entry_finding(&entry, health, settings.window_cap, wrong);
                found.and_missing_key(model.api_key_env.as_deref())
            }
            Err(failure) => {
                let (text, hint) = failure.parts();
                DoctorFinding::new(what, wrong, text).hint(hint)
            }
        }
    });
    join_all(checks).await
}

fn entry_finding(
    entry: &ModelEntry,
    health: Result<ModelHealth, LlmError>,
    window_cap: u32,
    wrong: FindingState,
) -> DoctorFinding {
    let what = format!("model {}", entry.name);
    let (provider, model) = (entry.client.provider(), &entry.call.model);
    let data = json!({"provider": provider.name(), "model": model, "base_url": entry.client.url()});
    let health = match health {
        Ok(health) => health,
        Err(error) => {
            return DoctorFinding::new(what, wrong, error.to_string())
                .hint(hint_with_command(error.hint(), error.remedy().as_ref()))
                .data(data);
        }
    };
    // Ollama answers to the names that it lists, and to no others.
    if let (ModelPresence::NotListed { served }, Provider::Ollama) = (&health.presence, provider) {
        let text = format!("{} has no model `{model}`", entry.client.url());
        let has = format!("it has {}", counted(served.len(), "model"));
        let hint = format!("run `ollama pull {model}`, or name one that it has; {has}");
        return DoctorFinding::new(what, wrong, text).hint(hint).data(data);
    }
    let tools = match health.tools {
        FeatureSupport::Yes => ", takes tools",
        FeatureSupport::No => ", takes no tools",
        FeatureSupport::Unknown => "",
    };
    // A script without a file is nowhere.
    let place = match entry.client.url() {
        url if url == provider.name() => String::new(),
        url => format!(" at {url}"),
    };
    let window = window(entry, &health, window_cap);
    let text = format!("{} {model}{place}: {window}{tools}", provider.name());
    // Nearly every server of this kind has a list, and an address that is none has nothing.
    if health.presence == ModelPresence::Unknown && provider == Provider::OpenAi {
        let hint = "look whether its address is whole, with its path (often `/v1`)".to_owned();
        let text = format!("{text}; it has no list of models");
        return DoctorFinding::new(what, FindingState::Warning, text).hint(hint).data(data);
    }
    DoctorFinding::new(what, FindingState::Fine, text).data(data)
}

impl DoctorFinding {
    /// Adds that the variable which is to hold the model's key is not set, where all else is fine:
    /// many servers list their models to everybody and want the key when they are to answer.
    fn and_missing_key(mut self, variable: Option<&str>) -> DoctorFinding {
        let is_unset = |name: &&str| env::var_os(name).is_none_or(|value| value.is_empty());
        let Some(variable) = variable.filter(is_unset) else { return self };
        if self.state == FindingState::Fine {
            self.state = FindingState::Warning;
            self.text = format!("{}; {variable}, which is to hold its key, is not set", self.text);
            let set = format!("set the environment variable {variable} to the key");
            self.hint = Some(format!("{set}, or remove `api_key_env` if the server wants none"));
        }
        self
    }
}

fn window(entry: &ModelEntry, health: &ModelHealth, cap: u32) -> String {
    if let Some(set) = entry.window {
        return format!("window {set}, set in the config");
    }
    match health.window {
        ServerWindow::Loaded(tokens) => format!("window {}, as loaded", Tokens::new(tokens)),
        ServerWindow::Trained(tokens) if tokens > cap => {
            let [cap, tokens] = [cap, tokens].map(Tokens::new);
            format!("window {cap}, by `window.cap` (trained for {tokens})")
        }
        ServerWindow::Trained(tokens) => format!("window {}, as trained", Tokens::new(tokens)),
        ServerWindow::Fits(tokens) => format!("window {}, as memory allows", Tokens::new(tokens)),
        ServerWindow::Unknown => "window unknown".to_owned(),
    }
}
