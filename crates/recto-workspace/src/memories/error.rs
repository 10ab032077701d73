//! Why a memory could not be written, changed or forgotten. Programs branch on the
//! variant; texts are for people.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_context::Remedy;

use super::compose::LONGEST;

/// Why a memory could not be written, changed or forgotten.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is nothing to remember.
    #[error("a memory needs a text")]
    Empty,
    /// The text is too long for one memory.
    #[error("this memory has {length} characters, of at most {LONGEST}")]
    TooLong {
        /// How long it is.
        length: usize,
    },
    /// The text gives a secret away.
    #[error("this looks like {what}, and memories are plain files that models read")]
    Secret {
        /// What it looks like: `an OpenAI key`.
        what: &'static str,
    },
    /// No memory that the audience may see has this name.
    #[error("there is no memory `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<Arc<str>>,
    },
    /// Several memories could be meant.
    #[error("`{name}` can mean {} memories", candidates.len())]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Those that it can mean.
        candidates: Vec<Arc<str>>,
    },
    /// The audience may see the memory, but not change it.
    #[error("`{name}` can only be changed by those whose memory it is")]
    NotAllowed {
        /// The name of the memory.
        name: Arc<str>,
    },
    /// Without the memory as it is, those around it would become others.
    #[error("`{name}` cannot be changed without changing what stands around it")]
    Entangled {
        /// The name of the memory.
        name: Arc<str>,
        /// The file that it is in.
        path: PathBuf,
    },
    /// Another process did not let go of the lock.
    #[error("memory is locked: another process holds `{}`", path.display())]
    Locked {
        /// The file that is locked.
        path: PathBuf,
    },
    /// There is no workspace to write to.
    #[error("the workspace `{}` does not exist", path.display())]
    NoWorkspace {
        /// Where it should be.
        path: PathBuf,
    },
    /// What is there is no file of memories.
    #[error("`{}` {what}", path.display())]
    Unusable {
        /// The file or folder that is in the way.
        path: PathBuf,
        /// What is wrong with it: `is a link to nothing`.
        what: String,
    },
    /// The system refused to read or write.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// What was tried: `write`.
        what: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

/// The result of a change to memories.
pub type MemoryResult<T> = Result<T, MemoryError>;

impl MemoryError {
    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            MemoryError::Empty => return None,
            MemoryError::TooLong { .. } => "write it into a reference, and remember where it is",
            MemoryError::Secret { .. } => {
                "keep it in a password manager or the environment, and remember where"
            }
            MemoryError::Unknown { nearest: Some(nearest), .. } => {
                return Some(format!("did you mean `{nearest}`? if not, look at the memories"));
            }
            MemoryError::Unknown { nearest: None, .. } => "look at the memories",
            MemoryError::Ambiguous { candidates, .. } => {
                let shown: Vec<String> =
                    candidates.iter().take(5).map(|name| format!("`{name}`")).collect();
                return Some(format!("name one of them: {}", shown.join(", ")));
            }
            MemoryError::NotAllowed { .. } => "ask its owner, or edit the file",
            MemoryError::Entangled { path, .. } => {
                let path = path.display();
                return Some(format!("close the code block or comment around it in `{path}`"));
            }
            MemoryError::Locked { .. } => {
                "wait until the other Recto is done, or end it if it hangs"
            }
            MemoryError::NoWorkspace { .. } => "make a workspace, or set the path of one",
            MemoryError::Unusable { path, .. } => {
                return Some(format!("move `{}` out of the way", path.display()));
            }
            MemoryError::Io { path, error, .. } => return io_hint(path, error),
        };
        Some(hint.to_owned())
    }

    /// Whether the disk had no room for it.
    pub fn is_full(&self) -> bool {
        matches!(self, MemoryError::Io { error, .. } if is_out_of_room(error))
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            MemoryError::Unknown { .. } => Some(Remedy::ListMemories),
            MemoryError::NoWorkspace { .. } => Some(Remedy::InitWorkspace),
            _ => None,
        }
    }
}

fn io_hint(path: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Some(format!("make `{}` writable", path.display()))
        }
        _ if is_out_of_room(error) => Some("make room on the disk".to_owned()),
        _ => None,
    }
}

fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Says of an I/O error what was tried, with which file.
pub(crate) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> MemoryError {
    let path = path.to_owned();
    move |error| MemoryError::Io { what, path, error }
}
