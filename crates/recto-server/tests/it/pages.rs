//! The chat as it is served: what stands in the page, and what the page loads.

use std::sync::Arc;

use recto_agent::{Actor, Conversation};
use recto_context::Message;
use recto_store::{BindingKey, Moment, NewMessage, NewSession, SessionId, StoredSession};

use crate::support::TestServer;

/// Gets a page, and gives its status and its text.
async fn get(server: &TestServer, path: &str) -> (u16, String) {
    let response = server.request("GET", path).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The addresses that a page loads by itself.
fn loaded(page: &str) -> Vec<String> {
    let links = page.split("=\"/assets/").skip(1);
    links.map(|rest| format!("/assets/{}", rest.split('"').next().unwrap())).collect()
}

async fn begin(server: &TestServer, name: &str) -> StoredSession {
    let conversation = Conversation::with_owner("web", "local", name);
    server.agent.find_or_begin(&Actor::owner("ana"), &conversation).await.unwrap()
}

/// Sends a form as a browser does, and gives the status and where it leads.
async fn post_form(server: &TestServer, path: &str, body: &str) -> (u16, String) {
    let request = server.request("POST", path).body(body.to_owned());
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_loads_little_and_all_of_it_is_there() {
    let server = TestServer::start().await;
    let (status, page) = get(&server, "/").await;
    assert_eq!(status, 200);
    assert!(page.contains("Talk to main"), "{page}");
    let mut bytes = page.len();
    let mut names = loaded(&page);
    while let Some(path) = names.pop() {
        let response = server.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let kept = response.headers()["cache-control"].to_str().unwrap().to_owned();
        assert!(kept.contains("immutable"), "{path}: {kept}");
        let text = response.text().await.unwrap();
        bytes += text.len();
        let folder = path.rsplit_once('/').unwrap().0;
        // What a module imports stands beside it.
        let imports = text.split("from \"./").skip(1).map(|rest| rest.split('"').next().unwrap());
        names.extend(
            imports.map(|name| format!("{folder}/{name}")).filter(|name| !page.contains(name)),
        );
    }
    assert!(bytes < 300_000, "a module counts as often as it is imported: {bytes}");
    assert!(!page.contains("style=") && !page.contains("onclick"), "the policy allows none");
    assert_eq!(get(&server, "/assets/0123456789ab/style.css").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_sent_by_a_form_and_stands_in_the_page_as_text() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    let said = "text=%3Cb%3Ehello%3C%2Fb%3E&mode=full";
    let (status, _) = post_form(&server, &path, said).await;
    server.agent.finished().await;
    assert_eq!(status, 303, "it leads to the session");
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    assert!(page.contains("&lt;b&gt;hello&lt;/b&gt;") && !page.contains("<b>hello"), "{page}");
    assert!(page.contains("data-state=\"ended\"") && page.contains("View context"), "{page}");
    let (status, page) = post_form(&server, &path, "text=%2Fnonsense").await;
    assert_eq!(status, 400);
    assert!(page.contains("there is no command <code>/nonsense</code>"), "{page}");
    assert_eq!(get(&server, "/sessions/99").await.0, 404);
}

/// A session of so many messages, as an import makes it.
async fn import(server: &TestServer, count: u64) -> SessionId {
    let message = |id: u64| match id % 2 {
        1 => Message::user(id, format!("question {id}")),
        _ => Message::assistant(id, format!("answer {id}")),
    };
    let at = Moment::now();
    let messages = (1..=count).map(|id| NewMessage { at, message: Arc::new(message(id)) });
    let messages: Vec<NewMessage> = messages.collect();
    let settings = begin(server, "model").await.settings;
    let key = BindingKey {
        agent: "main".into(),
        surface: "web".into(),
        account: "local".into(),
        conversation: "long".into(),
        user: None,
    };
    let name = "long".parse().ok();
    let new = NewSession { agent: "main".into(), name, surface: "web".into(), at, settings };
    server.agent.store().import(key, new, messages).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_session_opens_with_its_newest_messages_and_the_rest_comes_in_stretches() {
    let server = TestServer::start().await;
    let session = import(&server, 5_000).await;
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    assert_eq!(page.matches("<article").count(), 25);
    assert!(page.contains("answer 5000") && !page.contains("question 4949"), "the newest 50");
    let (mut questions, mut stretches) = (page.matches(">question ").count(), 0);
    let mut part = page;
    while let Some(rest) = part.split("/older?before=").nth(1) {
        let before = rest.split('"').next().unwrap();
        let path = format!("/sessions/{session}/older?before={before}&fragment=1");
        part = get(&server, &path).await.1;
        assert!(part.matches("<article").count() <= 26, "{path}");
        questions += part.matches(">question ").count();
        stretches += 1;
    }
    assert_eq!((questions, stretches), (2_500, 99));
}
