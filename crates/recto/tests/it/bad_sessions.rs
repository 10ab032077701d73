//! Messages, names and databases that are not as they should be: a clear error,
//! no panic, and nothing lost.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::servers::{ServedHome, Wire};
use crate::support::*;

/// What asks for the store, in every way.
const COMMANDS: [&[&str]; 9] = [
    &["chat", "-m", "hello"],
    &["sessions", "list"],
    &["sessions", "show", "default"],
    &["sessions", "search", "first"],
    &["sessions", "export", "default"],
    &["show"],
    &["diff"],
    &["replay", "--verify"],
    &["context", "--session", "default", "hello"],
];

/// A home in which something was said.
fn talked() -> Home {
    let home = Home::scripted(&[]);
    home.ok(&["chat", "-m", "first"]);
    home.ok(&["chat", "-m", "second"]);
    home
}

/// Asserts that both messages and their replies are there, and that more can be said.
fn nothing_is_lost(home: &Home) {
    let shown = home.ok(&["sessions", "show", "default"]);
    for text in ["first", "second"] {
        assert_eq!(shown.matches(&format!(")\n{text}\n")).count(), 1, "{shown}");
    }
    home.ok(&["replay", "--verify"]);
    home.ok(&["chat", "-m", "third"]);
}

/// Asserts that every command says this, and changes nothing.
fn all_fail_with(home: &Home, told: &str, hint: &str) {
    let before = home.tree();
    for command in COMMANDS {
        let run = home.run(command);
        run.fails_with(told);
        assert!(
            run.err.starts_with("error: ") && run.err.contains(hint),
            "{command:?}: {}",
            run.err
        );
        assert_eq!(run.out, "", "{command:?}");
    }
    assert_eq!(home.tree(), before, "what can't be read is left as it is");
}

fn database(home: &Home) -> Connection {
    Connection::open(home.path("data/recto.db")).unwrap()
}

#[test]
fn a_message_without_content_is_refused_and_nothing_is_stored() {
    let home = talked();
    for message in ["", " ", "\n\t \u{a0}"] {
        home.run(&["chat", "-m", message]).fails_with("the message is empty");
        home.run_with(&["chat", "-m", "-"], message, &[]).fails_with("the message is empty");
    }
    // Blank lines in a pipe are no messages.
    assert_eq!(home.run_with(&["chat"], "\n  \n\r\n", &[]).code, 0);
    assert_eq!(home.json(&["sessions", "list", "--json"])["sessions"][0]["turns"], 2);
    nothing_is_lost(&home);
}

