//! Why a file is of no use as a model, for people and with a hint.

use std::io;
use std::path::{Path, PathBuf};

use recto_context::Remedy;
use strum::EnumMessage;

/// What is wrong with a model's file. Beside each message stands the hint for
/// people, where it is always the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::EnumMessage)]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum ModelFileProblem {
    #[error("there is no model file `{}`", path.display())]
    #[strum(message = "pull the model, or correct the path of its file")]
    NotFound { path: PathBuf },
    #[error("cannot read the model file `{}`: {cause}", path.display())]
    #[strum(message = "check that the file may be read")]
    Unreadable { path: PathBuf, cause: String },
    #[error("`{}` is no GGUF file: {looks}", path.display())]
    NotGguf { path: PathBuf, looks: GuessedFormat },
    /// The format is too old or too new.
    #[error(
        "`{}` is a GGUF file of version {version}, and only 2 and 3 can be read",
        path.display()
    )]
    #[strum(message = "update Recto, or choose another file of this model")]
    Version { path: PathBuf, version: u32 },
    /// The numbers in the file are written the other way round.
    #[error("`{}` is a GGUF file for big-endian machines, which cannot be read", path.display())]
    #[strum(message = "pull the little-endian file of this model")]
    BigEndian { path: PathBuf },
    /// The header contradicts itself, or cannot be meant.
    #[error("the model file `{}` is damaged: {what}", path.display())]
    #[strum(message = "remove the file and pull the model again")]
    Damaged { path: PathBuf, what: String },
    /// The file ends before what its header promises. It should have so many bytes, or
    /// more where the header itself is cut off.
    #[error(
        "the model file `{}` is cut off: it has {has} of at least {needs} bytes",
        path.display()
    )]
    #[strum(message = "the download did not finish: remove the file and pull the model again")]
    Truncated { path: PathBuf, has: u64, needs: u64 },
    /// The model was cut into several files.
    #[error("`{}` is one of the {parts} parts of a model", path.display())]
    #[strum(message = "choose a file that holds the whole model, \
                       or join its parts with `llama-gguf-split --merge`")]
    Split { path: PathBuf, parts: u32 },
    /// The file is sound, but nothing to talk to.
    #[error("the model in `{}` cannot chat: {what}", path.display())]
    #[strum(message = "choose an instruction-tuned chat model")]
    NotAChatModel { path: PathBuf, what: String },
}

/// What a file seems to be that is no GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[allow(missing_docs, reason = "the texts of the variants say it")]
pub enum GuessedFormat {
    #[strum(to_string = "it is empty")]
    Empty,
    #[strum(to_string = "it begins with nothing but zeros")]
    Zeros,
    #[strum(to_string = "it looks like a web page")]
    Html,
    #[strum(to_string = "it is a Git LFS pointer")]
    LfsPointer,
    #[strum(to_string = "it looks like safetensors")]
    Safetensors,
    #[strum(to_string = "it looks like a zip archive, a wheel or a PyTorch file")]
    Zip,
    #[strum(to_string = "it looks like a gzip archive")]
    Gzip,
    #[strum(to_string = "it is in the older GGML format")]
    Ggml,
    /// Readable, such as the answer of a server that had no file.
    #[strum(to_string = "it looks like a text")]
    Text,
    #[strum(to_string = "it does not begin as one")]
    Unknown,
}

impl ModelFileProblem {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ModelFileProblem::NotGguf { looks, .. } => looks.hint(),
            ModelFileProblem::Version { version: 0 | 1, .. } => {
                "the format is from 2023: pull a newer file of this model"
            }
            _ => self.get_message().unwrap_or_default(),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            ModelFileProblem::NotFound { .. }
            | ModelFileProblem::NotGguf { looks: GuessedFormat::LfsPointer, .. } => {
                Some(Remedy::PullModel)
            }
            _ => None,
        }
    }
}

