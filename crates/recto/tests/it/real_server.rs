//! A real server that speaks OpenAI's wire, wherever it runs. Optional: it is
//! named by `RECTO_TEST_SERVER` (with `/v1` or without) and, if it has several
//! models, by `RECTO_TEST_MODEL`. `scripts/test` runs this when the first is set.

use serde_json::Value;

use crate::support::*;

/// A home whose model is the server's.
fn home() -> Home {
    let url = std::env::var("RECTO_TEST_SERVER").expect("RECTO_TEST_SERVER names a server");
    let model = std::env::var("RECTO_TEST_MODEL").unwrap_or_else(|_| "default".to_owned());
    let home = Home::ready();
    let entry = format!(
        "[models.real]\nprovider = \"openai\"\nbase_url = \"{url}\"\nmodel = \"{model}\"\n"
    );
    home.write("config.toml", format!("{entry}window = 2048\nmax_output_tokens = 48\n"));
    home
}

/// The events of one message.
fn say(home: &Home, message: &str) -> Vec<Value> {
    let run = home.run(&["chat", "--session", "real", "--json", "-m", message]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
#[ignore = "needs a real server: set RECTO_TEST_SERVER"]
fn a_conversation_with_a_real_model() {
    let home = home();
    let check = home.run(&["models", "check"]);
    println!("{}{}", check.out, check.err);
    assert_eq!(check.code, 0);
    let messages = [
        "Say hello in one short sentence.",
        "What is the capital of France? Answer in one word.",
        "把“你好”翻译成英语。",
        "Name three colours. 🎨",
        "Write `let x = 1;` in Python.",
        "Thanks!",
    ];
    for message in messages {
        let events = say(&home, message);
        let last = events.last().unwrap();
        assert_eq!(last["status"], "done");
        let pieces = events.iter().filter(|event| event["event"] == "text");
        let text: String = pieces.map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(last["reply"], text.as_str());
        assert!(!text.trim().is_empty());
        let requested = events.iter().find(|event| event["event"] == "requested").unwrap();
        println!(
            "{message:?}: {} tokens estimated, {} counted by the server; {text:?}",
            requested["prompt_tokens"], last["usage"]["prompt"]
        );
    }
    let verified = home.run(&["replay", "--verify"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
    assert_eq!(
        verified.out,
        "6 of 6 requests rebuilt from the record: identical to the bytes sent\n"
    );
    let again = home.run(&["replay", "1"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!again.out.trim().is_empty());
}
