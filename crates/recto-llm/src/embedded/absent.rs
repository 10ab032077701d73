//! Stands in for the engine in a build without it, and says so.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;

use super::{ModelSource, PromptCacheKey, ReplyReceiver};
use crate::error::LlmError;
use crate::reply_rules::ReplyFormat;

#[derive(Default)]
pub(super) struct EmbeddedEngine {}

impl EmbeddedEngine {
    pub(super) fn check() -> Result<(), LlmError> {
        Err(LlmError::NotBuilt)
    }

    pub(super) fn loaded_window(&self) -> Option<u32> {
        None
    }

    pub(super) fn check_format(_format: &ReplyFormat) -> Result<(), LlmError> {
        Ok(())
    }

    pub(super) fn submit(
        &self,
        _model: &Arc<ModelSource>,
        _body: &[u8],
        _cache_key: Option<PromptCacheKey>,
    ) -> Result<ReplyReceiver, LlmError> {
        Err(LlmError::NotBuilt)
    }

    #[expect(clippy::unused_async, reason = "the engine's is async")]
    pub(super) async fn tokenizer(
        &self,
        _model: &Arc<ModelSource>,
    ) -> Result<ModelTokenizer, LlmError> {
        Err(LlmError::NotBuilt)
    }
}

/// A model's own tokenizer. There is none in this build.
#[derive(Debug, Clone)]
pub struct ModelTokenizer(Infallible);

impl ModelTokenizer {
    /// How many tokens a text is.
    pub fn count(&self, _text: &str) -> u32 {
        match self.0 {}
    }

    /// How many tokens the prompt in a request's body is.
    pub fn count_prompt(&self, _body: &Value) -> Option<u32> {
        match self.0 {}
    }
}
