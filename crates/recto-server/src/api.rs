//! `/api`: everything that Recto's own pages and programs need, as JSON and as streams of events.
//!
//! Handlers are thin: they read a request, ask the agent or the record, and answer. Each says what
//! it takes and gives, and the description at `/api/openapi.json` is made of that.

#![allow(unused_qualifications, reason = "the macros of utoipa write them")]

mod approvals;
mod attachments;
mod description;
mod items;
mod live_events;
mod memories;
mod messages;
mod overview;
mod paging;
mod preview;
mod records;
mod replays;
mod schedules;
mod session_context;
mod sessions;
mod shapes;

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::{OpenApi as OpenApiDocument, RefOr};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::gateway::Gateway;
use crate::problem::{ApiProblem, describe_remedies};

use description::{ApiDescription, add_problems};

pub(crate) use approvals::ApprovalWord;
pub(crate) use messages::resend;
pub(crate) use paging::PageCursor;

/// The routes of `/api`, with the description of them.
pub(crate) fn routes(gateway: &Gateway) -> Router<Gateway> {
    let (router, described) = described_routes().split_for_parts();
    let description: &'static str = description::write(&described).leak();
    let unread = Arc::new(UnreadParts::find(&described));
    let api_only = Router::new()
        .merge(router)
        .route("/api/openapi.json", get(move || async move { json_text(description) }))
        .route("/api", get(refuse_path))
        .route("/api/", get(refuse_path))
        .route("/api/{*path}", axum::routing::any(refuse_path))
        .method_not_allowed_fallback(refuse_method);
    api_only
        .layer(middleware::from_fn_with_state(unread, refuse_unread))
        .layer(middleware::from_fn_with_state(gateway.clone(), describe_remedies))
}

/// The description of the API as text, in the form in which it is kept beside the code.
pub fn write_openapi() -> String {
    let (_, described) = described_routes().split_for_parts();
    description::write(&described)
}

fn described_routes() -> OpenApiRouter<Gateway> {
    let mut described = ApiDescription::openapi();
    described.info.version = env!("CARGO_PKG_VERSION").to_owned();
    let mut router = OpenApiRouter::with_openapi(described)
        .merge(session_routes())
        .merge(turn_routes())
        .merge(workspace_routes())
        .merge(schedule_routes())
        .routes(routes!(live_events::follow_all))
        .routes(routes!(approvals::list_approvals))
        .routes(routes!(approvals::show_approval, approvals::answer_approval))
        .routes(routes!(overview::list_agents))
        .routes(routes!(overview::list_models))
        .routes(routes!(overview::show_stats))
        .routes(routes!(overview::show_doctor));
    add_problems(router.get_openapi_mut());
    router
}

fn session_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(sessions::list_sessions, sessions::begin_session))
        .routes(routes!(sessions::show_session, sessions::change_session, sessions::delete_session))
        .routes(routes!(sessions::export_session))
        .routes(routes!(messages::list_messages, messages::submit_message))
        .routes(routes!(messages::search_messages))
        .routes(routes!(messages::stop_turn))
        .routes(routes!(messages::undo_exchange))
        .routes(routes!(live_events::follow_session))
        .routes(routes!(preview::preview_message))
        .routes(routes!(session_context::list_items, session_context::add_item))
        .routes(routes!(session_context::remove_item))
        .routes(routes!(session_context::show_settings, session_context::change_settings))
}

fn turn_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(records::list_turns))
        .routes(routes!(records::show_turn))
        .routes(routes!(records::show_context))
        .routes(routes!(records::show_body))
        .routes(routes!(records::show_text))
        .routes(routes!(records::compare_turns))
        .routes(routes!(records::explain_item))
        .routes(routes!(replays::verify_turn))
        .routes(routes!(replays::replay_turn))
}

fn workspace_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(items::list_all))
        .routes(routes!(items::show_item, items::change_include))
        .routes(routes!(items::search_all))
        .routes(routes!(memories::list_memories, memories::add_memory))
        .routes(routes!(memories::change_memory, memories::forget_memory))
        .routes(routes!(memories::restore_memory))
}

fn schedule_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(schedules::list_schedules, schedules::add_schedule))
        .routes(routes!(schedules::show_schedule, schedules::remove_schedule))
        .routes(routes!(schedules::list_runs, schedules::start_run))
}

fn json_text(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// What operations don't read, as they are described.
#[derive(Debug, Default)]
struct UnreadParts {
    /// Those that take no query.
    query: HashSet<(Method, String)>,
    /// Those that take no body.
    body: HashSet<(Method, String)>,
}

impl UnreadParts {
    fn find(document: &OpenApiDocument) -> Self {
        let is_query = |parameter: &RefOr<Parameter>| match parameter {
            RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
            RefOr::Ref(_) => false,
        };
        let mut unread = UnreadParts::default();
        for (path, item) in &document.paths.paths {
            let operations = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
                (Method::PATCH, &item.patch),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                if !operation.parameters.iter().flatten().any(is_query) {
                    unread.query.insert((method.clone(), path.clone()));
                }
                if operation.request_body.is_none() {
                    unread.body.insert((method, path.clone()));
                }
            }
        }
        unread
    }
}

/// Refuses a query or a body where none is read: who sends one means something by it.
async fn refuse_unread(
    State(unread): State<Arc<UnreadParts>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref method => method.clone(),
    };
    let path = path.map(|path| path.as_str().to_owned()).unwrap_or_default();
    let operation = (method, path);
    let query = request.uri().query().unwrap_or_default();
    if unread.query.contains(&operation)
        && let Some((name, _)) = form_urlencoded::parse(query.as_bytes()).next()
    {
        let title = "the query is not what is expected here";
        return ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title)
            .detail(format!("unknown field `{name}`, there are none"))
            .into_response();
    }
    if !unread.body.contains(&operation) {
        return next.run(request).await;
    }
    // It was read whole before, within its limits.
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    match unread_field(&body) {
        Some(problem) => problem.into_response(),
        None => next.run(Request::from_parts(parts, Body::empty())).await,
    }
}

/// The problem of a body where none is read, if it says anything: many programs send an empty object
/// with whatever they send.
fn unread_field(body: &[u8]) -> Option<ApiProblem> {
    if body.trim_ascii().is_empty() {
        return None;
    }
    let detail = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => {
            format!("unknown field `{}`, there are none", fields.keys().next()?)
        }
        _ => "there are no fields, and it is no JSON object".to_owned(),
    };
    let title = "the body is not what is expected here";
    Some(
        ApiProblem::new(StatusCode::BAD_REQUEST, "bad_field", title)
            .detail(detail)
            .hint("leave the body out; the path says all that is read"),
    )
}

/// Answers for a path that nothing has.
async fn refuse_path(uri: Uri) -> ApiProblem {
    let title = format!("there is nothing at `{}`", uri.path());
    ApiProblem::new(StatusCode::NOT_FOUND, "no_such_path", title)
        .hint("`/api/openapi.json` says what there is")
}

/// Answers for a method that a path does not have.
async fn refuse_method(method: Method, request: Request) -> ApiProblem {
    let title = format!("`{}` can't be asked by {method}", request.uri().path());
    ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", title)
        .hint("`/api/openapi.json` says how it can")
}
