//! `recto diff`: where two requests part, and whose doing it is.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::servers::{ServedHome, Wire};
use crate::support::*;

const SKILL: &str = "---\nname: notes\ndescription: Takes notes\n---\nWrite short notes.\n";

/// A home in which every kind of thing that can change is on the page.
fn home() -> Home {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    home.write("workspace/SOUL.md", "You are Ada.\n");
    home.write("workspace/memory/MEMORY.md", "- Bo likes tea\n");
    home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brief.\n");
    home.write("workspace/references/map.md", "---\ninclude: always\n---\nHere be dragons.\n");
    home.write("workspace/skills/notes/SKILL.md", SKILL);
    home.ok(&["chat", "-m", "one"]);
    home.ok(&["chat", "-m", "two"]);
    home
}

/// What the diff of the last two turns tells: numbers are `#`, and files stand
/// below the home.
fn told(home: &Home) -> String {
    let folder = home.path("");
    let told = home.ok(&["diff"]).replace(folder.to_str().unwrap(), "");
    // What agrees, and how much of it, is another for every place of the home.
    let change = told.split_once("first difference: ").unwrap().1;
    let is_agreed = |line: &&str| line.starts_with("both ");
    let change: String = change.split_inclusive('\n').filter(|line| !is_agreed(line)).collect();
    let change = change.as_str();
    let mut masked = without_hashes(change).replace(|c: char| c.is_ascii_digit(), "#");
    while masked.contains("##") || masked.contains("#,#") {
        masked = masked.replace("##", "#").replace("#,#", "#");
    }
    masked
}

/// The text with `MEMORY.md#` in place of a memory's name, which ends in a hash.
fn without_hashes(text: &str) -> String {
    let mut parts = text.split("MEMORY.md#");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "MEMORY.md#" + part.get(8..).unwrap_or_default())
}

/// Changes something, says something, and checks what the diff tells.
fn check(change: impl Fn(&Home), expected: &Expect) {
    let home = home();
    change(&home);
    home.ok(&["chat", "-m", "three"]);
    expected.assert_eq(&told(&home));
}

