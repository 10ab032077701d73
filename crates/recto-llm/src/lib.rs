//! Model servers, and what their wires look like.
//!
//! The rest of Recto knows one page, the [`RequestContext`], and one [`ModelReply`].
//! This crate knows how each vendor wants the one written down and how it writes
//! the other, where its server listens, what it refuses and how it says so.
//! Nothing outside of it names a field of a vendor's JSON.
//!
//! There are two halves. The pure one turns values into bytes and back:
//!
//! - [`encode`]: the same request and options give the same bytes, so that what
//!   was recorded is what was sent, and a server's cache finds the prefix it has
//!   seen before. It adds nothing to the page and leaves nothing out, apart from
//!   what a wire refuses; each such case is named where it is handled. It never
//!   alters a text, never fails, and never sees a credential: those travel in
//!   headers, not in bodies.
//! - [`ReplyDecoder`]: bytes, cut anywhere, to a reply. What the model wrote stays as
//!   it wrote it; what its provider wants back verbatim is kept so.
//!
//! The other half talks. A [`ModelClient`] stands for one model entry's server; its
//! [`stream`](ModelClient::stream) is the only way to call a model, and whoever wants
//! the reply whole [`collect`]s it. Its limits:
//!
//! - It sends a body exactly as given, and keeps nothing of a conversation.
//! - It tries again only while nothing of a reply has arrived, and says so.
//! - It follows no redirects, and its key appears in no error, log or address.
//! - It ends with the stream: there are no tasks in the background.
//!
//! [`RequestContext`]: recto_context::RequestContext

mod address;
mod api_key;
mod client;
mod embedded;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod probe;
mod provider;
mod reply;
mod reply_rules;
mod retry;
mod script;
mod stream;
mod template_process;
mod wire;

pub use api_key::{ApiKey, ApiKeyState};
pub use client::{ClientOptions, ModelClient, TimeLimits};
pub use embedded::gguf::{GuessedFormat, ModelFileProblem};
pub use embedded::memory::MemoryShortage;
pub use embedded::{IS_BUILT_IN, ModelTokenizer, PromptCacheKey, check_file};
pub use error::{LlmError, WaitingFor};
pub use probe::{
    FeatureSupport, LoadedModel, ModelHealth, ModelPresence, ServerWindow, WindowSizes,
};
pub use provider::Provider;
pub use reply::{FinishReason, ModelReply, StreamEvent, TokenUsage};
pub use reply_rules::{ReplyFormat, ReplyRules, ReplySchema};
pub use retry::RetryPolicy;
pub use stream::{ReplyStream, collect};
pub use template_process::{render_apart, render_if_asked};
pub use wire::{CallOptions, CallStyle, ChatTemplate, ReplyDecoder, ReplyDelta, Wire, encode};
