//! What every command prints with `--json`, held against its schema in `docs/schemas.json`.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Command, CommandFactory};
use recto::cli::Cli;
use recto_fakes::FakeAnswer;
use serde_json::Value;

use crate::servers::{ServedHome, Wire};
use crate::support::*;

/// Commands whose output is described elsewhere: a stream of events, and a measurement.
const NOT_HERE: [&str; 2] = ["chat", "bench mode"];

fn schemas() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// The schema of a command, with all that it refers to.
fn schema(name: &str) -> Value {
    let all = schemas();
    let mut own = all["commands"][name].clone();
    assert!(own.is_object(), "docs/schemas.json has nothing of `{name}`");
    own["$defs"] = all["$defs"].clone();
    own
}

#[track_caller]
pub(crate) fn check(name: &str, output: &Value) {
    let validator = jsonschema::validator_for(&schema(name)).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(output)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "recto {name} --json: {problems:#?}\n{output:#}");
}

/// Checks what a command told on standard error: notes, and behind them the one error of a
/// command that failed.
#[track_caller]
fn check_told(told: &str) -> Vec<Value> {
    let lines: Vec<Value> = told.lines().map(json).collect();
    for (at, line) in lines.iter().enumerate() {
        let is_last = at + 1 == lines.len();
        check(if is_last && line["error"].is_object() { "error" } else { "note" }, line);
    }
    lines
}

/// The names of all commands that take `--json`.
fn commands_with_json(command: &Command, path: &str, found: &mut BTreeSet<String>) {
    if command.get_arguments().any(|argument| argument.get_id() == "json") {
        found.insert(path.to_owned());
    }
    for sub in command.get_subcommands() {
        let path = format!("{path} {}", sub.get_name());
        commands_with_json(sub, path.trim(), found);
    }
}

#[test]
fn every_command_has_a_schema() {
    let mut commands = BTreeSet::new();
    commands_with_json(&Cli::command(), "", &mut commands);
    let all = schemas();
    let described = all["commands"].as_object().unwrap().keys().cloned();
    let not_here = NOT_HERE.iter().map(|name| (*name).to_owned());
    let described: BTreeSet<String> =
        described.filter(|name| !["error", "note"].contains(&&**name)).chain(not_here).collect();
    assert_eq!(commands, described);
}

/// The objects of a schema that name keys without saying of any that it is always there.
fn find_loose(schema: &Value, path: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let requires = fields.get("required").and_then(Value::as_array);
            if fields.contains_key("properties") && requires.is_none_or(Vec::is_empty) {
                found.push(path.to_owned());
            }
            fields
                .iter()
                .for_each(|(key, inner)| find_loose(inner, &format!("{path}/{key}"), found));
        }
        Value::Array(schemas) => schemas.iter().for_each(|inner| find_loose(inner, path, found)),
        _ => {}
    }
}

#[test]
fn no_schema_fits_everything() {
    let all = schemas();
    let mut loose = Vec::new();
    find_loose(&all, "", &mut loose);
    assert_eq!(loose, Vec::<String>::new());
    for name in all["commands"].as_object().unwrap().keys() {
        let validator = jsonschema::validator_for(&schema(name)).unwrap();
        assert!(!validator.is_valid(&serde_json::json!({})), "`{name}` takes an empty object");
    }
}

/// A home that has something of everything: turns, tools, a question, memories and a server.
fn home() -> Home {
    let home = Home::ready();
    let program = env!("CARGO_BIN_EXE_recto");
    let folder = home.path("").display().to_string();
    home.write(
        "config.toml",
        format!(
            "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 16384\n\
             [mcp.me]\ncommand = '{program}'\nargs = ['--home', '{folder}', 'mcp', 'serve']\n\
             [items.rule.nope]\ninclude = \"always\"\n"
        ),
    );
    home.write("talk.jsonl", TALK.join("\n"));
    home.write("workspace/agents/pilot/soul.md", "You are the pilot.\n");
    home.write("workspace/rules/slip.md", "---\ninlcude: always\n---\nSlip.\n");
    home.ok(&["chat", "-m", "what time is it?"]);
    home.write("talk.jsonl", TALK[1..].join("\n"));
    home.ok(&["chat", "-m", "and in miles?"]);
    home.write("talk.jsonl", ASKS);
    assert_eq!(home.run(&["chat", "-m", "write it down"]).code, 3);
    home.write("talk.jsonl", TALK[1..].join("\n"));
    home
}

