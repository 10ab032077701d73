//! The real binary on a real server, which `RECTO_TEST_POSTGRES` names.

use crate::support::*;

/// A schema of the server that no other test has, by its address.
pub(super) fn new_schema(name: &str) -> String {
    let server = std::env::var("RECTO_TEST_POSTGRES");
    let server =
        server.expect("RECTO_TEST_POSTGRES names the server that scripts/test-postgres starts");
    let schema = format!("{name}_{}", std::process::id());
    let mut client = postgres::Client::connect(&server, postgres::NoTls).unwrap();
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).unwrap();
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}options=-csearch_path%3D{schema}")
}

#[test]
fn a_conversation_is_taken_to_a_server_and_goes_on_there() {
    let url = new_schema("binary");
    let home = Home::scripted(&[r#"{"content":"Good day."}"#]);
    home.ok(&["chat", "-m", "hello"]);
    let file = home.path("data/recto.db");
    home.ok(&["store", "copy", "--from", file.to_str().unwrap(), "--to", &url]);
    std::fs::remove_file(&file).unwrap();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}\n[store]\nurl = '{url}'\n"));

    home.write("talk.jsonl", r#"{"content":"And to you."}"#);
    home.ok(&["chat", "-m", "good day to you"]);
    let session = json(&home.ok(&["sessions", "show", "default", "--json"]));
    assert_eq!(session["messages"].as_array().map(Vec::len), Some(4), "{session}");
    home.ok(&["replay", "--verify"]);
    home.ok(&["store", "check"]);
    assert!(home.ok(&["store", "migrate"]).contains("has version"));
    let redacted = home.run(&["sessions", "redact", "good day to you", "--yes"]);
    assert!(redacted.err.contains("for the server to say"), "{}", redacted.err);
    assert!(home.ok(&["replay", "--verify"]).contains("1 of them redacted since"));
    assert!(home.ok(&["sessions", "show", "default"]).contains("[redacted]"));
    assert!(home.ok(&["store", "gc"]).contains("dropped 0 records"));
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("has 1 session"), "{}", doctor.out);
    home.run(&["store", "check", "--salvage"]).fails_with("only a file can be salvaged");
    assert!(!file.exists(), "nothing is made where the file was");
}
