//! Whether the server lives, and whether it can answer.

use axum::extract::State;
use axum::http::StatusCode;

use crate::gateway::Gateway;

/// The server runs.
pub(crate) async fn check_life() -> &'static str {
    "ok\n"
}

/// The store answers, and there is an agent.
pub(crate) async fn check_readiness(State(gateway): State<Gateway>) -> (StatusCode, String) {
    let sessions = gateway.store().open_turns().await;
    match (sessions, gateway.default_agent()) {
        (Ok(_), Ok(_)) => (StatusCode::OK, "ready\n".to_owned()),
        (Err(error), _) => (StatusCode::SERVICE_UNAVAILABLE, format!("the store: {error}\n")),
        (_, Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
    }
}
