//! Several processes on one store.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use recto_context::Message;
use recto_store::{
    ChannelAccount, ChannelCursor, LeaseOutcome, NewChannelUpdate, OwnedTurn, SessionHolder, Store,
    StoreError, TurnAttempts, TurnCommit, TurnEnding, TurnId, TurnOutcome, TurnOwner, TurnStatus,
};
use serde_json::json;

use crate::support::{
    StoreBench, at, begin, done, exchange, id, new_message, new_turn, passed_store, reply,
    transcript,
};

#[tokio::test]
async fn two_stores_never_run_one_session_at_once() {
    let bench = StoreBench::new();
    let other = bench.another();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "mine").await.unwrap().turn;

    let busy = StoreError::Busy { turn, owner: TurnOwner::Elsewhere };
    assert_eq!(begin(&other, &session, 2, "yours").await, Err(busy.clone()));
    let queued = other.accept(new_turn(&session, "yours")).await.unwrap().id;
    assert_eq!(other.claim(queued, at(1)).await, Err(busy));
    let not_ours = StoreError::NotOurs { turn, owner: TurnOwner::Elsewhere };
    let commit = TurnCommit { outcome: done(), ..TurnCommit::default() };
    assert_eq!(other.advance(turn, commit).await, Err(not_ours.clone()));
    assert_eq!(other.take_over(turn).await, Err(not_ours));
    let not_ours = StoreError::NotOurs { turn: queued, owner: TurnOwner::Elsewhere };
    assert_eq!(bench.store.claim(queued, at(1)).await, Err(not_ours));

    // What one writes the other sees, and goes on from there.
    reply(&bench.store, turn, 2, "done").await;
    assert_eq!(other.claim(queued, at(2)).await.unwrap().status, TurnStatus::Running);
    reply(&other, queued, 3, "done, too").await;
    exchange(&bench.store, &session, 4, ["and", "more"]).await;
    assert_eq!(transcript(&other, &session).await.len(), 5);
}

/// How often a turn was begun, and how many of these begins were given back.
async fn attempts(store: &Store, turn: TurnId) -> (u32, u32) {
    let TurnAttempts { begins, releases } = store.turn(turn).await.unwrap().unwrap().attempts;
    (begins, releases)
}

#[tokio::test]
async fn begins_are_counted_and_those_that_were_given_back_apart() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let running = begin(&bench.store, &session, 1, "one").await.unwrap().turn;
    let queued = bench.store.accept(new_turn(&session, "two")).await.unwrap().id;
    assert_eq!(attempts(&bench.store, running).await, (1, 0));
    assert_eq!(attempts(&bench.store, queued).await, (0, 0));

    // A process that is gone has given nothing back.
    let bench = bench.reopened();
    bench.store.take_over(running).await.unwrap();
    assert_eq!(attempts(&bench.store, running).await, (1, 0));
    // What was taken over and not begun is no begin that could be given back.
    bench.store.release_turns("main").await.unwrap();
    assert_eq!(attempts(&bench.store, running).await, (1, 0));
    bench.store.take_over(running).await.unwrap();
    let again = bench.store.begin_again(running).await.unwrap().attempts;
    assert_eq!((again.begins, again.cuts()), (2, 2));
    // Who goes on with what it has begun itself has not ended since.
    for _ in 0..2 {
        bench.store.take_over(running).await.unwrap();
        assert_eq!(attempts(&bench.store, running).await, (2, 1));
    }
    let again = bench.store.begin_again(running).await.unwrap().attempts;
    assert_eq!((again.begins, again.cuts()), (3, 2));
    // An agent that is shut down ends, however orderly.
    for _ in 0..2 {
        bench.store.release_turns("main").await.unwrap();
        assert_eq!(attempts(&bench.store, running).await, (3, 1));
    }
    let gone = bench.store.begin_again(running).await;
    assert!(matches!(gone, Err(StoreError::NotOurs { .. })), "{gone:?}");
    bench.store.take_over(running).await.unwrap();
    reply(&bench.store, running, 2, "1").await;
    bench.store.take_over(queued).await.unwrap();
    bench.store.claim(queued, at(3)).await.unwrap();
    assert_eq!(attempts(&bench.store, queued).await, (1, 0));
}

