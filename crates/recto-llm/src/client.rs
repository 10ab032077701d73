//! One model entry's server, ready to be called.
//!
//! A client knows nothing of pages or turns. It takes a body, and sends it
//! exactly as given.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::address::ServerAddress;
use crate::api_key::ApiKey;
use crate::embedded::{EmbeddedModel, ModelTokenizer, PromptCacheKey};
use crate::error::LlmError;
use crate::http::HttpTransport;
use crate::provider::Provider;
use crate::retry::RetryPolicy;
use crate::script::Script;
use crate::stream::ReplyStream;
use crate::wire::{ChatTemplate, Wire};

/// How a client reaches its server, from a model entry.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The kind of server behind the model entry.
    pub provider: Provider,
    /// Where the server listens, with or without the interface's version; the
    /// provider's usual address when absent.
    pub base_url: Option<String>,
    /// The key, for servers that want one.
    pub api_key: Option<ApiKey>,
    /// The file of answers of a scripted model.
    pub script: Option<PathBuf>,
    /// The file of an embedded model, in the format GGUF.
    pub file: Option<PathBuf>,
    /// How long the server may be silent.
    pub limits: TimeLimits,
    /// When a call is made again.
    pub retry: RetryPolicy,
}

impl ClientOptions {
    /// A provider at its usual address, without a key.
    pub fn new(provider: Provider) -> Self {
        ClientOptions {
            provider,
            base_url: None,
            api_key: None,
            script: None,
            file: None,
            limits: TimeLimits::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// How long a server may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the request to the first piece of the reply. Local models load
    /// first, and then read long prompts.
    pub first_byte: Duration,
    /// Between two pieces of the reply. Bytes that bring nothing of it, such as comments,
    /// signs of life and empty pieces, don't count.
    pub idle: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        TimeLimits {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}

/// A client of one model entry's server. Clones share connections, and a script's place.
#[derive(Clone)]
pub struct ModelClient(Arc<SharedClient>);

/// What all clones of a client share.
pub(crate) struct SharedClient {
    pub(crate) provider: Provider,
    pub(crate) transport: Transport,
    pub(crate) url: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) limits: TimeLimits,
    pub(crate) retry: RetryPolicy,
}

/// How a body gets an answer.
pub(crate) enum Transport {
    Http(HttpTransport),
    Script(Script),
    Embedded(EmbeddedModel),
}

impl ModelClient {
    /// Prepares a client, without connecting. A script is read here, and the
    /// header of an embedded model's file; what is wrong with either is told when
    /// the model is asked.
    pub fn new(options: ClientOptions) -> Result<Self, LlmError> {
        let ClientOptions { provider, base_url, api_key: key, script, file, limits, retry } =
            options;
        let (transport, url) = match (base_url.as_deref(), provider.default_base_url()) {
            (_, None) if provider == Provider::Embedded => {
                let embedded = EmbeddedModel::new(file);
                let url = embedded.describe();
                (Transport::Embedded(embedded), url)
            }
            (_, None) => {
                let script = Script::load(script);
                let url = script.describe();
                (Transport::Script(script), url)
            }
            (given, Some(usual)) => {
                let address = ServerAddress::new(provider.wire(), given.unwrap_or(usual))?;
                let url = address.root().to_owned();
                let http =
                    HttpTransport::new(provider.wire(), address, key.clone(), limits.connect)?;
                (Transport::Http(http), url)
            }
        };
        let shared = SharedClient { provider, transport, url, key, limits, retry };
        Ok(ModelClient(Arc::new(shared)))
    }

    /// The kind of server that answers.
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// Whether the file of answers can be played, where that is what answers.
    pub fn check_script(&self) -> Result<(), LlmError> {
        match &self.0.transport {
            Transport::Script(script) => script.check(),
            Transport::Http(_) | Transport::Embedded(_) => Ok(()),
        }
    }

    /// How bodies have to be written for it.
    pub fn wire(&self) -> Wire {
        self.0.provider.wire()
    }

    /// The server's address, or the script's path. It holds no credential.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Sends `body` exactly as given, and returns what comes back as a stream. Nothing is sent
    /// before the stream is read from; dropping it closes the connection, which
    /// makes servers stop.
    pub fn stream(&self, body: impl Into<Vec<u8>>) -> ReplyStream {
        ReplyStream::new(Arc::clone(&self.0), body.into(), None)
    }

    /// Does the same as [`ModelClient::stream`], for a conversation that will go on: an
    /// embedded model then remembers what it has read of it.
    pub fn stream_cached(&self, key: PromptCacheKey, body: impl Into<Vec<u8>>) -> ReplyStream {
        ReplyStream::new(Arc::clone(&self.0), body.into(), Some(key))
    }

    /// How the model wants conversations written down, where Recto does that
    /// itself.
    pub fn template(&self) -> Option<Arc<ChatTemplate>> {
        match &self.0.transport {
            Transport::Embedded(embedded) => embedded.template().map(Arc::new),
            Transport::Http(_) | Transport::Script(_) => None,
        }
    }

    /// The model's own tokenizer, where it can be had.
    pub async fn tokenizer(&self) -> Result<Option<ModelTokenizer>, LlmError> {
        match &self.0.transport {
            Transport::Embedded(embedded) => embedded.tokenizer().await.map(Some),
            Transport::Http(_) | Transport::Script(_) => Ok(None),
        }
    }

    pub(crate) fn shared(&self) -> &SharedClient {
        &self.0
    }
}

impl fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelClient")
            .field("provider", &self.0.provider)
            .field("url", &self.0.url)
            .finish()
    }
}
