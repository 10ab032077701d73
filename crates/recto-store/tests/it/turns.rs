//! The way of a turn, and who may write it.

use recto_context::{Carry, ContentPart, Message, TurnNumber};
use recto_store::{
    NewTurn, OpenTurns, RowId, SessionCursor, StoreError, TurnCommit, TurnEnding, TurnId,
    TurnOutcome, TurnOwner, TurnStatus,
};
use serde_json::json;

use crate::support::{
    StoreBench, at, begin, done, exchange, id, new_message, new_turn, reply, request, transcript,
};

#[tokio::test]
async fn a_turn_is_stored_step_by_step() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let carry = Carry { message: Some(id(1)), trims: 2, ..Carry::default() };
    let first = TurnCommit {
        messages: vec![new_message(Message::user(1, "hello"))],
        state: Some(json!({"version": 1, "round": 0})),
        request: Some(request(1, &["{}"])),
        carry: Some(carry.clone()),
        calibration: Some(("small".into(), json!({"rates": [0.25, 1.5]}))),
        ..TurnCommit::default()
    };
    let inbound = NewTurn { actor: json!({"id": "ada"}), ..new_turn(&session, "hello") };
    let begun = bench.store.begin(inbound, first).await.unwrap();
    assert!(begun.request.is_some());

    // As another process would find it after a crash.
    let running = bench.store.turn(begun.turn).await.unwrap().unwrap();
    assert_eq!(running.status, TurnStatus::Running);
    assert_eq!(running.state, Some(json!({"version": 1, "round": 0})));
    assert_eq!((running.number, running.first_message), (TurnNumber(1), Some(id(1))));
    assert_eq!((running.actor, running.inbound), (json!({"id": "ada"}), None));
    assert_eq!((running.accepted, running.started, running.ended), (at(1), Some(at(1)), None));

    let ending =
        TurnOutcome { ending: TurnEnding::Failed, detail: Some("no answer".into()), at: at(9) };
    let last = TurnCommit {
        messages: vec![new_message(Message::assistant(2, "sorry"))],
        outcome: Some(ending),
        ..TurnCommit::default()
    };
    assert_eq!(bench.store.advance(begun.turn, last).await, Ok(None));
    let bench = bench.reopened();
    let ended = bench.store.turn(begun.turn).await.unwrap().unwrap();
    assert_eq!(ended.status, TurnStatus::Ended(TurnEnding::Failed));
    assert_eq!((ended.detail.as_deref(), ended.ended), (Some("no answer"), Some(at(9))));
    assert_eq!((ended.state, ended.owner), (None, None));

    let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    assert_eq!(state.carry, carry);
    assert_eq!((state.last_message, state.last_turn), (Some(id(2)), Some(TurnNumber(1))));
    assert_eq!(bench.store.open_turns().await, Ok(OpenTurns::default()));
    assert!(state.messages.iter().all(|stored| stored.turn == Some(begun.turn)));
    let calibration = bench.store.calibration("small").await;
    assert_eq!(calibration, Ok(Some(json!({"rates": [0.25, 1.5]}))));
    assert_eq!(bench.store.calibration("other").await, Ok(None));
}

