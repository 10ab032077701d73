//! Turns: a message goes in, events come out, a running one can be stopped.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use recto_agent::{ChatCommand, CommandReply, Inbound, SessionSettings, StopReport};
use recto_store::{SessionId, TurnId};
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::events;
use crate::gateway::{Gateway, web_conversation};
use crate::problem::ApiResult;

/// A message for the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageBodyJson {
    /// What is said.
    text: String,
    /// Settings for this turn alone.
    #[serde(default)]
    settings: SessionSettings,
}

/// A message that is stored.
#[derive(Debug, Serialize)]
pub(crate) struct AcceptedMessage {
    /// The turn that it begins.
    turn: TurnId,
    /// An event before all of that turn: whoever follows the session after it hears all of them.
    before: u64,
}

/// Stores a message and begins its turn.
pub(crate) async fn submit_message(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    Json(message): Json<MessageBodyJson>,
) -> ApiResult<impl IntoResponse> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let mut inbound = Inbound::text(&actor, &message.text);
    inbound.settings = message.settings;
    let stored = agent.submit(session, inbound).await?;
    let accepted = AcceptedMessage { turn: stored.turn, before: stored.before.0 };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// Follows what happens in a session.
pub(crate) async fn follow_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    headers: HeaderMap,
) -> ApiResult<impl IntoResponse> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let listener = agent.listen(&actor, session, events::cursor_after(last)).await?;
    Ok(events::stream_events(listener))
}

/// Stops the turn that runs in a session, wherever it runs.
pub(crate) async fn stop_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
) -> ApiResult<Json<StopReport>> {
    let (agent, stored) = gateway.find_session(&actor, session).await?;
    let conversation = web_conversation(&actor, &stored.label());
    let stop = ChatCommand::Stop(None);
    match agent.command(&actor, &conversation, session, stop).await? {
        CommandReply::Stopped(report) => Ok(Json(report)),
        reply => Err(recto_agent::AgentError::Fault { what: format!("{reply:?}") }.into()),
    }
}
