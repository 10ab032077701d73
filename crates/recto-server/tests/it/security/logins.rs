//! People who log in with a browser, and their cookies in the hands of other sites.

use std::time::Duration;

use recto_server::{AccessOptions, ConnectionLimits, FormKey, OwnerAccess};
use recto_store::Moment;
use reqwest::Response;

use crate::security::{MESSAGE, OWNER, outcome, start_closed, start_with_few_guesses};
use crate::support::TestServer;

/// A browser that has the log-in before it.
struct LoginPage {
    cookie: String,
    form_token: String,
}

/// The cookie that an answer sets, as a browser sends it back.
fn set_cookie(answer: &Response) -> String {
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age="), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

fn form_token(page: &str) -> String {
    let (_, behind) = page.split_once("name=\"form_token\" value=\"").unwrap();
    behind.split('"').next().unwrap().to_owned()
}

async fn open_login(server: &TestServer) -> LoginPage {
    let answer = server.request("GET", "/login?to=/sessions/4").send().await.unwrap();
    let cookie = set_cookie(&answer);
    LoginPage { cookie, form_token: form_token(&answer.text().await.unwrap()) }
}

fn send_login(server: &TestServer, page: &LoginPage, token: &str) -> reqwest::RequestBuilder {
    let LoginPage { cookie, form_token } = page;
    let post = server.request("POST", "/login").header("cookie", cookie);
    // As browsers send forms from pages that hide where they are.
    let post = post.header("origin", "null").header("sec-fetch-site", "same-origin");
    let post = post.header("content-type", "application/x-www-form-urlencoded");
    post.body(format!("form_token={form_token}&to=%2Fsessions%2F4&token={token}"))
}

/// Promise: `logins-are-for-one-browser`
#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_and_out() {
    let server = start_closed().await;
    let session = server.own_session().await;
    let (_, token) = server.token("phone", OWNER).await;
    let first = server.request("GET", "/sessions/4").header("accept", "text/html");
    let first = first.send().await.unwrap();
    assert_eq!(first.status(), 303);
    assert_eq!(first.headers()["location"], "/login?to=%2Fsessions%2F4");

    let page = open_login(&server).await;
    assert_eq!(send_login(&server, &page, "recto_wrong").send().await.unwrap().status(), 401);
    let done = send_login(&server, &page, &token).send().await.unwrap();
    assert_eq!(
        (done.status().as_u16(), &done.headers()["location"]),
        (303, &"/sessions/4".parse().unwrap())
    );
    let cookie = set_cookie(&done);
    assert_ne!(cookie, page.cookie);
    assert!(!cookie.contains(&token));

    let own = format!("http://{}", server.address);
    let post = |path: String, cookie: &str| {
        server.request("POST", &path).header("cookie", cookie).header("origin", &own)
    };
    let messages = || format!("/api/sessions/{session}/messages");
    let json = "application/json";
    let send = |cookie: &str| post(messages(), cookie).header("content-type", json).body(MESSAGE);
    assert_eq!(outcome(send(&cookie)).await, "202");
    // The cookie of before the log-in is worth nothing.
    assert_eq!(outcome(send(&page.cookie)).await, "401 unauthorized");

    assert_eq!(outcome(post("/logout".into(), &cookie)).await, "303");
    assert_eq!(outcome(send(&cookie)).await, "401 unauthorized");
}

/// Promise: `logins-are-for-one-browser`
#[tokio::test(flavor = "multi_thread")]
async fn who_logs_in_again_is_logged_in_once() {
    let server = start_closed().await;
    let (_, token) = server.token("phone", OWNER).await;
    let page = open_login(&server).await;
    let first = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let again = server.request("GET", "/login").header("cookie", &first).send().await.unwrap();
    assert!(!again.headers().contains_key("set-cookie"));
    let form_token = form_token(&again.text().await.unwrap());
    let page = LoginPage { cookie: first.clone(), form_token };
    let second = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let get = |cookie: &str| server.request("GET", "/nothing").header("cookie", cookie);
    assert!(outcome(get(&second)).await.starts_with("404"));
    assert_eq!(outcome(get(&first)).await, "401 unauthorized");
}