#[test]
fn a_nul_in_a_message_is_refused_with_its_place() {
    let home = talked();
    home.run_with(&["chat", "-m", "-"], "a\0b", &[]).fails_with("a NUL character at byte 1");
    // What was piped in before it has been said.
    let run = home.run_with(&["chat"], "before\nab\0\n", &[]);
    run.fails_with("a NUL character at byte 2");
    assert_eq!(home.json(&["sessions", "list", "--json"])["sessions"][0]["turns"], 3);
    nothing_is_lost(&home);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let home = talked();
    for (arguments, input) in [
        (&["chat", "-m", "-"][..], &b"ab\xff\xfe"[..]),
        (&["chat"], b"before\nab\xff\xfe\nafter\n"),
        (&["chat", "--json"], b"\xc3"),
        (&["sessions", "import", "-", "--name", "x"], b"{\"role\":\"user\",\"content\":\"\xff\"}"),
    ] {
        let Run { code, err: told, .. } = home.run_with(arguments, input, &[]);
        assert_eq!(code, 1, "{arguments:?}: {told}");
        assert!(told.contains("UTF-8") || told.contains("utf-8"), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
    assert_eq!(home.json(&["sessions", "list", "--json"])["sessions"][0]["turns"], 3);
    nothing_is_lost(&home);
}

/// Promise: `core-fits-or-fails`
/// Promise: `message-survives-failure`
#[test]
fn a_message_of_five_megabytes_fails_with_a_breakdown_and_is_kept() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake());
    served.say("first");
    let large = "word ".repeat(1 << 20);
    let run = served.home.run_with(&["chat", "-m", "-"], &large, &[]);
    run.fails_with("what may not be cut takes");
    for told in ["\n  message ", "\n  system ", "hint: shorten the message"] {
        assert!(run.err.contains(told), "{}", run.err);
    }
    assert!(run.err.len() < 2_000, "the message is not repeated");
    assert_eq!(served.fake.chats().len(), 1, "nothing was sent");
    let transcript = served.transcript();
    assert_eq!(transcript.len(), 4);
    assert_eq!(transcript[2]["content"], Value::from(large.as_str()));
    assert_eq!(transcript[3]["role"], "error");
    for arguments in [&["show"][..], &["show", "--text"], &["show", "--request", "1"]] {
        let run = served.home.run(arguments);
        run.fails_with("turn 2 sent nothing");
        assert!(run.err.contains("look at the last turn that did (`recto show 1`)"), "{}", run.err);
    }
    assert_eq!(served.last_turn()["requests"], serde_json::json!([]));

    // The session goes on, and nothing of it is sent later either.
    served.say("second");
    assert!(served.fake.log().iter().all(|received| received.body.len() < 1 << 20));
    assert_eq!(served.fake.rejections(), Vec::<String>::new());
    nothing_is_lost(&served.home);
}

#[test]
fn what_is_no_name_is_refused_before_anything_is_stored() {
    let home = talked();
    let long = "x".repeat(129);
    for (name, told) in [
        ("", "can't be empty"),
        (" \t", "can't be empty"),
        ("a\nb", "can't have control characters"),
        ("a\u{1b}[2Jb", "can't have control characters"),
        (&long, "at most 128 characters"),
        ("0", "can't be a number"),
        ("99999999999999999999", "can't be a number"),
    ] {
        home.run(&["chat", "--session", name, "-m", "hi"]).fails_with(told);
        home.run(&["sessions", "rename", "default", name]).fails_with(told);
    }
    home.run(&["chat", "--session", "7", "-m", "hi"]).fails_with("there is no session 7");
    assert_eq!(
        home.json(&["sessions", "list", "--all", "--json"])["sessions"].as_array().unwrap().len(),
        1
    );
    nothing_is_lost(&home);
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let noise: Vec<u8> =
        (0..40_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for content in [&b"# My notes\n"[..], &noise] {
        let home = talked();
        let kept = fs::read(home.path("data/recto.db")).unwrap();
        home.write("data/recto.db", content);
        all_fail_with(&home, "is not a database", "hint: move the file away");
        home.write("data/recto.db", kept);
        nothing_is_lost(&home);
    }
}

#[test]
fn a_database_of_another_program_or_a_newer_recto_is_left_alone() {
    let home = talked();
    let own: i64 =
        database(&home).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database(&home).pragma_update(None, "user_version", 1_000).unwrap();
    all_fail_with(&home, "has version 1000", "hint: use the newer Recto that wrote it");
    database(&home).pragma_update(None, "user_version", own).unwrap();
    nothing_is_lost(&home);
    database(&home).pragma_update(None, "application_id", 1).unwrap();
    all_fail_with(&home, "is not Recto's", "hint: move the file away");
    let empty = Home::scripted(&[]);
    fs::create_dir(empty.path("data")).unwrap();
    database(&empty).execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    all_fail_with(&empty, "is not Recto's", "hint: move the file away");
}

#[test]
fn a_database_that_was_cut_short_is_called_damaged() {
    let home = talked();
    let kept = fs::read(home.path("data/recto.db")).unwrap();
    for length in [50, 4_096, 20_000] {
        home.write("data/recto.db", &kept[..length]);
        all_fail_with(
            &home,
            "damaged: the database",
            "or copy what can still be read to a new one (`recto store check --salvage`)",
        );
    }
    home.write("data/recto.db", kept);
    nothing_is_lost(&home);
}

#[test]
fn damage_in_a_page_is_told_and_the_rest_can_be_read() {
    let home = talked();
    home.ok(&["chat", "--session", "other", "-m", "elsewhere"]);
    let path = home.path("data/recto.db");
    let kept = fs::read(&path).unwrap();
    let page: i64 = database(&home)
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'requests'", [], |row| {
            row.get(0)
        })
        .unwrap();
    let start = usize::try_from(page - 1).unwrap() * 4_096;
    let mut damaged = kept.clone();
    damaged[start..start + 4_096].fill(0xee);
    home.write("data/recto.db", damaged);
    home.run(&["show"]).fails_with("damaged: the database");
    home.run(&["replay", "--verify"]).fails_with("damaged: the database");
    assert!(home.ok(&["sessions", "show", "other"]).contains("elsewhere"));
    assert!(home.ok(&["sessions", "export", "default"]).contains("second"));
    home.write("data/recto.db", kept);
    nothing_is_lost(&home);
}

