//! `recto chat`: events for programs, commands, messages through a pipe, Ctrl-C.

use std::fs;

use expect_test::expect;
use recto_fakes::{AnswerEnding, AnswerGate, FakeAnswer, FakeServer};
use serde_json::{Value, json};

use crate::servers::{ServedHome, WIRES, Wire, contents, json_lines, read, roles};
use crate::support::*;

/// A home with two models that say who they are, and then repeat what they hear.
fn two_models() -> Home {
    let entry = |name: &str| {
        format!(
            "[models.{name}]\nprovider = \"scripted\"\nscript = \"{name}.jsonl\"\nwindow = 8192\n"
        )
    };
    Home::with(&[
        ("config.toml", &(entry("one") + &entry("two"))),
        ("one.jsonl", "{\"content\":\"I am one.\"}\n"),
        ("two.jsonl", "{\"content\":\"I am two.\"}\n"),
    ])
}

/// `recto chat` with these lines piped in.
fn pipe(home: &Home, more: &[&str], lines: &str) -> Run {
    home.run_with(&[&["chat"], more].concat(), lines, &[])
}

/// The names of events, in order, with repetitions left out.
fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> =
        events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

fn sessions(home: &Home) -> Value {
    home.json(&["sessions", "list", "--all", "--json"])["sessions"].clone()
}

