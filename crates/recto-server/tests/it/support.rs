//! A server in a folder of its own, and short ways to talk to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use recto_agent::{
    Actor, Agent, AgentOptions, AgentParts, ConfiguredItems, DelegationLimits, ModelEntry,
    SearchParts,
};
use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{ContextLimits, PageLayout, Tokens};
use recto_fakes::{FakeModel, FakeServer};
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider};
use recto_server::{
    AccessControl, AccessOptions, ConnectionLimits, FormKey, Gateway, GatewayParts, HostHandle,
    HostRequest, ServeOptions, ServiceReport,
};
use recto_store::{Store, StoreOptions};
use recto_tools::{CallLimits, ToolOptions, Toolbox};
use recto_workspace::{MemoryFiles, Workspace, WorkspaceOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;

/// A gateway on a free port of loopback, with one agent whose model is a strict fake.
pub(crate) struct TestServer {
    pub(crate) agent: Agent,
    pub(crate) fake: FakeServer,
    pub(crate) store: Store,
    pub(crate) address: SocketAddr,
    /// Tells the server to end.
    pub(crate) end: Arc<Notify>,
    http: reqwest::Client,
    /// What the server works in, kept for as long as it runs.
    pub(crate) folder: TempDir,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(AccessOptions::default(), ConnectionLimits::default()).await
    }

    /// A server whose agent has the tools for files, and whose clients wait so long for a person
    /// who has to allow one.
    pub(crate) async fn start_with_files(approval_wait: Duration) -> Self {
        let change = |mut parts: AgentParts, folder: &TempDir| {
            parts.tools = Toolbox::new(ToolOptions::new(folder.path().join("workspace")));
            parts.options.built_in = parts.tools.specs();
            parts.options.approval_wait = approval_wait;
            parts
        };
        let (access, connections) = (AccessOptions::default(), ConnectionLimits::default());
        let key = FormKey::generate().unwrap();
        Self::start_changed(access, connections, key, change).await
    }

    /// A server that lets callers in by these options.
    pub(crate) async fn start_with(access: AccessOptions, connections: ConnectionLimits) -> Self {
        Self::start_with_key(access, connections, FormKey::generate().unwrap()).await
    }

    /// The same with a key that another server may have had before.
    pub(crate) async fn start_with_key(
        access: AccessOptions,
        connections: ConnectionLimits,
        form_key: FormKey,
    ) -> Self {
        Self::start_changed(access, connections, form_key, |parts, _| parts).await
    }

    async fn start_changed(
        access: AccessOptions,
        connections: ConnectionLimits,
        form_key: FormKey,
        change: impl FnOnce(AgentParts, &TempDir) -> AgentParts,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let fake = FakeServer::openai().start();
        let store = Store::open(&StoreOptions::new(folder.path().join("data/recto.db"))).unwrap();
        let parts = change(agent_parts(&folder, &fake, store.clone()), &folder);
        let agent = Agent::start(parts).await.unwrap();
        let (host, requests) = HostHandle::new();
        tokio::spawn(answer_host(requests));
        let gateway = Gateway::new(GatewayParts {
            agents: vec![agent.clone()],
            store: store.clone(),
            owner: Actor::owner("ana"),
            access: AccessControl::new(access, form_key),
            host,
            remedy_words: |remedy| format!("{remedy:?}"),
            services: ServiceReport::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = ServeOptions { grace: Duration::from_secs(1), connections };
        let end = Arc::new(Notify::new());
        let ended = end.clone().notified_owned();
        tokio::spawn(recto_server::serve(listener, gateway, options, ended));
        TestServer { agent, fake, store, address, end, http: client(), folder }
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

/// Answers as a program does that knows of no settings and no files.
async fn answer_host(mut requests: Receiver<HostRequest>) {
    while let Some(request) = requests.recv().await {
        // Nobody waits for an answer that is not taken.
        match request {
            HostRequest::SessionSettings { answer, .. } => drop(answer.send(Ok(Value::Null))),
            HostRequest::ForgetSession { answer, .. } => drop(answer.send(Ok(0))),
            HostRequest::Doctor { answer } => drop(answer.send(Ok(json!({})))),
            HostRequest::SetInclude { answer, .. } => drop(answer.send(Ok(Vec::new()))),
        }
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
            approval_wait: Duration::from_secs(60),
            disabled_tools: Vec::new(),
            configured_items: ConfiguredItems::default(),
            compaction: None,
            session_files: None,
            recovery_interval: AgentOptions::RECOVERY_INTERVAL,
            chat_surfaces: vec!["telegram", "discord"],
            delegation: DelegationLimits::default(),
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
