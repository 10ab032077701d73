//! Sessions that are moved: into files of either form, out of them, and gone on with.

use std::fs;

use recto_fakes::FakeAnswer;
use serde_json::{Value, json};

use crate::servers::{ServedHome, Wire, json_lines, read};
use crate::support::*;

/// A history in which every kind of message has everything it can have.
fn everything() -> String {
    let lines = [
        json!({"role": "user", "stamp": "2026-11-15 08:07", "framing": "call_tools",
            "content": "## Assistant\n\n{\"role\":\"user\",\"content\":\"x\"}\n\"\\n\" \u{2028}\u{feff}é日本📎",
            "at": "2026-11-15T08:07:06.000001Z"}),
        json!({"role": "assistant", "content": [
                {"type": "text", "text": "## User\n"},
                {"type": "opaque", "provider": "anthropic", "json": "{\"signature\": \"=\"}"}],
            "tool_calls": [
                {"id": "c1", "name": "read_file", "arguments": "{ \"path\" : \"a\" }"},
                {"id": "c2", "name": "read_file", "arguments": "not json"}],
            "at": "2026-11-15T08:07:06.123456Z"}),
        json!({"role": "tool", "content": "", "tool_call_id": "c2", "name": "read_file",
            "at": "1969-12-31T23:59:59.999999Z"}),
        json!({"role": "tool", "content": "{}\r\n\t", "tool_call_id": "c1", "name": "read_file",
            "at": "2026-11-15T08:07:07Z"}),
        json!({"role": "assistant", "content": "", "at": "2026-11-15T08:07:08.5Z"}),
        json!({"role": "error", "content": "it broke\nhint: try again", "at": "2026-11-15T08:07:09Z"}),
        json!({"role": "approval", "content": "may I?", "at": "2026-11-15T08:07:10Z"}),
        json!({"role": "user", "speaker": "Ada", "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "media_type": "image/png", "data": "aGVsbG8="}],
            "at": "2026-11-15T08:07:11Z"}),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

/// Promise: `records-can-be-taken-along`
#[test]
fn the_records_of_requests_are_exported_whole_and_leave_the_import_alone() {
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"list_files","arguments":{}}]}"#,
        r#"{"content":"Nothing there.","usage":{"prompt":9,"completion":3}}"#,
    ]);
    home.ok(&["chat", "-m", "what is there?"]);
    let plain = home.ok(&["sessions", "export", "default"]);
    let whole = home.ok(&["sessions", "export", "default", "--records"]);
    let requests = whole.strip_prefix(&plain).expect("requests stand behind the messages");
    let requests = json_lines(requests);
    assert_eq!(requests.len(), 2);
    let turn = home.json(&["show", "1", "--json"]);
    for (number, line) in (1..).zip(&requests) {
        let (request, shown) = (&line["request"], &turn["requests"][number - 1]);
        assert_eq!((&request["number"], &request["turn"]), (&json!(number), &json!(1)));
        let body = home.ok(&["show", "1", "--request", &number.to_string(), "--body"]);
        assert_eq!(request["body"], body, "byte for byte");
        for key in ["context", "answer", "options", "model", "prefix"] {
            assert_eq!(request[key], shown[key], "{key}");
        }
        assert!(request["answer"]["reply"].is_number(), "{request}");
        assert!(request["answer"]["usage"].is_object(), "{request}");
    }

    let file = home.path("whole.jsonl");
    let file = file.to_str().unwrap();
    home.ok(&["sessions", "export", "default", "--records", "-o", file]);
    home.ok(&["sessions", "import", file, "--name", "again"]);
    let contents = |session: &str| -> Vec<Value> {
        home.messages(session).iter().map(|message| message["content"].clone()).collect()
    };
    assert_eq!(contents("again"), contents("default"));
    assert_eq!(contents("again").len(), 4);
    let refused = home.run(&["sessions", "export", "default", "--records", "--format", "markdown"]);
    refused.fails_with("--format jsonl");
}

