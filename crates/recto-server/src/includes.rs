//! Include modes as people change them: written into the config by the program around the server,
//! and in force from the next turn on.

use axum::http::StatusCode;
use recto_agent::{Actor, Right};

use crate::gateway::Gateway;
use crate::host::{HostProblem, HostRequest, IncludeChange};
use crate::problem::{ApiProblem, ApiResult};

/// Sets an include mode, for all agents that it concerns.
pub(crate) async fn set_include(
    gateway: &Gateway,
    actor: &Actor,
    change: IncludeChange,
) -> ApiResult<()> {
    actor.must_have(Right::ChangeWorkspace)?;
    let asked = gateway.host().ask(|answer| HostRequest::SetInclude { change, answer }).await;
    let settings = asked.ok_or_else(tell_ending)?.map_err(tell_problem)?;
    for (name, settings) in settings {
        if let Some(agent) = gateway.agent(&name) {
            agent.set_includes(actor, settings)?;
        }
    }
    Ok(())
}

/// The answer where the program around the server is ending.
pub(crate) fn tell_ending() -> ApiProblem {
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "Recto is shutting down")
        .hint("try again when it has started again")
}

fn tell_problem(problem: HostProblem) -> ApiProblem {
    let told = ApiProblem::new(StatusCode::CONFLICT, "not_set", problem.message);
    match problem.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
