//! Names of sessions: a guest who uses the owner's, or gives one that the owner may use.

use recto_fakes::FakeAnswer;
use serde_json::{Value, json};

use super::{GUEST, OWNER, start_closed};
use crate::support::TestServer;

/// Sends JSON with a token, and gives the status and the answer.
async fn ask(
    server: &TestServer,
    token: &str,
    request: (&str, &str),
    body: &Value,
) -> (u16, Value) {
    let (method, path) = request;
    let mut request = server.request(method, path).bearer_auth(token);
    if !body.is_null() {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_default())
}

/// The number of the session of this name, begun where there is none.
async fn begin(server: &TestServer, token: &str, name: &str) -> u64 {
    let begin = ("POST", "/api/sessions");
    let (status, begun) = ask(server, token, begin, &json!({ "name": name })).await;
    assert_eq!(status, 201, "{begun}");
    begun["id"].as_u64().unwrap()
}

/// Promise: `sessions-of-others-are-out-of-reach`
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_takes_no_name_over_and_squats_on_none() {
    let server = start_closed().await;
    let (_, owner) = server.token("laptop", OWNER).await;
    let (_, anna) = server.token("anna", GUEST).await;
    let (_, ben) = server.token("ben", GUEST).await;
    let diary = begin(&server, &owner, "diary").await;
    let hers = begin(&server, &anna, "diary").await;
    let his = begin(&server, &ben, "diary").await;
    assert!(diary != hers && hers != his && his != diary);
    // Each is still what the name means to whom it is, and none was put away.
    for (token, session) in [(&owner, diary), (&anna, hers), (&ben, his)] {
        assert_eq!(begin(&server, token, "diary").await, session);
        let show = format!("/api/sessions/{session}");
        let (_, shown) = ask(&server, token, ("GET", &show), &Value::Null).await;
        assert_eq!((&shown["archived"], &shown["name"]), (&Value::Null, &json!("diary")));
    }
    // A name that a guest gave first is not where the owner lands.
    let squatted = begin(&server, &anna, "work").await;
    assert_ne!(begin(&server, &owner, "work").await, squatted);
    // Nor is a guest told which names the owner has given.
    begin(&server, &owner, "secret plan").await;
    let path = format!("/api/sessions/{hers}");
    let rename = json!({"name": "secret plan"});
    let (status, renamed) = ask(&server, &anna, ("PATCH", &path), &rename).await;
    assert_eq!((status, &renamed["name"]), (200, &json!("secret plan")), "{renamed}");
}

/// Promise: `sessions-of-others-are-out-of-reach`
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_no_account_of_another_however_it_is_named() {
    // Whoever is at the machine has no token there, and the account `local`.
    let server = TestServer::start().await;
    let (_, guest) = server.token("local", GUEST).await;
    let talk = json!({"model": "main", "messages": [{"role": "user", "content": "hello"}]});
    let door = |token: Option<&str>| {
        let request = server.request("POST", "/v1/chat/completions");
        let request = request.header("content-type", "application/json");
        let request = request.header("x-recto-session", "diary").body(talk.to_string());
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    };
    let mut sessions = Vec::new();
    for token in [None, Some(guest.as_str()), None, Some(guest.as_str())] {
        server.fake.push(FakeAnswer::text("Good day."));
        let response = door(token).send().await.unwrap();
        assert_eq!(response.status(), 200);
        sessions.push(response.headers()["x-recto-session"].to_str().unwrap().to_owned());
    }
    assert_ne!(sessions[0], sessions[1]);
    assert_eq!(sessions[..2], sessions[2..]);
    // Nor are their memories filed together.
    let mut places = Vec::new();
    for session in &sessions[..2] {
        let stored = server.store.session(session.parse().unwrap()).await.unwrap().unwrap();
        places.push(stored.settings["audience"]["conversation"].clone());
    }
    assert_eq!(places[0], "openai-diary");
    assert_ne!(places[0], places[1]);
}
