//! What bots of chats were sent and have to say, and who is let in there.

use recto_context::AudienceKind;
use recto_store::{
    ChannelAccount, ChannelCursor, ChannelHealthState, DeliveryEnding, NewChannelDelivery,
    NewChannelUpdate, NewPairing, OverheardMessage, PairedStanding, PairingGrant, PairingRequest,
    PairingSubject, StoreError,
};
use serde_json::json;

use crate::support::{StoreBench, at};

fn bot(name: &str) -> ChannelAccount {
    ChannelAccount { channel: "telegram".into(), account: name.into() }
}

fn update(key: &str, conversation: &str) -> NewChannelUpdate {
    let (key, conversation) = (key.to_owned(), conversation.to_owned());
    NewChannelUpdate { payload: json!({"said": key}), key, conversation }
}

fn delivery(key: &str) -> NewChannelDelivery {
    NewChannelDelivery {
        key: key.into(),
        conversation: "7".into(),
        turn: None,
        target: json!({"chat": 7}),
        content: Some(json!({"markdown": "hi"})),
    }
}

#[tokio::test]
async fn an_update_is_kept_once_and_stays_open_until_it_ends() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    let cursor =
        |position| ChannelCursor { position, resume: Some(json!({"from": position})), at: at(1) };
    let batch = vec![update("41", "7"), update("42", "8")];
    let new = store.receive_updates(&bot, batch.clone(), cursor(42)).await.unwrap();
    assert_eq!(new.len(), 2);
    assert_eq!(store.channel_cursor(&bot).await.unwrap(), Some(cursor(42)));
    let again = store.receive_updates(&bot, batch, cursor(42)).await.unwrap();
    assert!(again.is_empty());
    let others = ChannelAccount { account: "two_bot".into(), ..bot.clone() };
    let new_there = store.receive_updates(&others, vec![update("41", "7")], cursor(41)).await;
    assert_eq!(new_there.unwrap().len(), 1);

    store.begin_update(new[0].id, at(2)).await.unwrap();
    let open = store.open_updates(&bot).await.unwrap();
    assert_eq!((open.len(), open[0].is_begun, open[1].is_begun), (2, true, false));
    let said = store.finish_update(&bot, new[0].id, vec![delivery("update:41")], at(3)).await;
    assert_eq!(said.unwrap()[0].key, "update:41");
    assert_eq!(store.open_updates(&bot).await.unwrap().len(), 1);
    // It is known also when it has ended, until it is forgotten.
    let late = vec![update("41", "7")];
    assert!(store.receive_updates(&bot, late.clone(), cursor(43)).await.unwrap().is_empty());
    store.prune_channels(at(60)).await.unwrap();
    assert_eq!(store.receive_updates(&bot, late, cursor(43)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_delivery_ends_with_what_it_said_and_not_with_what_it_is_to_say_now() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    let first = store.add_delivery(&bot, delivery("turn:1"), at(1)).await.unwrap();
    let same = store.add_delivery(&bot, delivery("turn:1"), at(2)).await.unwrap();
    assert_eq!(first, same);
    store.note_sent(first.id, &["11".into(), "12".into()]).await.unwrap();
    let (before, now) = (json!({"markdown": "hi"}), json!({"markdown": "bye"}));
    store.set_delivery_content(first.id, &now).await.unwrap();
    let ended = DeliveryEnding::Delivered;
    store.end_delivery(first.id, Some(&before), ended.clone(), at(3)).await.unwrap();
    let open = store.open_deliveries(&bot).await.unwrap();
    assert_eq!(open[0].content, Some(now.clone()));
    assert_eq!(open[0].sent, ["11", "12"]);
    store.end_delivery(first.id, Some(&now), ended, at(4)).await.unwrap();
    assert!(store.open_deliveries(&bot).await.unwrap().is_empty());
    let known = store.find_delivery(&bot, "turn:1").await.unwrap().unwrap();
    assert_eq!((known.content, known.is_ended), (None, true));
}

#[tokio::test]
async fn groups_that_move_and_what_is_heard_in_them() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    store.note_channel_move(&bot, "-7", "-1007").await.unwrap();
    store.note_channel_move(&bot, "-1007", "-1008").await.unwrap();
    let moves = store.channel_moves(&bot).await.unwrap();
    assert_eq!(moves, [("-7".to_owned(), "-1008".to_owned())]);
    for text in ["one", "two", "three"] {
        let said = OverheardMessage { speaker: "Ada".into(), text: text.into() };
        store.overhear(&bot, "-7", said, 2, at(1)).await.unwrap();
    }
    let heard = store.overheard(&bot, "-7").await.unwrap();
    let texts: Vec<&str> = heard.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(texts, ["two", "three"]);
    assert!(store.overheard(&bot, "-8").await.unwrap().is_empty());
    store.forget_overheard(&bot, "-7").await.unwrap();
    assert!(store.overheard(&bot, "-7").await.unwrap().is_empty());
}

