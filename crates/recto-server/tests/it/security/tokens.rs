//! Tokens: who has which rights with one, and what becomes of those who have none.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use recto_agent::Actor;
use recto_fakes::{AnswerGate, FakeAnswer};
use recto_store::{Moment, SessionFilter};

use recto_server::{OwnerAccess, TokenSecret};

use crate::security::{
    GUEST, MESSAGE, OWNER, OWNER_READ, outcome, start_closed, start_with_few_guesses,
};
use crate::support::TestServer;

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn beyond_this_machine_nobody_comes_in_without_a_token() {
    let server = start_closed().await;
    let session = server.own_session().await;
    let (_, token) = server.token("laptop", OWNER).await;
    let path = format!("/api/sessions/{session}/messages");
    let post = || server.request("POST", &path).header("content-type", "application/json");
    assert_eq!(outcome(post().body(MESSAGE)).await, "401 unauthorized");
    assert_eq!(outcome(post().body(MESSAGE).bearer_auth("recto_guess")).await, "401 unauthorized");
    for path in
        ["/", "/nothing", "/api/sessions", "/api", "/v1/models", "/ollama/api/tags", "/metrics"]
    {
        let refused = server.request("GET", path).send().await.unwrap();
        assert_eq!(refused.status(), 401, "{path}");
        assert_eq!(refused.headers()["www-authenticate"], "Bearer", "{path}");
        // The doors of vendors tell it in their own form.
        let keyed = server.request("GET", path).bearer_auth("sk-placeholder");
        assert!(outcome(keyed).await.starts_with("401"), "{path}");
    }
    assert_eq!(server.turns_in(session).await, 0);
    assert_eq!(outcome(server.request("GET", "/healthz")).await, "200");
    assert_eq!(outcome(post().body(MESSAGE).bearer_auth(&token)).await, "202");
    assert_eq!(server.turns_in(session).await, 1);
}

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_makes_nobody_the_owner() {
    let server = TestServer::start().await;
    let path = format!("/api/sessions/{}/events", server.own_session().await);
    let get = || server.request("GET", &path);
    assert_eq!(get().send().await.unwrap().status(), 200);
    for wrong in ["Bearer recto_wrong", "Bearer x", "Bearer ", "Basic YTpi", "recto_x"] {
        let refused = get().header("authorization", wrong);
        assert_eq!(outcome(refused).await, "401 unauthorized", "{wrong}");
    }
    let twice = get().header("authorization", "Bearer a").header("authorization", "Bearer b");
    assert_eq!(outcome(twice).await, "401 unauthorized");
    // Clients of other vendors have to send some key; one that looks like ours is meant.
    let door = |key: &str| server.request("GET", "/v1/nothing").bearer_auth(key);
    assert!(outcome(door("sk-placeholder")).await.starts_with("404"));
    assert!(outcome(door("recto_wrong")).await.starts_with("401"));
}

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn what_a_proxy_passes_on_is_not_the_owners() {
    let server = TestServer::start().await;
    let path = format!("/api/sessions/{}/events", server.own_session().await);
    for header in ["x-forwarded-for", "forwarded", "x-real-ip", "via"] {
        let request = server.request("GET", &path).header(header, "127.0.0.1");
        assert_eq!(outcome(request).await, "401 unauthorized", "{header}");
    }
}

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_and_an_expired_token_let_nobody_in() {
    let server = start_closed().await;
    let path = format!("/api/sessions/{}/events", server.own_session().await);
    let get = |token: &str| server.request("GET", &path).bearer_auth(token);
    let (id, revoked) = server.token("revoked", OWNER).await;
    assert_eq!(get(&revoked).send().await.unwrap().status(), 200);
    server.store.revoke_token(id, Moment::now()).await.unwrap();
    assert_eq!(outcome(get(&revoked)).await, "401 unauthorized");

    let soon = Timestamp::now() + SignedDuration::from_millis(700);
    let (_, expiring) = server.token_until("expiring", OWNER, Some(Moment::new(soon))).await;
    assert_eq!(get(&expiring).send().await.unwrap().status(), 200);
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(outcome(get(&expiring)).await, "401 unauthorized");
}

