//! Paths that a model gives stay in the workspace, and characters that end an
//! argument or a line are not passed on.

use super::*;

fn to_read() -> Value {
    json!([{ "param": "x", "readPath": true }])
}

fn to_write() -> Value {
    json!([{ "param": "x", "writePath": true }])
}

/// Promise: `path-stays-in-its-root`
#[test]
fn a_path_to_read_does_not_leave_the_workspace() {
    for path in [
        "../../outside/secret",
        "notes/../../../outside/secret",
        "OUTSIDE/secret",
        "WORKSPACE/../../outside/secret",
        "link",
        "notes/../link",
        "./link",
    ] {
        let attempt = Attempt::of(&["cat", path]).prints(SECRET);
        attempt.through(&to_read(), json!({ "x": path })).told("`x`: ").is_stopped();
    }
}

/// Promise: `path-stays-in-its-root`
#[test]
fn a_tilde_is_nobodys_home() {
    let attempt = Attempt::of(&["cat", "OUTSIDE/person/.ssh/id"]).prints(SECRET);
    attempt.through(&to_read(), json!({ "x": "~/.ssh/id" })).told("`x`: ").is_stopped();
    let attempt = Attempt::of(&["cat", "OUTSIDE/person/.ssh/id"]).prints(SECRET);
    attempt.through(&to_read(), json!({ "x": "$HOME/.ssh/id" })).told("`x`: ").is_stopped();
}

#[test]
fn a_path_to_write_does_not_leave_the_workspace() {
    for path in ["../../outside/new", "OUTSIDE/new", "notes/out/new", "notes/../notes/out/new"] {
        let attempt = Attempt::of(&["tee", path]).changes("OUTSIDE/new");
        let attempt = attempt.through(&to_write(), json!({ "x": path }));
        let with_link = || {
            let place = attempt.place();
            std::os::unix::fs::symlink(place.path("OUTSIDE"), place.path("WORKSPACE/notes/out"))
                .unwrap();
            place
        };
        let place = with_link();
        attempt.control(&place).output().unwrap();
        assert!(place.path("OUTSIDE/new").exists(), "no real attempt: {path}");
        let place = with_link();
        let text = attempt.run(&place);
        assert!(!place.path("OUTSIDE/new").exists(), "{path}: {text}");
        assert!(text.contains("`x`: "), "{path}: {text}");
    }
}

#[test]
fn a_link_is_not_written_through() {
    let attempt = Attempt::of(&["tee", "link"]).changes("OUTSIDE/secret");
    attempt.through(&to_write(), json!({ "x": "link" })).told("`x`: ").is_stopped();
}

#[test]
fn a_path_that_the_skill_does_not_call_one_is_held_by_the_sandbox() {
    let args = json!([{ "param": "x" }]);
    for path in ["../../outside/secret", "OUTSIDE/secret", "link"] {
        let attempt = Attempt::of(&["cat", path]).prints(SECRET);
        attempt.through(&args, json!({ "x": path })).told(NO_ACCESS).is_stopped();
    }
}

#[test]
fn the_folder_to_work_in_does_not_leave_the_workspace() {
    for folder in ["..", "../../outside", "OUTSIDE", "notes/../.."] {
        let attempt = Attempt::of(&["ls"]).declaring("workingDir", json!(folder));
        let place = attempt.place();
        let outside = place.path("OUTSIDE");
        let control = Command::new("ls").current_dir(outside).output().unwrap();
        assert!(both(&control.stdout, b"").contains("secret"), "no real attempt");
        let output = attempt.tool(&place).output().unwrap();
        let text = both(&output.stdout, &output.stderr);
        assert!(!text.lines().any(|line| ["secret", "config.toml"].contains(&line)), "{text}");
        assert_ne!(output.status.code(), Some(0), "{folder}: {text}");
    }
}

#[test]
fn a_line_break_does_not_begin_a_second_line() {
    for value in ["one\ntwo: forged", "one\rtwo: forged", "one\u{85}two: forged"] {
        let attempt = Attempt::of(&["echo", value]).prints("two: forged");
        let attempt = attempt.through(&json!([{ "param": "x" }]), json!({ "x": value }));
        attempt.told("line breaks and other control characters can't be passed on").is_stopped();
    }
}

#[test]
fn a_terminal_is_not_talked_to_by_a_value() {
    let value = "\u{1b}]0;title\u{7}";
    let attempt = Attempt::of(&["echo", value]).prints(value);
    let attempt = attempt.through(&json!([{ "param": "x" }]), json!({ "x": value }));
    attempt.told("can't be passed on").is_stopped();
}

#[test]
fn an_argument_is_not_cut_off_by_a_nul() {
    // A program would see what is before it only; no system hands over the rest.
    let attempt = Attempt::of(&["cat", "list.txt"]).prints("a list");
    for (args, value) in [
        (json!([{ "param": "x" }]), "list.txt\0.png"),
        (to_read(), "list.txt\0.png"),
        (to_read(), "\0list.txt"),
        (to_write(), "list.txt\0"),
        (json!([{ "param": "x", "kind": "stdin" }]), "a list\0"),
        (json!([{ "param": "x", "kind": "flag", "flag": "--show=" }]), "\0"),
    ] {
        let declaration = args.to_string();
        let attempt = Attempt::of(&["cat", "list.txt"])
            .prints("a list")
            .through(&args, json!({ "x": value }));
        let text = attempt.run(&attempt.place());
        assert!(text.contains("can't be passed on"), "{declaration}: {text}");
        assert!(!text.contains("a list"), "{declaration}: {text}");
    }
    let output = attempt.control(&attempt.place()).output().unwrap();
    assert!(both(&output.stdout, b"").contains("a list"), "no real attempt");
}
