//! Real skills in real turns: the clock that `recto init` brings, and two that wrap
//! git and grep, run as a model asks for them and as a person allows it.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::servers::json_lines;
use crate::support::*;

const GIT: &str = r#"{
  "tools": [
    {
      "name": "git_log",
      "description": "The last commits, newest first.",
      "parameters": {
        "type": "object",
        "properties": {
          "count": { "type": "integer", "minimum": 1 },
          "path": { "type": "string" }
        }
      }
    },
    {
      "name": "git_status",
      "description": "Which files changed since the last commit.",
      "parameters": { "type": "object", "properties": {} }
    },
    {
      "name": "git_diff",
      "description": "How much of each file changed since the last commit.",
      "parameters": {
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"]
      }
    }
  ],
  "allowlist": { "git": ["log --format=%s", "status --short", "diff --stat"] },
  "execution": [
    {
      "tool": "git_log",
      "binary": "git",
      "subcommand": "log --format=%s",
      "args": [
        { "param": "count", "kind": "flag", "flag": "--max-count=" },
        { "kind": "literal", "flag": "--" },
        { "param": "path", "optional": true, "readPath": true }
      ]
    },
    { "tool": "git_status", "binary": "git", "subcommand": "status --short", "args": [] },
    {
      "tool": "git_diff",
      "binary": "git",
      "subcommand": "diff --stat",
      "args": [{ "kind": "literal", "flag": "--" }, { "param": "path", "readPath": true }]
    }
  ]
}"#;

const GREP: &str = r#"{
  "tools": [
    {
      "name": "find_text",
      "description": "Finds lines in files by a regular expression.",
      "parameters": {
        "type": "object",
        "properties": {
          "pattern": { "type": "string" },
          "path": { "type": "string" },
          "ignore_case": { "type": "boolean" }
        },
        "required": ["pattern", "path"]
      }
    }
  ],
  "allowlist": { "grep": ["-rn"] },
  "execution": [
    {
      "tool": "find_text",
      "binary": "grep",
      "subcommand": "-rn",
      "successExitCodes": [0, 1],
      "args": [
        { "param": "ignore_case", "kind": "flagifboolean", "flagIfTrue": "-i" },
        { "param": "pattern", "kind": "flag", "flag": "--regexp=" },
        { "kind": "literal", "flag": "--" },
        { "param": "path", "readPath": true }
      ]
    }
  ]
}"#;

const NEVER_ASKED: &str = "[tools]\napproval = \"never\"\n";

/// A home of `recto init` with the skills `git` and `grep` besides, and some notes.
fn home(more: &str) -> Home {
    let home = Home::ready();
    let model = "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 16384\n";
    home.write("config.toml", format!("{model}{more}"));
    for (name, tools) in [("git", GIT), ("grep", GREP)] {
        let skill = format!("---\nname: {name}\ndescription: Runs {name}.\n---\nUse it.\n");
        home.write(&format!("workspace/skills/{name}/SKILL.md"), skill);
        home.write(&format!("workspace/skills/{name}/tools.json"), tools);
    }
    home.write("workspace/notes/trip.md", "Take the train.\nBuy Bread -- and milk.\n");
    home
}

