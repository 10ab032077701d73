//! A session's events as a stream of server-sent events, which a client can go on with where it
//! left off.
//!
//! Each event has the session's own number as its id, so that a browser that comes back says
//! with `Last-Event-ID` what it has seen; where the log no longer has all since, a snapshot of
//! the running turn stands for it.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};
use recto_agent::{EventListener, EventNumber, TurnEvent};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::PageCursor;
use crate::metrics::OpenStream;
use crate::problem::{ApiProblem, ApiResult};
use crate::session_feed::{FeedEvent, FeedListener};

/// How often a comment says that the line still stands, where nothing else does.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The header by which a client that comes back says what it has seen.
const LAST_EVENT_ID: &str = "last-event-id";

/// What changes in the list of sessions are called in a page's stream.
const LIST_EVENT: &str = "list";

/// The last event that a client has seen, where its header names one. One that names none is refused:
/// what came since would be lost without a word.
pub(crate) fn read_last_event(headers: &HeaderMap) -> ApiResult<Option<EventNumber>> {
    let Some(value) = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|value| value.trim().parse().ok());
    let cursor = number.and_then(|number: u64| PageCursor::try_from(number).ok());
    cursor.map(|cursor| Some(EventNumber(cursor.get()))).ok_or_else(|| {
        let shown = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let title = format!("`{LAST_EVENT_ID}: {shown}` names no event");
        ApiProblem::new(StatusCode::BAD_REQUEST, "bad_header", title)
            .hint("send the `id` of the last event that you have seen, or leave the header out")
    })
}

/// The events that a listener hears, until the session is deleted, which is told, the agent is shut
/// down or the client leaves.
pub(crate) fn stream_events(
    listener: EventListener,
    open: OpenStream,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold(Some((listener, open)), async |state| {
        let (mut listener, open) = state?;
        match listener.next().await {
            Some(event) => Some((Ok(write_event(&event)), Some((listener, open)))),
            None if listener.is_deleted() => Some((write_data(&deletion_json(&listener)), None)),
            None => None,
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// What changes in the list of sessions, until the agents are shut down or the client leaves.
pub(crate) fn stream_feed(
    listener: FeedListener,
    open: OpenStream,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = list_changes(listener, open).map(|change| write_data(&change));
    Sse::new(changes).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// All that a page follows: changes in the list of sessions, under a name of their own, and the
/// events of the session that it shows. Only those have numbers, so that a browser that comes back
/// names the last of them; the list it is told to read again.
pub(crate) fn stream_page(
    list: FeedListener,
    session: Option<EventListener>,
    open: OpenStream,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = list_changes(list, open).map(|change| {
        let data = serde_json::to_string(&change).unwrap_or_default();
        Event::default().event(LIST_EVENT).data(data)
    });
    let events = stream::unfold(session, async |session| {
        let mut session = session?;
        let event = session.next().await?;
        Some((write_event(&event), Some(session)))
    });
    let both = stream::select(changes, events);
    Sse::new(both.map(Ok)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

fn list_changes(listener: FeedListener, open: OpenStream) -> impl Stream<Item = FeedEvent> {
    let changes = stream::unfold((listener, open), async |(mut listener, open)| {
        let events = listener.next().await?;
        Some((stream::iter(events), (listener, open)))
    });
    changes.flatten()
}

/// Data without a number: whoever comes back reads the list again.
pub(crate) fn write_data(data: &impl Serialize) -> Result<Event, Infallible> {
    Ok(Event::default().data(serde_json::to_string(data).unwrap_or_default()))
}

/// The last event of a session that was deleted.
fn deletion_json(listener: &EventListener) -> Value {
    json!({"event": "deleted", "session": listener.session(), "seq": listener.seen()})
}

/// An event as it goes over the line. All are of the one kind that every client hears; what
/// happened is in the data.
fn write_event(event: &TurnEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    Event::default().id(event.seq.to_string()).data(data)
}
