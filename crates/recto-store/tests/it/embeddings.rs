//! Vectors of texts.

use recto_context::ContentHash;
use recto_store::{EmbeddingKey, Store};

use crate::support::StoreBench;

fn key(shelf: &str, model: &str) -> EmbeddingKey {
    EmbeddingKey { shelf: shelf.into(), model: model.into() }
}

fn hash(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

async fn stored(store: &Store, key: &EmbeddingKey) -> Vec<(ContentHash, Vec<u8>)> {
    let mut vectors = store.embeddings(key.clone()).await.unwrap();
    vectors.sort();
    vectors
}

fn sorted<const N: usize>(mut vectors: [(ContentHash, Vec<u8>); N]) -> Vec<(ContentHash, Vec<u8>)> {
    vectors.sort();
    vectors.to_vec()
}

/// Promise: `search-without-model`
#[tokio::test]
async fn vectors_outlast_the_process_and_belong_to_their_encoder() {
    let bench = StoreBench::new();
    let (first, second) = (key("items", "one/1"), key("items", "one/2"));
    let vectors = [(hash("a"), vec![1, 2]), (hash("b"), vec![3])];
    bench.store.keep_embeddings(first.clone(), vectors.to_vec()).await.unwrap();
    bench.store.keep_embeddings(first.clone(), vec![(hash("b"), vec![4])]).await.unwrap();
    let bench = bench.reopened();
    let expected = sorted([(hash("a"), vec![1, 2]), (hash("b"), vec![4])]);
    assert_eq!(stored(&bench.store, &first).await, expected);
    assert_eq!(stored(&bench.store, &second).await, []);
}

#[tokio::test]
async fn what_no_item_says_any_more_goes_and_with_it_what_older_encoders_made() {
    let bench = StoreBench::new();
    let (old, new) = (key("items", "one/1"), key("items", "one/2"));
    let other = key("messages", "one/1");
    for key in [&old, &new, &other] {
        let vectors = ["a", "b"].map(|text| (hash(text), vec![0]));
        bench.store.keep_embeddings(key.clone(), vectors.to_vec()).await.unwrap();
    }
    let texts = [hash("a"), hash("c")].into();
    assert_eq!(bench.store.retain_embeddings(new.clone(), texts).await.unwrap(), 3);
    assert_eq!(stored(&bench.store, &old).await, []);
    assert_eq!(stored(&bench.store, &new).await, [(hash("a"), vec![0])]);
    // What stands on another shelf may still be of use there.
    assert_eq!(stored(&bench.store, &other).await.len(), 2);
}

/// Promise: `encoders-never-mix`
#[tokio::test]
async fn what_other_encoders_made_goes_from_a_shelf_of_which_not_all_is_known() {
    let bench = StoreBench::new();
    let (old, new) = (key("messages", "one/1"), key("messages", "two/1"));
    let other = key("items", "one/1");
    for key in [&old, &new, &other] {
        bench.store.keep_embeddings(key.clone(), vec![(hash("a"), vec![0])]).await.unwrap();
    }
    assert_eq!(bench.store.drop_other_embeddings(new.clone()).await.unwrap(), 1);
    let counts = [&old, &new, &other].map(async |key| stored(&bench.store, key).await.len());
    let [old, new, other] = counts;
    assert_eq!((old.await, new.await, other.await), (0, 1, 1));
}
