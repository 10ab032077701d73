//! Vectors of texts, kept between runs.
//!
//! They stand on shelves, so that who clears one away leaves the others alone.
//! What a vector means is not known here.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::ContentHash;
use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::rows::{self, DbResult};
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
    pub async fn embeddings(
        &self,
        by: EmbeddingKey,
    ) -> Result<Vec<(ContentHash, Vec<u8>)>, StoreError> {
        self.read(move |db| {
            let sql = "SELECT text, vector FROM embeddings WHERE shelf = ?1 AND model = ?2";
            rows::all(db, sql, params![by.shelf, by.model], |row| {
                Ok((ContentHash::from_bytes(row.get("text")?), row.get("vector")?))
            })
        })
        .await
    }

    /// Keeps vectors of texts.
    pub async fn keep_embeddings(
        &self,
        by: EmbeddingKey,
        vectors: Vec<(ContentHash, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            let mut insert = db.prepare_cached(
                "INSERT OR REPLACE INTO embeddings (shelf, model, text, vector)
                 VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (text, vector) in &vectors {
                insert.execute(params![by.shelf, by.model, text.as_bytes(), vector])?;
            }
            Ok(())
        })
        .await
    }

    /// Lets go of all vectors of a shelf but those that this encoder made of
    /// these texts, and says how many went.
    pub async fn retain_embeddings(
        &self,
        by: EmbeddingKey,
        texts: HashSet<ContentHash>,
    ) -> Result<usize, StoreError> {
        self.write(move |db| {
            let sql = "DELETE FROM embeddings WHERE shelf = ?1 AND model <> ?2";
            let others = rows::execute(db, sql, params![by.shelf, by.model])?;
            Ok(others + remove_all_but(db, &by, &texts)?)
        })
        .await
    }
}

fn remove_all_but(
    db: &Connection,
    by: &EmbeddingKey,
    texts: &HashSet<ContentHash>,
) -> DbResult<usize> {
    let sql = "SELECT text FROM embeddings WHERE shelf = ?1 AND model = ?2";
    let kept = rows::all(db, sql, params![by.shelf, by.model], |row| {
        Ok(ContentHash::from_bytes(row.get("text")?))
    })?;
    let mut delete =
        db.prepare_cached("DELETE FROM embeddings WHERE shelf = ?1 AND model = ?2 AND text = ?3")?;
    let gone = kept.iter().filter(|text| !texts.contains(text));
    gone.map(|text| Ok(delete.execute(params![by.shelf, by.model, text.as_bytes()])?)).sum()
}
