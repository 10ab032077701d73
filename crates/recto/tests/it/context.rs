//! `recto context`.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::*;

const MODELS: &str = r#"
[models.local]
provider = "ollama"
model = "qwen3:4b"
window = 8192
context_mode = "auto"
temperature = 0.7

[models.remote]
provider = "openai"
model = "gpt"
window = 16000

[models.claude]
provider = "anthropic"
model = "claude"
window = 16000
"#;

fn small() -> Home {
    Home::with(&[
        ("config.toml", "[models.m]\nprovider = \"ollama\"\nmodel = \"m\"\nwindow = 4096\n"),
        ("workspace/SOUL.md", "You are Ada."),
        ("workspace/AGENTS.md", "Be exact."),
        (
            "workspace/skills/notes/SKILL.md",
            "---\nname: notes\ndescription: Keeps notes.\n---\nUse `notes add`.\n",
        ),
        ("workspace/rules/tone.md", "---\ninclude: always\npriority: 5\n---\nStay calm.\n"),
        ("workspace/rules/extra.md", "Only by hand.\n"),
    ])
}

/// What a chat takes for a command is sent to no model, and of two slashes one stays.
#[test]
fn a_message_is_shown_as_a_chat_would_send_it() {
    let home = Home::scripted(&[]);
    let raw = home.ok(&["context", "//hi there", "--raw"]);
    assert!(raw.contains("/hi there") && !raw.contains("//hi there"), "{raw}");
    home.run(&["context", "/undo"]).fails_with("`/undo` is a command, which no model is sent");
    home.run(&["context", "/rember milk"]).fails_with("/remember");
}

