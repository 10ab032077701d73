//! An agent that is shut down, and one that runs for long: nothing that was
//! acknowledged is lost, and what others left is taken up, once.

use std::time::Duration;

use expect_test::expect;
use futures_util::future::join_all;
use recto_agent::{
    Agent, AgentError, AgentOptions, AgentParts, EventCursor, EventKind, Inbound, TurnContinues,
};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{ApprovalAnswer, SessionId, TurnEnding};

use crate::recovery::recover;
use crate::support::{
    Bench, arrival, check_sound, ended, finished, holds, model, mortal, next, owner, risks,
    runtime, say, session, statuses, submit, text, transcript, within,
};

/// The session of an agent that is shut down without grace when it has got so far.
fn shut_down_after(
    bench: &Bench,
    fake: &FakeServer,
    so_far: impl AsyncFnOnce(&Agent, SessionId),
) -> SessionId {
    runtime().block_on(async {
        let agent = bench.agent(fake).await;
        let session = session(&agent, "k").await;
        so_far(&agent, session).await;
        within(agent.shutdown(Duration::ZERO)).await;
        session
    })
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn a_shutdown_in_the_middle_of_a_call_writes_no_failure_and_the_call_is_made_again() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let session = shut_down_after(&bench, &fake, async |agent, session| {
        submit(agent, session, "one").await;
        gate.release(1);
        arrival(&gate, 2).await;
        submit(agent, session, "two").await;
    });
    runtime().block_on(async {
        let store = bench.store();
        assert_eq!(transcript(&store, session).await, "1 user: one\n");
        assert_eq!(statuses(&store, session).await, ["running", "queued"]);
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
        "#]],
    );
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn a_shutdown_in_the_middle_of_a_tool_ends_it_and_it_is_marked() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let session = shut_down_after(&bench, &fake, async |agent, session| {
        submit(agent, session, "work").await;
        bench.held.has_begun().await;
    });
    // Nobody runs it any more who could take this.
    bench.held.let_go(1);
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
    assert_eq!(bench.held.runs(), 1);
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn a_shutdown_in_the_middle_of_a_question_leaves_it_open() {
    let fake = FakeServer::openai().answer(risks(&["it"])).answer(FakeAnswer::text("done")).start();
    let bench = Bench::new();
    let session = shut_down_after(&bench, &fake, async |agent, session| {
        let mut asking = submit(agent, session, "risk it").await;
        while !matches!(next(&mut asking.events).await.event, EventKind::Asked(_)) {}
        submit(agent, session, "and then?").await;
    });
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        assert!(!agent.is_at_work());
        assert_eq!(statuses(agent.store(), session).await, ["running", "queued"]);
        let open = agent.open_approvals(&owner(), session).await.unwrap();
        let mut events = agent.listen(&owner(), session, EventCursor::Now).await.unwrap();
        let answered = agent.answer(&owner(), open[0].id, ApprovalAnswer::Once).await.unwrap();
        assert_eq!(answered.goes_on, TurnContinues::Here);
        let finished = ended(&mut events, answered.approval.turn).await;
        assert_eq!(finished.reply.as_deref(), Some("done"));
        within(agent.finished()).await;
        assert_eq!(statuses(agent.store(), session).await, ["done", "done"]);
        check_sound(agent.store(), session).await;
    });
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn what_was_parked_goes_on_with_the_next_agent_of_the_same_process() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    runtime().block_on(async {
        let store = bench.store();
        let parts = || bench.parts_with(vec![model("fake", &fake)], store.clone());
        let first = Agent::start(parts()).await.unwrap();
        let here = session(&first, "k").await;
        submit(&first, here, "one").await;
        gate.release(1);
        arrival(&gate, 2).await;
        submit(&first, here, "two").await;
        within(first.shutdown(Duration::ZERO)).await;
        assert_eq!(statuses(&store, here).await, ["running", "queued"]);
        let second = Agent::start(parts()).await.unwrap();
        within(second.finished()).await;
        assert_eq!(statuses(&store, here).await, ["done", "done"]);
        check_sound(&store, here).await;
    });
}

