//! Which model answers when the config names none.
//!
//! It is looked for in this order: Ollama on this machine, asked once; then the
//! model files that were pulled, for a Recto that can run them. What was looked
//! at, what was there and why one of them answers is data, a [`ModelChoice`]: the
//! record keeps its reason, `recto doctor` shows all of it, and whoever has no
//! model is told from it what to do.
//!
//! A config that names models is taken at its word: then nobody is asked anything.

use std::path::PathBuf;
use std::sync::Arc;

use recto_llm::{IS_BUILT_IN, LlmError, Provider};
use recto_models::{DEFAULT_MODELS, InstalledModel, Library, ModelPurpose, ModelsError};

use super::ollama::{self, OllamaModels};
use crate::config::{ModelSettings, Settings, plain_model};
use crate::failure::CliFailure;
use crate::output::counted;

/// The name of the entry that Ollama is found by.
const OLLAMA: &str = "ollama";

/// The choice of a model: which entry answers, why, and where one was looked for.
#[derive(Debug)]
pub(crate) struct ModelChoice {
    /// The entry; `None` when there is no model, or none of the name asked for.
    pub(crate) entry: Option<String>,
    /// Why it is this one, in a line.
    pub(crate) reason: Arc<str>,
    /// Where a model was looked for, in this order.
    pub(crate) looked_at: Vec<ModelLookup>,
}

/// A place where a model was looked for, and what was there.
#[derive(Debug)]
pub(crate) enum ModelLookup {
    /// The models that the config names.
    Config,
    /// The Ollama server of this machine, asked once.
    Ollama {
        /// Where it was asked.
        url: String,
        /// What it has, or why there is no telling.
        served: Result<OllamaModels, LlmError>,
    },
    /// The folder of pulled model files.
    Pulled {
        /// Where `recto models pull` puts the files.
        folder: PathBuf,
        /// The models in it that can be talked to, the preferred one first.
        models: Result<Vec<InstalledModel>, ModelsError>,
    },
}

/// Adds to the settings the models that are found, if the config names none, and
/// chooses among them the one that was asked for, or else the first.
pub(crate) async fn find(settings: &mut Settings, asked_for: Option<&str>) -> ModelChoice {
    let mut looked_at = vec![ModelLookup::Config];
    if !settings.models.is_empty() {
        let entry = settings.model.clone();
        return ModelChoice { entry, reason: "configured".into(), looked_at };
    }
    let asked_for = asked_for.map(str::to_owned).or_else(|| settings.model.clone());
    let pulled = pulled(settings);
    let is_pulled = |name: &String| pulled.models().iter().any(|model| model.name == *name);
    // Whoever asks for a model file by its name does not wait for a server.
    if !asked_for.as_ref().is_some_and(is_pulled) {
        let url = ollama::address();
        let served = ollama::ask_ollama(&url).await;
        looked_at.push(ModelLookup::Ollama { url, served });
    }
    looked_at.push(pulled);
    settings.models = looked_at.iter().flat_map(ModelLookup::entries).collect();
    explain(&mut settings.models, asked_for.as_deref());
    let chosen = match &asked_for {
        Some(name) => settings.models.iter().find(|model| model.name == *name),
        None => settings.models.first(),
    };
    settings.model = chosen.map(|model| model.name.clone());
    let reason = chosen.map_or_else(|| "no model was found".into(), |model| model.chosen.clone());
    ModelChoice { entry: settings.model.clone(), reason, looked_at }
}

/// The pulled models that can be talked to.
fn pulled(settings: &Settings) -> ModelLookup {
    let library = Library::new(&settings.model_files);
    let models = library.list().map(|models| {
        let mut models: Vec<InstalledModel> = models.into_iter().filter(is_for_talk).collect();
        // Those that Recto itself brings along are known to work.
        models.sort_by_key(|model| !DEFAULT_MODELS.contains(&model.name.as_str()));
        models
    });
    ModelLookup::Pulled { folder: settings.model_files.clone(), models }
}

fn is_for_talk(model: &InstalledModel) -> bool {
    let is_gguf = |model: &InstalledModel| {
        let ending = model.files.first().and_then(|file| file.path.extension());
        ending.is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
    };
    model.purpose != ModelPurpose::Embedding && model.missing.is_empty() && is_gguf(model)
}

