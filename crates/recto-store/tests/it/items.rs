//! A session's items.

use recto_context::{ItemId, ItemKind, ItemOrigin};
use recto_store::{ItemState, RowId, SessionCursor, SessionId, StoreError, TurnCommit};

use crate::support::{StoreBench, begin};

#[tokio::test]
async fn items_keep_their_order_and_their_state() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let rule = ItemId::new(ItemKind::Rule, "tone");
    let tool = ItemId::tool(Some("git".into()), "log");
    let same_name = ItemId::tool(None, "log");
    let items = vec![
        (rule.clone(), ItemState::In(ItemOrigin::AtStart)),
        (tool.clone(), ItemState::In(ItemOrigin::Late)),
    ];
    let turn = begin(&bench.store, &session, 1, "hi").await.unwrap().turn;
    let commit = TurnCommit { items, ..TurnCommit::default() };
    bench.store.advance(turn, commit).await.unwrap();
    bench.store.set_item(session.id, rule.clone(), ItemState::Removed).await.unwrap();
    let by_hand = ItemState::In(ItemOrigin::ByHand);
    bench.store.set_item(session.id, same_name.clone(), by_hand).await.unwrap();

    let bench = bench.reopened();
    let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
    let expected = [
        (rule.clone(), ItemState::Removed),
        (tool, ItemState::In(ItemOrigin::Late)),
        (same_name, by_hand),
    ];
    assert_eq!(state.items.unwrap(), expected);

    // Who has them gets them again only when one of them is another.
    let having = SessionCursor { items: Some(state.items_revision), ..SessionCursor::default() };
    let unchanged = bench.store.load(session.id, having).await.unwrap();
    assert_eq!((unchanged.items, unchanged.items_revision), (None, state.items_revision));
    bench.store.set_item(session.id, rule, by_hand).await.unwrap();
    let changed = bench.store.load(session.id, having).await.unwrap();
    assert_eq!(changed.items.unwrap()[0].1, by_hand);
}

#[tokio::test]
async fn a_session_that_is_not_there_has_no_items() {
    let bench = StoreBench::new();
    let missing: SessionId = "5".parse().unwrap();
    let item = ItemId::new(ItemKind::Skill, "clock");
    assert_eq!(
        bench.store.set_item(missing, item, ItemState::Removed).await,
        Err(StoreError::NotFound(RowId::Session(missing)))
    );
}

/// A turn looks at the items, thinks, and stores what joins; a person may have
/// removed one in between.
/// Promise: `removed-stays-removed`
#[tokio::test]
async fn what_joins_by_itself_does_not_undo_a_removal() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let rule = ItemId::new(ItemKind::Rule, "tone");
    let turn = begin(&bench.store, &session, 1, "hi").await.unwrap().turn;
    bench.store.set_item(session.id, rule.clone(), ItemState::Removed).await.unwrap();
    for (joined, state) in [
        (ItemOrigin::AtStart, ItemState::Removed),
        (ItemOrigin::Late, ItemState::Removed),
        (ItemOrigin::ByHand, ItemState::In(ItemOrigin::ByHand)),
        (ItemOrigin::Late, ItemState::In(ItemOrigin::ByHand)),
    ] {
        let items = vec![(rule.clone(), ItemState::In(joined))];
        let commit = TurnCommit { items, ..TurnCommit::default() };
        bench.store.advance(turn, commit).await.unwrap();
        let stored = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
        assert_eq!(stored.items.unwrap(), [(rule.clone(), state)]);
    }
}
