//! What is remembered in one session is known in the next: by the model's own tool, by
//! a command, and on the page.

use std::fs;

use serde_json::{Value, json};

use super::many;
use crate::support::*;

/// A wish as models write it down, and as people say it: their words are kept.
const WISH: &str = "The user prefers brief answers.";
const SAID: &str = "I prefer brief answers";

/// The model remembers something, and then answers.
fn remembering(text: &str) -> Home {
    let call = json!({"tool_calls": [{"name": "remember", "arguments": {"text": text}}]});
    let home = Home::scripted(&[&call.to_string(), r#"{"content":"I will."}"#]);
    home.write("workspace/memory/MEMORY.md", many(1_000));
    home
}

/// The messages of a request body.
fn body(text: &str) -> String {
    let body: Value = serde_json::from_str(text).unwrap();
    body["messages"].to_string()
}

#[test]
fn what_a_model_remembers_is_known_in_the_next_session_among_a_thousand() {
    let home = remembering(WISH);
    let said = home.ok(&["chat", "--session", "one", "-m", &format!("Remember that {SAID}")]);
    assert!(said.contains(SAID), "{said}");
    let file = fs::read_to_string(home.path("workspace/memory/MEMORY.md")).unwrap();
    // A lasting wish is marked by itself, where the person sees the mark.
    assert!(file.contains(&format!("- [important] {SAID} (added at ")), "{file}");
    assert_eq!(home.remembered(&[]).len(), 1_001);
    // Before it is said, and as it was sent.
    let preview = home.ok(&["context", "hello", "--raw"]);
    assert!(body(&preview).contains(SAID), "{preview}");
    let context = home.context("hello", &[]);
    let memories = names(&context, "memory");
    assert!(memories.len() <= 20, "{memories:?}");
    home.ok(&["chat", "--session", "two", "-m", "hello"]);
    assert!(body(&home.ok(&["show", "--body"])).contains(SAID));
    // And not where others read along.
    assert_eq!(home.remembered(&["--as", "group"]), [""; 0]);
    assert_eq!(home.remembered(&["--as", "guest"]), [""; 0]);
    let found = home.json(&["memory", "search", "brief answers", "--as", "group", "--json"]);
    assert_eq!(found["results"], json!([]));
}

#[test]
fn a_page_outside_of_all_sessions_recalls_as_a_turn_does() {
    let home = Home::scripted(&[]);
    home.write("workspace/memory/MEMORY.md", many(300) + "- The walrus poster is in the hall.\n");
    let before = home.tree();
    let preview = home.ok(&["context", "Where is the walrus poster?", "--raw"]);
    assert_eq!(home.tree(), before, "looking makes no store");
    home.ok(&["chat", "-m", "Where is the walrus poster?"]);
    let sent = home.ok(&["show", "--body"]);
    for page in [preview, sent] {
        assert!(body(&page).contains("The walrus poster is in the hall."), "{page}");
    }
}

#[test]
fn a_command_remembers_without_the_model() {
    let home = Home::scripted(&[r#"{"content":"Hello!"}"#]);
    home.write("workspace/memory/MEMORY.md", many(200));
    let run = home.run(&["chat", "-m", &format!("/remember {WISH}")]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains(WISH) && run.out.contains("MEMORY.md#"), "{}", run.out);
    let again = home.run(&["chat", "-m", &format!("/remember {WISH}")]);
    assert!(again.out.contains("already"), "{}", again.out);
    let as_json = home.run(&["chat", "--json", "-m", "/remember The barn is red."]);
    let answer: Value = serde_json::from_str(as_json.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&answer["kind"], &answer["data"]["text"]),
        (&json!("remembered"), &json!("The barn is red."))
    );
    assert!(body(&home.ok(&["context", "hello", "--raw"])).contains(WISH));
    let key = ["gh", "p_", "a8Kd0Zs7Qm3Xw9Lv2Bn6Tc4Yr1Hj5Gf8Pe0U"].concat();
    let secret = home.run(&["chat", "-m", &format!("/remember the token is {key}")]);
    secret.fails_with("hint: ");
    assert!(!secret.err.contains(&key), "{}", secret.err);
    home.run(&["chat", "-m", "/remember"]).fails_with("hint: ");
    // Nothing of it was said to the model.
    home.run(&["sessions", "search", "brief", "--json"]);
    assert_eq!(home.json(&["sessions", "search", "barn", "--json"])["messages"].clone(), json!([]));
}

#[test]
fn a_model_recalls_and_forgets() {
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"recall","arguments":{"query":"walrus poster"}}]}"#,
        r#"{"content":"In the hall."}"#,
    ]);
    home.write("workspace/memory/MEMORY.md", many(300));
    let id = home.remember("The walrus poster hangs in the hall.", &[]);
    home.ok(&["chat", "-m", "Where was that poster?"]);
    let shown = home.ok(&["sessions", "show", "default"]);
    let told = format!("The walrus poster hangs in the hall. (memory {id})");
    assert!(shown.contains(&told), "{shown}");
    let forget = json!({"tool_calls": [{"name": "forget", "arguments": {"id": id}}]});
    home.write("talk.jsonl", format!("{forget}\n{{\"content\":\"Gone.\"}}\n"));
    home.ok(&["chat", "-m", "Forget the poster"]);
    assert_eq!(home.remembered(&[]).len(), 300);
    let archive = fs::read_to_string(home.path("workspace/memory/archive/MEMORY.md")).unwrap();
    assert!(archive.contains("walrus"), "{archive}");
}

