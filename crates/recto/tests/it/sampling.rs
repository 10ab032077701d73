//! `--system`, `--temperature` and their like: how a model is asked in one run.

use crate::support::*;

#[test]
fn a_system_text_follows_the_agents_own_in_this_run_alone() {
    let home = Home::scripted(&[]);
    let previewed = home.context("hi", &["--system", "Speak French."]);
    let system = layer(&previewed, "system").to_string();
    assert!(system.contains("client"), "{system}");
    let said = home.run(&["chat", "-m", "hi", "--system", "Speak French."]);
    assert_eq!(said.code, 0, "{}", said.err);
    let body = home.ok(&["show", "last", "--body"]);
    assert_eq!(body.matches("Speak French.").count(), 1, "{body}");
    home.ok(&["replay", "last", "--verify"]);
    let in_session =
        home.ok(&["context", "hi", "--session", "default", "--raw", "--system", "Speak Dutch."]);
    assert!(in_session.contains("Speak Dutch."), "{in_session}");
    home.ok(&["chat", "-m", "hi again"]);
    assert!(!home.ok(&["show", "last", "--body"]).contains("Speak"));
}

#[test]
fn the_choice_of_words_can_be_set_for_one_run() {
    let home = Home::scripted(&[]);
    let flags = ["--temperature", "0.25", "--top-p", "0.5", "--max-tokens", "77"];
    let raw = home.ok(&[&["context", "hi", "--raw"][..], &flags].concat());
    for text in ["\"temperature\":0.25", "\"top_p\":0.5", "77"] {
        assert!(raw.contains(text), "{text}: {raw}");
    }
    home.ok(&[&["chat", "-m", "hi"][..], &flags].concat());
    let body = home.ok(&["show", "last", "--body"]);
    assert!(body.contains("\"temperature\":0.25"), "{body}");
    home.ok(&["chat", "-m", "hi"]);
    assert!(!home.ok(&["show", "last", "--body"]).contains("temperature"));
}

#[test]
fn a_value_that_cannot_be_is_told_with_those_that_can() {
    let home = Home::scripted(&[]);
    for (flag, value, told) in [
        ("--temperature", "3", "a number from 0 to 2"),
        ("--temperature", "-1", "a number from 0 to 2"),
        ("--temperature", "hot", "a number from 0 to 2"),
        ("--top-p", "1.5", "a number from 0 to 1"),
        ("--max-tokens", "0", "--max-tokens"),
    ] {
        let run = home.run(&["chat", "-m", "hi", flag, value]);
        assert_eq!(run.code, 2, "{flag} {value}: {}", run.err);
        assert!(run.err.contains(told), "{flag} {value}: {}", run.err);
    }
}