/// Promise: `logins-are-for-one-browser`
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_ends_with_its_token() {
    let server = start_closed().await;
    let (id, token) = server.token("phone", OWNER).await;
    let page = open_login(&server).await;
    let cookie = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let get = || server.request("GET", "/nothing").header("cookie", &cookie);
    assert!(outcome(get()).await.starts_with("404"));
    server.store.revoke_token(id, Moment::now()).await.unwrap();
    assert_eq!(outcome(get()).await, "401 unauthorized");
}

/// Promise: `logins-are-for-one-browser`
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_login() {
    let server = start_closed().await;
    let (_, token) = server.token("phone", OWNER).await;
    let page = open_login(&server).await;
    let cookie = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let events = server.request("GET", "/api/events").header("cookie", &cookie);
    let mut events = events.send().await.unwrap();
    assert_eq!(events.status(), 200);
    let own = format!("http://{}", server.address);
    let out = server.request("POST", "/logout").header("cookie", &cookie).header("origin", &own);
    let out = out.send().await.unwrap();
    assert_eq!(out.status(), 303);
    // What was being written goes with whoever wrote it.
    assert_eq!(out.headers()["clear-site-data"], "\"storage\"");
    let end = async { while let Ok(Some(_)) = events.chunk().await {} };
    let ended = tokio::time::timeout(Duration::from_secs(5), end).await;
    assert!(ended.is_ok(), "the stream went on");
}

/// Promise: `logins-are-for-one-browser`
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_the_same_name_hides_nobody() {
    let server = start_closed().await;
    let (_, token) = server.token("phone", OWNER).await;
    let page = open_login(&server).await;
    let cookie = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let (name, _) = cookie.split_once('=').unwrap();
    let both = format!("{name}=junk; {cookie}");
    let get = server.request("GET", "/api/sessions").header("cookie", both);
    assert_eq!(outcome(get).await, "200");
}

/// A form of the chat, as a browser sends it.
fn chat_form(server: &TestServer, form_token: &str) -> reqwest::RequestBuilder {
    let post = server.request("POST", "/sessions").header("origin", "null");
    let post = post.header("sec-fetch-site", "same-origin").header("accept", "text/html");
    let post = post.header("content-type", "application/x-www-form-urlencoded");
    post.body(format!("form_token={form_token}&text=hello"))
}

/// Promise: `pages-outlive-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_open_goes_on_when_the_server_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let start = async || {
        let key = FormKey::load_or_create(&folder.path().join("form.key")).unwrap();
        let (access, limits) = (AccessOptions::default(), ConnectionLimits::default());
        TestServer::start_with_key(access, limits, key).await
    };
    let before = start().await;
    let page = before.request("GET", "/new").send().await.unwrap().text().await.unwrap();
    drop(before);
    let after = start().await;
    assert_eq!(outcome(chat_form(&after, &form_token(&page))).await, "303");
    // The key of another home makes other tokens.
    let other = TestServer::start().await;
    let refused = chat_form(&other, &form_token(&page)).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let told = refused.text().await.unwrap();
    assert!(told.contains("load the page again") && told.contains("<!DOCTYPE html>"), "{told}");
}

