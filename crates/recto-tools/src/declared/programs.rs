//! Finds the programs and scripts that are to be run.
//!
//! A program is known by its bare name, so what decides is where it is searched:
//! never in a folder that a tool could have put something into.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::argv::InvocationScope;
use super::runners::is_runner_behind;
use crate::options::ScriptPolicy;
use crate::process::is_executable;
use crate::tool::ToolError;

/// Where programs are if nothing says so.
const USUAL_FOLDERS: &str = "/usr/local/bin:/usr/bin:/bin";

/// The absolute path of a program.
pub(super) fn find_program(name: &str, scope: &InvocationScope<'_>) -> Result<PathBuf, ToolError> {
    let changeable = changeable(scope);
    let is_safe = |path: &Path| !changeable.iter().any(|folder| path.starts_with(folder));
    let search_path = scope.search_path.unwrap_or(OsStr::new(USUAL_FOLDERS));
    let mut passed_over = None;
    for folder in std::env::split_paths(search_path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(name);
        let is_program = std::fs::metadata(&candidate).is_ok_and(|found| is_executable(&found));
        let Some(real) = std::fs::canonicalize(&candidate).ok().filter(|_| is_program) else {
            continue;
        };
        // Both the folder and the program itself may be reached by links.
        let real_folder = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if !is_safe(&folder) || !is_safe(&real_folder) || !is_safe(&real) {
            passed_over = Some(candidate);
            continue;
        }
        if let Some(behind) = runner_behind(&real) {
            let why = "which runs other programs, so it is not run";
            return Err(ToolError::new(format!("`{name}` is in truth `{behind}`, {why}")));
        }
        return Ok(candidate);
    }
    let found = match passed_over {
        None => "not found".to_owned(),
        Some(path) => format!("found only at `{}`, where tools can write", path.display()),
    };
    let advice = "a person has to install it";
    Err(ToolError::new(format!("the program `{name}` was {found}; {advice}")))
}

/// The absolute path of a script of the skill's.
pub(super) fn find_script(name: &str, scope: &InvocationScope<'_>) -> Result<PathBuf, ToolError> {
    if scope.scripts == ScriptPolicy::Refused {
        return Err(ToolError::new(format!(
            "the script `{name}` is not run: scripts of skills are off; \
             a person can set `skills.allow_scripts = true`"
        )));
    }
    let refused = |what: &str| ToolError::new(format!("the script `{name}` {what}"));
    let folder = std::fs::canonicalize(scope.skill_folder).map_err(|_| refused("is missing"))?;
    let scripts = folder.join("scripts");
    let path = scripts.join(name);
    let is_folder = std::fs::symlink_metadata(&scripts).is_ok_and(|found| found.is_dir());
    match std::fs::symlink_metadata(&path) {
        Err(_) => Err(refused("is missing from the skill's `scripts/`")),
        Ok(_) if !is_folder => Err(refused("is in a `scripts` that is not a folder itself")),
        Ok(found) if !found.is_file() => Err(refused("is a link or not a regular file")),
        Ok(found) if !is_executable(&found) => Err(refused("is not executable")),
        Ok(_) => Ok(path),
    }
}

/// The folders that a tool can change, with and without links.
fn changeable(scope: &InvocationScope<'_>) -> Vec<PathBuf> {
    let given = [scope.workspace, scope.skill_folder].into_iter();
    let given = given.chain(scope.planted.iter().map(PathBuf::as_path));
    let both = given.flat_map(|path| [std::path::absolute(path), std::fs::canonicalize(path)]);
    both.filter_map(Result::ok).collect()
}

fn runner_behind(real: &Path) -> Option<&str> {
    real.file_name()?.to_str().filter(|name| is_runner_behind(name))
}
