//! Paths that try to climb out of where they belong.

use std::time::Duration;

use crate::support::TestServer;

/// Every route with a parameter, which stands as `{}`.
const ROUTES: [(&str, &str); 41] = [
    ("GET", "/api/approvals/{}"),
    ("GET", "/api/sessions/{}"),
    ("DELETE", "/api/sessions/{}"),
    ("PATCH", "/api/sessions/{}"),
    ("GET", "/api/sessions/{}/events"),
    ("GET", "/api/sessions/{}/export"),
    ("GET", "/api/sessions/{}/items"),
    ("DELETE", "/api/sessions/1/items/{}"),
    ("POST", "/api/sessions/{}/messages"),
    ("POST", "/api/sessions/{}/preview"),
    ("GET", "/api/sessions/{}/settings"),
    ("POST", "/api/sessions/{}/stop"),
    ("GET", "/api/sessions/{}/turns"),
    ("POST", "/api/sessions/{}/undo"),
    ("GET", "/api/turns/{}"),
    ("GET", "/api/turns/{}/body"),
    ("GET", "/api/turns/{}/context"),
    ("GET", "/api/turns/{}/diff"),
    ("POST", "/api/turns/{}/replay"),
    ("GET", "/api/turns/{}/text"),
    ("GET", "/api/turns/{}/verify"),
    ("GET", "/api/turns/{}/why"),
    ("GET", "/v1/models/{}"),
    ("GET", "/assets/{}/style.css"),
    ("GET", "/assets/style.css/{}"),
    ("GET", "/sessions/{}"),
    ("GET", "/sessions/{}/chart"),
    ("GET", "/sessions/{}/older"),
    ("GET", "/sessions/1/turns/{}"),
    ("GET", "/sessions/{}/panel"),
    ("GET", "/sessions/{}/states"),
    ("POST", "/sessions/{}/unarchive"),
    ("POST", "/sessions/{}/messages"),
    ("POST", "/sessions/{}/items"),
    ("POST", "/sessions/{}/settings"),
    ("POST", "/approvals/{}"),
    ("GET", "/turns/{}"),
    ("GET", "/turns/{}/body"),
    ("GET", "/turns/{}/record"),
    ("GET", "/turns/{}/diff"),
    ("POST", "/turns/{}/replay"),
];

/// What stands for `../` and its like, as it goes over the line.
const CLIMBS: [&str; 10] = [
    "..",
    "../../../../etc/passwd",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cetc",
    "..\\..\\etc",
    "1/../../../etc/passwd",
    "1%00",
    "%c0%ae%c0%ae%c0%af",
];

/// Promise: `no-path-climbs`
#[tokio::test(flavor = "multi_thread")]
async fn no_parameter_leads_out() {
    let server = TestServer::start().await;
    for (method, route) in ROUTES {
        for climb in CLIMBS {
            let path = route.replace("{}", climb);
            // By hand: a client would tidy it up before it is sent.
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                server.address
            );
            let answer = server.send_raw(request.as_bytes(), Duration::from_secs(10)).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{method} {path}: {answer}");
        }
    }
    let there = server.post("/api/sessions/99/messages", &serde_json::json!({"text": "x"})).await;
    assert_eq!(there.0, 404, "{}", there.1);
}
