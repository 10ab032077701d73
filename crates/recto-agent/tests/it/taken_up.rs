//! Turns that were left and are taken up: they wait for what people ask now, are stopped from
//! anywhere, and don't come back for ever.

use std::time::Duration;

use expect_test::expect;
use recto_agent::step::EndReason;
use recto_agent::{
    Agent, CommandReply, EventCursor, EventKind, OpenTurnStanding, StopOutcome, StopReport,
    TakeUpScope, find_standing, first_words, stop_session,
};
use recto_context::ContentPart;
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{Moment, NewTurn, SessionId, SettingsMap, Store, StoredTurn, TurnEnding};

use crate::support::{
    Bench, arrival, check_sound, conversation, ended, finished, holds, model, mortal, next, owner,
    risks, runtime, say, session, statuses, submit, transcript, typed, within,
};

/// The session of a process that was killed while its model answered "one".
fn left_session(bench: &Bench, fake: &FakeServer, name: &str, messages: &[&str]) -> SessionId {
    let before = fake.chats().len();
    let killed = mortal();
    let left = killed.block_on(async {
        let agent = Agent::idle(bench.parts(vec![model("fake", fake)]));
        let left = session(&agent, name).await;
        for text in messages {
            submit(&agent, left, text).await;
        }
        while fake.chats().len() == before {
            tokio::task::yield_now().await;
        }
        left
    });
    drop(killed);
    left
}

/// Kills an agent that has taken up so many turns, while it asks the model.
fn kill_while_taken_up(bench: &Bench, fake: &FakeServer, turns: usize) {
    let before = fake.chats().len();
    let killed = mortal();
    killed.block_on(async {
        let agent = bench.agent(fake).await;
        while fake.chats().len() == before {
            tokio::task::yield_now().await;
        }
        assert_eq!(agent.taken_up_turns().len(), turns);
    });
    drop(killed);
}

async fn turn_of(store: &Store, session: SessionId) -> StoredTurn {
    store.turns(session).await.unwrap().remove(0)
}

async fn command(agent: &Agent, session: SessionId, line: &str) -> StopReport {
    let command = typed(line);
    match agent.command(&owner(), &conversation("here"), session, command).await.unwrap() {
        CommandReply::Stopped(report) => report,
        other => panic!("{other:?}"),
    }
}

/// Promise: `taken-up-makes-way`
#[test]
fn a_call_of_a_turn_that_was_taken_up_makes_way_for_what_a_person_asks() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one"]);
    fake.push(FakeAnswer::text("words that are given up").held(&gate));
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let mut watching = agent.listen(&owner(), left, EventCursor::Now).await.unwrap();
        gate.release(1);
        arrival(&gate, 2).await;
        while !matches!(next(&mut watching).await.event, EventKind::Text { .. }) {}
        // The model never says the rest of it, and nobody waits for that.
        let here = session(&agent, "here").await;
        let asked = AnswerGate::new();
        fake.push(FakeAnswer::text("at once").held(&asked));
        let mine = submit(&agent, here, "mine").await;
        arrival(&asked, 1).await;
        // It waits as long as the person does.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(fake.chats().len(), 3);
        asked.open();
        assert_eq!(finished(mine).await.reply.as_deref(), Some("at once"));
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), left).await, ["done"]);
        check_sound(agent.store(), left).await;
        // The call that was given up was made again, and is one request of the record.
        let turn = turn_of(agent.store(), left).await;
        let requests = agent.store().requests(turn.id).await.unwrap();
        let answered: Vec<bool> = requests.iter().map(|one| one.answer.is_some()).collect();
        assert_eq!((answered, turn.attempts.begins), (vec![false, true], 2));
        assert_eq!(fake.chats().len(), 4);
        assert_eq!(fake.chats()[1], fake.chats()[3]);
        // Whoever watches hears the reply once, behind the second event of its request.
        let mut heard = String::new();
        loop {
            match next(&mut watching).await.event {
                EventKind::Requested { .. } => heard.clear(),
                EventKind::Text { text } => heard += &text,
                EventKind::Finished(_) => break,
                _ => {}
            }
        }
        assert!(heard.starts_with("You said: ") && heard.ends_with("one"), "{heard}");
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Promise: `taken-up-makes-way`
#[test]
fn tools_of_a_turn_that_was_taken_up_are_not_cut_off() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one"]);
    fake.push(holds(&["a"]));
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        bench.held.has_begun().await;
        let here = session(&agent, "here").await;
        assert_eq!(say(&agent, here, "mine").await.reply.unwrap(), "You said: mine");
        bench.held.let_go(1);
        within(agent.finished()).await;
        assert_eq!((statuses(agent.store(), left).await, bench.held.runs()), (vec!["done"], 1));
        check_sound(agent.store(), left).await;
    });
}

