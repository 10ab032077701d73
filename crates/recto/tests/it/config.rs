//! `recto config`, and what a broken config does to other commands.

use expect_test::expect;

use crate::support::*;

#[test]
fn every_mistake_is_reported_at_once_with_its_line() {
    let home = Home::with(&[(
        "config.toml",
        "[contxt]\npreset = \"plain\"\n\n[history]\nmax_mesages = 3\nmax_tokens = \"many\"\n\n\
         [models.a]\nprovider = \"olama\"\nmodel = \"x\"\n",
    )]);
    let run = home.run(&["config", "check"]);
    assert_eq!(run.code, 1);
    expect![[r#"
        error: config.toml:1: unknown table `contxt`
          hint: did you mean `context`?
        error: config.toml:5: unknown key `history.max_mesages`
          hint: did you mean `history.max_messages`?
        error: config.toml:6: `history.max_tokens` must be a whole number from 1 to 10000000, not a string
        error: config.toml:9: `models.a.provider` must be one of `ollama`, `openai`, `anthropic`, `embedded`, `scripted`, not `olama`
          hint: did you mean `ollama`?
    "#]]
    .assert_eq(&run.out);
    home.run(&["context", "hi"]).fails_with("did you mean `context`?");
}

#[test]
fn an_encoder_whose_folder_is_not_there_is_told() {
    let home = Home::with(&[("config.toml", "[search]\nencoder = \"/nowhere/minilm\"\n")]);
    let run = home.run(&["config", "check"]);
    let told = "`search.encoder`: there is no folder /nowhere/minilm";
    assert!(run.out.contains("warning") && run.out.contains(told), "{}", run.out);
}

/// Promise: `explicit-mode-wins`
#[test]
fn a_contradiction_names_the_keys_and_their_lines() {
    let config = |mode: &str| {
        format!(
            "[models.a]\nprovider = \"ollama\"\nmodel = \"x\"\n{mode}\
             toolTurnContext = \"minimal\"\nollamaMinimalSystem = true\n"
        )
    };
    let home = Home::with(&[("config.toml", &config("context_mode = \"full\"\n"))]);
    let run = home.run(&["config", "check"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("contradicts"), "{}", run.out);
    for place in ["config.toml:4", "config.toml:5", "config.toml:6"] {
        assert!(run.out.contains(place), "{}", run.out);
    }
    home.write("config.toml", config("ollamaContextMode = \"auto\"\n"));
    let run = home.run(&["config", "check"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains("warning"), "{}", run.out);
}

#[test]
fn show_tells_where_each_setting_comes_from() {
    let home = Home::with(&[("config.toml", "[history]\nmaxMessages = 7\n")]);
    let run = home.run_with(&["config", "show", "--json"], "", &[("RECTO_MEMORY_MAX_TOKENS", "5")]);
    let rows = json(&run.out)["settings"].clone();
    let origin = |key: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap()["origin"].as_str().unwrap().to_owned()
    };
    let value = |key: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!(value("history.max_messages"), 7);
    assert_eq!(value("reload"), "turn");
    assert_eq!(value("skills.disabled"), serde_json::json!([]));
    assert_eq!(origin("history.max_messages"), "config.toml:2");
    assert_eq!(origin("memory.max_tokens"), "RECTO_MEMORY_MAX_TOKENS");
    assert_eq!(origin("history.max_tokens"), "default");
}

/// Promise: `secrets-for-owner-only`
#[test]
fn a_key_in_the_file_is_never_shown() {
    let home = Home::with(&[(
        "config.toml",
        "[models.a]\nprovider = \"openai\"\nmodel = \"x\"\napi_key = \"sk-secret\"\n",
    )]);
    for command in ["check", "show"] {
        let run = home.run(&["config", command]);
        assert_eq!(run.code, 1);
        assert!(!(run.out.clone() + &run.err).contains("sk-secret"));
        assert!((run.out + &run.err).contains("api_key_env"));
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_nothing_is_no_config() {
    let home = Home::with(&[]);
    std::os::unix::fs::symlink(home.path("gone"), home.path("config.toml")).unwrap();
    home.run(&["config", "check"]).fails_with("is a link to nothing");
}

#[test]
fn a_wrong_flag_is_not_blamed_on_the_file() {
    let home = Home::ready();
    home.write("config.toml", "[models.echo]\nprovider = \"scripted\"\n");
    let run = home.run(&["context", "hi", "--model", "nope"]);
    run.fails_with("--model");
    assert!(!run.err.contains("hint: edit"), "{}", run.err);
}

#[test]
fn a_setting_without_effect_is_refused() {
    let home = Home::with(&[("config.toml", "[items.skill.clock]\npriority = 3\n")]);
    home.run(&["config", "check"]).fails_with("is for rules and references, and this is a skill");
}

#[test]
fn names_in_the_config_cannot_act_on_the_terminal() {
    let home = Home::with(&[("config.toml", "\"a\u{202e}b\" = 1\n")]);
    let run = home.run(&["config", "check"]);
    assert_eq!(run.code, 1);
    assert!(!run.out.contains('\u{202e}'), "{}", run.out);
}
