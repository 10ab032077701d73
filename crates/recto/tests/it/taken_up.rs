//! Turns of a process that was killed: they hold up nobody, are told, and can be stopped by any
//! other process.

use std::process::Command;

use crate::running::Running;
use crate::support::*;

/// A reply that takes longer than any test.
const SLOW: &str = r#"{"content": "late", "delay_ms": 600000}"#;
const QUICK: &str = r#"{"content": "quick"}"#;

/// Starts a turn in session `work` that does not end by itself.
fn start_slow(home: &Home, arguments: &[&str]) -> Running {
    home.write("talk.jsonl", SLOW);
    let running = home.start(&[&["chat", "--json", "--session", "work"], arguments].concat());
    running.wait_for_out("\"requested\"");
    home.write("talk.jsonl", [QUICK, QUICK, QUICK].join("\n"));
    running
}

/// A home whose session `work` has a turn that was cut short.
fn cut_short() -> Home {
    let home = Home::scripted(&[]);
    drop(start_slow(&home, &["-m", "count slowly\nto ten"]));
    home
}

fn statuses(home: &Home) -> Vec<String> {
    let shown = json(&home.ok(&["sessions", "show", "work", "--json"]));
    let status = |turn: &serde_json::Value| turn["status"].as_str().unwrap().to_owned();
    shown["turns"].as_array().unwrap().iter().map(status).collect()
}

/// Promise: `taken-up-makes-way`
#[test]
fn a_message_ends_with_its_own_reply_and_tells_what_waits_elsewhere() {
    let home = cut_short();
    for input in [None, Some("hello\n")] {
        let arguments = ["chat", "--session", "other", "-m", "hello"];
        let run = match input {
            None => home.run(&arguments),
            Some(input) => home.run_with(&arguments[..3], input, &[]),
        };
        assert_eq!((run.code, run.out.as_str()), (0, "quick\n"), "{}", run.err);
        let told = "a turn waits in session work, left by a Recto that ended: `recto chat --session \
                    work` goes on with it, `recto sessions stop work` stops it\n";
        assert_eq!(run.err, told);
    }
    assert_eq!(statuses(&home), ["running"]);
    // In its own session it comes first.
    let run = home.run(&["chat", "--session", "work", "-m", "and then?"]);
    assert_eq!((run.code, run.out.as_str()), (0, "quick\n"), "{}", run.err);
    let told = "turn 1 of this session was cut short and is finished first: \"count slowly to \
                ten\" (`recto sessions stop work` stops it)\n\
                turn 1, which came before, is done: quick\n";
    assert_eq!(run.err, told);
    assert_eq!(statuses(&home), ["done", "done"]);
}

/// Promise: `one-word-for-an-open-turn`
#[test]
fn all_commands_say_the_same_of_a_turn_that_was_cut_short() {
    let home = cut_short();
    let standing = "was cut short; `recto chat --session work` goes on with it, `recto sessions \
                    stop work` stops it";
    for arguments in
        [&["sessions", "list"][..], &["sessions", "show", "work"], &["show", "1"], &["doctor"]]
    {
        let run = home.run(arguments);
        let lines: Vec<&str> = run.out.split_whitespace().collect();
        let text = lines.join(" ");
        assert!(text.contains(standing), "{arguments:?}: {}", run.out);
    }
    let shown = json(&home.ok(&["sessions", "show", "work", "--json"]));
    assert_eq!(shown["turns"][0]["standing"], "cut_short");
    let shown = json(&home.ok(&["show", "1", "--json"]));
    assert_eq!(shown["turn"]["standing"], "cut_short");
    home.ok(&["chat", "--session", "work", "-m", "go on"]);
    let shown = json(&home.ok(&["show", "1", "--json"]));
    assert!(shown["turn"]["standing"].is_null());
}

