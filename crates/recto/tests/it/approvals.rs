//! `recto approvals`: questions that a turn left behind, answered from outside.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::*;

const CALL: &str =
    r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;

const WRITTEN: &str = r#"{"content":"Written."}"#;

/// A home whose model writes a file, and whose turn waits for a word.
fn waiting() -> Home {
    let home = Home::scripted(&[CALL]);
    let run = home.run(&["chat", "-m", "write it"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    assert!(!home.path("workspace/a.txt").exists());
    then_says(&home, &[WRITTEN]);
    home
}

/// What the model answers in the next process: each begins its script anew.
fn then_says(home: &Home, lines: &[&str]) {
    home.write("talk.jsonl", lines.join("\n"));
}

/// What waited for a word and was stopped instead never ran, and the model is told so.
#[test]
fn a_call_that_waited_in_a_process_that_is_gone_was_not_run() {
    let home = waiting();
    home.ok(&["sessions", "stop", "default"]);
    let shown = home.ok(&["sessions", "show", "default", "--json"]);
    assert!(shown.contains("not run: the person stopped the turn"), "{shown}");
    assert!(!shown.contains("is unknown"), "{shown}");
}

#[test]
fn nothing_waits_in_a_new_home() {
    let home = Home::scripted(&[]);
    assert_eq!(home.ok(&["approvals", "list"]), "");
    assert_eq!(
        json(&home.ok(&["approvals", "list", "--json"]))["approvals"].clone(),
        serde_json::json!([])
    );
    home.run(&["approvals", "answer", "7", "allow"]).fails_with("recto approvals list");
    home.run(&["approvals", "show", "7"]).fails_with("recto approvals list");
    let mistyped = home.run(&["approvals", "answer", "seven", "allow"]);
    assert_eq!(mistyped.code, 2);
    assert_eq!(home.run(&["approvals", "answer", "1", "maybe"]).code, 2);
}

#[test]
fn a_question_is_listed_with_all_that_would_be_done() {
    let home = waiting();
    let list = json(&home.ok(&["approvals", "list", "--json"]))["approvals"].clone();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!((&list[0]["tool"], &list[0]["answer"]), (&"write_file".into(), &Value::Null));
    assert_eq!(list[0]["session_name"], "default");
    let drawn = home.ok(&["approvals", "list"]);
    assert!(drawn.contains("write_file") && drawn.contains("a.txt"), "{drawn}");
}

/// Promise: `approval-fields`
#[test]
fn what_would_be_done_is_told_field_by_field_and_in_words() {
    let home = waiting();
    let shown = json(&home.ok(&["approvals", "show", "1", "--json"]));
    let diff = "--- a.txt\n+++ a.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n";
    assert_eq!(
        shown["action"],
        serde_json::json!({
            "kind": "file", "path": "a.txt", "change": "create", "diff": diff,
            "bytes_before": null, "bytes_after": 1,
        })
    );
    assert_eq!((&shown["title"], &shown["detail"]), (&"create a.txt".into(), &diff.into()));
    assert_eq!(shown["only_once"], false);
    assert_eq!(json(&home.ok(&["approvals", "list", "--json"]))["approvals"][0], shown);
    let drawn = home.run(&["approvals", "show", "1"]);
    assert!(drawn.out.contains("create a.txt") && drawn.out.contains("+x"), "{}", drawn.out);
    assert!(drawn.out.contains("answer: not answered yet"), "{}", drawn.out);
    home.run(&["approvals", "answer", "1", "deny"]);
    let shown = json(&home.ok(&["approvals", "show", "1", "--json"]));
    assert_eq!(shown["answer"], "denied");
    assert!(shown["answered"].is_string(), "{shown}");
    home.run(&["approvals", "show", "7"]).fails_with("recto approvals list");
}

/// Promise: `approval-fields`
#[test]
fn the_event_of_a_question_has_its_fields() {
    let home = Home::scripted(&[CALL]);
    let run = home.run(&["chat", "--json", "-m", "write it"]);
    let asked = run.out.lines().map(json).find(|event| event["event"] == "asked").unwrap();
    assert_eq!(
        (&asked["action"]["kind"], &asked["action"]["path"]),
        (&"file".into(), &"a.txt".into())
    );
}

#[test]
fn a_turn_goes_on_here_when_nobody_else_waits_for_the_answer() {
    let home = waiting();
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, "Written.\n"), "{}", answer.err);
    assert!(home.path("workspace/a.txt").exists());
    assert_eq!(home.ok(&["approvals", "list"]), "");
    // Who gave it is kept.
    let approval = json(&home.ok(&["approvals", "show", "1", "--json"]));
    let owner = serde_json::json!({"id": "owner", "name": "owner", "role": "owner"});
    assert_eq!((&approval["answer"], &approval["answered_by"]), (&"once".into(), &owner));
    let drawn = home.ok(&["approvals", "show", "1"]);
    assert!(drawn.contains("a.txt") && drawn.contains("answer: allowed by you, "), "{drawn}");
    let turn = json(&home.ok(&["show", "1", "--json"]));
    assert_eq!((&turn["turn"]["actor"], &turn["approvals"][0]), (&owner, &approval));
    let drawn = home.ok(&["show", "1"]);
    assert!(
        drawn.contains("asked   write_file: ") && drawn.contains(": allowed by you, "),
        "{drawn}"
    );
    let shown = home.ok(&["sessions", "show", "default"]);
    assert!(shown.contains("allowed by you: write_file"), "{shown}");
    // The first answer holds.
    let again = home.run(&["approvals", "answer", "1", "deny"]);
    assert_eq!(again.code, 1, "{}{}", again.out, again.err);
}

