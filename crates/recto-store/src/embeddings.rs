//! Vectors of texts, kept between runs.
//!
//! They stand on shelves, so that who clears one away leaves the others alone.
//! What a vector means is not known here.

use std::collections::HashSet;
use std::sync::Arc;

use crate::sql::{SqlConnection, params};
use recto_context::ContentHash;

use crate::error::StoreResult;
use crate::rows::DbResult;
use crate::store::Store;

/// The shelf on which vectors are kept, and the encoder that made them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingKey {
    /// The shelf: the items of one agent, or past messages.
    pub shelf: Arc<str>,
    /// The encoder and its version.
    pub model: Arc<str>,
}

impl Store {
    /// All vectors of a shelf that this encoder made.
    pub async fn embeddings(&self, key: EmbeddingKey) -> StoreResult<Vec<(ContentHash, Vec<u8>)>> {
        self.read(move |db| {
            let sql = "SELECT text, vector FROM embeddings WHERE shelf = ?1 AND model = ?2";
            db.all(sql, params![key.shelf, key.model], |row| {
                Ok((ContentHash::from_bytes(row.get("text")?), row.get("vector")?))
            })
        })
        .await
    }

    /// Keeps vectors of texts.
    pub async fn keep_embeddings(
        &self,
        key: EmbeddingKey,
        vectors: Vec<(ContentHash, Vec<u8>)>,
    ) -> StoreResult<()> {
        self.write(move |db| {
            let sql = "INSERT INTO embeddings (shelf, model, text, vector) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT (shelf, model, text) DO UPDATE SET vector = excluded.vector";
            for (text, vector) in &vectors {
                db.execute(sql, params![key.shelf, key.model, text.as_bytes(), vector])?;
            }
            Ok(())
        })
        .await
    }

    /// Lets go of all vectors of a shelf but those that this encoder made of
    /// these texts, and says how many went.
    pub async fn retain_embeddings(
        &self,
        key: EmbeddingKey,
        texts: HashSet<ContentHash>,
    ) -> StoreResult<usize> {
        self.write(move |db| {
            let others = remove_of_others(db, &key)?;
            Ok(others + remove_all_but(db, &key, &texts)?)
        })
        .await
    }

    /// Lets go of all vectors of a shelf that another encoder made, and says how many went.
    pub async fn drop_other_embeddings(&self, key: EmbeddingKey) -> StoreResult<usize> {
        self.write(move |db| remove_of_others(db, &key)).await
    }
}

fn remove_of_others(db: &SqlConnection, key: &EmbeddingKey) -> DbResult<usize> {
    let sql = "DELETE FROM embeddings WHERE shelf = ?1 AND model <> ?2";
    db.execute(sql, params![key.shelf, key.model])
}

fn remove_all_but(
    db: &SqlConnection,
    key: &EmbeddingKey,
    texts: &HashSet<ContentHash>,
) -> DbResult<usize> {
    let sql = "SELECT text FROM embeddings WHERE shelf = ?1 AND model = ?2";
    let stored = db.all(sql, params![key.shelf, key.model], |row| {
        Ok(ContentHash::from_bytes(row.get("text")?))
    })?;
    let sql = "DELETE FROM embeddings WHERE shelf = ?1 AND model = ?2 AND text = ?3";
    let gone = stored.iter().filter(|text| !texts.contains(text));
    gone.map(|text| db.execute(sql, params![key.shelf, key.model, text.as_bytes()])).sum()
}
