//! The errors of file tools, in words for a model.

use std::io;
use std::path::PathBuf;

use crate::tool::ToolError;

/// An error of a file tool. Paths are as the model wrote them, or from the workspace on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("the path has a NUL character")]
    Nul,
    #[error("the path is longer than {limit} bytes")]
    LongPath { limit: usize },
    #[error("`{path}` leads through more than {limit} folders and links")]
    LongWay { path: String, limit: usize },
    #[error("`{path}`: `~` has no meaning here; write paths from the workspace on")]
    Home { path: String },
    #[error("`{path}` is outside the workspace; write paths from the workspace on")]
    Outside { path: String },
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` is a folder, not a file")]
    Folder { path: String },
    #[error("`{path}` ends as the path of a folder does; write it without `/` at its end")]
    EndsAsFolder { path: String },
    #[error("`{path}` is not a folder")]
    NotFolder { path: String },
    #[error("`{path}` is a link; write to what it points to")]
    Link { path: String },
    #[error("`{path}` is not a regular file")]
    Special { path: String },
    #[error("`{path}` is not a text file in UTF-8")]
    NotText { path: String },
    #[error("`{path}` is read-only")]
    ReadOnly { path: String },
    #[error("`{path}` ends before line {asked}: it has {lines} lines")]
    PastEnd { path: String, asked: u64, lines: u64 },
    #[error("`{path}` needs a person's approval")]
    NeedsApproval { path: String },
    #[error("`{path}` was not written: what it would do changed since a person allowed it")]
    Changed { path: String },
    #[error("`{path}` is out of reach: no tool may write it")]
    NeverWritable { path: String },
    #[error("the workspace `{}` can't be opened: {cause}", .path.display())]
    Workspace { path: PathBuf, cause: io::Error },
    #[error("`{path}`: {cause}")]
    Io { path: String, cause: io::Error },
}

/// The result of a step of a file tool.
pub(crate) type FileResult<T> = Result<T, FileError>;

impl From<FileError> for ToolError {
    fn from(problem: FileError) -> Self {
        ToolError::new(problem.to_string())
    }
}
