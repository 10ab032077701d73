//! Sessions as people handle them: listed, shown, renamed, put away and searched.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::*;

impl Home {
    /// `recto chat --session SESSION -m MESSAGE`, which must go well.
    pub(crate) fn say_in(&self, session: &str, message: &str) -> String {
        self.ok(&["chat", "--session", session, "-m", message])
    }

    /// `recto sessions list --all --json`: number, name, messages, whether archived.
    pub(crate) fn listed(&self) -> Vec<String> {
        let list = self.json(&["sessions", "list", "--all", "--json"])["sessions"].clone();
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

    pub(crate) fn messages(&self, session: &str) -> Vec<Value> {
        let shown = self.json(&["sessions", "show", session, "--json"]);
        shown["messages"].as_array().unwrap().clone()
    }

    /// What people and models said in a session, in order.
    pub(crate) fn said(&self, session: &str) -> Vec<String> {
        let messages = self.messages(session).into_iter();
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Where a search finds something: `session role`, and the text around it.
    fn found(&self, words: &str) -> Vec<(String, String)> {
        let hits = self.json(&["sessions", "search", words, "--json"])["messages"].clone();
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
    assert_eq!(keys(&shown), ["session", "messages", "compactions", "turns"]);
    let session = ["id", "name", "agent", "surface", "created", "archived", "settings"];
    let standing = ["waiting", "items", "effective_settings"];
    assert_eq!(keys(&shown["session"]), [&session[..], &standing].concat());
    assert_eq!(keys(&shown["messages"][0]), ["id", "role", "stamp", "content", "at", "turn"]);
    assert_eq!(keys(&shown["messages"][1]), ["id", "role", "content", "at", "turn"]);
    assert_eq!(
        (&shown["messages"][0]["role"], &shown["messages"][1]["role"]),
        (&json!("user"), &json!("error"))
    );
    let turn = &shown["turns"][0];
    expect![[r#"["id","session","number","status","standing","continues","message","inbound","actor","accepted","started","ended","detail"]"#]]
        .assert_eq(&json!(keys(turn)).to_string());
    assert_eq!((&turn["id"], &turn["status"]), (&json!(1), &json!("failed")));
    let listed = home.json(&["sessions", "list", "--json"])["sessions"].clone();
    assert_eq!(
        keys(&listed[0]),
        [&session[..], &["messages", "turns", "last", "opening"], &standing].concat()
    );
}

/// Promise: `session-stands-told`
#[test]
fn a_session_tells_what_waits_what_it_has_and_which_settings_hold() {
    let call =
        r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;
    let home = Home::scripted(&[call]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write(
        "config.toml",
        format!(
            "{config}temperature = 0.5\n[tools]\nmaxChatTurns = 7\n\
         [search]\ntop_n = 4\n"
        ),
    );
    home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe kind.\n");
    home.write("workspace/rules/long.md", "---\ninclude: manual\n---\nBe brief.\n");
    home.ok(&["chat", "-m", "/set top_p 0.9"]);
    home.ok(&["chat", "-m", "/add long"]);
    home.ok(&["chat", "-m", "/remove tone"]);
    assert_eq!(home.run(&["chat", "-m", "write it"]).code, 3);

    let shown = home.json(&["sessions", "show", "default", "--json"])["session"].clone();
    let waiting = &shown["waiting"][0];
    assert_eq!((&waiting["approval"], &waiting["turn"]), (&json!(1), &json!(1)));
    assert_eq!(waiting["action"]["path"], "a.txt");
    let items = shown["items"].as_array().unwrap().iter();
    let mut items: Vec<String> = items
        .map(|item| {
            format!("{} {} {} {}", item["kind"], item["name"], item["state"], item["joined"])
        })
        .filter(|item| item.contains("rule"))
        .collect();
    items.sort();
    expect![[r#"["\"rule\" \"long\" \"in\" \"by_hand\"", "\"rule\" \"tone\" \"removed\" null"]"#]]
        .assert_eq(&format!("{items:?}"));
    let holds = |name: &str| shown["effective_settings"][name].clone();
    assert_eq!(holds("top_p"), json!({"value": 0.9, "from": "session"}));
    let temperature = holds("temperature");
    assert_eq!((&temperature["value"], &temperature["from"]), (&json!(0.5), &json!("model")));
    assert!(text(&temperature["origin"]).starts_with("config.toml:"), "{temperature}");
    let rounds = holds("max_rounds");
    assert_eq!((&rounds["value"], &rounds["from"]), (&json!(7), &json!("config")));
    assert_eq!(holds("approval"), json!({"value": "per_tool", "from": "default"}));
    assert_eq!(holds("search")["value"], "normal");
    assert_eq!((&holds("top_n")["value"], &holds("top_n")["from"]), (&json!(4), &json!("config")));
    assert_eq!(holds("floor"), json!({"value": 0.4, "from": "preset"}));
    assert_eq!(holds("context_mode"), json!({"value": "full", "from": "default"}));
    let listed = home.json(&["sessions", "list", "--json"])["sessions"].clone();
    for key in ["waiting", "items", "effective_settings"] {
        assert_eq!(listed[0][key], shown[key], "{key}");
    }
    // A preset that the session chooses wins over what the config sets beside its own.
    home.ok(&["chat", "-m", "/set search conservative"]);
    let shown = home.json(&["sessions", "show", "default", "--json"])["session"].clone();
    let preset = json!({"value": 3, "from": "preset"});
    assert_eq!(shown["effective_settings"]["top_n"], preset);
}

#[test]
fn no_sessions_are_an_empty_list() {
    let home = Home::scripted(&[]);
    let run = home.run(&["sessions", "list"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.contains("there are no sessions yet"), "{}", run.err);
    assert_eq!(home.json(&["sessions", "list", "--json"])["sessions"].clone(), json!([]));
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

/// Promise: `new-archives`
#[test]
fn new_puts_a_session_away_and_deletes_nothing() {
    let home = Home::scripted(&[]);
    let run = home.run_with(&["chat", "--session", "talk"], "walrus\n/new\ntwo\n//new york\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(home.listed(), ["1 talk: 2 messages, archived", "2 talk: 4 messages"]);
    assert_eq!(home.said("1")[0], "walrus");
    assert_eq!(home.said("talk")[2], "/new york");
    let open = home.json(&["sessions", "list", "--json"])["sessions"].clone();
    assert_eq!(open.as_array().unwrap().len(), 1, "the archive is listed with --all only");
    // What was said before is not on the new page.
    assert!(!home.ok(&["show", "2", "--body"]).contains("walrus"));
}

#[test]
fn a_name_means_one_session_wherever_it_began() {
    let home = Home::scripted(&[]);
    home.run_with(&["chat"], "one\n/new fresh\ntwo\n", &[]);
    home.run_with(&["chat", "--session", "default"], "three\n", &[]);
    home.run_with(&["chat", "--session", "fresh"], "four\n", &[]);
    let listed =
        ["1 default: 2 messages, archived", "2 fresh: 4 messages", "3 default: 2 messages"];
    assert_eq!(home.listed(), listed);
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
    let hits = home.json(&["sessions", "search", "needle", "--json"])["messages"].clone();
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
    let limited =
        home.json(&["sessions", "search", "needle", "--limit", "1", "--json"])["messages"].clone();
    assert_eq!(limited.as_array().unwrap().len(), 1);
}

/// Promise: `deleted-for-good`
#[test]
fn a_session_is_deleted_for_good_when_it_is_meant() {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", config + "\n[sessions]\nmarkdown = true\n");
    for message in ["the door code is zebra-4711", "and the other one zebra-4712"] {
        home.say_in("gone", message);
    }
    home.say_in("kept", "good day");
    for message in ["//zebra-4713 is it", "please say yes"] {
        home.say_in("gone", message);
    }
    let kept = "good day\nyes\n/remember yes\n/stop\n";
    let gone = "the door code is zebra-4711\n//zebra-4713 is it\n/edit and the other one \
                zebra-4712\nplease say yes\n";
    home.write("data/history", format!("{gone}{kept}"));
    let files = || std::fs::read_dir(home.path("sessions")).unwrap().count();
    assert_eq!(files(), 1);
    home.run(&["sessions", "delete", "gone"]).fails_with("`--yes` says that you mean it");
    assert_eq!(home.messages("gone").len(), 8);
    let run = home.run(&["sessions", "delete", "gone", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("session gone is deleted: 8 messages, 4 turns and 1 file"),
        "{}",
        run.err
    );
    home.run(&["sessions", "show", "gone"]).fails_with("there is no session `gone`");
    assert_eq!(files(), 0);
    for file in ["data/recto.db", "data/recto.db-wal", "data/history"] {
        let bytes = std::fs::read(home.path(file)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"zebra-"), "{file}");
    }
    assert_eq!(std::fs::read_to_string(home.path("data/history")).unwrap(), kept);
    assert_eq!(home.messages("kept").len(), 2);
    home.ok(&["replay", "--verify"]);
}

/// Whether these bytes stand in a file of the home.
fn is_in_file(home: &Home, file: &str, text: &str) -> bool {
    let bytes = std::fs::read(home.path(file)).unwrap_or_default();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Promise: `redacted-everywhere`
#[test]
fn a_text_is_redacted_everywhere_and_the_record_still_agrees_with_itself() {
    let home = Home::scripted(&[
        r#"{"content":"noted: zebra \"4711\" is the code of the door, and nothing else is"}"#,
    ]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", config + "\n[sessions]\nmarkdown = true\n");
    for message in ["the door code is zebra \"4711\", keep it to yourself please", "again?"] {
        home.say_in("code", message);
    }
    home.say_in("other", "good day");
    home.write("data/history", "the door code is zebra \"4711\"\ngood day\n");
    home.write("workspace/USER.md", "I like zebra \"4711\".\n");
    home.say_in("third", "what do I like?");
    let text = "zebra \"4711\"";
    home.run(&["sessions", "redact", text]).fails_with("`--yes` says that you mean it");
    home.run(&["sessions", "redact", "zeb", "--yes"]).fails_with("can't be redacted");
    assert!(
        is_in_file(&home, "data/recto.db", "zebra")
            || is_in_file(&home, "data/recto.db-wal", "zebra")
    );
    let run = home.run(&["sessions", "redact", text, "--yes"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("redacted in 5 messages, 3 requests"), "{}", run.err);
    assert!(run.err.contains("USER.md"), "{}", run.err);
    for file in ["data/recto.db", "data/recto.db-wal", "data/history"] {
        assert!(!is_in_file(&home, file, "zebra"), "{file}");
    }
    for entry in std::fs::read_dir(home.path("sessions")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("zebra"), "{text}");
    }
    let shown = home.ok(&["sessions", "show", "code"]);
    assert!(shown.contains("the door code is [redacted], keep it"), "{shown}");
    assert!(shown.contains("noted: [redacted] is the code"), "{shown}");
    // All that is kept agrees: the pages, the bodies, and what they are made of.
    home.ok(&["store", "check"]);
    let verified = home.ok(&["replay", "--verify"]);
    assert!(
        verified.contains("4 of 4 requests") && verified.contains("3 of them redacted since"),
        "{verified}"
    );
    let page = home.ok(&["show", "1"]);
    assert!(page.contains("redacted") && !page.contains("zebra"), "{page}");
    let json = home.json(&["show", "1", "--json"]);
    assert!(json["requests"][0]["redacted"].is_string(), "{json}");
    home.ok(&["diff", "1", "2"]);
    // And it goes on.
    home.write("workspace/USER.md", "I like good weather.\n");
    home.say_in("code", "good");
    home.ok(&["replay", "--verify"]);
    assert!(!home.ok(&["show", "last", "--body"]).contains("zebra"));
}

#[test]
fn a_chat_in_which_nothing_was_said_leaves_no_session() {
    let home = Home::scripted(&[]);
    let count = || {
        home.json(&["sessions", "list", "--all", "--json"])["sessions"].as_array().unwrap().len()
    };
    home.run_with(&["chat"], "", &[]);
    home.run_with(&["chat", "--session", "work"], "/help\n/context\n", &[]);
    assert_eq!(count(), 0);
    // What a person has said, set or added stays.
    home.run_with(&["chat", "--session", "set"], "/set temperature 0.5\n", &[]);
    home.run_with(&["chat", "--session", "said"], "hello\n", &[]);
    home.write("workspace/rules/units.md", "Use metres.");
    home.run_with(&["chat", "--session", "added"], "/add units\n", &[]);
    assert_eq!(count(), 3);
    home.run_with(&["chat", "--session", "set"], "", &[]);
    assert_eq!(count(), 3);
}