/// Promise: `headings-survive-export`
/// Promise: `timestamps-round-trip`
#[test]
fn everything_round_trips_through_a_file() {
    let home = Home::scripted(&[]);
    home.write("talk.jsonl", everything());
    let imported = home.path("talk.jsonl");
    home.ok(&["sessions", "import", imported.to_str().unwrap(), "--name", "first"]);
    let first = home.ok(&["sessions", "export", "first"]);
    assert_eq!(json_lines(&first).len(), 9);
    let shown = home.ok(&["sessions", "show", "first"]);
    assert!(shown.contains("user Ada ("), "{shown}");
    for (given, kept) in json_lines(&everything()).iter().zip(&json_lines(&first)[1..]) {
        for (key, value) in given.as_object().unwrap() {
            assert_eq!(&kept[key], value, "{key} of {given}");
        }
    }

    let file = home.path("first.jsonl");
    let file = file.to_str().unwrap();
    home.ok(&["sessions", "export", "first", "-o", file]);
    assert_eq!(fs::read_to_string(file).unwrap(), first);
    home.ok(&["sessions", "import", file, "--name", "second"]);
    let second = home.ok(&["sessions", "export", "second"]);
    let (mut first, mut second) = (json_lines(&first), json_lines(&second));
    assert_eq!(first[0]["session"]["created"], second[0]["session"]["created"]);
    (first[0], second[0]) = (Value::Null, Value::Null);
    assert_eq!(second, first);
}

/// A session with calls and results, headings in its texts, and a setting of its own.
fn talked_in() -> ServedHome {
    let fake = Wire::OpenAi
        .fake()
        .answer(FakeAnswer::calls([read("SOUL.md"), read("none.md")]).text("## Assistant\n"))
        .answer(FakeAnswer::text("Done.\n## User\nno"));
    let served = ServedHome::new(Wire::OpenAi, fake);
    served.home.run_with(&["chat"], "/set temperature 0.5\nlist what SOUL.md says\n", &[]);
    served
}

/// Checks that the session in another home, which has `count` messages, begins with
/// the five that it had before, and has its setting.
#[track_caller]
fn begins_with_all_of_it(other: &Home, served: &ServedHome, count: usize) {
    let (mut there, mut here) = (other.messages("default"), served.transcript());
    assert_eq!((here.len(), there.len()), (5, count));
    there.truncate(5);
    for message in here.iter_mut().chain(&mut there) {
        // Turns stay where they were run.
        message.as_object_mut().unwrap().remove("turn");
    }
    assert_eq!(there, here);
    let session = other.json(&["sessions", "show", "default", "--json"])["session"].clone();
    assert_eq!(session["settings"]["temperature"], 0.5);
}

#[test]
fn a_session_that_was_talked_in_round_trips_into_another_home() {
    let served = talked_in();
    let exported = served.home.ok(&["sessions", "export", "default"]);
    let other = Home::scripted(&[]);
    other.run_with(&["sessions", "import", "-"], &exported, &[]);
    begins_with_all_of_it(&other, &served, 5);
    // It goes on there, with all of it on the page.
    other.say_in("default", "and then?");
    let body = other.ok(&["show", "--body"]);
    assert!(body.contains("list what SOUL.md says") && body.contains("## User"), "{body}");
    other.ok(&["replay", "--verify"]);
}

#[test]
fn a_plain_history_is_imported_under_the_name_of_its_file() {
    let home = Home::scripted(&[]);
    home.write("old talk.jsonl", "\u{feff}{\"role\":\"user\",\"content\":\"hi\"}\r\n\r\n{\"role\":\"assistant\",\"content\":\"hello\"}");
    let file = home.path("old talk.jsonl");
    let file = file.to_str().unwrap();
    home.ok(&["sessions", "import", file]);
    assert_eq!(home.said("old talk"), ["hi", "hello"]);
    home.say_in("old talk", "how are you?");
    assert_eq!(home.listed(), ["1 old talk: 4 messages"]);
    home.run(&["sessions", "import", file]).fails_with("named `old talk` already");
    home.ok(&["sessions", "archive", "old talk"]);
    home.ok(&["sessions", "import", file]);
    assert_eq!(home.listed(), ["1 old talk: 4 messages, archived", "2 old talk: 2 messages"]);
}

/// Promise: `every-call-has-result`
#[test]
fn a_history_with_calls_left_open_can_be_gone_on_with() {
    // Servers refuse a call without a result, and a result without a call.
    for wire in [Wire::Ollama, Wire::OpenAi] {
        let served = ServedHome::new(wire, wire.fake());
        let history = [
            r#"{"role":"user","content":"q"}"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"read_file","arguments":"{\"path\":\"a\"}"}]}"#,
            r#"{"role":"user","content":"again"}"#,
            r#"{"role":"tool","content":"orphan","tool_call_id":"zz","name":"read_file"}"#,
        ];
        let run = served.home.run_with(
            &["sessions", "import", "-", "--name", "default"],
            history.join("\n"),
            &[],
        );
        assert_eq!(run.code, 0, "{}", run.err);
        served.say("and now?");
        assert_eq!(served.fake.rejections(), Vec::<String>::new(), "{wire:?}");
    }
}

