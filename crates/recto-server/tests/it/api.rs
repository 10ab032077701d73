//! The API as its description has it: every answer in these tests is checked against it.

mod events;
mod problems;
mod records;
mod schedules;
mod sessions;
mod setup;

use serde_json::{Value, json};

use crate::support::TestServer;

/// A server, and what it says of its own API.
struct DescribedServer {
    server: TestServer,
    description: Value,
}

impl DescribedServer {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let (status, description) = server.get("/api/openapi.json").await;
        assert_eq!(status, 200);
        DescribedServer { server, description }
    }

    /// Asks, and checks that the answer is as described: its status, its form and its fields.
    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let mut request = self.server.request(method, path);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let form = answer.headers()["content-type"].to_str().unwrap().to_owned();
        let text = answer.text().await.unwrap();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.check_answer(method, path, (status, &form), &value);
        (status, value)
    }

    async fn get(&self, path: &str) -> Value {
        let (status, value) = self.ask("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.ask(method, path, Some(&body)).await
    }

    fn check_answer(&self, method: &str, path: &str, (status, form): (u16, &str), value: &Value) {
        let operation = self.operation(method, path);
        let mut response = &operation["responses"][status.to_string()];
        if let Some(reference) = response["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap();
            response = &self.description["components"]["responses"][name];
        }
        assert!(response.is_object(), "{method} {path}: {status} is not described: {value}");
        let media_type = form.split(';').next().unwrap();
        let content = &response["content"][media_type];
        assert!(content.is_object(), "{method} {path}: {media_type} is not described");
        if !media_type.ends_with("json") {
            return;
        }
        let mut schema = content["schema"].clone();
        schema["components"] = self.description["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?}\n{value:#}");
    }

    /// The description of what is asked for.
    fn operation(&self, method: &str, path: &str) -> &Value {
        let path = path.split('?').next().unwrap();
        let fits = |template: &str| {
            let (given, described): (Vec<_>, Vec<_>) =
                (path.split('/').collect(), template.split('/').collect());
            given.len() == described.len()
                && given.iter().zip(described).all(|(a, b)| b.starts_with('{') || **a == *b)
        };
        let paths = self.description["paths"].as_object().unwrap();
        let mut found = paths.iter().filter(|(template, _)| fits(template));
        let (_, item) = found.next().unwrap_or_else(|| panic!("{path} is not described"));
        &item[method.to_lowercase()]
    }

    /// Begins a session of this name, and gives its number.
    async fn begin(&self, name: &str) -> i64 {
        let (status, session) = self.send("POST", "/api/sessions", json!({"name": name})).await;
        assert_eq!(status, 201, "{session}");
        session["id"].as_i64().unwrap()
    }

    /// Says something, waits for the end of its turn, and gives its number.
    async fn say(&self, session: i64, body: Value) -> i64 {
        let path = format!("/api/sessions/{session}/messages");
        let (status, accepted) = self.send("POST", &path, body).await;
        assert_eq!(status, 202, "{accepted}");
        self.server.agent.finished().await;
        accepted["turn"].as_i64().unwrap()
    }
}

/// The description that is kept beside the code is the one that is served.
///
/// Promise: `api-is-described`
#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_the_one_in_the_repository() {
    let kept = include_str!("../../../../docs/openapi.json");
    assert!(recto_server::write_openapi() == kept, "`cargo xtask docs` writes it anew");
    let described = DescribedServer::start().await;
    let kept: Value = serde_json::from_str(kept).unwrap();
    assert_eq!(described.description, kept);
}

/// Every operation says what it does and which problems it can meet.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_described_in_words() {
    let described = DescribedServer::start().await;
    let paths = described.description["paths"].as_object().unwrap();
    assert!(paths.len() > 20, "{}", paths.len());
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path}");
            let names = |status: &str| operation["responses"][status].is_object();
            assert!(names("400") && names("401"), "{method} {path}");
            assert!(names("404") || !path.contains('{'), "{method} {path}");
        }
    }
}
