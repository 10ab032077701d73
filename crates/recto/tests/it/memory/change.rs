//! What is edited and forgotten, whoever it belongs to, and what is said of it.

use std::fs;

use serde_json::json;

use crate::support::*;

fn empty() -> Home {
    Home::with(&[])
}

#[test]
fn an_id_leads_to_the_memory_of_anybody() {
    let home = empty();
    home.remember("The owner snores.", &[]);
    let scopes: [[&str; 2]; 5] = [
        ["--person", "anna"],
        ["--person", "Ben O'Neil/../x"],
        ["--conversation", "telegram-4711"],
        ["--sub-agent", "ops"],
        ["--sub-agent", "Night Shift"],
    ];
    let text = |at: usize| format!("Fact number {at} of somebody.");
    let ids: Vec<String> =
        (0..scopes.len()).map(|at| home.remember(&text(at), &scopes[at])).collect();
    for (at, (scope, id)) in scopes.iter().zip(&ids).enumerate() {
        let run = home.run(&["memory", "edit", id, &format!("Changed {at}.")]);
        assert_eq!(run.code, 0, "{scope:?}: {}", run.err);
        assert_eq!(home.remembered(scope).iter().filter(|one| one.contains("Changed")).count(), 1);
        // Its digits are enough.
        let new = run.out.trim_end().rsplit_once('#').unwrap().1.to_owned();
        let run = home.run(&["memory", "forget", &new[..6]]);
        assert_eq!(run.code, 0, "{scope:?}: {}", run.err);
        assert!(run.err.contains("memory/archive/"), "{}", run.err);
        assert!(!home.remembered(scope).iter().any(|one| one.contains("Changed")));
    }
    assert_eq!(home.remembered(&[]), ["The owner snores."]);
    let gone = home.run(&["memory", "forget", &ids[0], &ids[0]]);
    gone.fails_with("there is no memory");
}

#[test]
fn an_old_note_is_changed_like_any_other() {
    let home = empty();
    home.write("workspace/memory/2001-01-02.md", "- Went to the lake.\n");
    let list = home.json(&["memory", "list", "--all", "--json"])["memories"].clone();
    let id = list[0]["name"].as_str().unwrap().to_owned();
    home.ok(&["memory", "edit", &id, "Went to the hills."]);
    let file = fs::read_to_string(home.path("workspace/memory/2001-01-02.md")).unwrap();
    assert_eq!(file, "- Went to the hills.\n");
}

#[test]
fn what_can_mean_several_is_listed_with_the_files() {
    let home = empty();
    let scopes: [&[&str]; 4] =
        [&[], &["--person", "anna"], &["--conversation", "discord-7"], &["--sub-agent", "ops"]];
    let ids: Vec<String> =
        scopes.iter().map(|scope| home.remember("Likes\ttea.\u{1b}[2J", scope)).collect();
    let digits = ids[0].rsplit_once('#').unwrap().1;
    for command in [&["memory", "forget", digits][..], &["memory", "edit", digits, "New."]] {
        let run = home.run(command);
        run.fails_with("can mean 4 memories");
        for id in &ids {
            let is_listed = |line: &str| {
                line.trim_start().starts_with(&format!("{id} ")) && line.contains("  Likes tea.")
            };
            assert!(run.err.lines().any(is_listed), "{id}: {}", run.err);
        }
        assert!(!run.err.contains('\u{1b}'), "{}", run.err);
    }
    // A flag says which of them.
    home.ok(&["memory", "edit", digits, "Likes gin.", "--person", "anna"]);
    home.ok(&["memory", "forget", digits, "--sub-agent", "ops"]);
    home.run(&["memory", "forget", digits, "--person", "anna"]).fails_with("there is no memory");
    home.run(&["memory", "forget", digits]).fails_with("can mean 2 memories");
    home.ok(&["memory", "forget", &ids[2], &ids[0]]);
    assert_eq!(home.remembered(&["--person", "anna"]), ["Likes gin."]);
}

