//! A folder with a database and a workspace, agents that live in it, and short
//! ways to look at what they left there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use recto_agent::{
    Actor, Agent, AgentOptions, AgentParts, ChatCommand, ConfiguredItems, Conversation,
    DelegationLimits, EventCursor, EventKind, EventListener, FinishedTurn, Inbound, InboundReading,
    ModelEntry, ReplayVerdict, SearchParts, Submission, TurnEvent, verify_body,
};
use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{
    ContentHash, ContentPart, ContextLimits, ItemId, LeadingStamp, Message, MessageBody,
    PageLayout, Text, Tokens, ToolSpec,
};
use recto_fakes::{AnswerGate, FakeAnswer, FakeCall, FakeModel, FakeReply, FakeServer};
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider, RetryPolicy};
use recto_store::{
    SessionId, Store, StoreOptions, StoredSession, TokenCounts, TurnEnding, TurnId, TurnStatus,
};
use recto_tools::{
    ActionFields, ApprovalNeed, CallArguments, CallContext, CallFields, CallLimits, Consent, Tool,
    ToolAction, ToolClass, ToolError, ToolOutput, Toolbox,
};
use recto_workspace::{MemoryFiles, Workspace, WorkspaceOptions};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that agents share, as processes share a home.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) held: Held,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Bench { folder: TempDir::new().unwrap(), held: Held::new() };
        bench.write("SOUL.md", "You are a lighthouse keeper.\n");
        bench
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("data/recto.db")
    }

    /// A file of the workspace.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join("workspace").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What a file of the workspace holds; nothing where there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.folder.path().join("workspace").join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// A folder of the workspace.
    pub(crate) fn make_folder(&self, name: &str) {
        std::fs::create_dir_all(self.folder.path().join("workspace").join(name)).unwrap();
    }

    /// The store, as a process of its own has it.
    pub(crate) fn store(&self) -> Store {
        Store::open(&StoreOptions::new(self.database())).unwrap()
    }

    pub(crate) fn parts(&self, models: Vec<ModelEntry>) -> AgentParts {
        self.parts_with(models, self.store())
    }

    pub(crate) fn parts_with(&self, models: Vec<ModelEntry>, store: Store) -> AgentParts {
        Bench::parts_in(self.folder.path(), &self.held, models, store)
    }

    /// The folder itself, for another process.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The parts of an agent that another process has in this folder.
    pub(crate) fn parts_elsewhere(folder: &Path, models: Vec<ModelEntry>) -> AgentParts {
        let store = Store::open(&StoreOptions::new(folder.join("data/recto.db"))).unwrap();
        Bench::parts_in(folder, &Held::new(), models, store)
    }

    fn parts_in(folder: &Path, held: &Held, models: Vec<ModelEntry>, store: Store) -> AgentParts {
        let workspace = folder.join("workspace");
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(held.clone()), Arc::new(Risky::new())];
        let tools = Toolbox::with_tools(tools, CallLimits::default());
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
            models,
            memory: MemoryFiles::new(&workspace),
            workspace: Workspace::new(WorkspaceOptions {
                workspace,
                ..WorkspaceOptions::default()
            }),
            tools,
            search: SearchParts::default(),
            store,
        }
    }

    /// The parts of another agent than `main`, with a workspace of its own beside `main`'s.
    pub(crate) fn parts_of(&self, name: &str, models: Vec<ModelEntry>, store: Store) -> AgentParts {
        let mut parts = self.parts_with(models, store);
        let workspace = self.folder.path().join(name);
        parts.options.name = name.into();
        parts.memory = MemoryFiles::new(&workspace);
        parts.workspace =
            Workspace::new(WorkspaceOptions { workspace, ..WorkspaceOptions::default() });
        parts
    }

    /// An agent whose only model is the fake's.
    pub(crate) async fn agent(&self, fake: &FakeServer) -> Agent {
        Agent::start(self.parts(vec![model("fake", fake)])).await.unwrap()
    }

    /// The same with a fake of Ollama, whose window has to be asked for.
    pub(crate) async fn agent_without_window(&self, fake: &FakeServer) -> Agent {
        Agent::start(self.parts(vec![model_without_window("fake", fake)])).await.unwrap()
    }
}

/// A model entry for a fake of an OpenAI server, with a window that is known.
pub(crate) fn model(name: &str, fake: &FakeServer) -> ModelEntry {
    entry(name, Provider::OpenAi, fake)
}

/// A model entry whose window nobody has set: its server is asked for it.
pub(crate) fn model_without_window(name: &str, fake: &FakeServer) -> ModelEntry {
    ModelEntry { window: None, ..entry(name, Provider::Ollama, fake) }
}

