//! Summaries that stand for messages, and how they are undone.

use std::ops::RangeInclusive;

use recto_context::{Carry, HistorySummary, Message, SummaryBy, Tokens, TrimTotals};
use recto_store::{
    NewCompaction, RowId, SessionCursor, SessionFilter, SessionId, Store, StoreError,
    StoredCompaction, StoredSession, TurnCommit, TurnId, TurnOwner,
};

use crate::support::{
    StoreBench, at, begin, done, exchange, id, key, new_message, new_session, request, talk,
    transcript,
};

/// A summary of the messages with these numbers.
pub(crate) fn compaction(messages: RangeInclusive<u64>, text: &str) -> NewCompaction {
    let (first, last) = (*messages.start(), *messages.end());
    NewCompaction {
        summary: HistorySummary {
            text: text.into(),
            first: id(first),
            last: id(last),
            messages: usize::try_from(last - first + 1).unwrap(),
            how: SummaryBy::Extract,
        },
        model: None,
        tokens_before: Tokens::new(900),
        tokens_after: Tokens::new(90),
        made: at(30),
    }
}

/// What a request hands on whose page begins at this message.
fn carry(history_from: u64, trimmed: usize) -> Carry {
    let tokens = Tokens::new(u32::try_from(trimmed * 10).unwrap());
    Carry {
        history_from: Some(id(history_from)),
        trimmed: TrimTotals { messages: trimmed, tokens },
        trims: 3,
        condensed: [id(history_from)].into(),
        ..Carry::default()
    }
}

/// A turn whose request hands on `carry`, perhaps with a summary. Its messages have
/// the numbers `number` and `number + 1`.
async fn turn(
    store: &Store,
    session: &StoredSession,
    number: u64,
    carry: Carry,
    compaction: Option<NewCompaction>,
) -> TurnId {
    let turn = begin(store, session, number, "go on").await.unwrap().turn;
    let shown = TurnCommit {
        request: Some(request(1, &["body"])),
        carry: Some(carry),
        compaction,
        ..TurnCommit::default()
    };
    store.advance(turn, shown).await.unwrap();
    let messages = vec![new_message(Message::assistant(number + 1, "yes"))];
    let end = TurnCommit { messages, outcome: done(), ..TurnCommit::default() };
    store.advance(turn, end).await.unwrap();
    turn
}

/// A session of ten messages.
async fn ten_messages(bench: &StoreBench) -> StoredSession {
    let messages: Vec<_> =
        (1..=10).map(|n| new_message(Message::user(n, format!("message {n}")))).collect();
    bench.store.import(key("a"), new_session("a"), messages).await.unwrap()
}

async fn standing(store: &Store, session: &StoredSession) -> Option<StoredCompaction> {
    store.load(session.id, SessionCursor::default()).await.unwrap().compaction
}

/// The numbers of the messages that can be on the page.
async fn page(store: &Store, session: &StoredSession) -> Vec<u64> {
    let state = store.load(session.id, SessionCursor::default()).await.unwrap();
    state.messages.iter().map(|stored| stored.message.id.0).collect()
}

/// Promise: `compaction-can-be-undone`
#[tokio::test]
async fn a_summary_survives_as_it_was_made() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    assert_eq!(standing(&bench.store, &session).await, None);
    let long = compaction(1..=6, &talk(1, 20_000));
    turn(&bench.store, &session, 11, carry(7, 6), Some(long.clone())).await;
    let bench = bench.reopened();
    let stored = standing(&bench.store, &session).await.unwrap();
    assert_eq!((&stored.summary, stored.made), (&long.summary, at(30)));
    assert_eq!((stored.tokens_before, stored.tokens_after), (Tokens::new(900), Tokens::new(90)));
    assert_eq!((stored.session, stored.parent, stored.undone), (session.id, None, None));
    assert!(bench.number("SELECT length(text) FROM compactions") < 15_000);

    // The next one replaces it; both can be looked at.
    let mut by_model = compaction(1..=8, "short");
    by_model.summary.how = SummaryBy::Summary;
    by_model.model = Some("large".into());
    turn(&bench.store, &session, 13, carry(9, 8), Some(by_model.clone())).await;
    let replaced = standing(&bench.store, &session).await.unwrap();
    assert_eq!((&replaced.summary, &replaced.model), (&by_model.summary, &by_model.model));
    assert_eq!(replaced.parent, Some(stored.id));
    assert_eq!(bench.store.compactions(session.id).await, Ok(vec![stored, replaced]));

    // It is nothing that was said, and nobody else's.
    assert_eq!(transcript(&bench.store, &session).await.len(), 14);
    let other = bench.session("b").await;
    assert_eq!(bench.store.compactions(other.id).await, Ok(Vec::new()));
    let missing: SessionId = "77".parse().unwrap();
    let not_found = StoreError::NotFound(RowId::Session(missing));
    assert_eq!(bench.store.compactions(missing).await, Err(not_found.clone()));
    assert_eq!(bench.store.expand(missing, at(1)).await, Err(not_found));
}