/// Promise: `an-answer-tells-what-became-of-it`
#[test]
fn an_answer_tells_what_became_of_the_call() {
    let home = waiting();
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(answer.err.contains("✓ write_file a.txt"), "{}", answer.err);
    // A path that was swapped for a link meanwhile.
    let home = waiting();
    std::os::unix::fs::symlink("b.txt", home.path("workspace/a.txt")).unwrap();
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(answer.err.contains("✗ write_file a.txt, x: "), "{}", answer.err);
    assert!(!home.path("workspace/b.txt").exists());
    let home = waiting();
    home.write("workspace/a.txt", "another's");
    let told = json(&home.run(&["approvals", "answer", "1", "allow", "--json"]).out);
    let call = &told["calls"][0];
    assert_eq!((&call["name"], &call["outcome"]), (&"write_file".into(), &"failed".into()));
    assert!(call["text"].as_str().unwrap().contains("changed since"), "{told}");
}

/// Promise: `an-answer-tells-what-became-of-it`
#[test]
fn an_answer_says_that_the_skill_of_the_tool_changed_meanwhile() {
    let call = r#"{"tool_calls":[{"name":"cat_it","arguments":{}}]}"#;
    let home = Home::scripted(&[call]);
    let skill = "---\nname: look\ndescription: Looks.\ninclude: always\n---\n";
    home.write("workspace/skills/look/SKILL.md", skill);
    let declared = |program: &str| {
        json!({
            "tools": [{
                "name": "cat_it",
                "description": "Looks.",
                "parameters": {"type": "object", "properties": {}},
            }],
            "allowlist": {program: [""]},
            "execution": [{"tool": "cat_it", "binary": program, "args": []}],
        })
        .to_string()
    };
    home.write("workspace/skills/look/tools.json", declared("cat"));
    home.ok(&["tools", "trust", "look"]);
    assert_eq!(home.run(&["chat", "-m", "look"]).code, 3);
    home.write("workspace/skills/look/tools.json", declared("ls"));
    then_says(&home, &[WRITTEN]);
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    let why =
        "✗ cat_it: cat_it can't be run: it is off: its skill's tools.json or a script changed";
    let told = answer.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(why), "{}", answer.err);
    assert!(told.contains("`recto tools trust look`"), "{}", answer.err);
}

