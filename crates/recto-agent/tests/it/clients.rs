//! Clients that own their conversation: their history, system text and tools on the page, calls
//! handed to them, and results that go on with a turn.

mod results;

use expect_test::{Expect, expect};
use recto_agent::{Agent, ClientCall, FinishedTurn, Inbound, SessionSettings, restore_request};
use recto_context::{
    CallId, ChangeCause, ClientContext, ClientMessage, ClientTool, ClientToolChoice, ContentPart,
    ContextMode, Layer, LeadingStamp, MessageBody, RequestContext, Text, ToolChoice, UserMessage,
};
use recto_fakes::{FakeAnswer, FakeCall, FakeReply, FakeServer};
use recto_store::{SessionId, Store, TurnEnding};
use serde_json::{Value, json};

use crate::support::{
    Bench, check_sound, finished, owner, runtime, say, session, submit_inbound, transcript,
};

/// A message of a client that brings these things along.
pub(crate) fn inbound(text: &str, client: ClientContext) -> Inbound {
    Inbound { client: Some(Box::new(client)), ..Inbound::text(&owner(), text) }
}

/// What a client says that was said before, `user` and `model` by turns.
pub(crate) fn history(texts: &[&str]) -> Option<Vec<ClientMessage>> {
    let content = |text: &str| vec![ContentPart::Text(text.into())];
    let said = |(index, text): (usize, &&str)| {
        ClientMessage::Said(match index % 2 {
            0 => MessageBody::User(UserMessage { content: content(text), ..Default::default() }),
            _ => MessageBody::Assistant { content: content(text), calls: Vec::new() },
        })
    };
    Some(texts.iter().enumerate().map(said).collect())
}

pub(crate) fn tools(names: &[&str]) -> Vec<ClientTool> {
    let tool = |name: &&str| ClientTool {
        name: (*name).into(),
        description: format!("Does {name}.").into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    };
    names.iter().map(tool).collect()
}

pub(crate) fn with_tools(names: &[&str]) -> ClientContext {
    ClientContext { tools: tools(names), ..ClientContext::default() }
}

/// A reply that calls these tools, each for a city.
pub(crate) fn asks(calls: &[(&str, &str)]) -> FakeReply {
    let call = |(tool, city): &(&str, &str)| FakeCall::new(*tool, json!({ "city": city }));
    FakeAnswer::calls(calls.iter().map(call))
}

/// Sends something, and waits for the end of its turn.
pub(crate) async fn send(agent: &Agent, session: SessionId, inbound: Inbound) -> FinishedTurn {
    finished(submit_inbound(agent, session, inbound).await).await
}

/// The session's last request, made whole again from its record.
pub(crate) async fn last_request(store: &Store, session: SessionId) -> RequestContext {
    let record = store.last_request(session).await.unwrap().unwrap();
    restore_request(store, &record).await.unwrap()
}

/// The cause that the last request gives for where it parts from the one before.
pub(crate) async fn last_cause(store: &Store, session: SessionId) -> Value {
    let record = store.last_request(session).await.unwrap().unwrap();
    record.notes["prefix"]["cause"].clone()
}

/// A body as a test shows it: without what differs from run to run.
pub(crate) fn shown(body: &Value) -> String {
    let mut shown = String::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        shown += &format!("tool {}\n", tool["function"]["name"].as_str().unwrap());
    }
    for message in body["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        let text = message["content"].as_str().unwrap_or_default();
        let text = match role {
            "system" => text.split_once("\n\nAgent: ").unwrap().0,
            _ => text,
        };
        shown += &format!("{role}: {}", without_stamp(text));
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            shown += &format!(" [{}{}]", function["name"], function["arguments"]);
        }
        shown += "\n";
    }
    shown
}

/// A stamp is shown as `[stamp]`.
fn without_stamp(text: &str) -> String {
    match LeadingStamp::split(text) {
        Some((_, rest)) => format!("[stamp] {rest}"),
        None => text.to_owned(),
    }
}

