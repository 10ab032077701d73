//! Who is answered when: in a session one after the other, and no session waits
//! for another.

use futures_util::future::join_all;
use recto_agent::{Agent, CommandReply, EventKind, Inbound, StopOutcome};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{TurnEnding, TurnStatus};

use crate::support::{
    Bench, arrival, check_sound, conversation, finished, follow, next, owner, runtime, say,
    scripted, session, statuses, submit, text, transcript, typed, within,
};

/// What became of the wish to stop.
#[track_caller]
fn outcome(reply: CommandReply) -> StopOutcome {
    match reply {
        CommandReply::Stopped(report) => report.outcome,
        other => panic!("{other:?}"),
    }
}

/// The replies of the fake when it only repeats.
fn echoes(texts: &[String]) -> String {
    let lines = texts.iter().enumerate().map(|(index, text)| {
        let number = index * 2 + 1;
        format!("{number} user: {text}\n{} assistant: You said: {text}\n", number + 1)
    });
    lines.collect()
}

#[test]
fn messages_sent_at_once_are_answered_in_the_order_they_were_sent() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        for round in 0..20 {
            let session = session(&agent, &format!("round {round}")).await;
            let texts: Vec<String> = (1..=5).map(|number| format!("message {number}")).collect();
            let inbound = |text: &String| Inbound::text(&owner(), text);
            let submitted = texts.iter().map(|text| agent.submit(session, inbound(text)));
            for submission in join_all(submitted).await {
                finished(follow(&agent, session, submission.unwrap()).await).await;
            }
            assert_eq!(transcript(agent.store(), session).await, echoes(&texts));
            check_sound(agent.store(), session).await;
        }
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_message_that_comes_during_a_turn_waits_and_is_stored_at_once() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let first = submit(&agent, session, "one").await;
        arrival(&gate, 1).await;
        let second = submit(&agent, session, "two").await;
        let kept = bench.store().turn(second.turn).await.unwrap().unwrap();
        assert_eq!(kept.status, TurnStatus::Queued);
        assert_eq!(fake.chats().len(), 1);
        gate.open();
        finished(first).await;
        finished(second).await;
        check_sound(agent.store(), session).await;
        assert_eq!(statuses(agent.store(), session).await, ["done", "done"]);
        // The second request has the first exchange in it.
        let chats = fake.chats();
        assert!(chats[1]["messages"].to_string().contains("first"), "{}", chats[1]);
    });
}

/// Promise: `messages-never-interleave`
#[test]
fn no_session_waits_for_another() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("at last").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let held = session(&agent, "held").await;
        let slow = submit(&agent, held, "wait").await;
        arrival(&gate, 1).await;
        let others = (1..50).map(|number| {
            let agent = agent.clone();
            async move {
                let session = session(&agent, &format!("other {number}")).await;
                let finished = say(&agent, session, &format!("hello {number}")).await;
                assert_eq!(finished.reply.unwrap(), format!("You said: hello {number}"));
                session
            }
        });
        for session in join_all(others).await {
            check_sound(agent.store(), session).await;
        }
        assert_eq!(statuses(agent.store(), held).await, ["running"]);
        gate.open();
        assert_eq!(finished(slow).await.status, TurnEnding::Done);
        within(agent.finished()).await;
    });
}

/// Without a server in between, so that the two meet at every point of a turn.
#[test]
fn two_processes_take_turns_in_one_session() {
    const EACH: usize = 40;
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let start = || Agent::start(bench.parts(vec![scripted()]));
        let (ours, theirs) = (start().await.unwrap(), start().await.unwrap());
        let shared = session(&ours, "shared").await;
        assert_eq!(session(&theirs, "shared").await, shared);
        let talk = |name: &'static str, agent: Agent| async move {
            for number in 0..EACH {
                let said = format!("{name} {number:02}");
                let finished = say(&agent, shared, &said).await;
                assert_eq!(finished.reply.unwrap(), format!("You said: {said}"));
            }
        };
        let talks = [talk("ours", ours.clone()), talk("theirs", theirs.clone())];
        for talk in talks.map(tokio::spawn) {
            talk.await.unwrap();
        }
        check_sound(ours.store(), shared).await;
        let messages = ours.store().messages(shared, None).await.unwrap();
        let users = messages.iter().filter(|stored| stored.message.is_user());
        let said: Vec<String> = users.map(|stored| text(&stored.message)).collect();
        assert_eq!(said.len(), 2 * EACH);
        for name in ["ours", "theirs"] {
            let of_one: Vec<&String> = said.iter().filter(|said| said.starts_with(name)).collect();
            assert!(of_one.len() == EACH && of_one.is_sorted(), "{of_one:?}");
        }
    });
}

#[test]
fn a_message_waits_for_the_turn_of_another_process() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "shared").await;
        let first = submit(&ours, shared, "one").await;
        arrival(&gate, 1).await;
        let second = submit(&theirs, shared, "two").await;
        assert_eq!(statuses(ours.store(), shared).await, ["running", "queued"]);
        gate.open();
        finished(first).await;
        assert_eq!(finished(second).await.reply.unwrap(), "You said: two");
        check_sound(ours.store(), shared).await;
    });
}

#[test]
fn a_message_that_waits_for_another_process_can_be_taken_back() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "shared").await;
        let first = submit(&ours, shared, "one").await;
        arrival(&gate, 1).await;
        let mut second = submit(&theirs, shared, "two").await;
        // The person is told why nothing happens, and may give up.
        while !matches!(next(&mut second.events).await.event, EventKind::Notice(_)) {}
        assert!(theirs.stop(&owner(), shared).await.unwrap());
        assert_eq!(finished(second).await.status, TurnEnding::Stopped);
        assert_eq!(statuses(ours.store(), shared).await, ["running", "stopped"]);
        within(theirs.finished()).await;
        assert_eq!(fake.chats().len(), 1);
        // The turn of the other process can be stopped from here, too.
        let stop = theirs
            .command(&owner(), &conversation("shared"), shared, typed("/stop"))
            .await
            .unwrap();
        assert_eq!(outcome(stop), StopOutcome::Elsewhere);
        assert_eq!(finished(first).await.status, TurnEnding::Stopped);
        assert_eq!(say(&theirs, shared, "three").await.reply.unwrap(), "You said: three");
        check_sound(ours.store(), shared).await;
        assert_eq!(fake.chats().len(), 2);
    });
}

/// Promise: `stopped-from-anywhere`
#[test]
fn a_stop_ends_the_turn_of_another_process_and_not_what_waits_here_for_it() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "shared").await;
        let first = submit(&ours, shared, "one").await;
        arrival(&gate, 1).await;
        let mut second = submit(&theirs, shared, "two").await;
        while !matches!(next(&mut second.events).await.event, EventKind::Notice(_)) {}
        let stop = theirs
            .command(&owner(), &conversation("shared"), shared, typed("/stop"))
            .await
            .unwrap();
        assert_eq!(outcome(stop), StopOutcome::Elsewhere);
        assert_eq!(finished(first).await.status, TurnEnding::Stopped);
        assert_eq!(finished(second).await.reply.unwrap(), "You said: two");
        assert_eq!(statuses(ours.store(), shared).await, ["stopped", "done"]);
        check_sound(ours.store(), shared).await;
    });
}
