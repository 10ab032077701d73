//! *View context*: all that a turn's model was sent, why each part is there, and what was left out.
//!
//! `/turns/{turn}` is a page of its own; with `fragment=1` it is the page's main part alone, which
//! the chat opens as a dialog. Everything is told from the record, in the words of `recto show`.

mod columns;
mod draft;
mod layer_bar;
mod left_out;
mod overview;
mod replay;
mod sent_text;
mod view;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{
    Actor, AgentError, RecordReader, ReplayCheck, Right, TurnComparison, TurnRecord, is_allowed,
    outline_request, restore_request,
};
use recto_context::{Tokens, TurnNumber};
use recto_store::{RequestRecord, StoredSession, StoredTurn, TurnId};
use serde::Deserialize;

use super::chat::session_title;
use super::diff::{changed_text, diff_facts, item_changes};
use super::files::FileLink;
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use crate::access::Caller;
use crate::extract::{PagePath, PageQuery};
use crate::gateway::Gateway;
use columns::{ColumnOptions, item_columns};
use left_out::left_out;
use sent_text::sent_text;
use view::RequestView;

pub(crate) use columns::{kind_title, memory_label};
pub(crate) use draft::draft_context;
pub(crate) use view::{include_badge, include_word, short_source, two_decimals};

/// What ids begin with inside the dialog, so that they are not those of the page below it.
const DIALOG_PREFIX: &str = "v-";

/// The module that pages with *View context* begin with.
pub(crate) const CONTEXT_SCRIPT: &str = "context.js";

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/turns/{turn}", get(show_turn))
        .route("/turns/{turn}/body", get(download_body))
        .route("/turns/{turn}/record", get(download_record))
        .route("/turns/{turn}/replay", post(replay::replay_turn))
}

/// What is wanted of a turn's page.
#[derive(Debug, Default, Deserialize)]
struct ContextQuery {
    /// The number of the request; the last page where none is named.
    request: Option<u32>,
    /// Anything here asks for the main part alone.
    fragment: Option<String>,
    /// Anything here has the body written anew and compared with the one sent.
    verify: Option<String>,
}

/// All that a turn's page shows.
pub(crate) struct ContextView {
    turn: StoredTurn,
    session: StoredSession,
    /// What the session is called.
    title: String,
    /// The requests of the turn: number and tokens.
    requests: Vec<(u32, Option<Tokens>)>,
    shown: Option<ShownRequest>,
    /// Why there is nothing to show, where that is so.
    nothing: Option<AgentError>,
    comparison: Option<TurnComparison>,
    neighbours: [Option<TurnId>; 2],
    verified: Option<ReplayCheck>,
    models: Vec<String>,
}

/// A recorded request that is shown.
struct ShownRequest {
    record: RequestRecord,
    page: RequestView,
}

async fn show_turn(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(turn): PagePath<String>,
    PageQuery(query): PageQuery<ContextQuery>,
) -> PageResult<Markup> {
    let view = load_turn(&gateway, &visitor.actor, &turn, &query).await?;
    let chrome = PageChrome::load(&gateway, &visitor, &view.session.agent).await?;
    if query.fragment.is_some() {
        return Ok(turn_content(&gateway, &visitor.actor, &chrome, &view, DIALOG_PREFIX));
    }
    let title = format!("Context of turn {}", view.turn.id);
    let scripts = &[CONTEXT_SCRIPT];
    let frame = PageFrame { title: &title, page: Some(NavPage::Chat), body_class: "", scripts };
    let content = turn_content(&gateway, &visitor.actor, &chrome, &view, "");
    Ok(chrome.render(frame, &html! { main.page id="main" { (content) } }))
}

async fn load_turn(
    gateway: &Gateway,
    actor: &Actor,
    name: &str,
    query: &ContextQuery,
) -> PageResult<ContextView> {
    let reader = RecordReader::new(gateway.store(), actor);
    let record = reader.find_turn(name).await?;
    let turn = record.turn().clone();
    let session = reader.session(turn.session).await?;
    let (shown, nothing) = match record.request_or_page(query.request).await {
        Ok(request) => {
            let context = restore_request(gateway.store(), &request).await?;
            let page = RequestView::of_record(context, &request);
            (Some(ShownRequest { record: request, page }), None)
        }
        Err(
            error @ (AgentError::SentNothing { .. }
            | AgentError::RecordDropped { .. }
            | AgentError::OnlySummary { .. }),
        ) => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let verified = match (&shown, &query.verify) {
        (Some(shown), Some(_)) => record.verify(Some(shown.record.number)).await?.pop(),
        _ => None,
    };
    let models = gateway.agent(&session.agent).map(|agent| agent.models()).unwrap_or_default();
    Ok(ContextView {
        requests: request_sizes(gateway, &record).await?,
        comparison: compare_with_before(reader, record).await,
        neighbours: neighbours(gateway, &turn).await?,
        title: session_title(gateway, &session).await?,
        models: models.iter().map(|model| model.name.to_string()).collect(),
        turn,
        session,
        shown,
        nothing,
        verified,
    })
}

/// How far a turn agrees with the one before it; nothing for the first of a session.
async fn compare_with_before<'a>(
    reader: RecordReader<'a>,
    record: TurnRecord<'a>,
) -> Option<TurnComparison> {
    let before = record.turn_before().await.ok()?;
    reader.compare_turns(before, Some(record)).await.ok()
}

