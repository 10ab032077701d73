//! `recto models pull`: gets models, one after the other. The paths of their
//! files are data; how it goes is told beside.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use recto_models::{
    Checksum, DEFAULT_MODELS, Library, PIP_CODE_VARIABLES, PullOptions, PulledModel,
};
use serde_json::{Value, json};

use super::progress::PullDisplay;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{list_json, print_data, print_json, tell};
use crate::remedy_words::with_command;
use crate::setup::{self, TrustedFolders};
use crate::signals::told_to_stop;

/// The options of a pull, from the command line and the environment.
pub(super) fn options(
    home: &RectoHome,
    sha256: Option<Checksum>,
    name: Option<String>,
) -> PullOptions {
    let mut options = PullOptions { sha256, name, ..PullOptions::default() };
    let trusted = TrustedFolders::load(home);
    options.search_path = trusted.of_variable("PATH");
    options.pip_code = PIP_CODE_VARIABLES.map(|name| trusted.of_variable(name));
    if let Some(hub) = env::var("HF_ENDPOINT").ok().filter(|hub| !hub.trim().is_empty()) {
        options.hub = hub;
    }
    options
}

pub(super) fn run(
    library: &Library,
    names: &[String],
    options: &PullOptions,
    mut narrator: PullDisplay,
    json: bool,
) -> CliResult<ExitCode> {
    let names: Vec<&str> = match names {
        [] => DEFAULT_MODELS.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    if names.len() > 1 && (options.sha256.is_some() || options.name.is_some()) {
        let failure = CliFailure::new("`--sha256` and `--name` are for one file");
        return Err(failure.hint("pull the files one by one"));
    }
    setup::runtime()?.block_on(async {
        // A pull that is stopped is dropped, and ends what it has begun.
        let ended = tokio::select! {
            pulled = pull_all(library, &names, options, json, &mut narrator) => Some(pulled),
            () = told_to_stop() => None,
        };
        ended.unwrap_or_else(|| {
            narrator.end();
            tell(&"stopped; the next pull goes on where this one ended, if its source can");
            Ok(ExitCode::from(130))
        })
    })
}

async fn pull_all(
    library: &Library,
    names: &[&str],
    options: &PullOptions,
    json: bool,
    narrator: &mut PullDisplay,
) -> CliResult<ExitCode> {
    let mut all = Vec::new();
    for name in names {
        let pulled = library.pull(name, options, &mut |progress| narrator.tell(&progress)).await;
        narrator.end();
        let pulled = pulled?;
        warn_of_unusable(&pulled);
        if !json {
            print_data(&paths(&pulled))?;
        }
        all.push(pulled);
    }
    if json {
        print_json(&list_json("models", all.iter().map(described)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells when a file that should be a model is none that can be run. It is kept: it
/// is what was asked for, and it may be for another program.
fn warn_of_unusable(pulled: &PulledModel) {
    let is_gguf =
        |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"));
    for file in pulled.files.iter().filter(|file| !file.was_there && is_gguf(&file.path)) {
        if let Err(problem) = recto_llm::check_file(&file.path) {
            tell(&format_args!("warning: Recto can't run this model: {problem}"));
            let hint = with_command(problem.hint(), problem.remedy().as_ref());
            tell(&format_args!("hint: {hint}"));
        }
    }
}

fn paths(pulled: &PulledModel) -> String {
    pulled.files.iter().map(|file| format!("{}\n", file.path.display())).collect()
}

fn described(pulled: &PulledModel) -> Value {
    let files = pulled.files.iter().map(|file| {
        json!({
            "path": file.path,
            "size": file.size,
            "sha256": file.sha256.to_string(),
            "was_there": file.was_there,
        })
    });
    json!({"name": pulled.name, "files": files.collect::<Value>()})
}
