//! Paths that try to climb out of where they belong.

use std::time::Duration;

use crate::support::TestServer;

/// Every route with a parameter, which stands as `{}`.
const ROUTES: [(&str, &str); 3] = [
    ("POST", "/api/sessions/{}/messages"),
    ("GET", "/api/sessions/{}/events"),
    ("POST", "/api/sessions/{}/stop"),
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
        let there = server.request(method, &route.replace("{}", "99"));
        let there = there.header("content-type", "application/json").body("{\"text\":\"x\"}");
        assert_eq!(there.send().await.unwrap().status(), 404, "{method} {route}");
    }
}
