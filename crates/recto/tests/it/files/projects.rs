//! Projects: folders with an AGENTS.md or a `.recto/` of their own, and `--workspace`.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::support::*;

impl Home {
    /// A folder beside the home, with these files.
    fn project(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.path("../projects").join(name);
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder.canonicalize().unwrap()
    }

    /// A command that is run in a folder, with nothing piped in.
    fn run_at(&self, folder: &PathBuf, arguments: &[&str]) -> Run {
        let mut command = self.command(arguments);
        let output = command.current_dir(folder).stdin(Stdio::null()).output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn context_at(&self, folder: &PathBuf) -> Value {
        let run = self.run_at(folder, &["context", "hi", "--json"]);
        assert_eq!(run.code, 0, "{}", run.err);
        json(&run.out)
    }
}

fn shop(home: &Home) -> PathBuf {
    home.write("workspace/AGENTS.md", "Be brief.");
    home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nFriendly.");
    home.project(
        "shop",
        &[
            ("AGENTS.md", "The shop sells tea."),
            (".recto/rules/tone.md", "---\ninclude: always\n---\nFormal."),
            (
                ".recto/skills/pack/SKILL.md",
                "---\ndescription: Packs\ninclude: always\n---\nPack it.",
            ),
            (".recto/skills/pack/tools.json", PACK),
            ("src/main.rs", "fn main() {}"),
        ],
    )
}

const PACK: &str = r#"{"tools": [{"name": "pack", "description": "Packs.", "parameters": {"type": "object", "properties": {}}}],
    "allowlist": {"echo": [""]}, "execution": [{"tool": "pack", "binary": "echo"}]}"#;