#[tokio::test]
async fn a_request_to_stop_is_seen_by_all_until_the_turn_has_ended() {
    let (bench, by) = (StoreBench::new(), |name: &str| json!({"id": name}));
    let other = bench.another();
    let session = bench.session("a").await;
    let running = begin(&bench.store, &session, 1, "one").await.unwrap().turn;
    let queued = bench.store.accept(new_turn(&session, "two")).await.unwrap().id;
    assert_eq!(bench.store.turn_wishes(session.id).await.unwrap().stop_by, None);
    other.request_stop_of_own(session.id, by("ben")).await.unwrap();
    bench.store.request_stop_of_own(session.id, by("ada")).await.unwrap();
    assert_eq!(other.request_stop(running, by("ben")).await, Ok(true));
    assert_eq!(bench.store.turn_wishes(session.id).await.unwrap().stop_by, Some(by("ada")));
    assert_eq!(other.turn_wishes(session.id).await.unwrap().stop_by, None);
    let stored = |turn| bench.store.turn(turn);
    assert_eq!(stored(running).await.unwrap().unwrap().stop_by, Some(by("ada")));
    assert_eq!(stored(queued).await.unwrap().unwrap().stop_by, None);
    reply(&bench.store, running, 2, "1").await;
    assert_eq!(other.request_stop(running, by("ben")).await, Ok(false));
    assert_eq!(bench.store.turn_wishes(session.id).await.unwrap().stop_by, None);
}

