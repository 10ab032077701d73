//! `recto init`.

use recto_context::{Text, TokenCounter, Tokens};

use crate::support::*;

#[test]
fn a_new_home_has_something_of_everything() {
    let home = Home::ready();
    assert_eq!(home.run(&["config", "check"]).code, 0);
    for shelf in ["skills", "rules", "references"] {
        let check = home.run(&[shelf, "check"]);
        assert_eq!((check.code, check.out.as_str()), (0, ""), "{}", check.err);
    }
    let rules = home.run(&["rules", "list", "--json"]).out;
    let rules: serde_json::Value = serde_json::from_str(&rules).unwrap();
    let modes: Vec<_> =
        rules["rules"].as_array().unwrap().iter().map(|rule| &rule["include"]).collect();
    assert_eq!(modes, ["always", "manual", "agent"]);
    let context = home.context("hello", &[]);
    assert_eq!(names(&context, "system"), ["SOUL.md", "AGENTS.md"]);
    assert!(names(&context, "skills").contains(&"clock".to_owned()));
    let tools: Vec<_> =
        context["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(
        tools,
        [
            "read_item",
            "read_file",
            "write_file",
            "list_files",
            "remember",
            "recall",
            "forget",
            "utc_time",
        ]
    );
    assert_eq!(context["notices"], serde_json::json!([]));
}

#[test]
fn all_of_it_is_under_six_hundred_tokens_and_little_more_than_a_thousand_with_the_tools() {
    let home = Home::ready();
    let counter = TokenCounter::estimated();
    let files = home.tree().into_iter().filter(|(path, _)| !path.ends_with("config.toml"));
    let texts = files.map(|(_, bytes)| Text::from(String::from_utf8(bytes).unwrap()));
    let total: Tokens = texts.map(|text| counter.text(&text)).sum();
    assert!(total < Tokens::new(600), "{total}");
    let context = home.context("hello", &[]);
    let prompt =
        context["budget"]["used"].as_u64().unwrap() + context["budget"]["tools"].as_u64().unwrap();
    assert!(prompt < 1_050, "{prompt}");
}

#[test]
fn a_second_run_changes_nothing() {
    let home = Home::ready();
    home.write("workspace/SOUL.md", "mine");
    let before = home.tree();
    let run = home.run(&["init"]);
    assert_eq!(run.code, 0);
    assert!(run.out.lines().all(|line| line.starts_with("kept")), "{}", run.out);
    assert_eq!(home.tree(), before);
}

/// The command that `init` says comes next, or behind that, without the name of the program.
fn told_command(err: &str, when: &str) -> Vec<String> {
    let line = err.lines().find_map(|line| line.strip_prefix(when));
    let line = line.unwrap_or_else(|| panic!("nothing is {when}\n{err}"));
    let command = line.trim().strip_prefix("recto ").unwrap_or_else(|| panic!("{line}"));
    command.split(' ').map(str::to_owned).collect()
}

/// Promise: `advice-can-be-typed`
#[test]
fn what_is_said_to_come_next_works_where_a_model_is_there() {
    let home = Home::with(&[("config.toml", "[models.m]\nprovider = \"scripted\"\n")]);
    let run = home.run(&["init"]);
    let command = told_command(&run.err, "next:");
    assert!(run.err.contains("`m` answers (configured)"), "{}", run.err);
    // This home was named by a flag, and would not be found without it.
    let place = home.path("").display().to_string();
    assert_eq!(command[..2], ["--home", &place], "{}", run.err);
    let mut typed: Vec<&str> = command[2..].iter().map(String::as_str).collect();
    typed.extend(["-m", "hi"]);
    let talk = home.run(&typed);
    assert_eq!((talk.code, &*talk.out), (0, "You said: hi\n"), "{}", talk.err);
}

/// Promise: `advice-can-be-typed`
#[test]
fn without_a_model_the_way_to_one_comes_first() {
    let run = Home::new().run(&["init"]);
    assert!(run.err.contains("no model answers yet"), "{}", run.err);
    assert!(run.err.contains("start Ollama"), "{}", run.err);
    assert!(told_command(&run.err, "then:").ends_with(&["chat".to_owned()]), "{}", run.err);
    if cfg!(feature = "embedded") {
        let next = told_command(&run.err, "next:");
        assert_eq!(next[next.len() - 4..], ["models", "pull", "smollm2", "minilm"]);
    }
}

/// Promise: `secrets-for-owner-only`
#[test]
#[cfg(unix)]
fn what_it_writes_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::ready();
    let mode = |name: &str| home.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("config.toml"), 0o600);
    assert_eq!(mode(""), 0o700);
    assert_eq!(mode("workspace/memory"), 0o700);
}

#[test]
fn a_home_that_is_a_file_is_an_error() {
    let home = Home::new();
    std::fs::write(home.path("").with_file_name("home"), "a file").unwrap();
    home.run(&["init"]).fails_with("cannot write");
    home.run(&["context", "hello"]).fails_with("config.toml");
}

/// Promise: `examples-run`
#[test]
fn the_examples_in_the_config_are_right() {
    // Every commented line, taken at its word, loads.
    let home = Home::ready();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let is_example =
        |line: &&str| line.contains(" = ") || line.starts_with("# [") || line.starts_with('[');
    let examples: Vec<&str> = config.lines().filter(is_example).collect();
    let examples = examples.iter().map(|line| line.trim_start_matches("# ")).collect::<Vec<_>>();
    assert!(examples.len() > 8, "{examples:?}");
    home.write("config.toml", examples.join("\n"));
    assert!(examples.contains(&"[models.echo]"), "{examples:?}");
    let check = home.run(&["config", "check"]);
    assert_eq!(check.code, 0, "{}", check.out);
    let context = home.context("hello", &[]);
    assert_eq!(context["window"]["tokens"], 16_384);
    assert!(names(&context, "items").contains(&"commits".to_owned()));
}

#[test]
fn minimal_mode_is_the_shorter_one() {
    let home = Home::ready();
    let prompt = |mode: &str| {
        let context = home.context("fix src/main.rs", &["--context-mode", mode]);
        let budget = &context["budget"];
        budget["used"].as_u64().unwrap() + budget["tools"].as_u64().unwrap()
    };
    assert!(prompt("minimal") < prompt("full"));
}

#[test]
fn what_is_not_in_the_session_is_named() {
    let home = Home::ready();
    home.write("workspace/rules/moo.md", "Always say moo.");
    let context = home.context("hi", &[]);
    let available: Vec<(&str, &str)> = context["available"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["name"].as_str().unwrap(), item["include"].as_str().unwrap()))
        .collect();
    assert_eq!(
        available,
        [("commits", "manual"), ("moo", "manual"), ("units", "agent"), ("recto", "agent")]
    );
    assert!(home.run(&["context", "hi"]).out.contains("not in the session: rule commits (manual)"));
}
