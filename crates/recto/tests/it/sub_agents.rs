//! Sub-agents as people meet them: in a chat, in lists, in the record, and by hand.

use expect_test::expect;
use serde_json::Value;

use crate::support::Home;

const CONFIG: &str = "\
model = \"m\"

[models.m]
provider = \"scripted\"
script = \"talk.jsonl\"
window = 16384

[models.small]
provider = \"scripted\"
window = 16384
";

fn home() -> Home {
    let delegates = r#"{"tool_calls": [{"name": "delegate", "arguments": {"agent": "pilot", "task": "When is high water?"}}]}"#;
    let script = format!("{delegates}\n{{\"content\": \"At noon.\"}}\n");
    Home::with(&[
        ("config.toml", CONFIG),
        ("talk.jsonl", &script),
        (
            "workspace/agents/pilot/agent.toml",
            "description = 'Knows the tides.'\nmodel = 'small'\n",
        ),
        ("workspace/agents/pilot/soul.md", "You are the pilot.\n"),
        ("workspace/agents/pilot/skill.md", "Read the tide table.\n"),
    ])
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.ok(arguments)).unwrap()
}

/// Promise: `sub-agents-see-their-task-alone`
/// Promise: `delegated-turns-are-recorded`
#[test]
fn a_task_is_found_from_the_turn_that_gave_it_and_its_record_is_whole() {
    let home = home();
    assert_eq!(home.ok(&["chat", "-m", "When can we sail?"]), "At noon.\n");
    let shown = home.ok(&["show", "last"]);
    assert!(shown.contains("to pilot: turn 2"), "{shown}");
    let child = home.ok(&["show", "2"]);
    assert!(child.contains("the task of sub-agent pilot, given by turn 1"), "{child}");
    let body: Value = serde_json::from_str(&home.ok(&["show", "2", "--body"])).unwrap();
    expect![[r#"[{"role":"system","content":"You are the pilot.\n\nRead the tide table."},{"role":"user","content":"When is high water?"}]"#]]
        .assert_eq(&body["messages"].to_string());
    home.ok(&["replay", "2", "--verify"]);
    home.ok(&["diff", "1", "2"]);
    let sessions = json(&home, &["sessions", "list", "--json"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_says_who_a_sub_agent_is_can_be_asked_about() {
    let home = home();
    home.ok(&["chat", "-m", "When can we sail?"]);
    let told = home.ok(&["why", "soul.md", "2"]);
    assert!(told.contains("agents/pilot/soul.md was on the page (system, "), "{told}");
    let unknown = home.run(&["why", "sole.md", "2"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("turn 2 knew no item `sole.md`"), "{}", unknown.err);
    assert!(unknown.err.contains("recto show 2"), "{}", unknown.err);
}

#[test]
fn sessions_of_tasks_are_counted_in_lists_and_listed_where_they_are_asked_for() {
    let home = home();
    home.ok(&["chat", "-m", "When can we sail?"]);
    home.ok(&["agents", "run", "pilot", "When is low water?"]);
    let plain = home.run(&["sessions", "list"]);
    assert!(!plain.out.contains("high water") && !plain.out.contains("low water"), "{}", plain.out);
    assert!(plain.err.contains("2 tasks of sub-agents"), "{}", plain.err);
    let tasks = json(&home, &["sessions", "list", "--tasks", "--json"]);
    assert_eq!(tasks["sessions"].as_array().unwrap().len(), 2);
    let all = json(&home, &["sessions", "list", "--all", "--json"]);
    assert_eq!(all["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn sub_agents_are_listed_shown_checked_and_given_tasks_by_hand() {
    let home = home();
    let listed = home.ok(&["agents", "list"]);
    assert!(listed.contains("pilot") && listed.contains("Knows the tides."), "{listed}");
    let agents = json(&home, &["agents", "list", "--json"]);
    assert_eq!(agents["agents"][0]["sub_agents"][0]["id"], "pilot");
    let shown = json(&home, &["agents", "show", "pilot", "--json"]);
    assert_eq!(shown["system"], "You are the pilot.\n\nRead the tide table.");
    assert_eq!(home.run(&["agents", "check"]).code, 0);
    let run = home.run(&["agents", "run", "pilot", "When is high water?"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("When is high water?"), "{}", run.out);
    let run = home.run(&["agents", "run", "pliot", "x"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("there is no sub-agent `pliot`"), "{}", run.err);
    assert!(run.err.contains("did you mean `pilot`?"), "{}", run.err);
}

#[test]
fn what_is_wrong_with_sub_agents_is_told() {
    let home = home();
    home.write("workspace/agents/mate/agent.toml", "model = 'smal'\ntools = ['read_fiel']\n");
    home.write("workspace/agents/mate/soul.md", "You are the mate.\n");
    home.write("workspace/agents/ghost/agent.toml", "enabled = true\n");
    let run = home.run(&["agents", "check"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let told = format!("{}{}", run.out, run.err);
    for words in ["`smal`", "did you mean `small`?", "`read_fiel`", "did you mean `read_file`?"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.contains("no tasks for this sub-agent"), "{told}");
    // So does the page of one.
    let shown = home.ok(&["agents", "show", "mate"]);
    assert!(shown.contains("note: it names the model `smal`, which is not there"), "{shown}");
}

#[test]
fn tools_that_a_sub_agent_never_gets_are_told() {
    let home = home();
    home.write(
        "workspace/agents/mate/agent.toml",
        "model = 'small'\ntools = ['read_file', 'write_file', 'delegate', 'list_files']\n",
    );
    home.write("workspace/agents/mate/soul.md", "You are the mate.\n");
    home.write(
        "config.toml",
        format!(
            "{CONFIG}\n[delegate]\nmax_depth = 1\n[items.tool.list_files]\ninclude = 'manual'\n"
        ),
    );
    let run = home.run(&["agents", "check"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let told = format!("{}{}", run.out, run.err).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("`write_file`, which it does not get: a person is asked"), "{told}");
    assert!(told.contains(r#"in `[items.tool."write_file"]`"#), "{told}");
    assert!(told.contains("`delegate`, which it never gets: `delegate.max_depth` is 1"), "{told}");
    assert!(told.contains("`list_files`, which comes by hand alone"), "{told}");
    assert!(!told.contains("`read_file`"), "{told}");
    // A tool that only a running agent has, and one with nobody else to give a task to.
    home.write("workspace/agents/mate/agent.toml", "tools = ['schedule', 'delegate']\n");
    home.write("workspace/agents/pilot/agent.toml", "enabled = false\n");
    home.write("config.toml", format!("{CONFIG}\n[tools]\nschedule = true\n"));
    let told = home.run(&["agents", "check"]);
    let told = told.out + &told.err;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("`schedule`, which it does not get: a person is asked"), "{told}");
    assert!(told.contains("`delegate`, which it never gets: there is nobody else"), "{told}");
}
