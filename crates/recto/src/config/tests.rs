//! The config as people meet it: whole files, whole reports.

mod agents;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use recto_context::SummaryBy;

use super::choices::NamedChoice;
use super::keys::{ConfigKey, KEYS, KeyFallback, KeyKind};
use super::*;

const MODEL: &str = "models.a.provider = 'ollama'\nmodels.a.model = 'm'\n";

fn sources() -> ConfigSources {
    ConfigSources { user_home: Some("/home/me".into()), ..ConfigSources::new("/home/me/.recto") }
}

fn with_variables(pairs: &[(&str, &str)]) -> ConfigSources {
    let environment = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
    ConfigSources { environment, ..sources() }
}

fn with_model_flag(name: &str) -> ConfigSources {
    let flag = ConfigFlag { name: "--model", key: "model", value: name.to_owned() };
    ConfigSources { flags: vec![flag], ..sources() }
}

fn settings(text: &str) -> Settings {
    load_text(text, &sources()).unwrap().settings
}

/// The whole report on a config that can't be used.
fn report(text: &str, sources: &ConfigSources, expected: &Expect) {
    let problems = load_text(text, sources).unwrap_err();
    expected.assert_eq(&format!("{problems}\n"));
}

#[test]
fn without_a_file_all_defaults_hold() {
    let home = tempfile::tempdir().unwrap();
    let loaded = load(&ConfigSources::new(home.path())).unwrap();
    assert_eq!(loaded.warnings, []);
    let Settings { model, agent, history, memory, skills, models, .. } = loaded.settings;
    assert_eq!((model, models), (None, Vec::new()));
    assert_eq!(agent.name, "main");
    assert_eq!(agent.workspace, home.path().join("workspace"));
    assert_eq!((history.max_messages, history.max_tokens), (50, 8192));
    assert_eq!((memory.max_entries, memory.max_tokens), (20, 1000));
    assert_eq!(skills.directory, home.path().join("skills"));
    assert_eq!(loaded.settings.store.path, home.path().join("data/recto.db"));
    assert_eq!(loaded.settings.window_cap, 8192);
    let expected = ToolSettings {
        approval: ApprovalMode::PerTool,
        approval_expires: Duration::from_secs(24 * 60 * 60),
        approval_wait: Duration::from_secs(60),
        sandbox: SandboxPolicy::BestEffort,
        max_rounds: 20,
        max_output_bytes: 65_536,
        schedule: false,
        time_limit: Duration::from_secs(30),
        disabled: Vec::new(),
    };
    assert_eq!(loaded.settings.tools, expected);
}

#[test]
fn a_script_needs_no_name_and_no_file() {
    let model = |text: &str| settings(text).models.remove(0);
    let plain = model("models.echo.provider = 'scripted'\n");
    assert_eq!((plain.model.as_str(), plain.script), ("echo", None));
    assert_eq!(plain.time_limit, Duration::from_secs(300));
    let full = model(
        "[models.demo]\nprovider = 'scripted'\nmodel = 'm'\nscript = 'a.jsonl'\ntimeLimit = 5\n",
    );
    assert_eq!(full.model, "m");
    assert_eq!(full.script, Some("/home/me/.recto/a.jsonl".into()));
    assert_eq!(full.time_limit, Duration::from_secs(5));
}

