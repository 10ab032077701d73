//! What is not as it was written is found out, and named.

use rusqlite::Connection;

use super::verify_all;
use crate::support::*;

/// Two turns of two requests each, with words of their own in every text.
fn talk() -> Home {
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"note.txt"}}],"content":"I look."}"#,
        r#"{"content":"It says walnut."}"#,
        r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"note.txt"}}],"content":"Again."}"#,
        r#"{"content":"Walnut still."}"#,
    ]);
    let soul = (1..40).map(|n| format!("Rule {n} is that {n} is not {}.\n", n * n));
    home.write("workspace/SOUL.md", soul.collect::<String>());
    home.write("workspace/note.txt", "walnut");
    let run = home.run_with(&["chat"], "What does the note say?\nAnd now, pistachio?\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    verify_all(&home, 4);
    home
}

/// Changes what is stored, and tells which requests then fail to verify.
fn tampered(home: &Home, statement: &str) -> Vec<String> {
    let database = Connection::open(home.path("data/recto.db")).unwrap();
    assert!(database.execute(statement, []).unwrap() > 0, "{statement}");
    drop(database);
    let run = home.run(&["replay", "--verify"]);
    assert_eq!(run.code, 1, "{statement}: {}{}", run.out, run.err);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    let told: Vec<String> = run.err.lines().map(str::to_owned).collect();
    let whole = 4 - told.len();
    assert_eq!(
        run.out,
        format!("{whole} of 4 requests rebuilt from the record: identical to the bytes sent\n"),
        "{}",
        run.err
    );
    told
}

/// The turns and requests that lines name.
fn places(told: &[String]) -> Vec<&str> {
    let place =
        |line: &str| line.strip_prefix("error: ").unwrap().split(": ").next().unwrap().len();
    told.iter().map(|line| &line["error: ".len()..][..place(line)]).collect()
}

const ALL: [&str; 4] =
    ["turn 1, request 1", "turn 1, request 2", "turn 2, request 1", "turn 2, request 2"];

#[test]
fn a_text_that_was_changed_or_is_gone_spoils_every_request_that_has_it() {
    for change in ["UPDATE parts SET data = CAST('You are Eve.' AS BLOB)", "DELETE FROM parts"] {
        let home = talk();
        let shown = home.json(&["show", "1", "--json"]);
        let soul = &shown["requests"][0]["context"]["layers"][0]["items"][0];
        assert_eq!(soul["name"], "SOUL.md");
        // The key of a text is the first half of its hash.
        let key = &soul["hash"].as_str().unwrap()[..32];
        assert_eq!(places(&tampered(&home, &format!("{change} WHERE key = x'{key}'"))), ALL);
    }
}

#[test]
fn a_message_that_was_changed_spoils_the_requests_that_carry_it() {
    let change = |from: &str, to: &str| {
        format!(
            "UPDATE messages SET body = CAST(replace(CAST(body AS TEXT), '{from}', '{to}') AS BLOB)
             WHERE CAST(body AS TEXT) LIKE '%{from}%'"
        )
    };
    assert_eq!(places(&tampered(&talk(), &change("the note", "the book"))), ALL);
    assert_eq!(places(&tampered(&talk(), &change("pistachio", "hazelnuts"))), ALL[2..]);
    assert_eq!(places(&tampered(&talk(), &change("says walnut", "says almond"))), ALL[2..]);
    // A call that was never made.
    let without = "UPDATE messages SET body = CAST('{\"id\":2,\"role\":\"assistant\",\"content\":\"I look.\"}' AS BLOB) WHERE id = 2";
    assert_eq!(places(&tampered(&talk(), without)), ALL[1..]);
}

#[test]
fn a_message_that_is_gone_spoils_the_requests_that_carry_it() {
    let told = tampered(&talk(), "DELETE FROM messages WHERE id = 2");
    assert_eq!(places(&told), ALL[1..]);
}