const TALK: [&str; 2] = [
    r#"{"tool_calls":[{"name":"list_files","arguments":{}}]}"#,
    r#"{"content":"Noon.","usage":{"prompt":900,"cached":500,"completion":3}}"#,
];

const ASKS: &str =
    r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;

/// Promise: `json-has-schemas`
#[test]
fn what_every_command_prints_fits_its_schema() {
    let home = home();
    for line in [
        "sessions list",
        "sessions show default",
        "sessions search noon",
        "agents list",
        "agents show main",
        "agents check",
        "models list",
        "models check",
        "search miles",
        "why units",
        "stats",
        "store check",
        "store gc",
        "store migrate",
        "skills list",
        "skills show clock",
        "skills check",
        "rules list",
        "rules show units",
        "rules check",
        "references list",
        "references show recto",
        "references check",
        "tools list",
        "tools show list_files",
        "tools check",
        "tools dry-run utc_time",
        "tools run list_files",
        "tools trust clock",
        "mcp list",
        "mcp check",
        "mcp tools",
        "memory list",
        "memory search workspace",
        "memory check",
        "approvals list",
        "approvals show 1",
        "approvals answer 1 allow",
        "config show",
        "config check",
        "doctor",
        "context hello",
        "context hello --session default",
        "show last",
        "diff last",
        "replay --verify",
        "replay last",
        "memory add the_boat_is_blue",
        "sessions stop default",
        "sessions redact units --yes",
        "agents show pilot",
        "agents run pilot hello",
        "schedule add tide report --cron @hourly",
        "schedule run tide",
        "schedule list",
        "schedule log",
        "schedule remove tide",
        "token create phone",
        "token list",
        "token revoke phone",
    ] {
        let words: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let run = home.run(&words);
        assert!(run.code <= 1, "recto {line}: {}{}", run.out, run.err);
        check(command_name(line), &json(&run.out));
        check_told(&run.err);
    }
}

/// The command of a line, without what stands behind it.
fn command_name(line: &str) -> &str {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    let both = words[..2.min(words.len())].join(" ");
    let is_command = schemas()["commands"][&both].is_object();
    if is_command { &line[..both.len()] } else { words[0] }
}

/// Promise: `json-has-schemas`
#[test]
fn what_failed_and_what_was_set_fits_its_schema() {
    let home = Home::ready();
    home.write(
        "config.toml",
        "model = \"m\"\n[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 16384\n\
         [models.gone]\nprovider = \"ollama\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:1\"\n\
         [mcp.none]\ncommand = \"no-such-program-here\"\n",
    );
    home.write("talk.jsonl", TALK[1..].join("\n"));
    home.ok(&["chat", "-m", "/set temperature 0.5"]);
    home.ok(&["chat", "-m", "what time is it?"]);
    home.ok(&["chat", "-m", "/undo"]);
    for (line, code) in [
        ("mcp check", 1),
        ("models check", 1),
        ("sessions show default", 0),
        ("sessions list", 0),
        ("show last", 0),
    ] {
        let words: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let run = home.run(&words);
        assert_eq!(run.code, code, "recto {line}: {}{}", run.out, run.err);
        check(command_name(line), &json(&run.out));
        check_told(&run.err);
    }
}

