//! `recto show`: the page by layers, and what came back for it.

use expect_test::{Expect, expect};
use recto_fakes::{FakeAnswer, FakeUsage};
use serde_json::{Value, json};

use super::only_request;
use crate::servers::{ServedHome, Wire, read};
use crate::support::*;

/// Checks what is shown, without what depends on the day and on where the home
/// is: numbers are `#`, and columns are one space apart.
fn check(shown: &str, expected: &Expect) {
    let is_bar = |line: &str| !line.is_empty() && line.chars().all(|c| c.is_ascii_uppercase());
    let lines = shown.lines().filter(|line| !is_bar(line)).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ").replace(|c: char| c.is_ascii_digit(), "#")
    });
    let mut text = lines.collect::<Vec<_>>().join("\n") + "\n";
    while text.contains("##") || text.contains("#,#") {
        text = text.replace("##", "#").replace("#,#", "#");
    }
    expected.assert_eq(&text);
}

/// Promise: `input-by-origin`
#[test]
fn a_turn_of_two_requests_is_shown_one_by_one() {
    let usage = FakeUsage { prompt: 700, cached: 512, completion: 9 };
    let fake = Wire::OpenAi
        .fake()
        .answer(FakeAnswer::calls([read("SOUL.md")]).text("I look."))
        .answer(FakeAnswer::text("I am Ada.").usage(usage));
    let served = ServedHome::new(Wire::OpenAi, fake);
    served.home.write("workspace/SOUL.md", "You are Ada.");
    served.home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brief.");
    served.say("Who are you?");
    check(
        &served.home.ok(&["show"]),
        &expect![[r#"
            turn # of session default, done, #-#-# #:#
            request # (#-#-# #:#), # bytes by the openai wire
            chosen configured
            prefix same beginning as the request before: # tokens; new: #
            in all # requests, at most # prompt tokens (# from cache), # written
            model m
            mode full: the default
            window # tokens, set in the config
            prompt # of # tokens (#%), # kept for the reply
            counted estimated, corrected by what the server counted before

            S system # #%
            B bootstrap # #%
            T tools # #%
            I items # #%
            U message # #%
            R rounds # #%

            layer item include tokens why
            system SOUL.md # file in the workspace
            system (Recto) # built-in default: AGENTS.md is missing, blank or unreadable
            bootstrap (Recto) # written by Recto
            tools tool read_file always # always included
            tools tool write_file always # always included
            tools tool list_files always # always included
            tools tool remember always # always included
            tools tool recall always # always included
            tools tool forget always # always included
            items rule tone (priority #) always # always included
            message message # the message
            rounds assistant # # this turn
            rounds tool # # this turn

            reply: # prompt tokens (# from cache), # written, by the model's own count
            I am Ada.
        "#]],
    );
    let first = served.home.ok(&["show", "1", "--request", "1"]);
    assert!(first.contains("I look.\n[calls read_file {\"path\":\"SOUL.md\"}]\n"), "{first}");
    assert!(!first.contains("rounds"), "{first}");
    served.home.run(&["show", "1", "--request", "3"]).fails_with("numbered from 1 to 2");
    served.home.run(&["show", "1", "--request", "0"]).fails_with("turn 1 has no request 0");
}

#[test]
fn what_a_person_was_told_of_a_turn_stands_in_all_that_shows_it() {
    let cut = FakeAnswer::text("It is a long").out_of_tokens();
    let served = ServedHome::new(Wire::OpenAi, Wire::OpenAi.fake().answer(cut));
    served.say("follow @rule:nowhere");
    let notices = only_request(&served.last_turn())["notices"].clone();
    let texts = notices.as_array().unwrap().iter().map(|notice| notice["text"].as_str().unwrap());
    let shown = served.home.ok(&["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for (text, words) in texts.clone().zip(["nowhere", "cut off at its limit"]) {
        assert!(text.contains(words), "{notices:#}");
        assert!(shown.contains(&format!("notice {text}")), "{shown}");
    }
    assert_eq!(texts.count(), 2, "{notices:#}");
}

/// Promise: `input-by-origin`
/// Promise: `fresh-and-cached-apart`
/// Promise: `request-kept-as-sent`
/// Promise: `cuts-are-recorded`
#[test]
fn the_json_of_a_turn_is_complete() {
    let usage = FakeUsage { prompt: 700, cached: 512, completion: 9 };
    let fake = Wire::OpenAi
        .fake()
        .answer(FakeAnswer::text("one"))
        .answer(FakeAnswer::text("two").usage(usage));
    let served =
        ServedHome::with(Wire::OpenAi, fake, "window = 16384\n[history]\nmax_messages = 1");
    let rule = "---\ninclude: always\ndescription: How to talk.\n---\nBe brief.";
    served.home.write("workspace/rules/tone.md", rule);
    served.say("first");
    served.say("second");
    // A turn is shown with what its items said then.
    served.home.write("workspace/rules/tone.md", "Be long.");
    let shown = served.last_turn();
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    expect!["turn approvals messages requests"].assert_eq(&keys(&shown));
    let request = only_request(&shown);
    expect![
        "id number at model wire options fidelity purpose chosen prefix search notices context body answer redacted"
    ]
    .assert_eq(&keys(request));
    let context = &request["context"];
    expect!["model mode window budget counted layers messages tools tool_choice dropped available removed found candidates alike items notices carry"].assert_eq(&keys(context));
    assert_eq!(context["window"], json!({"tokens": 16384, "source": "config"}));
    let mode = json!({"chosen": "full", "reason": "the default", "matched": [],
        "setting": "full", "setting_from": "default"});
    assert_eq!(context["mode"], mode);
    let layers = context["layers"].as_array().unwrap().iter();
    let layers: Vec<&str> = layers.map(|layer| layer["layer"].as_str().unwrap()).collect();
    expect!["system bootstrap memory skills tools items history picks message rounds"]
        .assert_eq(&layers.join(" "));
    assert_eq!(names(context, "items"), ["tone"]);
    let items = &context["layers"][5];
    expect!["layer tokens cached items"].assert_eq(&keys(items));
    let row = &items["items"][0];
    expect!["kind name server description source include priority scores since tokens cached reason hash message bytes"].assert_eq(&keys(row));
    assert_eq!(row["description"], "How to talk.");
    // The rule agrees with the request before, and the server had less than that.
    let cached = &row["cached"];
    assert_eq!((&cached["agreed"], &cached["served"]), (&row["tokens"], &json!(0)));
    let mut tools = context["layers"][4]["items"].as_array().unwrap().iter();
    let tool = tools.find(|row| row["kind"] == "tool").unwrap();
    assert_eq!(tool["cached"]["served"], tool["tokens"], "servers read tools first");
    // The trim, with what it cost and why.
    let dropped = &context["dropped"][0];
    expect!["what layer tokens before after reason"].assert_eq(&keys(dropped));
    assert!(dropped["reason"].as_str().unwrap().contains("history.max_messages = 1"), "{dropped}");
    assert!(dropped["tokens"].as_u64() > Some(0), "{dropped}");
    // The answer beside its request; fresh and cached tokens apart.
    let answer = &request["answer"];
    assert_eq!(answer["usage"], json!({"prompt": 700, "cached": 512, "completion": 9}));
    assert_eq!(answer["result"]["finish"], "stop");
    let reply = shown["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&reply["id"], &reply["content"]), (&answer["reply"], &json!("two")));
    assert_eq!(&request["body"], served.fake.chats().last().unwrap());
    assert!(request["prefix"]["cause"].is_string(), "{}", request["prefix"]);
}

#[test]
fn a_failed_turn_shows_what_was_sent_and_what_went_wrong() {
    let fake = Wire::Ollama
        .fake()
        .answer(FakeAnswer::refusal(404, r#"{"error":"model 'fake' not found"}"#));
    let served = ServedHome::new(Wire::Ollama, fake);
    assert_eq!(served.chat("hello").code, 1);
    let shown = served.home.ok(&["show"]);
    assert!(shown.starts_with("turn    1 of session default, failed, "), "{shown}");
    assert!(shown.contains("\nreply\nerror: "), "{shown}");
    let error = &only_request(&served.last_turn())["answer"]["result"]["error"].clone();
    assert_eq!(error["code"], "no_such_model", "{error}");
    assert_eq!(served.last_turn()["turn"]["status"], "failed");
}

#[test]
fn what_came_before_a_stream_broke_is_shown() {
    let fake = Wire::Ollama.fake().answer(FakeAnswer::text("Once upon a time").cut_after(2));
    let served = ServedHome::new(Wire::Ollama, fake);
    assert_eq!(served.chat("tell me").code, 1);
    let shown = served.home.ok(&["show"]);
    assert!(shown.contains("\nerror: ") && shown.ends_with("\nOnce upon \n"), "{shown}");
}

#[test]
fn a_turn_that_sent_nothing_says_why() {
    let served = ServedHome::with(Wire::Ollama, Wire::Ollama.fake(), "window = 2048");
    served.chat(&"word ".repeat(9_000)).fails_with("what may not be cut takes");
    served.chat(&"word ".repeat(9_000)).fails_with("what may not be cut takes");
    for arguments in
        [&["show", "1"][..], &["show", "1", "--body"], &["replay", "1"], &["diff", "2", "1"]]
    {
        let run = served.home.run(arguments);
        run.fails_with("turn 1 sent nothing");
        assert!(run.err.contains("hint: it ended with: what may not be cut takes"), "{}", run.err);
    }
    served.home.run(&["diff", "1", "1"]).fails_with("turn 1 was named twice");
    let shown = served.last_turn();
    assert_eq!(shown["requests"], json!([]));
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
    assert!(served.fake.chats().is_empty());
}

#[test]
fn items_of_a_session_s_first_turn_did_not_join_late() {
    for more in ["window = 16384", ""] {
        let served = ServedHome::with(Wire::Ollama, Wire::Ollama.fake(), more);
        served.home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe brief.");
        served.say("hello");
        let shown = served.home.ok(&["show"]);
        assert!(!shown.contains("joined while the session was open"), "{shown}");
        served.home.write("workspace/rules/late.md", "---\ninclude: always\n---\nBe late.");
        served.say("again");
        let shown = served.home.ok(&["show"]);
        let late = shown.lines().filter(|line| line.contains("joined while the session was open"));
        assert_eq!(late.count(), 1, "{shown}");
    }
}

/// Rules, skills and memories on a page with headings, and others that search left.
fn page_with_headings() -> ServedHome {
    let fake = Wire::OpenAi.fake().answer(FakeAnswer::text("one")).answer(FakeAnswer::text("two"));
    let served = ServedHome::new(Wire::OpenAi, fake);
    let skill = "---\nname: tides\ndescription: Tide tables\ninclude: agent\n---\nLook them up.";
    for (name, text) in [
        ("skills/tides/SKILL.md", skill),
        ("rules/tone.md", "---\ninclude: always\n---\nBe brief."),
        ("rules/commits.md", "---\ninclude: agent\n---\nCommit messages begin with a verb."),
        ("memory/MEMORY.md", "- Kim lives in Lund.\n"),
    ] {
        served.home.write(&format!("workspace/{name}"), text);
    }
    served
}

/// Promise: `views-agree`
#[test]
fn what_stands_on_the_page_is_not_among_what_was_not_taken() {
    let served = page_with_headings();
    served.say("Who are you?");
    let shown = served.home.ok(&["show"]);
    let line = |start: &str| shown.lines().find(|line| line.starts_with(start));
    let listed = shown.lines().find(|line| line.contains("skill tides")).unwrap();
    assert!(listed.starts_with("skills "), "{shown}");
    assert!(line("not taken:").unwrap().contains("rule commits"), "{shown}");
    assert_eq!(shown.matches("skill tides").count(), 1, "{shown}");
}

/// Promise: `input-by-origin`
#[test]
fn the_rows_of_each_layer_add_up_to_what_it_costs() {
    let served = page_with_headings();
    served.say("Who are you?");
    served.say("And now?");
    let shown = served.home.ok(&["show"]);
    let number = |text: &str| text.replace(',', "").parse::<u64>().ok();
    let fields = |line: &str| -> Vec<String> {
        line.split("  ")
            .map(str::trim)
            .filter(|field| !field.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let rows: Vec<Vec<String>> = shown.lines().map(fields).collect();
    let mut layers = 0;
    for row in &rows {
        // A line of the bar: `S system`, its tokens, and its share.
        let [name, tokens, share] = &row[..] else { continue };
        let Some((_, layer)) = name.split_once(' ').filter(|_| share.ends_with('%')) else {
            continue;
        };
        let of_layer =
            rows.iter().filter(|row| row[..].first().is_some_and(|first| first == layer));
        let sum: u64 =
            of_layer.map(|row| row.iter().skip(2).find_map(|field| number(field)).unwrap()).sum();
        assert_eq!(number(tokens), Some(sum), "{layer}: {shown}");
        layers += 1;
    }
    assert!(layers >= 6, "{shown}");
    assert!(rows.iter().any(|row| row.len() > 1 && row[1] == "headings"), "{shown}");
}

#[test]
fn show_and_diff_tell_the_cause_of_a_change_in_the_same_words() {
    let served = page_with_headings();
    served.say("Who are you?");
    served.home.write("workspace/rules/tone.md", "---\ninclude: always\n---\nBe long.");
    served.say("And now?");
    let shown = served.home.ok(&["show"]);
    let words = "a workspace file or item changed";
    assert!(shown.contains(&format!("; cause: {words}\n")), "{shown}");
    assert!(served.home.ok(&["diff"]).contains(words));
}