impl ModelLookup {
    /// The model files; none where they can't be read.
    pub(crate) fn models(&self) -> &[InstalledModel] {
        match self {
            ModelLookup::Pulled { models: Ok(models), .. } => models,
            _ => &[],
        }
    }

    /// The entries that come of it.
    fn entries(&self) -> Vec<ModelSettings> {
        match self {
            ModelLookup::Ollama { url, served: Ok(served) } => {
                let entry = |model: &String| ollama_entry(url, model, served.models.len());
                served.to_talk_to.as_ref().and_then(entry).into_iter().collect()
            }
            ModelLookup::Pulled { models: Ok(models), .. } if IS_BUILT_IN => {
                models.iter().filter_map(file_entry).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn ollama_entry(url: &str, model: &str, count: usize) -> Option<ModelSettings> {
    let mut entry = plain_model(OLLAMA, Provider::Ollama, model)?;
    entry.base_url = Some(url.to_owned());
    entry.chosen = format!("found on Ollama at {url} ({})", counted(count, "model")).into();
    Some(entry)
}

fn file_entry(model: &InstalledModel) -> Option<ModelSettings> {
    let mut entry = plain_model(&model.name, Provider::Embedded, &model.name)?;
    // What a folder is called may look like a path, and is none.
    entry.model = model.name.clone();
    entry.file = Some(model.files.first()?.path.clone());
    Some(entry)
}

/// Says of each embedded model why it would answer.
fn explain(models: &mut [ModelSettings], asked_for: Option<&str>) {
    let has_server = models.iter().any(|model| model.provider != Provider::Embedded);
    let embedded = models.iter_mut().filter(|model| model.provider == Provider::Embedded);
    for (i, model) in embedded.enumerate() {
        let is_asked_for = asked_for == Some(&model.name);
        model.chosen = match (is_asked_for, has_server, i) {
            (false, false, 0) => "embedded: no server with a model was configured or found".into(),
            _ => "embedded: asked for by name".into(),
        };
    }
}

impl ModelChoice {
    /// The failure of whoever needs a model, or one of this name, and has none.
    pub(crate) fn failure(&self, asked_for: Option<&str>, settings: &Settings) -> CliFailure {
        let failure = match asked_for {
            Some(name) => CliFailure::no_such("model", name),
            None => CliFailure::new("no model is configured, and none was found").code("no_model"),
        };
        if settings.models.is_empty() {
            let nothing: Vec<String> =
                self.looked_at.iter().filter_map(ModelLookup::nothing).collect();
            return failure.add_words(&format!(": {}", nothing.join("; "))).hint(self.advice());
        }
        let found: Vec<&str> = settings.models.iter().map(|model| model.name.as_str()).collect();
        let found = found.join(", ");
        failure.hint(format!("found: {found}; the config can name others"))
    }

    /// Says what someone without a model can do.
    pub(crate) fn advice(&self) -> String {
        match IS_BUILT_IN {
            true => format!("run `recto models pull smollm2`, or {}", self.advice_without_pull()),
            false => self.advice_without_pull(),
        }
    }

    /// Says what someone without a model can do beside pulling one that Recto runs itself.
    pub(crate) fn advice_without_pull(&self) -> String {
        let has_ollama = self
            .looked_at
            .iter()
            .any(|look| matches!(look, ModelLookup::Ollama { served: Ok(_), .. }));
        let ollama = if has_ollama { "run `ollama pull qwen3:4b`" } else { "start Ollama" };
        let build = match IS_BUILT_IN {
            true => "",
            false => {
                ", or build Recto with a model of its own (`make chat`, or `--features embedded`)"
            }
        };
        format!("{ollama}{build}, or name a model in the config")
    }
}

impl ModelLookup {
    /// Says why there is no model here.
    fn nothing(&self) -> Option<String> {
        match self {
            ModelLookup::Config => None,
            ModelLookup::Ollama { url, served } => Some(match served {
                Ok(_) => format!("Ollama at {url} has none to talk to"),
                Err(LlmError::Unreachable { .. }) => format!("Ollama does not listen at {url}"),
                Err(error) => format!("Ollama: {error}"),
            }),
            ModelLookup::Pulled { models, .. } => Some(match models {
                Err(error) => error.to_string(),
                Ok(models) if models.is_empty() => "none was pulled".to_owned(),
                Ok(_) => "this build of Recto cannot run those that were pulled".to_owned(),
            }),
        }
    }
}
