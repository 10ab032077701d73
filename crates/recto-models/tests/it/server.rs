//! A server of files that does what a test tells it to.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// How long a test may wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on loopback. Its threads end with the test's process.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// What a client asked for.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

/// What it gets.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// As much of the body as is really sent before `then`.
    sent: usize,
    then: Then,
}

/// What happens behind the first part of a body.
#[derive(Clone)]
enum Then {
    Close,
    Hang,
    /// The rest is sent when the gate opens.
    Wait(Arc<Gate>),
}

/// Something that a test opens.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Server {
    /// A server that answers every request by `answer`, which is told how many
    /// came before.
    pub(crate) fn new(answer: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || serve(&stream.unwrap(), &seen, &*answer));
            }
        });
        Server { port, requests }
    }

    /// A server that has one file, at every path, and serves parts of it.
    pub(crate) fn with_file(body: &[u8]) -> Self {
        let body = body.to_vec();
        Server::new(move |request, _| Answer::part_of(&body, "\"v1\"", request))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The ranges that were asked for, in order; empty where none was.
    pub(crate) fn ranges(&self) -> Vec<String> {
        let range = |request: &Request| request.header("range").unwrap_or_default().to_owned();
        self.requests().iter().map(range).collect()
    }
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(own, _): &&(String, String)| own.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }

    /// The byte from which on the file is wanted.
    fn start(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

impl Answer {
    pub(crate) fn new(status: u16, body: &[u8]) -> Self {
        let sent = body.len();
        Answer { status, headers: Vec::new(), body: body.to_vec(), sent, then: Then::Close }
    }

    /// What a server of files answers that knows parts and versions.
    pub(crate) fn part_of(body: &[u8], etag: &str, request: &Request) -> Self {
        let same_version = request.header("if-range").is_none_or(|mark| mark == etag);
        let answer = match request.start().filter(|_| same_version) {
            None => Answer::new(200, body),
            Some(start) if start >= body.len() => Answer::new(416, b""),
            Some(start) => Answer::new(206, &body[start..]).header(
                "content-range",
                &format!("bytes {start}-{}/{}", body.len() - 1, body.len()),
            ),
        };
        answer.header("etag", etag)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same body in one chunk, so that its length is not told beforehand.
    pub(crate) fn chunked(self) -> Self {
        let head = format!("{:x}\r\n", self.body.len());
        let body = [head.as_bytes(), &self.body, b"\r\n0\r\n\r\n"].concat();
        let sent = body.len();
        Answer { body, sent, ..self }.header("transfer-encoding", "chunked")
    }

    /// Breaks off after so many bytes of the body.
    pub(crate) fn cut_after(mut self, sent: usize) -> Self {
        self.sent = sent;
        self
    }

    /// Sends so many bytes of the body, and then nothing for good.
    pub(crate) fn hang_after(mut self, sent: usize) -> Self {
        (self.sent, self.then) = (sent, Then::Hang);
        self
    }

    /// Sends half of the body, and the rest when the gate opens.
    pub(crate) fn half_until(mut self, gate: &Arc<Gate>) -> Self {
        (self.sent, self.then) = (self.body.len() / 2, Then::Wait(Arc::clone(gate)));
        self
    }
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let is_open = self.is_open.lock().unwrap();
        let shut = |is_open: &mut bool| !*is_open;
        let (_open, waited) = self.changed.wait_timeout_while(is_open, PATIENCE, shut).unwrap();
        assert!(!waited.timed_out(), "the gate never opened");
    }
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Request>>,
    answer: &(dyn Fn(&Request, usize) -> Answer + Send + Sync),
) {
    let Some(request) = read(stream) else { return };
    let before = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len() - 1
    };
    // A client that has heard enough hangs up.
    let _ = write(stream, &answer(&request, before));
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    while let Some(Ok(line)) =
        lines.next().filter(|line| line.as_ref().is_ok_and(|l| !l.is_empty()))
    {
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Some(Request { path, headers })
}

fn write(mut stream: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if !answer.headers.iter().any(|(name, _)| name == "transfer-encoding") {
        write!(head, "content-length: {}\r\n", answer.body.len()).unwrap();
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(&answer.body[..answer.sent])?;
    stream.flush()?;
    match &answer.then {
        Then::Close => Ok(()),
        Then::Hang => {
            thread::sleep(PATIENCE);
            Ok(())
        }
        Then::Wait(gate) => {
            gate.wait();
            stream.write_all(&answer.body[answer.sent..])
        }
    }
}
