//! What was sent is kept for good: byte for byte, before the call, and in parts
//! out of which it can be made again.

mod diff;
mod replay;
mod show;
mod tampering;

use std::net::TcpListener;

use recto_fakes::{FakeAnswer, FakeBuilder, FakeCall, ReceivedRequest};
use serde_json::{Value, json};

use crate::servers::{ServedHome, Wire, read};
use crate::support::*;

/// A file of so many lines.
fn log_file(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n} of the log, with \"quotes\" and ünïcode\n")).collect()
}

/// Verifies every request of a home, of which there are so many.
pub(crate) fn verify_all(home: &Home, count: usize) {
    let run = home.run(&["replay", "--verify"]);
    assert_eq!((run.code, run.err), (0, String::new()), "{}", run.out);
    match count {
        1 => {
            let body = home.ok(&["show", "--body"]).len();
            let bytes = run.out.replace(',', "");
            let expected = format!("rebuilt from the record: identical to the {body} bytes sent\n");
            assert_eq!(bytes, expected);
        }
        _ => {
            let expected = format!(
                "{count} of {count} requests rebuilt from the record: identical to the bytes sent\n"
            );
            assert_eq!(run.out, expected);
        }
    }
}

/// Turn and number of every recorded request, in order.
fn recorded(home: &Home) -> Vec<(String, String)> {
    let checked = home.json(&["replay", "--verify", "--json"])["requests"].clone();
    let checked = checked.as_array().unwrap().iter();
    checked.map(|row| (row["turn"].to_string(), row["request"].to_string())).collect()
}

/// The recorded body of every request, in order.
fn bodies(home: &Home) -> Vec<String> {
    recorded(home)
        .iter()
        .map(|(turn, request)| home.ok(&["show", turn, "--request", request, "--body"]))
        .collect()
}

