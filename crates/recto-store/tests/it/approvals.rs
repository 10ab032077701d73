//! Questions whether a tool may run, and skills that people have looked at.

use recto_context::{ContentHash, ItemId};
use recto_store::{
    ApprovalAnswer, ApprovalDecision, ApprovalExtent, NewApproval, RowId, SessionApproval,
    StoreError, StoredApproval, TrustUpdate, TurnCommit, TurnId,
};
use serde_json::json;

use crate::support::{StoreBench, at, begin, done};

fn question(place: u32, tool: &str) -> NewApproval {
    NewApproval {
        round: 1,
        place,
        tool: ItemId::tool(Some("git".into()), tool),
        title: format!("git {tool}"),
        detail: format!("git {tool} --all\n").repeat(50),
        fields: Some(json!({"kind": "program", "argv": ["git", tool], "network": false})),
        action: ContentHash::of_bytes(tool.as_bytes()),
        identity: ContentHash::of_bytes(b"git 2"),
        extent: ApprovalExtent::Tool,
        asked: at(10),
        expires: at(20),
    }
}

/// What Ada says after so many seconds.
fn says(answer: ApprovalAnswer, seconds: i64) -> ApprovalDecision {
    ApprovalDecision { answer, at: at(seconds), by: Some(json!({"id": "ada"})) }
}

/// What becomes of a question without anybody saying something.
fn nobody(answer: ApprovalAnswer, seconds: i64) -> ApprovalDecision {
    ApprovalDecision { by: None, ..says(answer, seconds) }
}

async fn ask(bench: &StoreBench, turn: TurnId, approvals: Vec<NewApproval>) -> Vec<StoredApproval> {
    let commit = TurnCommit { approvals, ..TurnCommit::default() };
    bench.store.advance(turn, commit).await.unwrap();
    bench.store.approvals_of(turn).await.unwrap()
}

#[tokio::test]
async fn a_question_survives_and_its_first_answer_holds() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hi").await.unwrap().turn;
    let asked = ask(&bench, turn, vec![question(0, "log"), question(2, "push")]).await;
    assert_eq!(asked[0].question, question(0, "log"));

    let bench = bench.reopened();
    // A question is open up to the moment at which it expires.
    assert_eq!(bench.store.open_approvals(at(20)).await.unwrap(), asked);
    assert_eq!(bench.store.open_approvals(at(21)).await.unwrap(), []);
    let [log, push] = [asked[0].id, asked[1].id];
    let session_wide = says(ApprovalAnswer::Session, 12);
    let approval = bench.store.answer_approval(log, session_wide.clone()).await.unwrap();
    assert_eq!(approval.answer, Some(session_wide));
    // Who said it is kept.
    assert_eq!(bench.store.approval(log).await, Ok(Some(approval)));
    assert_eq!(
        bench.store.answer_approval(log, says(ApprovalAnswer::Denied, 13)).await,
        Err(StoreError::Decided { approval: log, answer: ApprovalAnswer::Session })
    );
    // Too late counts as no answer.
    let late = bench.store.answer_approval(push, says(ApprovalAnswer::Once, 21)).await.unwrap();
    assert_eq!(late.answer, Some(nobody(ApprovalAnswer::Expired, 21)));
    assert_eq!(bench.store.open_approvals(at(12)).await.unwrap(), []);
    let allowed = bench.store.allowed_in(session.id).await.unwrap();
    let log = ItemId::tool(Some("git".into()), "log");
    let identity = ContentHash::of_bytes(b"git 2");
    // Also in whose turn it was asked for.
    let actor = serde_json::json!({"id": "owner"});
    assert_eq!(allowed, [SessionApproval { tool: log, identity, actor }]);
    let other = bench.session("b").await;
    assert_eq!(bench.store.allowed_in(other.id).await.unwrap(), []);
    let missing = "99".parse().unwrap();
    assert_eq!(
        bench.store.answer_approval(missing, says(ApprovalAnswer::Once, 12)).await,
        Err(StoreError::NotFound(RowId::Approval(missing)))
    );
}

#[tokio::test]
async fn what_only_a_person_may_allow_is_allowed_once() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hi").await.unwrap().turn;
    let single = NewApproval { extent: ApprovalExtent::Call, ..question(0, "log") };
    let asked = ask(&bench, turn, vec![single]).await;
    let approval =
        bench.store.answer_approval(asked[0].id, says(ApprovalAnswer::Session, 12)).await.unwrap();
    assert_eq!(approval.answer, Some(says(ApprovalAnswer::Once, 12)));
    assert_eq!(bench.store.allowed_in(session.id).await.unwrap(), []);
}

#[tokio::test]
async fn a_turn_that_ends_takes_its_questions_back() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hi").await.unwrap().turn;
    ask(&bench, turn, vec![question(0, "log")]).await;
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    bench.store.advance(turn, end).await.unwrap();
    assert_eq!(bench.store.open_approvals(at(10)).await.unwrap(), []);
    let asked = bench.store.approvals_of(turn).await.unwrap();
    assert_eq!(asked[0].answer, Some(nobody(ApprovalAnswer::Withdrawn, 9)));
}

#[tokio::test]
async fn a_folder_keeps_its_first_hash_until_a_person_looked_again() {
    let bench = StoreBench::new();
    let folder =
        |text: &str| vec![("/skills/git".to_owned(), ContentHash::of_bytes(text.as_bytes()))];
    for (text, sight, kept) in [
        ("one", TrustUpdate::First, "one"),
        ("two", TrustUpdate::First, "one"),
        ("two", TrustUpdate::Again, "two"),
    ] {
        bench.store.trust("main", folder(text), sight, at(1)).await.unwrap();
        assert_eq!(bench.store.trusted("main").await.unwrap(), folder(kept));
    }
    assert_eq!(bench.store.trusted("other").await.unwrap(), []);
}

/// A button that still stands in some chat names a question by its number.
#[tokio::test]
async fn the_number_of_a_question_is_never_given_twice() {
    let bench = StoreBench::new();
    let gone = bench.session("gone").await;
    let turn = begin(&bench.store, &gone, 1, "hi").await.unwrap().turn;
    let asked = ask(&bench, turn, vec![question(0, "log")]).await;
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    bench.store.advance(turn, end).await.unwrap();
    bench.store.delete_session(gone.id, at(60)).await.unwrap();
    let bench = bench.reopened();
    let other = bench.session("other").await;
    let turn = begin(&bench.store, &other, 1, "hi").await.unwrap().turn;
    let now = ask(&bench, turn, vec![question(0, "push")]).await;
    assert!(now[0].id > asked[0].id, "{} {}", now[0].id, asked[0].id);
}
