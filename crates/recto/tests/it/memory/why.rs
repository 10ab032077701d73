//! Why a memory was on the page of a turn or was not, also where the record is silent.

use serde_json::{Value, json};

use super::many;
use crate::support::*;

const QUESTION: &str = "Which track does the train of Wilma leave from?";

/// A home with a thousand memories and a turn.
fn talked() -> Home {
    let home = Home::scripted(&[r#"{"content":"Track 1."}"#]);
    home.write("workspace/memory/MEMORY.md", many(1_000));
    home.ok(&["chat", "-m", QUESTION]);
    home
}

/// The id of the memory with this text.
fn id_of(home: &Home, text: &str, flags: &[&str]) -> String {
    let list =
        home.json(&[&["memory", "list", "--all", "--json"], flags].concat())["memories"].clone();
    let found = list.as_array().unwrap().iter().find(|one| one["text"] == text);
    found.unwrap()["name"].as_str().unwrap().to_owned()
}

/// What `recto why` says of an id, and the status of it.
fn why(home: &Home, id: &str) -> (String, Value) {
    let said = home.ok(&["why", id]);
    let answer = home.json(&["why", id, "--json"]);
    assert_eq!(answer["items"].as_array().unwrap().len(), said.lines().count(), "{answer}");
    (said, answer["items"][0].clone())
}

#[test]
fn no_memory_is_left_without_an_answer() {
    let home = talked();
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    let all = list.as_array().unwrap();
    assert_eq!(all.len(), 1_000);
    // Some of all, from what was found to what nobody looked at.
    for memory in all.iter().step_by(97) {
        let id = memory["name"].as_str().unwrap();
        let (said, answer) = why(&home, id);
        assert!(said.starts_with(&format!("memory {id} was ")), "{said}");
        assert!(answer["status"].is_string(), "{answer}");
    }
    let id = id_of(&home, "Seeds for the balcony came in parcel 305", &[]);
    let (said, answer) = why(&home, &id);
    assert_eq!((&answer["status"], &answer["all"]), (&json!("outranked"), &json!(1_000)));
    assert!(answer["looked_at"].as_u64().is_some_and(|count| count > 0), "{answer}");
    assert!(said.contains("that search looked at; asked again, "), "{said}");
    // The digits alone, and with their kind.
    let digits = id.rsplit_once('#').unwrap().1;
    assert_eq!(home.ok(&["why", digits]), said);
    assert_eq!(home.ok(&["why", &format!("memory:{id}")]), said);
}

#[test]
fn the_digits_of_what_was_on_the_page_are_enough() {
    let home = Home::scripted(&[r#"{"content":"Hello!"}"#]);
    let id = home.remember("Bo likes tea.", &[]);
    home.ok(&["chat", "-m", "hello"]);
    let (said, answer) = why(&home, &id);
    assert_eq!(answer["status"], "in_full", "{said}");
    assert_eq!(home.ok(&["why", &id.rsplit_once('#').unwrap().1[..4]]), said);
    let unknown = home.run(&["why", "MEMORY.md#00000000"]);
    unknown.fails_with("knew no item `MEMORY.md#00000000`");
    assert!(unknown.err.contains("no memory has this id now"), "{}", unknown.err);
    // Nothing is guessed from too few digits.
    home.run(&["why", &id.rsplit_once('#').unwrap().1[..3]]).fails_with("knew no item");
}

#[test]
fn what_came_later_is_told_from_what_was_too_old() {
    let home = talked();
    home.write("workspace/memory/2001-01-02.md", "- Went to the lake.\n");
    home.write(
        "workspace/memory/MEMORY.md",
        many(1_000) + "- The barn is red. (added at 2999-01-02T03:04:05Z)\n",
    );
    let (said, answer) = why(&home, &id_of(&home, "The barn is red.", &[]));
    assert_eq!(
        (&answer["status"], &answer["added"]),
        (&json!("not_yet"), &json!("2999-01-02T03:04:05Z"))
    );
    assert!(said.contains("it was remembered later, at 2999-01-0"), "{said}");
    let (said, answer) = why(&home, &id_of(&home, "Went to the lake.", &[]));
    assert_eq!((&answer["status"], &answer["day"]), (&json!("old_note"), &json!("2001-01-02")));
    assert!(said.contains("it is a note of 2001-01-02"), "{said}");
}

#[test]
fn what_says_the_same_is_told_with_what_was_taken() {
    let home = Home::scripted(&[r#"{"content":"In the hall."}"#]);
    home.write(
        "workspace/memory/MEMORY.md",
        "- The walrus poster hangs in the hall.\n- the WALRUS poster hangs in the hall\n"
            .to_owned()
            + &many(1_000),
    );
    home.ok(&["chat", "-m", "Where does the walrus poster hang?"]);
    let ids = ["The walrus poster hangs in the hall.", "the WALRUS poster hangs in the hall"]
        .map(|text| id_of(&home, text, &[]));
    let answers = ids.clone().map(|id| why(&home, &id));
    let double = answers.iter().position(|(_, answer)| answer["status"] == "says_the_same");
    let double = double.unwrap_or_else(|| panic!("{answers:?}"));
    let (said, answer) = &answers[double];
    assert_eq!(answer["of"]["name"], json!(ids[1 - double]), "{answer}");
    assert!(said.contains(&format!("it says the same as memory {}", ids[1 - double])), "{said}");
    assert_eq!(answers[1 - double].1["status"], "in_full", "{answers:?}");
}

/// With the real encoder.
#[test]
fn what_says_nearly_the_same_is_told_with_what_was_taken() {
    let home = Home::scripted(&[r#"{"content":"In the hall."}"#]);
    with_encoder(&home);
    let texts =
        ["The walrus poster hangs in the hall.", "The walrus poster is hanging in the hall."];
    let memories = texts.map(|text| format!("- {text}\n")).concat() + &many(60);
    home.write("workspace/memory/MEMORY.md", memories);
    // It embeds what a turn has no time for.
    home.ok(&["memory", "search", "walrus"]);
    home.ok(&["chat", "-m", "Where does the walrus poster hang?"]);
    let answers = texts.map(|text| why(&home, &id_of(&home, text, &[])));
    let status = |at: usize| answers[at].1["status"].as_str().unwrap();
    let mut both = [status(0), status(1)];
    both.sort_unstable();
    assert_eq!(both, ["in_full", "says_the_same"], "{answers:?}");
}

/// With the real encoder, to which these sound all the same.
///
/// Promise: `differing-facts-both-come`
#[test]
fn facts_that_differ_in_a_number_are_never_left_for_each_other() {
    let home = Home::scripted(&[r#"{"content":"42 km."}"#]);
    with_encoder(&home);
    let runs: Vec<String> = (3..10).map(|km| format!("Ran {km} km")).collect();
    let lines: String = runs.iter().map(|text| format!("- {text}\n")).collect();
    home.write("workspace/memory/MEMORY.md", lines + &many(60));
    home.ok(&["memory", "search", "running"]);
    home.ok(&["chat", "-m", "How many km have I ran?"]);
    for text in &runs {
        let (said, answer) = why(&home, &id_of(&home, text, &[]));
        assert_ne!(answer["status"], "says_the_same", "{said}");
    }
}

#[test]
fn what_a_session_may_not_see_is_told_at_the_terminal() {
    let home = talked();
    let id = home.remember("Anna likes tea.", &["--person", "anna"]);
    let (said, answer) = why(&home, &id);
    assert_eq!((&answer["status"], &answer["by"]), (&json!("not_seen"), &json!("owner")));
    assert!(said.contains("it is not for this session, which is yours"), "{said}");
}

#[test]
fn a_page_without_memories_says_why_it_has_none() {
    let home = Home::scripted(&[r#"{"content":"Done."}"#]);
    home.write("workspace/memory/MEMORY.md", many(1_000));
    home.ok(&["chat", "--context-mode", "minimal", "-m", "read notes.txt"]);
    let (said, answer) = why(&home, &id_of(&home, "The museum closes early in week 8", &[]));
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("no_memories"), &json!("mode")));
    assert!(said.contains("left out in this mode"), "{said}");
}

#[test]
fn without_a_search_none_is_claimed() {
    let home = Home::scripted(&[r#"{"content":"Track 1."}"#]);
    home.write("workspace/memory/MEMORY.md", many(1_000));
    home.ok(&["chat", "-m", "/set search off"]);
    home.ok(&["chat", "-m", QUESTION]);
    let (said, answer) = why(&home, &id_of(&home, "The museum closes early in week 8", &[]));
    assert_eq!(answer["status"], "not_searched", "{said}");
    assert!(said.contains("search looked at no memories"), "{said}");
}