#[test]
fn a_secret_is_refused_to_a_model() {
    let key = ["gh", "p_", "a8Kd0Zs7Qm3Xw9Lv2Bn6Tc4Yr1Hj5Gf8Pe0U"].concat();
    let home = remembering(&format!("The token is {key}"));
    home.ok(&["chat", "-m", "Remember my token"]);
    assert_eq!(home.remembered(&[]).len(), 1_000);
    let shown = home.ok(&["sessions", "show", "default"]);
    assert!(shown.contains("looks like"), "{shown}");
}

#[test]
fn the_tools_are_listed_and_can_be_left_out() {
    let home = Home::scripted(&[]);
    let list = home.json(&["tools", "list", "--json"])["tools"].clone();
    let named = |list: &Value, name: &str| {
        list.as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned()
    };
    for name in ["remember", "recall", "forget"] {
        let tool = named(&list, name).unwrap_or_else(|| panic!("{name} in {list}"));
        assert_eq!(tool["permission"], "allow", "{tool}");
    }
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("tools.disabled = [\"forget\"]\n{config}"));
    let list = home.json(&["tools", "list", "--json"])["tools"].clone();
    assert!(named(&list, "forget").is_none() && named(&list, "recall").is_some());
    let body = json(&home.ok(&["context", "hello", "--raw"]));
    let offered: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(offered.contains(&"recall") && !offered.contains(&"forget"), "{offered:?}");
}

