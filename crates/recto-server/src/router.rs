//! All routes of the server.

use axum::routing::get;
use axum::{Router, middleware};

use crate::gateway::Gateway;
use crate::{api, health, metrics, pages};

/// The routes of a gateway.
pub fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .route("/metrics", get(metrics::show_metrics))
        .merge(api::routes(&gateway))
        .merge(pages::routes())
        .layer(middleware::from_fn_with_state(gateway.clone(), metrics::measure_request))
        .with_state(gateway)
}
