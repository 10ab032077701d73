//! What can't be read or done, in one form.

use serde_json::{Value, json};

use super::DescribedServer;

/// Promise: `api-problems-have-one-form`
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_wrong_is_a_problem_with_a_code() {
    let api = DescribedServer::start().await;
    let id = api.begin("talk").await;
    let messages = format!("/api/sessions/{id}/messages");
    for (method, path, body, expected) in [
        ("GET", "/api/nothing", None, (404, "no_such_path")),
        ("GET", "/api", None, (404, "no_such_path")),
        ("PUT", "/api/sessions", None, (405, "wrong_method")),
        ("GET", "/api/sessions/0", None, (400, "bad_id")),
        ("GET", "/api/sessions/-1", None, (400, "bad_id")),
        ("GET", "/api/sessions/1.5", None, (400, "bad_id")),
        ("GET", "/api/sessions/x", None, (400, "bad_id")),
        ("GET", "/api/sessions/99", None, (404, "no_such_session")),
        ("GET", "/api/turns/99", None, (404, "no_such_turn")),
        ("GET", "/api/approvals/99", None, (404, "no_such_approval")),
        ("GET", "/api/sessions?limt=3", None, (400, "bad_query")),
        ("GET", "/api/sessions?limit=0", None, (400, "bad_query")),
        ("GET", "/api/sessions?limit=501", None, (400, "bad_query")),
        ("GET", "/api/agents?limit=3", None, (400, "bad_query")),
        ("POST", "/api/sessions/1/stop?now", None, (400, "bad_query")),
        ("POST", "/api/sessions/1/stop", Some("{\"turn\":5}"), (400, "bad_field")),
        ("POST", "/api/sessions/1/undo", Some("turn=5"), (400, "bad_field")),
        ("GET", "/api/agents", Some("[3]"), (400, "bad_field")),
        ("GET", "/api/search?query=x&top_k=0", None, (400, "bad_query")),
        ("GET", "/api/search?query=x&top_n=1001", None, (400, "bad_query")),
        ("GET", "/api/search?query=x&floor=NaN", None, (400, "bad_query")),
        ("GET", "/api/search?query=x&include_score=1e400", None, (400, "bad_query")),
        ("POST", "/api/approvals/1", Some("{\"answer\":null}"), (400, "bad_field")),
        ("POST", &messages, Some("{\"text\":\"x\",\"delivery\":\"\"}"), (400, "bad_field")),
        ("POST", &messages, Some("{\"text\":\"x\",\"delivery\":\"\\u0000\"}"), (400, "bad_field")),
        (
            "POST",
            &messages,
            Some("{\"text\":\"x\",\"settings\":{\"max_rounds\":2147483648}}"),
            (400, "bad_setting"),
        ),
        ("GET", "/api/models?agent=nobody", None, (404, "no_such_agent")),
        ("POST", &messages, Some("{"), (400, "bad_json")),
        ("POST", &messages, Some("[\"x\"]"), (400, "bad_json")),
        ("POST", &messages, Some("{\"txet\": \"x\"}"), (400, "bad_field")),
        ("POST", &messages, Some("{\"text\": 3}"), (400, "bad_field")),
        ("POST", &messages, Some("{}"), (400, "empty_message")),
        (
            "POST",
            &messages,
            Some("{\"text\":\"x\",\"settings\":{\"tmp\":1}}"),
            (400, "bad_setting"),
        ),
    ] {
        let mut request = api.server.request(method, path);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
        let status = answer.status().as_u16();
        let problem: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let code = problem["code"].as_str().unwrap();
        assert_eq!((status, code), expected, "{method} {path}: {problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:recto:problem:{code}"));
        assert!(problem["title"].is_string());
    }
    let long = json!({"text": "x", "delivery": "x".repeat(257)});
    assert_eq!(api.send("POST", &messages, long).await.0, 400);
    let (_, problem) = api.ask("GET", "/api/agents?limit=3", None).await;
    assert!(problem["detail"].as_str().unwrap().contains("`limit`"), "{problem}");
    for missing in ["/api/sessions/99", "/api/approvals/99"] {
        let (_, problem) = api.ask("GET", missing, None).await;
        assert!(problem["hint"].is_string(), "{problem}");
    }
    let stop = format!("/api/sessions/{id}/stop");
    let (_, problem) = api.send("POST", &stop, json!({"turn": 5})).await;
    assert!(problem["detail"].as_str().unwrap().contains("`turn`"), "{problem}");
    let (status, stopped) = api.send("POST", &stop, json!({})).await;
    assert_eq!(status, 200, "an empty object says nothing: {stopped}");
    let (_, problem) = api.send("POST", &messages, json!({"txet": "x"})).await;
    assert!(problem["detail"].as_str().unwrap().contains("`txet`"), "{problem}");
    let form = api.server.request("POST", &messages).body("text=x").send().await.unwrap();
    assert_eq!(form.status(), 415);
}
