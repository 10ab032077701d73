//! Who calls: found out once for each request, before any handler.
//!
//! What a caller may do is not decided here but in `recto-agent`'s table of rights.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use recto_agent::Actor;

use crate::gateway::Gateway;

/// Whoever made a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Actor);

impl FromRequestParts<Gateway> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, gateway: &Gateway) -> Result<Self, Infallible> {
        Ok(Caller(gateway.owner().clone()))
    }
}
