//! Turns without tools: what is sent, what is printed, what is remembered.

use recto_fakes::{AnswerGate, FakeAnswer};

use super::{ServedHome, WIRES, content, contents, messages, read, roles};

#[test]
fn a_reply_is_printed_and_nothing_else() {
    for wire in WIRES {
        let served =
            ServedHome::new(wire, wire.fake().answer(FakeAnswer::text("Good day to you.")));
        let run = served.chat("hello");
        assert_eq!((run.code, &*run.out, &*run.err), (0, "Good day to you.\n", ""), "{wire:?}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

#[test]
fn thoughts_are_not_part_of_the_reply() {
    for wire in WIRES {
        let reply = FakeAnswer::thinking("Let me see. ").text("Four.");
        let served = ServedHome::new(wire, wire.fake().answer(reply));
        assert_eq!(served.say("two and two?"), "Four.\n", "{wire:?}");
        served.say("and three?");
        assert_eq!(contents(&served.last_sent(), "assistant"), ["Four."], "{wire:?}");
    }
}

/// Promise: `message-survives-failure`
#[test]
fn every_process_goes_on_with_the_history() {
    // Each `say` is a process of its own.
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        for message in ["one", "two", "three"] {
            assert!(served.say(message).ends_with(&format!("{message}\n")), "{wire:?}");
        }
        let sent = served.last_sent();
        let spoken = ["user", "assistant", "user", "assistant", "user", "assistant"];
        assert_eq!(roles(&sent), [&["system"], &spoken[..5]].concat(), "{wire:?}");
        for (text, message) in contents(&sent, "user").iter().zip(["one", "two", "three"]) {
            assert!(text.ends_with(message), "{text:?}");
        }
        assert_eq!(roles(&served.transcript()), spoken, "{wire:?}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

#[test]
fn each_request_goes_on_where_the_one_before_ended() {
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        served.say("one");
        served.say("two");
        let chats = served.fake.chats();
        let (first, second) = (messages(&chats[0]), messages(&chats[1]));
        assert_eq!(first[..], second[..first.len()], "{wire:?}");
    }
}

/// Promise: `message-exactly-once`
#[test]
fn a_message_is_sent_once_and_byte_for_byte() {
    let texts = ["  two blanks around  ", "a\nb\n\n", "a literal \\n here", "\ttab\r\nand return"];
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        for text in texts {
            served.say(text);
            arrived_once(&served, text);
            let piped = format!("piped: {text}");
            let run = served.home.run_with(&["chat", "-m", "-"], &piped, &[]);
            assert_eq!(run.code, 0, "{}", run.err);
            arrived_once(&served, &piped);
        }
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

fn arrived_once(served: &ServedHome, text: &str) {
    let sent = served.last_sent();
    let (last, earlier) = sent.split_last().unwrap();
    assert!(last["role"] == "user" && content(last).ends_with(text), "{text:?} in {last}");
    assert_eq!(content(last).matches(text.trim()).count(), 1, "{last}");
    let doubled = earlier.iter().any(|message| message["content"] == last["content"]);
    assert!(!doubled, "{earlier:?}");
}

/// Promise: `older-copy-can-leave`
#[test]
fn a_message_that_was_sent_before_is_sent_again() {
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        served.say("again");
        served.say("again");
        let sent = served.last_sent();
        assert_eq!(contents(&sent, "user").len(), 2, "{wire:?}");
    }
}

/// Promise: `every-round-streams`
#[test]
fn text_streams_also_after_a_round_of_tools() {
    // The first piece is on the screen while the server holds the last.
    for wire in WIRES {
        let gate = AnswerGate::new();
        let fake = wire
            .fake()
            .answer(FakeAnswer::calls([read("a.txt")]))
            .answer(FakeAnswer::text("first second third").held(&gate));
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "A");
        let running = served.home.start(&["chat", "-m", "read a.txt"]);
        gate.release(2);
        let shown = running.wait_for_out("first");
        assert!(!shown.contains("third"), "{wire:?}: {shown}");
        gate.open();
        let run = running.end();
        assert_eq!((run.code, &*run.out), (0, "first second third\n"), "{wire:?}: {}", run.err);
    }
}

#[test]
fn a_reply_of_many_small_pieces_is_printed_whole() {
    for wire in WIRES {
        let reply = |word: &str| (0..1_500).map(|n| format!("{word}{n} ")).collect::<String>();
        let (first, second) = (reply("first"), reply("second"));
        let fake = wire
            .fake()
            .answer(FakeAnswer::calls([read("a.txt")]).text(&first))
            .answer(FakeAnswer::text(&second));
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "a");
        let run = served.chat("go");
        assert_eq!((run.code, run.out.len()), (0, first.len() + second.len() + 2), "{wire:?}");
        let (start, rest) = run.out.split_once('\n').unwrap();
        assert_eq!((start, rest), (first.as_str(), format!("{second}\n").as_str()));
    }
}
