//! What moves a page: one stream for all that it follows, and a look at how the newest turns stand.
//!
//! Browsers open six connections to a server at most, over all of their windows, and a stream
//! holds one: so a page has one stream, for the list of sessions and for the session that it shows.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use maud::Markup;
use recto_agent::{EventCursor, EventNumber};
use recto_context::MessageId;
use recto_store::{SessionId, TurnId};
use serde::{Deserialize, Serialize};

use super::talk_page::{TurnView, has_article};
use super::turn_article::state_name;
use crate::access::Caller;
use crate::events;
use crate::extract::{ApiJson, PagePath, PageQuery};
use crate::gateway::Gateway;
use crate::pages::markdown::render_markdown;
use crate::problem::ApiResult;

/// How many of the newest turns a page is told of, which may have missed some.
const NEWEST_TURNS: u32 = 20;

/// What tells a page whether it is up to date.
#[derive(Debug, Serialize)]
pub(crate) struct TurnStates {
    /// The newest turns, and all that are open, with how they stand.
    turns: Vec<LiveTurnState>,
    /// Whether there are turns before the newest: a page that shows none of these has missed more
    /// than they are.
    has_more: bool,
    /// The first message of what was put into the session last, from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<MessageId>,
}

/// How a turn stands, as its article says it.
#[derive(Debug, Serialize)]
pub(crate) struct LiveTurnState {
    turn: TurnId,
    state: &'static str,
    taken_back: bool,
}

/// Tells how the newest turns stand, also those of other processes: for a page that has heard of a
/// change, or comes back.
pub(crate) async fn list_turn_states(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
) -> ApiResult<Json<TurnStates>> {
    let (_, session) = gateway.find_session(&actor, session).await?;
    let store = gateway.store();
    let newest = store.last_turns(session.id, None, NEWEST_TURNS).await?;
    let has_more = newest.len() == NEWEST_TURNS as usize;
    let taken_back = store.retractions(session.id).await?;
    let mut open = store.open_turns().await?.turns;
    open.retain(|turn| turn.session == session.id && newest.iter().all(|new| new.id != turn.id));
    let mut turns = Vec::new();
    for turn in open.into_iter().chain(newest).filter(has_article) {
        turns.push(LiveTurnState {
            turn: turn.id,
            taken_back: taken_back.iter().any(|retraction| retraction.turn == Some(turn.id)),
            state: state_name(&TurnView::load_state(store, turn).await?),
        });
    }
    let exchange = TurnView::find_newest_exchange(store, &session).await?;
    Ok(Json(TurnStates { turns, has_more, exchange }))
}

/// What a page follows.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamQuery {
    /// The session that it shows; the page of a new one shows none.
    session: Option<SessionId>,
    /// The last event of the session that it knows of.
    #[serde(default)]
    after: u64,
}

/// Follows the list of sessions, and a session from where the browser was, or else with all that is
/// kept of the turn that runs: a page that was opened in the middle of a reply shows all of it.
pub(crate) async fn follow_page(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageQuery(query): PageQuery<StreamQuery>,
    headers: HeaderMap,
) -> ApiResult<impl IntoResponse> {
    let seen = events::read_last_event(&headers)?.unwrap_or(EventNumber(query.after));
    let session = match query.session {
        Some(session) => {
            let (agent, _) = gateway.find_session(&actor, session).await?;
            Some(agent.listen(&actor, session, EventCursor::After(seen)).await?)
        }
        None => None,
    };
    let list = gateway.feed().listen(&gateway, &actor);
    Ok(events::stream_page(list, session, gateway.metrics().open_stream()))
}

/// The text of a reply that has come so far.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComingReply {
    text: String,
}

/// Draws a reply that comes as one that is whole. Nothing is kept.
pub(crate) async fn draw_reply(_: Caller, ApiJson(reply): ApiJson<ComingReply>) -> Markup {
    render_markdown(&reply.text)
}
