//! `/stop`: ends the turn that runs, whatever it is doing, and no other.

use expect_test::expect;
use recto_agent::EventKind;
use recto_fakes::{AnswerEnding, AnswerGate, FakeAnswer, FakeServer};
use recto_store::TurnEnding;

use crate::support::{
    Bench, arrival, blocking, check_sound, ended, finished, holds, next, owner, runtime, say,
    session, statuses, submit, transcript, within,
};

#[test]
fn a_stop_while_the_model_talks_keeps_what_it_said() {
    let gate = AnswerGate::new();
    let fake =
        FakeServer::openai().answer(FakeAnswer::text("once upon a time").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let mut told = submit(&agent, session, "tell").await;
        gate.release(2);
        let mut heard = String::new();
        while heard.trim() != "once upon" {
            if let EventKind::Text { text } = next(&mut told.events).await.event {
                heard += &text;
            }
        }
        assert!(agent.stop(&owner(), session).await.unwrap());
        let finished = ended(&mut told.events, told.turn).await;
        assert_eq!(finished.status, TurnEnding::Stopped);
        expect![[r#"
            1 user: tell
            2 assistant: once upon 
            3 error: stopped
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        // The server is told, too: it need not go on.
        gate.open();
        let left = blocking(move || {
            fake.wait_until(|log| {
                log.iter().any(|received| received.ending == AnswerEnding::ClientLeft)
            });
            fake
        });
        left.await;
    });
}

/// Promise: `every-call-has-result`
#[test]
fn a_stop_while_tools_run_answers_their_calls() {
    let fake = FakeServer::openai().answer(holds(&["a", "b"])).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let mut working = submit(&agent, session, "work").await;
        bench.held.has_begun().await;
        bench.held.has_begun().await;
        // One of them is done before the stop.
        bench.held.let_go(1);
        loop {
            if let EventKind::Result { .. } = next(&mut working.events).await.event {
                break;
            }
        }
        assert!(agent.stop(&owner(), session).await.unwrap());
        assert_eq!(ended(&mut working.events, working.turn).await.status, TurnEnding::Stopped);
        check_sound(agent.store(), session).await;
        let transcript = transcript(agent.store(), session).await;
        assert_eq!(transcript.matches("hold: held").count(), 1, "{transcript}");
        assert_eq!(transcript.matches("hold: stopped by the person").count(), 1);
        // The session goes on, and the model sees a whole history.
        assert_eq!(say(&agent, session, "and now?").await.reply.unwrap(), "You said: and now?");
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_stop_while_nothing_runs_does_not_hit_the_next_turn() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        assert!(!agent.stop(&owner(), session).await.unwrap());
        assert_eq!(say(&agent, session, "one").await.status, TurnEnding::Done);
        within(agent.finished()).await;
        assert!(!agent.stop(&owner(), session).await.unwrap());
        assert_eq!(say(&agent, session, "two").await.status, TurnEnding::Done);
    });
}

#[test]
fn two_stops_end_one_turn_and_leave_the_waiting_ones_to_be_answered() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("never").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let first = submit(&agent, session, "one").await;
        arrival(&gate, 1).await;
        let second = submit(&agent, session, "two").await;
        let third = submit(&agent, session, "three").await;
        let owner = owner();
        let stops = tokio::join!(agent.stop(&owner, session), agent.stop(&owner, session));
        assert!(stops.0.is_ok() && stops.1.is_ok());
        assert_eq!(finished(first).await.status, TurnEnding::Stopped);
        assert_eq!(finished(second).await.status, TurnEnding::Done);
        assert_eq!(finished(third).await.status, TurnEnding::Done);
        assert_eq!(statuses(agent.store(), session).await, ["stopped", "done", "done"]);
        check_sound(agent.store(), session).await;
    });
}
