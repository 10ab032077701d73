//! What a request may cost, on every round of the tool loop.

use recto_fakes::FakeAnswer;

use super::{ServedHome, WIRES, contents, read};

/// Promise: `budget-counts-tools`
#[test]
fn schemas_are_counted() {
    for wire in WIRES {
        let with = ServedHome::new(wire, wire.fake());
        let disabled = "window = 16384\n[tools]\ndisabled = [\"read_file\", \"write_file\", \
                        \"list_files\", \"remember\", \"recall\", \"forget\"]";
        let without = ServedHome::with(wire, wire.fake(), disabled);
        let cost = |served: &ServedHome| {
            let events = served.events("hello");
            let tokens = events[1]["prompt_tokens"].as_u64().unwrap();
            let budget = served.last_turn()["requests"][0]["context"]["budget"].clone();
            assert_eq!(
                budget["used"].as_u64().unwrap() + budget["tools"].as_u64().unwrap(),
                tokens
            );
            (tokens, budget["tools"].as_u64().unwrap())
        };
        let ((all, schemas), (bare, none)) = (cost(&with), cost(&without));
        assert!(schemas > 100 && none == 0, "{schemas} {none}");
        assert!(all > bare, "{wire:?}: {all} and {bare}");
    }
}

/// Promise: `budget-counts-tools`
#[test]
fn the_budget_holds_on_every_round() {
    // Each file fits, all of them do not.
    const FILES: usize = 6;
    for wire in WIRES {
        let name = |number: usize| format!("{number}.txt");
        let fake = (0..FILES).fold(wire.fake(), |fake, number| {
            fake.answer(FakeAnswer::calls([read(&name(number))]))
        });
        let served =
            ServedHome::with(wire, fake.answer(FakeAnswer::text("Read.")), "window = 4096");
        let text = "some words and a line break\n".repeat(150);
        for number in 0..FILES {
            served.home.write(&format!("workspace/{}", name(number)), &text);
        }
        let events = served.events("read them all");
        let last = events.last().unwrap();
        assert_eq!(last["reply"], "Read.", "{wire:?}: {last}");
        for event in events.iter().filter(|event| event["event"] == "requested") {
            assert!(event["prompt_tokens"].as_u64().unwrap() <= 4096 - 1024, "{event}");
        }
        let sent = served.last_sent();
        let results = contents(&sent, "tool");
        assert_eq!(results.len(), FILES, "{wire:?}");
        let cut: Vec<&&str> = results.iter().filter(|result| **result != text).collect();
        assert!(!cut.is_empty(), "{wire:?}");
        for result in cut {
            assert!(result.contains("left out") && result.len() < text.len(), "{result}");
        }
        // Both servers refuse what is over the window.
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

/// Promise: `core-fits-or-fails`
/// Promise: `ollama-window-set`
#[test]
fn what_may_not_be_cut_and_does_not_fit_never_leaves() {
    for wire in WIRES {
        let served = ServedHome::with(wire, wire.fake(), "window = 2048");
        let run = served.chat(&"many words ".repeat(2_000));
        run.fails_with("what may not be cut takes");
        assert!(run.err.contains("hint: shorten the message"), "{}", run.err);
        assert!(served.fake.chats().is_empty(), "{wire:?}");
        // The message is kept, and the session goes on.
        assert_eq!(super::roles(&served.transcript()), ["user", "error"], "{wire:?}");
        served.say("a few words");
    }
}

#[test]
fn a_large_file_is_read_in_a_small_window() {
    // One result that is larger than the whole window does not end the turn.
    for wire in WIRES {
        let fake = wire.fake().answer(FakeAnswer::calls([read("large.txt"), read("small.txt")]));
        let served =
            ServedHome::with(wire, fake.answer(FakeAnswer::text("Read.")), "window = 8192");
        served.home.write("workspace/large.txt", "some words and a line break\n".repeat(2_200));
        served.home.write("workspace/small.txt", "a few words");
        let events = served.events("read them");
        assert_eq!(
            events.last().unwrap()["reply"],
            "Read.",
            "{wire:?}: {}",
            events.last().unwrap()
        );
        let told = events.iter().filter(|event| event["event"] == "notice");
        let told: Vec<&str> = told.map(|event| event["text"].as_str().unwrap()).collect();
        assert!(told[0].starts_with("the result of read_file was shortened"), "{told:?}");
        assert_eq!(served.recorded_notices("1"), told, "{wire:?}");
        let sent = served.last_sent();
        let results = contents(&sent, "tool");
        assert!(results[0].contains("left out") && results[0].len() > 5_000, "{wire:?}");
        assert_eq!(results[1], "a few words");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

#[test]
fn a_message_that_was_too_large_costs_no_history() {
    for wire in WIRES {
        let served = ServedHome::with(wire, wire.fake(), "window = 4096");
        served.say("one");
        served.chat(&"many words ".repeat(10_000)).fails_with("what may not be cut takes");
        served.say("two");
        let sent = served.last_sent();
        let said = contents(&sent, "user");
        assert!(
            said.len() == 2 && said[0].ends_with("one") && said[1].ends_with("two"),
            "{said:?}"
        );
        // It is kept all the same.
        assert!(served.transcript().iter().any(|message| message["framing"] == "unsent"));
    }
}

#[test]
fn many_large_results_in_many_rounds_do_not_end_the_turn() {
    const ROUNDS: usize = 6;
    for wire in WIRES {
        let name = |round: usize, call: usize| format!("{round}-{call}.txt");
        let fake = (0..ROUNDS).fold(wire.fake(), |fake, round| {
            fake.answer(FakeAnswer::calls([0, 1, 2].map(|call| read(&name(round, call)))))
        });
        let served =
            ServedHome::with(wire, fake.answer(FakeAnswer::text("Read.")), "window = 8192");
        for (round, call) in (0..ROUNDS).flat_map(|round| [0, 1, 2].map(|call| (round, call))) {
            let text = "some words and a line break\n".repeat(800);
            served.home.write(&format!("workspace/{}", name(round, call)), text);
        }
        let events = served.events("read them all");
        let last = events.last().unwrap();
        assert_eq!(last["reply"], "Read.", "{wire:?}: {last}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
        // The newest round is worth reading.
        let sent = served.last_sent();
        let results = contents(&sent, "tool");
        assert!(results[results.len() - 3..].iter().all(|result| result.len() > 500), "{wire:?}");
    }
}