/// Promise: `pages-outlive-the-server`
#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_login_has_ended_leads_to_the_login() {
    let server = start_closed().await;
    let (_, token) = server.token("phone", OWNER).await;
    // A cookie that no server which runs now has given.
    let cookie = format!("recto_session_{}=of-before", server.address.port());
    let form = |path: &str, accept: &str| {
        let post = server.request("POST", path).header("cookie", &cookie).header("origin", "null");
        let post = post.header("accept", accept).header("sec-fetch-site", "same-origin");
        let post = post.header("content-type", "application/x-www-form-urlencoded");
        post.body("form_token=x&text=hello")
    };
    let answer = form("/sessions/4/messages", "text/html").send().await.unwrap();
    let way = answer.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!((answer.status().as_u16(), &*way), (303, "/login?to=%2Fsessions%2F4&reason=ended"));
    let page = server.request("GET", &way).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("You are not logged in any more"), "{page}");
    // To a script it is told.
    let told = form("/sessions/4/messages", "*/*").send().await.unwrap();
    assert_eq!(told.status(), 401);
    let told = told.text().await.unwrap();
    assert!(told.contains("you are not logged in, or not any more"), "{told}");
    // Who logs in again can send what stands in a page of before, in whichever tab.
    let log_in = async || {
        let page = open_login(&server).await;
        set_cookie(&send_login(&server, &page, &token).send().await.unwrap())
    };
    let first = log_in().await;
    let open = server.request("GET", "/new").header("cookie", &first).send().await.unwrap();
    let in_page = form_token(&open.text().await.unwrap());
    let second = log_in().await;
    let sent = chat_form(&server, &in_page).header("cookie", &second);
    assert_eq!(outcome(sent).await, "303");
}

/// Promise: `other-sites-stay-outside`
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_alone_changes_nothing() {
    let server = start_closed().await;
    let session = server.own_session().await;
    let (_, token) = server.token("phone", OWNER).await;
    let page = open_login(&server).await;
    let cookie = set_cookie(&send_login(&server, &page, &token).send().await.unwrap());
    let path = format!("/api/sessions/{session}/messages");
    let post = || server.request("POST", &path).header("cookie", &cookie).body(MESSAGE);
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    for (headers, refusal) in [
        (vec![json, ("origin", "http://evil.example")], "403 cross_site"),
        (vec![form, ("origin", "http://evil.example")], "403 cross_site"),
        (vec![form, ("origin", "null")], "403 forged_request"),
        (vec![json, ("origin", "null")], "403 forged_request"),
        (vec![json], "403 forged_request"),
        (vec![form], "403 forged_request"),
        (vec![("content-type", "text/plain")], "403 forged_request"),
    ] {
        let request = headers.iter().fold(post(), |post, (name, value)| post.header(*name, *value));
        assert_eq!(outcome(request).await, refusal, "{headers:?}");
    }
    // Somebody else's form has somebody else's token.
    let others = open_login(&server).await.form_token;
    for form_token in [others.as_str(), page.form_token.as_str(), ""] {
        let forged = server.request("POST", "/logout").header("cookie", &cookie);
        let forged = forged.header(form.0, form.1).body(format!("form_token={form_token}"));
        assert_eq!(outcome(forged).await, "403 forged_request");
    }
    assert_eq!(server.turns_in(session).await, 0);
}

/// Promise: `other-sites-stay-outside`
#[tokio::test(flavor = "multi_thread")]
async fn no_other_site_logs_somebody_in() {
    let server = start_closed().await;
    let (_, token) = server.token("attacker", OWNER).await;
    let attackers = open_login(&server).await;
    let victims = open_login(&server).await;
    let form = |cookie: &str, form_token: &str| LoginPage {
        cookie: cookie.to_owned(),
        form_token: form_token.to_owned(),
    };
    // A foreign form brings no cookie along, or the victim's, which its token does not fit.
    for page in [form("a=b", &attackers.form_token), form(&victims.cookie, &attackers.form_token)] {
        assert_eq!(outcome(send_login(&server, &page, &token)).await, "403 forged_request");
    }
    assert_eq!(outcome(send_login(&server, &victims, &token)).await, "303");
}

/// Promise: `guessing-is-slow`
#[tokio::test(flavor = "multi_thread")]
async fn guesses_in_the_form_count_too() {
    let server = start_with_few_guesses(OwnerAccess::ByToken).await;
    let page = open_login(&server).await;
    for guess in 0..10 {
        let answer = send_login(&server, &page, &format!("recto_{guess}")).send().await.unwrap();
        assert_eq!(answer.status(), 401);
    }
    assert_eq!(outcome(send_login(&server, &page, "recto_x")).await, "429");
}
