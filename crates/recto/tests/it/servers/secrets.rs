//! A key is sent to its server, and is nowhere else.

use expect_test::expect;
use recto_fakes::FakeAnswer;

use super::{ServedHome, WIRES};
use crate::support::*;

const WRONG: &str = "sk-wrong-0123456789";
const RIGHT: &str = "sk-right-9876543210";

const ENTRY: &str = "window = 16384\napi_key_env = \"MODEL_KEY\"";

fn chat(served: &ServedHome, message: &str, key: &str) -> Run {
    served.home.run_with(&["chat", "-m", message], "", &[("MODEL_KEY", key)])
}

#[test]
fn a_key_that_the_server_does_not_take_is_told() {
    let told = [
        expect![[r#"
        error: model `m`: MODEL_KEY is set, and was refused by the model server: unauthorized

        hint: set the environment variable MODEL_KEY to a key that the server accepts
    "#]],
        expect![[r#"
        error: model `m`: MODEL_KEY is set, and was refused by the model server: Incorrect API key provided: ***. You can find your API key in your account.

        hint: set the environment variable MODEL_KEY to a key that the server accepts
    "#]],
    ];
    for (wire, told) in WIRES.into_iter().zip(told) {
        let served = ServedHome::with(wire, wire.fake().api_key(RIGHT), ENTRY);
        let run = chat(&served, "hello", WRONG);
        assert_eq!((run.code, &*run.out), (1, ""), "{wire:?}");
        told.assert_eq(&run.err);
        is_nowhere(&served, WRONG, &run);
        let run = chat(&served, "hello again", RIGHT);
        assert_eq!(run.code, 0, "{}", run.err);
        is_nowhere(&served, RIGHT, &run);
        let log = served.fake.log();
        let bearer = format!("Bearer {RIGHT}");
        assert_eq!(log.last().unwrap().header("authorization"), Some(&*bearer), "{wire:?}");
    }
}

/// Promise: `secrets-for-owner-only`
#[test]
fn a_server_that_repeats_the_key_is_not_repeated() {
    for wire in WIRES {
        for status in [400, 401, 403, 429, 500] {
            let body =
                format!(r#"{{"error":{{"message":"Incorrect API key provided: {WRONG}"}}}}"#);
            let refusal = || FakeAnswer::refusal(status, &*body).header("retry-after", "0");
            let fake = (0..4).fold(wire.fake(), |fake, _| fake.answer(refusal()));
            let served = ServedHome::with(wire, fake, ENTRY);
            let run = chat(&served, "hello", WRONG);
            assert_eq!(run.code, 1, "{wire:?} {status}");
            assert!(run.err.contains("Incorrect API key"), "{wire:?} {status}: {}", run.err);
            is_nowhere(&served, WRONG, &run);
        }
    }
}

#[test]
fn a_key_in_an_error_behind_the_first_bytes_is_not_repeated() {
    for wire in WIRES {
        let answer =
            FakeAnswer::text("one two").error_after(1, format!("the key {WRONG} has ended"));
        let served = ServedHome::with(wire, wire.fake().answer(answer), ENTRY);
        let run = chat(&served, "hello", WRONG);
        assert!(run.err.contains("has ended"), "{wire:?}: {}", run.err);
        is_nowhere(&served, WRONG, &run);
    }
}

#[test]
fn a_missing_key_is_told() {
    for wire in WIRES {
        let served = ServedHome::with(wire, wire.fake().api_key(RIGHT), ENTRY);
        let run = served.chat("hello");
        run.fails_with("the model server wants a key, and MODEL_KEY is not set: ");
        run.fails_with("hint: set the environment variable MODEL_KEY to the key");
    }
}

/// Looks into what was printed, every file, and all that the commands show.
fn is_nowhere(served: &ServedHome, key: &str, run: &Run) {
    assert!(!(run.out.clone() + &run.err).contains(key), "{}{}", run.out, run.err);
    for (path, bytes) in served.home.tree() {
        let holds = bytes.windows(key.len()).any(|window| window == key.as_bytes());
        assert!(!holds, "{}", path.display());
    }
    for arguments in [
        &["show", "--json"][..],
        &["show", "--body"],
        &["show"],
        &["sessions", "show", "default", "--json"],
        &["sessions", "export", "default"],
        &["models", "list", "--json"],
        &["models", "check", "--json"],
        &["config", "show"],
    ] {
        let run = served.home.run_with(arguments, "", &[("MODEL_KEY", key)]);
        let shown = run.out + &run.err;
        assert!(!shown.is_empty() && !shown.contains(key), "{arguments:?}: {shown}");
    }
}
