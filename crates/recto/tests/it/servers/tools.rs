//! Rounds of tool calls.

use std::fs;

use expect_test::expect;
use recto_fakes::{FakeAnswer, FakeCall};
use serde_json::{Value, json};

use super::{ServedHome, WIRES, Wire, content, contents, messages, read, roles};

/// Promise: `parallel-results-kept`
#[test]
fn a_call_is_run_and_its_result_sent_back() {
    // The request behind a call holds the message with the call.
    for wire in WIRES {
        let write = FakeCall::new("write_file", json!({ "path": "b.txt", "content": "written" }));
        let fake = wire
            .fake()
            .answer(FakeAnswer::text("Let me look. ").calls([read("a.txt")]))
            .answer(FakeAnswer::calls([write]))
            .answer(FakeAnswer::text("Done."));
        let settings = "window = 16384\n[tools]\napproval = \"never\"";
        let served = ServedHome::with(wire, fake, settings);
        served.home.write("workspace/a.txt", "the text of a");
        let run = served.chat("copy a.txt");
        assert_eq!((run.code, &*run.out), (0, "Let me look. \nDone.\n"), "{}", run.err);
        expect![[r#"
            ✓ read_file a.txt (13 B)
            ✓ write_file b.txt, written (25 B)
        "#]]
        .assert_eq(&run.err);
        assert_eq!(fs::read_to_string(served.home.path("workspace/b.txt")).unwrap(), "written");
        let chats = served.fake.chats();
        let second = messages(&chats[1]);
        assert_eq!(roles(&second), ["system", "user", "assistant", "tool"], "{wire:?}");
        assert_eq!(content(&second[2]), "Let me look. ");
        assert_eq!(called(&second[2]), [("read_file".to_owned(), json!({ "path": "a.txt" }))]);
        assert!(content(&second[3]).contains("the text of a"), "{wire:?}");
        // Within a turn each request is the one before with more at its end.
        assert_eq!(messages(&chats[2])[..4], second[..], "{wire:?}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

/// Promise: `parallel-results-kept`
#[test]
fn three_calls_at_once_keep_three_results_in_order() {
    for wire in WIRES {
        let calls = ["a.txt", "missing.txt", "c.txt"].map(read);
        let fake = wire.fake().answer(FakeAnswer::calls(calls)).answer(FakeAnswer::text("Read."));
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "text of a");
        served.home.write("workspace/c.txt", "text of c");
        served.say("read them");
        let sent = served.last_sent();
        assert_eq!(roles(&sent), ["system", "user", "assistant", "tool", "tool", "tool"]);
        assert_eq!(called(&sent[2]).len(), 3, "{wire:?}");
        let results = contents(&sent, "tool");
        assert!(results[0].contains("text of a"), "{wire:?}: {results:?}");
        assert!(results[1].contains("read_file failed"), "{wire:?}: {results:?}");
        assert!(results[2].contains("text of c"), "{wire:?}: {results:?}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
        // The same in the next turn, and in the store.
        served.say("and now?");
        assert_eq!(contents(&served.last_sent(), "tool"), results, "{wire:?}");
        assert_eq!(all_answered(&served), 3, "{wire:?}");
    }
}

#[test]
fn a_call_that_does_not_fit_is_answered_with_why() {
    for wire in WIRES {
        let calls =
            [FakeCall::new("read_fil", json!({})), FakeCall::new("read_file", json!({ "pth": 1 }))];
        let fake = wire.fake().answer(FakeAnswer::calls(calls)).answer(FakeAnswer::text("Sorry."));
        let served = ServedHome::new(wire, fake);
        assert_eq!(served.say("go"), "Sorry.\n", "{wire:?}");
        let sent = served.last_sent();
        let results = contents(&sent, "tool");
        assert!(results[0].contains("did you mean `read_file`?"), "{results:?}");
        assert!(results[1].contains("`path` is missing"), "{results:?}");
    }
}

#[test]
fn arguments_that_are_no_json_are_answered_and_sent_back_in_a_form_that_servers_take() {
    let fake = Wire::OpenAi
        .fake()
        .answer(FakeAnswer::calls([FakeCall::new("read_file", "{\"path\": ")]))
        .answer(FakeAnswer::text("Sorry."));
    let served = ServedHome::new(Wire::OpenAi, fake);
    assert_eq!(served.say("go"), "Sorry.\n");
    let sent = served.last_sent();
    let arguments = sent[2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert_eq!(arguments, r#"{"_raw":"{\"path\": "}"#);
    assert!(contents(&sent, "tool")[0].contains("read_file was not run"), "{sent:?}");
}

/// Promise: `every-call-has-result`
#[test]
fn the_same_call_for_the_third_time_ends_the_turn() {
    for wire in WIRES {
        let again = || FakeAnswer::calls([read("a.txt")]);
        let fake = wire.fake().answer(again()).answer(again()).answer(again());
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "A");
        let run = served.chat("read a.txt");
        assert_eq!(run.code, 1, "{wire:?}");
        expect![[r#"
            ✓ read_file a.txt (1 B)
            ✓ read_file a.txt (1 B)
            ✗ read_file: not run: the turn ended, because it asked for the same call 3 times
            error: ended because the model asked for the same tool call 3 times

            hint: ask in other words, or choose another model
        "#]]
        .assert_eq(&run.err);
        assert_eq!(all_answered(&served), 3, "{wire:?}");
        assert_eq!(served.fake.chats().len(), 3, "{wire:?}");
        served.say("go on");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

/// Promise: `every-call-has-result`
#[test]
fn a_round_more_than_allowed_ends_the_turn() {
    for wire in WIRES {
        let round =
            |number: u32| FakeAnswer::calls([read(&format!("{number}.txt")), read("x.txt")]);
        let fake = wire.fake().answer(round(1)).answer(round(2)).answer(round(3));
        let served = ServedHome::with(wire, fake, "window = 16384\n[tools]\nmax_rounds = 2");
        let run = served.chat("read them all");
        assert_eq!(run.code, 1, "{wire:?}");
        let told = "error: ended after 2 rounds of tool calls without an answer (tools.max_rounds)";
        assert!(run.err.contains(told), "{}", run.err);
        assert_eq!(all_answered(&served), 6, "{wire:?}");
        served.say("go on");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

#[test]
fn a_model_without_tool_calls_writes_them_into_its_text() {
    for wire in WIRES {
        let call = "Let me look. <tool_call>{\"name\": \"read_file\", \"arguments\": \
                    {\"path\": \"a.txt\"}}</tool_call>";
        let fake =
            wire.fake().answer(FakeAnswer::text(call)).answer(FakeAnswer::text("It says A."));
        let served = ServedHome::with(wire, fake, "window = 16384\ntool_calls = \"text\"");
        served.home.write("workspace/a.txt", "the text of a");
        let run = served.chat("read a.txt");
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(run.out, "Let me look. \nIt says A.\n");
        let chats = served.fake.chats();
        for chat in &chats {
            assert_eq!(chat.get("tools"), None, "{wire:?}");
            assert!(content(&messages(chat)[0]).contains("read_file"), "{wire:?}");
        }
        let last = messages(&chats[1]).pop().unwrap();
        assert_eq!(last["role"], "user", "{wire:?}");
        assert!(content(&last).contains("the text of a"), "{last}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
        assert_eq!(all_answered(&served), 1, "{wire:?}");
    }
}

#[test]
fn nobody_has_to_read_calls_that_are_written_as_text() {
    let call = "<tool_call>{\"name\": \"list_files\", \"arguments\": {}}</tool_call>";
    let cases = [
        (call.to_owned(), ""),
        (format!("Let me look.\n```xml\n{call}\n```\n"), "Let me look.\n"),
        (format!("First {call} then the rest."), "First  then the rest.\n"),
    ];
    for wire in WIRES {
        for (text, shown) in &cases {
            let fake =
                wire.fake().answer(FakeAnswer::text(text)).answer(FakeAnswer::text("1 < 2."));
            let served = ServedHome::with(wire, fake, "window = 16384\ntool_calls = \"text\"");
            assert_eq!(served.say("go"), format!("{shown}1 < 2.\n"), "{wire:?}: {text}");
        }
        // What is no call is shown, also when the reply breaks off in it.
        for reply in [
            FakeAnswer::text("The tag is <tool_call>."),
            FakeAnswer::text("<tool_c x").cut_after(1),
        ] {
            let served = ServedHome::with(
                wire,
                wire.fake().answer(reply),
                "window = 16384\ntool_calls = \"text\"",
            );
            assert!(served.chat("go").out.contains("<tool_c"), "{wire:?}");
        }
    }
}

#[test]
fn a_skill_is_read_by_a_call() {
    for wire in WIRES {
        let call = FakeCall::new("read_skill", json!({ "skill_name": "notes" }));
        let fake = wire.fake().answer(FakeAnswer::calls([call])).answer(FakeAnswer::text("I see."));
        let more = "window = 16384\n[skills]\nrender = \"read_on_demand\"";
        let served = ServedHome::with(wire, fake, more);
        let skill = "---\nname: notes\ndescription: Keeps notes.\n---\nUse `notes add`.\n";
        served.home.write("workspace/skills/notes/SKILL.md", skill);
        served.say("how do I keep notes?");
        let sent = served.last_sent();
        assert!(contents(&sent, "tool")[0].contains("Use `notes add`."), "{wire:?}: {sent:?}");
    }
}

/// The calls of an assistant's message, by name and arguments.
fn called(message: &Value) -> Vec<(String, Value)> {
    let calls = message["tool_calls"].as_array().unwrap();
    let read = |call: &Value| {
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            other => other.clone(),
        };
        (function["name"].as_str().unwrap().to_owned(), arguments)
    };
    calls.iter().map(read).collect()
}

/// Checks that every call of the transcript has one result, in order, and counts them.
fn all_answered(served: &ServedHome) -> usize {
    let transcript = served.transcript();
    let asked = transcript.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let asked: Vec<&Value> = asked.map(|call| &call["id"]).collect();
    let results = transcript.iter().filter(|message| message["role"] == "tool");
    let answered: Vec<&Value> = results.map(|message| &message["tool_call_id"]).collect();
    assert_eq!(asked, answered);
    assert!(asked.iter().all(|id| id.is_string()), "{transcript:?}");
    asked.len()
}
