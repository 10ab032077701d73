//! Random sessions, of which the record, `show`, `why` and the page must tell the same.

use std::fs;

use serde_json::Value;

use super::client::text_of;
use crate::support::*;

/// A generator of numbers that is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // The constants of Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len() as u64) as usize]
    }
}

const WORDS: [&str; 8] = ["lamp", "wick", "storm", "harbour", "ledger", "goat", "bread", "tide"];

fn sentence(dice: &mut Dice) -> String {
    let words: Vec<&str> = (0..6).map(|_| dice.pick(&WORDS)).collect();
    format!("Mind the {}.", words.join(" and the "))
}

fn write_items(home: &Home, dice: &mut Dice) {
    for (folder, count) in [("rules", 4), ("references", 3)] {
        for number in 0..count {
            let include = dice.pick(&["always", "manual", "agent"]);
            let text = format!(
                "---\nname: {} {number}\ndescription: About {}.\npriority: {}\ninclude: {include}\n---\n{}\n",
                dice.pick(&WORDS),
                dice.pick(&WORDS),
                dice.roll(1_000),
                sentence(dice)
            );
            home.write(&format!("workspace/{folder}/{number}.md"), text);
        }
    }
    for number in 0..3 {
        let include = dice.pick(&["always", "manual", "agent"]);
        let text = format!(
            "---\nname: skill-{number}\ndescription: About {}.\nmetadata:\n  include: {include}\n---\n{}\n",
            dice.pick(&WORDS),
            sentence(dice)
        );
        home.write(&format!("workspace/skills/skill-{number}/SKILL.md"), text);
    }
}

/// Memories, only two of which have a place on the page.
fn add_memories(home: &Home, dice: &mut Dice) {
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[memory]\nmax_entries = 2\n"));
    // What nobody asks about, so that search leaves it.
    for text in [
        "Minka the cat turns nine in May",
        "Invoices go out on Mondays, and not before noon",
        "The spare key lies under the third slate",
    ] {
        home.ok(&["memory", "add", text]);
    }
    for number in 1..=2 {
        home.ok(&["memory", "add", &format!("Since {number} May: {}", sentence(dice))]);
    }
}

/// What people know a memory by: its name says nothing.
fn first_words(home: &Home, name: &str) -> String {
    let all = json(&home.ok(&["memory", "list", "--json"]))["memories"].clone();
    let memory = all.as_array().unwrap().iter().find(|memory| memory["name"] == name).unwrap();
    memory["text"].as_str().unwrap().chars().take(40).collect()
}

/// Promise: `pages-and-terminal-tell-the-same`
#[test]
fn record_show_why_and_page_tell_the_same_of_every_item() {
    let mut memories_left_out = 0;
    for seed in 1..=3 {
        let mut dice = Dice(seed);
        let lines: Vec<String> =
            (0..3).map(|turn| format!("{{\"content\": \"reply {turn}\"}}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let home = Home::scripted(&lines);
        // By words alone what shares none is not looked at.
        with_encoder(&home);
        add_memories(&home, &mut dice);
        for _ in 0..3 {
            write_items(&home, &mut dice);
            home.ok(&["chat", "-m", &sentence(&mut dice)]);
        }
        let server = home.serve_pages();
        for turn in ["1", "2", "3"] {
            let record = json(&home.ok(&["show", turn, "--json"]));
            let context = &record["requests"][0]["context"];
            let page = server.page(&format!("/turns/{turn}"));
            let show = home.ok(&["show", turn]);
            memories_left_out += check_items(&home, turn, context, &page, &show);
            check_layers(context, &page, &show);
        }
    }
    assert!(memories_left_out > 0, "no memory was left out anywhere");
}

/// Checks what is told of each item. Gives how many memories were left out.
fn check_items(home: &Home, turn: &str, context: &Value, page: &str, show: &str) -> usize {
    let items = context["items"].as_array().unwrap();
    assert!(items.len() > 8, "{context:#}");
    let page_text = text_of(page);
    let mut memories_left_out = 0;
    for standing in items {
        let item = &standing["item"];
        let (kind, name) = (item["kind"].as_str().unwrap(), item["name"].as_str().unwrap());
        let key = match item["server"].as_str() {
            Some(server) => format!("{server}.{name}"),
            None => name.to_owned(),
        };
        let row = format!("<li class=\"item\" data-item=\"{key}\">");
        let rows: Vec<&str> = page.split(&row).skip(1).collect();
        let told = format!("{kind} {key} in turn {turn}: {standing:#}");
        let why = home.ok(&["why", &format!("{kind}:{key}"), turn]);
        match standing["include"].as_str() {
            Some(include) => {
                // A rule and a reference may have one name.
                let text: Vec<String> =
                    rows.iter().map(|row| text_of(row.split("</li>").next().unwrap())).collect();
                let is_possible = standing["reason"] == "possible";
                let word = match is_possible {
                    true => "[Listed".to_owned(),
                    false => format!("[{}{}", include[..1].to_uppercase(), &include[1..]),
                };
                let badge = match standing["found"]["scores"]["probability"].as_f64() {
                    Some(probability) => format!("{word} - {probability:.2}]"),
                    None => word,
                };
                let tokens = standing["tokens"].as_u64().unwrap();
                let shows = |text: &String| {
                    let numbers = text.replace(',', "");
                    text.contains(&badge) && numbers.contains(&format!(" {tokens} tokens"))
                };
                assert!(text.iter().any(shows), "{told}\n{text:?}");
                assert!(why.contains(&format!(", {include}, ")), "{told}\n{why}");
                assert!(show.contains(name), "{told}\n{show}");
            }
            None => {
                let status = standing["status"].as_str().unwrap();
                let shown = match kind {
                    "memory" => format!("memory {key}: {}", first_words(home, name)),
                    _ => format!("{kind} {key}"),
                };
                assert!(
                    ["was not on the page", "was not brought", "was left out"]
                        .iter()
                        .any(|words| why.contains(words)),
                    "{told}\n{why}"
                );
                assert!(page_text.contains(&shown), "{told} is {status}\n{page_text}");
                assert!(show.contains(&shown), "{told}\n{show}");
                memories_left_out += usize::from(kind == "memory");
            }
        }
    }
    memories_left_out
}

fn check_layers(context: &Value, page: &str, show: &str) {
    for layer in context["layers"].as_array().unwrap() {
        let (name, tokens) = (layer["layer"].as_str().unwrap(), layer["tokens"].as_u64().unwrap());
        let entry = page.split(&format!("<li class=\"l-{name}")).nth(1).unwrap();
        let entry = text_of(&format!("<li{}", entry.split("</li>").next().unwrap()));
        let entry = entry.replace(',', "");
        match tokens {
            0 => assert!(entry.contains("nothing"), "{name}: {entry}"),
            tokens => {
                assert!(entry.contains(&format!(" {tokens} ")), "{name} has {tokens}: {entry}");
                let drawn = show.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
                let drawn = drawn.unwrap().replace(',', "");
                assert!(drawn.contains(&tokens.to_string()), "{drawn}");
            }
        }
    }
}