fn wish(subject: &str, code: &str, minute: i64) -> NewPairing {
    NewPairing {
        kind: PairingSubject::Person,
        subject: subject.into(),
        name: "Eve".into(),
        code: code.into(),
        request: format!("{subject}-{minute}"),
        welcome: delivery(&format!("pairing:{subject}")),
        at: at(60 * minute),
    }
}

/// Promise: `strangers-wait-for-the-owner`
#[tokio::test]
async fn codes_end_few_wait_and_guesses_are_counted() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    for id in 0..5 {
        let asked = store.request_pairing(&bot, wish(&id.to_string(), &format!("CODE{id}"), 0));
        assert!(matches!(asked.await.unwrap(), PairingRequest::Begun(_)));
    }
    // The same again may not have been answered; another is told to wait, once.
    let same = store.request_pairing(&bot, wish("0", "OTHER", 0)).await.unwrap();
    let PairingRequest::Begun(same) = same else { panic!("{same:?}") };
    assert_eq!(same.code.as_deref(), Some("CODE0"));
    for minute in [1, 1] {
        let again = store.request_pairing(&bot, wish("0", "OTHER", minute)).await.unwrap();
        assert!(matches!(again, PairingRequest::Reminded(_)), "{again:?}");
    }
    let again = store.request_pairing(&bot, wish("0", "OTHER", 2)).await.unwrap();
    assert!(matches!(again, PairingRequest::Waiting(_)), "{again:?}");
    for minute in [1, 9] {
        let full = store.request_pairing(&bot, wish("6", "CODE6", minute)).await.unwrap();
        assert_eq!(full, PairingRequest::Full);
    }
    let guest = || PairingGrant::Guest(None);
    let paired = store.approve_pairing(" code0 ", guest(), at(60)).await.unwrap();
    assert_eq!(paired.standing, Some(PairedStanding::Guest));
    // They are told, and nobody else is.
    let told = store.open_deliveries(&bot).await.unwrap();
    assert_eq!(told.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["pairing:0"]);
    assert_eq!(paired.person.as_deref(), Some("telegram-0"));
    assert_eq!(store.find_paired(&bot, "0").await.unwrap(), Some(paired.clone()));
    assert_eq!(store.find_paired(&bot, "1").await.unwrap(), None);
    // A code is good once, and for an hour.
    for late in ["CODE0", "OTHER"] {
        let refused = store.approve_pairing(late, guest(), at(120)).await;
        assert_eq!(refused, Err(StoreError::NoSuchCode { code: late.into() }));
    }
    let refused = store.approve_pairing("CODE1", guest(), at(3_600)).await;
    assert!(matches!(refused, Err(StoreError::NoSuchCode { .. })));
    for _ in 0..7 {
        store.approve_pairing("WRONG", guest(), at(3_601)).await.unwrap_err();
    }
    let asked = store.request_pairing(&bot, wish("9", "CODE9", 61)).await.unwrap();
    assert!(matches!(asked, PairingRequest::Begun(_)), "the others have ended: {asked:?}");
    let refused = store.approve_pairing("CODE9", guest(), at(3_661)).await;
    assert_eq!(refused, Err(StoreError::TooManyGuesses));
    let PairingRequest::Begun(nine) = asked else { panic!("{asked:?}") };
    // Who sees the list needs no code.
    store.approve_pairing_by_number(nine.id, PairingGrant::Owner, at(3_662)).await.unwrap();
    let twice = store.approve_pairing_by_number(nine.id, guest(), at(3_663)).await;
    assert_eq!(twice, Err(StoreError::NotWaiting { pairing: nine.id }));
    // Who is let in can be made something else, and is not told of being let in again.
    let told = store.open_deliveries(&bot).await.unwrap().len();
    let raised = store.approve_pairing_by_number(paired.id, PairingGrant::Owner, at(3_664));
    let raised = raised.await.unwrap();
    assert!(!raised.is_lowered());
    let raised = raised.now;
    assert_eq!((raised.standing, raised.person.as_deref()), (Some(PairedStanding::Owner), None));
    assert_eq!(raised.approved, paired.approved);
    assert_eq!(store.open_deliveries(&bot).await.unwrap().len(), told);
    let readers = |who| store.check_readers(&bot, "0", who);
    readers(AudienceKind::Owner).await.unwrap();
    let anna = PairingGrant::Guest(Some("anna".into()));
    let lowered = store.approve_pairing_by_number(paired.id, anna, at(3_665)).await.unwrap();
    assert!(lowered.is_lowered());
    assert_eq!(lowered.now.describe(), "person anna");
    // What was for the owner is not said to them any more.
    assert!(store.open_deliveries(&bot).await.unwrap().len() < told);
    let refused = readers(AudienceKind::Owner).await.unwrap_err();
    assert!(matches!(refused, StoreError::NotOwner { .. }), "{refused}");
    readers(AudienceKind::Guest).await.unwrap();
    let revoked = store.revoke_pairing(paired.id, at(7_260)).await.unwrap();
    assert!(revoked.revoked.is_some());
    assert_eq!(store.find_paired(&bot, "0").await.unwrap(), None);
    let put_out = store.approve_pairing_by_number(paired.id, PairingGrant::Owner, at(7_261)).await;
    assert_eq!(put_out, Err(StoreError::NotWaiting { pairing: paired.id }));
}