/// A command that can't be run begins nothing that would end with it, however often it is tried.
#[test]
fn what_cannot_be_run_leaves_the_turn_alone() {
    let home = cut_short();
    for message in ["/rember milk", "look at @file:missing.txt"] {
        for _ in 0..6 {
            let run = home.run(&["chat", "--session", "work", "-m", message]);
            assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
            assert!(!run.err.contains("is finished first"), "{}", run.err);
        }
    }
    assert_eq!(statuses(&home), ["running"]);
    // What fails later does not take it along, either.
    let run = home.run(&["chat", "--session", "work", "-m", "/add nothing-of-this-name"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(statuses(&home), ["done"]);
}

#[test]
fn what_was_cut_short_is_finished_before_it_is_taken_back() {
    for input in [None, Some("/undo\n")] {
        let home = cut_short();
        let run = match input {
            None => home.run(&["chat", "--session", "work", "-m", "/undo"]),
            Some(input) => home.run_with(&["chat", "--session", "work"], input, &[]),
        };
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("turn 1 of this session was cut short and is finished first"));
        assert!(run.out.contains("count slowly"), "{}", run.out);
        assert_eq!(statuses(&home), ["done"]);
    }
}

#[test]
fn a_session_with_a_turn_that_was_cut_short_can_be_stopped_and_deleted() {
    let home = cut_short();
    let delete = ["sessions", "delete", "work", "--yes"];
    home.run(&delete).fails_with("stop it first: `recto sessions stop work`");
    home.ok(&["sessions", "stop", "work"]);
    home.ok(&delete);
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_turn_whose_process_is_gone_is_stopped() {
    let home = cut_short();
    let run = home.run(&["sessions", "stop", "work"]);
    let told = "session work: stopped; the process that had it was gone\n";
    assert_eq!((run.code, run.err.as_str()), (0, told));
    assert_eq!(statuses(&home), ["stopped"]);
    let stopped = json(&home.ok(&["sessions", "stop", "work", "--json"]));
    assert_eq!(stopped, serde_json::json!({"session": "work", "outcome": "nothing_runs"}));
    home.run(&["sessions", "stop", "nowhere"]).fails_with("there is no session `nowhere`");
    assert_eq!(home.run(&["chat", "--session", "other", "-m", "hello"]).err, "");
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_turn_that_another_process_runs_is_stopped() {
    let home = Home::scripted(&[]);
    let running = start_slow(&home, &["-m", "count"]);
    let listed = home.ok(&["sessions", "list"]);
    let standing = "session work: turn 1 is running in another process; `recto sessions stop work` \
                    stops it\n";
    assert!(listed.ends_with(standing), "{listed}");
    let run = home.run(&["chat", "--session", "other", "-m", "/stop work"]);
    let told = "session work: asked the process that runs it to stop\n";
    assert_eq!((run.code, run.out.as_str()), (0, told), "{}", run.err);
    assert_eq!(running.wait().code, 130);
    assert_eq!(statuses(&home), ["stopped"]);
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_turn_that_was_killed_twice_is_told_and_not_begun_again() {
    let home = cut_short();
    drop(start_slow(&home, &["-m", "and then?"]));
    let run = home.run(&["chat", "--session", "other", "-m", "hello"]);
    assert_eq!((run.code, run.out.as_str()), (0, "quick\n"));
    let told = "session work: turn 1 (\"count slowly to ten\"): given up: Recto was ended each time \
                that it answered this, so it does not begin again by itself; ask again to go on \
                (`/retry` in `recto chat`)\n";
    assert!(run.err.starts_with(told), "{}", run.err);
    // What waited behind it was never begun.
    assert_eq!(statuses(&home), ["interrupted", "queued"]);
    let listed = home.ok(&["sessions", "list"]);
    let standing = "turn 2 is queued; `recto chat --session work` sends it, `recto sessions stop \
                    work` stops it\n";
    assert!(listed.ends_with(standing), "{listed}");
    let run = home.run(&["chat", "--session", "work", "-m", "go on"]);
    assert!(
        run.err.starts_with("turn 2 of this session was never sent and goes first: "),
        "{}",
        run.err
    );
    assert_eq!(statuses(&home), ["interrupted", "done", "done"]);
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_chat_that_is_asked_to_end_gives_its_turn_back_once() {
    let home = Home::scripted(&[]);
    let end = |message| {
        let run = end_by_signal(start_slow(&home, &["-m", message]));
        // Programs are told by the code alone.
        assert_eq!(run.code, 143, "{}", run.err);
        assert!(!run.err.contains("ended by a signal"), "{}", run.err);
    };
    end("count slowly");
    let run = home.run(&["chat", "--session", "work", "-m", "go on"]);
    assert_eq!((run.code, run.out.as_str()), (0, "quick\n"), "{}", run.err);
    assert!(run.err.contains("turn 1 of this session was cut short and is finished first"));
    assert_eq!(statuses(&home), ["done"; 2]);
    end("count again");
    end("and then?");
    let run = home.run(&["chat", "--session", "work", "-m", "go on"]);
    assert_eq!((run.code, run.out.as_str()), (0, "quick\n"), "{}", run.err);
    assert_eq!(statuses(&home), ["done", "done", "interrupted", "done", "done"]);
}

#[test]
fn a_chat_that_is_asked_to_end_says_how_its_turn_goes_on() {
    let home = Home::scripted(&[SLOW]);
    let running = home.start(&["chat", "--session", "work", "-m", "count slowly"]);
    wait_until("a turn that runs", || home.ok(&["sessions", "list"]).contains("turn 1 is running"));
    let run = end_by_signal(running);
    let goes_on = "ended by a signal; `recto chat --session work` goes on with turn 1\n";
    assert_eq!(run.code, 143, "{}", run.err);
    assert!(run.err.ends_with(goes_on), "{}", run.err);
}

/// What `kill` does.
fn end_by_signal(running: Running) -> Run {
    let id = running.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    running.wait()
}
