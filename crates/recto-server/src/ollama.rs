//! `/ollama`: Ollama's interface, for clients that speak it. The model is an agent.
//!
//! What concerns files of models (pull, push, create, copy, delete) is not here: an agent is
//! set up in Recto.

mod chat;
mod embed;
mod models;
mod reply;
mod request;

use axum::Router;
use axum::routing::{get, post};

use crate::front_door::{ConversationIndex, VendorForm, unknown_path};
use crate::gateway::Gateway;

/// The routes below `/ollama`.
pub(crate) fn routes(conversations: ConversationIndex) -> Router<Gateway> {
    Router::new()
        .route("/api/chat", post(chat::answer_chat))
        .route("/api/generate", post(chat::answer_prompt))
        .route("/api/embed", post(embed::embed_texts))
        .route("/api/embeddings", post(embed::embed_prompt))
        .route("/api/tags", get(models::list_models))
        .route("/api/ps", get(models::list_loaded))
        .route("/api/show", post(models::show_model))
        .route("/api/version", get(models::tell_version))
        .fallback(|door, uri| unknown_path(VendorForm::Ollama, door, uri))
        .layer(axum::Extension(conversations))
}

/// What Ollama's clients look for to see that somebody is there.
pub(crate) async fn tell_life() -> &'static str {
    "Ollama is running"
}
