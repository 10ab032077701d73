//! A value that a model gives never becomes a flag, and no shell reads it.

use super::*;

fn one() -> Value {
    json!([{ "param": "x" }])
}

#[test]
fn a_value_is_no_flag_where_the_program_knows_how_to_tell() {
    // Each would write a file, or read one that was not meant.
    let attempt = Attempt::of(&["sort", "--output=list.txt"]).changes("WORKSPACE/list.txt");
    attempt.through(&one(), json!({ "x": "--output=list.txt" })).told("sort: ").is_stopped();
    let attempt = Attempt::of(&["sort", "-olist.txt"]).changes("WORKSPACE/list.txt");
    attempt.through(&one(), json!({ "x": "-olist.txt" })).told("sort: ").is_stopped();
    let attempt = Attempt::of(&["grep", "--file=list.txt", "list.txt"]).prints("a list");
    let args = json!([{ "param": "x" }, { "param": "y" }]);
    let given = json!({ "x": "--file=list.txt", "y": "list.txt" });
    attempt.through(&args, given).told("exit code 1").is_stopped();
    let attempt = Attempt::of(&["cp", "--target-directory=notes", "list.txt"]);
    let given = json!({ "x": "--target-directory=notes", "y": "list.txt" });
    attempt.changes("WORKSPACE/notes/list.txt").through(&args, given).told("cp: ").is_stopped();
}

/// Promise: `value-is-no-flag`
#[test]
fn a_value_that_could_be_a_flag_is_refused_elsewhere() {
    let refused = "begins with `-`, so the program could take it for a flag";
    let attempt = Attempt::of(&["find", "notes", "-delete"]).changes("WORKSPACE/notes");
    let args = json!([{ "param": "x", "readPath": true }, { "param": "y" }]);
    let given = json!({ "x": "notes", "y": "-delete" });
    attempt.through(&args, given).told(refused).is_stopped();
    let attempt = Attempt::of(&["find", "-fprint", "notes/made"]).changes("WORKSPACE/notes/made");
    let args = json!([{ "param": "x" }, { "param": "y" }]);
    let given = json!({ "x": "-fprint", "y": "notes/made" });
    attempt.through(&args, given).told(refused).is_stopped();
    let attempt =
        Attempt::of(&["git", "diff", "--no-index", "--output=notes/made", "list.txt", "SOUL.md"]);
    let args = json!([{ "kind": "literal", "flag": "diff" }, { "kind": "literal", "flag": "--no-index" },
        { "param": "x" }]);
    let given = json!({ "x": ["--output=notes/made", "list.txt", "SOUL.md"] });
    attempt.changes("WORKSPACE/notes/made").through(&args, given).told(refused).is_stopped();
}

#[test]
fn a_flags_value_is_no_flag_either() {
    // A program for which the flag takes a value only if one is bound to it, as many
    // have them, reads what follows as a flag of its own.
    let args = json!([{ "param": "x", "kind": "flag", "flag": "-u" }]);
    let attempt = Attempt::of(&["sort", "-u", "-olist.txt"]).changes("WORKSPACE/list.txt");
    let attempt = attempt.through(&args, json!({ "x": "-olist.txt" }));
    attempt.told("could be taken for a flag after `-u`").is_stopped();
}

#[test]
fn a_path_that_looks_like_a_flag_is_a_path() {
    let attempt = Attempt::of(&["sort", "-olist.txt"]).changes("WORKSPACE/list.txt");
    let args = json!([{ "param": "x", "readPath": true }]);
    let attempt = attempt.through(&args, json!({ "x": "-olist.txt" }));
    let place = attempt.place();
    // A file of that name is there, and is what is meant.
    place.home.write("workspace/-olist.txt", "an odd name");
    let text = attempt.run(&place);
    assert!(text.contains("an odd name"), "{text}");
    assert_eq!(place.read("WORKSPACE/list.txt"), "a list");
    attempt.told("-olist.txt` does not exist").is_stopped();
}

