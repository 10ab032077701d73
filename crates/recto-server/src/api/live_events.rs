//! What happens, as streams of server-sent events: in one session, or in the list of all.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use recto_agent::{EventCursor, EventNumber};
use recto_store::SessionId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::paging::PageCursor;
use super::shapes::EventFrameShape;
use crate::access::Caller;
use crate::events::{read_last_event, stream_events, stream_feed};
use crate::extract::{ApiQuery, PathId};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// From where on events are heard.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// The number of the last event that was seen, for clients that can't set a header.
    #[param(value_type = Option<u64>)]
    after: Option<PageCursor>,
}

/// Follows what happens in a session: from now on, or behind the event that `last-event-id` or
/// `after` names. Where not all since is kept, a snapshot stands for it. `deleted` is the last event
/// of a session that is deleted.
#[utoipa::path(
    get, path = "/api/sessions/{session}/events", tag = "sessions",
    params(
        ("session" = i64, Path, minimum = 1, description = "The number of the session"),
        ("last-event-id" = Option<u64>, Header, description = "The last event that was seen"),
        EventQuery
    ),
    responses((
        status = 200, description = "Events; `data` is an `EventShape` as JSON",
        body = EventFrameShape, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn follow_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    headers: HeaderMap,
    ApiQuery(query): ApiQuery<EventQuery>,
) -> ApiResult<impl IntoResponse> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let seen = read_last_event(&headers)?.or(query.after.map(|after| EventNumber(after.get())));
    let cursor = seen.map_or(EventCursor::Now, EventCursor::After);
    let listener = agent.listen(&actor, session, cursor).await?;
    Ok(stream_events(listener, gateway.metrics().open_stream()))
}

/// Follows what changes in the list of sessions, in whichever process: sessions that come, go and
/// grow, turns that begin and end, questions.
#[utoipa::path(
    get, path = "/api/events", tag = "sessions",
    responses((
        status = 200, description = "Changes; `data` is a `FeedEvent` as JSON",
        body = EventFrameShape, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn follow_all(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<impl IntoResponse> {
    let listener = gateway.feed().listen(&gateway, &actor);
    Ok(stream_feed(listener, gateway.metrics().open_stream()))
}
