//! Recto's home: where the config, the workspace and the data are.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{CliFailure, CliResult};

/// Recto's home and the person's own, both found once, when the program starts.
#[derive(Debug, Clone)]
pub(crate) struct RectoHome {
    path: PathBuf,
    /// Whether a flag named it, which the next command would need again.
    is_by_flag: bool,
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
        let is_by_flag = flag.is_some();
        Ok(RectoHome { path, is_by_flag, user, workspace: workspace.transpose()? })
    }

    /// What a person types to run another command in this home.
    pub(crate) fn command_line(&self, command: &str) -> String {
        match self.is_by_flag {
            true => format!("recto --home {} {command}", shell_word(&self.path)),
            false => format!("recto {command}"),
        }
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

/// A path as it is typed in a shell.
fn shell_word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(shell_word(Path::new("/srv/my-home.2")), "/srv/my-home.2");
        assert_eq!(shell_word(Path::new("/srv/my home")), "'/srv/my home'");
        assert_eq!(shell_word(Path::new("/srv/it's $HOME")), r"'/srv/it'\''s $HOME'");
    }
}
