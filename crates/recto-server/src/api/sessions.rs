//! Sessions: listed, begun, named, put away, exported and deleted.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use recto_agent::{
    Actor, RecordReader, Right, SessionExportForm, question_json, session_usage_json, summary_json,
};
use recto_store::{
    Moment, SessionFilter, SessionId, SessionSummary, Store, StoreResult, StoredApproval, TurnId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::paging::PageLimit;
use super::shapes::{SessionListShape, SessionShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathId};
use crate::gateway::{Gateway, web_conversation};
use crate::host::{HostFailure, HostRequest};
use crate::problem::{ApiProblem, ApiResult};

/// Which sessions are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionListQuery {
    /// Archived ones, too, and those in which sub-agents do tasks.
    archived: bool,
    /// Those alone in which sub-agents do tasks.
    tasks: bool,
    /// Those of this agent alone.
    agent: Option<String>,
    /// Those that began there alone: `terminal`, `web`, ….
    surface: Option<String>,
    /// Those whose name or first words have this text.
    text: Option<String>,
    /// How many are passed over.
    offset: usize,
    /// How many are listed, at most 500; 50 where nothing is said.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: PageLimit,
}

/// Lists sessions, the one spoken in last first.
#[utoipa::path(
    get, path = "/api/sessions", tag = "sessions", params(SessionListQuery),
    responses((status = 200, description = "The sessions", body = SessionListShape))
)]
pub(crate) async fn list_sessions(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<SessionListQuery>,
) -> ApiResult<Json<Value>> {
    let filter = match (query.tasks, query.archived) {
        (true, _) => SessionFilter::Tasks,
        (false, true) => SessionFilter::All,
        (false, false) => SessionFilter::Open,
    };
    let reader = RecordReader::new(gateway.store(), &actor);
    let mut sessions = reader.sessions(filter).await?;
    sessions.retain(|summary| query.fits(summary));
    let mut tasks = reader.sessions(SessionFilter::Tasks).await?;
    tasks.retain(|summary| query.fits(summary));
    let standing = OpenWork::read(gateway.store()).await?;
    let page = sessions.iter().skip(query.offset).take(query.limit.rows() as usize);
    let page: Vec<Value> = page.map(|summary| standing.describe(summary)).collect();
    Ok(Json(json!({"sessions": page, "total": sessions.len(), "tasks": tasks.len()})))
}

impl SessionListQuery {
    fn fits(&self, summary: &SessionSummary) -> bool {
        let session = &summary.session;
        let is_text = |text: &String| {
            let text = text.to_lowercase();
            let opening = summary.opening.as_deref().unwrap_or_default();
            [session.label().as_str(), opening].iter().any(|it| it.to_lowercase().contains(&text))
        };
        self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
            && self.surface.as_ref().is_none_or(|surface| *surface == session.surface)
            && self.text.as_ref().is_none_or(is_text)
    }
}

/// What runs and waits, in all sessions.
struct OpenWork {
    turns: HashMap<SessionId, TurnId>,
    questions: Vec<StoredApproval>,
}

impl OpenWork {
    async fn read(store: &Store) -> StoreResult<Self> {
        let turns = store.open_turns().await?.turns;
        Ok(OpenWork {
            // The oldest is the one that runs.
            turns: turns.iter().rev().map(|turn| (turn.session, turn.id)).collect(),
            questions: store.open_approvals(Moment::now()).await?,
        })
    }

    fn describe(&self, summary: &SessionSummary) -> Value {
        let id = summary.session.id;
        let waiting = self.questions.iter().filter(|approval| approval.session == id);
        let mut json = summary_json(summary);
        json["open_turn"] = json!(self.turns.get(&id));
        json["waiting"] = waiting.map(question_json).collect();
        json
    }
}

/// A session that is to begin.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewSessionBody {
    /// Its name; one without is called by its number.
    name: Option<String>,
    /// The agent that answers in it; the default where none is named.
    agent: Option<String>,
}

/// Begins a session. Where an open one of that name is there, it is that one.
#[utoipa::path(
    post, path = "/api/sessions", tag = "sessions", request_body = NewSessionBody,
    responses((status = 201, description = "The session", body = SessionShape))
)]
pub(crate) async fn begin_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiJson(body): ApiJson<NewSessionBody>,
) -> ApiResult<impl IntoResponse> {
    let agent = gateway.agent_or_default(body.agent.as_deref())?;
    let session = match &body.name {
        Some(name) => {
            let conversation = web_conversation(&actor, name);
            agent.find_named_or_begin(&actor, &conversation).await?
        }
        None => {
            // A number is no name, so the session is called by its own.
            let number = Moment::now().timestamp().as_nanosecond().to_string();
            agent.find_or_begin(&actor, &web_conversation(&actor, &number)).await?
        }
    };
    Ok((StatusCode::CREATED, Json(describe(&gateway, &actor, session.id).await?)))
}

