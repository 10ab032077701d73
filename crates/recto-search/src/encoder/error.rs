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
    /// What should be a folder is a file.
    #[error("`{}` is a file, not the folder that it stands in", path.display())]
    NoFolder {
        /// The file.
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
    /// The file may be sound, but asks for what Recto does not do.
    #[error("`{}` can't be used: {why}", path.display())]
    Unsupported {
        /// The file that asks for it.
        path: PathBuf,
        /// What it asks for, and what could be used.
        why: String,
    },
    /// Something is wrong with an encoder that a person has chosen.
    #[error("the encoder in `{}` can't be used: {why}", folder.display())]
    Chosen {
        /// Its folder.
        folder: PathBuf,
        /// What is wrong.
        why: Box<EncoderError>,
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
            EncoderError::NoFolder { .. } => "name its folder in `search.encoder`".to_owned(),
            EncoderError::Unsupported { .. } => "choose another encoder".to_owned(),
            EncoderError::Chosen { folder, why } => chosen_hint(folder, why),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            EncoderError::NoFolder { .. }
            | EncoderError::Read { .. }
            | EncoderError::Unsupported { .. }
            | EncoderError::Chosen { .. } => None,
            EncoderError::Missing { .. }
            | EncoderError::Damaged { .. }
            | EncoderError::Swapped { .. } => Some(Remedy::PullEncoder),
        }
    }

    /// The same, of an encoder that a person has chosen by its folder.
    pub(super) fn chosen(self, folder: &Path) -> Self {
        EncoderError::Chosen { folder: folder.to_owned(), why: Box::new(self) }
    }

    pub(super) fn unsupported(path: &Path, why: impl Into<String>) -> Self {
        EncoderError::Unsupported { path: path.to_owned(), why: why.into() }
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

/// What can be done about an encoder that a person has chosen: nothing that Recto pulls by itself
/// would bring it.
fn chosen_hint(folder: &Path, why: &EncoderError) -> String {
    let other = "name another encoder in `search.encoder`, or leave it out for all-MiniLM-L6-v2";
    match why {
        EncoderError::Missing { path } if !folder.is_dir() => format!(
            "there is no folder `{}`: `search.encoder` names a folder, or a model in the folder \
             of models; {other}",
            path.parent().unwrap_or(folder).display()
        ),
        EncoderError::Missing { .. } if folder.join("pytorch_model.bin").is_file() => format!(
            "weights are read from `model.safetensors`, and not from `pytorch_model.bin`: fetch \
             that file from where the encoder comes from, or save it so; {other}"
        ),
        EncoderError::Missing { .. } => format!(
            "bring the file there from where the encoder comes from: `config.json`, \
             `tokenizer.json` and `model.safetensors` are needed, and `modules.json`, \
             `1_Pooling/config.json`, `sentence_bert_config.json` and \
             `config_sentence_transformers.json` where it has them; {other}"
        ),
        EncoderError::Read { .. } | EncoderError::NoFolder { .. } => why.hint(),
        EncoderError::Damaged { .. } | EncoderError::Swapped { .. } => {
            format!("bring the file again from where the encoder comes from, or {other}")
        }
        EncoderError::Unsupported { .. } | EncoderError::Chosen { .. } => other.to_owned(),
    }
}
