//! What was sent, and the same once more.

use serde_json::json;

use super::DescribedServer;
use crate::security::{GUEST, OWNER_READ, outcome};

/// Promise: `api-bodies-are-exact`
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_shown_by_layer_by_text_and_byte_for_byte() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let turn = api.say(id, json!({"text": "hello"})).await;
    let shown = api.get(&format!("/api/turns/{turn}")).await;
    assert_eq!(shown["turn"]["status"], "done", "{shown}");
    assert_eq!(shown["requests"][0]["purpose"], "page", "{shown}");
    let context = api.get(&format!("/api/turns/{turn}/context?request=1")).await;
    assert_eq!(context["context"]["layers"][0]["layer"], "system", "{context}");
    assert!(context.get("body").is_none());
    let body = api.server.request("GET", &format!("/api/turns/{turn}/body"));
    let body = body.send().await.unwrap().bytes().await.unwrap();
    let log = api.server.fake.log();
    let sent = log.iter().find(|request| request.is_chat()).unwrap();
    assert_eq!(*body, *sent.body);
    let text = api.get(&format!("/api/turns/{turn}/text")).await;
    let joined: String = text["messages"][0]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect();
    assert_eq!(joined, api.server.fake.chats()[0]["messages"][0]["content"], "{text:#}");
    let listed = api.get(&format!("/api/sessions/{id}/turns")).await;
    assert_eq!((&listed["turns"][0]["id"], &listed["has_more"]), (&json!(turn), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_compared_verified_and_explained() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let first = api.say(id, json!({"text": "one"})).await;
    let second = api.say(id, json!({"text": "two"})).await;
    let diff = api.get(&format!("/api/turns/{second}/diff")).await;
    assert_eq!(diff["before"]["turn"], first, "{diff}");
    let same = api.get(&format!("/api/turns/{first}/diff?with={second}")).await;
    assert_eq!(same, diff);
    let (status, problem) = api.ask("GET", &format!("/api/turns/{first}/diff"), None).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_turn_before")));
    let verified = api.get(&format!("/api/turns/{second}/verify")).await;
    assert_eq!(verified["ok"], true, "{verified}");
    let (status, problem) =
        api.ask("GET", &format!("/api/turns/{second}/why?name=nonsense"), None).await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_to_turn")), "{problem}");
    let words = problem["remedy"]["words"].as_str().unwrap();
    assert_eq!((&problem["remedy"]["code"], words.is_empty()), (&json!("show_turn"), false));
    let (status, problem) =
        api.ask("GET", &format!("/api/turns/{second}/context?request=7"), None).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_request")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_sent_again_and_nothing_is_kept_of_it() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let turn = api.say(id, json!({"text": "hello"})).await;
    for body in [json!({}), json!({"model": "fake"})] {
        let (status, reply) = api.send("POST", &format!("/api/turns/{turn}/replay"), body).await;
        let reply = reply.as_str().unwrap();
        assert_eq!(status, 200, "{reply}");
        assert!(reply.contains("\"event\":\"done\""), "{reply}");
    }
    let chats = api.server.fake.log();
    let bodies: Vec<_> = chats.iter().filter(|request| request.is_chat()).collect();
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0].body, bodies[1].body);
    assert_eq!(api.get(&format!("/api/sessions/{id}")).await["turns"], 1);
    let (status, problem) =
        api.send("POST", &format!("/api/turns/{turn}/replay"), json!({"model": "other"})).await;
    assert_eq!((status, &problem["code"]), (400, &json!("no_such_model")), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_shown_by_layer_and_nothing_is_sent() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let body = json!({"text": "a draft", "context_mode": "minimal"});
    let (status, preview) = api.send("POST", &format!("/api/sessions/{id}/preview"), body).await;
    assert_eq!((status, &preview["mode"]["setting"]), (200, &json!("minimal")), "{preview}");
    assert!(api.server.fake.chats().is_empty());
}

/// Promise: `records-are-for-their-own`
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_finds_nothing_of_the_owner_by_any_number() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let turn = api.say(id, json!({"text": "my secret"})).await;
    let (_, guest) = api.server.token("anna", GUEST).await;
    let (_, reader) = api.server.token("dashboard", OWNER_READ).await;
    let replay = format!("/api/turns/{turn}/replay");
    let body = |token: &str| {
        let request = api.server.request("POST", &replay).bearer_auth(token);
        request.header("content-type", "application/json").body("{}")
    };
    assert!(outcome(body(&guest)).await.starts_with("404"), "a replay");
    assert!(outcome(body(&reader)).await.starts_with("403"), "a replay");
    for rest in ["", "/context", "/body", "/text", "/diff", "/verify", "/why?name=x"] {
        let path = format!("/api/turns/{turn}{rest}");
        let asked = api.server.request("GET", &path).bearer_auth(&guest);
        assert_eq!(outcome(asked).await, "404 no_such_turn", "{path}");
    }
    for rest in ["", "/messages", "/turns", "/events", "/export", "/items", "/settings"] {
        let path = format!("/api/sessions/{id}{rest}");
        let asked = api.server.request("GET", &path).bearer_auth(&guest);
        assert_eq!(outcome(asked).await, "404 no_such_session", "{path}");
        let asked = api.server.request("GET", &path).bearer_auth(&reader);
        assert_eq!(asked.send().await.unwrap().status(), 200, "{path}");
    }
    for path in ["/api/items", "/api/memories", "/api/search?query=x", "/api/stats", "/metrics"] {
        let asked = api.server.request("GET", path).bearer_auth(&guest);
        assert_eq!(outcome(asked).await, "403 not_allowed", "{path}");
    }
    // Whom and what they can ask is all that they see of the setup.
    for path in ["/api/agents", "/api/models", "/v1/models", "/ollama/api/tags"] {
        let asked = api.server.request("GET", path).bearer_auth(&guest);
        assert_eq!(outcome(asked).await, "200", "{path}");
    }
    for path in ["/models", "/api/doctor"] {
        let asked = api.server.request("GET", path).bearer_auth(&guest);
        assert!(outcome(asked).await.starts_with("403"), "{path}");
    }
    let found = api.server.request("GET", "/api/messages?query=secret").bearer_auth(&guest);
    let found = found.send().await.unwrap().text().await.unwrap();
    assert_eq!(found, "{\"messages\":[]}");
}
