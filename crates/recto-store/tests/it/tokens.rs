//! Tokens: their names, their ends, and what is kept of them.

use recto_context::ContentHash;
use recto_store::{NewToken, StoreError};
use serde_json::json;

use crate::support::{StoreBench, at};

fn new_token(name: &str, secret: &str) -> NewToken {
    NewToken {
        name: name.into(),
        hash: ContentHash::of_bytes(secret.as_bytes()),
        rights: json!({"holder": "guest", "access": "read"}),
        at: at(0),
        expires: Some(at(60)),
    }
}

#[tokio::test]
async fn a_token_is_found_by_its_hash_until_it_expires_or_is_revoked() {
    let bench = StoreBench::new();
    let token = bench.store.create_token(new_token("phone", "one")).await.unwrap();
    let hash = |secret: &str| ContentHash::of_bytes(secret.as_bytes());
    assert_eq!(bench.store.find_token(hash("one")).await.unwrap().unwrap(), token);
    assert_eq!(bench.store.find_token(hash("two")).await.unwrap(), None);
    assert!(token.is_valid(at(59)));
    assert!(!token.is_valid(at(60)));

    bench.store.note_token_use(token.id, at(5)).await.unwrap();
    let revoked = bench.store.revoke_token(token.id, at(7)).await.unwrap();
    assert_eq!((revoked.last_used, revoked.revoked), (Some(at(5)), Some(at(7))));
    assert!(!revoked.is_valid(at(8)));
    // A second time changes nothing, and a restart neither.
    bench.store.revoke_token(token.id, at(9)).await.unwrap();
    let bench = bench.reopened();
    let kept = bench.store.tokens().await.unwrap();
    assert_eq!(kept, std::slice::from_ref(&revoked));
    assert_eq!(bench.store.token(token.id).await.unwrap(), Some(revoked));
}

#[tokio::test]
async fn a_name_is_free_again_once_its_token_is_revoked() {
    let bench = StoreBench::new();
    let first = bench.store.create_token(new_token("phone", "one")).await.unwrap();
    let taken = bench.store.create_token(new_token("phone", "two")).await.unwrap_err();
    assert_eq!(taken, StoreError::TokenNameTaken { name: "phone".into() });
    bench.store.revoke_token(first.id, at(1)).await.unwrap();
    let second = bench.store.create_token(new_token("phone", "two")).await.unwrap();
    assert_ne!(first.id, second.id);
    let missing = "99".parse().unwrap();
    assert!(matches!(bench.store.revoke_token(missing, at(1)).await, Err(StoreError::NotFound(_))));
}
