//! The front doors of OpenAI and Ollama: a client's conversation in, a turn of the same engine,
//! the vendor's own forms out.

mod approval;
mod endings;
mod odd_bodies;
mod ollama;
mod openai;
mod rules;
mod sessions;

use recto_store::SessionId;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::TestServer;

/// A reply of a door, with what its headers say.
pub(crate) struct DoorReply {
    pub(crate) status: u16,
    pub(crate) session: Option<SessionId>,
    pub(crate) body: Value,
}

/// Posts JSON to a door, with these headers.
pub(crate) async fn post(
    server: &TestServer,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> DoorReply {
    let response = send(server, path, headers, body).await;
    let status = response.status().as_u16();
    let session = response.headers().get("x-recto-session");
    let session = session.map(|id| id.to_str().unwrap().parse().unwrap());
    let has_turn = response.headers().contains_key("x-recto-turn");
    assert_eq!(session.is_some(), has_turn);
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    DoorReply { status, session, body }
}

pub(crate) async fn send(
    server: &TestServer,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Response {
    let mut request = server.request("POST", path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.to_string()).send().await.unwrap()
}

/// The transcript of a session, a line for each message.
pub(crate) async fn transcript(server: &TestServer, session: SessionId) -> Vec<String> {
    let stored = server.agent.store().messages(session, None).await.unwrap();
    let line = |message: &recto_context::Message| {
        let calls: Vec<&str> = message.calls().iter().map(|call| &*call.name).collect();
        let text = recto_context::visible_text(message.content());
        format!("{text}{}", if calls.is_empty() { String::new() } else { format!("{calls:?}") })
    };
    stored.iter().map(|stored| line(&stored.message)).collect()
}

/// How the turns of a session ended.
pub(crate) async fn endings(server: &TestServer, session: SessionId) -> Vec<String> {
    let turns = server.agent.store().turns(session).await.unwrap();
    turns.iter().map(|turn| format!("{:?}", turn.status)).collect()
}

/// A tool in the form that both vendors share.
pub(crate) fn weather_tool() -> Value {
    json!([{
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }
    }])
}

/// What the model was last sent, by role and text.
pub(crate) fn last_sent(server: &TestServer) -> Vec<(String, String)> {
    let chats = server.fake.chats();
    let messages = chats.last().unwrap()["messages"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}
