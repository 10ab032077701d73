//! A connection to a server, from its start to its end.
//!
//! A task of its own keeps it: it notices when the server ends, ends the server
//! when the session is dropped, and leaves nothing of it behind.

use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ErrorCode,
    Implementation, PaginatedRequestParams, ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RunningService, ServiceError, Subscription,
};
use rmcp::transport::Transport;
use rmcp::{ClientCacheConfig, ClientHandler, ClientServiceExt, Peer, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::bounded_requests::BoundedRequests;
use super::error::ServerProblem;
use super::greeting::{DiscoverOutcome, DiscoverWatch, Greeting, GreetingWait};
use super::http;
use super::limits::LimitBreach;
use super::listing::{ListingBuilder, MAX_PAGES, ServerListing, shown_name};
use super::log::{Redactor, StderrTail};
use super::message_lines::{ServerLines, UnreadLines};
use super::names::file_stem;
use super::own_ids::OwnIds;
use super::stdio::{self, ServerProcess};
use crate::options::{ServerOptions, ServerTransport};
use crate::process::Keeper;

/// The longest name of a server or version, in characters.
const MAX_IMPLEMENTATION: usize = 200;

/// How long a server may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long a subscription may take, and how long until a lost one is renewed.
const SUBSCRIBE_LIMIT: Duration = Duration::from_secs(5);

/// Everything that is needed to connect to a server.
pub(super) struct SessionConfig {
    pub(super) options: ServerOptions,
    pub(super) search_path: Option<OsString>,
    pub(super) logs: Option<PathBuf>,
    pub(super) keeper: Keeper,
    pub(super) redact: Redactor,
}

/// The moment by which a server must have started and told its tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    begun: Instant,
    limit: Duration,
}

/// A connection to a server.
pub(super) struct ServerSession {
    peer: Peer<RoleClient>,
    /// The version of the protocol that is spoken.
    pub(super) protocol: String,
    /// What the server calls itself, and its version.
    pub(super) implementation: Option<(String, String)>,
    /// Whether the server seems to leave `server/discover` without an answer.
    pub(super) silent: bool,
    /// When the connection stood.
    pub(super) begun: Instant,
    signals: ServerSignals,
    redact: Redactor,
    end: watch::Receiver<Option<String>>,
    /// The task that keeps the session ends it when this is dropped.
    stop: watch::Sender<bool>,
}

/// What comes of a server besides its answers.
#[derive(Clone, Default)]
struct ServerSignals {
    /// The last that it wrote to stderr.
    stderr: StderrTail,
    /// Told when its tools may have changed.
    changed: Arc<Notify>,
    breach: LimitBreach,
    /// The lines of its standard output that could not be read.
    unread: UnreadLines,
    discover: DiscoverWatch,
}

/// The reason why a session could not be opened.
pub(super) struct SessionFailure {
    pub(super) problem: ServerProblem,
    pub(super) stderr: String,
    /// Whether it may have been the greeting.
    pub(super) misunderstood: bool,
    /// What became of `server/discover`.
    pub(super) discover: DiscoverOutcome,
}

impl ServerSignals {
    fn of_server(config: &SessionConfig) -> Self {
        let log = config.logs.clone().map(|folder| (folder, file_stem(&config.options.name)));
        let unread = UnreadLines::new(config.redact.clone(), log);
        ServerSignals { unread, ..ServerSignals::default() }
    }

    /// A transport that keeps to the limits and to the ids of its questions, and does not wait
    /// for long with the first one.
    fn held<T: Transport<RoleClient>>(
        &self,
        transport: T,
        greeting: Greeting,
        config: &SessionConfig,
    ) -> BoundedRequests<GreetingWait<OwnIds<T>>> {
        let (limit, watch) = (config.options.start_limit, self.discover.clone());
        let transport = GreetingWait::new(OwnIds(transport), greeting, limit, watch);
        BoundedRequests::new(transport, self.breach.clone())
    }
}

impl Deadline {
    /// Sets a deadline so long from now.
    pub(super) fn within(limit: Duration) -> Self {
        Deadline { begun: Instant::now(), limit }
    }

    /// The time that is left.
    pub(super) fn left(self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }

    /// Waits for the future until the deadline; the error says how long that was in all.
    async fn hold<T>(self, future: impl Future<Output = T>) -> Result<T, ServerProblem> {
        let slow = ServerProblem::Slow { limit: self.limit, unread: None };
        timeout(self.left(), future).await.map_err(|_| slow)
    }
}

impl SessionFailure {
    /// Whether the server did not answer in time.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.problem, ServerProblem::Slow { .. })
    }

    /// How to greet it once more, where that may help: one that answered `server/discover` too
    /// late knows that alone, and one that ended may have done so when it came to read it.
    pub(super) fn next_greeting(&self) -> Option<Greeting> {
        let has_ended = matches!(self.problem, ServerProblem::Ended { .. });
        match self.discover {
            _ if self.is_slow() => None,
            DiscoverOutcome::TooLate => Some(Greeting::DiscoverPatiently),
            DiscoverOutcome::Ignored if has_ended => Some(Greeting::Initialize),
            _ => self.misunderstood.then_some(Greeting::Initialize),
        }
    }
}

