//! What people write on the pages: where it goes, how it stands there, and that none of it is lost.

use std::time::Duration;

use serde_json::json;

use super::{begin, get, post_form};
use crate::security::{GUEST, OWNER};
use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_replaces_no_other_message_than_the_one_that_was_edited() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    let standing = async || {
        server.agent.finished().await;
        let (_, page) = get(&server, &format!("/sessions/{session}")).await;
        (page.matches("<article").count(), page.matches("class=\"turn taken-back\"").count())
    };
    post_form(&server, &path, "text=first").await;
    server.agent.finished().await;
    let live = server.request("POST", &path).header("x-recto-live", "1");
    let live = live.header("content-type", "application/x-www-form-urlencoded");
    let told: serde_json::Value =
        live.body("text=%2Fedit").send().await.unwrap().json().await.unwrap();
    assert_eq!(told["edited"], json!({"text": "first", "message": "1"}), "{told}");
    // Somebody else says something before it is sent.
    post_form(&server, &path, "text=second").await;
    assert_eq!(standing().await, (2, 0));
    for name in ["1", "last", "99"] {
        let (status, page) =
            post_form(&server, &path, &format!("text=kept+words&edits={name}")).await;
        assert_eq!(status, 409, "{name}: {page}");
        assert!(page.contains("is not the last one any more"), "{page}");
        assert!(page.contains(">\nkept words</textarea>"), "what was typed stays: {page}");
        assert_eq!(standing().await, (2, 0), "{name}: nothing is replaced");
    }
    let live = server.request("POST", &path).header("x-recto-live", "1");
    let live = live.header("content-type", "application/x-www-form-urlencoded");
    let refused = live.body("text=kept&edits=1").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 409);
    let told: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(told["code"], "not_last", "{told}");
    let draft = json!({"text": "kept", "edits": "1"});
    assert_eq!(server.post(&format!("/sessions/{session}/preview"), &draft).await.0, 409);
    assert_eq!(post_form(&server, &path, "text=other&edits=3").await.0, 303);
    assert_eq!(standing().await, (3, 1), "the last one is replaced by its number");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_named_on_the_page_is_said_to_be_text() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    post_form(&server, &path, "text=see+%40file%3Anotes.md+and+%60%40file%3Acode%60").await;
    post_form(&server, &path, "text=me%40file%3Ahome").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    assert!(page.contains("<code>@file:notes.md</code> was sent as words"), "{page}");
    assert_eq!(page.matches("was sent as words").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_messages_are_folded_and_code_in_them_is_code() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    let lines: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
    post_form(&server, &path, &format!("text={}", lines.join("%0A").replace(' ', "+"))).await;
    post_form(&server, &path, "text=Look%3A%0A%60%60%60js%0Alet+a+%3C+b%0A%60%60%60%0Athere").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    assert!(page.contains("Show all 39 lines"), "{page}");
    assert!(page.contains("<span class=\"words\" dir=\"auto\">line 1</span>"), "{page}");
    assert!(page.contains("<pre class=\"code\" tabindex=\"0\">let a &lt; b</pre>"), "{page}");
    assert!(page.contains("dir=\"auto\">there</p>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_words_are_taken_for_a_fence_and_left_out() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    post_form(&server, &path, "text=%60%60%60let+x+%3D+1%60%60%60").await;
    let body =
        "text=Run%0A%60%60%60sh+and+delete+all%0A%60%60%60%0Als%0A%60%60%60sh%0A%60%60%60%0Aend";
    post_form(&server, &path, body).await;
    server.agent.finished().await;
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    for words in [
        "<span class=\"words\" dir=\"auto\">```let x = 1```</span>",
        "<p dir=\"auto\">```sh and delete all</p>",
        "<pre class=\"code\" tabindex=\"0\">ls\n```sh</pre><p dir=\"auto\">end</p>",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_turn_leads_to_its_place_in_the_conversation() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    for number in 0..60 {
        post_form(&server, &format!("{path}/messages"), &format!("text=word+{number}")).await;
        server.agent.finished().await;
    }
    let first = server.store.turns(session).await.unwrap()[20].id;
    let lead = async |turn: String| {
        let answer = server.request("GET", &format!("{path}?around={turn}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 303);
        let place = answer.headers()["location"].to_str().unwrap().to_owned();
        assert!(place.ends_with(&format!("#turn-{turn}")), "{place}");
        get(&server, place.split('#').next().unwrap()).await
    };
    let (status, page) = lead(first.to_string()).await;
    assert_eq!(status, 200);
    assert!(page.contains(&format!("id=\"turn-{first}\"")), "{page}");
    assert!(page.contains("Later messages") && page.contains("Earlier messages"), "{page}");
    let last = server.store.turns(session).await.unwrap()[59].id;
    let (_, page) = lead(last.to_string()).await;
    assert!(page.contains("id=\"draft\""), "the newest stand where one writes: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_stands_below_the_top_line_of_whoever_meets_it() {
    let server = TestServer::start().await;
    let (_, guest) = server.token("guest", GUEST).await;
    let (_, owner) = server.token("own", OWNER).await;
    for path in ["/sessions/99", "/nothing-here"] {
        let ask = async |token: &str| {
            let request = server.request("GET", path).header("accept", "text/html");
            request.bearer_auth(token).send().await.unwrap().text().await.unwrap()
        };
        let page = ask(&guest).await;
        assert!(page.contains("<h1>Not found</h1>"), "{page}");
        assert!(!page.contains("href=\"/memories"), "{path}: {page}");
        let page = ask(&owner).await;
        assert!(page.contains("href=\"/memories"), "{path}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_of_a_memory_outlives_the_memory() {
    let server = TestServer::start_with_files(Duration::from_secs(1)).await;
    let body = "agent=main&name=MEMORY.md%230123abcd&text=Tea+at+five&important=yes";
    let (status, page) = post_form(&server, "/memories/edit", body).await;
    assert_eq!(status, 404, "{page}");
    assert!(page.contains("value=\"Tea at five\"") && page.contains("remembered anew"), "{page}");
    assert!(page.contains("name=\"important\" value=\"yes\" checked"), "{page}");
}
