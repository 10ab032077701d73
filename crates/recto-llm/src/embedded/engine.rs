//! The engine: a thread for each model, which loads it and answers one request
//! after the other.
//!
//! Requests and replies pass as bytes, as if the engine were a server of its own:
//! nothing of llama.cpp is seen outside of this module, so that it could become a
//! process of its own. Whoever asks only sends and waits.

mod detokenizer;
mod grammar;
mod processor;
mod sampler;
mod tokenizer;
mod worker;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use llama_cpp_2::llama_backend::LlamaBackend;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, mpsc};

use super::{ModelSource, PromptCacheKey, ReplyReceiver, stopped};
use crate::error::LlmError;
use crate::reply_rules::ReplyFormat;
use crate::wire::embedded::EmbeddedRequest;

pub use tokenizer::ModelTokenizer;

/// The engine of one model. Nothing is loaded before it is needed.
#[derive(Default)]
pub(super) struct EmbeddedEngine {
    /// The way to the thread, once there is one.
    jobs: Mutex<Option<Sender<EngineJob>>>,
    tokenizer: OnceCell<ModelTokenizer>,
    /// The window that the model is loaded with; zero before it is.
    window: Arc<AtomicU32>,
}

/// A request, and where its reply goes.
struct EngineJob {
    request: EmbeddedRequest,
    /// What the reply is chosen by: the same body gives the same reply, or the same number does.
    seed: u32,
    cache_key: Option<PromptCacheKey>,
    replies: mpsc::UnboundedSender<Result<Vec<u8>, LlmError>>,
}

impl EmbeddedEngine {
    /// Whether this machine can run models at all.
    pub(super) fn check() -> Result<(), LlmError> {
        processor::check()
    }

    /// The window that the model is loaded with, once it is.
    pub(super) fn loaded_window(&self) -> Option<u32> {
        Some(self.window.load(Ordering::Relaxed)).filter(|window| *window > 0)
    }

    /// Fails for a form that no grammar can be made of.
    pub(super) fn check_format(format: &ReplyFormat) -> Result<(), LlmError> {
        grammar::reply_grammars(format).map(drop)
    }

    /// Hands a request to the thread.
    pub(super) fn submit(
        &self,
        model: &Arc<ModelSource>,
        body: &[u8],
        cache_key: Option<PromptCacheKey>,
    ) -> Result<ReplyReceiver, LlmError> {
        Self::check()?;
        let request: EmbeddedRequest =
            serde_json::from_slice(body).map_err(|error| LlmError::Malformed {
                what: format!("no request for an embedded model ({error})"),
                sample: String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned(),
            })?;
        if let Some(problem) = request.problem {
            return Err(LlmError::Template { problem });
        }
        model.check_window(request.window)?;
        let (replies, received) = mpsc::unbounded_channel();
        // Whoever names a number counts on it alone; of a larger one its last digits are taken.
        let seed = request.reply.seed.map_or_else(|| seed(body), |given| given as u32);
        let job = EngineJob { request, seed, cache_key, replies };
        self.hand_over(model, job)?;
        Ok(received)
    }

    /// The tokenizer, from a file whose weights are left alone.
    pub(super) async fn tokenizer(
        &self,
        model: &Arc<ModelSource>,
    ) -> Result<ModelTokenizer, LlmError> {
        Self::check()?;
        let load = async || {
            let model = model.clone();
            let loaded =
                tokio::task::spawn_blocking(move || ModelTokenizer::load(&model.file)).await;
            loaded.unwrap_or_else(|_| Err(stopped()))
        };
        self.tokenizer.get_or_try_init(load).await.cloned()
    }

    fn hand_over(&self, model: &Arc<ModelSource>, job: EngineJob) -> Result<(), LlmError> {
        let mut jobs = self.jobs.lock();
        let job = match &*jobs {
            Some(thread) => match thread.send(job) {
                Ok(()) => return Ok(()),
                // The thread is gone: something that no input should bring about
                // ended it. The next request gets a new one.
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        let (thread, received) = channel();
        let (model, window) = (model.clone(), self.window.clone());
        thread::Builder::new()
            .name("recto-model".to_owned())
            .spawn(move || worker::run_worker(&model, &received, &window))
            .map_err(|error| LlmError::Engine { problem: format!("no thread for it: {error}") })?;
        thread.send(job).map_err(|_| stopped())?;
        *jobs = Some(thread);
        Ok(())
    }
}

/// llama.cpp as a whole, of which there is one in a process. It talks a lot, and
/// nobody asked.
fn backend() -> Result<&'static LlamaBackend, LlmError> {
    static BACKEND: OnceLock<Option<LlamaBackend>> = OnceLock::new();
    let begun = BACKEND.get_or_init(|| {
        let mut backend = LlamaBackend::init().ok()?;
        backend.void_logs();
        Some(backend)
    });
    begun.as_ref().ok_or_else(|| LlmError::Engine { problem: "it does not start".to_owned() })
}

fn seed(body: &[u8]) -> u32 {
    let hash = recto_context::ContentHash::of_bytes(body);
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}
