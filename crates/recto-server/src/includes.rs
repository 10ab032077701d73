//! Include modes as people change them: written into the config by the program around the server,
//! and in force from the next turn on.

use recto_agent::{Actor, Right};

use crate::gateway::Gateway;
use crate::host::{HostRequest, IncludeChange};
use crate::problem::ApiResult;

/// Sets an include mode, for all agents that it concerns. One change at a time, so that agents
/// get what the config says last.
pub(crate) async fn set_include(
    gateway: &Gateway,
    actor: &Actor,
    change: IncludeChange,
) -> ApiResult<()> {
    actor.must_have(Right::ChangeWorkspace)?;
    let _turn = gateway.include_changes().lock().await;
    let settings = gateway.host().ask(|answer| HostRequest::SetInclude { change, answer }).await?;
    for (name, settings) in settings {
        if let Some(agent) = gateway.agent(&name) {
            agent.set_includes(actor, settings)?;
        }
    }
    Ok(())
}
