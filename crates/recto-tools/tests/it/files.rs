//! Reading, writing and listing as a model sees it.

use std::fs;

use expect_test::{Expect, expect};
use recto_context::{Audience, AudienceKind};
use recto_tools::{CallContext, CallLimits, ToolCaller, ToolOptions, Toolbox};
use serde_json::{Value, json};

use crate::{Home, call, run, run_all, show, tool_call};

async fn check(home: &Home, name: &str, arguments: Value, expected: &Expect) {
    expected.assert_eq(&home.call(name, arguments).await);
}

/// Tools whose output may have at most this many bytes.
fn small(home: &Home, max_output_bytes: usize) -> Toolbox {
    let limits = CallLimits { max_output_bytes, ..CallLimits::default() };
    Toolbox::new(ToolOptions { limits, ..home.options() })
}

#[tokio::test]
async fn a_file_is_read_as_it_stands() {
    let content = "one\r\n\ttwo  \n\n語 🦀 without an end";
    let home = Home::with(&[("notes/a.md", content), ("empty", "")]);
    let read = home.call("read_file", json!({"path": "notes/a.md"})).await;
    assert_eq!(read, format!("Done: {content}"));
    let absolute = home.inside("notes/a.md");
    let read = home.call("read_file", json!({"path": absolute})).await;
    assert_eq!(read, format!("Done: {content}"));
    check(&home, "read_file", json!({"path": "empty"}), &expect!["Done: [the file is empty]"])
        .await;
}

