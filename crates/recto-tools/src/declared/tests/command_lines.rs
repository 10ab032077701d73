//! Command lines: what stands where, and what is refused.

use expect_test::{Expect, expect};

use super::home::Home;
use crate::options::ScriptPolicy;

#[track_caller]
fn check(execution: &str, arguments: &str, expected: &Expect) {
    expected.assert_eq(&Home::new().call(execution, arguments, &[]));
}

const GREP: &str = r#""binary": "grep", "args": [
    {"kind": "flagifboolean", "param": "i", "flagIfTrue": "-i", "flagIfFalse": "-s"},
    {"kind": "flag", "param": "max", "flag": "--max-count"},
    {"kind": "flag", "param": "e", "flag": "-e"},
    {"kind": "flag", "param": "d", "flag": "--dir="},
    {"param": "pattern"},
    {"param": "files", "optional": true}]"#;

#[test]
fn every_kind_in_its_place() {
    check(
        GREP,
        r#"{"pattern": "a b"}"#,
        &expect![[r#"
        /bin/grep [-s] [a b]
    "#]],
    );
    check(
        GREP,
        r#"{"files": ["a", "b c", 3, true], "pattern": "$(rm) ; `x` | & *", "max": 5, "i": true,
            "e": ["x", "y"], "d": "-z"}"#,
        &expect![[r#"
            /bin/grep [-i] [--max-count] [5] [-e] [x] [-e] [y] [--dir=-z] [$(rm) ; `x` | & *] [a] [b c] [3] [true]
        "#]],
    );
    check(
        GREP,
        r#"{"pattern": "", "i": "TRUE", "max": null, "files": null}"#,
        &expect![[r#"
        /bin/grep [-i] []
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": 1.5, "i": 0, "files": []}"#,
        &expect![[r#"
        /bin/grep [-s] [1.5]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "i": 2}"#,
        &expect![[r#"
        /bin/grep [-i] [a]
    "#]],
    );
    check(
        r#""binary": "git", "subcommand": "remote show", "workingDir": "a/b",
           "args": [{"kind": "literal", "flag": "--format=%h %s"}, {"param": "x"}]"#,
        r#"{"x": "a"}"#,
        &expect![[r#"
            /bin/git [remote] [show] [--format=%h %s] [a] in /w/a/b
        "#]],
    );
}

#[test]
fn what_is_missing_or_does_not_fit() {
    check(
        GREP,
        "{}",
        &expect![[r#"
        error: `pattern` is missing
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": []}"#,
        &expect![[r#"
        error: `pattern` is missing
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": {"a": 1}}"#,
        &expect![[r#"
        error: `pattern`: an object can't be used here
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "files": ["a", null]}"#,
        &expect![[r#"
        error: `files`: null can't be an argument
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "files": [["a"]]}"#,
        &expect![[r#"
        error: `files`: an array can't be an argument
    "#]],
    );
    let stdin = r#""binary": "cat", "args": [{"kind": "stdin", "param": "x"}]"#;
    check(
        stdin,
        "{}",
        &expect![[r#"
        error: `x` is missing
    "#]],
    );
    check(
        stdin,
        r#"{"x": ["a"]}"#,
        &expect![[r#"
        error: `x`: an array can't be used here
    "#]],
    );
}

#[test]
fn a_value_is_no_flag() {
    check(
        GREP,
        r#"{"pattern": "-v"}"#,
        &expect![[r#"
        /bin/grep [-s] [--] [-v]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "files": ["-r"], "max": -1}"#,
        &expect![[r#"
        /bin/grep [-s] [--max-count=-1] [--] [a] [-r]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "--"}"#,
        &expect![[r#"
        /bin/grep [-s] [--] [--]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "-"}"#,
        &expect![[r#"
        /bin/grep [-s] [--] [-]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": -5}"#,
        &expect![[r#"
        /bin/grep [-s] [--] [-5]
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "e": "-f/etc/passwd"}"#,
        &expect![[r#"
        error: `e`: a value that begins with `-` could be taken for a flag after `-e`
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "@file"}"#,
        &expect![[r#"
        /bin/grep [-s] [@file]
    "#]],
    );
    // Not every program takes `--`.
    let find = r#""binary": "find", "args": [{"param": "x"}]"#;
    check(
        find,
        r#"{"x": "-delete"}"#,
        &expect![[r#"
        error: `-delete` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    check(
        find,
        r#"{"x": "a"}"#,
        &expect![[r#"
        /bin/find [a]
    "#]],
    );
}

#[test]
fn a_marker_stands_where_it_is_one() {
    let git = |args: &str| format!(r#""binary": "git", "subcommand": "log", "args": [{args}]"#);
    let marker = r#"{"kind": "literal", "flag": "--"}"#;
    check(
        &git(&format!(r#"{marker}, {{"param": "x"}}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        /bin/git [log] [--] [-p]
    "#]],
    );
    check(
        &git(&format!(r#"{{"param": "x"}}, {marker}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        error: `-p` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    // Flags that come after it would be none.
    let grep = |args: &str| format!(r#""binary": "grep", "args": [{args}]"#);
    let flag = r#"{"kind": "literal", "flag": "-e"}"#;
    check(
        &grep(&format!(r#"{{"param": "x"}}, {flag}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        error: `-p` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    // The flag before it could take it for its value.
    check(
        &grep(&format!(r#"{flag}, {{"param": "x"}}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        error: `-p` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    let long = r#"{"kind": "literal", "flag": "--color=never"}"#;
    check(
        &grep(&format!(r#"{long}, {{"param": "x"}}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        /bin/grep [--color=never] [--] [-p]
    "#]],
    );
    let switch = r#"{"kind": "flagifboolean", "param": "y", "flagIfFalse": "-i"}"#;
    check(
        &grep(&format!(r#"{switch}, {{"param": "x"}}"#)),
        r#"{"x": "-p"}"#,
        &expect![[r#"
        /bin/grep [-i] [--] [-p]
    "#]],
    );
}

#[test]
fn characters() {
    check(
        GREP,
        r#"{"pattern": "a\u0000b"}"#,
        &expect![[r#"
        error: `pattern`: it has the character `\u{0}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a\nb"}"#,
        &expect![[r#"
        error: `pattern`: it has the character `\u{a}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "e": "\u001b[2J"}"#,
        &expect![[r#"
        error: `e`: it has the character `\u{1b}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        GREP,
        r#"{"pattern": "a", "files": ["a\tb"]}"#,
        &expect![[r#"
        error: `files`: it has the character `\u{9}`; line breaks and other control characters can't be passed on
    "#]],
    );
    let lines = r#""binary": "grep", "args": [
        {"param": "x", "normalizeNewlines": true, "optional": true},
        {"kind": "stdin", "param": "y", "normalizeNewlines": true, "optional": true},
        {"kind": "flag", "param": "z", "flag": "-z", "optional": true}]"#;
    check(
        lines,
        r#"{"x": "a\r\nb\rc\\nd\te"}"#,
        &expect![[r#"
        /bin/grep [a\nb\nc\nd\te]
    "#]],
    );
    check(
        lines,
        r#"{"x": "a\u0000"}"#,
        &expect![[r#"
        error: `x`: it has the character `\u{0}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        lines,
        r#"{"x": "a\u0007"}"#,
        &expect![[r#"
        error: `x`: it has the character `\u{7}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        lines,
        r#"{"y": "-a\r\nb\\nc\u0007"}"#,
        &expect![[r#"
        /bin/grep < -a\nb\nc\u{7}
    "#]],
    );
    check(
        lines,
        r#"{"y": "a\u0000"}"#,
        &expect![[r#"
        error: `y`: it has a NUL character, which can't be passed on
    "#]],
    );
    let stdin = r#""binary": "cat", "args": [{"kind": "stdin", "param": "x"}]"#;
    check(
        stdin,
        r#"{"x": "a\r\n\\n\u001b"}"#,
        &expect![[r#"
        /bin/cat < a\r\n\\n\u{1b}
    "#]],
    );
}

#[test]
fn sizes() {
    let home = Home::new();
    let call = |arguments: &serde_json::Value| home.call(GREP, &arguments.to_string(), &[]);
    let longest = "x".repeat(128 * 1024 - 1);
    assert!(!call(&serde_json::json!({"pattern": longest})).starts_with("error"));
    expect![[r#"
        error: `pattern`: it has 131072 bytes; an argument has at most 131071
    "#]]
    .assert_eq(&call(&serde_json::json!({"pattern": format!("{longest}x")})));
    let many = vec![longest.as_str(); 9];
    expect![[r#"
        error: the arguments have 1179653 bytes in all; a command line has at most 1048576
    "#]]
    .assert_eq(&call(&serde_json::json!({"pattern": "a", "files": many})));
}

/// Promise: `value-is-no-flag`
#[test]
fn values_are_resolved_and_checked_again() {
    let home = Home::new();
    home.program("w/skills/s/scripts/id.sh");
    let check = |arguments: &str, outputs: &[&str], expected: &Expect| {
        let execution = r#""binary": "find", "timeoutSeconds": 7, "args": [
            {"param": "who", "resolveCommand": {"script": "id.sh", "args": ["--by", "$param", "$x"]}},
            {"kind": "flag", "flag": "-n", "param": "x",
             "resolveCommand": {"binary": "cat", "args": ["$param"]}}]"#;
        expected.assert_eq(&home.call(execution, arguments, outputs));
    };
    check(
        r#"{"who": "ada", "x": "1"}"#,
        &["42\n", "\n \n"],
        &expect![[r#"
        first /w/skills/s/scripts/id.sh [--by] [ada] [1] (script)
        first /bin/cat [1]
        then  /bin/find [‹resolved from ada›] [-n] [‹resolved from 1›]
        /bin/find [42] [-n] [1]
    "#]],
    );
    check(
        r#"{"who": "ada", "x": "1"}"#,
        &["-delete\n", ""],
        &expect![[r#"
        first /w/skills/s/scripts/id.sh [--by] [ada] [1] (script)
        first /bin/cat [1]
        then  /bin/find [‹resolved from ada›] [-n] [‹resolved from 1›]
        error: `-delete` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    check(
        r#"{"who": "ada", "x": "1"}"#,
        &["4\n2\n", ""],
        &expect![[r#"
        first /w/skills/s/scripts/id.sh [--by] [ada] [1] (script)
        first /bin/cat [1]
        then  /bin/find [‹resolved from ada›] [-n] [‹resolved from 1›]
        error: `who`: it has the character `\u{a}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        r#"{"who": "ada", "x": "1"}"#,
        &["4", "-2"],
        &expect![[r#"
        first /w/skills/s/scripts/id.sh [--by] [ada] [1] (script)
        first /bin/cat [1]
        then  /bin/find [‹resolved from ada›] [-n] [‹resolved from 1›]
        error: `x`: a value that begins with `-` could be taken for a flag after `-n`
    "#]],
    );
    check(
        r#"{"who": "ada", "x": "1"}"#,
        &["4"],
        &expect![[r#"
        first /w/skills/s/scripts/id.sh [--by] [ada] [1] (script)
        first /bin/cat [1]
        then  /bin/find [‹resolved from ada›] [-n] [‹resolved from 1›]
        error: not every value of the call was resolved
    "#]],
    );
    check(
        r#"{"who": "ada"}"#,
        &["4"],
        &expect![[r#"
        error: `who`: `x` must be a single value for it, not null
    "#]],
    );
    check(
        r#"{"who": "-a", "x": "1"}"#,
        &[],
        &expect![[r#"
        error: `-a` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
    check(
        r#"{"who": ["a"], "x": "1"}"#,
        &[],
        &expect![[r#"
        error: `who`: an array can't be used here
    "#]],
    );
    check(
        r#"{"who": "a\nb", "x": "1"}"#,
        &[],
        &expect![[r#"
        error: `who`: it has the character `\u{a}`; line breaks and other control characters can't be passed on
    "#]],
    );
    check(
        r#"{"who": "a", "x": "-1"}"#,
        &["4", ""],
        &expect![[r#"
        error: `-1` begins with `-`, so the program could take it for a flag; write it in another way
    "#]],
    );
}

#[test]
fn scripts_only_where_they_are_allowed_and_only_the_skills_own() {
    let mut home = Home::new();
    home.program("w/skills/s/scripts/ok");
    home.program("out/evil");
    home.link("/bin/sh", "w/skills/s/scripts/link");
    std::fs::write(home.path("w/skills/s/scripts/plain"), "").unwrap();
    std::fs::create_dir(home.path("w/skills/s/scripts/folder")).unwrap();
    let call = |home: &Home, script: &str| {
        let execution = format!(
            r#""binary": "cat", "args": [{{"param": "x", "resolveCommand": {{"script": "{script}"}}}}]"#
        );
        home.call(&execution, r#"{"x": "a"}"#, &["b"])
    };
    expect![[r#"
        first /w/skills/s/scripts/ok (script)
        then  /bin/cat [‹resolved from a›]
        /bin/cat [b]
    "#]]
    .assert_eq(&call(&home, "ok"));
    expect![[r#"
        error: the script `link` is a link or not a regular file
    "#]]
    .assert_eq(&call(&home, "link"));
    expect![[r#"
        error: the script `plain` is not executable
    "#]]
    .assert_eq(&call(&home, "plain"));
    expect![[r#"
        error: the script `folder` is a link or not a regular file
    "#]]
    .assert_eq(&call(&home, "folder"));
    expect![[r#"
        error: the script `gone` is missing from the skill's `scripts/`
    "#]]
    .assert_eq(&call(&home, "gone"));
    std::fs::rename(home.path("w/skills/s/scripts"), home.path("out/scripts")).unwrap();
    home.link(home.path("out/scripts"), "w/skills/s/scripts");
    expect![[r#"
        error: the script `ok` is in a `scripts` that is not a folder itself
    "#]]
    .assert_eq(&call(&home, "ok"));
    home.scripts = ScriptPolicy::Refused;
    expect![[r#"
        error: the script `ok` is not run: scripts of skills are off; a person can set `skills.allow_scripts = true`
    "#]].assert_eq(&call(&home, "ok"));
}

#[test]
fn programs_are_found_only_where_no_tool_can_write() {
    let mut home = Home::new();
    for name in ["w/a/tool", "w/skills/s/scripts/tool", "granted/tool", "out/runner"] {
        home.program(name);
    }
    home.link(home.path("w/a"), "linked");
    home.writable = vec![home.path("granted")];
    let paths = ["w/a", "w/skills/s/scripts", "linked", "granted", "gone"];
    let paths: Vec<String> =
        paths.iter().map(|name| home.path(name).display().to_string()).collect();
    home.search_path = format!("w/a:.::{}", paths.join(":"));
    let call = |home: &Home, name: &str| home.call(&format!("\"binary\": \"{name}\""), "{}", &[]);
    expect![[r#"
        error: the program `tool` was found only at `/granted/tool`, where tools can write; a person has to install it
    "#]].assert_eq(&call(&home, "tool"));
    expect![[r#"
        error: the program `grep` was not found; a person has to install it
    "#]]
    .assert_eq(&call(&home, "grep"));
    // A link to a program in the workspace is no way round, nor is one to a shell.
    home.link(home.path("w/a/tool"), "bin/tool");
    home.link("/bin/bash", "bin/harmless");
    std::fs::write(home.path("bin/data"), "").unwrap();
    home.search_path += &format!(":{}", home.path("bin").display());
    expect![[r#"
        error: the program `tool` was found only at `/bin/tool`, where tools can write; a person has to install it
    "#]].assert_eq(&call(&home, "tool"));
    expect![[r#"
        error: `harmless` is in truth `bash`, which runs other programs, so it is not run
    "#]]
    .assert_eq(&call(&home, "harmless"));
    expect![[r#"
        error: the program `data` was not found; a person has to install it
    "#]]
    .assert_eq(&call(&home, "data"));
    expect![[r#"
        /bin/grep
    "#]]
    .assert_eq(&call(&home, "grep"));
    // One that calls itself by another name keeps it.
    home.link("../out/runner", "bin/face");
    expect![[r#"
        /bin/face
    "#]]
    .assert_eq(&call(&home, "face"));
}

#[test]
fn links_and_relative_folders_do_not_lead_to_programs() {
    let mut home = Home::new();
    home.program("out/runner");
    home.link(home.path("out/runner"), "w/a/planted");
    home.link(home.path("w/a"), "linked");
    home.link("../out", "w/exit");
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let relative = format!("./{}{}", "../".repeat(depth), home.path("bin").display());
    assert!(std::path::Path::new(&relative).join("grep").exists());
    let folders = [("w/a", "planted"), ("linked", "planted"), ("w/exit", "runner")];
    let mut text = String::new();
    for (folder, name) in folders {
        home.search_path = home.path(folder).display().to_string();
        text += &home.call(&format!("\"binary\": \"{name}\""), "{}", &[]);
    }
    home.search_path = relative;
    text += &home.call("\"binary\": \"grep\"", "{}", &[]);
    expect![[r#"
        error: the program `planted` was found only at `/w/a/planted`, where tools can write; a person has to install it
        error: the program `planted` was found only at `/linked/planted`, where tools can write; a person has to install it
        error: the program `runner` was found only at `/w/exit/runner`, where tools can write; a person has to install it
        error: the program `grep` was not found; a person has to install it
    "#]].assert_eq(&text);
}
