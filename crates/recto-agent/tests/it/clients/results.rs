//! Calls that are handed to a client, and the results that it brings.

use expect_test::expect;
use recto_agent::{AgentError, FinishedTurn, Inbound, SessionSettings};
use recto_context::{CallId, ClientContext, ClientMessage, ClientResult, ContextMode, MessageBody};
use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::{ApprovalAnswer, TurnEnding};
use serde_json::{Value, json};

use super::{asks, handed, history, inbound, last_cause, result_of, send, shown, with_tools};
use crate::support::{
    Bench, check_sound, finished, model_without_window, mortal, next, owner, runtime, say, session,
    statuses, submit_inbound, transcript, within,
};

fn weather() -> ClientContext {
    ClientContext { system: vec!["You sell boats.".into()], ..with_tools(&["weather"]) }
}

fn results(finished: &FinishedTurn, texts: &[&str]) -> Inbound {
    let results = finished.calls.iter().zip(texts);
    Inbound::results(&owner(), results.map(|(call, text)| result_of(call, text)))
}

/// Promise: `client-tools-handed-back`
#[test]
fn a_call_of_a_clients_tool_is_handed_out_and_its_result_goes_on() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("One moment.").calls([
            FakeCall::new("weather", json!({"city": "Oslo"})),
            FakeCall::new("weather", json!({"city": "Rome"})),
        ]))
        .answer(FakeAnswer::text("Snow, and sun."))
        .start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let first = send(&agent, session, inbound("how is it?", weather())).await;
        let arguments = [r#"{"city":"Oslo"}"#, r#"{"city":"Rome"}"#];
        assert_eq!(handed(&first), [("weather", arguments[0]), ("weather", arguments[1])]);
        assert_eq!(first.reply.as_deref(), Some("One moment."));
        // The results in another order, and without the tools: they are the turn's.
        let mut results = results(&first, &["snow", "sun"]);
        results.results.reverse();
        let second = send(&agent, session, results).await;
        assert_eq!(second.reply.as_deref(), Some("Snow, and sun."));
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            You sell boats.
            user: [stamp] how is it?
            assistant: One moment. ["weather""{\"city\":\"Oslo\"}"] ["weather""{\"city\":\"Rome\"}"]
            tool: snow
            tool: sun
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        assert_eq!(statuses(agent.store(), session).await, ["handed_out", "done"]);
        let turns = agent.store().turns(session).await.unwrap();
        assert_eq!(turns[1].continues, Some(turns[0].id));
        assert_eq!((&turns[0].state, &turns[0].client, &turns[1].client), (&None, &None, &None));
        expect![[r#"
            1 user: how is it?
            2 assistant: One moment. [weather{"city":"Oslo"}] [weather{"city":"Rome"}]
            3 weather: snow
            4 weather: sun
            5 assistant: Snow, and sun.
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        check_sound(agent.store(), session).await;
        // The conversation as the client has it by now is the one that is stored.
        let stored = agent.store().messages(session, None).await.unwrap();
        let mut list: Vec<_> =
            stored.iter().map(|stored| ClientMessage::Said(stored.message.body.clone())).collect();
        if let ClientMessage::Said(MessageBody::User(user)) = &mut list[0] {
            user.stamp = None;
        }
        let client = ClientContext { history: Some(list), ..weather() };
        send(&agent, session, inbound("thanks", client)).await;
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        assert_eq!(agent.store().messages(session, None).await.unwrap().len(), stored.len() + 2);
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_minimal_turn_goes_on_in_its_mode_and_with_its_history() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai()
        .answer(asks(&[("weather", "Oslo")]))
        .answer(asks(&[("weather", "Rome")]))
        .answer(FakeAnswer::text("Snow, and sun."))
        .start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let settings = SessionSettings {
            context_mode: Some(ContextMode::Minimal),
            ..SessionSettings::default()
        };
        let client = ClientContext { history: history(&["hi", "ahoy"]), ..weather() };
        let message = Inbound { settings, ..inbound("check src/main.rs", client) };
        let first = send(&agent, session, message).await;
        handed(&first);
        let second = send(&agent, session, results(&first, &["snow"])).await;
        handed(&second);
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        let third = send(&agent, session, results(&second, &["sun"])).await;
        assert_eq!(third.reply.as_deref(), Some("Snow, and sun."));
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            Call the tool that fits, with all its required parameters; then answer from its result.

            You sell boats.
            user: [stamp] You must respond by calling one or more of the provided tools. Do not answer without calling a tool when the request involves files or workspace.

            User request: check src/main.rs
            assistant:  ["weather""{\"city\":\"Oslo\"}"]
            tool: snow
            assistant:  ["weather""{\"city\":\"Rome\"}"]
            tool: sun
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Our calls of the same reply run first, with a person's word where one is needed; then the
/// client's are handed out.
#[test]
fn a_mixed_round_runs_ours_and_hands_out_theirs() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai()
        .answer(FakeAnswer::calls([
            FakeCall::new("weather", json!({"city": "Oslo"})),
            FakeCall::new("risk", json!({"what": "all"})),
        ]))
        .answer(FakeAnswer::text("Risky, and snow."))
        .start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let mut submission = submit_inbound(&agent, session, inbound("go", weather())).await;
        let asked = loop {
            if let recto_agent::EventKind::Asked(question) =
                next(&mut submission.events).await.event
            {
                break question;
            }
        };
        assert_eq!(asked.tool, "risk");
        agent.answer(&owner(), asked.approval, ApprovalAnswer::Once).await.unwrap();
        let first = finished(submission).await;
        assert_eq!(handed(&first), [("weather", r#"{"city":"Oslo"}"#)]);
        let second = send(&agent, session, results(&first, &["snow"])).await;
        assert_eq!(second.reply.as_deref(), Some("Risky, and snow."));
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            You sell boats.
            user: [stamp] go
            assistant:  ["weather""{\"city\":\"Oslo\"}"] ["risk""{\"what\":\"all\"}"]
            tool: snow
            tool: allowed all
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Promise: `client-results-by-id`
#[test]
fn results_that_belong_to_nothing_are_refused_and_nothing_is_lost() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai()
        .answer(asks(&[("weather", "Oslo"), ("weather", "Rome")]))
        .answer(FakeAnswer::text("Snow, and sun."))
        .answer(asks(&[("weather", "Bonn")]))
        .start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let (here, there) = (session(&agent, "here").await, session(&agent, "there").await);
        let first = send(&agent, here, inbound("how is it?", weather())).await;
        let refused = async |session, inbound: Inbound| {
            let error = within(agent.submit(session, inbound)).await.unwrap_err();
            (error.code(), error.to_string())
        };
        let result = |id: &str| ClientResult { call: CallId(id.into()), text: "x".into() };
        let [oslo, rome] = [0, 1].map(|at| first.calls[at].id.clone());
        let before = transcript(agent.store(), here).await;
        assert_eq!(
            refused(here, Inbound::results(&owner(), [result("odd")])).await.0,
            "unknown_call"
        );
        assert_eq!(
            refused(there, Inbound::results(&owner(), [result(&oslo)])).await.0,
            "unknown_call"
        );
        let twice = [result(&oslo), result(&oslo), result(&rome)];
        assert_eq!(refused(here, Inbound::results(&owner(), twice)).await.0, "answered_call");
        let missing = refused(here, Inbound::results(&owner(), [result(&oslo)])).await;
        assert_eq!(missing, ("missing_results", format!("results are missing of: {rome}")));
        // Nothing was stored, and the right ones are still taken.
        assert_eq!(transcript(agent.store(), here).await, before);
        assert_eq!(statuses(agent.store(), here).await, ["handed_out"]);
        let second = send(&agent, here, results(&first, &["snow", "sun"])).await;
        assert_eq!(second.reply.as_deref(), Some("Snow, and sun."));
        assert_eq!(refused(here, results(&first, &["snow", "sun"])).await.0, "answered_call");
        check_sound(agent.store(), here).await;
        let error = AgentError::UnknownCall { call: "odd".into() };
        assert!(error.hint().is_some());
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn another_message_closes_the_calls_that_nobody_answered() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake =
        FakeServer::openai().answer(asks(&[("weather", "Oslo"), ("weather", "Rome")])).start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let first = send(&agent, session, inbound("how is it?", weather())).await;
        let late = Inbound {
            results: vec![result_of(&first.calls[1], "sun")],
            ..inbound("never mind", weather())
        };
        assert_eq!(send(&agent, session, late).await.status, TurnEnding::Done);
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            You sell boats.
            user: [stamp] how is it?
            assistant:  ["weather""{\"city\":\"Oslo\"}"] ["weather""{\"city\":\"Rome\"}"]
            tool: no result: the client went on with another message; whether the call was run is unknown
            tool: sun
            user: [stamp] never mind
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        say(&agent, session, "and now?").await;
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// A client that puts the results into its history, and a message behind them.
#[test]
fn results_may_come_in_the_history() {
    let (bench, runtime) = (Bench::new(), runtime());
    let fake = FakeServer::openai().answer(asks(&[("weather", "Oslo")])).start();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext { history: history(&[]), ..weather() };
        send(&agent, session, inbound("how is it?", client)).await;
        let stored = agent.store().messages(session, None).await.unwrap();
        let said = |body: &MessageBody| ClientMessage::Said(body.clone());
        let mut list: Vec<_> = stored.iter().map(|stored| said(&stored.message.body)).collect();
        let call = stored[1].message.calls()[0].id.clone();
        let content = vec![recto_context::ContentPart::Text("snow".into())];
        list.push(said(&MessageBody::Tool { call, name: "weather".into(), content }));
        let client = ClientContext { history: Some(list), ..weather() };
        send(&agent, session, inbound("and so?", client)).await;
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            You sell boats.
            user: [stamp] how is it?
            assistant:  ["weather""{\"city\":\"Oslo\"}"]
            tool: snow
            user: [stamp] and so?
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Promise: `killed-at-any-instant`
#[test]
fn results_may_come_to_another_process() {
    let bench = Bench::new();
    let fake = FakeServer::openai()
        .answer(asks(&[("weather", "Oslo")]))
        .answer(FakeAnswer::text("Snow."))
        .start();
    let killed = mortal();
    let (session, first) = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let client = ClientContext { history: history(&["hi", "ahoy"]), ..weather() };
        let first = send(&agent, session, inbound("how is it?", client)).await;
        (session, first)
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        let second = send(&agent, session, results(&first, &["snow"])).await;
        assert_eq!(second.reply.as_deref(), Some("Snow."));
        assert_eq!(last_cause(agent.store(), session).await, Value::Null);
        expect![[r#"
            tool hold
            tool risk
            tool weather
            system: You are a lighthouse keeper.

            Answer what was asked. Say so when you don't know. Use your tools when they can do or check something; never claim to have done what you have not.

            You sell boats.
            user: hi
            assistant: ahoy
            user: [stamp] how is it?
            assistant:  ["weather""{\"city\":\"Oslo\"}"]
            tool: snow
        "#]]
        .assert_eq(&shown(fake.chats().last().unwrap()));
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// A turn that is taken up by another process has all that its client brought: before its
/// first request, and behind it.
///
/// Promise: `killed-at-any-instant`
#[test]
fn a_killed_process_loses_nothing_that_a_client_brought() {
    for held_at in ["window", "model", "results"] {
        let bench = Bench::new();
        let fake = FakeServer::ollama().start();
        let gate = recto_fakes::AnswerGate::new();
        let answer = || FakeAnswer::text("lost words").held(&gate);
        if held_at == "results" {
            fake.push(asks(&[("weather", "Oslo")]));
        }
        let dead = FakeServer::ollama().start();
        let killed = mortal();
        let session = killed.block_on(async {
            // A server that does not answer keeps a turn from its first request.
            let server = if held_at == "window" { &dead } else { &fake };
            let agent =
                recto_agent::Agent::start(bench.parts(vec![model_without_window("fake", server)]))
                    .await
                    .unwrap();
            let session = session(&agent, "c").await;
            let client = ClientContext { history: history(&["hi", "ahoy"]), ..weather() };
            let message = inbound("how is it?", client);
            match held_at {
                "results" => {
                    let first = send(&agent, session, message).await;
                    fake.push(answer());
                    within(agent.submit(session, results(&first, &["snow"]))).await.unwrap();
                }
                "model" => {
                    fake.push(answer());
                    within(agent.submit(session, message)).await.unwrap();
                }
                _ => {
                    within(agent.submit(session, message)).await.unwrap();
                }
            }
            session
        });
        drop(killed);
        runtime().block_on(async {
            let agent = bench.agent_without_window(&fake).await;
            gate.release(10);
            within(agent.finished()).await;
            let body = fake.chats().last().unwrap().clone();
            let text = body.to_string();
            assert!(text.contains("You sell boats."), "{held_at}: {text}");
            assert!(text.contains("ahoy") && text.contains("Does weather."), "{held_at}: {text}");
            assert_eq!(text.contains("snow"), held_at == "results", "{text}");
            let statuses = statuses(agent.store(), session).await;
            assert_eq!(statuses.last(), Some(&"done"), "{held_at}");
            check_sound(agent.store(), session).await;
        });
        assert_eq!(fake.rejections(), [""; 0]);
    }
}
