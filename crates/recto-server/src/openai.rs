//! `/v1`: OpenAI's interface, for clients that speak it. The model is an agent.
//!
//! What a client can ask for is read in `request.rs`; parameters that no server here can heed
//! and that change what a reply means are refused by name, all others are ignored, as OpenAI's
//! own servers do.

mod chat;
mod embeddings;
mod models;
mod reply;
mod request;

use axum::Router;
use axum::routing::{get, post};

use crate::front_door::{ConversationIndex, VendorForm, unknown_path};
use crate::gateway::Gateway;

/// The routes below `/v1`.
pub(crate) fn routes(conversations: ConversationIndex) -> Router<Gateway> {
    Router::new()
        .route("/chat/completions", post(chat::complete_chat))
        .route("/embeddings", post(embeddings::embed_texts))
        .route("/models", get(models::list_models))
        // A name may have a slash of its own.
        .route("/models/{*model}", get(models::show_model))
        .fallback(|door, uri| unknown_path(VendorForm::OpenAi, door, uri))
        .layer(axum::Extension(conversations))
}
