//! OpenAI's chat completions, and the servers that speak the same protocol.
//!
//! All dialects are as strict as OpenAI itself. They differ in what else they
//! tell about themselves, in how they say that a prompt is too long, and in
//! where they count cached tokens.

mod check;
mod messages;
mod problem;
mod tools;
mod write;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::answer::FakeAnswer;
use crate::count;
use crate::log::ReceivedRequest;
use crate::model::{Capability, FakeModel, FakeSettings};
use crate::reaction::{Reaction, Rejection};
use check::FakeOpenAiChat;
use problem::{OpenAiProblem, error};

/// A time for all that has one.
const A_DAY: u64 = 1_767_225_600;

/// Which of the servers that speak OpenAI's protocol a fake plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeDialect {
    /// OpenAI's own server.
    OpenAi,
    /// vLLM: the model list tells the window (`max_model_len`).
    Vllm,
    /// llama.cpp's server: `/props` tells the window.
    LlamaCpp,
    /// LM Studio: `/api/v0/models` tells the window.
    LmStudio,
}

#[derive(Debug)]
pub(crate) struct FakeOpenAi {
    dialect: FakeDialect,
    settings: FakeSettings,
    ids: Mutex<IdCounters>,
}

/// Numbers for what needs a name of its own.
#[derive(Debug, Default)]
struct IdCounters {
    replies: usize,
    calls: usize,
}

impl FakeOpenAi {
    pub(crate) fn new(dialect: FakeDialect, settings: FakeSettings) -> Self {
        FakeOpenAi { dialect, settings, ids: Mutex::default() }
    }

    pub(crate) fn react(
        &self,
        received: &ReceivedRequest,
        answer: impl FnOnce(&[Value]) -> FakeAnswer,
    ) -> Result<Reaction, Rejection> {
        self.authorize(received)?;
        match (received.method.as_str(), received.path.as_str(), self.dialect) {
            ("POST", "/v1/chat/completions", _) => self.chat(received, answer),
            ("GET", "/v1/models", _) => Ok(Reaction::Json(self.list())),
            ("GET", "/props", FakeDialect::LlamaCpp) => Ok(Reaction::Json(self.properties())),
            ("GET", "/api/v0/models", FakeDialect::LmStudio) => {
                Ok(Reaction::Json(self.studio_list()))
            }
            (method, path @ ("/v1/chat/completions" | "/v1/models"), _) => {
                let why = format!("Not allowed to {method} on {path}.");
                Err(OpenAiProblem::new(why).code("method_not_supported").rejection(405))
            }
            (method, path, _) => {
                Err(OpenAiProblem::new(format!("Invalid URL ({method} {path})")).rejection(404))
            }
        }
    }

    fn authorize(&self, received: &ReceivedRequest) -> Result<(), Rejection> {
        let Some(key) = &self.settings.api_key else { return Ok(()) };
        if received.bears(key) {
            return Ok(());
        }
        if received.header("authorization").is_none() {
            let why = "You didn't provide an API key. You need to provide your API key in an \
                       Authorization header using Bearer auth.";
            return Err(OpenAiProblem::new(why).rejection(401));
        }
        let why = "Incorrect API key provided: ***. You can find your API key in your account.";
        Err(OpenAiProblem::new(why).code("invalid_api_key").rejection(401))
    }

    fn chat(
        &self,
        received: &ReceivedRequest,
        answer: impl FnOnce(&[Value]) -> FakeAnswer,
    ) -> Result<Reaction, Rejection> {
        let chat = check::chat(received).map_err(|problem| problem.rejection(400))?;
        let model = self.model(&chat.model)?;
        let tokens = count::prompt(chat.messages.iter().chain(&chat.tools));
        self.fit(model, &chat, tokens)?;
        let writer =
            write::CompletionWriter { dialect: self.dialect, chat: &chat, id: self.next_reply() };
        Ok(Reaction::play(answer(&chat.messages), |reply| {
            writer.reply(reply, tokens, || self.next_call())
        }))
    }

    fn model(&self, name: &str) -> Result<&FakeModel, Rejection> {
        let found = self.settings.models.iter().find(|model| model.name == name);
        found.ok_or_else(|| {
            let why = format!("The model `{name}` does not exist or you do not have access to it.");
            OpenAiProblem::new(why).code("model_not_found").rejection(404)
        })
    }

