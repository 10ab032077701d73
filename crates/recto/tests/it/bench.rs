//! `recto bench`: how turns decide, on labelled files.

use serde_json::{Value, json};

use crate::support::*;

/// A home with items and queries of two scopes.
fn home() -> Home {
    let line = |value: Value| format!("{value}\n");
    let item = |id: &str, kind: &str, name: &str, text: &str, scope: &str| {
        line(
            json!({"id": id, "kind": kind, "name": name, "description": "", "text": text, "scope": scope}),
        )
    };
    let items = [
        item("a/1", "memory", "D1:1", "Anna: My dog eats green apples.", "a"),
        item("a/2", "memory", "D1:2", "Ben: The train to Basel leaves at nine.", "a"),
        item("b/1", "memory", "D1:1", "Cleo: A dog and a train, both are late.", "b"),
        item("t/1", "tool", "weather", "Parameters: city: where it rains", "a"),
    ];
    let queries = [
        line(
            json!({"id": "q1", "query": "what does the dog eat?", "relevant": ["a/1"], "scope": "a"}),
        ),
        line(
            json!({"id": "q2", "query": "when does the train leave?", "relevant": [], "scope": "a"}),
        ),
        "\n".to_owned(),
        line(json!({"id": "q3", "query": "zyzzyva", "scope": "b"})),
    ];
    let home = Home::with(&[("config.toml", "search.floor = 0.2\n")]);
    home.write("items.jsonl", items.concat());
    home.write("queries.jsonl", queries.concat());
    home
}

