//! A message that its surface delivers more than once is taken in once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use recto_agent::{Actor, Agent, Conversation, Inbound, InboundIntake, SurfaceMessage};
use recto_fakes::{FakeAnswer, FakeServer};
use recto_store::{SessionId, TurnId};

use crate::support::{
    Bench, arrival, check_sound, finished, follow, owner, runtime, scripted, transcript, within,
};

/// Names the folder that the other process works in.
const FOLDER: &str = "RECTO_TEST_FOLDER";

/// How often each process delivers a message.
const TIMES: usize = 100;

/// The messages that are delivered by both processes at once.
const MESSAGES: [&str; 4] = ["a", "b", "c", "d"];

fn group() -> Conversation {
    Conversation::in_group("telegram", "bot", "-100")
}

/// A message as its surface delivers it.
fn delivered(conversation: &Conversation, id: &str) -> Inbound {
    let delivery = SurfaceMessage { conversation: conversation.clone(), id: id.to_owned() };
    let ada = Actor::member("7", "Ada", conversation);
    Inbound { delivery: Some(delivery), ..Inbound::text(&ada, &format!("message {id}")) }
}

/// Delivers every message many times in eight tasks at once, and gives the turns.
async fn deliver_all(agent: &Agent, session: SessionId) -> BTreeSet<TurnId> {
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let agent = agent.clone();
            tokio::spawn(async move {
                let mut turns = Vec::new();
                for (id, _) in
                    MESSAGES.iter().flat_map(|id| (task..TIMES).step_by(8).map(move |n| (id, n)))
                {
                    turns.push(agent.submit(session, delivered(&group(), id)).await.unwrap().turn);
                }
                turns
            })
        })
        .collect();
    let mut turns = BTreeSet::new();
    for task in tasks {
        turns.extend(within(task).await.unwrap());
    }
    turns
}

/// Promise: `each-message-once`
#[test]
fn a_message_delivered_by_many_tasks_of_two_processes_begins_one_turn() {
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = Agent::start(bench.parts(vec![scripted()])).await.unwrap();
        let session = agent.find_or_begin(&owner(), &group()).await.unwrap().id;
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "deliveries::the_other_process", "--nocapture"])
            .env(FOLDER, bench.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(other.stdout.take().unwrap()).lines();
        let mut lines = told.by_ref().map(Result::unwrap);
        assert!(lines.any(|line| line.ends_with("ready")));
        other.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let mut turns = deliver_all(&agent, session).await;
        let theirs: Vec<TurnId> = lines
            .filter_map(|line| line.strip_prefix("turn ").map(|turn| turn.parse().unwrap()))
            .collect();
        assert!(other.wait().unwrap().success());
        assert_eq!(theirs.len(), MESSAGES.len());
        turns.extend(theirs);
        within(agent.finished()).await;
        let stored = agent.store().turns(session).await.unwrap();
        let stored: BTreeSet<TurnId> = stored.iter().map(|turn| turn.id).collect();
        assert_eq!((stored.len(), &stored), (MESSAGES.len(), &turns));
        let shown = transcript(agent.store(), session).await;
        for id in MESSAGES {
            assert_eq!(shown.matches(&format!("user: message {id}\n")).count(), 1, "{shown}");
        }
        check_sound(agent.store(), session).await;
    });
}

/// The second process of the test above, which starts it.
#[test]
#[ignore = "started by another test"]
fn the_other_process() {
    let folder = std::env::var_os(FOLDER).expect("the folder of the test that starts it");
    runtime().block_on(async {
        let parts = Bench::parts_elsewhere(Path::new(&folder), vec![scripted()]);
        let agent = Agent::start(parts).await.unwrap();
        let session = agent.find_or_begin(&owner(), &group()).await.unwrap().id;
        println!("ready");
        let mut go = String::new();
        std::io::stdin().read_line(&mut go).unwrap();
        for turn in deliver_all(&agent, session).await {
            println!("turn {turn}");
        }
        within(agent.finished()).await;
    });
}

#[test]
fn a_known_message_is_answered_with_its_turn_wherever_the_conversation_is_by_then() {
    let gate = recto_fakes::AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("first").held(&gate)).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let place = group();
        let session = agent.find_or_begin(&owner(), &place).await.unwrap().id;
        let first = agent.submit(session, delivered(&place, "7")).await.unwrap();
        assert_eq!(first.intake, InboundIntake::New);
        arrival(&gate, 1).await;
        // While its turn runs, the events of that turn are still to come.
        let again = agent.submit(session, delivered(&place, "7")).await.unwrap();
        assert_eq!((again.intake, again.turn), (InboundIntake::Known, first.turn));
        gate.open();
        assert_eq!(
            finished(follow(&agent, session, again).await).await.reply.as_deref(),
            Some("first")
        );
        assert_eq!(
            finished(follow(&agent, session, first).await).await.reply.as_deref(),
            Some("first")
        );

        // Whoever lost the first answer hears the whole turn all the same, also once it is over.
        let again = agent.submit(session, delivered(&place, "7")).await.unwrap();
        assert_eq!(again.before, first.before);
        assert_eq!(
            finished(follow(&agent, session, again).await).await.reply.as_deref(),
            Some("first")
        );

        // After /new it belongs to the session that it was said in.
        let renewed = agent.renew(&owner(), &place, session).await.unwrap().began.id;
        let again = agent.submit(renewed, delivered(&place, "7")).await.unwrap();
        assert_eq!(again.intake, InboundIntake::Known);
        assert!(agent.store().turns(renewed).await.unwrap().is_empty());

        // The same id elsewhere is another message.
        let elsewhere = Conversation::in_group("telegram", "second bot", "-100");
        let other = agent.find_or_begin(&owner(), &elsewhere).await.unwrap().id;
        let new = agent.submit(other, delivered(&elsewhere, "7")).await.unwrap();
        assert_eq!(new.intake, InboundIntake::New);
        finished(follow(&agent, other, new).await).await;
        let next = agent.submit(renewed, delivered(&place, "8")).await.unwrap();
        assert_eq!(next.intake, InboundIntake::New);
        finished(follow(&agent, renewed, next).await).await;
    });
}
