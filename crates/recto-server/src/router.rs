//! All routes of the server.

use axum::Router;
use axum::routing::get;

use crate::front_door::ConversationIndex;
use crate::gateway::Gateway;
use crate::{api, health, ollama, openai};

/// The routes of a gateway.
pub fn router(gateway: Gateway) -> Router {
    let conversations = ConversationIndex::default();
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .nest("/api", api::routes())
        .nest("/v1", openai::routes(conversations.clone()))
        .route("/ollama", get(ollama::tell_life))
        .route("/ollama/", get(ollama::tell_life))
        .nest("/ollama", ollama::routes(conversations))
        .with_state(gateway)
}
