//! Logs and traces: what a file and a collector are told, and what they are not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::support::Home;

const SECRET: &str = "the door code is sesame";

/// A collector that takes OTLP in protobuf, as the protocol has it, and nothing else.
fn start_collector() -> (String, Receiver<ExportTraceServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let from = head.len();
                assert_ne!(stream.read_line(&mut head).unwrap(), 0);
                let line = head[from..].to_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            assert!(head.to_lowercase().contains("content-type: application/x-protobuf"), "{head}");
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).unwrap();
            let _ = sender.send(ExportTraceServiceRequest::decode(&*body).unwrap());
        }
    });
    (url, received)
}

fn home_with(config: &str) -> Home {
    let home = Home::scripted(&[r#"{"content": "I will not tell"}"#]);
    let mut whole = std::fs::read_to_string(home.path("config.toml")).unwrap();
    whole.push_str(config);
    home.write("config.toml", whole);
    home
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|found| found.value.clone()).and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// Promise: `logs-without-contents`
#[test]
fn a_collector_is_told_of_turns_and_requests_and_not_of_what_was_said() {
    let (url, received) = start_collector();
    let home = home_with(&format!("\n[telemetry]\notlp = \"{url}\"\n"));
    let run = home.run(&["chat", "-m", SECRET]);
    assert_eq!(run.code, 0, "{}", run.err);
    let request = received.recv_timeout(Duration::from_secs(30)).unwrap();
    let spans: Vec<Span> = request
        .resource_spans
        .iter()
        .flat_map(|resource| &resource.scope_spans)
        .flat_map(|scope| scope.spans.clone())
        .collect();
    let named = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no span {name} in {spans:#?}"))
    };
    let (turn, call) = (named("invoke_agent main"), named("chat m"));
    assert_eq!(call.parent_span_id, turn.span_id);
    assert_eq!(attribute(turn, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(turn, "gen_ai.conversation.id"), "1");
    assert_eq!(attribute(turn, "recto.ending"), "done");
    assert_eq!(attribute(call, "gen_ai.operation.name"), "chat");
    assert_eq!(attribute(call, "gen_ai.provider.name"), "scripted");
    assert_eq!(attribute(call, "gen_ai.request.model"), "m");
    let told = format!("{spans:?}");
    assert!(!told.contains("sesame") && !told.contains("I will not tell"), "{told}");
}

/// Promise: `logs-without-contents`
#[test]
fn a_collector_is_told_no_name_of_a_tool_that_the_model_made_up() {
    let (url, received) = start_collector();
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"door_code_is_sesame","arguments":{}}]}"#,
        r#"{"content": "Never mind."}"#,
    ]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}\n[telemetry]\notlp = \"{url}\"\n"));
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let request = received.recv_timeout(Duration::from_secs(30)).unwrap();
    let told = format!("{request:?}");
    assert!(told.contains("\"execute_tool\"") && !told.contains("sesame"), "{told}");
}

/// Promise: `logs-without-contents`
#[test]
fn a_log_has_a_line_for_each_turn_and_contents_only_where_they_are_wanted() {
    let quiet = home_with("\n[log]\nfile = \"recto.log\"\nformat = \"json\"\n");
    let told = home_with("\n[log]\nfile = \"recto.log\"\nformat = \"json\"\ncontents = true\n");
    let read = |home: &Home| {
        assert_eq!(home.run(&["chat", "-m", SECRET]).code, 0);
        std::fs::read_to_string(home.path("recto.log")).unwrap()
    };
    let (without, with) = (read(&quiet), read(&told));
    let lines: Vec<serde_json::Value> =
        without.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = lines.iter().find(|line| line["fields"]["message"] == "turn ended").unwrap();
    assert_eq!(ended["fields"]["ending"], json!("done"), "{without}");
    assert!(!without.contains("sesame") && !without.contains("I will not tell"), "{without}");
    assert!(with.contains("sesame") && with.contains("I will not tell"), "{with}");
}

#[test]
fn a_collector_that_is_not_there_costs_a_turn_nothing() {
    let home = home_with("\n[telemetry]\notlp = \"http://127.0.0.1:1\"\n");
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!((run.code, run.out.trim()), (0, "I will not tell"), "{}", run.err);
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_with_what_to_do() {
    let home = home_with("\n[log]\nfile = \"no/such/folder/recto.log\"\n");
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("cannot write the log"), "{}", run.err);
    assert!(run.err.contains("log.file"), "{}", run.err);
}
