//! `recto search`: with words alone, and by meaning.

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

/// A home whose items are about different things.
fn home() -> Home {
    let skill = |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\n");
    Home::with(&[
        (
            "workspace/rules/commits.md",
            "---\ndescription: How commit messages are written\ninclude: agent\n---\n\
             Commit messages begin with a verb in the imperative and stay below 60 characters.",
        ),
        (
            "workspace/rules/units.md",
            "---\ndescription: Units of measurement\n---\nUse metric units: metres, grams.",
        ),
        (
            "workspace/references/menu.md",
            "---\ninclude: agent\n---\nMonday is soup. Tuesday is pasta. Wednesday is curry.",
        ),
        (
            "workspace/skills/invoices/SKILL.md",
            &skill("invoices", "Write and send invoices to customers, with tax."),
        ),
        ("workspace/skills/garden/SKILL.md", &skill("garden", "Water plants and prune roses.")),
        ("workspace/memory/MEMORY.md", "## 2026-01-02\n- The cat is called Minka.\n"),
    ])
}

fn search(home: &Home, query: &str, more: &[&str]) -> Value {
    let out = home.ok(&[&["search", query, "--json"], more].concat());
    serde_json::from_str(&out).unwrap()
}

/// The names of what was found, the best first.
fn found(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|result| result["name"].as_str().unwrap()).collect()
}

/// Promise: `search-without-model`
/// Promise: `no-made-up-score`
#[test]
fn without_a_model_words_decide_and_no_cosine_is_made_up() {
    let home = home();
    let answer = search(&home, "how do I write a commit message?", &[]);
    assert_eq!(answer["how"], serde_json::json!({"words": "no_model"}));
    let best = &answer["results"][0];
    assert_eq!((&best["kind"], &best["name"]), (&"rule".into(), &"commits".into()));
    assert_eq!((&best["include"], &best["rank"]), (&"agent".into(), &1.into()));
    assert!(best["lexical"].as_f64().unwrap() > 0.0 && best["probability"].is_number());
    for result in answer["results"].as_array().unwrap() {
        assert!(result["cosine"].is_null(), "{result}");
    }
    let run = home.run(&["search", "how do I write a commit message?"]);
    assert!(run.out.contains("rule commits"), "{}", run.out);
    assert!(run.err.contains("by words alone: there is no embedding model"), "{}", run.err);
}

#[test]
fn a_memory_is_shown_by_what_it_says_and_whole_for_programs() {
    let home = home();
    let long =
        "The spare key of the boat house hangs behind the third paddle, next to the blue rope.";
    home.write("workspace/memory/MEMORY.md", format!("## 2026-01-02\n- {long}\n"));
    let shown = home.ok(&["search", "where is the spare key of the boat house?", "--explain"]);
    assert!(shown.contains(&format!("{long} (memory MEMORY.md#")), "{shown}");
}

/// What stands on every page is there whatever the message, and is not taken for it.
#[test]
fn memories_are_judged_as_a_turn_judges_them() {
    let home = home();
    let fate = || {
        let answer = search(&home, "what is the cat called?", &["--kind", "memory"]);
        let best = &answer["results"][0];
        (best["page"].as_str().unwrap().to_owned(), best["taken"].as_bool().unwrap())
    };
    assert_eq!(fate(), ("anyway".to_owned(), false));
    home.write("config.toml", "memory.max_entries = 0\n");
    assert_eq!(fate(), ("absent".to_owned(), false));
}

