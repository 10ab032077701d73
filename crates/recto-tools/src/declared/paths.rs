//! Resolves arguments that are paths: they stay in the workspace, or in a folder that a
//! person granted.
//!
//! A path is gone step by step, as the file tools do, and the program is given
//! where it truly leads. What happens to the folders after that is for the
//! sandbox to guard: nothing that is handed over by name can hold against it.

use std::io;
use std::path::{Path, PathBuf};

use super::argv::InvocationScope;
use super::spec::PathUse;
use crate::files::{FileError, FileResult, LastLink, ResolvedPath, WorkspaceRoot};
use crate::tool::ToolError;

/// The folders that paths may lead to.
pub(super) struct PathArguments<'a> {
    root: WorkspaceRoot,
    working_dir: PathBuf,
    scope: InvocationScope<'a>,
}

/// A path as it is handed over.
#[derive(Debug)]
pub(super) struct PathArgument {
    pub(super) argument: String,
    /// The file, if it is to be written.
    pub(super) to_write: Option<PathBuf>,
}

impl<'a> PathArguments<'a> {
    /// Opens the workspace, and finds the folder in it that a program starts in.
    pub(super) fn open(
        scope: &InvocationScope<'a>,
        working_dir: Option<&str>,
    ) -> Result<Self, ToolError> {
        let root = WorkspaceRoot::open(scope.workspace)?;
        let resolved = root.resolve(working_dir.unwrap_or_default(), LastLink::Followed)?;
        if !resolved.below.is_empty() {
            let path = resolved.path();
            let problem = match resolved.folder.symlink_metadata(&resolved.below[0]) {
                Ok(_) => FileError::NotFolder { path },
                Err(_) => FileError::Missing { path },
            };
            return Err(ToolError::new(format!("the folder to work in: {problem}")));
        }
        let working_dir = real_path(&root, &resolved);
        Ok(PathArguments { root, working_dir, scope: *scope })
    }

    /// The folder that the program starts in, without links.
    pub(super) fn working_dir(&self) -> &Path {
        &self.working_dir
    }

    /// Where a path leads, if that may be used in this way.
    pub(super) fn resolve(&self, asked: &str, usage: PathUse) -> Result<PathArgument, ToolError> {
        if asked.trim().is_empty() {
            return Err(ToolError::new("the path is empty; `.` is the workspace itself"));
        }
        let real = match find_in(&self.root, asked, usage) {
            Err(FileError::Outside { .. }) => self.find_granted(asked, usage)?,
            found => found?,
        };
        if usage == PathUse::Write && (self.scope.is_protected)(&real) {
            return Err(FileError::NeverWritable { path: asked.to_owned() }.into());
        }
        let argument = self.argument(&real).ok_or_else(|| {
            ToolError::new(format!("`{asked}` leads to a name that can't be passed on"))
        })?;
        Ok(PathArgument { argument, to_write: (usage == PathUse::Write).then_some(real) })
    }

    /// The same in what a person granted, by its absolute path.
    fn find_granted(&self, asked: &str, usage: PathUse) -> Result<PathBuf, ToolError> {
        let InvocationScope { readable, writable, .. } = self.scope;
        let granted = match usage {
            PathUse::Read => [writable, readable],
            PathUse::Write => [writable, &[]],
        };
        for grant in granted.into_iter().flatten() {
            match find_below(grant, asked, usage) {
                Err(FileError::Outside { .. } | FileError::Workspace { .. }) => {}
                found => return Ok(found?),
            }
        }
        let read_only = usage == PathUse::Write
            && readable.iter().any(|grant| find_below(grant, asked, PathUse::Read).is_ok());
        let path = asked.to_owned();
        let refused =
            if read_only { FileError::ReadOnly { path } } else { FileError::Outside { path } };
        Err(refused.into())
    }

    /// How a program names a file from the folder that it starts in. A name that
    /// could mean something else to it, such as a flag, an assignment or another
    /// host, begins with `./`.
    fn argument(&self, real: &Path) -> Option<String> {
        let path = match real.strip_prefix(&self.working_dir) {
            Ok(rest) if rest.as_os_str().is_empty() => ".",
            Ok(rest) => rest.to_str()?,
            Err(_) => real.to_str()?,
        };
        if path.chars().any(char::is_control) {
            return None;
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '/');
        let is_plain = path.starts_with(plain) && !path.contains([':', '=']);
        Some(if is_plain || path.starts_with('/') { path.to_owned() } else { format!("./{path}") })
    }
}

/// Where a path leads below a granted folder, or at a granted file.
fn find_below(grant: &Path, asked: &str, usage: PathUse) -> FileResult<PathBuf> {
    let outside = || FileError::Outside { path: asked.to_owned() };
    if !Path::new(asked).is_absolute() || !grant.is_absolute() {
        return Err(outside());
    }
    match std::fs::metadata(grant) {
        Ok(found) if found.is_file() && Path::new(asked) == grant => {
            std::fs::canonicalize(grant).map_err(|cause| failed(asked, cause))
        }
        Ok(found) if found.is_dir() => find_in(&WorkspaceRoot::open(grant)?, asked, usage),
        _ => Err(outside()),
    }
}

fn find_in(root: &WorkspaceRoot, asked: &str, usage: PathUse) -> FileResult<PathBuf> {
    let last = match usage {
        PathUse::Read => LastLink::Followed,
        PathUse::Write => LastLink::Kept,
    };
    let resolved = root.resolve(asked, last)?;
    let path = || resolved.path();
    match (resolved.below.as_slice(), usage) {
        ([], PathUse::Read) => {}
        ([], PathUse::Write) => return Err(FileError::Folder { path: asked.to_owned() }),
        ([name], usage) => match (resolved.folder.symlink_metadata(name), usage) {
            (Ok(found), _) if found.is_file() => {}
            (Ok(found), _) if found.is_symlink() => {
                return Err(FileError::Link { path: path() });
            }
            (Ok(found), _) if found.is_dir() => return Err(FileError::Folder { path: path() }),
            (Ok(_), _) => return Err(FileError::Special { path: path() }),
            (Err(error), PathUse::Write) if error.kind() == io::ErrorKind::NotFound => {
                if asked.ends_with('/') {
                    return Err(FileError::EndsAsFolder { path: asked.to_owned() });
                }
            }
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FileError::Missing { path: path() });
            }
            (Err(cause), _) => return Err(failed(asked, cause)),
        },
        _ => return Err(FileError::Missing { path: path() }),
    }
    Ok(real_path(root, &resolved))
}

fn real_path(root: &WorkspaceRoot, resolved: &ResolvedPath) -> PathBuf {
    let names: PathBuf = resolved.above.iter().chain(&resolved.below).collect();
    // Joining nothing would leave a `/` at the end.
    match names.as_os_str().is_empty() {
        true => root.real_path().to_owned(),
        false => root.real_path().join(names),
    }
}

fn failed(path: &str, cause: io::Error) -> FileError {
    FileError::Io { path: path.to_owned(), cause }
}
