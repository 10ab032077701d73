//! What an agent does at set times: listed, shown with past runs, run now and removed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recto_agent::{LoggedRun, ScheduleView};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::overview::AgentQuery;
use super::paging::PageLimit;
use super::shapes::{RunListShape, RunShape, ScheduleListShape, ScheduleShape};
use crate::access::Caller;
use crate::extract::{ApiQuery, PathName};
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
    let runs: Vec<Value> = runs.iter().map(LoggedRun::json).collect();
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
    Ok((StatusCode::ACCEPTED, Json(LoggedRun { run, schedule }.json())))
}