/// What `search` says of a page is what `context` shows on it.
#[test]
fn search_says_what_a_page_has_as_the_page_has_it() {
    let home = home();
    home.write("config.toml", "search.floor = 0.05\nsearch.documents.top_n = 1\n");
    let by_hand = "---\ninclude: manual\n---\nWrite a short message to Ben.";
    home.write("workspace/rules/by-hand.md", by_hand);
    let message = "how do I write a commit message on tuesday?";
    let answer = search(&home, message, &[]);
    let fate = |name: &str| {
        let mut rows = answer["results"].as_array().unwrap().iter();
        let row = rows.find(|row| row["name"] == name).unwrap();
        assert_eq!(row["taken"] == true, row["page"] == "taken", "{row}");
        row["page"].as_str().unwrap()
    };
    let context = json(&home.ok(&["context", message, "--json"]));
    let on_page = |name: &str| {
        let mut items = context["items"].as_array().unwrap().iter();
        let item = items.find(|item| item["item"]["name"] == name).unwrap();
        let status = item["status"].as_str().unwrap();
        format!("{status} {}", item["include"].as_str().unwrap_or("-"))
    };
    for (name, in_search, in_context) in [
        ("commits", "taken", "in_full agent"),
        ("menu", "listed", "listed agent"),
        ("write_file", "anyway", "offered always"),
        ("by-hand", "absent", "not_added -"),
    ] {
        assert_eq!((fate(name), on_page(name).as_str()), (in_search, in_context), "{name}");
    }
    let run = home.run(&["search", message]);
    let words = |name: &str| {
        let line = run.out.lines().find(|line| line.contains(name)).unwrap();
        line.split("  ").next().unwrap().trim().to_owned()
    };
    let told = ["commits", "menu", "write_file", "by-hand"].map(words);
    assert_eq!(told, ["in full", "by name", "on every page", ""]);
    let turn = "a turn takes one of them in full, and has 1 by name alone; 2 are on every page";
    assert!(run.err.contains(turn), "{}", run.err);
    // A page without a list has nothing by name.
    home.write(
        "config.toml",
        "search.floor = 0.05\nsearch.documents.top_n = 1\nsearch.list_lines = 0\n",
    );
    let answer = search(&home, message, &["--kind", "reference"]);
    assert_eq!(answer["results"][0]["page"], "absent");
}

#[test]
fn kinds_and_limits_narrow_what_is_listed() {
    let home = home();
    let answer = search(&home, "write invoices and commit messages", &["--kind", "skill"]);
    assert_eq!(found(&answer)[0], "invoices");
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    let rules = search(&home, "metric units for the menu", &["--kind", "rule"]);
    assert_eq!(found(&rules), ["units", "commits"]);
    let memories = search(&home, "what is the cat called?", &["--kind", "memory"]);
    assert_eq!(memories["results"][0]["include"], Value::Null);
    let [name] = found(&memories)[..] else { panic!("{memories}") };
    assert!(name.starts_with("MEMORY.md#"), "{name}");
    let one = search(&home, "metric units", &["--kind", "rule", "--limit", "1"]);
    assert_eq!(found(&one), ["units"]);
    let tools = search(&home, "list the files of a folder", &["--kind", "tool"]);
    assert!(found(&tools).contains(&"list_files"), "{tools}");
}

/// Promise: `nothing-fits-is-an-answer`
#[test]
fn explain_shows_all_scores() {
    let run = home().run(&["search", "pasta on tuesday", "--explain"]);
    let heading = run.out.lines().next().unwrap();
    for column in ["page", "item", "include", "probability", "cosine", "words", "together", "rank"]
    {
        assert!(heading.contains(column), "{heading}");
    }
    assert!(run.out.lines().any(|line| line.contains("reference menu")), "{}", run.out);
}