#[test]
fn what_runs_may_end_within_the_grace_time_and_nothing_new_begins() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let here = runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let here = session(&agent, "k").await;
        let first = submit(&agent, here, "one").await;
        arrival(&gate, 1).await;
        let mut second = submit(&agent, here, "two").await;
        let closing = tokio::spawn({
            let agent = agent.clone();
            async move { agent.shutdown(Duration::from_secs(60)).await }
        });
        while agent.preview(here, Inbound::text(&owner(), "?")).await.is_ok() {}
        let refused = agent.submit(here, Inbound::text(&owner(), "three")).await.unwrap_err();
        assert!(matches!(refused, AgentError::ShuttingDown), "{refused:?}");
        assert_eq!((refused.code(), refused.hint().is_some()), ("shutting_down", true));
        assert!(!closing.is_finished());
        gate.open();
        assert_eq!(finished(first).await.status, TurnEnding::Done);
        within(closing).await.unwrap();
        // Its listeners read to the end, and no more comes.
        while within(second.events.next()).await.is_some() {}
        assert_eq!(statuses(agent.store(), here).await, ["done", "queued"]);
        // A second time there is nothing left to do.
        within(agent.shutdown(Duration::from_secs(60))).await;
        here
    });
    recover(
        &bench,
        &fake,
        here,
        &expect![[r#"
            1 user: one
            2 assistant: first
            3 user: two
            4 assistant: You said: two
        "#]],
    );
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn a_message_that_meets_a_shutdown_is_acknowledged_and_kept_or_refused() {
    const ROUNDS: usize = 20;
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    for round in 0..ROUNDS {
        let (here, acknowledged) = runtime().block_on(async {
            let agent = bench.agent(&fake).await;
            let here = session(&agent, &format!("round {round}")).await;
            let sent = (0..16).map(|number| {
                let agent = agent.clone();
                tokio::spawn(async move {
                    let said = format!("message {number}");
                    let taken = agent.submit(here, Inbound::text(&owner(), &said)).await;
                    match taken {
                        Ok(_) => Some(said),
                        Err(AgentError::ShuttingDown) => None,
                        Err(error) => panic!("{error:?}"),
                    }
                })
            });
            let sent: Vec<_> = sent.collect();
            tokio::time::sleep(Duration::from_millis(round as u64)).await;
            within(agent.shutdown(Duration::ZERO)).await;
            let acknowledged = join_all(sent).await.into_iter().filter_map(Result::unwrap);
            (here, acknowledged.collect::<Vec<_>>())
        });
        runtime().block_on(async {
            let agent = bench.agent(&fake).await;
            within(agent.finished()).await;
            check_sound(agent.store(), here).await;
            let messages = agent.store().messages(here, None).await.unwrap();
            let users = messages.iter().filter(|stored| stored.message.is_user());
            let said: Vec<String> = users.map(|stored| text(&stored.message)).collect();
            for text in acknowledged {
                assert_eq!(said.iter().filter(|said| **said == text).count(), 1, "{said:?}");
            }
        });
    }
}

/// An agent that often looks for what others left.
async fn watchful_agent(bench: &Bench, fake: &FakeServer) -> Agent {
    let parts = bench.parts(vec![model("fake", fake)]);
    let options =
        AgentOptions { recovery_interval: Duration::from_millis(20), ..parts.options.clone() };
    Agent::start(AgentParts { options, ..parts }).await.unwrap()
}

/// Promise: `taken-up-while-running`
#[test]
fn what_a_process_leaves_is_taken_up_once_by_those_that_run() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let living = runtime();
    let watchers = living.block_on(async {
        [watchful_agent(&bench, &fake).await, watchful_agent(&bench, &fake).await]
    });
    let killed = mortal();
    let shared = killed.block_on(async {
        let theirs = bench.agent(&fake).await;
        let shared = session(&theirs, "shared").await;
        for text in ["one", "two", "three"] {
            submit(&theirs, shared, text).await;
        }
        arrival(&gate, 1).await;
        shared
    });
    living.block_on(async {
        // While its process lives, nobody else takes it up.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(fake.chats().len(), 1);
    });
    drop(killed);
    living.block_on(async {
        let store = bench.store();
        within(async {
            while statuses(&store, shared).await != ["done", "done", "done"] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        check_sound(&store, shared).await;
        assert_eq!(fake.chats().len(), 4);
        // One that was shut down takes up nothing more.
        for watcher in &watchers {
            within(watcher.shutdown(Duration::ZERO)).await;
            assert!(!watcher.is_at_work());
        }
    });
}

/// Promise: `taken-up-while-running`
#[test]
fn whoever_asked_a_process_that_ends_now_waits_for_nobody_else() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let held = || FakeAnswer::text("words").held(&gate);
    let fake = FakeServer::openai().answer(held()).answer(held()).answer(held()).start();
    let living = runtime();
    // Somebody waits here for an answer that does not come.
    let watcher = living.block_on(async {
        let watcher = watchful_agent(&bench, &fake).await;
        let here = session(&watcher, "here").await;
        submit(&watcher, here, "one").await;
        arrival(&gate, 1).await;
        watcher
    });
    let killed = mortal();
    let left = killed.block_on(async {
        let theirs = bench.agent(&fake).await;
        let left = session(&theirs, "left").await;
        submit(&theirs, left, "two").await;
        arrival(&gate, 2).await;
        left
    });
    drop(killed);
    living.block_on(async {
        // The model is asked again for what the other process left.
        within(arrival(&gate, 3)).await;
        gate.open();
        let store = bench.store();
        within(async {
            while statuses(&store, left).await != ["done"] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        within(watcher.shutdown(Duration::ZERO)).await;
    });
}

#[test]
fn a_turn_that_was_taken_up_is_not_taken_up_again_while_it_waits() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::Silence).start();
    let killed = mortal();
    let shared = killed.block_on(async {
        let theirs = bench.agent(&fake).await;
        let shared = session(&theirs, "shared").await;
        submit(&theirs, shared, "one").await;
        submit(&theirs, shared, "two").await;
        while fake.chats().is_empty() {
            tokio::task::yield_now().await;
        }
        shared
    });
    drop(killed);
    fake.push(FakeAnswer::text("at last").held(&gate));
    runtime().block_on(async {
        let agent = watchful_agent(&bench, &fake).await;
        arrival(&gate, 1).await;
        // It looks again and again, and what it has is nobody's to take up.
        tokio::time::sleep(Duration::from_millis(200)).await;
        gate.open();
        within(agent.finished()).await;
        check_sound(agent.store(), shared).await;
        assert_eq!(statuses(agent.store(), shared).await, ["done", "done"]);
        assert_eq!(fake.chats().len(), 3);
        assert_eq!(say(&agent, shared, "three").await.reply.unwrap(), "You said: three");
    });
}
