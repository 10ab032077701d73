//! `recto schedule` as people type it, and a run whose process is killed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Home;

fn json(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.ok(arguments)).unwrap()
}

fn runs(home: &Home) -> Vec<Value> {
    json(home, &["schedule", "log", "--json"])["runs"].as_array().unwrap().clone()
}

#[test]
fn a_schedule_is_added_listed_run_logged_and_removed() {
    let home = Home::scripted(&[r#"{"content": "High."}"#]);
    let added = home.ok(&[
        "schedule",
        "add",
        "tide",
        "report",
        "the",
        "tide",
        "--cron",
        "0 8 * * 1-5",
        "--zone",
        "Europe/Berlin",
    ]);
    assert_eq!(added, "schedule `tide`: 0 8 * * 1-5 (Europe/Berlin)\n");
    let listed = json(&home, &["schedule", "list", "--json"]);
    assert_eq!(listed["schedules"][0]["task"], "report the tide");
    assert_eq!(home.ok(&["schedule", "run", "tide"]), "High.\n");
    let [run] = &runs(&home)[..] else { panic!("not one run") };
    assert_eq!((&run["schedule"], &run["outcome"]), (&"tide".into(), &"done".into()));
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("1 schedule"), "{}", doctor.out);
    home.ok(&["schedule", "remove", "tide"]);
    assert_eq!(json(&home, &["schedule", "list", "--json"])["schedules"], serde_json::json!([]));
    assert_eq!(runs(&home).len(), 1, "what was run stays on record");
}

#[test]
fn what_can_never_run_is_refused_with_a_hint() {
    let home = Home::scripted(&[r#"{"content": "High."}"#]);
    for (arguments, words) in [
        (&["--cron", "0 25 * * *"][..], "is no cron pattern"),
        (&["--cron", "0 9 * * *", "--zone", "Mars/Olympus"], "there is no time zone"),
        (&["--at", "tomorrow"], "is no date and time"),
        (&["--at", "2001-01-01 09:00"], "has passed"),
        (&["--at", "2999-01-01 09:00", "--to", "nowhere"], "there is no session `nowhere`"),
    ] {
        let run = home.run(&[&["schedule", "add", "tide", "report"], arguments].concat());
        assert_eq!(run.code, 1, "{arguments:?}");
        assert!(run.err.contains(words) && run.err.contains("hint:"), "{}", run.err);
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_the_run_for_good() {
    let home = Home::scripted(&[r#"{"content": "High.", "delay_ms": 50000}"#]);
    home.ok(&["schedule", "add", "tide", "report", "--cron", "0 8 * * *", "--zone", "UTC"]);
    let running = home.start(&["schedule", "run", "tide"]);
    let until = Instant::now() + Duration::from_secs(60);
    while runs(&home).first().is_none_or(|run| run["turn"].is_null()) {
        assert!(Instant::now() < until, "it never began");
        sleep(Duration::from_millis(50));
    }
    running.interrupt();
    let run = running.end();
    assert_eq!((run.code, &*run.out), (130, ""), "{}", run.err);
    assert!(run.err.ends_with("stopped\n"), "{}", run.err);
    let [run] = &runs(&home)[..] else { panic!("not one run") };
    assert_eq!(run["outcome"], "stopped");
}

#[test]
fn who_leaves_out_when_is_told_both_ways_to_say_it() {
    let home = Home::scripted(&[r#"{"content": "High."}"#]);
    let run = home.run(&["schedule", "add", "tide", "report"]);
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("--cron") && run.err.contains("--at"), "{}", run.err);
    let both =
        ["schedule", "add", "tide", "report", "--cron", "@daily", "--at", "2999-01-01 09:00"];
    assert_eq!(home.run(&both).code, 2);
}

/// Promise: `schedules-run-once`
#[test]
fn a_killed_run_is_finished_by_whoever_runs_it_again() {
    let home = Home::scripted(&[r#"{"content": "High.", "delay_ms": 2000}"#]);
    home.ok(&["schedule", "add", "tide", "report", "--cron", "0 8 * * *", "--zone", "UTC"]);
    let mut first = home
        .command(&["schedule", "run", "tide"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while runs(&home).first().is_none_or(|run| run["turn"].is_null()) {
        assert!(Instant::now() < until, "it never began");
        sleep(Duration::from_millis(50));
    }
    let meanwhile = home.run(&["schedule", "run", "tide"]);
    assert!(meanwhile.err.contains("run 1 of `tide` is under way"), "{}", meanwhile.err);
    first.kill().unwrap();
    first.wait().unwrap();
    let again = home.run(&["schedule", "run", "tide"]);
    assert_eq!((again.code, again.out.as_str()), (0, "High.\n"), "{}", again.err);
    assert!(again.err.contains("run 1 had broken off, and was finished"), "{}", again.err);
    assert_eq!(runs(&home).len(), 1);
}

#[test]
fn whether_schedules_are_run_is_told_by_the_server() {
    let home = Home::scripted(&[r#"{"content": "High."}"#]);
    let serve = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let told = serve.wait_for_out("Recto answers at");
    let address = told.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("schedules: running"), "{answer}");
}

#[test]
fn times_are_told_with_the_zone_that_they_are_in() {
    let home = Home::scripted(&[r#"{"content": "High."}"#]);
    home.ok(&["schedule", "add", "tide", "report", "--cron", "0 8 1 1 *", "--zone", "Asia/Tokyo"]);
    let listed = home.ok(&["schedule", "list"]);
    assert!(listed.contains("08:00 JST"), "{listed}");
    home.ok(&["schedule", "run", "tide"]);
    // Past runs by the clock of whoever looks.
    let log = home.run_with(&["schedule", "log"], "", &[("TZ", "XYZ-3")]);
    assert!(log.out.lines().nth(1).unwrap_or_default().contains(" XYZ"), "{}", log.out);
}

/// Promise: `schedules-run-once`
/// Promise: `killed-at-any-instant`
#[test]
fn a_killed_run_is_finished_by_the_server_and_the_task_is_said_once() {
    let home = Home::scripted(&[r#"{"content": "High.", "delay_ms": 2000}"#]);
    home.ok(&["schedule", "add", "tide", "report", "--cron", "0 8 * * *"]);
    let mut first = home
        .command(&["schedule", "run", "tide"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while runs(&home).first().is_none_or(|run| run["turn"].is_null()) {
        assert!(Instant::now() < until, "it never began");
        sleep(Duration::from_millis(50));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let mut server = home
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while runs(&home)[0]["outcome"].is_null() {
        assert!(Instant::now() < until, "it never ended");
        sleep(Duration::from_millis(100));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    let [run] = &runs(&home)[..] else { panic!("not one run") };
    assert_eq!(run["outcome"], "done");
    let turn = json(&home, &["show", &run["turn"].to_string(), "--json"]);
    let messages = turn["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{messages:?}");
}