/// A model entry without a server, which repeats what was said.
pub(crate) fn scripted() -> ModelEntry {
    entry_of("scripted", ClientOptions::new(Provider::Scripted))
}

pub(crate) fn entry(name: &str, provider: Provider, fake: &FakeServer) -> ModelEntry {
    let mut options = ClientOptions::new(provider);
    options.base_url = Some(fake.url());
    entry_of(name, options)
}

fn entry_of(name: &str, mut options: ClientOptions) -> ModelEntry {
    options.retry = RetryPolicy { retries: 0, ..RetryPolicy::default() };
    ModelEntry {
        chosen: "named by the test".into(),
        name: name.into(),
        client: ModelClient::new(options).unwrap(),
        call: CallOptions { model: FakeModel::DEFAULT_NAME.to_owned(), ..CallOptions::default() },
        window: Some(Tokens::new(16_384)),
        mode: ModeSetting::default(),
        uncertain: UncertainMode::default(),
        layout: PageLayout::default(),
        limits: ContextLimits::default(),
        images: FeatureSupport::Unknown,
    }
}

/// A process that lives as long as the test.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A process that is to be killed, which is what dropping it does. Nothing in it
/// moves but while the test waits inside, so nothing notices the end, either.
pub(crate) fn mortal() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The tool `hold`: says that it runs, and waits until it is let go.
#[derive(Clone)]
pub(crate) struct Held {
    spec: ToolSpec,
    runs: Arc<AtomicUsize>,
    began: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

impl Held {
    fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"what": {"type": "string"}},
            "required": ["what"],
        });
        Held {
            spec: ToolSpec::new(ItemId::tool(None, "hold"), "Holds something.", parameters),
            runs: Arc::default(),
            began: Arc::new(Semaphore::new(0)),
            may_end: Arc::new(Semaphore::new(0)),
        }
    }

    /// Waits until it runs once more.
    pub(crate) async fn has_begun(&self) {
        within(self.began.acquire()).await.unwrap().forget();
    }

    /// Lets so many calls end.
    pub(crate) fn let_go(&self, calls: usize) {
        self.may_end.add_permits(calls);
    }

    /// How often it was run.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for Held {
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.spec)
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        ready(Ok(action("hold", arguments, ApprovalNeed::Leave))).boxed()
    }

    fn run<'a>(
        &'a self,
        _: CallArguments,
        _: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        async move {
            self.runs.fetch_add(1, Ordering::SeqCst);
            self.began.add_permits(1);
            self.may_end.acquire().await.unwrap().forget();
            Ok("held".to_owned())
        }
        .boxed()
    }
}

/// What a call with these arguments would do.
fn action(what: &str, arguments: &CallArguments, needs: ApprovalNeed) -> ToolAction {
    let data = arguments.as_value().clone();
    let hash = ContentHash::of_bytes(data.to_string().as_bytes());
    let fields = CallFields { what: format!("{what} {data}"), arguments: data };
    ToolAction::new(ActionFields::Call(fields), needs, hash)
}

/// The tool `risk`, which a person has to allow. Of `what = "soul"` only a person
/// can, whatever is set.
struct Risky(ToolSpec);

impl Risky {
    fn new() -> Self {
        let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
        Risky(ToolSpec::new(ItemId::tool(None, "risk"), "Risks something.", parameters))
    }
}

impl Tool for Risky {
    fn id(&self) -> &ItemId {
        &self.0.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.0)
    }

    fn class(&self) -> ToolClass {
        ToolClass::Writes
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        let needs = match arguments.text("what") {
            Some("soul") => ApprovalNeed::Person,
            _ => ApprovalNeed::Leave,
        };
        ready(Ok(action("risk", arguments, needs))).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        _: &'a CallContext,
        consent: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        let asked = match consent {
            Consent::Unasked => "unasked",
            Consent::To(_) => "allowed",
            Consent::ToTool => "allowed before",
        };
        ready(Ok(format!("{asked} {}", arguments.text("what").unwrap_or_default()))).boxed()
    }
}

/// A reply that risks these things, each in a call of its own.
pub(crate) fn risks(things: &[&str]) -> FakeReply {
    FakeAnswer::calls(things.iter().map(|what| FakeCall::new("risk", json!({ "what": what }))))
}

/// A reply that holds these things, each in a call of its own.
pub(crate) fn holds(things: &[&str]) -> FakeReply {
    FakeAnswer::calls(things.iter().map(|what| FakeCall::new("hold", json!({ "what": what }))))
}

/// Waits for something that must happen.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it never happened")
}

/// Waits for something on a thread of its own, as the fakes' means to wait block.
pub(crate) async fn blocking<T: Send + 'static>(wait: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(wait).await.unwrap()
}

