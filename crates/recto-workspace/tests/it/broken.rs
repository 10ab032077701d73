//! Files that cannot be used: each is reported, and the rest goes on.

use std::fs;

use expect_test::{Expect, expect};
use recto_workspace::{Workspace, WorkspaceOptions};

use crate::WorkspaceHome;

/// Reads the home with one good file beside the bad ones.
async fn check(home: &WorkspaceHome, expected: &Expect) {
    home.write("workspace/SOUL.md", "calm");
    let snapshot = home.read().await;
    let shown = home.show(&snapshot);
    assert!(shown.starts_with("soul: \"calm\"\n"), "the rest must go on:\n{shown}");
    let left_out = shown.lines().filter(|line| line.contains(", LeftOut: ")).count();
    assert_eq!(snapshot.catalog.notices.len(), left_out, "what is left out has a notice");
    expected.assert_eq(&shown);
}

#[tokio::test]
async fn broken_yaml_is_reported_with_file_and_line() {
    let home = WorkspaceHome::with(&[
        ("workspace/rules/bad.md", "---\nname: bad\nlist: [1, 2\n---\ntext"),
        ("workspace/skills/bad/SKILL.md", "---\nname: bad\ndescription: \"open\n---\ntext"),
    ]);
    check(&home, &expect![[r#"
        soul: "calm"
        Error, LeftOut: workspace/skills/bad/SKILL.md:4: the frontmatter is not YAML: invalid indentation in multiline quoted scalar
        Error, LeftOut: workspace/rules/bad.md:3: the frontmatter is not YAML: unclosed bracket '['
    "#]]).await;
}

#[tokio::test]
async fn broken_tools_leave_the_skill_in_place() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/a/SKILL.md", "---\ndescription: d\n---\nbody"),
        ("workspace/skills/a/tools.json", "{\n  \"tools\": [\n    oops\n  ]\n}"),
        ("workspace/skills/b/SKILL.md", "---\ndescription: d\n---\nbody"),
        ("workspace/skills/b/tools.json", "{\"tools\": [{\"name\": \"ok\"},\n{\"name\": \"\"}]}"),
    ]);
    check(&home, &expect![[r#"
        soul: "calm"
        skill a always: "body"
        skill b always: "body"
          tool b.ok always
        Error, LeftOut: workspace/skills/a/tools.json:3: expected value
        Error, LeftOut: workspace/skills/b/tools.json:2: `` is not a tool name: 1 to 64 letters, digits, `_` and `-` are
    "#]]).await;
}

#[tokio::test]
async fn a_file_that_is_not_utf8_is_reported_with_the_byte() {
    let home = WorkspaceHome::new();
    home.write("workspace/AGENTS.md", b"good \xff bad");
    home.write("workspace/skills/a/SKILL.md", b"\x80");
    check(
        &home,
        &expect![[r#"
        soul: "calm"
        Error, LeftOut: workspace/AGENTS.md: is not UTF-8: byte 5 does not fit
        Error, LeftOut: workspace/skills/a/SKILL.md: is not UTF-8: byte 0 does not fit
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_file_over_the_limit_is_reported_with_its_size() {
    let home = WorkspaceHome::new();
    home.write("workspace/references/big.md", vec![b'a'; 10_000_000]);
    home.write("workspace/references/small.md", "fits");
    check(
        &home,
        &expect![[r#"
        soul: "calm"
        reference small 500 manual: "fits"
        Error, LeftOut: workspace/references/big.md: is too large: 10000000 bytes of at most 8388608
    "#]],
    )
    .await;
}

#[tokio::test]
async fn folders_and_files_in_each_others_place_are_reported() {
    let home = WorkspaceHome::new();
    fs::create_dir_all(home.path("workspace/AGENTS.md")).unwrap();
    fs::create_dir_all(home.path("workspace/rules/folder.md")).unwrap();
    fs::create_dir_all(home.path("workspace/skills/a/SKILL.md")).unwrap();
    home.write("workspace/references", "a file");
    home.write("workspace/memory", "a file");
    home.write("workspace/skills/README.md", "plain files here are ignored");
    check(
        &home,
        &expect![[r#"
        soul: "calm"
        Error, LeftOut: workspace/references: is not a folder of references
        Error, LeftOut: workspace/AGENTS.md: is a folder where a file is expected
        Error, LeftOut: workspace/skills/a/SKILL.md: is a folder where a file is expected
        Error, LeftOut: workspace/rules/folder.md: is a folder where a file is expected
    "#]],
    )
    .await;
}

#[tokio::test]
async fn empty_files_and_folders_are_warnings() {
    let home = WorkspaceHome::with(&[
        ("workspace/rules/empty.md", ""),
        ("workspace/references/blank.md", "---\nname: blank\n---\n\n"),
        ("workspace/skills/empty/SKILL.md", ""),
        ("workspace/skills/tools-only/tools.json", "broken too"),
    ]);
    fs::create_dir_all(home.path("workspace/skills/nothing")).unwrap();
    fs::create_dir_all(home.path("workspace/skills/.git")).unwrap();
    check(
        &home,
        &expect![[r#"
        soul: "calm"
        Warning, LeftOut: workspace/skills/empty/SKILL.md: has no text
        Warning, LeftOut: workspace/skills/nothing: has no SKILL.md
        Warning, LeftOut: workspace/skills/tools-only: has no SKILL.md
        Warning, LeftOut: workspace/rules/empty.md: has no text
        Warning, LeftOut: workspace/references/blank.md: has no text
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_workspace_that_does_not_exist_is_one_problem() {
    let home = without_workspace();
    let snapshot = home.read().await;
    expect![[r#"
        skill a always: "body"
        Error, LeftOut: workspace: the workspace does not exist; make a workspace, or set the path of one
    "#]].assert_eq(&home.show(&snapshot));
    assert!(!home.path("workspace").exists());
}

#[tokio::test]
async fn a_workspace_that_is_no_folder_is_one_problem() {
    let home = without_workspace();
    home.write("workspace", "a file");
    home.write("extra/b/SKILL.md", "---\ndescription: d\n---\nextra");
    let options = WorkspaceOptions { extra_skill_dirs: vec![home.path("extra")], ..home.options() };
    let snapshot = Workspace::new(options).catalog().await;
    expect![[r#"
        skill a always: "body"
        skill b always: "extra"
        Error, LeftOut: workspace: the workspace is not a folder; make a workspace, or set the path of one
    "#]].assert_eq(&home.show(&snapshot));
    assert_eq!(snapshot.catalog.notices.len(), 1);
}

/// A home with one skill that all agents share, and nothing else.
fn without_workspace() -> WorkspaceHome {
    let home = WorkspaceHome::with(&[("skills/a/SKILL.md", "---\ndescription: d\n---\nbody")]);
    fs::remove_dir(home.path("workspace")).unwrap();
    home
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use recto_workspace::{WorkspaceProblem, WorkspaceSnapshot};

    use super::*;

    #[tokio::test]
    async fn loops_and_dead_links_are_reported() {
        let home = WorkspaceHome::new();
        for folder in ["rules", "skills/dead"] {
            fs::create_dir_all(home.path("workspace").join(folder)).unwrap();
        }
        symlink("loop.md", home.path("workspace/rules/loop.md")).unwrap();
        symlink("references", home.path("workspace/references")).unwrap();
        symlink("nowhere", home.path("workspace/AGENTS.md")).unwrap();
        symlink("nowhere", home.path("workspace/skills/dead/SKILL.md")).unwrap();
        symlink("round", home.path("workspace/skills/round")).unwrap();
        check(&home, &expect![[r#"
            soul: "calm"
            Error, LeftOut: workspace/references: cannot be read: Too many levels of symbolic links (os error 40)
            Error, LeftOut: workspace/AGENTS.md: is a link to nothing
            Error, LeftOut: workspace/skills/dead/SKILL.md: is a link to nothing
            Error, LeftOut: workspace/skills/round/SKILL.md: cannot be read: Too many levels of symbolic links (os error 40)
            Error, LeftOut: workspace/rules/loop.md: cannot be read: Too many levels of symbolic links (os error 40)
        "#]]).await;
    }

    #[tokio::test]
    async fn a_file_is_of_the_system_by_what_it_is_for_and_not_by_its_name() {
        let home = WorkspaceHome::new();
        fs::create_dir_all(home.path("rules/rules")).unwrap();
        for link in ["rules/AGENTS.md", "rules/rules/AGENTS.md"] {
            symlink("nowhere", home.path(link)).unwrap();
        }
        let options = WorkspaceOptions { workspace: home.path("rules"), ..home.options() };
        let snapshot = Workspace::new(options).catalog().await;
        let of_system = snapshot.problems.iter().map(|problem| problem.is_of_system);
        assert_eq!(of_system.collect::<Vec<_>>(), [true, false], "{:?}", snapshot.problems);
    }

    #[tokio::test]
    async fn a_workspace_that_cannot_be_reached_is_one_problem() {
        let home = without_workspace();
        symlink("workspace", home.path("workspace")).unwrap();
        expect![[r#"
            skill a always: "body"
            Error, LeftOut: workspace: the workspace cannot be read: Too many levels of symbolic links (os error 40); make a workspace, or set the path of one
        "#]].assert_eq(&home.show(&*home.read().await));
    }

    #[tokio::test]
    async fn a_link_out_of_a_project_is_not_followed_whenever_it_comes() {
        let home = WorkspaceHome::with(&[
            ("secret.md", "secret"),
            ("elsewhere/SKILL.md", "---\ndescription: d\n---\nsecret skill"),
            ("shop/AGENTS.md", "shop"),
            ("shop/.recto/rules/own.md", "own rule"),
            ("shop/.recto/skills/own/SKILL.md", "---\ndescription: d\n---\nown skill"),
        ]);
        symlink("own.md", home.path("shop/.recto/rules/near.md")).unwrap();
        let options = WorkspaceOptions { project: Some(home.path("shop")), ..home.options() };
        let workspace = Workspace::new(options);
        let rules = |snapshot: &WorkspaceSnapshot| {
            let rules = snapshot.catalog.rules.iter();
            rules.map(|rule| rule.text.to_string()).collect::<Vec<_>>()
        };
        let snapshot = workspace.catalog().await;
        assert_eq!(rules(&snapshot), ["own rule", "own rule"]);
        // While it is in use, files become links.
        for (link, target) in [
            ("shop/AGENTS.md", "secret.md"),
            ("shop/.recto/rules/own.md", "secret.md"),
            ("shop/.recto/rules/new.md", "secret.md"),
        ] {
            let _ = fs::remove_file(home.path(link));
            symlink(home.path(target), home.path(link)).unwrap();
        }
        fs::remove_dir_all(home.path("shop/.recto/skills/own")).unwrap();
        symlink(home.path("elsewhere"), home.path("shop/.recto/skills/own")).unwrap();
        let snapshot = workspace.catalog().await;
        assert!(snapshot.catalog.system.project.is_none());
        assert!(rules(&snapshot).is_empty());
        assert!(snapshot.catalog.skills.is_empty());
        let leads_out = |problem: &&WorkspaceProblem| problem.what.contains("out of the project");
        assert_eq!(snapshot.problems.iter().filter(leads_out).count(), 5);
    }

    #[tokio::test]
    async fn links_to_files_and_folders_are_followed() {
        let home = WorkspaceHome::with(&[
            ("elsewhere/rule.md", "linked rule"),
            ("elsewhere/skill/SKILL.md", "---\ndescription: d\n---\nlinked skill"),
            ("workspace/rules/own.md", "own rule"),
            ("workspace/skills/own/SKILL.md", "---\ndescription: d\n---\nown skill"),
        ]);
        symlink(home.path("elsewhere/rule.md"), home.path("workspace/rules/far.md")).unwrap();
        symlink(home.path("elsewhere/skill"), home.path("workspace/skills/far")).unwrap();
        check(
            &home,
            &expect![[r#"
            soul: "calm"
            skill far always: "linked skill"
            skill own always: "own skill"
            rule far 500 manual: "linked rule"
            rule own 500 manual: "own rule"
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_pipe_is_never_opened() {
        let home = WorkspaceHome::with(&[("workspace/rules/ok.md", "text")]);
        for pipe in ["workspace/USER.md", "workspace/rules/pipe.md"] {
            assert!(Command::new("mkfifo").arg(home.path(pipe)).status().unwrap().success());
        }
        check(&home, &expect![[r#"
            soul: "calm"
            rule ok 500 manual: "text"
            Error, LeftOut: workspace/USER.md: is a pipe, socket or device where a file is expected
            Error, LeftOut: workspace/rules/pipe.md: is a pipe, socket or device where a file is expected
        "#]]).await;
    }

    #[tokio::test]
    async fn a_name_that_is_not_utf8_is_reported() {
        let home = WorkspaceHome::with(&[("workspace/rules/ok.md", "text")]);
        let odd = OsStr::from_bytes(b"odd\xff.md");
        fs::write(home.path("workspace/rules").join(odd), "text").unwrap();
        check(
            &home,
            &expect![[r#"
            soul: "calm"
            rule ok 500 manual: "text"
            Error, LeftOut: workspace/rules/odd�.md: has a name that is not UTF-8
        "#]],
        )
        .await;
    }
}