#[tokio::test]
async fn some_lines_of_a_file() {
    let home = Home::with(&[("a", "one\ntwo\nthree\nfour\nfive")]);
    check(
        &home,
        "read_file",
        json!({"path": "a", "offset": 2, "limit": 2}),
        &expect![[r#"
            Done: two
            three
            [lines 2 to 3; the file has 5 lines; go on with offset 4]"#]],
    )
    .await;
    check(
        &home,
        "read_file",
        json!({"path": "a", "offset": 4}),
        &expect![[r#"
            Done: four
            five
            [lines 4 to 5, the end of the file]"#]],
    )
    .await;
    check(
        &home,
        "read_file",
        json!({"path": "a", "offset": 6}),
        &expect!["Failed: read_file failed: `a` ends before line 6: it has 5 lines"],
    )
    .await;
    let all = home.call("read_file", json!({"path": "a", "limit": 5})).await;
    assert_eq!(all, "Done: one\ntwo\nthree\nfour\nfive");
}

#[tokio::test]
async fn a_long_file_is_read_in_pieces_that_join() {
    let content: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    let home = Home::with(&[("long", &content)]);
    let toolbox = small(&home, 1_000);
    let (mut joined, mut offset) = (String::new(), 1);
    while offset <= 300 {
        let read = call(&toolbox, "read_file", json!({"path": "long", "offset": offset})).await;
        assert!(read.len() <= 1_000 + "Done: ".len());
        let (lines, note) = read.strip_prefix("Done: ").unwrap().rsplit_once('[').unwrap();
        assert!(note.starts_with(&format!("lines {offset} to ")), "{note}");
        joined.push_str(lines);
        offset += lines.lines().count();
    }
    assert_eq!(joined, content);
}

#[tokio::test]
async fn a_line_that_is_too_long_shows_its_beginning() {
    let home = Home::with(&[("wide", &format!("first\n{}\nlast\n", "語".repeat(1_000)))]);
    let read = call(&small(&home, 612), "read_file", json!({"path": "wide", "offset": 2})).await;
    let note = "[only the first 100 bytes of line 2 are shown; the file has 3 lines]";
    assert_eq!(read, format!("Done: {}\n{note}", "語".repeat(33)));
}

#[tokio::test]
async fn files_are_created_and_replaced() {
    let home = Home::new();
    check(
        &home,
        "write_file",
        json!({"path": "deep/er/a.md", "content": "hällo\n"}),
        &expect!["Done: created `deep/er/a.md` (7 bytes)"],
    )
    .await;
    assert_eq!(home.read("deep/er/a.md"), "hällo\n");
    check(
        &home,
        "write_file",
        json!({"path": home.inside("deep/./er/a.md"), "content": ""}),
        &expect!["Done: replaced `deep/er/a.md` (0 bytes instead of 7)"],
    )
    .await;
    assert_eq!(home.read("deep/er/a.md"), "");
    for _ in 0..2 {
        let same = json!({"path": "same", "content": "same"});
        assert!(home.call("write_file", same).await.starts_with("Done: "));
    }
    assert_eq!(home.read("same"), "same");
    assert_eq!(fs::read_dir(home.inside("deep/er")).unwrap().count(), 1, "no draft is left");
}

#[tokio::test]
async fn what_can_not_be_written() {
    let home = Home::with(&[("folder/a", "a"), ("locked", "old")]);
    let write = |path: &str| home.call("write_file", json!({"path": path, "content": "new"}));
    for (path, expected) in [
        ("folder", "`folder` is a folder, not a file"),
        ("new/", "`new/` ends as the path of a folder does; write it without `/` at its end"),
        (
            "SOUL.md/",
            "`SOUL.md/` ends as the path of a folder does; write it without `/` at its end",
        ),
        ("", "`` is a folder, not a file"),
        (".", "`.` is a folder, not a file"),
        ("folder/a/b", "`folder/a` is not a folder"),
        ("../a", "`../a` is outside the workspace; write paths from the workspace on"),
        ("~/a", "`~/a`: `~` has no meaning here; write paths from the workspace on"),
        ("a\0", "the path has a NUL character"),
        ("SOUL.md", "`SOUL.md` needs a person's approval"),
        ("skills/x/tools.json", "`skills/x/tools.json` is out of reach: no tool may write it"),
        ("skills/x/scripts/y", "`skills/x/scripts/y` is out of reach: no tool may write it"),
    ] {
        assert_eq!(write(path).await, format!("Failed: write_file failed: {expected}"));
    }
    let mut permissions = fs::metadata(home.inside("locked")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(home.inside("locked"), permissions).unwrap();
    assert_eq!(write("locked").await, "Failed: write_file failed: `locked` is read-only");
    let left: Vec<_> = fs::read_dir(home.path("workspace")).unwrap().collect();
    assert_eq!(left.len(), 2, "neither drafts nor folders are left: {left:?}");
}

#[tokio::test]
async fn the_options_protect_files() {
    let home = Home::with(&[("config.toml", "old")]);
    let protected = vec![home.inside("config.toml").into()];
    let toolbox = Toolbox::new(ToolOptions { protected, ..home.options() });
    let write = json!({"path": "Config.toml", "content": "new"});
    assert_eq!(
        call(&toolbox, "write_file", write).await,
        "Failed: write_file failed: `Config.toml` is out of reach: no tool may write it"
    );
    assert_eq!(home.read("config.toml"), "old");
}

#[tokio::test]
async fn a_folder_is_listed() {
    let home = Home::with(&[("b.txt", "12345"), ("a/deep/c", ""), ("a/d", "1"), ("a.txt", "")]);
    fs::create_dir(home.inside("empty")).unwrap();
    // A file that another call is just writing is none yet.
    fs::write(home.inside(".recto-17-0.tmp"), "half of").unwrap();
    check(
        &home,
        "list_files",
        json!({}),
        &expect![[r#"
            Done: a/
            a.txt (0 bytes)
            b.txt (5 bytes)
            empty/"#]],
    )
    .await;
    check(
        &home,
        "list_files",
        json!({"depth": 2}),
        &expect![[r#"
            Done: a/
            a/d (1 byte)
            a/deep/
            a.txt (0 bytes)
            b.txt (5 bytes)
            empty/"#]],
    )
    .await;
    check(
        &home,
        "list_files",
        json!({"path": "a", "depth": 1e300}),
        &expect![[r#"
            Done: a/d (1 byte)
            a/deep/
            a/deep/c (0 bytes)"#]],
    )
    .await;
    check(&home, "list_files", json!({"path": "empty"}), &expect!["Done: [the folder is empty]"])
        .await;
}

#[tokio::test]
async fn what_can_not_be_listed_or_read() {
    let home = Home::with(&[("a", "")]);
    for (tool, path, expected) in [
        ("list_files", "a", "`a` is not a folder"),
        ("list_files", "b", "`b` does not exist"),
        ("list_files", "b/c", "`b/c` does not exist"),
        ("read_file", "b", "`b` does not exist"),
        ("read_file", "b/c", "`b/c` does not exist"),
        ("read_file", ".", "`.` is a folder, not a file"),
    ] {
        let told = home.call(tool, json!({"path": path})).await;
        assert_eq!(told, format!("Failed: {tool} failed: {expected}"));
    }
}

#[tokio::test]
async fn a_full_folder_is_listed_in_part_and_says_so() {
    let home = Home::new();
    for number in 0..1_200 {
        home.write(&format!("full/{number:04}"), "");
    }
    let listed = home.call("list_files", json!({"path": "full"})).await;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines[0], "Done: full/0000 (0 bytes)");
    assert_eq!(lines[999], "full/0999 (0 bytes)");
    assert_eq!(
        lines[1000..],
        ["[1000 entries shown; left out: 200 more, and what is in 0 folders]"]
    );
}

#[tokio::test]
async fn what_is_near_is_listed_before_what_is_deep() {
    let home = Home::with(&[("z.txt", ""), ("b/x", "")]);
    for number in 0..100 {
        home.write(&format!("a/{number:02}"), "");
    }
    let listed = call(&small(&home, 612), "list_files", json!({"depth": 9})).await;
    assert!(listed.len() <= 612 + "Done: ".len());
    expect![[r#"
        Done: a/
        a/00 (0 bytes)
        a/01 (0 bytes)
        a/02 (0 bytes)
        a/03 (0 bytes)
        a/04 (0 bytes)
        b/
        z.txt (0 bytes)
        [8 entries shown; left out: 95 more, and what is in 1 folders]"#]]
    .assert_eq(&listed);
}

/// Promise: `parallel-results-kept`
#[tokio::test]
async fn a_round_of_three_keeps_three_results() {
    let home = Home::with(&[("a", "content of a")]);
    let calls = [
        tool_call("read_file", &json!({"path": "a"})),
        tool_call("write_file", &json!({"path": "b", "content": "b"})),
        tool_call("list_files", &json!({"path": "missing"})),
    ];
    let results = run(&home.toolbox(), &calls).await;
    assert_eq!(
        results.iter().map(show).collect::<Vec<_>>(),
        [
            "Done: content of a",
            "Done: created `b` (1 byte)",
            "Failed: list_files failed: `missing` does not exist"
        ]
    );
}

#[tokio::test]
async fn a_workspace_may_come_and_go() {
    let home = Home::new();
    let toolbox = home.toolbox();
    fs::remove_dir(home.path("workspace")).unwrap();
    let told = call(&toolbox, "list_files", json!({})).await;
    assert!(told.starts_with("Failed: list_files failed: the workspace `"), "{told}");
    home.write("back", "");
    assert_eq!(call(&toolbox, "list_files", json!({})).await, "Done: back (0 bytes)");
}

/// Promise: `private-memory-stays-private`
#[tokio::test]
async fn files_of_memories_are_named_to_their_owner_alone() {
    let home = Home::with(&[
        ("notes.md", "x"),
        ("memory/people/ann.md", "x"),
        ("agents/pilot/memory.md", "x"),
        ("old/Memory/MEMORY.md", "x"),
    ]);
    let list = |who: AudienceKind| {
        let audience = Audience { who, ..Audience::default() };
        let caller = ToolCaller { audience, ..ToolCaller::default() };
        let context = CallContext { caller, ..CallContext::default() };
        let toolbox = home.toolbox();
        async move {
            let calls = [
                tool_call("list_files", &json!({"depth": 6})),
                tool_call("list_files", &json!({"path": "memory"})),
            ];
            let results = run_all(&toolbox, &calls, &toolbox.specs(), &context).await;
            results.iter().map(show).collect::<Vec<_>>().join("\n")
        }
    };
    for who in [AudienceKind::Guest, AudienceKind::Group, AudienceKind::SubAgent] {
        expect![[r#"
            Done: notes.md (1 byte)
            old/
            Failed: list_files failed: files of memories are not read or written in this conversation; use recall"#]]
        .assert_eq(&list(who).await);
    }
    let seen = list(AudienceKind::Owner).await;
    assert!(seen.contains("memory/people/ann.md") && seen.contains("agents/pilot/memory.md"));
}

/// Promise: `private-memory-stays-private`
#[cfg(unix)]
#[tokio::test]
async fn what_links_in_memories_lead_to_is_read_by_their_owner_alone() {
    let home = Home::with(&[("memory/MEMORY.md", "x"), ("people/ann.md", "x"), ("notes.md", "x")]);
    std::os::unix::fs::symlink("../people", home.path("workspace/memory/people")).unwrap();
    let call_as = async |who: AudienceKind, tool: &str, arguments: Value| {
        let audience = Audience { who, ..Audience::default() };
        let caller = ToolCaller { audience, ..ToolCaller::default() };
        let context = CallContext { caller, ..CallContext::default() };
        let toolbox = home.toolbox();
        let calls = [tool_call(tool, &arguments)];
        let results = run_all(&toolbox, &calls, &toolbox.specs(), &context).await;
        show(&results[0])
    };
    let read = async |who, path: &str| call_as(who, "read_file", json!({ "path": path })).await;
    assert_eq!(read(AudienceKind::Owner, "people/ann.md").await, "Done: x");
    assert_eq!(read(AudienceKind::Guest, "notes.md").await, "Done: x");
    let refused = read(AudienceKind::Guest, "people/ann.md").await;
    assert!(refused.contains("use recall"), "{refused}");
    let list = async |who| call_as(who, "list_files", json!({"depth": 9})).await;
    assert!(list(AudienceKind::Owner).await.contains("people/ann.md"));
    assert_eq!(list(AudienceKind::Guest).await, "Done: notes.md (1 byte)");
}
