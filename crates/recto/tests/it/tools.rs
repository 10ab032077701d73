//! `recto tools`: what there is, what a call would do, calls by hand, and whether
//! a skill is still what a person looked at.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::*;

/// A skill whose tools list, fail and ask for the network.
const SKILL: &str = "---\nname: look\ndescription: Looks at files.\n---\nUse it.";
const DECLARED: &str = r#"{
  "tools": [
    {
      "name": "names",
      "description": "Lists what is in a folder.",
      "parameters": {
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"]
      }
    },
    {
      "name": "fails",
      "description": "Fails.",
      "parameters": { "type": "object", "properties": {} }
    }
  ],
  "allowlist": { "ls": ["-a"], "false": [""] },
  "execution": [
    {
      "tool": "names",
      "binary": "ls",
      "subcommand": "-a",
      "network": true,
      "args": [{ "param": "path", "readPath": true }]
    },
    { "tool": "fails", "binary": "false", "args": [] }
  ]
}"#;

fn home() -> Home {
    Home::with(&[
        ("workspace/skills/look/SKILL.md", SKILL),
        ("workspace/skills/look/tools.json", DECLARED),
        ("workspace/notes/a.txt", "a"),
    ])
}

fn tool(home: &Home, name: &str) -> Value {
    let list = json(&home.ok(&["tools", "list", "--json"]))["tools"].clone();
    let found = list.as_array().unwrap().iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {list}")).clone()
}

#[test]
fn the_list_says_who_asks() {
    let home = home();
    let permission = |name: &str| tool(&home, name)["permission"].as_str().unwrap().to_owned();
    assert_eq!(permission("read_file"), "allow");
    assert_eq!(permission("write_file"), "ask");
    assert_eq!(permission("names"), "ask");
    // Until a person has looked at the skill, what the config says of its name is not its own.
    home.write("config.toml", "items.skill.look.permission = 'allow'\n");
    assert_eq!(permission("names"), "ask");
    home.ok(&["tools", "trust", "look"]);
    for (config, expected) in [
        ("tools.approval = 'always'\n", ["ask", "ask", "ask"]),
        ("tools.approval = 'never'\n", ["allow", "allow", "allow"]),
        ("tools.toolPermission = 'tool'\n", ["allow", "ask", "ask"]),
        ("items.skill.look.permission = 'allow'\n", ["allow", "ask", "allow"]),
        ("items.tool.'look.names'.permission = 'allow'\n", ["allow", "ask", "allow"]),
        ("items.tool.write_file.permission = 'allow'\n", ["allow", "allow", "ask"]),
        ("items.tool.read_file.permission = 'ask'\n", ["ask", "ask", "ask"]),
        // Its name alone could be that of another's tool.
        ("items.tool.names.permission = 'allow'\n", ["allow", "ask", "ask"]),
        (
            "items.skill.look.permission = 'allow'\nitems.tool.'look.names'.permission = 'ask'\n",
            ["allow", "ask", "ask"],
        ),
    ] {
        home.write("config.toml", config);
        let found = ["read_file", "write_file", "names"].map(permission);
        assert_eq!(found, expected, "{config}");
    }
}

#[test]
fn the_list_says_which_guards_hold_and_what_is_granted() {
    let home = home();
    let list = home.ok(&["tools", "list"]);
    assert!(list.contains("guards around programs: "), "{list}");
    assert!(list.contains("approval: per_tool"), "{list}");
    let line =
        |list: &str| list.lines().find(|line| line.starts_with("skill look: ")).map(str::to_owned);
    assert_eq!(line(&list).unwrap(), "skill look: asks for the network, which is not granted");
    home.write(
        "config.toml",
        "[items.skill.look]\nnetwork = true\nread = ['/a', 'b']\nwrite = ['/c']\nenv = ['TZ']\n",
    );
    let list = home.ok(&["tools", "list"]);
    let expected = format!(
        "skill look: network granted; may read /a, {}; may write /c; gets the variables TZ",
        home.path("b").display()
    );
    assert_eq!(line(&list).unwrap(), expected);
    let grants = tool(&home, "names")["grants"].clone();
    assert_eq!(grants["network"], serde_json::json!({"asked": true, "granted": true}));
    assert_eq!(grants["write"], serde_json::json!(["/c"]));
    assert_eq!(tool(&home, "read_file")["grants"], Value::Null);
}

