//! Messages in, events out.

use recto_agent::{Actor, Conversation};
use serde_json::json;

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_and_its_events_can_be_heard_again() {
    let server = TestServer::start().await;
    let conversation = Conversation::with_owner("web", "local", "talk");
    let owner = Actor::owner("ana");
    let session = server.agent.find_or_begin(&owner, &conversation).await.unwrap().id;
    let path = format!("/api/sessions/{session}/messages");
    let (status, accepted) = server.post(&path, &json!({"text": "hello"})).await;
    assert_eq!(status, 202, "{accepted}");
    server.agent.finished().await;
    let events = server.request("GET", &format!("/api/sessions/{session}/events"));
    let mut events =
        events.header("last-event-id", accepted["before"].to_string()).send().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\"event\":\"finished\"") {
        heard.push_str(&String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()));
    }
    assert!(heard.contains("\"event\":\"accepted\""), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_there_is_a_problem() {
    let server = TestServer::start().await;
    let (status, problem) = server.post("/api/sessions/99/messages", &json!({"text": "x"})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_session")), "{problem}");
}
