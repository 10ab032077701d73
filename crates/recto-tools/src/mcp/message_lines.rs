//! The lines of a server's standard output, as messages.
//!
//! The library passes over a line that it can't read, and whoever asked waits until the time is
//! over. Here a line that was to be an answer ends its request at once, with what is wrong with
//! it. What is no message at all, such as a greeting, is passed over, and told where no answer
//! comes.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use recto_context::{Reveal, first_chars, reveal};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcMessage,
    NumberOrString, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty, empty};
use tokio::task::spawn_blocking;

use super::envelope::{Envelope, read_message, with_readable_tools};
use super::error::UNREADABLE;
use super::log::{Log, Redactor};

/// As much of a line as is repeated, in characters.
const MAX_QUOTE: usize = 120;

/// As much of a line as is looked at for that, in bytes.
const QUOTED_FROM: usize = 4 * 1024;

/// Lines of one connection that the log names.
const MAX_LOGGED: usize = 20;

/// A transport over the standard streams of a server.
pub(super) struct ServerLines<R, W: AsyncWrite> {
    read: BufReader<R>,
    line: Vec<u8>,
    write: AsyncRwTransport<RoleClient, Empty, W>,
    waiting: WaitingRequests,
    unread: UnreadLines,
}

impl<R, W> ServerLines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(read: R, write: W, unread: UnreadLines) -> Self {
        let write = AsyncRwTransport::new(empty(), write);
        let (read, waiting) = (BufReader::new(read), WaitingRequests::default());
        ServerLines { read, line: Vec::new(), write, waiting, unread }
    }

    /// The message of a line, or the end of the request that it was to answer.
    fn message(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let line = line.trim_ascii_end();
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        if let Ok(message) = serde_json::from_slice(line) {
            let message = match self.waiting.awaits_tools(&message) {
                true => with_readable_tools(message, line),
                false => message,
            };
            return Some(self.waiting.settle(message));
        }
        let envelope = Envelope::scan(line);
        let request = self.waiting.answered_by(&envelope);
        let is_list = request.as_ref().is_some_and(|id| self.waiting.is_tool_list(id));
        match read_message(line, &envelope, is_list) {
            Ok(message) => Some(self.waiting.settle(message)),
            Err(why) => {
                let told = self.unread.record(line, &why);
                let error = ErrorData::new(UNREADABLE, format!("it sent {told}"), None);
                let id = request?;
                Some(self.waiting.settle(ServerJsonRpcMessage::error(error, Some(id))))
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for ServerLines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.waiting.note(&item);
        self.write.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // When it is given up, what was read of a line stays.
            self.read.read_until(b'\n', &mut self.line).await.ok()?;
            if !self.line.ends_with(b"\n") {
                return None;
            }
            let line = mem::take(&mut self.line);
            if let Some(message) = self.message(&line) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.write.close()
    }
}

/// The requests that were sent and have no answer yet.
#[derive(Default)]
struct WaitingRequests(HashMap<RequestId, RequestedThing>);

/// What a request asks for, as far as its answer is read in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestedThing {
    ToolList,
    Other,
}

impl WaitingRequests {
    /// Notes a message that is sent.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                let thing = match request.request {
                    ClientRequest::ListToolsRequest(_) => RequestedThing::ToolList,
                    _ => RequestedThing::Other,
                };
                self.0.insert(request.id.clone(), thing);
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(it) = &told.notification
                    && let Some(id) = &it.params.request_id
                {
                    self.0.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Takes the request of an answer off the list. An error without an id is the answer to the
    /// only request there is.
    fn settle(&mut self, mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        match &mut message {
            JsonRpcMessage::Response(answer) => {
                self.0.remove(&answer.id);
            }
            JsonRpcMessage::Error(answer) => {
                answer.id = answer.id.take().or_else(|| self.only());
                if let Some(id) = &answer.id {
                    self.0.remove(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        message
    }

    /// The request that a line was to answer that can't be read.
    fn answered_by(&self, envelope: &Envelope) -> Option<RequestId> {
        if !envelope.is_answer() {
            return None;
        }
        let mut ids = envelope.ids.iter().map(|id| NumberOrString::Number(*id));
        match envelope.ids.is_empty() {
            true => self.only().filter(|_| envelope.claims),
            false => ids.find(|id| self.0.contains_key(id)),
        }
    }

    /// Whether a message answers the question for tools.
    fn awaits_tools(&self, message: &ServerJsonRpcMessage) -> bool {
        matches!(message, JsonRpcMessage::Response(answer) if self.is_tool_list(&answer.id))
    }

    fn is_tool_list(&self, id: &RequestId) -> bool {
        self.0.get(id) == Some(&RequestedThing::ToolList)
    }

    fn only(&self) -> Option<RequestId> {
        self.0.keys().next().filter(|_| self.0.len() == 1).cloned()
    }
}

/// The lines that could not be read: the last one, and the log that names them.
#[derive(Clone, Default)]
pub(super) struct UnreadLines {
    redact: Redactor,
    /// The folder of logs and the stem of the server's.
    log: Option<(PathBuf, String)>,
    state: Arc<Mutex<UnreadState>>,
}

#[derive(Default)]
struct UnreadState {
    last: Option<(Instant, String)>,
    logged: usize,
}

impl UnreadLines {
    pub(super) fn new(redact: Redactor, log: Option<(PathBuf, String)>) -> Self {
        UnreadLines { redact, log, state: Arc::default() }
    }

    /// What is said of the last line that came since then.
    pub(super) fn since(&self, then: Instant) -> Option<String> {
        let state = self.state.lock();
        let (_, told) = state.last.as_ref().filter(|(at, _)| *at >= then)?;
        Some(told.clone())
    }

    /// Keeps a line as the last one, and gives what is said of it.
    fn record(&self, line: &[u8], why: &str) -> String {
        let start = String::from_utf8_lossy(&line[..line.len().min(QUOTED_FROM)]);
        let quote = first_chars(&reveal(&self.redact.apply(&start), Reveal::Line), MAX_QUOTE);
        let told = format!("a line that can't be read ({why}): `{quote}`");
        let is_logged = {
            let mut state = self.state.lock();
            state.last = Some((Instant::now(), told.clone()));
            state.logged += 1;
            state.logged <= MAX_LOGGED
        };
        if let (Some((folder, stem)), true) = (self.log.clone(), is_logged) {
            let line = format!("recto: the server wrote {told}\n");
            // That a log can't be written is no reason to fail.
            spawn_blocking(move || {
                Log::open(&folder, &stem).map(|mut log| log.write(line.as_bytes()))
            });
        }
        told
    }
}
