//! A turn gathers once, whatever is known of its model's window.

use std::path::Path;
use std::time::Duration;

use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{Audience, AudienceKind, ContextLimits, PageLayout, Tokens};
use recto_fakes::{FakeModel, FakeServer};
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider};
use recto_store::{Store, StoreOptions};
use recto_tools::{CallLimits, Toolbox};
use recto_workspace::{MemoryFiles, Workspace, WorkspaceOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::most_rounds;
use crate::{
    Actor, Agent, AgentOptions, AgentParts, ConfiguredItems, Conversation, DelegationLimits,
    EventCursor, EventKind, Inbound, ModelEntry, SearchParts,
};

/// An agent whose model is the fake's.
async fn agent(folder: &Path, fake: &FakeServer, window: Option<Tokens>) -> Agent {
    let mut client = ClientOptions::new(Provider::Ollama);
    client.base_url = Some(fake.url());
    let entry = ModelEntry {
        chosen: "named by the test".into(),
        name: "fake".into(),
        client: ModelClient::new(client).unwrap(),
        call: CallOptions { model: FakeModel::DEFAULT_NAME.to_owned(), ..CallOptions::default() },
        window,
        mode: ModeSetting::default(),
        uncertain: UncertainMode::default(),
        layout: PageLayout::default(),
        limits: ContextLimits::default(),
        images: FeatureSupport::Unknown,
    };
    let workspace = folder.join("workspace");
    let parts = AgentParts {
        options: AgentOptions {
            name: "main".into(),
            version: "0".into(),
            workspace: "workspace".into(),
            folder: None,
            max_rounds: 4,
            window_cap: Tokens::new(16_384),
            built_in: Vec::new(),
            approval_expires: Duration::from_secs(3_600),
            approval_wait: Duration::from_secs(60),
            disabled_tools: Vec::new(),
            configured_items: ConfiguredItems::default(),
            compaction: None,
            session_files: None,
            recovery_interval: AgentOptions::RECOVERY_INTERVAL,
            chat_surfaces: Vec::new(),
            delegation: DelegationLimits::default(),
        },
        models: vec![entry],
        memory: MemoryFiles::new(&workspace),
        workspace: Workspace::new(WorkspaceOptions { workspace, ..WorkspaceOptions::default() }),
        tools: Toolbox::with_tools(Vec::new(), CallLimits::default()),
        search: SearchParts::default(),
        store: Store::open(&StoreOptions::new(folder.join("recto.db"))).unwrap(),
    };
    Agent::start(parts).await.unwrap()
}

/// How often the workspace and the session were read after each of some turns.
fn readings_of_turns(window: Option<Tokens>) -> Vec<(usize, usize)> {
    let (folder, fake) = (TempDir::new().unwrap(), FakeServer::ollama().start());
    let readings = Runtime::new().unwrap().block_on(async {
        let agent = agent(folder.path(), &fake, window).await;
        let conversation = Conversation::with_owner("terminal", "local", "k");
        let session = agent.find_or_begin(&Actor::owner("owner"), &conversation).await.unwrap().id;
        let mut readings = Vec::new();
        for text in ["one", "two"] {
            let inbound = Inbound::text(&Actor::owner("owner"), text);
            let submission = agent.submit(session, inbound).await.unwrap();
            let mut events = agent
                .listen(&Actor::owner("owner"), session, EventCursor::After(submission.before))
                .await
                .unwrap();
            while !matches!(events.next().await.unwrap().event, EventKind::Finished(_)) {}
            readings.push(agent.shared.readings.so_far());
        }
        readings
    });
    assert_eq!(fake.rejections(), [""; 0]);
    readings
}

#[test]
fn a_turn_without_a_known_window_reads_the_workspace_and_the_session_once() {
    assert_eq!(readings_of_turns(None), [(1, 1), (2, 2)]);
}

#[test]
fn a_turn_with_a_window_reads_them_once_as_well() {
    assert_eq!(readings_of_turns(Some(Tokens::new(16_384))), [(1, 1), (2, 2)]);
}

/// Promise: `rights-are-one-table`
#[test]
fn a_guest_sets_at_most_as_many_rounds_as_the_agent_has() {
    let rounds = |who, set| most_rounds(&Audience { who, ..Audience::default() }, set, 20);
    assert_eq!(rounds(AudienceKind::Guest, Some(4_000)), 20);
    assert_eq!(rounds(AudienceKind::Guest, Some(3)), 3);
    assert_eq!(rounds(AudienceKind::Guest, None), 20);
    assert_eq!(rounds(AudienceKind::Owner, Some(40)), 40);
}
