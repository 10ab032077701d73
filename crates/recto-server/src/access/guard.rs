//! The door before all routes: it finds out who sent a request, refuses what must not come in, and
//! hands on the rest with its sender.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::arrival::RequestArrival;
use super::body::{BodyLimits, read_body};
use super::forgery::{FormToken, check_forgery, form_binding};
use super::headers::set_security_headers;
use super::identity::{CallerCredential, CallerIdentity, identify};
use super::permits::{CallerKey, RequestPermit};
use super::refusal::AccessRefusal;
use super::route_class::{RouteClass, check_path};
use crate::gateway::Gateway;

/// The most bytes that somebody sends of whom nothing is known.
const STRANGER_BYTES: usize = 4_096;

/// Lets a request through to its route, or answers it.
pub(crate) async fn guard(
    State(gateway): State<Gateway>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = match admit(&gateway, request).await {
        Ok((request, permit)) => permit.hold_for(next.run(request).await),
        Err(refusal) => refusal.into_response(),
    };
    set_security_headers(answer.headers_mut());
    answer
}

/// Checks a request from its cheapest property to its dearest. Its body is read only once its
/// sender is known, and a store is asked only for those who show something.
async fn admit(
    gateway: &Gateway,
    request: Request,
) -> Result<(Request, RequestPermit), AccessRefusal> {
    let access = gateway.access();
    let class = RouteClass::of_path(request.uri().path());
    check_path(request.uri().path())?;
    let arrival = RequestArrival::read(&request, &access.options().hosts)?;
    arrival.check_site(request.method(), class, request.headers())?;
    let identity = identify(gateway, &arrival, class, request.headers()).await?;
    if identity.is_none() && class != RouteClass::Public {
        return Err(refuse_stranger(gateway, class, &request));
    }
    let stranger = CallerKey::Stranger(arrival.peer());
    let permit = access.permit(identity.as_ref().map_or(stranger, |identity| identity.key))?;
    let (parts, body) = request.into_parts();
    Ok((take_in(gateway, arrival, identity, parts, body).await?, permit))
}

/// Reads the body of a request, checks that its sender meant it, and puts all that is known of
/// them on it.
async fn take_in(
    gateway: &Gateway,
    arrival: RequestArrival,
    identity: Option<CallerIdentity>,
    mut parts: Parts,
    body: Body,
) -> Result<Request, AccessRefusal> {
    let access = gateway.access();
    let options = access.options();
    let max_bytes = match &identity {
        Some(_) => options.max_body_bytes,
        None => options.max_body_bytes.min(STRANGER_BYTES),
    };
    let limits = BodyLimits { max_bytes, max_time: options.body_timeout };
    let bytes = read_body(&parts.headers, body, limits).await?;
    let credential =
        identity.as_ref().map_or(CallerCredential::Nothing, |identity| identity.credential);
    let binding = form_binding(&parts.headers, &arrival, access.is_owner_place(&arrival));
    let token = binding.map_or_else(FormToken::default, |binding| access.form_key().token(binding));
    let bytes = check_forgery(&parts, &arrival, credential, &token, bytes)?;
    if parts.headers.contains_key(header::CONTENT_LENGTH) {
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    }
    parts.extensions.insert(token);
    parts.extensions.insert(arrival);
    if let Some(identity) = identity {
        parts.extensions.insert(identity);
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Sends a person to the log-in, and tells a program that it needs a token.
fn refuse_stranger(gateway: &Gateway, class: RouteClass, request: &Request) -> AccessRefusal {
    let accepted = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    if class == RouteClass::Page && looks && wants_page {
        let wanted = request.uri().path_and_query().map_or("/", |wanted| wanted.as_str());
        return AccessRefusal::Login(wanted.to_owned());
    }
    AccessRefusal::no_token(gateway)
}
