//! Too much, too slow, too many.

use std::time::Duration;

use recto_server::{AccessOptions, ConnectionLimits};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::security::{MESSAGE, OWNER, outcome, read_to_end, start_closed};
use crate::support::TestServer;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server with short times and small sizes.
async fn start_small() -> TestServer {
    let access = AccessOptions {
        max_body_bytes: 2_048,
        max_door_bytes: 4_096,
        body_timeout: Duration::from_millis(300),
        ..AccessOptions::default()
    };
    let limits = ConnectionLimits {
        most: 40,
        most_from_address: 30,
        header_timeout: Duration::from_millis(300),
    };
    TestServer::start_with(access, limits).await
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_a_size() {
    let server = start_small().await;
    let path = format!("/api/sessions/{}/messages", server.own_session().await);
    let message = |length: usize| format!("{{\"text\":\"{}\"}}", "x".repeat(length));
    let (status, _) = server.post(&path, &serde_json::from_str(&message(2_000)).unwrap()).await;
    assert_eq!(status, 202);
    let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\n", server.address);
    let head = format!("{head}content-type: application/json\r\nconnection: close\r\n");
    // It says that it is too large, and is believed before it is sent.
    let announced = format!("{head}content-length: 1000000000\r\n\r\n");
    let answer = server.send_raw(announced.as_bytes(), PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
    // Or it does not say so.
    let body = message(2_100);
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len());
    let answer = server.send_raw(chunked.as_bytes(), PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn the_front_doors_have_a_size_of_their_own() {
    let server = start_small().await;
    let post = |length: usize| server.request("POST", "/v1/nothing").body("x".repeat(length));
    assert!(outcome(post(4_096)).await.starts_with("404"));
    assert!(outcome(post(4_097)).await.starts_with("413"));
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_sends_little() {
    let server = start_closed().await;
    let head = format!("POST /login HTTP/1.1\r\nhost: {}\r\n", server.address);
    let request = format!("{head}content-length: 5000\r\nconnection: close\r\n\r\n");
    let answer = server.send_raw(request.as_bytes(), PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn one_stranger_behind_a_proxy_keeps_nobody_else_out() {
    let server = start_closed().await;
    let asset = server.request("GET", "/login").send().await.unwrap();
    assert_eq!(asset.status(), 200);
    // Slow bodies through the proxy, until the stranger has as many as one may have. Each is given
    // up after a while, so that more may be needed where the machine is busy.
    let head = format!("POST /login HTTP/1.1\r\nhost: {}\r\n", server.address);
    let slow = format!("{head}x-forwarded-for: 10.0.0.1\r\ncontent-length: 16\r\n\r\na");
    let get = |path: &str, client: &'static str| {
        outcome(server.request("GET", path).header("x-forwarded-for", client))
    };
    let mut held = Vec::new();
    let mut own = get("/login", "10.0.0.1").await;
    while own == "200" && held.len() < 1_000 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(slow.as_bytes()).await.unwrap();
        held.push(stream);
        own = get("/login", "10.0.0.1").await;
    }
    assert!(held.len() >= 16, "{}", held.len());
    assert_eq!(own, "429 too_many_requests");
    assert_eq!(get("/login", "10.0.0.2").await, "200");
    assert_eq!(outcome(server.request("GET", "/login")).await, "200");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(path, "10.0.0.1").await, "200", "{path}");
    }
    assert!(get("/assets/x/style.css", "10.0.0.1").await.starts_with("404"));
    // And they are not waited for as long as others.
    let answer = read_to_end(&mut held[0], Duration::from_secs(10)).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("within 5 s"), "{answer}");
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn health_takes_no_body() {
    let server = start_closed().await;
    let head = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n", server.address);
    let request = format!("{head}content-length: 1000000000\r\nconnection: close\r\n\r\n");
    let answer = server.send_raw(request.as_bytes(), PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_body_comes_as_it_is() {
    let server = TestServer::start().await;
    let head = format!("POST /api/sessions HTTP/1.1\r\nhost: {}\r\n", server.address);
    let head = format!("{head}content-type: application/json\r\nconnection: close\r\n");
    let length = "content-length: 2\r\n\r\n{}";
    for (coding, status) in [
        ("content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}", "415"),
        ("content-encoding: identity\r\ncontent-length: 2\r\n\r\n{}", "201"),
        ("transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "501"),
        ("transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "201"),
        (length, "201"),
    ] {
        let answer = server.send_raw(format!("{head}{coding}").as_bytes(), PATIENCE).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{coding}: {answer}");
    }
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_told_with_its_own_limit() {
    let server = start_small().await;
    let post = |path: &str| server.request("POST", path).body("x".repeat(5_000)).send();
    for (path, key) in [("/v1/nothing", "max_door_bytes"), ("/api/sessions", "max_body_bytes")] {
        let told = post(path).await.unwrap().text().await.unwrap();
        assert!(told.contains(&format!("server.{key}")), "{path}: {told}");
    }
    let stranger = server.request("POST", "/login").header("via", "x").body("x".repeat(5_000));
    let told = stranger.send().await.unwrap().text().await.unwrap();
    assert!(!told.contains("server.max"), "{told}");
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_too_slowly_is_given_up() {
    let server = start_small().await;
    let path = format!("/api/sessions/{}/messages", server.own_session().await);
    let mut body = TcpStream::connect(server.address).await.unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\n", server.address);
    let head = format!("{head}content-type: application/json\r\ncontent-length: 16\r\n\r\n{{");
    body.write_all(head.as_bytes()).await.unwrap();
    let mut header = TcpStream::connect(server.address).await.unwrap();
    header.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").await.unwrap();
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let answer = read_to_end(&mut body, PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("slow_body"), "{answer}");
    // These end without an answer, or with one that says why; they end before our patience does.
    for stream in [&mut header, &mut silent] {
        let ended = tokio::time::timeout(PATIENCE, read_to_end(stream, 2 * PATIENCE)).await;
        let answer = ended.expect("the connection was kept open");
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_make_room() {
    // Idle for long enough to fill the server.
    let limits =
        ConnectionLimits { most: 40, most_from_address: 30, ..ConnectionLimits::default() };
    let server = TestServer::start_with(AccessOptions::default(), limits).await;
    let stream_path = format!("/api/sessions/{}/events", server.own_session().await);
    let mut stream = server.request("GET", &stream_path).send().await.unwrap();
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(outcome(server.request("GET", "/healthz")).await, "200");
    let mut kept = 0;
    for connection in &mut idle {
        let mut byte = [0];
        let peeked = tokio::time::timeout(Duration::from_millis(50), connection.peek(&mut byte));
        kept += usize::from(peeked.await.is_err());
    }
    assert!((1..30).contains(&kept), "{kept} idle connections were kept");
    // What is at work is not closed for them.
    let path = stream_path.replace("events", "messages");
    assert_eq!(server.post(&path, &serde_json::from_str(MESSAGE).unwrap()).await.0, 202);
    let heard = tokio::time::timeout(PATIENCE, stream.chunk()).await.unwrap();
    assert!(heard.unwrap().is_some());
}

/// Promise: `no-request-holds-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_so_many_requests_and_streams() {
    let access = AccessOptions { token_rate: 17, ..AccessOptions::default() };
    let server = TestServer::start_with(access, ConnectionLimits::default()).await;
    let path = format!("/api/sessions/{}/events", server.own_session().await);
    let (_, token) = server.token("program", OWNER).await;
    let get = |path: &str| server.request("GET", path).bearer_auth(&token);
    let mut streams = Vec::new();
    for _ in 0..64 {
        let stream = get(&path).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = get(&path).send().await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    drop(streams);
    let mut outcomes = Vec::new();
    while outcomes.len() < 2_000 && !outcomes.ends_with(&["404".into(), "429".into()]) {
        outcomes.push(outcome(get("/nothing")).await[..3].to_owned());
    }
    assert!(outcomes.len() < 2_000, "{outcomes:?}");
    // Others are not concerned.
    assert_eq!(outcome(server.request("GET", "/healthz")).await, "200");
}
