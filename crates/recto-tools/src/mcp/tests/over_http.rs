//! Servers at an address that answer wrongly, late or not at all.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::options::ServerKey;

/// What a fake gives back to the head and body of a request; `None` for nothing at all.
type Answer = fn(&str) -> Option<String>;

/// A server at a port of its own. Gives its address, and all that it was sent.
async fn listen(answer: Answer) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let noted = requests.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, answer, noted.clone()));
        }
    });
    (url, requests)
}

async fn serve(mut stream: TcpStream, answer: Answer, requests: Arc<Mutex<Vec<String>>>) {
    let request = read(&mut stream).await;
    requests.lock().push(request.clone());
    match answer(&request) {
        Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
        None => std::future::pending().await,
    }
}

/// One request, with its body.
async fn read(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap_or("0");
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            if body.len() >= length {
                return text;
            }
        }
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return text;
        }
    }
}

fn response(status: &str, head: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

fn server_at(name: &str, url: &str, key: Option<&str>) -> ServerOptions {
    let key = key.map(ServerKey::new);
    options(name, ServerTransport::Http { url: url.to_owned(), key })
}

async fn trouble(options: ServerOptions) -> ServerError {
    let servers = servers(vec![options]);
    settle(&servers).await;
    servers.status()[0].trouble.clone().expect("it failed")
}

#[tokio::test]
async fn one_that_fails_is_told_with_its_status() {
    let (url, _) = listen(|_| response("500 Oh", "", "broken")).await;
    let error = trouble(server_at("a", &url, None)).await;
    assert_eq!(error.to_string(), "the MCP server `a` answered with HTTP status 500");
}

#[tokio::test]
async fn one_that_says_nothing_is_given_up() {
    let (url, _) = listen(|_| None).await;
    let mut options = server_at("a", &url, None);
    options.start_limit = Duration::from_millis(200);
    let error = trouble(options).await;
    assert_eq!(error.to_string(), "the MCP server `a` did not answer within 0.2 s");
}

#[tokio::test]
async fn one_that_is_not_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let error = trouble(server_at("a", &url, None)).await;
    assert!(matches!(error.problem, ServerProblem::Unreachable { .. }), "{error}");
    assert_eq!(error.hint(), "is it running, and is the address right?");
}

#[tokio::test]
async fn one_that_wants_a_key_is_told() {
    let (url, requests) = listen(|_| response("401 No", "www-authenticate: Bearer\r\n", "")).await;
    let error = trouble(server_at("a", &url, Some("s3cr3t-s3cr3t"))).await;
    assert_eq!(error.problem, ServerProblem::Unauthorized);
    let requests = requests.lock();
    assert!(
        requests[0].to_lowercase().contains("authorization: bearer s3cr3t-s3cr3t"),
        "{requests:?}"
    );
}

#[tokio::test]
async fn what_is_no_server_is_told_and_repeats_no_key() {
    let (url, _) = listen(|_| response("200 OK", "content-type: text/html\r\n", "<p>hi")).await;
    let error = trouble(server_at("a", &url, None)).await;
    assert!(matches!(error.problem, ServerProblem::Garbled { .. }), "{error}");
    let (url, _) =
        listen(|_| response("400 Bad", "content-type: text/plain\r\n", "key s3cr3t-s3cr3t?")).await;
    let error = trouble(server_at("a", &url, Some("s3cr3t-s3cr3t"))).await;
    assert!(!error.to_string().contains("s3cr3t"), "{error}");
}

#[tokio::test]
async fn a_result_repeats_no_key() {
    // In base64 a key may begin like a path, even like one that is there.
    for key in ["s3cr3t-s3cr3t", "/usr/bin"] {
        let (url, _) = listen(small).await;
        let servers = servers(vec![server_at("a", &format!("{url}/"), Some(key))]);
        settle(&servers).await;
        let arguments = json!({"say": format!("the key is {key}.")});
        assert_eq!(call(&servers, "a.hello", arguments).await.unwrap(), "the key is ….");
    }
}

/// The port that a redirect leads to.
static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn a_key_does_not_leave_its_server() {
    let (elsewhere, requests) = listen(|_| response("500 Oh", "", "")).await;
    let port: usize =
        elsewhere.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    ELSEWHERE.store(port, Ordering::SeqCst);
    let (url, _) = listen(|_| {
        let port = ELSEWHERE.load(Ordering::SeqCst);
        response("307 Go", &format!("location: http://127.0.0.1:{port}/mcp\r\n"), "")
    })
    .await;
    let error = trouble(server_at("a", &url, Some("s3cr3t-s3cr3t"))).await;
    assert!(error.to_string().contains("307"), "{error}");
    assert_eq!(*requests.lock(), Vec::<String>::new());
}

/// A small server that answers in JSON, at `/mcp/`.
fn small(request: &str) -> Option<String> {
    let (head, body) = request.split_once("\r\n\r\n")?;
    if !head.starts_with("POST /mcp/ ") {
        return if head.starts_with("POST /mcp ") {
            response("307 Go", "location: /mcp/\r\n", "")
        } else {
            response("405 No", "", "")
        };
    }
    let message: Value = serde_json::from_str(body).unwrap();
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {}}]}),
        "tools/call" => {
            let text = message["params"]["arguments"]["say"].as_str().unwrap_or("hello");
            json!({"content": [{"type": "text", "text": text}]})
        }
        "server/discover" => {
            let error = json!({"code": -32601, "message": "unknown"});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
            return response("200 OK", "content-type: application/json\r\n", &answer);
        }
        _ => return response("202 Accepted", "", ""),
    };
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    response("200 OK", "content-type: application/json\r\n", &answer)
}

