//! Recto's home: where the config, the workspace and the data are.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{CliFailure, CliResult};

/// Recto's home and the person's own, both found once, when the program starts.
#[derive(Debug, Clone)]
pub(crate) struct RectoHome {
    path: PathBuf,
    user: Option<PathBuf>,
}

impl RectoHome {
    /// The home that the flag names, else `RECTO_HOME`, else `~/.recto`.
    pub(crate) fn find(flag: Option<&Path>) -> CliResult<Self> {
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
        Ok(RectoHome { path, user })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The person's own home, which `~` stands for.
    pub(crate) fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }
}

/// A path whose `~` the shell has left alone, as it does within quotes.
fn expanded(path: &Path, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), user) {
        (Ok(rest), Some(user)) => user.join(rest),
        _ => path.to_path_buf(),
    }
}
