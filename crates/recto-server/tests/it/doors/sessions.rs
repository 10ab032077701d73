//! In which session a conversation goes on.

use recto_store::SessionId;
use serde_json::{Value, json};

use super::{DoorReply, last_sent, post, transcript};
use crate::support::TestServer;

const CHAT: &str = "/v1/chat/completions";

/// A list of messages, the user's and the model's by turns.
fn list(texts: &[&str]) -> Value {
    let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |(index, text): (usize, &&str)| json!({"role": role(index), "content": text});
    texts.iter().enumerate().map(message).collect()
}

async fn say(
    server: &TestServer,
    texts: &[&str],
    user: &str,
    headers: &[(&str, &str)],
) -> DoorReply {
    let body = json!({"model": "main", "messages": list(texts), "user": user});
    let reply = post(server, CHAT, headers, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

async fn session_of(server: &TestServer, texts: &[&str]) -> SessionId {
    say(server, texts, "", &[]).await.session.unwrap()
}

/// Promise: `conversations-chain`
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_in_its_session_wherever_it_is_edited() {
    let server = TestServer::start().await;
    let first = session_of(&server, &["hi"]).await;
    let on = session_of(&server, &["hi", "You said: hi", "one"]).await;
    assert_eq!(on, first);
    assert_eq!(transcript(&server, first).await, ["hi", "You said: hi", "one", "You said: one"]);
    // White space around a text is nobody's, and an edit of the last message is a branch.
    let edited = session_of(&server, &["hi", " You said: hi\n", "two"]).await;
    assert_eq!(edited, first);
    let sent = last_sent(&server);
    assert!(!sent.iter().any(|(_, text)| text.contains("one")), "{sent:?}");
    // Half a reply, as a client has it that stopped the last turn.
    let half = session_of(&server, &["hi", "You said: hi", "one", "You said", "more"]).await;
    assert_eq!(half, first);
    // What another said, and what was never said here, is another conversation.
    let other = say(&server, &["hi", "You said: hi", "one"], "bo", &[]).await.session.unwrap();
    let foreign = session_of(&server, &["hi", "Ahoy.", "one"]).await;
    let again = session_of(&server, &["hi"]).await;
    let all = [first, other, foreign, again];
    assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 4, "{all:?}");
}

/// Promise: `conversations-chain`
#[tokio::test(flavor = "multi_thread")]
async fn a_session_can_be_named_instead() {
    let server = TestServer::start().await;
    let named = say(&server, &["hi"], "", &[("x-recto-session", "boats")]).await.session.unwrap();
    let again = say(&server, &["ho"], "", &[("x-recto-session", "boats")]).await.session.unwrap();
    assert_eq!(named, again);
    let number = named.to_string();
    let by_number = say(&server, &["hm"], "", &[("x-recto-session", &number)]).await;
    assert_eq!(by_number.session, Some(named));
    // The history is the client's, also there.
    let sent = last_sent(&server);
    assert_eq!(sent.len(), 2, "{sent:?}");
    let body = json!({"model": "main", "messages": list(&["hi"])});
    let missing = post(&server, CHAT, &[("x-recto-session", "4711")], &body).await;
    assert_eq!(missing.status, 404, "{}", missing.body);
    assert!(missing.body["error"]["message"].as_str().unwrap().contains("4711"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_can_be_chosen_by_body_or_header() {
    let server = TestServer::start().await;
    let tools = super::weather_tool();
    let minimal = "You must respond by calling one or more of the provided tools.";
    let body = json!({"model": "main", "messages": list(&["hi"]), "tools": tools});
    let mut marked = body.clone();
    marked["context_mode"] = "minimal".into();
    for (body, headers, is_minimal) in [
        (&body, &[][..], false),
        (&marked, &[], true),
        (&body, &[("x-recto-context-mode", "minimal")], true),
        (&marked, &[("x-recto-context-mode", "full")], true),
    ] {
        let reply = post(&server, CHAT, headers, body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let sent = last_sent(&server);
        assert_eq!(sent.last().unwrap().1.contains(minimal), is_minimal, "{headers:?} {sent:?}");
    }
}