impl ServerSession {
    /// Connects to a server before the deadline.
    pub(super) async fn open(
        config: &SessionConfig,
        greeting: Greeting,
        deadline: Deadline,
    ) -> Result<ServerSession, SessionFailure> {
        let signals = ServerSignals::of_server(config);
        let handler = SessionHandler { changed: signals.changed.clone() };
        let failed = |problem: ServerProblem, misunderstood| SessionFailure {
            problem: problem.with_unread(signals.unread.since(deadline.begun)),
            stderr: signals.stderr.text(),
            misunderstood,
            discover: signals.discover.outcome(),
        };
        let (started, mut process) = match &config.options.transport {
            ServerTransport::Stdio { .. } => {
                let started = stdio::start_server(config, &signals.stderr, &signals.breach).await;
                let (process, stdout, stdin) = started.map_err(|problem| failed(problem, false))?;
                let transport = ServerLines::new(stdout, stdin, signals.unread.clone());
                let transport = signals.held(transport, greeting, config);
                let start = handler.serve_with_lifecycle(transport, greeting.lifecycle());
                (deadline.hold(start).await, Some(process))
            }
            ServerTransport::Http { url, key } => {
                let transport =
                    http::transport(url, key.as_ref()).map_err(|problem| failed(problem, false))?;
                let transport = signals.held(transport, greeting, config);
                let start = handler.serve_with_lifecycle(transport, greeting.lifecycle());
                (deadline.hold(start).await, None)
            }
        };
        let running = match started {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => {
                let misunderstood = may_be_greeting(&error, process.is_some());
                let mut problem = ServerProblem::from_start(&error, &config.redact);
                if let Some(process) = process.take() {
                    let how = process.end(GRACE / 4).await;
                    if matches!(problem, ServerProblem::Ended { .. }) {
                        problem = ServerProblem::Ended { how };
                    }
                }
                return Err(failed(problem, misunderstood));
            }
            Err(slow) => {
                if let Some(process) = process.take() {
                    process.end(Duration::ZERO).await;
                }
                return Err(failed(slow, true));
            }
        };
        Ok(ServerSession::keep(running, process, signals, config.redact.clone()).await)
    }

    async fn keep(
        running: RunningService<RoleClient, SessionHandler>,
        process: Option<ServerProcess>,
        signals: ServerSignals,
        redact: Redactor,
    ) -> ServerSession {
        let peer = running.peer().clone();
        // A list that is no longer true must not come back when asking fails.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let info = peer.peer_info();
        let version = info.as_ref().map(|info| info.protocol_version.clone());
        let shown = |text: &str| shown_name(text, MAX_IMPLEMENTATION, &redact);
        let implementation = info.and_then(|info| {
            let implementation = info.server_info.as_ref()?;
            Some((shown(&implementation.name), shown(&implementation.version)))
        });
        let protocol = version.map(|version| shown(&version.to_string())).unwrap_or_default();
        let (stop, stopped) = watch::channel(false);
        let (ended, end) = watch::channel(None);
        tokio::spawn(keep(running, process, signals.breach.clone(), stopped, ended));
        ServerSession {
            peer,
            protocol,
            implementation,
            silent: signals.discover.outcome() == DiscoverOutcome::Ignored,
            begun: Instant::now(),
            signals,
            redact,
            end,
            stop,
        }
    }

    /// Whether it can still be used.
    pub(super) fn is_open(&self) -> bool {
        self.end.borrow().is_none() && !self.peer.is_transport_closed()
    }

    /// What the server last wrote to stderr.
    pub(super) fn stderr(&self) -> String {
        self.signals.stderr.text()
    }

    /// What is said of the last line since then that could not be read.
    pub(super) fn unread_since(&self, then: Instant) -> Option<String> {
        self.signals.unread.since(then)
    }

    /// Whether it was ended because the server went beyond a limit.
    pub(super) fn is_broken_off(&self) -> bool {
        self.signals.breach.limit().is_some()
    }

    /// Waits for the end, and says how it ended.
    pub(super) async fn ended(&self) -> String {
        self.watch().ended().await
    }

    /// Ends the session, and waits until nothing is left of it.
    pub(super) async fn close(&self) {
        let _ = self.stop.send(true);
        self.ended().await;
    }

    /// Asks for all tools, page by page.
    pub(super) async fn list(&self, deadline: Deadline) -> Result<ServerListing, ServerProblem> {
        self.watch().list(deadline).await
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
    ) -> Result<CallToolResponse, ServiceError> {
        self.peer.call_tool_once(params).await
    }

