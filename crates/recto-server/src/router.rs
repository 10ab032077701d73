//! All routes of the server.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};

use crate::access::{guard, login};
use crate::front_door::{ConversationIndex, translate_problems};
use crate::gateway::Gateway;
use crate::{api, health, metrics, ollama, openai, pages};

/// The routes of a gateway.
pub(crate) fn router(gateway: Gateway) -> Router {
    let conversations = ConversationIndex::default();
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .route("/metrics", get(metrics::show_metrics))
        .route("/login", get(login::show_form).post(login::log_in))
        .route("/logout", post(login::log_out))
        .merge(api::routes(&gateway))
        .nest("/v1", openai::routes(conversations.clone()))
        .route("/ollama", get(ollama::tell_life))
        .route("/ollama/", get(ollama::tell_life))
        // Programs that know Ollama's address find OpenAI's interface below it.
        .nest("/ollama/v1", openai::routes(conversations.clone()))
        .nest("/ollama", ollama::routes(conversations))
        .merge(pages::routes(&gateway))
        // The guard reads bodies, within the limit of the config.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(gateway.clone(), guard))
        .layer(middleware::from_fn_with_state(gateway.clone(), metrics::measure_request))
        .layer(middleware::from_fn(translate_problems))
        .with_state(gateway)
}