/// What the model says in the next process: each begins its script anew.
fn then_says(home: &Home, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    home.write("talk.jsonl", lines.join("\n"));
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn reply(text: &str) -> Value {
    json!({ "content": text })
}

/// How calls went, and what the model was told, when a turn makes them one by one.
fn called(home: &Home, calls: &[Value]) -> Vec<(String, String)> {
    let script: Vec<Value> = calls.iter().cloned().chain([reply("Done.")]).collect();
    then_says(home, &script);
    let run = home.run(&["chat", "--json", "-m", "go"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let results = results(&json_lines(&run.out));
    assert_eq!(results.len(), calls.len(), "{}", run.out);
    results
}

fn results(events: &[Value]) -> Vec<(String, String)> {
    let results = events.iter().filter(|event| event["event"] == "result");
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    results.map(|event| (text(event, "outcome"), text(event, "text"))).collect()
}

fn done(text: &str) -> (String, String) {
    ("done".to_owned(), text.to_owned())
}

/// `recto chat` with these lines piped in.
fn pipe(home: &Home, lines: &str) -> Run {
    home.run_with(&["chat"], lines, &[])
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_clock_of_a_new_home_tells_the_time() {
    let home = home(NEVER_ASKED);
    let told = called(&home, &[call("utc_time", &json!({}))]);
    let [(outcome, text)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(outcome, "done");
    assert!(text.contains("UTC") && text.contains(':'), "{text}");
    // The model had it in its next request, as the record shows.
    let shown = home.ok(&["show", "last", "--body"]);
    assert!(shown.contains(text), "{shown}");
}

#[test]
fn git_tells_what_was_committed_and_what_changed() {
    let home = home(NEVER_ASKED);
    let workspace = home.path("workspace");
    git(&workspace, &["init", "--quiet"]);
    git(&workspace, &["add", "notes"]);
    git(&workspace, &["commit", "--quiet", "-m", "The trip"]);
    home.write("workspace/notes/more.md", "More.\n");
    git(&workspace, &["add", "notes"]);
    git(&workspace, &["commit", "--quiet", "-m", "More notes"]);
    home.write("workspace/notes/trip.md", "Stay at home.\n");

    let told = called(
        &home,
        &[
            call("git_log", &json!({})),
            call("git_log", &json!({"count": 1})),
            call("git_log", &json!({"path": "notes/trip.md"})),
            call("git_status", &json!({})),
            call("git_diff", &json!({"path": "notes"})),
            call("git_diff", &json!({"path": "notes/more.md"})),
        ],
    );
    assert_eq!(told[0], done("More notes\nThe trip"));
    assert_eq!(told[1], done("More notes"));
    assert_eq!(told[2], done("The trip"));
    assert!(told[3].1.contains(" M notes/trip.md"), "{told:?}");
    assert!(told[4].1.contains("1 file changed, 1 insertion(+), 2 deletions(-)"), "{told:?}");
    assert_eq!(told[5], done("[no output]"));
}

#[test]
fn grep_finds_what_is_there_and_says_when_nothing_is() {
    let home = home(NEVER_ASKED);
    let find = |pattern: &str, path: &str| {
        call("find_text", &json!({"pattern": pattern, "path": path, "ignore_case": true}))
    };
    let told = called(
        &home,
        &[
            find("bread", "notes"),
            call("find_text", &json!({"pattern": "bread", "path": "notes"})),
            find("-- and", "notes/trip.md"),
            find("--file=/etc/passwd", "notes"),
            find("bread", "/etc"),
            find("bread", "../config.toml"),
            find("\\(", "notes"),
            call("find_text", &json!({"pattern": "x", "path": "notes", "max": 1})),
        ],
    );
    assert_eq!(told[0], done("notes/trip.md:2:Buy Bread -- and milk."));
    assert_eq!(told[1], done("[exit code 1]"));
    assert_eq!(told[2], done("2:Buy Bread -- and milk."));
    // What looks like a flag is searched for, and not obeyed.
    assert_eq!(told[3], done("[exit code 1]"));
    for (outcome, text) in &told[4..6] {
        assert_eq!(outcome, "failed", "{text}");
        assert!(text.contains("`path`") && text.contains("outside"), "{text}");
    }
    // Its own words are passed on to the model.
    assert_eq!(told[6].0, "failed");
    assert!(told[6].1.starts_with("find_text failed: exit code 2\n[stderr]\n"), "{}", told[6].1);
    assert_eq!(told[7].0, "refused");
    assert!(told[7].1.contains("`max`"), "{}", told[7].1);
}

#[test]
fn a_failing_program_is_told_with_its_code_and_its_words() {
    let home = home(NEVER_ASKED);
    // No repository is here.
    let told = called(&home, &[call("git_status", &json!({}))]);
    let (outcome, text) = &told[0];
    assert_eq!(outcome, "failed");
    assert!(text.starts_with("git_status failed: exit code 128\n[stderr]\nfatal: "), "{text}");
}

fn find_bread() -> Value {
    call("find_text", &json!({"pattern": "Bread", "path": "notes"}))
}

/// Promise: `shown-is-what-runs`
#[test]
fn a_person_approves_what_a_piped_chat_asks_and_sees_the_exact_argv() {
    let home = home("");
    then_says(&home, &[find_bread()]);
    let run = pipe(&home, "where is bread?\n");
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains("grep.find_text wants to run (approval 1)"), "{}", run.err);
    assert!(run.err.contains(r#"grep","-rn","--regexp=Bread","--","notes"]"#), "{}", run.err);
    then_says(&home, &[reply("In the notes.")]);
    home.ok(&["approvals", "answer", "1", "allow"]);
    assert_eq!(home.ok(&["approvals", "list"]), "");
    let shown = home.ok(&["sessions", "show", "default"]);
    assert!(shown.contains("In the notes.") && shown.contains("trip.md:2:Buy Bread"), "{shown}");
}

#[test]
fn a_person_denies_and_the_model_is_told() {
    let home = home("");
    then_says(&home, &[find_bread(), reply("I may not look.")]);
    let run = home.run_with(&["chat", "--json"], "where is bread?\n/deny\n", &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let results = results(&json_lines(&run.out));
    let [(outcome, text)] = &results[..] else { panic!("{results:?}") };
    assert_eq!(outcome, "denied");
    assert!(text.starts_with("find_text was not run: "), "{text}");
    assert!(!run.out.contains("trip.md"), "{}", run.out);
    assert!(home.ok(&["show", "last", "--body"]).contains("was not run"));
}

#[test]
fn what_is_allowed_for_the_session_is_not_asked_again_in_it() {
    let home = home("");
    then_says(&home, &[find_bread()]);
    let run = pipe(&home, "look\n");
    assert_eq!(run.code, 3, "{}", run.err);
    then_says(&home, &[reply("One.")]);
    home.ok(&["approvals", "answer", "1", "session"]);
    then_says(&home, &[find_bread(), reply("Two.")]);
    let run = pipe(&home, "look again\n");
    assert_eq!((run.code, run.out.as_str()), (0, "Two.\n"), "{}", run.err);
    assert!(!run.err.contains("wants to run"), "{}", run.err);
    // Also after a restart, but in no other session, and for no other tool.
    then_says(&home, &[find_bread(), reply("Three.")]);
    assert_eq!(home.ok(&["chat", "-m", "look"]), "Three.\n");
    assert_eq!(home.run(&["chat", "--session", "other", "-m", "look"]).code, 3);
    then_says(&home, &[call("write_file", &json!({"path": "a.txt", "content": "a"}))]);
    assert_eq!(home.run(&["chat", "-m", "write it down"]).code, 3);
}

#[test]
fn a_question_survives_a_restart_and_is_answered_in_a_later_chat() {
    let home = home("");
    then_says(&home, &[find_bread()]);
    let run = pipe(&home, "where is bread?\n");
    assert_eq!(run.code, 3, "{}{}", run.out, run.err);
    then_says(&home, &[reply("That was it.")]);
    let run = home.run_with(&["chat", "--json"], "/deny\n", &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let events = json_lines(&run.out);
    assert_eq!(results(&events)[0].0, "denied", "{events:?}");
    let finished = events.iter().find(|event| event["event"] == "finished").unwrap();
    assert_eq!(finished["reply"], "That was it.");
    assert_eq!(home.ok(&["approvals", "list"]), "");
}

/// Promise: `text-raises-no-rights`
#[test]
fn no_text_that_is_handed_over_allows_a_tool() {
    let home = home("");
    then_says(&home, &[find_bread()]);
    assert_eq!(pipe(&home, "where is bread?\n").code, 3);
    for arguments in [&["chat"][..], &["chat", "--json"], &["chat", "-m", "-"]] {
        let run = home.run_with(arguments, "/approve\n", &[]);
        assert!(run.err.contains("counts only where a person types it"), "{}", run.err);
        assert!(!run.out.contains("trip.md"), "{}", run.out);
    }
    let open = home.json(&["approvals", "list", "--json"])["approvals"].clone();
    assert_eq!(open[0]["id"], 1, "{open}");
}

/// Promise: `trust-follows-content`
#[test]
fn a_skill_with_rights_is_shown_to_a_person_before_its_first_call() {
    let home = home("[items.skill.grep]\npermission = \"allow\"\nread = [\"/usr/share\"]\n");
    then_says(&home, &[find_bread()]);
    let run = pipe(&home, "where is bread?\n");
    assert_eq!(run.code, 3, "{}", run.err);
    for words in [
        "first call of skill \"grep\"",
        "grep/tools.json",
        "runs without asking",
        "reads /usr/share",
    ] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    then_says(&home, &[reply("One.")]);
    home.ok(&["approvals", "answer", "1", "allow"]);
    // Once, and then its rights are its own.
    then_says(&home, &[find_bread(), reply("Two.")]);
    let run = pipe(&home, "look again\n");
    assert_eq!((run.code, run.out.as_str()), (0, "Two.\n"), "{}", run.err);
    // Another skill of its name beside it changes nothing, and is told of.
    let skill = "---\nname: grep\ndescription: Runs grep, too.\n---\nUse it.\n";
    home.write("workspace/skills/zeal/SKILL.md", skill);
    home.write("workspace/skills/zeal/tools.json", GREP);
    then_says(&home, &[find_bread(), reply("Three.")]);
    let run = pipe(&home, "and now?\n");
    assert_eq!((run.code, run.out.as_str()), (0, "Three.\n"), "{}", run.err);
    assert!(run.err.contains("has the same name, `grep`, and wins"), "{}", run.err);
    let found = || home.ok(&["show", "last", "--body"]).matches("trip.md:2").count();
    assert_eq!(found(), 3);
    assert!(!home.ok(&["show", "last", "--body"]).contains("Runs grep, too."));
    // Where the first is gone, it has none of its rights, nor its tools.
    fs::remove_dir_all(home.path("workspace/skills/grep")).unwrap();
    then_says(&home, &[find_bread(), reply("Four.")]);
    let run = pipe(&home, "and now?\n");
    assert_eq!((run.code, run.out.as_str()), (0, "Four.\n"), "{}", run.err);
    assert!(run.err.contains("another skill had this name first"), "{}", run.err);
    // What the calls before it found stands in the history, and nothing else.
    assert_eq!(found(), 3);
}

#[test]
fn a_skill_with_rights_that_nobody_saw_does_not_run_where_nobody_is_asked() {
    let rights = "[items.skill.grep]\nread = [\"/usr\"]\n";
    let home = home(&format!("{NEVER_ASKED}{rights}"));
    let told = called(&home, &[find_bread()]);
    assert_eq!(told[0].0, "failed");
    assert!(told[0].1.contains("a person has to look at skill `grep`"), "{}", told[0].1);
    home.ok(&["tools", "trust", "grep"]);
    assert_eq!(called(&home, &[find_bread()])[0].0, "done");
}

#[test]
fn a_question_is_answered_from_another_process_while_the_chat_waits() {
    let home = home("");
    then_says(&home, &[find_bread(), reply("In the notes."), reply("You are welcome.")]);
    let mut chat = Waiting::begin(&home);
    chat.say("where is bread?");
    let asked = chat.until("asked");
    assert_eq!(asked["tool"], "grep.find_text");
    let listed = home.json(&["approvals", "list", "--json"])["approvals"].clone();
    assert_eq!((&listed[0]["id"], &listed[0]["title"]), (&asked["approval"], &asked["title"]));

    let answered = home.json(&["approvals", "answer", "1", "allow", "--json"]);
    assert_eq!((&answered["answer"], &answered["goes_on"]), (&"once".into(), &"elsewhere".into()));
    wait_for_reply(&home, "In the notes.");
    chat.say("thanks");
    let events = chat.end();
    let finished = events.iter().rfind(|event| event["event"] == "finished").unwrap();
    assert_eq!(finished["reply"], "You are welcome.");
}

#[test]
fn a_question_whose_chat_was_killed_goes_on_where_it_is_answered() {
    let home = home("");
    then_says(&home, &[find_bread(), reply("Never said.")]);
    let mut chat = Waiting::begin(&home);
    chat.say("where is bread?");
    chat.until("asked");
    chat.kill();
    then_says(&home, &[reply("In the notes.")]);
    let answered = home.json(&["approvals", "answer", "1", "session", "--json"]);
    assert_eq!(answered["goes_on"], "here");
    assert_eq!(answered["finished"]["reply"], "In the notes.");
    assert!(home.ok(&["show", "last", "--body"]).contains("trip.md:2"));
}

/// Promise: `text-raises-no-rights`
#[test]
fn a_turn_without_a_person_never_sees_tools_that_ask() {
    let home = home("[items.skill.clock]\npermission = \"allow\"\n");
    home.ok(&["tools", "trust", "clock"]);
    then_says(&home, &[find_bread(), call("utc_time", &json!({})), reply("Done.")]);
    let run = home.run(&["chat", "--unattended", "--json", "-m", "go"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let results = results(&json_lines(&run.out));
    assert_eq!((results[0].0.as_str(), results[1].0.as_str()), ("refused", "done"));
    assert!(results[0].1.contains("there is no tool `find_text`"), "{results:?}");
    assert!(!run.out.contains("\"asked\""), "{}", run.out);
    let first = home.ok(&["show", "last", "--request", "1", "--body"]);
    assert!(first.contains("utc_time") && first.contains("read_file"), "{first}");
    for asking in ["find_text", "git_log", "write_file"] {
        assert!(!first.contains(&format!("\"{asking}\"")), "{asking}: {first}");
    }
}

#[test]
fn a_changed_declaration_is_off_until_a_person_trusts_it() {
    let home = home(NEVER_ASKED);
    assert_eq!(called(&home, &[find_bread()])[0].0, "done");
    home.write("workspace/skills/grep/tools.json", GREP.replace("[0, 1]", "[0, 1, 2]"));
    let told = called(&home, &[find_bread(), call("utc_time", &json!({}))]);
    assert_eq!((told[0].0.as_str(), told[1].0.as_str()), ("refused", "done"), "{told:?}");
    assert!(home.ok(&["tools", "list"]).contains("recto tools trust grep"));
    home.ok(&["tools", "trust", "grep"]);
    assert_eq!(called(&home, &[find_bread()])[0].0, "done");
}

#[test]
fn a_program_adds_nothing_at_the_top_of_the_workspace() {
    let sort = r#"{
      "tools": [{"name": "sort_into", "description": "Sorts.", "parameters": {"type": "object",
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}}],
      "allowlist": {"sort": []},
      "execution": [{"tool": "sort_into", "binary": "sort", "args": [
        {"param": "to", "kind": "flag", "flag": "--output=", "TO": true},
        {"param": "from", "readPath": true}]}]
    }"#;
    let home = home(NEVER_ASKED);
    home.write("workspace/skills/sort/SKILL.md", "---\nname: sort\ndescription: Sorts.\n---\nA.");
    let tools = home.path("workspace/skills/sort/tools.json");
    let into = |to: &str| call("sort_into", &json!({"from": "notes/trip.md", "to": to}));
    // By a name that is not declared as one to be written, only below what is there.
    fs::write(&tools, sort.replace(r#", "TO": true"#, "")).unwrap();
    let told = called(&home, &[into("new.txt"), into("notes/new.txt"), into("AGENTS.md")]);
    assert_eq!(
        told.iter().map(|(outcome, _)| &**outcome).collect::<Vec<_>>(),
        ["failed", "done", "failed"]
    );
    let refused = ["ermission denied", "Read-only file system"];
    assert!(refused.iter().any(|words| told[0].1.contains(words)), "{told:?}");
    assert!(!home.path("workspace/new.txt").exists());
    // By one that is, also there.
    fs::write(&tools, sort.replace("TO", "writePath")).unwrap();
    home.ok(&["tools", "trust", "sort"]);
    let told = called(&home, &[into("new.txt"), into("AGENTS.md")]);
    assert_eq!((told[0].0.as_str(), told[1].0.as_str()), ("done", "failed"), "{told:?}");
    let sorted = fs::read_to_string(home.path("workspace/new.txt")).unwrap();
    assert_eq!(sorted, "Buy Bread -- and milk.\nTake the train.\n");
}

/// Promise: `examples-run`
#[test]
fn what_the_docs_show_works() {
    let page = fs::read_to_string(docs().join("tools.md")).unwrap();
    let home = home(NEVER_ASKED);
    let [tools] = &blocks(&page, "json tools.json")[..] else { panic!("one whole tools.json") };
    let [skill] = &blocks(&page, "markdown SKILL.md")[..] else { panic!("one whole SKILL.md") };
    home.write("workspace/skills/notes/tools.json", tools);
    home.write("workspace/skills/notes/SKILL.md", skill);
    home.ok(&["tools", "check"]);
    home.ok(&["skills", "check"]);
    let told = called(
        &home,
        &[
            call("find_notes", &json!({"words": "bread", "ignore_case": true})),
            call("find_notes", &json!({"words": "bread"})),
            call("sort_notes", &json!({"from": "notes/trip.md", "to": "sorted.md"})),
        ],
    );
    assert_eq!(told[0], done("notes/trip.md:2:Buy Bread -- and milk."));
    assert_eq!(told[1], done("[exit code 1]"));
    assert_eq!(told[2].0, "done");
    let sorted = fs::read_to_string(home.path("workspace/sorted.md")).unwrap();
    assert_eq!(sorted, "Buy Bread -- and milk.\nTake the train.\n");
    // Each piece of the config is one, and all of them fit together.
    let settings = blocks(&page, "toml");
    assert!(settings.len() >= 3, "{settings:?}");
    for text in &settings {
        home.write("config.toml", text);
        home.ok(&["config", "check"]);
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The contents of the code blocks of a page that begin with this word or words.
fn blocks(page: &str, head: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(word), None) => open = Some((word == head, String::new())),
            (Some(_), Some((true, block))) => blocks.push(block),
            (None, Some((wanted, block))) => open = Some((wanted, block + line + "\n")),
            _ => {}
        }
    }
    blocks
}

/// A chat that somebody has open, as JSON.
struct Waiting {
    process: Child,
    input: ChildStdin,
    events: Lines<BufReader<ChildStdout>>,
}

impl Waiting {
    fn begin(home: &Home) -> Self {
        let mut process = home
            .command(&["chat", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let events = BufReader::new(process.stdout.take().unwrap()).lines();
        Waiting { process, input, events }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.input, "{text}").unwrap();
    }

    /// The next event of that name.
    fn until(&mut self, name: &str) -> Value {
        for line in self.events.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if event["event"] == name {
                return event;
            }
        }
        panic!("the chat ended without `{name}`")
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Hangs up, and gives all that is still told.
    fn end(self) -> Vec<Value> {
        let Waiting { mut process, input, events } = self;
        drop(input);
        let events = events.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert!(process.wait().unwrap().success());
        events
    }
}

/// Waits until the last turn has this reply.
fn wait_for_reply(home: &Home, reply: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !home.ok(&["sessions", "show", "default"]).contains(reply) {
        assert!(Instant::now() < deadline, "`{reply}` never came");
        sleep(Duration::from_millis(50));
    }
}

const SORT: &str = r#"{
  "tools": [
    {
      "name": "sorted",
      "description": "Sorts the lines of a file into another.",
      "parameters": {
        "type": "object",
        "properties": { "from": { "type": "string" }, "to": { "type": "string" } },
        "required": ["from", "to"]
      }
    }
  ],
  "allowlist": { "sort": [] },
  "execution": [
    {
      "tool": "sorted",
      "binary": "sort",
      "args": [
        { "param": "to", "kind": "flag", "flag": "--output=", "writePath": true },
        { "param": "from", "readPath": true }
      ]
    }
  ]
}"#;

/// A home with nothing in its workspace but a soul and a skill that sorts.
fn home_that_sorts(more: &str) -> Home {
    let home = Home::with(&[]);
    let model = "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 16384\n";
    home.write("config.toml", format!("{model}{more}"));
    home.write("workspace/SOUL.md", "b\na\n");
    let skill = "---\nname: net\ndescription: Sorts.\n---\nUse it.\n";
    home.write("workspace/skills/net/SKILL.md", skill);
    home.write("workspace/skills/net/tools.json", SORT);
    home
}

/// Promise: `shown-is-what-runs`
#[test]
fn a_question_names_the_file_that_would_be_written_wherever_it_is_shown() {
    let home = home_that_sorts("");
    let sorted = call("sorted", &json!({"from": "SOUL.md", "to": "out.txt"}));
    then_says(&home, std::slice::from_ref(&sorted));
    let run = pipe(&home, "sort it\n");
    assert_eq!(run.code, 3, "{}", run.err);
    let out = home.path("workspace/out.txt").canonicalize();
    assert!(out.is_err(), "nothing was allowed yet");
    let out = home.path("workspace").canonicalize().unwrap().join("out.txt");
    let out = out.to_string_lossy();
    let created = format!("writes: {out} (created)");
    let one_line = |text: &str| text.split_whitespace().collect::<String>();
    let said = |text: &str| one_line(text).contains(&one_line(&created));
    assert!(said(&run.err), "{}", run.err);
    let shown = home.ok(&["approvals", "show", "1"]);
    assert!(said(&shown) && !shown.contains("only reads"), "{shown}");
    let action = home.json(&["approvals", "show", "1", "--json"])["action"].clone();
    assert_eq!(action["writes"][0], *out, "{action}");
    assert_eq!(action["named_files"], json!([{"path": *out, "change": "create"}]));
    assert_eq!(action["only_reads"], false);
    let dry =
        home.ok(&["tools", "dry-run", "sorted", "--args", r#"{"from":"SOUL.md","to":"out.txt"}"#]);
    assert!(said(&dry), "{dry}");
    let server = home.serve_pages();
    let page = server.page("/sessions/1");
    assert!(page.contains(&format!("{out} (created)")), "{page}");
    assert!(!page.contains("nothing on this machine"), "{page}");
    drop(server);
    then_says(&home, &[reply("Sorted.")]);
    home.ok(&["approvals", "answer", "1", "allow"]);
    assert_eq!(fs::read_to_string(home.path("workspace/out.txt")).unwrap(), "a\nb\n");
    // The second time it is there.
    let dry =
        home.ok(&["tools", "dry-run", "sorted", "--args", r#"{"from":"SOUL.md","to":"out.txt"}"#]);
    assert!(one_line(&dry).contains(&one_line(&format!("{out} (replaced)"))), "{dry}");
}

/// Promise: `trust-follows-content`
#[test]
fn whoever_allows_the_first_call_of_a_skill_is_told_that_it_is_trusted_then() {
    let home = home_that_sorts("[items.skill.net]\nnetwork = true\npermission = \"allow\"\n");
    then_says(&home, &[call("sorted", &json!({"from": "SOUL.md", "to": "out.txt"}))]);
    let run = pipe(&home, "sort it\n");
    assert_eq!(run.code, 3, "{}", run.err);
    let shown = home.ok(&["approvals", "show", "1"]);
    for words in ["for this and all later calls", "runs without asking", "skills/net/tools.json"] {
        let words = words.replace(' ', "");
        let has = |text: &str| text.split_whitespace().collect::<String>().contains(&words);
        assert!(has(&run.err) && has(&shown), "{words}: {}\n{shown}", run.err);
    }
    let server = home.serve_pages();
    let page = server.page("/sessions/1");
    // Above everything that is folded.
    let (open, folded) = page.split_once("All of its rights").unwrap();
    let warning = open.split("First call of skill").nth(1).unwrap_or_else(|| panic!("{page}"));
    for words in ["trusts the skill", "skills/net", "runs without asking"] {
        assert!(warning.contains(words), "{words}: {warning}");
    }
    assert!(folded.contains("Allow, and trust skill net"), "{folded}");
    assert!(!page.contains("Allow once"), "{page}");
    drop(server);
    // What was told holds: the second call runs unasked.
    then_says(&home, &[reply("Sorted.")]);
    home.ok(&["approvals", "answer", "1", "allow"]);
    let again = call("sorted", &json!({"from": "SOUL.md", "to": "two.txt"}));
    then_says(&home, &[again, reply("Sorted again.")]);
    let run = pipe(&home, "once more\n");
    assert_eq!((run.code, run.out.as_str()), (0, "Sorted again.\n"), "{}", run.err);
}
