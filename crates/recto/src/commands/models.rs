//! `recto models`: which models the config names, what their servers say, and
//! the model files on disk.

mod installed;
mod progress;
mod pull;

use std::process::ExitCode;

use futures_util::future::join_all;
use recto_agent::ModelEntry;
use recto_context::Tokens;
use recto_llm::{FeatureSupport, LlmError, ModelHealth, ModelPresence, ServerWindow, Wire};
use recto_models::{Library, ModelsError};
use recto_search::{Encoder, EncoderError};
use serde_json::{Value, json};

use crate::cli::ModelCommand;
use crate::config::Settings;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{list_json, print, print_json, tame, tell};
use crate::remedy_words::{hint_with_command, with_command};
use crate::setup;
use progress::PullDisplay;

pub(crate) fn run(home: &RectoHome, command: &ModelCommand) -> CliResult<ExitCode> {
    match command {
        ModelCommand::List(json) => list(&setup::load(home, Vec::new())?, json.json)?,
        ModelCommand::Check { name, json } => {
            let mut settings = setup::load(home, Vec::new())?;
            return setup::runtime()?.block_on(async {
                let choice = setup::find(&mut settings, name.as_deref()).await;
                if settings.models.is_empty() {
                    return Err(choice.failure(name.as_deref(), &settings));
                }
                let entries = match name {
                    Some(name) => vec![setup::model_entry(&settings, name)?],
                    None => setup::model_entries(&settings)?,
                };
                let encoder = CheckedEncoder::load(&settings, name.as_deref());
                check(&entries, encoder, json.json).await
            });
        }
        // Files come and go whatever the config says: a broken one is no hindrance.
        ModelCommand::Pull { names, sha256, name, quiet, json } => {
            let options = pull::options(home, *sha256, name.clone());
            let narrator = if *quiet { PullDisplay::quiet() } else { PullDisplay::on_stderr() };
            return pull::run(&library(home), names, &options, narrator, json.json);
        }
        ModelCommand::Remove { name } => library(home).remove(name)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of model files.
fn library(home: &RectoHome) -> Library {
    Library::new(home.path().join("models"))
}

impl From<ModelsError> for CliFailure {
    /// Names each source that was tried, and what to do.
    fn from(error: ModelsError) -> Self {
        let failure = match &error {
            ModelsError::Failed { what, failures, .. } => {
                let failure = CliFailure::new(format!("cannot pull `{what}`"));
                failures.iter().fold(failure, |failure, source| failure.because(source))
            }
            _ => CliFailure::from_error(&error),
        };
        failure.hint_if(hint_with_command(error.hint(), error.remedy().as_ref())).code(error.code())
    }
}

fn list(settings: &Settings, json: bool) -> CliResult {
    let chosen = settings.model.as_deref();
    let installed = Library::new(&settings.model_files).list()?;
    if json {
        let models = settings.models.iter().map(|model| {
            json!({
                "name": model.name,
                "provider": model.provider.name(),
                "model": model.model,
                "base_url": model.base_url,
                "window": model.window,
                "default": chosen == Some(&model.name),
            })
        });
        let models: Value = models.collect();
        return print_json(&json!({"models": models, "installed": installed::json(&installed)}));
    }
    let mut table = TextTable::new(["", "name", "provider", "model", "address"]);
    for model in &settings.models {
        let mark = if chosen == Some(&model.name) { "*" } else { "" };
        let usual = model.provider.default_base_url().unwrap_or_default();
        table.row([
            mark.to_owned(),
            model.name.clone(),
            model.provider.name().to_owned(),
            model.model.clone(),
            model.base_url.clone().unwrap_or_else(|| usual.to_owned()),
        ]);
    }
    if settings.models.is_empty() && installed.is_empty() {
        tell(
            &"no model is configured, and none is on disk\n\n\
               hint: `recto models pull` gets one; the config names others in [models.NAME]; \
               `recto doctor` shows what is found by itself, as on Ollama",
        );
    }
    let mut drawn =
        if settings.models.is_empty() { String::new() } else { table.draw(PageWidth::of_stdout()) };
    if !installed.is_empty() {
        let gap = if drawn.is_empty() { "" } else { "\n" };
        drawn.push_str(&format!(
            "{gap}On disk:\n{}",
            installed::table(&installed).draw(PageWidth::of_stdout())
        ));
    }
    print(&drawn)
}

/// A model entry of the config, and what its server says of it.
struct CheckedModel<'a> {
    entry: &'a ModelEntry,
    health: Result<ModelHealth, LlmError>,
}

/// Asks all servers at once, and tells of the encoder that was chosen. Fails when one can't be
/// used.
async fn check(
    entries: &[ModelEntry],
    encoder: Option<CheckedEncoder>,
    json: bool,
) -> CliResult<ExitCode> {
    let checks =
        entries.iter().map(|entry| async { CheckedModel { entry, health: health(entry).await } });
    let found = join_all(checks).await;
    let usable = found.iter().all(CheckedModel::is_usable)
        && encoder.as_ref().is_none_or(|encoder| encoder.loaded.is_ok());
    if json {
        let mut report = list_json("models", found.iter().map(CheckedModel::json));
        report["ok"] = usable.into();
        if let Some(encoder) = &encoder {
            report["encoder"] = encoder.json();
        }
        print_json(&report)?;
    } else {
        let mut table = TextTable::new(["name", "server", "model", "window", "tools"]);
        found.iter().for_each(|found| table.row(found.cells()));
        print(&table.draw(PageWidth::of_stdout()))?;
        found.iter().for_each(CheckedModel::tell_trouble);
        if let Some(encoder) = &encoder {
            encoder.tell();
        }
    }
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The encoder that `search.encoder` names, as far as it can be loaded.
struct CheckedEncoder {
    loaded: Result<Encoder, EncoderError>,
}

impl CheckedEncoder {
    /// Loads the encoder, where one is set and no other model is asked about.
    fn load(settings: &Settings, asked: Option<&str>) -> Option<CheckedEncoder> {
        settings.search.encoder.as_ref().filter(|_| asked.is_none())?;
        let encoder = setup::search_parts(settings).encoder?;
        Some(CheckedEncoder { loaded: encoder.source().load() })
    }

    fn tell(&self) {
        match &self.loaded {
            Ok(encoder) => {
                let (name, dimensions) = (tame(encoder.name()), encoder.dimensions());
                tell(&format_args!("encoder: {name}, vectors of {dimensions} numbers"));
            }
            Err(error) => {
                tell(&format_args!("error: encoder: {}", tame(&error.to_string())));
                let hint = with_command(error.hint(), error.remedy().as_ref());
                tell(&format_args!("hint: {}", tame(&hint)));
            }
        }
    }

    fn json(&self) -> Value {
        match &self.loaded {
            Ok(encoder) => {
                json!({"name": &**encoder.name(), "dimensions": encoder.dimensions(), "ok": true})
            }
            Err(error) => {
                let hint = with_command(error.hint(), error.remedy().as_ref());
                json!({"ok": false, "error": error.to_string(), "hint": hint})
            }
        }
    }
}

/// Asks the server about a model, and whether the window that was set can be had.
pub(crate) async fn health(entry: &ModelEntry) -> Result<ModelHealth, LlmError> {
    let health = entry.client.check(&entry.call.model).await?;
    if let Some(window) = entry.window {
        entry.client.check_window(window.get())?;
    }
    Ok(health)
}

impl CheckedModel<'_> {
    fn is_usable(&self) -> bool {
        match &self.health {
            Err(_) => false,
            Ok(health) => !self.lacks(health),
        }
    }

    /// Whether the server is sure not to have the model. Ollama answers to the
    /// names that it lists, and to no others.
    fn lacks(&self, health: &ModelHealth) -> bool {
        let not_listed = matches!(health.presence, ModelPresence::NotListed { .. });
        not_listed && self.entry.client.wire() == Wire::Ollama
    }

    fn cells(&self) -> [String; 5] {
        let name = self.entry.name.to_string();
        let url = self.entry.client.url().to_owned();
        let health = match &self.health {
            Ok(health) => health,
            Err(error) => {
                let outcome = describe_error(error).to_owned();
                return [name, url, outcome, String::new(), String::new()];
            }
        };
        let presence = match &health.presence {
            ModelPresence::Listed => format!("{}: there", self.entry.call.model),
            ModelPresence::NotListed { .. } => format!("{}: not listed", self.entry.call.model),
            ModelPresence::Unknown => format!("{}: unknown", self.entry.call.model),
        };
        [name, url, presence, self.window(health), support(health.tools).to_owned()]
    }

    /// The window, and where the number comes from.
    fn window(&self, health: &ModelHealth) -> String {
        let reported = match health.window {
            ServerWindow::Loaded(tokens) => format!("{} loaded", Tokens::new(tokens)),
            ServerWindow::Trained(tokens) => format!("{} trained", Tokens::new(tokens)),
            ServerWindow::Fits(tokens) => format!("{} as memory allows", Tokens::new(tokens)),
            ServerWindow::Unknown => "unknown to the server".to_owned(),
        };
        let source = health.window_source.map_or_else(String::new, |source| format!(" ({source})"));
        match self.entry.window {
            Some(set) => format!("{set} set in the config; {reported}{source}"),
            None => format!("{reported}{source}"),
        }
    }

    /// Tells what is wrong with the model, and what to do about it.
    fn tell_trouble(&self) {
        let name = &self.entry.name;
        match &self.health {
            Err(error) => {
                tell(&format_args!("error: model `{name}`: {error}"));
                if let Some(hint) = hint_with_command(error.hint(), error.remedy().as_ref()) {
                    tell(&format_args!("hint: {hint}"));
                }
            }
            Ok(health @ ModelHealth { presence: ModelPresence::NotListed { served }, .. }) => {
                let kind = if self.lacks(health) { "error" } else { "warning" };
                let model = &self.entry.call.model;
                let has = if served.is_empty() { "none".to_owned() } else { served.join(", ") };
                tell(&format_args!("{kind}: model `{name}`: the server does not list `{model}`"));
                tell(&format_args!("hint: it has {has}"));
            }
            Ok(_) => {}
        }
    }

    fn json(&self) -> Value {
        let mut json = json!({
            "name": &*self.entry.name,
            "base_url": self.entry.client.url(),
            "model": self.entry.call.model,
            "configured_window": self.entry.window,
            "reachable": self.health.is_ok(),
        });
        match &self.health {
            Err(error) => json["error"] = CliFailure::from(error.clone()).fields(),
            Ok(health) => {
                let (window, kind) = match health.window {
                    ServerWindow::Loaded(tokens) => (Some(tokens), "loaded"),
                    ServerWindow::Trained(tokens) => (Some(tokens), "trained"),
                    ServerWindow::Fits(tokens) => (Some(tokens), "fits"),
                    ServerWindow::Unknown => (None, "unknown"),
                };
                json["window"] = json!({
                    "tokens": window,
                    "kind": kind,
                    "source": health.window_source,
                });
                json["tools"] = support(health.tools).into();
                json["presence"] = match &health.presence {
                    ModelPresence::Listed => "listed",
                    ModelPresence::NotListed { .. } => "not_listed",
                    ModelPresence::Unknown => "unknown",
                }
                .into();
                if let ModelPresence::NotListed { served } = &health.presence {
                    json["served"] = json!(served);
                }
            }
        }
        json
    }
}

/// In two words, how a server took the question.
fn describe_error(error: &LlmError) -> &'static str {
    match error {
        LlmError::Unreachable { .. } | LlmError::TimedOut { .. } => "no answer",
        LlmError::Unauthorized { .. } => "refused the key",
        _ => "an error",
    }
}

fn support(support: FeatureSupport) -> &'static str {
    match support {
        FeatureSupport::Yes => "yes",
        FeatureSupport::No => "no",
        FeatureSupport::Unknown => "unknown",
    }
}
