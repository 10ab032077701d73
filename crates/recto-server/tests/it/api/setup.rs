//! Settings and items of a session, agents, models, counts.

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
    assert_eq!(api.ask("GET", "/api/doctor", None).await.0, 503);
}