/// Promise: `minimal-reaches-memory`
#[test]
fn minimal_mode_has_no_memories_and_offers_to_recall_them() {
    let home = Home::scripted(&[]);
    home.write("workspace/memory/MEMORY.md", "- Bo likes tea.\n");
    let minimal: Value = serde_json::from_str(&home.ok(&[
        "context",
        "read notes.txt",
        "--context-mode",
        "minimal",
        "--raw",
    ]))
    .unwrap();
    assert!(!minimal["messages"].to_string().contains("Bo likes tea."), "{minimal}");
    let tools = minimal["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "recall"), "{minimal}");
}

/// A home with a small page, where messages soon leave.
fn small(compaction: &str) -> Home {
    let home = Home::with(&[(
        "config.toml",
        &format!(
            "history.max_messages = 6\n{compaction}[models.m]\nprovider = \"scripted\"\nwindow = 16384\n"
        ),
    )]);
    let said = [
        "The garden party is on 14 June at 3 pm, and Wilma brings the tent.",
        "We decided to rent 24 chairs from Hansen for 180 euros.",
        "The playlist is in /srv/music/party.m3u.",
        "Who picks up the cake from Bakery Sommer?",
        "The guest list has 31 names so far.",
        "The permit number is GA-2231-B.",
    ];
    let input = said.join("\n") + "\n";
    let run = home.run_with(&["chat"], &input, &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    home
}

/// Promise: `compaction-can-be-undone`
#[test]
fn a_summary_is_shown_and_taken_back() {
    let home = small("history.compaction = \"extract\"\n");
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    let compactions = shown["compactions"].as_array().unwrap();
    assert!(!compactions.is_empty(), "{shown}");
    let newest = compactions.last().unwrap();
    assert_eq!((&newest["how"], &newest["undone"]), (&json!("extract"), &Value::Null));
    assert!(newest["tokens_after"].as_u64() < newest["tokens_before"].as_u64(), "{newest}");
    assert!(newest["text"].as_str().unwrap().contains("14 June"), "{newest}");
    let drawn = home.ok(&["sessions", "show", "default"]);
    assert!(drawn.contains("by extraction") && drawn.contains("stands on the page for"), "{drawn}");
    assert!(body(&home.ok(&["show", "--body"])).contains("14 June"));
    // Nothing of the transcript was touched.
    let messages = shown["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 12);
    assert!(messages[0]["content"].as_str().unwrap().contains("Wilma brings the tent"));
    let expanded = home.run(&["sessions", "expand", "default"]);
    assert_eq!(expanded.code, 0, "{}", expanded.err);
    let count = newest["messages"].as_u64().unwrap();
    assert!(expanded.err.contains(&format!("{count} message")), "{}", expanded.err);
    assert!(expanded.err.contains("/set compaction default"), "{}", expanded.err);
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    let all = shown["compactions"].as_array().unwrap();
    assert!(all.iter().all(|one| one["undone"].is_string()), "{shown}");
    assert!(!home.ok(&["sessions", "show", "default"]).contains("by extraction"));
    let again = home.run(&["sessions", "expand", "default"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.err.contains("no summary stands"), "{}", again.err);
    // From now on what leaves is not summarised in this session.
    home.ok(&["chat", "-m", "And now?"]);
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    assert_eq!(shown["compactions"].as_array().unwrap().len(), all.len());
    home.run(&["sessions", "expand", "nowhere"]).fails_with("there is no session");
}

#[test]
fn the_page_of_a_turn_is_not_its_request_for_a_summary() {
    let home = small("history.compaction = \"summary\"\n");
    let mut turns = (1..=6).map(|turn| home.json(&["show", &turn.to_string(), "--json"]));
    let asked = |turn: &Value| turn["requests"][0]["purpose"] == "summary";
    let shown = turns.find(asked).expect("a summary is asked for");
    let [summary, page] = &shown["requests"].as_array().unwrap()[..] else { panic!("{shown}") };
    assert_eq!((&summary["prefix"], &page["purpose"]), (&Value::Null, &json!("page")));
    let turn = shown["turn"]["id"].as_i64().unwrap();
    let this = turn.to_string();
    let summary = home.ok(&["show", &this, "--request", "1"]);
    assert!(summary.contains("purpose a summary of messages that leave the page"), "{summary}");
    assert!(!home.ok(&["show", &this]).contains("purpose"));
    // A process that is killed while it waits for the summary leaves a turn without a page.
    let database = rusqlite::Connection::open(home.path("data/recto.db")).unwrap();
    // Others rest on the page, so it is not deleted but given to the next turn.
    let page = "UPDATE requests SET turn = turn + 1, number = 9 WHERE turn = ?1 AND number = 2";
    assert_eq!(database.execute(page, [turn]).unwrap(), 1);
    drop(database);
    for command in [vec!["show", &this], vec!["why", "x", &this], vec!["diff", &this]] {
        home.run(&command).fails_with("it sent no page");
    }
    assert!(home.ok(&["show", &this, "--request", "1"]).contains("purpose a summary"));
    // What comes behind it is compared with the page before it.
    let compared = home.json(&["diff", &(turn + 1).to_string(), "--json"]);
    assert_eq!(compared["before"]["turn"], turn - 1);
}

#[test]
fn without_compaction_there_are_no_summaries() {
    let home = small("");
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    assert_eq!(shown["compactions"], json!([]));
    // One session may have them all the same.
    home.ok(&["chat", "-m", "/set compaction extract"]);
    let said = "The tent is blue and 4 by 6 metres, says Wilma.\n\
                Hansen wants the chairs back on 15 June at noon.\n\
                The mayor may come at 5 pm.\nAnna brings 3 lamps.\n";
    assert_eq!(home.run_with(&["chat"], said, &[]).code, 0);
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    assert!(!shown["compactions"].as_array().unwrap().is_empty(), "{shown}");
}

#[test]
fn sessions_are_kept_as_files_from_the_fourth_message_on() {
    let home = Home::with(&[(
        "config.toml",
        "sessions.markdown = true\n[models.m]\nprovider = \"scripted\"\nwindow = 16384\n",
    )]);
    let files = || -> Vec<String> {
        let Ok(folder) = fs::read_dir(home.path("sessions")) else { return Vec::new() };
        folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    home.ok(&["chat", "-m", "Plan the garden party"]);
    assert_eq!(files(), [""; 0]);
    home.ok(&["chat", "-m", "On 14 June"]);
    let [name] = &files()[..] else { panic!("{:?}", files()) };
    assert!(name.starts_with("session-memory-plan-the-garden-party-"), "{name}");
    assert!(name.ends_with(".md"), "{name}");
    let text = || fs::read_to_string(home.path("sessions").join(name)).unwrap();
    assert!(text().contains("Plan the garden party") && text().contains("On 14 June"));
    home.ok(&["chat", "-m", "With 24 chairs"]);
    assert_eq!(files().len(), 1);
    assert!(text().contains("With 24 chairs"), "{}", text());
}