/// Promise: `rights-are-one-table`
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_reads_does_not_write() {
    let server = start_closed().await;
    let session = server.own_session().await;
    let (_, token) = server.token("dashboard", OWNER_READ).await;
    let path = format!("/api/sessions/{session}");
    let events = server.request("GET", &format!("{path}/events")).bearer_auth(&token);
    assert_eq!(events.send().await.unwrap().status(), 200);
    let post = |what: &str| server.request("POST", &format!("{path}/{what}")).bearer_auth(&token);
    let message = post("messages").header("content-type", "application/json").body(MESSAGE);
    assert_eq!(outcome(message).await, "403 not_allowed");
    assert_eq!(outcome(post("stop")).await, "403 not_allowed");
    assert_eq!(server.turns_in(session).await, 0);
}

/// Promise: `sessions-of-others-are-out-of-reach`
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_has_their_own_sessions_and_no_others() {
    let server = start_closed().await;
    let owners = server.own_session().await;
    let (id, token) = server.token("anna", GUEST).await;
    let (other_id, _) = server.token("ben", GUEST).await;
    let stored = server.store.token(id).await.unwrap().unwrap();
    let guests = server.session_of(&Actor::with_token(&stored), "hers").await;
    let other = server.store.token(other_id).await.unwrap().unwrap();
    let bens = server.session_of(&Actor::with_token(&other), "his").await;
    for (session, expected) in
        [(guests, "202"), (owners, "404 no_such_session"), (bens, "404 no_such_session")]
    {
        let post = server.request("POST", &format!("/api/sessions/{session}/messages"));
        let post = post.header("content-type", "application/json").body(MESSAGE);
        assert_eq!(outcome(post.bearer_auth(&token)).await, expected, "{session}");
    }
    for session in [owners, bens] {
        for (method, what) in [("GET", "events"), ("POST", "stop")] {
            let request = server.request(method, &format!("/api/sessions/{session}/{what}"));
            assert_eq!(outcome(request.bearer_auth(&token)).await, "404 no_such_session", "{what}");
        }
    }
    assert_eq!(server.turns_in(owners).await + server.turns_in(bens).await, 0);
}

/// The end of a stream that was open: what it says until its server cuts it.
async fn cut_within(mut stream: reqwest::Response, patience: Duration) -> bool {
    let end = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(patience, end).await.is_ok()
}

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let server = start_closed().await;
    let events = format!("/api/sessions/{}/events", server.own_session().await);
    let open = async |path: &str, token: &str| {
        let stream = server.request("GET", path).bearer_auth(token).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        stream
    };
    let (id, revoked) = server.token("revoked", OWNER).await;
    let soon = Timestamp::now() + SignedDuration::from_millis(900);
    let (_, expiring) = server.token_until("expiring", OWNER, Some(Moment::new(soon))).await;
    let (_, other) = server.token("other", OWNER).await;
    let kept = open(&events, &other).await;
    let ending = [
        open(&events, &revoked).await,
        open("/api/events", &revoked).await,
        open(&events, &expiring).await,
    ];
    server.store.revoke_token(id, Moment::now()).await.unwrap();
    for stream in ending {
        let path = stream.url().path().to_owned();
        assert!(cut_within(stream, Duration::from_secs(5)).await, "{path} went on");
    }
    assert!(!cut_within(kept, Duration::from_millis(1_500)).await, "another's stream ended");
}

