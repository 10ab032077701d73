//! What a tool is, what a call needs to know, and what comes back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use recto_context::{CallId, Catalog, ItemId, ToolSpec};

use crate::arguments::Arguments;

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// Which tool it is. Only calls of an offered tool with this identity reach it.
    fn id(&self) -> &ItemId;

    /// What the model is told about it; `None` where someone else tells it, as
    /// the assembler does for `read_skill`.
    fn spec(&self) -> Option<&ToolSpec>;

    /// Whether a call of it can change something that another call might see.
    fn writes(&self) -> bool {
        false
    }

    /// Answers one call. The arguments fit the schema of the tool as it was
    /// offered. A tool that waits for a disk or computes for long does so on
    /// another thread, and ends early when the future is dropped.
    fn run<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, ToolOutput>;
}

/// What a call needs to know of the turn it belongs to.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// What the agent has, as the turn sees it.
    pub catalog: Arc<Catalog>,
}

/// What a tool gives back: a text for the model, or what went wrong.
pub type ToolOutput = Result<String, ToolError>;

/// What went wrong, in words that help a model to do better.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// An error with these words.
    pub fn new(text: impl Into<String>) -> Self {
        ToolError(text.into())
    }
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Which call it answers.
    pub call: CallId,
    /// The name by which the tool was called.
    pub name: Arc<str>,
    /// What the model is told, within the limit for a call's output.
    pub text: String,
    /// How the call went.
    pub outcome: ToolOutcome,
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It did what it was asked.
    Done,
    /// It could not do what it was asked.
    Failed,
    /// No tool was run: none of this name was offered, or the arguments don't fit.
    Refused,
}

impl ToolOutcome {
    /// The name that events and programs use.
    pub fn name(self) -> &'static str {
        match self {
            ToolOutcome::Done => "done",
            ToolOutcome::Failed => "failed",
            ToolOutcome::Refused => "refused",
        }
    }
}
