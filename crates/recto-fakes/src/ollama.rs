//! Ollama, as of about version 0.33: its chat, and the endpoints that tell what
//! it serves.

mod check;
mod options;
mod prompt;
mod write;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::answer::FakeAnswer;
use crate::log::ReceivedRequest;
use crate::model::{FakeModel, FakeSettings};
use crate::reaction::{Reaction, Rejection};
use options::FakeOptions;

/// The window when neither the request nor the model says one.
const DEFAULT_WINDOW: u32 = 4_096;

/// The architecture of all its models.
const FAMILY: &str = "llama";

/// A time for all that has one.
const A_DAY: &str = "2026-01-01T00:00:00Z";

#[derive(Debug)]
pub(crate) struct FakeOllama {
    settings: FakeSettings,
    state: Mutex<OllamaState>,
}

#[derive(Debug, Default)]
struct OllamaState {
    /// What is in memory, by the models' full names.
    loaded: BTreeMap<String, Launch>,
    loads: usize,
    calls: usize,
}

/// What a model is launched with. Another value launches it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Launch {
    window: u32,
    shift: bool,
}

impl FakeOllama {
    pub(crate) fn new(settings: FakeSettings) -> Self {
        FakeOllama { settings, state: Mutex::default() }
    }

    pub(crate) fn loads(&self) -> usize {
        self.state.lock().loads
    }

    pub(crate) fn react(
        &self,
        received: &ReceivedRequest,
        answer: impl FnOnce(&[Value]) -> FakeAnswer,
    ) -> Result<Reaction, Rejection> {
        if let Some(key) = &self.settings.api_key
            && !received.bears(key)
        {
            return Err(error(401, "unauthorized"));
        }
        match (received.method.as_str(), received.path.as_str()) {
            ("GET", "/api/version") => Ok(Reaction::Json(json!({ "version": "0.33.0" }))),
            ("GET", "/api/tags") => Ok(Reaction::Json(self.tags())),
            ("GET", "/api/ps") => Ok(Reaction::Json(self.running())),
            ("POST", "/api/show") => self.show(received).map(Reaction::Json),
            ("POST", "/api/chat") => self.chat(received, answer),
            (_, "/api/version" | "/api/tags" | "/api/ps" | "/api/show" | "/api/chat") => {
                Err(Rejection::plain(405, "405 method not allowed"))
            }
            _ => Err(Rejection::plain(404, "404 page not found")),
        }
    }

    fn tags(&self) -> Value {
        let models: Vec<Value> = self.settings.models.iter().map(listed).collect();
        json!({ "models": models })
    }

    fn running(&self) -> Value {
        let state = self.state.lock();
        let running = |model: &FakeModel| {
            let launch = state.loaded.get(&full_name(&model.name))?;
            let mut entry = listed(model);
            entry["context_length"] = launch.window.into();
            entry["expires_at"] = A_DAY.into();
            Some(entry)
        };
        let models: Vec<Value> = self.settings.models.iter().filter_map(running).collect();
        json!({ "models": models })
    }

    fn show(&self, received: &ReceivedRequest) -> Result<Value, Rejection> {
        let body = check::show(&received.body)?;
        let model = self.model(&body)?;
        let capabilities: Vec<&str> = model.capabilities.iter().map(|it| it.name()).collect();
        let mut shown = json!({
            "modelfile": format!("FROM {}\n", model.name),
            "template": "{{ .Prompt }}",
            "details": details(),
            "model_info": {
                "general.architecture": FAMILY,
                format!("{FAMILY}.context_length"): model.trained,
            },
            "capabilities": capabilities,
            "modified_at": A_DAY,
        });
        if let Some(window) = model.window {
            let stop = "\"<|end|>\"";
            let parameters = format!("{:<30} {window}\n{:<30} {stop}", "num_ctx", "stop");
            shown["parameters"] = parameters.into();
        }
        Ok(shown)
    }

    /// The checks stand in the order of the real server, which decides the
    /// error that a request with two faults gets.
    fn chat(
        &self,
        received: &ReceivedRequest,
        answer: impl FnOnce(&[Value]) -> FakeAnswer,
    ) -> Result<Reaction, Rejection> {
        let chat = check::chat(&received.body)?;
        let model = self.model(&chat.model)?;
        check::abilities(&chat, model)?;
        let options = FakeOptions::read(&chat.options)?;
        let window = options.window.or(model.window).unwrap_or(DEFAULT_WINDOW).min(model.trained);
        self.load(model, Launch { window, shift: chat.shift });
        if chat.messages.is_empty() {
            return Ok(Reaction::Json(write::loaded(&chat.model)));
        }
        check::images(&chat, model)?;
        let tokens = prompt::fit(&chat, window)?;
        Ok(Reaction::play(answer(&chat.messages), |reply| {
            write::reply(reply, &chat, tokens, || self.next_call())
        }))
    }

    /// A model by the name that a client gives.
    fn model(&self, name: &str) -> Result<&FakeModel, Rejection> {
        let wanted = full_name(name);
        let found = self.settings.models.iter().find(|model| full_name(&model.name) == wanted);
        found.ok_or_else(|| error(404, format!("model '{name}' not found")))
    }

    fn load(&self, model: &FakeModel, launch: Launch) {
        let mut state = self.state.lock();
        if state.loaded.insert(full_name(&model.name), launch) != Some(launch) {
            state.loads += 1;
        }
    }

    fn next_call(&self) -> String {
        let mut state = self.state.lock();
        state.calls += 1;
        format!("call_{:08}", state.calls)
    }
}

/// An error as Ollama words all of them.
fn error(status: u16, why: impl Into<String>) -> Rejection {
    let why = why.into();
    let body = json!({ "error": why });
    Rejection::json(status, why, &body)
}

/// An error of the runner behind the server, which Ollama hands on as it is: its
/// own error is then a string that holds JSON.
fn runner_error(why: &str, problem: &Value) -> Rejection {
    let body = json!({ "error": json!({ "error": problem }).to_string() });
    Rejection::json(400, why, &body)
}

/// A model's name with its tag, which may be left out when it is `latest`.
fn full_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains(':') { name.to_owned() } else { format!("{name}:latest") }
}

fn listed(model: &FakeModel) -> Value {
    let name = full_name(&model.name);
    json!({
        "name": name,
        "model": name,
        "modified_at": A_DAY,
        "size": 1_000_000,
        "digest": "0".repeat(64),
        "details": details(),
    })
}

fn details() -> Value {
    json!({
        "parent_model": "",
        "format": "gguf",
        "family": FAMILY,
        "families": [FAMILY],
        "parameter_size": "1B",
        "quantization_level": "Q4_0",
    })
}