#[test]
fn a_script_of_a_model_that_has_a_server_is_refused() {
    report(
        "[models.a]\nprovider = 'ollama'\nscript = 'a.jsonl'\n[models.b]\nscript = '~you/b'\n",
        &sources(),
        &expect![[r#"
            config.toml:1: `models.a.model` is missing
            config.toml:3: `models.a.script` is read by no model but a scripted one
              hint: leave it out, or set `provider = "scripted"`
            config.toml:4: `models.b.provider` is missing
            config.toml:4: `models.b.model` is missing
            config.toml:5: `models.b.script` has the path `~you/b`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
        "#]],
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = r#"model = "qwen4"
relaod = "turn"

[contxt]
preset = "plain"

[context]
preset = "plian"
target_tokens = 12

[history]
max_messages = "fifty"

[skills]
render = "full"
contextMode = "full"

[models.qwen3]
provider = "ollama"
api_key = "sk-hunter2"
temperature = 3

[models.gpt]
provider = "openai"
api_key_env = "sk-hunter2"

[agents.main]
workspace = "~you/agent"
model = "gptt"
"#;
    let mut sources = with_variables(&[("RECTO_RELOAD", "never")]);
    sources.flags = with_model_flag("lama").flags;
    report(
        text,
        &sources,
        &expect![[r#"
            config.toml:2: unknown key `relaod`
              hint: did you mean `reload`?
            config.toml:4: unknown table `contxt`
              hint: did you mean `context`?
            config.toml:8: `context.preset` must be one of `recto`, `plain`, `attached`, `layered`, not `plian`
              hint: did you mean `plain`?
            config.toml:9: `context.target_tokens` must be a whole number from 512 to 10000000, not `12`
            config.toml:12: `history.max_messages` must be a whole number from 1 to 100000, not a string
            config.toml:16: `skills.contextMode` is the same setting as `skills.render` at config.toml:15
              hint: keep one of the two
            config.toml:18: `models.qwen3.model` is missing
            config.toml:20: unknown key `models.qwen3.api_key`
              hint: put the key into an environment variable and name it with `api_key_env`
            config.toml:21: `models.qwen3.temperature` must be a number from 0 to 2, not `3`
            config.toml:23: `models.gpt.model` is missing
            config.toml:25: `models.gpt.api_key_env` must be the name of an environment variable
              hint: write the variable's name, such as `OPENAI_API_KEY`, never the key itself
            config.toml:28: `agents.main.workspace` has the path `~you/agent`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
            config.toml:29: `agents.main.model` names a model that is not there: `gptt`
              hint: did you mean `gpt`? (known models: `qwen3`, `gpt`)
            RECTO_RELOAD: `reload` must be one of `turn`, `startup`, not `never`
            --model: `model` names a model that is not there: `lama`
              hint: known models: `qwen3`, `gpt`
        "#]],
    );
}

#[test]
fn syntax_errors_come_with_what_is_certain() {
    let text = "model = qwen\n[context\npreset = 'plain'\n[history]\nmax_token = 1\n";
    report(
        text,
        &sources(),
        &expect![[r#"
            config.toml:1: string values must be quoted, expected literal string
            config.toml:2: unclosed table, expected `]`
            config.toml:5: unknown key `history.max_token`
              hint: did you mean `history.max_tokens`?
        "#]],
    );
}

#[test]
fn unusable_files_are_problems() {
    let home = tempfile::tempdir().unwrap();
    let sources = ConfigSources::new(home.path());
    let failure = |content: &[u8]| {
        fs::write(&sources.file, content).unwrap();
        load(&sources).unwrap_err().to_string()
    };
    assert_eq!(
        failure(b"reload = 'turn'\nmodel = '\xff'\n"),
        "config.toml:2: is not text in UTF-8\n  hint: save the file in the encoding UTF-8"
    );
    assert_eq!(failure(&vec![b'#'; 1024 * 1024 + 1]), "config.toml: is larger than 1 MiB");
    fs::write(&sources.file, vec![b'#'; 1024 * 1024]).unwrap();
    assert!(load(&sources).is_ok());
    fs::remove_file(&sources.file).unwrap();
    fs::create_dir(&sources.file).unwrap();
    let shown = load(&sources).unwrap_err().to_string();
    assert!(shown.starts_with("config.toml: can't be read: it is a directory\n"), "{shown}");
}

#[test]
fn variables_lie_over_the_file_and_flags_over_both() {
    let text = "model = 'a'\n[models.a]\nprovider = 'ollama'\nmodel = 'm'\n\
                [models.b]\nprovider = 'openai'\nmodel = 'm'\n\
                [models.c]\nprovider = 'anthropic'\nmodel = 'm'\n\
                [history]\nmax_messages = 10\nmax_tokens = 100\n";
    let mut sources = with_variables(&[("RECTO_MODEL", "b"), ("RECTO_HISTORY_MAX_MESSAGES", "20")]);
    let loaded = load_text(text, &sources).unwrap();
    assert_eq!(loaded.settings.model.as_deref(), Some("b"));
    assert_eq!(loaded.settings.history.max_messages, 20);
    assert_eq!(loaded.settings.history.max_tokens, 100);
    sources.flags = with_model_flag("c").flags;
    let settings = load_text(text, &sources).unwrap().settings;
    assert_eq!(settings.chosen_model().unwrap().provider, Provider::Anthropic);
}

#[test]
fn the_agents_model_wins_over_the_files_but_not_over_what_is_typed() {
    let text = format!("model = 'a'\nagents.x.model = 'b'\n{MODEL}{}", MODEL.replace(".a.", ".b."));
    assert_eq!(settings(&text).model.as_deref(), Some("b"));
    let typed = load_text(&text, &with_model_flag("a")).unwrap();
    assert_eq!(typed.settings.model.as_deref(), Some("a"));
    let variable = load_text(&text, &with_variables(&[("RECTO_MODEL", "a")])).unwrap();
    assert_eq!(variable.settings.model.as_deref(), Some("a"));
}

#[test]
fn models_and_agents_keep_the_order_of_the_file() {
    let text = "[models.z]\nprovider = 'ollama'\nmodel = 'm'\n[agents.z]\n[agents.a]\n\
                workspace = 'a'\n[models.a]\nprovider = 'ollama'\nmodel = 'm'\n";
    let loaded = load_text(text, &sources()).unwrap();
    let names: Vec<_> = loaded.settings.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(loaded.settings.model.as_deref(), Some("z"));
    assert_eq!(loaded.settings.agent.name, "z");
    let names: Vec<_> = loaded.agents().map(|settings| settings.agent.name.as_str()).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(loaded.warnings, []);
}

#[test]
fn a_model_that_is_not_there_is_named_with_those_that_are() {
    report(
        MODEL,
        &with_model_flag("b"),
        &expect![[r#"
            --model: `model` names a model that is not there: `b`
              hint: known models: `a`
        "#]],
    );
    let two = format!("model = 'llama'\n{MODEL}{}", MODEL.replace(".a.", ".llama3."));
    report(
        &two,
        &sources(),
        &expect![[r#"
            config.toml:1: `model` names a model that is not there: `llama`
              hint: did you mean `llama3`? (known models: `a`, `llama3`)
        "#]],
    );
}

#[test]
fn without_any_models_a_name_is_that_of_one_to_be_found() {
    let found = settings("agents.x.model = 'smollm2'\n");
    assert_eq!((found.model.as_deref(), found.models), (Some("smollm2"), Vec::new()));
    let loaded = load_text("", &with_model_flag("ollama")).unwrap();
    assert_eq!(loaded.settings.model.as_deref(), Some("ollama"));
}

#[test]
fn an_embedded_model_is_named_by_its_name_or_its_file() {
    let model = |model: &str| {
        let text = format!("[models.a]\nprovider = 'embedded'\nmodel = '{model}'\n");
        let loaded = load_text(&text, &sources()).unwrap();
        let shown = loaded.rows().iter().find(|row| row.key == "models.a.model").unwrap();
        let shown = shown.value.clone();
        let mut models = loaded.settings.models;
        let ModelSettings { model, file, tool_calls, .. } = models.remove(0);
        assert_eq!(tool_calls, None, "its template decides");
        (model, file, shown)
    };
    let named = |name: &str, file: Option<&str>, shown: &str| {
        (name.to_owned(), file.map(PathBuf::from), format!("\"{shown}\""))
    };
    assert_eq!(model("smollm2"), named("smollm2", None, "smollm2"));
    assert_eq!(model("qwen3:4b"), named("qwen3:4b", None, "qwen3:4b"));
    for (written, file) in [
        ("/m/tiny.Q4.gguf", "/m/tiny.Q4.gguf"),
        ("~/tiny.Q4.gguf", "/home/me/tiny.Q4.gguf"),
        ("tiny.Q4.gguf", "/home/me/.recto/tiny.Q4.gguf"),
        ("models/tiny.Q4.GGUF", "/home/me/.recto/models/tiny.Q4.GGUF"),
    ] {
        assert_eq!(model(written), named("tiny.Q4", Some(file), file), "{written}");
    }
    assert_eq!(
        model("./tiny"),
        named("tiny", Some("/home/me/.recto/tiny"), "/home/me/.recto/tiny")
    );
    assert_eq!(settings("").model_files, PathBuf::from("/home/me/.recto/models"));
}

#[test]
fn an_embedded_model_has_no_server() {
    report(
        "[models.a]\nprovider = 'embedded'\nmodel = '~you/x.gguf'\nbase_url = 'http://h'\n\
         api_key_env = 'KEY'\nscript = 'a.jsonl'\n[models.b]\nprovider = 'embedded'\n",
        &sources(),
        &expect![[r#"
            config.toml:3: `models.a.model` has the path `~you/x.gguf`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
            config.toml:4: `models.a.base_url` is for servers, and an embedded model has none
              hint: leave it out, or set `provider = "openai"`
            config.toml:5: `models.a.api_key_env` is for servers, and an embedded model has none
              hint: leave it out, or set `provider = "openai"`
            config.toml:6: `models.a.script` is read by no model but a scripted one
              hint: leave it out, or set `provider = "scripted"`
            config.toml:7: `models.b.model` is missing
        "#]],
    );
}

#[test]
fn a_model_that_no_file_names_has_all_defaults() {
    let plain = plain_model("ollama", Provider::Ollama, "qwen3:4b").unwrap();
    let written = settings("[models.ollama]\nprovider = 'ollama'\nmodel = 'qwen3:4b'\n");
    assert_eq!(plain, written.models[0]);
    let odd = plain_model("a.\"b\"\n", Provider::Embedded, "\\ ]").unwrap();
    assert_eq!((odd.name.as_str(), odd.model.as_str()), ("a.\"b\"\n", "\\ ]"));
    assert_eq!(plain_model("a", Provider::Ollama, " "), None);
}

#[test]
fn paths_are_expanded() {
    let of = |path: &str| settings(&format!("skills.directory = '{path}'\n")).skills.directory;
    assert_eq!(of("~"), PathBuf::from("/home/me"));
    assert_eq!(of("~/x"), PathBuf::from("/home/me/x"));
    assert_eq!(of("x/y"), PathBuf::from("/home/me/.recto/x/y"));
    assert_eq!(of("./x"), PathBuf::from("/home/me/.recto/x"));
    assert_eq!(of("./~x"), PathBuf::from("/home/me/.recto/~x"));
    assert_eq!(of("/x//y/"), PathBuf::from("/x/y"));
    assert_eq!(of("../x"), PathBuf::from("/home/me/.recto/../x"));
    let extra = settings("skills.extraDirs = ['~/a', 'b']\n").skills.extra_dirs;
    assert_eq!(extra, ["/home/me/a", "/home/me/.recto/b"].map(PathBuf::from));
}

#[test]
fn paths_that_cannot_be_expanded_are_problems() {
    let homeless = ConfigSources::new("/r");
    report(
        "skills.extra_dirs = ['~/a', 'b', '~you']\n",
        &homeless,
        &expect![[r#"
            config.toml:1: `skills.extra_dirs` has the path `~/a`, but there is no home directory that `~` could stand for
              hint: write the whole path, or `./~` for a name that begins so
            config.toml:1: `skills.extra_dirs` has the path `~you`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
        "#]],
    );
}

#[test]
fn every_spelling_sets_its_key() {
    for key in KEYS {
        let own = settings(&example_line(key, key.name(), key.example));
        for spelling in key.spellings() {
            let other = settings(&example_line(key, &spelling, key.example));
            assert_eq!(without_places(&own), without_places(&other), "{}", key.path);
        }
    }
}

#[test]
fn every_word_of_every_choice_is_accepted_in_both_spellings() {
    for key in KEYS {
        let KeyKind::Choice(names) = key.kind else { continue };
        for name in names {
            let own = settings(&example_line(key, key.name(), &format!("'{name}'")));
            let camel = format!("'{}'", keys::camel_case(name));
            let other = settings(&example_line(key, key.name(), &camel));
            assert_eq!(without_places(&own), without_places(&other), "{}", key.path);
        }
    }
    let render = settings("skills.contextMode = 'readOnDemand'\n").skills.render;
    assert_eq!(render, Some(SkillRender::ReadOnDemand));
}

#[test]
fn other_names_for_context_modes_are_accepted() {
    let text = format!(
        "{MODEL}models.a.ollamaContextMode = 'auto'\nmodels.a.toolTurnContext = 'minimal'\n\
         models.a.ollamaMinimalSystem = true\n"
    );
    let mode = settings(&text).models[0].clone();
    assert_eq!(mode.context_mode.unwrap().value, ContextMode::Auto);
    assert_eq!(mode.tool_turn_context.unwrap().value, ToolTurnContext::Minimal);
    assert!(mode.minimal_system.unwrap().value);
}

#[test]
fn plural_kinds_of_items_are_accepted() {
    for kind in ItemKind::NAMES {
        for spelling in [(*kind).to_owned(), format!("{kind}s")] {
            let text = format!("[items.{spelling}.\"a.b\"]\ninclude = 'agent'\n");
            let item = settings(&text).items.remove(0);
            assert_eq!((item.kind.name(), item.name.as_str()), (*kind, "a.b"));
            assert_eq!(item.include, Some(IncludeMode::Agent));
            // Only rules and references stand in an order.
            let priority = format!("{text}priority = 7\n");
            let ordered = matches!(*kind, "rule" | "reference");
            assert_eq!(load_text(&priority, &sources()).is_ok(), ordered, "{kind}");
        }
    }
}

#[test]
fn what_leaves_the_history_is_summarised_only_where_it_is_asked_for() {
    let plain = settings("");
    let HistorySettings { channel_max_messages, compaction, summary_tokens, .. } = plain.history;
    assert_eq!((channel_max_messages, compaction, summary_tokens), (20, None, 512));
    assert_eq!(plain.sessions.markdown, None);
    for (word, expected) in [
        ("off", None),
        ("extract", Some(SummaryBy::Extract)),
        ("summary", Some(SummaryBy::Summary)),
    ] {
        let text = format!("history.compaction = '{word}'\n");
        assert_eq!(settings(&text).history.compaction, expected);
        // The word in the config is the one that records have.
        assert_eq!(expected.map_or("off", SummaryBy::name), word);
    }
    let kept = settings("sessions.markdown = true\n").sessions.markdown;
    assert_eq!(kept, Some("/home/me/.recto/sessions".into()));
    report(
        "[history]\ncompaction = 'extracts'\nsummary_tokens = 8\n[sessions]\nmarkdown = 1\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `history.compaction` must be one of `off`, `extract`, `summary`, not `extracts`
              hint: did you mean `extract`?
            config.toml:3: `history.summary_tokens` must be a whole number from 32 to 10000000, not `8`
            config.toml:5: `sessions.markdown` must be `true` or `false`, not a whole number
        "#]],
    );
}

#[test]
fn what_search_brings_is_set_for_all_groups_and_for_single_ones() {
    let search = settings("").search;
    assert_eq!((search.enabled, search.preset), (true, SearchPreset::Normal));
    assert_eq!(search.all, SearchGroupSettings::default());
    assert_eq!(search.groups, ItemGroup::ALL.map(|group| (group, SearchGroupSettings::default())));
    let search = settings(
        "[search]\nenabled = false\npreset = 'aggressive'\ntopK = 7\nfloor = 0\n\
         [search.memories]\ntop_n = 0\nincludeScore = 1\n",
    )
    .search;
    assert_eq!((search.enabled, search.preset), (false, SearchPreset::Aggressive));
    let all =
        SearchGroupSettings { top_k: Some(7), floor: Some(0.0), ..SearchGroupSettings::default() };
    assert_eq!(search.all, all);
    let memories = SearchGroupSettings {
        top_n: Some(0),
        include_score: Some(1.0),
        ..SearchGroupSettings::default()
    };
    assert_eq!(search.groups[3], (ItemGroup::Memories, memories));
    assert_eq!(search.groups[0].1, SearchGroupSettings::default());
    report(
        "[search]\npreset = 'normall'\ntop_k = 0\nfloor = 1.5\n[search.rules]\ntop_n = 1\n\
         [search.tool]\n[search.tools]\ntop = 1\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `search.preset` must be one of `conservative`, `normal`, `aggressive`, not `normall`
              hint: did you mean `normal`?
            config.toml:3: `search.top_k` must be a whole number from 1 to 1000, not `0`
            config.toml:4: `search.floor` must be a number from 0 to 1, not `1.5`
            config.toml:5: unknown table `search.rules`
              hint: in `search` there are `enabled`, `encoder`, `preset`, `top_k`, `top_n`, `include_score`, `floor`, `list_lines`, `list_tokens`, `own_use`, `documents`, `skills`, `tools`, `memories`
            config.toml:7: unknown table `search.tool`
              hint: did you mean `search.tools`?
            config.toml:9: unknown key `search.tools.top`
              hint: did you mean `search.tools.top_k`?
        "#]],
    );
}

/// The table of keys and the resolver agree: the resolver asks only for keys of
/// the table (it asserts that), and no key of the table is without effect.
#[test]
fn every_key_changes_what_is_resolved() {
    for key in KEYS {
        let parts = |loaded: LoadedConfig| (loaded.settings, loaded.bindings);
        let set = load_text(&example_line(key, key.name(), key.example), &sources()).unwrap();
        match load_text(&base(key), &sources()) {
            Ok(unset) => assert_ne!(parts(unset), parts(set), "{}", key.path),
            Err(_) => assert!(matches!(key.fallback, KeyFallback::Required(_)), "{}", key.path),
        }
    }
}

#[test]
fn every_key_is_shown_with_its_line() {
    for key in KEYS {
        let text = example_line(key, key.name(), key.example);
        let loaded = load_text(&text, &sources()).unwrap();
        let line =
            SettingOrigin::File { name: "config.toml".into(), line: Some(text.lines().count()) };
        let row = loaded.rows().iter().find(|row| row.origin.as_ref() == Some(&line));
        let name = key.example_name();
        assert!(row.is_some_and(|row| row.key.ends_with(name)), "{}", key.path);
    }
}

#[test]
fn every_variable_sets_its_key() {
    for key in KEYS {
        let Some(variable) = key.variable() else { continue };
        let parsed: toml::Table = toml::from_str(&format!("x = {}", key.example)).unwrap();
        let value = match &parsed["x"] {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(items) => items[0].as_str().unwrap().to_owned(),
            other => other.to_string(),
        };
        let by_variable = load_text(&base(key), &with_variables(&[(&variable, &value)])).unwrap();
        assert_eq!(by_variable.warnings, []);
        let by_file = settings(&example_line(key, key.name(), key.example));
        assert_eq!(by_variable.settings, by_file, "{}", key.path);
    }
}

#[test]
fn rows_say_what_holds_and_why() {
    let text = format!("{MODEL}models.a.api_key_env = 'A_KEY'\n[skills]\nextraDirs = ['~/s']\n");
    let sources = with_variables(&[("RECTO_CONTEXT_PRESET", "plain"), ("A_KEY", "hunter2")]);
    let loaded = load_text(&text, &sources).unwrap();
    let mut shown = String::new();
    for SettingRow { key, value, origin } in loaded.rows() {
        let origin = origin.as_ref().map_or("default".to_owned(), SettingOrigin::to_string);
        shown.push_str(&format!("{key} = {value}  # {origin}\n"));
    }
    expect![[r#"
        model = "a"  # default
        reload = "turn"  # default
        agents.main.workspace = "/home/me/.recto/workspace"  # default
        context.preset = "plain"  # RECTO_CONTEXT_PRESET
        history.max_messages = 50  # default
        history.max_tokens = 8192  # default
        history.channel_max_messages = 20  # default
        history.channel_context_tokens = 1024  # default
        history.compaction = "off"  # default
        history.summary_tokens = 512  # default
        memory.max_entries = 20  # default
        memory.max_tokens = 1000  # default
        delegate.context = "none"  # default
        delegate.max_depth = 2  # default
        delegate.max_tasks = 8  # default
        delegate.time_limit = 300  # default
        sessions.markdown = false  # default
        skills.directory = "/home/me/.recto/skills"  # default
        skills.extra_dirs = ["/home/me/s"]  # config.toml:5
        skills.disabled = []  # default
        skills.always_tokens = 1000  # default
        skills.list_tokens = 300  # default
        skills.allow_scripts = false  # default
        tools.approval = "per_tool"  # default
        tools.approval_expires = 86400  # default
        tools.approval_wait = 60  # default
        tools.sandbox = "best_effort"  # default
        tools.max_rounds = 20  # default
        tools.max_output_bytes = 65536  # default
        tools.time_limit = 30  # default
        tools.schedule = false  # default
        tools.disabled = []  # default
        search.enabled = true  # default
        search.preset = "normal"  # default
        search.list_lines = 12  # default
        search.list_tokens = 200  # default
        search.own_use = true  # default
        store.path = "/home/me/.recto/data/recto.db"  # default
        store.lease_seconds = 15  # default
        server.listen = "127.0.0.1:7411"  # default
        server.hosts = []  # default
        server.require_token = false  # default
        server.max_body_bytes = 1048576  # default
        server.max_door_bytes = 16777216  # default
        server.max_connections = 512  # default
        server.grace = 10  # default
        channels.telegram.enabled = false  # default
        channels.telegram.token_env = "TELEGRAM_BOT_TOKEN"  # default
        channels.telegram.api_url = "https://api.telegram.org"  # default
        channels.telegram.owners = []  # default
        channels.telegram.allow = []  # default
        channels.telegram.strangers = "pair"  # default
        channels.telegram.context = 0  # default
        channels.telegram.max_file_bytes = 65536  # default
        channels.discord.enabled = false  # default
        channels.discord.token_env = "DISCORD_BOT_TOKEN"  # default
        channels.discord.api_url = "https://discord.com/api/v10"  # default
        channels.discord.owners = []  # default
        channels.discord.allow = []  # default
        channels.discord.strangers = "pair"  # default
        channels.discord.mode = "mention_only"  # default
        channels.discord.per_user = false  # default
        channels.discord.context = 0  # default
        channels.discord.max_file_bytes = 65536  # default
        log.level = "info"  # default
        log.format = "text"  # default
        log.contents = false  # default
        window.cap = 8192  # default
        models.a.provider = "ollama"  # config.toml:1
        models.a.model = "m"  # config.toml:2
        models.a.api_key_env = "A_KEY"  # config.toml:3
        models.a.time_limit = 300  # default
        models.a.max_output_tokens = 1024  # default
        models.a.auto_uncertain = "minimal"  # default
        models.a.minimal_history = 0  # default
    "#]]
    .assert_eq(&shown);
    assert!(toml::from_str::<toml::Table>(&shown).is_ok());
}

#[test]
fn a_models_settings_can_be_checked_by_others() {
    let text = format!("{MODEL}models.a.contextMode = 'full'\nmodels.a.minimal_system = true\n");
    let refusing =
        ConfigSources { check_model: |_| ModelVerdict::Refuse("no".to_owned()), ..sources() };
    report(
        &text,
        &refusing,
        &expect![[r#"
            config.toml:3: model `a`: no
              hint: keep those that you mean: `models.a.contextMode` at config.toml:3, `models.a.minimal_system` at config.toml:4
        "#]],
    );
    report(
        MODEL,
        &refusing,
        &expect![[r#"
            config.toml: model `a`: no
        "#]],
    );
    let warning =
        ConfigSources { check_model: |_| ModelVerdict::Warn("hm".to_owned()), ..sources() };
    assert_eq!(load_text(&text, &warning).unwrap().warnings.len(), 1);
}

#[test]
fn a_variable_that_holds_a_key_is_no_setting() {
    let text = format!("{MODEL}models.a.api_key_env = 'RECTO_A_KEY'\n");
    let loaded = load_text(&text, &with_variables(&[("RECTO_A_KEY", "hunter2")])).unwrap();
    assert_eq!(loaded.warnings, []);
    assert!(!format!("{loaded:?}").contains("hunter2"));
}

#[test]
fn a_file_cut_off_anywhere_is_a_config_or_a_report() {
    let whole: String = reference::markdown();
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)).step_by(7) {
        let _ = load_text(&whole[..end], &sources());
    }
    let config: String =
        KEYS.iter().map(|key| example_line(key, key.name(), key.example)).collect();
    for end in (0..config.len()).filter(|end| config.is_char_boundary(*end)).step_by(3) {
        let _ = load_text(&config[..end], &sources());
    }
}

proptest! {
    #[test]
    fn garbage_never_panics(text in ".{0,200}") {
        let _ = load_text(&text, &sources());
    }

    #[test]
    fn things_that_look_like_toml_never_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "[", "]", "[[", "]]", ".", "=", "\n", "\"", "'", "{", "}", ",", " ", "models", "a",
                "items", "rule", "model", "provider", "'ollama'", "skills", "render", "contextMode",
                "1", "-1", "1e999", "nan", "true", "1979-05-27", "\"\"\"", "#", "\\u0000", "ä",
            ]),
            0..60,
        )
    ) {
        let _ = load_text(&parts.concat(), &sources());
    }

    #[test]
    fn any_text_for_any_variable_never_panics(index in 0..KEYS.len(), value in ".{0,40}") {
        if let Some(variable) = KEYS[index].variable() {
            let _ = load_text("", &with_variables(&[(&variable, &value)]));
        }
    }
}

/// The least that `key` needs around it. A second model, so that naming one is
/// a choice.
fn base(key: &ConfigKey) -> String {
    let other = "models.other.provider = 'openai'\nmodels.other.model = 'x'\n";
    let rest = match key.path {
        "models.<name>.provider" => "models.qwen3.model = 'm'\n",
        // Only a script can do without the one, or has the other.
        "models.<name>.model" | "models.<name>.script" => "models.qwen3.provider = 'scripted'\n",
        _ => "models.qwen3.provider = 'ollama'\nmodels.qwen3.model = 'm'\n",
    };
    let server = match (key.table(), key.name()) {
        ("mcp.<name>", "command" | "url") => "",
        ("mcp.<name>", "api_key_env") => "mcp.files.url = 'http://127.0.0.1:1'\n",
        ("mcp.<name>" | "mcp.<name>.env", _) => "mcp.files.command = 'npx'\n",
        _ => "",
    };
    let binding = match (key.table(), key.name()) {
        ("bindings.<number>", "surface") => "[[bindings]]\nagent = 'main'\n",
        ("bindings.<number>", "agent") => "[[bindings]]\nsurface = 'x'\n",
        ("bindings.<number>", _) => "[[bindings]]\nsurface = 'x'\nagent = 'main'\n",
        _ => "",
    };
    format!("{other}{rest}{server}{binding}")
}

/// [`base`] and a last line that sets `key`.
fn example_line(key: &ConfigKey, name: &str, value: &str) -> String {
    let table = match key.table() {
        // What is set stands in the table that the base ends with.
        "" | "bindings.<number>" => String::new(),
        "agents.<name>" => "agents.main.".to_owned(),
        "models.<name>" => "models.qwen3.".to_owned(),
        "items.<kind>" => "items.skill.".to_owned(),
        "items.<kind>.<name>" if matches!(key.name(), "include" | "priority") => {
            "items.rule.style.".to_owned()
        }
        "items.<kind>.<name>" => "items.skill.weather.".to_owned(),
        "mcp.<name>" => "mcp.files.".to_owned(),
        "mcp.<name>.env" => "mcp.files.env.".to_owned(),
        "search.<group>" => "search.documents.".to_owned(),
        table => format!("{table}."),
    };
    let name = if name == key.name() { key.example_name() } else { name };
    format!("{}{table}{name} = {value}\n", base(key))
}

/// Settings that differ only in how a key was spelled are the same.
fn without_places(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for model in &mut settings.models {
        model.context_mode.iter_mut().for_each(|placed| placed.spelled.clear());
        model.tool_turn_context.iter_mut().for_each(|placed| placed.spelled.clear());
        model.minimal_system.iter_mut().for_each(|placed| placed.spelled.clear());
    }
    settings
}
