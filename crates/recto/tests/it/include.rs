//! `recto rules set` and its like, and `recto tools`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::*;

/// The include mode of an item, as the lists show it.
fn include(home: &Home, shelf: &str, name: &str) -> String {
    let list = json(&home.ok(&[shelf, "list", "--json"]))[shelf].clone();
    let items = list.as_array().unwrap();
    let item = items.iter().find(|item| item["name"] == name).unwrap();
    item["include"].as_str().unwrap().to_owned()
}

fn config(home: &Home) -> String {
    fs::read_to_string(home.path("config.toml")).unwrap()
}

#[test]
fn tools_are_listed_with_their_server_mode_and_cost() {
    let home = Home::ready();
    let list = home.ok(&["tools", "list"]);
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    let heading =
        ["name", "include", "permission", "server", "tokens", "last", "used", "description"];
    assert_eq!(rows[0], heading);
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(row("utc_time")[1..4], ["always", "allow", "clock"]);
    assert_eq!(row("read_file")[1], "always");
    assert!(row("read_file")[3].parse::<u32>().unwrap() > 20, "no server, then the cost");
    let shown = home.ok(&["tools", "show", "clock.utc_time"]);
    assert!(shown.contains("The current date and time in UTC."), "{shown}");
    assert!(shown.contains("\"type\": \"object\""), "{shown}");
    assert_eq!(home.ok(&["tools", "show", "utc_time"]), shown);
    home.run(&["tools", "show", "utc_tim"]).fails_with("did you mean `utc_time`?");
    home.write("config.toml", "tools.disabled = ['read_file']\n");
    home.run(&["tools", "show", "read_file"]).fails_with("`tools.disabled`");
    // The tools that load what pages name stand in no catalog, and are tools all the same.
    assert!(home.ok(&["tools", "show", "read_skill"]).contains("Load the full documentation"));
    assert!(home.ok(&["tools", "list"]).contains("read_item"));
    home.write("config.toml", "tools.disabled = ['read_item']\n");
    let told = home.run(&["context", "hello"]);
    assert!(!told.err.contains("read_item"), "it is no slip: {}", told.err);
    home.run(&["tools", "show", "read_item"]).fails_with("`tools.disabled`");
    assert!(!home.ok(&["tools", "list"]).contains("read_item"));
}

#[test]
fn tools_check_tells_of_their_own_files_alone() {
    let home = Home::with(&[
        ("workspace/skills/a/SKILL.md", "---\nname: a\ndescription: [d\n---\nBody"),
        ("workspace/skills/b/SKILL.md", "---\nname: b\ndescription: d\n---\nBody"),
        ("workspace/skills/b/tools.json", "{\"tools\": [{\"name\": 3}]}"),
    ]);
    let check = home.run(&["tools", "check"]);
    assert!(check.out.contains("tools.json"), "{}{}", check.out, check.err);
    assert!(!check.out.contains("SKILL.md"), "{}", check.out);
}

#[test]
fn set_writes_one_setting_and_default_takes_it_back() {
    let home = Home::ready();
    let before = config(&home);
    assert_eq!(include(&home, "rules", "commits"), "manual");
    let told = home.ok(&["rules", "set", "commits", "--include", "always"]);
    assert!(told.starts_with("rule commits: always (was manual); set in "), "{told}");
    assert!(told.contains("open ones get it with their next turn"), "{told}");
    assert_eq!(include(&home, "rules", "commits"), "always");
    // Comments and all else are as they were, and the new table comes last.
    let after = config(&home);
    assert_eq!(after, format!("{before}\n[items.rule.commits]\ninclude = \"always\"\n"));
    assert_eq!(names(&home.context("hi", &[]), "items"), ["brief", "commits"]);
    home.ok(&["rules", "set", "commits", "--include", "agent"]);
    assert_eq!(config(&home), after.replace("\"always\"\n", "\"agent\"\n"));
    let told = home.ok(&["rules", "set", "commits", "--default"]);
    assert!(told.starts_with("rule commits: manual (was agent); as "), "{told}");
    assert_eq!(config(&home), before);
}

