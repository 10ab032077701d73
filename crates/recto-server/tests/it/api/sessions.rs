//! Sessions and messages.

use std::sync::Arc;

use recto_context::Message;
use recto_fakes::{AnswerGate, FakeAnswer};
use recto_store::{
    BindingKey, Moment, NewMessage, NewSession, SessionHolder, SessionName, SettingsMap,
};
use serde_json::json;

use super::DescribedServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_begun_named_put_away_and_deleted() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    assert_eq!(api.begin("talk").await, id, "an open one of the name is gone on with");
    let (_, unnamed) = api.send("POST", "/api/sessions", json!({})).await;
    assert_eq!(unnamed["name"], unnamed["id"].to_string(), "{unnamed}");
    let path = format!("/api/sessions/{id}");
    api.say(id, json!({"text": "hello"})).await;
    let shown = api.get(&path).await;
    assert_eq!((&shown["messages"], &shown["opening"]), (&json!(2), &json!("hello")), "{shown}");
    assert_eq!(shown["usage"]["turns"], 1, "{shown}");

    let (_, renamed) = api.send("PATCH", &path, json!({"name": "harbour"})).await;
    assert_eq!(renamed["name"], "harbour");
    let taken = api.begin("taken").await;
    let (status, problem) =
        api.send("PATCH", &format!("/api/sessions/{taken}"), json!({"name": "harbour"})).await;
    assert_eq!(status, 409, "{problem}");
    api.send("PATCH", &path, json!({"archived": true})).await;
    let listed = api.get("/api/sessions?text=HARB").await;
    assert_eq!(listed["total"], 0, "{listed}");
    let listed = api.get("/api/sessions?text=HARB&archived=true").await;
    assert_eq!(listed["sessions"][0]["id"], id, "{listed}");

    let (status, deleted) = api.ask("DELETE", &path, None).await;
    assert_eq!((status, &deleted["messages"]), (200, &json!(2)), "{deleted}");
    assert_eq!(api.ask("GET", &path, None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_sessions_is_read_in_pages() {
    let api = DescribedServer::start().await;
    for number in 0..5 {
        api.begin(&format!("s{number}")).await;
    }
    let page = api.get("/api/sessions?limit=2&offset=1").await;
    assert_eq!((page["total"].as_u64(), page["sessions"].as_array().unwrap().len()), (Some(5), 2));
    assert_eq!(page["sessions"][0]["name"], "s3");
    assert_eq!(api.get("/api/sessions?surface=terminal").await["total"], 0);
}

/// Promise: `long-sessions-open-fast`
#[tokio::test(flavor = "multi_thread")]
async fn messages_are_read_in_pages_however_many_there_are() {
    let api = DescribedServer::start().await;
    let id = import(&api, 5_000).await;
    let path = format!("/api/sessions/{id}/messages");
    let ids = |page: &serde_json::Value| -> Vec<u64> {
        let messages = page["messages"].as_array().unwrap();
        messages.iter().map(|message| message["id"].as_u64().unwrap()).collect()
    };
    let page = api.get(&format!("{path}?limit=3")).await;
    assert_eq!((ids(&page), &page["has_more"]), (vec![5_000, 4_999, 4_998], &json!(true)));
    let page = api.get(&format!("{path}?limit=3&before=3")).await;
    assert_eq!((ids(&page), &page["has_more"]), (vec![2, 1], &json!(false)));
    let page = api.get(&format!("{path}?limit=3&after=10")).await;
    assert_eq!((ids(&page), &page["has_more"]), (vec![13, 12, 11], &json!(true)));
    let page = api.get(&format!("{path}?after=4999")).await;
    assert_eq!((ids(&page), &page["has_more"]), (vec![5_000], &json!(false)));
    assert_eq!(api.get(&path).await["messages"].as_array().unwrap().len(), 50);
    assert_eq!(api.ask("GET", &format!("{path}?before=3&after=1"), None).await.0, 400);
    for (number, status) in [(i64::MAX.unsigned_abs(), 200), (i64::MIN.unsigned_abs(), 400)] {
        for cursor in ["before", "after"] {
            let (answered, body) = api.ask("GET", &format!("{path}?{cursor}={number}"), None).await;
            assert_eq!(answered, status, "{body}");
        }
    }
    let found = api.get("/api/messages?query=message%204321").await;
    assert_eq!(found["messages"][0]["message"], 4_321, "{found}");
}

/// A session with so many messages.
async fn import(api: &DescribedServer, count: u64) -> recto_store::SessionId {
    let at = Moment::now();
    let message =
        |id| NewMessage { message: Arc::new(Message::user(id, format!("message {id}"))), at };
    let key = BindingKey {
        agent: "main".into(),
        surface: "web".into(),
        account: "local".into(),
        conversation: "long".into(),
        user: None,
        holder: SessionHolder::owner(),
    };
    let new = NewSession {
        agent: "main".into(),
        name: Some(SessionName::new("long").unwrap()),
        surface: "web".into(),
        at,
        settings: SettingsMap::default(),
    };
    let messages: Vec<NewMessage> = (1..=count).map(message).collect();
    let transcript = recto_store::NewTranscript { messages, retractions: Vec::new() };
    api.server.agent.store().import(key, new, transcript).await.unwrap().id
}

/// Promise: `api-messages-begin-one-turn`
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_delivered_twice_begins_one_turn() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/messages");
    let body = json!({"text": "once", "delivery": "a-1"});
    let (_, first) = api.send("POST", &path, body.clone()).await;
    let (status, second) = api.send("POST", &path, body).await;
    assert_eq!((status, &second["turn"]), (202, &first["turn"]));
    assert_eq!((&first["known"], &second["known"]), (&json!(false), &json!(true)));
    api.server.agent.finished().await;
    assert_eq!(api.get(&path).await["messages"].as_array().unwrap().len(), 2);
}

/// Promise: `api-messages-begin-one-turn`
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_delivered_again_is_known_while_its_turn_runs_and_heard_from_its_start() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/messages");
    api.say(id, json!({"text": "first"})).await;
    let gate = AnswerGate::new();
    api.server.fake.push(FakeAnswer::text("aye").held(&gate));
    let body = json!({"text": "second", "replaces": "edit", "delivery": "a-2"});
    let (status, sent) = api.send("POST", &path, body.clone()).await;
    assert_eq!(status, 202, "{sent}");
    let (status, again) = api.send("POST", &path, body.clone()).await;
    assert_eq!((status, &again["turn"], &again["known"]), (202, &sent["turn"], &json!(true)));
    assert_eq!(again["before"], sent["before"]);
    gate.open();
    api.server.agent.finished().await;
    let (_, over) = api.send("POST", &path, body).await;
    assert_eq!(over["before"], sent["before"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_takes_its_session_out_of_the_archive() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}");
    api.send("PATCH", &path, json!({"archived": true})).await;
    assert_eq!(api.get("/api/sessions").await["total"], 0);
    api.say(id, json!({"text": "still there?"})).await;
    assert_eq!(api.get("/api/sessions").await["total"], 1);
    let (_, stopped) = api.ask("POST", &format!("{path}/stop"), None).await;
    assert_eq!((&stopped["session"], &stopped["outcome"]), (&json!(id), &json!("nothing_runs")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_is_sent_again_changed_and_taken_back() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/messages");
    let file = json!({"name": "a.txt", "text": "in the file"});
    api.say(id, json!({"text": "first", "files": [file]})).await;
    api.say(id, json!({"replaces": "retry"})).await;
    api.say(id, json!({"text": "second", "replaces": "edit"})).await;
    let sent = api.server.fake.chats();
    let last = sent[2].to_string();
    assert!(last.contains("second") && last.contains("in the file"), "{last}");
    assert!(!last.contains("first"), "{last}");
    let messages = api.get(&path).await;
    let taken_back = messages["messages"].as_array().unwrap().iter();
    let reasons: Vec<&serde_json::Value> =
        taken_back.map(|message| &message["taken_back"]["reason"]).collect();
    assert_eq!(json!(reasons), json!([null, null, "edit", "edit", "retry", "retry"]));
    let (status, problem) =
        api.send("POST", &path, json!({"text": "x", "replaces": "retry"})).await;
    assert_eq!(status, 400, "{problem}");
    let (_, undone) = api.ask("POST", &format!("/api/sessions/{id}/undo"), None).await;
    assert_eq!(undone["text"], "second", "{undone}");
    let (status, problem) = api.ask("POST", &format!("/api/sessions/{id}/undo"), None).await;
    assert_eq!((status, &problem["code"]), (409, &json!("nothing_to_take_back")));
    let (_, stopped) = api.ask("POST", &format!("/api/sessions/{id}/stop"), None).await;
    assert_eq!(stopped["outcome"], "nothing_runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_exported_in_both_forms() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    api.say(id, json!({"text": "hello"})).await;
    let path = format!("/api/sessions/{id}/export");
    let lines = api.get(&path).await;
    assert_eq!(lines.as_str().unwrap().lines().count(), 3, "{lines}");
    let lines = api.get(&format!("{path}?records=true")).await;
    assert_eq!(lines.as_str().unwrap().lines().count(), 4, "{lines}");
    let markdown = api.get(&format!("{path}?format=markdown")).await;
    assert!(markdown.as_str().unwrap().contains("# talk"), "{markdown}");
    let (status, _) = api.ask("GET", &format!("{path}?format=markdown&records=true"), None).await;
    assert_eq!(status, 400);
}