#[test]
fn a_flag_sets_a_mark_and_takes_it_off() {
    let home = empty();
    let file = || fs::read_to_string(home.path("workspace/memory/MEMORY.md")).unwrap();
    let before = "- [important] Bo likes tea.\n- Bo likes gin.\n";
    home.write("workspace/memory/MEMORY.md", before);
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    let is_tea = |one: &&serde_json::Value| one["text"] == "Bo likes tea.";
    let tea = list.as_array().unwrap().iter().find(is_tea).unwrap();
    let id = tea["name"].as_str().unwrap().to_owned();
    // An editor that fails if anybody opens it.
    let edit = |flags: &[&str]| {
        let run = home.run_with(
            &[&["memory", "edit", &id], flags].concat(),
            "",
            &[("EDITOR", "false"), ("VISUAL", "false")],
        );
        assert_eq!((run.code, run.out.trim_end()), (0, &*id), "{flags:?}: {}", run.err);
        run.err
    };
    assert!(edit(&["--not-important"]).contains("changed in"));
    assert_eq!(file(), "- Bo likes tea.\n- Bo likes gin.\n");
    assert!(edit(&["--not-important", "--not-shared"]).contains("nothing was changed"));
    assert!(edit(&["--shared"]).contains("changed in"));
    assert_eq!(file(), "- [shared] Bo likes tea.\n- Bo likes gin.\n");
    assert_eq!(home.remembered(&["--as", "group"]), ["Bo likes tea."]);
    edit(&["--important", "--not-shared"]);
    assert_eq!(file(), before);
    assert_eq!(home.remembered(&["--as", "group"]), [""; 0]);
    // With a text, marks stay unless the flags or the text say otherwise.
    let run = home.run(&["memory", "edit", &id, "Bo likes rum.", "--shared"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(file(), "- [important] [shared] Bo likes rum.\n- Bo likes gin.\n");
    let id = run.out.trim_end();
    home.ok(&["memory", "edit", id, "Bo likes milk.", "--not-important", "--not-shared"]);
    assert_eq!(file(), "- Bo likes milk.\n- Bo likes gin.\n");
    let both = home.run(&["memory", "edit", id, "--shared", "--not-shared"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

#[test]
fn an_empty_text_is_no_way_to_forget() {
    let home = empty();
    let id = home.remember("Bo likes tea.", &["--important"]);
    for text in ["", " \n\t"] {
        let run = home.run(&["memory", "edit", &id, text]);
        run.fails_with("a memory needs a text");
        assert!(run.err.contains(&format!("`recto memory forget {id}`")), "{}", run.err);
    }
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    assert_eq!((&list[0]["name"], &list[0]["important"]), (&json!(id), &json!(true)));
}

#[test]
fn marks_alone_are_no_text() {
    let home = empty();
    let id = home.remember("Bo likes tea.", &[]);
    let run = home.run(&["memory", "edit", &id, "[important]"]);
    run.fails_with("a memory needs a text");
    assert!(run.err.contains("--important"), "{}", run.err);
}

#[test]
fn an_id_is_not_called_unknown_without_a_word_of_what_can_not_be_read() {
    let home = empty();
    let id = home.remember("Bo likes tea.", &["--person", "anna"]);
    fs::remove_file(home.path("workspace/memory/people/anna.md")).unwrap();
    home.write("workspace/memory/people/anna.md/x", "");
    for id in [&*id, "abcd1234"] {
        let run = home.run(&["memory", "forget", id]);
        run.fails_with("there is no memory");
        assert!(run.err.contains("`recto memory check` names them"), "{}", run.err);
    }
    home.write("workspace/memory/MEMORY.md/x", "");
    let list = home.run(&["memory", "list"]);
    assert_eq!((list.code, list.out.as_str()), (0, ""));
    assert!(list.err.contains("nothing that is remembered can be read"), "{}", list.err);
}

#[test]
fn a_name_that_is_too_long_for_a_file_needs_its_flag() {
    let home = empty();
    let person = "p".repeat(400);
    let id = home.remember("Likes tea.", &["--person", &person]);
    let run = home.run(&["memory", "edit", &id, "--shared"]);
    run.fails_with("there is no memory");
    assert!(run.err.contains("add --person"), "{}", run.err);
    home.ok(&["memory", "edit", &id, "--shared", "--person", &person]);
}
