//! What an agent does at set times: added, listed, shown with past runs, run now and removed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recto_agent::{RunView, ScheduleDraft, ScheduleSettings, ScheduleView};
use recto_context::ContextMode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::overview::AgentQuery;
use super::paging::PageLimit;
use super::shapes::{ContextModeShape, RunListShape, RunShape, ScheduleListShape, ScheduleShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathName};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Lists the schedules of an agent by name, with when each runs next and how it last went.
#[utoipa::path(
    get, path = "/api/schedules", tag = "schedules", params(AgentQuery),
    responses((status = 200, description = "The schedules", body = ScheduleListShape))
)]
pub(crate) async fn list_schedules(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    let schedules = agent.schedules(&actor).await?;
    let listed: Vec<Value> = schedules.iter().map(ScheduleView::json).collect();
    Ok(Json(json!({"agent": agent.name(), "schedules": listed})))
}

/// Something that is to be done at set times, or once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewScheduleBody {
    /// What to call it: at most 64 letters, digits, `_`, `-` and `.`.
    name: String,
    /// The task, as a message.
    task: String,
    /// When, again and again: minute, hour, day, month, weekday. Either this or `at`.
    #[serde(default)]
    cron: Option<String>,
    /// When, once: `2027-01-31 09:00`, or with an offset.
    #[serde(default)]
    at: Option<String>,
    /// The time zone that both are read in; the server's where none is named.
    #[serde(default)]
    zone: Option<String>,
    /// Where the answer goes, too: a session by its name or number, or a chat as `telegram:CHAT`.
    #[serde(default)]
    to: Option<String>,
    /// The model entry that answers; the agent's where none is named.
    #[serde(default)]
    model: Option<String>,
    /// How much its turns send; as the model has it where nothing is said.
    #[serde(default)]
    #[schema(value_type = Option<ContextModeShape>)]
    context_mode: Option<ContextMode>,
}

impl NewScheduleBody {
    fn into_draft(self) -> ScheduleDraft {
        let NewScheduleBody { name, task, cron, at, zone, to, model, context_mode } = self;
        let settings = ScheduleSettings { model, context_mode };
        ScheduleDraft { name, task, cron, at, zone, to, settings }
    }
}

/// Has a task done at set times, or once. It runs while the server is up.
#[utoipa::path(
    post, path = "/api/schedules", tag = "schedules", request_body = NewScheduleBody,
    params(AgentQuery),
    responses((status = 201, description = "The schedule", body = ScheduleShape))
)]
pub(crate) async fn add_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<AgentQuery>,
    ApiJson(body): ApiJson<NewScheduleBody>,
) -> ApiResult<(StatusCode, Json<Value>)> {
    let agent = gateway.agent_or_default(query.agent())?;
    let added = agent.add_typed_schedule(&actor, body.into_draft()).await?;
    Ok((StatusCode::CREATED, Json(added.json())))
}

/// Shows a schedule.
#[utoipa::path(
    get, path = "/api/schedules/{name}", tag = "schedules",
    params(("name" = String, Path, description = "The name of the schedule"), AgentQuery),
    responses((status = 200, description = "The schedule", body = ScheduleShape))
)]
pub(crate) async fn show_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    Ok(Json(agent.schedule(&actor, &name).await?.json()))
}

/// Removes a schedule. What its runs said stays, and a run that is under way goes on.
#[utoipa::path(
    delete, path = "/api/schedules/{name}", tag = "schedules",
    params(("name" = String, Path, description = "The name of the schedule"), AgentQuery),
    responses((status = 200, description = "The schedule as it was", body = ScheduleShape))
)]
pub(crate) async fn remove_schedule(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    Ok(Json(agent.remove_schedule(&actor, &name).await?.json()))
}

/// Which runs are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunListQuery {
    /// The agent; the default where none is named.
    agent: Option<String>,
    /// How many are listed, at most 500; 50 where nothing is said.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: PageLimit,
}

/// Lists the runs of a schedule, the newest first: when, how each ended, and its turn.
#[utoipa::path(
    get, path = "/api/schedules/{name}/runs", tag = "schedules",
    params(("name" = String, Path, description = "The name of the schedule"), RunListQuery),
    responses((status = 200, description = "The runs", body = RunListShape))
)]
pub(crate) async fn list_runs(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<RunListQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent.as_deref())?;
    let runs = agent.schedule_log(&actor, Some(&name), query.limit.rows()).await?;
    let runs: Vec<Value> = runs.iter().map(RunView::json).collect();
    Ok(Json(json!({"runs": runs})))
}

/// Begins a run of a schedule now; its next time stays as it is. The run is in the list of runs
/// from here on, with its turn as soon as that is stored.
#[utoipa::path(
    post, path = "/api/schedules/{name}/runs", tag = "schedules",
    params(("name" = String, Path, description = "The name of the schedule"), AgentQuery),
    responses((status = 202, description = "The run, which goes on", body = RunShape))
)]
pub(crate) async fn start_run(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathName(schedule): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<(StatusCode, Json<Value>)> {
    let agent = gateway.agent_or_default(query.agent())?;
    let run = agent.start_schedule(&actor, &schedule).await?;
    Ok((StatusCode::ACCEPTED, Json(agent.view_run(run, schedule).await?.json())))
}
