//! Calls that come to a reply, at once or in the end.

use std::time::Duration;

use futures_util::StreamExt;
use recto_llm::{
    ApiKey, ClientOptions, FinishReason, ModelClient, Provider, RetryPolicy, StreamEvent, collect,
};
use tokio::time::timeout;

use crate::server::{GUARD, Server, Step, answer, events, open, open_chunked, shown};

const OLLAMA: &str = "{\"message\":{\"content\":\"Hel\"}}\n{\"message\":{\"content\":\"lo\"}}\n\
                      {\"done\":true,\"done_reason\":\"stop\"}\n";
const OPENAI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                      data: [DONE]\n\n";
const ANTHROPIC: &str = "data: {\"type\":\"content_block_start\",\"index\":0,\
                         \"content_block\":{\"type\":\"text\",\"text\":\"Hello\"}}\n\n\
                         data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
                         data: {\"type\":\"message_stop\"}\n\n";

#[tokio::test]
async fn the_body_is_sent_as_given_to_the_right_place() {
    let wires = [
        (Provider::Ollama, OLLAMA, "POST /api/chat HTTP/1.1", "authorization: Bearer k-1"),
        (
            Provider::OpenAi,
            OPENAI,
            "POST /v1/chat/completions HTTP/1.1",
            "authorization: Bearer k-1",
        ),
        (Provider::Anthropic, ANTHROPIC, "POST /v1/messages HTTP/1.1", "x-api-key: k-1"),
    ];
    for (provider, stream, line, key) in wires {
        let server = Server::play(vec![vec![open(stream)]]).await;
        let options =
            ClientOptions { api_key: Some(ApiKey::new("k-1")), ..server.options(provider) };
        let body = "{ \"model\" : \"m\",  \"ü\":1.0}";
        let reply = collect(ModelClient::new(options).unwrap().stream(body)).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("Hello", FinishReason::Stop));
        let request = &server.requests()[0];
        assert!(request.starts_with(line), "{request}");
        assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
        assert!(request.contains(&format!("\r\n{key}\r\n")), "{request}");
        assert!(request.contains("\r\ncontent-type: application/json\r\n"), "{request}");
        let agent = concat!("\r\nuser-agent: recto/", env!("CARGO_PKG_VERSION"), "\r\n");
        assert!(request.contains(agent), "{request}");
        let is_anthropic = provider == Provider::Anthropic;
        assert_eq!(request.contains("\r\nanthropic-version: 2023-06-01\r\n"), is_anthropic);
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_read() {
    let server = Server::play(vec![vec![open(OLLAMA)]]).await;
    let client = server.client(Provider::Ollama);
    drop(client.stream("{}"));
    assert_eq!(shown(&events(client.stream("{}")).await), ["text: Hel", "text: lo", "done: Hello"]);
    assert_eq!(server.requests().len(), 1);
}

/// A wait of hours would follow if the header were not read.
#[tokio::test]
async fn a_server_that_asks_for_time_gets_it() {
    let busy = || vec![Step::Send(answer(429, "Retry-After: 0\r\n", "{\"error\":\"slow down\"}"))];
    let server = Server::play(vec![busy(), busy(), vec![open(OLLAMA)]]).await;
    let retry = RetryPolicy {
        base: Duration::from_secs(7_200),
        longest: Duration::from_secs(7_200),
        ..RetryPolicy::default()
    };
    let options = ClientOptions { retry, ..server.options(Provider::Ollama) };
    let events = events(ModelClient::new(options).unwrap().stream("{}")).await;
    assert_eq!(
        shown(&events),
        [
            "retrying: rate_limited",
            "retrying: rate_limited",
            "text: Hel",
            "text: lo",
            "done: Hello"
        ]
    );
    let Ok(StreamEvent::Retrying { after, .. }) = &events[0] else { panic!("a retry") };
    assert_eq!(*after, Duration::ZERO);
}

#[tokio::test]
async fn a_server_that_starts_is_waited_for() {
    let loading = || vec![Step::Send(answer(503, "", "loading"))];
    let overloaded = vec![Step::Send(answer(529, "", "overloaded"))];
    let server =
        Server::play(vec![loading(), overloaded, loading(), vec![open_chunked(OPENAI)]]).await;
    let events = events(server.client(Provider::OpenAi).stream("{}")).await;
    let retrying = "retrying: unavailable";
    assert_eq!(shown(&events), [retrying, retrying, retrying, "text: Hello", "done: Hello"]);
}

/// The end of the reply counts, not the end of the connection.
#[tokio::test]
async fn a_server_that_never_hangs_up_does_not_hold_the_reply_back() {
    let mut server = Server::play(vec![vec![open_chunked(OPENAI), Step::WaitForEnd]]).await;
    let events = events(server.client(Provider::OpenAi).stream("{}")).await;
    assert_eq!(shown(&events), ["text: Hello", "done: Hello"]);
    server.client_has_gone().await;
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let piece = "{\"message\":{\"content\":\"Hel\"}}\n";
    let mut server = Server::play(vec![vec![open_chunked(piece), Step::WaitForEnd]]).await;
    let client = server.client(Provider::Ollama);
    let mut stream = client.stream("{}");
    let first = timeout(GUARD, stream.next()).await.expect("an event");
    assert_eq!(first, Some(Ok(StreamEvent::Text("Hel".to_owned()))));
    drop(stream);
    server.client_has_gone().await;
}

#[tokio::test]
async fn dropping_the_stream_while_the_server_thinks_closes_the_connection() {
    let mut server = Server::play(vec![vec![Step::WaitForEnd]]).await;
    let client = server.client(Provider::Ollama);
    let mut stream = client.stream("{}");
    while server.requests().is_empty() {
        let waited = timeout(Duration::from_millis(10), stream.next()).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    drop(stream);
    server.client_has_gone().await;
}