/// Promise: `compaction-can-be-undone`
#[tokio::test]
async fn undoing_brings_back_all_that_summaries_stood_for() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    let before = transcript(&bench.store, &session).await;
    // Two messages had left before, without one.
    turn(&bench.store, &session, 11, carry(3, 2), None).await;
    turn(&bench.store, &session, 13, carry(5, 4), Some(compaction(3..=4, "first"))).await;
    turn(&bench.store, &session, 15, carry(9, 8), Some(compaction(3..=8, "second"))).await;
    assert_eq!(page(&bench.store, &session).await[0], 9);

    let undone = bench.store.expand(session.id, at(50)).await.unwrap().unwrap();
    assert_eq!((undone.summary.text.as_str(), undone.undone), ("second", Some(at(50))));
    let bench = bench.reopened();
    assert_eq!(page(&bench.store, &session).await, (3..=16).collect::<Vec<_>>());
    let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    // Nothing else of the carry is another, but that the history was changed.
    let trims = carry(3, 2).trims + 1;
    let expected = Carry { condensed: [id(9)].into(), trims, ..carry(3, 2) };
    assert_eq!((state.compaction, state.carry), (None, expected));
    let all = bench.store.compactions(session.id).await.unwrap();
    assert_eq!(all.iter().map(|one| one.undone).collect::<Vec<_>>(), [Some(at(50)); 2]);
    assert_eq!(bench.store.expand(session.id, at(51)).await, Ok(None));
    assert_eq!(transcript(&bench.store, &session).await[..10], before);

    // What is made after that begins anew.
    turn(&bench.store, &session, 17, carry(6, 5), Some(compaction(3..=5, "third"))).await;
    let third = standing(&bench.store, &session).await.unwrap();
    assert_eq!((third.summary.text.as_str(), third.parent), ("third", None));
    bench.store.expand(session.id, at(60)).await.unwrap().unwrap();
    assert_eq!(page(&bench.store, &session).await[0], 3);
    let all = bench.store.compactions(session.id).await.unwrap();
    let undone: Vec<_> = all.iter().map(|one| one.undone).collect();
    assert_eq!(undone, [Some(at(50)), Some(at(50)), Some(at(60))]);
}

#[tokio::test]
async fn nothing_is_undone_while_a_turn_is_open() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    turn(&bench.store, &session, 11, carry(7, 6), Some(compaction(1..=6, "six"))).await;
    let open = begin(&bench.store, &session, 13, "wait").await.unwrap().turn;
    let refused = bench.another().expand(session.id, at(50)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Busy { turn, .. } if turn == open), "{refused}");
    assert!(refused.hint().is_some());
    let refused = bench.store.expand(session.id, at(50)).await;
    assert_eq!(refused, Err(StoreError::Busy { turn: open, owner: TurnOwner::Here }));
    assert!(standing(&bench.store, &session).await.is_some());
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    bench.store.advance(open, end).await.unwrap();
    // Another process can undo it, too.
    assert!(bench.another().expand(session.id, at(51)).await.unwrap().is_some());
    assert_eq!(page(&bench.store, &session).await.len(), 13);
}

#[tokio::test]
async fn a_summary_is_stored_with_its_request_or_not_at_all() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    let commit = |number| TurnCommit {
        messages: vec![new_message(Message::user(number, "hi"))],
        request: Some(request(1, &["body"])),
        carry: Some(carry(7, 6)),
        compaction: Some(compaction(1..=6, "six")),
        ..TurnCommit::default()
    };
    let new = || crate::support::new_turn(&session, "hi");
    let refused = bench.store.begin(new(), commit(10)).await;
    assert!(matches!(refused, Err(StoreError::OutOfOrder { .. })), "{refused:?}");
    assert_eq!(bench.store.compactions(session.id).await, Ok(Vec::new()));
    bench.store.begin(new(), commit(11)).await.unwrap();
    assert_eq!(bench.store.compactions(session.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_damaged_summary_stops_no_session_and_can_be_undone() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    turn(&bench.store, &session, 11, carry(7, 6), Some(compaction(1..=6, "six"))).await;
    let sql = "UPDATE compactions SET text = x'28b52ffd00'";
    assert_eq!(bench.change(sql), 1);
    assert_eq!(standing(&bench.store, &session).await, None);
    let error = bench.store.compactions(session.id).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let undone = bench.store.expand(session.id, at(50)).await.unwrap().unwrap();
    assert_eq!(undone.summary.text.as_str(), "");
    assert_eq!(page(&bench.store, &session).await.len(), 12);
}

#[tokio::test]
async fn a_carry_that_was_lost_hides_nothing() {
    let bench = StoreBench::new();
    let session = ten_messages(&bench).await;
    turn(&bench.store, &session, 11, carry(7, 6), Some(compaction(3..=6, "four"))).await;
    assert_eq!(bench.change("UPDATE sessions SET carry = '['"), 1);
    bench.store.expand(session.id, at(50)).await.unwrap().unwrap();
    assert_eq!(page(&bench.store, &session).await.len(), 12);
}

#[tokio::test]
async fn lists_and_searches_know_nothing_of_summaries() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    turn(&bench.store, &session, 3, carry(3, 2), Some(compaction(1..=2, "greetings"))).await;
    let list = bench.store.sessions(SessionFilter::All).await.unwrap();
    assert_eq!((list[0].messages, list[0].opening.as_deref()), (4, Some("hello")));
    assert_eq!(bench.store.search("greetings", 10).await, Ok(Vec::new()));
    assert_eq!(bench.store.messages_after(None, 10).await.unwrap().len(), 4);
}