#[test]
fn an_answer_reaches_the_process_that_waits_for_it() {
    let home = Home::scripted(&[CALL, WRITTEN]);
    let mut chat = home
        .command(&["chat", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Held open, so that the process lives on while its turn waits.
    let mut input = chat.stdin.take().unwrap();
    input.write_all(b"write it\n").unwrap();
    let mut events = BufReader::new(chat.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(events.any(|line| json(&line)["event"] == "asked"));
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, ""), "{}", answer.err);
    assert!(answer.err.contains("the Recto that asked goes on"), "{}", answer.err);
    let ended = || {
        let turn = json(&home.ok(&["show", "1", "--json"]));
        turn["turn"]["status"].as_str().is_some_and(|status| status == "done")
    };
    let mut looks = 0;
    while !ended() {
        looks += 1;
        assert!(looks < 1_000, "the turn does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(home.path("workspace/a.txt").exists());
    drop(input);
    chat.wait().unwrap();
}

#[test]
fn a_denied_call_is_not_run_and_the_model_is_told() {
    let home = waiting();
    let answer = home.run(&["approvals", "answer", "1", "deny", "--json"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let told = json(&answer.out);
    assert_eq!((&told["answer"], &told["goes_on"]), (&"denied".into(), &"here".into()));
    assert_eq!(told["finished"]["reply"], "Written.");
    assert!(!home.path("workspace/a.txt").exists());
    let shown = home.ok(&["sessions", "show", "default"]);
    assert!(shown.contains("was not run"), "{shown}");
}

#[test]
fn a_turn_that_asks_again_is_left_waiting() {
    let second = CALL.replace("a.txt", "b.txt");
    let home = Home::scripted(&[CALL]);
    assert_eq!(home.run(&["chat", "-m", "write both"]).code, 3);
    then_says(&home, &[&second]);
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert_eq!(answer.code, 3, "{}{}", answer.out, answer.err);
    assert!(home.path("workspace/a.txt").exists() && !home.path("workspace/b.txt").exists());
    then_says(&home, &[WRITTEN]);
    let answer = home.run(&["approvals", "answer", "2", "session"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, "Written.\n"), "{}", answer.err);
    assert!(home.path("workspace/b.txt").exists());
}

#[test]
fn every_question_of_a_reply_is_told_where_nobody_can_press_a_key() {
    let write =
        |path: &str| json!({"name": "write_file", "arguments": {"path": path, "content": "x"}});
    let both = json!({"tool_calls": [write("a.txt"), write("b.txt")]}).to_string();
    let home = Home::scripted(&[&both]);
    let run = home.run(&["chat", "-m", "write both"]);
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    for (approval, file) in [(1, "a.txt"), (2, "b.txt")] {
        let how = format!("`recto approvals answer {approval} allow`");
        assert_eq!(run.err.matches(&how).count(), 1, "{}", run.err);
        assert!(run.err.contains(&format!("create {file}")), "{}", run.err);
    }
    let first = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(first.err.contains("other questions of the turn are open"), "{}", first.err);
    then_says(&home, &[WRITTEN]);
    assert_eq!(home.run(&["approvals", "answer", "2", "allow"]).out, "Written.\n");
    assert!(home.path("workspace/a.txt").exists() && home.path("workspace/b.txt").exists());
}

#[test]
fn what_nobody_answers_in_time_is_not_listed() {
    let home = Home::scripted(&[CALL]);
    let mut config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    config.push_str("[tools]\napproval_expires = 1\n");
    home.write("config.toml", config);
    assert_eq!(home.run(&["chat", "-m", "write it"]).code, 3);
    assert!(home.ok(&["sessions", "show", "default"]).contains("waits for your word"));
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(home.ok(&["approvals", "list"]), "");
    let shown = home.ok(&["sessions", "show", "default"]);
    assert!(!shown.contains("waits for your word"), "{shown}");
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    assert_eq!(shown["session"]["waiting"], json!([]));
    let late = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(!home.path("workspace/a.txt").exists(), "{}{}", late.out, late.err);
}
