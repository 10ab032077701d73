//! Vectors of texts, kept between runs.
//!
//! They belong to an agent, so that one who has let go of a text does not take
//! it from another. What a vector means is not known here.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::ContentHash;
use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::rows::{self, Outcome};
use crate::store::Store;

/// Whose vectors, and what made them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedder {
    /// The agent.
    pub agent: Arc<str>,
    /// The encoder and its version.
    pub model: Arc<str>,
}

impl Store {
    /// All vectors of an agent that this encoder made.
    pub async fn embeddings(
        &self,
        by: Embedder,
    ) -> Result<Vec<(ContentHash, Vec<u8>)>, StoreError> {
        self.read(move |db| {
            let mut select = db.prepare_cached(
                "SELECT text, vector FROM embeddings WHERE agent = ?1 AND model = ?2",
            )?;
            rows::all(&mut select.query(params![by.agent, by.model])?, |row| {
                Ok((ContentHash::from_bytes(row.get("text")?), row.get("vector")?))
            })
        })
        .await
    }

    /// Keeps vectors of texts.
    pub async fn keep_embeddings(
        &self,
        by: Embedder,
        vectors: Vec<(ContentHash, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            let mut insert = db.prepare_cached(
                "INSERT OR REPLACE INTO embeddings (agent, model, text, vector)
                 VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (text, vector) in &vectors {
                insert.execute(params![by.agent, by.model, text.as_bytes(), vector])?;
            }
            Ok(())
        })
        .await
    }

    /// Lets go of all vectors of an agent but those that this encoder made of
    /// these texts, and says how many went.
    pub async fn retain_embeddings(
        &self,
        by: Embedder,
        texts: HashSet<ContentHash>,
    ) -> Result<usize, StoreError> {
        self.write(move |db| {
            let others = db
                .prepare_cached("DELETE FROM embeddings WHERE agent = ?1 AND model <> ?2")?
                .execute(params![by.agent, by.model])?;
            Ok(others + remove_all_but(db, &by, &texts)?)
        })
        .await
    }
}

fn remove_all_but(db: &Connection, by: &Embedder, texts: &HashSet<ContentHash>) -> Outcome<usize> {
    let mut select =
        db.prepare_cached("SELECT text FROM embeddings WHERE agent = ?1 AND model = ?2")?;
    let kept = rows::all(&mut select.query(params![by.agent, by.model])?, |row| {
        Ok(ContentHash::from_bytes(row.get("text")?))
    })?;
    let mut delete =
        db.prepare_cached("DELETE FROM embeddings WHERE agent = ?1 AND model = ?2 AND text = ?3")?;
    let gone = kept.iter().filter(|text| !texts.contains(text));
    gone.map(|text| Ok(delete.execute(params![by.agent, by.model, text.as_bytes()])?)).sum()
}
