//! An agent as benchmarks run it: with a model that answers at once, and nobody to ask.

use std::path::Path;
use std::time::Duration;

use recto_agent::{
    Actor, Agent, AgentOptions, AgentParts, ConfiguredItems, DelegationLimits, EventCursor,
    EventKind, Inbound, SearchParts,
};
use recto_context::Tokens;
use recto_store::{SessionId, Store, StoreOptions};
use recto_tools::{ToolOptions, Toolbox};
use recto_workspace::{MemoryFiles, Workspace};

use super::{files, synthetic};
use crate::Result;

/// A turn without a model takes milliseconds; one that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an agent is started with.
pub(super) struct AgentSetup<'a> {
    pub(super) name: &'a str,
    pub(super) workspace: &'a Path,
    pub(super) database: &'a Path,
    /// Of its model, in tokens.
    pub(super) window: u32,
    pub(super) tools: ToolOptions,
    pub(super) search: SearchParts,
}

/// Starts an agent whose model repeats what it is told.
pub(super) async fn start(setup: AgentSetup<'_>) -> Result<Agent> {
    let AgentSetup { name, workspace, database, window, tools, search } = setup;
    let tools = Toolbox::new(tools);
    let parts = AgentParts {
        options: AgentOptions {
            name: name.into(),
            version: "bench".into(),
            workspace: "bench".into(),
            folder: None,
            max_rounds: 20,
            window_cap: Tokens::new(window),
            built_in: tools.specs(),
            approval_expires: Duration::from_secs(60),
            approval_wait: Duration::from_secs(60),
            disabled_tools: Vec::new(),
            configured_items: ConfiguredItems::default(),
            compaction: None,
            session_files: None,
            recovery_interval: AgentOptions::RECOVERY_INTERVAL,
            chat_surfaces: Vec::new(),
            delegation: DelegationLimits::default(),
        },
        models: vec![synthetic::echo(window)?],
        workspace: Workspace::new(files::options(workspace)),
        memory: MemoryFiles::new(workspace),
        tools,
        search,
        store: Store::open(&StoreOptions::new(database))?,
    };
    Ok(Agent::start(parts).await?)
}

/// Says something, and waits for the end of the turn.
pub(super) async fn take_turn(agent: &Agent, session: SessionId, message: &str) -> Result<()> {
    let actor = Actor::owner("bench");
    let inbound = Inbound::text(&actor, message);
    let submission = agent.submit(session, inbound).await?;
    let mut events = agent.listen(&actor, session, EventCursor::After(submission.before)).await?;
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await?;
        let event = event.ok_or("the agent was shut down")?;
        if event.turn == Some(submission.turn) && matches!(event.event, EventKind::Finished(_)) {
            return Ok(());
        }
    }
}
