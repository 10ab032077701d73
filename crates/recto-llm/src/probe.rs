//! What a server says about itself: which models it has, how large their
//! windows are, whether they can call tools or look at images.
//!
//! Every vendor tells it elsewhere, and most tell only a part. So a server is
//! asked several questions, each for a short time. One that knows nothing of a
//! question has answered it; one that hangs, is loading or wants another key has
//! not, and what it would have said must not be taken for unknown. Which of the
//! two it was is decided in [`settle`], and nowhere else.

mod ollama;
mod openai;

use std::time::Duration;

use serde_json::Value;

use crate::client::{ModelClient, Transport};
use crate::error::LlmError;
use crate::http::HttpTransport;
use crate::provider::Provider;

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(3);

/// The window of a model as its server tells it, not capped yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerWindow {
    /// The window that the server has loaded the model with, or is set to.
    Loaded(u32),
    /// What the model was trained for. The server may give it less.
    Trained(u32),
    /// What this machine has memory for, which is less than the model was trained
    /// for.
    Fits(u32),
    /// The server does not say.
    #[default]
    Unknown,
}

/// The window of a model as its server tells it, beside what the model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowSizes {
    /// The window that can be used, not capped yet.
    pub window: ServerWindow,
    /// What the model was trained for, where the server says so.
    pub trained: Option<u32>,
}

/// What a check has found out about a model and its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelHealth {
    /// Whether the server has the model.
    pub presence: ModelPresence,
    /// The model's window, as far as the server tells.
    pub window: ServerWindow,
    /// Where in the server's interface the window was found.
    pub window_source: Option<&'static str>,
    /// Whether the model can call tools.
    pub tools: FeatureSupport,
}

/// Whether a server has a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPresence {
    /// The server lists the model.
    Listed,
    /// The server lists others instead. Those with a single model may answer to any
    /// name.
    NotListed {
        /// The names that it lists.
        served: Vec<String>,
    },
    /// The server keeps no list.
    Unknown,
}

/// A model that is in memory, as far as whoever holds it there says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadedModel {
    /// The bytes that it takes, and those of them in the memory of a graphics card.
    pub size: Option<u64>,
    /// See `size`.
    pub video_size: Option<u64>,
    /// The window that it is loaded with.
    pub window: Option<u32>,
    /// When it is let go, as the server writes moments; absent where it stays.
    pub expires: Option<String>,
}

/// Whether a model can do something; unknown where its server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the answers say it")]
pub enum FeatureSupport {
    Yes,
    No,
    Unknown,
}

/// A window, and where in the server's interface it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ProbedWindow {
    window: ServerWindow,
    /// What the model was trained for, where it was found beside the window.
    trained: Option<u32>,
    source: Option<&'static str>,
}

impl ProbedWindow {
    fn loaded(tokens: Option<u32>, source: &'static str) -> Option<Self> {
        let window = ServerWindow::Loaded(tokens?);
        Some(ProbedWindow { window, trained: None, source: Some(source) })
    }

    fn trained(tokens: Option<u32>, source: &'static str) -> Option<Self> {
        let window = ServerWindow::Trained(tokens?);
        Some(ProbedWindow { window, trained: tokens, source: Some(source) })
    }

    /// The same window, beside what the model was trained for.
    fn beside(self, trained: Option<u32>) -> Self {
        ProbedWindow { trained, ..self }
    }
}

impl ModelClient {
    /// The window of `model`, as far as the server tells. Fails when the server
    /// gave no answer that could be relied on later: it is not there, hangs, is
    /// still loading, or does not take the key.
    pub async fn server_window(&self, model: &str) -> Result<WindowSizes, LlmError> {
        let ProbedWindow { window, trained, .. } = self.features(model).await?.0;
        Ok(WindowSizes { window, trained })
    }

    /// Checks that the server can be reached and takes the key, and returns what it
    /// says about `model`.
    pub async fn check(&self, model: &str) -> Result<ModelHealth, LlmError> {
        if let Transport::Embedded(model) = &self.shared().transport {
            model.check()?;
        }
        let presence = self.presence(model).await?;
        let (found, tools) = self.features(model).await?;
        Ok(ModelHealth { presence, window: found.window, window_source: found.source, tools })
    }

