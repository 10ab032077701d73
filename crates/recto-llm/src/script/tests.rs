//! What a script answers, through the same decoder as everything else.

use std::io::Write;

use expect_test::{Expect, expect};
use tempfile::NamedTempFile;

use super::*;
use crate::reply::ModelReply;
use crate::wire::ReplyDecoder;

const BODY: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}"#;

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn script(text: &str) -> Script {
    Script::load(Some(file(text).path().to_owned()))
}

async fn reply(script: &Script, body: &[u8]) -> ModelReply {
    let mut chunks = script.answer(body).await.unwrap();
    let mut decoder = ReplyDecoder::new(Wire::OpenAi, body);
    while let Some(chunk) = chunks.next().await {
        decoder.push(&chunk, &mut Vec::new()).unwrap();
    }
    decoder.finish().unwrap()
}

/// The problem with a script, without the path of its file.
fn check_problem(text: &str, expected: &Expect) {
    let file = file(text);
    let error = Script::load(Some(file.path().to_owned())).check().unwrap_err().to_string();
    expected.assert_eq(&error.replace(&file.path().display().to_string(), "FILE"));
}

#[tokio::test]
async fn lines_are_played_in_order_and_then_the_user_is_repeated() {
    let script = script("# a comment\n\n{\"content\":\"one  two\\nthree\"}\n{\"content\":\"\"}\n");
    assert_eq!(reply(&script, BODY).await.text(), "one  two\nthree");
    assert_eq!(reply(&script, BODY).await.text(), "");
    assert_eq!(reply(&script, BODY).await.text(), "You said: hi");
    assert_eq!(reply(&script, b"nonsense").await.text(), "You said: ");
    let parts = br#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]}"#;
    assert_eq!(reply(&script, parts).await.text(), "You said: ab");
}

#[tokio::test]
async fn text_comes_word_by_word() {
    let chunks = script(r#"{"content":"one two"}"#).answer(BODY).await.unwrap();
    let chunks = chunks.pieces.into_iter().map(|chunk| String::from_utf8(chunk).unwrap());
    expect![[r#"
        data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}

        data: {"choices":[{"index":0,"delta":{"content":"one "},"finish_reason":null}]}

        data: {"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":null}]}

        data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

        data: [DONE]

    "#]]
    .assert_eq(&chunks.collect::<String>());
}

#[tokio::test]
async fn calls_have_ids_of_their_own() {
    let call = r#"{"tool_calls":[{"name":"a","arguments":{"x":1.0}},{"name":"b","arguments":"{oops"},{"name":"c"}],"content":"Well","usage":{"prompt":9,"cached":4}}"#;
    let script = script(&format!("{call}\n{call}\n"));
    let (first, second) = (reply(&script, b"1").await, reply(&script, b"2").await);
    let arguments: Vec<&str> = first.calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"x":1.0}"#, "{oops", "{}"]);
    assert_eq!(
        (first.text().as_str(), first.usage.prompt, first.usage.completion),
        ("Well", Some(9), None)
    );
    let ids: std::collections::HashSet<_> =
        first.calls.iter().chain(&second.calls).map(|call| call.id.clone()).collect();
    assert_eq!(ids.len(), 6);
}

#[tokio::test]
async fn errors_are_typed_by_their_status() {
    let script = script(r#"{"error":{"status":503,"body":"later"}}"#);
    let error = script.answer(BODY).await.unwrap_err();
    let message = "later".to_owned();
    assert_eq!(error, LlmError::Unavailable { status: 503, retry_after: None, message });
}

#[test]
fn a_line_that_cannot_be_played_is_named() {
    check_problem(
        "{\"content\":\"a\"}\nnope\n",
        &expect!["cannot play the script FILE, line 2: expected ident (column 2)"],
    );
    check_problem(
        r#"{"text":"a"}"#,
        &expect![
            "cannot play the script FILE, line 1: unknown field `text`, expected one of `content`, `tool_calls`, `delay_ms`, `pace_ms`, `error`, `usage` (column 7)"
        ],
    );
    check_problem(
        r#"{"tool_calls":[{"args":{}}]}"#,
        &expect![
            "cannot play the script FILE, line 1: unknown field `args`, expected `name` or `arguments` (column 22)"
        ],
    );
    check_problem(
        r#"{"delay_ms":5}"#,
        &expect![
            "cannot play the script FILE, line 1: it has none of `content`, `tool_calls` and `error`"
        ],
    );
    check_problem(
        r#"{"error":{"status":200}}"#,
        &expect![
            "cannot play the script FILE, line 1: the status of an error lies between 400 and 599, not 200"
        ],
    );
    check_problem(
        r#"{"error":{"status":500},"content":"a"}"#,
        &expect!["cannot play the script FILE, line 1: it is an answer and an error at once"],
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Script::load(Some(PathBuf::from("no/such/file"))).check().unwrap_err().to_string();
    assert!(error.starts_with("cannot play the script no/such/file: "), "{error}");
}

#[tokio::test]
async fn an_answer_ends_before_the_texts_at_which_it_is_to() {
    let script = script("{\"content\":\"one two END three\"}\n");
    let body = br#"{"model":"m","messages":[],"stop":["three","END"]}"#;
    assert_eq!(reply(&script, body).await.text(), "one two ");
    let body = br#"{"messages":[{"role":"user","content":"alpha beta"}],"stop":["bet"]}"#;
    assert_eq!(reply(&script, body).await.text(), "You said: alpha ");
}
