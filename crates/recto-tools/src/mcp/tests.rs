//! Servers that are well, servers that are not, and real ones.

#[cfg(target_os = "linux")]
mod failing;
#[cfg(target_os = "linux")]
mod fake;
#[cfg(target_os = "linux")]
mod over_http;
#[cfg(target_os = "linux")]
mod real;
#[cfg(target_os = "linux")]
mod unreadable;
#[cfg(target_os = "linux")]
mod working;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use recto_context::IncludeMode;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::*;
use crate::arguments::CallArguments;
use crate::options::ServerTransport;
use crate::tool::{CallContext, Consent, ToolOutput};

/// A server that is started by this command.
fn program(name: &str, program: impl AsRef<Path>, arguments: &[&str]) -> ServerOptions {
    let transport = ServerTransport::Stdio {
        program: program.as_ref().to_str().unwrap().to_owned(),
        arguments: arguments.iter().copied().map(str::to_owned).collect(),
        environment: Vec::new(),
        working_dir: None,
        sandbox: None,
    };
    options(name, transport)
}

fn options(name: &str, transport: ServerTransport) -> ServerOptions {
    ServerOptions {
        name: name.to_owned(),
        transport,
        includes: ServerIncludes::default(),
        disabled_tools: Vec::new(),
        start_limit: Duration::from_secs(60),
        time_limit: Duration::from_secs(60),
    }
}

fn servers(servers: Vec<ServerOptions>) -> ServerRegistry {
    ServerRegistry::new(servers, None, None, None, Keeper::new(None))
}

/// Waits until every server has told its tools or failed, however long that takes.
async fn settle(servers: &ServerRegistry) {
    servers.learn_tools().await;
    let is_settled = |status: &ServerStatus| status.tools.is_some() || status.trouble.is_some();
    until(|| servers.status().iter().all(is_settled)).await;
}

/// Calls a tool by the name that people use.
async fn call(servers: &ServerRegistry, key: &str, arguments: Value) -> ToolOutput {
    call_with(servers, key, arguments, Consent::Unasked).await
}

async fn call_with(
    servers: &ServerRegistry,
    key: &str,
    arguments: Value,
    consent: Consent,
) -> ToolOutput {
    let tools = servers.tools();
    let spec = tools.specs.iter().find(|spec| spec.id.key() == key).expect("the tool is known");
    let tool = servers.tool(spec).expect("the tool is a server's");
    let arguments = CallArguments::parse(&arguments.to_string()).unwrap();
    tool.run(arguments, &CallContext::default(), consent).await
}

/// The tools, by the names that people use.
fn keys(servers: &ServerRegistry) -> Vec<String> {
    servers.tools().specs.iter().map(|spec| spec.id.key()).collect()
}

fn notices(servers: &ServerRegistry) -> Vec<String> {
    servers.tools().notices.iter().map(|notice| notice.problem.to_string()).collect()
}

/// Waits until it is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), wait).await.expect("it comes about");
}