/// Promise: `taken-up-makes-way`
#[test]
fn in_its_own_session_a_turn_that_was_left_is_finished_first() {
    let (bench, asked) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one"]);
    fake.push(FakeAnswer::text("slow").held(&asked));
    runtime().block_on(async {
        let agent = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let here = session(&agent, "here").await;
        // Somebody waits elsewhere, and somebody else for what was left.
        let slow = submit(&agent, here, "slow").await;
        arrival(&asked, 1).await;
        let report = agent.take_up(TakeUpScope::All).await.unwrap();
        assert_eq!((report.taken_up.len(), report.left.len()), (1, 0));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(fake.chats().len(), 2);
        assert_eq!(say(&agent, left, "two").await.reply.unwrap(), "You said: two");
        asked.open();
        finished(slow).await;
        within(agent.finished()).await;
        expect![[r#"
            1 user: one
            2 assistant: You said: one
            3 user: two
            4 assistant: You said: two
        "#]]
        .assert_eq(&transcript(agent.store(), left).await);
    });
}

#[test]
fn while_a_person_is_asked_what_was_left_goes_on() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one"]);
    fake.push(risks(&["it"]));
    runtime().block_on(async {
        let agent = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let here = session(&agent, "here").await;
        let mut asking = submit(&agent, here, "risk it").await;
        while !matches!(next(&mut asking.events).await.event, EventKind::Asked(_)) {}
        agent.take_up(TakeUpScope::All).await.unwrap();
        within(async {
            while statuses(agent.store(), left).await != ["done"] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert!(agent.stop(&owner(), here).await.unwrap());
        assert_eq!(finished(asking).await.status, TurnEnding::Stopped);
    });
}

#[test]
fn only_the_turns_of_the_session_that_was_asked_for_are_taken_up() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).answer(FakeAnswer::Silence).start();
    let first = left_session(&bench, &fake, "first", &["one", "behind it"]);
    let second = left_session(&bench, &fake, "second", &["  two\nwords "]);
    runtime().block_on(async {
        let agent = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let report = agent.take_up(TakeUpScope::Session(first)).await.unwrap();
        assert_eq!((report.taken_up.len(), report.closed.len()), (2, 0));
        let [waits] = &report.left[..] else { panic!("{report:?}") };
        assert_eq!(waits.session, second);
        assert_eq!(first_words(agent.store(), waits).await.unwrap(), "two words");
        let none = None;
        assert_eq!(find_standing(waits, none), Some(OpenTurnStanding::CutShort));
        let behind = &report.taken_up[1];
        assert_eq!(find_standing(behind, none), Some(OpenTurnStanding::Left));
        assert_eq!(first_words(agent.store(), behind).await.unwrap(), "behind it");
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), first).await, ["done", "done"]);
        assert_eq!(statuses(agent.store(), second).await, ["running"]);
        let ended = turn_of(agent.store(), first).await;
        assert_eq!(find_standing(&ended, none), None);
    });
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_turn_whose_process_is_killed_twice_is_not_begun_again() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one", "two"]);
    kill_while_taken_up(&bench, &fake, 2);
    runtime().block_on(async {
        let agent = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let report = agent.take_up(TakeUpScope::All).await.unwrap();
        let [closed] = &report.closed[..] else { panic!("{report:?}") };
        assert_eq!((closed.turn.session, closed.reason), (left, EndReason::GivenUp));
        assert!(closed.reason.remedy().is_some());
        within(agent.finished()).await;
        // What waited behind it was never begun, and is answered.
        assert_eq!(statuses(agent.store(), left).await, ["interrupted", "done"]);
        check_sound(agent.store(), left).await;
        expect![[r#"
            1 user: one
            2 error: given up: Recto was ended each time that it answered this, so it does not begin again by itself; ask again to go on
            3 user: two
            4 assistant: You said: two
        "#]]
        .assert_eq(&transcript(agent.store(), left).await);
    });
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_turn_whose_agent_is_shut_down_twice_is_not_begun_again() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one"]);
    fake.push(FakeAnswer::Silence);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(async {
            while fake.chats().len() == 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        within(agent.shutdown(Duration::ZERO)).await;
        assert_eq!(turn_of(agent.store(), left).await.attempts.begins, 2);
    });
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), left).await, ["interrupted"]);
        check_sound(agent.store(), left).await;
    });
    assert_eq!(fake.chats().len(), 2);
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_turn_that_was_taken_up_is_stopped_by_the_name_of_its_session() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one", "two"]);
    fake.push(FakeAnswer::Silence);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        while fake.chats().len() < 2 {
            tokio::task::yield_now().await;
        }
        let here = session(&agent, "here").await;
        let report = command(&agent, here, "/stop left").await;
        assert_eq!((&*report.session, report.outcome), ("left", StopOutcome::Now));
        within(agent.finished()).await;
        // What waited behind it goes with it.
        assert_eq!(statuses(agent.store(), left).await, ["stopped", "stopped"]);
        check_sound(agent.store(), left).await;
        let report = command(&agent, here, "/stop left").await;
        assert_eq!(report.outcome, StopOutcome::NothingRuns);
        let unknown = typed("/stop nowhere");
        let error = agent.command(&owner(), &conversation("here"), here, unknown).await;
        assert_eq!(error.unwrap_err().code(), "no_such_session");
        assert_eq!(say(&agent, left, "go on").await.reply.unwrap(), "You said: go on");
    });
    assert_eq!(fake.chats().len(), 3);
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_turn_is_stopped_without_an_agent_wherever_it_is() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).answer(FakeAnswer::Silence).start();
    let left = left_session(&bench, &fake, "left", &["one", "two"]);
    runtime().block_on(async {
        let store = bench.store();
        let stop = async |id: SessionId| {
            let session = store.session(id).await.unwrap().unwrap();
            stop_session(&store, &owner(), &session).await.unwrap().outcome
        };
        // Its process is gone.
        assert_eq!(stop(left).await, StopOutcome::Closed);
        assert_eq!(statuses(&store, left).await, ["stopped", "stopped"]);
        assert_eq!(stop(left).await, StopOutcome::NothingRuns);
        expect![[r#"
            1 user: one
            2 error: stopped
        "#]]
        .assert_eq(&transcript(&store, left).await);
        // Its process lives, and notices.
        let agent = bench.agent(&fake).await;
        let busy = session(&agent, "busy").await;
        let first = submit(&agent, busy, "one").await;
        let second = submit(&agent, busy, "two").await;
        assert_eq!(stop(busy).await, StopOutcome::Elsewhere);
        assert_eq!(finished(first).await.status, TurnEnding::Stopped);
        assert_eq!(finished(second).await.status, TurnEnding::Stopped);
        assert_eq!(say(&agent, busy, "three").await.reply.unwrap(), "You said: three");
    });
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_turn_that_waits_for_a_word_is_stopped_when_its_process_is_gone() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().answer(risks(&["it"])).start());
    let killed = mortal();
    let left = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let left = session(&agent, "left").await;
        let mut asking = submit(&agent, left, "risk it").await;
        while !matches!(next(&mut asking.events).await.event, EventKind::Asked(_)) {}
        submit(&agent, left, "and then?").await;
        left
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        assert_eq!(statuses(agent.store(), left).await, ["running", "queued"]);
        let mut events = agent.listen(&owner(), left, EventCursor::Now).await.unwrap();
        let report = command(&agent, left, "/stop").await;
        assert_eq!(report.outcome, StopOutcome::Closed);
        // Only the turn that stood first is stopped; what waited behind it goes on.
        let turns = agent.store().turns(left).await.unwrap();
        let second = ended(&mut events, turns[1].id).await;
        assert_eq!(second.status, TurnEnding::Done);
        assert_eq!(statuses(agent.store(), left).await, ["stopped", "done"]);
        assert_eq!(agent.open_approvals(&owner(), left).await.unwrap(), []);
        check_sound(agent.store(), left).await;
    });
}