/// Promise: `no-token-no-entry`
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_at_a_front_door_ends_with_its_token() {
    let server = start_closed().await;
    let (id, token) = server.token("client", OWNER).await;
    let gate = AnswerGate::new();
    server.fake.push(FakeAnswer::text("one two three").held(&gate));
    gate.release(1);
    let body = r#"{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let request = server.request("POST", "/v1/chat/completions").bearer_auth(&token);
    let request = request.header("content-type", "application/json").body(body);
    let mut streamed = request.send().await.unwrap();
    assert!(streamed.chunk().await.unwrap().is_some());
    // Another that waits for all of its reply.
    server.fake.push(FakeAnswer::text("one two three").held(&AnswerGate::new()));
    let whole = server.request("POST", "/v1/chat/completions").bearer_auth(&token);
    let whole = whole.header("content-type", "application/json");
    let whole = whole.body(body.replace("true", "false").replace("hi", "ho"));
    let waiting = tokio::spawn(whole.send());
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.store.revoke_token(id, Moment::now()).await.unwrap();
    assert!(cut_within(streamed, Duration::from_secs(5)).await, "the reply went on");
    let waited = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    let answer = waited.expect("the request went on").unwrap().unwrap();
    assert_eq!(answer.status(), 401);
    // Nobody reads the replies, so the turns end.
    let ended = tokio::time::timeout(Duration::from_secs(5), server.agent.finished()).await;
    assert!(ended.is_ok(), "a turn goes on for a client that was cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_begins_nothing() {
    let server = TestServer::start().await;
    let session = server.own_session().await;
    let gate = AnswerGate::new();
    server.fake.push(FakeAnswer::text("one two").held(&gate));
    let message = serde_json::from_str(MESSAGE).unwrap();
    let path = format!("/api/sessions/{session}/messages");
    assert_eq!(server.post(&path, &message).await.0, 202);
    server.end.notify_one();
    while outcome(server.request("GET", "/readyz")).await == "200" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let chat = r#"{"model":"main","messages":[{"role":"user","content":"hi"}]}"#;
    for (path, body) in [("/v1/chat/completions", chat), ("/api/sessions", "{}")] {
        let post = server.request("POST", path).header("content-type", "application/json");
        assert!(outcome(post.body(body)).await.starts_with("503"), "{path}");
    }
    let sessions = server.store.sessions(SessionFilter::Open).await.unwrap();
    assert_eq!(sessions.len(), 1, "a session was begun for a client that was refused");
}

/// Promise: `guessing-is-slow`
#[tokio::test(flavor = "multi_thread")]
async fn those_who_guess_are_slowed_down_and_those_who_know_are_not() {
    let server = start_with_few_guesses(OwnerAccess::ByPlace).await;
    let path = format!("/api/sessions/{}/stop", server.own_session().await);
    let try_token = |token: &str| outcome(server.request("POST", &path).bearer_auth(token));
    let (_, used) = server.token("used", OWNER).await;
    let (_, fresh) = server.token("fresh", OWNER).await;
    let good = try_token(&used).await;
    assert!(!good.contains("40"), "{good}");
    for guess in 0..10 {
        assert_eq!(try_token(&format!("recto_{guess}")).await, "401 unauthorized");
    }
    let refused = server.request("POST", &path).bearer_auth("recto_11").send().await.unwrap();
    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    // Whoever has a good one is not kept out by those who guess at the same address.
    assert_eq!(try_token(&fresh).await, good);
    assert_eq!(try_token(&used).await, good);
    let well_formed = TokenSecret::generate().unwrap();
    assert_eq!(try_token(well_formed.reveal()).await, "429 too_many_requests");
    // The owner, who shows nothing, is not concerned.
    assert_eq!(outcome(server.request("POST", &path)).await, good);
}

/// Promise: `guessing-is-slow`
#[tokio::test(flavor = "multi_thread")]
async fn those_who_guess_behind_addresses_that_they_make_up_are_slowed_down_too() {
    let server = start_with_few_guesses(OwnerAccess::ByPlace).await;
    let (_, good) = server.token("used", OWNER).await;
    let try_token = |guess: usize, token: &str| {
        let request = server.request("GET", "/api/agents").bearer_auth(token);
        outcome(request.header("x-forwarded-for", format!("10.0.{}.{}", guess / 200, guess % 200)))
    };
    let mut told = String::new();
    let mut guesses = 0;
    while guesses < 1_000 && told != "429 too_many_requests" {
        told = try_token(guesses, &format!("recto_{guesses}")).await;
        guesses += 1;
    }
    assert!((50..1_000).contains(&guesses), "{guesses}: {told}");
    assert_eq!(try_token(guesses, &good).await, "200");
}

/// Promise: `tokens-stay-secret`
#[tokio::test(flavor = "multi_thread")]
async fn no_answer_repeats_a_token_and_its_use_is_noted() {
    let server = start_closed().await;
    let (id, token) = server.token("laptop", OWNER).await;
    for shown in [token.as_str(), "recto_this-one-is-wrong"] {
        let answer = server.request("GET", "/nothing").bearer_auth(shown).send().await.unwrap();
        let text = format!("{:?}\n{}", answer.headers().clone(), answer.text().await.unwrap());
        assert!(!text.contains(shown), "{text}");
    }
    for _ in 0..100 {
        if server.store.token(id).await.unwrap().unwrap().last_used.is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the use of the token was not noted");
}