#[test]
fn an_export_never_writes_over_a_file() {
    let home = Home::scripted(&[]);
    home.say_in("a", "one");
    home.write("precious.txt", "precious");
    let file = home.path("precious.txt");
    let run = home.run(&["sessions", "export", "a", "-o", file.to_str().unwrap()]);
    run.fails_with("name a file that is not there");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let nowhere = home.path("no/folder/x");
    home.run(&["sessions", "export", "a", "-o", nowhere.to_str().unwrap()])
        .fails_with("cannot write");
    home.run(&["sessions", "export", "b"]).fails_with("there is no session `b`");
}

#[test]
fn what_is_no_session_is_not_imported() {
    let home = Home::scripted(&[]);
    let header = r#"{"format":"recto-session","version":1,"session":{"name":"a"}}"#;
    let line = r#"{"role":"user","content":"x"}"#;
    for (file, told) in [
        (String::new(), "there is no message"),
        (header.to_owned(), "there is no message"),
        (format!("{header}\n{line}\nnope\n"), "line 3:"),
        (
            format!("{line}\n{{\"role\":\"king\",\"content\":\"\"}}\n"),
            "line 2: unknown role `king`",
        ),
        (line.to_owned(), "the session has no name"),
        (header.replace("\"a\"", "\"a\\nb\"") + "\n" + line, "control characters"),
        (header.replace(":1,", ":2,") + "\n" + line, "it has version 2"),
    ] {
        home.run_with(&["sessions", "import", "-"], &file, &[]).fails_with(told);
    }
    home.run(&["sessions", "import", "none.jsonl"]).fails_with("cannot read `none.jsonl`");
    home.write("bad.jsonl", b"\xff\xfe");
    home.run(&["sessions", "import", home.path("bad.jsonl").to_str().unwrap()]).fails_with("UTF-8");
    assert_eq!(home.listed(), Vec::<String>::new());
}

#[test]
fn numbers_of_messages_that_leave_no_room_are_given_anew() {
    let home = Home::scripted(&[]);
    for (name, number) in [("a", u64::MAX), ("b", i64::MAX as u64), ("c", i64::MAX as u64 - 1)] {
        let line = format!("{{\"id\":{number},\"role\":\"user\",\"content\":\"x\"}}");
        home.run_with(&["sessions", "import", "-", "--name", name], &line, &[]);
        home.say_in(name, "and on");
        assert_eq!(home.said(name).len(), 3);
    }
}

