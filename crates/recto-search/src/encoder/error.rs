//! Why there is no encoder, and what can be done about it.

use std::io;
use std::path::{Path, PathBuf};

use recto_context::Remedy;

/// Why an encoder could not be loaded. Search goes on with words alone.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// There is no such file.
    #[error("there is no file `{}`", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The file is there, but could not be read.
    #[error("`{}` can't be read", path.display())]
    Read {
        /// The file that was to be read.
        path: PathBuf,
        /// What the system said.
        #[source]
        why: io::Error,
    },
    /// What stands in the file is not what belongs there.
    #[error("`{}` is damaged: {why}", path.display())]
    Damaged {
        /// The file that was to be read.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is sound, but another than the one that was pulled.
    #[error("`{}` is not the file that was pulled: its checksum differs", path.display())]
    Swapped {
        /// The file that was to be read.
        path: PathBuf,
    },
}

impl EncoderError {
    /// What a person can do.
    pub fn hint(&self) -> String {
        match self {
            EncoderError::Missing { .. } => "pull the embedding model".to_owned(),
            EncoderError::Read { path, .. } => {
                format!("check who may read `{}`", path.display())
            }
            EncoderError::Damaged { path, .. } | EncoderError::Swapped { path } => format!(
                "remove `{}` and pull the embedding model, which brings it again",
                path.display()
            ),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            EncoderError::Read { .. } => None,
            EncoderError::Missing { .. }
            | EncoderError::Damaged { .. }
            | EncoderError::Swapped { .. } => Some(Remedy::PullEncoder),
        }
    }

    pub(super) fn unreadable(path: &Path, why: io::Error) -> Self {
        let path = path.to_owned();
        match why.kind() {
            io::ErrorKind::NotFound => EncoderError::Missing { path },
            _ => EncoderError::Read { path, why },
        }
    }

    pub(super) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        EncoderError::Damaged { path: path.to_owned(), why: why.into() }
    }
}
