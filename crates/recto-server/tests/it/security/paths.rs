//! Paths that try to climb out of where they belong.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::TestServer;

/// The routes with a parameter that no list of ours has: of the front doors.
const DOOR_ROUTES: [(&str, &str); 2] =
    [("GET", "/v1/models/{model}"), ("GET", "/ollama/v1/models/{model}")];

/// A method with a path, in which parameters stand in braces.
type PatternRoute = (String, String);

/// The routes of the API, as it is described.
fn api_routes() -> Vec<PatternRoute> {
    let described: Value = serde_json::from_str(&recto_server::write_openapi()).unwrap();
    let paths = described["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(|method| (method.to_uppercase(), path.clone()))
    });
    routes.collect()
}

/// The routes of the pages. A router does not tell its own, so that the code is read that adds them.
fn page_routes() -> Vec<PatternRoute> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut routes = Vec::new();
    let mut places = vec![source.join("pages.rs"), source.join("pages")];
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&place).unwrap();
        for added in text.split(".route(").skip(1) {
            let path = added.split('"').nth(1).unwrap();
            let handlers = added.split("))").next().unwrap();
            for (method, router) in [("GET", "get("), ("POST", "post(")] {
                if handlers.contains(router) {
                    routes.push((method.to_owned(), path.to_owned()));
                }
            }
        }
    }
    routes
}

/// The paths of a route with a climb in the place of each of its parameters; the others are numbers.
fn climbing_paths(route: &str, climb: &str) -> Vec<String> {
    let pieces: Vec<&str> = route.split(['{', '}']).collect();
    let parameters = (1..pieces.len()).step_by(2);
    let paths = parameters.map(|climbing| {
        let fill = |(at, piece): (usize, &&str)| match at {
            at if at == climbing => climb.to_owned(),
            at if at % 2 == 1 => "1".to_owned(),
            _ => (*piece).to_owned(),
        };
        pieces.iter().enumerate().map(fill).collect()
    });
    paths.collect()
}

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
    let doors = DOOR_ROUTES.map(|(method, path)| (method.to_owned(), path.to_owned()));
    let (api, pages) = (api_routes(), page_routes());
    for (routes, known) in [(&api, "/api/memories/{name}/restore"), (&pages, "/turns/{turn}/body")]
    {
        assert!(routes.iter().any(|(_, path)| path == known), "{known}: {routes:?}");
    }
    for (method, route) in api.into_iter().chain(pages).chain(doors) {
        for path in CLIMBS.into_iter().flat_map(|climb| climbing_paths(&route, climb)) {
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
