//! Vectors of texts.

use recto_context::ContentHash;
use recto_store::{EmbeddingKey, Store};

use crate::support::StoreBench;

fn by(shelf: &str, model: &str) -> EmbeddingKey {
    EmbeddingKey { shelf: shelf.into(), model: model.into() }
}

fn hash(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

async fn kept(store: &Store, by: &EmbeddingKey) -> Vec<(ContentHash, Vec<u8>)> {
    let mut kept = store.embeddings(by.clone()).await.unwrap();
    kept.sort();
    kept
}

fn sorted<const N: usize>(mut vectors: [(ContentHash, Vec<u8>); N]) -> Vec<(ContentHash, Vec<u8>)> {
    vectors.sort();
    vectors.to_vec()
}

/// Promise: `search-without-model`
#[tokio::test]
async fn vectors_outlast_the_process_and_belong_to_their_encoder() {
    let bench = StoreBench::new();
    let (first, second) = (by("items", "one/1"), by("items", "one/2"));
    let vectors = [(hash("a"), vec![1, 2]), (hash("b"), vec![3])];
    bench.store.keep_embeddings(first.clone(), vectors.to_vec()).await.unwrap();
    bench.store.keep_embeddings(first.clone(), vec![(hash("b"), vec![4])]).await.unwrap();
    let bench = bench.reopened();
    let expected = sorted([(hash("a"), vec![1, 2]), (hash("b"), vec![4])]);
    assert_eq!(kept(&bench.store, &first).await, expected);
    assert_eq!(kept(&bench.store, &second).await, []);
}

#[tokio::test]
async fn what_no_item_says_any_more_goes_and_with_it_what_older_encoders_made() {
    let bench = StoreBench::new();
    let (old, new) = (by("items", "one/1"), by("items", "one/2"));
    let other = by("messages", "one/1");
    for embedder in [&old, &new, &other] {
        let vectors = ["a", "b"].map(|text| (hash(text), vec![0]));
        bench.store.keep_embeddings(embedder.clone(), vectors.to_vec()).await.unwrap();
    }
    let texts = [hash("a"), hash("c")].into();
    assert_eq!(bench.store.retain_embeddings(new.clone(), texts).await.unwrap(), 3);
    assert_eq!(kept(&bench.store, &old).await, []);
    assert_eq!(kept(&bench.store, &new).await, [(hash("a"), vec![0])]);
    // What stands on another shelf may still be of use there.
    assert_eq!(kept(&bench.store, &other).await.len(), 2);
}