/// Promise: `nothing-fits-is-an-answer`
#[test]
fn nothing_fits_is_an_answer() {
    let run = home().run(&["search", "zyzzyva quux"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    assert!(run.err.contains("a turn takes none of them"), "{}", run.err);
    home().run(&["search", "  "]).fails_with("nothing to search for");
    let empty = Home::with(&[]);
    let run = empty.run(&["search", "anything", "--kind", "rule"]);
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn the_config_says_what_a_turn_takes() {
    let home = home();
    let taken = |home: &Home| {
        let answer = search(home, "commit messages in the imperative", &["--kind", "rule"]);
        answer["results"][0]["taken"].as_bool().unwrap()
    };
    home.write("config.toml", "search.floor = 0\n");
    assert!(taken(&home));
    home.write("config.toml", "search.floor = 0\nsearch.documents.top_n = 0\n");
    assert!(!taken(&home));
    home.write("config.toml", "search.enabled = false\n");
    let run = home.run(&["search", "commit messages"]);
    assert!(run.err.contains("search is off"), "{}", run.err);
}

#[test]
fn a_message_that_goes_on_is_searched_with_what_was_said_before() {
    let home = home();
    let file = home.path("talk.jsonl");
    let taken = |more: &[&str]| {
        let out = home.ok(&[&["context", "and for merges?", "--json"], more].concat());
        let context: Value = serde_json::from_str(&out).unwrap();
        let found = context["found"].as_array().unwrap().iter();
        found.map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    fs::write(&file, "{\"role\": \"user\", \"content\": \"How are commit messages written?\"}\n")
        .unwrap();
    assert!(taken(&[]).is_empty());
    assert_eq!(taken(&["--history", file.to_str().unwrap()]), ["commits"]);
    // Thanks and fragments on the way change nothing.
    let said = ["How are commit messages written?", "and for tags?", "thanks!"];
    let said = said.map(|text| json!({"role": "user", "content": text}).to_string());
    fs::write(&file, said.join("\n")).unwrap();
    assert_eq!(taken(&["--history", file.to_str().unwrap()]), ["commits"]);
}

#[test]
fn long_queries_and_large_items_are_no_trouble() {
    let home = home();
    home.write("workspace/references/long.md", "All work and no play. ".repeat(40_000));
    let query = "commit messages ".repeat(6_250);
    let run = home.run_with(&["search", "-", "--json"], &query, &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(found(&answer)[0], "commits");
}

/// Greetings, thanks and nods ask for nothing, whatever words they share with an item.
#[test]
fn a_greeting_is_promised_nothing() {
    let home = home();
    home.write("config.toml", "search.floor = 0\n");
    let takes_any = |query: &str| {
        let answer = search(&home, query, &["--kind", "rule"]);
        let results = answer["results"].as_array().unwrap().clone();
        assert!(!results.is_empty(), "all are ranked");
        results.iter().any(|result| result["taken"] == true)
    };
    assert!(takes_any("how do I write a commit message?"));
    assert!(!takes_any("thanks!"));
}

/// What was refused was searched for in the same way as what was taken.
#[test]
fn show_says_of_what_was_refused_how_it_was_searched_for() {
    let home = home();
    home.write("config.toml", "search.floor = 1\n[models.echo]\nprovider = \"scripted\"\n");
    home.ok(&["chat", "--session", "s", "-m", "How do I write a commit message?"]);
    home.ok(&["chat", "--session", "s", "-m", "and for merges?"]);
    let shown =
        |turn: &str| home.ok(&["show", turn]).split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "is below the floor of 1.00, with the message before)";
    assert!(shown("2").contains(told), "{}", shown("2"));
    // Where it was not the last message, it says which one it was.
    home.ok(&["chat", "--session", "s", "-m", "and for tags?"]);
    let told = "is below the floor of 1.00, with the message 2 before)";
    assert!(shown("3").contains(told), "{}", shown("3"));
}

/// With the real encoder.
mod dense {
    use super::*;

    /// Everybody who tells what was found tells that misspelt words were put right.
    #[test]
    fn misspelt_words_are_told_wherever_scores_are() {
        let home = home();
        with_encoder(&home);
        home.write("config.toml", "[models.echo]\nprovider = \"scripted\"\n");
        let typed = "how do I write a comit mesage in the imperativ?";
        let told = "with misspelt words put right";
        let answer = search(&home, typed, &[]);
        assert_eq!(answer["results"][0]["respelled"], true, "{answer}");
        crate::json_shapes::check("search", &answer);
        let words = answer["results"][0]["put_right"].as_array().unwrap();
        assert!(words.contains(&json!({"typed": "comit", "read": "commit"})), "{answer}");
        let run = home.run(&["search", typed, "--explain"]);
        assert!(run.err.contains(&format!(", {told}")), "{}", run.err);
        home.ok(&["chat", "-m", typed]);
        assert!(home.ok(&["why", "commits"]).contains(told));
        for told in [run.err, home.ok(&["why", "commits"]), home.ok(&["show"])] {
            assert!(told.contains("\"comit\" as \"commit\""), "{told}");
        }
        let shown = home.ok(&["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(told), "{shown}");
        let run = home.run(&["search", "how do I write a commit message?", "--explain"]);
        assert!(!run.err.contains(told), "{}", run.err);
    }

    #[test]
    fn meaning_finds_what_words_do_not() {
        let home = home();
        with_encoder(&home);
        let answer = search(&home, "Please bill the client for March", &["--kind", "skill"]);
        assert_eq!(answer["how"], "dense");
        assert_eq!(found(&answer)[0], "invoices");
        let best = &answer["results"][0];
        assert!(best["cosine"].as_f64().unwrap() > 0.2, "{best}");
        assert!(best["best_chunk"].as_str().unwrap().contains("invoices"), "{best}");
        // The vectors are kept: the same again, by another process.
        assert_eq!(search(&home, "Please bill the client for March", &["--kind", "skill"]), answer);
        let run = home.run(&["search", "bill the client", "--explain"]);
        assert!(run.err.contains("by meaning and words (all-MiniLM-L6-v2"), "{}", run.err);
        let invoices = run.out.lines().find(|line| line.contains("skill invoices")).unwrap();
        assert!(invoices.contains("Write and send invoices"), "{invoices}");
    }

    /// Promise: `search-without-model`
    #[test]
    fn a_model_that_cannot_be_used_is_told_and_words_decide() {
        let home = home();
        let weights = fs::read(test_model("minilm").join("model.safetensors")).unwrap();
        let tokenizer = fs::read(test_model("minilm").join("tokenizer.json")).unwrap();
        home.write("models/minilm/tokenizer.json", tokenizer);
        home.write("models/minilm/model.safetensors", &weights[..1_000_000]);
        let run = home.run(&["search", "commit messages"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.contains("rule commits"), "{}", run.out);
        assert!(run.err.contains("model.safetensors"), "{}", run.err);
        assert!(run.err.contains("recto models pull minilm"), "{}", run.err);
        let mut swapped = weights;
        let last = swapped.len() - 1;
        swapped[last] ^= 1;
        home.write("models/minilm/model.safetensors", &swapped);
        let run = home.run(&["search", "commit messages"]);
        assert!(run.err.contains("checksum differs"), "{}", run.err);
    }
}

/// With an encoder that a person has chosen.
mod chosen {
    use recto_fakes::FakeEncoder;
    use serde_json::json;

    use super::*;

    fn encoder(home: &Home, folder: &str) {
        FakeEncoder::new().write(&home.path(folder));
    }

    /// Promise: `own-encoder`
    #[test]
    fn an_encoder_is_chosen_by_its_folder_or_by_its_name() {
        let home = home();
        encoder(&home, "encoders/tiny");
        let how = |value: &str| {
            home.write("config.toml", format!("search.encoder = '{value}'\n"));
            search(&home, "commit messages", &[])["how"].clone()
        };
        let by_folder = how("encoders/tiny");
        assert!(by_folder["dense_by"].as_str().unwrap().starts_with("tiny/int8-1/"), "{by_folder}");
        assert_eq!(how(home.path("encoders/tiny").to_str().unwrap()), by_folder);
        // By name, once it was pulled: the same encoder.
        assert!(how("tiny")["words"]["unusable"].is_object());
        home.ok(&["models", "pull", home.path("encoders/tiny").to_str().unwrap()]);
        assert_eq!(how("tiny"), by_folder);
        assert_eq!(how("Tiny"), by_folder);
        // The built-in one has its names, and is not there.
        assert_eq!(how("all-minilm"), json!({"words": "no_model"}));
        let run = home.run(&["search", "commits", "--explain"]);
        assert!(run.err.contains("by words alone"), "{}", run.err);
        assert_eq!(how("./encoders/tiny"), by_folder);
        let run = home.run(&["search", "commits", "--explain"]);
        assert!(run.err.contains("by meaning and words (tiny/int8-1/"), "{}", run.err);
    }

    /// Promise: `own-encoder`
    #[test]
    fn a_chosen_encoder_is_told_by_doctor_and_by_models_check() {
        let home = home();
        encoder(&home, "encoders/tiny");
        home.write("script.jsonl", "");
        let config = "search.encoder = 'encoders/tiny'\n\
                      [models.m]\nprovider = 'scripted'\nscript = 'script.jsonl'\n";
        home.write("config.toml", config);
        let doctor = |home: &Home| {
            let run = home.run(&["doctor", "--json"]);
            let report: Value = serde_json::from_str(&run.out).unwrap();
            let findings = report["findings"].as_array().unwrap().clone();
            findings.into_iter().find(|found| found["subject"] == "search").unwrap()
        };
        let found = doctor(&home);
        assert!(found["message"].as_str().unwrap().contains("(tiny/int8-1/"), "{found}");
        let checked = home.run(&["models", "check", "--json"]);
        assert_eq!(checked.code, 0, "{}", checked.err);
        let encoder = &json(&checked.out)["encoder"];
        assert_eq!((&encoder["ok"], &encoder["dimensions"]), (&json!(true), &json!(60)));
        let run = home.run(&["models", "check"]);
        assert!(run.err.contains("encoder: tiny/int8-1/"), "{}", run.err);

        let path = home.path("encoders/tiny/config.json");
        let config = fs::read_to_string(&path).unwrap().replace("bert", "mpnet");
        fs::write(path, config).unwrap();
        let found = doctor(&home);
        assert_eq!(found["state"], "warning", "{found}");
        let text = found["message"].as_str().unwrap();
        assert!(text.starts_with("goes by words: ") && text.contains("`mpnet`"), "{text}");
        assert!(found["hint"].as_str().unwrap().contains("search.encoder"), "{found}");
        let run = home.run(&["models", "check"]);
        assert_eq!(run.code, 1, "{}", run.err);
        assert!(run.err.contains("error: encoder: ") && run.err.contains("mpnet"), "{}", run.err);
        assert!(run.err.contains("hint: name another encoder"), "{}", run.err);
        let checked = json(&home.run(&["models", "check", "--json"]).out);
        assert_eq!((&checked["ok"], &checked["encoder"]["ok"]), (&json!(false), &json!(false)));
        // A search goes on.
        assert_eq!(found_by_words(&home), "commits");
    }

    fn found_by_words(home: &Home) -> String {
        found(&search(home, "commit messages", &[]))[0].to_owned()
    }

    #[test]
    fn bench_select_measures_the_encoder_that_is_set() {
        let home = home();
        encoder(&home, "encoders/tiny");
        home.write("config.toml", "search.encoder = 'encoders/tiny'\n");
        home.write(
            "items.jsonl",
            "{\"id\": \"a\", \"kind\": \"rule\", \"name\": \"tea\", \"text\": \"How tea is made.\"}\n",
        );
        home.write("queries.jsonl", "{\"id\": \"q\", \"query\": \"make tea\"}\n");
        let [items, queries, out] =
            ["items.jsonl", "queries.jsonl", "run.jsonl"].map(|name| home.path(name));
        let text = |path: &std::path::PathBuf| path.to_str().unwrap().to_owned();
        let (items, queries, out) = (text(&items), text(&queries), text(&out));
        let run =
            home.run(&["bench", "select", "--items", &items, "--queries", &queries, "--out", &out]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("by tiny/int8-1/"), "{}", run.err);
        let line = json(&fs::read_to_string(&out).unwrap());
        assert_eq!(line["ranked"], json!(["a"]));
    }
}
