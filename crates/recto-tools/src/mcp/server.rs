//! One server: what is known of it, its session, and what happens when it fails.
//!
//! A server is started when it is first needed, and again after it ended, each
//! time after a longer pause. A pause is told, not waited for. All that a start
//! takes, from the greeting to the list of tools, has one limit together.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use recto_context::{ContentHash, ToolSpec};
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::ServiceError;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::cache::{CachedFailure, ServerCache, ServerSnapshot};
use super::content::tool_output;
use super::error::{ServerError, ServerProblem};
use super::greeting::Greeting;
use super::http;
use super::listing::ServerListing;
use super::log::Redactor;
use super::session::{Deadline, ServerSession, SessionConfig, SessionFailure, Watcher};
use super::{ServerFailure, ServerReport};
use crate::options::{ServerOptions, ServerSandbox, ServerTransport, holds_a_secret};
use crate::process::Keeper;
use crate::tool::{ToolError, ToolOutput};

/// The longest time for which a turn waits for a server whose tools are not known.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest pause between two starts of a server that fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A server that ran as long as this is well.
const WELL: Duration = Duration::from_secs(60);

/// Changes that follow each other closer than this are looked at together, at first and at most.
const TOGETHER: (Duration, Duration) = (Duration::from_millis(100), LONGEST_PAUSE);

/// How long the reason for a lost connection is waited for.
const REASON: Duration = Duration::from_secs(5);

/// The folders, search path and keeper that all servers share.
#[derive(Clone)]
pub(super) struct ServerEnvironment {
    pub(super) cache: Option<PathBuf>,
    pub(super) logs: Option<PathBuf>,
    pub(super) search_path: Option<OsString>,
    pub(super) keeper: Keeper,
}