/// Every page in turn: whatever happens, it is told as an error or does no harm.
#[test]
fn no_damaged_page_leads_to_a_panic() {
    let home = talked();
    let kept = fs::read(home.path("data/recto.db")).unwrap();
    for start in (0..kept.len()).step_by(4_096) {
        let mut damaged = kept.clone();
        // Behind what says that the file is a database.
        let from = if start == 0 { 100 } else { start };
        damaged[from..start + 4_096].fill(0xa5);
        home.write("data/recto.db", &damaged);
        for command in
            [&["sessions", "show", "default"][..], &["replay", "--verify"], &["chat", "-m", "x"]]
        {
            let run = home.run(command);
            assert!(!run.err.contains("panicked"), "page at {start}, {command:?}: {}", run.err);
            assert!(run.code == 0 || run.err.contains("error: "), "page at {start}: {}", run.err);
        }
        for beside in ["data/recto.db-wal", "data/recto.db-shm"] {
            let _ = fs::remove_file(home.path(beside));
        }
    }
    home.write("data/recto.db", kept);
    nothing_is_lost(&home);
}

#[test]
fn a_place_where_no_database_can_be_is_named() {
    let home = Home::scripted(&[]);
    fs::create_dir_all(home.path("data/recto.db")).unwrap();
    all_fail_with(&home, "cannot open `", "hint: check who owns the file and its folder");
    let home = Home::scripted(&[]);
    home.write("data", "a file");
    all_fail_with(&home, "data`: ", "hint: check who owns the file and its folder");
    let home = talked();
    fs::remove_dir_all(home.path("data/owners")).unwrap();
    home.write("data/owners", "a file");
    all_fail_with(&home, "owners`: ", "hint: check who owns the file and its folder");
    fs::remove_file(home.path("data/owners")).unwrap();
    nothing_is_lost(&home);
}

#[cfg(target_os = "linux")]
const NO_MOUNTS: &str = "the system does not let this process mount anything";