#[tokio::test]
async fn who_has_waited_for_ten_minutes_makes_room() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    for id in 0..5 {
        let wish = wish(&id.to_string(), &format!("CODE{id}"), id);
        assert!(matches!(
            store.request_pairing(&bot, wish).await.unwrap(),
            PairingRequest::Begun(_)
        ));
    }
    let full = store.request_pairing(&bot, wish("6", "CODE6", 9)).await.unwrap();
    assert_eq!(full, PairingRequest::Full);
    // The oldest leaves, and no other one.
    let asked = store.request_pairing(&bot, wish("6", "CODE6", 10)).await.unwrap();
    assert!(matches!(asked, PairingRequest::Begun(_)), "{asked:?}");
    let full = store.request_pairing(&bot, wish("0", "AGAIN", 10)).await.unwrap();
    assert_eq!(full, PairingRequest::Full);
    let gone = store.approve_pairing("CODE0", PairingGrant::Owner, at(601)).await;
    assert_eq!(gone, Err(StoreError::NoSuchCode { code: "CODE0".into() }));
    store.approve_pairing("CODE1", PairingGrant::Guest(None), at(601)).await.unwrap();
}

#[tokio::test]
async fn conversations_are_known_the_latest_first() {
    let bench = StoreBench::new();
    let (store, one) = (&bench.store, bot("one_bot"));
    let batch = vec![update("1", "7"), update("2", "8"), update("3", "7"), update("4", "9")];
    let cursor = ChannelCursor { position: 4, resume: None, at: at(1) };
    store.receive_updates(&one, batch, cursor).await.unwrap();
    assert_eq!(store.recent_conversations(&one, 2).await.unwrap(), ["9", "7"]);
}

#[tokio::test]
async fn who_is_refused_while_they_wait_gets_no_other_code_for_a_day() {
    let bench = StoreBench::new();
    let (store, bot) = (&bench.store, bot("one_bot"));
    let asked = store.request_pairing(&bot, wish("7", "CODE7", 0)).await.unwrap();
    let PairingRequest::Begun(asked) = asked else { panic!("{asked:?}") };
    let refused = store.revoke_pairing(asked.id, at(60)).await.unwrap();
    assert_eq!(refused.describe(), "refused");
    for minute in [2, 61, 23 * 60] {
        let again = store.request_pairing(&bot, wish("7", "OTHER", minute)).await.unwrap();
        assert_eq!(again, PairingRequest::Refused);
    }
    let later = store.request_pairing(&bot, wish("7", "LATER", 25 * 60)).await.unwrap();
    assert!(matches!(later, PairingRequest::Begun(_)), "{later:?}");
}

#[tokio::test]
async fn health_is_told_of_a_process_that_runs() {
    let bench = StoreBench::new();
    let running = ChannelHealthState::Running;
    bench.store.set_channel_health("telegram", running, "running as @b", at(1)).await.unwrap();
    let health = bench.store.channel_health().await.unwrap();
    assert_eq!((health[0].state, health[0].is_current), (running, true));
    let bench = bench.reopened();
    let health = bench.store.channel_health().await.unwrap();
    assert_eq!((health[0].state, health[0].is_current), (running, false));
}
