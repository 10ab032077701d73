//! The description of the API (`OpenAPI`), made from its handlers.

use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, OpenApi as OpenApiDocument, Ref, RefOr, Response};

use crate::problem::{ApiProblem, RemedyAdvice};
use crate::session_feed::FeedEvent;

use super::shapes::{EventShape, ReplayEventShape};

/// What is told of the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Recto",
        description = "Sessions, turns and what models were sent, of a local Recto.\n\n\
            Errors are problem documents (RFC 9457) with `code`, `hint` and `remedy`. Moments are \
            RFC 3339 in UTC; tokens and bytes are numbers. Fields may be added; none changes its \
            meaning.",
        license(name = "Apache-2.0 OR MIT"),
    ),
    components(schemas(ApiProblem, RemedyAdvice, FeedEvent, EventShape, ReplayEventShape)),
    tags(
        (name = "sessions", description = "Conversations: what was said, and what comes next"),
        (name = "turns", description = "What was sent to models, exactly, and why"),
        (name = "questions", description = "Whether a tool may run"),
        (name = "workspace", description = "Rules, references, skills, tools and memories"),
        (name = "schedules", description = "What agents do at set times"),
        (name = "setup", description = "Agents, models, and how it all stands"),
    ),
)]
pub(super) struct ApiDescription;

/// The problems that can be told instead of any answer.
const PROBLEMS: [(&str, &str); 16] = [
    ("400", "The request can't be understood, or asks for what can't be"),
    ("401", "Who calls is not known"),
    ("403", "The caller may not do this"),
    ("404", "There is no such thing for this caller"),
    ("405", "The path can't be asked by this method"),
    ("408", "The request took too long to arrive"),
    ("409", "It can't be done as things stand"),
    ("413", "The body is too large"),
    ("415", "The body is not JSON, or compressed"),
    ("421", "The server does not answer for this host"),
    ("429", "Too many requests; `retry-after` says when to come back"),
    ("500", "Something in Recto itself is broken"),
    ("501", "The body is transferred in a way that is not understood"),
    ("502", "The model's server failed"),
    ("503", "The server ends, has no model, or can't use its store"),
    ("504", "The model's server took too long"),
];

/// Adds the problems that any request can meet to all operations.
pub(super) fn add_problems(document: &mut OpenApiDocument) {
    let components = document.components.get_or_insert_default();
    for (status, words) in PROBLEMS {
        let mut response = Response::new(words);
        let schema = RefOr::Ref(Ref::from_schema_name("ApiProblem"));
        let content = RefOr::T(Content::new(Some(schema)));
        response.content.insert("application/problem+json".to_owned(), content);
        components.responses.insert(problem_name(status), RefOr::T(response));
    }
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        operations.into_iter().flatten().for_each(add_to_operation);
    }
}

fn add_to_operation(operation: &mut Operation) {
    for (status, _) in PROBLEMS {
        let response = Ref::from_response_name(problem_name(status));
        operation.responses.responses.insert(status.to_owned(), RefOr::Ref(response));
    }
}

/// What a problem of this status is called in the description.
fn problem_name(status: &str) -> String {
    format!("Problem{status}")
}

/// The description as text, the same for the same code.
pub(super) fn write(document: &OpenApiDocument) -> String {
    // Plain data: writing it down can't fail.
    document.to_pretty_json().unwrap_or_default() + "\n"
}
