//! In a turn, nothing is done that a person has to allow before one did.

use super::*;

/// A home whose model makes one call, and then says that all is done.
pub(super) fn calling(tool: &str, arguments: &Value, config: &str) -> Home {
    let call = json!({ "tool_calls": [{ "name": tool, "arguments": arguments }] }).to_string();
    let home = Home::scripted(&[&call, r#"{"content":"Done."}"#]);
    let models = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}{models}"));
    home.write(
        "workspace/skills/harm/SKILL.md",
        "---\nname: harm\ndescription: Harm.\ninclude: always\n---\n",
    );
    let literal = json!([{ "kind": "literal", "flag": "notes/made" }]);
    let declared = declared("touch", &json!({ "args": literal })).to_string();
    home.write("workspace/skills/harm/tools.json", declared);
    home.write("workspace/skills/harm/scripts/run.sh", "#!/bin/sh\n");
    home.write("workspace/agents/helper/agent.toml", "description = 'Helps.'\n");
    home.write("workspace/rules/polite.md", "Be polite.");
    home.write("workspace/SOUL.md", "I am kind.");
    home.write("workspace/notes/a.txt", "a note");
    home
}

fn writing(path: &str, config: &str) -> Home {
    calling("write_file", &json!({ "path": path, "content": "MINE" }), config)
}

fn content(home: &Home, path: &str) -> Option<String> {
    fs::read_to_string(home.path("workspace").join(path)).ok()
}

#[test]
fn what_the_agent_is_is_written_only_when_a_person_allowed_it() {
    for path in [
        "SOUL.md",
        "AGENTS.md",
        "IDENTITY.md",
        "USER.md",
        "TOOLS.md",
        "rules/polite.md",
        "rules/new.md",
        "references/new.md",
        "skills/harm/SKILL.md",
        "skills/new/SKILL.md",
    ] {
        let home = writing(path, "");
        let before = content(&home, path);
        let run = home.run(&["chat", "-m", "write it"]);
        assert_eq!(content(&home, path), before, "{path}: {}", said(&run));
        assert_eq!(run.code, 3, "{path}: {}", said(&run));
        // The word of a person is what was missing.
        home.write("talk.jsonl", r#"{"content":"Done."}"#);
        let answer = home.run(&["approvals", "answer", "1", "allow"]);
        assert_eq!(content(&home, path).as_deref(), Some("MINE"), "{path}: {}", said(&answer));
        // Who wants to be asked about nothing has not allowed it thereby.
        let home = writing(path, "tools.approval = 'never'\n");
        let run = home.run(&["chat", "-m", "write it"]);
        assert_eq!(content(&home, path), before, "{path}: {}", said(&run));
        assert!(said(&run).contains("needs a person's approval"), "{path}: {}", said(&run));
    }
}

#[test]
fn what_decides_about_rights_is_never_written() {
    for path in [
        "skills/harm/tools.json",
        "skills/new/tools.json",
        "skills/harm/scripts/run.sh",
        "skills/harm/scripts/new.sh",
        "agents/helper/agent.toml",
        "../config.toml",
        "../data/recto.db",
    ] {
        for config in ["", "tools.approval = 'never'\n"] {
            let home = writing(path, config);
            let file = home.path("workspace").join(path);
            let run = home.run(&["chat", "-m", "write it"]);
            home.write("talk.jsonl", r#"{"content":"Done."}"#);
            home.run(&["approvals", "answer", "1", "allow"]);
            let written = fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"MINE"));
            assert!(!written, "{path} {config}: {}", said(&run));
        }
    }
    // The model can write, and this is how it would look.
    let home = writing("notes/a.txt", "tools.approval = 'never'\n");
    home.ok(&["chat", "-m", "write it"]);
    assert_eq!(content(&home, "notes/a.txt").as_deref(), Some("MINE"));
}

#[test]
fn a_declared_tool_waits_for_a_word() {
    let made = |home: &Home| home.path("workspace/notes/made").exists();
    let home = calling("act", &json!({}), "");
    let run = home.run(&["chat", "-m", "do it"]);
    assert!(run.code == 3 && !made(&home), "{}", said(&run));
    home.write("talk.jsonl", r#"{"content":"Done."}"#);
    let answer = home.run(&["approvals", "answer", "1", "deny"]);
    assert!(!made(&home), "{}", said(&answer));

    let home = calling("act", &json!({}), "");
    home.run(&["chat", "-m", "do it"]);
    home.write("talk.jsonl", r#"{"content":"Done."}"#);
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(made(&home), "no real attempt: {}", said(&answer));
}

/// Promise: `shown-is-what-runs`
#[test]
fn what_changed_while_a_person_was_asked_is_not_run() {
    let made = |home: &Home, name: &str| home.path("workspace/notes").join(name).exists();
    let home = calling("act", &json!({}), "");
    let run = home.run(&["chat", "-m", "do it"]);
    assert_eq!(run.code, 3, "{}", said(&run));
    // The person has seen `touch notes/made`; this is another call by the same name.
    let literal = json!([{ "kind": "literal", "flag": "notes/other" }]);
    let other = declared("touch", &json!({ "args": literal })).to_string();
    home.write("workspace/skills/harm/tools.json", other);
    home.write("talk.jsonl", r#"{"content":"Done."}"#);
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(!made(&home, "other") && !made(&home, "made"), "{}", said(&answer));
    // Not even after a person trusts the skill: that call was never shown to them.
    home.run(&["tools", "trust", "harm"]);
    let answer = home.run(&["approvals", "answer", "1", "allow"]);
    assert!(!made(&home, "other"), "{}", said(&answer));
}