    /// Fails when a model that runs in this process has no room for such a window.
    /// What a server has room for, only the server knows.
    pub fn check_window(&self, window: u32) -> Result<(), LlmError> {
        match &self.shared().transport {
            Transport::Embedded(model) => model.check_window(window),
            Transport::Http(_) | Transport::Script(_) => Ok(()),
        }
    }

    /// The names of the models that the server has. A script has none of its
    /// own: it answers to all.
    pub async fn served_models(&self) -> Result<Vec<String>, LlmError> {
        let Transport::Http(http) = &self.shared().transport else { return Ok(Vec::new()) };
        self.redact_names(match self.provider() {
            Provider::Ollama => ollama::served_models(http).await,
            _ => openai::served_models(http).await,
        })
    }

    /// The names of the models that the server runs itself, those in memory first,
    /// as far as it says so. Ollama also lists models that another machine would
    /// run for it.
    pub async fn own_models(&self) -> Result<Vec<String>, LlmError> {
        match (&self.shared().transport, self.provider()) {
            (Transport::Http(http), Provider::Ollama) => {
                self.redact_names(ollama::own_models(http).await)
            }
            _ => self.served_models().await,
        }
    }

    /// Whether `model` can hold a conversation: some only make vectors of texts.
    pub async fn supports_chat(&self, model: &str) -> Result<FeatureSupport, LlmError> {
        match (&self.shared().transport, self.provider()) {
            (Transport::Http(http), Provider::Ollama) => {
                self.redact(ollama::supports_chat(http, model).await)
            }
            _ => Ok(FeatureSupport::Unknown),
        }
    }

    /// Whether `model` looks at images, as far as anybody says. A server that can't be asked now
    /// has not said so.
    pub async fn supports_images(&self, model: &str) -> FeatureSupport {
        match (&self.shared().transport, self.provider()) {
            (Transport::Embedded(_), _) => FeatureSupport::No,
            (Transport::Script(_), _) | (_, Provider::Anthropic) => FeatureSupport::Yes,
            (Transport::Http(http), Provider::Ollama) => {
                ollama::supports_images(http, model).await.unwrap_or(FeatureSupport::Unknown)
            }
            (Transport::Http(_), _) => FeatureSupport::Unknown,
        }
    }

    /// How `model` is held in memory, where it is and anybody says so: this process of its own
    /// models, and Ollama.
    pub async fn loaded_model(&self, model: &str) -> Option<LoadedModel> {
        match (&self.shared().transport, self.provider()) {
            (Transport::Embedded(embedded), _) => embedded.loaded(),
            (Transport::Http(http), Provider::Ollama) => ollama::loaded_model(http, model).await,
            (Transport::Http(_) | Transport::Script(_), _) => None,
        }
    }

    async fn presence(&self, model: &str) -> Result<ModelPresence, LlmError> {
        let is_listed = |served: &[String]| match self.provider() {
            Provider::Ollama => served.iter().any(|name| ollama::is_same(name, model)),
            Provider::Scripted | Provider::Embedded => true,
            _ => served.iter().any(|name| name == model),
        };
        match self.served_models().await {
            Ok(served) if is_listed(&served) => Ok(ModelPresence::Listed),
            Ok(served) => Ok(ModelPresence::NotListed { served }),
            // Some servers that speak like OpenAI's have no list.
            Err(LlmError::NoSuchEndpoint { .. }) if self.provider() == Provider::OpenAi => {
                Ok(ModelPresence::Unknown)
            }
            Err(error) => Err(error),
        }
    }

