//! The encoder, loaded when it is first needed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use recto_search::{Embedding, Encoder, EncoderError, EncoderFiles};
use tokio::sync::Mutex;

use super::{WordsOnlyReason, run_blocking};

pub(super) struct LazyEncoder {
    files: EncoderFiles,
    state: Mutex<EncoderState>,
    /// The last query. A turn searches several shelves for the same.
    asked: parking_lot::Mutex<Option<(String, Embedding)>>,
}

enum EncoderState {
    Unloaded,
    Ready(Encoder),
    /// It could not be loaded from files that looked like this.
    Failed(FileStamps, WordsOnlyReason),
}

/// What tells that a file was replaced: its length and when it was written.
type FileStamps = [Option<(u64, Option<SystemTime>)>; 2];

impl LazyEncoder {
    pub(super) fn new(files: EncoderFiles) -> Self {
        LazyEncoder {
            files,
            state: Mutex::new(EncoderState::Unloaded),
            asked: parking_lot::Mutex::default(),
        }
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
        let looks = [looks(&self.files.weights), looks(&self.files.tokenizer)];
        if let EncoderState::Failed(then, why) = &*state
            && *then == looks
        {
            return Err(why.clone());
        }
        let files = self.files.clone();
        let loaded =
            run_blocking(move || Encoder::load(&files)).await.ok_or(WordsOnlyReason::Failed)?;
        let loaded = loaded.map_err(|error| why(&error));
        *state = match &loaded {
            Ok(encoder) => EncoderState::Ready(encoder.clone()),
            Err(why) => EncoderState::Failed(looks, why.clone()),
        };
        loaded
    }

    /// The embedding of a query. Whoever asks for the same at the same time waits for
    /// it, rather than to compute it, too.
    pub(super) fn query(&self, encoder: &Encoder, query: &str) -> Embedding {
        let mut asked = self.asked.lock();
        match &*asked {
            Some((known, embedding)) if known == query => embedding.clone(),
            _ => {
                let embedding = encoder.encode_one(query);
                *asked = Some((query.to_owned(), embedding.clone()));
                embedding
            }
        }
    }
}

fn looks(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

fn why(error: &EncoderError) -> WordsOnlyReason {
    match error {
        EncoderError::Missing { .. } => WordsOnlyReason::NoModel,
        other => WordsOnlyReason::Unusable { problem: other.to_string(), hint: other.hint() },
    }
}
