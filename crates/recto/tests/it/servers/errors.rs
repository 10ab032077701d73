//! What goes wrong between Recto and a server: the person is told what, where and
//! what to do; the message is kept; the session goes on.

use std::net::{SocketAddr, TcpListener};

use expect_test::{Expect, expect};
use recto_fakes::{Capability, FakeAnswer, FakeModel};

use super::{ServedHome, WIRES, Wire, contents, roles};
use crate::support::*;

/// Plays an answer that is none, and gives what the person is told.
fn trouble(wire: Wire, answer: impl Into<FakeAnswer>, out: &str) -> (String, ServedHome) {
    let served =
        ServedHome::with(wire, wire.fake().answer(answer), "window = 16384\ntime_limit = 1");
    let run = served.chat("is anybody there?");
    assert_eq!((run.code, &*run.out), (1, out), "{wire:?}: {}", run.err);
    assert_eq!(served.last_turn()["turn"]["status"], "failed", "{wire:?}");
    assert_eq!(served.fake.chats().len(), 1, "{wire:?}: nothing is sent twice");
    (served.steady(&run.err), served)
}

/// The same on both wires, with the same words.
fn fails(answer: impl Into<FakeAnswer>, out: &str, told: &Expect) {
    let answer = answer.into();
    let said = WIRES.map(|wire| {
        let (said, served) = trouble(wire, answer.clone(), out);
        goes_on(&served);
        said
    });
    same(&said, told);
}

/// Both wires have the same words for it.
fn same(said: &[String; 2], told: &Expect) {
    assert_eq!(said[0], said[1]);
    told.assert_eq(&said[0]);
}

/// The message and what became of it are kept, and the next one
/// is answered.
fn goes_on(served: &ServedHome) {
    let transcript = served.transcript();
    assert_eq!(contents(&transcript, "user"), ["is anybody there?"]);
    assert_eq!(transcript.last().unwrap()["role"], "error");
    served.say("and now?");
    let sent = served.last_sent();
    let users = contents(&sent, "user");
    assert!(users[0].contains("is anybody there?"), "{users:?}");
    assert!(users.last().unwrap().ends_with("and now?"), "{users:?}");
    assert_eq!(served.fake.rejections(), [""; 0]);
}