#[test]
fn the_drawing_reads_without_colour() {
    let home = small();
    let run = home.run(&["context", "hello"]);
    let workspace = home.path("workspace").display().to_string();
    let out = run.out.replace(&workspace, "WORKSPACE");
    assert!(!out.contains('\u{1b}'));
    let lines: Vec<&str> = out.lines().filter(|line| !line.contains("(Recto)")).collect();
    assert_eq!(lines[0], "model   m");
    assert_eq!(lines[1], "mode    full: the default");
    assert_eq!(lines[2], "window  4,096 tokens, set in the config");
    assert!(lines[3].starts_with("prompt  ") && lines[3].ends_with("1,024 kept for the reply"));
    assert_eq!(lines[4], "counted estimated by kinds of characters");
    let bar = lines[6];
    assert!(bar.starts_with('S') && bar.ends_with('U') && bar.len() >= 60, "{bar}");
    let rows: Vec<&str> =
        lines.iter().copied().skip_while(|line| !line.starts_with("layer ")).collect();
    let without_numbers = |line: &&str| {
        line.split_whitespace().filter(|w| w.parse::<u32>().is_err()).collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<String> = rows.iter().map(without_numbers).collect();
    expect![[r#"
        layer item include tokens why
        system SOUL.md file in the workspace
        system AGENTS.md file in the workspace
        skills skill notes always always included
        skills headings what stands above and between the items
        tools tool read_file always always included
        tools tool write_file always always included
        tools tool list_files always always included
        tools tool remember always always included
        tools tool recall always always included
        tools tool forget always always included
        items rule tone (priority 5) always always included
        message message the message

        not in the session: rule extra (manual)"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn the_json_has_every_layer_in_order_and_every_field() {
    let home = Home::ready();
    let context = home.context("hello", &[]);
    let keys: Vec<&String> = context.as_object().unwrap().keys().collect();
    for key in ["mode", "window", "budget", "layers", "messages", "tools", "dropped"] {
        assert!(keys.contains(&&key.to_owned()), "{key} in {keys:?}");
    }
    let layers: Vec<&Value> =
        context["layers"].as_array().unwrap().iter().map(|l| &l["layer"]).collect();
    assert_eq!(
        layers,
        [
            "system",
            "bootstrap",
            "memory",
            "skills",
            "tools",
            "items",
            "history",
            "picks",
            "message",
            "rounds"
        ]
    );
    let rule = &layer(&context, "items")["items"][0];
    assert_eq!(
        rule.as_object().unwrap().keys().collect::<Vec<_>>(),
        [
            "kind",
            "name",
            "server",
            "description",
            "source",
            "include",
            "priority",
            "scores",
            "since",
            "tokens",
            "cached",
            "reason",
            "hash",
            "message",
            "bytes"
        ]
    );
    assert_eq!(
        (&rule["kind"], &rule["include"], &rule["priority"]),
        (&json!("rule"), &json!("always"), &json!(100))
    );
    let tool = layer(&context, "tools")["items"].as_array().unwrap().last().unwrap();
    assert_eq!((&tool["server"], &tool["name"]), (&json!("clock"), &json!("utc_time")));
    let sum: u64 =
        context["layers"].as_array().unwrap().iter().map(|l| l["tokens"].as_u64().unwrap()).sum();
    let budget = &context["budget"];
    assert_eq!(sum, budget["used"].as_u64().unwrap() + budget["tools"].as_u64().unwrap());
    assert_eq!(context["mode"]["matched"], json!([]));
}

#[test]
fn raw_is_the_body_of_each_wire() {
    let home = Home::ready();
    home.write("config.toml", MODELS);
    let raw = |model: &str, message: &str| -> Value {
        let run = home.run(&["context", message, "--raw", "--model", model]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(run.out.lines().count(), 1);
        serde_json::from_str(&run.out).unwrap()
    };
    let ollama = raw("local", "fix src/main.rs");
    assert_eq!(ollama["options"]["num_ctx"], 8192);
    assert_eq!(ollama["options"]["temperature"], 0.7);
    assert_eq!((&ollama["truncate"], &ollama["shift"]), (&json!(false), &json!(false)));
    assert_eq!(ollama["tools"][6]["function"]["name"], "utc_time");
    let user = ollama["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(user.contains("You must respond by calling one or more of the provided tools. Do not answer without calling a tool when the request involves files or workspace.\n\nUser request: fix src/main.rs"), "{user}");

    let run =
        home.run(&["context", "hi", "--raw", "--model", "remote", "--context-mode", "minimal"]);
    let openai: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(openai["tool_choice"], "required");

    let anthropic = raw("claude", "hello");
    assert_eq!(anthropic["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(anthropic["max_tokens"], 1024);
    assert!(anthropic["system"][0]["text"].as_str().unwrap().starts_with("You are a calm"));
}

#[test]
fn history_is_read_from_a_file() {
    let home = small();
    home.write("talk.jsonl", concat!(
        r#"{"role":"user","content":"What time is it?"}"#, "\n",
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"utc_time","arguments":"{}"}}]}"#, "\n",
        r#"{"role":"tool","tool_call_id":"c1","content":"12:00"}"#, "\n",
        r#"{"role":"assistant","content":"Noon."}"#, "\n",
    ));
    let file = home.path("talk.jsonl");
    let context = home.context("And now?", &["--history", file.to_str().unwrap()]);
    let roles: Vec<&Value> =
        context["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(
        context["messages"][2]["tool_calls"][0]["id"],
        context["messages"][3]["tool_call_id"]
    );
}

/// Promise: `nothing-cut-silently`
#[test]
fn a_long_history_is_trimmed_and_said_so() {
    let home = small();
    let lines: String = (0..70)
        .map(|n| format!("{}\n", json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("message {n}")})))
        .collect();
    home.write("talk.jsonl", lines);
    let file = home.path("talk.jsonl");
    let run = home.run(&["context", "now", "--history", file.to_str().unwrap()]);
    assert!(run.out.contains("34 messages"), "{}", run.out);
    assert!(run.out.contains("more than history.max_messages = 50"), "{}", run.out);
}

#[test]
fn the_message_comes_from_standard_input_byte_for_byte() {
    let home = small();
    for arguments in [&["context", "--json"][..], &["context", "-", "--json"]] {
        let run = home.run_with(arguments, "  two\n lines \\n\n", &[]);
        let context: Value = serde_json::from_str(&run.out).unwrap();
        let content = context["messages"][1]["content"].as_str().unwrap();
        assert!(content.ends_with(":\n\u{20}\u{20}two\n lines \\n\n"), "{content:?}");
    }
}

#[test]
fn variables_and_flags_come_before_the_file() {
    let home = Home::ready();
    home.write("config.toml", MODELS);
    let run = home.run_with(&["context", "hi", "--json"], "", &[("RECTO_CONTEXT_PRESET", "plain")]);
    let plain: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(names(&plain, "system"), ["AGENTS.md"]);
    assert_eq!(plain["messages"][1]["content"], "hi");
    let run = home.run_with(&["context", "hi", "--json"], "", &[("RECTO_MODEL", "remote")]);
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["model"], "remote");
    let context = home.context("hi", &["--model", "claude"]);
    assert_eq!(context["model"], "claude");
}

