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

/// A problem that can be told instead of an answer, and by which operations.
struct DescribedProblem {
    status: &'static str,
    words: &'static str,
    met_by: MetBy,
}

/// The operations that can meet a problem, told by what they take and do.
#[derive(Clone, Copy)]
enum MetBy {
    /// Each: whoever comes in can meet it.
    All,
    /// Those that name what they are about, in a path, a query or a body.
    Naming,
    /// Those that change something, begin work, or need the agent of a session.
    Changing,
    /// Those that may ask a model's server before they answer.
    AskingModels,
}

/// The operations that may ask a model's server before they answer.
const ASKING_MODELS: [&str; 3] = ["submit_message", "preview_message", "replay_turn"];

/// The operations that change nothing, and need the agent of a session: it may be gone.
const NEEDING_AGENT: [&str; 2] = ["follow_session", "explain_item"];

/// Makes an entry of the table below.
const fn problem(status: &'static str, met_by: MetBy, words: &'static str) -> DescribedProblem {
    DescribedProblem { status, words, met_by }
}

/// All problems. Of a body it is told also where none is asked for: it can come all the same. A method that a path does not have (405) is none of an operation's.
const PROBLEMS: [DescribedProblem; 15] = [
    problem("400", MetBy::All, "The request can't be understood, or asks for what can't be"),
    problem("401", MetBy::All, "Who calls is not known"),
    problem("403", MetBy::All, "The caller may not do this"),
    problem("404", MetBy::Naming, "There is no such thing for this caller"),
    problem("408", MetBy::All, "The request took too long to arrive"),
    problem("409", MetBy::Changing, "It can't be done as things stand"),
    problem("413", MetBy::All, "The body is too large"),
    problem("415", MetBy::All, "The body is not JSON, or compressed"),
    problem("421", MetBy::All, "The server does not answer for this host"),
    problem("429", MetBy::All, "Too many requests; `retry-after` says when to come back"),
    problem("500", MetBy::All, "Something in Recto itself is broken"),
    problem("501", MetBy::All, "The body is transferred in a way that is not understood"),
    problem("502", MetBy::AskingModels, "The model's server failed"),
    problem("503", MetBy::All, "The server ends, has no model, or can't use its store"),
    problem("504", MetBy::AskingModels, "The model's server took too long"),
];

impl MetBy {
    fn includes(self, operation: &Operation, is_change: bool) -> bool {
        let takes_body = operation.request_body.is_some();
        let is_one_of =
            |ids: &[&str]| operation.operation_id.as_deref().is_some_and(|id| ids.contains(&id));
        match self {
            MetBy::All => true,
            MetBy::Naming => takes_body || operation.parameters.iter().flatten().next().is_some(),
            MetBy::Changing => is_change || is_one_of(&NEEDING_AGENT),
            MetBy::AskingModels => is_one_of(&ASKING_MODELS),
        }
    }
}

/// Adds to each operation the problems that it can meet.
pub(super) fn add_problems(document: &mut OpenApiDocument) {
    let components = document.components.get_or_insert_default();
    for DescribedProblem { status, words, .. } in &PROBLEMS {
        let mut response = Response::new(*words);
        let schema = RefOr::Ref(Ref::from_schema_name("ApiProblem"));
        let content = RefOr::T(Content::new(Some(schema)));
        response.content.insert("application/problem+json".to_owned(), content);
        components.responses.insert(problem_name(status), RefOr::T(response));
    }
    for item in document.paths.paths.values_mut() {
        item.get.iter_mut().for_each(|operation| add_to_operation(operation, false));
        let changes = [&mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        changes.into_iter().flatten().for_each(|operation| add_to_operation(operation, true));
    }
}

fn add_to_operation(operation: &mut Operation, is_change: bool) {
    for DescribedProblem { status, met_by, .. } in &PROBLEMS {
        if met_by.includes(operation, is_change) {
            let response = Ref::from_response_name(problem_name(status));
            operation.responses.responses.insert((*status).to_owned(), RefOr::Ref(response));
        }
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

#[cfg(test)]
mod tests {
    use crate::api::described_routes;

    use super::*;

    /// The statuses of problems that an operation is said to meet.
    fn met(document: &OpenApiDocument, path: &str, method: &str) -> Vec<String> {
        let item = &document.paths.paths[path];
        let operation = match method {
            "get" => &item.get,
            "post" => &item.post,
            _ => &item.delete,
        };
        let statuses = operation.as_ref().unwrap().responses.responses.keys();
        statuses.filter(|status| !status.starts_with('2')).cloned().collect()
    }

    /// What each operation can meet, with these.
    fn with(more: &[&'static str]) -> Vec<&'static str> {
        let all = ["400", "401", "403", "408", "413", "415", "421", "429", "500", "501", "503"];
        let mut statuses = [&all[..], more].concat();
        statuses.sort_unstable();
        statuses
    }

    #[test]
    fn an_operation_names_the_problems_that_it_can_meet() {
        let (_, document) = described_routes().split_for_parts();
        assert_eq!(met(&document, "/api/doctor", "get"), with(&[]));
        assert_eq!(met(&document, "/api/sessions/{session}", "get"), with(&["404"]));
        assert_eq!(met(&document, "/api/sessions/{session}", "delete"), with(&["404", "409"]));
        assert_eq!(met(&document, "/api/turns/{turn}/why", "get"), with(&["404", "409"]));
        assert_eq!(met(&document, "/api/sessions", "post"), with(&["404", "409"]));
        let replay = with(&["404", "409", "502", "504"]);
        assert_eq!(met(&document, "/api/turns/{turn}/replay", "post"), replay);
    }

    #[test]
    fn those_that_are_named_are_operations() {
        let (_, document) = described_routes().split_for_parts();
        let text = write(&document);
        for id in ASKING_MODELS.into_iter().chain(NEEDING_AGENT) {
            assert!(text.contains(&format!("\"operationId\": \"{id}\"")), "{id}");
        }
    }
}
