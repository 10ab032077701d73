//! The embedded model as benchmarks ask it: where its file is, and how long its
//! words take. It never brings a file; that is `recto models pull`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use recto_context::{AssemblyInputs, Catalog, RequestContext, Tokens, Window};
use recto_llm::{
    CallOptions, ClientOptions, ModelClient, ModelReply, ModelTokenizer, PromptCacheKey, Provider,
    StreamEvent, Wire, encode,
};
use serde_json::Value;

use crate::Result;

/// The model of all benchmarks, by the name under which it is pulled.
const NAME: &str = "smollm2";

/// What the model was trained for, and Recto's own cap.
const WINDOW: u32 = 8_192;

/// The window that every request is made for.
pub(super) fn window() -> Window {
    Window::from_config(Tokens::new(WINDOW))
}

/// The model's file: where the tests have theirs, else in Recto's home.
pub(super) fn find() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = named("RECTO_HOME").or_else(|| Some(env::home_dir()?.join(".recto")));
    let of_tests = named("RECTO_TEST_MODELS").map(|folder| folder.join(NAME));
    let of_home = home.map(|home| home.join("models").join(NAME));
    let folders: Vec<PathBuf> = of_tests.into_iter().chain(of_home).collect();
    let found = folders.iter().find_map(|folder| model_in(folder));
    found.ok_or_else(|| {
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let pull = format!("run `recto models pull {NAME}`, or name a folder by RECTO_TEST_MODELS");
        format!("there is no model file in {}\n\nhint: {pull}", folders.join(" or ")).into()
    })
}

/// The first model file of a folder, by name.
fn model_in(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "gguf")).min()
}

/// The embedded model, loaded, with its tokenizer.
pub(super) struct BenchModel {
    client: ModelClient,
    options: CallOptions,
    tokenizer: ModelTokenizer,
}

/// A reply, and when it came.
pub(super) struct TimedReply {
    pub(super) reply: ModelReply,
    /// From the request to the first of its text.
    pub(super) first: Duration,
    /// From the request to the last of its text.
    pub(super) last: Duration,
}

impl BenchModel {
    /// Loads the model with nothing in its memory but a greeting, which it is made
    /// to answer so that loading is no part of any figure.
    pub(super) async fn load(file: &Path) -> Result<Self> {
        let mut options = ClientOptions::new(Provider::Embedded);
        options.file = Some(file.to_owned());
        let client = ModelClient::new(options)?;
        let tokenizer = client.tokenizer().await?.ok_or("the model has no tokenizer")?;
        let options = CallOptions {
            model: NAME.to_owned(),
            temperature: Some(0.0),
            template: client.template(),
            ..CallOptions::default()
        };
        let model = BenchModel { client, options, tokenizer };
        let mut greeting =
            AssemblyInputs::new(&Catalog::default(), "hello").window(window()).assemble()?;
        greeting.budget.reply = Tokens::new(2);
        model.ask(PromptCacheKey(u64::MAX), &greeting).await?;
        Ok(model)
    }

    /// The same model, with words chosen as they are where nobody has set anything.
    pub(super) fn with_usual_words(mut self) -> Self {
        self.options.temperature = None;
        self
    }

    /// Asks, with the most probable words for an answer.
    pub(super) async fn ask(
        &self,
        key: PromptCacheKey,
        request: &RequestContext,
    ) -> Result<TimedReply> {
        let body = self.body(request).to_string();
        let start = Instant::now();
        let mut stream = self.client.stream_cached(key, body);
        let (mut first, mut last) = (None, Duration::ZERO);
        while let Some(event) = stream.next().await {
            match event? {
                StreamEvent::Text(_) => {
                    last = start.elapsed();
                    first.get_or_insert(last);
                }
                StreamEvent::Done(reply) => {
                    let first = first.unwrap_or_else(|| start.elapsed());
                    return Ok(TimedReply { reply, first, last: last.max(first) });
                }
                StreamEvent::Thinking(_) | StreamEvent::Retrying { .. } => {}
            }
        }
        Err("the model stopped without a reply".into())
    }

    /// A request as the model gets it.
    pub(super) fn body(&self, request: &RequestContext) -> Value {
        encode(Wire::Embedded, &self.options, request)
    }

    /// How many tokens a text is.
    pub(super) fn count(&self, text: &str) -> u32 {
        self.tokenizer.count(text)
    }

    /// How many tokens a request is.
    pub(super) fn count_prompt(&self, request: &RequestContext) -> Result<u32> {
        let counted = self.tokenizer.count_prompt(&self.body(request));
        counted.ok_or_else(|| "the tokenizer can't read the request".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_by_its_ending() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(model_in(folder.path()), None);
        assert_eq!(model_in(&folder.path().join("none")), None);
        for name in ["b.gguf", "a.gguf.part", "a.gguf", "notes.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(model_in(folder.path()), Some(folder.path().join("a.gguf")));
    }
}
