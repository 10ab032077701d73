//! The door before all routes: it finds out who sent a request, refuses what must not come in, and
//! hands on the rest with its sender.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use recto_agent::AgentError;

use super::arrival::{RequestArrival, is_from_browser};
use super::body::{BodyLimits, check_encoding, read_body};
use super::control::AccessOptions;
use super::forgery::{FormToken, check_forgery, form_binding};
use super::headers::{OpenerPolicy, set_security_headers};
use super::identity::{CallerCredential, CallerIdentity, identify};
use super::leases::{LeaseEnding, LeaseTerms};
use super::login::LoginReason;
use super::permits::RequestPermit;
use super::refusal::AccessRefusal;
use super::route_class::{RouteClass, begins_work, check_path};
use crate::extract::ProblemForm;
use crate::gateway::Gateway;
use crate::problem::ApiProblem;

/// The most bytes that somebody sends of whom nothing is known.
const STRANGER_BYTES: usize = 4_096;

/// A request that may go on to its route.
struct AdmittedRequest {
    request: Request,
    /// Held until all of the answer is sent; nothing where nothing is counted.
    permit: Option<RequestPermit>,
    /// What the answer ends with.
    lease: Option<LeaseTerms>,
}

/// Lets a request through to its route, or answers it.
pub(crate) async fn guard(
    State(gateway): State<Gateway>,
    request: Request,
    next: Next,
) -> Response {
    let form = match RouteClass::of_path(request.uri().path()) {
        RouteClass::Page | RouteClass::Public => ProblemForm::of_page(request.headers()),
        RouteClass::Open | RouteClass::Data | RouteClass::Door => ProblemForm::Data,
    };
    let opener = OpenerPolicy::of_request(&request);
    let mut answer = match admit(&gateway, request).await {
        Ok(admitted) => answer(&gateway, admitted, next).await,
        Err(refusal) => refusal.write(form),
    };
    set_security_headers(answer.headers_mut(), opener);
    answer
}

/// Lets the route answer, for as long as what the request came in by holds.
async fn answer(gateway: &Gateway, admitted: AdmittedRequest, next: Next) -> Response {
    let AdmittedRequest { request, permit, lease } = admitted;
    let ending = match RouteClass::of_path(request.uri().path()) {
        RouteClass::Door => LeaseEnding::BrokenOff,
        _ => LeaseEnding::Over,
    };
    let answer = match lease {
        None => next.run(request).await,
        Some(terms) => {
            let mut lease = gateway.access().leases().open(gateway, terms);
            let answer = tokio::select! {
                // Who logs out ends their own lease, and is answered.
                biased;
                answer = next.run(request) => Some(answer),
                () = lease.ended() => None,
            };
            match answer {
                Some(answer) => lease.hold_for(answer, ending),
                None => AccessRefusal::wrong_token(gateway).into_response(),
            }
        }
    };
    match permit {
        Some(permit) => permit.hold_for(answer),
        None => answer,
    }
}

/// Checks a request from its cheapest property to its dearest. Its body is read only once its
/// sender is known, and a store is asked only for those who show something.
async fn admit(gateway: &Gateway, request: Request) -> Result<AdmittedRequest, AccessRefusal> {
    let access = gateway.access();
    let class = RouteClass::of_path(request.uri().path());
    check_path(request.uri().path())?;
    let arrival = RequestArrival::read(&request, &access.options().hosts)?;
    arrival.check_site(request.method(), class, request.headers())?;
    if class == RouteClass::Open {
        // Without its body, which nobody there reads and nobody could be slow with.
        let request = request.map(|_| Body::empty());
        return Ok(AdmittedRequest { request, permit: None, lease: None });
    }
    check_encoding(request.headers())?;
    let identity = identify(gateway, &arrival, class, request.headers()).await?;
    if identity.is_none() && class != RouteClass::Public {
        return Err(refuse_stranger(gateway, class, &request));
    }
    if gateway.is_ending() && begins_work(request.method(), request.uri().path()) {
        return Err(ApiProblem::from(AgentError::ShuttingDown).into());
    }
    let stranger = arrival.stranger_key();
    let permit = access.permit(identity.as_ref().map_or(stranger, |identity| identity.key))?;
    let (parts, body) = request.into_parts();
    let limits = body_limits(access.options(), class, identity.as_ref());
    let bytes = read_body(&parts.headers, body, limits).await?;
    let lease = identity.as_ref().and_then(|identity| identity.lease);
    let request = check_intent(gateway, arrival, identity, parts, bytes)?;
    Ok(AdmittedRequest { request, permit: Some(permit), lease })
}

/// How much somebody may send, and how slowly.
fn body_limits(
    options: &AccessOptions,
    class: RouteClass,
    identity: Option<&CallerIdentity>,
) -> BodyLimits {
    let AccessOptions { max_body_bytes, max_door_bytes, body_timeout, .. } = *options;
    match (identity, class) {
        (None, _) => BodyLimits {
            max_bytes: max_body_bytes.min(STRANGER_BYTES),
            remedy: "send less, or log in first",
            max_time: body_timeout.min(options.stranger_timeout),
        },
        (Some(_), RouteClass::Door) => BodyLimits {
            max_bytes: max_door_bytes,
            remedy: "send less, or raise `server.max_door_bytes` in the config",
            max_time: body_timeout,
        },
        (Some(_), _) => BodyLimits {
            max_bytes: max_body_bytes,
            remedy: "send less, or raise `server.max_body_bytes` in the config",
            max_time: body_timeout,
        },
    }
}

/// Checks that the sender of a request meant it, and puts all that is known of them on it.
fn check_intent(
    gateway: &Gateway,
    arrival: RequestArrival,
    identity: Option<CallerIdentity>,
    mut parts: Parts,
    body: Bytes,
) -> Result<Request, AccessRefusal> {
    let form_key = gateway.access().form_key();
    let credential =
        identity.as_ref().map_or(CallerCredential::Nothing, |identity| identity.credential);
    let binding = form_binding(&parts.headers, &arrival, identity.as_ref());
    let token = binding.map_or_else(FormToken::default, |binding| form_key.token(binding));
    let bytes = check_forgery(&parts, &arrival, credential, &token, body)?;
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
    match class {
        RouteClass::Page if looks && wants_page => {
            let wanted = request.uri().path_and_query().map_or("/", |wanted| wanted.as_str());
            AccessRefusal::Login { wanted: wanted.to_owned(), reason: None }
        }
        RouteClass::Page if wants_page => {
            let wanted = page_of_form(request.uri().path());
            AccessRefusal::Login { wanted, reason: Some(LoginReason::Ended) }
        }
        // A script of a page, which has been there before.
        RouteClass::Page | RouteClass::Data if is_from_browser(request.headers()) => {
            AccessRefusal::logged_out()
        }
        _ => AccessRefusal::no_token(gateway),
    }
}

/// The page that a form stands on, as far as its path tells.
fn page_of_form(path: &str) -> String {
    match path.strip_prefix("/sessions/").and_then(|rest| rest.split('/').next()) {
        Some(session) => format!("/sessions/{session}"),
        None => "/".to_owned(),
    }
}
