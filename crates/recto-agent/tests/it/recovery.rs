//! What a killed process left: the next one finishes it or marks it, always with
//! a word for the person, and never twice.

use std::sync::Arc;

use expect_test::{Expect, expect};
use recto_agent::step::TurnState;
use recto_agent::{Agent, SettledTurns, TakeUpScope, settle_open_turns};
use recto_context::{CallId, ContentPart, Message, MessageBody, MessageId, ModeDecision, ToolCall};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{Moment, NewMessage, NewTurn, SessionId, SettingsMap, TurnCommit, TurnEnding};
use serde_json::json;

use crate::support::{
    Bench, arrival, check_sound, conversation, ended, finished, holds, model, mortal, next, owner,
    runtime, say, session, statuses, submit, transcript, within,
};

/// The session of a process that is killed when it has got so far.
fn killed_after(
    bench: &Bench,
    fake: &FakeServer,
    so_far: impl AsyncFnOnce(&Agent, SessionId),
) -> SessionId {
    let killed = mortal();
    let session = killed.block_on(async {
        let agent = bench.agent(fake).await;
        let session = session(&agent, "k").await;
        so_far(&agent, session).await;
        session
    });
    drop(killed);
    session
}

/// Starts an agent on what is left, and waits until all of it is finished.
pub(crate) fn recover(bench: &Bench, fake: &FakeServer, session: SessionId, expected: &Expect) {
    runtime().block_on(async {
        let agent = bench.agent(fake).await;
        within(agent.finished()).await;
        expected.assert_eq(&transcript(agent.store(), session).await);
        check_sound(agent.store(), session).await;
        // What follows is not disturbed by it.
        assert_eq!(say(&agent, session, "go on").await.reply.unwrap(), "You said: go on");
        check_sound(agent.store(), session).await;
    });
    // Once more, and nothing changes any more.
    let before = runtime().block_on(async { transcript(&bench.store(), session).await });
    runtime().block_on(async {
        let agent = bench.agent(fake).await;
        within(agent.finished()).await;
        assert_eq!(transcript(agent.store(), session).await, before);
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Promise: `killed-at-any-instant`
#[test]
fn a_turn_that_waited_for_its_model_is_finished() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let session = killed_after(&bench, &fake, async |agent, session| {
        submit(agent, session, "hello").await;
        gate.release(1);
        arrival(&gate, 2).await;
    });
    recover(
        &bench,
        &fake,
        session,
        &expect![[r#"
        1 user: hello
        2 assistant: You said: hello
    "#]],
    );
    // The request that got no answer stays in the record.
    let requests = runtime().block_on(async {
        let store = bench.store();
        let turns = store.turns(session).await.unwrap();
        store.requests(turns[0].id).await.unwrap()
    });
    let numbers: Vec<_> =
        requests.iter().map(|request| (request.number, request.answer.is_some())).collect();
    assert_eq!(numbers, [(1, false), (2, true)]);
}

/// Promise: `every-call-has-result`
/// Promise: `killed-at-any-instant`
#[test]
fn a_turn_whose_tools_ran_is_marked_and_they_do_not_run_again() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a", "b"])).start();
    let session = killed_after(&bench, &fake, async |agent, session| {
        submit(agent, session, "work").await;
        bench.held.has_begun().await;
        bench.held.has_begun().await;
    });
    recover(
        &bench,
        &fake,
        session,
        &expect![[r#"
        1 user: work
        2 assistant:  [hold{"what":"a"}] [hold{"what":"b"}]
        3 hold: interrupted: Recto was ended while this ran; whether it took effect is unknown
        4 hold: interrupted: Recto was ended while this ran; whether it took effect is unknown
        5 error: interrupted: Recto was ended while tools ran, so this turn was not finished; ask again to go on
    "#]],
    );
    assert_eq!(bench.held.runs(), 2);
}

#[test]
fn a_turn_is_taken_up_after_its_tools_with_their_results() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai()
        .answer(holds(&["a"]))
        .answer(FakeAnswer::text("lost words").held(&gate))
        .answer(FakeAnswer::text("It is held."))
        .start();
    let session = killed_after(&bench, &fake, async |agent, session| {
        bench.held.let_go(1);
        submit(agent, session, "work").await;
        arrival(&gate, 1).await;
    });
    recover(
        &bench,
        &fake,
        session,
        &expect![[r#"
        1 user: work
        2 assistant:  [hold{"what":"a"}]
        3 hold: held
        4 assistant: It is held.
    "#]],
    );
    assert_eq!(bench.held.runs(), 1);
    let chats = fake.chats();
    assert_eq!(chats[1]["messages"], chats[2]["messages"]);
}

#[test]
fn queued_messages_are_answered_in_their_order() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let session = killed_after(&bench, &fake, async |agent, session| {
        for text in ["one", "two", "three"] {
            submit(agent, session, text).await;
        }
        arrival(&gate, 1).await;
    });
    recover(
        &bench,
        &fake,
        session,
        &expect![[r#"
        1 user: one
        2 assistant: You said: one
        3 user: two
        4 assistant: You said: two
        5 user: three
        6 assistant: You said: three
    "#]],
    );
}

/// A turn in the store as a process leaves it that is killed: what it had said,
/// and the state it had written.
fn left_behind(bench: &Bench, messages: Vec<Message>, state: serde_json::Value) -> SessionId {
    runtime().block_on(async {
        let store = bench.store();
        let agent = Agent::idle(bench.parts_with(Vec::new(), store.clone()));
        let session = agent.find_or_begin(&owner(), &conversation("k")).await.unwrap().id;
        let new = |message| NewMessage { message: Arc::new(message), at: Moment::now() };
        let commit = TurnCommit {
            messages: messages.into_iter().map(new).collect(),
            state: Some(state),
            ..TurnCommit::default()
        };
        store.begin(inbound(session, "work"), commit).await.unwrap();
        session
    })
}

fn inbound(session: SessionId, text: &str) -> NewTurn {
    NewTurn {
        session,
        at: Moment::now(),
        content: vec![ContentPart::Text(text.into())],
        actor: owner().to_store(),
        delivery: None,
        settings: SettingsMap::default(),
        client: None,
        retraction: None,
    }
}

fn calling(id: u64) -> Message {
    let call = ToolCall {
        id: CallId("call_1".into()),
        name: "hold".into(),
        arguments: r#"{"what":"a"}"#.into(),
    };
    let body = MessageBody::Assistant { content: Vec::new(), calls: vec![call] };
    Message { id: MessageId(id), body }
}

#[test]
fn a_state_that_this_version_cannot_read_counts_as_interrupted() {
    let mut newer =
        serde_json::to_value(TurnState::new(ModeDecision::without_tools(), "fake", 4)).unwrap();
    newer["version"] = 99.into();
    for state in [newer, json!("?"), json!({"version": 1, "phase": "dreaming"})] {
        let (bench, fake) = (Bench::new(), FakeServer::openai().start());
        let session =
            left_behind(&bench, vec![Message::user(1, "work"), calling(2)], state.clone());
        recover(
            &bench,
            &fake,
            session,
            &expect![[r#"
            1 user: work
            2 assistant:  [hold{"what":"a"}]
            3 hold: interrupted: Recto was ended while this ran; whether it took effect is unknown
            4 error: interrupted: Recto was ended while tools ran, so this turn was not finished; ask again to go on
        "#]],
        );

        let (bench, fake) = (Bench::new(), FakeServer::openai().start());
        let session = left_behind(&bench, vec![Message::user(1, "work")], state);
        recover(
            &bench,
            &fake,
            session,
            &expect![[r#"
            1 user: work
            2 error: interrupted: Recto was ended while tools ran, so this turn was not finished; ask again to go on
        "#]],
        );
    }
}

#[test]
fn settling_closes_what_cannot_be_finished_and_needs_no_model() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let killed = mortal();
    let (working, waiting) = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let working = session(&agent, "working").await;
        submit(&agent, working, "work").await;
        bench.held.has_begun().await;
        fake.push(FakeAnswer::Silence);
        let waiting = session(&agent, "waiting").await;
        submit(&agent, waiting, "one").await;
        submit(&agent, waiting, "two").await;
        while fake.chats().len() < 2 {
            tokio::task::yield_now().await;
        }
        (working, waiting)
    });
    drop(killed);
    runtime().block_on(async {
        let store = bench.store();
        for _ in 0..2 {
            let unfinished = settle_open_turns(&store).await.unwrap().unfinished;
            assert!(unfinished.iter().all(|turn| turn.session == waiting));
            assert_eq!(unfinished.len(), 2);
        }
        check_sound(&store, working).await;
        assert_eq!(statuses(&store, working).await, ["interrupted"]);
        assert_eq!(statuses(&store, waiting).await, ["running", "queued"]);
    });
    assert_eq!(fake.chats().len(), 2);
}

#[test]
fn what_a_living_process_works_on_is_left_to_it() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let runtime = runtime();
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let working = submit(&agent, session, "work").await;
        bench.held.has_begun().await;
        let waiting = submit(&agent, session, "and then?").await;
        assert_eq!(settle_open_turns(&bench.store()).await.unwrap(), SettledTurns::default());
        let another = bench.agent(&fake).await;
        within(another.finished()).await;
        bench.held.let_go(1);
        assert_eq!(finished(working).await.reply.unwrap(), "You said: work");
        assert_eq!(finished(waiting).await.reply.unwrap(), "You said: and then?");
        check_sound(agent.store(), session).await;
    });
    assert_eq!(bench.held.runs(), 1);
}

/// A message that waits in the store for a model that the config has no more.
#[test]
fn a_message_for_a_model_that_is_gone_gets_a_reply_that_says_so() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let session = runtime().block_on(async {
        let store = bench.store();
        let agent = Agent::idle(bench.parts_with(vec![model("fake", &fake)], store.clone()));
        let session = session(&agent, "k").await;
        let settings = json!({"model": "retired"}).as_object().unwrap().clone();
        store.accept(NewTurn { settings, ..inbound(session, "hello") }).await.unwrap();
        session
    });
    recover(
        &bench,
        &fake,
        session,
        &expect![[r#"
            1 user: hello
            2 error: there is no model `retired`
            hint: known models: fake; `/model NAME` chooses one for the session, `/model default` the config's
        "#]],
    );
}

#[test]
fn a_turn_that_another_process_left_while_we_live_is_finished_before_ours() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let living = runtime();
    let killed = mortal();
    let ours = living.block_on(bench.agent(&fake));
    let shared = killed.block_on(async {
        let theirs = bench.agent(&fake).await;
        let shared = session(&theirs, "shared").await;
        submit(&theirs, shared, "theirs").await;
        arrival(&gate, 1).await;
        shared
    });
    let waiting = living.block_on(submit(&ours, shared, "ours"));
    drop(killed);
    living.block_on(async {
        assert_eq!(finished(waiting).await.reply.unwrap(), "You said: ours");
        check_sound(ours.store(), shared).await;
        assert_eq!(statuses(ours.store(), shared).await, ["done", "done"]);
    });
}

/// Many sessions in one process that is killed in the middle of all of them.
#[test]
fn many_sessions_of_one_killed_process_are_all_finished() {
    let bench = Bench::new();
    let mut builder = FakeServer::openai();
    for number in 0..24 {
        builder = match number % 3 {
            0 => builder.answer(FakeAnswer::text("several words are said here")),
            1 => builder.answer(holds(&["a"])),
            _ => builder.answer(FakeAnswer::Silence),
        };
    }
    let fake = builder.start();
    let killed = mortal();
    let sessions = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let mut sessions = Vec::new();
        for number in 0..24 {
            let session = session(&agent, &format!("session {number}")).await;
            submit(&agent, session, "one").await;
            submit(&agent, session, "two").await;
            sessions.push(session);
        }
        // Each of the first answers is taken: some are said, some tools run,
        // some wait.
        for _ in 0..8 {
            bench.held.has_begun().await;
        }
        sessions
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        for session in sessions {
            check_sound(agent.store(), session).await;
            let transcript = transcript(agent.store(), session).await;
            assert_eq!(transcript.matches("user: one").count(), 1, "{transcript}");
            assert_eq!(transcript.matches("user: two").count(), 1, "{transcript}");
        }
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// The session of a process that was killed while it asked model `a`.
fn killed_while_calling(bench: &Bench, fake: &FakeServer, gate: &AnswerGate) -> SessionId {
    let killed = mortal();
    let session = killed.block_on(async {
        let agent = Agent::start(bench.parts(vec![model("a", fake)])).await.unwrap();
        let session = session(&agent, "k").await;
        submit(&agent, session, "hello").await;
        arrival(gate, 1).await;
        session
    });
    drop(killed);
    session
}

#[test]
fn a_turn_stays_with_its_model_whatever_was_chosen_since() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let first = FakeServer::openai().answer(FakeAnswer::text("lost").held(&gate)).start();
    let other = FakeServer::openai().start();
    let session = killed_while_calling(&bench, &first, &gate);
    runtime().block_on(async {
        let models = vec![model("b", &other), model("a", &first)];
        let agent = Agent::start(bench.parts(models)).await.unwrap();
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), session).await, ["done"]);
        assert_eq!((first.chats().len(), other.chats().len()), (2, 0));
        // The next message is for the model that is chosen now.
        say(&agent, session, "go on").await;
        assert_eq!(other.chats().len(), 1);
    });
}

#[test]
fn a_turn_whose_model_is_gone_does_not_stand_in_the_way() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost").held(&gate)).start();
    let session = killed_while_calling(&bench, &fake, &gate);
    runtime().block_on(async {
        let agent = Agent::start(bench.parts(vec![model("b", &fake)])).await.unwrap();
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), session).await, ["failed"]);
        assert_eq!(say(&agent, session, "go on").await.reply.unwrap(), "You said: go on");
        check_sound(agent.store(), session).await;
        expect![[r#"
            1 user: hello
            2 error: there is no model `a`
            hint: known models: b; `/model NAME` chooses one for the session, `/model default` the config's
            3 user: go on
            4 assistant: You said: go on
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
    });
}

