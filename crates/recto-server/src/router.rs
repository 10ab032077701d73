//! All routes of the server.

use axum::routing::get;
use axum::{Router, middleware};

use crate::front_door::ConversationIndex;
use crate::gateway::Gateway;
use crate::{api, health, metrics, ollama, openai, pages};

/// The routes of a gateway.
pub fn router(gateway: Gateway) -> Router {
    let conversations = ConversationIndex::default();
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .route("/metrics", get(metrics::show_metrics))
        .merge(api::routes(&gateway))
        .nest("/v1", openai::routes(conversations.clone()))
        .route("/ollama", get(ollama::tell_life))
        .route("/ollama/", get(ollama::tell_life))
        .nest("/ollama", ollama::routes(conversations))
        .merge(pages::routes())
        .layer(middleware::from_fn_with_state(gateway.clone(), metrics::measure_request))
        .with_state(gateway)
}
