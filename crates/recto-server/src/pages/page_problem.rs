//! An error as a page: what happened, to what, and what to do.

use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use recto_agent::AgentError;
use recto_store::StoreError;

use super::layout::{NavPage, PageChrome, PageFrame, with_code};
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
    html! {
        div.block.error role="alert" {
            h3 { (with_code(&problem.title)) }
            @if let Some(hint) = &problem.hint {
                p { b { "Hint:" } " " (with_code(hint)) }
            }
        }
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        // Where a page could not be made, what stands around it is not asked for.
        let chrome = PageChrome { agent: String::new(), waiting: 0, form_field: html! {} };
        let frame =
            PageFrame { title: "Not possible", page: NavPage::Chat, body_class: "", scripts: &[] };
        let body = html! {
            main.page #main {
                h1 { "Not possible" }
                (problem_block(&self.0))
                p { a href="/" { "To the conversations" } }
            }
        };
        (self.0.status(), chrome.render(frame, &body)).into_response()
    }
}
