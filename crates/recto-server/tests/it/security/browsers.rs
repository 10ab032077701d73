//! Other web sites in the owner's browser: names that point here, forms, scripts, frames.

use std::time::Duration;

use recto_server::{AccessOptions, ConnectionLimits};

use crate::security::{MESSAGE, outcome};
use crate::support::TestServer;

/// Promise: `other-sites-stay-outside`
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_made_to_point_here_leads_nowhere() {
    let server = TestServer::start().await;
    let session = server.own_session().await;
    let port = server.address.port();
    let messages = format!("/api/sessions/{session}/messages");
    for host in [format!("evil.example:{port}"), "evil.example".into(), "localhost:1".into()] {
        for path in ["/healthz", "/login", "/", "/api/sessions"] {
            let request = server.request("GET", path).header("host", &host);
            assert_eq!(outcome(request).await, "421 wrong_host", "{host} {path}");
        }
        let request = server.request("POST", &messages).header("host", &host);
        let request = request.header("content-type", "application/json").body(MESSAGE);
        assert_eq!(outcome(request).await, "421 wrong_host", "{host}");
    }
    for head in [
        format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: evil.example\r\n"),
        format!("GET http://evil.example/healthz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"),
        "GET /healthz HTTP/1.1\r\n".to_owned(),
        format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:+{port}\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:0{port}\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: [127.0.0.1]:{port}\r\n"),
    ] {
        let request = format!("{head}connection: close\r\n\r\n");
        let answer = server.send_raw(request.as_bytes(), Duration::from_secs(10)).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{head}{answer}");
    }
    assert_eq!(server.turns_in(session).await, 0);
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(outcome(server.request("GET", "/healthz").header("host", &host)).await, "200");
    }
}

/// Promise: `other-sites-stay-outside`
#[tokio::test(flavor = "multi_thread")]
async fn no_other_site_can_post() {
    let server = TestServer::start().await;
    let session = server.own_session().await;
    let own = format!("http://{}", server.address);
    let path = format!("/api/sessions/{session}/messages");
    let post = |headers: &[(&'static str, &str)]| {
        let request = server.request("POST", &path).body(MESSAGE);
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    };
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let plain = ("content-type", "text/plain");
    let evil = ("origin", "http://evil.example");
    let firefox = ("user-agent", "Mozilla/5.0");
    for (headers, refusal) in [
        (vec![evil, form], "403 cross_site"),
        (vec![evil, plain], "403 cross_site"),
        (vec![evil, json], "403 cross_site"),
        // Another port of this machine is another site.
        (vec![("origin", "http://127.0.0.1:3000"), json], "403 cross_site"),
        (vec![("origin", "https://127.0.0.1"), json], "403 cross_site"),
        (vec![("sec-fetch-site", "cross-site"), json], "403 cross_site"),
        (vec![("sec-fetch-site", "same-site"), json], "403 cross_site"),
        // A frame without an origin, or a page that hides its own.
        (vec![("origin", "null"), form], "403 forged_request"),
        (vec![("origin", "null"), plain], "403 forged_request"),
        (vec![("origin", "null"), json], "403 forged_request"),
        // Our own page never sends these, so it is none of ours.
        (vec![("origin", &own), plain], "403 forged_request"),
        (vec![("origin", &own), form], "403 forged_request"),
        // A browser of before the times of `Origin`.
        (vec![firefox, form], "403 forged_request"),
        (vec![firefox, plain], "403 forged_request"),
        (vec![firefox], "403 forged_request"),
        (vec![("referer", "http://evil.example/"), plain], "403 forged_request"),
    ] {
        assert_eq!(outcome(post(&headers)).await, refusal, "{headers:?}");
    }
    assert_eq!(server.turns_in(session).await, 0);
    for headers in [vec![json], vec![("origin", &*own), ("sec-fetch-site", "same-origin"), json]] {
        assert_eq!(outcome(post(&headers)).await, "202", "{headers:?}");
    }
    assert_eq!(server.turns_in(session).await, 2);
}

/// Promise: `other-sites-stay-outside`
#[tokio::test(flavor = "multi_thread")]
async fn another_site_may_open_a_page_and_read_no_data() {
    let server = TestServer::start().await;
    let get = |path: &str, mode: &'static str, destination: &'static str| {
        let request = server.request("GET", path).header("sec-fetch-site", "cross-site");
        request.header("sec-fetch-mode", mode).header("sec-fetch-dest", destination)
    };
    assert_eq!(outcome(get("/login", "navigate", "document")).await, "200");
    for (path, mode, destination) in [
        ("/api/sessions", "navigate", "document"),
        ("/v1/models", "navigate", "document"),
        ("/login", "navigate", "iframe"),
        ("/login", "no-cors", "image"),
        ("/assets/chat.js", "no-cors", "script"),
        ("/api/sessions", "cors", "empty"),
    ] {
        let refused = outcome(get(path, mode, destination)).await;
        // The doors of vendors tell it in their own form.
        let told = if path.starts_with("/v1") { "403" } else { "403 cross_site" };
        assert_eq!(refused, told, "{path} {mode}");
    }
}

/// Promise: `answers-carry-headers`
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let server = TestServer::start().await;
    let asked = [
        ("GET", "/healthz", "", 200),
        ("GET", "/login", "", 200),
        ("GET", "/nothing/here", "", 404),
        ("DELETE", "/healthz", "", 405),
        ("GET", "/api/sessions/99/events", "", 404),
        ("GET", "/api/sessions", "recto_wrong", 401),
        ("GET", "/a%2f..%2fb", "", 400),
    ];
    for (method, path, token, status) in asked {
        let request = server.request(method, path);
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().unwrap();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.contains("frame-ancestors 'none'; base-uri 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(header("cache-control"), "no-store");
        assert!(!answer.headers().contains_key("access-control-allow-origin"));
    }
}

/// A browser complains of the policy where somebody on the way could have written it.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_kept_from_its_opener_where_a_browser_heeds_it() {
    let hosts = vec!["recto.example.org".parse().unwrap()];
    let access = AccessOptions { hosts, ..AccessOptions::default() };
    let server = TestServer::start_with(access, ConnectionLimits::default()).await;
    for (header, is_sent) in [
        (("accept", "*/*"), false),
        (("x-forwarded-proto", "http"), false),
        (("x-forwarded-proto", "https"), true),
        (("sec-fetch-site", "same-origin"), true),
    ] {
        let request = server.request("GET", "/login").header("host", "recto.example.org");
        let answer = request.header(header.0, header.1).send().await.unwrap();
        let sent = answer.headers().contains_key("cross-origin-opener-policy");
        assert_eq!(sent, is_sent, "{header:?}");
    }
}
