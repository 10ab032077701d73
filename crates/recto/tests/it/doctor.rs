//! `recto doctor`.

use expect_test::{Expect, expect};
use recto_fakes::{FakeModel, FakeServer};
use serde_json::Value;

use crate::support::*;

/// Whether the binary can run models itself.
const EMBEDDED: bool = cfg!(feature = "embedded");

/// What it prints, the same wherever the test runs. How the binary was built is in
/// its first line.
fn check(home: &Home, ollama: Option<&FakeServer>, code: i32, expected: &Expect) {
    let nowhere = NOWHERE.to_owned();
    let host = ollama.map_or(nowhere, |fake| fake.address().to_string());
    let run = home.run_with(&["doctor"], "", &[("OLLAMA_HOST", &host)]);
    assert_eq!((run.code, &*run.err), (code, ""), "{}", run.out);
    let path = home.path("").display().to_string();
    let (first, rest) = run.out.split_once('\n').unwrap();
    let engine = if EMBEDDED { "with" } else { "without" };
    assert!(
        first.ends_with(&format!(", built {engine} the engine for embedded models")),
        "{first}"
    );
    // Which guards there are is the machine's; their own test looks at them.
    let is_of_machine = |line: &&str| {
        line.split_whitespace().nth(1) == Some("sandbox") || line.contains("hint: `tools.sandbox")
    };
    let rest: String = rest.split_inclusive('\n').filter(|line| !is_of_machine(line)).collect();
    let mut out = rest.replace(path.trim_end_matches('/'), "HOME");
    if let Some(fake) = ollama {
        out = out.replace(&fake.url(), "URL");
    }
    expected.assert_eq(&out);
}

