//! Which model answers when the config names none. Runs with the embedded engine
//! and without it: `scripts/test` does both.

use std::fs::File;
use std::net::TcpListener;

use expect_test::{Expect, expect};
use recto_fakes::{FakeAnswer, FakeModel, FakeServer};
use serde_json::Value;

use crate::support::*;

/// Whether the binary can run models itself.
const EMBEDDED: bool = cfg!(feature = "embedded");

impl Home {
    /// A command, with an Ollama that it can find.
    fn run_beside(&self, ollama: &FakeServer, arguments: &[&str]) -> Run {
        self.run_with(arguments, "", &[("OLLAMA_HOST", &ollama.address().to_string())])
    }

    /// A model file that was pulled, as far as anybody can tell without reading it.
    fn shelve(&self, file: &str, size: u64) {
        self.write(file, "");
        File::options().write(true).open(self.path(file)).unwrap().set_len(size).unwrap();
    }

    /// The entry that `recto context` takes.
    fn model(&self, more: &[&str]) -> Value {
        self.context("hello", more)["model"].clone()
    }
}

/// The files of the models that Recto brings along.
const SMOLLM2: (&str, u64) = ("models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432);
const MINILM: [(&str, u64); 2] =
    [("models/minilm/model.safetensors", 90_868_376), ("models/minilm/tokenizer.json", 466_247)];

/// What Ollama was asked, without its conversations.
fn asked(fake: &FakeServer) -> Vec<String> {
    fake.log().into_iter().map(|received| received.path).collect()
}

#[test]
fn a_config_that_names_a_model_is_taken_at_its_word() {
    let ollama = FakeServer::ollama().start();
    let home = Home::scripted(&[r#"{"content": "Hello."}"#]);
    home.shelve(SMOLLM2.0, SMOLLM2.1);
    let run = home.run_beside(&ollama, &["chat", "-m", "hi"]);
    assert_eq!((run.code, &*run.out), (0, "Hello.\n"), "{}", run.err);
    for command in [&["context", "hi"][..], &["doctor"], &["replay"]] {
        home.run_beside(&ollama, command);
    }
    assert_eq!(asked(&ollama), [""; 0]);
    let shown = json(&home.ok(&["show", "--json"]));
    assert_eq!(shown["requests"][0]["chosen"], "configured");
}

#[test]
fn ollama_is_found_where_it_says_that_it_is() {
    let ollama = FakeServer::ollama()
        .model(FakeModel::new("tiny:1b"))
        .model(FakeModel::new("large:70b"))
        .start();
    ollama.push(FakeAnswer::text("Hello from Ollama."));
    let home = Home::with(&[]);
    let run = home.run_beside(&ollama, &["chat", "-m", "hi"]);
    assert_eq!((run.code, &*run.out), (0, "Hello from Ollama.\n"), "{}", run.err);
    assert_eq!(ollama.chats()[0]["model"], "tiny:1b");
    let lists = asked(&ollama).iter().filter(|path| *path == "/api/tags").count();
    assert_eq!(lists, 1, "asked once: {:?}", asked(&ollama));
    let shown = json(&home.ok(&["show", "--json"]));
    let request = &shown["requests"][0];
    assert_eq!(request["model"], "ollama");
    let reason = format!("found on Ollama at {} (2 models)", ollama.url());
    assert_eq!(request["chosen"], reason.as_str());
    // What was sent can be sent again, to the model that is found again.
    ollama.push(FakeAnswer::text("Hello again."));
    let again = home.run_beside(&ollama, &["replay"]);
    assert_eq!((again.code, &*again.out), (0, "Hello again.\n"), "{}", again.err);
}

#[test]
fn of_ollamas_models_the_one_in_memory_is_taken() {
    let ollama =
        FakeServer::ollama().model(FakeModel::new("a:1b")).model(FakeModel::new("b:1b")).start();
    let home = Home::with(&[]);
    let entry = format!("provider = \"ollama\"\nmodel = \"b:1b\"\nbase_url = \"{}\"", ollama.url());
    home.write("config.toml", format!("[models.m]\n{entry}\n"));
    home.ok(&["chat", "-m", "this loads it"]);
    home.write("config.toml", "");
    let run = home.run_beside(&ollama, &["chat", "-m", "hi"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(ollama.chats()[1]["model"], "b:1b");
    assert_eq!(ollama.rejections(), [""; 0]);
}

#[test]
fn a_model_that_cannot_talk_is_not_taken() {
    let vectors = || FakeModel::new("all-minilm").capabilities([]);
    let ollama = FakeServer::ollama().model(vectors()).model(FakeModel::new("tiny:1b")).start();
    let home = Home::with(&[]);
    let run = home.run_beside(&ollama, &["chat", "-m", "hi"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(ollama.chats()[0]["model"], "tiny:1b");
    let ollama = FakeServer::ollama().model(vectors()).start();
    let run = home.run_beside(&ollama, &["chat", "-m", "hi"]);
    run.fails_with("has none to talk to");
    assert!(run.err.contains("ollama pull"), "{}", run.err);
}

#[test]
fn ollama_comes_before_the_model_files_unless_one_is_asked_for() {
    let ollama = FakeServer::ollama().start();
    let home = Home::with(&[]);
    home.shelve(SMOLLM2.0, SMOLLM2.1);
    let context = |more: &[&str]| {
        let run = home.run_beside(&ollama, &[&["context", "hi", "--json"], more].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        serde_json::from_str::<Value>(&run.out).unwrap()["model"].clone()
    };
    assert_eq!(context(&[]), "ollama");
    if EMBEDDED {
        let before = asked(&ollama).len();
        assert_eq!(context(&["--model", "smollm2"]), "smollm2");
        home.write("config.toml", "model = \"smollm2\"\n");
        assert_eq!(context(&[]), "smollm2");
        assert_eq!(asked(&ollama).len(), before, "nobody waits for a server in vain");
    }
}

#[test]
fn an_ollama_that_is_of_no_use_is_passed_over() {
    let without = FakeServer::ollama().model(FakeModel::new("x")).api_key("sk").start();
    // Accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let home = Home::with(&[]);
    home.shelve("models/tiny/tiny.gguf", 10);
    for host in [&without.address().to_string(), &silent, "no such host", NOWHERE] {
        let variables = [("OLLAMA_HOST", host)];
        let run = home.run_with(&["context", "hi", "--json"], "", &variables);
        assert_eq!(run.code, 0, "{host}: {}", run.err);
        let model = serde_json::from_str::<Value>(&run.out).unwrap()["model"].clone();
        assert_eq!(model, if EMBEDDED { "tiny" } else { "none" }, "{host}");
    }
}

#[test]
fn of_the_model_files_those_that_can_talk_are_taken() {
    let home = Home::with(&[]);
    for (file, size) in MINILM {
        home.shelve(file, size);
    }
    home.shelve("models/notes/notes.txt", 10);
    assert_eq!(home.model(&[]), "none", "neither can talk");
    if !EMBEDDED {
        return;
    }
    home.shelve("models/b/b.gguf", 10);
    home.shelve("models/a/a.gguf", 10);
    assert_eq!(home.model(&[]), "a", "the first by name");
    home.shelve(SMOLLM2.0, SMOLLM2.1 - 1);
    assert_eq!(home.model(&[]), "a", "what is not whole is not there");
    home.shelve(SMOLLM2.0, SMOLLM2.1);
    assert_eq!(home.model(&[]), "smollm2", "the one that Recto brings along");
    assert_eq!(home.model(&["--model", "b"]), "b");
    home.shelve("models/odd.gguf/odd.gguf", 10);
    assert_eq!(home.model(&["--model", "odd.gguf"]), "odd.gguf", "a name, however it looks");
    let doctor = home.run(&["doctor"]).out;
    assert!(doctor.contains("models/odd.gguf/odd.gguf"), "{doctor}");
}

#[test]
fn an_embedded_model_of_the_config_need_not_be_there_for_the_others_to_work() {
    let home = Home::scripted(&[r#"{"content": "Hello."}"#]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let small = "[models.small]\nprovider = \"embedded\"\nmodel = \"smollm2\"\n";
    home.write("config.toml", config + small);
    assert_eq!(home.ok(&["chat", "-m", "hi"]), "Hello.\n");
    let run = home.run(&["chat", "--model", "small", "-m", "hi"]);
    run.fails_with("error: model `small`: ");
}

#[test]
fn without_any_model_it_is_said_what_to_do() {
    let home = Home::with(&[]);
    let check = |arguments: &[&str], with: &Expect, without: &Expect| {
        let run = home.run(arguments);
        assert_eq!((run.code, &*run.out), (1, ""), "{}", run.err);
        let expected = if EMBEDDED { with } else { without };
        expected.assert_eq(&run.err);
    };
    check(
        &["chat", "-m", "hi"],
        &expect![[r#"
            error: no model is configured, and none was found: Ollama does not listen at http://127.0.0.1:1; none was pulled

            hint: run `recto models pull smollm2`, or start Ollama, or name a model in the config
        "#]],
        &expect![[r#"
            error: no model is configured, and none was found: Ollama does not listen at http://127.0.0.1:1; none was pulled

            hint: start Ollama, or build Recto with a model of its own (`make chat`, or `--features embedded`), or name a model in the config
        "#]],
    );
    check(
        &["chat", "--model", "nope"],
        &expect![[r#"
            error: there is no model `nope`: Ollama does not listen at http://127.0.0.1:1; none was pulled

            hint: run `recto models pull smollm2`, or start Ollama, or name a model in the config
        "#]],
        &expect![[r#"
            error: there is no model `nope`: Ollama does not listen at http://127.0.0.1:1; none was pulled

            hint: start Ollama, or build Recto with a model of its own (`make chat`, or `--features embedded`), or name a model in the config
        "#]],
    );
    assert!(home.tree().is_empty(), "nothing is written: {:?}", home.tree().keys());
}

#[test]
fn without_a_model_the_page_is_shown_all_the_same() {
    let home = Home::with(&[]);
    let run = home.run(&["context", "hi"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("a window of 4,096 tokens is assumed"), "{}", run.err);
    assert!(run.err.contains("hint: "), "{}", run.err);
}

#[test]
fn a_name_that_is_not_found_is_told_with_those_that_are() {
    let ollama = FakeServer::ollama().start();
    let home = Home::with(&[]);
    for arguments in [&["chat", "--model", "nope"][..], &["context", "hi", "--model", "nope"]] {
        let run = home.run_beside(&ollama, arguments);
        run.fails_with("there is no model `nope`");
        run.fails_with("hint: found: ollama");
    }
}

#[test]
fn what_needs_no_model_looks_for_none() {
    let ollama = FakeServer::ollama().start();
    let home = Home::with(&[]);
    for arguments in [
        &["sessions", "list"][..],
        &["show"],
        &["diff"],
        &["replay", "--verify"],
        &["skills", "list"],
        &["config", "show"],
    ] {
        home.run_beside(&ollama, arguments);
    }
    assert_eq!(asked(&ollama), [""; 0]);
}

/// Recto's own limit for replies holds for a model that stands in no config, too.
#[test]
fn the_settings_of_a_model_that_was_found_are_those_that_hold() {
    let (home, ollama) = (Home::ready(), FakeServer::ollama().start());
    let run = home.run_beside(&ollama, &["chat", "--json", "-m", "/set"]);
    let answer = json(run.out.lines().next().unwrap());
    assert_eq!(answer["data"]["max_output_tokens"]["value"], 1024, "{answer}");
}

/// What is said to a browser without a model, and that the server needs no other start.
#[cfg(feature = "embedded")]
#[test]
fn a_server_without_a_model_says_what_to_do_and_finds_the_one_that_is_pulled() {
    let home = Home::with(&[]);
    home.write("config.toml", "");
    let server = home.serve_pages();
    let page = server.page("/");
    assert!(page.contains("No model answers yet"), "{page}");
    assert!(page.contains("<code>recto models pull smollm2</code>"), "{page}");
    let ready = server.get("/readyz");
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (503, "no model is configured, and none was found\n")
    );
    let sent = server.submit("/", "/sessions", &[("text", "hello")]);
    assert_eq!(sent.status, 503, "{}", sent.body);
    assert!(sent.body.contains("<code>recto models pull smollm2</code>"), "{}", sent.body);
    assert_eq!(
        home.json(&["sessions", "list", "--all", "--json"])["sessions"],
        serde_json::json!([])
    );
    home.shelve(SMOLLM2.0, SMOLLM2.1);
    let begun = std::time::Instant::now();
    while server.get("/readyz").status != 200 {
        assert!(begun.elapsed().as_secs() < 60, "nobody looked again");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let page = server.page("/");
    assert!(page.contains("<b>smollm2</b> answers"), "{page}");
}
