//! Arguments that are paths.

use expect_test::{Expect, expect};

use super::home::Home;

const READ: &str = r#""binary": "cat", "args": [{"param": "x", "readPath": true}]"#;
const WRITE: &str = r#""binary": "cat", "args": [{"param": "x", "writePath": true}]"#;

fn call(home: &Home, execution: &str, path: &str) -> String {
    home.call(execution, &serde_json::json!({"x": path}).to_string(), &[])
}

#[track_caller]
fn check(home: &Home, execution: &str, paths: &[&str], expected: &Expect) {
    let absolute =
        |path: &&str| path.replace("HOME", home.path("").to_str().unwrap().trim_end_matches('/'));
    let text: String =
        paths.iter().map(absolute).map(|path| call(home, execution, &path)).collect();
    expected.assert_eq(&text);
}

#[test]
fn what_may_be_read() {
    let mut home = Home::new();
    home.readable = vec![home.path("granted/sub"), home.path("out/secret")];
    home.link("a/file", "w/link");
    home.link(home.path("w/a"), "w/folder");
    let paths = ["a/file", "a/b/../file", "HOME/w/a/file", "", ".", "a", "link", "folder/file"];
    check(
        &home,
        READ,
        &paths,
        &expect![[r#"
            /bin/cat [a/file]
            /bin/cat [a/file]
            /bin/cat [a/file]
            error: `x`: the path is empty; `.` is the workspace itself
            /bin/cat [.]
            /bin/cat [a]
            /bin/cat [a/file]
            /bin/cat [a/file]
        "#]],
    );
    // What could mean something else to a program.
    check(
        &home,
        READ,
        &["-x", "./-x", "k=v"],
        &expect![[r#"
        /bin/cat [./-x]
        /bin/cat [./-x]
        /bin/cat [./k=v]
    "#]],
    );
    check(
        &home,
        READ,
        &["HOME/granted/sub/f", "HOME/granted/sub", "HOME/out/secret"],
        &expect![[r#"
        /bin/cat [/granted/sub/f]
        /bin/cat [/granted/sub]
        /bin/cat [/out/secret]
    "#]],
    );
    let inside =
        r#""binary": "cat", "workingDir": "a", "args": [{"param": "x", "readPath": true}]"#;
    check(
        &home,
        inside,
        &["a/file", "-x", "HOME/w/a"],
        &expect![[r#"
        /bin/cat [file] in /w/a
        /bin/cat [/w/-x] in /w/a
        /bin/cat [.] in /w/a
    "#]],
    );
}

#[test]
fn what_may_not_be_read() {
    let mut home = Home::new();
    home.readable = vec![home.path("granted/sub"), "relative".into(), home.path("gone")];
    home.link("../out", "w/out");
    home.link(home.path("out/secret"), "w/secret");
    home.link(home.path("granted/sub/f"), "w/granted");
    home.link("nowhere", "w/dangling");
    home.link("new\nline", "w/renamed");
    std::fs::write(home.path("w/new\nline"), "").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, home.path("w/pipe"), 0o600.into()).unwrap();
    let paths = [
        "../out/secret",
        "a/../../out/secret",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "~",
        "~root/x",
        "out/secret",
        "secret",
        "granted",
        "HOME/granted/sub/../../out/secret",
        "HOME/granted/other",
        "HOME/w/../out/secret",
        "gone",
        "a/gone/file",
        "dangling",
        "a/file/more",
        "pipe",
        "a\0b",
        "new\nline",
        "renamed",
    ];
    check(
        &home,
        READ,
        &paths,
        &expect![[r#"
        error: `x`: `../out/secret` is outside the workspace; write paths from the workspace on
        error: `x`: `a/../../out/secret` is outside the workspace; write paths from the workspace on
        error: `x`: `/etc/passwd` is outside the workspace; write paths from the workspace on
        error: `x`: `~/.ssh/id_rsa`: `~` has no meaning here; write paths from the workspace on
        error: `x`: `~`: `~` has no meaning here; write paths from the workspace on
        error: `x`: `~root/x`: `~` has no meaning here; write paths from the workspace on
        error: `x`: `out/secret` is outside the workspace; write paths from the workspace on
        error: `x`: `secret` is outside the workspace; write paths from the workspace on
        error: `x`: `granted` is outside the workspace; write paths from the workspace on
        error: `x`: `/granted/sub/../../out/secret` is outside the workspace; write paths from the workspace on
        error: `x`: `/granted/other` is outside the workspace; write paths from the workspace on
        error: `x`: `/w/../out/secret` is outside the workspace; write paths from the workspace on
        error: `x`: `gone` does not exist
        error: `x`: `a/gone/file` does not exist
        error: `x`: `nowhere` does not exist
        error: `x`: `a/file` is not a folder
        error: `x`: `pipe` is not a regular file
        error: `x`: it has the character `\u{0}`; line breaks and other control characters can't be passed on
        error: `x`: it has the character `\u{a}`; line breaks and other control characters can't be passed on
        error: `x`: `renamed` leads to a name that can't be passed on
    "#]],
    );
}

#[test]
fn what_may_be_written() {
    let mut home = Home::new();
    home.writable = vec![home.path("granted")];
    let paths = ["new", "a/file", "a/b/new", "-new", "HOME/w/a/new", "HOME/granted/sub/new"];
    check(
        &home,
        WRITE,
        &paths,
        &expect![[r#"
        /bin/cat [new] writes /w/new
        /bin/cat [a/file] writes /w/a/file
        /bin/cat [a/b/new] writes /w/a/b/new
        /bin/cat [./-new] writes /w/-new
        /bin/cat [a/new] writes /w/a/new
        /bin/cat [/granted/sub/new] writes /granted/sub/new
    "#]],
    );
    assert!(!home.path("w/new").exists(), "nothing is made yet");
}

#[test]
fn what_may_not_be_written() {
    let mut home = Home::new();
    home.readable = vec![home.path("granted")];
    home.link("a/file", "w/link");
    home.link("SOUL.md", "w/soul");
    home.link("skills", "w/abilities");
    let paths = [
        "SOUL.md",
        "a/../SOUL.md",
        "skills/s/tools.json",
        "skills/s/scripts/new",
        "abilities/s/tools.json",
        "soul",
        "link",
        "a",
        "",
        "new/",
        "gone/new",
        "../new",
        "HOME/out/new",
        "HOME/granted/new",
        "HOME/granted/sub/f",
    ];
    check(
        &home,
        WRITE,
        &paths,
        &expect![[r#"
            error: `x`: `SOUL.md` is out of reach: no tool may write it
            error: `x`: `a/../SOUL.md` is out of reach: no tool may write it
            error: `x`: `skills/s/tools.json` is out of reach: no tool may write it
            error: `x`: `skills/s/scripts/new` is out of reach: no tool may write it
            error: `x`: `abilities/s/tools.json` is out of reach: no tool may write it
            error: `x`: `soul` is a link; write to what it points to
            error: `x`: `link` is a link; write to what it points to
            error: `x`: `a` is a folder, not a file
            error: `x`: the path is empty; `.` is the workspace itself
            error: `x`: `new/` ends as the path of a folder does; write it without `/` at its end
            error: `x`: `gone/new` does not exist
            error: `x`: `../new` is outside the workspace; write paths from the workspace on
            error: `x`: `/out/new` is outside the workspace; write paths from the workspace on
            error: `x`: `/granted/new` is outside the workspace; write paths from the workspace on
            error: `x`: `/granted/sub/f` is read-only
        "#]],
    );
}

#[test]
fn the_folder_to_work_in_is_in_the_workspace() {
    let home = Home::new();
    home.link("../out", "w/out");
    let text: String = ["a", "a/b/..", ".", "../out", "out", "/tmp", "~", "gone", "a/file"]
        .map(|dir| home.call(&format!(r#""binary": "cat", "workingDir": "{dir}""#), "{}", &[]))
        .concat();
    expect![[r#"
        /bin/cat in /w/a
        /bin/cat in /w/a
        /bin/cat
        error: `../out` is outside the workspace; write paths from the workspace on
        error: `out` is outside the workspace; write paths from the workspace on
        error: `/tmp` is outside the workspace; write paths from the workspace on
        error: `~`: `~` has no meaning here; write paths from the workspace on
        error: the folder to work in: `gone` does not exist
        error: the folder to work in: `a/file` is not a folder
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_resolved_path_is_checked_like_any_other() {
    let home = Home::new();
    let execution = r#""binary": "cat", "args": [
        {"param": "x", "writePath": true, "resolveCommand": {"binary": "find", "args": ["$param"]}}]"#;
    let text: String = ["a/new\n", "../out/new\n", "SOUL.md", "/etc/passwd"]
        .map(|output| home.call(execution, r#"{"x": "note"}"#, &[output]))
        .concat();
    expect![[r#"
        first /bin/find [note]
        then  /bin/cat [‹resolved from note›]
        /bin/cat [a/new] writes /w/a/new
        first /bin/find [note]
        then  /bin/cat [‹resolved from note›]
        error: `x`: `../out/new` is outside the workspace; write paths from the workspace on
        first /bin/find [note]
        then  /bin/cat [‹resolved from note›]
        error: `x`: `SOUL.md` is out of reach: no tool may write it
        first /bin/find [note]
        then  /bin/cat [‹resolved from note›]
        error: `x`: `/etc/passwd` is outside the workspace; write paths from the workspace on
    "#]]
    .assert_eq(&text);
}
