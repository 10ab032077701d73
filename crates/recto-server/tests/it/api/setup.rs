//! Settings and items of a session; agents, models, items, memories, counts.

use serde_json::json;

use super::DescribedServer;

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_changed_all_or_none() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/settings");
    let body = json!({"temperature": 0.5, "context_mode": "full", "model": "fake"});
    let (status, changed) = api.send("PATCH", &path, body).await;
    assert_eq!((status, &changed["settings"]["temperature"]), (200, &json!(0.5)), "{changed}");
    let body = json!({"temperature": null, "top_p": 7});
    let (status, problem) = api.send("PATCH", &path, body).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_setting")), "{problem}");
    assert!(problem["title"].as_str().unwrap().contains("`top_p`"), "{problem}");
    assert_eq!(api.get(&path).await["settings"]["temperature"], 0.5);
    let (_, changed) = api.send("PATCH", &path, json!({"temperature": null})).await;
    assert!(changed["settings"].get("temperature").is_none(), "{changed}");
    let (status, problem) = api.send("PATCH", &path, json!({"audience": {"who": "owner"}})).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_setting")), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_join_and_leave_a_session() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let path = format!("/api/sessions/{id}/items");
    assert_eq!(api.get(&path).await, json!({"items": []}));
    let (status, problem) = api.send("POST", &path, json!({"name": "nonsense"})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_item")), "{problem}");
    let (status, problem) = api.ask("DELETE", &format!("{path}/rule:x%2Fy"), None).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_item")), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_models_counts_and_questions_are_told() {
    let api = DescribedServer::start().await;
    let agents = json!({"agents": [{"name": "main", "default": true, "models": ["fake"]}]});
    assert_eq!(api.get("/api/agents").await, agents);
    let models = api.get("/api/models").await;
    assert_eq!(models["models"][0]["window"], 8_192, "{models}");
    let id = api.begin("talk").await;
    api.say(id, json!({"text": "hello"})).await;
    let stats = api.get("/api/stats?span=all").await;
    assert_eq!(stats["turns"]["done"], 1, "{stats}");
    assert_eq!(api.ask("GET", "/api/stats?span=soon", None).await.0, 400);
    assert_eq!(api.get("/api/approvals").await, json!({"approvals": []}));
    // Nobody around this server could look.
    assert_eq!(api.ask("GET", "/api/doctor", None).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn memories_are_added_changed_forgotten_and_brought_back() {
    let api = DescribedServer::start().await;
    let body = json!({"text": "The harbour closes at nine.", "important": true});
    let (status, added) = api.send("POST", "/api/memories", body.clone()).await;
    assert_eq!((status, &added["important"]), (201, &json!(true)), "{added}");
    assert_eq!(api.send("POST", "/api/memories", body).await.0, 200);
    let name = |memory: &serde_json::Value| memory["name"].as_str().unwrap().replace('#', "%23");
    let path = format!("/api/memories/{}", name(&added));
    let (status, changed) = api.send("PATCH", &path, json!({"shared": true})).await;
    assert_eq!(
        (status, &changed["important"], &changed["shared"]),
        (200, &json!(true), &json!(true))
    );
    let (_, changed) = api.send("PATCH", &path, json!({"text": "It closes at ten."})).await;
    assert_eq!(changed["text"], "It closes at ten.", "{changed}");
    let path = format!("/api/memories/{}", name(&changed));
    let (status, forgotten) = api.ask("DELETE", &path, None).await;
    assert_eq!(status, 200, "{forgotten}");
    assert_eq!(api.get("/api/memories").await["memories"], json!([]));
    let archive = api.get("/api/memories?forgotten=true").await;
    let path = format!("/api/memories/{}/restore", name(&archive["memories"][0]));
    assert_eq!(api.ask("POST", &path, None).await.0, 200);
    let listed = api.get("/api/memories").await;
    assert_eq!(listed["memories"][0]["text"], "It closes at ten.", "{listed}");
    assert_eq!(api.ask("DELETE", "/api/memories/nothing%2Fhere", None).await.0, 404);
}

/// Promise: `private-memory-stays-private`
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_shared_where_a_field_says_so_and_not_where_its_text_does() {
    let api = DescribedServer::start().await;
    let body = json!({"text": "[shared] [important] The safe is open.", "shared": false});
    let (_, added) = api.send("POST", "/api/memories", body).await;
    let seen = |memory: &serde_json::Value| {
        [memory["shared"].clone(), memory["important"].clone(), memory["text"].clone()]
    };
    let none = [json!(false), json!(false), json!("The safe is open.")];
    assert_eq!(seen(&added), none, "{added}");
    let path = |memory: &serde_json::Value| {
        format!("/api/memories/{}", memory["name"].as_str().unwrap().replace('#', "%23"))
    };
    let change = json!({"text": "[shared] It is shut.", "important": true});
    let (_, changed) = api.send("PATCH", &path(&added), change).await;
    assert_eq!(seen(&changed), [json!(false), json!(true), json!("It is shut.")], "{changed}");
    let change = json!({"text": "[shared] It is open."});
    let (_, changed) = api.send("PATCH", &path(&changed), change).await;
    assert_eq!(seen(&changed), [json!(false), json!(true), json!("It is open.")], "{changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_listed_searched_and_nobody_sets_what_is_not_there() {
    let api = DescribedServer::start().await;
    let items = api.get("/api/items?kind=rule").await;
    assert_eq!(items["items"], json!([]), "{items}");
    api.send("POST", "/api/memories", json!({"text": "Boats need paint."})).await;
    let found = api.get("/api/search?query=paint%20the%20boats&top_k=3&top_n=1").await;
    let best = &found["results"][0];
    assert_eq!((&best["kind"], &best["page"]), (&json!("memory"), &json!("anyway")), "{found}");
    for path in ["/api/items/rule/x", "/api/items/server/x", "/api/items/nonsense/x"] {
        let (status, problem) = api.send("PUT", path, json!({"include": "always"})).await;
        assert_eq!(status, 404, "{problem}");
    }
    let (status, problem) =
        api.send("PUT", "/api/items/rule/x", json!({"include": "sometimes"})).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_field")), "{problem}");
}
