//! Files that are broken in every way: a clear message, no panic, nothing
//! written.

use std::fs;

use crate::pty::Pty;
use crate::support::*;

/// Runs `recto context hi`, which must go on in spite of it and tell of it, and
/// checks that nothing was written.
fn goes_on(home: &Home, told: &str) {
    let before = home.tree();
    let run = home.run(&["context", "hi", "--json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains(told), "{told} in {}", run.err);
    assert!(!run.err.contains("panicked"));
    assert_eq!(home.tree(), before, "nothing is written");
}

#[test]
fn broken_yaml_is_told_with_its_line() {
    let home = Home::with(&[("workspace/skills/a/SKILL.md", "---\nname: [a\n---\nBody")]);
    goes_on(&home, "SKILL.md:2");
}

#[test]
fn a_file_of_ten_megabytes_is_told_with_its_size() {
    let home = Home::with(&[]);
    home.write("workspace/AGENTS.md", "x".repeat(10 * 1024 * 1024));
    goes_on(&home, "AGENTS.md");
    let context = home.context("hi", &[]);
    let notice = &context["notices"][0];
    assert!(notice["source"].as_str().unwrap().ends_with("AGENTS.md"));
    assert!(notice["problem"].as_str().unwrap().contains("10"));
}

#[test]
fn invalid_utf8_is_told_with_its_place() {
    let home = Home::with(&[]);
    home.write("workspace/SOUL.md", b"You are \xff\xfe");
    goes_on(&home, "SOUL.md");
}

#[test]
#[cfg(unix)]
fn links_that_lead_nowhere_or_in_circles_are_told() {
    let home = Home::with(&[]);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(home.path(to), home.path(from)).unwrap();
    };
    link("workspace/SOUL.md", "workspace/IDENTITY.md");
    link("workspace/IDENTITY.md", "workspace/SOUL.md");
    fs::create_dir_all(home.path("workspace/skills")).unwrap();
    link("workspace/skills/loop", "workspace/skills");
    goes_on(&home, "SOUL.md");
}

#[test]
fn a_workspace_that_is_not_there_is_told() {
    let home = Home::new();
    let run = home.run(&["context", "hi"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("the workspace does not exist"), "{}", run.err);
    assert!(run.err.contains("recto init"), "{}", run.err);
    assert!(home.tree().is_empty(), "nothing is written");
}

#[test]
fn a_folder_without_skill_md_and_two_skills_of_one_name_are_told() {
    let skill = "---\nname: same\ndescription: d\n---\nBody";
    let home = Home::with(&[
        ("workspace/skills/empty/notes.txt", "x"),
        ("workspace/skills/one/SKILL.md", skill),
        ("workspace/skills/two/SKILL.md", skill),
    ]);
    goes_on(&home, "has no SKILL.md");
    goes_on(&home, "has the same name, `same`");
}

#[test]
fn empty_files_count_as_missing() {
    let home = Home::with(&[
        ("workspace/SOUL.md", ""),
        ("workspace/AGENTS.md", " \n\t\n"),
        ("workspace/USER.md", ""),
        ("workspace/memory/MEMORY.md", ""),
        ("workspace/TOOLS.md", "\u{feff}"),
    ]);
    let context = home.context("hi", &[]);
    let reasons: Vec<&str> = layer(&context, "system")["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.iter().all(|reason| reason.starts_with("built-in default")), "{reasons:?}");
    assert_eq!(layer(&context, "memory")["items"], serde_json::json!([]));
}

/// Promise: `core-fits-or-fails`
#[test]
fn a_window_smaller_than_the_system_layer_is_an_error_with_a_breakdown() {
    let home = Home::with(&[
        ("config.toml", "[models.m]\nprovider = \"ollama\"\nmodel = \"m\"\nwindow = 2048\n"),
        ("workspace/AGENTS.md", &"Follow this rule. ".repeat(800)),
    ]);
    let run = home.run(&["context", "hi"]);
    run.fails_with("what may not be cut takes");
    assert!(run.err.contains("\n  system "), "{}", run.err);
    assert!(run.err.contains("hint: shorten SOUL.md, AGENTS.md"), "{}", run.err);
    assert_eq!(run.out, "");
}

#[test]
fn a_broken_history_names_every_bad_line() {
    let home = Home::with(&[(
        "talk.jsonl",
        "{\"role\":\"user\",\"content\":\"a\"}\nnope\n{\"role\":\"king\"}\n",
    )]);
    let file = home.path("talk.jsonl");
    let run = home.run(&["context", "hi", "--history", file.to_str().unwrap()]);
    run.fails_with("line 2:");
    run.fails_with("line 3: unknown role `king`");
    home.run(&["context", "hi", "--history", home.path("").to_str().unwrap()])
        .fails_with("cannot read the history");
}

#[test]
fn odd_messages_are_sent_as_they_are() {
    let home = Home::with(&[]);
    for message in ["\u{202e}abc", "👩‍👩‍👧", "--", "a\0b"] {
        let run = home.run_with(&["context", "--json"], message, &[]);
        assert_eq!(run.code, 0, "{}", run.err);
        let context: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let content = context["messages"][1]["content"].as_str().unwrap();
        assert!(content.ends_with(message), "{content:?}");
    }
}

#[test]
fn names_and_files_of_others_cannot_act_on_the_terminal() {
    let home = Home::with(&[
        (
            "workspace/rules/evil.md",
            "---\nname: evil\n---\nbad \u{1b}]0;owned\u{7}\u{1b}[2J text\n",
        ),
        ("workspace/rules/q\u{1b}[2J\nwarning: forged.md", "---\nx: [\n---\n"),
    ]);
    for arguments in
        [&["context", "see \u{1b}[2J.txt"][..], &["rules", "check"], &["rules", "list"]]
    {
        let run = home.run(arguments);
        let shown = run.out + &run.err;
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("warning: forged")), "{shown}");
    }
    // A program that reads the text gets all of it.
    assert!(home.run(&["rules", "show", "evil"]).out.contains("\u{1b}]0;owned\u{7}"));
}

#[test]
fn data_goes_out_byte_for_byte() {
    let home = Home::with(&[]);
    let run = home.run(&["context", "a\u{7f}b\u{1b}[1m", "--raw"]);
    let body: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let content = body["messages"][1]["content"].as_str().unwrap();
    assert!(content.ends_with("a\u{7f}b\u{1b}[1m"), "{content:?}");
}

#[test]
fn data_is_written_out_where_a_person_looks() {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    let message = "a\u{202e}b\u{9b}2J";
    home.ok(&["chat", "-m", message]);
    for arguments in
        [&["context", message, "--raw"][..], &["show", "1", "--body"], &["show", "1", "--json"]]
    {
        let piped = home.ok(arguments);
        assert!(piped.contains(message), "no real attempt, {arguments:?}: {piped:?}");
        let variables = [("NO_COLOR", "1"), ("PAGER", "cat")];
        let shown = Pty::open(200, 24).run(&home, arguments, &variables);
        assert!(!shown.contains(['\u{202e}', '\u{9b}', '\u{1b}']), "{arguments:?}: {shown:?}");
        assert!(shown.contains("202e") && shown.contains("9b"), "{arguments:?}: {shown:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_source_that_never_ends_is_an_error() {
    let home = Home::with(&[]);
    home.run(&["context", "x", "--history", "/dev/zero"]).fails_with("larger than");
}

#[test]
fn a_history_full_of_mistakes_is_told_in_short() {
    let home = Home::with(&[("talk.jsonl", &"nope\n".repeat(5_000))]);
    let file = home.path("talk.jsonl");
    let run = home.run(&["context", "hi", "--history", file.to_str().unwrap()]);
    run.fails_with("4980 more lines have problems");
    assert!(run.err.lines().count() < 30, "{}", run.err);
}

#[test]
fn a_skill_that_lacks_its_programs_is_in_the_record() {
    let home = Home::with(&[(
        "workspace/skills/x/SKILL.md",
        "---\nname: x\ndescription: d\nmetadata: {requires: {bins: [no-such-program-here]}}\n---\nX",
    )]);
    let context = home.context("hi", &[]);
    assert!(context["notices"][0]["problem"].as_str().unwrap().contains("no-such-program-here"));
    assert!(home.run(&["context", "hi"]).out.contains("no-such-program-here"));
}

#[test]
fn a_number_below_zero_is_refused_by_what_it_names() {
    let home = Home::scripted(&[]);
    home.ok(&["chat", "-m", "hello"]);
    for (words, problem) in [
        (&["sessions", "show", "-500"][..], "there is no session `-500`"),
        (&["show", "-5"], "there is no turn `-5`"),
        (&["why", "units", "-5"], "there is no turn `-5`"),
        (&["diff", "last", "-5"], "there is no turn `-5`"),
        (&["replay", "-5"], "there is no turn `-5`"),
        (&["show", "--request", "-1"], "invalid value '-1' for '--request <N>'"),
        (&["memory", "forget", "-5"], "`-5`"),
    ] {
        let run = home.run(words);
        assert!(run.code != 0 && run.err.contains(problem), "{words:?}: {}", run.err);
    }
    assert!(home.ok(&["chat", "-5"]).contains("You said: -5"));
}