/// Promise: `project-asks-first`
#[test]
fn nothing_of_a_project_is_used_before_a_yes() {
    let home = Home::scripted(&[]);
    let shop = shop(&home);
    let said = home.run_at(&shop.join("src"), &["chat", "-m", "hi"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let note =
        format!("note: {} has its own AGENTS.md and .recto/ (1 rule, 1 skill)", shop.display());
    assert!(said.err.contains(&note), "{}", said.err);
    assert!(said.err.contains("--workspace ."), "{}", said.err);
    assert!(!home.ok(&["show", "--body"]).contains("tea"));
    assert!(!home.path("projects.json").exists());
    assert_eq!(doctor_answer(&home, &shop), Value::Null);
    // A no is kept, and nothing is said any more.
    assert_eq!(home.run_at(&shop, &["chat", "--no-project", "-m", "hi"]).code, 0);
    assert_eq!(doctor_answer(&home, &shop), "no");
    let said = home.run_at(&shop, &["chat", "-m", "hi"]);
    assert!(!said.err.contains("note:"), "{}", said.err);
    assert_eq!(names(&home.context_at(&shop), "system"), names(&home.context("hi", &[]), "system"));
}

/// What `recto doctor` tells programs of the answer for a project.
fn doctor_answer(home: &Home, project: &PathBuf) -> Value {
    let report = json(&home.run_at(project, &["doctor", "--json"]).out);
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|found| found["subject"] == "project").unwrap();
    found["data"]["answer"].clone()
}

#[test]
fn with_a_yes_the_project_follows_the_agent_s_own() {
    let home = Home::scripted(&[]);
    let shop = shop(&home);
    let said = home.run_at(&shop, &["chat", "--project", "-m", "hi"]);
    assert_eq!(said.code, 0, "{}", said.err);
    // The answer holds, also further down and for other commands.
    let context = home.context_at(&shop.join("src"));
    let system = layer(&context, "system")["items"].as_array().unwrap().clone();
    let sources: Vec<&str> = system.iter().map(|row| row["source"].as_str().unwrap()).collect();
    let own = home.path("workspace/AGENTS.md");
    let theirs = shop.join("AGENTS.md");
    let at = sources.iter().position(|source| *source == own.to_str().unwrap()).unwrap();
    assert_eq!(sources[at + 1], theirs.to_str().unwrap(), "{sources:?}");
    assert_eq!(system[at + 1]["reason"], "file of the project");
    let page = context["messages"][0]["content"].as_str().unwrap();
    assert!(page.contains("Formal.") && !page.contains("Friendly."), "{page}");
    assert!(page.contains(shop.to_str().unwrap()), "{page}");
    // The session is the project's.
    let shown = json(&home.ok(&["sessions", "show", "shop", "--json"]));
    assert_eq!(shown["session"]["name"], "shop");
    // Another folder of the name has another one.
    let other = home.project("more/shop", &[("AGENTS.md", "Another shop.")]);
    assert_eq!(home.run_at(&other, &["chat", "--project", "-m", "hi"]).code, 0);
    assert_eq!(home.run(&["sessions", "show", "shop-2"]).code, 0);
    // Its file changes, and the diff says so.
    fs::write(&theirs, "The shop sells coffee.").unwrap();
    assert_eq!(home.run_at(&shop, &["chat", "-m", "again"]).code, 0);
    assert!(home.ok(&["show", "--body"]).contains("coffee"));
    let diff = json(&home.ok(&["diff", "last", "--json"]));
    assert_eq!(diff["comparison"]["change"]["cause"], "item_changed", "{diff}");
    assert_eq!(home.run(&["replay", "--verify"]).code, 0);
    let doctor = home.run_at(&shop, &["doctor"]);
    assert!(doctor.out.contains("1 skill); used"), "{}", doctor.out);
}

/// Promise: `project-asks-first`
#[test]
fn a_project_s_programs_are_off_until_they_are_trusted() {
    let home = Home::scripted(&[]);
    let shop = shop(&home);
    let said = home.run_at(&shop, &["chat", "--project", "-m", "hi"]);
    assert!(said.err.contains("nobody has trusted it yet"), "{}", said.err);
    let offers = |home: &Home| {
        let shown = json(&home.ok(&["show", "--json"]));
        let tools = shown["requests"][0]["context"]["tools"].as_array().unwrap().clone();
        tools.iter().any(|tool| tool["name"] == "pack")
    };
    assert!(!offers(&home));
    let trust = home.run_at(&shop, &["tools", "trust", "pack"]);
    assert_eq!(trust.code, 0, "{}", trust.err);
    let said = home.run_at(&shop, &["chat", "-m", "again"]);
    assert!(!said.err.contains("trusted"), "{}", said.err);
    assert!(offers(&home));
}

#[test]
fn file_tools_work_in_the_project_and_leave_its_folder_for_agents_alone() {
    let call = |path: &str| {
        format!(
            r#"{{"tool_calls": [{{"name": "write_file", "arguments": {{"path": "{path}", "content": "x"}}}}]}}"#
        )
    };
    let lines =
        [call("note.txt"), call(".recto/rules/evil.md"), r#"{"content": "done"}"#.to_owned()];
    let home = Home::scripted(&lines.each_ref().map(String::as_str));
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[tools]\napproval = \"never\"\n"));
    let shop = shop(&home);
    let said = home.run_at(&shop, &["chat", "--project", "-m", "write a note and a rule"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(fs::read_to_string(shop.join("note.txt")).unwrap(), "x");
    assert!(!shop.join(".recto/rules/evil.md").exists());
    let told = home.ok(&["sessions", "show", "shop"]);
    assert!(told.contains("`.recto/rules/evil.md` is out of reach"), "{told}");
}

/// A project in the workspace is used by whoever stands there, and no agent decides what it says.
#[test]
fn file_tools_leave_a_project_alone_that_lies_further_down() {
    let call = |path: &str| {
        format!(
            r#"{{"tool_calls": [{{"name": "write_file", "arguments": {{"path": "{path}", "content": "evil"}}}}]}}"#
        )
    };
    let lines = [
        call("shop/sub/.recto/rules/evil.md"),
        call("shop/AGENTS.md"),
        r#"{"content": "done"}"#.to_owned(),
    ];
    let home = Home::scripted(&[]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[tools]\napproval = \"never\"\n"));
    let shop = shop(&home);
    assert_eq!(home.run_at(&shop, &["chat", "--project", "-m", "hi"]).code, 0);
    home.write("talk.jsonl", lines.join("\n"));
    let above = shop.parent().unwrap().to_owned();
    let said = home.run_at(&above, &["chat", "--workspace", ".", "-m", "write rules"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(!shop.join("sub/.recto/rules/evil.md").exists());
    assert_eq!(fs::read_to_string(shop.join("AGENTS.md")).unwrap(), "The shop sells tea.");
}

#[test]
fn a_project_with_a_link_that_leads_out_is_not_used() {
    let home = Home::scripted(&[]);
    let shop = home.project("shop", &[(".recto/rules/a.md", "x")]);
    std::os::unix::fs::symlink(home.path("config.toml"), shop.join("AGENTS.md")).unwrap();
    let said = home.run_at(&shop, &["chat", "--project", "-m", "hi"]);
    said.fails_with("AGENTS.md leads out of it");
}

#[test]
fn a_run_can_have_another_workspace() {
    let home = Home::scripted(&[]);
    let other = home.project("agent", &[("SOUL.md", "You are Eve."), ("AGENTS.md", "Be slow.")]);
    let said = home.run_at(&other, &["chat", "--workspace", ".", "-m", "hi"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(!said.err.contains("note:"), "{}", said.err);
    assert!(home.ok(&["show", "--body"]).contains("You are Eve."));
    let run = home.run_at(&other, &["context", "hi", "--workspace", "gone"]);
    run.fails_with("cannot use `gone` as the workspace");
    assert!(!names(&home.context("hi", &[]), "system").contains(&"SOUL.md".to_owned()));
}

const WRITE: &str =
    r#"{"tool_calls": [{"name": "write_file", "arguments": {"path": "ok.txt", "content": "x"}}]}"#;
const DONE: &str = r#"{"content": "done"}"#;

/// A home with an empty folder beside it, where a tool runs only when a person agrees.
fn asking_home() -> (Home, PathBuf) {
    let home = Home::scripted(&[WRITE, DONE]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[tools]\napproval = \"always\"\n"));
    let elsewhere = home.project("elsewhere", &[]);
    (home, elsewhere)
}

/// What was approved is done where it was asked for, wherever the answer is typed.
#[test]
fn an_approved_call_runs_in_the_folder_of_its_session() {
    for is_project in [true, false] {
        let (home, elsewhere) = asking_home();
        let shop = shop(&home);
        let flags = if is_project { vec!["--project"] } else { vec!["--workspace", "."] };
        let said = home.run_at(&shop, &[&["chat", "-m", "write ok"], &flags[..]].concat());
        assert_eq!(said.code, 3, "{}", said.err);
        home.write("talk.jsonl", DONE);
        let run = home.run_at(&elsewhere, &["approvals", "answer", "1", "allow"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let told = format!("session shop works in {}", shop.display());
        assert!(run.err.contains(&told), "{}", run.err);
        assert_eq!(fs::read_to_string(shop.join("ok.txt")).unwrap(), "x");
        assert!(!home.path("workspace/ok.txt").exists());
    }
}

#[test]
fn a_session_goes_on_in_its_own_folder_and_no_other_one_in_it() {
    let home = Home::scripted(&[]);
    let shop = shop(&home);
    let elsewhere = home.project("elsewhere", &[]);
    assert_eq!(home.run_at(&elsewhere, &["chat", "--session", "own", "-m", "hi"]).code, 0);
    assert_eq!(home.run_at(&shop, &["chat", "--project", "-m", "hi"]).code, 0);
    let page = |folder: &PathBuf, session: &str| {
        let run = home.run_at(folder, &["context", "hi", "--session", session, "--json"]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    for folder in [&shop, &elsewhere] {
        assert!(page(folder, "shop").contains("The shop sells tea."));
        assert!(!page(folder, "own").contains("The shop sells tea."));
    }
    let said = home.run_at(&elsewhere, &["chat", "--session", "shop", "-m", "again"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(home.ok(&["show", "--body"]).contains("The shop sells tea."));
    let said = home.run_at(&shop, &["chat", "--session", "own", "-m", "again"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("session own works in"), "{}", said.err);
    assert!(!home.ok(&["show", "--body"]).contains("The shop sells tea."));
    let run = home.run_at(&shop, &["chat", "--workspace", ".", "--session", "own", "-m", "x"]);
    run.fails_with("session own was not begun in the workspace");
    // Whoever takes the yes back closes its sessions, too.
    assert_eq!(home.run_at(&shop, &["chat", "--no-project", "-m", "hi"]).code, 0);
    let run = home.run_at(&elsewhere, &["chat", "--session", "shop", "-m", "x"]);
    run.fails_with("is not used any more");
}

#[test]
fn settings_for_an_item_of_a_project_are_no_slip_outside_of_it() {
    let home = Home::scripted(&[]);
    let shop = shop(&home);
    let elsewhere = home.project("elsewhere", &[]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[items.skill.pack]\ninclude = \"agent\"\n"));
    let said = home.run_at(&elsewhere, &["chat", "-m", "hi"]);
    assert!(said.err.contains("pack"), "{}", said.err);
    assert_eq!(home.run_at(&shop, &["chat", "--project", "-m", "hi"]).code, 0);
    let said = home.run_at(&elsewhere, &["chat", "-m", "hi"]);
    assert!(!said.err.contains("pack"), "{}", said.err);
}