#[test]
fn in_a_run_without_a_person_commands_are_text() {
    let home = Home::scripted(&[]);
    let said = home.run(&["chat", "--unattended", "-m", "/set approval never"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("You said: /set approval never"), "{}", said.out);
    let shown = json(&home.ok(&["sessions", "show", "default", "--json"]));
    assert_eq!(shown["session"]["settings"].get("approval"), None);
}

/// Promise: `text-raises-no-rights`
#[test]
fn commands_that_widen_rights_are_text_where_nobody_types_them() {
    let home = Home::scripted(&[]);
    for command in ["/set approval never", "/remember [shared] the code is 1234"] {
        let piped = format!("{command}\n");
        let ways: [(&[&str], &str); 4] = [
            (&["chat", "-m", command], ""),
            (&["chat", command], ""),
            (&["chat", "-m", "-"], command),
            (&["chat"], &piped),
        ];
        for (arguments, input) in ways {
            let said = home.run_with(arguments, input, &[]);
            assert_eq!(said.code, 0, "{}", said.err);
            assert!(said.out.contains(&format!("You said: {command}")), "{}", said.out);
            assert!(said.err.contains("counts only where a person types it"), "{}", said.err);
        }
    }
    let shown = json(&home.ok(&["sessions", "show", "default", "--json"]));
    assert_eq!(shown["session"]["settings"].get("approval"), None);
    // What widens nothing is still a command.
    assert!(home.ok(&["chat", "-m", "/set temperature 0.5"]).contains("0.5"));
}

/// The name of whoever runs Recto is theirs on this machine, made safe.
#[test]
fn a_turn_keeps_who_asked_for_it() {
    let home = Home::scripted(&[]);
    let said = home.run_with(&["chat", "-m", "hi"], "", &[("USER", "kim:\u{202e}\nx")]);
    assert_eq!(said.code, 0, "{}", said.err);
    let turn = json(&home.ok(&["show", "last", "--json"]));
    let kim = serde_json::json!({"id": "owner", "name": "kim x", "role": "owner"});
    assert_eq!(turn["turn"]["actor"], kim);
}

#[test]
fn json_is_an_event_a_line_in_the_order_of_what_happens() {
    for wire in WIRES {
        let fake = wire
            .fake()
            .answer(FakeAnswer::thinking("Hm. ").text("Let me look. ").calls([read("a.txt")]))
            .answer(FakeAnswer::text("It says A."));
        let served = ServedHome::new(wire, fake);
        served.home.write("workspace/a.txt", "the text of a");
        let events = served.events("read a.txt");
        let first = ["accepted", "requested", "thinking", "text", "call", "result"];
        assert_eq!(kinds(&events), [&first[..], &["requested", "text", "finished"]].concat());
        assert!(events.iter().all(|event| event["turn"] == 1 && event["session"] == 1));
        let text = |event: &&Value| event["event"] == "text";
        let said: String =
            events.iter().filter(text).map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(said, "Let me look. It says A.", "{wire:?}");
        let result = events.iter().find(|event| event["event"] == "result").unwrap();
        assert_eq!((&result["outcome"], &result["name"]), (&"done".into(), &"read_file".into()));
        let finished = events.last().unwrap();
        assert_eq!(finished["status"], "done");
        assert_eq!(finished["reply"], "It says A.");
    }
}

#[test]
fn json_tells_of_errors_with_a_code_and_a_hint() {
    for wire in WIRES {
        let fake = wire.fake().answer(FakeAnswer::refusal(401, "no")).answer(FakeAnswer::text(""));
        let served = ServedHome::new(wire, fake);
        let events = served.events("hello");
        assert_eq!(kinds(&events), ["accepted", "requested", "finished"], "{wire:?}");
        let finished = events.last().unwrap();
        assert_eq!(finished["status"], "failed");
        assert_eq!(finished["error"]["code"], "unauthorized");
        assert!(finished["error"]["hint"].as_str().unwrap().contains("api_key_env"));
        let events = served.events("and now?");
        assert_eq!(events.last().unwrap()["error"]["code"], "empty_reply", "{wire:?}");
    }
}

/// Promise: `config-conflict-is-told`
#[test]
fn auto_beside_the_older_pair_is_told_and_the_pair_wins() {
    let home = Home::scripted(&[r#"{"content":"Hello."}"#]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    let pair = "context_mode = \"auto\"\nminimal_system = false\ntool_turn_context = \"full\"\n";
    home.write("config.toml", format!("{config}{pair}"));
    let warning = "`context_mode = \"auto\"` has no effect beside the older settings, which win";
    let run = home.run(&["chat", "-m", "fix src/main.rs"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("warning: config.toml:"), "{}", run.err);
    assert!(run.err.contains(warning) && run.err.contains("hint: keep those"), "{}", run.err);
    let checked = home.ok(&["config", "check"]);
    assert!(checked.contains(warning), "{checked}");
    // Auto would have sent this one as a minimal request.
    assert_eq!(home.json(&["show", "--json"])["requests"][0]["context"]["mode"]["chosen"], "full");
    let shown = home.json(&["sessions", "show", "default", "--json"]);
    let holds = &shown["session"]["effective_settings"]["context_mode"];
    assert_eq!((&holds["value"], &holds["from"]), (&json!("full"), &json!("pair")));
    // What is told to people stays out of what programs read.
    assert_eq!(run.out, "Hello.\n");
}

#[test]
fn the_model_can_be_chosen_for_a_message_or_for_the_session() {
    let home = two_models();
    let chat = |arguments: &[&str]| {
        let run = home.run(&[&["chat"], arguments].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    assert_eq!(chat(&["-m", "who?"]), "I am one.\n");
    assert_eq!(chat(&["-m", "who?", "--model", "two"]), "I am two.\n");
    assert_eq!(chat(&["-m", "/model"]), "* one\n  two\n");
    assert_eq!(chat(&["-m", "/model two"]), "  one\n* two\n");
    chat(&["-m", "who?"]);
    assert_eq!(home.json(&["show", "--json"])["requests"][0]["model"], "two");
    // Another session has its own settings, and the flag wins over all.
    chat(&["-m", "who?", "--session", "other"]);
    assert_eq!(home.json(&["show", "--json"])["requests"][0]["model"], "one");
    chat(&["-m", "who?", "--model", "one"]);
    assert_eq!(home.json(&["show", "--json"])["requests"][0]["model"], "one");
    for arguments in [&["-m", "/model three"][..], &["-m", "hi", "--model", "three"]] {
        let run = home.run(&[&["chat"], arguments].concat());
        run.fails_with("there is no model `three`");
        run.fails_with("hint: known models: one, two");
    }
}

#[test]
fn settings_hold_for_the_session_and_reach_the_server() {
    let served = ServedHome::new(Wire::OpenAi, Wire::OpenAi.fake());
    let lines = "/set temperature 0.5\n/set max_output_tokens 77\n/Set\n";
    let shown = pipe(&served.home, &["--context-mode", "full"], lines).out;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let row = |name: &str| {
        let mut rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.rfind(|row| row[0] == name).unwrap_or_default().join(" ")
    };
    // A change shows its own row, and the command alone all of them.
    assert_eq!(shown.lines().count(), 2 + 2 + 14, "{shown}");
    assert_eq!(row("temperature"), "temperature 0.5 this session");
    assert_eq!(row("max_output_tokens"), "max_output_tokens 77 this session");
    assert_eq!(row("context_mode"), "context_mode full a flag of this run");
    assert_eq!(row("max_rounds"), "max_rounds 20 default");
    assert_eq!(row("top_p"), "top_p - the model's server");
    assert_eq!(pipe(&served.home, &[], "/set\n").out.lines().count(), 14);
    assert_eq!(pipe(&served.home, &[], "/mode\n").out.lines().count(), 3);
    // What a person says later holds, whatever the flags of the run were.
    let lines = "/mode minimal\n/set temperature 0.5\n/set\n";
    let flags = ["--context-mode", "full", "--temperature", "0.9"];
    let shown = pipe(&served.home, &flags, lines).out;
    for row in ["context_mode minimal this session", "temperature 0.5 this session"] {
        let is_row = |line: &str| line.split_whitespace().eq(row.split(' '));
        assert_eq!(shown.lines().filter(|line| is_row(line)).count(), 2, "{row}: {shown}");
    }
    pipe(&served.home, &[], "/mode default\n");
    served.say("hello");
    let chat = served.fake.chats().pop().unwrap();
    assert_eq!((&chat["temperature"], &chat["max_tokens"]), (&json!(0.5), &json!(77)));
    let is_told = |line: &str| line.split_whitespace().eq(["sampling", "temperature", "0.5"]);
    assert!(served.home.ok(&["show", "last"]).lines().any(is_told));
    pipe(&served.home, &[], "/set temperature default\n");
    served.say("hello");
    let chat = served.fake.chats().pop().unwrap();
    assert_eq!((chat.get("temperature"), &chat["max_tokens"]), (None, &json!(77)));
    assert!(!served.home.ok(&["show", "last"]).contains("sampling"));
    let run = served.chat("/set temperature 9");
    assert_eq!(run.code, 1);
    expect![[r#"
        error: `/set` can't be used with `temperature 9`: it takes a number from 0 to 2

        hint: type /set [KEY VALUE | KEY default]; `//set …` sends it with a slash in front
    "#]]
    .assert_eq(&run.err);
}

/// Promise: `new-archives`
#[test]
fn new_archives_and_deletes_nothing() {
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        let run = pipe(&served.home, &[], "the first\n/new\nthe second\n");
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.contains("a new session began: default"), "{}", run.out);
        let sent = served.last_sent();
        assert_eq!(roles(&sent), ["system", "user"], "{wire:?}");
        let all = sessions(&served.home);
        let archived: Vec<bool> =
            all.as_array().unwrap().iter().map(|session| !session["archived"].is_null()).collect();
        assert_eq!(archived, [false, true], "{all}");
        let old = served.home.json(&["sessions", "show", "1", "--json"]);
        let old = old["messages"].as_array().unwrap();
        assert_eq!(contents(old, "user"), ["the first"], "{wire:?}");
        // The next process goes on in the new one.
        served.say("the third");
        assert_eq!(contents(&served.transcript(), "user"), ["the second", "the third"], "{wire:?}");
    }
}

/// Promise: `commands-are-exact`
#[test]
fn a_message_about_a_command_is_a_message() {
    let home = two_models();
    for message in ["How do I reset my router?", "//new york is large", " /new", "/tmp is full"] {
        let run = home.run(&["chat", "-m", message]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let all = sessions(&home);
    assert_eq!((all.as_array().unwrap().len(), &all[0]["turns"]), (1, &json!(4)), "{all}");
}

#[test]
fn help_and_sessions_are_for_people() {
    let home = two_models();
    home.run(&["chat", "-m", "hello"]);
    let run = home.run(&["chat", "-m", "/help"]);
    expect![[r#"
        /help                                          list the commands
        /context                                       show what the last request sent, by layer
        /add NAME                                      add a rule, reference, skill or tool to this session
        /remove NAME                                   take one out of this session; it does not come back by itself
        /why NAME                                      say why an item was or was not on the last request's page
        /stats [30d | DATE | all]                      show how the context was used
        /approve [NUMBER] [session]                    let the tool run that was asked about
        /deny [NUMBER]                                 don't let it run
        /remember TEXT                                 keep something for later conversations
        /undo                                          take back the last message with its reply
        /retry                                         send the last message again, in place of its reply
        /edit [TEXT]                                   change the last message and send it instead
        /new [NAME]                                    put this session into the archive and begin a new one
        /model [NAME | default]                        show the models, or answer with another one
        /mode [full | minimal | auto | default]        show or set the context mode
        /set [KEY VALUE | KEY default]                 show or change the settings of this session
        /sessions                                      list the sessions
        /stop [SESSION]                                stop the turn that runs, or all in another session
        /exit                                          end the chat (also /quit)
    "#]].assert_eq(&run.out);
    let run = home.run(&["chat", "-m", "/sessions"]);
    let words: Vec<&str> = run.out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((&words[..4], *words.last().unwrap()), (&["1", "default", "2", "1"][..], "hello"));
    let run = home.run(&["chat", "-m", "/stop"]);
    assert_eq!((run.code, &*run.out), (0, "nothing runs in session default\n"));
}

#[test]
fn context_draws_what_was_sent_last() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake());
    assert_eq!(served.say("/context"), "nothing has been sent in this session yet\n");
    served.say("hello");
    let drawn = served.say("/context");
    for line in ["model   m\n", "mode    full: ", "window  16,384 tokens, set in the config\n"] {
        assert!(drawn.contains(line), "{drawn}");
    }
    assert!(drawn.lines().any(|line| line.starts_with("SSS") && line.ends_with('U')), "{drawn}");
    assert_eq!(served.fake.chats().len(), 1);
}

#[test]
fn commands_answer_programs_in_json() {
    let home = two_models();
    let run = pipe(&home, &["--json"], "/help\n/model\n/set\n/sessions\n/context\n/new\n/stop\n");
    let answers = json_lines(&run.out);
    let kinds: Vec<&str> = answers.iter().map(|answer| answer["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["help", "models", "settings", "sessions", "context", "began", "stopped"],
        "{}",
        run.err
    );
    assert!(answers.iter().all(|answer| answer["event"] == "answer"));
    // No list stands by itself, so that more can be said beside it.
    assert!(answers.iter().all(|answer| !answer["data"].is_array()), "{}", run.out);
    assert_eq!(answers[0]["data"]["commands"][0], "/help");
    assert!(answers[3]["data"]["sessions"].is_array());
    assert_eq!(answers[1]["data"], json!({ "models": ["one", "two"], "current": "one" }));
}

/// Promise: `mistyped-command-is-told`
#[test]
fn an_unknown_command_is_told_and_not_sent() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake());
    let run = served.chat("/contxt");
    assert_eq!((run.code, &*run.out), (1, ""));
    expect![[r#"
        error: there is no command `/contxt`; did you mean `/context`?

        hint: type /help for the commands; `//contxt …` sends it with a slash in front
    "#]]
    .assert_eq(&run.err);
    // The line behind it is answered all the same.
    let run = pipe(&served.home, &[], "/contxt\nhello\n");
    assert!(run.err.contains("there is no command `/contxt`"), "{}", run.err);
    assert!(run.out.contains("hello"), "{}", run.out);
    assert_eq!(run.code, 1);
    assert_eq!(served.fake.chats().len(), 1);
    // Nor is anything of it kept.
    let run = served.chat("/rember my door code is 4711");
    assert!(run.err.contains("did you mean `/remember`?"), "{}", run.err);
    assert_eq!(contents(&served.transcript(), "user"), ["hello"]);
    assert_eq!(served.fake.chats().len(), 1);
    served.say("//rember my door code");
    assert_eq!(contents(&served.transcript(), "user"), ["hello", "/rember my door code"]);
}

/// Promise: `taken-back-is-off-the-page`
#[test]
fn an_exchange_is_undone_retried_and_edited() {
    let home = Home::scripted(&[]);
    let said =
        pipe(&home, &[], "one\ntwo\n/retry\n/edit three\n/edit\n/undo\n/undo\n/undo\nfour\n");
    expect![[r#"
        You said: one
        You said: two
        You said: two
        You said: three
        the last message is:
        three
        `/edit TEXT` sends another in its place
        taken back: turn 4, "three"
        taken back: turn 1, "one"
        You said: four
    "#]]
    .assert_eq(&said.out);
    expect![[r#"
        note: each line is a message of its own; `recto chat -m -` sends all that is piped in as one, `recto chat "what is this?"` sends it along with a message
        retry of turn 2, which is taken back
        sent in place of turn 3, which is taken back
        error: no message stands in this session that could be taken back or sent again

        hint: say something first
    "#]]
    .assert_eq(&said.err);
    let shown = home.ok(&["sessions", "show", "default"]);
    let heads: String = shown
        .lines()
        .filter(|line| line.contains(", turn "))
        .map(|line| undated(line) + "\n")
        .collect();
    expect![[r#"
        user turn 1, taken back by /undo)
        assistant turn 1, taken back by /undo)
        user turn 2, taken back by /retry, see turn 3)
        assistant turn 2, taken back by /retry, see turn 3)
        user turn 3, taken back by /edit, see turn 4)
        assistant turn 3, taken back by /edit, see turn 4)
        user turn 4, taken back by /undo)
        assistant turn 4, taken back by /undo)
        user turn 5)
        assistant turn 5)
    "#]]
    .assert_eq(&heads);
    let page = home.ok(&["show", "last"]);
    assert!(page.contains("8 messages") && page.contains("taken back"), "{page}");
    assert!(
        page.contains("an exchange was taken back") || page.contains("exchange taken back"),
        "{page}"
    );
    for (turn, expected) in
        [("2", "taken back by /retry"), ("3", "retry   of turn 2"), ("4", "edit    of turn 3")]
    {
        let page = home.ok(&["show", turn]);
        assert!(page.contains(expected), "{page}");
    }
    let found = home.ok(&["sessions", "search", "two"]);
    assert!(found.contains(", taken back)"), "{found}");
}

/// A line without its dates and times.
fn undated(line: &str) -> String {
    let is_date = |word: &&str| !word.starts_with("(20") && !word.contains(':');
    line.split(' ').filter(is_date).collect::<Vec<_>>().join(" ")
}

/// Promise: `export-keeps-what-was-taken-back`
#[test]
fn what_was_taken_back_survives_export_and_import() {
    let home = Home::scripted(&[]);
    pipe(&home, &[], "one\ntwo\n/undo\nthree\n/retry\n");
    for (format, name) in [("jsonl", "a"), ("markdown", "b")] {
        let file = home.path(&format!("{name}.{format}"));
        let file = file.to_str().unwrap();
        home.ok(&["sessions", "export", "default", "--format", format, "--out", file]);
        home.ok(&["sessions", "import", file, "--name", name]);
        let marks = |session: &str| {
            let shown = json(&home.ok(&["sessions", "show", session, "--json"]));
            let messages = shown["messages"].as_array().unwrap().clone();
            let mark = |message: &Value| message["taken_back"]["reason"].clone();
            messages.iter().map(mark).collect::<Vec<_>>()
        };
        assert_eq!(marks(name), marks("default"), "{format}");
        assert_eq!(marks(name).iter().filter(|mark| !mark.is_null()).count(), 4);
        // Nor does the model see it there.
        let page = home.ok(&["context", "hello", "--session", name, "--raw"]);
        assert!(page.contains("three") && !page.contains("two"), "{page}");
    }
}

#[test]
fn piped_lines_are_messages_in_order() {
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake());
        let run = pipe(&served.home, &[], "one\r\n\n  two  \n\n/exit\nnever\n");
        assert_eq!(run.code, 0, "{wire:?}: {}", run.err);
        let said = served.transcript();
        assert_eq!(contents(&said, "user"), ["one", "  two  "], "{wire:?}");
        assert_eq!(roles(&said), ["user", "assistant", "user", "assistant"], "{wire:?}");
        // A line without an end is one, too.
        pipe(&served.home, &[], "three");
        assert_eq!(contents(&served.transcript(), "user")[2], "three", "{wire:?}");
    }
}

#[test]
fn a_line_that_fails_does_not_keep_the_next_from_its_answer() {
    for wire in WIRES {
        let fake =
            wire.fake().answer(FakeAnswer::refusal(500, "no")).answer(FakeAnswer::text("Yes."));
        let served = ServedHome::new(wire, fake);
        let run = pipe(&served.home, &[], "one\ntwo\n");
        assert_eq!((run.code, &*run.out), (1, "Yes.\n"), "{wire:?}: {}", run.err);
    }
}

#[test]
fn a_message_of_dash_is_all_of_standard_input() {
    let home = two_models();
    let run = pipe(&home, &["-m", "-"], "first line\n/new\n\nlast line\n");
    assert_eq!(run.code, 0, "{}", run.err);
    let session = home.json(&["sessions", "show", "default", "--json"]);
    assert_eq!(session["messages"][0]["content"], "first line\n/new\n\nlast line\n");
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_the_turn_and_keeps_what_was_said() {
    for wire in WIRES {
        let gate = AnswerGate::new();
        let fake = wire.fake().answer(FakeAnswer::text("one two three").held(&gate));
        let served = ServedHome::new(wire, fake);
        let mut running = served.home.start(&["chat", "-m", "count"]);
        running.end_input();
        gate.release(2);
        running.wait_for_out("two");
        running.interrupt();
        let run = running.end();
        assert_eq!((run.code, &*run.out, &*run.err), (130, "one two \n", "stopped\n"), "{wire:?}");
        let is_over = |log: &[recto_fakes::ReceivedRequest]| {
            log.iter()
                .any(|received| received.is_chat() && received.ending == AnswerEnding::ClientLeft)
        };
        served.fake.wait_until(is_over);
        assert_eq!(served.last_turn()["turn"]["status"], "stopped", "{wire:?}");
        let said = served.transcript();
        assert_eq!(roles(&said), ["user", "assistant", "error"], "{wire:?}");
        assert_eq!(contents(&said, "assistant"), ["one two "], "{wire:?}");
        served.say("go on");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_before_the_first_word_stops_the_turn() {
    for wire in WIRES {
        let served = ServedHome::new(wire, wire.fake().answer(FakeAnswer::Silence));
        let running = served.home.start(&["chat", "-m", "count", "--json"]);
        running.wait_for_out("requested");
        served.fake.wait_until(|log| log.iter().any(recto_fakes::ReceivedRequest::is_chat));
        running.interrupt();
        let run = running.end();
        assert_eq!(run.code, 130, "{wire:?}: {}", run.err);
        let events = json_lines(&run.out);
        assert_eq!(events.last().unwrap()["status"], "stopped", "{wire:?}");
        assert_eq!(roles(&served.transcript()), ["user", "error"], "{wire:?}");
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_the_turn_and_not_the_program() {
    for wire in WIRES {
        let gate = AnswerGate::new();
        let fake = wire.fake().answer(FakeAnswer::text("one two three").held(&gate));
        let served = ServedHome::new(wire, fake);
        let mut running = served.home.start(&["chat"]);
        running.type_line("count");
        gate.release(1);
        running.wait_for_out("one");
        running.interrupt();
        running.type_line("still there?");
        running.wait_for_out("still there?");
        let run = running.end();
        assert!(run.out.starts_with("one \n"), "{wire:?}: {}", run.out);
        assert!(
            run.err.starts_with("stopped\nnote: each line is a message"),
            "{wire:?}: {}",
            run.err
        );
        let turns = served.home.json(&["sessions", "show", "default", "--json"]);
        let status = |index: usize| turns["turns"][index]["status"].clone();
        assert_eq!((status(0), status(1)), (json!("stopped"), json!("done")), "{wire:?}");
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_between_messages_ends_the_program() {
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake());
    let mut running = served.home.start(&["chat"]);
    running.type_line("hello");
    running.wait_for_out("hello\n");
    running.interrupt();
    assert_eq!(running.wait().code, 130);
    assert_eq!(served.last_turn()["turn"]["status"], "done");
}

/// Promise: `shutdown-loses-nothing`
#[test]
#[cfg(unix)]
fn a_turn_that_still_runs_at_the_end_is_no_failure_and_is_told_later() {
    for wire in WIRES {
        let fake = wire.fake().answer(FakeAnswer::Silence).answer(FakeAnswer::Silence);
        let served = ServedHome::new(wire, fake);
        let has_asked = |times: usize| {
            served.fake.wait_until(move |log| {
                log.iter().filter(|received| received.is_chat()).count() == times
            });
        };
        let killed = served.home.start(&["chat", "-m", "count"]);
        has_asked(1);
        drop(killed);
        // The next one takes it up, and is ended in an orderly way in the middle of it.
        let running = served.home.start(&["chat"]);
        has_asked(2);
        running.interrupt();
        assert_eq!(running.wait().code, 130, "{wire:?}");
        // It was begun twice, and is not begun again without a person.
        assert_eq!(roles(&served.transcript()), ["user", "error"], "{wire:?}");
        served.say("and now?");
        let said = served.transcript();
        assert_eq!(roles(&said), ["user", "error", "user", "assistant"], "{wire:?}");
    }
}

#[test]
fn whoever_pipes_a_text_in_is_told_once_that_each_line_is_a_message() {
    let note = "note: each line is a message of its own; `recto chat -m -` sends all that is piped \
                in as one, `recto chat \"what is this?\"` sends it along with a message\n";
    let told = |arguments: &[&str], input: &str| {
        let home = Home::scripted(&[]);
        let run = pipe(&home, arguments, input);
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    assert_eq!(told(&[], "one\n/context\n"), "");
    assert_eq!(told(&[], "one\ntwo\nthree\n"), note);
    assert_eq!(told(&["-m", "-"], "one\ntwo\n"), "");
    assert_eq!(told(&["--json"], "one\ntwo\n"), "");
}

#[test]
fn a_chat_whose_session_was_deleted_elsewhere_goes_on_in_a_new_one() {
    let home = Home::scripted(&[]);
    let mut chat = home.start(&["chat"]);
    chat.type_line("one");
    chat.wait_for_out("You said: one");
    home.ok(&["sessions", "delete", "default", "--yes"]);
    chat.type_line("two");
    chat.type_line("/new");
    chat.wait_for_out("a new session began: default\n");
    chat.type_line("three");
    chat.wait_for_out("You said: three");
    let run = chat.end();
    assert!(
        run.err.contains("this session was deleted elsewhere; /new begins another"),
        "{}",
        run.err
    );
}

#[test]
fn a_new_session_names_the_one_before() {
    let home = Home::scripted(&[]);
    let run = pipe(&home, &[], "one\n/new\n/new work\n");
    let began = |name: &str, before: u32| {
        format!(
            "a new session began: {name}; the one before is in the archive (`recto chat --session \
             {before}` goes on with it)\n"
        )
    };
    assert_eq!(run.out, format!("You said: one\n{}{}", began("default", 1), began("work", 2)));
    assert!(home.ok(&["chat", "--session", "1", "-m", "two"]).contains("two"));
}

/// What is told in the middle of a reply goes to standard error alone.
#[test]
fn a_reply_that_no_person_reads_comes_byte_for_byte_whatever_is_told_meanwhile() {
    let (first, second) = (AnswerGate::new(), AnswerGate::new());
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("one").held(&first))
        .answer(FakeAnswer::text("reply term0 a b").held(&second));
    let ServedHome { home, fake: _fake } = ServedHome::new(Wire::OpenAi, fake);
    let earlier = home.start(&["chat", "--session", "work", "-m", "first"]);
    first.wait_for(1);
    let running = home.start(&["chat", "--session", "work", "-m", "second"]);
    running.wait_for_err("another process is talking in this session");
    first.open();
    second.wait_for(1);
    second.release(1);
    running.wait_for_out("reply");
    running.wait_for_err("turn 1, which came before, is done: one");
    second.open();
    let run = running.wait();
    assert_eq!((run.code, run.out.as_str()), (0, "reply term0 a b\n"), "{}", run.err);
    assert_eq!(earlier.wait().code, 0);
}