#[test]
fn a_reply_that_is_cut_off() {
    let told = expect![[r#"
        error: model `m`: the reply broke off: unexpected EOF during chunk size line

        hint: see the server's own log for the reason, then send the message again
    "#]];
    fails(FakeAnswer::text("one two three").cut_after(2), "one two \n", &told);
}

#[test]
fn what_was_shown_of_a_reply_is_kept() {
    for wire in WIRES {
        let (_, served) =
            trouble(wire, FakeAnswer::text("one two three").cut_after(2), "one two \n");
        assert_eq!(roles(&served.transcript()), ["user", "assistant", "error"], "{wire:?}");
        assert_eq!(contents(&served.transcript(), "assistant"), ["one two "], "{wire:?}");
    }
}

/// Promise: `errors-by-type`
#[test]
fn an_error_behind_the_first_bytes_is_not_asked_about_again() {
    // A number in the text is no status.
    let told = [
        expect![[r#"
        error: model `m`: the model server failed: out of memory after 1429 ms

        hint: see the server's own log for the reason, then send the message again
    "#]],
        expect![[r#"
        error: model `m`: the model server failed (status 500): out of memory after 1429 ms

        hint: see the server's own log for the reason, then send the message again
    "#]],
    ];
    for (wire, told) in WIRES.into_iter().zip(told) {
        let answer = FakeAnswer::text("one two").error_after(1, "out of memory after 1429 ms");
        let (said, served) = trouble(wire, answer, "one \n");
        told.assert_eq(&said);
        goes_on(&served);
    }
}

/// Promise: `message-survives-failure`
/// Promise: `failed-turn-is-told`
#[test]
fn an_error_of_the_server() {
    let told = expect![[r#"
        error: model `m`: the model server failed (status 500): the runner has ended

        hint: see the server's own log for the reason, then send the message again
    "#]];
    fails(FakeAnswer::refusal(500, r#"{"error":"the runner has ended"}"#), "", &told);
}

#[test]
fn a_server_that_never_answers() {
    let told = expect![[r#"
        error: model `m`: the model server at `URL` did not begin to answer within 1s

        hint: check whether the server answers at all (`recto models check`)
    "#]];
    fails(FakeAnswer::Silence, "", &told);
}

#[test]
fn a_server_that_falls_silent() {
    let told = expect![[r#"
        error: model `m`: the model server at `URL` did not go on with its answer within 1s

        hint: check whether the server answers at all (`recto models check`)
    "#]];
    fails(FakeAnswer::text("one two").stall_after(1), "one \n", &told);
}

#[test]
fn an_answer_that_is_no_json() {
    let told = [
        expect![[r#"
        error: model `m`: the model server sent what cannot be read (EOF while parsing a string at line 1 column 30): `{"model":"fake","message":{"ro`

        hint: check that `provider` is what the server speaks
    "#]],
        expect![[r#"
        error: model `m`: the model server sent what cannot be read (EOF while parsing a string at line 1 column 23): `{"id":"chatcmpl-0","obj`

        hint: check that `provider` is what the server speaks
    "#]],
    ];
    for (wire, told) in WIRES.into_iter().zip(told) {
        let (said, served) =
            trouble(wire, FakeAnswer::text("one two").invalid_json_after(1), "one \n");
        told.assert_eq(&said);
        goes_on(&served);
    }
}

/// Promise: `errors-by-type`
#[test]
fn a_request_that_the_server_refuses() {
    // "500" in a text makes no server error of it.
    let told = expect![[r#"
        error: model `m`: the model server refused the request (status 400): temperature 500 is too hot

        hint: look at what was sent (`recto show --body`)
    "#]];
    let body = r#"{"error":{"message":"temperature 500 is too hot"}}"#;
    fails(FakeAnswer::refusal(400, body), "", &told);
}

/// Promise: `failed-turn-is-told`
#[test]
fn an_empty_reply() {
    let told = expect![[r#"
        error: the model's answer was empty

        hint: ask again, or choose another model
    "#]];
    fails(FakeAnswer::text(" "), " \n", &told);
}

#[test]
fn a_reply_that_is_only_thought() {
    let told = expect![[r#"
        error: the model's answer was empty

        hint: ask again, or choose another model
    "#]];
    fails(FakeAnswer::thinking("hm, hm"), "", &told);
}

#[test]
fn a_model_that_the_server_does_not_have() {
    let told = [
        expect![[r#"
        error: model `m`: the model server has no model `fake`

        hint: run `ollama pull fake`, or set `model` to one that the server has (`recto models check`)
    "#]],
        expect![[r#"
        error: model `m`: the model server has no model `fake`

        hint: set `model` to one that the server has (`recto models check`)
    "#]],
    ];
    for (wire, told) in WIRES.into_iter().zip(told) {
        let served = ServedHome::new(wire, wire.fake().model(FakeModel::new("other")));
        let run = served.chat("hello");
        assert_eq!((run.code, &*run.out), (1, ""), "{wire:?}");
        told.assert_eq(&run.err);
        assert_eq!(roles(&served.transcript()), ["user", "error"], "{wire:?}");
    }
}

#[test]
fn a_model_that_cannot_call_tools() {
    let talks = FakeModel::new("fake").capabilities([Capability::Completion]);
    let served = ServedHome::new(Wire::Ollama, Wire::Ollama.fake().model(talks));
    let run = served.chat("hello");
    assert_eq!(run.code, 1);
    expect![[r#"
        error: model `m`: the model `fake` does not support tools

        hint: choose a model that can call tools, or set `tool_calls = "text"` in its entry
    "#]]
    .assert_eq(&run.err);
}

#[test]
fn nobody_listens() {
    let told = expect![[r#"
        cannot reach the model server at `URL`: Connection refused (os error 111); asking again in …
        cannot reach the model server at `URL`: Connection refused (os error 111); asking again in …
        cannot reach the model server at `URL`: Connection refused (os error 111); asking again in …
        error: model `m`: cannot reach the model server at `URL`: Connection refused (os error 111)

        hint: start the model server or correct `base_url`, then check it (`recto models check`)
    "#]];
    let said = WIRES.map(|wire| {
        let url = format!("http://{}", free_address());
        let home = Home::with(&[("config.toml", &wire.entry_at(&url, "window = 8192"))]);
        let run = home.run(&["chat", "-m", "is anybody there?"]);
        assert_eq!((run.code, &*run.out), (1, ""), "{wire:?}");
        // The server is there now, and the session goes on.
        let fake = wire.fake().start();
        home.write("config.toml", wire.entry_at(&fake.url(), "window = 8192"));
        goes_on(&ServedHome { home, fake });
        without_waits(&run.err.replace(&url, "URL"))
    });
    same(&said, &told);
}

#[test]
fn a_server_that_asks_to_slow_down_is_asked_again() {
    let told = expect![[r#"
        the model server asks to slow down for 0 s: too many requests; asking again in 0 s
        the model server asks to slow down for 0 s: too many requests; asking again in 0 s
    "#]];
    let said = WIRES.map(|wire| {
        let fake = wire.fake().answer(slow_down()).answer(slow_down());
        let served = ServedHome::new(wire, fake.answer(FakeAnswer::text("Here I am.")));
        let run = served.chat("is anybody there?");
        assert_eq!((run.code, &*run.out), (0, "Here I am.\n"), "{wire:?}: {}", run.err);
        let chats = served.fake.chats();
        assert_eq!(chats.len(), 3, "{wire:?}");
        assert!(chats.iter().all(|chat| *chat == chats[0]), "{wire:?}");
        // To the record they are one request.
        assert_eq!(served.last_turn()["requests"].as_array().unwrap().len(), 1, "{wire:?}");
        run.err
    });
    same(&said, &told);
}

#[test]
fn a_server_that_goes_on_asking_to_slow_down_is_given_up() {
    let told = expect![[r#"
        the model server asks to slow down for 0 s: too many requests; asking again in 0 s
        the model server asks to slow down for 0 s: too many requests; asking again in 0 s
        the model server asks to slow down for 0 s: too many requests; asking again in 0 s
        error: model `m`: the model server asks to slow down for 0 s: too many requests

        hint: wait a while, then send the message again
    "#]];
    let said = WIRES.map(|wire| {
        let fake = (0..4).fold(wire.fake(), |fake, _| fake.answer(slow_down()));
        let served = ServedHome::new(wire, fake);
        let run = served.chat("is anybody there?");
        assert_eq!(run.code, 1, "{wire:?}");
        assert_eq!(served.fake.chats().len(), 4, "{wire:?}");
        goes_on(&served);
        run.err
    });
    same(&said, &told);
}

fn slow_down() -> FakeAnswer {
    let refusal = FakeAnswer::refusal(429, r#"{"error":"too many requests"}"#);
    refusal.header("retry-after", "0").into()
}

/// An address where nobody listens.
fn free_address() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

/// Waits are spread by chance.
fn without_waits(text: &str) -> String {
    let line = |line: &str| match line.split_once("; asking again in ") {
        Some((what, _)) => format!("{what}; asking again in …\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}