/// Runs a shell script as one who may mount, and gives what it printed; nothing
/// where the system does not allow that.
#[cfg(target_os = "linux")]
fn with_mounts(home: &Home, script: &str) -> Option<String> {
    let shell = |script: &str| {
        let recto =
            format!("'{}' --home '{}'", env!("CARGO_BIN_EXE_recto"), home.path("").display());
        std::process::Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c", script])
            .env("RECTO", recto)
            .env("DATA", home.path("data"))
            .output()
    };
    fs::create_dir_all(home.path("data")).unwrap();
    let allowed =
        shell("mount -t tmpfs tmpfs \"$DATA\"").is_ok_and(|output| output.status.success());
    if !allowed {
        return None;
    }
    let output = shell(script).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_nothing_that_was_stored_is_lost() {
    let home = Home::scripted(&[]);
    home.write("config.toml", "[models.m]\nprovider = \"scripted\"\nwindow = 400000\n");
    let script = r#"
        set -u
        mount -t tmpfs -o size=800k tmpfs "$DATA" || exit 1
        stored=0
        while [ $stored -lt 40 ]; do
            head -c 20000 /dev/urandom | base64 -w0 | eval "$RECTO chat -m -" >/dev/null 2>"$DATA/../err" || break
            stored=$((stored + 1))
        done
        cat "$DATA/../err"
        echo "stored $stored"
        eval "$RECTO replay --verify" 2>&1
        mount -o remount,size=40m "$DATA" || exit 1
        eval "$RECTO replay --verify" 2>&1
        eval "$RECTO chat -m 'there is room again'" 2>/dev/null | tail -c 20
        eval "$RECTO sessions list --json"
    "#;
    let Some(out) = with_mounts(&home, script) else {
        return println!("skipped: {NO_MOUNTS}");
    };
    assert!(out.contains("error: no room is left for the database `"), "{out}");
    assert!(out.contains("hint: free some space; nothing that was stored is lost"), "{out}");
    let stored: usize =
        out.lines().find_map(|line| line.strip_prefix("stored ")?.parse().ok()).unwrap();
    assert!((1..40).contains(&stored), "{out}");
    assert!(out.contains("there is room again"), "{out}");
    let verified = out.lines().filter(|line| line.contains("requests rebuilt from the record"));
    for line in verified {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], words[2], "{out}");
        assert!(words[0].parse::<usize>().unwrap() >= stored, "{out}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_database_that_can_t_be_written_says_so_and_can_be_read() {
    let home = talked();
    let script = r#"
        home=$(dirname "$DATA")
        mount --bind "$home" "$home" && mount -o remount,bind,ro "$home" || exit 1
        eval "$RECTO chat -m hello" 2>&1; echo "code $?"
        for command in "sessions list" "sessions show default" "show" "why list_files" "diff" "stats" \
            "replay --verify" "context hello --session default" "context hello" "memory list"; do
            echo "== $command"
            eval "$RECTO $command" 2>&1
            echo "code $?"
        done
    "#;
    let Some(out) = with_mounts(&home, script) else {
        return println!("skipped: {NO_MOUNTS}");
    };
    let (refused, read) = out.split_once("== ").unwrap();
    assert!(refused.contains("recto.db` can't be written\n"), "{out}");
    assert!(refused.contains("\nhint: check who owns the file and its folder"), "{out}");
    assert!(refused.ends_with("code 1\n"), "{out}");
    assert_eq!(read.matches("\ncode 0\n").count(), 10, "{read}");
    assert!(read.contains("can't be written; it is read as it is"), "{read}");
    assert!(read.contains("turn    2 of session default, done"), "{read}");
    nothing_is_lost(&home);
}

/// What was last written may stand in the log alone, which is read as well.
#[test]
#[cfg(target_os = "linux")]
fn a_database_that_can_t_be_written_is_read_with_its_log() {
    let home = talked();
    let script = r#"
        mkfifo "$DATA/typed"
        eval "exec $RECTO chat" < "$DATA/typed" > "$DATA/said" 2>&1 &
        chat=$!
        exec 3> "$DATA/typed"
        echo "in the log" >&3
        while ! grep -q "in the log" "$DATA/said"; do sleep 0.1; done
        kill -KILL $chat; wait $chat 2>/dev/null
        mount --bind "$DATA" "$DATA" && mount -o remount,bind,ro "$DATA" || exit 1
        test -s "$DATA/recto.db-wal" || exit 1
        eval "$RECTO sessions show default" 2>&1
        echo "code $?"
        umount "$DATA"
        rm "$DATA/recto.db-shm"
        mount --bind "$DATA" "$DATA" && mount -o remount,bind,ro "$DATA" || exit 1
        eval "$RECTO sessions show default" 2>&1
        echo "code $?"
    "#;
    let Some(out) = with_mounts(&home, script) else {
        return println!("skipped: {NO_MOUNTS}");
    };
    let (read, unreadable) = out.split_once("\ncode 0\n").unwrap_or_else(|| panic!("{out}"));
    assert!(read.contains("in the log"), "{out}");
    assert!(unreadable.contains("stands in its log"), "{out}");
    assert!(unreadable.contains("\nhint: copy the whole folder"), "{out}");
    assert!(unreadable.ends_with("code 1\n"), "{out}");
}

/// Promise: `doctor-sees-the-disk`
#[test]
#[cfg(target_os = "linux")]
fn the_doctor_sees_disks_that_are_full_or_read_only() {
    let home = talked();
    let script = r#"
        cp -r "$DATA" "$DATA.kept"
        mount -t tmpfs -o size=2m tmpfs "$DATA" && cp -r "$DATA.kept/." "$DATA" || exit 1
        head -c 4000000 /dev/zero > "$DATA/filler" 2>/dev/null
        truncate -s -150K "$DATA/filler"
        echo "full store"; eval "$RECTO doctor --json"
        rm -r "$DATA"/* 2>/dev/null; head -c 4000000 /dev/zero > "$DATA/filler" 2>/dev/null
        echo "no store"; eval "$RECTO doctor --json"
        umount "$DATA"
        home=$(dirname "$DATA")
        mount --bind "$home" "$home" && mount -o remount,bind,ro "$home" || exit 1
        echo "read-only"; eval "$RECTO doctor --json"
        exit 0
    "#;
    let Some(out) = with_mounts(&home, script) else {
        return println!("skipped: {NO_MOUNTS}");
    };
    let found = |part: &str, subject: &str| {
        let all = out.split_once(&format!("{part}\n")).unwrap().1;
        let report: Value =
            serde_json::Deserializer::from_str(all).into_iter().next().unwrap().unwrap();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|found| found["subject"] == subject).unwrap().clone()
    };
    let full = found("full store", "store");
    assert_eq!(full["state"], "error", "{full:#}");
    assert!(full["message"].as_str().unwrap().contains("no room is left"), "{full:#}");
    assert!(full["hint"].as_str().unwrap().contains("free some space"), "{full:#}");
    let none = found("no store", "store");
    assert_eq!(none["state"], "error", "{none:#}");
    assert!(none["message"].as_str().unwrap().contains("on a disk without room"), "{none:#}");
    let home_finding = found("read-only", "home");
    assert_eq!(home_finding["state"], "warning", "{home_finding:#}");
    assert!(home_finding["message"].as_str().unwrap().contains("read-only"), "{home_finding:#}");
    assert_eq!(found("read-only", "store")["state"], "error");
    nothing_is_lost(&home);
}

/// Promise: `messages-never-interleave`
#[test]
fn two_processes_at_once_lose_nothing_of_each_other() {
    let home = Home::scripted(&[]);
    let lines = |who: &str| (0..20).map(|n| format!("{who} {n}\n")).collect::<String>();
    let talk = |session: &str, who: &str| {
        let run = home.run_with(&["chat", "--session", session], lines(who), &[]);
        assert_eq!(run.code, 0, "{}", run.err);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| talk("shared", "ann"));
        scope.spawn(|| talk("shared", "bob"));
        scope.spawn(|| talk("own", "eve"));
    });
    let said = |session: &str| -> Vec<(String, String)> {
        let shown = home.json(&["sessions", "show", session, "--json"]);
        let messages = shown["messages"].as_array().unwrap().iter();
        messages
            .map(|message| {
                let field = |name: &str| message[name].as_str().unwrap().to_owned();
                (field("role"), field("content"))
            })
            .collect()
    };
    // Each message has its reply behind it, whoever came in between.
    let shared = said("shared");
    assert_eq!((shared.len(), said("own").len()), (80, 40));
    for pair in shared.chunks(2) {
        assert_eq!((pair[0].0.as_str(), pair[1].0.as_str()), ("user", "assistant"));
        assert!(pair[1].1.ends_with(&pair[0].1), "{pair:?}");
    }
    for who in ["ann", "bob"] {
        let own: Vec<&str> = shared
            .iter()
            .map(|said| said.1.as_str())
            .filter(|text| text.starts_with(who))
            .collect();
        assert_eq!(own.join("\n") + "\n", lines(who));
    }
    let run = home.run(&["replay", "--verify"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.starts_with("60 of 60 requests rebuilt from the record: "), "{}", run.out);
}

#[test]
fn a_script_that_can_t_be_played_is_named_with_its_line() {
    let home = talked();
    for (script, told) in [
        ("{\"content\":\"ok\"}\n\nnope\n", "talk.jsonl, line 3:"),
        ("{\"contents\":\"ok\"}\n", "talk.jsonl, line 1:"),
        ("# a note\n{}\n", "talk.jsonl, line 2:"),
        ("{\"tool_calls\":[{\"arguments\":{}}]}", "talk.jsonl, line 1:"),
        ("{\"error\":{\"status\":\"bad\"}}", "talk.jsonl, line 1:"),
    ] {
        home.write("talk.jsonl", script);
        let run = home.run(&["chat", "-m", "hello"]);
        run.fails_with("talk.jsonl");
        assert!(run.err.contains(told), "{told}: {}", run.err);
    }
    fs::remove_file(home.path("talk.jsonl")).unwrap();
    home.run(&["chat", "-m", "hello"]).fails_with("talk.jsonl");
    // What needs no model works without it.
    assert!(home.ok(&["sessions", "show", "default"]).contains("second"));
    home.ok(&["show"]);
    home.write("talk.jsonl", "");
    nothing_is_lost(&home);
}

#[test]
fn a_config_that_can_t_be_used_is_told_and_nothing_is_touched() {
    let home = talked();
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    let before = fs::read(home.path("data/recto.db")).unwrap();
    for (wrong, told) in [
        ("[store]\npaht = \"x\"\n", "paht"),
        ("[store]\npath = 5\n", "store.path"),
        ("[models.m]\nprovider = \"scripted\"\n[models.m]\n", "config.toml"),
        ("[history]\nmax_messages = -1\n", "max_messages"),
    ] {
        home.write("config.toml", wrong);
        for command in [&["chat", "-m", "hi"][..], &["sessions", "list"], &["show"]] {
            let run = home.run(command);
            run.fails_with("the config can't be used");
            assert!(run.err.contains(told), "{}", run.err);
        }
    }
    home.write("config.toml", "");
    home.run(&["chat", "-m", "hi"]).fails_with("no model is configured");
    home.run(&["chat", "--model", "nope", "-m", "hi"]).fails_with("there is no model `nope`");
    assert_eq!(fs::read(home.path("data/recto.db")).unwrap().len(), before.len());
    home.write("config.toml", config);
    nothing_is_lost(&home);
}

#[test]
fn what_people_type_after_commands_is_checked() {
    let home = talked();
    for (line, told) in [
        ("/mode loud\n", "the modes are"),
        ("/nosuch\n", "there is no command `/nosuch`"),
        ("/model nope\n", "there is no model `nope`"),
        ("/set temperature hot\n", "temperature"),
        ("/set nothing 1\n", "nothing"),
    ] {
        home.run_with(&["chat"], line, &[]).fails_with(told);
    }
    let settings = home.json(&["sessions", "list", "--json"])["sessions"][0]["settings"].clone();
    // Who reads along was decided when the session began.
    let set: Vec<&String> = settings.as_object().unwrap().keys().collect();
    assert_eq!(set, ["audience"]);
    nothing_is_lost(&home);
}
