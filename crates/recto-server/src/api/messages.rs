//! Messages: read in pages, searched, sent, taken back; and the turn that answers, stopped.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use recto_agent::{
    Actor, Agent, AgentError, ChatCommand, CommandReply, Inbound, InboundIntake, RecordReader,
    SessionSettings, Submission, SurfaceMessage, message_hit_json, transcript_json,
};
use recto_context::MessageId;
use recto_store::{MessageCursor, SessionId, SettingsMap};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::attachments::{MessageFile, read_files};
use super::paging::{PageCursor, PageLimit};
use super::shapes::{ContextModeShape, MessageListShape, SettingsShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathId};
use crate::gateway::{Gateway, web_conversation};
use crate::problem::{ApiProblem, ApiResult};

/// Which messages are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageListQuery {
    /// Those right before the message of this number.
    #[param(value_type = Option<u64>)]
    before: Option<PageCursor>,
    /// Those right behind the message of this number.
    #[param(value_type = Option<u64>)]
    after: Option<PageCursor>,
    /// How many are listed, at most 500; 50 where nothing is said.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: PageLimit,
}

/// Lists messages of a session, the newest first.
#[utoipa::path(
    get, path = "/api/sessions/{session}/messages", tag = "sessions",
    params(
        ("session" = i64, Path, minimum = 1, description = "The number of the session"),
        MessageListQuery
    ),
    responses((status = 200, description = "A page of messages", body = MessageListShape))
)]
pub(crate) async fn list_messages(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiQuery(query): ApiQuery<MessageListQuery>,
) -> ApiResult<Json<Value>> {
    RecordReader::new(gateway.store(), &actor).session(session).await?;
    let cursor = match (query.before, query.after) {
        (None, None) => MessageCursor::Newest,
        (Some(number), None) => MessageCursor::Before(MessageId(number.get())),
        (None, Some(number)) => MessageCursor::After(MessageId(number.get())),
        (Some(_), Some(_)) => {
            let title = "a page is either before a message or behind one";
            return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title));
        }
    };
    let limit = query.limit.rows();
    // One more than is shown tells whether there are more.
    let mut messages = gateway.store().messages_page(session, cursor, limit + 1).await?;
    let has_more = messages.len() > limit as usize;
    match cursor {
        MessageCursor::After(_) if has_more => drop(messages.remove(0)),
        _ => messages.truncate(limit as usize),
    }
    let retractions = gateway.store().retractions(session).await?;
    let messages = transcript_json(&messages, &retractions);
    Ok(Json(json!({"messages": messages, "has_more": has_more})))
}

/// Words that messages are searched for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageSearchQuery {
    /// The words; all must be in a message.
    query: String,
    /// How many are listed, at most 500; 50 where nothing is said.
    #[serde(default)]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: PageLimit,
}

/// Finds words in the messages of all sessions.
#[utoipa::path(
    get, path = "/api/messages", tag = "sessions", params(MessageSearchQuery),
    responses((status = 200, description = "Where the words are, in `messages`", body = Object))
)]
pub(crate) async fn search_messages(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<MessageSearchQuery>,
) -> ApiResult<Json<Value>> {
    let reader = RecordReader::new(gateway.store(), &actor);
    let hits = reader.search_messages(&query.query, query.limit.rows() as usize).await?;
    Ok(Json(json!({"messages": hits.iter().map(message_hit_json).collect::<Vec<_>>()})))
}

/// How a message takes the place of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageReplacement {
    /// It is sent instead, with what came along with the last one.
    Edit,
    /// The last message itself is sent again.
    Retry,
}

/// A message for the model.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewMessageBody {
    /// What is said; nothing where the last message is sent again.
    text: Option<String>,
    /// Settings for this turn alone.
    #[schema(value_type = SettingsShape)]
    settings: SettingsMap,
    /// How much this turn sends: short for the setting of that name.
    #[schema(value_type = Option<ContextModeShape>)]
    context_mode: Option<String>,
    /// Files that come along.
    files: Vec<MessageFile>,
    /// Whether it takes the place of the last exchange.
    replaces: Option<MessageReplacement>,
    /// The client's own id of the message, without NUL: one that is sent again begins no other
    /// turn.
    #[schema(min_length = 1, max_length = 256)]
    delivery: Option<String>,
}

/// The most characters of a client's own id of a message.
const LONGEST_DELIVERY: usize = 256;

/// A message that is stored.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AcceptedMessage {
    /// The turn that it begins, or has begun when it was first delivered.
    turn: i64,
    /// The session of that turn.
    session: i64,
    /// An event before all of that turn: whoever follows the session after it hears all of them, or
    /// a snapshot in place of those that are no longer kept.
    before: u64,
    /// Whether it was delivered before.
    known: bool,
}