/// Promise: `no-shell-between`
#[test]
fn what_a_shell_would_run_is_a_plain_value() {
    for value in
        ["x; touch notes/made", "$(touch notes/made)", "`touch notes/made`", "x | tee notes/made"]
            .into_iter()
            .chain(["x && touch notes/made; :", "x > notes/made", "${IFS}x > notes/made"])
    {
        let line = format!("echo {value}");
        let control = Attempt::of(&["sh", "-c", &line]);
        let place = Attempt::of(&["echo"]).place();
        let argv: Vec<String> = control.argv.clone();
        place.direct(&argv, &[]).output().unwrap();
        assert!(place.path("WORKSPACE/notes/made").exists(), "no real attempt: {value}");

        let attempt = Attempt::of(&["echo"]).through(&one(), json!({ "x": value }));
        let place = attempt.place();
        let text = attempt.run(&place);
        assert!(!place.path("WORKSPACE/notes/made").exists(), "{value}: {text}");
        assert!(text.contains(value), "{text}");
    }
}

/// Promise: `no-shell-between`
#[test]
fn a_program_that_runs_others_is_on_no_list() {
    let made = "WORKSPACE/notes/made";
    for argv in [
        ["sh", "-c", "touch notes/made"].as_slice(),
        &["bash", "-c", "touch notes/made"],
        &["env", "touch", "notes/made"],
        &["xargs", "touch", "notes/made"],
        &["nice", "touch", "notes/made"],
        &["timeout", "9", "touch", "notes/made"],
        &["nohup", "touch", "notes/made"],
        &["setsid", "touch", "notes/made"],
    ] {
        Attempt::of(argv).changes(made).told("runs other programs").is_stopped();
    }
}

#[test]
fn a_program_is_named_and_not_a_path() {
    for path in ["/bin/touch", "../../../../../../../bin/touch"] {
        let attempt = Attempt::of(&[path, "notes/made"]).changes("WORKSPACE/notes/made");
        attempt.told("is a path").is_stopped();
    }
}

#[test]
fn a_program_and_a_subcommand_that_are_not_on_the_list_are_not_run() {
    let listed = |binary: &str, subcommand: &str| {
        let attempt = Attempt::of(&[binary, subcommand, "notes/made"]);
        let place = attempt.place();
        let mut declared = declared(binary, &attempt.execution);
        declared["execution"][0]["subcommand"] = json!(subcommand);
        (place, declared)
    };
    // A subcommand that is not listed; the list has the program without any.
    let (place, declared) = listed("git", "init");
    place.direct(&["git", "init", "notes/made"].map(str::to_owned), &[]).output().unwrap();
    assert!(place.path("WORKSPACE/notes/made/.git").exists(), "no real attempt");
    fs::remove_dir_all(place.path("WORKSPACE/notes/made")).unwrap();
    place.declare(&declared);
    place.home.run(&["tools", "trust", "harm"]);
    let text = said(&place.home.run(&["tools", "run", "act"]));
    assert!(!place.path("WORKSPACE/notes/made").exists(), "{text}");
    assert!(text.contains("`allowlist` does not have `init` for `git`"), "{text}");
    // A program that is not listed at all.
    let (place, mut declared) = listed("touch", "");
    declared["allowlist"] = json!({ "ls": [""] });
    place.declare(&declared);
    place.home.run(&["tools", "trust", "harm"]);
    let text = said(&place.home.run(&["tools", "run", "act"]));
    assert!(!place.path("WORKSPACE/notes/made").exists(), "{text}");
    assert!(text.contains("`touch` is not in `allowlist`"), "{text}");
}

#[test]
fn a_value_that_another_command_made_is_checked_like_any_other() {
    let resolved = |to: &str| json!({ "binary": "echo", "args": [to] });
    let args =
        json!([{ "param": "x", "readPath": true, "resolveCommand": resolved("OUTSIDE/secret") }]);
    let attempt = Attempt::of(&["cat", "OUTSIDE/secret"]).prints(SECRET);
    attempt.through(&args, json!({ "x": "list.txt" })).told("`x`: ").is_stopped();
    let args = json!([{ "param": "x", "resolveCommand": resolved("-delete") }]);
    let attempt = Attempt::of(&["find", "-delete"]).changes("WORKSPACE/notes");
    attempt.through(&args, json!({ "x": "list.txt" })).told("take it for a flag").is_stopped();
}

/// Promise: `unresolved-value-stops-call`
#[test]
fn a_value_that_could_not_be_resolved_is_not_used() {
    let resolve = json!({ "binary": "cat", "args": ["missing.txt"] });
    let args = json!([{ "param": "x", "resolveCommand": resolve }]);
    let attempt = Attempt::of(&["cat", "list.txt"]).prints("a list");
    attempt.through(&args, json!({ "x": "list.txt" })).told("could not be resolved").is_stopped();
}
