//! A conversation with the model inside the binary, and what is kept of it.

use std::path::PathBuf;

use serde_json::Value;

use crate::record::verify_all;
use crate::support::*;

/// A home that `recto init` has set up, with `SmolLM2` where a pull puts it.
fn home() -> Home {
    let home = Home::ready();
    let folder = home.path("models/smollm2");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(model(), folder.join(model().file_name().unwrap())).unwrap();
    home
}

fn model() -> PathBuf {
    let folder = match std::env::var_os("RECTO_TEST_MODELS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    };
    let file = folder.join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(file.is_file(), "{} is missing: run `make test`, which pulls it", file.display());
    file
}

/// The requests of a turn, as `show --json` has them.
fn requests(home: &Home, turn: &str) -> Vec<Value> {
    let shown = json(&home.ok(&["show", turn, "--json"]));
    shown["requests"].as_array().unwrap().clone()
}

#[test]
fn it_answers_on_a_fresh_machine_and_the_record_holds_what_it_read() {
    let home = home();
    let questions = "What is the capital of France?\nAnd what do people eat there?\n";
    let run = home.run_with(&["chat"], questions, &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("Paris"), "{}", run.out);
    verify_all(&home, 2);
    let [first, second] = ["1", "2"].map(|turn| requests(&home, turn).remove(0));
    assert_eq!(first["chosen"], "embedded: no server with a model was configured or found");
    assert_eq!((&first["fidelity"], &first["wire"]), (&"rendered".into(), &"embedded".into()));
    // Counted by its own tokenizer, to the token.
    assert_eq!(first["context"]["counted"], "tokenizer");
    assert_eq!(first["context"]["window"]["source"], "trained");
    // The second question is all that is new to the model, and its own reply is
    // not read again.
    let usage = &second["answer"]["usage"];
    let fresh = usage["prompt"].as_u64().unwrap() - usage["cached"].as_u64().unwrap();
    assert!(fresh < 60, "{usage}");
    let body = second["body"]["prompt"].as_array().unwrap();
    assert!(body.iter().any(|segment| segment["tokens"].is_array()), "{body:?}");
    // The same page again gives the same reply.
    let replayed = home.ok(&["replay", "1"]);
    assert!(replayed.contains("Paris"), "{replayed}");
}

/// Promise: `taken-up-makes-way`
#[test]
fn a_turn_that_was_killed_holds_up_no_other_session() {
    for signal in ["-TERM", "-KILL"] {
        let home = home();
        let long = "Write a very long story about a ship, with twenty chapters.";
        let running = home.start(&["chat", "--session", "work", "--json", "-m", long]);
        running.wait_for_out("\"text\"");
        let id = running.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(killed.success());
        drop(running);
        let run = home.run(&["chat", "--session", "other", "-m", "What is the capital of France?"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("a turn waits in session work"), "{}", run.err);
        home.ok(&["sessions", "stop", "work"]);
        let turn = json(&home.ok(&["show", "1", "--json"]));
        assert_eq!(turn["turn"]["status"], "stopped");
    }
}

#[test]
fn a_minimal_turn_calls_a_tool_that_there_is() {
    let home = home();
    home.write("workspace/notes.md", "Buy milk.");
    let run = home.run_with(
        &["chat", "--context-mode", "minimal", "--json", "-m", "Read the file notes.md"],
        "",
        &[],
    );
    let events: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = events.iter().find(|event| event["event"] == "call").unwrap();
    let name = call["name"].as_str().unwrap();
    assert!(["read_file", "write_file", "list_files", "utc_time"].contains(&name), "{call}");
    let first = &requests(&home, "1")[0];
    assert_eq!(first["body"]["calls"]["must"], true);
    verify_all(&home, requests(&home, "1").len());
}

#[test]
fn a_minimal_turn_runs_a_program_of_a_skill() {
    let home = home();
    // Nobody is asked, and nothing is left to chance: which of several tools a model of this size
    // takes changes with the minute that stands on the page.
    home.write(
        "config.toml",
        "[models.m]\nprovider = \"embedded\"\nmodel = \"smollm2\"\ntemperature = 0.0\n\
         [tools]\napproval = \"never\"\nmax_rounds = 1\ndisabled = [\"read_file\", \
         \"write_file\", \"list_files\", \"remember\", \"recall\", \"forget\"]\n",
    );
    let message = "What time is it in UTC?";
    let run = home.run(&["chat", "--context-mode", "minimal", "--json", "-m", message]);
    let events: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().find(|event| event["event"] == kind).unwrap();
    assert_eq!(of("call")["name"], "utc_time", "{}{}", run.out, run.err);
    let result = of("result");
    assert_eq!((&result["name"], &result["outcome"]), (&"utc_time".into(), &"done".into()));
    assert!(result["text"].as_str().unwrap().contains("UTC"), "{result}");
    let first = &requests(&home, "1")[0];
    assert_eq!(first["body"]["calls"]["must"], true);
    verify_all(&home, requests(&home, "1").len());
}

/// A model of this size would take another tool; search knows better.
#[test]
fn the_tool_that_search_is_sure_of_is_called() {
    let home = home();
    with_encoder(&home);
    home.write("config.toml", "[tools]\napproval = \"never\"\nmax_rounds = 1\n");
    let message = "What is the time in UTC right now?";
    // A turn does not wait for a search that is not ready; the next one finds it so.
    for turn in ["1", "2", "3", "4"] {
        let session = format!("try-{turn}");
        let arguments = ["chat", "--session", &session, "--context-mode", "auto", "--json", "-m"];
        let run = home.run(&[&arguments[..], &[message]].concat());
        let first = requests(&home, turn).remove(0);
        if first["context"]["mode"]["sure_tool"] == "clock.utc_time" {
            let events: Vec<Value> = run.out.lines().map(json).collect();
            let call = events.iter().find(|event| event["event"] == "call").unwrap();
            assert_eq!(call["name"], "utc_time", "{}{}", run.out, run.err);
            return;
        }
    }
    panic!("search was sure of nothing: {}", home.ok(&["search", message]));
}

#[test]
fn what_is_wrong_with_a_file_is_told_and_the_message_is_kept() {
    let home = home();
    let whole = std::fs::read(model()).unwrap();
    home.write("cut.gguf", &whole[..2_000_000]);
    home.write("config.toml", "[models.cut]\nprovider = \"embedded\"\nmodel = \"cut.gguf\"\n");
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("cut.gguf"), "{}", run.err);
    assert!(run.err.contains("hint: "), "{}", run.err);
    let sessions = home.ok(&["sessions", "show", "1"]);
    assert!(sessions.contains("hello"), "{sessions}");
    let config = "[models.m]\nprovider = \"embedded\"\nmodel = \"smollm2\"\nwindow = 100000\n";
    home.write("config.toml", config);
    let run = home.run(&["chat", "-m", "hello"]);
    assert!(run.err.contains("8192"), "{}", run.err);
    // Asked for what is there instead.
    let run = home.run(&["models", "check"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
}