/// Waits until answers have come to the gate so many times in all.
pub(crate) async fn arrival(gate: &AnswerGate, times: usize) {
    let gate = gate.clone();
    blocking(move || gate.wait_for(times)).await;
}

/// The agent's owner.
pub(crate) fn owner() -> Actor {
    Actor::owner("owner")
}

/// A command that the owner types.
pub(crate) fn typed(line: &str) -> ChatCommand {
    match Inbound::text(&owner(), line).read_command().unwrap() {
        InboundReading::Command(command) => command,
        InboundReading::Message(_) => panic!("{line} is a message"),
    }
}

pub(crate) fn conversation(name: &str) -> Conversation {
    Conversation::with_owner("terminal", "local", name)
}

pub(crate) async fn session(agent: &Agent, name: &str) -> SessionId {
    agent.find_or_begin(&owner(), &conversation(name)).await.unwrap().id
}

/// A message that was sent, and a listener that was there before it.
pub(crate) struct Submitted {
    pub(crate) turn: TurnId,
    pub(crate) events: EventListener,
}

pub(crate) async fn submit(agent: &Agent, session: SessionId, text: &str) -> Submitted {
    submit_inbound(agent, session, Inbound::text(&owner(), text)).await
}

pub(crate) async fn submit_inbound(
    agent: &Agent,
    session: SessionId,
    inbound: Inbound,
) -> Submitted {
    let events = agent.listen(&owner(), session, EventCursor::Now).await.unwrap();
    let turn = within(agent.submit(session, inbound)).await.unwrap().turn;
    Submitted { turn, events }
}

/// A message that was sent, and a listener that hears what is still to come of its turn.
pub(crate) async fn follow(agent: &Agent, session: SessionId, sent: Submission) -> Submitted {
    let cursor = EventCursor::After(sent.before);
    let events = agent.listen(&owner(), session, cursor).await.unwrap();
    Submitted { turn: sent.turn, events }
}

/// Says something, and waits for the end of its turn.
pub(crate) async fn say(agent: &Agent, session: SessionId, text: &str) -> FinishedTurn {
    finished(submit(agent, session, text).await).await
}

pub(crate) async fn finished(submission: Submitted) -> FinishedTurn {
    let events = events(submission).await;
    match events.into_iter().next_back() {
        Some(EventKind::Finished(finished)) => {
            FinishedTurn { reply: finished.reply.map(|reply| unstamped(&reply)), ..finished }
        }
        other => panic!("it ended with {other:?}"),
    }
}

/// What happens in a turn, to its end.
pub(crate) async fn events(submission: Submitted) -> Vec<EventKind> {
    let Submitted { turn, events: mut listener } = submission;
    let mut events = Vec::new();
    loop {
        let event = next(&mut listener).await;
        if event.turn != Some(turn) {
            continue;
        }
        let is_last = matches!(event.event, EventKind::Finished(_));
        events.push(event.event);
        if is_last {
            return events;
        }
    }
}

pub(crate) async fn next(events: &mut EventListener) -> TurnEvent {
    within(events.next()).await.unwrap()
}

/// Waits until the turn is over, and gives how.
pub(crate) async fn ended(events: &mut EventListener, turn: TurnId) -> FinishedTurn {
    loop {
        match next(events).await {
            TurnEvent { turn: of, event: EventKind::Finished(finished), .. }
                if of == Some(turn) =>
            {
                return finished;
            }
            _ => {}
        }
    }
}

/// A session's transcript, a message a line.
pub(crate) async fn transcript(store: &Store, session: SessionId) -> String {
    let mut shown = String::new();
    for stored in store.messages(session, None).await.unwrap() {
        let message = &stored.message;
        let _ = writeln!(shown, "{} {}", message.id.0, describe(message));
    }
    shown
}

fn describe(message: &Message) -> String {
    match &message.body {
        MessageBody::User(_) => format!("user: {}", text(message)),
        MessageBody::Assistant { calls, .. } => {
            let calls =
                calls.iter().map(|call| format!(" [{}{}]", call.name, call.arguments.as_str()));
            format!("assistant: {}{}", text(message), calls.collect::<String>())
        }
        MessageBody::Tool { name, .. } => format!("{name}: {}", text(message)),
        MessageBody::Error(text) => format!("error: {text}"),
        MessageBody::Approval(text) => format!("approval: {text}"),
    }
}

pub(crate) fn text(message: &Message) -> String {
    let texts = message.content().iter().filter_map(ContentPart::as_text);
    unstamped(&texts.map(Text::as_str).collect::<String>())
}

/// What the fake repeats, without the date and time in front of it.
fn unstamped(text: &str) -> String {
    let Some((before, said)) = text.split_once("You said: ") else { return text.to_owned() };
    let said = LeadingStamp::split(said).map_or(said, |(_, said)| said);
    format!("{before}You said: {said}")
}

