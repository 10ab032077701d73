//! `recto models`.

use expect_test::expect;
use recto_fakes::{Capability, FakeDialect, FakeModel, FakeServer};
use serde_json::json;

use super::{ServedHome, WIRES, Wire};
use crate::support::*;

#[test]
fn list_names_the_entries_and_asks_nobody() {
    let home = Home::with(&[(
        "config.toml",
        "model = \"b\"\n[models.a]\nprovider = \"ollama\"\nmodel = \"qwen3:4b\"\n\
         [models.b]\nprovider = \"openai\"\nmodel = \"gpt\"\nwindow = 9000\n\
         base_url = \"http://127.0.0.1:1/v1\"\n",
    )]);
    let run = home.run(&["models", "list"]);
    assert_eq!((run.code, &*run.err), (0, ""));
    expect![[r#"
           name  provider  model     address
           a     ollama    qwen3:4b  http://127.0.0.1:11434
        *  b     openai    gpt       http://127.0.0.1:1/v1
    "#]]
    .assert_eq(&run.out);
    let listed = home.json(&["models", "list", "--json"]);
    assert_eq!(listed["installed"], json!([]));
    assert_eq!(
        listed["models"][1],
        json!({
            "name": "b",
            "provider": "openai",
            "model": "gpt",
            "base_url": "http://127.0.0.1:1/v1",
            "window": 9000,
            "default": true,
        })
    );
}

#[test]
fn check_tells_window_and_tools() {
    let can = [Capability::Completion];
    let loaded = || FakeModel::new("fake").window(6000);
    let openai = |dialect| FakeServer::openai_dialect(dialect).model(loaded());
    let ollama = |model| FakeServer::ollama().model(model);
    let cases = [
        (Wire::Ollama, ollama(loaded()), "6,000 loaded (`num_ctx` in `/api/show`)", "yes"),
        (
            Wire::Ollama,
            ollama(FakeModel::new("fake").capabilities(can)),
            "32,768 trained (`context_length` in `/api/show`)",
            "no",
        ),
        (Wire::OpenAi, openai(FakeDialect::OpenAi), "unknown to the server", "unknown"),
        (
            Wire::OpenAi,
            openai(FakeDialect::Vllm),
            "6,000 loaded (`max_model_len` in `/v1/models`)",
            "unknown",
        ),
        (
            Wire::OpenAi,
            openai(FakeDialect::LlamaCpp),
            "6,000 loaded (`n_ctx` in `/props`)",
            "unknown",
        ),
    ];
    for (wire, fake, window, tools) in cases {
        let served = ServedHome::with(wire, fake, "");
        let run = served.home.run(&["models", "check"]);
        assert_eq!((run.code, &*run.err), (0, ""), "{wire:?}");
        let row = run.out.lines().nth(1).unwrap();
        assert!(row.contains(window) && row.trim_end().ends_with(tools), "{row}");
        assert!(row.contains("fake: there"), "{row}");
        assert!(served.fake.chats().is_empty(), "no model is asked anything");
        let checked = &served.home.json(&["models", "check", "m", "--json"])["models"][0];
        assert_eq!((&checked["reachable"], &checked["tools"]), (&true.into(), &tools.into()));
        assert_eq!(checked["presence"], "listed");
    }
}

#[test]
fn a_model_that_is_not_listed_is_told_with_those_that_are() {
    // Servers with OpenAI's interface may answer to any name; Ollama does not.
    for (wire, kind, code) in [(Wire::Ollama, "error", 1), (Wire::OpenAi, "warning", 0)] {
        let fake = wire.fake().model(FakeModel::new("tiny:1b")).model(FakeModel::new("large:70b"));
        let served = ServedHome::with(wire, fake, "");
        let run = served.home.run(&["models", "check"]);
        let told = format!(
            "{kind}: model `m`: the server does not list `fake`\nhint: it has tiny:1b, large:70b\n"
        );
        assert_eq!((run.code, run.err), (code, told), "{wire:?}");
        assert!(run.out.contains("fake: not listed"), "{}", run.out);
        let checked = &served.home.json(&["models", "check", "--json"])["models"][0];
        assert_eq!(checked["presence"], "not_listed", "{wire:?}");
        assert_eq!(checked["served"], json!(["tiny:1b", "large:70b"]), "{wire:?}");
    }
}

#[test]
fn a_server_that_cannot_be_used_is_told_beside_those_that_can() {
    let fake = FakeServer::ollama().start();
    let open = Wire::Ollama.entry_at(&fake.url(), "window = 7000");
    let closed = "[models.gone]\nprovider = \"openai\"\nmodel = \"x\"\n\
                  base_url = \"http://127.0.0.1:1/v1\"\n";
    let home = Home::with(&[("config.toml", &format!("{open}{closed}"))]);
    let run = home.run(&["models", "check"]);
    assert_eq!(run.code, 1);
    expect![[r#"
        name  server                  model        window                                                                     tools
        m     URL  fake: there  7,000 set in the config; 32,768 trained (`context_length` in `/api/show`)  yes
        gone  http://127.0.0.1:1      no answer
    "#]].assert_eq(&run.out.replace(&fake.url(), "URL"));
    expect![[r#"
        error: model `gone`: cannot reach the model server at `http://127.0.0.1:1`: Connection refused (os error 111)
        hint: start the model server or correct `base_url`, then check it (`recto models check`)
    "#]].assert_eq(&run.err);
    let checked = home.json(&["models", "check", "--json"])["models"].clone();
    assert_eq!(checked[0]["reachable"], true);
    assert_eq!(
        (&checked[1]["reachable"], &checked[1]["error"]["code"]),
        (&false.into(), &"unreachable".into())
    );
    assert_eq!(home.run(&["models", "check", "m"]).code, 0);
    home.run(&["models", "check", "nope"]).fails_with("nope");
}

#[test]
fn a_server_that_does_not_take_the_key_is_told() {
    for wire in WIRES {
        let served = ServedHome::with(wire, wire.fake().api_key("sk-right"), "");
        let run = served.home.run(&["models", "check"]);
        run.fails_with("the model server wants a key: ");
        let checked = &served.home.json(&["models", "check", "--json"])["models"][0];
        assert_eq!(checked["error"]["code"], "unauthorized", "{wire:?}");
    }
}
