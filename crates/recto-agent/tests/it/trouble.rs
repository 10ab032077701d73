//! What goes wrong around a turn: whoever waits hears of it, and the session
//! works again afterwards.

use std::time::Duration;

use recto_agent::{Agent, AgentError, EventKind, Inbound, SessionSettings};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{Store, StoreOptions, TurnEnding};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::support::{
    Bench, arrival, check_sound, finished, follow, holds, model, next, owner, runtime, say,
    session, submit, transcript, within,
};

/// A store that does not wait long for others.
fn impatient(bench: &Bench) -> Store {
    let options = StoreOptions {
        busy_timeout: Duration::from_millis(1),
        ..StoreOptions::new(bench.database())
    };
    Store::open(&options).unwrap()
}

#[test]
fn a_turn_waits_for_a_store_that_can_t_be_had_and_goes_on() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("unheard").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let parts = bench.parts_with(vec![model("fake", &fake)], impatient(&bench));
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let first = submit(&agent, session, "one").await;
        arrival(&gate, 1).await;
        let mut database = Connection::open(bench.database()).unwrap();
        let lock = Transaction::new(&mut database, TransactionBehavior::Immediate).unwrap();
        gate.open();
        // No message is taken that can't be stored.
        let refused = agent.submit(session, Inbound::text(&owner(), "two")).await.unwrap_err();
        assert!(matches!(refused, AgentError::Store(_)), "{refused}");
        // For longer than the store is waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(lock);

        assert_eq!(finished(first).await.reply.unwrap(), "You said: one");
        assert_eq!(say(&agent, session, "three").await.reply.unwrap(), "You said: three");
        check_sound(agent.store(), session).await;
        let transcript = transcript(agent.store(), session).await;
        assert!(!transcript.contains("two"), "{transcript}");
        assert!(transcript.contains("1 user: one\n2 assistant: You said: one\n"), "{transcript}");
    });
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_turn_that_the_store_did_not_take_twice_is_begun_again() {
    let (first, second) = (AnswerGate::new(), AnswerGate::new());
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("unheard").held(&first))
        .answer(FakeAnswer::text("unheard, too").held(&second))
        .start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let parts = bench.parts_with(vec![model("fake", &fake)], impatient(&bench));
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let asked = submit(&agent, session, "one").await;
        for gate in [first, second] {
            arrival(&gate, 1).await;
            let mut database = Connection::open(bench.database()).unwrap();
            let lock = Transaction::new(&mut database, TransactionBehavior::Immediate).unwrap();
            gate.open();
            // For longer than the store is waited for.
            tokio::time::sleep(Duration::from_millis(500)).await;
            drop(lock);
        }
        // No process was ended.
        assert_eq!(finished(asked).await.reply.unwrap(), "You said: one");
        check_sound(agent.store(), session).await;
    });
    assert_eq!(fake.chats().len(), 3);
}

#[test]
fn a_turn_goes_on_while_a_message_behind_it_waits_to_be_stored() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("one two").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let options = StoreOptions {
            busy_timeout: Duration::from_secs(60),
            ..StoreOptions::new(bench.database())
        };
        let patient = Store::open(&options).unwrap();
        let parts = bench.parts_with(vec![model("fake", &fake)], patient);
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let mut first = submit(&agent, session, "count").await;
        arrival(&gate, 1).await;
        let mut database = Connection::open(bench.database()).unwrap();
        let lock = Transaction::new(&mut database, TransactionBehavior::Immediate).unwrap();
        let second = tokio::spawn({
            let agent = agent.clone();
            async move { agent.submit(session, Inbound::text(&owner(), "behind it")).await }
        });
        // Long enough for it to come to the store, where it is to wait.
        tokio::time::sleep(Duration::from_millis(300)).await;
        gate.release(1);
        let is_text = |kind: &EventKind| matches!(kind, EventKind::Text { .. });
        while !is_text(&next(&mut first.events).await.event) {}
        assert!(!second.is_finished(), "nothing can be stored");
        drop(lock);
        let second = within(second).await.unwrap().unwrap();
        gate.open();
        assert_eq!(finished(first).await.reply.unwrap(), "one two");
        let second = finished(follow(&agent, session, second).await).await;
        assert_eq!(second.reply.unwrap(), "You said: behind it");
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn a_store_that_fails_while_tools_run_leaves_no_call_without_a_result() {
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let parts = bench.parts_with(vec![model("fake", &fake)], impatient(&bench));
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let first = submit(&agent, session, "work").await;
        bench.held.has_begun().await;
        let mut database = Connection::open(bench.database()).unwrap();
        let lock = Transaction::new(&mut database, TransactionBehavior::Immediate).unwrap();
        bench.held.let_go(1);
        // For longer than the store is waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(lock);
        finished(first).await;
        assert_eq!(say(&agent, session, "again").await.status, TurnEnding::Done);
        check_sound(agent.store(), session).await;
    });
    assert_eq!(bench.held.runs(), 1);
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_model_that_fails_leaves_a_message_with_a_reply_that_says_so() {
    let fake = FakeServer::openai().answer(FakeAnswer::refusal(500, "out of order")).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let failed = say(&agent, session, "hello").await;
        assert_eq!(failed.status, TurnEnding::Failed);
        check_sound(agent.store(), session).await;
        assert_eq!(say(&agent, session, "again").await.reply.unwrap(), "You said: again");
    });
}

#[test]
fn an_unknown_model_is_named_with_those_that_are_known() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let settings =
            SessionSettings { model: Some("other".into()), ..SessionSettings::default() };
        let refused =
            agent.submit(session, Inbound { settings, ..Inbound::text(&owner(), "hello") }).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.to_string(), "there is no model `other`");
        assert!(refused.hint().unwrap().starts_with("known models: fake;"));
        assert_eq!(transcript(agent.store(), session).await, "");
        assert_eq!(say(&agent, session, "hello").await.status, TurnEnding::Done);
    });
}

#[test]
fn what_is_no_message_is_refused_before_anything_is_stored() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        for (text, code) in
            [("", "empty_message"), (" \n\t", "empty_message"), ("a\0b", "nul_in_message")]
        {
            let refused = agent.submit(session, Inbound::text(&owner(), text)).await.unwrap_err();
            assert_eq!(refused.code(), code);
        }
        assert!(agent.store().turns(session).await.unwrap().is_empty());
    });
}
