//! What servers count.

use recto_fakes::{FakeAnswer, FakeDialect, FakeServer, FakeUsage};

use super::{ServedHome, WIRES, Wire, notices, read};

const CUT: &str = "it seems to have cut the prompt";

/// Promise: `server-cut-is-told`
#[test]
fn a_count_far_below_ours_is_told() {
    // Once for each request.
    for wire in WIRES {
        let fake = wire
            .fake()
            .answer(FakeAnswer::calls([read("a.txt")]).prompt_tokens(120))
            .answer(FakeAnswer::text("Read.").prompt_tokens(120));
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "A");
        let message = format!("read a.txt, {}", "and mind every one of these words, ".repeat(40));
        let events = served.events(&message);
        assert_eq!(notices(&events, CUT), 2, "{wire:?}: {events:?}");
        assert_eq!(events.last().unwrap()["status"], "done", "{wire:?}");
        // People see it as well, and the next honest count is not doubted.
        served.fake.push(FakeAnswer::text("Yes.").prompt_tokens(120));
        assert!(served.chat("again").err.contains(CUT), "{wire:?}");
        assert_eq!(notices(&served.events("and again"), CUT), 0, "{wire:?}");
    }
}

/// Promise: `server-cut-is-told`
#[test]
fn an_honest_count_is_not_doubted() {
    // Also where nearly all of the prompt was cached.
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        for message in ["hello", "what is in a name?", "你好，世界", "fn main() {}"] {
            let events = served.events(message);
            assert_eq!(notices(&events, "tokens"), 0, "{wire:?}: {events:?}");
        }
        let events = served.events("how much is that?");
        let counted = events.last().unwrap()["usage"]["prompt"].as_u64().unwrap() as u32;
        let usage = FakeUsage { prompt: counted + 20, cached: counted, completion: 3 };
        served.fake.push(FakeAnswer::text("So much.").usage(usage));
        assert_eq!(notices(&served.events("and now?"), CUT), 0, "{wire:?}");
    }
}

#[test]
fn a_count_of_what_is_new_is_no_cut() {
    // Some servers leave out what their cache held.
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        served.say("hello");
        served.fake.push(FakeAnswer::text("Yes.").prompt_tokens(15));
        assert_eq!(notices(&served.events("is this cached?"), CUT), 0, "{wire:?}");
    }
}

/// Promise: `fresh-and-cached-apart`
#[test]
fn fresh_and_cached_tokens_are_told_apart() {
    let usage = FakeUsage { prompt: 900, cached: 700, completion: 12 };
    for dialect in [FakeDialect::OpenAi, FakeDialect::LlamaCpp, FakeDialect::Vllm] {
        let fake =
            FakeServer::openai_dialect(dialect).answer(FakeAnswer::text("Yes.").usage(usage));
        let served = ServedHome::new(Wire::OpenAi, fake);
        let events = served.events(&"is this cached? ".repeat(100));
        let told = &events.last().unwrap()["usage"];
        let expected = serde_json::json!({
            "requests": 1, "counted": 1, "prompt": 900, "cached": 700, "completion": 12,
            "largest": { "prompt": 900, "cached": 700 },
        });
        assert_eq!(*told, expected, "{dialect:?}");
        let shown = served.home.run(&["show"]).out;
        let line =
            "reply: 900 prompt tokens (700 from cache), 12 written, by the model's own count\n";
        assert!(shown.contains(line), "{dialect:?}: {shown}");
    }
}

#[test]
fn what_a_server_does_not_count_is_unknown() {
    // Ollama does not tell what it had cached.
    let fake = Wire::Ollama.fake().answer(FakeAnswer::text("Yes."));
    let served = ServedHome::new(Wire::Ollama, fake);
    let events = served.events("is this cached?");
    assert_eq!(events.last().unwrap()["usage"].get("cached"), None);
    let shown = served.home.run(&["show"]).out;
    assert!(shown.contains(" prompt tokens (cache unknown), "), "{shown}");
}

#[test]
fn a_turn_adds_up_its_requests() {
    for wire in WIRES {
        let usage = |prompt| FakeUsage { prompt, cached: 0, completion: 10 };
        let fake = wire
            .fake()
            .answer(FakeAnswer::calls([read("a.txt")]).usage(usage(500)))
            .answer(FakeAnswer::text("Read.").usage(usage(600)));
        let served = ServedHome::new(wire, fake);
        let events = served.events("read a.txt");
        let told = &events.last().unwrap()["usage"];
        assert_eq!((&told["requests"], &told["prompt"]), (&2.into(), &1100.into()), "{wire:?}");
        assert_eq!(told["completion"], 20, "{wire:?}");
    }
}