#[test]
fn a_home_with_a_scripted_model_is_ready() {
    let home = Home::ready();
    home.write("config.toml", "[models.echo]\nprovider = \"scripted\"\nwindow = 8192\n");
    check(
        &home,
        None,
        0,
        &expect![[r#"

            ok       home        HOME/
            ok       config      HOME/config.toml names 1 model
            ok       store       HOME/data/recto.db is not there yet; the first message makes it
            ok       workspace   HOME/workspace has 2 system files, 1 skill, 3 rules, 1 reference
            ok       memory      1 entry
            absent   search      goes by words: no embedding model was pulled
                                 hint: run `recto models pull minilm`
            ok       model echo  scripted echo: window 8,192, set in the config, takes tools

            ready: `echo` answers
            why: configured
        "#]],
    );
    home.ok(&["chat", "-m", "hi"]);
    let out = home.ok(&["doctor"]);
    assert!(out.contains("recto.db has 1 session, "), "{out}");
}

#[test]
fn a_home_without_a_model_says_what_to_do() {
    let home = Home::ready();
    let with = expect![[r#"

        ok       home       HOME/
        ok       config     HOME/config.toml names no model, so that one is looked for
        ok       store      HOME/data/recto.db is not there yet; the first message makes it
        ok       workspace  HOME/workspace has 2 system files, 1 skill, 3 rules, 1 reference
        ok       memory     1 entry
        absent   search     goes by words: no embedding model was pulled
                            hint: run `recto models pull minilm`
        absent   Ollama     asked at http://127.0.0.1:1: nothing listens there
        absent   embedded   HOME/models has no model to talk to
                            hint: `recto models pull smollm2` gets one
        error    model      no model is configured, and none was found
                            hint: run `recto models pull smollm2`, or start Ollama, or name a model in the config

        not ready: see above
    "#]];
    let without = expect![[r#"

        ok       home       HOME/
        ok       config     HOME/config.toml names no model, so that one is looked for
        ok       store      HOME/data/recto.db is not there yet; the first message makes it
        ok       workspace  HOME/workspace has 2 system files, 1 skill, 3 rules, 1 reference
        ok       memory     1 entry
        absent   search     goes by words: no embedding model was pulled
                            hint: run `recto models pull minilm`
        absent   Ollama     asked at http://127.0.0.1:1: nothing listens there
        absent   embedded   this build cannot run models itself
                            hint: `make chat` builds one that can
        error    model      no model is configured, and none was found
                            hint: start Ollama, or build Recto with a model of its own (`make chat`, or `--features embedded`), or name a model in the config

        not ready: see above
    "#]];
    check(&home, None, 1, if EMBEDDED { &with } else { &without });
}

#[test]
fn an_ollama_that_is_found_answers() {
    let ollama = FakeServer::ollama().model(FakeModel::new("tiny:1b").window(6000)).start();
    let home = Home::ready();
    let with = expect![[r#"

        ok       home          HOME/
        ok       config        HOME/config.toml names no model, so that one is looked for
        ok       store         HOME/data/recto.db is not there yet; the first message makes it
        ok       workspace     HOME/workspace has 2 system files, 1 skill, 3 rules, 1 reference
        ok       memory        1 entry
        absent   search        goes by words: no embedding model was pulled
                               hint: run `recto models pull minilm`
        ok       Ollama        asked at URL: it has tiny:1b
        absent   embedded      HOME/models has no model to talk to
                               hint: `recto models pull smollm2` gets one
        ok       model ollama  ollama tiny:1b at URL: window 6,000, as loaded, takes tools

        ready: `ollama` answers
        why: found on Ollama at URL (1 model)
    "#]];
    let without = expect![[r#"

        ok       home          HOME/
        ok       config        HOME/config.toml names no model, so that one is looked for
        ok       store         HOME/data/recto.db is not there yet; the first message makes it
        ok       workspace     HOME/workspace has 2 system files, 1 skill, 3 rules, 1 reference
        ok       memory        1 entry
        absent   search        goes by words: no embedding model was pulled
                               hint: run `recto models pull minilm`
        ok       Ollama        asked at URL: it has tiny:1b
        absent   embedded      this build cannot run models itself
                               hint: `make chat` builds one that can
        ok       model ollama  ollama tiny:1b at URL: window 6,000, as loaded, takes tools

        ready: `ollama` answers
        why: found on Ollama at URL (1 model)
    "#]];
    check(&home, Some(&ollama), 0, if EMBEDDED { &with } else { &without });
    assert!(ollama.chats().is_empty(), "no model is asked anything");
}

#[test]
fn a_model_that_cannot_answer_is_told_apart_from_the_others() {
    let ollama = FakeServer::ollama().model(FakeModel::new("tiny:1b")).start();
    let home = Home::ready();
    let entry = |name: &str, model: &str, url: &str| {
        format!(
            "[models.{name}]\nprovider = \"ollama\"\nmodel = \"{model}\"\nbase_url = \"{url}\"\n"
        )
    };
    let gone = entry("gone", "x", "http://127.0.0.1:1");
    let here = entry("here", "tiny:1b", &ollama.url());
    let lacks = entry("lacks", "large:70b", &ollama.url());
    home.write("config.toml", format!("{here}{gone}{lacks}"));
    let out = home.ok(&["doctor"]);
    let states = |out: &str| -> Vec<String> {
        let models = out.lines().filter(|line| line.contains("  model "));
        models.map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(states(&out), ["ok model here", "warning model gone", "warning model lacks"]);
    assert!(out.contains("run `ollama pull large:70b`"), "{out}");
    assert!(out.ends_with("ready: `here` answers\nwhy: configured\n"), "{out}");
    home.write("config.toml", format!("{gone}{here}"));
    let run = home.run(&["doctor"]);
    run.fails_with("not ready: `gone` would answer, but see above\nwhy: configured");
    assert_eq!(states(&run.out), ["error model gone", "ok model here"]);
}

#[test]
fn a_broken_config_is_all_that_is_looked_at() {
    let home = Home::with(&[("config.toml", "[contxt]\npreset = \"plain\"\n[history]\nmax = 3\n")]);
    #[cfg(unix)]
    private(&home);
    check(
        &home,
        None,
        1,
        &expect![[r#"

        ok       home    HOME/
        error    config  config.toml:1: unknown table `contxt`
                         hint: did you mean `context`?
        error    config  config.toml:4: unknown key `history.max`
                         hint: in `history` there are `max_messages`, `max_tokens`, `channel_max_messages`, `channel_context_tokens`, `compaction`, `summary_tokens`

        not ready: see above
    "#]],
    );
}

#[test]
#[cfg(unix)]
fn a_home_that_others_can_read_is_told() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let home = Home::scripted(&[]);
    private(&home);
    assert!(!home.ok(&["doctor"]).contains("chmod"));
    set_permissions(home.path(""), Permissions::from_mode(0o755)).unwrap();
    let out = home.ok(&["doctor"]);
    assert!(out.contains("can be read by others"), "{out}");
    assert!(out.contains("hint: chmod 700 "), "{out}");
}

#[cfg(unix)]
fn private(home: &Home) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(home.path(""), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn looking_changes_nothing() {
    let home = Home::ready();
    let before = home.tree();
    home.run(&["doctor"]);
    assert_eq!(home.tree(), before);
    let none = Home::new();
    none.run(&["doctor"]).fails_with("`recto init` sets it up");
    assert!(none.tree().is_empty());
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error() {
    let home = Home::scripted(&[]);
    home.write("data/recto.db", "this is no database, however long it may be".repeat(100));
    let run = home.run(&["doctor"]);
    run.fails_with("not ready");
    assert!(run.out.lines().any(|line| line.starts_with("error    store")), "{}", run.out);
}

#[test]
fn a_damaged_model_file_is_told() {
    let config = "[models.small]\nprovider = \"embedded\"\nmodel = \"bad.gguf\"\n\
                  [models.gone]\nprovider = \"embedded\"\nmodel = \"gone.gguf\"\n\
                  [models.unknown]\nprovider = \"embedded\"\nmodel = \"smollm2\"\n";
    let home = Home::with(&[("config.toml", config), ("bad.gguf", "this is no model")]);
    let run = home.run(&["doctor"]);
    run.fails_with("not ready: `small` would answer");
    let models = run.out.lines().filter(|line| line.contains("  model "));
    assert_eq!(models.filter(|line| !line.starts_with("ok")).count(), 3, "{}", run.out);
    assert!(!run.err.contains("panicked"), "{}", run.err);
}

#[test]
fn programs_get_all_of_it() {
    let ollama = FakeServer::ollama().start();
    let home = Home::with(&[]);
    let host = ollama.address().to_string();
    let run = home.run_with(&["doctor", "--json"], "", &[("OLLAMA_HOST", &host)]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.code, 0);
    assert_eq!(report["ok"], true);
    assert_eq!(report["embedded"], EMBEDDED);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["answers"]["entry"], "ollama");
    let reason = format!("found on Ollama at {} (1 model)", ollama.url());
    assert_eq!(report["answers"]["why"], reason.as_str());
    let findings = report["findings"].as_array().unwrap();
    let found = |what: &str| findings.iter().find(|found| found["subject"] == what).unwrap();
    assert_eq!(found("Ollama")["data"]["base_url"], ollama.url().as_str());
    assert_eq!(found("model ollama")["data"]["provider"], "ollama");
    assert_eq!(found("config")["data"]["exists"], false);
    for found in findings {
        let state = found["state"].as_str().unwrap();
        assert!(["ok", "absent", "warning"].contains(&state), "{found}");
    }
}

/// A store that is not there is only fine where the first message can make it.
#[test]
fn a_store_that_can_t_be_made_is_no_good_news() {
    let home = Home::with(&[("config.toml", "[models.echo]\nprovider = \"scripted\"\n")]);
    home.write("data", "a file where a folder should be");
    let run = home.run(&["doctor"]);
    assert_eq!(run.code, 1, "{}", run.out);
    let store = run.out.lines().find(|line| line.contains(" store ")).unwrap();
    assert!(store.starts_with("error"), "{store}");
    assert!(run.out.contains("not ready"), "{}", run.out);
}

/// Many servers list their models to everybody, and want the key when they are to answer.
#[test]
fn a_key_that_is_not_set_is_told_by_its_variable() {
    let ollama = FakeServer::ollama().model(FakeModel::new("tiny:1b")).start();
    let home = Home::ready();
    let url = ollama.url();
    let entry = "[models.here]\nprovider = \"ollama\"\nmodel = \"tiny:1b\"";
    home.write(
        "config.toml",
        format!("{entry}\nbase_url = \"{url}\"\napi_key_env = \"HERE_KEY\"\n"),
    );
    for (value, told) in [("", "HERE_KEY, which is to hold its key, is not set"), ("k-1", "ok ")] {
        let run = home.run_with(&["doctor"], "", &[("HERE_KEY", value)]);
        let line = run.out.lines().find(|line| line.contains("  model here")).unwrap();
        assert!(line.contains(told), "{value:?}: {line}");
        assert_eq!(run.out.contains("set the environment variable HERE_KEY"), value.is_empty());
    }
}

/// What a turn would use, not what the model could.
#[test]
fn a_window_is_told_as_turns_use_it() {
    let home = Home::ready();
    let ollama = FakeServer::ollama().model(FakeModel::new("tiny:1b")).start();
    let host = ollama.address().to_string();
    let run = home.run_with(&["doctor"], "", &[("OLLAMA_HOST", &host)]);
    let told = "window 8,192, by `window.cap` (trained for 32,768)";
    assert!(run.out.contains(told), "{}", run.out);
}

/// Each agent can have an encoder of its own.
#[test]
fn the_encoder_of_every_agent_is_looked_at() {
    let home = Home::with(&[(
        "config.toml",
        "[models.echo]\nprovider = \"scripted\"\n[agents.main]\n\
         [agents.helper]\nworkspace = \"helper\"\nsearch.encoder = \"no-such-encoder\"\n\
         [agents.twin]\nworkspace = \"twin\"\n",
    )]);
    let report: Value = serde_json::from_str(&home.run(&["doctor", "--json"]).out).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let search = findings.filter(|found| found["subject"] == "search");
    let told: Vec<&str> = search.map(|found| found["message"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("goes by words"), "{told:?}");
    assert!(told[1].starts_with("agent `helper`: goes by words"), "{told:?}");
    assert!(told[1].contains("no-such-encoder"), "{told:?}");
}

/// Promise: `foreign-language-told`
#[test]
fn a_language_that_the_encoder_does_not_know_is_told() {
    let home = Home::with(&[("config.toml", "[models.echo]\nprovider = \"scripted\"\n")]);
    with_encoder(&home);
    let finding = || {
        let report: Value = serde_json::from_str(&home.run(&["doctor", "--json"]).out).unwrap();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|found| found["subject"] == "language").cloned()
    };
    for typed in ["move the meeting with Anna to Friday", "ok", "what did we agree on last week?"] {
        home.ok(&["chat", "-m", typed]);
    }
    assert_eq!(finding(), None);
    for typed in [
        "Verschieb bitte die Besprechung mit Anna auf Freitag",
        "Перенеси встречу с Анной на пятницу",
        "把和安娜的会议改到星期五并通知大家",
    ] {
        home.ok(&["chat", "-m", typed]);
    }
    let told = finding().unwrap();
    assert_eq!(told["state"], "warning");
    assert_eq!(told["data"], serde_json::json!({"messages": 5, "foreign": 3}));
    assert!(told["message"].as_str().unwrap().starts_with("3 of the last 5 messages are in"));
}