fn arguments<'a>(paths: &'a [String; 3], more: &[&'a str]) -> Vec<&'a str> {
    let [items, queries, out] = paths;
    let fixed = ["bench", "select", "--items", items, "--queries", queries, "--out", out];
    fixed.into_iter().chain(more.iter().copied()).collect()
}

fn paths(home: &Home) -> [String; 3] {
    ["items.jsonl", "queries.jsonl", "out.jsonl"]
        .map(|name| home.path(name).to_str().unwrap().to_owned())
}

fn written(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(home.path("out.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn select_writes_a_line_for_each_query() {
    let home = home();
    let paths = paths(&home);
    let run = home.run(&arguments(&paths, &["--scope"]));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("by words alone"), "{}", run.err);
    let lines = written(&home);
    assert_eq!(lines.iter().map(|line| &line["id"]).collect::<Vec<_>>(), ["q1", "q2", "q3"]);
    assert_eq!(lines[0]["ranked"][0], "a/1");
    assert_eq!(lines[1]["ranked"][0], "a/2");
    // Each item once, and none of another scope.
    let ranked: Vec<&str> =
        lines[0]["ranked"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let mut sorted = ranked.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["a/1", "a/2", "t/1"]);
    assert_eq!(lines[2]["ranked"], json!(["b/1"]));
    assert_eq!(lines[2]["picked"], json!([]));
    assert!(lines[0]["picked"].as_array().unwrap().iter().any(|id| id == "a/1"), "{}", lines[0]);
    assert!(lines[0]["ms"].as_f64().unwrap() >= 0.0 && lines[0]["tokens"].as_u64().unwrap() > 0);
    // Without scopes, all items are candidates, also those of the same name.
    assert_eq!(home.run(&arguments(&paths, &[])).code, 0);
    assert_eq!(written(&home)[0]["ranked"].as_array().unwrap().len(), 4);
}

#[test]
fn bad_lines_are_told_with_file_and_line_and_nothing_is_written() {
    let home = home();
    let paths = paths(&home);
    home.write(
        "items.jsonl",
        "{\"id\": \"a\", \"kind\": \"tool\", \"name\": \"a\"}\n{\"id\": \"b\"}\n{\n\
         {\"id\": \"c\", \"kind\": \"fish\", \"name\": \"c\"}\n",
    );
    let run = home.run(&arguments(&paths, &[]));
    run.fails_with("items.jsonl:2: missing field `kind`");
    run.fails_with("items.jsonl:3: EOF while parsing");
    run.fails_with("items.jsonl:4: unknown variant `fish`");
    assert!(!home.path("out.jsonl").exists());
    home.write("items.jsonl", "{\"id\": \"a\", \"kind\": \"tool\", \"name\": \"a\"}\n".repeat(2));
    home.run(&arguments(&paths, &[])).fails_with("items.jsonl:2: the id `a` is that of line 1");
    home.write("items.jsonl", "\n");
    home.run(&arguments(&paths, &[])).fails_with("it has no lines");
    home.write("items.jsonl", "{\"id\": \"a\", \"kind\": \"tool\", \"name\": \"a\"}\n");
    home.write("queries.jsonl", "{\"id\": \"q\", \"query\": \"x\"}\n");
    home.run(&arguments(&paths, &["--scope"]))
        .fails_with("queries.jsonl:1: the query `q` has no scope");
    let missing =
        [paths[0].clone(), home.path("no.jsonl").to_str().unwrap().to_owned(), paths[2].clone()];
    home.run(&arguments(&missing, &[])).fails_with("cannot read");
}

#[test]
fn mode_decides_as_a_turn_set_to_auto_would() {
    let home = Home::new();
    home.write(
        "messages.jsonl",
        "{\"id\": \"m1\", \"message\": \"read notes.md\", \"expect\": \"minimal\"}\n\
         {\"id\": \"m2\", \"message\": \"why is the sky blue?\", \"expect\": \"full\"}\n\
         {\"id\": \"m3\", \"message\": \"thanks!\", \"expect\": \"minimal\"}\n",
    );
    let before = home.tree();
    let file = home.path("messages.jsonl");
    let run = home.run(&["bench", "mode", "--messages", file.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("2 of 3 decided as labelled (66.7%)"), "{}", run.out);
    let miss = run.out.lines().find(|line| line.starts_with("m3 ")).unwrap();
    assert!(miss.contains("minimal") && miss.contains("thanks!"), "{miss}");
    let json = home.ok(&["bench", "mode", "--messages", file.to_str().unwrap(), "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["messages"], &json["as_labelled"]), (&3.into(), &2.into()));
    assert_eq!(json["decisions"][0]["chosen"], "minimal");
    assert_eq!(home.tree(), before, "nothing is left behind");
    home.write("messages.jsonl", "{\"id\": \"m\", \"message\": \"x\", \"expect\": \"long\"}\n");
    home.run(&["bench", "mode", "--messages", file.to_str().unwrap()])
        .fails_with("messages.jsonl:1: unknown variant `long`");
}

/// With the real encoder.
mod dense {
    use super::*;

    #[test]
    fn select_ranks_by_meaning_where_there_is_a_model() {
        let home = home();
        with_encoder(&home);
        let paths = paths(&home);
        home.write(
            "queries.jsonl",
            "{\"id\": \"q\", \"query\": \"Which railway goes to a Swiss city?\"}\n",
        );
        let run = home.run(&arguments(&paths, &[]));
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("texts embedded"), "{}", run.err);
        assert_eq!(written(&home)[0]["ranked"][0], "a/2");
    }

    /// Of memories that say the same a turn takes one, and the newer ones come first.
    #[test]
    fn select_takes_memories_as_a_turn_does() {
        let home = Home::with(&[("config.toml", "")]);
        with_encoder(&home);
        let memory = |id: &str, text: &str, day: &str| {
            let line = json!({"id": id, "kind": "memory", "name": id, "text": text, "time": day});
            format!("{line}\n")
        };
        home.write(
            "items.jsonl",
            [
                memory("old", "The cat of the neighbours is called Minka.", "2020-01-01"),
                memory("new", "The cat of the neighbours is called Mira.", "2026-01-01"),
                memory("copy", "The cat of the neighbours is called Mira!", "2026-01-01"),
            ]
            .concat(),
        );
        let query = "what is the cat of the neighbours called?";
        home.write("queries.jsonl", format!("{}\n", json!({"id": "q", "query": query})));
        let paths = paths(&home);
        assert_eq!(home.run(&arguments(&paths, &[])).code, 0);
        let ranked = written(&home)[0]["ranked"].clone();
        assert_eq!(ranked, json!(["new", "old"]), "{ranked}");
    }
}
