//! The door of the crate: a fake server and how a test sets it up.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::answer::FakeAnswer;
use crate::log::{ReceivedRequest, RequestLog};
use crate::model::{FakeModel, FakeSettings};
use crate::ollama::FakeOllama;
use crate::openai::{FakeDialect, FakeOpenAi};
use crate::reaction::Reaction;
use crate::server::ServerThread;

/// A model server on loopback, with a thread and a runtime of its own, so that
/// plain tests can use it. It goes away when it is dropped, and every open
/// connection with it.
#[derive(Debug)]
pub struct FakeServer {
    shared: Arc<FakeState>,
    running: ServerThread,
}

impl FakeServer {
    /// A fake of Ollama.
    pub fn ollama() -> FakeBuilder {
        FakeBuilder::new(FakeKind::Ollama)
    }

    /// A fake of OpenAI's chat completions.
    pub fn openai() -> FakeBuilder {
        FakeServer::openai_dialect(FakeDialect::OpenAi)
    }

    /// A fake of a server that speaks OpenAI's protocol and has its own ways.
    pub fn openai_dialect(dialect: FakeDialect) -> FakeBuilder {
        FakeBuilder::new(FakeKind::OpenAi(dialect))
    }

    /// Where it listens: `http://127.0.0.1:PORT`. The paths of OpenAI's protocol
    /// begin with `/v1` behind it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The address and port on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// Every request so far, in the order in which they came.
    pub fn log(&self) -> Vec<ReceivedRequest> {
        self.shared.log.entries()
    }

    /// The bodies of all chats so far, also of those that were rejected.
    pub fn chats(&self) -> Vec<Value> {
        let chats = self.log().into_iter().filter(ReceivedRequest::is_chat);
        chats.filter_map(|received| received.json).collect()
    }

    /// Why requests were rejected; empty when the client did nothing wrong.
    pub fn rejections(&self) -> Vec<String> {
        self.log().into_iter().filter_map(|received| received.rejected).collect()
    }

    /// How often Ollama had to load a model: once for each model, and again
    /// whenever a request asks for another window. Other servers never load.
    pub fn loads(&self) -> usize {
        match &self.shared.backend {
            Backend::Ollama(ollama) => ollama.loads(),
            Backend::OpenAi(_) => 0,
        }
    }

    /// Adds an answer behind those that are still waiting.
    pub fn push(&self, answer: impl Into<FakeAnswer>) {
        self.shared.answers.lock().push_back(answer.into());
    }

    /// Blocks until the log is as the test needs it, and gives it. Requests wait
    /// while `reached` looks, which must not ask the fake itself.
    ///
    /// # Panics
    ///
    /// When it takes more than a minute.
    pub fn wait_until(
        &self,
        reached: impl FnMut(&[ReceivedRequest]) -> bool,
    ) -> Vec<ReceivedRequest> {
        let waited = self.shared.log.wait_until(reached);
        waited.unwrap_or_else(|| panic!("the log never came to be so: {:#?}", self.log()))
    }
}

/// A fake that is not running yet.
#[derive(Debug)]
pub struct FakeBuilder {
    kind: FakeKind,
    settings: FakeSettings,
    answers: VecDeque<FakeAnswer>,
}

#[derive(Debug, Clone, Copy)]
enum FakeKind {
    Ollama,
    OpenAi(FakeDialect),
}

impl FakeBuilder {
    fn new(kind: FakeKind) -> Self {
        FakeBuilder { kind, settings: FakeSettings::default(), answers: VecDeque::new() }
    }

    /// Adds a model to those it serves; without any, it serves
    /// [`FakeModel::DEFAULT_NAME`].
    pub fn model(mut self, model: impl Into<FakeModel>) -> Self {
        self.settings.models.push(model.into());
        self
    }

    /// Refuses requests that don't bear this key.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.settings.api_key = Some(key.into());
        self
    }

    /// Adds an answer behind those it has.
    pub fn answer(mut self, answer: impl Into<FakeAnswer>) -> Self {
        self.answers.push_back(answer.into());
        self
    }

    /// Starts it on a free port.
    ///
    /// # Panics
    ///
    /// When the machine gives it no port or no thread.
    pub fn start(mut self) -> FakeServer {
        if self.settings.models.is_empty() {
            self.settings.models.push(FakeModel::new(FakeModel::DEFAULT_NAME));
        }
        let backend = match self.kind {
            FakeKind::Ollama => Backend::Ollama(FakeOllama::new(self.settings)),
            FakeKind::OpenAi(dialect) => Backend::OpenAi(FakeOpenAi::new(dialect, self.settings)),
        };
        let answers = Mutex::new(self.answers);
        let shared = Arc::new(FakeState { backend, answers, log: RequestLog::default() });
        FakeServer { running: ServerThread::start(shared.clone()), shared }
    }
}

/// What the test and the server's thread both see.
#[derive(Debug)]
pub(crate) struct FakeState {
    backend: Backend,
    answers: Mutex<VecDeque<FakeAnswer>>,
    pub(crate) log: RequestLog,
}

#[derive(Debug)]
enum Backend {
    Ollama(FakeOllama),
    OpenAi(FakeOpenAi),
}

impl FakeState {
    /// What a request leads to. A chat that passes takes an answer.
    pub(crate) fn react(&self, received: &ReceivedRequest) -> Reaction {
        let answer = |messages: &[Value]| {
            let queued = self.answers.lock().pop_front();
            queued.unwrap_or_else(|| echo(messages))
        };
        let reaction = match &self.backend {
            Backend::Ollama(ollama) => ollama.react(received, answer),
            Backend::OpenAi(openai) => openai.react(received, answer),
        };
        reaction.unwrap_or_else(Reaction::Rejected)
    }
}

/// What a fake says that was given nothing to say.
fn echo(messages: &[Value]) -> FakeAnswer {
    let last = messages.iter().rfind(|message| message["role"] == "user");
    let text = last.map(|message| text(&message["content"])).unwrap_or_default();
    FakeAnswer::text(format!("You said: {text}")).into()
}

/// The text of a content, which may be a string or, on OpenAI's wire, parts.
fn text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.as_str().unwrap_or_default().into(),
    }
}
