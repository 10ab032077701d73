//! Sessions as people handle them: listed, shown, renamed, put away, moved and
//! searched.

use expect_test::expect;
use recto_fakes::Answer;
use serde_json::{Value, json};

use crate::servers::{Desk, Wire, json_lines, read};
use crate::support::*;

impl Home {
    /// `recto chat --session SESSION -m MESSAGE`, which must go well.
    fn say_in(&self, session: &str, message: &str) -> String {
        self.ok(&["chat", "--session", session, "-m", message])
    }

    /// `recto sessions list --all --json`: number, name, messages, whether archived.
    fn listed(&self) -> Vec<String> {
        let list = self.json(&["sessions", "list", "--all", "--json"]);
        let mut rows: Vec<String> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let archived = if row["archived"].is_null() { "" } else { ", archived" };
                let name = row["name"].as_str().unwrap();
                format!("{} {name}: {} messages{archived}", row["id"], row["messages"])
            })
            .collect();
        rows.sort();
        rows
    }

    fn messages(&self, session: &str) -> Vec<Value> {
        let shown = self.json(&["sessions", "show", session, "--json"]);
        shown["messages"].as_array().unwrap().clone()
    }

    /// What people and models said in a session, in order.
    fn said(&self, session: &str) -> Vec<String> {
        let messages = self.messages(session).into_iter();
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Where a search finds something: `session role`, and the text around it.
    fn found(&self, words: &str) -> Vec<(String, String)> {
        let hits = self.json(&["sessions", "search", words, "--json"]);
        let hits = hits.as_array().unwrap().iter();
        let mut found: Vec<_> = hits
            .map(|hit| {
                let place = format!("{} {}", text(&hit["name"]), text(&hit["role"]));
                (place, text(&hit["snippet"]).to_owned())
            })
            .collect();
        found.sort();
        found
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Text with times put out of sight.
fn without_times(text: &str) -> String {
    let masked: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    masked.replace("0000-00-00 00:00", "TIME")
}

#[test]
fn a_session_is_shown_with_its_calls_and_results() {
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"a.txt"}}],"content":"I look."}"#,
        r##"{"content":"# Done\n\nIt says *hello*."}"##,
    ]);
    home.write("workspace/a.txt", "hello");
    home.say_in("work/today", "What does a.txt say?\n\x1b[2J");
    expect![[r#"
        session work/today, begun TIME

        user (TIME, turn 0)
        What does a.txt say?
        \u{0b}[0J

        assistant (TIME, turn 0)
        I look.
        [calls read_file {"path":"a.txt"}]

        result of read_file (TIME, turn 0)
        hello

        assistant (TIME, turn 0)
        # Done

        It says *hello*.
    "#]]
    .assert_eq(&without_times(&home.ok(&["sessions", "show", "work/today"])));
    expect![[r#"
        number  name        messages  turns  last              begins with
             0  work/today         0      0  TIME  What does a.txt say? \u{0b}[0J
    "#]]
    .assert_eq(&without_times(&home.ok(&["sessions", "list"])));
}

#[test]
fn the_json_of_a_session_has_exactly_these_keys() {
    let home = Home::scripted(&[r#"{"error":{"status":400,"body":"no"}}"#]);
    home.run(&["chat", "-m", "hello"]).fails_with("400");
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    assert_eq!(keys(&shown), ["session", "messages", "turns"]);
    let session = ["id", "name", "agent", "surface", "created", "archived", "settings"];
    assert_eq!(keys(&shown["session"]), session);
    assert_eq!(keys(&shown["messages"][0]), ["id", "role", "stamp", "content", "at", "turn"]);
    assert_eq!(keys(&shown["messages"][1]), ["id", "role", "content", "at", "turn"]);
    assert_eq!(
        (&shown["messages"][0]["role"], &shown["messages"][1]["role"]),
        (&json!("user"), &json!("error"))
    );
    let turn = &shown["turns"][0];
    expect![[r#"["id","session","number","status","message","inbound","sender","accepted","started","ended","detail"]"#]]
        .assert_eq(&json!(keys(turn)).to_string());
    assert_eq!((&turn["id"], &turn["status"]), (&json!(1), &json!("failed")));
    let listed = home.json(&["sessions", "list", "--json"]);
    assert_eq!(
        keys(&listed[0]),
        [&session[..], &["messages", "turns", "last", "opening"]].concat()
    );
}

#[test]
fn no_sessions_are_an_empty_list() {
    let home = Home::scripted(&[]);
    let run = home.run(&["sessions", "list"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.contains("there are no sessions yet"), "{}", run.err);
    assert_eq!(home.json(&["sessions", "list", "--json"]), json!([]));
    home.run(&["sessions", "show", "default"]).fails_with("there is no session `default`");
}

#[test]
fn any_visible_line_names_a_session() {
    let home = Home::scripted(&[]);
    let longest = "ü".repeat(128);
    let names = [
        "a b",
        "work/recto",
        "../../etc/passwd",
        "日本語 📎",
        "%_'\"",
        "C:\\x",
        &longest,
        "--x",
        "-",
    ];
    for name in names {
        home.ok(&["chat", "-m", "hello", &format!("--session={name}")]);
        home.ok(&["chat", "-m", "again", &format!("--session={name}")]);
        let messages = home.json(&["sessions", "show", "--json", "--", name]);
        assert_eq!(messages["session"]["name"], *name);
        assert_eq!(messages["messages"].as_array().unwrap().len(), 4, "{name}");
    }
    assert_eq!(home.listed().len(), names.len());
    // Spaces around a name are not part of it.
    home.say_in("  a b ", "third");
    assert_eq!(home.messages("a b").len(), 6);
    home.run(&["sessions", "show", "work/rectos"]).fails_with("did you mean `work/recto`?");
}

#[test]
fn a_renamed_session_goes_by_its_new_name() {
    let home = Home::scripted(&[]);
    home.say_in("old", "one");
    home.ok(&["sessions", "rename", "old", "new/name"]);
    home.say_in("new/name", "two");
    assert_eq!(home.said("1").len(), 4);
    // The old name is free, and begins another session.
    home.say_in("old", "three");
    assert_eq!(home.listed(), ["1 new/name: 4 messages", "2 old: 2 messages"]);
    home.run(&["sessions", "rename", "old", "new/name"]).fails_with("named `new/name` already");
    home.run(&["sessions", "rename", "old", " "]).fails_with("can't be empty");
    home.run(&["sessions", "rename", "gone", "x"]).fails_with("there is no session `gone`");
    home.ok(&["sessions", "rename", "2", "old"]);
    assert_eq!(home.listed(), ["1 new/name: 4 messages", "2 old: 2 messages"]);
}

#[test]
fn new_puts_a_session_away_and_deletes_nothing() {
    // PITFALL 31.
    let home = Home::scripted(&[]);
    let run = home.run_with(&["chat", "--session", "talk"], "walrus\n/new\ntwo\n/new york\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(home.listed(), ["1 talk: 2 messages, archived", "2 talk: 4 messages"]);
    assert_eq!(home.said("1")[0], "walrus");
    assert_eq!(home.said("talk")[2], "/new york");
    let open = home.json(&["sessions", "list", "--json"]);
    assert_eq!(open.as_array().unwrap().len(), 1, "the archive is listed with --all only");
    // What was said before is not on the new page.
    assert!(!home.ok(&["show", "2", "--body"]).contains("walrus"));
}

#[test]
fn a_session_comes_out_of_the_archive_by_its_number() {
    let home = Home::scripted(&[]);
    home.say_in("a", "walrus");
    home.ok(&["sessions", "archive", "a"]);
    home.ok(&["sessions", "archive", "a"]);
    home.say_in("1", "two");
    assert_eq!(home.listed(), ["1 a: 4 messages"]);
    assert!(home.ok(&["show", "--body"]).contains("walrus"), "its history is on the page again");
    // Its name can be in use by then.
    home.ok(&["sessions", "archive", "1"]);
    home.say_in("a", "another");
    home.run(&["chat", "--session", "1", "-m", "three"]).fails_with("named `a` already");
    assert_eq!(home.listed(), ["1 a: 4 messages, archived", "2 a: 2 messages"]);
    home.ok(&["sessions", "rename", "1", "b"]);
    home.say_in("1", "three");
    assert_eq!(home.said("b").len(), 6);
}

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
        json!({"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "media_type": "image/png", "data": "aGVsbG8="}],
            "at": "2026-11-15T08:07:11Z"}),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

#[test]
fn everything_round_trips_through_a_file() {
    // PITFALLS 32 and 37.
    let home = Home::scripted(&[]);
    home.write("talk.jsonl", everything());
    let imported = home.path("talk.jsonl");
    home.ok(&["sessions", "import", imported.to_str().unwrap(), "--name", "first"]);
    let first = home.ok(&["sessions", "export", "first"]);
    assert_eq!(json_lines(&first).len(), 9);
    for (given, kept) in json_lines(&everything()).iter().zip(&json_lines(&first)[1..]) {
        for (key, value) in given.as_object().unwrap() {
            assert_eq!(&kept[key], value, "{key} of {given}");
        }
    }

    let file = home.path("first.jsonl");
    let file = file.to_str().unwrap();
    home.ok(&["sessions", "export", "first", "-o", file]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), first);
    home.ok(&["sessions", "import", file, "--name", "second"]);
    let second = home.ok(&["sessions", "export", "second"]);
    let (mut first, mut second) = (json_lines(&first), json_lines(&second));
    assert_eq!(first[0]["session"]["created"], second[0]["session"]["created"]);
    (first[0], second[0]) = (Value::Null, Value::Null);
    assert_eq!(second, first);
}

#[test]
fn a_session_that_was_talked_in_round_trips_into_another_home() {
    let fake = Wire::OpenAi
        .fake()
        .answer(Answer::calls([read("SOUL.md"), read("none.md")]).text("## Assistant\n"))
        .answer(Answer::text("Done.\n## User\nno"));
    let desk = Desk::new(Wire::OpenAi, fake);
    desk.home.run_with(&["chat"], "/set temperature 0.5\nlist what SOUL.md says\n", &[]);
    let exported = desk.home.ok(&["sessions", "export", "default"]);
    let other = Home::scripted(&[]);
    other.run_with(&["sessions", "import", "-"], &exported, &[]);
    let (mut there, mut here) = (other.messages("default"), desk.transcript());
    assert_eq!(here.len(), 5);
    for message in here.iter_mut().chain(&mut there) {
        // Turns stay where they were run.
        message.as_object_mut().unwrap().remove("turn");
    }
    assert_eq!(there, here);
    let session = other.json(&["sessions", "show", "default", "--json"])["session"].clone();
    assert_eq!(session["settings"], json!({"temperature": 0.5}));
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

#[test]
fn a_history_with_calls_left_open_can_be_gone_on_with() {
    // PITFALL 26: servers refuse a call without a result, and a result without a call.
    for wire in [Wire::Ollama, Wire::OpenAi] {
        let desk = Desk::new(wire, wire.fake());
        let history = [
            r#"{"role":"user","content":"q"}"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"read_file","arguments":"{\"path\":\"a\"}"}]}"#,
            r#"{"role":"user","content":"again"}"#,
            r#"{"role":"tool","content":"orphan","tool_call_id":"zz","name":"read_file"}"#,
        ];
        let run = desk.home.run_with(
            &["sessions", "import", "-", "--name", "default"],
            &history.join("\n"),
            &[],
        );
        assert_eq!(run.code, 0, "{}", run.err);
        desk.say("and now?");
        assert_eq!(desk.fake.rejections(), Vec::<String>::new(), "{wire:?}");
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
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
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

#[test]
fn messages_are_found_by_all_of_their_words() {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    for (session, message) in [
        ("a", "The Quick brown fox, 50% off_season"),
        ("b", "quick thinking\nabout a brown\tbear"),
        ("c", "東京タワーに行きました。Straße ÉCOLE"),
        ("c", "c:\\temp 'quoted' \"double\" 50 percent offXseason"),
    ] {
        home.say_in(session, message);
    }
    for (words, expected) in [
        ("quick", &["a user", "b user"][..]),
        ("QUICK", &["a user", "b user"]),
        ("brown quick", &["a user", "b user"]),
        ("quick fox", &["a user"]),
        ("quick whale", &[]),
        ("東京", &["c user"]),
        ("タワー", &["c user"]),
        ("école", &["c user"]),
        ("50%", &["a user"]),
        ("f_s", &["a user"]),
        ("off_season", &["a user"]),
        ("c:\\temp", &["c user"]),
        ("'quoted'", &["c user"]),
        ("\"double\"", &["c user"]),
        ("", &[]),
        ("   ", &[]),
    ] {
        let found = home.found(words);
        let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, expected, "{words:?}");
    }
    // The archive is searched, too.
    home.ok(&["sessions", "archive", "a"]);
    assert_eq!(home.found("fox").len(), 1);
}

#[test]
fn a_hit_shows_where_it_is() {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    home.say_in(
        "work",
        &format!("{}\nthe needle\x1b[2J here {}", "hay ".repeat(99), "hay ".repeat(99)),
    );
    let hits = home.json(&["sessions", "search", "needle", "--json"]);
    assert_eq!(keys(&hits[0]), ["session", "name", "message", "role", "at", "snippet", "match"]);
    let (start, end) =
        (hits[0]["match"]["start"].as_u64().unwrap(), hits[0]["match"]["end"].as_u64().unwrap());
    assert_eq!(&text(&hits[0]["snippet"])[start as usize..end as usize], "needle");
    let shown = home.ok(&["sessions", "search", "needle"]);
    assert!(shown.starts_with("work, user 1 ("), "{shown}");
    assert!(shown.contains("the needle") && !shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.lines().count(), 2, "{shown}");

    let none = home.run(&["sessions", "search", "thread"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("no message has all of these words"));
    home.say_in("work", "needle");
    let limited = home.json(&["sessions", "search", "needle", "--limit", "1", "--json"]);
    assert_eq!(limited.as_array().unwrap().len(), 1);
}

#[test]
fn every_imported_call_has_a_result() {
    // PITFALL 26.
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
