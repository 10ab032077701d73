//! Ways that lead somewhere, and ways out that don't.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A workspace `w` beside a folder `out` with a file.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::create_dir_all(path("w/a/b")).unwrap();
    fs::create_dir(path("out")).unwrap();
    fs::write(path("out/secret"), "secret").unwrap();
    fs::write(path("w/a/file"), "file").unwrap();
    home
}

fn link(home: &TempDir, target: &str, name: &str) {
    symlink(target, home.path().join("w").join(name)).unwrap();
}

/// Where a path leads: what is there, `|`, and what follows it; or the problem.
fn way(home: &TempDir, path: &str) -> String {
    way_with(home, path, LastLink::Followed)
}

fn way_with(home: &TempDir, path: &str, last: LastLink) -> String {
    let root = WorkspaceRoot::open(&home.path().join("w")).unwrap();
    match root.resolve(path, last) {
        Ok(resolved) => {
            format!("{}|{}", display_path(&resolved.above), display_path(&resolved.below))
        }
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn ways_inside() {
    let home = home();
    let inside = [
        ("", "|"),
        (".", "|"),
        ("a/b", "a/b|"),
        ("a/file", "a|file"),
        ("./a//b/../file", "a|file"),
        ("a/b/../..", "|"),
        ("new", "|new"),
        ("a/new/newer/file", "a|new/newer/file"),
        ("...", "|..."),
        ("~tilde", "|~tilde"),
    ];
    for (path, expected) in inside {
        assert_eq!(way(&home, path), expected, "{path}");
    }
}

#[test]
fn absolute_paths_inside() {
    let home = home();
    let absolute = |path: &str| home.path().join(path).to_str().unwrap().to_owned();
    assert_eq!(way(&home, &absolute("w/a/file")), "a|file");
    assert_eq!(way(&home, &absolute("w")), "|");
    let outside = absolute("out/secret");
    assert_eq!(
        way(&home, &outside),
        format!("`{outside}` is outside the workspace; write paths from the workspace on")
    );
    // A name that only begins like the workspace's.
    assert!(way(&home, &absolute("w2/file")).contains("is outside the workspace"));
    assert!(way(&home, &absolute("w/../out/secret")).contains("is outside the workspace"));
}

#[test]
fn a_workspace_behind_a_link_has_two_paths() {
    let home = home();
    symlink(home.path().join("w"), home.path().join("v")).unwrap();
    let root = WorkspaceRoot::open(&home.path().join("v")).unwrap();
    for name in ["v/a/file", "w/a/file"] {
        let path = fs::canonicalize(home.path()).unwrap().join(name);
        let resolved = root.resolve(path.to_str().unwrap(), LastLink::Followed).unwrap();
        assert_eq!(resolved.path(), "a/file");
    }
}

/// Promise: `path-stays-in-its-root`
#[test]
fn there_is_no_way_out() {
    let home = home();
    link(&home, "../out", "up");
    link(&home, "up", "twice");
    link(&home, "a/../../out", "winding");
    link(&home, home.path().join("out").to_str().unwrap(), "absolute");
    link(&home, "/proc/self/root/etc", "proc");
    let outside = [
        "..",
        "../out/secret",
        "a/../../out/secret",
        "/etc/passwd",
        "/",
        "up",
        "up/secret",
        "up/../a/file",
        "twice/secret",
        "winding/secret",
        "absolute/secret",
        "proc/passwd",
    ];
    for path in outside {
        let text = way(&home, path);
        assert!(text.contains("is outside the workspace"), "{path}: {text}");
    }
    for path in ["~", "~/notes", "~root/notes"] {
        assert!(way(&home, path).contains("`~` has no meaning here"), "{path}");
    }
}

#[test]
fn links_inside_are_followed() {
    let home = home();
    link(&home, "a", "to_a");
    link(&home, "to_a/file", "to_file");
    link(&home, "../to_a", "a/back");
    link(&home, home.path().join("w/a").to_str().unwrap(), "absolute");
    link(&home, "nowhere/file", "dangling");
    assert_eq!(way(&home, "to_a/file"), "a|file");
    assert_eq!(way(&home, "to_file"), "a|file");
    assert_eq!(way(&home, "a/back/back/b"), "a/b|");
    assert_eq!(way(&home, "absolute/file"), "a|file");
    assert_eq!(way(&home, "dangling"), "|nowhere/file");
    // The way up from a link's target is that of the target.
    assert_eq!(way(&home, "a/back/../to_file"), "a|file");
}

#[test]
fn the_last_link_may_be_kept() {
    let home = home();
    link(&home, "a", "to_a");
    link(&home, "../file", "a/b/to_file");
    assert_eq!(way_with(&home, "to_a", LastLink::Kept), "|to_a");
    assert_eq!(way_with(&home, "to_a/b/to_file", LastLink::Kept), "a/b|to_file");
}

#[test]
fn circles_and_long_ways_end() {
    let home = home();
    link(&home, "loop", "loop");
    link(&home, "b1", "b2");
    link(&home, "b2/x", "b1");
    for path in ["loop", "loop/file", "b1", &"a/../".repeat(300)] {
        assert!(way(&home, path).ends_with("leads through more than 256 folders and links"));
    }
    let problem = way(&home, &"a/".repeat(10_000));
    assert_eq!(problem, "the path is longer than 4095 bytes");
}

#[test]
fn what_is_no_path() {
    let home = home();
    assert_eq!(way(&home, "a\0b"), "the path has a NUL character");
    assert_eq!(way(&home, "a/file/x"), "`a/file` is not a folder");
    assert_eq!(way(&home, "new/../a"), "`new/../a` does not exist");
    assert!(way(&home, &"x".repeat(300)).contains("name too long"));
}

#[test]
fn a_missing_workspace_is_named() {
    let problem = WorkspaceRoot::open(Path::new("/no/such/workspace")).unwrap_err().to_string();
    assert!(problem.starts_with("the workspace `/no/such/workspace` can't be opened: "));
}

#[test]
fn names_stay_on_their_line() {
    assert_eq!(display_path([&OsString::from("a\n[b]\u{1b}")]), "a\\n[b]\\u{1b}");
}