/// Promise: `stopped-from-anywhere`
#[test]
fn what_was_stopped_is_not_taken_up_although_its_process_ended_first() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let killed = mortal();
    let left = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let left = session(&agent, "left").await;
        submit(&agent, left, "work").await;
        bench.held.has_begun().await;
        assert!(agent.stop(&owner(), left).await.unwrap());
        left
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), left).await, ["stopped"]);
        check_sound(agent.store(), left).await;
    });
    assert_eq!((bench.held.runs(), fake.chats().len()), (1, 1));
}

/// Promise: `not-begun-a-third-time`
#[test]
fn a_message_that_was_begun_twice_and_never_sent_is_in_the_transcript() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let left = runtime().block_on(async {
        let store = bench.store();
        let agent = Agent::idle(bench.parts_with(vec![model("fake", &fake)], store.clone()));
        let left = session(&agent, "left").await;
        let new = NewTurn {
            session: left,
            at: Moment::now(),
            content: vec![ContentPart::Text("one".into())],
            actor: owner().to_store(),
            delivery: None,
            settings: SettingsMap::default(),
            client: None,
            retraction: None,
        };
        let turn = store.accept(new).await.unwrap().id;
        store.claim(turn, Moment::now()).await.unwrap();
        store.begin_again(turn).await.unwrap();
        left
    });
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        check_sound(agent.store(), left).await;
        expect![[r#"
            1 user: one
            2 error: given up: Recto was ended each time that it answered this, so it does not begin again by itself; ask again to go on
        "#]]
        .assert_eq(&transcript(agent.store(), left).await);
    });
}
