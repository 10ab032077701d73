//! Recto's home: where the config, the workspace and the data are.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{CliFailure, CliResult};

/// Recto's home and the person's own, both found once, when the program starts.
#[derive(Debug, Clone)]
pub(crate) struct RectoHome {
    path: PathBuf,
    user: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl RectoHome {
    /// The home that the flag names, else `RECTO_HOME`, else `~/.recto`; and the workspace that a
    /// flag names for this run.
    pub(crate) fn find(flag: Option<&Path>, workspace: Option<&Path>) -> CliResult<Self> {
        let user = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let variable = env::var_os("RECTO_HOME").filter(|value| !value.is_empty());
        let named = flag.map(Path::to_path_buf).or_else(|| variable.map(PathBuf::from));
        let path = named
            .map(|path| expanded(&path, user.as_deref()))
            .or_else(|| user.as_ref().map(|user| user.join(".recto")))
            .ok_or_else(|| {
                CliFailure::new("cannot tell where Recto's home is: there is no home directory")
                    .hint("name one with --home DIR or RECTO_HOME")
            })?;
        let path = std::path::absolute(&path).map_err(|error| {
            let what = format!("cannot use `{}` as Recto's home", path.display());
            CliFailure::new(what).because(&error)
        })?;
        let workspace = workspace.map(|folder| named_workspace(folder, user.as_deref()));
        Ok(RectoHome { path, user, workspace: workspace.transpose()? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of everything that was typed.
    pub(crate) fn history_file(&self) -> PathBuf {
        self.path.join("data/history")
    }

    /// The workspace that this run was told to use, whatever the config says.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// The person's own home, which `~` stands for.
    pub(crate) fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }
}

/// The folder that `--workspace` names, from the current folder on.
fn named_workspace(folder: &Path, user: Option<&Path>) -> CliResult<PathBuf> {
    let failure = || {
        let what = format!("cannot use `{}` as the workspace", folder.display());
        CliFailure::new(what).hint("name a folder that is there, such as --workspace .")
    };
    let path = std::fs::canonicalize(expanded(folder, user));
    let path = path.map_err(|error| failure().because(&error))?;
    if path.is_dir() { Ok(path) } else { Err(failure()) }
}

/// A path whose `~` the shell has left alone, as it does within quotes.
fn expanded(path: &Path, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), user) {
        (Ok(rest), Some(user)) => user.join(rest),
        _ => path.to_path_buf(),
    }
}
