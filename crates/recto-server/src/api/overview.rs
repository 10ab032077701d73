//! What there is to talk to, how it was used, and how it stands: agents, models, counts, doctor.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recto_agent::{Agent, ModelEntry, Right, UsageQuery, UsageSpan};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::access::Caller;
use crate::extract::ApiQuery;
use crate::gateway::Gateway;
use crate::host::HostRequest;
use crate::problem::{ApiProblem, ApiResult};

/// An agent that answers here.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentEntry {
    /// Its name.
    name: String,
    /// Whether it answers those who name none.
    default: bool,
    /// The names of its models, the one first that answers unless another is chosen.
    models: Vec<String>,
}

/// The agents that answer here.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentList {
    /// The agents, the default first.
    agents: Vec<AgentEntry>,
}

/// Lists the agents.
#[utoipa::path(
    get, path = "/api/agents", tag = "setup",
    responses((status = 200, description = "The agents", body = AgentList))
)]
pub(crate) async fn list_agents(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<Json<AgentList>> {
    actor.must_have(Right::Inspect)?;
    let entry = |(index, agent): (usize, &Agent)| AgentEntry {
        name: agent.name().to_owned(),
        default: index == 0,
        models: agent.models().iter().map(|model| model.name.to_string()).collect(),
    };
    Ok(Json(AgentList { agents: gateway.agents().iter().enumerate().map(entry).collect() }))
}

/// The agent that is asked about.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    /// Its name; the default where none is named.
    agent: Option<String>,
}

impl AgentQuery {
    /// The name of the agent, where one is named.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }
}

/// A model that can answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ModelDescription {
    /// The name by which it is chosen.
    name: String,
    /// The model's own name at its server.
    model: String,
    /// The kind of server that it is asked at.
    provider: String,
    /// Why it is there.
    chosen: String,
    /// Its window in tokens, where a person set it.
    window: Option<u32>,
    /// How freely it chooses its words, where that is set.
    temperature: Option<f64>,
}

/// The models of an agent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ModelList {
    /// The models, the one first that answers unless another is chosen.
    models: Vec<ModelDescription>,
}

/// Lists the models of an agent.
#[utoipa::path(
    get, path = "/api/models", tag = "setup", params(AgentQuery),
    responses((status = 200, description = "The models", body = ModelList))
)]
pub(crate) async fn list_models(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<ModelList>> {
    actor.must_have(Right::Inspect)?;
    let agent = gateway.agent_or_default(query.agent())?;
    Ok(Json(ModelList { models: agent.models().iter().map(describe_model).collect() }))
}

fn describe_model(entry: &ModelEntry) -> ModelDescription {
    ModelDescription {
        name: entry.name.to_string(),
        model: entry.call.model.clone(),
        provider: entry.client.provider().name().to_owned(),
        chosen: entry.chosen.to_string(),
        window: entry.window.map(|tokens| tokens.get()),
        temperature: entry.call.temperature,
    }
}

/// Which counts are told.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsQuery {
    /// The agent; the default where none is named.
    agent: Option<String>,
    /// Days up to today such as `7d`, a date to begin with, or `all`; `30d` where nothing is said.
    span: Option<String>,
    /// After how many days without use an item is listed as unused.
    unused_days: Option<u16>,
}

/// Tells how the context was used: turns, tokens, items, and how well search chose.
#[utoipa::path(
    get, path = "/api/stats", tag = "setup", params(StatsQuery),
    responses((
        status = 200, description = "The counts, as docs/stats.md describes them", body = Object
    ))
)]
pub(crate) async fn show_stats(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<StatsQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent.as_deref())?;
    let span = match query.span.as_deref().map(str::parse::<UsageSpan>) {
        None => UsageSpan::default(),
        Some(Ok(span)) => span,
        Some(Err(error)) => {
            let title = "the span of time can't be read";
            return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title)
                .hint(error.to_string()));
        }
    };
    let asked = UsageQuery::now(span);
    let unused_days = query.unused_days.unwrap_or(asked.unused_days);
    let report = agent.usage_report(&actor, UsageQuery { unused_days, ..asked }).await?;
    Ok(Json(report.json()))
}

/// Looks at the setup: config, models, search, tools, store.
#[utoipa::path(
    get, path = "/api/doctor", tag = "setup",
    responses((status = 200, description = "What was found: the same as the terminal's doctor prints", body = Object))
)]
pub(crate) async fn show_doctor(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<Json<Value>> {
    actor.must_have(Right::SeeWorkspace)?;
    let report = gateway.host().ask(|answer| HostRequest::Doctor { answer }).await?;
    Ok(Json(report))
}