    /// Makes a watcher, which looks after the session without holding it.
    pub(super) fn watch(&self) -> Watcher {
        Watcher {
            peer: self.peer.clone(),
            changed: self.signals.changed.clone(),
            redact: self.redact.clone(),
            end: self.end.clone(),
            subscription: None,
        }
    }
}

/// Notices changes of a session's tools, and its end.
pub(super) struct Watcher {
    peer: Peer<RoleClient>,
    changed: Arc<Notify>,
    redact: Redactor,
    end: watch::Receiver<Option<String>>,
    subscription: Option<Subscription>,
}

impl Watcher {
    /// Asks the server to tell of changes, where it tells of them only then. One
    /// that does not answer in time is left without.
    pub(super) async fn subscribe(&mut self, limit: Duration) {
        let Some(info) = self.peer.peer_info() else { return };
        let tells = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if info.protocol_version.has_initialize() || tells != Some(true) {
            return;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let subscribed = timeout(limit.min(SUBSCRIBE_LIMIT), self.peer.listen(filter)).await;
        self.subscription = subscribed.ok().and_then(Result::ok);
    }

    /// Waits until the tools may have changed; false when the session has ended.
    pub(super) async fn next(&mut self) -> bool {
        let Watcher { changed, end, subscription, .. } = self;
        let told = async {
            match subscription {
                Some(subscription) => matches!(subscription.next().await, Ok(Some(_))),
                None => std::future::pending().await,
            }
        };
        let told = tokio::select! {
            () = changed.notified() => true,
            told = told => told,
            _ = end.wait_for(Option::is_some) => return false,
        };
        if !told {
            // What happens meanwhile is missed, so the list is asked for anyway.
            sleep(SUBSCRIBE_LIMIT).await;
            self.subscription = None;
            self.subscribe(SUBSCRIBE_LIMIT).await;
        }
        true
    }

    /// Waits for the end, and says how it ended.
    pub(super) async fn ended(&mut self) -> String {
        let lost = || "closed the connection".to_owned();
        match self.end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or_else(lost),
            Err(_) => lost(),
        }
    }

    /// Asks for all tools, page by page.
    pub(super) async fn list(&self, deadline: Deadline) -> Result<ServerListing, ServerProblem> {
        match deadline.hold(self.pages()).await? {
            Ok(listing) => Ok(listing),
            // A server without tools need not know the question.
            Err(ServiceError::McpError(data)) if data.code == ErrorCode::METHOD_NOT_FOUND => {
                Ok(ServerListing::default())
            }
            Err(error) => Err(ServerProblem::from_request(&error, &self.redact)),
        }
    }

    async fn pages(&self) -> Result<ServerListing, ServiceError> {
        let mut listing = ListingBuilder::new(&self.redact);
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(params)).await?;
            listing.add_page(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || listing.is_full() {
                return Ok(listing.finish());
            }
        }
        listing.leave_pages();
        Ok(listing.finish())
    }
}

/// Whether a server may have failed because it does not know `server/discover`.
fn may_be_greeting(error: &ClientInitializeError, is_program: bool) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_) => is_program,
        ClientInitializeError::TransportError { .. }
        | ClientInitializeError::Cancelled
        | ClientInitializeError::LegacyFallbackFailed { .. } => false,
        _ => true,
    }
}

/// Keeps a session until the server ends or nobody wants it any more. Then
/// nothing is left of it.
async fn keep(
    running: RunningService<RoleClient, SessionHandler>,
    mut process: Option<ServerProcess>,
    breach: LimitBreach,
    mut stopped: watch::Receiver<bool>,
    ended: watch::Sender<Option<String>>,
) {
    let token = running.cancellation_token();
    let mut waiting = pin!(running.waiting());
    let exited = async {
        match &mut process {
            Some(process) => process.exited().await,
            None => std::future::pending().await,
        }
    };
    let is_over = tokio::select! {
        _ = &mut waiting => true,
        () = exited => false,
        () = asked_to_stop(&mut stopped) => {
            token.cancel();
            timeout(GRACE, &mut waiting).await.is_ok()
        }
    };
    if !is_over {
        // Others may hold its streams open. What it wrote itself is still read.
        if let Some(process) = &mut process {
            process.kill();
        }
        let _ = timeout(GRACE, waiting).await;
    }
    let how = match (process, breach.limit()) {
        (Some(process), _) => process.end(GRACE).await,
        (None, Some(limit)) => limit.to_string(),
        (None, None) => "closed the connection".to_owned(),
    };
    let _ = ended.send(Some(how));
}

/// Waits until the session is closed or dropped.
async fn asked_to_stop(stopped: &mut watch::Receiver<bool>) {
    // An error means that it was dropped.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Recto's side of the protocol: a server is told that there is neither a model to
/// sample, nor a person to ask, nor a folder to look at.
#[derive(Debug)]
struct SessionHandler {
    changed: Arc<Notify>,
}

impl ClientHandler for SessionHandler {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let recto = Implementation::new("recto", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), recto)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
