//! The chat as it is served: what stands in the page, and what the page loads.

mod said;

use std::sync::Arc;
use std::time::Duration;

use recto_agent::{Actor, Conversation};
use recto_context::Message;
use recto_fakes::{FakeAnswer, FakeCall};
use recto_store::{
    BindingKey, ChannelAccount, Moment, NewChannelDelivery, NewMessage, NewPairing, NewSession,
    PairingSubject, SessionHolder, SessionId, StoredSession,
};
use serde_json::json;
use tokio::time::timeout;

use crate::security::{GUEST, OWNER, OWNER_READ};
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

/// The bytes that a browser is sent for a page and for all that it loads.
async fn weigh(server: &TestServer, page: &str) -> usize {
    let mut bytes = page.len();
    let mut names = loaded(page);
    let mut seen = std::collections::HashSet::new();
    while let Some(path) = names.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let response = server.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let kept = response.headers()["cache-control"].to_str().unwrap().to_owned();
        assert!(kept.contains("immutable"), "{path}: {kept}");
        assert!(!response.headers().contains_key("content-encoding"), "nobody asked for it");
        let text = response.text().await.unwrap();
        let packed = server.request("GET", &path).header("accept-encoding", "gzip, br");
        let packed = packed.send().await.unwrap();
        assert_eq!(packed.headers()["content-encoding"], "gzip");
        assert_eq!(packed.headers()["vary"], "accept-encoding");
        let packed = packed.bytes().await.unwrap();
        assert!(packed.starts_with(&[0x1f, 0x8b]), "{path}");
        bytes += packed.len();
        let folder = path.rsplit_once('/').unwrap().0;
        // What a module imports stands beside it.
        let imports = text.split("from \"./").skip(1).map(|rest| rest.split('"').next().unwrap());
        names.extend(
            imports.map(|name| format!("{folder}/{name}")).filter(|name| !page.contains(name)),
        );
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_loads_little_and_all_of_it_is_there() {
    let server = TestServer::start().await;
    let (status, page) = get(&server, "/").await;
    assert_eq!(status, 200);
    assert!(page.contains("Talk to main"), "{page}");
    let bytes = weigh(&server, &page).await;
    assert!(bytes < 50_000, "{bytes}");
    let session = import(&server, 5_000).await;
    let (_, page) = get(&server, &format!("/sessions/{session}")).await;
    let bytes = weigh(&server, &page).await;
    assert!(bytes < 100_000, "{bytes}");
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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_in_the_archive_takes_its_session_out_of_it() {
    let server = TestServer::start().await;
    let (first, second) = (begin(&server, "talk").await.id, begin(&server, "other").await.id);
    let is_put_away =
        async |session| server.store.session(session).await.unwrap().unwrap().archived.is_some();
    for session in [first, second] {
        let path = format!("/sessions/{session}");
        post_form(&server, &format!("{path}/messages"), "text=hello").await;
        server.agent.finished().await;
        post_form(&server, &format!("{path}/archive"), "").await;
        assert!(is_put_away(session).await);
    }
    for (session, form) in [(first, "text=hello+again"), (second, "text=%2Fretry")] {
        let path = format!("/sessions/{session}/messages");
        assert_eq!(post_form(&server, &path, form).await.0, 303, "{form}");
        server.agent.finished().await;
        assert!(!is_put_away(session).await, "{form}");
    }

    // Another session has the name by now: what to do is said, and nothing is stored.
    post_form(&server, &format!("/sessions/{first}/archive"), "").await;
    begin(&server, "talk").await;
    let path = format!("/sessions/{first}/messages");
    let (status, page) = post_form(&server, &path, "text=where+are+you").await;
    assert_eq!(status, 409, "{page}");
    assert!(page.contains("talk") && is_put_away(first).await, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_takes_what_its_buttons_say_and_nothing_else() {
    let server = TestServer::start().await;
    let answer = async |word: &str| {
        let request = server.request("POST", "/approvals/1");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(format!("answer={word}")).send().await.unwrap().status().as_u16()
    };
    // There is no such question.
    for word in ["once", "session", "deny"] {
        assert_eq!(answer(word).await, 404, "{word}");
    }
    for word in ["expired", "withdrawn", "denied", "yes", ""] {
        assert_eq!(answer(word).await, 400, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_comes_back_is_told_of_all_that_it_has_missed() {
    let server = TestServer::start().await;
    let path = format!("/sessions/{}", begin(&server, "talk").await.id);
    let say = async |form: &str| {
        assert!(post_form(&server, &format!("{path}/messages"), form).await.0 < 400, "{form}");
        server.agent.finished().await;
    };
    for form in ["text=one", "text=two", "text=three", "text=%2Fundo"] {
        say(form).await;
    }
    let line = |turn: u64, taken_back: bool| json!({"turn": turn, "state": "ended", "taken_back": taken_back});
    let (_, told) = server.get(&format!("{path}/states")).await;
    let turns = [line(1, false), line(2, false), line(3, true)];
    assert_eq!(told, json!({"turns": turns, "has_more": false}));
    for number in 4..24 {
        say(&format!("text={number}")).await;
    }
    // One that shows none of these has missed more than they are.
    let (_, told) = server.get(&format!("{path}/states")).await;
    let turns: Vec<_> = (4..24).map(|turn| line(turn, false)).collect();
    assert_eq!(told, json!({"turns": turns, "has_more": true}));
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
        holder: SessionHolder::owner(),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_session_says_how_long_it_is_also_where_nothing_was_said_here() {
    let server = TestServer::start().await;
    let imported = import(&server, 2_000).await;
    let (empty, spoken) = (begin(&server, "empty").await.id, begin(&server, "talk").await.id);
    post_form(&server, &format!("/sessions/{spoken}/messages"), "text=hello").await;
    server.agent.finished().await;
    let nothing = "Nothing has been said in this session yet.";
    for (session, length) in [(imported, "2,000 messages"), (empty, "0 turns"), (spoken, "1 turn")]
    {
        let (_, page) = get(&server, &format!("/sessions/{session}")).await;
        let (_, side) = get(&server, &format!("/sessions?current={session}")).await;
        for part in [&page, &side] {
            let facts = between(part, "id=\"session-facts\"", "</span>");
            assert!(facts.ends_with(&format!(" · {length}")), "{facts}");
        }
        assert_eq!(page.contains(nothing), session == empty, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_put_away_stays_open_with_the_way_out() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    begin(&server, "other").await;
    let path = format!("/sessions/{session}");
    for (action, is_there) in [("archive", true), ("unarchive", false)] {
        let request = server.request("POST", &format!("{path}/{action}"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let sent = request.header("x-recto-live", "1").send().await.unwrap();
        assert_eq!(sent.json::<serde_json::Value>().await.unwrap(), json!({"go": path}));
        let (_, page) = get(&server, &path).await;
        assert_eq!(page.contains("This session is in the archive."), is_there, "{action}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_follows_its_session_and_the_list_by_one_stream() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/stream?session={session}");
    let mut stream = server.request("GET", &path).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    post_form(&server, &format!("/sessions/{session}/messages"), "text=hello&mode=full").await;
    server.agent.finished().await;
    let mut told = String::new();
    let is_whole = |told: &str| {
        told.contains("\"event\":\"finished\"") && told.contains("\"event\":\"session\"")
    };
    while !is_whole(&told) {
        let chunk = timeout(Duration::from_secs(30), stream.chunk()).await;
        let chunk = chunk.expect("both kinds of events").unwrap().unwrap();
        told.push_str(&String::from_utf8_lossy(&chunk));
    }
    let events: Vec<&str> = told.split("\n\n").filter(|event| event.contains("data: ")).collect();
    for event in &events {
        // A browser names the last id that it has heard: only those of the session have one.
        let is_list = event.contains("event: list\n");
        assert_eq!(event.contains("id: "), !is_list, "{event}");
    }
    assert!(events.iter().any(|event| event.contains("\"ready\"")), "{told}");
    let last = events.iter().rev().find_map(|event| event.split("id: ").nth(1));
    let last = last.and_then(|rest| rest.lines().next()).unwrap();
    let again = server.request("GET", &path).header("last-event-id", last);
    let mut again = again.send().await.unwrap();
    let first = timeout(Duration::from_secs(30), again.chunk()).await.unwrap().unwrap().unwrap();
    let first = String::from_utf8_lossy(&first).into_owned();
    assert!(first.contains("ready") && !first.contains("id: "), "nothing twice: {first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_leads_nowhere_is_a_page_for_people_and_a_problem_for_programs() {
    let server = TestServer::start().await;
    let page = server.request("GET", "/nowhere").header("accept", "text/html,*/*");
    let page = page.send().await.unwrap();
    assert_eq!(page.status().as_u16(), 404);
    let page = page.text().await.unwrap();
    assert!(page.contains("<h1>Not found</h1>") && page.contains("href=\"/memories\""), "{page}");
    let (status, problem) = server.get("/nowhere").await;
    assert_eq!((status, &problem["code"]), (404, &"no_such_path".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripts_send_and_cannot_be_read_is_told_as_a_problem() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let preview = format!("/sessions/{session}/preview");
    for path in ["/drawn", "/preview", &preview] {
        for (body, code) in [("{", "bad_json"), ("[]", "bad_json"), ("{\"text\":3}", "bad_field")] {
            let request = server.request("POST", path).header("content-type", "application/json");
            let told = request.body(body).send().await.unwrap();
            assert_eq!(told.status().as_u16(), 400, "{path} {body}");
            assert_eq!(told.headers()["content-type"], "application/problem+json", "{path}");
            assert!(told.text().await.unwrap().contains(code), "{path} {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_page_can_read_is_told_as_a_page_or_as_a_problem() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let form = "application/x-www-form-urlencoded";
    for (method, path, kind, status) in [
        ("GET", "/sessions/abc".to_owned(), form, 404),
        ("GET", "/nothing".to_owned(), form, 404),
        ("GET", format!("/sessions/{session}/older?before=x"), form, 400),
        ("DELETE", "/memories".to_owned(), form, 405),
        ("POST", format!("/sessions/{session}/rename"), form, 400),
        ("POST", format!("/sessions/{session}/rename"), "text/plain", 415),
    ] {
        let request = || server.request(method, &path).header("content-type", kind);
        let told = request().header("accept", "text/html").send().await.unwrap();
        let is_page = told.headers()["content-type"].to_str().unwrap().starts_with("text/html");
        assert_eq!((told.status().as_u16(), is_page), (status, true), "{method} {path}");
        assert!(told.text().await.unwrap().contains("role=\"alert\""), "{method} {path}");
        let told = request().header("x-recto-live", "1").send().await.unwrap();
        assert_eq!(told.headers()["content-type"], "application/problem+json", "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_begins_no_session() {
    let server = TestServer::start().await;
    let (status, page) = post_form(&server, "/sessions", "text=%2Fhelp").await;
    assert_eq!(status, 200);
    assert!(page.contains("/approve") && page.contains("Talk to main"), "{page}");
    let (status, page) = post_form(&server, "/sessions", "text=%2Fmodel+x").await;
    assert_eq!(status, 400);
    assert!(page.contains("is about a session, and none has begun yet"), "{page}");
    let (status, page) = post_form(&server, "/sessions", "text=hello&agent=nobody").await;
    assert_eq!(status, 404);
    assert!(page.contains("there is no agent <code>nobody</code>"), "{page}");
    let all = server.store.sessions(recto_store::SessionFilter::All).await.unwrap();
    assert!(all.is_empty(), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_may_not_do_is_not_offered() {
    let server = TestServer::start().await;
    let rules = server.folder.path().join("workspace/rules");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("tone.md"), "Be kind.\n").unwrap();
    let trick = "r\u{202e}gpj";
    std::fs::write(rules.join(format!("{trick}.md")), "Be kind.\n").unwrap();
    let shown = async |path: &str, token: &str| {
        let request = server.request("GET", path).bearer_auth(token);
        request.send().await.unwrap().text().await.unwrap()
    };
    let (_, owner) = server.token("own", OWNER).await;
    let (_, reader) = server.token("reader", OWNER_READ).await;
    let (_, guest) = server.token("guest", GUEST).await;
    let completions = shown("/completions", &owner).await;
    assert!(completions.contains("@rule:tone") && !completions.contains(trick), "{completions}");
    let completions = shown("/completions", &guest).await;
    assert!(completions.contains("/help") && !completions.contains("tone"), "{completions}");
    assert!(shown("/", &owner).await.contains("href=\"/models\""));
    assert!(!shown("/", &guest).await.contains("href=\"/models\""));
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    // Nor is what would not be seen as it is.
    let page = shown(&path, &owner).await;
    assert!(page.contains("value=\"rule:tone\"") && !page.contains(trick), "{page}");
    post_form(&server, &format!("{path}/messages"), "text=hello").await;
    server.agent.finished().await;
    let offers = |page: &str| {
        ["href=\"/new\"", "value=\"/retry\"", "/archive\" data-live", "View context"]
            .map(|control| page.contains(control))
    };
    assert_eq!(offers(&shown(&path, &owner).await), [true; 4]);
    assert_eq!(offers(&shown(&path, &reader).await), [false, false, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_changed_all_or_none() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/settings");
    let (status, page) = post_form(&server, &path, "temperature=9&context_mode=minimal").await;
    assert_eq!(status, 400);
    assert!(page.contains("temperature") && !page.contains("/set"), "{page}");
    let set = async || server.store.session(session).await.unwrap().unwrap().settings;
    assert!(!set().await.contains_key("context_mode"), "none of them");
    let (status, _) = post_form(&server, &path, "temperature=&context_mode=minimal").await;
    assert_eq!((status, &set().await["context_mode"]), (303, &"minimal".into()));
    let (status, _) = post_form(&server, &path, "context_mode=default").await;
    assert_eq!((status, set().await.contains_key("context_mode")), (303, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_a_page_sends_again_begins_no_other_turn() {
    let server = TestServer::start().await;
    for _ in 0..2 {
        let (status, _) = post_form(&server, "/sessions", "text=hello&delivery=1763000000").await;
        assert_eq!(status, 303);
    }
    server.agent.finished().await;
    let all = server.store.sessions(recto_store::SessionFilter::All).await.unwrap();
    let [begun] = all.as_slice() else { panic!("one session begins: {all:?}") };
    let path = format!("/sessions/{}", begun.session.id);
    for body in ["text=more&delivery=2", "text=other&edits=3&delivery=3"] {
        for _ in 0..2 {
            assert_eq!(post_form(&server, &format!("{path}/messages"), body).await.0, 303);
        }
        server.agent.finished().await;
    }
    let (_, page) = get(&server, &path).await;
    assert_eq!(page.matches("<article").count(), 3, "{page}");
    assert_eq!(page.matches("said otherwise").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_sent_in_place_of_the_last_message_is_shown_without_it() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    server.fake.push(FakeAnswer::text("Wicks are trimmed at dusk."));
    post_form(&server, &format!("{path}/messages"), "text=hello&mode=full").await;
    server.agent.finished().await;
    let shown = async |edits: bool| {
        let draft = json!({"text": "other", "mode": "full", "edits": if edits { "1" } else { "" }, "shows": "page"});
        let (status, told) = server.post(&format!("{path}/preview"), &draft).await;
        assert_eq!(status, 200, "{told}");
        told.as_str().unwrap().contains("Wicks are trimmed")
    };
    assert!(shown(false).await);
    assert!(!shown(true).await, "it would be taken back");
    assert!(shown(false).await, "nothing was taken back by the look");
    // A command is not sent to a model; two slashes are one of the message.
    let meter = async |text: &str| {
        let draft = json!({"text": text, "mode": null});
        server.post(&format!("{path}/preview"), &draft).await
    };
    assert_eq!(meter("/help").await, (200, json!("")));
    let (_, told) = meter("//help me").await;
    assert!(told.as_str().unwrap().contains("Would be sent"), "{told}");
}

/// Promise: `strangers-wait-for-the-owner`
#[tokio::test(flavor = "multi_thread")]
async fn who_is_let_in_from_chats_is_said_by_the_owner_alone() {
    let server = TestServer::start().await;
    let bot = ChannelAccount { channel: "telegram".into(), account: "a_bot".into() };
    for (subject, code) in [("5", "CODE5555"), ("6", "CODE6666")] {
        let new = NewPairing {
            kind: PairingSubject::Person,
            subject: subject.into(),
            name: "<b>Eve</b>".into(),
            code: code.into(),
            request: format!("update-{subject}"),
            welcome: NewChannelDelivery {
                key: format!("welcome-{subject}"),
                conversation: subject.into(),
                turn: None,
                target: json!({}),
                content: Some(json!({"markdown": "You are let in."})),
            },
            at: Moment::now(),
        };
        server.store.request_pairing(&bot, new).await.unwrap();
    }
    let (_, page) = get(&server, "/models").await;
    assert!(page.contains("&lt;b&gt;Eve&lt;/b&gt;") && !page.contains("CODE5555"), "{page}");
    let (_, guest) = server.token("guest", GUEST).await;
    let (_, reader) = server.token("reader", OWNER_READ).await;
    for token in [&guest, &reader] {
        let request = server.request("POST", "/pairings/approve").body("code=CODE5555");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let refused = request.bearer_auth(token).send().await.unwrap();
        assert_eq!(refused.status().as_u16(), 403);
    }
    let (status, _) = post_form(&server, "/pairings/approve", "code=WRONG").await;
    assert_eq!(status, 404);
    let (status, _) = post_form(&server, "/pairings/approve", "code=code5555").await;
    assert_eq!(status, 303);
    assert!(server.store.find_paired(&bot, "5").await.unwrap().is_some());
    let (status, _) = post_form(&server, "/pairings/revoke", "pairing=1").await;
    assert_eq!(status, 303);
    assert!(server.store.find_paired(&bot, "5").await.unwrap().is_none());
}

/// Waits until somebody is asked.
async fn wait_for_question(server: &TestServer) -> recto_store::StoredApproval {
    for _ in 0..600 {
        if let Some(open) = server.store.open_approvals(Moment::now()).await.unwrap().pop() {
            return open;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_sees_with_whom_a_session_is_and_for_whom_a_question() {
    let server = TestServer::start_with_files(Duration::from_secs(60)).await;
    let (token, guest) = server.token("anna", GUEST).await;
    let arguments = json!({"path": "notes.md", "content": "hello"});
    server.fake.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
    let request = server.request("POST", "/sessions").bearer_auth(&guest);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let begun = request.body("text=write+it").send().await.unwrap();
    assert_eq!(begun.status().as_u16(), 303);
    let asked = wait_for_question(&server).await;
    let path = format!("/sessions/{}", asked.session);
    let (_, page) = get(&server, &path).await;
    let part = |page: &str, from: &str, to: &str| {
        let rest = page.split(from).nth(1).unwrap_or_else(|| panic!("{from}: {page}")).to_owned();
        rest.split(to).next().unwrap().to_owned()
    };
    let with = "with anna (guest)";
    assert!(part(&page, "id=\"sessions\"", "</nav>").contains(with), "{page}");
    assert!(part(&page, "<main", "id=\"scroll\"").contains(with), "{page}");
    assert!(
        part(&page, "id=\"composer\"", "</form>").contains("anna (guest) reads along"),
        "{page}"
    );
    assert!(
        part(&page, "data-approval=", "</section>").contains("Asked for by anna (guest)."),
        "{page}"
    );
    // The guest knows who they are, and who has to answer.
    let shown = server.request("GET", &path).bearer_auth(&guest).send().await.unwrap();
    let shown = shown.text().await.unwrap();
    assert!(!shown.contains("(guest)") && shown.contains("Waits for the owner's word."), "{shown}");
    assert!(!shown.contains("Allow once"), "{shown}");
    // A setting that they may not change is not offered.
    let approval = part(&shown, "id=\"s-approval\"", ">");
    assert!(approval.contains("disabled"), "{approval}");
    assert!(!part(&page, "id=\"s-approval\"", ">").contains("disabled"));
    // Who is let in no longer still has a question, and it says so.
    server.store.revoke_token(token, Moment::now()).await.unwrap();
    let (_, page) = get(&server, &path).await;
    let question = part(&page, "data-approval=", "</section>");
    assert!(question.contains("anna (guest, let in no longer)"), "{question}");
    // The owner's own sessions say nothing of the kind.
    let own = begin(&server, "talk").await.id;
    let (_, page) = get(&server, &format!("/sessions/{own}")).await;
    assert!(!part(&page, "<main", "id=\"scroll\"").contains("with "), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_waits_is_found_from_every_page_also_in_the_archive() {
    let server = TestServer::start_with_files(Duration::from_secs(60)).await;
    let session = begin(&server, "talk").await.id;
    let call = FakeCall::new("write_file", json!({"path": "a.md", "content": "hello"}));
    server.fake.push(FakeAnswer::calls([call]));
    let path = format!("/sessions/{session}");
    post_form(&server, &format!("{path}/messages"), "text=write+it&mode=full").await;
    let asked = wait_for_question(&server).await;
    post_form(&server, &format!("{path}/archive"), "").await;
    let way = format!("<a href=\"{path}#turn-{}\">Approvals", asked.turn);
    for page in ["/new", "/models", "/archive"] {
        let (_, page) = get(&server, page).await;
        assert!(page.contains(&way), "{page}");
    }
    let marked = "waiting for an answer";
    let (_, page) = get(&server, "/new").await;
    let link = between(&page, "href=\"/archive\"", "</p>");
    assert!(link.contains(marked), "{link}");
    let (_, page) = get(&server, "/archive").await;
    assert!(between(&page, "class=\"archived\"", "</ul>").contains(marked), "{page}");
    post_form(&server, &format!("{path}/stop"), &format!("turn={}", asked.turn)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_the_list_has_no_room_for_stand_on_pages_of_their_own() {
    let server = TestServer::start().await;
    let count = 201;
    for number in 1..=count {
        begin(&server, &format!("talk-{number}")).await;
    }
    let (_, page) = get(&server, "/new").await;
    assert!(page.contains("href=\"/all-sessions\""), "{page}");
    let (_, first) = get(&server, "/all-sessions").await;
    let (_, second) = get(&server, "/all-sessions?page=1").await;
    let listed = |page: &str| page.matches("<li class=\"row\"").count();
    assert_eq!((listed(&first), listed(&second)), (200, 1));
    assert!(first.contains("page 1 of 2") && first.contains("href=\"?page=1\""), "{first}");
    assert!(!second.contains("href=\"?page=2\""), "{second}");
    // The one that is open stands in the list, also where there is no room for it.
    let current = |page: &str| {
        let list = between(page, "id=\"sessions\"", "</nav>");
        (list.matches("<li").count(), list.matches("aria-current").count())
    };
    for (number, in_list) in [(1, 201), (count, 200)] {
        let session = begin(&server, &format!("talk-{number}")).await.id;
        let (_, page) = get(&server, &format!("/sessions/{session}")).await;
        assert_eq!(current(&page), (in_list, 1), "talk-{number}");
    }
}

/// Promise: `page-text-stays-text`
#[tokio::test(flavor = "multi_thread")]
async fn nothing_hides_in_what_a_page_shows() {
    let server = TestServer::start().await;
    let rules = server.folder.path().join("workspace/rules");
    std::fs::create_dir_all(&rules).unwrap();
    let rule =
        "---\nname: tone\ndescription: kind\u{202e}ly\ninclude: always\n---\nBe \u{200b}brief.\n";
    std::fs::write(rules.join("tone.md"), rule).unwrap();
    server.fake.push(FakeAnswer::text("*so* \u{202e}be\u{e0041} it `x\u{feff}y`"));
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    post_form(&server, &format!("{path}/messages"), "text=hid%E2%80%AEden").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &path).await;
    assert!(page.contains("hid\\u{202e}den"), "{page}");
    assert!(
        page.contains("<em>so</em> \\u{202e}be\\u{e0041} it <code>x\\u{feff}y</code>"),
        "{page}"
    );
    let undo = server.request("POST", &format!("{path}/messages")).body("text=%2Fundo");
    let undo = undo.header("content-type", "application/x-www-form-urlencoded");
    let undone = undo.header("x-recto-live", "1").send().await.unwrap().text().await.unwrap();
    assert!(undone.contains("Taken back") && undone.contains("u{202e}den"), "{undone}");
    assert!(!undone.contains('\u{202e}'), "{undone}");
    let draw = json!({"text": "a\u{202e}b"});
    let (_, drawn) = server.post("/drawn", &draw).await;
    assert_eq!(drawn, json!("<p dir=\"auto\">a\\u{202e}b</p>"));
    for path in
        [path.as_str(), "/", "/turns/1", "/workspace", "/workspace?message=kind", "/completions"]
    {
        let (status, page) = get(&server, path).await;
        assert_eq!(status, 200, "{path}");
        let hidden = page.chars().find(|c| *c != '\n' && recto_context::is_unseen(*c));
        assert_eq!(hidden, None, "{path}");
    }
}

/// The text from one mark to the next.
fn between(page: &str, from: &str, to: &str) -> String {
    let rest = page.split(from).nth(1).unwrap_or_else(|| panic!("{from}: {page}"));
    rest.split(to).next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_of_a_turn_stands_there_when_it_has_ended() {
    let server = TestServer::start().await;
    server.fake.push(FakeAnswer::text("It is a long").out_of_tokens());
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    post_form(&server, &format!("{path}/messages"), "text=follow+%40rule%3Anothere").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &path).await;
    let told = between(&page, "class=\"notices\"", "</div>");
    assert_eq!(told.matches("<p").count(), 2, "{told}");
    assert!(told.contains("there is no rule <code>nothere</code>"), "{told}");
    assert!(told.contains("the reply was cut off at its limit of 1,024 tokens"), "{told}");
    let (_, page) = get(&server, "/turns/1").await;
    assert!(page.contains("there is no rule <code>nothere</code>"), "{page}");
    assert!(page.contains("the reply was cut off at its limit"), "{page}");
    post_form(&server, &format!("{path}/messages"), "text=and+now").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &path).await;
    let last = page.split("class=\"notices\"").nth(2).unwrap();
    assert!(last.starts_with(" role=\"status\"></div>"), "nothing is to be told: {last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_left_the_page_is_told_once_with_the_way_to_it() {
    let server = TestServer::start().await;
    let path = format!("/sessions/{}", import(&server, 5_000).await);
    post_form(&server, &format!("{path}/messages"), "text=and+now&mode=full").await;
    server.agent.finished().await;
    let (_, page) = get(&server, &path).await;
    let turn = between(&page, "id=\"turn-1\"", "</article>");
    let told = between(&turn, "class=\"notices\"", "</div>");
    assert!(told.contains("left out of the request: "), "{told}");
    assert!(told.contains("stays in the session. <a href=\"/turns/1#left-out\">"), "{told}");
    assert_eq!(turn.matches("stays in the session").count(), 1, "{turn}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_file_says_what_becomes_of_it() {
    let server = TestServer::start_with_files(Duration::from_secs(60)).await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}");
    std::fs::write(server.folder.path().join("workspace/same.md"), "hello\n").unwrap();
    std::fs::write(server.folder.path().join("workspace/latin.md"), b"caf\xe9\n").unwrap();
    let replaced = "All of it would be replaced, 5 bytes that are not shown: they are not UTF-8.";
    for (file, content, intent, shown) in [
        ("new.md", "hello\n", "wants to create a file", "+hello"),
        ("empty.md", "", "wants to create a file", "The file would be empty."),
        ("same.md", "bye\n", "wants to replace a file", "-hello"),
        ("same.md", "hello\n", "wants to replace a file", "Nothing in it would change."),
        ("latin.md", "caf\u{fffd}\n", "wants to replace a file", replaced),
    ] {
        let call = FakeCall::new("write_file", json!({"path": file, "content": content}));
        server.fake.push(FakeAnswer::calls([call]));
        post_form(&server, &format!("{path}/messages"), "text=write+it&mode=full").await;
        let asked = wait_for_question(&server).await;
        let (_, page) = get(&server, &path).await;
        let question = between(&page, "data-approval=", "</section>");
        assert!(question.contains(intent) && question.contains(shown), "{question}");
        // The turn waits for a person: no key of the page stops it.
        let stop = between(&page, "class=\"btn stop\"", "</button>");
        assert!(stop.ends_with(">Stop"), "{stop}");
        post_form(&server, &format!("{path}/stop"), &format!("turn={}", asked.turn)).await;
        let mut page = page;
        while page.contains("data-state=\"waiting\"") {
            tokio::time::sleep(Duration::from_millis(20)).await;
            page = get(&server, &path).await.1;
        }
        let call = page.rsplit("class=\"call\"").next().unwrap();
        let summary = call.split("</summary>").next().unwrap();
        assert!(summary.contains("not run</span>"), "it has no size: {summary}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_again_keeps_the_mode_that_was_chosen_for_it() {
    let server = TestServer::start().await;
    let session = begin(&server, "talk").await.id;
    let path = format!("/sessions/{session}/messages");
    let mode = async || {
        server.agent.finished().await;
        let turn = server.store.last_turn(Some(session)).await.unwrap().unwrap();
        turn.settings.get("context_mode").cloned()
    };
    post_form(&server, &path, "text=hello&mode=minimal").await;
    assert_eq!(mode().await, Some(json!("minimal")));
    post_form(&server, &path, "text=%2Fretry").await;
    assert_eq!(mode().await, Some(json!("minimal")), "it is the same message");
    post_form(&server, &path, "text=other&edits=3&mode=full").await;
    assert_eq!(mode().await, None, "full holds anyway, and was chosen where it was edited");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_sent_is_told_before_a_session_begins() {
    let server = TestServer::start_with_files(Duration::from_secs(1)).await;
    let (status, told) =
        server.post("/preview", &json!({"text": "hello there", "mode": null})).await;
    assert_eq!(status, 200, "{told}");
    let told = told.as_str().unwrap();
    assert!(told.contains("Would be sent as <b>full</b>") && told.contains("of 8,192"), "{told}");
    let minimal = json!({"text": "hello there", "mode": "minimal"});
    let (_, told) = server.post("/preview", &minimal).await;
    assert!(told.as_str().unwrap().contains("Would be sent as <b>minimal</b>"), "{told}");
    let whole = json!({"text": "hello <b>there", "shows": "page"});
    let (status, told) = server.post("/preview", &whole).await;
    assert_eq!(status, 200, "{told}");
    let told = told.as_str().unwrap();
    let parts = ["What would be sent", "Items on the page", "Left out", "hello &lt;b&gt;there"];
    assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    let nobody = json!({"text": "hello", "agent": "nobody"});
    assert_eq!(server.post("/preview", &nobody).await.0, 404);
    let all = server.store.sessions(recto_store::SessionFilter::All).await.unwrap();
    assert!(all.is_empty(), "no session begins by it: {all:?}");
    assert!(server.fake.log().is_empty() || server.fake.chats().is_empty(), "no model is asked");
}