impl GuessedFormat {
    /// What the first bytes of a file, at most a few hundred, look like.
    pub(super) fn guess(head: &[u8]) -> Self {
        let lower = head.trim_ascii_start().get(..64).unwrap_or(head.trim_ascii_start());
        let lower = lower.to_ascii_lowercase();
        let begins = |with: &[u8]| head.starts_with(with);
        if head.is_empty() {
            GuessedFormat::Empty
        } else if head.iter().all(|byte| *byte == 0) {
            GuessedFormat::Zeros
        } else if begins(b"version https://git-lfs.github.com/spec/") {
            GuessedFormat::LfsPointer
        } else if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
            GuessedFormat::Html
        } else if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
            GuessedFormat::Zip
        } else if begins(&[0x1f, 0x8b]) {
            GuessedFormat::Gzip
        } else if [b"lmgg", b"fmgg", b"tjgg", b"algg"].into_iter().any(|magic| begins(magic)) {
            GuessedFormat::Ggml
        } else if is_safetensors(head) {
            GuessedFormat::Safetensors
        } else if is_text(head) {
            GuessedFormat::Text
        } else {
            GuessedFormat::Unknown
        }
    }

    fn hint(self) -> &'static str {
        match self {
            GuessedFormat::Empty | GuessedFormat::Zeros => {
                "the download did not finish: remove the file and pull the model again"
            }
            GuessedFormat::Html | GuessedFormat::Text => {
                "the address may be that of a page about the file: \
                 pull the model from the address of the file itself"
            }
            GuessedFormat::LfsPointer => {
                "this only stands for the file: fetch it with `git lfs pull`, \
                 or pull the model"
            }
            GuessedFormat::Safetensors | GuessedFormat::Ggml => "choose the model's GGUF file",
            GuessedFormat::Zip | GuessedFormat::Gzip => {
                "unpack it, and choose the GGUF file inside, if there is one"
            }
            GuessedFormat::Unknown => "choose a GGUF file, or pull the model again",
        }
    }
}

/// The length of a JSON object, then the object.
fn is_safetensors(head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first_chunk() else { return false };
    u64::from_le_bytes(*length) < 1 << 32 && rest.starts_with(b"{\"")
}

/// The head may end inside of a character.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    valid > 0 && !head.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace())
}

/// Something that was read, or a problem that does not know its file yet.
pub(super) type GgufResult<T> = Result<T, GgufFault>;

/// Fails with what makes no sense in a file.
pub(super) fn damaged<T>(what: impl Into<String>) -> GgufResult<T> {
    Err(GgufFault::damaged(what))
}

/// A problem that does not know its file yet.
#[derive(Debug)]
pub(super) enum GgufFault {
    /// The system could not read.
    Io(io::Error),
    NotGguf(GuessedFormat),
    Version(u32),
    BigEndian,
    /// The file would have to have at least so many bytes.
    Ends {
        needs: u64,
    },
    /// What is there makes no sense.
    Damaged(String),
    Split(u32),
    NotAChatModel(String),
}

impl GgufFault {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        GgufFault::Damaged(what.into())
    }

    /// The problem of the file at `path`, which has `size` bytes.
    pub(super) fn in_file(self, path: &Path, size: u64) -> ModelFileProblem {
        let path = path.to_owned();
        match self {
            GgufFault::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                ModelFileProblem::NotFound { path }
            }
            GgufFault::Io(error) => ModelFileProblem::Unreadable { path, cause: error.to_string() },
            GgufFault::NotGguf(looks) => ModelFileProblem::NotGguf { path, looks },
            GgufFault::Version(version) => ModelFileProblem::Version { path, version },
            GgufFault::BigEndian => ModelFileProblem::BigEndian { path },
            GgufFault::Ends { needs } => ModelFileProblem::Truncated { path, has: size, needs },
            GgufFault::Damaged(what) => ModelFileProblem::Damaged { path, what },
            GgufFault::Split(parts) => ModelFileProblem::Split { path, parts },
            GgufFault::NotAChatModel(what) => ModelFileProblem::NotAChatModel { path, what },
        }
    }
}

impl From<io::Error> for GgufFault {
    fn from(error: io::Error) -> Self {
        GgufFault::Io(error)
    }
}