/// How the turns of a session stand.
pub(crate) async fn statuses(store: &Store, session: SessionId) -> Vec<&'static str> {
    let turns = store.turns(session).await.unwrap();
    turns.iter().map(|turn| turn.status.name()).collect()
}

/// What must hold of every session whose turns are over: the numbers have no
/// gap, turns don't interleave, each begins with one user message and ends with
/// one word for the person, every call has one result, and every record is whole. A turn that
/// handed calls out waits for what goes on with it.
pub(crate) async fn check_sound(store: &Store, session: SessionId) {
    let stored = store.messages(session, None).await.unwrap();
    let numbers: Vec<u64> = stored.iter().map(|stored| stored.message.id.0).collect();
    assert_eq!(numbers, (1..=stored.len() as u64).collect::<Vec<_>>());
    let of_turns: Vec<TurnId> = stored.iter().filter_map(|stored| stored.turn).collect();
    assert!(of_turns.is_sorted(), "turns interleave: {of_turns:?}");
    let turns = store.turns(session).await.unwrap();
    for turn in &turns {
        assert!(matches!(turn.status, TurnStatus::Ended(_)), "turn {} is {}", turn.id, turn.status);
        if turn.started.is_none() {
            // It was taken back before it began.
            continue;
        }
        // Turns that go on with each other are one, until the client went on with something
        // else.
        let goes_on = |of: TurnId| turns.iter().find(|other| other.continues == Some(of));
        let chain: Vec<_> = std::iter::successors(Some(turn), |turn| goes_on(turn.id)).collect();
        let is_handed_out = chain
            .last()
            .is_some_and(|last| last.status == TurnStatus::Ended(TurnEnding::HandedOut));
        let messages: Vec<&Message> = stored
            .iter()
            .filter(|stored| chain.iter().any(|turn| stored.turn == Some(turn.id)))
            .map(|stored| &*stored.message)
            .collect();
        if turn.continues.is_none() && !is_handed_out {
            check_turn(&messages);
        }
        for request in store.requests(turn.id).await.unwrap() {
            let verdict = verify_body(store, &request).await.unwrap();
            assert!(matches!(verdict, ReplayVerdict::Identical { .. }), "{verdict:?}");
        }
    }
    check_counts(store).await;
}

/// Every turn that has ended is counted once, with its requests and their tokens.
async fn check_counts(store: &Store) {
    let sessions = store.sessions_brief().await.unwrap();
    let agents: BTreeSet<&str> = sessions.iter().map(|session| &*session.agent).collect();
    for agent in agents {
        check_agent_counts(store, agent, sessions.iter().filter(|of| of.agent == agent)).await;
    }
}

async fn check_agent_counts(
    store: &Store,
    agent: &str,
    sessions: impl Iterator<Item = &StoredSession>,
) {
    let counted = store.usage(agent, None).await.unwrap();
    let (mut turns, mut tokens) = (0, TokenCounts::default());
    for session in sessions {
        let ended = store.turns(session.id).await.unwrap();
        for turn in ended.iter().filter(|turn| turn.ended.is_some()) {
            turns += 1;
            for request in store.requests(turn.id).await.unwrap() {
                tokens.requests += 1;
                tokens.add_usage(&request.answer.map(|answer| answer.usage).unwrap_or_default());
            }
        }
    }
    let TokenCounts { requests, prompt, cached, completion, .. } = counted.tokens;
    assert_eq!(
        (counted.endings.all(), requests, prompt, cached, completion),
        (turns, tokens.requests, tokens.prompt, tokens.cached, tokens.completion)
    );
}

fn check_turn(messages: &[&Message]) {
    let shown = || messages.iter().map(|message| describe(message) + "\n").collect::<String>();
    let (first, rest) = messages.split_first().unwrap();
    assert!(first.is_user() && !rest.iter().any(|message| message.is_user()), "{}", shown());
    let is_reply = |message: &&&Message| matches!(&message.body, MessageBody::Assistant { calls, .. } if calls.is_empty());
    assert!(rest.iter().filter(is_reply).count() <= 1, "a reply is doubled:\n{}", shown());
    let last = messages.last().unwrap();
    assert!(
        is_reply(&last) || matches!(last.body, MessageBody::Error(_)),
        "no reply:\n{}",
        shown()
    );
    let mut calls: Vec<&str> =
        messages.iter().flat_map(|message| message.calls()).map(|call| &*call.id.0).collect();
    let mut results: Vec<&str> = messages
        .iter()
        .filter_map(|message| match &message.body {
            MessageBody::Tool { call, .. } => Some(&*call.0),
            _ => None,
        })
        .collect();
    calls.sort_unstable();
    results.sort_unstable();
    assert_eq!(calls, results, "{}", shown());
}
