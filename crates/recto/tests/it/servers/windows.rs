//! How large a window is, who says so, and that Ollama is told every time.

use recto_fakes::{FakeAnswer, FakeBuilder, FakeDialect, FakeModel, FakeServer};

use super::{ServedHome, Wire, read};

/// A turn, and what `recto show` says of the window that was used.
fn window(served: &ServedHome) -> String {
    served.say("hello");
    let shown = served.home.run(&["show"]).out;
    let line = shown.lines().find_map(|line| line.strip_prefix("window  "));
    line.unwrap().to_owned()
}

fn ollama(model: FakeModel) -> FakeBuilder {
    FakeServer::ollama().model(model)
}

/// Promise: `ollama-window-set`
#[test]
fn every_request_to_ollama_names_the_window_and_forbids_cutting() {
    // Another window would make Ollama load the model again.
    let fake = FakeServer::ollama()
        .answer(FakeAnswer::calls([read("a.txt")]))
        .answer(FakeAnswer::text("Read."))
        .answer(FakeAnswer::calls([read("b.txt")]))
        .answer(FakeAnswer::text("Read."));
    let served = ServedHome::with(Wire::Ollama, fake, "context_mode = \"auto\"");
    for message in ["read a.txt", "edit b.txt", "explain how TCP works", "thanks!"] {
        served.say(message);
    }
    let chats = served.fake.chats();
    assert_eq!(chats.len(), 6);
    for chat in &chats {
        assert_eq!(chat["options"]["num_ctx"], 8192, "{chat}");
        assert_eq!((&chat["truncate"], &chat["shift"]), (&false.into(), &false.into()), "{chat}");
    }
    assert_eq!(served.fake.loads(), 1);
    assert_eq!(served.fake.rejections(), [""; 0]);
}

/// Promise: `window-says-its-source`
#[test]
fn ollama_tells_the_window_in_several_ways() {
    let cases = [
        (
            FakeModel::new("fake").window(6000),
            "",
            "6,000 tokens, as the server has it (trained for 32,768)",
        ),
        (
            FakeModel::new("fake"),
            "",
            "8,192 tokens, by `window.cap` (the model was trained for 32,768)",
        ),
        (
            FakeModel::new("fake"),
            "[window]\ncap = 20000",
            "20,000 tokens, by `window.cap` (the model was trained for 32,768)",
        ),
        (FakeModel::new("fake").trained_for(3000), "", "3,000 tokens, as the model was trained"),
        (FakeModel::new("fake").window(6000), "window = 5000", "5,000 tokens, set in the config"),
    ];
    for (model, more, told) in cases {
        let served = ServedHome::with(Wire::Ollama, ollama(model), more);
        assert_eq!(window(&served), told);
        let tokens = told.split(' ').next().unwrap().replace(',', "");
        assert_eq!(served.fake.chats()[0]["options"]["num_ctx"].to_string(), tokens);
    }
}

#[test]
fn a_model_that_is_loaded_keeps_its_window() {
    let served = ServedHome::with(Wire::Ollama, FakeServer::ollama(), "window = 5000");
    served.say("hello");
    served.home.write("config.toml", Wire::Ollama.entry_at(&served.fake.url(), ""));
    assert_eq!(window(&served), "5,000 tokens, as the server has it (trained for 32,768)");
    assert_eq!(served.fake.loads(), 1);
}

/// Promise: `window-says-its-source`
#[test]
fn servers_with_the_interface_of_openai_tell_the_window_in_their_own_ways() {
    let loaded = || FakeModel::new("fake").window(6000);
    for (dialect, model, told) in [
        (FakeDialect::Vllm, loaded(), "6,000 tokens, as the server has it"),
        (
            FakeDialect::LlamaCpp,
            loaded(),
            "6,000 tokens, as the server has it (trained for 32,768)",
        ),
        (
            FakeDialect::LmStudio,
            loaded(),
            "6,000 tokens, as the server has it (trained for 32,768)",
        ),
        (
            FakeDialect::LmStudio,
            FakeModel::new("fake"),
            "8,192 tokens, by `window.cap` (the model was trained for 32,768)",
        ),
        (FakeDialect::OpenAi, loaded(), "4,096 tokens, assumed: the real window is unknown"),
    ] {
        let fake = FakeServer::openai_dialect(dialect).model(model);
        let served = ServedHome::with(Wire::OpenAi, fake, "");
        assert_eq!(window(&served), told, "{dialect:?}");
        assert_eq!(served.fake.chats().len(), 1, "{dialect:?}");
    }
}

/// Promise: `window-says-its-source`
#[test]
fn an_assumed_window_is_told_with_how_to_set_it() {
    let served = ServedHome::with(Wire::OpenAi, FakeServer::openai(), "");
    let run = served.home.run_with(&["chat"], "one\ntwo\n", &[]);
    assert_eq!(run.code, 0);
    let told = run.err.lines().filter(|line| line.contains("window")).collect::<Vec<_>>();
    assert_eq!(
        told,
        ["note: the window of model `m` is unknown; 4,096 tokens are assumed (set `window` in \
          [models.m])"]
    );
    let recorded = served.recorded_notices("1");
    assert!(matches!(&recorded[..], [one] if told[0] == format!("note: {one}")), "{recorded:?}");
    assert_eq!(served.recorded_notices("2"), [""; 0], "it was not told once more");
    let window = &served.last_turn()["requests"][0]["context"]["window"];
    assert_eq!(*window, serde_json::json!({ "tokens": 4096, "source": "assumed" }));
}

#[test]
fn a_server_that_is_away_for_a_moment_costs_no_history() {
    // Its window is known from the last request; nothing is trimmed for an assumed one.
    let served = ServedHome::with(Wire::Ollama, Wire::Ollama.fake(), "");
    let long = "many words that stay on the page ".repeat(180);
    for _ in 0..4 {
        served.say(&long);
    }
    let before = served.last_turn()["requests"][0]["context"].clone();
    assert!(before["budget"]["used"].as_u64().unwrap() > 4_096, "{}", before["budget"]);
    let ServedHome { home, fake } = served;
    let address = fake.url();
    drop(fake);
    home.run(&["chat", "-m", "are you there?"]).fails_with("cannot reach");
    let asked = home.json(&["show", "--json"])["requests"][0]["context"].clone();
    assert_eq!(asked["window"], before["window"], "{address}");
    assert_eq!(asked["carry"]["history_from"], before["carry"]["history_from"]);
}

#[test]
fn without_a_known_window_a_history_is_not_put_at_risk() {
    let served = ServedHome::with(Wire::Ollama, Wire::Ollama.fake(), "");
    served.say("hello");
    let entry = Wire::Ollama.entry_at("http://127.0.0.1:9", "").replace("models.m", "models.other");
    served.home.write("config.toml", entry);
    served.chat("hello again").fails_with("cannot reach");
    // The message is kept, and no request was made for a window that nobody knows.
    assert_eq!(super::roles(&served.transcript()), ["user", "assistant", "user", "error"]);
    assert_eq!(served.last_turn()["requests"].as_array().unwrap().len(), 0);
}
