//! All routes of the server.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};

use crate::access::{guard, login};
use crate::gateway::Gateway;
use crate::{api, health};

/// The routes of a gateway.
pub(crate) fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/healthz", get(health::check_life))
        .route("/readyz", get(health::check_readiness))
        .route("/login", get(login::show_form).post(login::log_in))
        .route("/logout", post(login::log_out))
        .nest("/api", api::routes())
        // The guard reads bodies, within the limit of the config.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(gateway.clone(), guard))
        .with_state(gateway)
}
