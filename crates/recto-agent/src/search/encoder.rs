//! The encoder, loaded when it is first needed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use recto_search::{Encoder, EncoderError, EncoderFiles};
use tokio::sync::Mutex;

use super::{WhyWords, aside};

pub(super) struct LazyEncoder {
    files: EncoderFiles,
    state: Mutex<State>,
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
        LazyEncoder { files, state: Mutex::new(State::Unloaded) }
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
