//! `recto models remove`: takes a model from disk.

use std::process::ExitCode;

use recto_models::Library;

use super::failed;
use crate::failure::Failure;

pub(super) fn run(library: &Library, name: &str) -> Result<ExitCode, Failure> {
    library.remove(name).map_err(|error| failed(&error))?;
    Ok(ExitCode::SUCCESS)
}
