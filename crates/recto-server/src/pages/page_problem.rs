//! An error as a page: what happened, to what, and what to do.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use recto_agent::AgentError;
use recto_store::StoreError;

use super::layout::{PageChrome, PageFrame, PageVisitor, with_code};
use crate::gateway::Gateway;
use crate::problem::ApiProblem;

/// An error that a person meets on a page.
#[derive(Debug, Clone)]
pub(crate) struct PageProblem(pub(crate) ApiProblem);

/// The result of a handler that answers with a page.
pub(crate) type PageResult<T> = Result<T, PageProblem>;

impl From<ApiProblem> for PageProblem {
    fn from(problem: ApiProblem) -> Self {
        PageProblem(problem)
    }
}

impl From<AgentError> for PageProblem {
    fn from(error: AgentError) -> Self {
        PageProblem(error.into())
    }
}

impl From<StoreError> for PageProblem {
    fn from(error: StoreError) -> Self {
        PageProblem(error.into())
    }
}

/// An error as a block of a page.
pub(crate) fn problem_block(problem: &ApiProblem) -> Markup {
    let hint = problem.hint_with_remedy();
    html! {
        div.block.error role="alert" {
            h2 { (with_code(&problem.title)) }
            @if let Some(detail) = &problem.detail { p { (with_code(detail)) } }
            @if let Some(hint) = hint { p { b { "Hint:" } " " (with_code(&hint)) } }
        }
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        // Whoever asked is told with their own top line where the page leaves (`complete_problems`).
        self.into_page(&PageChrome::plain())
    }
}

impl PageProblem {
    fn into_page(self, chrome: &PageChrome) -> Response {
        let status = self.0.status();
        let title = problem_title(status);
        let frame = PageFrame { title, page: None, body_class: "", scripts: &[] };
        let body = html! {
            main.page.narrow-page #main {
                h1 { (title) }
                (problem_block(&self.0))
                p { a.btn href="/" { "To the conversations" } }
            }
        };
        let mut answer = (status, chrome.render(frame, &body)).into_response();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// What a page of an error is called.
fn problem_title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::METHOD_NOT_ALLOWED => "Not by this way",
        status if status.is_server_error() => "Not at the moment",
        _ => "Not possible",
    }
}

/// Adds to the problem of a page what only the way out knows: the top line of whoever asked, and how
/// a remedy is applied, in the words of the program around the server.
pub(crate) async fn complete_problems(
    State(gateway): State<Gateway>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut asked = parts.clone();
    let answer = next.run(Request::from_parts(parts, body)).await;
    let Some(PageProblem(mut problem)) = answer.extensions().get::<PageProblem>().cloned() else {
        return answer;
    };
    if let Some(advice) = &mut problem.remedy {
        advice.words = gateway.describe_remedy(&advice.remedy);
    }
    let chrome = match PageVisitor::from_request_parts(&mut asked, &gateway).await {
        Ok(visitor) => PageChrome::around_problem(&gateway, &visitor).await,
        Err(_) => PageChrome::plain(),
    };
    PageProblem(problem).into_page(&chrome)
}

/// Answers for a path that nothing has: with a page to whoever looks at pages.
pub(crate) async fn refuse_path(uri: Uri, headers: HeaderMap) -> Response {
    let title = format!("there is nothing at `{}`", uri.path());
    let problem = ApiProblem::new(StatusCode::NOT_FOUND, "no_such_path", title);
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    match accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        true => PageProblem(problem.hint("the top line leads to all pages")).into_response(),
        false => problem.hint("`/api/openapi.json` says what there is").into_response(),
    }
}