/// Answers to a call with more than a message may have.
fn endless(request: &str) -> Option<String> {
    let answer = small(request)?;
    if !request.contains("tools/call") {
        return Some(answer);
    }
    let long = "x".repeat(limits::MAX_MESSAGE);
    let text = json!({"content": [{"type": "text", "text": long}]});
    let answer = json!({"jsonrpc": "2.0", "id": 2, "result": text}).to_string();
    match request.contains("as a stream") {
        true => {
            let head = "content-type: text/event-stream\r\n";
            response("200 OK", head, &format!("data: {answer}\n\n"))
        }
        false => response("200 OK", "content-type: application/json\r\n", &answer),
    }
}

/// Promise: `input-never-runs-on`
#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    for kind in ["json", "as a stream"] {
        let (url, _) = listen(endless).await;
        let servers = servers(vec![server_at("a", &url, None)]);
        servers.learn_tools().await;
        let told = call(&servers, "a.hello", json!({"say": kind})).await.unwrap_err().to_string();
        let is_told = told.contains("a message of more than 16 MiB") && told.len() < 1_000;
        assert!(is_told, "{kind}: {told}");
        servers.shut_down().await;
    }
}

/// Asks without end in the stream of a call, and takes no answer.
fn asking(request: &str) -> Option<String> {
    if request.contains("\"result\"") {
        return None;
    }
    let answer = small(request)?;
    if !request.contains("tools/call") {
        return Some(answer);
    }
    let ping = |id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let events: String = (0..10_000).map(|id| format!("data: {}\n\n", ping(id))).collect();
    response("200 OK", "content-type: text/event-stream\r\n", &events)
}

#[tokio::test]
async fn requests_whose_answers_nobody_takes_end_the_connection() {
    let (url, _) = listen(asking).await;
    let mut options = server_at("a", &url, None);
    options.time_limit = Duration::from_secs(20);
    let servers = servers(vec![options]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    let text = "the MCP server `a` was ended: it sent requests faster than it took the answers";
    assert_eq!(error, text);
    assert!(!servers.status()[0].is_running);
    timeout(Duration::from_secs(20), servers.shut_down()).await.expect("nothing of it is left");
}

/// Refuses calls without saying which.
fn nameless_refusal(request: &str) -> Option<String> {
    let answer = small(request)?;
    if !request.contains("tools/call") {
        return Some(answer);
    }
    let refusal = r#"{"jsonrpc": "2.0", "error": {"code": -32600, "message": "no such berth"}}"#;
    let status = if request.contains("politely") { "200 OK" } else { "400 Bad Request" };
    response(status, "content-type: application/json\r\n", refusal)
}

#[tokio::test]
async fn a_refusal_that_names_no_question_is_the_answer_to_the_one_it_came_for() {
    for say in ["politely", "rudely"] {
        let (url, _) = listen(nameless_refusal).await;
        let servers = servers(vec![server_at("a", &url, None)]);
        servers.learn_tools().await;
        let told = call(&servers, "a.hello", json!({"say": say})).await.unwrap_err().to_string();
        assert!(told.contains("no such berth"), "{say}: {told}");
        servers.shut_down().await;
    }
}

/// Answers to a call with what is no message.
fn unreadable(request: &str) -> Option<String> {
    let answer = small(request)?;
    if !request.contains("tools/call") {
        return Some(answer);
    }
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{},"result":{}}"#;
    match request.contains("as a stream") {
        true => {
            let head = "content-type: text/event-stream\r\n";
            response("200 OK", head, &format!("data: {answer}\n\n"))
        }
        false => response("200 OK", "content-type: application/json\r\n", answer),
    }
}

/// Promise: `an-answer-that-cant-be-read-ends-its-call`
#[tokio::test]
async fn an_answer_that_can_not_be_read_ends_its_call() {
    for kind in ["json", "as a stream"] {
        let (url, _) = listen(unreadable).await;
        let servers = servers(vec![server_at("a", &url, None)]);
        servers.learn_tools().await;
        let told = call(&servers, "a.hello", json!({"say": kind})).await.unwrap_err().to_string();
        let is_told = told.contains("can't be read: it has `result` twice");
        assert!(is_told && told.contains("can't be understood"), "{kind}: {told}");
        servers.shut_down().await;
    }
}

#[tokio::test]
async fn a_redirect_elsewhere_is_told() {
    let away =
        |_: &str| response("307 Temporary Redirect", "location: http://127.0.0.2:9/\r\n", "");
    let (url, _) = listen(away).await;
    let told = trouble(server_at("a", &url, None)).await.to_string();
    assert!(told.contains("redirect (HTTP status 307)") && told.contains("`url`"), "{told}");
}

#[tokio::test]
async fn a_redirect_within_the_server_is_followed() {
    let (url, requests) = listen(small).await;
    let servers = servers(vec![server_at("a", &url, Some("s3cr3t-s3cr3t"))]);
    servers.learn_tools().await;
    assert_eq!(notices(&servers), Vec::<String>::new());
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "hello");
    let has_key = |request: &String| request.contains("Bearer s3cr3t-s3cr3t");
    assert!(requests.lock().iter().all(has_key));
    servers.shut_down().await;
}