/// An MCP server from the config, with its session while it runs.
pub(super) struct McpServer {
    name: Arc<str>,
    config: SessionConfig,
    cache: Arc<ServerCache>,
    state: Mutex<ServerState>,
    /// Held by whoever starts it, so that it is started once.
    starting: tokio::sync::Mutex<()>,
    /// Tells a start that is under way that the server is shut down.
    shut: watch::Sender<bool>,
    /// Called when its tools or its notices are others than before.
    on_change: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct ServerState {
    known: ServerSnapshot,
    session: Option<Arc<ServerSession>>,
    /// When someone first waited for its tools.
    asked: Option<Instant>,
    /// Starts in a row after which it did not stay well.
    failures: u32,
    not_before: Option<Instant>,
    /// How often a start or a session has failed in all.
    attempts: u64,
    trouble: Option<ServerError>,
    is_shut_down: bool,
}

impl McpServer {
    pub(super) fn new(
        options: ServerOptions,
        environment: ServerEnvironment,
        on_change: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let ServerEnvironment { cache, logs, search_path, keeper } = environment;
        let redact = secrets(&options.transport);
        let cache = Arc::new(ServerCache::new(cache.as_deref(), &options));
        let state = Mutex::new(ServerState { known: cache.load(), ..ServerState::default() });
        McpServer {
            name: options.name.as_str().into(),
            config: SessionConfig { options, search_path, logs, keeper, redact },
            cache,
            state,
            starting: tokio::sync::Mutex::default(),
            shut: watch::Sender::new(false),
            on_change,
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn options(&self) -> &ServerOptions {
        &self.config.options
    }

    /// The hash of all that decides which server it is, and with what rights.
    pub(super) fn identity(&self) -> ContentHash {
        self.cache.identity()
    }

    /// Its command line or address, as people may see it.
    pub(super) fn place(&self) -> String {
        match &self.config.options.transport {
            ServerTransport::Stdio { program, arguments, .. } => {
                let words = [program].into_iter().chain(arguments).map(|word| quoted(word));
                self.config.redact.apply(&words.collect::<Vec<_>>().join(" "))
            }
            ServerTransport::Http { url, .. } => http::display_url(url),
        }
    }

    /// What its program may do in its sandbox, in words; nothing where it is in none.
    pub(super) fn sandbox_rights(&self) -> Option<Vec<String>> {
        match &self.config.options.transport {
            ServerTransport::Stdio { sandbox, .. } => sandbox.as_ref().map(ServerSandbox::describe),
            ServerTransport::Http { .. } => None,
        }
    }

    /// Its tools, where they are known.
    pub(super) fn listing(&self) -> Option<ServerListing> {
        self.state.lock().known.listing.clone()
    }

    /// The version of the protocol that was spoken last.
    pub(super) fn protocol(&self) -> Option<String> {
        self.state.lock().known.protocol.clone()
    }

    /// The last error, until the server is well again.
    pub(super) fn trouble(&self) -> Option<ServerError> {
        self.state.lock().trouble.clone()
    }

    /// How the last try to reach it failed, in this run or one before, unless it went well.
    pub(super) fn last_failure(&self) -> Option<ServerFailure> {
        let CachedFailure { at, problem } = self.state.lock().known.failure.clone()?;
        Some(ServerFailure { at, error: self.error(problem, String::new()) })
    }

    /// Whether it is connected.
    pub(super) fn is_running(&self) -> bool {
        self.state.lock().session.as_ref().is_some_and(|session| session.is_open())
    }

    /// Starts the server and asks for its tools, unless they are known. One that
    /// failed before or takes too long is not waited for: it joins when it is well.
    pub(super) async fn learn(self: &Arc<Self>) {
        let Some(patience) = self.patience() else { return };
        if !patience.is_zero() {
            let _ = timeout(patience, self.session()).await;
        } else if self.may_start().is_ok() && self.starting.try_lock().is_ok() {
            let server = self.clone();
            tokio::spawn(async move { server.session().await.map(drop) });
        }
    }

    /// How long its tools are waited for now; `None` where they are known. All who
    /// wait do so until the same moment, so that a slow start holds up turns once.
    fn patience(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        if state.known.listing.is_some() {
            return None;
        }
        if state.attempts > 0 {
            return Some(Duration::ZERO);
        }
        let waited = state.asked.get_or_insert_with(Instant::now).elapsed();
        Some(self.config.options.start_limit.min(PATIENCE).saturating_sub(waited))
    }

    /// Calls one of its tools, if the server still says of it what the model was told.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &ToolSpec,
        arguments: JsonObject,
    ) -> ToolOutput {
        let session = self.session().await.map_err(|error| ToolError::new(error.for_model()))?;
        if let Some(listing) = self.listing()
            && !listing.tells(&self.name, tool)
        {
            return Err(ToolError::new(format!(
                "the MCP server `{}` describes it otherwise than it did when it was offered, or \
                 has it no more",
                self.name
            )));
        }
        let params = CallToolRequestParams::new(tool.id.name.to_string()).with_arguments(arguments);
        let (limit, asked) = (self.config.options.time_limit, Instant::now());
        let Ok(answer) = timeout(limit, session.call(params)).await else {
            let problem = ServerProblem::Slow { limit, unread: session.unread_since(asked) };
            return Err(ToolError::new(self.error(problem, String::new()).to_string()));
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => tool_output(&result, &self.config.redact),
            Ok(CallToolResponse::InputRequired(_)) => {
                Err(ToolError::new("the server wants to ask a person, which Recto does not do"))
            }
            Ok(_) => Err(ToolError::new("the server put it off, and Recto does not wait for it")),
            Err(error) => Err(ToolError::new(self.failed_call(&session, &error).await.for_model())),
        }
    }

    /// Connects anew beside the session, asks for the tools, and ends it. How it ended is kept.
    pub(super) async fn check(
        &self,
        specs: impl FnOnce(ServerListing) -> Vec<ToolSpec>,
    ) -> Result<ServerReport, ServerError> {
        let report = self.ask_anew(specs).await;
        if let Err(error) = &report {
            self.keep_failure(error).await;
        }
        report
    }

    async fn ask_anew(
        &self,
        specs: impl FnOnce(ServerListing) -> Vec<ToolSpec>,
    ) -> Result<ServerReport, ServerError> {
        let asked = Instant::now();
        let deadline = self.deadline();
        let session = self.open(deadline).await?;
        let (started_in, asked) = (asked.elapsed(), Instant::now());
        let listing = self.list(&session, deadline).await?;
        let listed_in = asked.elapsed();
        session.close().await;
        {
            let mut state = self.state.lock();
            (state.failures, state.not_before, state.trouble) = (0, None, None);
        }
        self.learned(&listing, &session.protocol, session.silent).await;
        let protocol = session.protocol.clone();
        let implementation = session.implementation.clone();
        let (problems, tools) = (listing.problems.clone(), specs(listing));
        Ok(ServerReport { protocol, implementation, tools, problems, started_in, listed_in })
    }

    /// Ends it for good, also where it is just being started.
    pub(super) async fn shut_down(&self) {
        let session = {
            let mut state = self.state.lock();
            state.is_shut_down = true;
            state.session.take()
        };
        if let Some(session) = session {
            session.close().await;
        }
        self.shut.send_replace(true);
        let _start_is_over = self.starting.lock().await;
    }

    /// The session, started if there is none.
    async fn session(self: &Arc<Self>) -> Result<Arc<ServerSession>, ServerError> {
        if let Some(session) = self.running() {
            return Ok(session);
        }
        // In a task of its own: a caller that gives up does not undo the start,
        // which others may be waiting for.
        let server = self.clone();
        let attempts = self.state.lock().attempts;
        let started = tokio::spawn(async move {
            let _one_at_a_time = server.starting.lock().await;
            if let Some(session) = server.running() {
                return Ok(session);
            }
            match server.failed_since(attempts) {
                Some(error) => Err(error),
                None => server.start().await,
            }
        });
        started.await.unwrap_or_else(|_| Err(self.stopped("was not started: Recto is ending")))
    }

    /// Why it failed while someone waited for another to start it.
    fn failed_since(&self, attempts: u64) -> Option<ServerError> {
        let state = self.state.lock();
        state.trouble.clone().filter(|_| state.attempts != attempts)
    }

    fn running(&self) -> Option<Arc<ServerSession>> {
        self.state.lock().session.clone().filter(|session| session.is_open())
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<ServerSession>, ServerError> {
        self.may_start()?;
        let mut shut = self.shut.subscribe();
        let started = tokio::select! {
            started = self.connect() => started,
            // What was started ends when it is dropped.
            _ = shut.wait_for(|shut| *shut) => return Err(self.stopped("was shut down")),
        };
        if let Err(error) = &started {
            self.state.lock().fail(error.clone(), Instant::now());
            (self.on_change)();
            self.keep_failure(error).await;
        }
        started
    }

    /// A session that has told its tools, within the limit of a start.
    async fn connect(self: &Arc<Self>) -> Result<Arc<ServerSession>, ServerError> {
        let deadline = self.deadline();
        let session = self.open(deadline).await?;
        self.begin(session, deadline).await
    }

    fn deadline(&self) -> Deadline {
        Deadline::within(self.config.options.start_limit)
    }

    /// Whether it is not too early to try again.
    fn may_start(&self) -> Result<(), ServerError> {
        let state = self.state.lock();
        if state.is_shut_down {
            return Err(self.stopped("was shut down"));
        }
        let wait = state.not_before.map(|then| then.saturating_duration_since(Instant::now()));
        match (&state.trouble, wait) {
            (Some(trouble), Some(wait)) if !wait.is_zero() => {
                let last = Box::new(trouble.problem.clone());
                let problem = ServerProblem::Waiting { last, wait };
                Err(ServerError { problem, ..trouble.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The error of a server that Recto itself does not want to run.
    fn stopped(&self, how: &str) -> ServerError {
        self.error(ServerProblem::Ended { how: how.to_owned() }, String::new())
    }

    /// A new session. A server that may not have understood the greeting is
    /// greeted in the other way.
    async fn open(&self, deadline: Deadline) -> Result<ServerSession, ServerError> {
        let no_session = |failure: SessionFailure| self.error(failure.problem, failure.stderr);
        if self.state.lock().known.silent {
            let opened = ServerSession::open(&self.config, Greeting::Initialize, deadline).await;
            return opened.map_err(|failure| {
                // It may have learned to answer.
                self.state.lock().known.silent = failure.is_slow() || !failure.misunderstood;
                no_session(failure)
            });
        }
        let mut failure =
            match ServerSession::open(&self.config, Greeting::Discover, deadline).await {
                Ok(session) => return Ok(session),
                Err(failure) => failure,
            };
        if let Some(greeting) = failure.next_greeting() {
            match ServerSession::open(&self.config, greeting, deadline).await {
                Ok(session) => return Ok(session),
                Err(again) => failure = again,
            }
        }
        if failure.is_slow() {
            // Its time is over; but the next time it is greeted otherwise at once.
            let known = {
                let mut state = self.state.lock();
                state.known.silent = true;
                state.known.clone()
            };
            self.save(known).await;
        }
        Err(no_session(failure))
    }

    /// Asks a new session for its tools, and looks after it from now on.
    async fn begin(
        self: &Arc<Self>,
        session: ServerSession,
        deadline: Deadline,
    ) -> Result<Arc<ServerSession>, ServerError> {
        let mut watcher = session.watch();
        // News of changes can be done without, so there must be time for the list.
        watcher.subscribe(deadline.left() / 2).await;
        let listing = self.list(&session, deadline).await?;
        let session = Arc::new(session);
        {
            let mut state = self.state.lock();
            if !state.is_shut_down {
                state.session = Some(session.clone());
            }
            (state.not_before, state.trouble) = (None, None);
        }
        self.learned(&listing, &session.protocol, session.silent).await;
        let (server, weak) = (Arc::downgrade(self), Arc::downgrade(&session));
        tokio::spawn(look_after(server, weak, watcher));
        Ok(session)
    }

    /// Asks a new session for its tools. One that does not tell them is closed.
    async fn list(
        &self,
        session: &ServerSession,
        deadline: Deadline,
    ) -> Result<ServerListing, ServerError> {
        match session.list(deadline).await {
            Ok(listing) => Ok(listing),
            Err(problem) => {
                let error = self.lost(session, problem).await;
                session.close().await;
                Err(error)
            }
        }
    }

    /// Records a server's tools and protocol, in the cache too if they are new.
    async fn learned(&self, listing: &ServerListing, protocol: &str, silent: bool) {
        let known = {
            let mut state = self.state.lock();
            let known = ServerSnapshot {
                listing: Some(listing.clone()),
                protocol: Some(protocol.to_owned()),
                silent: silent || state.known.silent,
                failure: None,
            };
            let is_new = state.known != known;
            state.known = known.clone();
            is_new.then_some(known)
        };
        if let Some(known) = known {
            self.save(known).await;
        }
        (self.on_change)();
    }

    /// Records that it could not be reached, until it is or is set up otherwise.
    async fn keep_failure(&self, error: &ServerError) {
        let problem = error.problem.clone();
        let known = {
            let mut state = self.state.lock();
            state.known.failure = Some(CachedFailure { at: SystemTime::now(), problem });
            state.known.clone()
        };
        self.save(known).await;
    }

    /// Writes the cache file. That it can't be written is no reason to fail.
    async fn save(&self, known: ServerSnapshot) {
        let cache = self.cache.clone();
        let _: Result<io::Result<()>, _> = spawn_blocking(move || cache.save(&known)).await;
    }

    /// Why a call failed, and what follows for the session.
    async fn failed_call(&self, session: &Arc<ServerSession>, error: &ServiceError) -> ServerError {
        let problem = ServerProblem::from_request(error, &self.config.redact);
        if !matches!(error, ServiceError::TransportSend(_) | ServiceError::TransportClosed) {
            return self.error(problem, String::new());
        }
        let error = self.lost(session, problem).await;
        self.ended(session, error.clone());
        error
    }

    /// What is said of a session that was lost: how the program ended, where it did, or why the
    /// session was broken off.
    async fn lost(&self, session: &ServerSession, problem: ServerProblem) -> ServerError {
        let mut problem = problem.with_unread(session.unread_since(session.begun));
        let is_program = matches!(self.config.options.transport, ServerTransport::Stdio { .. });
        if (is_program || session.is_broken_off())
            && matches!(problem, ServerProblem::Ended { .. })
            && let Ok(how) = timeout(REASON, session.ended()).await
        {
            problem = ServerProblem::Ended { how };
        }
        self.error(problem, session.stderr())
    }

    /// Records that a session ended; only once, whoever notices first.
    fn ended(&self, session: &Arc<ServerSession>, error: ServerError) {
        {
            let mut state = self.state.lock();
            if !state.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
                return;
            }
            state.session = None;
            if session.begun.elapsed() >= WELL {
                state.failures = 0;
            }
            state.fail(error, Instant::now());
        }
        (self.on_change)();
    }

    fn error(&self, problem: ServerProblem, stderr: String) -> ServerError {
        ServerError { server: self.name.clone(), problem, stderr }
    }
}

impl ServerState {
    fn fail(&mut self, error: ServerError, now: Instant) {
        self.attempts += 1;
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + pause(self.failures));
        self.trouble = Some(error);
    }
}

/// The pause after so many failures in a row: 0, 1, 2, 4 … seconds.
fn pause(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => Duration::from_secs(1 << (more - 2).min(6)).min(LONGEST_PAUSE),
    }
}

/// The time in which changes are gathered before the tools are asked for. It grows for a server that
/// goes on and on to tell of changes.
#[derive(Debug, Default)]
struct ChangePause(Option<Duration>);

impl ChangePause {
    /// The pause behind so much time without a change.
    fn after_quiet(&mut self, quiet: Duration) -> Duration {
        let (first, longest) = TOGETHER;
        let pause = match self.0 {
            Some(last) if quiet <= last * 4 => (last * 2).min(longest),
            _ => first,
        };
        *self.0.insert(pause)
    }
}

/// Looks after a session until it ends, without holding it or the server.
async fn look_after(server: Weak<McpServer>, session: Weak<ServerSession>, mut watcher: Watcher) {
    let (mut pause, mut listed) = (ChangePause::default(), Instant::now());
    while watcher.next().await {
        sleep(pause.after_quiet(listed.elapsed())).await;
        let Some((deadline, protocol)) = server
            .upgrade()
            .zip(session.upgrade())
            .map(|(server, now)| (server.deadline(), (now.protocol.clone(), now.silent)))
        else {
            return;
        };
        // A list that does not come leaves the one before.
        if let (Ok(listing), Some(server)) = (watcher.list(deadline).await, server.upgrade()) {
            server.learned(&listing, &protocol.0, protocol.1).await;
        }
        listed = Instant::now();
    }
    let how = watcher.ended().await;
    if let (Some(server), Some(session)) = (server.upgrade(), session.upgrade()) {
        let error = server.error(ServerProblem::Ended { how }, session.stderr());
        server.ended(&session, error);
    }
}

/// Makes a redactor of the secrets that a server is given.
fn secrets(transport: &ServerTransport) -> Redactor {
    match transport {
        ServerTransport::Stdio { environment, .. } => {
            let secret = environment.iter().filter(|(name, value)| holds_a_secret(name, value));
            Redactor::new(secret.map(|(_, value)| value.as_str()))
        }
        ServerTransport::Http { key: Some(key), .. } => Redactor::for_key(key.reveal()),
        ServerTransport::Http { key: None, .. } => Redactor::default(),
    }
}

/// A word of a command line, so that people see where it ends.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_minute() {
        let seconds: Vec<_> = (0..10).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }

    #[test]
    fn a_server_that_goes_on_telling_of_changes_is_asked_less_and_less() {
        let mut pause = ChangePause::default();
        let mut after = |quiet: u64| pause.after_quiet(Duration::from_millis(quiet)).as_millis();
        let at_once: Vec<_> = (0..12).map(|_| after(0)).collect();
        let doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200];
        assert_eq!(at_once, [&doubled[..], &[60_000, 60_000]].concat());
        assert_eq!((after(240_000), after(240_001)), (60_000, 100));
        assert_eq!((after(401), after(401)), (100, 100));
    }

    #[test]
    fn words_are_quoted_where_they_would_be_misread() {
        let words = ["npx", "-y", "@a/b", "two words", "", "a\"b\n"];
        let line = words.map(quoted).join(" ");
        assert_eq!(line, r#"npx -y @a/b "two words" "" "a\"b\n""#);
    }
}
