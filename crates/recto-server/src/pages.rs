//! The web pages, rendered on the server. Everything can be read and a message can be sent without
//! a script; scripts make it live.
//!
//! Whatever people and models wrote is escaped by maud's types. `PreEscaped` stands only for
//! constants of this crate, and for what `markdown.rs` has made safe. What hides in it is written
//! out as a page leaves (`visible_text.rs`).

mod chart;
mod chat;
mod context;
mod diff;
mod files;
mod item_search;
mod layer_bar;
mod layout;
mod markdown;
mod memories;
mod models;
mod page_problem;
mod pairings;
mod schedules;
mod session_panel;
mod times;
mod visible_text;
mod workspace;

use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Router, middleware};

use crate::assets;
use crate::extract::refuse_page;
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, describe_remedies};

pub(crate) use layout::{render_stranger_page, with_code};
pub(crate) use page_problem::PageProblem;

/// The routes of the pages and of what they load.
pub(crate) fn routes(gateway: &Gateway) -> Router<Gateway> {
    Router::new()
        .route("/assets/{folder}/{name}", get(assets::serve_asset))
        .merge(chat::routes())
        .merge(context::routes())
        .merge(diff::routes())
        .merge(files::routes())
        .merge(workspace::routes())
        .merge(memories::routes())
        .merge(models::routes())
        .merge(pairings::routes())
        .merge(schedules::routes())
        .merge(chart::routes())
        .method_not_allowed_fallback(refuse_method)
        .fallback(page_problem::refuse_path)
        .layer(middleware::from_fn_with_state(gateway.clone(), page_problem::complete_problems))
        // Scripts are told in the API's form.
        .layer(middleware::from_fn_with_state(gateway.clone(), describe_remedies))
        .layer(middleware::from_fn(visible_text::reveal_pages))
}

/// Answers for a method that a page does not have.
async fn refuse_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let title = format!("`{}` can't be asked by {method}", uri.path());
    let problem = ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", title);
    refuse_page(&headers, problem)
}
