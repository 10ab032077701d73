//! Several agents in one home: which one answers, and what each has.

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::support::{Home, Run};

/// Agents `main` and `work`, with a model each that repeats what it is told.
const CONFIG: &str = "\
[agents.main]
model = \"m\"

[agents.work]
workspace = \"work\"
model = \"w\"
search.top_n = 2

[agents.work.items.rule.tone]
include = \"always\"

[[bindings]]
surface = \"terminal\"
conversation = \"work-*\"
agent = \"work\"

[models.m]
provider = \"scripted\"
window = 16384

[models.w]
provider = \"scripted\"
window = 16384
";

fn home() -> Home {
    Home::with(&[
        ("config.toml", CONFIG),
        ("workspace/SOUL.md", "You keep a lighthouse.\n"),
        ("workspace/rules/tone.md", "Speak of the sea.\n"),
        ("work/SOUL.md", "You are a clerk.\n"),
        ("work/rules/tone.md", "Speak of the office.\n"),
        ("work/memory/MEMORY.md", "- The stamp is in the drawer.\n"),
    ])
}

/// What a run printed, without the home's path, and without the width that it gives a
/// column.
fn shown(home: &Home, run: &Run) -> String {
    let path = home.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let mut text = format!("{}{}exit {}\n", run.out, run.err, run.code).replace(&path, "HOME");
    while text.contains("   ") {
        text = text.replace("   ", "  ");
    }
    text
}

#[track_caller]
fn check(home: &Home, arguments: &[&str], expected: &Expect) {
    expected.assert_eq(&shown(home, &home.run(arguments)));
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.ok(arguments)).unwrap()
}

/// The system text that the last turn sent.
fn last_page(home: &Home) -> String {
    home.ok(&["show", "--body"])
}