    async fn features(&self, model: &str) -> Result<(ProbedWindow, FeatureSupport), LlmError> {
        let http = match &self.shared().transport {
            Transport::Http(http) => http,
            Transport::Script(script) => {
                script.check()?;
                return Ok((ProbedWindow::default(), FeatureSupport::Yes));
            }
            Transport::Embedded(model) => {
                let source = Some("the model file and the memory of this machine");
                let (window, trained) = (model.window()?, model.trained());
                return Ok((ProbedWindow { window, trained, source }, FeatureSupport::Yes));
            }
        };
        self.redact(match self.provider() {
            Provider::Ollama => ollama::probe_features(http, model).await,
            Provider::OpenAi => openai::probe_window(http, model)
                .await
                .map(|found| (found, FeatureSupport::Unknown)),
            // Anthropic's list of models says nothing of either.
            Provider::Anthropic | Provider::Embedded | Provider::Scripted => {
                Ok((ProbedWindow::default(), FeatureSupport::Unknown))
            }
        })
    }

    /// Leaves names out that hold the key, and takes it out of an error.
    fn redact_names(&self, names: Result<Vec<String>, LlmError>) -> Result<Vec<String>, LlmError> {
        let key = self.shared().key.as_ref().filter(|key| key.is_telling());
        let holds_key = |name: &String| key.is_some_and(|key| key.redact(name) != *name);
        let mut names = self.redact(names)?;
        names.retain(|name| !holds_key(name));
        Ok(names)
    }

    /// Takes the key out of an answer's error, so that it may leave this crate.
    fn redact<T>(&self, answer: Result<T, LlmError>) -> Result<T, LlmError> {
        answer.map_err(|error| error.redacted(self.shared().key.as_ref()))
    }
}

/// What a server says to a question: nothing, if it knows no such question. Fails when
/// it could have an answer at another time, or for someone else.
fn known_answer(answer: Result<Value, LlmError>) -> Result<Value, LlmError> {
    const NOT_IMPLEMENTED: Option<u16> = Some(501);
    answer.or_else(|error| match error {
        LlmError::Server { status: NOT_IMPLEMENTED, .. } => Ok(Value::Null),
        LlmError::Unreachable { .. }
        | LlmError::Handshake { .. }
        | LlmError::TimedOut { .. }
        | LlmError::Unauthorized { .. }
        | LlmError::Forbidden { .. }
        | LlmError::Redirected { .. }
        | LlmError::RateLimited { .. }
        | LlmError::Unavailable { .. }
        | LlmError::Server { .. }
        | LlmError::Cut { .. } => Err(error),
        _ => Ok(Value::Null),
    })
}

/// What an answer says, which may be nothing.
fn value(answer: &Result<Value, LlmError>) -> &Value {
    answer.as_ref().unwrap_or(&Value::Null)
}

/// What the answers come to: the window that was found in one of them; else that
/// the server does not say, if it is known not to. `main` answers the question
/// that every server of the kind should know; others are asked `beside` it.
fn settle<const N: usize>(
    found: Option<ProbedWindow>,
    main: Result<Value, LlmError>,
    beside: [Result<Value, LlmError>; N],
) -> Result<ProbedWindow, LlmError> {
    if let Some(found) = found {
        return Ok(found);
    }
    let failures: Vec<LlmError> = beside.into_iter().filter_map(Result::err).collect();
    match main {
        // Some keys may not ask for models, and are fine for everything else; some
        // servers have a page for people there.
        Err(LlmError::Forbidden { .. } | LlmError::Redirected { .. }) if failures.len() < N => {
            Ok(ProbedWindow::default())
        }
        Err(error) => Err(error),
        // llama.cpp lists its model while it loads, and says elsewhere that it does.
        Ok(_) => {
            let is_loading = |error: &LlmError| matches!(error, LlmError::Unavailable { .. });
            failures.into_iter().find(is_loading).map_or_else(|| Ok(ProbedWindow::default()), Err)
        }
    }
}

async fn get(http: &HttpTransport, url: String) -> Result<Value, LlmError> {
    http.get(url, LIMIT).await
}

/// A number of tokens. Zero is what some servers say when they don't know.
fn tokens(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}

/// The texts under `key` of the entries in a list.
fn names(list: &Value, key: &str) -> Vec<String> {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry[key].as_str()).map(str::to_owned).collect()
}
