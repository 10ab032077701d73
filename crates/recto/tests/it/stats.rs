//! `recto stats` and `/stats`: how the context was used, as the records say it.

use std::collections::BTreeMap;

use recto_fakes::{FakeAnswer, FakeUsage};
use serde_json::{Value, json};

use crate::servers::{ServedHome, Wire, read};
use crate::support::*;

/// Rules of every include mode, and a model that reads a file in the first turn.
fn served() -> ServedHome {
    let usage = FakeUsage { prompt: 700, cached: 512, completion: 9 };
    let fake = Wire::OpenAi
        .fake()
        .answer(FakeAnswer::calls([read("SOUL.md")]))
        .answer(FakeAnswer::text("I am Ada.").usage(usage))
        .answer(FakeAnswer::text("With a verb.").usage(usage))
        .answer(FakeAnswer::refusal(400, r#"{"error":"no"}"#));
    let served = ServedHome::new(Wire::OpenAi, fake);
    for (name, text) in [
        ("SOUL.md", "You are Ada."),
        ("rules/tone.md", "---\ninclude: always\n---\nBe brief."),
        ("rules/units.md", "---\ninclude: manual\n---\nUse metric units."),
        ("rules/commits.md", "---\ninclude: agent\n---\nCommit messages begin with a verb."),
        ("rules/soup.md", "---\ninclude: agent\n---\nSoup is served hot."),
        ("skills/maps/SKILL.md", "---\nname: maps\ndescription: Maps\n---\nMaps of the coast."),
    ] {
        served.home.write(&format!("workspace/{name}"), text);
    }
    served.say("Who are you?");
    served.say("How do commit messages begin?");
    assert_eq!(served.chat("Is there soup?").code, 1);
    served
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Where `show --json` has the items of a turn's first page.
fn places(page: &Value) -> BTreeMap<String, &'static str> {
    let name = |row: &Value| {
        let server = row["server"].as_str().map(|server| format!("{server}.")).unwrap_or_default();
        format!(
            "{} {server}{}",
            row["kind"].as_str().unwrap_or("tool"),
            row["name"].as_str().unwrap()
        )
    };
    let mut places = BTreeMap::new();
    for row in array(&page["found"]).iter().chain(array(&page["candidates"])) {
        places.insert(name(row), "left");
    }
    for row in array(&page["layers"]).iter().flat_map(|layer| array(&layer["items"])) {
        let reason = row["reason"].as_str().unwrap();
        let is_item =
            ["rule", "reference", "skill", "memory"].contains(&row["kind"].as_str().unwrap());
        if is_item {
            let place = if reason.starts_with("listed by name") { "offered" } else { "taken" };
            places.insert(name(row), place);
        }
    }
    for row in array(&page["tools"]) {
        places.insert(name(row), "offered");
    }
    places
}

/// Promise: `views-agree`
#[test]
fn the_counts_are_those_of_the_turns_that_are_shown() {
    let served = served();
    let stats = served.home.json(&["stats", "--json"]);
    let mut expected: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    let (mut requests, mut layers) = (0, BTreeMap::new());
    let mut usage = BTreeMap::from([("prompt", 0), ("cached", 0), ("completion", 0)]);
    for turn in ["1", "2", "3"] {
        let shown = served.home.json(&["show", turn, "--json"]);
        for (item, place) in places(&shown["requests"][0]["context"]) {
            *expected.entry(item).or_default().entry(place).or_default() += 1;
        }
        for request in array(&shown["requests"]) {
            requests += 1;
            for (key, sum) in &mut usage {
                *sum += request["answer"]["usage"][key].as_u64().unwrap_or_default();
            }
            for layer in array(&request["context"]["layers"]) {
                *layers.entry(layer["layer"].as_str().unwrap().to_owned()).or_insert(0) +=
                    layer["tokens"].as_u64().unwrap();
            }
        }
    }
    let mut counted: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    for item in array(&stats["items"]) {
        let name = format!("{} {}", item["kind"].as_str().unwrap(), item["name"].as_str().unwrap());
        let places = ["taken", "offered", "left"]
            .map(|place| (place, item["counts"][place].as_u64().unwrap()));
        counted.insert(name, places.into_iter().filter(|(_, count)| *count > 0).collect());
    }
    assert_eq!(counted, expected);
    assert!(
        counted.contains_key("rule commits") && counted["rule tone"]["taken"] == 3,
        "{counted:?}"
    );
    let tokens = &stats["tokens"];
    assert_eq!((requests, &tokens["requests"]), (4, &json!(4)));
    assert_eq!(tokens["layers"], json!(layers));
    for (key, sum) in usage {
        assert_eq!(tokens[key], sum, "{key}");
    }
    assert_eq!(stats["turns"]["done"], 2);
    assert_eq!(stats["turns"]["failed"], 1);
    assert_eq!(
        array(&stats["days"]).iter().map(|day| day["turns"].as_u64().unwrap()).sum::<u64>(),
        3
    );
}

#[test]
fn what_was_called_is_used_and_the_rest_is_listed() {
    let served = served();
    let stats = served.home.json(&["stats", "--json"]);
    let find =
        |list: &Value, name: &str| array(list).iter().find(|item| item["name"] == name).cloned();
    let tool = find(&stats["items"], "read_file").unwrap();
    assert_eq!((&tool["counts"]["used"], &tool["counts"]["offered"]), (&json!(1), &json!(3)));
    assert_eq!((&tool["last_used"]["turn"], &tool["include"]), (&json!(1), &json!("always")));
    let rule = find(&stats["items"], "tone").unwrap();
    assert_eq!((&rule["counts"]["used"], &rule["last_used"]["turn"]), (&Value::Null, &json!(3)));
    let unused = &stats["unused"]["items"];
    assert!(find(unused, "write_file").is_some() && find(unused, "units").is_some(), "{unused}");
    assert!(find(unused, "read_file").is_none() && find(unused, "tone").is_none(), "{unused}");

    // The lists of items tell the same.
    let rules = served.home.json(&["rules", "list", "--json"])["rules"].clone();
    let tone = find(&rules, "tone").unwrap();
    assert_eq!((&tone["last_used"], &tone["counts"]), (&rule["last_used"], &rule["counts"]));
    assert_eq!(find(&rules, "units").unwrap()["last_used"], Value::Null);
    let tools = served.home.json(&["tools", "list", "--json"])["tools"].clone();
    assert_eq!(find(&tools, "read_file").unwrap()["counts"], tool["counts"]);
    let skills = served.home.json(&["skills", "list", "--json"])["skills"].clone();
    assert_eq!(find(&skills, "maps").unwrap()["last_used"]["turn"], 3);
    let listed = served.home.ok(&["rules", "list"]);
    let units = listed.lines().find(|line| line.starts_with("units")).unwrap();
    assert!(units.contains("never"), "{listed}");
}

#[test]
fn people_read_it_within_80_columns_and_in_a_chat() {
    let served = served();
    let text = served.home.ok(&["stats"]);
    for told in [
        "turns     3: 2 done, 1 failed",
        "rule tone",
        "tool read_file",
        "6 items that nothing has used since counting began:",
        "rule units",
    ] {
        assert!(text.contains(told), "{told} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let run = served.home.run_with(&["chat"], "/stats\n/stats yesterday\n", &[]);
    assert!(run.out.contains("session   3 turns; "), "{}", run.out);
    assert!(run.err.contains("type /stats [30d | DATE | all]"), "{}", run.err);
    let events = served.home.run_with(&["chat", "--json"], "/stats 7d\n", &[]).out;
    let event = json(events.lines().next().unwrap());
    assert_eq!((&event["kind"], &event["data"]["turns"]["all"]), (&json!("stats"), &json!(3)));
}

#[test]
fn tokens_that_no_server_counts_are_not_shown_as_none() {
    let home = Home::scripted(&[r#"{"content":"Hello."}"#]);
    home.ok(&["chat", "-m", "hi"]);
    let text = home.ok(&["stats"]);
    assert!(text.contains("requests  1; tokens not counted by the model's server\n"), "{text}");
    assert!(!text.contains("0 prompt tokens"), "{text}");
    let day = text.lines().find(|line| line.starts_with("20")).unwrap();
    assert!(day.contains("not counted"), "{text}");
}

#[test]
fn without_turns_it_says_what_begins_them() {
    let home = Home::ready();
    let text = home.ok(&["stats"]);
    assert!(text.contains("no turn was counted yet"), "{text}");
    let stats = json(&home.ok(&["stats", "--json"]));
    assert_eq!((&stats["turns"]["all"], &stats["counted_since"]), (&json!(0), &Value::Null));
    assert_eq!(array(&stats["selection"]).len(), 10);
    let never = array(&stats["unused"]["items"]);
    assert!(never.iter().any(|item| item["name"] == "brief"), "{stats}");
    for bad in ["sometimes", "0d", "2026-13-01", ""] {
        let run = home.run(&["stats", "--since", bad]);
        assert_eq!(run.code, 2, "{bad}: {}", run.out);
        assert!(run.err.contains("30d"), "{}", run.err);
    }
}

#[test]
fn a_list_of_items_makes_no_store() {
    let home = Home::with(&[("workspace/rules/tone.md", "Be brief.")]);
    let rules = json(&home.ok(&["rules", "list", "--json"]))["rules"].clone();
    assert_eq!((&rules[0]["last_used"], &rules[0]["counts"]["taken"]), (&Value::Null, &json!(0)));
    assert!(!home.path("data/recto.db").exists());
}