    /// Refuses what does not fit in the window: llama.cpp looks at the prompt
    /// alone, the others at the room for the reply, too.
    fn fit(&self, model: &FakeModel, chat: &FakeOpenAiChat, prompt: u32) -> Result<(), Rejection> {
        let window = model.loaded_window();
        let reply = if self.dialect == FakeDialect::LlamaCpp { 0 } else { chat.reply_tokens };
        if prompt.saturating_add(reply) <= window {
            return Ok(());
        }
        Err(overflow(self.dialect, prompt, reply, window))
    }

    fn list(&self) -> Value {
        let entry = |model: &FakeModel| {
            let mut entry = json!({
                "id": model.name,
                "object": "model",
                "created": A_DAY,
                "owned_by": "fake",
            });
            match self.dialect {
                FakeDialect::Vllm => entry["max_model_len"] = model.loaded_window().into(),
                FakeDialect::LlamaCpp => entry["meta"] = json!({ "n_ctx_train": model.trained }),
                FakeDialect::OpenAi | FakeDialect::LmStudio => {}
            }
            entry
        };
        self.list_of(entry)
    }

    fn list_of(&self, entry: impl Fn(&FakeModel) -> Value) -> Value {
        let data: Vec<Value> = self.settings.models.iter().map(entry).collect();
        json!({ "object": "list", "data": data })
    }

    /// llama.cpp serves one model: the first.
    fn properties(&self) -> Value {
        let model = self.settings.models.first();
        json!({
            "default_generation_settings": {
                "id": 0,
                "n_ctx": model.map(FakeModel::loaded_window),
                "params": { "n_predict": -1 },
            },
            "total_slots": 1,
            "model_path": model.map(|model| &model.name),
            "chat_template": "{{ messages }}",
        })
    }

    /// A model without a window set is one that is not loaded yet.
    fn studio_list(&self) -> Value {
        let entry = |model: &FakeModel| {
            let mut entry = json!({
                "id": model.name,
                "object": "model",
                "type": if model.can(Capability::Vision) { "vlm" } else { "llm" },
                "arch": "llama",
                "compatibility_type": "gguf",
                "quantization": "Q4_0",
                "state": if model.window.is_some() { "loaded" } else { "not-loaded" },
                "max_context_length": model.trained,
            });
            if let Some(window) = model.window {
                entry["loaded_context_length"] = window.into();
            }
            if model.can(Capability::Tools) {
                entry["capabilities"] = json!(["tool_use"]);
            }
            entry
        };
        self.list_of(entry)
    }

    fn next_reply(&self) -> String {
        let mut ids = self.ids.lock();
        ids.replies += 1;
        format!("chatcmpl-{:08}", ids.replies)
    }

    fn next_call(&self) -> String {
        let mut ids = self.ids.lock();
        ids.calls += 1;
        format!("call_{:08}", ids.calls)
    }
}

fn overflow(dialect: FakeDialect, prompt: u32, reply: u32, window: u32) -> Rejection {
    match dialect {
        FakeDialect::LlamaCpp => {
            let (why, problem) = count::llama_overflow(prompt, window);
            error(400, &why, &problem)
        }
        FakeDialect::Vllm => {
            let why = format!(
                "This model's maximum context length is {window} tokens. However, you requested \
                 {reply} output tokens and your prompt contains at least {prompt} input tokens. \
                 Please reduce the length of the input prompt or the number of requested output \
                 tokens. (parameter=input_tokens, value={prompt})"
            );
            let problem = json!({
                "message": why,
                "type": "BadRequestError",
                "param": "input_tokens",
                "code": 400,
            });
            error(400, &why, &problem)
        }
        FakeDialect::OpenAi | FakeDialect::LmStudio => {
            let total = prompt.saturating_add(reply);
            let why = format!(
                "This model's maximum context length is {window} tokens. However, you requested \
                 {total} tokens ({prompt} in the messages, {reply} in the completion). Please \
                 reduce the length of the messages or completion."
            );
            let code = "context_length_exceeded";
            OpenAiProblem::new(why).param("messages").code(code).rejection(400)
        }
    }
}
