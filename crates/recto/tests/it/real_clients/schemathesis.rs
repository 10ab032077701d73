//! `schemathesis` from `PyPI`: it reads the description of the API, and asks for everything that it
//! allows and much that it does not.

use std::process::Command;

use serde_json::Value;

use super::{ServeProcess, client_program, curl};
use crate::support::{Home, json as parse};

/// What the checks look for: a failure of the server's own, a status or media type that is not
/// described, and fields that are not as described.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";

/// Promise: `api-holds-against-fuzzing`
#[test]
fn schemathesis_finds_no_fault_of_the_api() {
    let home = Home::with(&[
        ("config.toml", "[models.demo]\nprovider = \"scripted\"\n"),
        ("workspace/rules/tone.md", "---\ninclude: manual\n---\nBe short.\n"),
    ]);
    let server = ServeProcess::start(&home);
    // Something to ask about: schemathesis tries the numbers that come first.
    for name in ["one", "two"] {
        let body = format!("{{\"name\": \"{name}\"}}");
        let begun = post(&format!("{}api/sessions", server.url), &body);
        let messages = format!("{}api/sessions/{}/messages", server.url, begun["id"]);
        post(&messages, "{\"text\": \"hello\"}");
    }
    let output = Command::new(client_program("schemathesis"))
        .arg("run")
        .arg(format!("{}api/openapi.json", server.url))
        .args(["--checks", CHECKS, "--phases", "coverage,fuzzing", "--max-examples", "25"])
        .args(["--seed", "19", "--generation-deterministic"])
        // Streams of events have no end.
        .args(["--exclude-path-regex", "events$", "--request-timeout", "30", "--no-color"])
        .current_dir(home.path(""))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.contains("Test cases:"), "{report}");
    server.end();
}

fn post(address: &str, body: &str) -> Value {
    parse(&curl(&["--json", body, address]))
}
