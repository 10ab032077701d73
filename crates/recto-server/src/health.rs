//! Whether the server lives, and whether it can answer; and how that is which runs beside it.
//!
//! Everybody may ask, as often as they like; so the store is looked at once a second at most, and
//! those who ask in between hear what was found then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use recto_agent::AgentError;
use tokio::sync::Mutex;

use crate::gateway::Gateway;

/// How long what was found holds.
const FRESH: Duration = Duration::from_secs(1);

/// How something is that runs beside the server, such as the bot of a chat service. It never keeps
/// the server from answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStatus {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: ServiceKind,
    /// Whether it does what it is for.
    pub is_up: bool,
    /// How it is, for people.
    pub detail: String,
}

/// What runs beside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceKind {
    /// The bot of a chat service.
    Channel,
    /// What agents do at set times.
    Schedules,
}

impl ServiceKind {
    /// What is said of one that does not do what it is for.
    fn down_words(self) -> &'static str {
        match self {
            ServiceKind::Channel => "not connected",
            ServiceKind::Schedules => "not running",
        }
    }
}

/// Tells how everything is that runs beside the server, whenever it is asked.
#[derive(Clone)]
pub struct ServiceReport(Arc<dyn Fn() -> Vec<ServiceStatus> + Send + Sync>);

impl ServiceReport {
    /// A report that this makes.
    pub fn new(report: impl Fn() -> Vec<ServiceStatus> + Send + Sync + 'static) -> Self {
        ServiceReport(Arc::new(report))
    }

    /// How everything is now.
    pub(crate) fn current(&self) -> Vec<ServiceStatus> {
        (self.0)()
    }
}

impl Default for ServiceReport {
    fn default() -> Self {
        ServiceReport::new(Vec::new)
    }
}

impl std::fmt::Debug for ServiceReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServiceReport").finish()
    }
}

/// The last look at whether the server can answer.
#[derive(Debug, Default)]
pub(crate) struct ReadinessCheck(Mutex<Option<(Instant, Result<(), String>)>>);

/// The server runs.
pub(crate) async fn check_life() -> &'static str {
    "ok\n"
}

/// The store can be read and written, there is an agent with a model, and the server is not about
/// to end.
pub(crate) async fn check_readiness(State(gateway): State<Gateway>) -> (StatusCode, String) {
    if gateway.is_ending() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is about to end\n".to_owned());
    }
    match gateway.readiness().current(&gateway).await {
        Ok(()) => (StatusCode::OK, format!("ready\n{}", service_lines(&gateway))),
        Err(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")),
    }
}

/// A line for each service beside the server. Anybody may ask, so that only what does not run is
/// told, and not why.
fn service_lines(gateway: &Gateway) -> String {
    let line = |service: &ServiceStatus| {
        let state = if service.is_up { "running" } else { service.kind.down_words() };
        format!("{}: {state}\n", service.name)
    };
    gateway.services().current().iter().map(line).collect()
}

impl ReadinessCheck {
    /// What was found a moment ago, or is found now. Whoever asks meanwhile waits for the same.
    async fn current(&self, gateway: &Gateway) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if let Some((at, found)) = &*last
            && at.elapsed() < FRESH
        {
            return found.clone();
        }
        let found = look(gateway).await;
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

async fn look(gateway: &Gateway) -> Result<(), String> {
    gateway.store().open_turns().await.map_err(|error| format!("the store: {error}"))?;
    gateway.store().check_writable().await.map_err(|error| format!("the store: {error}"))?;
    match gateway.agents().iter().any(|agent| !agent.models().is_empty()) {
        true => Ok(()),
        false => Err(AgentError::NoModel.to_string()),
    }
}