/// The record of the turn's only request.
fn only_request(turn: &Value) -> &Value {
    let requests = turn["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 1, "{turn:#}");
    &requests[0]
}

/// Why something was left out of each request of the home.
fn reasons(home: &Home) -> Vec<String> {
    let turns = home.json(&["sessions", "show", "default", "--json"])["turns"].clone();
    let turns = turns.as_array().unwrap().iter();
    let shown = turns.map(|turn| home.json(&["show", &turn["id"].to_string(), "--json"]));
    let requests = shown.flat_map(|turn| turn["requests"].as_array().unwrap().clone());
    let dropped =
        requests.flat_map(|request| request["context"]["dropped"].as_array().unwrap().clone());
    dropped.map(|dropped| dropped["reason"].to_string()).collect()
}

/// A conversation with everything in it that changes a request's form: rounds of
/// calls, a failed call, a minimal turn, an error, history that is trimmed and
/// results that are shortened.
/// Promise: `request-kept-as-sent`
/// Promise: `views-agree`
#[test]
fn what_a_server_got_is_what_is_recorded_and_can_be_made_anew() {
    for wire in [Wire::Ollama, Wire::OpenAi] {
        let more_rounds =
            ["log.2", "log.3", "log.4", "log.5"].map(|log| FakeAnswer::calls([read(log)]));
        let first =
            FakeAnswer::calls([read("SOUL.md"), read("missing.md"), read("log.1")]).text("Wait.");
        let fake = more_rounds.into_iter().fold(wire.fake().answer(first), FakeBuilder::answer);
        let fake = fake
            .answer(FakeAnswer::text("All read: \"é\" \\ \u{1f980}\n\tdone"))
            .answer(FakeAnswer::calls([FakeCall::new("list_files", json!({}))]))
            .answer(FakeAnswer::text("Listed."))
            .answer(FakeAnswer::refusal(400, r#"{"error":"no"}"#))
            .answer(FakeAnswer::text("Half a").cut_after(1));
        let more = "window = 6000\nmax_output_tokens = 512\ntemperature = 0.25\ntop_p = 0.9\n\
                    [history]\nmax_messages = 8\n[tools]\nmax_output_bytes = 12000";
        let served = ServedHome::with(wire, fake, more);
        served.home.write("workspace/SOUL.md", "You are Ada.\n");
        for n in 1..=5 {
            served.home.write(&format!("workspace/log.{n}"), log_file(300));
        }
        served.say("Read the log,\n  and \\n the rest \u{2028} \u{7f}");
        served.home.ok(&["chat", "--context-mode", "minimal", "-m", "list the files"]);
        assert_eq!(served.chat("this is refused").code, 1);
        assert_eq!(served.chat("this is cut off").code, 1);
        for n in 0..4 {
            served.say(&format!("message {n}"));
        }
        assert_eq!(served.fake.rejections(), Vec::<String>::new());

        let log = served.fake.log().into_iter().filter(ReceivedRequest::is_chat);
        let sent: Vec<String> = log.map(|chat| String::from_utf8(chat.body).unwrap()).collect();
        assert_eq!(bodies(&served.home), sent, "{wire:?}");
        verify_all(&served.home, 14);
        let reasons = reasons(&served.home).join("\n");
        for reason in ["shortened", "max_messages"] {
            assert!(reasons.contains(reason), "{reasons}");
        }
    }
}

/// No server is there, and what was to be sent is recorded all the same.
#[test]
fn a_request_that_reached_nobody_is_recorded() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let home = Home::with(&[(
        "config.toml",
        &format!(
            "[models.m]\nprovider = \"anthropic\"\nmodel = \"claude\"\nwindow = 16384\n\
             base_url = \"http://127.0.0.1:{port}\"\n"
        ),
    )]);
    let run = home.run_with(&["chat"], "hello\nand again\n", &[]);
    run.fails_with("cannot reach");
    verify_all(&home, 2);
    let turn = home.json(&["show", "--json"]);
    let request = only_request(&turn);
    assert_eq!(request["wire"], "anthropic");
    assert_eq!(request["answer"]["result"]["error"]["code"], "unreachable");
    let body = json(&home.ok(&["show", "--body"]));
    assert_eq!(body, request["body"]);
    assert_eq!(body["model"], "claude");
    // The first message stands in the history, though nobody ever read it.
    assert!(body["messages"].to_string().contains("hello"), "{body:#}");
}

/// Promise: `request-kept-as-sent`
#[test]
fn requests_are_recorded_before_the_server_answers() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake().answer(FakeAnswer::Silence));
    let waiting = served.home.start(&["chat", "-m", "is anybody there?"]);
    let log = served.fake.wait_until(|log| log.iter().any(ReceivedRequest::is_chat));
    let sent = log.iter().find(|received| received.is_chat()).unwrap();
    let looks = |standing: &str| {
        assert_eq!(served.home.ok(&["show", "--body"]).as_bytes(), sent.body);
        let shown = served.home.ok(&["show"]);
        assert!(
            shown.contains(standing) && shown.ends_with("\nnothing has come back yet\n"),
            "{shown}"
        );
        assert_eq!(only_request(&served.last_turn())["answer"], Value::Null);
        verify_all(&served.home, 1);
    };
    looks("running");
    // It is killed here, and what it left can be looked at like before.
    drop(waiting);
    looks("cut short");
}

/// Slices the messages of a recorded request by the ranges of its rows: they follow each other
/// without a gap but line breaks, and hold what they say.
fn check_ranges(request: &Value) {
    let context = &request["context"];
    let messages = context["messages"].as_array().unwrap();
    let mut ends = vec![0; messages.len()];
    let layers = context["layers"].as_array().unwrap().iter();
    let rows = layers.flat_map(|layer| layer["items"].as_array().unwrap());
    for row in rows.filter(|row| !row["bytes"].is_null()) {
        let at = row["message"].as_u64().unwrap() as usize;
        let [start, end] = [0, 1].map(|side| row["bytes"][side].as_u64().unwrap() as usize);
        let text = first_text(&messages[at]);
        assert!(text[ends[at]..start].chars().all(|c| c == '\n'), "{row} {text}");
        let known = match row["name"].as_str().unwrap() {
            "tone" => "Be brief.",
            "map" => "Here be dragons.",
            "AGENTS.md" => "Be kind.",
            name if name.starts_with("MEMORY.md") => row["description"].as_str().unwrap(),
            _ => "",
        };
        assert!(text[start..end].ends_with(known), "{row} {text}");
        ends[at] = end;
    }
    for (end, message) in ends.iter().zip(messages) {
        assert_eq!(*end, first_text(message).len(), "{message}");
    }
}

/// The text of a message; of one with several pieces the first.
fn first_text(message: &Value) -> &str {
    let content = &message["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

/// Every form of the page, on the wire that needs no server.
///
/// Promise: `ranges-are-exact`
#[test]
fn requests_of_every_layout_can_be_made_anew() {
    let call =
        r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"log.txt"}}],"content":"So:"}"#;
    let text_call = "{\"content\":\"<tool_call>{\\\"name\\\": \\\"list_files\\\", \\\"arguments\\\": {}}</tool_call>\"}";
    for (settings, more) in [
        ("", "[context]\npreset = \"recto\""),
        ("", "[context]\npreset = \"plain\""),
        ("", "[context]\npreset = \"attached\""),
        ("", "[context]\npreset = \"layered\""),
        ("", "[context]\npicks = \"kept\""),
        ("system_messages = \"per_layer\"\npick_messages = \"separate\"", ""),
        ("tool_calls = \"text\"", ""),
        ("context_mode = \"auto\"\nminimal_history = 1", ""),
        ("tool_turn_context = \"minimal\"", ""),
        ("minimal_system = true", ""),
    ] {
        let model = "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 5000";
        let home = Home::with(&[
            ("config.toml", &format!("{model}\n{settings}\n{more}\n")),
            ("talk.jsonl", &[call, text_call, r#"{"content":"done"}"#].join("\n")),
            ("workspace/AGENTS.md", "Be kind.\n"),
            ("workspace/TOOLS.md", "Use them well.\n"),
            ("workspace/memory/MEMORY.md", "- Bo likes tea\n"),
            ("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brief."),
            ("workspace/references/map.md", "---\ninclude: always\n---\nHere be dragons."),
            ("workspace/skills/a/SKILL.md", "---\nname: a\ndescription: A: b --- c\n---\nDo a."),
            ("workspace/log.txt", &log_file(20)),
        ]);
        let run = home.run_with(&["chat"], "read log.txt\nthanks!\nwhat was in it?\n", &[]);
        assert_eq!(run.code, 0, "{settings}{more}: {}", run.err);
        let requests = recorded(&home);
        let count = requests.len();
        assert!(count >= 4, "{settings}{more}");
        for (turn, _) in &requests {
            let shown = home.json(&["show", turn, "--json"]);
            shown["requests"].as_array().unwrap().iter().for_each(check_ranges);
        }
        let has_clock = bodies(&home)[0].contains("Current date and time: 2");
        assert_eq!(has_clock, more.contains("layered"), "{settings}{more}");
        verify_all(&home, count);
    }
}