/// A session as lists show it.
async fn describe(gateway: &Gateway, actor: &Actor, id: SessionId) -> ApiResult<Value> {
    RecordReader::new(gateway.store(), actor).session(id).await?;
    let summary = gateway.store().session_summary(id).await?;
    Ok(OpenWork::read(gateway.store()).await?.describe(&summary))
}

/// Shows a session, with what it has used.
#[utoipa::path(
    get, path = "/api/sessions/{session}", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "The session", body = SessionShape))
)]
pub(crate) async fn show_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<Value>> {
    let mut described = describe(&gateway, &actor, session).await?;
    let usage = gateway.store().session_usage(session).await?;
    described["usage"] = session_usage_json(&usage);
    Ok(Json(described))
}

/// A change of a session; what is absent stays as it is.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionChange {
    /// Its new name.
    name: Option<String>,
    /// Whether it is in the archive.
    archived: Option<bool>,
}

/// Gives a session another name, puts it into the archive, or takes it out.
#[utoipa::path(
    patch, path = "/api/sessions/{session}", tag = "sessions", request_body = SessionChange,
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "The session as it is now", body = SessionShape))
)]
pub(crate) async fn change_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiJson(change): ApiJson<SessionChange>,
) -> ApiResult<Json<Value>> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    if let Some(name) = &change.name {
        agent.rename_session(&actor, session, name).await?;
    }
    match change.archived {
        Some(true) => drop(agent.archive_session(&actor, session).await?),
        Some(false) => drop(agent.unarchive_session(&actor, session).await?),
        None => {}
    }
    Ok(Json(describe(&gateway, &actor, session).await?))
}

/// What went with a deleted session.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeletionReport {
    /// How many messages it had.
    messages: u64,
    /// How many turns it had.
    turns: u64,
    /// How many files outside of the store went with it.
    files: usize,
    /// Whether its bytes are gone from the database's file, too; otherwise they go with the next
    /// deletion.
    wiped: bool,
}

/// Deletes a session for good, with everything that was kept of it.
#[utoipa::path(
    delete, path = "/api/sessions/{session}", tag = "sessions",
    params(("session" = i64, Path, minimum = 1, description = "The number of the session")),
    responses((status = 200, description = "What went with it", body = DeletionReport))
)]
pub(crate) async fn delete_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
) -> ApiResult<Json<DeletionReport>> {
    let (agent, stored) = gateway.find_session(&actor, session).await?;
    let said = agent.must_be_deletable(&actor, session).await?;
    let stored = Box::new(stored);
    let forget = |answer| HostRequest::ForgetSession { session: stored, said, answer };
    // The session itself goes last: whoever is cut short before that can delete it again.
    let files = match gateway.host().ask(forget).await {
        Ok(files) => files,
        Err(HostFailure::Refused(problem)) => {
            let title = "the session is still there: what stands of it elsewhere can't be deleted";
            let told = ApiProblem::new(StatusCode::CONFLICT, "not_deleted", title);
            return Err(told.detail(problem.message).hint_if(problem.hint));
        }
        Err(failure) => return Err(failure.into()),
    };
    let deleted = agent.delete_session(&actor, session).await?;
    let (messages, turns, wiped) = (deleted.messages, deleted.turns, deleted.is_wiped);
    Ok(Json(DeletionReport { messages, turns, files, wiped }))
}

/// The form of an export.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// Lines of JSON.
    #[default]
    Jsonl,
    /// Markdown.
    Markdown,
}

/// How a session is exported.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// The form of the file.
    #[param(inline)]
    format: ExportFormat,
    /// Whether the records of all requests come along; only as lines of JSON.
    records: bool,
}

/// Gives a session as a file, which can be imported again.
#[utoipa::path(
    get, path = "/api/sessions/{session}/export", tag = "sessions",
    params(
        ("session" = i64, Path, minimum = 1, description = "The number of the session"),
        ExportQuery
    ),
    responses((status = 200, description = "The file", content(
        (String = "application/jsonl"), (String = "text/markdown")
    )))
)]
pub(crate) async fn export_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiQuery(query): ApiQuery<ExportQuery>,
) -> ApiResult<impl IntoResponse> {
    actor.must_have(Right::Inspect)?;
    let (form, media_type, ending) = match (query.format, query.records) {
        (ExportFormat::Jsonl, false) => (SessionExportForm::Jsonl, "application/jsonl", "jsonl"),
        (ExportFormat::Jsonl, true) => {
            (SessionExportForm::JsonlWithRecords, "application/jsonl", "jsonl")
        }
        (ExportFormat::Markdown, false) => (SessionExportForm::Markdown, "text/markdown", "md"),
        (ExportFormat::Markdown, true) => {
            let title = "records can't be written as Markdown";
            return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title)
                .hint("ask for `format=jsonl`"));
        }
    };
    let text = RecordReader::new(gateway.store(), &actor).export_session(session, form).await?;
    let name = format!("attachment; filename=\"session-{session}.{ending}\"");
    let headers =
        [(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, text))
}
