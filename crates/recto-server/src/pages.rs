//! The web pages, rendered on the server. Everything can be read and a message can be sent without
//! a script; scripts make it live.
//!
//! Whatever people and models wrote is escaped by maud's types. `PreEscaped` stands only for
//! constants of this crate, and for what `markdown.rs` has made safe.

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
mod session_panel;
mod times;
mod workspace;

use axum::Router;
use axum::routing::get;

use crate::assets;
use crate::gateway::Gateway;

/// The routes of the pages and of what they load.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/assets/{folder}/{name}", get(assets::serve_asset))
        .merge(chat::routes())
        .merge(context::routes())
        .merge(diff::routes())
        .merge(files::routes())
        .merge(workspace::routes())
        .merge(memories::routes())
        .merge(models::routes())
        .merge(chart::routes())
}