#[test]
fn auto_says_which_words_decided() {
    let home = Home::ready();
    home.write("config.toml", MODELS);
    let context = home.context("ok, edit config.json", &["--model", "local"]);
    assert_eq!(context["mode"]["chosen"], "minimal");
    assert_eq!(context["mode"]["matched"], json!(["config.json"]));
    let talk = home.context("why is the sky blue?", &["--model", "local"]);
    assert_eq!(talk["mode"]["chosen"], "full");
}

/// Promise: `system-text-stable`
#[test]
fn the_system_text_is_the_same_on_every_run() {
    // Also when files were made in another order.
    let system = |home: &Home| {
        let context = home.context("hi", &[]);
        let text = context["messages"][0]["content"].as_str().unwrap().to_owned();
        text.replace(&home.path("").display().to_string(), "HOME/")
    };
    let files = [
        ("workspace/rules/b.md", "---\ninclude: always\n---\nB"),
        ("workspace/rules/a.md", "---\ninclude: always\n---\nA"),
        ("workspace/skills/z/SKILL.md", "---\nname: z\ndescription: z\n---\nZ"),
        ("workspace/skills/y/SKILL.md", "---\nname: y\ndescription: y\n---\nY"),
    ];
    let mut reversed = files;
    reversed.reverse();
    let (one, two) = (Home::with(&files), Home::with(&reversed));
    assert_eq!(system(&one), system(&one));
    assert_eq!(system(&one), system(&two));
}

/// Promise: `skill-body-whole`
/// Promise: `description-parses`
/// Promise: `skill-shows-description`
#[test]
fn a_skill_shows_its_description_and_never_its_fences() {
    let home = Home::with(&[
        (
            "workspace/skills/a/SKILL.md",
            "---\nname: a\ndescription: Use when: x --- y\n---\nBody A\n\n---\n\nmore\n",
        ),
        ("workspace/skills/b/SKILL.md", "Body B first\n\n---\n\nBody B last\n"),
    ]);
    let context = home.context("hi", &[]);
    let system = context["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("## a\nUse when: x --- y\n\nBody A\n\n---\n\nmore"), "{system}");
    assert!(system.contains("Body B first\n\n---\n\nBody B last"), "{system}");
    home.write("config.toml", "[skills]\nrender = \"read_on_demand\"\n");
    let context = home.context("hi", &[]);
    let system = context["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("- **a**: Use when: x --- y\n"), "{system}");
    assert_eq!(context["tools"][0]["name"], "read_skill");
}

#[test]
fn output_into_a_closed_pipe_is_no_failure() {
    let home = small();
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "'{}' --home '{}' context hi --json 2>/dev/null | true",
            env!("CARGO_BIN_EXE_recto"),
            home.path("").display()
        ))
        .env("OLLAMA_HOST", NOWHERE)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn an_empty_message_is_refused_in_the_words_of_a_chat() {
    let home = Home::scripted(&[]);
    let chat = home.run_with(&["chat", "-m", "-"], "", &[]);
    assert_eq!(chat.code, 1, "{}{}", chat.out, chat.err);
    for (command, input) in
        [(&["context"][..], ""), (&["context", "-"], " \n"), (&["context", "--json"], "")]
    {
        let run = home.run_with(command, input, &[]);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{command:?}");
        assert!(run.err.contains("the message is empty"), "{command:?}: {}", run.err);
    }
    assert!(chat.err.contains("the message is empty"), "{}", chat.err);
}