#[test]
fn a_document_that_was_changed_spoils_itself_and_those_built_on_it() {
    let told = tampered(
        &talk(),
        "UPDATE requests SET document = substr(document, 1, length(document) - 9) WHERE id = 3",
    );
    // The document of request 4 is kept as its difference from that of 3.
    assert_eq!(places(&told), ALL[2..]);
}

#[test]
fn a_stored_body_that_was_changed_is_not_the_one_sent() {
    let told = tampered(&talk(), "UPDATE requests SET body_hash = zeroblob(32) WHERE id = 2");
    assert_eq!(places(&told), ALL[1..2]);
    // The largest text is the piece of the bodies that holds the system message.
    let told = tampered(
        &talk(),
        "DELETE FROM parts WHERE length(data) = (SELECT max(length(data)) FROM parts)",
    );
    assert_eq!(places(&told), ALL);
}

/// Replaces a text in the document of the first request, which is the difference
/// from no other.
fn rewrite_document(home: &Home, from: &str, to: &str) {
    let database = Connection::open(home.path("data/recto.db")).unwrap();
    let select = "SELECT document FROM requests WHERE id = 1";
    let packed: Vec<u8> = database.query_row(select, [], |row| row.get(0)).unwrap();
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    assert!(text.contains(from), "{text}");
    let changed = text.replace(from, to).into_bytes();
    database.execute("UPDATE requests SET document = ?1 WHERE id = 1", [changed]).unwrap();
}

#[test]
fn a_document_that_still_can_be_read_makes_another_body() {
    for (from, to) in [
        ("\"options\":{\"model\":\"m\"", "\"options\":{\"model\":\"n\""),
        ("\"wire\":\"openai\"", "\"wire\":\"ollama\""),
    ] {
        let home = talk();
        rewrite_document(&home, from, to);
        let run = home.run(&["replay", "1", "--request", "1", "--verify"]);
        run.fails_with("turn 1, request 1: the body made from its parts differs from the one sent");
        assert_eq!(
            run.out,
            "0 of 1 requests rebuilt from the record: identical to the bytes sent\n"
        );
    }
}

#[test]
fn a_damaged_request_hides_no_other() {
    let home = talk();
    tampered(&home, "UPDATE requests SET body_hash = zeroblob(32) WHERE id = 2");
    home.ok(&["show", "1", "--request", "1", "--body"]);
    home.run(&["show", "1", "--request", "2", "--body"]).fails_with("damaged");
    tampered(&home, "UPDATE requests SET document = x'28b52ffd00' WHERE id = 4");
    home.ok(&["show", "2", "--request", "1"]);
    home.run(&["show", "2"]).fails_with("damaged: the record of request 4");
    assert!(home.ok(&["sessions", "show", "default"]).contains("Walnut still."));
}

#[test]
fn a_verification_as_json_names_what_is_wrong() {
    let home = talk();
    tampered(&home, "DELETE FROM messages WHERE id = 2");
    let run = home.run(&["replay", "--verify", "--json", "1"]);
    assert_eq!(run.code, 1);
    let checked = json(&run.out)["requests"].clone();
    assert_eq!(checked[0]["identical"], true);
    assert_eq!(checked[0]["problem"], serde_json::Value::Null);
    assert_eq!((&checked[1]["turn"], &checked[1]["request"]), (&1.into(), &2.into()));
    assert_eq!(checked[1]["identical"], false);
    assert!(checked[1]["problem"].is_string());
    // One that is whole can be verified by itself.
    home.ok(&["replay", "1", "--request", "1", "--verify"]);
}

#[test]
fn a_session_goes_on_after_its_record_was_damaged() {
    let home = talk();
    tampered(&home, "UPDATE requests SET document = x'28b52ffd00'");
    assert_eq!(home.ok(&["chat", "-m", "Are you there?"]).lines().last(), Some("It says walnut."));
    home.ok(&["show", "--body"]);
    home.ok(&["replay", "last", "--verify"]);
}