/// The turn's requests with what each took; nothing where its record can't be read.
async fn request_sizes(
    gateway: &Gateway,
    record: &TurnRecord<'_>,
) -> PageResult<Vec<(u32, Option<Tokens>)>> {
    let requests = gateway.store().requests(record.id()).await?;
    let size = |request| outline_request(request).ok().map(|outline| outline.prompt_tokens());
    Ok(requests.iter().map(|request| (request.number, size(request))).collect())
}

/// The turns before and after a turn in its session.
async fn neighbours(gateway: &Gateway, turn: &StoredTurn) -> PageResult<[Option<TurnId>; 2]> {
    let at = |number: u32| gateway.store().turn_at(turn.session, TurnNumber(number));
    let before = match turn.number.0.checked_sub(1) {
        Some(number) => at(number).await?,
        None => None,
    };
    Ok([before, at(turn.number.0.saturating_add(1)).await?])
}

/// The exact bytes that a request sent, as a file.
async fn download_body(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(turn): PagePath<String>,
    PageQuery(query): PageQuery<ContextQuery>,
) -> PageResult<Response> {
    let reader = RecordReader::new(gateway.store(), &actor);
    let record = reader.find_turn(&turn).await?;
    let request = record.request_or_page(query.request).await?;
    let name = format!("turn-{}-request-{}.json", request.turn, request.number);
    Ok(attachment(&name, gateway.store().body(request.id).await?))
}

/// All that is known of a turn, as a file.
async fn download_record(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(turn): PagePath<String>,
) -> PageResult<Response> {
    let reader = RecordReader::new(gateway.store(), &actor);
    let record = reader.find_turn(&turn).await?;
    let all_requests = None;
    let json = record.json(all_requests).await?;
    let bytes = serde_json::to_vec_pretty(&json).unwrap_or_default();
    Ok(attachment(&format!("turn-{}.json", record.id()), bytes))
}

/// Bytes that a browser saves and never shows, whatever is in them.
fn attachment(name: &str, bytes: Vec<u8>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let mut response = ([(header::CONTENT_TYPE, kind)], bytes).into_response();
    if let Ok(disposition) = disposition {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}

/// The main part: the same on the page and in the dialog.
fn turn_content(
    gateway: &Gateway,
    actor: &Actor,
    chrome: &PageChrome,
    view: &ContextView,
    prefix: &str,
) -> Markup {
    let recorded = view.shown.as_ref().map(|shown| (view.turn.id, shown.record.number));
    let file_link = FileLink::for_actor(actor, &view.session.agent, recorded);
    let options = ColumnOptions { prefix, file_link };
    let may_replay = is_allowed(actor.role, Right::Replay).then_some(chrome);
    html! {
        (overview::head(view, may_replay, prefix))
        @match (&view.shown, &view.nothing) {
            (Some(shown), _) => {
                (overview::facts(view, shown))
                (overview::request_section(view, shown, prefix))
                (items_section(&shown.page, options))
                div.split {
                    (aside(gateway, view, &shown.page, prefix))
                    (sent_text(&shown.page, "Exact text as sent", options))
                }
            },
            (None, Some(error)) => section.empty {
                h2 { "Nothing was sent" }
                (nothing_words(error))
            },
            (None, None) => {},
        }
    }
}

fn items_section(page: &RequestView, options: ColumnOptions<'_>) -> Markup {
    let id = format!("{}items-title", options.prefix);
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { "Items on the page" }
            (item_columns(page, options))
        }
    }
}

/// Why a turn has no page to show, with the way to one that has.
fn nothing_words(error: &AgentError) -> Markup {
    html! {
        p { (error) "." }
        @match error {
            AgentError::SentNothing { why, sent, .. } => {
                @if !why.is_empty() { p { (why) "." } }
                @if let Some(turn) = sent {
                    p { a href={ "/turns/" (turn) } { "Turn " (turn) } " is the last that sent something." }
                }
            },
            AgentError::OnlySummary { turn, request } => p {
                a href={ "/turns/" (turn) "?request=" (request) } { "Request " (request) } " asked for it."
            },
            _ => {},
        }
    }
}

/// What was left out, and how far the turn agrees with the one before.
fn aside(gateway: &Gateway, view: &ContextView, page: &RequestView, prefix: &str) -> Markup {
    // The mark in the text is that of the request that is shown, and of the one before it.
    let agreed = view.comparison.as_ref().map(|compared| compared.comparison.agreed_bytes);
    let is_same = agreed.is_some() && agreed == page.agreed_bytes;
    let first_change = if is_same { format!("#{prefix}first-change") } else { String::new() };
    html! {
        aside aria-label="What was left out, and what changed" {
            @if let Some(compared) = &view.comparison {
                section aria-labelledby={ (prefix) "diff-title" } {
                    h2 id={ (prefix) "diff-title" } {
                        a href={ "/turns/" (view.turn.id) "/diff" } {
                            "Against turn " (compared.requests.before.turn)
                        }
                    }
                    (diff_facts(&compared.comparison, &first_change))
                    (changed_text(&compared.comparison))
                    (item_changes(&compared.comparison))
                }
            }
            (left_out(gateway, &page.context, prefix))
        }
    }
}