fn check_last(fake: &FakeServer, expected: &Expect) {
    expected.assert_eq(&shown(fake.chats().last().unwrap()));
}

/// Promise: `client-owns-history`
#[test]
fn a_clients_system_text_and_history_take_their_places() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext {
            system: vec!["You sell boats.".into()],
            history: history(&["hi", "ahoy"]),
            ..ClientContext::default()
        };
        let finished = send(&agent, session, inbound("a boat?", client)).await;
        assert_eq!(finished.status, TurnEnding::Done);
        check_last(
            &fake,
            &expect![[r#"
                tool hold
                tool risk
                system: You are a lighthouse keeper.

                Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

                You sell boats.
                user: hi
                assistant: ahoy
                user: [stamp] a boat?
            "#]],
        );
        let request = last_request(agent.store(), session).await;
        let part = request.layer(Layer::System).last().unwrap();
        assert_eq!((part.text(), part.source.to_string().as_str()), ("You sell boats.", "client"));
        assert_eq!(part.reason.describe(), "sent along by the client");
        for part in request.layer(Layer::History) {
            assert_eq!(part.reason.describe(), "in the history that the client sent");
        }
        expect![[r#"
            1 user: hi
            2 assistant: ahoy
            3 user: a boat?
            4 assistant: You said: a boat?
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn minimal_mode_has_the_clients_system_text_and_tools_and_no_history() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext {
            system: vec!["You sell boats.".into()],
            history: history(&["hi", "ahoy"]),
            tools: tools(&["weather"]),
            ..ClientContext::default()
        };
        let settings = SessionSettings {
            context_mode: Some(ContextMode::Minimal),
            ..SessionSettings::default()
        };
        send(&agent, session, Inbound { settings, ..inbound("a boat?", client) }).await;
        check_last(
            &fake,
            &expect![[r#"
                tool hold
                tool risk
                tool weather
                system: You are a lighthouse keeper.

                Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

                Call the tool that fits, with all its required parameters; then answer from its result.

                You sell boats.
                user: [stamp] You must respond by calling one or more of the provided tools. Do not answer without calling a tool when the request involves files or workspace.

                User request: a boat?
            "#]],
        );
        let request = last_request(agent.store(), session).await;
        assert_eq!(request.tool_choice, ToolChoice::Required);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Each request of a conversation that only goes on is the one before with something behind
/// it, whatever else stands in the session.
///
/// Promise: `client-owns-history`
#[test]
fn a_client_that_sends_all_of_it_each_time_keeps_its_prefix() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let mut said: Vec<String> = Vec::new();
        for number in 0..6 {
            let texts: Vec<&str> = said.iter().map(String::as_str).collect();
            let client = ClientContext { history: history(&texts), ..ClientContext::default() };
            let text = format!("message {number}");
            let submission = submit_inbound(&agent, session, inbound(&text, client)).await;
            let turn = submission.turn;
            finished(submission).await;
            let messages = agent.store().messages(session, None).await.unwrap();
            let reply = messages.iter().rfind(|stored| stored.turn == Some(turn)).unwrap();
            let reply = reply.message.content()[0].as_text().unwrap().to_string();
            said.extend([text, reply]);
            if number > 0 {
                assert_eq!(last_cause(agent.store(), session).await, Value::Null);
            }
        }
        // Nothing was stored twice.
        assert_eq!(agent.store().messages(session, None).await.unwrap().len(), 12);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_client_that_rewrites_its_history_is_believed_and_the_transcript_only_grows() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        say(&agent, session, "one").await;
        say(&agent, session, "two").await;
        let client =
            ClientContext { history: history(&["one", "No."]), ..ClientContext::default() };
        send(&agent, session, inbound("three", client)).await;
        check_last(
            &fake,
            &expect![[r#"
                tool hold
                tool risk
                system: You are a lighthouse keeper.

                Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.
                user: [stamp] one
                assistant: No.
                user: [stamp] three
            "#]],
        );
        assert_eq!(last_cause(agent.store(), session).await, json!(ChangeCause::ClientChanged));
        expect![[r#"
            1 user: one
            2 assistant: You said: one
            3 user: two
            4 assistant: You said: two
            5 assistant: No.
            6 user: three
            7 assistant: You said: three
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        let messages = agent.store().messages(session, None).await.unwrap();
        let brought: Vec<bool> =
            messages.iter().map(|stored| stored.brought_by.is_some()).collect();
        assert_eq!(brought, [false, false, false, false, true, false, false]);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// The client's list is capped like every other history, and what left stays out, so that the
/// prefix stays put.
#[test]
fn a_clients_long_history_is_cut_where_all_are() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let texts: Vec<String> = (0..200).map(|number| format!("text {number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let client =
            |texts: &[&str]| ClientContext { history: history(texts), ..ClientContext::default() };
        send(&agent, session, inbound("more", client(&texts))).await;
        let request = last_request(agent.store(), session).await;
        assert!(request.layer(Layer::History).count() <= 50);
        let dropped = request.dropped.iter().find(|entry| entry.layer == Layer::History).unwrap();
        assert_eq!(
            dropped.reason.describe(),
            "more than history.max_messages = 50, so cut to 75% of it"
        );
        // All of it again, with the reply: nothing is stored again, and the prefix holds.
        let messages = agent.store().messages(session, None).await.unwrap();
        assert_eq!(messages.len(), 202);
        let reply = messages.last().unwrap().message.content()[0].as_text().unwrap().to_string();
        let longer = [&texts[..], &["more", &reply]].concat();
        send(&agent, session, inbound("still more", client(&longer))).await;
        assert_eq!(agent.store().messages(session, None).await.unwrap().len(), 204);
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        // It goes back to the beginning, which had left.
        send(&agent, session, inbound("again", client(&texts[..4]))).await;
        let request = last_request(agent.store(), session).await;
        let shown: Vec<&str> = request.layer(Layer::History).map(|part| part.text()).collect();
        assert_eq!(shown, texts[..4]);
        check_sound(agent.store(), session).await;
        // And what follows does not mind.
        say(&agent, session, "bye").await;
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// What breaks a request on other wires: halves of rounds, blank and odd messages.
#[test]
fn nothing_of_a_clients_list_makes_an_invalid_request() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    let call = |id: &str| recto_context::ToolCall {
        id: CallId(id.into()),
        name: "old.tool".into(),
        arguments: "no JSON".into(),
    };
    let text = |text: &str| vec![ContentPart::Text(text.into())];
    let result = |id: &str| MessageBody::Tool {
        call: CallId(id.into()),
        name: "".into(),
        content: text("x"),
    };
    let list = [
        result("alone"),
        MessageBody::Assistant { content: Vec::new(), calls: Vec::new() },
        MessageBody::Assistant { content: text("a"), calls: vec![call("1"), call("1")] },
        result("1"),
        MessageBody::User(UserMessage { content: Vec::new(), ..Default::default() }),
        MessageBody::Error("odd".into()),
        MessageBody::Assistant { content: Vec::new(), calls: vec![call("2")] },
    ];
    let list = list.into_iter().map(ClientMessage::Said);
    let list = list.chain([ClientMessage::System("Late.".into())]).collect();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext { history: Some(list), ..ClientContext::default() };
        let finished = send(&agent, session, inbound("so?", client)).await;
        assert_eq!(finished.status, TurnEnding::Done);
        check_last(
            &fake,
            &expect![[r#"
                tool hold
                tool risk
                system: You are a lighthouse keeper.

                Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

                Late.
                assistant: a ["old_tool""{\"_raw\":\"no JSON\"}"]
                tool: x
                user: [stamp] so?
            "#]],
        );
        let request = last_request(agent.store(), session).await;
        let dropped = request.dropped.iter().map(|entry| entry.reason.describe());
        let dropped: Vec<String> = dropped.collect();
        let reasons = ["its call is not in the history", "its result is not in the history"];
        assert!(
            reasons.iter().all(|reason| dropped.iter().any(|why| why == reason)),
            "{dropped:?}"
        );
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// What a client asks of the first reply holds for that one alone: after it the model may answer.
///
/// Promise: `client-tools-handed-back`
#[test]
fn a_client_can_ask_for_a_call_or_for_one_of_its_tools() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let choices = [
            (ClientToolChoice::Required, ToolChoice::Required),
            // The wire knows words alone, and the record says what it carried.
            (ClientToolChoice::Named("hold".into()), ToolChoice::Required),
            (ClientToolChoice::Named("odd".into()), ToolChoice::Auto),
            (ClientToolChoice::Free, ToolChoice::Auto),
        ];
        for (asked, sent) in choices {
            let client = ClientContext { tool_choice: asked, ..with_tools(&["hold"]) };
            fake.push(asks(&[("client_hold", "Oslo")]));
            let first = send(&agent, session, inbound("go", client)).await;
            assert_eq!(last_request(agent.store(), session).await.tool_choice, sent);
            let result = result_of(&first.calls[0], "held");
            send(&agent, session, Inbound::results(&owner(), [result])).await;
            let next = last_request(agent.store(), session).await.tool_choice;
            assert_eq!(next, ToolChoice::Auto);
        }
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_client_that_sends_a_nul_is_told_where() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext { system: vec!["a\0b".into()], ..ClientContext::default() };
        let refused = agent.submit(session, inbound("hi", client)).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a system text that the client sent has a NUL character in it"
        );
        assert_eq!(agent.store().turns(session).await.unwrap(), []);
    });
}

/// The very first message that Recto sees of a conversation may lean on one that it never saw.
#[test]
fn a_message_leans_on_what_its_client_says_was_said_before() {
    let (bench, runtime, fake) = (Bench::new(), runtime(), FakeServer::openai().start());
    bench.write(
        "rules/commits.md",
        "---\ninclude: agent\ndescription: How commit messages are written\n---\nWith a verb.\n",
    );
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let brought = history(&["How are commit messages written?", "With care."]);
        let client = ClientContext { history: brought, ..ClientContext::default() };
        send(&agent, session, inbound("and for merges?", client)).await;
        let found = last_request(agent.store(), session).await.found;
        let names: Vec<&str> = found.iter().map(|pick| &*pick.item.name).collect();
        assert_eq!(names, ["commits"]);
    });
}

/// Promise: `client-tools-handed-back`
#[test]
fn a_clients_tools_stand_behind_ours_and_never_take_their_names() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai()
        .answer(asks(&[("client_hold", "Oslo"), ("weather_today__f2e0c438", "Rome")]))
        .start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let names = ["hold", "weather today!", "hold"];
        let finished = send(&agent, session, inbound("go", with_tools(&names))).await;
        let body = fake.chats().last().unwrap().clone();
        expect![[r#"
            tool hold
            tool risk
            tool client_hold
            tool weather_today__f2e0c438
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.
            user: [stamp] go
        "#]]
        .assert_eq(&shown(&body));
        // They are handed back under the client's own names.
        let names: Vec<&str> = handed(&finished).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["hold", "weather today!"]);
        let request = last_request(agent.store(), session).await;
        let item = &request.tools.last().unwrap().item;
        assert_eq!(item.id.to_string(), "tool client.weather today!");
        let why = recto_agent::explain_item(&request, "client.hold");
        assert!(format!("{why:?}").contains("FromClient"), "{why:?}");
    });
}

/// The texts of calls that were handed out.
pub(crate) fn handed(finished: &FinishedTurn) -> Vec<(&str, &str)> {
    assert_eq!(finished.status, TurnEnding::HandedOut, "{:?}", finished.error);
    finished
        .calls
        .iter()
        .map(|ClientCall { name, arguments, .. }| (&**name, &**arguments))
        .collect()
}

/// The result of a call that was handed out.
pub(crate) fn result_of(call: &ClientCall, text: &str) -> recto_context::ClientResult {
    recto_context::ClientResult { call: CallId(call.id.as_str().into()), text: Text::from(text) }
}
