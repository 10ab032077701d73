//! Vectors for what has none: those that the store has kept, and new ones.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_context::ContentHash;
use recto_search::{Encoder, MissingVector, PackedVector, VectorCoverage};
use recto_store::{EmbeddingKey, Store};

use super::{EmbeddingProgress, IsCandidate, Searcher, run_blocking};

/// How many texts are embedded before their vectors are put to use and kept.
const BATCH: usize = 64;

/// How many texts without a vector are worth a look at what was kept.
const MANY: usize = 32;

/// The place where vectors outlast the process. They can always be computed again, so what
/// goes wrong here is not told.
pub(super) struct VectorCache {
    store: Option<Store>,
    agent: Arc<str>,
    /// Each shelf is cleared away by itself.
    shelf: Arc<str>,
    /// What the index holds of the texts of this shelf.
    coverage: IndexCoverage,
    is_read: AtomicBool,
}

/// How much of what a shelf is for an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexCoverage {
    /// All of it: what it does not have can be cleared away.
    All,
    /// What was asked for so far.
    Some,
}

impl VectorCache {
    pub(super) fn new(store: Option<Store>, agent: &str, shelf: &str) -> Self {
        VectorCache {
            store,
            agent: agent.into(),
            shelf: format!("{shelf} of {agent}").into(),
            coverage: IndexCoverage::All,
            is_read: AtomicBool::new(false),
        }
    }

    /// Another shelf of the same agent, of which the index may hold a part: old notes,
    /// or other people's, come when they are asked for.
    pub(super) fn sibling(&self, shelf: &str) -> Self {
        VectorCache {
            coverage: IndexCoverage::Some,
            ..VectorCache::new(self.store.clone(), &self.agent, shelf)
        }
    }

    /// Another shelf of the same agent, of which the index holds all.
    pub(super) fn whole_sibling(&self, shelf: &str) -> Self {
        VectorCache::new(self.store.clone(), &self.agent, shelf)
    }

    /// The vectors of this shelf that an encoder has made. Those of another are never among them.
    fn key(&self, encoder: &Encoder) -> EmbeddingKey {
        EmbeddingKey { shelf: self.shelf.clone(), model: encoder.name().clone() }
    }

    /// All that was kept; nothing when it was read before and little is missing.
    async fn read(
        &self,
        encoder: &Encoder,
        missing: usize,
    ) -> Option<Vec<(ContentHash, PackedVector)>> {
        let store = self.store.as_ref()?;
        let may_have_more = self.coverage == IndexCoverage::Some && missing > MANY;
        if self.is_read.swap(true, Ordering::Relaxed) && !may_have_more {
            return None;
        }
        let stored = store.embeddings(self.key(encoder)).await.unwrap_or_default();
        let vector = |(key, bytes): (_, Vec<u8>)| Some((key, PackedVector::from_bytes(&bytes)?));
        Some(stored.into_iter().filter_map(vector).collect())
    }

    async fn keep(&self, encoder: &Encoder, vectors: &[(ContentHash, PackedVector)]) {
        let Some(store) = &self.store else { return };
        let bytes = vectors.iter().map(|(key, vector)| (*key, vector.to_bytes()));
        let _ = store.keep_embeddings(self.key(encoder), bytes.collect()).await;
    }

    /// Lets go of what no item says any more, and of what another encoder has made.
    pub(super) async fn retain(&self, encoder: &Encoder, keys: HashSet<ContentHash>) {
        let Some(store) = &self.store else { return };
        let _ = match self.coverage {
            IndexCoverage::All => store.retain_embeddings(self.key(encoder), keys).await,
            IndexCoverage::Some => store.drop_other_embeddings(self.key(encoder)).await,
        };
    }
}

impl Searcher {
    /// Gives every candidate's texts their vectors, in batches. Nothing comes of it
    /// only when something in it is broken.
    pub(super) async fn embed_missing(
        &self,
        encoder: &Encoder,
        is_candidate: IsCandidate,
    ) -> Option<()> {
        if self.missing(is_candidate.clone()).await?.is_empty() {
            return Some(());
        }
        let _alone = self.0.embedding.lock().await;
        let space = encoder.space().clone();
        self.change(move |index| index.set_space(space)).await?;
        let missing = self.missing(is_candidate.clone()).await?.len();
        self.take_stored(encoder, missing).await?;
        let missing = self.missing(is_candidate.clone()).await?;
        // What was kept from an earlier run counts as done.
        let VectorCoverage { mut done, total } = self.coverage(is_candidate).await?;
        self.0.progress.send_replace(EmbeddingProgress { done, total });
        for batch in missing.chunks(BATCH) {
            self.embed(encoder, batch.to_vec()).await?;
            done = total.min(done + batch.len());
            self.0.progress.send_replace(EmbeddingProgress { done, total });
        }
        Some(())
    }

    async fn coverage(&self, is_candidate: IsCandidate) -> Option<VectorCoverage> {
        let searcher = self.clone();
        run_blocking(move || searcher.index().coverage(|id| is_candidate(id))).await
    }

    async fn missing(&self, is_candidate: IsCandidate) -> Option<Vec<MissingVector>> {
        let searcher = self.clone();
        run_blocking(move || searcher.index().missing(|id| is_candidate(id))).await
    }

    /// Puts to use what the store has kept, and clears away what is of no use.
    async fn take_stored(&self, encoder: &Encoder, missing: usize) -> Option<()> {
        let Some(stored) = self.0.cache.read(encoder, missing).await else { return Some(()) };
        self.supply(stored).await?;
        self.retain(encoder).await
    }

    /// Lets go of the vectors of what no item says any more. Before an encoder is there, nobody
    /// knows whose vectors are needed: once it is, they are looked at anyway.
    pub(super) async fn clear_away(self) {
        // What is being embedded is kept first, and then looked at.
        let _alone = self.0.embedding.lock().await;
        if let Some(encoder) = self.0.encoder.as_ref().and_then(|encoder| encoder.loaded()) {
            self.retain(&encoder).await;
        }
    }

    async fn retain(&self, encoder: &Encoder) -> Option<()> {
        let searcher = self.clone();
        let keys = run_blocking(move || searcher.index().keys().collect()).await?;
        self.0.cache.retain(encoder, keys).await;
        Some(())
    }

    /// Embeds what still needs it: items may have changed while others were at it.
    async fn embed(&self, encoder: &Encoder, batch: Vec<MissingVector>) -> Option<()> {
        let (searcher, own) = (self.clone(), encoder.clone());
        let vectors: Vec<(ContentHash, PackedVector)> = run_blocking(move || {
            let is_needed = |missing: &&MissingVector| searcher.index().needs(missing.key);
            let needed: Vec<&MissingVector> = batch.iter().filter(is_needed).collect();
            let texts: Vec<&str> = needed.iter().map(|missing| &*missing.text).collect();
            let embeddings = own.encode_documents(&texts);
            let vectors = needed.iter().zip(embeddings.iter().map(PackedVector::from));
            let vectors = vectors.filter(|(missing, _)| is_needed(missing));
            vectors.map(|(missing, vector)| (missing.key, vector)).collect()
        })
        .await?;
        self.0.cache.keep(encoder, &vectors).await;
        self.supply(vectors).await
    }

    async fn supply(&self, vectors: Vec<(ContentHash, PackedVector)>) -> Option<()> {
        self.change(move |index| index.supply(vectors)).await
    }
}
