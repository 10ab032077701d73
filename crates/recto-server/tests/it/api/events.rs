//! Events of one session and of all.

use std::time::Duration;

use recto_context::{ContentPart, ItemId, ItemKind};
use recto_fakes::{AnswerGate, FakeAnswer};
use recto_store::{ItemState, Moment, NewTurn, SettingsMap};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::DescribedServer;

/// The events of a stream, as they come.
struct EventReader {
    response: reqwest::Response,
    text: String,
}

impl EventReader {
    async fn open(api: &DescribedServer, path: &str) -> Self {
        let response = api.server.request("GET", path).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        EventReader { response, text: String::new() }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let value = data.map(|data| serde_json::from_str(data).unwrap());
                self.text = rest.to_owned();
                match value {
                    Some(value) => return value,
                    None => continue,
                }
            }
            let chunk = timeout(Duration::from_secs(30), self.response.chunk()).await;
            let chunk = chunk.expect("an event within half a minute").unwrap().unwrap();
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// The next event of that name.
    async fn wait_for(&mut self, name: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["event"] == name {
                return event;
            }
        }
    }
}

/// Promise: `all-sessions-are-followed`
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_in_any_session_is_told_also_by_whom_it_was_not_done_here() {
    let api = DescribedServer::start().await;
    let mut events = EventReader::open(&api, "/api/events").await;
    assert_eq!(events.next().await, json!({"event": "ready"}));
    let id = api.begin("talk").await;
    let begun = events.wait_for("session").await;
    assert_eq!((&begun["session"]["id"], &begun["session"]["turns"]), (&json!(id), &json!(0)));
    let store = api.server.agent.store();
    // What is in a session is changed by hand, without a turn.
    let rule = ItemId::new(ItemKind::Rule, "tone");
    store.set_item(id.to_string().parse().unwrap(), rule, ItemState::Removed).await.unwrap();
    assert_eq!(events.wait_for("session").await["session"]["id"], json!(id));
    // A turn that stands in the store, and that no agent here has begun.
    let turn = store.accept(elsewhere(id)).await.unwrap();
    store.claim(turn.id, Moment::now()).await.unwrap();
    let started = events.wait_for("turn_started").await;
    assert_eq!((&started["session"], &started["turn"]), (&json!(id), &json!(turn.id)));
    // Nobody has it, so that the agent takes it up.
    assert_eq!(events.wait_for("turn_ended").await["turn"], json!(turn.id));
    api.send("PATCH", &format!("/api/sessions/{id}"), json!({"archived": true})).await;
    assert_eq!(events.wait_for("gone").await["session"], id);

    // What happens in the archive is told, too, but for the session itself.
    let gate = AnswerGate::new();
    api.server.fake.push(FakeAnswer::text("aye").held(&gate));
    let turn = store.accept(elsewhere(id)).await.unwrap();
    let told = |event: &str| json!({"event": event, "session": id, "turn": turn.id});
    assert_eq!(events.next().await, told("turn_started"));
    gate.open();
    assert_eq!(events.next().await, told("turn_ended"));
}

fn elsewhere(session: i64) -> NewTurn {
    NewTurn {
        session: session.to_string().parse().unwrap(),
        at: Moment::now(),
        content: vec![ContentPart::Text("from the terminal".into())],
        actor: json!({"id": "owner"}),
        settings: SettingsMap::default(),
        delivery: None,
        client: None,
        retraction: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_followed_from_an_event_that_was_seen() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/messages");
    let (_, accepted) = api.send("POST", &path, json!({"text": "hello"})).await;
    api.server.agent.finished().await;
    let before = &accepted["before"];
    let mut events =
        EventReader::open(&api, &format!("/api/sessions/{id}/events?after={before}")).await;
    let first = events.next().await;
    assert_eq!((&first["event"], &first["turn"]), (&json!("accepted"), &accepted["turn"]));
    assert_eq!(events.wait_for("finished").await["status"], "done");
    let path = format!("/api/sessions/{id}/events?after={before}");
    for unreadable in ["turn-1", "-1", "9223372036854775808", "\u{e4}"] {
        let request = api.server.request("GET", &path).header("last-event-id", unreadable);
        let refused = request.send().await.unwrap();
        assert_eq!(refused.status().as_u16(), 400, "{unreadable}");
        let problem: Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
        assert_eq!(problem["code"], "bad_header", "{problem}");
        assert!(problem["title"].as_str().unwrap().contains("last-event-id"), "{problem}");
    }
    let metrics = api.server.request("GET", "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    for line in [
        "recto_turns_total{agent=\"main\",ending=\"done\"} 1",
        "recto_model_requests_total{agent=\"main\",model=\"fake\"} 1",
        "recto_event_streams 1",
        "recto_open_questions 0",
        "recto_open_turns{status=\"running\"} 0",
    ] {
        assert!(metrics.lines().any(|written| written == line), "{line}\n{metrics}");
    }
    let route = "route=\"/api/sessions/{session}/messages\",status=\"202\"";
    assert!(metrics.contains(route), "{metrics}");
    assert!(!metrics.contains("hello") && !metrics.contains("talk"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_a_session_that_is_deleted_says_so_and_ends() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    api.say(id, json!({"text": "hello"})).await;
    let mut events = EventReader::open(&api, &format!("/api/sessions/{id}/events")).await;
    let (status, deleted) = api.ask("DELETE", &format!("/api/sessions/{id}"), None).await;
    assert_eq!(status, 200, "{deleted}");
    let last = events.wait_for("deleted").await;
    assert_eq!(last["session"], id, "{last}");
    let rest = timeout(Duration::from_secs(30), events.response.chunk()).await;
    assert!(rest.expect("the end of the stream").unwrap().is_none());
}