/// Promise: `json-has-schemas`
#[test]
fn what_is_told_beside_the_data_is_an_object_on_a_line() {
    let home = home();
    let message = |line: &Value| line["note"]["message"].as_str().unwrap().to_owned();
    let told = check_told(&home.run(&["rules", "list", "--json"]).err);
    assert!(told.iter().any(|line| message(line).contains("1 problem")), "{told:?}");
    // A server that has to be asked again, and then answers or refuses.
    let busy = || FakeAnswer::refusal(503, r#"{"error":"busy"}"#).header("retry-after", "0");
    let fake = Wire::OpenAi.fake().answer(FakeAnswer::text("one"));
    let served = ServedHome::new(Wire::OpenAi, fake);
    served.say("first");
    served.fake.push(busy());
    served.fake.push(FakeAnswer::text("two"));
    let run = served.home.run(&["replay", "--json"]);
    assert_eq!(json(&run.out)["requests"][0]["reply"]["content"], "two", "{}", run.err);
    let told = check_told(&run.err);
    assert!(message(&told[0]).contains("asking again in"), "{told:?}");
    served.fake.push(busy());
    served.fake.push(FakeAnswer::refusal(400, r#"{"error":"no"}"#));
    let run = served.home.run(&["replay", "--json"]);
    assert_eq!(run.code, 1, "{}", run.out);
    let told = check_told(&run.err);
    assert!(message(&told[0]).contains("asking again in"), "{told:?}");
    assert!(told.len() == 2 && told[1]["error"].is_object(), "{told:?}");
}

/// Promise: `json-has-schemas`
#[test]
fn changes_of_memories_fit_their_schemas() {
    let home = Home::ready();
    let run = |words: &[&str], code: i32| {
        let run = home.run(&[words, &["--json"]].concat());
        assert_eq!(run.code, code, "{words:?}: {}{}", run.out, run.err);
        check_told(&run.err);
        let out = json(&run.out);
        check(&words[..2].join(" "), &out);
        out
    };
    let added = run(&["memory", "add", "The boat is blue.", "--important"], 0);
    assert_eq!((&added["was_there"], &added["memory"]["important"]), (&false.into(), &true.into()));
    let id = added["memory"]["name"].as_str().unwrap();
    assert_eq!(run(&["memory", "add", "The boat is blue."], 0)["was_there"], true);
    let edited = run(&["memory", "edit", id, "The boat is green."], 0);
    assert_eq!(edited["memory"]["text"], "The boat is green.");
    assert_eq!(edited["changed"], true);
    let id = edited["memory"]["name"].as_str().unwrap();
    assert_eq!(run(&["memory", "edit", id, "The boat is green."], 0)["changed"], false);
    let forgotten = run(&["memory", "forget", id, "ffff0000"], 1);
    assert_eq!((&forgotten["memories"][0]["name"], &forgotten["ok"]), (&id.into(), &false.into()));
    assert_eq!(forgotten["failed"][0]["id"], "ffff0000");
    let listed = run(&["memory", "list", "--forgotten"], 0);
    assert_eq!(
        (&listed["memories"][0]["name"], &listed["memories"][0]["last_used"]),
        (&id.into(), &Value::Null)
    );
    assert_eq!(listed["memories"][0]["counts"]["taken"], 0);
    let restored = run(&["memory", "restore", id], 0);
    assert_eq!(restored["memories"][0]["text"], "The boat is green.");
    assert_eq!((&restored["failed"], &restored["ok"]), (&serde_json::json!([]), &true.into()));
}

#[test]
fn a_pull_fits_its_schema() {
    let home = Home::new();
    home.write("some.gguf", "no model");
    let file = home.path("some.gguf").display().to_string();
    let run = home.run(&["models", "pull", &file, "--json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    check("models pull", &json(&run.out));
}

/// Promise: `json-has-schemas`
#[test]
fn every_failure_is_one_object_on_standard_error() {
    let home = Home::ready();
    for (arguments, code, told) in [
        (&["show", "99", "--json"][..], 1, "no_such_turn"),
        (&["sessions", "show", "nobody", "--json"], 1, "no_such_session"),
        (&["rules", "show", "none", "--json"], 1, "no_such_rule"),
        (&["approvals", "answer", "9", "allow", "--json"], 1, "no_such_approval"),
        (&["memory", "search", "", "--json"], 1, "failed"),
        (&["mcp", "check", "none", "--json"], 1, "no_such_mcp_server"),
        (&["stats", "--unused", "x", "--json"], 2, "usage"),
        (&["tools", "run", "--json"], 2, "usage"),
        (&["nonsense", "--json"], 2, "usage"),
        (&["chat", "-m", "hello", "--json"], 1, "no_model"),
    ] {
        let run = home.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}{}", run.out, run.err);
        assert_eq!(run.out, "", "{arguments:?}");
        let error = json(&run.err);
        check("error", &error);
        assert_eq!(error["error"]["code"], told, "{arguments:?}: {error}");
    }
    home.write("config.toml", "[history]\nmax_mesages = 1\n");
    let run = home.run(&["sessions", "list", "--json"]);
    check("error", &json(&run.err));
}