#[tokio::test]
async fn the_turns_of_a_process_that_is_killed_are_taken_over() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let mut child = OwnerProcess::start(&bench);
    let running = child.read_line("running");
    let queued = child.read_line("queued");
    let (running, queued) = (running.parse().unwrap(), queued.parse().unwrap());

    let alive = bench.store.turn(running).await.unwrap().unwrap();
    assert_eq!((alive.status, alive.owner), (TurnStatus::Running, Some(TurnOwner::Elsewhere)));
    let refused = bench.store.take_over(running).await;
    assert_eq!(refused, Err(StoreError::NotOurs { turn: running, owner: TurnOwner::Elsewhere }));

    child.kill();
    // A file tells at once, a server when the lease is over.
    let gone = [(running, Some(TurnOwner::Gone)), (queued, Some(TurnOwner::Gone))];
    let mut owners = Vec::new();
    for _ in 0..600 {
        let open = bench.store.open_turns().await.unwrap();
        owners = open.turns.iter().map(|turn| (turn.id, turn.owner)).collect();
        if owners == gone {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(owners, gone);
    let busy = StoreError::Busy { turn: running, owner: TurnOwner::Gone };
    assert_eq!(begin(&bench.store, &session, 2, "next").await, Err(busy));

    // Of two that try, one gets it.
    let other = bench.another();
    let (ours, theirs) = tokio::join!(bench.store.take_over(running), other.take_over(running));
    assert_eq!(usize::from(ours.is_ok()) + usize::from(theirs.is_ok()), 1);
    let (first, second) =
        if ours.is_ok() { (&bench.store, &other) } else { (&other, &bench.store) };
    let outcome = TurnOutcome { ending: TurnEnding::Interrupted, detail: None, at: at(7) };
    let messages = vec![new_message(Message::assistant(2, "that was interrupted"))];
    let commit = TurnCommit { messages, outcome: Some(outcome), ..TurnCommit::default() };
    first.advance(running, commit).await.unwrap();
    let waiting = second.take_over(queued).await.unwrap();
    assert_eq!((waiting.status, waiting.owner), (TurnStatus::Queued, Some(TurnOwner::Here)));
    second.claim(queued, at(8)).await.unwrap();
    reply(second, queued, 3, "here it is").await;
    assert_eq!(transcript(&bench.store, &session).await.len(), 3);
    assert_eq!(bench.store.messages(session.id, Some(id(1))).await.unwrap()[0].at, at(1));
}

/// Promise: `one-reader-for-each-bot`
#[tokio::test]
async fn what_one_process_at_a_time_may_do_goes_to_another_when_it_ends() {
    let bench = StoreBench::new();
    let bot = ChannelAccount { channel: "telegram".into(), account: "bot".into() };
    let lease = bot.lease_name();
    let receive = |store: &Store, key: &str| {
        let update = NewChannelUpdate {
            key: key.to_owned(),
            conversation: "ada".to_owned(),
            payload: json!({}),
        };
        let cursor = ChannelCursor { position: 1, resume: None, at: at(1) };
        let (store, bot) = (store.clone(), bot.clone());
        async move { store.receive_updates(&bot, vec![update], cursor).await }
    };
    let first = bench.another();
    assert_eq!(first.take_lease(&lease).await, Ok(LeaseOutcome::Held));
    assert_eq!(bench.store.take_lease(&lease).await, Ok(LeaseOutcome::Elsewhere));
    assert_eq!(first.take_lease(&lease).await, Ok(LeaseOutcome::Held));
    assert_eq!(first.take_lease("telegram:another").await, Ok(LeaseOutcome::Held));
    receive(&first, "1").await.unwrap();
    let refused = receive(&bench.store, "2").await;
    assert_eq!(refused, Err(StoreError::LostLease { name: lease.clone() }));

    // Of two that stand by, one has it.
    let third = bench.another();
    drop(first);
    let (one, other) = tokio::join!(bench.store.take_lease(&lease), third.take_lease(&lease));
    let held = [one, other].iter().filter(|held| **held == Ok(LeaseOutcome::Held)).count();
    assert_eq!(held, 1);
    third.release_lease(&lease).await.unwrap();
    bench.store.release_lease(&lease).await.unwrap();
    assert_eq!(third.take_lease(&lease).await, Ok(LeaseOutcome::Held));
    receive(&third, "2").await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM channel_updates"), 2);
}

#[tokio::test]
async fn a_turn_is_followed_in_another_process_until_it_ends() {
    let bench = StoreBench::new();
    let other = bench.another();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hello").await.unwrap().turn;
    let wishes = || bench.store.turn_wishes(session.id);
    assert_eq!(wishes().await.unwrap().followed, None);
    let open = other.open_turn_owners().await.unwrap();
    assert_eq!(open, [OwnedTurn { turn, session: session.id, owner: TurnOwner::Elsewhere }]);
    other.follow_turn(turn).await.unwrap();
    other.follow_turn(turn).await.unwrap();
    assert_eq!(wishes().await.unwrap().followed, Some(turn));

    bench.store.relay_snapshot(turn, json!({"text": "so"})).await.unwrap();
    bench.store.relay_snapshot(turn, json!({"text": "so far"})).await.unwrap();
    let seen = other.relayed_snapshot(turn, 0).await.unwrap().unwrap();
    assert_eq!((seen.version, &seen.state["text"]), (2, &json!("so far")));
    assert_eq!(other.relayed_snapshot(turn, 2).await, Ok(None));
    // Whoever does not have the turn has nothing to say of it.
    other.relay_snapshot(turn, json!({})).await.unwrap();
    assert_eq!(other.relayed_snapshot(turn, 2).await, Ok(None));

    reply(&bench.store, turn, 2, "done").await;
    bench.store.relay_snapshot(turn, json!({})).await.unwrap();
    other.unfollow_turn(turn).await.unwrap();
    assert_eq!(other.open_turn_owners().await, Ok(Vec::new()));
    assert_eq!(bench.number("SELECT count(*) FROM turn_snapshots"), 0);
    assert_eq!(bench.number("SELECT count(*) FROM turn_followers"), 0);
    assert_eq!(other.newest_turn().await, Ok(Some(turn)));
    let next = begin(&bench.store, &session, 3, "more").await.unwrap().turn;
    assert_eq!(other.turns_after(Some(turn)).await, Ok(vec![(next, session.id)]));
}

/// Another process, at work on the same database.
struct OwnerProcess {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl OwnerProcess {
    fn start(bench: &StoreBench) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        bench.pass_to(&mut command);
        let mut child = command
            .args(["--exact", "owners::another_process", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        OwnerProcess { child, output }
    }

    /// Waits for what it says about `what`.
    fn read_line(&mut self, what: &str) -> String {
        for line in (&mut self.output).lines() {
            if let Some((_, value)) = line.unwrap().split_once(&format!("{what}: ")) {
                return value.to_owned();
            }
        }
        panic!("the process ended early");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Not a test: the other process. Begins a turn, accepts another, and waits to
/// be killed.
#[tokio::test]
#[ignore = "run by other tests, as another process"]
async fn another_process() {
    let Some(options) = passed_store() else { return };
    let store = Store::open(&options).unwrap();
    let session = store.find_session("main", &SessionHolder::owner(), "a").await.unwrap().unwrap();
    let running = begin(&store, &session, 1, "hello").await.unwrap().turn;
    let queued = store.accept(new_turn(&session, "and then")).await.unwrap().id;
    println!("\nrunning: {running}\nqueued: {queued}");
    std::io::stdout().flush().unwrap();
    // The parent kills this process; if it has ended itself, this ends, too.
    std::thread::sleep(std::time::Duration::from_secs(60));
}
