//! The encoder, loaded when it is first needed.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use recto_search::{Embedding, Encoder, EncoderError, EncoderFiles, EncoderSource, SearchMessage};
use tokio::sync::Mutex;

use super::{WordsOnlyReason, run_blocking};

/// An encoder that is loaded when it is first needed. The agents of a process share one,
/// so that it is in memory once; the model as it was published is loaded beside it once a
/// client of the front doors wants its vectors.
pub struct LazyEncoder {
    source: EncoderSource,
    state: Mutex<EncoderState>,
    /// The last message with the embeddings of its texts. A turn searches several shelves
    /// for the same.
    last_query: parking_lot::Mutex<Option<(SearchMessage, Vec<Embedding>)>>,
    /// The same model as it was published, where this one has learnt more.
    published: Option<Arc<LazyEncoder>>,
}

enum EncoderState {
    Unloaded,
    Ready(Encoder),
    /// It could not be loaded from files that looked like this.
    Failed(FileStamps, WordsOnlyReason),
}

/// What tells that a file was replaced: its length and when it was written.
type FileStamps = Vec<Option<(u64, Option<SystemTime>)>>;

impl fmt::Debug for LazyEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyEncoder").field("source", &self.source).finish_non_exhaustive()
    }
}

impl LazyEncoder {
    /// An encoder that is loaded from here, wherever its files would be.
    pub fn new(source: impl Into<EncoderSource>) -> Self {
        let source = source.into();
        let published = match &source {
            EncoderSource::BuiltIn(files) => Some(files.clone()),
            // Where it turns out to be the built-in model.
            EncoderSource::Chosen(folder) => Some(EncoderFiles {
                weights: folder.join("model.safetensors"),
                tokenizer: folder.join("tokenizer.json"),
                sha256: None,
            }),
            EncoderSource::Published(_) => None,
        };
        LazyEncoder {
            source,
            state: Mutex::new(EncoderState::Unloaded),
            last_query: parking_lot::Mutex::default(),
            published: published
                .map(|files| Arc::new(LazyEncoder::new(EncoderSource::Published(files)))),
        }
    }

    /// The model without what Recto has taught it: its vectors are those that other programs
    /// know by its name. Another encoder that was chosen is taught nothing.
    pub(super) async fn get_published(&self) -> Result<Encoder, WordsOnlyReason> {
        let Some(published) = &self.published else { return self.get().await };
        if matches!(self.source, EncoderSource::Chosen(_)) {
            let chosen = self.get().await?;
            if !chosen.is_built_in() {
                return Ok(chosen);
            }
        }
        Box::pin(published.get()).await
    }

    /// Where it is loaded from.
    pub fn source(&self) -> &EncoderSource {
        &self.source
    }

    /// The encoder, if it is loaded.
    pub(super) fn loaded(&self) -> Option<Encoder> {
        match &*self.state.try_lock().ok()? {
            EncoderState::Ready(encoder) => Some(encoder.clone()),
            EncoderState::Unloaded | EncoderState::Failed(..) => None,
        }
    }

    /// The encoder. Where its files can't be used it is tried again once they
    /// are others: a person may pull the model while Recto runs.
    pub(super) async fn get(&self) -> Result<Encoder, WordsOnlyReason> {
        let mut state = self.state.lock().await;
        if let EncoderState::Ready(encoder) = &*state {
            return Ok(encoder.clone());
        }
        let stamps: FileStamps = self.source.files().iter().map(|file| stamp(file)).collect();
        if let EncoderState::Failed(then, why) = &*state
            && *then == stamps
        {
            return Err(why.clone());
        }
        let source = self.source.clone();
        let loaded = run_blocking(move || source.load()).await.ok_or(WordsOnlyReason::Failed)?;
        let loaded = loaded.map_err(|error| words_only(&error));
        *state = match &loaded {
            Ok(encoder) => EncoderState::Ready(encoder.clone()),
            Err(why) => EncoderState::Failed(stamps, why.clone()),
        };
        loaded
    }

    /// The embeddings of the texts of a message. Whoever asks for the same at the same time
    /// waits for them, rather than to compute them, too.
    pub(super) fn embed_message(&self, encoder: &Encoder, query: &SearchMessage) -> Vec<Embedding> {
        let mut last_query = self.last_query.lock();
        match &*last_query {
            Some((known, embeddings)) if known == query => embeddings.clone(),
            _ => {
                let embeddings: Vec<Embedding> =
                    query.texts().map(|text| encoder.encode_query(text)).collect();
                *last_query = Some((query.clone(), embeddings.clone()));
                embeddings
            }
        }
    }
}

fn stamp(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

fn words_only(error: &EncoderError) -> WordsOnlyReason {
    match error {
        EncoderError::Missing { .. } => WordsOnlyReason::NoModel,
        other => WordsOnlyReason::Unusable {
            problem: other.to_string(),
            hint: other.hint(),
            remedy: other.remedy(),
        },
    }
}
