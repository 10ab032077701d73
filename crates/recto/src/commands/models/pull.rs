//! `recto models pull`: gets models, one after the other. The paths of their
//! files are data; how it goes is told beside.

use std::env;
use std::process::ExitCode;

use recto_models::{Checksum, DEFAULT_MODELS, Library, PullOptions, Pulled};
use serde_json::{Value, json};

use super::failed;
use super::progress::Narrator;
use crate::failure::Failure;
use crate::output::{print_data, print_json, tell};
use crate::setup;

/// What a pull needs to know, from the command line and the environment.
pub(super) fn options(sha256: Option<Checksum>, name: Option<String>) -> PullOptions {
    let mut options = PullOptions { sha256, name, ..PullOptions::default() };
    options.search_path = env::var_os("PATH").unwrap_or_default();
    if let Some(hub) = env::var("HF_ENDPOINT").ok().filter(|hub| !hub.trim().is_empty()) {
        options.hub = hub;
    }
    options
}

pub(super) fn run(
    library: &Library,
    names: &[String],
    options: &PullOptions,
    mut narrator: Narrator,
    json: bool,
) -> Result<ExitCode, Failure> {
    let names: Vec<&str> = match names {
        [] => DEFAULT_MODELS.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    if names.len() > 1 && (options.sha256.is_some() || options.name.is_some()) {
        let failure = Failure::new("`--sha256` and `--name` are for one file");
        return Err(failure.hint("pull the files one by one"));
    }
    setup::runtime()?.block_on(async {
        // A pull that is stopped is dropped, and ends what it has begun.
        let ended = tokio::select! {
            pulled = pull_all(library, &names, options, json, &mut narrator) => Some(pulled),
            _ = tokio::signal::ctrl_c() => None,
        };
        ended.unwrap_or_else(|| {
            narrator.end();
            tell(&"stopped; the next pull goes on where this one ended");
            Ok(ExitCode::from(130))
        })
    })
}

async fn pull_all(
    library: &Library,
    names: &[&str],
    options: &PullOptions,
    json: bool,
    narrator: &mut Narrator,
) -> Result<ExitCode, Failure> {
    let mut all = Vec::new();
    for name in names {
        let pulled = library.pull(name, options, &mut |progress| narrator.tell(&progress)).await;
        narrator.end();
        let pulled = pulled.map_err(|error| failed(&error))?;
        if !json {
            print_data(&paths(&pulled))?;
        }
        all.push(pulled);
    }
    if json {
        print_json(&all.iter().map(described).collect())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn paths(pulled: &Pulled) -> String {
    pulled.files.iter().map(|file| format!("{}\n", file.path.display())).collect()
}

fn described(pulled: &Pulled) -> Value {
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
