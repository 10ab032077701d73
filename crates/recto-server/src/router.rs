//! All routes of the server.

use axum::Router;
use axum::routing::get;

use crate::gateway::Gateway;
use crate::{api, health, pages};

/// The routes of a gateway.
pub fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .nest("/api", api::routes())
        .merge(pages::routes())
        .with_state(gateway)
}
