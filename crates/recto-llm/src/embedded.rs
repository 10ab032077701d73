//! Models that run in this process.
//!
//! What can be known of a model without running it (what its file holds, the memory it takes,
//! which sequence of the cache a prompt goes to) is pure and always built. Only the engine itself
//! needs llama.cpp, and with it the feature `embedded`. Without the feature a model can be named
//! and looked at; asking it says what to do.

#[cfg(not(feature = "embedded"))]
#[path = "embedded/absent.rs"]
mod engine;
#[cfg(feature = "embedded")]
mod engine;
pub(crate) mod gguf;
pub(crate) mod memory;
#[cfg_attr(
    not(any(feature = "embedded", test)),
    expect(dead_code, reason = "only the engine has sequences")
)]
mod pool;
#[cfg_attr(
    not(any(feature = "embedded", test)),
    expect(dead_code, reason = "only the engine writes replies")
)]
mod repetition;
#[cfg_attr(
    not(any(feature = "embedded", test)),
    expect(dead_code, reason = "only the engine writes replies")
)]
mod stop_texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_context::Window;
use tokio::sync::mpsc;

use crate::error::LlmError;
use crate::probe::{LoadedModel, ServerWindow};
use crate::reply_rules::ReplyFormat;
use crate::wire::ChatTemplate;
use engine::EmbeddedEngine;
use gguf::{ModelFile, ModelFileProblem};
use memory::MemoryFit;

pub use engine::ModelTokenizer;
pub use pool::PromptCacheKey;

/// Whether this build can run models itself.
pub const IS_BUILT_IN: bool = cfg!(feature = "embedded");

/// A model file that can be used, and the memory there was for it when that was first
/// asked. A model that is loaded takes of it, and must not be counted twice.
#[derive(Clone)]
pub(crate) struct ModelSource {
    pub(crate) file: Arc<ModelFile>,
    pub(crate) memory: Option<u64>,
}

impl ModelSource {
    /// What fits into the memory.
    pub(crate) fn fit(&self) -> Result<MemoryFit, LlmError> {
        memory::fit(&self.file, self.memory).map_err(|problem| LlmError::NoMemory { problem })
    }

    /// Fails for a window that the model or the memory has no room for.
    pub(crate) fn check_window(&self, window: u32) -> Result<(), LlmError> {
        if let Some(trained) = self.file.trained.filter(|trained| window > *trained) {
            return Err(LlmError::WindowTooLarge { window, trained });
        }
        match self.fit()?.largest {
            largest if window > largest => Err(LlmError::WindowTooCostly { window, largest }),
            _ => Ok(()),
        }
    }
}

/// A model file, and the engine that runs it once it is asked something.
pub(crate) struct EmbeddedModel {
    /// What is wrong with the file is told when the model is asked, so that one
    /// bad entry of a config leaves the others alone.
    model: Result<Arc<ModelSource>, LlmError>,
    path: Option<PathBuf>,
    engine: EmbeddedEngine,
}

/// The pieces of a reply as bytes of the wire. Dropping it ends the call within
/// one token, or one chunk of the prompt.
pub(crate) type ReplyReceiver = mpsc::UnboundedReceiver<Result<Vec<u8>, LlmError>>;

/// Whether a file is a model that could be run here, as far as its header tells.
pub fn check_file(path: &Path) -> Result<(), ModelFileProblem> {
    ModelFile::read(path).map(drop)
}

/// What is said when the engine ends in the middle of something.
pub(crate) fn stopped() -> LlmError {
    LlmError::Engine { problem: "it stopped without a word".to_owned() }
}

impl EmbeddedModel {
    /// Looks at the header of the file; loads nothing.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        let file = match &path {
            Some(path) => ModelFile::read(path).map_err(|problem| LlmError::File { problem }),
            None => Err(LlmError::NoFile),
        };
        let memory = memory::available();
        let model = file.map(|file| Arc::new(ModelSource { file: Arc::new(file), memory }));
        EmbeddedModel { model, path, engine: EmbeddedEngine::default() }
    }

    /// The file's path, for people.
    pub(crate) fn describe(&self) -> String {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        path.unwrap_or_else(|| "no file".to_owned())
    }

    /// How the model wants conversations written down.
    pub(crate) fn template(&self) -> Option<ChatTemplate> {
        let file = &self.model.as_ref().ok()?.file;
        let text = |token: &Option<String>| token.clone().unwrap_or_default();
        Some(ChatTemplate {
            source: file.chat_template.clone().unwrap_or_else(|| ChatTemplate::chatml().source),
            bos: text(&file.bos),
            eos: text(&file.eos),
        })
    }

    /// The largest window: what the model was trained for, or what there is
    /// memory for, if that is less.
    pub(crate) fn window(&self) -> Result<ServerWindow, LlmError> {
        let model = self.model()?;
        let fit = model.fit()?;
        Ok(match model.file.trained {
            Some(trained) if trained <= fit.largest => ServerWindow::Trained(trained),
            None if fit.largest >= Window::ASSUMED.tokens.get() => ServerWindow::Unknown,
            Some(_) | None => ServerWindow::Fits(fit.largest),
        })
    }

    /// What the model was trained for, if its file says so.
    pub(crate) fn trained(&self) -> Option<u32> {
        self.model.as_ref().ok()?.file.trained
    }

    /// How it is held in memory, once it is. It stays there.
    pub(crate) fn loaded(&self) -> Option<LoadedModel> {
        let window = self.engine.loaded_window()?;
        let size = self.model.as_ref().ok().map(|model| model.file.weights);
        Some(LoadedModel { size, window: Some(window), ..LoadedModel::default() })
    }

    /// Whether it could answer, as far as that can be told without loading it.
    pub(crate) fn check(&self) -> Result<(), LlmError> {
        self.window()?;
        EmbeddedEngine::check()
    }

    /// Fails for a window that the model or the memory has no room for.
    pub(crate) fn check_window(&self, window: u32) -> Result<(), LlmError> {
        self.model()?.check_window(window)
    }

    /// Fails for a form that no grammar can be made of.
    pub(crate) fn check_format(&self, format: &ReplyFormat) -> Result<(), LlmError> {
        EmbeddedEngine::check_format(format)
    }

    /// Hands a request to the model, which is loaded if this is the first.
    pub(crate) fn submit(
        &self,
        body: &[u8],
        cache_key: Option<PromptCacheKey>,
    ) -> Result<ReplyReceiver, LlmError> {
        let model = self.model()?;
        model.file.check_length().map_err(|problem| LlmError::File { problem })?;
        self.engine.submit(model, body, cache_key)
    }

    /// The model's own tokenizer. Loads the vocabulary, if this is the first time.
    pub(crate) async fn tokenizer(&self) -> Result<ModelTokenizer, LlmError> {
        self.engine.tokenizer(self.model()?).await
    }

    fn model(&self) -> Result<&Arc<ModelSource>, LlmError> {
        self.model.as_ref().map_err(Clone::clone)
    }
}
