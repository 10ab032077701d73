//! Who calls, found out once for each request and before any handler. What a caller may do is
//! not decided here but in `recto-agent`'s table of rights.
//!
//! There are three ways to be somebody:
//!
//! - **By place.** Whoever calls from this machine, names it in `Host` and shows nothing else is
//!   the owner, but for a program that Recto runs for a model (`caller_process.rs`). A server that
//!   listens beyond loopback has no such place, and neither has a request that some proxy
//!   forwarded: its headers are trusted for nothing, but that they are there says that somebody
//!   else may stand behind them.
//! - **By token**, in `Authorization: Bearer`, from anywhere. A wrong one is refused, also on
//!   loopback. The one exception are the front doors: clients of OpenAI insist on some key, so that
//!   there, by place, what does not even look like a token of ours counts as none.
//! - **By cookie**, after a person logged in with a token ([`login`]). The cookie is a random name
//!   for that log-in, kept in memory as a hash; it ends with the server, with its token, or after
//!   a day.
//!
//! What came in by a token or a cookie ends with it, also a stream that is under way (`leases.rs`).
//!
//! **Other web sites in the same browser** are kept out three times over. `Host` must be a name
//! that is ours, so that a name of theirs which they let point here leads nowhere (DNS rebinding).
//! `Origin`, where one is sent, must be the very address that was called, and what the browser marks
//! as sent by another site (`Sec-Fetch-Site`) may only open a page. Last, who calls by place or by
//! cookie has shown nothing that another site could not make their browser send as well; so what
//! changes something needs either JSON together with our `Origin`, which no foreign form or script
//! can send without asking first, or, for plain forms, a token that stands in the form
//! ([`FormToken`]). It is a hash of who the page was made for and a key of this server: nothing has to
//! be kept for each, it holds when the server is started anew, and another site can neither read nor
//! guess it. The `Origin` alone would not do for forms: with
//! `Referrer-Policy: no-referrer` browsers send `null` with them. Programs send none of a browser's
//! marks, and whoever can run one on this machine needs no forgery.
//!
//! [`guard`] is the door; it stands before every route, so that a handler can't forget to ask.

mod arrival;
mod body;
mod browser_sessions;
mod caller_process;
mod control;
mod forgery;
mod guard;
mod headers;
mod identity;
mod leases;
pub(crate) mod login;
mod permits;
mod rates;
mod refusal;
mod route_class;
mod secret;
mod tokens;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use recto_agent::Actor;

use crate::gateway::Gateway;
use crate::problem::ApiProblem;

pub(crate) use arrival::household;
pub use arrival::{AllowedHost, ConnectionAddress, ParseHostError};
pub(crate) use caller_process::CallerProcess;
pub use control::{AccessControl, AccessOptions, OwnerAccess};
pub use forgery::FormKey;
pub(crate) use forgery::FormToken;
pub(crate) use guard::guard;
pub(crate) use identity::{CallerCredential, CallerIdentity};
pub use secret::TokenSecret;

/// Whoever made a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Actor);

impl FromRequestParts<Gateway> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, ApiProblem> {
        let identity = parts.extensions.get::<CallerIdentity>();
        identity.map(|identity| Caller(identity.actor.clone())).ok_or_else(|| {
            let status = StatusCode::UNAUTHORIZED;
            ApiProblem::new(status, "unauthorized", "nobody is known to have sent this")
        })
    }
}

/// How the caller is known; a page that shows who is logged in takes it.
impl FromRequestParts<Gateway> for CallerCredential {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Infallible> {
        let identity = parts.extensions.get::<CallerIdentity>();
        Ok(identity.map_or(CallerCredential::Nothing, |identity| identity.credential))
    }
}
