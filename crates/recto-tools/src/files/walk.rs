//! Resolves a path that a model wrote to an open folder inside the workspace.
//!
//! The way is gone one step at a time, from an open folder to the next, and no
//! step follows a link: a link is read, and its target gone in the same way. So
//! whatever others do to the folders meanwhile, no step leaves the workspace,
//! and the names of the steps are where the folder truly is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::problem::{FileError, FileResult};

/// The longest path that is looked at; most systems take no longer ones.
const MAX_PATH_BYTES: usize = 4095;

/// Steps of a way, those of links included. Also what ends a circle of links.
const MAX_STEPS: usize = 256;

/// The opened folder of the workspace, or of what a person granted.
#[derive(Debug)]
pub(crate) struct WorkspaceRoot {
    /// Its path as configured, which is the one that the model knows.
    given: PathBuf,
    /// Its path without links.
    real: PathBuf,
    folder: Dir,
}

/// The folder that a path leads to, and the names in it that follow.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The last folder on the way that is there.
    pub(crate) folder: Dir,
    /// The names that lead to it from the workspace, none of them a link.
    pub(crate) above: Vec<OsString>,
    /// What follows it: nothing if the path is that of the folder, one name if
    /// the path is that of something in it, more if folders are missing.
    pub(crate) below: Vec<OsString>,
}

/// The treatment of a link at the very end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// The path leads to what it points to.
    Followed,
    /// The path leads to the link itself.
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Up,
    Into(OsString),
}

/// The kind of thing that a name in a folder stands for.
enum StepKind {
    Folder,
    Link,
    Other,
    Missing,
}

impl WorkspaceRoot {
    /// Opens the folder at this path.
    pub(crate) fn open(path: &Path) -> FileResult<Self> {
        let open = || -> io::Result<WorkspaceRoot> {
            let given = std::path::absolute(path)?;
            let real = std::fs::canonicalize(path)?;
            let folder = Dir::open_ambient_dir(&real, ambient_authority())?;
            Ok(WorkspaceRoot { given, real, folder })
        };
        open().map_err(|cause| FileError::Workspace { path: path.to_owned(), cause })
    }

    /// Its path without links.
    pub(crate) fn real_path(&self) -> &Path {
        &self.real
    }

    /// Resolves a path that a model wrote, step by step.
    pub(crate) fn resolve(&self, path: &str, last: LastLink) -> FileResult<ResolvedPath> {
        if path.contains('\0') {
            return Err(FileError::Nul);
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(FileError::LongPath { limit: MAX_PATH_BYTES });
        }
        if is_of_a_home(path) {
            return Err(FileError::Home { path: path.to_owned() });
        }
        Walk { root: self, asked: path, last }.go()
    }

    /// Opens a folder by the names that lead to it, following no link.
    pub(crate) fn folder(&self, names: &[OsString]) -> io::Result<Dir> {
        let start = self.folder.try_clone()?;
        names.iter().try_fold(start, |folder, name| folder.open_dir_nofollow(name))
    }

    /// The steps of a path; `None` if it starts outside the workspace.
    fn steps(&self, path: &Path) -> Option<Vec<PathStep>> {
        let path = if path.has_root() {
            path.strip_prefix(&self.given).or_else(|_| path.strip_prefix(&self.real)).ok()?
        } else {
            path
        };
        let step = |component| match component {
            Component::CurDir => None,
            Component::ParentDir => Some(Some(PathStep::Up)),
            Component::Normal(name) => Some(Some(PathStep::Into(name.to_owned()))),
            Component::Prefix(_) | Component::RootDir => Some(None),
        };
        path.components().filter_map(step).collect()
    }
}

/// `~`, `~/notes`, `~ada/notes`. A shell would make a home of it; here it would
/// become a folder of this name, which nobody means.
fn is_of_a_home(path: &str) -> bool {
    path == "~" || path.starts_with('~') && path.contains('/')
}

/// A path on its way to be resolved.
struct Walk<'a> {
    root: &'a WorkspaceRoot,
    asked: &'a str,
    last: LastLink,
}

impl Walk<'_> {
    fn go(&self) -> FileResult<ResolvedPath> {
        let mut steps = VecDeque::from(self.steps(Path::new(self.asked))?);
        let mut above = Vec::new();
        let mut folder = self.reopen(&above)?;
        for gone in 0..=MAX_STEPS {
            if gone + steps.len() > MAX_STEPS {
                break;
            }
            let name = match steps.pop_front() {
                None => return Ok(ResolvedPath { folder, above, below: Vec::new() }),
                Some(PathStep::Up) => {
                    above.pop().ok_or_else(|| self.outside())?;
                    folder = self.reopen(&above)?;
                    continue;
                }
                Some(PathStep::Into(name)) => name,
            };
            match self.look(&folder, &name)? {
                StepKind::Folder => {
                    folder = folder.open_dir_nofollow(&name).map_err(|e| self.failed(e))?;
                    above.push(name);
                }
                StepKind::Link if !steps.is_empty() || self.last == LastLink::Followed => {
                    let target = folder.read_link_contents(&name).map_err(|e| self.failed(e))?;
                    if target.has_root() {
                        above.clear();
                        folder = self.reopen(&above)?;
                    }
                    self.steps(&target)?.into_iter().rev().for_each(|step| steps.push_front(step));
                }
                StepKind::Other if !steps.is_empty() => {
                    above.push(name);
                    return Err(FileError::NotFolder { path: display_path(&above) });
                }
                StepKind::Link | StepKind::Other | StepKind::Missing => {
                    let below = self.names(name, steps)?;
                    return Ok(ResolvedPath { folder, above, below });
                }
            }
        }
        Err(FileError::LongWay { path: self.asked.to_owned(), limit: MAX_STEPS })
    }

    fn steps(&self, path: &Path) -> FileResult<Vec<PathStep>> {
        self.root.steps(path).ok_or_else(|| self.outside())
    }

    fn reopen(&self, names: &[OsString]) -> FileResult<Dir> {
        self.root.folder(names).map_err(|error| self.failed(error))
    }

    fn look(&self, folder: &Dir, name: &OsString) -> FileResult<StepKind> {
        match folder.symlink_metadata(name) {
            Ok(found) if found.is_symlink() => Ok(StepKind::Link),
            Ok(found) if found.is_dir() => Ok(StepKind::Folder),
            Ok(_) => Ok(StepKind::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StepKind::Missing),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The rest of the way as names. There is no way up from what is not there.
    fn names(&self, first: OsString, rest: VecDeque<PathStep>) -> FileResult<Vec<OsString>> {
        let mut names = vec![first];
        for step in rest {
            match step {
                PathStep::Into(name) => names.push(name),
                PathStep::Up => return Err(FileError::Missing { path: self.asked.to_owned() }),
            }
        }
        Ok(names)
    }

    fn outside(&self) -> FileError {
        FileError::Outside { path: self.asked.to_owned() }
    }

    fn failed(&self, cause: io::Error) -> FileError {
        FileError::Io { path: self.asked.to_owned(), cause }
    }
}

impl ResolvedPath {
    /// Its path from the workspace on, for people and models.
    pub(crate) fn path(&self) -> String {
        display_path(self.above.iter().chain(&self.below))
    }
}

/// Names as a path from the workspace on, with `/` on every system. What a
/// model could mistake for a line of its own is escaped.
pub(crate) fn display_path<'a>(names: impl IntoIterator<Item = &'a OsString>) -> String {
    let name = |name: &OsString| -> String {
        let escape = |c: char| match c.is_control() {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        };
        name.to_string_lossy().chars().map(escape).collect()
    };
    names.into_iter().map(name).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