#[test]
fn agents_are_listed_with_the_default_marked() {
    let home = home();
    home.ok(&["chat", "--agent", "work", "-m", "hello"]);
    check(
        &home,
        &["agents", "list"],
        &expect![[r#"
              name  workspace  model  sessions
            *  main  HOME/workspace  m  0
              work  HOME/work  w  1
            exit 0
        "#]],
    );
    let listed = json(&home, &["agents", "list", "--json"])["agents"].clone();
    assert_eq!(listed[1]["name"], "work");
    assert_eq!((&listed[0]["default"], &listed[1]["default"]), (&true.into(), &false.into()));
    assert_eq!((&listed[0]["sessions"], &listed[1]["sessions"]), (&0.into(), &1.into()));
    // Without a config there is one.
    let plain = json(&Home::new(), &["agents", "list", "--json"])["agents"].clone();
    assert_eq!((plain.as_array().unwrap().len(), &plain[0]["name"]), (1, &"main".into()));
}

#[test]
fn an_agent_is_shown_with_where_its_settings_come_from() {
    let home = home();
    home.write("config.toml", format!("{CONFIG}\n[tools]\ndisabled = [\"write_file\", \"read_file\", \"list_files\", \"remember\", \"recall\", \"forget\"]\n"));
    check(
        &home,
        &["agents", "show", "work"],
        &expect![[r#"
            work
            workspace: HOME/work
            model: w
            files: SOUL.md
            binding 1: surface `terminal`, any account, conversation `work-*`

            setting  value  set in
            workspace  "HOME/work"  config.toml:5
            model  "w"  config.toml:6
            search.top_n  2  config.toml:7
            items.rule.tone.include  "always"  config.toml:10

            kind  name  include  set in  source
            rule  tone  always  config.toml:10  HOME/work/rules/tone.md
            exit 0
        "#]],
    );
    let shown = json(&home, &["agents", "show", "main", "--json"]);
    assert_eq!(shown["bindings"], serde_json::json!([]));
    assert_eq!(shown["files"], serde_json::json!(["SOUL.md"]));
    let tone = &shown["items"][0];
    assert_eq!((&tone["include"], &tone["include_from"]), (&"manual".into(), &"itself".into()));
    check(
        &home,
        &["agents", "show", "wrok"],
        &expect![[r#"
        error: there is no agent `wrok`

        hint: did you mean `work`?
        exit 1
    "#]],
    );
}

#[test]
fn a_check_finds_what_keeps_agents_from_answering() {
    let home = home();
    check(
        &home,
        &["agents", "check"],
        &expect![[r#"
        2 agents, 0 problems
        exit 0
    "#]],
    );
    home.ok(&["chat", "--agent", "work", "-m", "hello"]);
    home.write(
        "config.toml",
        "[agents.main]\n[agents.gone]\nworkspace = \"nowhere\"\n\
         [agents.twin]\nworkspace = \"workspace\"\n\
         [[bindings]]\nsurface = \"*\"\nagent = \"main\"\n\
         [[bindings]]\nsurface = \"telegram\"\nconversation = \"-100*\"\nagent = \"twin\"\n\
         [models.m]\nprovider = \"scripted\"\n",
    );
    check(
        &home,
        &["agents", "check"],
        &expect![[r#"
        error: gone: its workspace `HOME/nowhere` can't be read: No such file or directory (os error 2)
          hint: create the folder, or set `agents.gone.workspace`
        warning: twin: has the workspace of the agent `main`: they share files and memories
          hint: give each agent a folder of its own, unless that is meant
        warning: binding 2 (surface `telegram`, any account, conversation `-100*`) never decides: binding 1 before it fits wherever it does
          hint: put it before the other one, or take it out
        warning: 1 open session of the agent `work`, which the config does not have
          hint: add `[agents.work]` to go on with them
        3 agents, 4 problems
        exit 1
    "#]],
    );
    let run = home.run(&["agents", "check", "--json"]);
    let found: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &found["problems"][0]["agent"]), (1, &"gone".into()));
}

/// Promise: `agents-stay-apart`
#[test]
fn whoever_names_an_agent_talks_to_it_in_a_session_of_its_own() {
    let home = home();
    home.ok(&["chat", "-m", "hello"]);
    assert!(last_page(&home).contains("lighthouse"));
    home.ok(&["chat", "--agent", "work", "-m", "good day"]);
    let page = last_page(&home);
    assert!(page.contains("You are a clerk.") && page.contains("Speak of the office."), "{page}");
    assert!(page.contains("drawer") && !page.contains("hello"), "{page}");
    let model = json(&home, &["show", "--json"]);
    assert!(model.to_string().contains("\"w\""), "{model}");
    // Both have a session `default`, and each is found.
    let sessions = json(&home, &["sessions", "list", "--json"])["sessions"].clone();
    let names: Vec<(&str, &str)> = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["agent"].as_str().unwrap(), it["name"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("work", "default"), ("main", "default")]);
    assert_eq!(
        json(&home, &["sessions", "list", "--agent", "work", "--json"])["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(home.ok(&["sessions", "show", "default"]).contains("hello"));
    assert!(home.ok(&["sessions", "show", "default", "--agent", "work"]).contains("good day"));
    home.ok(&["chat", "--agent", "work", "-m", "and again"]);
    assert!(last_page(&home).contains("good day"));
}

#[test]
fn a_session_is_gone_on_with_by_its_own_agent() {
    let home = home();
    home.ok(&["chat", "--agent", "work", "--session", "plans", "-m", "one"]);
    // By its name, and by its number.
    for name in ["plans", "1"] {
        let run = home.run(&["chat", "--session", name, "-m", "two"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(
            run.err.contains("session plans belongs to the agent `work`, who answers"),
            "{}",
            run.err
        );
        assert!(last_page(&home).contains("clerk"));
    }
    check(
        &home,
        &["chat", "--agent", "main", "--session", "1", "-m", "x"],
        &expect![[r#"
        error: session plans belongs to the agent `work`, not to `main`

        hint: say `--agent work`, or leave --agent out
        exit 1
    "#]],
    );
    // A name is free for each agent; then it is no longer clear without one.
    home.ok(&["chat", "--agent", "main", "--session", "plans", "-m", "of main"]);
    assert!(last_page(&home).contains("lighthouse"));
    let run = home.run(&["chat", "--session", "plans", "-m", "more"]);
    assert_eq!((run.code, run.err.contains("belongs")), (0, false), "the default's own");
    check(
        &home,
        &["sessions", "show", "1", "--agent", "main"],
        &expect![[r#"
        error: session plans belongs to the agent `work`, not to `main`

        hint: say `--agent work`, or leave --agent out
        exit 1
    "#]],
    );
    // What was bound goes where it is bound, without a word.
    let run = home.run(&["chat", "--session", "work-mail", "-m", "hi"]);
    assert_eq!((run.code, run.err.contains("belongs")), (0, false));
    assert!(last_page(&home).contains("clerk"));
    let why = home.ok(&["why", "tone"]);
    assert!(why.contains("tone"), "{why}");
    let preview = home.context("next", &["--session", "work-mail"]);
    assert!(preview.to_string().contains("clerk"));
}

#[test]
fn commands_look_at_the_agent_that_is_named() {
    let home = home();
    let work = ["--agent", "work"];
    assert!(home.context("hi", &work).to_string().contains("clerk"));
    assert!(home.context("hi", &[]).to_string().contains("lighthouse"));
    let text = |arguments: &[&str]| home.ok(&[arguments, &work].concat());
    assert!(text(&["rules", "show", "tone"]).contains("office"));
    assert!(text(&["rules", "list"]).contains("always"));
    assert!(home.ok(&["rules", "list"]).contains("manual"));
    assert!(text(&["memory", "list"]).contains("drawer"));
    assert_eq!(json(&home, &["memory", "list", "--json"])["memories"], Value::Array(Vec::new()));
    text(&["memory", "add", "The printer is slow."]);
    assert!(home.path("work/memory/MEMORY.md").exists());
    assert!(text(&["memory", "search", "printer"]).contains("slow"));
    assert!(text(&["search", "office"]).contains("tone"));
    assert!(text(&["tools", "list"]).contains("read_file"));
    for arguments in
        [&["rules", "list"][..], &["chat", "-m", "x"], &["context", "x"], &["sessions", "list"]]
    {
        let run = home.run(&[arguments, &["--agent", "wrok"]].concat());
        assert_eq!(run.code, 1, "{arguments:?}");
        assert!(
            run.err.contains("there is no agent `wrok`") && run.err.contains("`work`"),
            "{}",
            run.err
        );
    }
}

#[test]
fn what_is_set_for_one_agent_is_not_set_for_another() {
    let home = home();
    home.ok(&["rules", "set", "tone", "--include", "agent", "--agent", "work"]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    assert_eq!(config, CONFIG.replace("include = \"always\"", "include = \"agent\""));
    let include = |arguments: &[&str]| {
        json(&home, &[&["rules", "list", "--json"], arguments].concat())["rules"][0]["include"]
            .clone()
    };
    assert_eq!(include(&["--agent", "work"]), "agent");
    assert_eq!(include(&[]), "manual");
    home.ok(&["rules", "set", "tone", "--include", "always"]);
    assert_eq!((include(&["--agent", "work"]), include(&[])), ("agent".into(), "always".into()));
}
