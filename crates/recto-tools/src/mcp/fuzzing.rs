//! What has to hold of what MCP servers send, whatever bytes come.

use futures_util::{FutureExt as _, StreamExt as _, stream};
use recto_context::is_unseen;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use sse_stream::{Sse, SseStream};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::bounded_http::bounded_events;
use super::content::tool_output;
use super::envelope::{Envelope, read_message};
use super::listing::{ListingBuilder, ServerListing};
use super::log::Redactor;
use super::names::model_name;
use super::stdio::bound_messages;

/// A key that a server was given.
const KEY: &str = "s3cr3t-\"token\"";

/// The same as JSON writes it.
const KEY_IN_JSON: &str = r#"s3cr3t-\"token\""#;

/// The most that is said of a line that can't be read, in bytes.
const MOST_TOLD: usize = 200;

/// The places at which a stream is cut in two.
const CUTS: usize = 6;

/// What a server sends: lines and events are the same however they are cut; a list of tools has
/// only what models and people can be told, and the same in any order; a result holds no key.
pub fn check_mcp(data: &[u8]) {
    check_cuts(data);
    for line in data.split(|byte| *byte == b'\n') {
        check_message(line);
    }
    for event in events(&[data]).into_iter().flatten() {
        check_message(event.data.unwrap_or_default().as_bytes());
    }
}

fn check_message(line: &[u8]) {
    check_unread(line);
    let Ok(JsonRpcMessage::Response(answer)) = serde_json::from_slice::<ServerJsonRpcMessage>(line)
    else {
        return;
    };
    match answer.result {
        ServerResult::ListToolsResult(list) => check_listing(list.tools),
        ServerResult::CallToolResult(result) => {
            let told = tool_output(&result, &Redactor::for_key(KEY));
            let told = told.unwrap_or_else(|error| error.to_string());
            assert!(!told.contains(KEY), "{told}");
        }
        _ => {}
    }
}

/// Whatever a line is, it is told in a few words what is wrong with it, as far as anything is.
fn check_unread(line: &[u8]) {
    let envelope = Envelope::scan(line);
    for is_tool_list in [false, true] {
        if let Err(why) = read_message(line, &envelope, is_tool_list) {
            assert!(!why.is_empty() && why.len() < MOST_TOLD, "{why}");
            assert!(!why.chars().any(is_unseen), "{why:?}");
        }
    }
}

fn check_listing(tools: Vec<rmcp::model::Tool>) {
    let listing = list_page(tools.clone());
    for pair in listing.tools.windows(2) {
        assert!(pair[0].name < pair[1].name, "{:?} before {:?}", pair[0].name, pair[1].name);
    }
    for tool in &listing.tools {
        assert!(!tool.name.is_empty() && !tool.name.chars().any(is_unseen), "{tool:?}");
        let words = tool.description.as_deref().unwrap_or("Does it.");
        let is_seen = |c: char| matches!(c, '\n' | '\t') || !is_unseen(c);
        assert!(!words.is_empty() && words.chars().all(is_seen), "{words:?}");
        assert!(words.chars().count() <= 1_025, "{words:?}");
        assert!(tool.parameters.is_object(), "{tool:?}");
        let called = model_name("server", &tool.name, ["server", "server_b"]);
        let takes = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(called.len() <= 64 && called.bytes().all(takes), "{called:?}");
        crate::schema::fuzzing::check_schema(&tool.parameters);
    }
    assert!(listing.problems.len() <= 21, "{:?}", listing.problems);
    let texts = serde_json::to_string(&listing).unwrap_or_default();
    assert!(!texts.contains(KEY_IN_JSON), "{texts}");
    // As it is kept between runs.
    let kept = serde_json::from_str::<ServerListing>(&texts);
    assert_eq!(kept.ok().as_ref(), Some(&listing));
    let names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
    let is_once = |name| names.iter().filter(|other| *other == name).count() == 1;
    if names.iter().all(is_once) {
        let turned = tools.into_iter().rev().collect();
        assert_eq!(list_page(turned).tools, listing.tools);
    }
}

fn list_page(tools: Vec<rmcp::model::Tool>) -> ServerListing {
    let redact = Redactor::for_key(KEY);
    let mut listing = ListingBuilder::new(&redact);
    listing.add_page(tools);
    listing.finish()
}

/// Bytes in two pieces are the same lines, and the same events, as in one. Of a stream that breaks,
/// events are lost that come in one piece with what breaks it, and none are added.
fn check_cuts(data: &[u8]) {
    let (whole_lines, whole_events) = (lines(data), events(&[data]));
    for cut in 1..CUTS {
        let (head, tail) = data.split_at(data.len() * cut / CUTS);
        let chained = tokio::io::AsyncReadExt::chain(head, tail);
        assert_eq!(lines(chained), whole_lines, "cut at {}", head.len());
        let (cut, whole) = (told(&events(&[head, tail])), told(&whole_events));
        match whole.split_last() {
            Some((None, before)) => assert!(cut.starts_with(before), "cut at {}", head.len()),
            _ => assert_eq!(cut, whole, "cut at {}", head.len()),
        }
    }
}

fn told(events: &[Option<Sse>]) -> Vec<Option<String>> {
    events.iter().map(|event| event.as_ref().and_then(|event| event.data.clone())).collect()
}

fn lines(from: impl AsyncRead + Unpin) -> Vec<Vec<u8>> {
    let mut split = BufReader::new(bound_messages(from)).split(b'\n');
    let mut lines = Vec::new();
    while let Some(Ok(Some(line))) = split.next_segment().now_or_never() {
        lines.push(line);
    }
    lines
}

/// The events of a stream up to the first error, which is `None`.
fn events(pieces: &[&[u8]]) -> Vec<Option<Sse>> {
    let pieces: Vec<reqwest::Result<&[u8]>> = pieces.iter().copied().map(Ok).collect();
    let mut stream = SseStream::from_bytes_stream(bounded_events(stream::iter(pieces)));
    let mut events = Vec::new();
    while let Some(Some(event)) = stream.next().now_or_never() {
        events.push(event.ok());
        if events.last().is_some_and(Option::is_none) {
            break;
        }
    }
    events
}
