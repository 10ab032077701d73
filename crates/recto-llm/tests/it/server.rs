//! Servers that send what a test tells them to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use recto_llm::{
    ClientOptions, LlmError, ModelClient, Provider, ReplyStream, RetryPolicy, StreamEvent,
    TimeLimits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// No test takes as long as this unless something hangs.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// What a server does with a connection once it has read the request.
pub(crate) enum Step {
    /// Sends bytes.
    Send(String),
    /// Sends bytes again and again, until the client goes away.
    Repeat(&'static str),
    /// Does nothing more, until the client goes away. Then it says so.
    WaitForEnd,
}

/// A server on loopback.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    ended: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Plays a list of steps for each connection in turn, then closes it. A
    /// connection too many is closed at once.
    pub(crate) async fn play(connections: Vec<Vec<Step>>) -> Self {
        let mut connections = connections.into_iter();
        Server::start(move |_| connections.next().unwrap_or_default()).await
    }

    /// Answers each path as `answer` says.
    pub(crate) async fn answer(answer: fn(&str) -> String) -> Self {
        Server::start(move |path| vec![Step::Send(answer(path))]).await
    }

    /// Plays the steps that `steps` gives for each path.
    pub(crate) async fn by_path(steps: fn(&str) -> Vec<Step>) -> Self {
        Server::start(steps).await
    }

    async fn start(mut steps: impl FnMut(&str) -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = mpsc::unbounded_channel();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let request = read_request(&mut socket).await;
                let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
                seen.lock().unwrap().push(request);
                tokio::spawn(run(socket, steps(&path), end.clone()));
            }
        });
        Server { url, requests, ended }
    }

    /// The requests so far, as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until a client has gone away from a [`Step::WaitForEnd`].
    pub(crate) async fn client_has_gone(&mut self) {
        timeout(GUARD, self.ended.recv()).await.expect("the client goes").expect("a server");
    }

    pub(crate) fn options(&self, provider: Provider) -> ClientOptions {
        ClientOptions { base_url: Some(self.url.clone()), ..quick(provider) }
    }

    pub(crate) fn client(&self, provider: Provider) -> ModelClient {
        ModelClient::new(self.options(provider)).unwrap()
    }
}

/// Options that wait for nothing between attempts.
pub(crate) fn quick(provider: Provider) -> ClientOptions {
    let retry = RetryPolicy { base: Duration::from_millis(1), ..RetryPolicy::default() };
    ClientOptions { retry, ..ClientOptions::new(provider) }
}

const SOON: Duration = Duration::from_millis(100);

/// Options that give up when nothing comes.
pub(crate) fn impatient(options: ClientOptions) -> ClientOptions {
    let limits = TimeLimits { first_byte: SOON, ..TimeLimits::default() };
    ClientOptions { limits, ..options }
}

/// Options that give up when nothing more comes.
pub(crate) fn impatient_later(options: ClientOptions) -> ClientOptions {
    let limits = TimeLimits { idle: SOON, ..TimeLimits::default() };
    ClientOptions { limits, ..options }
}

/// An address that is taken but where nobody listens, as long as the socket lives.
pub(crate) fn nobody() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    (socket, url)
}

/// All that a stream gives.
pub(crate) async fn events(mut stream: ReplyStream) -> Vec<Result<StreamEvent, LlmError>> {
    let mut events = Vec::new();
    while let Some(event) = timeout(GUARD, stream.next()).await.expect("the stream ends") {
        events.push(event);
    }
    events
}

/// What stands for an event in a test.
pub(crate) fn shown(events: &[Result<StreamEvent, LlmError>]) -> Vec<String> {
    let event = |event: &Result<StreamEvent, LlmError>| match event {
        Ok(StreamEvent::Retrying { error, .. }) => format!("retrying: {}", error.code()),
        Ok(StreamEvent::Text(text)) => format!("text: {text}"),
        Ok(StreamEvent::Thinking(thought)) => format!("thinking: {thought}"),
        Ok(StreamEvent::Done(reply)) => format!("done: {}", reply.text()),
        Err(error) => format!("error: {}", error.code()),
    };
    events.iter().map(event).collect()
}

/// A whole answer.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Some Reason\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    )
}

/// The beginning of an answer that ends with the connection.
pub(crate) fn open(body: &str) -> Step {
    Step::Send(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}"))
}

/// The beginning of an answer whose end would have to be said.
pub(crate) fn open_chunked(body: &str) -> Step {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    Step::Send(format!("{head}{:x}\r\n{body}\r\n", body.len()))
}

async fn run(mut socket: TcpStream, steps: Vec<Step>, end: mpsc::UnboundedSender<()>) {
    for step in steps {
        match step {
            Step::Send(bytes) => {
                let _ = socket.write_all(bytes.as_bytes()).await;
            }
            Step::Repeat(bytes) => while socket.write_all(bytes.as_bytes()).await.is_ok() {},
            Step::WaitForEnd => {
                let mut rest = [0; 1_024];
                while socket.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                let _ = end.send(());
            }
        }
    }
    let _ = socket.shutdown().await;
}

/// The request with its body.
async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !is_whole(&bytes) {
        if socket.read_buf(&mut bytes).await.unwrap_or_default() == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap_or_default())
}