#[tokio::test]
async fn what_was_accepted_waits_in_order() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let first = begin(&bench.store, &session, 1, "one").await.unwrap().turn;
    let busy = StoreError::Busy { turn: first, owner: TurnOwner::Here };
    assert_eq!(begin(&bench.store, &session, 2, "two").await, Err(busy.clone()));
    let second = bench.store.accept(new_turn(&session, "two")).await.unwrap();
    let third = bench.store.accept(new_turn(&session, "three")).await.unwrap();
    assert_eq!(second.status, TurnStatus::Queued);
    assert_eq!(second.inbound, Some(vec![ContentPart::Text("two".into())]));
    assert_eq!(bench.store.claim(second.id, at(3)).await, Err(busy));

    // Other sessions don't wait.
    let other = bench.session("b").await;
    exchange(&bench.store, &other, 1, ["hello", "hi"]).await;

    reply(&bench.store, first, 2, "1").await;
    let busy = StoreError::Busy { turn: second.id, owner: TurnOwner::Here };
    assert_eq!(bench.store.claim(third.id, at(3)).await, Err(busy));
    let claimed = bench.store.claim(second.id, at(4)).await.unwrap();
    assert_eq!((claimed.status, claimed.started), (TurnStatus::Running, Some(at(4))));
    // Until its message is in the transcript, the inbound has it.
    assert_eq!(claimed.inbound, Some(vec![ContentPart::Text("two".into())]));
    let messages =
        vec![new_message(Message::user(3, "two")), new_message(Message::assistant(4, "2"))];
    let commit = TurnCommit { messages, outcome: done(), ..TurnCommit::default() };
    bench.store.advance(second.id, commit).await.unwrap();
    assert_eq!(bench.store.turn(second.id).await.unwrap().unwrap().inbound, None);

    let open = bench.store.open_turns().await.unwrap();
    assert_eq!(open.turns.iter().map(|turn| turn.id).collect::<Vec<_>>(), [third.id]);
    assert_eq!(open.damaged, []);
    let numbers: Vec<u32> =
        bench.store.turns(session.id).await.unwrap().iter().map(|turn| turn.number.0).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(bench.store.last_turn(Some(session.id)).await.unwrap().unwrap().id, third.id);
    let last_of_all = bench.store.last_turn(None).await.unwrap().unwrap();
    assert_eq!(last_of_all.session, other.id);
}

#[tokio::test]
async fn the_message_of_a_turn_that_was_only_accepted_survives() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = bench.store.accept(new_turn(&session, "remember me")).await.unwrap();
    let bench = bench.reopened();
    let found = bench.store.turn(turn.id).await.unwrap().unwrap();
    assert_eq!(found.inbound, turn.inbound);
    assert_eq!(found.owner, Some(TurnOwner::Gone));
}

/// Promise: `message-survives-failure`
#[tokio::test]
async fn the_one_message_of_a_turn_that_failed_survives() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hello?").await.unwrap().turn;
    let outcome =
        TurnOutcome { ending: TurnEnding::Failed, detail: Some("no answer".into()), at: at(9) };
    let end = TurnCommit { outcome: Some(outcome), ..TurnCommit::default() };
    bench.store.advance(turn, end).await.unwrap();
    let bench = bench.reopened();
    assert_eq!(transcript(&bench.store, &session).await, [(1, "hello?".to_owned())]);
    let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    assert_eq!((state.messages.len(), state.last_message), (1, Some(id(1))));
}

#[tokio::test]
async fn only_a_running_turn_can_be_written() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "one").await.unwrap().turn;
    reply(&bench.store, turn, 2, "1").await;
    let commit = || TurnCommit { outcome: done(), ..TurnCommit::default() };
    let status = TurnStatus::Ended(TurnEnding::Done);
    let ended = StoreError::WrongStatus { turn, status };
    assert_eq!(bench.store.advance(turn, commit()).await, Err(ended.clone()));
    assert_eq!(bench.store.claim(turn, at(1)).await, Err(ended.clone()));
    assert_eq!(bench.store.take_over(turn).await, Err(ended));

    let queued = bench.store.accept(new_turn(&session, "two")).await.unwrap().id;
    let status = TurnStatus::Queued;
    let waits = StoreError::WrongStatus { turn: queued, status };
    assert_eq!(bench.store.advance(queued, commit()).await, Err(waits));
    let missing: TurnId = "99".parse().unwrap();
    let not_found = StoreError::NotFound(RowId::Turn(missing));
    assert_eq!(bench.store.advance(missing, commit()).await, Err(not_found));
}

