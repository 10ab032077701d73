//! The encoder, loaded when it is first needed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use recto_search::{Embedding, Encoder, EncoderError, EncoderFiles};
use tokio::sync::Mutex;

use super::{WhyWords, aside};

pub(super) struct LazyEncoder {
    files: EncoderFiles,
    state: Mutex<State>,
    /// The last query. A turn searches several shelves for the same.
    asked: parking_lot::Mutex<Option<(String, Embedding)>>,
}

enum State {
    Unloaded,
    Ready(Encoder),
    /// It could not be loaded from files that looked like this.
    Failed(Looks, WhyWords),
}

/// What tells that a file was replaced: its length and when it was written.
type Looks = [Option<(u64, Option<SystemTime>)>; 2];

impl LazyEncoder {
    pub(super) fn new(files: EncoderFiles) -> Self {
        LazyEncoder {
            files,
            state: Mutex::new(State::Unloaded),
            asked: parking_lot::Mutex::default(),
        }
    }

    /// The encoder, if it is loaded.
    pub(super) fn loaded(&self) -> Option<Encoder> {
        match &*self.state.try_lock().ok()? {
            State::Ready(encoder) => Some(encoder.clone()),
            State::Unloaded | State::Failed(..) => None,
        }
    }

    /// The encoder. Where its files can't be used it is tried again once they
    /// are others: a person may pull the model while Recto runs.
    pub(super) async fn get(&self) -> Result<Encoder, WhyWords> {
        let mut state = self.state.lock().await;
        if let State::Ready(encoder) = &*state {
            return Ok(encoder.clone());
        }
        let looks = [looks(&self.files.weights), looks(&self.files.tokenizer)];
        if let State::Failed(then, why) = &*state
            && *then == looks
        {
            return Err(why.clone());
        }
        let files = self.files.clone();
        let loaded = aside(move || Encoder::load(&files)).await.ok_or(WhyWords::Failed)?;
        let loaded = loaded.map_err(|error| why(&error));
        *state = match &loaded {
            Ok(encoder) => State::Ready(encoder.clone()),
            Err(why) => State::Failed(looks, why.clone()),
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

fn why(error: &EncoderError) -> WhyWords {
    match error {
        EncoderError::Missing { .. } => WhyWords::NoModel,
        other => WhyWords::Unusable { problem: other.to_string(), hint: other.hint() },
    }
}