#[test]
fn a_dry_run_shows_the_call_and_runs_nothing() {
    let home = home();
    let before = home.tree();
    let dry = home.run(&["tools", "dry-run", "look.names", "--args", r#"{"path": "notes"}"#]);
    assert_eq!(dry.code, 0, "{}{}", dry.out, dry.err);
    for part in ["/ls", "-a", "notes", "environment:", "time limit: 30 s"] {
        assert!(dry.out.contains(part), "{part}: {}", dry.out);
    }
    assert!(!dry.out.contains("a.txt"), "{}", dry.out);
    assert!(dry.err.contains("a turn would ask first"), "{}", dry.err);
    assert_eq!(home.tree(), before, "nothing is written, not even a store");
    let dry = home.ok(&["tools", "dry-run", "names", "--json", "--args", r#"{"path": "notes"}"#]);
    let dry = json(&dry);
    assert_eq!((&dry["tool"], &dry["asks"]), (&"look.names".into(), &true.into()));
    let argv = dry["action"]["argv"].as_array().unwrap();
    assert!(argv[0].as_str().unwrap().ends_with("/ls"), "{argv:?}");
    assert_eq!(dry["action"]["network"], false, "it asks, and nobody granted it");
    home.write("config.toml", "items.skill.look.network = true\n");
    let dry = home.ok(&["tools", "dry-run", "names", "--json", "--args", r#"{"path": "notes"}"#]);
    assert_eq!(json(&dry)["action"]["network"], true);
}

#[test]
fn a_dry_run_of_a_call_that_cannot_be_made_says_why() {
    let home = home();
    for (arguments, why) in [
        ("{}", "path"),
        (r#"{"path": 3}"#, "path"),
        (r#"{"path": "notes", "more": 1}"#, "more"),
        (r#"{"path": "../../etc"}"#, "path"),
        ("[]", "object"),
        ("{", ""),
    ] {
        for command in ["dry-run", "run"] {
            let run = home.run(&["tools", command, "names", "--args", arguments]);
            assert_ne!(run.code, 0, "{arguments}");
            let told = format!("{}{}", run.out, run.err);
            assert!(told.contains(why) && !told.contains("panicked"), "{arguments}: {told}");
        }
        let dry = home.run(&["tools", "dry-run", "names", "--json", "--args", arguments]);
        assert_eq!(dry.code, 2, "{arguments}");
        assert!(json(&dry.out)["refused"].is_string(), "{}", dry.out);
    }
    home.run(&["tools", "dry-run", "look.nams"]).fails_with("did you mean `look.names`?");
    home.run(&["tools", "run", "nothing_like_it"]).fails_with("there is no tool");
}

#[test]
fn a_call_by_hand_runs_as_in_a_turn() {
    let home = home();
    let run = home.run(&["tools", "run", "names", "--args", r#"{"path": "notes"}"#]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("a.txt"), "{}", run.out);
    let run = home.run_with(&["tools", "run", "names", "--args", "-"], r#"{"path": "notes"}"#, &[]);
    assert!(run.out.contains("a.txt"), "{}{}", run.out, run.err);
    assert_eq!(home.run(&["tools", "run", "look.fails"]).code, 1);
    let run = home.run(&["tools", "run", "names", "--json"]);
    assert_eq!((run.code, &json(&run.out)["outcome"]), (2, &"refused".into()), "{}", run.out);
    // Built-in tools too; whoever types the call is the person that is asked.
    let write = r#"{"path": "SOUL.md", "content": "mine"}"#;
    let run = home.run(&["tools", "run", "write_file", "--args", write]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!(fs::read_to_string(home.path("workspace/SOUL.md")).unwrap(), "mine");
    let write = r#"{"path": "skills/look/tools.json", "content": "{}"}"#;
    assert_ne!(home.run(&["tools", "run", "write_file", "--args", write]).code, 0);
}

#[test]
fn the_example_skill_tells_the_time() {
    let home = Home::ready();
    assert_eq!(home.run(&["tools", "check"]).code, 0);
    let run = home.run(&["tools", "run", "clock.utc_time"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("UTC"), "{}", run.out);
}

/// Promise: `trust-follows-content`
#[test]
fn a_skill_that_changed_is_off_until_a_person_looked_at_it() {
    for (file, content) in [
        ("tools.json", DECLARED.replace("Lists what", "Lists all that")),
        ("scripts/new.sh", "#!/bin/sh\n".to_owned()),
    ] {
        let home = home();
        let call = ["tools", "run", "names", "--args", r#"{"path": "notes"}"#];
        home.ok(&call);
        home.write(&format!("workspace/skills/look/{file}"), &content);
        assert_eq!(tool(&home, "names")["permission"], "off", "{file}");
        let list = home.ok(&["tools", "list"]);
        assert!(list.contains("(`recto tools trust look`)"), "{list}");
        let doctor = home.run(&["doctor"]);
        assert!(doctor.out.contains("(`recto tools trust look`)"), "{}", doctor.out);
        let run = home.run(&call);
        assert_ne!(run.code, 0, "{file}: {}", run.out);
        assert!(run.out.contains("is not the one that was approved"), "{}", run.out);
        assert!(run.err.contains("(`recto tools trust look`)"), "{}", run.err);
        let told = home.ok(&["tools", "trust", "look"]);
        assert!(told.contains("skill look (changed) is trusted"), "{told}");
        assert!(told.contains(file), "{told}");
        assert_eq!(tool(&home, "names")["permission"], "ask", "{file}");
        home.ok(&call);
        let told = json(&home.ok(&["tools", "trust", "look", "--json"]));
        assert_eq!(told["was"], "as it was");
    }
    let home = home();
    home.run(&["tools", "trust", "lok"]).fails_with("did you mean `look`?");
    home.run(&["tools", "trust", "read_file"]).fails_with("there is no skill `read_file`");
}

/// Promise: `trust-follows-content`
#[test]
fn a_call_of_a_skill_that_is_known_leaves_its_name_to_whom_it_belongs() {
    let home = home();
    let call = ["tools", "run", "names", "--args", r#"{"path": "notes"}"#];
    home.ok(&call);
    let database = Connection::open(home.path("data/recto.db")).unwrap();
    let owner = || {
        let sql = "SELECT hash FROM trusted WHERE folder = 'name look'";
        database.query_row(sql, [], |row| row.get::<_, Vec<u8>>("hash")).unwrap()
    };
    // As if a person had trusted another skill of that name since.
    let sql = "UPDATE trusted SET hash = randomblob(length(hash)) WHERE folder = 'name look'";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    let other = owner();
    home.ok(&call);
    assert_eq!(owner(), other);
}

/// Promise: `trust-follows-content`
#[test]
fn what_was_only_seen_to_be_off_stays_off_under_another_name() {
    for look in [&["tools", "list"][..], &["tools", "check"], &["doctor"]] {
        let home = home();
        home.ok(&["tools", "run", "names", "--args", r#"{"path": "notes"}"#]);
        home.write("workspace/skills/look/tools.json", DECLARED.replace("Fails.", "Fails!"));
        home.run(look);
        let (skill, moved) =
            (home.path("workspace/skills/look"), home.path("workspace/skills/see"));
        fs::rename(skill, moved).unwrap();
        home.write("workspace/skills/see/SKILL.md", SKILL.replace("name: look", "name: see"));
        assert_eq!(tool(&home, "names")["permission"], "off", "{look:?}");
    }
}

#[test]
fn who_trusts_a_skill_is_told_what_the_config_gives_it() {
    let home = home();
    home.write(
        "config.toml",
        "[items.skill.look]\npermission = 'allow'\nread = ['/usr/share']\nenv = ['NO_SUCH_VARIABLE']\n",
    );
    let told = home.ok(&["tools", "trust", "look"]);
    let rights = "runs without asking, reads /usr/share, variable NO_SUCH_VARIABLE";
    assert!(told.contains(&format!("the config gives it: {rights}\n")), "{told}");
    let told = json(&home.ok(&["tools", "trust", "look", "--json"]));
    assert_eq!(told["rights"][2], "variable NO_SUCH_VARIABLE");
}

#[test]
fn a_look_at_the_tools_makes_no_store_and_trusts_nothing() {
    let home = home();
    for command in [["tools", "list"], ["tools", "check"], ["mcp", "list"]] {
        home.ok(&command);
    }
    assert!(!home.path("data").exists());
}

#[test]
fn check_tells_file_and_line_of_what_could_not_be_run() {
    let home = home();
    let check = home.run(&["tools", "check"]);
    assert_eq!((check.code, check.out.as_str()), (0, ""), "{}", check.err);
    let broken = DECLARED
        .replace("\"binary\": \"false\"", "\"binary\": \"sh\"")
        .replace("\"param\": \"path\"", "\"param\": \"pth\"");
    home.write("workspace/skills/look/tools.json", &broken);
    let check = home.run(&["tools", "check"]);
    assert_eq!(check.code, 1, "{}", check.out);
    for line in ["tools.json:25: ", "tools.json:27: "] {
        assert!(check.out.contains(line), "{line}: {}", check.out);
    }
    let check = home.run(&["tools", "check", "--json"]);
    assert_eq!(check.code, 1);
    let problems = json(&check.out)["problems"].as_array().unwrap().clone();
    assert!(problems.iter().all(|problem| problem["line"].is_u64()), "{problems:?}");
    home.write("workspace/skills/look/tools.json", "{\n  \"tools\": [\n");
    let check = home.run(&["tools", "check"]);
    assert_eq!(check.code, 1);
    assert_eq!(check.out.matches("tools.json").count(), 1, "told once: {}", check.out);
}

#[test]
fn the_doctor_tells_of_guards_and_servers() {
    let home = Home::with(&[(
        "config.toml",
        "[mcp.a]\ncommand = 'no-such-program-here'\n[mcp.b]\nurl = 'http://127.0.0.1:1'\n\
         enabled = false\n",
    )]);
    let doctor = json(&home.run(&["doctor", "--json"]).out);
    let finding = |what: &str| {
        let findings = doctor["findings"].as_array().unwrap();
        findings.iter().find(|found| found["subject"] == what).unwrap().clone()
    };
    assert!(finding("sandbox")["data"]["seccomp"].is_boolean());
    let a = finding("server a");
    assert_eq!(a["state"], "absent");
    assert!(a["hint"].as_str().unwrap().contains("recto mcp check a"));
    assert_eq!(finding("server b")["data"]["enabled"], false);
}

/// Promise: `unusable-tools-are-off`
#[test]
fn a_tool_that_cannot_be_run_is_off_everywhere() {
    let home = Home::scripted(&[]);
    home.write("workspace/skills/odd/SKILL.md", "---\ndescription: d\ninclude: always\n---\nb");
    home.write(
        "workspace/skills/odd/tools.json",
        "{\"tools\": [{\"name\": \"fine\"},\n  {\"name\": \"lonely\"}],\n\
         \"allowlist\": {\"date\": [\"-u\"]},\n\
         \"execution\": [{\"tool\": \"fine\", \"binary\": \"date\", \"subcommand\": \"-u\"}]}",
    );
    let flaw = "tools.json:2: tool `lonely` has no execution, so it can't be run";
    let is_told = |shown: &str| {
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(flaw), "{shown}");
    };
    let list = json(&home.ok(&["tools", "list", "--json"]));
    let row = |name: &str| {
        let rows = list["tools"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(row("lonely")["permission"], "off");
    is_told(row("lonely")["off"].as_str().unwrap());
    assert_eq!((&row("fine")["permission"], &row("fine")["off"]), (&"ask".into(), &Value::Null));
    is_told(&home.ok(&["tools", "list"]));
    let show = home.run(&["tools", "show", "lonely"]);
    assert!(show.err.contains("· off ·"), "{}", show.err);
    is_told(&show.err);
    let doctor = json(&home.run(&["doctor", "--json"]).out);
    let found = doctor["findings"].as_array().unwrap().iter();
    let found: Vec<_> = found.filter(|found| found["subject"] == "tools").collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["state"], "error");
    is_told(found[0]["message"].as_str().unwrap());
    let check = home.run(&["skills", "check"]);
    assert_eq!(check.code, 1);
    is_told(&check.out);
    // What is counted as in use is what a turn has.
    let check = home.run(&["tools", "check"]);
    let context = json(&home.ok(&["context", "hello", "--json"]));
    let offered = context["tools"].to_string();
    assert!(offered.contains("fine") && !offered.contains("lonely"), "{offered}");
    let in_use = context["tools"].as_array().unwrap().len();
    assert!(check.err.contains(&format!("tools: {in_use} in use")), "{}", check.err);
    // A turn is not sent it, and says why.
    home.ok(&["chat", "-m", "hello"]);
    let why = home.ok(&["why", "lonely"]);
    assert!(why.contains("off: it can't be run as its skill's tools.json declares it"), "{why}");
    // Where nobody wants it, nobody is told.
    home.write("config.toml", config_without(&home, "odd.lonely"));
    let doctor = home.run(&["doctor"]).out;
    assert!(!doctor.contains("lonely"), "{doctor}");
}

fn config_without(home: &Home, tool: &str) -> String {
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    format!("{config}\n[tools]\ndisabled = ['{tool}']\n")
}