#[tokio::test]
async fn a_step_is_written_whole_or_not_at_all() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["one", "1"]).await;
    let refused = begin(&bench.store, &session, 2, "again").await;
    assert_eq!(refused, Err(StoreError::OutOfOrder { message: id(2), last: id(2) }));
    assert_eq!(bench.store.turns(session.id).await.unwrap().len(), 1);

    let turn = begin(&bench.store, &session, 3, "two").await.unwrap().turn;
    let messages =
        vec![new_message(Message::assistant(4, "2")), new_message(Message::assistant(4, "2"))];
    let carry = Some(Carry { trims: 9, ..Carry::default() });
    let commit = TurnCommit { messages, carry, outcome: done(), ..TurnCommit::default() };
    let refused = bench.store.advance(turn, commit).await;
    assert_eq!(refused, Err(StoreError::OutOfOrder { message: id(4), last: id(4) }));
    assert_eq!(transcript(&bench.store, &session).await.len(), 3);
    assert_eq!(
        bench.store.load(session.id, SessionCursor::default()).await.unwrap().carry,
        Carry::default()
    );
    let found = bench.store.turn(turn).await.unwrap().unwrap();
    assert_eq!(found.status, TurnStatus::Running);
}

/// Promise: `messages-never-interleave`
#[tokio::test]
async fn messages_sent_at_once_never_interleave() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let mut begun = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (store, session) = (bench.store.clone(), session.clone());
        begun.spawn(async move { begin(&store, &session, 1, "me first").await });
    }
    let begun = begun.join_all().await;
    assert_eq!(begun.iter().filter(|begun| begun.is_ok()).count(), 1);
    let refused = begun.iter().filter(|begun| matches!(begun, Err(StoreError::Busy { .. })));
    assert_eq!(refused.count(), 19);
    assert_eq!(transcript(&bench.store, &session).await.len(), 1);
}

/// What a client brought is kept until the transcript has its message; what it said elsewhere
/// belongs to no turn; and what a turn keeps for the next is that one's then.
#[tokio::test]
async fn a_turn_that_handed_calls_out_is_gone_on_with() {
    let bench = StoreBench::new();
    let (session, store) = (bench.session("c").await, &bench.store);
    let brings =
        || NewTurn { client: Some(json!({"tools": ["weather"]})), ..new_turn(&session, "hi") };
    let queued = store.accept(brings()).await.unwrap();
    assert_eq!(queued.client, brings().client);
    let turn = store.claim(queued.id, at(2)).await.unwrap().id;
    let handed_out = TurnOutcome { ending: TurnEnding::HandedOut, detail: None, at: at(9) };
    let commit = TurnCommit {
        brought: vec![new_message(Message::assistant(1, "said elsewhere"))],
        messages: vec![new_message(Message::user(2, "hi"))],
        outcome: Some(handed_out),
        state: Some(json!({"version": 1})),
        ..TurnCommit::default()
    };
    store.advance(turn, commit).await.unwrap();
    let messages = store.messages(session.id, None).await.unwrap();
    let places: Vec<_> = messages.iter().map(|stored| (stored.turn, stored.brought_by)).collect();
    assert_eq!(places, [(None, Some(turn)), (Some(turn), None)]);
    let ended = store.turn(turn).await.unwrap().unwrap();
    assert_eq!(ended.status, TurnStatus::Ended(TurnEnding::HandedOut));
    assert_eq!((ended.client, ended.first_message), (None, Some(id(2))));
    assert_eq!(ended.state, Some(json!({"version": 1})));

    let commit = TurnCommit { continues: Some(turn), ..TurnCommit::default() };
    let next = store.begin(brings(), commit).await.unwrap().turn;
    assert_eq!(store.turn(turn).await.unwrap().unwrap().state, None);
    let next = store.turn(next).await.unwrap().unwrap();
    assert_eq!((next.continues, next.client.is_some()), (Some(turn), true));
}