/// Stores a message and begins its turn. A session comes out of the archive by it.
#[utoipa::path(
    post, path = "/api/sessions/{session}/messages", tag = "sessions",
    request_body = NewMessageBody,
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 202, description = "The message is stored", body = AcceptedMessage))
)]
pub(crate) async fn submit_message(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiJson(message): ApiJson<NewMessageBody>,
) -> ApiResult<impl IntoResponse> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let stored = match message.find_delivered(agent, &actor, session).await? {
        // It may stand in place of what it has itself taken the place of.
        Some(known) => known,
        None => {
            let inbound = message.into_inbound(agent, &actor, session).await?;
            agent.submit(session, inbound).await?
        }
    };
    let accepted = AcceptedMessage {
        turn: stored.turn.get(),
        session: stored.session.get(),
        before: stored.before.0,
        known: stored.intake == InboundIntake::Known,
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

impl NewMessageBody {
    /// What became of the message when it was delivered before, if it was.
    async fn find_delivered(
        &self,
        agent: &Agent,
        actor: &Actor,
        session: SessionId,
    ) -> ApiResult<Option<Submission>> {
        match self.delivery(actor, session)? {
            Some(delivery) => Ok(agent.find_submission(actor, &delivery).await?),
            None => Ok(None),
        }
    }

    /// The client's own id of the message, within its session.
    fn delivery(&self, actor: &Actor, session: SessionId) -> ApiResult<Option<SurfaceMessage>> {
        let Some(id) = self.delivery.clone() else { return Ok(None) };
        let has_room = (1..=LONGEST_DELIVERY).contains(&id.chars().count());
        if !has_room || id.contains('\0') {
            let title =
                format!("`delivery` has 1 to {LONGEST_DELIVERY} characters, and no NUL in them");
            return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_field", title)
                .hint("leave it out, or send an id of your own, such as a UUID"));
        }
        let conversation = web_conversation(actor, &format!("session-{session}"));
        Ok(Some(SurfaceMessage { conversation, id }))
    }

    /// The message as the agent takes it.
    pub(crate) async fn into_inbound(
        self,
        agent: &Agent,
        actor: &Actor,
        session: SessionId,
    ) -> ApiResult<Inbound> {
        let delivery = self.delivery(actor, session)?;
        let mut inbound = match (self.replaces, &self.text) {
            (Some(MessageReplacement::Edit), Some(text)) => {
                resend(agent, actor, session, ChatCommand::Edit(Some(text.clone()))).await?
            }
            (Some(MessageReplacement::Retry), None) => {
                resend(agent, actor, session, ChatCommand::Retry).await?
            }
            (Some(MessageReplacement::Retry), Some(_)) => {
                let title = "what is sent again has its own text";
                return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_field", title)
                    .hint("leave `text` out, or say `\"replaces\": \"edit\"`"));
            }
            (_, text) => Inbound::text(actor, text.as_deref().unwrap_or_default()),
        };
        inbound.content.extend(read_files(self.files)?);
        let mut settings = self.settings;
        if let Some(mode) = self.context_mode {
            settings.insert("context_mode".to_owned(), mode.into());
        }
        inbound.settings = SessionSettings::from_values(&settings)?;
        inbound.delivery = delivery;
        Ok(inbound)
    }
}

/// The message that a command says is to be sent in place of the last exchange.
pub(crate) async fn resend(
    agent: &Agent,
    actor: &Actor,
    session: SessionId,
    command: ChatCommand,
) -> ApiResult<Inbound> {
    match perform(agent, actor, session, command).await? {
        CommandReply::Resend(inbound) => Ok(*inbound),
        reply => Err(unexpected(&reply)),
    }
}

/// Performs a command in a session.
pub(crate) async fn perform(
    agent: &Agent,
    actor: &Actor,
    session: SessionId,
    command: ChatCommand,
) -> ApiResult<CommandReply> {
    let conversation = web_conversation(actor, &session.to_string());
    Ok(agent.command(actor, &conversation, session, command).await?)
}

/// The fault of a command that answers with something else than it does.
pub(crate) fn unexpected(reply: &CommandReply) -> ApiProblem {
    AgentError::Fault { what: format!("{reply:?}") }.into()
}

/// Stops the turn that runs in a session, wherever it runs.
#[utoipa::path(
    post, path = "/api/sessions/{session}/stop", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((
        status = 200, body = Object,
        description = "What becomes of it, in `session`: `outcome` is `now`, `elsewhere`, `closed` or \
                       `nothing_runs`"
    ))
)]
pub(crate) async fn stop_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    match perform(agent, &actor, session, ChatCommand::Stop(None)).await? {
        CommandReply::Stopped(report) => {
            Ok(Json(json!({"session": session, "outcome": report.outcome})))
        }
        reply => Err(unexpected(&reply)),
    }
}

/// Takes back the last message of a session with its reply. What tools did stays done.
#[utoipa::path(
    post, path = "/api/sessions/{session}/undo", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((
        status = 200, body = Object,
        description = "What was taken back: `turn`, `messages`, `text`, and what `stays_done`"
    ))
)]
pub(crate) async fn undo_exchange(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    match perform(agent, &actor, session, ChatCommand::Undo).await? {
        CommandReply::Undone(undone) => Ok(Json(json!(undone))),
        reply => Err(unexpected(&reply)),
    }
}
