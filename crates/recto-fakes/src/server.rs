//! The sockets: takes requests in, asks what they lead to, and carries it out.
//! Knows nothing of what the vendors' JSON means.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures_util::{Stream, stream};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::answer::FakeRefusal;
use crate::fake_server::FakeState;
use crate::log::{AnswerEnding, ReceivedRequest};
use crate::reaction::{AnswerStep, Pace, Reaction, Rejection};

/// No test sends more than this.
const LONGEST_BODY: usize = 256 * 1024 * 1024;

/// A server's thread. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct ServerThread {
    address: SocketAddr,
    /// Dropped to stop it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    pub(crate) fn start(shared: Arc<FakeState>) -> Self {
        ServerThread::serve(Router::new().fallback(handle).with_state(shared))
    }

    /// Serves what a router does, on a port of its own.
    pub(crate) fn serve(router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        listener.set_nonblocking(true).expect("sockets can be non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("fake server".into())
            .spawn(move || run(listener, router, stopped))
            .expect("the machine has threads");
        ServerThread { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there has been printed, and a second one here would
            // hide the test's own.
            let _ = thread.join();
        }
    }
}

/// Serves until the other end of `stopped` is gone. The runtime goes with it,
/// and all connections go with the runtime.
fn run(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the machine has room for a runtime").block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)
            .expect("the listener is non-blocking")
            // Each piece leaves at once, as it does from a real server. A
            // connection that is gone already needs no setting.
            .tap_io(|connection| drop(connection.set_nodelay(true)));
        tokio::select! {
            _ = axum::serve(listener, router) => {}
            _ = stopped => {}
        }
    });
}

async fn handle(State(shared): State<Arc<FakeState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let received = received(&parts, &body);
    let watch = RequestWatch::new(shared.clone(), received.clone());
    match shared.react(&received) {
        Reaction::Json(body) => {
            watch.sent(200);
            respond(200, "application/json", &[], body.to_string())
        }
        Reaction::Rejected(Rejection { status, media_type, body, why }) => {
            watch.rejected(status, why);
            respond(status, media_type, &[], body)
        }
        Reaction::Refused(FakeRefusal { status, headers, body }) => {
            watch.sent(status);
            respond(status, "application/json", &headers, body)
        }
        Reaction::Stream { media_type, steps, pace } => {
            watch.begun(200);
            respond(200, media_type, &[], Body::from_stream(play(steps, pace, watch)))
        }
        Reaction::Silence => pending().await,
    }
}

fn received(parts: &Parts, body: &Bytes) -> ReceivedRequest {
    ReceivedRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        headers: headers(&parts.headers),
        body: body.to_vec(),
        json: serde_json::from_slice(body).ok(),
        status: None,
        rejected: None,
        ending: AnswerEnding::Open,
    }
}

fn headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}

fn respond(
    status: u16,
    media_type: &str,
    headers: &[(String, String)],
    body: impl Into<Body>,
) -> Response {
    let mut response = Response::builder().status(status);
    let own_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !own_type {
        response = response.header(header::CONTENT_TYPE, media_type);
    }
    for (name, value) in headers {
        response = response.header(name, value);
    }
    // Only a test that asks for an impossible status or header comes here.
    response.body(body.into()).unwrap_or_else(|error| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("no such answer: {error}")).into_response()
    })
}

/// The steps of an answer as a body, each when its time has come.
fn play(
    steps: Vec<AnswerStep>,
    pace: Pace,
    watch: RequestWatch,
) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    stream::unfold((steps.into_iter(), pace, watch), async |(mut steps, pace, watch)| {
        let step = steps.next()?;
        wait(&pace).await;
        let item = match step {
            AnswerStep::Send(bytes) => Ok(bytes),
            // An error in a body makes the server drop the connection.
            AnswerStep::Cut => Err(io::Error::other("cut off, as the test wants it")),
            AnswerStep::Stall => pending().await,
        };
        // Before the client can have it: many leave as soon as they know the
        // end, and have not left early then.
        if steps.len() == 0 {
            watch.sent(200);
        }
        Some((item, (steps, pace, watch)))
    })
}

/// Waits for what holds a step back. It always yields once: the server flushes
/// what it has before it asks again, so that each piece is on its way before
/// the next one, and before a cut.
async fn wait(pace: &Pace) {
    tokio::task::yield_now().await;
    if let Some(gate) = &pace.gate {
        gate.pass().await;
    }
    if !pace.delay.is_zero() {
        tokio::time::sleep(pace.delay).await;
    }
}

/// Keeps the log's entry for a request up to date. When it is dropped before
/// the answer has ended, the client is gone.
struct RequestWatch {
    shared: Arc<FakeState>,
    number: usize,
}

impl RequestWatch {
    fn new(shared: Arc<FakeState>, received: ReceivedRequest) -> Self {
        let number = shared.log.add(received);
        RequestWatch { shared, number }
    }

    fn begun(&self, status: u16) {
        self.shared.log.update(self.number, |entry| entry.status = Some(status));
    }

    fn sent(&self, status: u16) {
        self.shared.log.update(self.number, |entry| {
            entry.status = Some(status);
            entry.ending = AnswerEnding::Sent;
        });
    }

    fn rejected(&self, status: u16, why: String) {
        self.shared.log.update(self.number, |entry| {
            entry.status = Some(status);
            entry.rejected = Some(why);
            entry.ending = AnswerEnding::Sent;
        });
    }
}

impl Drop for RequestWatch {
    fn drop(&mut self) {
        self.shared.log.update(self.number, |entry| {
            if entry.ending == AnswerEnding::Open {
                entry.ending = AnswerEnding::ClientLeft;
            }
        });
    }
}
