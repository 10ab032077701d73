//! A server in a folder of its own, and short ways to talk to it.

use std::net::SocketAddr;
use std::time::Duration;

use recto_agent::{
    Actor, Agent, AgentOptions, AgentParts, ConfiguredItems, ModelEntry, SearchParts,
};
use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{ContextLimits, PageLayout, Tokens};
use recto_fakes::{FakeModel, FakeServer};
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider};
use recto_server::{
    AccessControl, AccessOptions, ConnectionLimits, Gateway, GatewayParts, HostHandle, ServeOptions,
};
use recto_store::{Store, StoreOptions};
use recto_tools::{CallLimits, Toolbox};
use recto_workspace::{MemoryFiles, Workspace, WorkspaceOptions};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A gateway on a free port of loopback, with one agent whose model is a strict fake.
pub(crate) struct TestServer {
    pub(crate) agent: Agent,
    pub(crate) fake: FakeServer,
    pub(crate) store: Store,
    pub(crate) address: SocketAddr,
    http: reqwest::Client,
    /// Kept for as long as the server runs.
    _folder: TempDir,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(AccessOptions::default(), ConnectionLimits::default()).await
    }

    /// A server that lets callers in by these options.
    pub(crate) async fn start_with(access: AccessOptions, connections: ConnectionLimits) -> Self {
        let folder = TempDir::new().unwrap();
        let fake = FakeServer::openai().start();
        let store = Store::open(&StoreOptions::new(folder.path().join("data/recto.db"))).unwrap();
        let parts = agent_parts(&folder, &fake, store.clone());
        let agent = Agent::start(parts).await.unwrap();
        let (host, _) = HostHandle::new();
        let gateway = Gateway::new(GatewayParts {
            agents: vec![agent.clone()],
            store: store.clone(),
            owner: Actor::owner("ana"),
            access: AccessControl::new(access).unwrap(),
            host,
            remedy_words: |remedy| format!("{remedy:?}"),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = ServeOptions { grace: Duration::from_secs(1), connections };
        tokio::spawn(recto_server::serve(listener, gateway, options, std::future::pending()));
        TestServer { agent, fake, store, address, http: client(), _folder: folder }
    }

    /// A request to a path of the server.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.http.request(method.parse().unwrap(), url)
    }

    /// Posts JSON, and gives the status with the JSON that comes back.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.request("POST", path).header("content-type", "application/json");
        answer(request.body(body.to_string())).await
    }

    /// Gets a path, and gives the status with the JSON that comes back.
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request("GET", path)).await
    }
}

/// A client that goes nowhere by itself: where it is sent is what tests look at.
fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn agent_parts(folder: &TempDir, fake: &FakeServer, store: Store) -> AgentParts {
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join("SOUL.md"), "You are a lighthouse keeper.\n").unwrap();
    let tools = Toolbox::with_tools(Vec::new(), CallLimits::default());
    AgentParts {
        options: AgentOptions {
            name: "main".into(),
            version: "0".into(),
            workspace: "workspace".into(),
            folder: None,
            max_rounds: 4,
            window_cap: Tokens::new(16_384),
            built_in: tools.specs(),
            approval_expires: Duration::from_secs(3_600),
            disabled_tools: Vec::new(),
            configured_items: ConfiguredItems::default(),
            compaction: None,
            session_files: None,
            recovery_interval: AgentOptions::RECOVERY_INTERVAL,
        },
        models: vec![model(fake)],
        memory: MemoryFiles::new(&workspace),
        workspace: Workspace::new(WorkspaceOptions { workspace, ..WorkspaceOptions::default() }),
        tools,
        search: SearchParts::default(),
        store,
    }
}

fn model(fake: &FakeServer) -> ModelEntry {
    let mut options = ClientOptions::new(Provider::OpenAi);
    options.base_url = Some(fake.url());
    ModelEntry {
        name: "fake".into(),
        chosen: "configured".into(),
        client: ModelClient::new(options).unwrap(),
        call: CallOptions { model: FakeModel::DEFAULT_NAME.to_owned(), ..CallOptions::default() },
        window: Some(Tokens::new(8_192)),
        mode: ModeSetting::default(),
        uncertain: UncertainMode::default(),
        layout: PageLayout::default(),
        limits: ContextLimits::default(),
        images: FeatureSupport::Unknown,
    }
}