#[test]
fn a_home_without_a_config_gets_one_for_its_owner_alone() {
    let home = Home::with(&[("workspace/references/r.md", "text")]);
    home.ok(&["references", "set", "r", "--include", "agent"]);
    assert_eq!(config(&home), "[items.reference.r]\ninclude = \"agent\"\n");
    let mode = fs::metadata(home.path("config.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn any_name_is_quoted_right() {
    let named = ["v1.2", "tone of voice", "it's \"so\"", "größe", "[x]", "a#b"];
    let home =
        Home::with(&[("config.toml", "# mine\n[items.rule.\"v1.2\"] # two\npriority = 3\n")]);
    for (index, name) in named.iter().enumerate() {
        let quoted = serde_json::to_string(name).unwrap();
        let text = format!("---\nname: {quoted}\n---\ntext");
        home.write(&format!("workspace/rules/{index}.md"), text);
    }
    let before = config(&home);
    for name in named {
        home.ok(&["rules", "set", name, "--include", "agent"]);
        assert_eq!(include(&home, "rules", name), "agent", "{name}");
    }
    assert!(config(&home).contains("[items.rule.\"tone of voice\"]"), "{}", config(&home));
    for name in named {
        home.ok(&["rules", "set", name, "--default"]);
    }
    assert_eq!(config(&home), before);
}

#[test]
fn a_tool_of_a_skill_goes_by_both_names_and_comes_no_sooner_than_the_skill() {
    let tools = "{\"tools\": [{\"name\": \"run\", \"description\": \"d\", \"parameters\": {}}]}";
    let home = Home::with(&[
        ("workspace/skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nBody"),
        ("workspace/skills/a/tools.json", tools),
        ("workspace/skills/b/SKILL.md", "---\nname: b\ndescription: d\n---\nBody"),
        ("workspace/skills/b/tools.json", tools),
    ]);
    home.run(&["tools", "set", "run", "--include", "agent"]).fails_with("`a.run`, `b.run`");
    home.ok(&["tools", "set", "a.run", "--include", "agent"]);
    assert_eq!(config(&home), "[items.tool.\"a.run\"]\ninclude = \"agent\"\n");
    let list = json(&home.ok(&["tools", "list", "--json"]))["tools"].clone();
    let of = |server: &str| {
        let tools = list.as_array().unwrap();
        tools.iter().find(|tool| tool["server"] == server).unwrap()["include"].clone()
    };
    assert_eq!((of("a"), of("b")), ("agent".into(), "always".into()));
    home.ok(&["skills", "set", "b", "--include", "manual"]);
    let run = home.run(&["tools", "set", "b.run", "--include", "always"]);
    assert!(run.out.starts_with("tool b.run: manual, as before"), "{}", run.out);
    assert!(run.err.contains("the skill `b` is manual"), "{}", run.err);
    // A built-in tool has one name.
    home.ok(&["tools", "set", "read_file", "--include", "manual"]);
    assert_eq!(include(&home, "tools", "read_file"), "manual");
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    let home = Home::ready();
    let real = home.path("dotfiles/recto.toml");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::rename(home.path("config.toml"), &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("dotfiles/recto.toml", home.path("config.toml")).unwrap();
    home.ok(&["rules", "set", "units", "--include", "agent"]);
    assert!(fs::symlink_metadata(home.path("config.toml")).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("[items.rule.units]"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_set_is_told_and_changes_nothing() {
    let home = Home::ready();
    let before = home.tree();
    home.run(&["rules", "set", "comits", "--include", "agent"])
        .fails_with("did you mean `commits`?");
    home.run(&["skills", "set", "zzzzzz", "--default"]).fails_with("`recto skills list`");
    assert_eq!(home.run(&["rules", "set", "commits"]).code, 2);
    assert_eq!(home.run(&["rules", "set", "commits", "--include", "often"]).code, 2);
    assert_eq!(home.run(&["rules", "set", "commits", "--include", "agent", "--default"]).code, 2);
    assert_eq!(home.tree(), before);

    home.write("config.toml", "model = \n[items.rule.commits\n");
    home.run(&["rules", "set", "commits", "--include", "agent"]).fails_with("config.toml:1");
    assert_eq!(config(&home), "model = \n[items.rule.commits\n");

    home.write("config.toml", "# mine\n");
    let file = home.path("config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let run = home.run(&["rules", "set", "commits", "--include", "agent"]);
    run.fails_with("read-only");
    run.fails_with("edit it by hand: [items.rule.commits] with include = \"agent\"");
    assert_eq!(config(&home), "# mine\n");

    let nowhere = Home::new();
    nowhere.run(&["tools", "set", "read_file", "--include", "agent"]).fails_with("`recto init`");
    assert!(nowhere.tree().is_empty());
}

#[test]
fn two_at_once_lose_nothing() {
    let home = Home::with(&[("config.toml", "# mine\n")]);
    let names: Vec<String> = (0..12).map(|index| format!("rule-{index}")).collect();
    for name in &names {
        home.write(&format!("workspace/rules/{name}.md"), "text");
    }
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = home.command(&["rules", "set", name, "--include", "agent"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for name in &names {
        assert_eq!(include(&home, "rules", name), "agent", "{name}");
    }
}

#[test]
fn an_agent_item_while_search_is_off_is_warned_of() {
    let home = Home::ready();
    home.write("config.toml", "search.enabled = false\n");
    let run = home.run(&["rules", "set", "units", "--include", "agent"]);
    assert!(run.err.contains("search is off"), "{}", run.err);
}

/// Promise: `no-skill-by-its-name`
#[test]
fn a_kind_has_a_default_that_set_all_writes_and_long_skills_settle_without_one() {
    let home = Home::ready();
    let long =
        |name: &str| format!("---\ndescription: About {name}.\n---\n{}", "word ".repeat(900));
    home.write("workspace/skills/alpha/SKILL.md", long("alpha"));
    home.write("workspace/skills/beta/SKILL.md", long("beta"));
    let list = home.run(&["skills", "list"]);
    assert!(list.err.contains("skills come only when they fit the message"), "{}", list.err);
    assert!(list.err.contains("recto skills set --all --include agent"), "{}", list.err);
    assert_eq!(include(&home, "skills", "alpha"), "agent");
    let told = home.ok(&["skills", "set", "--all", "--include", "manual"]);
    assert!(told.starts_with("skills: manual where nothing else is said ("), "{told}");
    assert!(config(&home).contains("[items.skill]\ninclude = \"manual\"\n"), "{}", config(&home));
    assert_eq!(include(&home, "skills", "beta"), "manual");
    assert!(!home.run(&["skills", "list"]).err.contains("when they fit"));
    let told = home.ok(&["skills", "set", "beta", "--include", "always"]);
    assert!(told.starts_with("skill beta: always (was manual); set in "), "{told}");
    assert_eq!(include(&home, "skills", "alpha"), "manual");
    let shown = home.ok(&["config", "show"]);
    assert!(shown.contains("items.skill.include"), "{shown}");
    home.ok(&["skills", "set", "beta", "--default"]);
    home.ok(&["skills", "set", "--all", "--default"]);
    assert_eq!(include(&home, "skills", "beta"), "agent");
    let refused = home.run(&["skills", "set", "--include", "agent"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    home.write("config.toml", "skills.always_tokens = 100000\n");
    assert_eq!(include(&home, "skills", "beta"), "always");
    home.write("config.toml", "context.preset = 'plain'\n");
    assert_eq!(include(&home, "skills", "beta"), "always");
}

#[test]
fn set_says_that_it_wins_over_the_file_of_the_item() {
    let home = Home::ready();
    home.write("workspace/rules/own.md", "---\ninclude: agent\n---\nText");
    let told = home.ok(&["rules", "set", "own", "--include", "always"]);
    assert!(told.contains("which wins over `include: agent` in "), "{told}");
    assert!(told.contains("rules/own.md\n"), "{told}");
    let told = home.ok(&["rules", "set", "own", "--include", "agent"]);
    assert!(!told.contains("wins over"), "{told}");
}

/// Promise: `typos-are-told`
#[test]
fn slips_are_told_where_people_look() {
    let home = Home::ready();
    home.write("workspace/rules/slip.md", "---\ninlcude: always\n---\nText");
    let open = "---\ndescription: x\ninclude: always\nNo end.\n";
    home.write("workspace/rules/open.md", open);
    home.write("workspace/rules/ruled.md", "---\n\nA rule, and then prose.\n");
    home.write("workspace/skills/open/SKILL.md", open);
    home.write("config.toml", "[items.rule.slpi]\ninclude = 'always'\n");
    let check = home.run(&["rules", "check"]);
    assert!(check.out.contains("unknown field `inlcude`"), "{}", check.out);
    let has_no_end = |name: &str| format!("{name}:1: the frontmatter has no end");
    assert!(check.out.contains(&has_no_end("open.md")), "{}", check.out);
    assert!(check.out.contains("put a line `---` behind its last field"), "{}", check.out);
    assert!(check.err.contains("2 problems"), "{}{}", check.out, check.err);
    let skills = home.run(&["skills", "check"]);
    assert!(skills.out.contains(&has_no_end("SKILL.md")), "{}", skills.out);
    let config = home.run(&["config", "check"]);
    assert!(config.out.contains("[items.rule.slpi]"), "{}", config.out);
    assert!(config.out.contains("did you mean `slip`?"), "{}", config.out);
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("[items.rule.slpi]"), "{}", doctor.out);
    assert!(doctor.out.contains("unknown field `inlcude`"), "{}", doctor.out);
    assert!(doctor.out.contains(&has_no_end("open.md")), "{}", doctor.out);
}

/// Promise: `typos-are-told`
#[test]
fn tools_check_tells_of_tools_that_are_off() {
    let home = Home::ready();
    let tools = r#"{"tools": [{"name": "x", "description": "d", "parameters": {"type": "object"}}],
        "allowlist": {"date": ["-u"]}, "execution": [{"tool": "x", "binary": "date", "subcommand": "-u"}]}"#;
    let lacks =
        "---\ndescription: d\nmetadata: {\"requires\": {\"bins\": [\"no-such-program\"]}}\n---\nb";
    home.write("workspace/skills/lacking/SKILL.md", lacks);
    home.write("workspace/skills/lacking/tools.json", tools);
    let check = home.run(&["tools", "check"]);
    assert!(check.out.contains("the tools of skill lacking are off"), "{}", check.out);
    assert!(check.out.contains("no-such-program"), "{}", check.out);
    assert!(check.err.contains("1 problem"), "{}", check.err);
    let json = json(&home.ok(&["tools", "check", "--json"]));
    assert_eq!(json["problems"][0]["severity"], "warning");
}
