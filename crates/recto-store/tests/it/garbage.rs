//! Records and texts that are of no use any more.

use recto_context::{ContentHash, Text};
use recto_store::{NewRequest, RequestId, StoredSession, TurnCommit, TurnEnding, TurnOutcome};

use crate::support::{StoreBench, at, new_turn, request, talk};

/// A whole turn that is nothing but this request, and ends at a time.
async fn sent_at(
    bench: &StoreBench,
    session: &StoredSession,
    new: NewRequest,
    seconds: i64,
) -> RequestId {
    let commit = TurnCommit { request: Some(new), ..TurnCommit::default() };
    let begun = bench.store.begin(new_turn(session, "hi"), commit).await.unwrap();
    let outcome = TurnOutcome { ending: TurnEnding::Done, detail: None, at: at(seconds) };
    let end = TurnCommit { outcome: Some(outcome), ..TurnCommit::default() };
    bench.store.advance(begun.turn, end).await.unwrap();
    begun.request.unwrap()
}

/// Promise: `old-records-dropped`
#[tokio::test]
async fn old_records_go_and_what_was_kept_against_them_stays() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let (mut context, mut written) = (String::new(), Vec::new());
    for n in 0..60 {
        context.push_str(&format!("[{n},\"{}\"]\n", ContentHash::of_bytes(&[n])));
        let body = [format!("request {n}"), talk(u64::from(n), 300)];
        let new =
            NewRequest { context: context.clone(), body: body.iter().collect(), ..request(1, &[]) };
        let id = sent_at(&bench, &session, new, i64::from(n)).await;
        written.push((id, context.clone(), body.concat()));
    }
    // In the middle of a row of documents that are kept against each other.
    assert_eq!(bench.store.drop_records(at(37)).await, Ok(37));
    assert_eq!(bench.store.drop_records(at(37)).await, Ok(0));
    assert_eq!(bench.store.drop_unused_parts().await, Ok(37));
    assert_eq!(bench.store.check_records().await, Ok(Vec::new()));
    let next = NewRequest { context: context.clone(), ..request(1, &["one more"]) };
    let next = sent_at(&bench, &session, next, 60).await;
    let bench = bench.reopened();
    for (id, context, body) in &written[37..] {
        assert_eq!(bench.store.request(*id).await.unwrap().unwrap().context, *context);
        assert_eq!(bench.store.body(*id).await.unwrap(), body.as_bytes());
    }
    assert_eq!(bench.store.request(next).await.unwrap().unwrap().context, context);
    assert_eq!(bench.store.request(written[36].0).await, Ok(None));
    assert_eq!(bench.store.session_usage(session.id).await.unwrap().tokens.requests, 61);
}

#[tokio::test]
async fn a_session_keeps_its_newest_record_however_old_it_is() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    sent_at(&bench, &session, request(1, &["old"]), 1).await;
    let newest = sent_at(&bench, &session, request(1, &["new"]), 2).await;
    assert_eq!(bench.store.drop_records(at(1_000)).await, Ok(1));
    assert_eq!(bench.store.last_request(session.id).await.unwrap().unwrap().id, newest);
}

/// Another process remembers documents that were dropped meanwhile.
#[tokio::test]
async fn what_is_written_beside_a_clean_up_can_be_read() {
    let bench = StoreBench::new();
    let other = bench.another();
    let session = bench.session("a").await;
    let text = Text::new(talk(7, 500));
    for n in 0..40 {
        let new = NewRequest {
            context: format!("{{\"n\":{n},\"text\":\"{}\"}}\n{}", text.hash(), talk(3, 900)),
            contents: vec![text.clone()],
            ..request(1, &["x"])
        };
        let id = sent_at(&bench, &session, new.clone(), n).await;
        other.drop_records(at(n - 3)).await.unwrap();
        other.drop_unused_parts().await.unwrap();
        assert_eq!(other.request(id).await.unwrap().unwrap().context, new.context);
        assert_eq!(other.contents(vec![text.hash()]).await.unwrap()[&text.hash()], text);
    }
    assert_eq!(bench.store.check_records().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_file_gives_its_room_back() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    for n in 0..20 {
        let new = NewRequest { body: [talk(n, 60_000)].iter().collect(), ..request(1, &[]) };
        sent_at(&bench, &session, new, 1).await;
    }
    let before = bench.store.composition().await.unwrap().bytes();
    assert_eq!(bench.store.drop_records(at(60)).await, Ok(19));
    assert_eq!(bench.store.drop_unused_parts().await, Ok(19));
    assert!(bench.store.compact().await.unwrap());
    let after = bench.store.composition().await.unwrap().bytes();
    assert!(after < before / 2, "{before} bytes before, {after} now");
}