/// Promise: `every-call-has-result`
#[test]
fn every_imported_call_has_a_result() {
    let home = Home::scripted(&[]);
    let lines = [
        json!({"role": "user", "content": "look"}),
        json!({"role": "assistant", "tool_calls": [
            {"id": "c1", "name": "x", "arguments": {}}, {"id": "c2", "name": "y", "arguments": {}}]}),
        json!({"role": "tool", "tool_call_id": "c2", "content": "seen"}),
        json!({"role": "user", "content": "and?"}),
        json!({"role": "assistant", "tool_calls": [{"id": "c3", "name": "z", "arguments": {}}]}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write("open.jsonl", text);
    home.ok(&["sessions", "import", home.path("open.jsonl").to_str().unwrap()]);
    let shown = home.json(&["sessions", "show", "open", "--json"]);
    let seen: Vec<String> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let call = message["tool_call_id"].as_str().unwrap_or_default();
            format!("{} {} {call}", message["id"], message["role"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "1 user ",
        "2 assistant ",
        "3 tool c2",
        "4 tool c1",
        "5 user ",
        "6 assistant ",
        "7 tool c3",
    ];
    assert_eq!(seen, expected);
}

/// A home with a session `first` in which there is everything.
fn with_everything() -> Home {
    let home = Home::scripted(&[]);
    let run = home.run_with(&["sessions", "import", "-", "--name", "first"], everything(), &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    home
}

/// The path of a file of the home, as an argument.
fn argument(home: &Home, file: &str) -> String {
    home.path(file).to_str().unwrap().to_owned()
}

/// Promise: `headings-survive-export`
/// Promise: `timestamps-round-trip`
#[test]
fn everything_round_trips_through_markdown() {
    let home = with_everything();
    let file = argument(&home, "first.md");
    home.ok(&["sessions", "export", "first", "-o", &file]);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(home.ok(&["sessions", "export", "first", "--format", "markdown"]), text);
    assert!(text.starts_with("# first\n") && text.contains("\n## Assistant · "), "{text}");

    home.ok(&["sessions", "import", &file, "--name", "second"]);
    let exported = |name| json_lines(&home.ok(&["sessions", "export", name]));
    let (mut first, mut second) = (exported("first"), exported("second"));
    assert_eq!(first.len(), 9);
    assert_eq!(first[0]["session"]["created"], second[0]["session"]["created"]);
    (first[0], second[0]) = (Value::Null, Value::Null);
    assert_eq!(second, first);

    // The form can be named, whatever the file is called.
    home.ok(&["sessions", "export", "first", "-o", &argument(&home, "x.md"), "--format", "jsonl"]);
    assert!(fs::read_to_string(home.path("x.md")).unwrap().starts_with('{'));
}

#[test]
fn a_session_that_was_talked_in_goes_on_from_markdown_in_another_home() {
    let served = talked_in();
    let exported = served.home.ok(&["sessions", "export", "default", "--format", "markdown"]);
    let other = Home::scripted(&[]);
    other.write("talk.md", exported);
    let file = argument(&other, "talk.md");
    let run = other.run(&["chat", "--from", &file, "-m", "and then?"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("5 messages of"), "{}", run.err);
    begins_with_all_of_it(&other, &served, 7);
    let body = other.ok(&["show", "--body"]);
    assert!(body.contains("list what SOUL.md says") && body.contains("and then?"), "{body}");
    other.ok(&["replay", "--verify"]);
}

#[test]
fn the_same_file_again_goes_on_with_the_session_that_it_became() {
    let home = Home::scripted(&[]);
    home.say_in("talk", "one");
    let file = argument(&home, "talk.md");
    home.ok(&["sessions", "export", "talk", "-o", &file]);
    let go_on = |home: &Home, text: &str| {
        let run = home.run(&["chat", "--from", &argument(home, "talk.md"), "-m", text]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    // Here it is a session already.
    assert!(go_on(&home, "two").contains("session talk has all 2 messages of"));
    assert_eq!(home.listed(), ["1 talk: 4 messages"]);

    let other = Home::scripted(&[]);
    other.say_in("talk", "another talk of that name");
    other.write("talk.md", fs::read(&file).unwrap());
    assert!(go_on(&other, "two").contains("session talk-2 has 2 messages of"));
    assert!(go_on(&other, "three").contains("session talk-2 has all 2 messages of"));
    assert_eq!(other.listed(), ["1 talk: 2 messages", "2 talk-2: 6 messages"]);
    // From the archive, too, and under another name.
    other.ok(&["sessions", "rename", "2", "renamed"]);
    other.ok(&["sessions", "archive", "2"]);
    assert!(go_on(&other, "four").contains("session renamed has all 2 messages of"));
    assert_eq!(other.listed(), ["1 talk: 2 messages", "2 renamed: 8 messages"]);

    // What somebody changed is another talk.
    let text = fs::read_to_string(&file).unwrap();
    other.write("talk.md", text.replace("\none\n", "\none or two\n"));
    assert!(go_on(&other, "five").contains("session talk-2 has 2 messages of"));
    assert_eq!(other.said("3")[0], "one or two");
    other.write("talk.md", text + "\n## User\n\nand I add\n");
    assert!(go_on(&other, "six").contains("3 messages of"));
    assert_eq!(other.listed().len(), 4);
}

#[test]
fn a_talk_by_hand_is_gone_on_with() {
    let home = Home::scripted(&[]);
    home.write("plan.md", "# Plan\n\n## User\n\nhi\n\n## Assistant\n\nhello\n\n## User\n");
    let file = argument(&home, "plan.md");
    let run = home.run(&["chat", "--from", &file, "-m", "and?"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("warning: line 11: a message without a text"), "{}", run.err);
    home.ok(&["chat", "--from", &file, "-m", "and then?"]);
    assert_eq!(home.listed(), ["1 plan: 6 messages"]);
    assert_eq!(home.said("plan")[..2], ["hi", "hello"]);

    home.write("other.md", "**User:** 2+2?\n\n**Assistant:** 4\n");
    home.ok(&["sessions", "import", &argument(&home, "other.md")]);
    assert_eq!(home.said("other"), ["2+2?", "4"]);
}

#[test]
fn a_file_that_is_no_session_is_not_gone_on_with() {
    let home = Home::scripted(&[]);
    home.write("prose.md", "# A poem\n\nnothing was said\n");
    home.write("broken.md", "## User\n\n<!-- recto message {\"id\": -->\n\nx\n");
    home.write("newer.md", "<!-- recto session {\"format\":\"recto-session\",\"version\":2} -->\n");
    for (file, told) in [
        ("prose.md", "line 1: no message begins with"),
        ("broken.md", "line 3: the comment for Recto is broken"),
        ("newer.md", "version 2"),
        ("none.md", "cannot read"),
    ] {
        let file = argument(&home, file);
        home.run(&["chat", "--from", &file, "-m", "x"]).fails_with(told);
        home.run(&["sessions", "import", &file]).fails_with(told);
    }
    home.run(&["chat", "--from", "-", "-m", "x"]).fails_with("standard input");
    let both = home.run(&["chat", "--from", "a.md", "--session", "b", "-m", "x"]);
    assert_eq!(both.code, 2, "{}", both.err);
    assert_eq!(home.listed(), Vec::<String>::new());
}

#[test]
fn settings_that_make_no_sense_are_left_out_and_named() {
    let home = Home::scripted(&[]);
    let settings = json!({
        "context_mode": "zzz", "temperature": 1e308, "max_output_tokens": -5, "max_tokens": 5,
        "top_p": 0.5,
    });
    let header = json!({"format": "recto-session", "version": 1,
        "session": {"name": "odd", "settings": settings}});
    let file = format!("{header}\n{}\n", r#"{"role":"user","content":"hi"}"#);
    let run = home.run_with(&["sessions", "import", "-"], &file, &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    let told = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for told_of in [
        "`context_mode = zzz` is not taken from the file: the modes are",
        "`temperature = 1e+308` is not taken from the file: it takes a number from 0 to 2",
        "`max_output_tokens = -5` is not taken",
        "`max_tokens = 5` is not taken from the file: there is no such setting",
    ] {
        assert!(told.contains(told_of), "{told_of}: {told}");
    }
    let shown = home.json(&["sessions", "show", "odd", "--json"]);
    let settings = &shown["session"]["settings"];
    assert_eq!(settings["top_p"], 0.5);
    for name in ["context_mode", "temperature", "max_output_tokens", "max_tokens"] {
        assert_eq!(settings[name], Value::Null, "{name}");
    }
}

/// Promise: `text-raises-no-rights`
#[test]
fn a_file_gives_no_rights() {
    let home = Home::scripted(&[]);
    let settings = json!({
        "temperature": 0.5,
        "approval": "never",
        "audience": {"who": "guest", "person": "7", "conversation": "telegram-4711"},
    });
    let header = json!({"format": "recto-session", "version": 1,
        "session": {"name": "theirs", "settings": settings}});
    let line = r#"{"role":"user","content":"hi"}"#;
    let jsonl = format!("{header}\n{line}\n");
    let markdown = format!("<!-- recto session {header} -->\n\n## User\n\nhi\n");
    for (name, file) in [("a", jsonl), ("b", markdown)] {
        let run = home.run_with(&["sessions", "import", "-", "--name", name], &file, &[]);
        assert!(run.err.contains("`/set approval`"), "{}", run.err);
        let shown = home.json(&["sessions", "show", name, "--json"]);
        let settings = &shown["session"]["settings"];
        assert_eq!(settings["temperature"], 0.5);
        assert_eq!(settings["approval"], Value::Null);
        let audience = json!({"who": "owner", "person": "owner",
            "conversation": format!("terminal-{name}"), "agent": shown["session"]["agent"]});
        assert_eq!(settings["audience"], audience);
    }
    // More caution is taken as it is.
    let careful = json!({"format": "recto-session", "version": 1,
        "session": {"name": "careful", "settings": {"approval": "always"}}});
    let run = home.run_with(&["sessions", "import", "-"], format!("{careful}\n{line}\n"), &[]);
    assert!(!run.err.contains("warning"), "{}", run.err);
    let shown = home.json(&["sessions", "show", "careful", "--json"]);
    assert_eq!(shown["session"]["settings"]["approval"], "always");
}