#[test]
fn nothing_that_changed_is_nowhere() {
    check(
        |_| {},
        &expect![[r#"
        none, the later request goes on where the earlier one ended
    "#]],
    );
    // A file that only looks changed.
    check(
        |home| home.write("workspace/skills/notes/SKILL.md", SKILL),
        &expect![[r#"
        none, the later request goes on where the earlier one ended
    "#]],
    );
}

#[test]
fn a_changed_skill_is_named() {
    let longer = SKILL.replace("Takes notes", "Takes good notes");
    check(
        |home| home.write("workspace/skills/notes/SKILL.md", &longer),
        &expect![[r#"
            message #, byte #
            layer   skills
            item    skill notes
            source  workspace/skills/notes/SKILL.md
            cause   a workspace file or item changed
            before  "notes\n\nWrite short notes.\n\n# Rule: tone\nBe brief.\n\n# Reference: map\nHere be dragons."
            now     "good notes\n\nWrite short notes.\n\n# Rule: tone\nBe brief.\n\n# Reference: map\nHere be dragons."
            changed skill notes
        "#]],
    );
}

#[test]
fn a_new_skill_is_named() {
    let skill = "---\nname: poems\ndescription: Writes poems\n---\nRhyme.\n";
    check(
        |home| home.write("workspace/skills/poems/SKILL.md", skill),
        &expect![[r#"
            message #, byte #
            layer   skills
            item    skill poems
            source  workspace/skills/poems/SKILL.md
            cause   a workspace file or item changed
            before  "Rule: tone\nBe brief.\n\n# Reference: map\nHere be dragons."
            now     "poems\nWrites poems\n\nRhyme.\n\n# Rule: tone\nBe brief.\n\n# Reference: map\nHere be dragons."
            added   skill poems
        "#]],
    );
}

#[test]
fn a_changed_rule_is_named() {
    let rule = "---\ninclude: always\n---\nBe long.\n";
    check(
        |home| home.write("workspace/rules/tone.md", rule),
        &expect![[r#"
            message #, byte #
            layer   items
            item    rule tone
            source  workspace/rules/tone.md
            cause   a workspace file or item changed
            before  "brief.\n\n# Reference: map\nHere be dragons."
            now     "long.\n\n# Reference: map\nHere be dragons."
            changed rule tone
        "#]],
    );
}

#[test]
fn a_removed_reference_is_named() {
    check(
        |home| std::fs::remove_file(home.path("workspace/references/map.md")).unwrap(),
        &expect![[r#"
            message #, byte #
            layer   items
            item    reference map
            source  workspace/references/map.md
            cause   a workspace file or item changed
            before  "\n\n# Reference: map\nHere be dragons."
            now     nothing
            removed reference map
        "#]],
    );
}

#[test]
fn a_changed_soul_is_named() {
    check(
        |home| home.write("workspace/SOUL.md", "You are Eve.\n"),
        &expect![[r#"
            message #, byte #
            layer   system
            source  workspace/SOUL.md
            cause   a workspace file or item changed
            before  "Ada.\n\nAnswer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.\n\nAgent:"
            now     "Eve.\n\nAnswer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.\n\nAgent:"
        "#]],
    );
}

#[test]
fn a_changed_memory_is_named() {
    check(
        |home| home.write("workspace/memory/MEMORY.md", "- Bo likes gin\n"),
        &expect![[r#"
            message #, byte #
            layer   memory
            item    memory MEMORY.md#
            source  workspace/memory/MEMORY.md
            cause   the memory snapshot was replaced
            before  "tea\n\nYou have access to the following skills. Use them when relevant.\n\n# notes\nTakes notes\n\nWrite short notes.\n\n# Rule: tone\nBe brief.\n\n# Reference: map\nHere"
            now     "gin\n\nYou have access to the following skills. Use them when relevant.\n\n# notes\nTakes notes\n\nWrite short notes.\n\n# Rule: tone\nBe brief.\n\n# Reference: map\nHere"
            added   memory MEMORY.md#
            removed memory MEMORY.md#
        "#]],
    );
}

#[test]
fn a_new_tool_is_named() {
    let tools = r#"{"tools": [{"name": "rhyme", "description": "Finds rhymes"}],
        "allowlist": {"echo": [""]}, "execution": [{"tool": "rhyme", "binary": "echo"}]}"#;
    check(
        |home| home.write("workspace/skills/notes/tools.json", tools),
        &expect![[r#"
            the tools, byte #
            layer   tools
            item    tool notes.rhyme
            source  workspace/skills/notes/tools.json
            cause   a tool is offered for the first time
            before  nothing
            now     "{\"type\":\"function\",\"function\":{\"name\":\"rhyme\",\"description\":\"Finds rhymes\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}"
            added   tool notes.rhyme
        "#]],
    );
}

#[test]
fn the_day_on_which_the_session_began_is_named() {
    let home = home();
    let say = |zone| home.run_with(&["chat", "-m", "hello"], "", &[("TZ", zone)]);
    // 25 hours apart: the same moment is on another day.
    assert_eq!(say("AAA-14").code, 0);
    assert_eq!(say("BBB+11").code, 0);
    let told = told(&home);
    let (facts, excerpts) = told.split_at(told.find("before").unwrap());
    expect![[r"
        message #, byte #
        layer   bootstrap
        source  built-in
        cause   what the page says of where the agent runs changed (time, folder, version, tools)
    "]]
    .assert_eq(facts);
    // Where in the date they begin to differ, and so where they end, depends on the day.
    assert_eq!(excerpts.lines().count(), 2, "{excerpts}");
    for line in excerpts.lines() {
        assert!(line.contains(r"#\nSurface: terminal\n\nRelevant memories:\n"), "{line}");
    }
}

#[test]
fn trimmed_history_is_named() {
    let home = home();
    let run = home.run_with(&["chat", "-m", "three"], "", &[("RECTO_HISTORY_MAX_MESSAGES", "2")]);
    assert_eq!(run.code, 0, "{}", run.err);
    expect![[r#"
        message #, byte #
        layer   history
        source  session
        cause   history was trimmed, summarised or expanded
        before  "one"
        now     "two"
    "#]]
    .assert_eq(&told(&home));
}

#[test]
fn a_flipped_mode_is_named() {
    let home = home();
    let run = home.run_with(&["chat"], "/mode minimal\nlist the files\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    expect![[r#"
        message #, byte #
        layer   system
        source  built-in
        cause   the mode flipped
        before  "Agent: main, on Recto #.#.#\nWorkspace: workspace\nOperating system: linux\nSession began: #-#-#\nSurface: terminal\n\nRelevant memories:\n- "
        now     "Call the tool that fits, with all its required parameters; then answer from its result.\n\nAgent: main, on Recto #.#.#\nWorkspace: workspace\nO"
        removed reference map, skill notes, memory MEMORY.md#
    "#]]
    .assert_eq(&told(&home));
}

#[test]
fn another_model_is_named() {
    let home = home();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", config + "[models.n]\nprovider = \"scripted\"\nwindow = 16384\n");
    let run = home.run_with(&["chat"], "/model n\nthree\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    expect![[r#"
        message #, byte #
        layer   system
        source  workspace/SOUL.md
        cause   the model changed
        before  "You are Ada.\n\nAnswer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not."
        now     "You are Ada.\n\nAnswer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not."
    "#]]
    .assert_eq(&told(&home));
}

#[test]
fn the_first_changed_byte_is_the_one_at_which_the_bodies_part() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake());
    served.home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brïef, please.\n");
    served.say("one");
    served.home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brïght, please.\n");
    served.say("two");
    let diff = served.home.json(&["diff", "--json"]);
    assert_eq!(diff["before"], json!({"turn": 1, "request": 1}));
    assert_eq!(diff["after"], json!({"turn": 2, "request": 1}));
    let change = &diff["comparison"]["change"];
    let chats = served.fake.chats();
    let text = |chat: &Value| chat["messages"][0]["content"].as_str().unwrap().to_owned();
    let (before, after) = (text(&chats[0]), text(&chats[1]));
    let first = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    assert_eq!((&change["message"], &change["byte"]), (&json!(1), &json!(first)));
    assert_eq!((&change["layer"], &change["cause"]), (&json!("items"), &json!("item_changed")));
    assert!(change["item"].to_string().contains("tone"), "{change}");
    assert!(change["source"].to_string().contains("tone.md"), "{change}");
    assert_eq!(diff["comparison"]["changed"].as_array().unwrap().len(), 1);
    // The cause and its cost are in the record, too.
    let prefix = &served.last_turn()["requests"][0]["prefix"];
    assert_eq!(prefix["cause"], "item_changed");
    assert_eq!(prefix["agreed_bytes"], diff["comparison"]["agreed_bytes"]);
    assert_eq!(prefix["fresh_tokens"], diff["comparison"]["fresh_tokens"]);
}

#[test]
fn turns_of_two_sessions_can_be_compared() {
    let home = home();
    home.ok(&["chat", "--session", "other", "-m", "quite another thing"]);
    home.run(&["diff"]).fails_with("turn 3 is the first of its session that sent something");
    let told = home.ok(&["diff", "2", "3"]);
    assert!(told.contains("turn 2, request 1  →  turn 3, request 1"), "{told}");
    assert!(told.contains("cause   the requests do not continue each other"), "{told}");
    assert!(home.ok(&["diff", "1", "2"]).contains("; first difference: none, "));
    assert!(home.ok(&["diff", "2"]).contains("turn 1, request 1  →  turn 2, request 1"));
    home.run(&["diff", "1", "9"]).fails_with("there is no turn `9`");
    home.run(&["diff", "x"]).fails_with("there is no turn `x`");
}