/// Promise: `turns-elsewhere-are-heard`
#[test]
fn whoever_waits_for_a_turn_that_another_process_took_over_hears_its_end_once() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("too late").held(&gate)).start();
    let runtime = runtime();
    runtime.block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "shared").await;
        let mut waiting = submit(&ours, shared, "one").await;
        arrival(&gate, 1).await;
        // As if nothing had been heard of our process for long.
        let database = rusqlite::Connection::open(bench.database()).unwrap();
        database.execute("UPDATE turns SET owner = 4711", []).unwrap();
        assert_eq!(theirs.take_up(TakeUpScope::All).await.unwrap().taken_up.len(), 1);
        within(theirs.finished()).await;
        gate.open();
        let end = ended(&mut waiting.events, waiting.turn).await;
        assert_eq!(end.status, TurnEnding::Done);
        assert!(end.reply.unwrap().ends_with("one"));
        within(ours.finished()).await;
        check_sound(ours.store(), shared).await;
        assert_eq!(statuses(ours.store(), shared).await, ["done"]);
        // Nothing more is told of it.
        let second = submit(&ours, shared, "two").await;
        assert_ne!(next(&mut waiting.events).await.turn, Some(waiting.turn));
        assert!(finished(second).await.reply.unwrap().ends_with("two"));
    });
}
