//! Memory of sessions that nobody talks in is given back, and their listeners stay.

use std::path::Path;

use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{ContextLimits, PageLayout, Tokens};
use recto_fakes::FakeModel;
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider};
use recto_store::{SessionId, Store, StoreOptions};
use recto_tools::{CallLimits, Toolbox};
use recto_workspace::{MemoryFiles, Workspace, WorkspaceOptions};
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::*;
use crate::{
    Actor, AgentOptions, AgentParts, ConfiguredItems, Conversation, DelegationLimits, EventCursor,
    EventKind, EventListener, Inbound, ModelEntry, SearchParts,
};

/// An agent whose model repeats what it is told.
pub(crate) fn idle_agent(folder: &Path) -> Agent {
    idle_agent_with(folder, ClientOptions::new(Provider::Scripted))
}

/// An agent with this model.
pub(crate) fn idle_agent_with(folder: &Path, client: ClientOptions) -> Agent {
    let entry = ModelEntry {
        chosen: "named by the test".into(),
        name: "scripted".into(),
        client: ModelClient::new(client).unwrap(),
        call: CallOptions { model: FakeModel::DEFAULT_NAME.to_owned(), ..CallOptions::default() },
        window: Some(Tokens::new(200_000)),
        mode: ModeSetting::default(),
        uncertain: UncertainMode::default(),
        layout: PageLayout::default(),
        limits: ContextLimits::default(),
        images: FeatureSupport::Unknown,
    };
    let workspace = folder.join("workspace");
    Agent::idle(AgentParts {
        options: AgentOptions {
            name: "main".into(),
            version: "0".into(),
            workspace: "workspace".into(),
            folder: None,
            max_rounds: 4,
            window_cap: Tokens::new(200_000),
            built_in: Vec::new(),
            approval_expires: Duration::from_secs(3_600),
            approval_wait: Duration::from_secs(60),
            disabled_tools: Vec::new(),
            configured_items: ConfiguredItems::default(),
            compaction: None,
            session_files: Some(folder.join("sessions")),
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
    })
}

async fn begin_session(agent: &Agent, name: &str) -> SessionId {
    let conversation = Conversation::with_owner("terminal", "local", name);
    agent.find_or_begin(&Actor::owner("owner"), &conversation).await.unwrap().id
}

/// Hears a turn to its end, and gives its text as it came.
async fn hear_turn(listener: &mut EventListener) -> String {
    let mut heard = String::new();
    loop {
        match listener.next().await.unwrap().event {
            EventKind::Text { text } => heard += &text,
            EventKind::Finished(_) => return heard,
            _ => {}
        }
    }
}

/// Lets an hour pass at once. Nothing else happens in it.
async fn let_an_hour_pass() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3_600)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
}

/// Promise: `slow-listener-hears-the-end`
#[test]
fn a_session_that_was_idle_for_an_hour_still_has_its_listeners_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let agent = idle_agent(folder.path());
        let watched = begin_session(&agent, "watched").await;
        let mut listener =
            agent.listen(&Actor::owner("owner"), watched, EventCursor::Now).await.unwrap();
        for number in 0..20 {
            let session = begin_session(&agent, &format!("session {number}")).await;
            let submission = agent
                .submit(session, Inbound::text(&Actor::owner("owner"), "hello"))
                .await
                .unwrap();
            let mut heard = agent
                .listen(&Actor::owner("owner"), session, EventCursor::After(submission.before))
                .await
                .unwrap();
            assert!(hear_turn(&mut heard).await.ends_with("hello"));
        }
        for text in ["one", "two"] {
            agent.submit(watched, Inbound::text(&Actor::owner("owner"), text)).await.unwrap();
            assert!(hear_turn(&mut listener).await.ends_with(text));
        }
        agent.finished().await;
        let files = agent.shared.session_files.as_ref().unwrap();
        assert_eq!((agent.mailboxes.count(), agent.shared.streams.count()), (21, 21));
        assert_eq!(files.count(), 1);
        let_an_hour_pass().await;
        assert_eq!((agent.mailboxes.count(), agent.shared.streams.count()), (0, 1));
        assert_eq!(files.count(), 0);
        agent.submit(watched, Inbound::text(&Actor::owner("owner"), "three")).await.unwrap();
        assert!(hear_turn(&mut listener).await.ends_with("three"));
    });
}

#[test]
fn nothing_is_left_of_an_agent_that_nobody_has_any_more() {
    let folder = TempDir::new().unwrap();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let agent = idle_agent(folder.path());
        agent.take_up_regularly();
        let session = begin_session(&agent, "k").await;
        let mut listener =
            agent.listen(&Actor::owner("owner"), session, EventCursor::Now).await.unwrap();
        agent.submit(session, Inbound::text(&Actor::owner("owner"), "hello")).await.unwrap();
        hear_turn(&mut listener).await;
        let shared = Arc::downgrade(&agent.shared);
        drop(agent);
        assert_eq!(listener.next().await, None);
        assert!(shared.upgrade().is_none());
    });
}

#[test]
fn who_waits_for_a_turn_that_was_left_is_a_person_who_asked_just_now() {
    let attended = SessionSettings::default().to_store();
    let unattended = SessionSettings { unattended: true, ..SessionSettings::default() }.to_store();
    let now = Moment::now();
    assert!(is_awaited(now, [&attended, &attended]));
    assert!(!is_awaited(now, [&unattended, &attended]), "a schedule has begun it");
    assert!(!is_awaited(now, [&attended, &unattended]), "it is in the session of a sub-agent");
    let long_ago = Moment::new(now.timestamp() - Duration::from_secs(301));
    assert!(!is_awaited(long_ago, [&attended, &attended]));
}
