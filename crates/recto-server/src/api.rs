//! `/api`: everything that Recto's own pages and programs need, as JSON and as streams of events.

mod turns;

use axum::Router;
use axum::routing::{get, post};

use crate::gateway::Gateway;

/// The routes below `/api`.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/sessions/{session}/messages", post(turns::submit_message))
        .route("/sessions/{session}/events", get(turns::follow_session))
        .route("/sessions/{session}/stop", post(turns::stop_turn))
}
